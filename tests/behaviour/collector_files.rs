//! The results of a run: exact files, the state, the heartbeat, and the event lines.

use std::fs;

use brain_base::clock::parse_instant;
use brain_tests::platform::{Fault, endpoint};
use serde_json::{Value, json};

use crate::collector_world::{Fixture, HOUR, MINUTE, lines_with, names};

#[test]
fn the_first_run_stores_and_reports_every_stream() {
    let fixture =
        Fixture::with(&[("searches", r#"["owls -from:ada", "\"night birds\" OR #owl"]"#)]);
    let mine = fixture.platform.post(&fixture.ada, "Owls of mine");
    let mention = fixture.platform.post(&fixture.bob, "look, @ada: an owl");
    let found = fixture.platform.post(&fixture.bob, "owls, the night birds");
    fixture.platform.set_likes(&mine, 7);
    let at = fixture.stamp();
    let lines = fixture.collect();
    assert_eq!(
        lines,
        [
            format!("RUN_START:{at}"),
            "OWN_TWEETS:1 (1 new)".into(),
            "MENTIONS:1 (1 new)".into(),
            format!("RUN_COMPLETE:{at}:tweets_stored=3:deletions=0:velocity_alerts=0"),
        ]
    );
    let files = fixture.files();
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

    let post = fixture.own(&mine).unwrap();
    assert_eq!((&post["id"], &post["text"]), (&json!(mine), &json!("Owls of mine")));
    assert_eq!((&post["last_updated"], &post["_collected_at"]), (&json!(at), &json!(at)));
    assert_eq!(post["created_at"], json!(at));
    assert_eq!(post["author_id"], json!(fixture.ada));
    let metrics = &post["public_metrics"];
    for (name, count) in
        [("like_count", 7), ("retweet_count", 0), ("reply_count", 0), ("quote_count", 0)]
    {
        assert_eq!(metrics[name], count, "{name}");
    }
    assert_eq!(post["edit_history_tweet_ids"], json!([mine]), "unused fields are kept");
    assert_eq!(fixture.platform.count(endpoint::LOOKUP), 0, "the first pull has no missing posts");
    assert!(
        !fixture.data().join("deletions").read_dir().unwrap().any(|_| true),
        "the directory exists and is empty"
    );
}

#[test]
fn later_runs_refresh_posts_and_keep_collected_at() {
    let fixture = Fixture::new();
    let id = fixture.platform.post(&fixture.ada, "as it was");
    let first = fixture.stamp();
    fixture.collect();
    fixture.advance(30 * MINUTE);
    fixture.platform.set_likes(&id, 3);
    fixture.platform.post(&fixture.ada, "another");
    let lines = fixture.collect();
    assert_eq!(lines[1], "OWN_TWEETS:2 (1 new)");
    let post = fixture.own(&id).unwrap();
    assert_eq!(
        (&post["_collected_at"], &post["last_updated"]),
        (&json!(first), &json!(fixture.stamp()))
    );
    assert_eq!(post["public_metrics"]["like_count"], 3);
    let log = fixture.platform.take_log();
    let timelines: Vec<&String> = log.iter().filter(|line| line.contains("/tweets?")).collect();
    assert_eq!(timelines.len(), 2);
    for line in timelines {
        assert!(
            line.contains(&format!("/2/users/{}/tweets?", fixture.ada)),
            "the id is used, not the handle: {line}"
        );
        assert!(line.contains("max_results=100") && !line.contains("since_id"), "{line}");
    }
}

#[test]
fn unchanged_posts_change_only_the_time() {
    let fixture = Fixture::with(&[("searches", r#"["owls"]"#)]);
    for i in 0..30 {
        fixture.platform.post(&fixture.ada, &format!("owls {i}"));
    }
    fixture.collect();
    let before = fixture.files();
    for dir in ["tweets/own/", "tweets/searches/", "engagement/"] {
        assert_eq!(before.keys().filter(|path| path.starts_with(dir)).count(), 30, "{dir}");
    }
    fixture.advance(30 * MINUTE);
    fixture.collect();
    let after = fixture.files();
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
fn both_vocabularies_and_unknown_fields_are_stored() {
    let fixture = Fixture::new();
    let long = "long words ".repeat(60);
    let id = fixture.platform.post(&fixture.ada, &long);
    fixture.platform.change_post(&id, |post| post.counts.as_mut().unwrap().reposts = 4);
    fixture.platform.fault(endpoint::TIMELINE, Fault::UnknownFields, 1);
    fixture.collect();
    let post = fixture.own(&id).unwrap();
    assert_eq!(post["unheard_of"], json!({"x": [1, {"y": true}]}));
    assert_eq!(post["note_tweet"]["text"], json!(long));
    fixture.advance(HOUR);
    fixture.platform.change_post(&id, |post| post.counts.as_mut().unwrap().reposts = 9);
    fixture.platform.fault(endpoint::TIMELINE, Fault::NewerNames, 1);
    fixture.collect();
    let snapshots = fixture.snapshots(&id);
    let reposts: Vec<&Value> =
        snapshots.iter().map(|each| &each["metrics"]["retweet_count"]).collect();
    assert_eq!(reposts, [4, 9]);
    // Without `meta` the page may be incomplete; its posts are stored.
    fixture.advance(HOUR);
    fixture.platform.fault(endpoint::TIMELINE, Fault::Nulls, 1);
    assert_eq!(fixture.collect()[1..3], ["OWN_TWEETS:1 (0 new)", "STREAM_SKIPPED:own:unreadable"]);
    assert_eq!(fixture.own(&id).unwrap()["last_updated"], fixture.stamp());
}

#[test]
fn posts_in_two_streams_are_counted_once() {
    let fixture = Fixture::with(&[("searches", r#"["owls", "birds"]"#)]);
    let both = fixture.platform.post(&fixture.bob, "owls and birds for @ada");
    let lines = fixture.collect();
    assert!(lines.last().unwrap().contains("tweets_stored=1:"), "{lines:?}");
    for stream in ["mentions", "searches"] {
        assert!(fixture.json(&format!("tweets/{stream}/{both}.json")).is_some(), "{stream}");
    }
    assert_eq!(fixture.snapshots(&both).len(), 1);
}

#[test]
fn the_state_supports_the_next_run() {
    let fixture = Fixture::new();
    let ids: Vec<String> = (0..3)
        .map(|i| fixture.platform.post_at(&fixture.ada, &format!("{i}"), fixture.now() - 10 + i))
        .collect();
    fixture.collect();
    let state = fixture.state();
    assert_eq!(state["last_run"], json!(fixture.stamp()));
    let mut newest_first = ids.clone();
    newest_first.reverse();
    assert_eq!(fixture.former("own"), newest_first);
    let (remaining, reset) = fixture.platform.remaining(endpoint::TIMELINE);
    assert_eq!(
        state["rate_limits"][endpoint::TIMELINE],
        json!({"remaining": remaining, "reset": reset})
    );
    assert_eq!(state["rate_limits"][endpoint::MENTIONS]["remaining"], 449);
}

#[test]
fn the_number_of_pages_is_configurable() {
    let fixture = Fixture::with(&[("max_pages", "3")]);
    for i in 0..350 {
        fixture.platform.post_at(&fixture.ada, &format!("number {i}"), fixture.now() - 400 + i);
    }
    assert_eq!(fixture.collect()[1], "OWN_TWEETS:300 (300 new)");
    assert_eq!(fixture.platform.count(endpoint::TIMELINE), 3);
    // An empty page with a next token is followed and counted.
    fixture.platform.fault_after(endpoint::TIMELINE, 1, Fault::EmptyPage, 1);
    fixture.advance(MINUTE);
    let run = fixture.run();
    assert_eq!(fixture.platform.count(endpoint::TIMELINE), 6, "{run:?}");
}

#[test]
fn leftovers_of_a_crash_are_removed() {
    let fixture = Fixture::new();
    let id = fixture.platform.post(&fixture.ada, "here");
    fixture.collect();
    let leftovers = [
        "state.json.tmp",
        "tweets/own/17.json.tmp",
        "deletions/18.json.tmp",
        "engagement/19.json.tmp",
    ];
    // The previous run did not finish.
    let mut state = fixture.state();
    state["last_started"] = json!("2026-11-21T11:30:00.000Z");
    fs::write(fixture.data().join("state.json"), state.to_string()).unwrap();
    for path in leftovers {
        fs::write(fixture.data().join(path), "{\"half").unwrap();
    }
    assert_eq!(fixture.collect()[1], "OWN_TWEETS:1 (0 new)");
    assert!(
        fixture.files().keys().all(|path| !path.ends_with(".tmp")),
        "{:?}",
        names(&fixture.files())
    );
    assert!(
        fixture.own(&id).is_some()
            && fixture.own("17").is_none()
            && fixture.deletion("18").is_none()
    );
}

#[test]
fn damaged_files_are_moved_aside_and_reported() {
    let fixture = Fixture::new();
    let id = fixture.platform.post(&fixture.ada, "here");
    fixture.collect();
    let path = fixture.data().join(format!("tweets/own/{id}.json"));
    fs::write(&path, "{\"id\": \"").unwrap();
    let run = fixture.run();
    assert_eq!(run.status.as_str(), "complete");
    assert!(run.warnings.iter().any(|warning| warning.contains(&id)), "{run:?}");
    assert_eq!(fs::read_to_string(path.with_extension("json.damaged")).unwrap(), "{\"id\": \"");
    assert_eq!(fixture.own(&id).unwrap()["text"], "here");
}

#[test]
fn a_missing_or_damaged_state_means_a_first_run() {
    for damage in [None, Some("{\"streams\": {\"own\""), Some("[]"), Some("")] {
        let fixture = Fixture::new();
        let gone = fixture.platform.post(&fixture.ada, "gone soon");
        fixture.platform.post(&fixture.ada, "stays");
        fixture.collect();
        fixture.platform.delete(&gone);
        let path = fixture.data().join("state.json");
        match damage {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        let run = fixture.run();
        assert_eq!((run.status.as_str(), run.deletions), ("complete", 0), "{damage:?}: {run:?}");
        assert_eq!(fixture.platform.count(endpoint::LOOKUP), 0, "{damage:?}");
        assert_eq!(run.warnings.is_empty(), damage.is_none(), "{damage:?}: {run:?}");
        assert_eq!(fixture.former("own").len(), 1);
    }
}

#[test]
fn invalid_ids_never_become_paths() {
    let fixture = Fixture::new();
    for i in 0..8 {
        fixture.platform.post(&fixture.ada, &format!("post {i}"));
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
    fixture.platform.fault(
        endpoint::TIMELINE,
        Fault::Ids(ids.iter().map(ToString::to_string).collect()),
        1,
    );
    let lines = fixture.collect();
    assert_eq!(lines[1], "OWN_TWEETS:0 (0 new)", "{lines:?}");
    fixture.platform.fault(endpoint::TIMELINE, Fault::NumericIds, 1);
    fixture.collect();
    let outside = crate::collector_world::files(fixture.outside());
    assert!(
        outside.keys().all(|path| path.starts_with("home/") && !path.contains("evil")),
        "{:?}",
        names(&outside)
    );
    assert!(
        fixture.files().keys().all(|path| !path.starts_with("tweets/")),
        "{:?}",
        names(&fixture.files())
    );
    assert_eq!(fixture.collect()[1], "OWN_TWEETS:8 (8 new)", "valid ids are stored");
}

#[test]
fn symbolic_links_are_replaced_and_not_followed() {
    let fixture = Fixture::new();
    let id = fixture.platform.post(&fixture.ada, "here");
    let victim = fixture.outside().join("victim");
    fs::write(&victim, "mine").unwrap();
    fixture.collect();
    let path = fixture.data().join(format!("tweets/own/{id}.json"));
    for link in
        [path.clone(), path.with_extension("json.tmp"), fixture.data().join("state.json.tmp")]
    {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        fixture.advance(MINUTE);
        fixture.run();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine", "{}", link.display());
    }
    fixture.run();
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(fixture.own(&id).unwrap()["text"], "here");
}

#[test]
fn every_run_writes_a_heartbeat() {
    let fixture = Fixture::new();
    fixture.collect();
    fixture.platform.fault(endpoint::TIMELINE, Fault::CreditsDepleted, 1);
    assert_eq!(fixture.run().status.as_str(), "failed");
    let text =
        fs::read_to_string(fixture.home().join("integrations/collector/heartbeat.jsonl")).unwrap();
    let beats: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(beats.len(), 2);
    assert_eq!((&beats[0]["event"], &beats[0]["status"]), (&json!("collect"), &json!("ok")));
    assert_eq!(beats[0]["source_version"], "0.8.1");
    assert_eq!(beats[0]["details"]["user_id"], json!(fixture.ada));
    let ts = beats[0]["ts"].as_str().unwrap();
    assert_eq!(parse_instant(ts), Some(fixture.now() / 1000 * 1000));
    assert_eq!((ts.len(), &ts[19..]), (20, "Z"), "seconds: {ts}");
    assert_ne!(beats[1]["status"], "ok");
}

#[test]
fn lines_name_known_authors() {
    for (authors, has_names) in [("ask", true), ("ids", false)] {
        let fixture = Fixture::with(&[("authors", authors)]);
        let mention = fixture.platform.post(&fixture.bob, "for @ada");
        let own_post = fixture.platform.post(&fixture.ada, "of mine");
        fixture.collect();
        let expansions = fixture
            .platform
            .take_log()
            .iter()
            .filter(|line| line.contains("expansions=author_id"))
            .count();
        assert_eq!(expansions > 0, has_names);
        fixture.platform.delete(&mention);
        fixture.platform.delete(&own_post);
        fixture.advance(MINUTE);
        let lines = fixture.collect();
        let mut deletion_lines = lines_with(&lines, "DELETION_DETECTED:");
        deletion_lines.sort_by_key(|line| line.contains(&mention));
        let author = if has_names { "bob" } else { &fixture.bob };
        // The account's own handle is known.
        assert_eq!(
            deletion_lines,
            [
                format!("DELETION_DETECTED:{own_post}:ada:of mine"),
                format!("DELETION_DETECTED:{mention}:{author}:for @ada")
            ]
        );
    }
}
