//! Runs with damaged, leftover or unwritable files, and the order of writes.

use std::fs;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use brain_protocol::RunProblem;

use super::fake_platform::{FakePlatform, OWNER, RecordingListener, T0, post_id, three_posts};
use crate::{COLLECTED_AT, Endpoint, Journal, JournalEvent, Line, State, Stream};
use brain_base::clock::{Clock, rfc3339};

#[test]
fn a_damaged_state_is_a_first_run_with_a_warning() {
    let fixture = three_posts();
    fixture.delete(1);
    fixture.like(2, 500);
    fs::write(fixture.data.state_file(), "{\"streams\":").unwrap();
    let (report, _) = fixture.run();
    assert_eq!((report.requests, report.deletions, report.streams[1].new), (3, 0, 0));
    assert!(report.warnings[0].contains("state.json.damaged"), "{:?}", report.warnings);
    assert_eq!(report.velocity_alerts, 1, "the state has no curves");
    assert_eq!(fixture.previous_ids(Stream::Mentions), [2]);
}

#[test]
fn damaged_files_of_posts_are_kept_aside_with_a_warning() {
    let fixture = three_posts();
    for file in ["tweets/mentions/2.json", "engagement/3.json", "tweets/own/1.json"] {
        fs::write(fixture.root().join(file), "{").unwrap();
    }
    fixture.delete(1);
    let (report, _) = fixture.run();
    assert_eq!(report.warnings.len(), 4, "{:?}", report.warnings);
    for file in ["tweets/mentions/2.json", "engagement/3.json", "tweets/own/1.json"] {
        assert!(report.warnings.iter().any(|warning| warning.contains(file)), "{file}");
        assert!(fixture.root().join(format!("{file}.damaged")).exists());
    }
    assert_eq!(
        (report.deletions, report.streams[1].new),
        (0, 1),
        "the deletion of post 1 is not recorded, and post 2 counts as new"
    );
    assert_eq!(fixture.stored(Stream::Mentions, 2).instant(COLLECTED_AT), Some(fixture.time.now()));
    assert_eq!(fixture.data.snapshots(&post_id(3)).unwrap().len(), 1);
}

#[test]
fn a_curve_with_a_damaged_start_does_not_fail_a_run() {
    let fixture = three_posts();
    let file = fixture.root().join("engagement/1.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('[', "[x,", 1)).unwrap();
    fixture.like(1, 500);
    let (report, lines) = fixture.run();
    assert_eq!((report.velocity_alerts, report.warnings.len()), (1, 1), "{lines:?}");
    assert_eq!(fixture.data.snapshots(&post_id(1)).unwrap().len(), 1);
}

#[test]
fn a_damaged_post_file_hides_no_deletion() {
    let fixture = FakePlatform::new(&["said"]);
    fixture.post(1, OWNER, "what I said @owner");
    fixture.run();
    fs::write(fixture.root().join("tweets/own/1.json"), "{").unwrap();
    fixture.delete(1);
    assert_eq!(fixture.run().0.deletions, 1);
}

#[test]
fn a_redacting_run_survives_a_damaged_deletion_record() {
    let mut fixture = three_posts();
    fixture.delete(1);
    fixture.run();
    let mut state = fixture.state();
    // A crash between the writes of the record and of the state leaves this.
    state.streams.get_mut("own").unwrap().ids.push("1".into());
    state.redacted = true;
    state.save(&fixture.data).unwrap();
    fs::write(fixture.root().join("deletions/1.json"), "{").unwrap();
    fixture.settings.redact = true;
    let (report, _) = fixture.run();
    assert!(
        report.warnings.iter().any(|warning| warning.contains("deletions/1.json.damaged")),
        "{:?}",
        report.warnings
    );
    assert_eq!((report.status.as_str(), fixture.data.is_deleted(&post_id(1))), ("complete", false));
}

#[test]
fn a_new_post_is_journaled_before_its_file_is_written() {
    let fixture = three_posts();
    fixture.post(9, "7", "text");
    let blocking_dir = fixture.root().join("tweets/searches/9.json.tmp");
    fs::create_dir(&blocking_dir).unwrap();
    fixture.run_with(&RecordingListener::default()).unwrap_err();
    assert!(fixture.data.post(Stream::Searches, &post_id(9)).unwrap().is_none());
    let entries = Journal::new(&fixture.settings.dir).since(0).unwrap();
    assert!(
        entries
            .iter()
            .any(|entry| matches!(&entry.event, JournalEvent::Post { id, .. } if id == "9"))
    );
    fs::remove_dir(&blocking_dir).unwrap();
    assert_eq!(fixture.run().0.streams[2].new, 1, "a post without a file is new");
}

#[test]
fn alerts_are_sent_before_their_files_are_written() {
    let fixture = three_posts();
    fixture.delete(1);
    fixture.like(2, 500);
    let (data, journal) = (fixture.data.clone(), Journal::new(&fixture.settings.dir));
    let alert_count = Arc::new(Mutex::new(0));
    let count = Arc::clone(&alert_count);
    let on_line = move |line: &Line| {
        let is_in_journal = |kind: fn(&JournalEvent) -> bool| {
            journal.since(0).unwrap().iter().any(|entry| kind(&entry.event))
        };
        let text = line.to_string();
        if text.starts_with("DELETION") {
            assert!(
                !data.is_deleted(&post_id(1))
                    && is_in_journal(|event| matches!(event, JournalEvent::Deletion { .. }))
            );
            *count.lock().unwrap() += 1;
        } else if text.starts_with("VELOCITY") {
            assert_eq!(data.snapshots(&post_id(2)).unwrap().len(), 1);
            assert!(is_in_journal(|event| matches!(event, JournalEvent::Alert { .. })));
            *count.lock().unwrap() += 1;
        }
    };
    fixture
        .run_with(&RecordingListener {
            on_line: Some(Box::new(on_line)),
            ..RecordingListener::default()
        })
        .unwrap();
    assert_eq!(*alert_count.lock().unwrap(), 2);
    assert!(
        fixture.data.is_deleted(&post_id(1))
            && fixture.data.snapshots(&post_id(2)).unwrap().len() == 2
    );
}

#[test]
fn leftovers_of_a_killed_run_are_removed() {
    let fixture = three_posts();
    let leftover = fixture.root().join("tweets/own/9.json.tmp");
    fs::write(&leftover, "{").unwrap();
    fixture.run();
    assert!(leftover.exists(), "after a finished run, nothing is removed");
    let mut state = fixture.state();
    state.last_started = Some(rfc3339(T0 + 1));
    state.save(&fixture.data).unwrap();
    fixture.run();
    assert!(!leftover.exists());
}

#[test]
fn two_runs_do_not_share_a_directory() {
    let fixture = three_posts();
    let lock = fs::File::open(fixture.settings.dir.join("run.lock")).unwrap();
    lock.lock().unwrap();
    let listener = RecordingListener::default();
    let fault = fixture.run_with(&listener).unwrap_err();
    assert_eq!((fault.error.kind(), listener.lines.into_inner().len()), (ErrorKind::WouldBlock, 0));
    drop(lock);
    fixture.run();
}

#[test]
fn a_failing_disk_is_reported_and_loses_no_state() {
    let fixture = three_posts();
    fixture.delete(1);
    // A directory in place of the file: nobody can write the file then, not even root.
    let path = fixture.root().join("tweets/searches/3.json");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let listener = RecordingListener::default();
    let fault = fixture.run_with(&listener).unwrap_err();
    assert!(fault.to_string().contains("3.json"), "{fault}");
    assert!(listener.lines.into_inner().last().unwrap().ends_with(":storage"));
    assert_eq!(Stream::ALL.map(|stream| fixture.previous_ids(stream)), [[1], [2], [3]]);
    let last = fixture.state().last_report.unwrap();
    assert_eq!(
        (last.status.as_str(), last.reason.map(RunProblem::as_str)),
        ("failed", Some("storage"))
    );
    assert!(last.message.unwrap().contains("3.json"));
    fs::remove_dir(&path).unwrap();
    let leftover = fixture.root().join("tweets/own/9.json.tmp");
    fs::write(&leftover, "{").unwrap();
    assert_eq!(fixture.run().0.deletions, 1);
    assert!(!leftover.exists(), "a failed run may leave temporary files");
}

#[test]
fn a_run_keeps_the_state_of_the_persistent_connection() {
    let fixture = three_posts();
    let data = fixture.data.clone();
    let on_line = move |line: &Line| {
        if matches!(line, Line::Own { .. }) {
            let change_state = |state: &mut State| {
                state.stream_newest_id = Some("99".into());
                state.rate_limits.record(Endpoint::Connect, Some("7"), Some("1795258900"));
            };
            State::change(&data, change_state).unwrap();
        }
    };
    fixture
        .run_with(&RecordingListener {
            on_line: Some(Box::new(on_line)),
            ..RecordingListener::default()
        })
        .unwrap();
    let state = fixture.state();
    assert_eq!(state.stream_newest_id.as_deref(), Some("99"));
    assert_eq!(state.rate_limits.all().count(), 1);
}
