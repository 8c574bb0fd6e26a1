//! Engagement: snapshots, alerts, and their lines.

use brain_tests::platform::{Counts, Fault, endpoint};
use serde_json::{Value, json};

use crate::collector_world::{Fixture, HOUR, MINUTE, lines_with};

/// A change of a post's counts.
type Change = fn(&mut Counts);

/// Returns a fixture with an own post that has this many likes at the first run.
fn fixture_with_likes(likes: u64) -> (Fixture, String) {
    let fixture = Fixture::new();
    let id = fixture.platform.post(&fixture.ada, "something");
    fixture.platform.set_likes(&id, likes);
    fixture.collect();
    (fixture, id)
}

/// Runs the collector `after` milliseconds later, when the post has this many likes. Returns the
/// alerts.
fn alerts(fixture: &Fixture, id: &str, after: i64, likes: u64) -> Vec<String> {
    fixture.advance(after);
    fixture.platform.set_likes(id, likes);
    let lines = fixture.collect();
    let reported: Vec<String> =
        lines_with(&lines, "VELOCITY_ALERT:").into_iter().map(str::to_owned).collect();
    let count = format!("velocity_alerts={}", reported.len());
    assert!(lines.last().unwrap().ends_with(&count), "{lines:?}");
    reported
}

#[test]
fn alerts_follow_the_rule_at_its_boundaries() {
    for (old, new, alert) in [
        (45, 90, false),
        (49, 98, false),
        (50, 99, false),
        (50, 100, true),
        (51, 101, false),
        (51, 102, true),
        (30, 150, true),
        (49, 149, false),
        (49, 150, true),
        (0, 100, false),
        (0, 101, true),
        (200, 300, false),
        (200, 301, true),
        (200, 400, true),
        (100, 50, false),
    ] {
        let (fixture, id) = fixture_with_likes(old);
        let reported = alerts(&fixture, &id, 30 * MINUTE, new);
        let line = format!("VELOCITY_ALERT:{id}:likes:{old}->{new}:30min");
        assert_eq!(reported, if alert { vec![line] } else { vec![] }, "{old} -> {new}");
        assert_eq!(fixture.snapshots(&id).len(), 2, "{old} -> {new}");
    }
}

#[test]
fn the_first_snapshot_is_no_alert() {
    let fixture = Fixture::new();
    let id = fixture.platform.post(&fixture.ada, "something");
    assert_eq!(alerts(&fixture, &id, 0, 100_000), [""; 0]);
    assert_eq!(fixture.snapshots(&id).len(), 1);
    assert_eq!(alerts(&fixture, &id, HOUR, 100_000), [""; 0]);
    assert_eq!(alerts(&fixture, &id, HOUR, 100_101).len(), 1);
}

#[test]
fn whole_minutes_count_from_the_previous_snapshot() {
    for (after, minutes) in
        [(59_999, 0), (60_000, 1), (119_999, 1), (30 * MINUTE, 30), (50 * HOUR + 1, 3000)]
    {
        let (fixture, id) = fixture_with_likes(0);
        let reported = alerts(&fixture, &id, after, 500);
        assert_eq!(reported, [format!("VELOCITY_ALERT:{id}:likes:0->500:{minutes}min")], "{after}");
    }
    // A run without changes wrote no snapshot, so the time counts from the previous one.
    let (fixture, id) = fixture_with_likes(10);
    assert!(alerts(&fixture, &id, 30 * MINUTE, 10).is_empty());
    let reported = alerts(&fixture, &id, 30 * MINUTE, 400);
    assert_eq!(reported, [format!("VELOCITY_ALERT:{id}:likes:10->400:60min")]);
    // The clock went back.
    let reported = alerts(&fixture, &id, -90 * MINUTE, 1000);
    assert_eq!(reported, [format!("VELOCITY_ALERT:{id}:likes:400->1000:0min")]);
}

#[test]
fn a_snapshot_is_written_when_one_of_four_numbers_changed() {
    let (fixture, id) = fixture_with_likes(5);
    let path = fixture.data().join(format!("engagement/{id}.json"));
    let apply = |change: Change| {
        fixture.platform.change_post(&id, |post| change(post.counts.as_mut().unwrap()));
    };
    let changes: [(Change, usize); 7] = [
        (|_| {}, 1),
        (|counts| counts.impressions += 1000, 1),
        (|counts| counts.bookmarks += 1, 1),
        (|counts| counts.reposts += 1, 2),
        (|counts| counts.replies += 1, 3),
        (|counts| counts.quotes += 1, 4),
        (|counts| counts.likes -= 1, 5),
    ];
    for (step, (change, count)) in changes.into_iter().enumerate() {
        let before = std::fs::read(&path).unwrap();
        let former = fixture.snapshots(&id).len();
        fixture.advance(30 * MINUTE);
        apply(change);
        fixture.collect();
        assert_eq!(fixture.snapshots(&id).len(), count, "step {step}");
        if former == count {
            assert_eq!(std::fs::read(&path).unwrap(), before, "step {step}: nothing is written");
        }
    }
    let last = fixture.snapshots(&id).pop().unwrap();
    assert_eq!(last["timestamp"], json!(fixture.stamp()));
    assert_eq!(
        last["metrics"],
        json!({"like_count": 4, "retweet_count": 1, "reply_count": 1, "quote_count": 1,
            "bookmark_count": 1,
            "impression_count": 1000})
    );
    assert_eq!(last.as_object().unwrap().len(), 2, "timestamp and metrics, nothing else");
}

#[test]
fn a_file_has_a_hundred_snapshots_at_most() {
    let (fixture, id) = fixture_with_likes(0);
    for likes in 1..=100 {
        fixture.advance(MINUTE);
        fixture.platform.set_likes(&id, likes);
        fixture.collect();
        let expected = usize::try_from(likes + 1).unwrap().min(100);
        assert_eq!(fixture.snapshots(&id).len(), expected);
    }
    let likes: Vec<u64> = fixture
        .snapshots(&id)
        .iter()
        .map(|each| each["metrics"]["like_count"].as_u64().unwrap())
        .collect();
    assert_eq!(likes, (1..=100).collect::<Vec<u64>>(), "the oldest snapshots were removed");
}

#[test]
fn posts_without_metrics_have_no_snapshot() {
    let (fixture, id) = fixture_with_likes(60);
    fixture.platform.fault(endpoint::TIMELINE, Fault::WithoutMetrics, 1);
    assert!(alerts(&fixture, &id, MINUTE, 500).is_empty());
    assert_eq!(fixture.snapshots(&id).len(), 1);
    let reported = alerts(&fixture, &id, MINUTE, 500);
    assert_eq!(
        reported,
        [format!("VELOCITY_ALERT:{id}:likes:60->500:2min")],
        "the comparison is with the last snapshot"
    );
}

#[test]
fn a_damaged_curve_affects_only_itself() {
    let (fixture, id) = fixture_with_likes(60);
    let path = fixture.data().join(format!("engagement/{id}.json"));
    std::fs::write(&path, "[{\"timestamp\": ").unwrap();
    assert!(alerts(&fixture, &id, MINUTE, 500).is_empty());
    assert_eq!(fixture.snapshots(&id).len(), 1);
    assert!(path.with_extension("json.damaged").exists());
}

#[test]
fn posts_of_every_stream_have_curves_and_one_alert_each() {
    let fixture = Fixture::with(&[("searches", r#"["owls"]"#)]);
    let both = fixture.platform.post(&fixture.bob, "owls for @ada");
    fixture.platform.set_likes(&both, 50);
    fixture.collect();
    let reported = alerts(&fixture, &both, 30 * MINUTE, 100);
    assert_eq!(
        reported,
        [format!("VELOCITY_ALERT:{both}:likes:50->100:30min")],
        "one alert for a post of two streams"
    );
    let snapshots: Vec<Value> = fixture.snapshots(&both);
    assert_eq!(snapshots.len(), 2);
}
