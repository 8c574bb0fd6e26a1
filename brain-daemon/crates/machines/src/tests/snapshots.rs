//! Snapshots of files of several sizes.

use std::path::Path;

use brain_base::random::SystemRandom;
use brain_commit_log::{Error, Position};

use super::World;
use crate::{Keyring, SnapshotFile, download, newest, schema, upload, verify};

const CHUNK: usize = 4 << 20;

fn go_on(_done: u64, _total: u64) -> bool {
    true
}

fn file<'a>(world: &World, path: &'a Path) -> SnapshotFile<'a> {
    SnapshotFile { path, contains: Position::START, machine: "laptop", brain: world.brain }
}

#[test]
fn a_file_comes_back_as_it_was() {
    let world = World::new();
    let engine = world.engine();
    let dir = tempfile::tempdir().unwrap();
    for keyring in
        [Keyring::new(world.brain, Some(world.root.clone())), Keyring::new(world.brain, None)]
    {
        for size in [0, 1, CHUNK - 40, CHUNK - 20, CHUNK - 5, CHUNK, 2 * CHUNK + 7] {
            let (from, to) = (dir.path().join("from"), dir.path().join("to"));
            let content: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
            std::fs::write(&from, &content).unwrap();
            let random = SystemRandom;
            let snapshot =
                upload(&*engine, &keyring, &file(&world, &from), &random, &go_on).unwrap();
            assert!(snapshot.complete, "{size}");
            let found = download(&*engine, &keyring, world.brain, &snapshot, &to, &go_on).unwrap();
            assert_eq!((found.bytes, found.schema), (size as u64, crate::SCHEMA));
            assert_eq!(std::fs::read(&to).unwrap(), content, "{size}");
            let verified = verify(&*engine, &keyring, world.brain, &snapshot, &go_on).unwrap();
            assert_eq!(verified, found);
            let schema = schema(&*engine, &keyring, world.brain, &snapshot).unwrap();
            assert_eq!(schema, crate::SCHEMA);
            std::fs::remove_file(&to).unwrap();
            engine.delete_snapshot(snapshot.id).unwrap();
        }
    }
}

#[test]
fn a_changed_snapshot_is_refused_and_leaves_no_file() {
    let world = World::new();
    let engine = world.engine();
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::write(&from, vec![7; CHUNK + 1]).unwrap();
    let plain = Keyring::new(world.brain, None);
    let random = SystemRandom;
    let snapshot = upload(&*engine, &plain, &file(&world, &from), &random, &go_on).unwrap();
    assert_eq!(newest(&*engine).unwrap(), snapshot);
    let mut cut = snapshot.clone();
    cut.chunks -= 1;
    let result = download(&*engine, &plain, world.brain, &cut, &to, &go_on);
    assert!(matches!(result, Err(Error::Forged(_))), "{result:?}");
    assert!(!to.exists());
    let encrypted = Keyring::new(world.brain, Some(world.root.clone()));
    let result = download(&*engine, &encrypted, world.brain, &snapshot, &to, &go_on);
    assert!(matches!(result, Err(Error::Forged(_))), "{result:?}");
}

#[test]
fn a_cancelled_upload_leaves_no_snapshot() {
    let world = World::new();
    let engine = world.engine();
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    std::fs::write(&from, b"content").unwrap();
    let keyring = Keyring::new(world.brain, Some(world.root.clone()));
    let stop = |_: u64, _: u64| false;
    assert!(upload(&*engine, &keyring, &file(&world, &from), &SystemRandom, &stop).is_err());
    assert!(engine.snapshots().unwrap().is_empty());
}
