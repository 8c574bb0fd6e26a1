//! Deletions, by the table of the specification: each condition on both sides, each answer of the
//! lookup, and what proves nothing.

use brain_tests::platform::{Fault, endpoint};
use serde_json::{Value, json};

use crate::collector_world::{DAY, HOUR, Lab, MINUTE, with};

/// A lab whose first run stored `count` posts of the own timeline; their ids, oldest first.
fn stored(count: i64) -> (Lab, Vec<String>) {
    let lab = Lab::new();
    let at = lab.now() - count;
    let ids =
        (0..count).map(|i| lab.platform.post_at(&lab.ada, &format!("post {i}"), at + i)).collect();
    lab.collect();
    (lab, ids)
}

fn lookups(lab: &Lab) -> u64 {
    lab.platform.count(endpoint::LOOKUP)
}

#[test]
fn a_deleted_post_is_looked_up_recorded_and_told_once() {
    let (lab, ids) = stored(3);
    let before = lab.own(&ids[1]).unwrap();
    lab.platform.delete(&ids[1]);
    lab.pass(30 * MINUTE);
    let at = lab.stamp();
    let lines = lab.collect();
    assert_eq!(
        lines,
        [
            format!("RUN_START:{at}"),
            "OWN_TWEETS:2 (0 new)".into(),
            "MENTIONS:0 (0 new)".into(),
            format!("DELETION_DETECTED:{}:ada:post 1", ids[1]),
            format!("RUN_COMPLETE:{at}:tweets_stored=2:deletions=1:velocity_alerts=0"),
        ]
    );
    let mut record = lab.deletion(&ids[1]).unwrap();
    assert_eq!((&record["detected_at"], &record["reason"]), (&json!(at), &json!("not_found")));
    let fields = record.as_object_mut().unwrap();
    fields.remove("detected_at");
    fields.remove("reason");
    assert_eq!(record, before, "the original record, as it was");
    assert_eq!(lab.own(&ids[1]).unwrap(), before, "the stored post stays");
    lab.pass(30 * MINUTE);
    assert!(with(&lab.collect(), "DELETION_DETECTED").is_empty());
    assert_eq!(lookups(&lab), 1, "asked once, told once");
}

#[test]
fn seven_days_and_forty_eight_hours_to_the_millisecond() {
    // Time between writing and the run that saw it last, time until the run that misses it, whether
    // it is checked.
    for (seen_after, missed_after, checked) in [
        (0, 48 * HOUR, true),
        (0, 48 * HOUR + 1, false),
        (7 * DAY - HOUR, HOUR, true),
        (7 * DAY - HOUR, HOUR + 1, false),
        (7 * DAY - 48 * HOUR, 48 * HOUR, true),
        (6 * DAY, 30 * MINUTE, true),
        (7 * DAY, MINUTE, false),
    ] {
        let lab = Lab::new();
        let id = lab.platform.post(&lab.ada, "for a while");
        lab.pass(seen_after);
        lab.collect();
        lab.platform.delete(&id);
        lab.pass(missed_after);
        let lines = lab.collect();
        let case = format!("seen after {seen_after} ms, missed after {missed_after} ms more");
        assert_eq!(lookups(&lab), u64::from(checked), "{case}");
        assert_eq!(with(&lines, "DELETION_DETECTED").len(), usize::from(checked), "{case}");
        assert_eq!(lab.deletion(&id).is_some(), checked, "{case}");
        // What was not checked is not checked later either.
        lab.pass(MINUTE);
        lab.collect();
        assert_eq!(lookups(&lab), u64::from(checked), "{case}");
    }
}

#[test]
fn a_post_of_the_future_is_young() {
    let lab = Lab::new();
    let id = lab.platform.post_at(&lab.ada, "by a clock that is ahead", lab.now() + HOUR);
    lab.collect();
    lab.platform.delete(&id);
    lab.pass(MINUTE);
    assert_eq!(with(&lab.collect(), "DELETION_DETECTED").len(), 1);
}

#[test]
fn what_has_no_record_or_a_deletion_already_is_not_looked_up() {
    let (lab, ids) = stored(3);
    lab.platform.delete(&ids[0]);
    lab.platform.delete(&ids[1]);
    std::fs::remove_file(lab.data().join(format!("tweets/own/{}.json", ids[0]))).unwrap();
    std::fs::write(lab.data().join(format!("deletions/{}.json", ids[1])), r#"{"id": "kept"}"#)
        .unwrap();
    lab.pass(MINUTE);
    assert!(with(&lab.collect(), "DELETION_DETECTED").is_empty());
    assert_eq!(lookups(&lab), 0);
    assert_eq!(lab.deletion(&ids[1]).unwrap(), json!({"id": "kept"}));
}

#[test]
fn what_is_alive_is_no_deletion() {
    // It left the page of the newest, it was edited, it is withheld, its errors are about something
    // else.
    let lab = Lab::new();
    let old = lab.platform.post_at(&lab.ada, "soon beyond the page", lab.now() - HOUR);
    let edited = lab.platform.post(&lab.ada, "first words");
    let quoted = lab.platform.post(&lab.bob, "quoted");
    lab.collect();
    lab.pass(MINUTE);
    lab.platform.change(&old, |post| {
        post.withheld = true;
        post.quotes = quoted.parse().ok();
    });
    lab.platform.delete(&quoted);
    let newer = lab.platform.edit(&edited, "second words");
    for i in 0..100 {
        lab.platform.post_at(&lab.ada, &format!("flood {i}"), lab.now() - 200 + i);
    }
    let lines = lab.collect();
    assert!(with(&lines, "DELETION_DETECTED").is_empty(), "{lines:?}");
    assert_eq!(lookups(&lab), 2, "the oldest one, and the version before the edit");
    assert!(lab.own(&newer).is_some() && lab.own(&edited).unwrap()["text"] == "first words");
    lab.pass(MINUTE);
    lab.collect();
    assert_eq!(lookups(&lab), 2, "what was found alive is not in the former pull any more");
}

#[test]
fn a_post_that_another_stream_still_has_is_present() {
    let lab = Lab::with(&[("searches", r#"["owls"]"#)]);
    let id = lab.platform.post(&lab.bob, "owls, @ada");
    lab.collect();
    lab.platform.change(&id, |post| post.text = "owls for nobody".into());
    lab.pass(MINUTE);
    assert_eq!(lab.collect()[2], "MENTIONS:0 (0 new)");
    assert_eq!(lookups(&lab), 0);
}

#[test]
fn deletions_of_mentions_and_search_results_are_found_too() {
    let lab = Lab::with(&[("searches", r#"["owls"]"#)]);
    let mention = lab.platform.post(&lab.bob, "hi @ada");
    let found = lab.platform.post(&lab.bob, "owls");
    lab.collect();
    lab.platform.delete(&mention);
    lab.platform.delete(&found);
    lab.pass(MINUTE);
    let lines = lab.collect();
    for (id, text) in [(mention, "hi @ada"), (found, "owls")] {
        assert!(lines.contains(&format!("DELETION_DETECTED:{id}:bob:{text}")), "{lines:?}");
        assert!(lab.deletion(&id).is_some());
    }
}

#[test]
fn each_proof_of_a_deletion_has_its_reason() {
    for (fault, reason) in [
        (Some(Fault::NotFound), "not_found_404"),
        (Some(Fault::NotFoundEmpty), "not_found_404"),
        (None, "not_found"),
        (Some(Fault::EmptyObject), "no_data"),
        (Some(Fault::Exactly(r#"{"data": null}"#.into())), "no_data"),
    ] {
        let (lab, ids) = stored(2);
        lab.platform.delete(&ids[0]);
        if let Some(fault) = fault.clone() {
            lab.platform.fault(endpoint::LOOKUP, fault, 1);
        }
        lab.platform.newer_host(true);
        lab.pass(MINUTE);
        assert_eq!(with(&lab.collect(), "DELETION_DETECTED").len(), 1, "{fault:?}");
        assert_eq!(lab.deletion(&ids[0]).unwrap()["reason"], reason, "{fault:?}");
    }
    let lab = Lab::new();
    let (shy, banned) = (lab.platform.account("shy"), lab.platform.account("banned"));
    let ids = [lab.platform.post(&shy, "hi @ada"), lab.platform.post(&banned, "ho @ada")];
    lab.collect();
    lab.platform.change_account(&shy, |account| account.protected = true);
    lab.platform.change_account(&banned, |account| account.suspended = true);
    lab.pass(MINUTE);
    assert_eq!(with(&lab.collect(), "DELETION_DETECTED").len(), 2);
    for id in ids {
        assert_eq!(
            lab.deletion(&id).unwrap()["reason"],
            "not_authorized",
            "it is hidden, which is not the same"
        );
    }
}

#[test]
fn what_proves_nothing_is_asked_again() {
    let other = r#"{"data": {"id": "17", "text": "x", "edit_history_tweet_ids": ["17"]}}"#;
    for fault in [
        Fault::BadRequest,
        Fault::Forbidden,
        Fault::ClientForbidden,
        Fault::Conflict,
        Fault::TooMany,
        Fault::TooManyOlder,
        Fault::TooManyWithRemaining,
        Fault::TooManyWithoutFields,
        Fault::UsageCapped,
        Fault::Server(500),
        Fault::ServerPage(502),
        Fault::ServerEmpty(503),
        Fault::Redirect("http://127.0.0.1:9/elsewhere".into()),
        Fault::Garbage,
        Fault::Page,
        Fault::Empty,
        Fault::Null,
        Fault::Exactly("[]".into()),
        Fault::Exactly(other.into()),
        Fault::Large(9_000_000),
        Fault::Silence,
        Fault::Close,
        Fault::Truncated,
        Fault::Cut,
    ] {
        let (lab, ids) = stored(3);
        lab.platform.delete(&ids[1]);
        lab.platform.fault(endpoint::LOOKUP, fault.clone(), 1);
        lab.pass(MINUTE);
        let run = lab.run();
        assert_eq!(
            (run.status.as_str(), run.deletions, run.unverified),
            ("complete", 0, 1),
            "{fault:?}: {run:?}"
        );
        assert_eq!(with(&lab.lines(), "DELETION_DETECTED"), Vec::<&str>::new(), "{fault:?}");
        assert!(lab.deletion(&ids[1]).is_none(), "{fault:?}");
        assert!(lab.former("own").contains(&ids[1]), "{fault:?}: it is still in doubt");
        // Windows are over by then.
        lab.pass(16 * MINUTE);
        assert_eq!(with(&lab.collect(), "DELETION_DETECTED").len(), 1, "{fault:?}");
        assert_eq!(lookups(&lab), 2, "{fault:?}");
    }
}

#[test]
fn credit_and_token_end_the_run_at_a_lookup_and_it_is_asked_again() {
    for (fault, reason) in
        [(Fault::Unauthorized, "unauthorized"), (Fault::CreditsDepleted, "payment_required")]
    {
        let (lab, ids) = stored(3);
        lab.platform.delete(&ids[0]);
        lab.platform.delete(&ids[1]);
        lab.platform.fault_after(endpoint::LOOKUP, 1, fault, 1);
        lab.pass(MINUTE);
        lab.lines();
        let run = lab.run();
        assert_eq!(
            (run.status.as_str(), run.reason.as_deref(), run.deletions),
            ("failed", Some(reason), 1)
        );
        let lines = lab.lines();
        assert_eq!(
            with(&lines, "DELETION_DETECTED").len(),
            1,
            "what was proved is told: {lines:?}"
        );
        assert_eq!(*lines.last().unwrap(), format!("RUN_FAILED:{}:{reason}", lab.stamp()));
        lab.pass(MINUTE);
        assert_eq!(
            with(&lab.collect(), "DELETION_DETECTED").len(),
            1,
            "and the other one by the next run"
        );
    }
}

#[test]
fn lookups_keep_a_reserve_of_their_own() {
    let (lab, ids) = stored(6);
    ids[..5].iter().for_each(|id| lab.platform.delete(id));
    lab.platform.limit(endpoint::LOOKUP, 5);
    lab.pass(MINUTE);
    lab.lines();
    let run = lab.run();
    assert_eq!((run.status.as_str(), run.deletions, run.unverified), ("complete", 3, 2), "{run:?}");
    assert_eq!(lookups(&lab), 3, "two requests are left alone");
    assert!(
        run.streams.iter().all(|stream| stream.skipped.is_none()),
        "streams have nothing to do with it: {run:?}"
    );
    lab.pass(14 * MINUTE + 59_000);
    assert_eq!((lab.run().deletions, lookups(&lab)), (0, 3), "the window is not over");
    lab.pass(MINUTE);
    assert_eq!((lab.run().deletions, lookups(&lab)), (2, 5));
}

#[test]
fn a_preview_is_one_line_of_eighty_characters() {
    let lab = Lab::new();
    let text = format!(
        "first: {}\r\nRUN_COMPLETE:fake\u{2028}\u{1b}[31m {}",
        "ä".repeat(40),
        "x".repeat(80)
    );
    let id = lab.platform.post(&lab.ada, &text);
    lab.collect();
    lab.platform.delete(&id);
    lab.pass(MINUTE);
    let lines = lab.collect();
    let line = with(&lines, "DELETION_DETECTED:")[0];
    let preview = line.strip_prefix(&format!("DELETION_DETECTED:{id}:ada:")).unwrap();
    assert_eq!(preview.chars().count(), 80, "{preview}");
    assert!(
        preview.starts_with(&format!("first: {} RUN_COMPLETE:fake ", "ä".repeat(40))),
        "{preview}"
    );
    assert!(!preview.chars().any(char::is_control), "{preview:?}");
    assert_eq!(lab.deletion(&id).unwrap()["text"], json!(text), "the record has it as it was");
}

#[test]
fn what_was_deleted_can_be_redacted() {
    let lab = Lab::with(&[("deleted_posts", "redact"), ("searches", r#"["confidential"]"#)]);
    let id = lab.platform.post(&lab.ada, "confidential words");
    lab.platform.likes(&id, 3);
    lab.collect();
    lab.platform.delete(&id);
    lab.pass(MINUTE);
    let lines = lab.collect();
    assert_eq!(with(&lines, "DELETION_DETECTED:").len(), 1);
    assert!(lines.iter().all(|line| !line.contains("confidential")), "{lines:?}");
    for path in [
        format!("deletions/{id}.json"),
        format!("tweets/own/{id}.json"),
        format!("tweets/searches/{id}.json"),
    ] {
        let record = lab.json(&path).unwrap_or_else(|| panic!("{path} is gone"));
        let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["_collected_at", "created_at", "detected_at", "id", "reason"], "{path}");
    }
    let everything = crate::collector_world::files(&lab.home().join("collector"));
    for (path, bytes) in everything {
        assert!(!String::from_utf8_lossy(&bytes).contains("confidential words"), "{path}");
    }
    lab.pass(MINUTE);
    assert!(with(&lab.collect(), "DELETION_DETECTED").is_empty());
}

#[test]
fn deleting_one_version_deletes_them_all() {
    let lab = Lab::new();
    let first = lab.platform.post(&lab.ada, "one");
    lab.collect();
    lab.pass(MINUTE);
    let second = lab.platform.edit(&first, "two");
    lab.collect();
    lab.platform.delete(&second);
    lab.pass(MINUTE);
    lab.collect();
    let record: Value = lab.deletion(&second).expect("the version that was seen last");
    assert_eq!(record["text"], "two");
}
