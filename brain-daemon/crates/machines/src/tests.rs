//! Tests over the engine in memory. Each machine has a handle of the same log.

mod leases;
mod log;
mod replica;
mod snapshots;
#[cfg(not(feature = "machines"))]
mod without_server;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brain_base::clock::Clock;
use brain_base::random::SystemRandom;
use brain_commit_log::cipher::{Keys, RootKey};
use brain_commit_log::{Administration, BrainId, Engine, MachineId};
use brain_fakes::MemoryLog;
use brain_store::{LogPosition, StoreError};

use crate::{Identity, Keyring, LeaseKeeper, MachineLog, SCHEMA, Uptime};

/// A clock that tests move: the clock of the engine and the uptime of all machines.
#[derive(Clone, Default)]
struct TestClock(Arc<AtomicU64>);

impl TestClock {
    fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> i64 {
        1_000_000 + self.0.load(Ordering::SeqCst) as i64
    }
}

impl Uptime for TestClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A shared brain in memory.
struct World {
    server: MemoryLog,
    brain: BrainId,
    root: RootKey,
    clock: TestClock,
}

impl World {
    fn new() -> Self {
        let clock = TestClock::default();
        let brain = BrainId::random(&SystemRandom).unwrap();
        let server = MemoryLog::create(brain, SCHEMA, Arc::new(clock.clone()));
        let root = RootKey::generate(&SystemRandom).unwrap();
        let keys = Keys::generate(&SystemRandom).unwrap();
        let sealed = keys.seal(&root, brain, &SystemRandom).unwrap();
        server.replace_keys(0, &sealed).unwrap();
        Self { server, brain, root, clock }
    }

    fn engine(&self) -> Arc<dyn Engine> {
        Arc::new(self.server.connect(SCHEMA, Arc::new(self.clock.clone())))
    }

    /// Returns a machine that is registered.
    fn machine(&self, name: &str) -> MachineLog {
        let log = self.stranger(name, Some(self.root.clone()));
        self.server.register(&log.registration(LogPosition::default())).unwrap();
        log
    }

    /// Returns a machine that is not registered, with this root key.
    fn stranger(&self, name: &str, root: Option<RootKey>) -> MachineLog {
        let identity = Identity {
            brain: self.brain,
            machine: MachineId::random(&SystemRandom).unwrap(),
            name: name.to_owned(),
            encrypted: root.is_some(),
            namespace: "brain".to_owned(),
            listens: false,
            secrets: Vec::new(),
        };
        let clock = Arc::new(self.clock.clone());
        MachineLog::new(
            self.engine(),
            identity,
            Keyring::new(self.brain, root),
            Arc::new(LeaseKeeper::new(name.to_owned(), clock.clone())),
            clock.clone(),
            Arc::new(SystemRandom),
            clock,
        )
    }
}

/// Returns the name of the state in which a call stopped the machine.
fn stopped_state(log: &MachineLog) -> &'static str {
    match log.condition() {
        crate::Condition::Stopped { stop, .. } => stop.state.as_str(),
        other => panic!("{other:?}"),
    }
}

fn code(error: StoreError) -> brain_protocol::FaultCode {
    brain_protocol::Fault::from(error).code
}
