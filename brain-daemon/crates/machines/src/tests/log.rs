//! Appends and reads, and the states after failures.

use std::time::Duration;

use brain_base::random::SystemRandom;
use brain_commit_log::cipher::{Keys, RootKey};
use brain_commit_log::{
    Administration, BatchId, BrainId, CommitLog, NewBatch, Position, ReadLimit,
};
use brain_fakes::{AppendFault, MemoryLog};
use brain_protocol::FaultCode;
use brain_store::{AppendResult, LogPosition, SharedLog, StoreError};

use super::{World, code, stopped_state};
use crate::{Condition, MachineLog, SCHEMA};

const START: LogPosition = LogPosition { number: 0, id: 0 };

fn appended(result: Result<AppendResult, StoreError>) -> LogPosition {
    match result.unwrap() {
        AppendResult::Appended(position) => position,
        AppendResult::Moved(batches) => panic!("moved: {batches:?}"),
    }
}

fn append(log: &MachineLog, expected: LogPosition, changes: &[u8]) -> LogPosition {
    appended(log.append(expected, changes, None))
}

#[test]
fn machines_read_what_others_append() {
    let world = World::new();
    let (laptop, desktop) = (world.machine("laptop"), world.machine("desktop"));
    let first = append(&laptop, START, b"one");
    let second = append(&laptop, first, b"two");
    let read = desktop.read(START).unwrap();
    let changes: Vec<&[u8]> = read.iter().map(|batch| batch.changes.as_slice()).collect();
    assert_eq!(changes, [b"one", b"two"]);
    assert_eq!(read[1].position, second);
    assert_eq!(laptop.condition(), Condition::Ready);
    assert_eq!(laptop.age(), Some(Duration::ZERO));
}

#[test]
fn a_moved_head_returns_the_new_batches() {
    let world = World::new();
    let (laptop, desktop) = (world.machine("laptop"), world.machine("desktop"));
    let first = append(&laptop, START, b"one");
    match desktop.append(START, b"two", None).unwrap() {
        AppendResult::Moved(batches) => {
            assert_eq!((batches.len(), batches[0].position), (1, first));
            assert_eq!(batches[0].changes, b"one");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(append(&desktop, first, b"two").number, 2);
}

#[test]
fn the_server_sees_no_content() {
    let world = World::new();
    append(&world.machine("laptop"), START, b"a secret title");
    let found = world.server.read(&Position::START, ReadLimit::default()).unwrap();
    let payload = &found.batches[0].payload;
    assert!(!payload.windows(6).any(|bytes| bytes == b"secret"));
}

#[test]
fn a_lost_reply_is_repeated_with_the_same_id() {
    let world = World::new();
    let laptop = world.machine("laptop");
    world.server.plan(Some(AppendFault::LostReply));
    let first = append(&laptop, START, b"one");
    assert_eq!(laptop.read(START).unwrap().len(), 1);
    world.server.plan(Some(AppendFault::LostRequest));
    let second = append(&laptop, first, b"two");
    world.server.plan(Some(AppendFault::LostReply));
    world.server.plan(Some(AppendFault::Unavailable));
    append(&laptop, second, b"three");
    assert_eq!(laptop.read(START).unwrap().len(), 3);
}

#[test]
fn writers_fail_at_once_while_the_server_is_away() {
    let world = World::new();
    let laptop = world.machine("laptop");
    let first = append(&laptop, START, b"one");
    world.server.plan(Some(AppendFault::Unavailable));
    let error = laptop.append(first, b"two", None).unwrap_err();
    assert!(matches!(&error, StoreError::Away(_)), "{error:?}");
    let fault = brain_protocol::Fault::from(error);
    assert_eq!(fault.code, FaultCode::ServerAway);
    assert!(!fault.message.contains("memory"), "the address is for the owner: {fault:?}");
    let Condition::Away { since, .. } = laptop.condition() else { panic!() };
    world.clock.pass(Duration::from_secs(3));
    // The server would answer, but only a probe finds that out.
    assert!(matches!(laptop.append(first, b"two", None), Err(StoreError::Away(_))));
    assert!(matches!(laptop.read(first), Err(StoreError::Away(_))));
    let Condition::Away { since: later, .. } = laptop.condition() else { panic!() };
    assert_eq!(since, later);
    laptop.probe(first).unwrap();
    assert_eq!(laptop.condition(), Condition::Ready);
    append(&laptop, first, b"two");
}

#[test]
fn a_writer_tries_itself_if_nothing_probes() {
    let world = World::new();
    let laptop = world.machine("laptop");
    world.server.plan(Some(AppendFault::Unavailable));
    assert!(laptop.append(START, b"one", None).is_err());
    world.clock.pass(Duration::from_secs(20));
    append(&laptop, START, b"one");
}

#[test]
fn another_brain_stops_the_machine() {
    let (world, other) = (World::new(), World::new());
    let mut laptop = world.machine("laptop");
    laptop.engine = other.engine();
    assert_eq!(code(laptop.append(START, b"one", None).unwrap_err()), FaultCode::MachineStopped);
    assert_eq!(stopped_state(&laptop), "other_brain");
    assert_eq!(other.server.head().unwrap().position, Position::START);
}

#[test]
fn a_restored_server_stops_the_machine() {
    let world = World::new();
    let (laptop, desktop) = (world.machine("laptop"), world.machine("desktop"));
    let first = append(&laptop, START, b"one");
    let second = append(&laptop, first, b"two");
    world.server.rewind(1);
    append(&desktop, first, b"other");
    let result = laptop.read(second);
    assert_eq!(code(result.unwrap_err()), FaultCode::MachineStopped);
    assert_eq!(stopped_state(&laptop), "diverged");
    assert!(laptop.probe(second).is_err());
    assert_eq!(stopped_state(&laptop), "diverged");
}

#[test]
fn a_removed_machine_stops_until_it_is_registered() {
    let world = World::new();
    let laptop = world.machine("laptop");
    let first = append(&laptop, START, b"one");
    world.server.remove_machine("laptop").unwrap();
    let fault = brain_protocol::Fault::from(laptop.append(first, b"two", None).unwrap_err());
    assert!(fault.message.contains("(removed)"), "{fault:?}");
    assert!(fault.hint.unwrap().to_string().contains("brain machines join"));
    assert_eq!(stopped_state(&laptop), "removed");
    assert!(laptop.probe(first).is_err());
    assert_eq!(stopped_state(&laptop), "removed");
    world.server.register(&laptop.registration(first)).unwrap();
    laptop.probe(first).unwrap();
    append(&laptop, first, b"two");
}

#[test]
fn a_wrong_key_stops_the_machine_before_it_writes() {
    let world = World::new();
    let other = RootKey::generate(&SystemRandom).unwrap();
    let laptop = world.stranger("laptop", Some(other));
    world.server.register(&laptop.registration(START)).unwrap();
    assert!(laptop.append(START, b"one", None).is_err());
    assert_eq!(stopped_state(&laptop), "wrong_key");
    assert_eq!(world.server.head().unwrap().position.number, 0);
}

#[test]
fn a_rotation_is_noticed_and_needs_the_new_words() {
    let world = World::new();
    let (laptop, desktop) = (world.machine("laptop"), world.machine("desktop"));
    let first = append(&laptop, START, b"one");
    desktop.read(START).unwrap();
    // The same root key: the other machine reads the new data key by itself.
    let sealed = world.server.sealed_keys().unwrap();
    let mut keys = Keys::open(&world.root, world.brain, &sealed.bytes).unwrap();
    keys.rotate(&SystemRandom).unwrap();
    let bytes = keys.seal(&world.root, world.brain, &SystemRandom).unwrap();
    world.server.replace_keys(sealed.generation, &bytes).unwrap();
    laptop.keyring().reload(&**laptop.engine()).unwrap();
    let second = append(&laptop, first, b"two");
    assert_eq!(desktop.read(first).unwrap()[0].changes, b"two");
    // Another root key.
    let root = RootKey::generate(&SystemRandom).unwrap();
    keys.rotate(&SystemRandom).unwrap();
    let bytes = keys.seal(&root, world.brain, &SystemRandom).unwrap();
    world.server.replace_keys(sealed.generation + 1, &bytes).unwrap();
    laptop.keyring().set_root(root.clone());
    // Also without a later batch, and the probe does not call the log ready again.
    assert!(desktop.read(second).is_err());
    assert_eq!(stopped_state(&desktop), "wrong_key");
    assert!(desktop.probe(second).is_err());
    assert_eq!(stopped_state(&desktop), "wrong_key");
    let third = append(&laptop, second, b"three");
    assert!(desktop.probe(second).is_err());
    assert_eq!(stopped_state(&desktop), "wrong_key");
    desktop.keyring().set_root(root);
    desktop.probe(second).unwrap();
    assert_eq!(desktop.read(second).unwrap()[0].position, third);
}

#[test]
fn an_unencrypted_batch_is_refused_by_an_encrypted_brain() {
    let world = World::new();
    let laptop = world.machine("laptop");
    let id = BatchId::random(&SystemRandom).unwrap();
    let payload = crate::payload::encode(&[b'x'; 100]);
    let batch = NewBatch { id, machine: "laptop".into(), payload, fence: None };
    world.server.append(&Position::START, &batch).unwrap();
    assert!(laptop.read(START).is_err());
    assert_eq!(stopped_state(&laptop), "forged");
}

#[test]
fn a_batch_of_another_schema_stops_the_machine() {
    let world = World::new();
    let clock = std::sync::Arc::new(world.clock.clone());
    for (schema, state) in [(SCHEMA + 1, "newer"), (SCHEMA - 1, "older")] {
        let mut laptop = world.stranger("laptop", None);
        let server = MemoryLog::create(world.brain, SCHEMA, clock.clone());
        let engine = std::sync::Arc::new(server.connect(SCHEMA, clock.clone()));
        laptop.engine = engine;
        server.register(&laptop.registration(START)).unwrap();
        let mut payload = vec![1];
        payload.extend_from_slice(&schema.to_be_bytes());
        let id = BatchId::random(&SystemRandom).unwrap();
        let batch = NewBatch { id, machine: "laptop".into(), payload, fence: None };
        server.append(&Position::START, &batch).unwrap();
        assert!(laptop.read(START).is_err());
        assert_eq!(stopped_state(&laptop), state);
    }
}

#[test]
fn an_older_log_is_raised_before_the_first_batch() {
    let world = World::new();
    let clock = std::sync::Arc::new(world.clock.clone());
    let server = MemoryLog::create(BrainId([7; 16]), SCHEMA - 1, clock.clone());
    let mut laptop = world.stranger("laptop", None);
    laptop.identity.brain = BrainId([7; 16]);
    laptop.engine = std::sync::Arc::new(server.connect(SCHEMA, clock));
    server.register(&laptop.registration(START)).unwrap();
    append(&laptop, START, b"one");
    assert_eq!(server.head().unwrap().schema, SCHEMA);
}

#[test]
fn a_task_without_its_lease_writes_nothing() {
    let world = World::new();
    let (laptop, desktop) = (world.machine("laptop"), world.machine("desktop"));
    let refused = laptop.append(START, b"one", Some("purge")).unwrap_err();
    assert_eq!(code(refused), FaultCode::Conflict);
    for log in [&laptop, &desktop] {
        log.leases.set_wanted(["purge"]);
        log.leases.renew(&**log.engine()).unwrap();
    }
    let first = appended(laptop.append(START, b"one", Some("purge")));
    assert!(desktop.append(first, b"two", Some("purge")).is_err());
    // A takeover that this machine did not notice.
    world.clock.pass(crate::TTL + Duration::from_secs(1));
    desktop.leases.renew(&**desktop.engine()).unwrap();
    assert!(laptop.append(first, b"two", Some("purge")).is_err());
    appended(desktop.append(first, b"two", Some("purge")));
}

#[test]
fn an_outcome_that_stays_unknown_is_told() {
    let world = World::new();
    let laptop = world.machine("laptop");
    world.server.plan(Some(AppendFault::DelayedRequest));
    for _ in 0..200 {
        world.server.plan(Some(AppendFault::Unavailable));
    }
    let error = laptop.append(START, b"one", None).unwrap_err();
    assert_eq!(code(error), FaultCode::OutcomeUnknown);
    assert!(matches!(laptop.condition(), Condition::Away { .. }));
    world.server.deliver();
    laptop.probe(START).unwrap();
    assert_eq!(laptop.read(START).unwrap().len(), 1);
}
