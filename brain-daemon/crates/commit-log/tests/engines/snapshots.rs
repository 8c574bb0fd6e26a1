//! Properties of snapshots and compaction.

use std::time::Duration;

use brain_commit_log::{BatchId, Error, Position, ReadLimit, SnapshotId};

use crate::world::{World, registration};

const YEAR: Duration = Duration::from_secs(365 * 86_400);
const FIRST: SnapshotId = SnapshotId([1; 16]);
const SECOND: SnapshotId = SnapshotId([2; 16]);

/// Appends this many batches and returns the positions.
fn append(world: &World, count: usize) -> Vec<Position> {
    (0..count).map(|_| world.append("batch").position).collect()
}

fn snapshot(world: &World, id: SnapshotId, contains: &Position) {
    world.a.begin_snapshot(id, contains, "a").unwrap();
    world.a.put_chunk(id, 0, b"all pages").unwrap();
    world.a.complete_snapshot(id, 1).unwrap();
}

pub(crate) fn a_snapshot_is_stored_in_chunks(world: &World) {
    let positions = append(world, 3);
    world.a.begin_snapshot(FIRST, &positions[1], "a").unwrap();
    world.a.put_chunk(FIRST, 0, b"first").unwrap();
    world.a.put_chunk(FIRST, 1, b"sec").unwrap();
    world.a.put_chunk(FIRST, 1, b"second").unwrap();
    assert!(!world.b.snapshots().unwrap()[0].complete);
    world.a.complete_snapshot(FIRST, 2).unwrap();
    let found = &world.b.snapshots().unwrap()[0];
    assert_eq!((found.id, found.contains, found.chunks), (FIRST, positions[1], 2));
    assert_eq!((found.bytes, found.complete, found.machine.as_str()), (11, true, "a"));
    assert_eq!(world.b.read_chunk(FIRST, 1).unwrap(), b"second");
    let missing = world.b.read_chunk(FIRST, 2);
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
    let late = world.a.put_chunk(FIRST, 2, b"late");
    assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");

    snapshot(world, SECOND, &positions[2]);
    let ids: Vec<SnapshotId> = world.b.snapshots().unwrap().iter().map(|s| s.id).collect();
    assert_eq!(ids, [SECOND, FIRST], "the newest is the first");
    world.b.delete_snapshot(FIRST).unwrap();
    world.b.delete_snapshot(FIRST).unwrap();
    assert_eq!(world.a.snapshots().unwrap().len(), 1);
    assert!(matches!(world.b.read_chunk(FIRST, 0), Err(Error::NotFound(_))));
}

pub(crate) fn an_incomplete_snapshot_is_not_completed(world: &World) {
    let positions = append(world, 1);
    world.a.begin_snapshot(FIRST, &positions[0], "a").unwrap();
    world.a.put_chunk(FIRST, 0, b"first").unwrap();
    world.a.put_chunk(FIRST, 2, b"third").unwrap();
    for chunks in [1, 2, 3] {
        let refused = world.a.complete_snapshot(FIRST, chunks);
        assert!(matches!(refused, Err(Error::Corrupt(_))), "{chunks}: {refused:?}");
    }
    let refused = world.a.compact(FIRST, YEAR);
    assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    let refused = world.a.put_chunk(SECOND, 0, b"");
    assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    let ahead = Position { number: 2, id: BatchId([3; 16]) };
    let refused = world.a.begin_snapshot(SECOND, &ahead, "a");
    assert!(matches!(refused, Err(Error::Diverged { .. })), "{refused:?}");
}

pub(crate) fn compaction_waits_for_machines(world: &World) {
    let positions = append(world, 10);
    snapshot(world, FIRST, &positions[6]);
    let done = world.a.compact(FIRST, YEAR).unwrap();
    assert_eq!((done.through, done.batches), (0, 0), "both machines are at the start");
    world.a.report(&registration("a", positions[9])).unwrap();
    world.b.report(&registration("b", positions[3])).unwrap();
    let done = world.a.compact(FIRST, YEAR).unwrap();
    assert_eq!((done.through, done.batches), (4, 4), "b needs batch 5");

    let found = world.b.read(&positions[3], ReadLimit::default()).unwrap();
    assert_eq!((found.batches.len(), found.head.compacted), (6, 4));
    let refused = world.b.read(&positions[2], ReadLimit::default());
    assert!(matches!(refused, Err(Error::Compacted { replica: 3, compacted: 4 })), "{refused:?}");
    world.b.report(&registration("b", positions[9])).unwrap();
    let done = world.a.compact(FIRST, YEAR).unwrap();
    assert_eq!((done.through, done.batches), (7, 3), "the snapshot ends there");
    let done = world.a.compact(FIRST, YEAR).unwrap();
    assert_eq!((done.through, done.batches), (7, 0));
    let head = world.append("after compaction");
    assert_eq!(head.position.number, 11);
    assert_eq!(world.b.read(&positions[6], ReadLimit::default()).unwrap().batches.len(), 4);
}

pub(crate) fn compaction_does_not_wait_for_silent_machines(world: &World) {
    let positions = append(world, 3);
    snapshot(world, FIRST, &positions[2]);
    world.pass(Duration::from_millis(400));
    world.a.report(&registration("a", positions[1])).unwrap();
    let done = world.a.compact(FIRST, Duration::from_millis(300)).unwrap();
    assert_eq!((done.through, done.batches), (2, 2), "b is silent");
    let refused = world.b.read(&Position::START, ReadLimit::default());
    assert!(matches!(refused, Err(Error::Compacted { .. })), "{refused:?}");
}

pub(crate) fn the_last_snapshot_is_kept(world: &World) {
    let positions = append(world, 5);
    snapshot(world, FIRST, &positions[2]);
    for name in ["a", "b"] {
        world.a.report(&registration(name, positions[4])).unwrap();
    }
    world.a.compact(FIRST, YEAR).unwrap();
    world.a.begin_snapshot(SECOND, &positions[4], "a").unwrap();
    let refused = world.a.delete_snapshot(FIRST);
    assert!(matches!(refused, Err(Error::SnapshotNeeded)), "{refused:?}");
    world.a.put_chunk(SECOND, 0, b"all pages").unwrap();
    world.a.complete_snapshot(SECOND, 1).unwrap();
    world.a.delete_snapshot(FIRST).unwrap();
    let refused = world.a.delete_snapshot(SECOND);
    assert!(matches!(refused, Err(Error::SnapshotNeeded)), "{refused:?}");
}
