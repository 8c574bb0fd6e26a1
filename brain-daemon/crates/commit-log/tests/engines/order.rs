//! Properties of head, read, append and wait.

use std::time::{Duration, Instant};

use brain_commit_log::{BatchId, Error, MAX_PAYLOAD, Position, ReadLimit};

use crate::world::{BRAIN, SCHEMA, World};

pub(crate) fn batches_have_consecutive_numbers(world: &World) {
    let head = world.a.head().unwrap();
    assert_eq!((head.brain, head.position, head.schema), (BRAIN, Position::START, SCHEMA));
    for number in 1..=20 {
        let head = world.append(&format!("batch {number}"));
        assert_eq!(head.position.number, number);
    }
    let found = world.b.read(&Position::START, ReadLimit::default()).unwrap();
    assert_eq!(found.batches.len(), 20);
    let (mut predecessor, mut time) = (BatchId::default(), 0);
    for (batch, number) in found.batches.iter().zip(1..) {
        assert_eq!(batch.position.number, number);
        assert_eq!(batch.predecessor, predecessor);
        assert_eq!(batch.payload, format!("batch {number}").as_bytes());
        assert_eq!(batch.machine, "a");
        assert!(batch.time_ms >= time);
        (predecessor, time) = (batch.position.id, batch.time_ms);
    }
    assert_eq!(found.head.position.id, predecessor);
    assert_eq!(found.head.time_ms, time);
}

pub(crate) fn a_stale_head_is_refused(world: &World) {
    let first = world.append("first");
    match world.b.append(&Position::START, &world.batch("b", "late")) {
        Err(Error::Moved(found)) => {
            assert_eq!(found.head.position, first.position);
            assert_eq!(found.batches.len(), 1, "the answer has what is missing");
            assert_eq!(found.batches[0].payload, b"first");
        }
        other => panic!("{other:?}"),
    }
    let other_id = Position { number: 1, id: BatchId([9; 16]) };
    let refused = world.b.append(&other_id, &world.batch("b", "other history"));
    assert!(matches!(&refused, Err(Error::Moved(f)) if f.batches.is_empty()), "{refused:?}");
    let ahead = Position { number: 5, id: first.position.id };
    let refused = world.b.append(&ahead, &world.batch("b", "gap"));
    assert!(matches!(&refused, Err(Error::Moved(f)) if f.batches.is_empty()), "{refused:?}");
    assert_eq!(world.b.head().unwrap().position, first.position);
}

pub(crate) fn readers_see_acknowledged_batches(world: &World) {
    let mut position = Position::START;
    for round in 0..10 {
        let (writer, reader, name) = match round % 2 {
            0 => (&world.a, &world.b, "a"),
            _ => (&world.b, &world.a, "b"),
        };
        let head = writer.append(&position, &world.batch(name, "text")).unwrap();
        assert_eq!(reader.head().unwrap().position, head.position);
        let found = reader.read(&position, ReadLimit::default()).unwrap();
        assert_eq!(found.batches.len(), 1);
        assert_eq!(found.batches[0].machine, name);
        position = head.position;
    }
}

pub(crate) fn one_of_two_simultaneous_appends_wins(world: &World) {
    for round in 0..20 {
        let expected = world.a.head().unwrap().position;
        let (of_a, of_b) = (world.batch("a", "a"), world.batch("b", "b"));
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(|| world.a.append(&expected, &of_a));
            let other = scope.spawn(|| world.b.append(&expected, &of_b));
            (one.join().unwrap(), other.join().unwrap())
        });
        assert!(one.is_ok() != other.is_ok(), "round {round}: {one:?} {other:?}");
        for result in [one, other] {
            match result {
                Ok(head) => assert_eq!(head.position.number, round + 1),
                Err(Error::Moved(found)) => {
                    assert_eq!(found.head.position.number, round + 1);
                    assert_eq!(found.batches.len(), 1);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

pub(crate) fn an_append_can_be_repeated(world: &World) {
    let batch = world.batch("a", "once");
    let first = world.a.append(&Position::START, &batch).unwrap();
    let again = world.a.append(&Position::START, &batch).unwrap();
    assert_eq!(again.position, first.position);
    let next = world.b.append(&first.position, &world.batch("b", "next")).unwrap();
    let again = world.a.append(&Position::START, &batch).unwrap();
    assert_eq!(again.position, next.position);
    let found = world.b.read(&Position::START, ReadLimit::default()).unwrap();
    assert_eq!(found.batches.len(), 2);
}

pub(crate) fn reads_stop_at_their_limits(world: &World) {
    for _ in 0..10 {
        world.append(&"x".repeat(100));
    }
    let count = |after: u64, batches, bytes| {
        let all = world.b.read(&Position::START, ReadLimit::default()).unwrap().batches;
        let after = match after {
            0 => Position::START,
            number => all[usize::try_from(number).unwrap() - 1].position,
        };
        let found = world.b.read(&after, ReadLimit { batches, bytes }).unwrap();
        assert_eq!(found.head.position.number, 10);
        found.batches.len()
    };
    assert_eq!(count(0, 3, u64::MAX), 3);
    assert_eq!(count(0, 100, 250), 2);
    assert_eq!(count(0, 100, 300), 3);
    assert_eq!(count(0, 100, 1), 1, "a read returns at least one batch");
    assert_eq!(count(0, 0, 1_000), 1, "a read returns at least one batch");
    assert_eq!(count(8, 100, u64::MAX), 2);
    assert_eq!(count(10, 100, u64::MAX), 0);
}

pub(crate) fn a_batch_above_the_limit_is_read_alone(world: &World) {
    let large = world.append(&"x".repeat(600 << 10));
    world.append("small");
    let found = world.b.read(&Position::START, ReadLimit::default()).unwrap();
    assert_eq!(found.batches.len(), 1);
    assert_eq!(found.batches[0].payload.len(), 600 << 10);
    let found = world.b.read(&large.position, ReadLimit::default()).unwrap();
    assert_eq!(found.batches.len(), 1);
    // A refused append returns no more than a slow link carries within its limit.
    match world.b.append(&Position::START, &world.batch("b", "late")) {
        Err(Error::Moved(found)) => assert!(found.batches.len() <= 1, "{}", found.batches.len()),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn a_position_of_another_history_is_refused(world: &World) {
    let first = world.append("first").position;
    let second = world.append("second").position;
    let read = |after| world.b.read(&after, ReadLimit::default());
    for position in [
        Position { number: 1, id: BatchId([9; 16]) },
        Position { number: 2, id: first.id },
        Position { number: 3, id: second.id },
    ] {
        let refused = read(position);
        assert!(matches!(refused, Err(Error::Diverged { .. })), "{position:?}: {refused:?}");
    }
    assert_eq!(read(first).unwrap().batches.len(), 1);
}

pub(crate) fn waiting_ends_at_a_new_batch(world: &World) {
    assert_eq!(world.b.wait(0, Duration::ZERO).unwrap(), None);
    let woken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.b.wait(0, Duration::from_secs(20)));
        std::thread::sleep(Duration::from_millis(30));
        world.append("new");
        waiting.join().unwrap()
    });
    assert_eq!(woken.unwrap(), Some(1));
    assert_eq!(world.b.wait(0, Duration::from_secs(20)).unwrap(), Some(1), "it is there already");
    assert_eq!(world.b.wait(1, Duration::ZERO).unwrap(), None);
}

pub(crate) fn waiting_ends_at_its_limit(world: &World) {
    let start = Instant::now();
    assert_eq!(world.b.wait(0, Duration::from_millis(100)).unwrap(), None);
    assert!(start.elapsed() >= Duration::from_millis(100));
}

pub(crate) fn an_old_program_cannot_write(world: &World) {
    let refused = world.old.append(&Position::START, &world.batch("b", "old"));
    // The log's schema allows older readers only after it was created by an older program.
    match refused {
        Err(Error::TooNew { schema, supported, .. }) => {
            assert_eq!((schema, supported), (SCHEMA, SCHEMA - 1));
        }
        other => panic!("{other:?}"),
    }
    world.a.raise_schema(SCHEMA + 2, SCHEMA).unwrap();
    world.a.raise_schema(SCHEMA + 1, SCHEMA - 1).unwrap();
    let head = world.a.head().unwrap();
    assert_eq!((head.schema, head.min_reader), (SCHEMA + 2, SCHEMA), "neither is lowered");
    let refused = world.a.append(&Position::START, &world.batch("a", "now old"));
    assert!(matches!(refused, Err(Error::TooNew { .. })), "{refused:?}");
    assert!(world.a.read(&Position::START, ReadLimit::default()).is_ok(), "reading goes on");
}

pub(crate) fn an_old_program_cannot_read(world: &World) {
    world.append("new format");
    let refused = world.old.read(&Position::START, ReadLimit::default());
    assert!(matches!(refused, Err(Error::TooNew { .. })), "{refused:?}");
    assert_eq!(world.old.head().unwrap().schema, SCHEMA, "the head tells what is needed");
}

pub(crate) fn too_large_input_is_refused(world: &World) {
    let mut batch = world.batch("a", "");
    batch.payload = vec![0; MAX_PAYLOAD + 1];
    let refused = world.a.append(&Position::START, &batch);
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    let batch = world.batch(&"m".repeat(101), "");
    let refused = world.a.append(&Position::START, &batch);
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    assert_eq!(world.a.head().unwrap().position, Position::START);
}
