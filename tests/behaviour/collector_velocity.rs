//! Engagement: when a snapshot is written, when it is an alert, and what the line says.

use brain_tests::platform::{Counts, Fault, endpoint};
use serde_json::{Value, json};

use crate::collector_world::{HOUR, Lab, MINUTE, with};

/// What happens to the numbers of a post.
type Change = fn(&mut Counts);

/// A post of the own timeline with so many likes at its first run.
fn liked(likes: u64) -> (Lab, String) {
    let lab = Lab::new();
    let id = lab.platform.post(&lab.ada, "something");
    lab.platform.likes(&id, likes);
    lab.collect();
    (lab, id)
}

/// The alerts of the next run, after these milliseconds and with so many likes.
fn alerts(lab: &Lab, id: &str, after: i64, likes: u64) -> Vec<String> {
    lab.pass(after);
    lab.platform.likes(id, likes);
    let lines = lab.collect();
    let told: Vec<String> =
        with(&lines, "VELOCITY_ALERT:").into_iter().map(str::to_owned).collect();
    let count = format!("velocity_alerts={}", told.len());
    assert!(lines.last().unwrap().ends_with(&count), "{lines:?}");
    told
}

#[test]
fn each_boundary_of_the_rule() {
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
        let (lab, id) = liked(old);
        let told = alerts(&lab, &id, 30 * MINUTE, new);
        let line = format!("VELOCITY_ALERT:{id}:likes:{old}->{new}:30min");
        assert_eq!(told, if alert { vec![line] } else { vec![] }, "{old} -> {new}");
        assert_eq!(lab.snapshots(&id).len(), 2, "{old} -> {new}");
    }
}

#[test]
fn the_first_snapshot_is_no_alert() {
    let (lab, id) = liked(100_000);
    assert_eq!(lab.snapshots(&id).len(), 1);
    let lines = lab.lines();
    assert!(with(&lines, "VELOCITY_ALERT").is_empty());
    assert!(alerts(&lab, &id, HOUR, 100_000).is_empty());
}

#[test]
fn minutes_are_whole_and_count_from_the_former_snapshot() {
    for (after, minutes) in
        [(59_999, 0), (60_000, 1), (119_999, 1), (30 * MINUTE, 30), (50 * HOUR + 1, 3000)]
    {
        let (lab, id) = liked(0);
        let told = alerts(&lab, &id, after, 500);
        assert_eq!(told, [format!("VELOCITY_ALERT:{id}:likes:0->500:{minutes}min")], "{after}");
    }
    // A run that found nothing new wrote no snapshot, so the time goes on from before.
    let (lab, id) = liked(10);
    assert!(alerts(&lab, &id, 30 * MINUTE, 10).is_empty());
    let told = alerts(&lab, &id, 30 * MINUTE, 400);
    assert_eq!(told, [format!("VELOCITY_ALERT:{id}:likes:10->400:60min")]);
    // The clock was put back.
    let told = alerts(&lab, &id, -90 * MINUTE, 1000);
    assert_eq!(told, [format!("VELOCITY_ALERT:{id}:likes:400->1000:0min")]);
}

#[test]
fn a_snapshot_is_written_when_one_of_four_numbers_changed() {
    let (lab, id) = liked(5);
    let path = lab.data().join(format!("engagement/{id}.json"));
    let set =
        |change: Change| lab.platform.change(&id, |post| change(post.counts.as_mut().unwrap()));
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
        let former = lab.snapshots(&id).len();
        lab.pass(30 * MINUTE);
        set(change);
        lab.collect();
        assert_eq!(lab.snapshots(&id).len(), count, "step {step}");
        if former == count {
            assert_eq!(std::fs::read(&path).unwrap(), before, "step {step}: nothing is written");
        }
    }
    let last = lab.snapshots(&id).pop().unwrap();
    assert_eq!(last["timestamp"], json!(lab.stamp()));
    assert_eq!(
        last["metrics"],
        json!({"like_count": 4, "retweet_count": 1, "reply_count": 1, "quote_count": 1, "bookmark_count": 1,
            "impression_count": 1000})
    );
    assert_eq!(last.as_object().unwrap().len(), 2, "timestamp and metrics, nothing else");
}

#[test]
fn a_file_has_a_hundred_snapshots_at_most() {
    let (lab, id) = liked(0);
    for likes in 1..=100 {
        lab.pass(MINUTE);
        lab.platform.likes(&id, likes);
        lab.collect();
        let expected = usize::try_from(likes + 1).unwrap().min(100);
        assert_eq!(lab.snapshots(&id).len(), expected);
    }
    let likes: Vec<u64> = lab
        .snapshots(&id)
        .iter()
        .map(|each| each["metrics"]["like_count"].as_u64().unwrap())
        .collect();
    assert_eq!(likes, (1..=100).collect::<Vec<u64>>(), "the oldest went first");
}

#[test]
fn what_has_no_metrics_has_no_snapshot() {
    let (lab, id) = liked(60);
    lab.platform.fault(endpoint::TIMELINE, Fault::WithoutMetrics, 1);
    assert!(alerts(&lab, &id, MINUTE, 500).is_empty());
    assert_eq!(lab.snapshots(&id).len(), 1);
    let told = alerts(&lab, &id, MINUTE, 500);
    assert_eq!(
        told,
        [format!("VELOCITY_ALERT:{id}:likes:60->500:2min")],
        "compared with the last one there is"
    );
}

#[test]
fn a_damaged_curve_costs_the_curve_and_nothing_else() {
    let (lab, id) = liked(60);
    let path = lab.data().join(format!("engagement/{id}.json"));
    std::fs::write(&path, "[{\"timestamp\": ").unwrap();
    assert!(alerts(&lab, &id, MINUTE, 500).is_empty());
    assert_eq!(lab.snapshots(&id).len(), 1);
    assert!(path.with_extension("json.damaged").exists());
}

#[test]
fn posts_of_every_stream_have_curves_and_one_alert_each() {
    let lab = Lab::with(&[("searches", r#"["owls"]"#)]);
    let both = lab.platform.post(&lab.bob, "owls for @ada");
    lab.platform.likes(&both, 50);
    lab.collect();
    let told = alerts(&lab, &both, 30 * MINUTE, 100);
    assert_eq!(
        told,
        [format!("VELOCITY_ALERT:{both}:likes:50->100:30min")],
        "though two streams have it"
    );
    let snapshots: Vec<Value> = lab.snapshots(&both);
    assert_eq!(snapshots.len(), 2);
}
