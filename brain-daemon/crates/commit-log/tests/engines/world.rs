//! Two machines that share a log.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use brain_base::clock::Clock;
use brain_base::random::RandomSource;
use brain_commit_log::{
    BatchId, BrainId, Engine, Head, MachineId, NewBatch, Position, Registration,
};
use brain_fakes::MemoryLog;

/// The schema of the tests' programs.
pub(crate) const SCHEMA: u32 = 3;
/// The brain of the tests.
pub(crate) const BRAIN: BrainId = BrainId([7; 16]);

/// A clock that a test sets.
#[derive(Default)]
pub(crate) struct MockClock(AtomicI64);

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A random source that returns the bytes of a counter.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl RandomSource for Counter {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), brain_base::Error> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        bytes.fill(0);
        let end = bytes.len();
        bytes[end - 8..].copy_from_slice(&number.to_be_bytes());
        Ok(())
    }
}

/// Two machines, `a` and `b`, and a way to let time pass.
pub(crate) struct World {
    pub(crate) a: Box<dyn Engine>,
    pub(crate) b: Box<dyn Engine>,
    /// A program on `b` whose schema is older than the log's.
    pub(crate) old: Box<dyn Engine>,
    clock: Option<Arc<MockClock>>,
    random: Counter,
}

impl World {
    pub(crate) fn memory() -> Self {
        let clock = Arc::new(MockClock(AtomicI64::new(1_000_000)));
        let a = MemoryLog::create(BRAIN, SCHEMA, clock.clone());
        let (b, old) = (a.connect(SCHEMA, clock.clone()), a.connect(SCHEMA - 1, clock.clone()));
        Self::of(Box::new(a), Box::new(b), Box::new(old), Some(clock))
    }

    /// Registers the machines `a` and `b` and returns the world.
    pub(crate) fn of(
        a: Box<dyn Engine>,
        b: Box<dyn Engine>,
        old: Box<dyn Engine>,
        clock: Option<Arc<MockClock>>,
    ) -> Self {
        let random = Counter::default();
        let world = Self { a, b, old, clock, random };
        for name in ["a", "b"] {
            world.a.register(&registration(name, Position::START)).unwrap();
        }
        world
    }

    /// Lets this time pass for the engine.
    pub(crate) fn pass(&self, time: Duration) {
        match &self.clock {
            Some(clock) => {
                clock.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
            }
            None => std::thread::sleep(time),
        }
    }

    /// Returns a batch of a machine with a new id.
    pub(crate) fn batch(&self, machine: &str, payload: &str) -> NewBatch {
        NewBatch {
            id: BatchId::random(&self.random).unwrap(),
            machine: machine.to_owned(),
            payload: payload.as_bytes().to_vec(),
            fence: None,
        }
    }

    /// Appends as machine `a` after the current head.
    pub(crate) fn append(&self, payload: &str) -> Head {
        let head = self.a.head().unwrap();
        self.a.append(&head.position, &self.batch("a", payload)).unwrap()
    }
}

/// Returns the registration of a machine. Its id is the bytes of its name.
pub(crate) fn registration(name: &str, position: Position) -> Registration {
    let mut id = [0; 16];
    id[..name.len()].copy_from_slice(name.as_bytes());
    Registration { name: name.to_owned(), id: MachineId(id), version: "0.1.0".into(), position }
}
