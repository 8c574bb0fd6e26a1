//! Runs without failures.

use brain_protocol::DeletionReason;
use serde_json::{Value, json};

use super::fake_platform::{FakePlatform, HALF_HOUR, OWNER, RecordingListener, T0, post_id};
use crate::deletion::{MAX_AGE_MS, MAX_UNSEEN_MS};
use crate::{COLLECTED_AT, Journal, JournalEvent, LAST_UPDATED, SEARCHES, Stream};
use brain_base::clock::rfc3339;

/// Larger than 2^53, the limit of safe JSON numbers.
const BIG: u64 = 9_007_199_254_740_993;

#[test]
fn a_first_run_stores_all_posts_without_lookups() {
    let fixture = FakePlatform::new(&["rust", "brain"]);
    fixture.post(BIG, OWNER, "about rust and @owner");
    fixture.post(BIG + 1, "6", "hello @owner, a brain of rust");
    let listener = RecordingListener::default();
    let report = fixture.run_with(&listener).unwrap();
    let at = rfc3339(T0);
    assert_eq!(
        listener.lines.into_inner(),
        [
            format!("RUN_START:{at}"),
            "OWN_TWEETS:1 (1 new)".into(),
            "MENTIONS:2 (2 new)".into(),
            format!("RUN_COMPLETE:{at}:tweets_stored=2:deletions=0:velocity_alerts=0"),
        ]
    );
    let path = |name: &str| format!("/2/users/5/{name}");
    let search = || "/2/tweets/search/recent".to_owned();
    assert_eq!(fixture.requested_paths(0), [path("tweets"), path("mentions"), search(), search()]);
    assert_eq!((report.status.as_str(), report.tweets_stored, report.requests), ("complete", 2, 4));
    assert_eq!(
        report.streams.iter().map(|stream| (stream.total, stream.new)).collect::<Vec<_>>(),
        [(1, 1), (2, 2), (2, 2)]
    );
    assert!(
        report.streams.iter().all(|stream| stream.skipped.is_none()) && report.warnings.is_empty()
    );
    assert_eq!(listener.new.into_inner().len(), 5);

    let post = fixture.stored(Stream::Searches, BIG + 1);
    assert_eq!(post.fields()[SEARCHES], json!(["rust", "brain"]));
    assert_eq!(
        (post.str(COLLECTED_AT), post.str(LAST_UPDATED)),
        (Some(at.as_str()), Some(at.as_str()))
    );
    assert_eq!(fixture.stored(Stream::Own, BIG).author(), "owner");
    assert_eq!(fixture.stored(Stream::Mentions, BIG).author(), "owner");
    assert_eq!(fixture.stored(Stream::Mentions, BIG + 1).author(), "6");
    assert_eq!(fixture.data.snapshots(&post_id(BIG)).unwrap().len(), 1);
    assert_eq!(fixture.previous_ids(Stream::Mentions), [BIG + 1, BIG]);
    let state = fixture.state();
    assert_eq!((&state.last_run, &state.last_started), (&Some(at.clone()), &Some(at)));
    assert_eq!(state.last_report.as_ref(), Some(&report));
}

#[test]
fn stored_posts_are_updated_and_not_new() {
    let fixture = FakePlatform::new(&["rust"]);
    fixture.post(BIG, OWNER, "about rust");
    fixture.run();
    let engagement = fixture.root().join("engagement").join(format!("{BIG}.json"));
    let written = std::fs::metadata(&engagement).unwrap();
    fixture.advance(HALF_HOUR);
    fixture.platform().posts.get_mut(&BIG).unwrap().text = "about rust, edited".into();
    let (report, lines) = fixture.run();
    assert_eq!(lines, ["OWN_TWEETS:1 (0 new)", "MENTIONS:0 (0 new)"]);
    assert_eq!((report.requests, report.tweets_stored), (3, 1));
    for stream in [Stream::Own, Stream::Searches] {
        let post = fixture.stored(stream, BIG);
        assert_eq!((post.text(), post.instant(COLLECTED_AT)), ("about rust, edited", Some(T0)));
        assert_eq!(post.instant(LAST_UPDATED), Some(T0 + HALF_HOUR));
    }
    let again = std::fs::metadata(&engagement).unwrap();
    // A rewritten file would be a new one.
    assert_eq!(
        std::os::unix::fs::MetadataExt::ino(&written),
        std::os::unix::fs::MetadataExt::ino(&again)
    );
    let journal = Journal::new(&fixture.settings.dir).since(0).unwrap();
    assert_eq!(journal.len(), 2, "one entry per stream and post");
}

#[test]
fn the_author_of_an_earlier_answer_is_kept() {
    let fixture = FakePlatform::new(&[]);
    fixture.post(BIG, "6", "@owner");
    fixture.run();
    let mut post = fixture.stored(Stream::Mentions, BIG);
    post.fields_mut().insert("_author".into(), json!({"username": "alice"}));
    post.fields_mut().insert("gone".into(), json!(1));
    fixture.data.put_post(Stream::Mentions, &post).unwrap();
    fixture.run();
    let post = fixture.stored(Stream::Mentions, BIG);
    assert_eq!((post.author(), post.fields().get("gone")), ("alice", None));
    // A newer answer replaces the author.
    let body = json!({"data": [{"id": BIG.to_string(), "author_id": "6"}],
        "includes": {"users": [{"id": "6", "username": "alice_2"}]}});
    fixture.fail("mentions", Ok(crate::fake::answer(200, &[], body.to_string())));
    fixture.run();
    assert_eq!(fixture.stored(Stream::Mentions, BIG).author(), "alice_2");
}

#[test]
fn a_post_lists_all_searches_that_found_it() {
    let mut fixture = FakePlatform::new(&["rust"]);
    fixture.post(BIG, "6", "rust and brain");
    fixture.run();
    fixture.settings.searches = vec!["brain".into(), "rust".into()];
    fixture.platform().posts.get_mut(&BIG).unwrap().found_by = vec!["brain".into(), "rust".into()];
    let (report, _) = fixture.run();
    assert_eq!(fixture.stored(Stream::Searches, BIG).fields()[SEARCHES], json!(["rust", "brain"]));
    assert_eq!((report.streams[2].total, report.streams[2].new, report.tweets_stored), (1, 0, 1));
}

#[test]
fn a_deletion_is_reported_and_recorded_once() {
    let fixture = FakePlatform::new(&[]);
    fixture.post(BIG, OWNER, "I should: not\nhave said this @owner");
    fixture.run();
    fixture.delete(BIG);
    fixture.advance(HALF_HOUR);
    let from = fixture.http_client.requests().len();
    let (report, lines) = fixture.run();
    let line = format!("DELETION_DETECTED:{BIG}:owner:I should: not have said this @owner");
    assert_eq!(lines, ["OWN_TWEETS:0 (0 new)".to_owned(), "MENTIONS:0 (0 new)".to_owned(), line]);
    assert_eq!(
        fixture.requested_paths(from)[2..],
        [format!("/2/tweets/{BIG}")],
        "missing in two streams, looked up once"
    );
    assert_eq!((report.deletions, report.unverified), (1, 0));
    let record = fixture.file(&format!("deletions/{BIG}.json"));
    assert_eq!(
        (&record["reason"], &record["detected_at"]),
        (&json!("not_found"), &json!(rfc3339(T0 + HALF_HOUR)))
    );
    assert_eq!(record["text"], json!("I should: not\nhave said this @owner"));
    let journal = Journal::new(&fixture.settings.dir).since(T0 + HALF_HOUR).unwrap();
    assert_eq!(journal[0].event, JournalEvent::Deletion { id: BIG.to_string() });
    let (report, lines) = fixture.run();
    assert_eq!((report.deletions, lines.len()), (0, 2));
    assert!(fixture.previous_ids(Stream::Own).is_empty());
}

#[test]
fn lookups_have_exact_bounds() {
    // Age and time since last seen in milliseconds, existence; lookups, deletions.
    for (age, seen, exists, lookups, deletions) in [
        (MAX_AGE_MS, 0, false, 1, 1),
        (MAX_AGE_MS + 1, 0, false, 0, 0),
        (MAX_UNSEEN_MS, MAX_UNSEEN_MS, false, 1, 1),
        (MAX_UNSEEN_MS + 1, MAX_UNSEEN_MS + 1, false, 0, 0),
        (HALF_HOUR, 0, true, 1, 0),
        (-HALF_HOUR, 0, false, 1, 1),
    ] {
        let fixture = FakePlatform::new(&[]);
        fixture.post(BIG, OWNER, "text");
        fixture.platform().posts.get_mut(&BIG).unwrap().created = T0 + seen - age;
        fixture.run();
        fixture.advance(seen);
        fixture.delete(BIG);
        fixture.platform().posts.get_mut(&BIG).unwrap().exists = exists;
        let (report, _) = fixture.run();
        let lookup_count = report.requests - 2;
        assert_eq!(
            (lookup_count, report.deletions),
            (lookups, deletions),
            "{age} old, seen {seen} ago, exists: {exists}"
        );
        assert_eq!(fixture.data.is_deleted(&post_id(BIG)), deletions == 1);
        // Posts with a clear answer are not looked up again.
        assert_eq!(fixture.run().0.requests, 2);
    }
}

#[test]
fn posts_without_file_or_with_deletion_are_not_looked_up() {
    let fixture = FakePlatform::new(&[]);
    fixture.post(BIG, OWNER, "one");
    fixture.post(BIG + 1, OWNER, "two");
    fixture.run();
    std::fs::remove_file(fixture.root().join(format!("tweets/own/{BIG}.json"))).unwrap();
    let deleted = fixture.stored(Stream::Own, BIG + 1);
    fixture.data.put_deletion(&deleted, T0, DeletionReason::NotFound, false).unwrap();
    fixture.delete(BIG);
    fixture.delete(BIG + 1);
    let (report, lines) = fixture.run();
    assert_eq!((report.requests, report.deletions, lines.len()), (2, 0, 2));
}

#[test]
fn a_post_seen_in_another_stream_is_not_missing() {
    let fixture = FakePlatform::new(&[]);
    fixture.post(BIG, OWNER, "@owner");
    fixture.run();
    fixture.platform().posts.get_mut(&BIG).unwrap().mentions_owner = false;
    let (report, _) = fixture.run();
    assert_eq!((report.requests, fixture.previous_ids(Stream::Mentions).len()), (2, 0));
}

#[test]
fn an_edited_post_is_not_deleted() {
    let fixture = FakePlatform::new(&[]);
    fixture.post(BIG, OWNER, "teh");
    fixture.run();
    fixture.platform().posts.get_mut(&BIG).unwrap().listed = false;
    fixture.post(BIG + 5, OWNER, "the");
    let (report, lines) = fixture.run();
    assert_eq!((report.deletions, lines[0].as_str()), (0, "OWN_TWEETS:1 (1 new)"));
}

#[test]
fn posts_past_the_last_page_are_looked_up_last() {
    let mut fixture = FakePlatform::new(&[]);
    fixture.settings.max_pages = 1;
    fixture.platform().page_size = 3;
    // Ids of different length: as text, 9 would be newer than 10.
    for id in [7, 8, 9] {
        fixture.post(id, OWNER, "old");
    }
    fixture.run();
    for id in [10, 11] {
        fixture.post(id, OWNER, "new");
    }
    fixture.delete(9);
    let from = fixture.http_client.requests().len();
    let (report, _) = fixture.run();
    // 8 is in the page again. 9 is within the page's range, and 7 is older than the whole page.
    assert_eq!(fixture.requested_paths(from)[2..], ["/2/tweets/9", "/2/tweets/7"]);
    assert_eq!((report.deletions, fixture.previous_ids(Stream::Own)), (1, vec![11, 10, 8]));
}

#[test]
fn a_post_within_one_of_its_streams_is_looked_up_first() {
    let mut fixture = FakePlatform::new(&[]);
    fixture.settings.max_pages = 1;
    fixture.platform().page_size = 3;
    fixture.post(18, OWNER, "@owner");
    fixture.post(50, OWNER, "old");
    fixture.post(10, "6", "@owner");
    fixture.post(20, "6", "@owner");
    fixture.run();
    for id in [60, 61, 62] {
        fixture.post(id, OWNER, "new");
    }
    fixture.delete(18);
    let from = fixture.http_client.requests().len();
    fixture.run();
    // 18 is older than all own posts, but not than all mentions.
    assert_eq!(fixture.requested_paths(from)[2..], ["/2/tweets/18", "/2/tweets/50"]);
}

#[test]
fn velocity_alerts_have_exact_bounds() {
    for (old, new, minutes, alert) in [
        (45, 90, 30, None),
        (50, 99, 30, None),
        (50, 100, 30, Some("30min")),
        (30, 150, 29, Some("29min")),
        (49, 149, 1, None),
        (49, 150, 0, Some("0min")),
        (200, 300, 5, None),
        (200, 301, 5, Some("5min")),
        (100, 50, 5, None),
    ] {
        let fixture = FakePlatform::new(&["text"]);
        fixture.post(BIG, OWNER, "text @owner");
        fixture.like(BIG, old);
        assert_eq!(fixture.run().0.velocity_alerts, 0, "the first snapshot causes no alert");
        fixture.like(BIG, new);
        // One millisecond less than a minute, which does not count.
        fixture.advance(minutes * 60_000 + 59_999);
        let (report, lines) = fixture.run();
        let alert_lines: Vec<&String> =
            lines.iter().filter(|line| line.starts_with("VELOCITY")).collect();
        let line =
            alert.map(|minutes| format!("VELOCITY_ALERT:{BIG}:likes:{old}->{new}:{minutes}"));
        assert_eq!(
            alert_lines,
            line.iter().collect::<Vec<_>>(),
            "one alert, although three streams have the post"
        );
        assert_eq!(report.velocity_alerts, u64::from(alert.is_some()));
        assert_eq!(fixture.data.snapshots(&post_id(BIG)).unwrap().len(), 2);
        let journal = Journal::new(&fixture.settings.dir).since(T0 + 1).unwrap();
        let journaled = journal.iter().find_map(|entry| match &entry.event {
            JournalEvent::Alert { alert, author, message, .. } => {
                Some((alert.as_str(), author.as_str(), message.clone()))
            }
            _ => None,
        });
        assert_eq!(journaled, line.map(|line| ("velocity", "owner", line)));
        assert_eq!(fixture.run().0.velocity_alerts, 0, "unchanged likes");
    }
}

#[test]
fn minutes_are_not_negative_and_curves_need_metrics() {
    let fixture = FakePlatform::new(&[]);
    fixture.post(BIG, OWNER, "text");
    fixture.like(BIG, 50);
    fixture.run();
    fixture.advance(-HALF_HOUR);
    fixture.like(BIG, 500);
    let (_, lines) = fixture.run();
    assert!(lines[2].ends_with("likes:50->500:0min"), "{lines:?}");
    let body =
        json!({"data": [{"id": "17", "text": "t"}, {"id": "18", "public_metrics": {"later": 1}}]})
            .to_string();
    fixture.fail("own", Ok(crate::fake::answer(200, &[], body)));
    fixture.run();
    assert_eq!(fixture.data.count("engagement"), 1);
    assert_eq!(fixture.stored(Stream::Own, 17).author(), "owner", "the owner of the timeline");
}

#[test]
fn redacted_posts_are_reported_without_text() {
    let mut fixture = FakePlatform::new(&["said"]);
    fixture.settings.redact = true;
    fixture.post(BIG, OWNER, "what I said @owner");
    fixture.run();
    fixture.delete(BIG);
    let (_, lines) = fixture.run();
    assert_eq!(lines[2], format!("DELETION_DETECTED:{BIG}:owner:"));
    for dir in ["tweets/own", "tweets/mentions", "tweets/searches", "deletions"] {
        let record = fixture.file(&format!("{dir}/{BIG}.json"));
        let mut keys: Vec<&String> = record.as_object().unwrap().keys().collect();
        keys.sort();
        assert_eq!(keys, ["_collected_at", "created_at", "detected_at", "id", "reason"], "{dir}");
    }
    assert_eq!(fixture.data.count("engagement"), 0);
}

#[test]
fn enabling_redaction_redacts_earlier_deletions() {
    let mut fixture = FakePlatform::new(&[]);
    fixture.post(BIG, OWNER, "what I said @owner");
    fixture.run();
    fixture.delete(BIG);
    fixture.run();
    assert_eq!(fixture.file(&format!("deletions/{BIG}.json"))["text"], "what I said @owner");
    let state = fixture.state();
    fixture.settings.redact = true;
    fixture.run();
    for dir in ["tweets/own", "tweets/mentions", "deletions"] {
        assert_eq!(fixture.file(&format!("{dir}/{BIG}.json"))["text"], Value::Null, "{dir}");
    }
    assert_eq!(fixture.data.count("engagement"), 0);
    assert_eq!((state.redacted, fixture.state().redacted), (false, true));
    // Without redaction, the state says that not all deletions are redacted.
    fixture.settings.redact = false;
    fixture.run();
    assert!(!fixture.state().redacted);
}

#[test]
fn missing_or_invalid_likes_do_not_count_as_zero() {
    let fixture = FakePlatform::new(&[]);
    fixture.post(BIG, OWNER, "text");
    fixture.like(BIG, 500);
    fixture.run();
    for metrics in [
        json!({"retweet_count": 1}),
        json!({"like_count": -1, "retweet_count": 2}),
        json!({"like_count": "7"}),
    ] {
        let body =
            json!({"data": [{"id": BIG.to_string(), "text": "t", "public_metrics": metrics}]})
                .to_string();
        fixture.fail("own", Ok(crate::fake::answer(200, &[], body)));
        assert_eq!(fixture.run().0.velocity_alerts, 0);
    }
    fixture.clear_failures();
    assert_eq!(fixture.run().0.velocity_alerts, 0, "the likes did not change");
    assert_eq!(fixture.data.snapshots(&post_id(BIG)).unwrap().len(), 1);
}

#[test]
fn streams_are_pulled_up_to_the_page_limit() {
    let fixture = FakePlatform::new(&["text"]);
    fixture.platform().page_size = 2;
    for id in 1..=5 {
        fixture.post(id, OWNER, "text");
    }
    let (report, _) = fixture.run();
    assert_eq!((report.requests, report.tweets_stored), (3 + 1 + 3, 5));
    let targets = fixture.http_client.requests();
    assert!(
        targets[1].target.ends_with("&pagination_token=2")
            && targets[5].target.ends_with("&next_token=2")
    );
    assert_eq!(fixture.state().streams["own"].next_token, None);
    for id in 6..=9 {
        fixture.post(id, OWNER, "text");
    }
    let (report, _) = fixture.run();
    assert_eq!((report.streams[0].total, report.streams[0].new), (6, 4));
    assert_eq!(fixture.previous_ids(Stream::Own), [9, 8, 7, 6, 5, 4]);
    assert_eq!(fixture.state().streams["own"].next_token.as_deref(), Some("6"));
    assert_eq!(report.deletions, 0, "1 to 3 were looked up and exist");
}
