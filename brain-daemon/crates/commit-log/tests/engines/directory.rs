//! Tests of the log in a directory: crashes, and a missing or damaged state.

use std::sync::Arc;

use brain_commit_log::{
    Administration, BatchId, CommitLog, Error, FileLog, NewBatch, Position, ReadLimit,
};

use crate::world::{BRAIN, MockClock, SCHEMA, registration};

fn batch(id: u8) -> NewBatch {
    NewBatch { id: BatchId([id; 16]), machine: "a".into(), payload: vec![id], fence: None }
}

#[test]
fn a_batch_without_its_state_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(MockClock::default());
    let log = FileLog::create(directory.path(), BRAIN, SCHEMA, clock.clone()).unwrap();
    log.register(&registration("a", Position::START)).unwrap();
    let state = std::fs::read(directory.path().join("state.json")).unwrap();
    log.append(&Position::START, &batch(1)).unwrap();
    // A crash between the two writes leaves the new batch and the former state.
    std::fs::write(directory.path().join("state.json"), state).unwrap();

    let log = FileLog::open(directory.path(), SCHEMA, clock).unwrap();
    assert_eq!(log.head().unwrap().position, Position::START);
    assert!(log.read(&Position::START, ReadLimit::default()).unwrap().batches.is_empty());
    let head = log.append(&Position::START, &batch(2)).unwrap();
    let found = log.read(&Position::START, ReadLimit::default()).unwrap();
    assert_eq!(found.batches[0].payload, [2]);
    assert_eq!(found.head.position, head.position);
}

#[test]
fn open_and_create_check_the_state_of_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(MockClock::default());
    let missing = FileLog::open(directory.path(), SCHEMA, clock.clone());
    assert!(matches!(missing, Err(Error::NotCreated { .. })));
    FileLog::create(directory.path(), BRAIN, SCHEMA, clock.clone()).unwrap();
    let again = FileLog::create(directory.path(), BRAIN, SCHEMA, clock.clone());
    assert!(matches!(again, Err(Error::AlreadyCreated { .. })));
    std::fs::write(directory.path().join("state.json"), "damaged").unwrap();
    let damaged = FileLog::open(directory.path(), SCHEMA, clock);
    assert!(matches!(damaged, Err(Error::Corrupt(_))));
}
