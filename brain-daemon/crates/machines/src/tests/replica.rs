//! Stores that follow the log, and snapshots of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brain_base::caller::Visibility;
use brain_base::random::SystemRandom;
use brain_commit_log::{Administration, CommitLog, Snapshots};
use brain_fakes::AppendFault;
use brain_protocol::{Scopes, TokenKind};
use brain_store::{GrantUpdate, Store, StoreError, StoreOptions, TokenRecord, restore_replica};

use super::World;
use crate::{Condition, MachineLog, Replica, download, newest};

fn go_on(_: u64, _: u64) -> bool {
    true
}

fn options() -> StoreOptions {
    StoreOptions {
        cache_bytes: 1_000_000,
        min_free_bytes: 0,
        now: 1_000,
        new_store_id: 7,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    }
}

pub(super) fn open(path: &Path) -> Arc<Store> {
    std::fs::create_dir_all(path).unwrap();
    Arc::new(Store::open(&path.join("brain.redb"), &options(), Box::new(|_| ())).unwrap())
}

pub(super) fn id(log: &MachineLog) -> u128 {
    u128::from_be_bytes(log.identity().machine.0)
}

/// Makes a replica that uses this log.
fn replica(store: Arc<Store>, log: Arc<MachineLog>) -> Replica {
    store.attach_log(log.clone());
    let leases = log.leases().clone();
    Replica::new(store, log, leases, Arc::new(SystemRandom))
}

/// Makes the first machine of a brain.
fn first(world: &World, dir: &Path) -> (Arc<Store>, Replica) {
    let (store, log) = (open(&dir.join("one")), Arc::new(world.machine("laptop")));
    store.share(log.clone(), id(&log)).unwrap();
    (store.clone(), replica(store, log))
}

/// Lets a machine join from the newest snapshot.
fn second(world: &World, dir: &Path) -> (Arc<Store>, Replica) {
    let log = Arc::new(world.machine("desktop"));
    let (file, to) = (dir.join("file"), dir.join("two/brain.redb"));
    std::fs::create_dir(dir.join("two")).unwrap();
    let engine = world.engine();
    let snapshot = newest(&*engine).unwrap();
    let brain = world.brain;
    download(&*engine, log.keyring(), brain, &snapshot, &file, &go_on).unwrap();
    restore_replica(&file, &to, &options(), id(&log), &go_on).unwrap();
    let store = open(&dir.join("two"));
    (store.clone(), replica(store, log))
}

/// Writes a token.
pub(super) fn write(store: &Store, number: u8) {
    try_write(store, number).unwrap();
}

/// Writes a token, if the store accepts it.
pub(super) fn try_write(store: &Store, number: u8) -> Result<(), StoreError> {
    let token = TokenRecord {
        kind: TokenKind::Personal,
        client: None,
        name: format!("token {number}"),
        scopes: Scopes::parse("read").unwrap(),
        sources: Vec::new(),
        resource: None,
        family: 0,
        created_at: 1_000,
        expires_at: None,
        used_at: None,
        revoked_at: None,
    };
    let tokens = vec![([number; 32], Some(token))];
    let update = GrantUpdate { tokens, ..GrantUpdate::default() };
    store.write(move |transaction| transaction.change_grants(&update)).map(drop)
}

pub(super) fn count(store: &Store) -> usize {
    store.read(Visibility::All).unwrap().tokens().unwrap().len()
}

#[test]
fn a_machine_joins_from_a_snapshot_and_follows() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (one, laptop) = first(&world, dir.path());
    write(&one, 1);
    laptop.write_snapshot(&dir.path().join("backup"), 2_000, &go_on).unwrap();
    write(&one, 2);
    let (two, desktop) = second(&world, dir.path());
    assert_eq!(count(&two), 1);
    assert_eq!(desktop.follow().batches, 1);
    assert_eq!(count(&two), 2);
    write(&two, 3);
    laptop.follow();
    // The position is compared each five seconds at the latest.
    world.clock.pass(Duration::from_secs(6));
    laptop.follow();
    assert_eq!(one.log_position().unwrap(), two.log_position().unwrap());
    assert_eq!(one.shared_digest().unwrap(), two.shared_digest().unwrap());
    let machines = world.server.machines().unwrap();
    let positions: Vec<u64> = machines.iter().map(|machine| machine.position.number).collect();
    assert_eq!(positions[1], 3, "the laptop has reported {positions:?}");
}

#[test]
fn snapshots_replace_older_ones_and_the_log() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (one, laptop) = first(&world, dir.path());
    let backup = dir.path().join("backup");
    assert!(laptop.is_snapshot_due().unwrap());
    for number in 1..=4 {
        write(&one, number);
        world.clock.pass(Duration::from_secs(6));
        laptop.follow();
        laptop.write_snapshot(&backup, 2_000, &go_on).unwrap();
        assert!(!laptop.is_snapshot_due().unwrap() && !backup.exists());
    }
    let snapshots = world.server.snapshots().unwrap();
    let contained: Vec<u64> = snapshots.iter().map(|snapshot| snapshot.contains.number).collect();
    assert_eq!(contained, [4, 3]);
    assert_eq!(world.server.head().unwrap().compacted, 4);
    let (two, _) = second(&world, dir.path());
    assert_eq!(count(&two), 4);
}

#[test]
fn a_cancelled_snapshot_deletes_nothing() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (one, laptop) = first(&world, dir.path());
    write(&one, 1);
    let backup = dir.path().join("backup");
    laptop.write_snapshot(&backup, 2_000, &go_on).unwrap();
    write(&one, 2);
    assert!(laptop.write_snapshot(&backup, 2_000, &|_, _| false).is_err());
    assert_eq!(world.server.snapshots().unwrap().len(), 1);
    assert!(!backup.exists());
}

#[test]
fn a_machine_that_was_away_catches_up() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (one, laptop) = first(&world, dir.path());
    write(&one, 1);
    world.server.plan(Some(AppendFault::Unavailable));
    let update = GrantUpdate { clients: vec![("x".into(), None)], ..GrantUpdate::default() };
    drop(one.write(move |transaction| {
        transaction.change_grants(&update)?;
        transaction
            .change_grants(&GrantUpdate { tokens: vec![([1; 32], None)], ..GrantUpdate::default() })
    }));
    assert!(matches!(laptop.log().condition(), Condition::Away { .. }));
    assert_eq!(count(&one), 1, "the write was rolled back");
    let round = laptop.follow();
    assert_eq!(laptop.log().condition(), Condition::Ready);
    assert_eq!(round.batches, 0);
    write(&one, 2);
    assert_eq!(count(&one), 2);
}

#[test]
fn a_removed_machine_stops_at_its_next_report() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (_one, laptop) = first(&world, dir.path());
    laptop.follow();
    world.server.remove_machine("laptop").unwrap();
    world.clock.pass(Duration::from_secs(31));
    laptop.follow();
    assert_eq!(super::stopped_state(laptop.log()), "removed");
    laptop.follow();
    assert_eq!(super::stopped_state(laptop.log()), "removed");
}

#[test]
fn a_server_that_keeps_changes_back_is_a_problem() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (one, laptop) = first(&world, dir.path());
    write(&one, 1);
    laptop.write_snapshot(&dir.path().join("backup"), 2_000, &go_on).unwrap();
    let (two, desktop) = second(&world, dir.path());
    assert_eq!(desktop.follow().batches, 0);
    write(&one, 2);
    world.server.hide_batches(true);
    for _ in 0..3 {
        assert_eq!(desktop.follow().batches, 0);
        assert_eq!(desktop.log().condition(), Condition::Ready);
        world.clock.pass(Duration::from_secs(6));
    }
    let problem = desktop.problem().unwrap();
    assert!(problem.contains("1 changes") && problem.contains("cache"), "{problem}");
    let age = desktop.log().age().unwrap();
    assert!(age >= Duration::from_secs(12), "{age:?}: the pages are old");
    world.server.hide_batches(false);
    desktop.follow();
    assert_eq!((count(&two), desktop.problem()), (2, None));
}
