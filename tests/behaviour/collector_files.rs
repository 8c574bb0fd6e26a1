//! What a run leaves: the files to the letter, the state, the heartbeat, the event lines.

use std::fs;

use brain_base::clock::parse_instant;
use brain_tests::platform::{Fault, endpoint};
use serde_json::{Value, json};

use crate::collector_world::{HOUR, Lab, MINUTE, names, with};

#[test]
fn a_first_run_stores_every_stream_and_tells_it() {
    let lab = Lab::with(&[("searches", r#"["owls -from:ada", "\"night birds\" OR #owl"]"#)]);
    let mine = lab.platform.post(&lab.ada, "Owls of mine");
    let mention = lab.platform.post(&lab.bob, "look, @ada: an owl");
    let found = lab.platform.post(&lab.bob, "owls, the night birds");
    lab.platform.likes(&mine, 7);
    let at = lab.stamp();
    let lines = lab.collect();
    assert_eq!(
        lines,
        [
            format!("RUN_START:{at}"),
            "OWN_TWEETS:1 (1 new)".into(),
            "MENTIONS:1 (1 new)".into(),
            format!("RUN_COMPLETE:{at}:tweets_stored=3:deletions=0:velocity_alerts=0"),
        ]
    );
    let files = lab.files();
    let mut expected = vec![
        format!("engagement/{mention}.json"),
        format!("engagement/{mine}.json"),
        format!("engagement/{found}.json"),
        "state.json".into(),
        format!("tweets/mentions/{mention}.json"),
        format!("tweets/own/{mine}.json"),
        format!("tweets/searches/{found}.json"),
    ];
    expected.sort();
    assert_eq!(names(&files), expected);

    let post = lab.own(&mine).unwrap();
    assert_eq!((&post["id"], &post["text"]), (&json!(mine), &json!("Owls of mine")));
    assert_eq!((&post["last_updated"], &post["_collected_at"]), (&json!(at), &json!(at)));
    assert_eq!(post["created_at"], json!(at));
    assert_eq!(post["author_id"], json!(lab.ada));
    let metrics = &post["public_metrics"];
    for (name, count) in
        [("like_count", 7), ("retweet_count", 0), ("reply_count", 0), ("quote_count", 0)]
    {
        assert_eq!(metrics[name], count, "{name}");
    }
    assert_eq!(
        post["edit_history_tweet_ids"],
        json!([mine]),
        "fields that nobody needs here are kept"
    );
    assert_eq!(lab.platform.count(endpoint::LOOKUP), 0, "nothing was there to be missed");
    assert!(
        !lab.data().join("deletions").read_dir().unwrap().any(|_| true),
        "the directory is there, and empty"
    );
}

#[test]
fn a_later_run_refreshes_and_never_overwrites_when_it_was_collected() {
    let lab = Lab::new();
    let id = lab.platform.post(&lab.ada, "as it was");
    let first = lab.stamp();
    lab.collect();
    lab.pass(30 * MINUTE);
    lab.platform.likes(&id, 3);
    lab.platform.post(&lab.ada, "another");
    let lines = lab.collect();
    assert_eq!(lines[1], "OWN_TWEETS:2 (1 new)");
    let post = lab.own(&id).unwrap();
    assert_eq!(
        (&post["_collected_at"], &post["last_updated"]),
        (&json!(first), &json!(lab.stamp()))
    );
    assert_eq!(post["public_metrics"]["like_count"], 3);
    let log = lab.platform.take_log();
    let timelines: Vec<&String> = log.iter().filter(|line| line.contains("/tweets?")).collect();
    assert_eq!(timelines.len(), 2);
    for line in timelines {
        assert!(
            line.contains(&format!("/2/users/{}/tweets?", lab.ada)),
            "the id is used, not the handle: {line}"
        );
        assert!(line.contains("max_results=100") && !line.contains("since_id"), "{line}");
    }
}

#[test]
fn nothing_but_the_time_changes_when_nothing_happened() {
    let lab = Lab::with(&[("searches", r#"["owls"]"#)]);
    for i in 0..30 {
        lab.platform.post(&lab.ada, &format!("owls {i}"));
    }
    lab.collect();
    let before = lab.files();
    lab.pass(30 * MINUTE);
    lab.collect();
    let after = lab.files();
    assert_eq!(names(&before), names(&after));
    for (path, bytes) in &after {
        if path.starts_with("engagement/") {
            assert_eq!(&before[path], bytes, "{path}");
        } else if path.starts_with("tweets/") {
            let (mut old, mut new): (Value, Value) = (
                serde_json::from_slice(&before[path]).unwrap(),
                serde_json::from_slice(bytes).unwrap(),
            );
            assert_ne!(old["last_updated"], new["last_updated"]);
            (old["last_updated"], new["last_updated"]) = (Value::Null, Value::Null);
            assert_eq!(old, new, "{path}");
        }
    }
}

#[test]
fn either_vocabulary_and_whatever_else_there_is_is_kept() {
    let lab = Lab::new();
    let long = "long words ".repeat(60);
    let id = lab.platform.post(&lab.ada, &long);
    lab.platform.change(&id, |post| post.counts.as_mut().unwrap().reposts = 4);
    lab.platform.fault(endpoint::TIMELINE, Fault::UnknownFields, 1);
    lab.collect();
    let post = lab.own(&id).unwrap();
    assert_eq!(post["unheard_of"], json!({"x": [1, {"y": true}]}));
    assert_eq!(post["note_tweet"]["text"], json!(long));
    lab.pass(HOUR);
    lab.platform.change(&id, |post| post.counts.as_mut().unwrap().reposts = 9);
    lab.platform.fault(endpoint::TIMELINE, Fault::NewerNames, 1);
    lab.collect();
    let snapshots = lab.snapshots(&id);
    let reposts: Vec<&Value> =
        snapshots.iter().map(|each| &each["metrics"]["retweet_count"]).collect();
    assert_eq!(reposts, [4, 9]);
    // Without `meta` nobody knows whether that is all; what came is kept.
    lab.pass(HOUR);
    lab.platform.fault(endpoint::TIMELINE, Fault::Nulls, 1);
    assert_eq!(lab.collect()[1..3], ["OWN_TWEETS:1 (0 new)", "STREAM_SKIPPED:own:unreadable"]);
    assert_eq!(lab.own(&id).unwrap()["last_updated"], lab.stamp());
}

#[test]
fn a_post_of_two_streams_is_stored_in_both_and_counted_once() {
    let lab = Lab::with(&[("searches", r#"["owls", "birds"]"#)]);
    let both = lab.platform.post(&lab.bob, "owls and birds for @ada");
    let lines = lab.collect();
    assert!(lines.last().unwrap().contains("tweets_stored=1:"), "{lines:?}");
    for stream in ["mentions", "searches"] {
        assert!(lab.json(&format!("tweets/{stream}/{both}.json")).is_some(), "{stream}");
    }
    assert_eq!(lab.snapshots(&both).len(), 1);
}

#[test]
fn the_state_has_what_the_next_run_needs() {
    let lab = Lab::new();
    let ids: Vec<String> = (0..3)
        .map(|i| lab.platform.post_at(&lab.ada, &format!("{i}"), lab.now() - 10 + i))
        .collect();
    lab.collect();
    let state = lab.state();
    assert_eq!(state["last_run"], json!(lab.stamp()));
    let mut newest_first = ids.clone();
    newest_first.reverse();
    assert_eq!(lab.former("own"), newest_first);
    let (left, reset) = lab.platform.left(endpoint::TIMELINE);
    assert_eq!(
        state["rate_limits"][endpoint::TIMELINE],
        json!({"remaining": left, "reset": reset})
    );
    assert_eq!(state["rate_limits"][endpoint::MENTIONS]["remaining"], 449);
}

#[test]
fn pages_are_followed_as_far_as_the_configuration_says() {
    let lab = Lab::with(&[("max_pages", "3")]);
    for i in 0..350 {
        lab.platform.post_at(&lab.ada, &format!("number {i}"), lab.now() - 400 + i);
    }
    assert_eq!(lab.collect()[1], "OWN_TWEETS:300 (300 new)");
    assert_eq!(lab.platform.count(endpoint::TIMELINE), 3);
    // An empty page that names another one is followed, and counts.
    lab.platform.fault_after(endpoint::TIMELINE, 1, Fault::EmptyPage, 1);
    lab.pass(MINUTE);
    let run = lab.run();
    assert_eq!(lab.platform.count(endpoint::TIMELINE), 6, "{run:?}");
}

#[test]
fn leftovers_of_a_crash_are_ignored_and_swept() {
    let lab = Lab::new();
    let id = lab.platform.post(&lab.ada, "here");
    lab.collect();
    let planted = [
        "state.json.tmp",
        "tweets/own/17.json.tmp",
        "deletions/18.json.tmp",
        "engagement/19.json.tmp",
    ];
    // The run before did not come to its end.
    let mut state = lab.state();
    state["last_started"] = json!("2026-11-21T11:30:00.000Z");
    fs::write(lab.data().join("state.json"), state.to_string()).unwrap();
    for path in planted {
        fs::write(lab.data().join(path), "{\"half").unwrap();
    }
    assert_eq!(lab.collect()[1], "OWN_TWEETS:1 (0 new)");
    assert!(lab.files().keys().all(|path| !path.ends_with(".tmp")), "{:?}", names(&lab.files()));
    assert!(lab.own(&id).is_some() && lab.own("17").is_none() && lab.deletion("18").is_none());
}

#[test]
fn a_damaged_file_is_moved_aside_and_said() {
    let lab = Lab::new();
    let id = lab.platform.post(&lab.ada, "here");
    lab.collect();
    let path = lab.data().join(format!("tweets/own/{id}.json"));
    fs::write(&path, "{\"id\": \"").unwrap();
    let run = lab.run();
    assert_eq!(run.status, "complete");
    assert!(run.warnings.iter().any(|warning| warning.contains(&id)), "{run:?}");
    assert_eq!(fs::read_to_string(path.with_extension("json.damaged")).unwrap(), "{\"id\": \"");
    assert_eq!(lab.own(&id).unwrap()["text"], "here");
}

#[test]
fn a_lost_or_damaged_state_is_a_first_run() {
    for damage in [None, Some("{\"streams\": {\"own\""), Some("[]"), Some("")] {
        let lab = Lab::new();
        let gone = lab.platform.post(&lab.ada, "gone soon");
        lab.platform.post(&lab.ada, "stays");
        lab.collect();
        lab.platform.delete(&gone);
        let path = lab.data().join("state.json");
        match damage {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        let run = lab.run();
        assert_eq!((run.status.as_str(), run.deletions), ("complete", 0), "{damage:?}: {run:?}");
        assert_eq!(lab.platform.count(endpoint::LOOKUP), 0, "{damage:?}");
        assert_eq!(run.warnings.is_empty(), damage.is_none(), "{damage:?}: {run:?}");
        assert_eq!(lab.former("own").len(), 1);
    }
}

#[test]
fn ids_that_are_none_never_become_paths() {
    let lab = Lab::new();
    for i in 0..8 {
        lab.platform.post(&lab.ada, &format!("post {i}"));
    }
    let ids = [
        "../../../../evil",
        "/etc/evil",
        "17/../x",
        "",
        "12345678901234567890",
        "1\u{0}2",
        "..",
        "17.json",
    ];
    lab.platform.fault(
        endpoint::TIMELINE,
        Fault::Ids(ids.iter().map(ToString::to_string).collect()),
        1,
    );
    let lines = lab.collect();
    assert_eq!(lines[1], "OWN_TWEETS:0 (0 new)", "{lines:?}");
    lab.platform.fault(endpoint::TIMELINE, Fault::NumericIds, 1);
    lab.collect();
    let outside = crate::collector_world::files(lab.outside());
    assert!(
        outside.keys().all(|path| path.starts_with("home/") && !path.contains("evil")),
        "{:?}",
        names(&outside)
    );
    assert!(
        lab.files().keys().all(|path| !path.starts_with("tweets/")),
        "{:?}",
        names(&lab.files())
    );
}

#[test]
fn links_in_the_directory_are_replaced_and_not_followed() {
    let lab = Lab::new();
    let id = lab.platform.post(&lab.ada, "here");
    let victim = lab.outside().join("victim");
    fs::write(&victim, "mine").unwrap();
    lab.collect();
    let path = lab.data().join(format!("tweets/own/{id}.json"));
    for planted in
        [path.clone(), path.with_extension("json.tmp"), lab.data().join("state.json.tmp")]
    {
        let _ = fs::remove_file(&planted);
        std::os::unix::fs::symlink(&victim, &planted).unwrap();
        lab.pass(MINUTE);
        lab.run();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine", "{}", planted.display());
    }
    lab.run();
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(lab.own(&id).unwrap()["text"], "here");
}

#[test]
fn each_run_leaves_a_heartbeat() {
    let lab = Lab::new();
    lab.collect();
    lab.platform.fault(endpoint::TIMELINE, Fault::CreditsDepleted, 1);
    assert_eq!(lab.run().status, "failed");
    let text =
        fs::read_to_string(lab.home().join("integrations/collector/heartbeat.jsonl")).unwrap();
    let beats: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(beats.len(), 2);
    assert_eq!((&beats[0]["event"], &beats[0]["status"]), (&json!("collect"), &json!("ok")));
    assert_eq!(beats[0]["source_version"], "0.8.1");
    assert_eq!(beats[0]["details"]["user_id"], json!(lab.ada));
    let ts = beats[0]["ts"].as_str().unwrap();
    assert_eq!(parse_instant(ts, false), Some(lab.now() / 1000 * 1000));
    assert_eq!((ts.len(), &ts[19..]), (20, "Z"), "seconds: {ts}");
    assert_ne!(beats[1]["status"], "ok");
}

#[test]
fn authors_are_named_in_lines_as_far_as_they_are_known() {
    for (authors, named) in [("ask", true), ("ids", false)] {
        let lab = Lab::with(&[("authors", authors)]);
        let theirs = lab.platform.post(&lab.bob, "for @ada");
        let mine = lab.platform.post(&lab.ada, "of mine");
        lab.collect();
        let expansions = lab
            .platform
            .take_log()
            .iter()
            .filter(|line| line.contains("expansions=author_id"))
            .count();
        assert_eq!(expansions > 0, named);
        lab.platform.delete(&theirs);
        lab.platform.delete(&mine);
        lab.pass(MINUTE);
        let lines = lab.collect();
        let mut told = with(&lines, "DELETION_DETECTED:");
        told.sort_by_key(|line| line.contains(&theirs));
        let of = if named { "bob" } else { &lab.bob };
        // The own handle is known without asking.
        assert_eq!(
            told,
            [
                format!("DELETION_DETECTED:{mine}:ada:of mine"),
                format!("DELETION_DETECTED:{theirs}:{of}:for @ada")
            ]
        );
    }
}
