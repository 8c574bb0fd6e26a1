//! Deletions: both sides of each condition, each answer of the lookup, and answers that prove
//! nothing.

use brain_protocol::RunProblem;
use brain_tests::platform::{Fault, endpoint};
use serde_json::{Value, json};

use crate::collector_world::{DAY, Fixture, HOUR, MINUTE, lines_with};

/// Returns a fixture whose first run stored `count` own posts, and their ids, oldest first.
fn fixture_with_posts(count: i64) -> (Fixture, Vec<String>) {
    let fixture = Fixture::new();
    let at = fixture.now() - count;
    let ids = (0..count)
        .map(|i| fixture.platform.post_at(&fixture.ada, &format!("post {i}"), at + i))
        .collect();
    fixture.collect();
    (fixture, ids)
}

fn lookups(fixture: &Fixture) -> u64 {
    fixture.platform.count(endpoint::LOOKUP)
}

#[test]
fn a_deleted_post_is_recorded_and_reported_once() {
    let (fixture, ids) = fixture_with_posts(3);
    let before = fixture.own(&ids[1]).unwrap();
    fixture.platform.delete(&ids[1]);
    fixture.advance(30 * MINUTE);
    let at = fixture.stamp();
    let lines = fixture.collect();
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
    let mut record = fixture.deletion(&ids[1]).unwrap();
    assert_eq!((&record["detected_at"], &record["reason"]), (&json!(at), &json!("not_found")));
    let fields = record.as_object_mut().unwrap();
    fields.remove("detected_at");
    fields.remove("reason");
    assert_eq!(record, before, "the record has the unchanged post");
    assert_eq!(fixture.own(&ids[1]).unwrap(), before, "the stored post stays");
    fixture.advance(30 * MINUTE);
    assert!(lines_with(&fixture.collect(), "DELETION_DETECTED").is_empty());
    assert_eq!(lookups(&fixture), 1, "one lookup and one report per deletion");
}

#[test]
fn age_limits_are_exact_to_the_millisecond() {
    // The time between creation and the last run that saw the post, the time until the run that
    // misses it, and whether the post is looked up.
    for (seen_after, missed_after, is_looked_up) in [
        (0, 48 * HOUR, true),
        (0, 48 * HOUR + 1, false),
        (7 * DAY - HOUR, HOUR, true),
        (7 * DAY - HOUR, HOUR + 1, false),
        (7 * DAY - 48 * HOUR, 48 * HOUR, true),
        (6 * DAY, 30 * MINUTE, true),
        (7 * DAY, MINUTE, false),
    ] {
        let fixture = Fixture::new();
        let id = fixture.platform.post(&fixture.ada, "for a while");
        fixture.advance(seen_after);
        fixture.collect();
        fixture.platform.delete(&id);
        fixture.advance(missed_after);
        let lines = fixture.collect();
        let case = format!("seen after {seen_after} ms, missed after {missed_after} ms more");
        assert_eq!(lookups(&fixture), u64::from(is_looked_up), "{case}");
        let reported = lines_with(&lines, "DELETION_DETECTED").len();
        assert_eq!(reported, usize::from(is_looked_up), "{case}");
        assert_eq!(fixture.deletion(&id).is_some(), is_looked_up, "{case}");
        // A post that was not checked is never checked later.
        fixture.advance(MINUTE);
        fixture.collect();
        assert_eq!(lookups(&fixture), u64::from(is_looked_up), "{case}");
    }
}

#[test]
fn posts_from_the_future_count_as_young() {
    let fixture = Fixture::new();
    let id =
        fixture.platform.post_at(&fixture.ada, "by a clock that is ahead", fixture.now() + HOUR);
    fixture.collect();
    fixture.platform.delete(&id);
    fixture.advance(MINUTE);
    assert_eq!(lines_with(&fixture.collect(), "DELETION_DETECTED").len(), 1);
}

#[test]
fn unknown_and_deleted_posts_are_not_looked_up() {
    let (fixture, ids) = fixture_with_posts(3);
    fixture.platform.delete(&ids[0]);
    fixture.platform.delete(&ids[1]);
    std::fs::remove_file(fixture.data().join(format!("tweets/own/{}.json", ids[0]))).unwrap();
    std::fs::write(fixture.data().join(format!("deletions/{}.json", ids[1])), r#"{"id": "kept"}"#)
        .unwrap();
    fixture.advance(MINUTE);
    assert!(lines_with(&fixture.collect(), "DELETION_DETECTED").is_empty());
    assert_eq!(lookups(&fixture), 0);
    assert_eq!(fixture.deletion(&ids[1]).unwrap(), json!({"id": "kept"}));
    // The third post is known and has no deletion yet.
    fixture.platform.delete(&ids[2]);
    fixture.advance(MINUTE);
    assert_eq!(lines_with(&fixture.collect(), "DELETION_DETECTED").len(), 1);
    assert_eq!(lookups(&fixture), 1);
}

#[test]
fn visible_posts_are_not_deletions() {
    // The post left the newest page, was edited, is withheld, or has errors about another object.
    let fixture = Fixture::new();
    let old = fixture.platform.post_at(&fixture.ada, "soon beyond the page", fixture.now() - HOUR);
    let edited = fixture.platform.post(&fixture.ada, "first words");
    let quoted = fixture.platform.post(&fixture.bob, "quoted");
    fixture.collect();
    fixture.advance(MINUTE);
    fixture.platform.change_post(&old, |post| {
        post.is_withheld = true;
        post.quotes = quoted.parse().ok();
    });
    fixture.platform.delete(&quoted);
    let newer = fixture.platform.edit(&edited, "second words");
    for i in 0..100 {
        fixture.platform.post_at(&fixture.ada, &format!("flood {i}"), fixture.now() - 200 + i);
    }
    let lines = fixture.collect();
    assert!(lines_with(&lines, "DELETION_DETECTED").is_empty(), "{lines:?}");
    assert_eq!(lookups(&fixture), 2, "the oldest one, and the version before the edit");
    assert!(
        fixture.own(&newer).is_some() && fixture.own(&edited).unwrap()["text"] == "first words"
    );
    fixture.advance(MINUTE);
    fixture.collect();
    assert_eq!(lookups(&fixture), 2, "a found post is not looked up again");
}

#[test]
fn a_post_in_another_stream_is_not_deleted() {
    let fixture = Fixture::with(&[("searches", r#"["owls"]"#)]);
    let id = fixture.platform.post(&fixture.bob, "owls, @ada");
    fixture.collect();
    fixture.platform.change_post(&id, |post| post.text = "owls for nobody".into());
    fixture.advance(MINUTE);
    assert_eq!(fixture.collect()[2], "MENTIONS:0 (0 new)");
    assert_eq!(lookups(&fixture), 0);
    // In no stream any more, it is looked up.
    fixture.platform.change_post(&id, |post| post.text = "for nobody".into());
    fixture.advance(MINUTE);
    fixture.collect();
    assert_eq!(lookups(&fixture), 1);
}

#[test]
fn deleted_mentions_and_search_results_are_found() {
    let fixture = Fixture::with(&[("searches", r#"["owls"]"#)]);
    let mention = fixture.platform.post(&fixture.bob, "hi @ada");
    let found = fixture.platform.post(&fixture.bob, "owls");
    fixture.collect();
    fixture.platform.delete(&mention);
    fixture.platform.delete(&found);
    fixture.advance(MINUTE);
    let lines = fixture.collect();
    for (id, text) in [(mention, "hi @ada"), (found, "owls")] {
        assert!(lines.contains(&format!("DELETION_DETECTED:{id}:bob:{text}")), "{lines:?}");
        assert!(fixture.deletion(&id).is_some());
    }
}

#[test]
fn each_deletion_has_a_reason() {
    for (fault, reason) in [
        (Some(Fault::NotFound), "not_found_404"),
        (Some(Fault::NotFoundEmpty), "not_found_404"),
        (None, "not_found"),
        (Some(Fault::EmptyObject), "no_data"),
        (Some(Fault::Exactly(r#"{"data": null}"#.into())), "no_data"),
    ] {
        let (fixture, ids) = fixture_with_posts(2);
        fixture.platform.delete(&ids[0]);
        if let Some(fault) = fault.clone() {
            fixture.platform.fault(endpoint::LOOKUP, fault, 1);
        }
        fixture.platform.newer_host(true);
        fixture.advance(MINUTE);
        assert_eq!(lines_with(&fixture.collect(), "DELETION_DETECTED").len(), 1, "{fault:?}");
        assert_eq!(fixture.deletion(&ids[0]).unwrap()["reason"], reason, "{fault:?}");
    }
    let fixture = Fixture::new();
    let (protected, suspended) =
        (fixture.platform.create_account("shy"), fixture.platform.create_account("banned"));
    let posts = [(&protected, "hi @ada"), (&suspended, "ho @ada")];
    let ids = posts.map(|(account, text)| fixture.platform.post(account, text));
    fixture.collect();
    fixture.platform.change_account(&protected, |account| account.is_protected = true);
    fixture.platform.change_account(&suspended, |account| account.is_suspended = true);
    fixture.advance(MINUTE);
    assert_eq!(lines_with(&fixture.collect(), "DELETION_DETECTED").len(), 2);
    for id in ids {
        assert_eq!(
            fixture.deletion(&id).unwrap()["reason"],
            "not_authorized",
            "the record says that the post may only be hidden"
        );
    }
}

#[test]
fn inconclusive_lookups_are_repeated() {
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
        Fault::ServerErrorHtml(502),
        Fault::ServerEmpty(503),
        Fault::Redirect("http://127.0.0.1:9/elsewhere".into()),
        Fault::Garbage,
        Fault::HtmlBody,
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
        let (fixture, ids) = fixture_with_posts(3);
        fixture.platform.delete(&ids[1]);
        fixture.platform.fault(endpoint::LOOKUP, fault.clone(), 1);
        fixture.advance(MINUTE);
        let run = fixture.run();
        assert_eq!(
            (run.status.as_str(), run.deletions, run.unverified),
            ("complete", 0, 1),
            "{fault:?}: {run:?}"
        );
        assert_eq!(
            lines_with(&fixture.lines(), "DELETION_DETECTED"),
            Vec::<&str>::new(),
            "{fault:?}"
        );
        assert!(fixture.deletion(&ids[1]).is_none(), "{fault:?}");
        assert!(fixture.former("own").contains(&ids[1]), "{fault:?}: the post stays unverified");
        // The rate-limit windows have ended.
        fixture.advance(16 * MINUTE);
        assert_eq!(lines_with(&fixture.collect(), "DELETION_DETECTED").len(), 1, "{fault:?}");
        assert_eq!(lookups(&fixture), 2, "{fault:?}");
    }
}

#[test]
fn lookups_without_credit_or_token_are_repeated() {
    for (fault, reason) in
        [(Fault::Unauthorized, "unauthorized"), (Fault::CreditsDepleted, "payment_required")]
    {
        let (fixture, ids) = fixture_with_posts(3);
        fixture.platform.delete(&ids[0]);
        fixture.platform.delete(&ids[1]);
        fixture.platform.fault_after(endpoint::LOOKUP, 1, fault, 1);
        fixture.advance(MINUTE);
        fixture.lines();
        let run = fixture.run();
        assert_eq!(
            (run.status.as_str(), run.reason.map(RunProblem::as_str), run.deletions),
            ("failed", Some(reason), 1)
        );
        let lines = fixture.lines();
        assert_eq!(
            lines_with(&lines, "DELETION_DETECTED").len(),
            1,
            "the confirmed deletion is reported: {lines:?}"
        );
        assert_eq!(*lines.last().unwrap(), format!("RUN_FAILED:{}:{reason}", fixture.stamp()));
        fixture.advance(MINUTE);
        assert_eq!(
            lines_with(&fixture.collect(), "DELETION_DETECTED").len(),
            1,
            "the next run reports the other deletion"
        );
    }
}

#[test]
fn lookups_have_their_own_reserve() {
    let (fixture, ids) = fixture_with_posts(6);
    ids[..5].iter().for_each(|id| fixture.platform.delete(id));
    fixture.platform.limit(endpoint::LOOKUP, 5);
    fixture.advance(MINUTE);
    fixture.lines();
    let run = fixture.run();
    assert_eq!((run.status.as_str(), run.deletions, run.unverified), ("complete", 3, 2), "{run:?}");
    assert_eq!(lookups(&fixture), 3, "the last two requests of the rate limit are not used");
    assert!(
        run.streams.iter().all(|stream| stream.skipped.is_none()),
        "the limit of lookups does not affect streams: {run:?}"
    );
    fixture.advance(14 * MINUTE + 59_000);
    assert_eq!(
        (fixture.run().deletions, lookups(&fixture)),
        (0, 3),
        "no lookup before the rate-limit window ends"
    );
    fixture.advance(MINUTE);
    assert_eq!((fixture.run().deletions, lookups(&fixture)), (2, 5));
}

#[test]
fn previews_are_one_line_of_80_characters() {
    let fixture = Fixture::new();
    let text = format!(
        "first: {}\r\nRUN_COMPLETE:fake\u{2028}\u{1b}[31m {}",
        "ä".repeat(40),
        "x".repeat(80)
    );
    let id = fixture.platform.post(&fixture.ada, &text);
    fixture.collect();
    fixture.platform.delete(&id);
    fixture.advance(MINUTE);
    let lines = fixture.collect();
    let line = lines_with(&lines, "DELETION_DETECTED:")[0];
    let preview = line.strip_prefix(&format!("DELETION_DETECTED:{id}:ada:")).unwrap();
    assert_eq!(preview.chars().count(), 80, "{preview}");
    assert!(
        preview.starts_with(&format!("first: {} RUN_COMPLETE:fake ", "ä".repeat(40))),
        "{preview}"
    );
    assert!(!preview.chars().any(char::is_control), "{preview:?}");
    assert_eq!(
        fixture.deletion(&id).unwrap()["text"],
        json!(text),
        "the record has the unchanged text"
    );
}

#[test]
fn deleted_posts_can_be_redacted() {
    let fixture =
        Fixture::with(&[("deleted_posts", "redact"), ("searches", r#"["confidential"]"#)]);
    let id = fixture.platform.post(&fixture.ada, "confidential words");
    fixture.platform.set_likes(&id, 3);
    fixture.collect();
    fixture.platform.delete(&id);
    fixture.advance(MINUTE);
    let lines = fixture.collect();
    assert_eq!(lines_with(&lines, "DELETION_DETECTED:").len(), 1);
    assert!(lines.iter().all(|line| !line.contains("confidential")), "{lines:?}");
    for path in [
        format!("deletions/{id}.json"),
        format!("tweets/own/{id}.json"),
        format!("tweets/searches/{id}.json"),
    ] {
        let record = fixture.json(&path).unwrap_or_else(|| panic!("{path} is gone"));
        let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["_collected_at", "created_at", "detected_at", "id", "reason"], "{path}");
    }
    let everything = crate::collector_world::files(&fixture.home().join("collector"));
    for (path, bytes) in everything {
        assert!(!String::from_utf8_lossy(&bytes).contains("confidential words"), "{path}");
    }
    fixture.advance(MINUTE);
    assert!(lines_with(&fixture.collect(), "DELETION_DETECTED").is_empty());
}

#[test]
fn deleting_one_version_deletes_all_versions() {
    let fixture = Fixture::new();
    let first = fixture.platform.post(&fixture.ada, "one");
    fixture.collect();
    fixture.advance(MINUTE);
    let second = fixture.platform.edit(&first, "two");
    fixture.collect();
    fixture.platform.delete(&second);
    fixture.advance(MINUTE);
    fixture.collect();
    let record: Value = fixture.deletion(&second).expect("no record of the last version");
    assert_eq!(record["text"], "two");
}
