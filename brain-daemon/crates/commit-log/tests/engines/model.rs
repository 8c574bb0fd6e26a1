//! Two replicas over the log in memory: all interleavings and crashes up to a limit, and long
//! random runs.
//!
//! A replica is a map that is durable at a position, and a transaction that is not committed yet.
//! A write appends its batch, then commits the transaction, then is acknowledged. If the head has
//! moved, the write is computed again. A crash between any two of these steps loses the
//! transaction. The properties: no acknowledged write is lost, none is applied twice, each was
//! computed from the value before it, and both replicas are equal at the end.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use brain_commit_log::{
    Administration, Batch, BatchId, CommitLog, Error, NewBatch, Position, ReadLimit,
};
use brain_fakes::{AppendFault, MemoryLog};
use proptest::prelude::*;

use crate::world::{BRAIN, MockClock, SCHEMA, registration};

const NAMES: [&str; 2] = ["a", "b"];

/// One step of one machine, or the arrival of the delayed requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Starts a transaction that adds one to a key's value.
    Begin(usize, u8),
    /// Appends the batch of the transaction.
    Append(usize, Option<AppendFault>),
    /// Commits the transaction after its batch is in the log, and acknowledges the write.
    Commit(usize),
    /// Loses the transaction. The client gets no answer.
    Crash(usize),
    /// Applies the batches that the replica does not have.
    CatchUp(usize),
    /// The log carries out the delayed requests.
    Deliver,
}

/// A client's write: the key's new value, computed from the value before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Write {
    machine: u8,
    number: u8,
    key: u8,
    before: u8,
    after: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Transaction {
    expected: Position,
    id: BatchId,
    write: Write,
    is_appended: bool,
    tries: u8,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Replica {
    position: Position,
    values: BTreeMap<u8, u8>,
    transaction: Option<Transaction>,
    started: u8,
    crashes: u8,
}

impl Replica {
    /// Computes a write from the present values, for its first or a later try.
    fn start(&mut self, machine: u8, number: u8, key: u8, tries: u8) {
        let before = self.values.get(&key).copied().unwrap_or(0);
        let mut id = [0; 16];
        (id[0], id[1], id[2]) = (machine + 1, number, tries);
        self.transaction = Some(Transaction {
            expected: self.position,
            id: BatchId(id),
            write: Write { machine, number, key, before, after: before.wrapping_add(1) },
            is_appended: false,
            tries,
        });
    }

    fn apply(&mut self, position: Position, write: Write) {
        let before = self.values.insert(write.key, write.after).unwrap_or(0);
        assert_eq!(before, write.before, "a write was computed from another value");
        assert_eq!(position.number, self.position.number + 1, "a batch was left out");
        self.position = position;
    }
}

struct Model {
    log: MemoryLog,
    replicas: [Replica; 2],
    acknowledged: BTreeSet<(u8, u8)>,
    delayed: Vec<BatchId>,
    faults: u8,
}

impl Model {
    fn new() -> Self {
        let log = MemoryLog::create(BRAIN, SCHEMA, Arc::new(MockClock::default()));
        for name in NAMES {
            log.register(&registration(name, Position::START)).unwrap();
        }
        Self {
            log,
            replicas: Default::default(),
            acknowledged: BTreeSet::new(),
            delayed: Vec::new(),
            faults: 0,
        }
    }

    fn fork(&self) -> Self {
        Self {
            log: self.log.fork(),
            replicas: self.replicas.clone(),
            acknowledged: self.acknowledged.clone(),
            delayed: self.delayed.clone(),
            faults: self.faults,
        }
    }

    /// Returns whether a step would change anything.
    fn is_enabled(&self, step: Step) -> bool {
        let transaction = |machine: usize| self.replicas[machine].transaction.as_ref();
        match step {
            Step::Begin(machine, _) | Step::CatchUp(machine) => transaction(machine).is_none(),
            Step::Append(machine, _) => transaction(machine).is_some_and(|t| !t.is_appended),
            Step::Commit(machine) => transaction(machine).is_some_and(|t| t.is_appended),
            Step::Crash(machine) => transaction(machine).is_some(),
            Step::Deliver => !self.delayed.is_empty(),
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Begin(machine, key) => self.begin(machine, key),
            Step::Append(machine, fault) => self.append(machine, fault),
            Step::Commit(machine) => self.commit(machine),
            Step::Crash(machine) => {
                self.replicas[machine].transaction = None;
                self.replicas[machine].crashes += 1;
            }
            Step::CatchUp(machine) => self.catch_up(machine),
            Step::Deliver => {
                self.log.deliver();
                self.delayed.clear();
            }
        }
    }

    fn begin(&mut self, machine: usize, key: u8) {
        let replica = &mut self.replicas[machine];
        replica.started += 1;
        replica.start(u8::try_from(machine).unwrap(), replica.started, key, 0);
    }

    fn append(&mut self, machine: usize, fault: Option<AppendFault>) {
        let replica = &mut self.replicas[machine];
        let Some(transaction) = &mut replica.transaction else { return };
        self.log.plan(fault);
        self.faults += u8::from(fault.is_some());
        if fault == Some(AppendFault::DelayedRequest) {
            self.delayed.push(transaction.id);
        }
        let (write, tries) = (transaction.write, transaction.tries);
        let batch = NewBatch {
            id: transaction.id,
            machine: NAMES[machine].into(),
            payload: vec![write.machine, write.number, write.key, write.before, write.after],
            fence: None,
        };
        match self.log.append(&transaction.expected, &batch) {
            Ok(_) => transaction.is_appended = true,
            // The batch can never be appended, so the write is computed again.
            Err(Error::Moved(found)) => {
                replica.transaction = None;
                for batch in &found.batches {
                    replica.apply(batch.position, write_of(batch));
                }
                replica.start(write.machine, write.number, write.key, tries + 1);
            }
            Err(Error::OutcomeUnknown { .. } | Error::Unavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn commit(&mut self, machine: usize) {
        let replica = &mut self.replicas[machine];
        let Some(transaction) = replica.transaction.take() else { return };
        let number = transaction.expected.number + 1;
        replica.apply(Position { number, id: transaction.id }, transaction.write);
        let Write { machine, number, .. } = transaction.write;
        assert!(self.acknowledged.insert((machine, number)));
    }

    fn catch_up(&mut self, machine: usize) {
        let replica = &mut self.replicas[machine];
        let found = self.log.read(&replica.position, ReadLimit::default()).unwrap();
        for batch in found.batches {
            replica.apply(batch.position, write_of(&batch));
        }
    }

    fn batches(&self) -> Vec<Batch> {
        self.log.read(&Position::START, ReadLimit::default()).unwrap().batches
    }

    /// Restarts both machines and checks the properties.
    fn check_end(mut self) {
        self.log.deliver();
        for machine in 0..2 {
            self.replicas[machine].transaction = None;
            self.catch_up(machine);
        }
        let [one, other] = &self.replicas;
        assert_eq!((&one.values, one.position), (&other.values, other.position));
        let batches = self.batches();
        let writes: BTreeSet<(u8, u8)> =
            batches.iter().map(write_of).map(|write| (write.machine, write.number)).collect();
        assert_eq!(writes.len(), batches.len(), "a write is in the log twice");
        assert!(self.acknowledged.is_subset(&writes), "an acknowledged write is lost");
        let sum: usize = one.values.values().map(|value| usize::from(*value)).sum();
        assert_eq!(sum, batches.len(), "each write adds one");
    }

    /// Returns a value that is equal for models in the same state.
    fn state_key(&self) -> impl std::hash::Hash + Eq + use<> {
        let log: Vec<BatchId> = self.batches().iter().map(|batch| batch.position.id).collect();
        let acknowledged = self.acknowledged.clone();
        (self.replicas.clone(), log, self.delayed.clone(), acknowledged, self.faults)
    }
}

fn write_of(batch: &Batch) -> Write {
    let [machine, number, key, before, after] = batch.payload[..] else { panic!("{batch:?}") };
    Write { machine, number, key, before, after }
}

/// Visits every state that two machines reach with three writes, one crash each, and two faults.
#[test]
fn every_interleaving_keeps_acknowledged_writes() {
    const WRITES: [u8; 2] = [2, 1];
    const FAULTS: [Option<AppendFault>; 4] = [
        None,
        Some(AppendFault::LostRequest),
        Some(AppendFault::LostReply),
        Some(AppendFault::DelayedRequest),
    ];
    let mut steps = vec![Step::Deliver];
    for machine in 0..2 {
        steps.extend([Step::Begin(machine, 0), Step::Commit(machine)]);
        steps.extend([Step::Crash(machine), Step::CatchUp(machine)]);
        steps.extend(FAULTS.map(|fault| Step::Append(machine, fault)));
    }
    let mut seen = HashSet::new();
    let mut to_visit = vec![Model::new()];
    while let Some(model) = to_visit.pop() {
        for step in steps.iter().copied().filter(|step| model.is_enabled(*step)) {
            let is_beyond_limit = match step {
                Step::Begin(machine, _) => model.replicas[machine].started == WRITES[machine],
                Step::Crash(machine) => model.replicas[machine].crashes == 1,
                Step::Append(_, Some(_)) => model.faults == 2,
                _ => false,
            };
            if is_beyond_limit {
                continue;
            }
            let mut next = model.fork();
            next.run(step);
            if seen.insert(next.state_key()) {
                next.fork().check_end();
                to_visit.push(next);
            }
        }
    }
    assert!(seen.len() > 10_000, "only {} states", seen.len());
}

fn step() -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        4 => Just(None),
        1 => Just(Some(AppendFault::Unavailable)),
        1 => Just(Some(AppendFault::LostRequest)),
        1 => Just(Some(AppendFault::LostReply)),
        1 => Just(Some(AppendFault::DelayedRequest)),
    ];
    prop_oneof![
        4 => (0..2_usize, 0..3_u8).prop_map(|(machine, key)| Step::Begin(machine, key)),
        6 => (0..2_usize, fault).prop_map(|(machine, fault)| Step::Append(machine, fault)),
        4 => (0..2_usize).prop_map(Step::Commit),
        1 => (0..2_usize).prop_map(Step::Crash),
        3 => (0..2_usize).prop_map(Step::CatchUp),
        1 => Just(Step::Deliver),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn long_random_runs_keep_acknowledged_writes(steps in prop::collection::vec(step(), 1..120)) {
        let mut model = Model::new();
        for step in steps {
            if model.is_enabled(step) {
                model.run(step);
            }
        }
        model.check_end();
    }
}
