//! Two machines that write to PostgreSQL while their connections break, and a failover.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use brain_commit_log::{
    Administration, BatchId, CommitLog, Error, NewBatch, Position, PostgresLog, ReadLimit,
};
use brain_fakes::{Direction, Proxy};

use crate::servers::{admin, admin_at, namespace, port, servers, settings, with_port};
use crate::world::{BRAIN, registration};

const WRITES: u8 = 60;

/// A replica that adds one to a counter with each write.
struct Machine<'a> {
    name: &'static str,
    log: &'a PostgresLog,
    position: Position,
    values: BTreeMap<u8, u8>,
    acknowledged: BTreeSet<BatchId>,
}

impl Machine<'_> {
    fn apply(&mut self, position: Position, payload: &[u8]) {
        let [key, before, after] = payload else { panic!("{payload:?}") };
        assert_eq!(position.number, self.position.number + 1);
        let stored = self.values.insert(*key, *after).unwrap_or(0);
        assert_eq!(stored, *before, "a write was computed from another value");
        self.position = position;
    }

    fn catch_up(&mut self) {
        let found = self.log.read(&self.position, ReadLimit::default()).unwrap();
        for batch in found.batches {
            self.apply(batch.position, &batch.payload);
        }
    }

    /// Writes until the log has the write.
    fn write(&mut self, number: u8) {
        let key = number % 3;
        for try_number in 0.. {
            let before = self.values.get(&key).copied().unwrap_or(0);
            let mut id = [number; 16];
            (id[0], id[1]) = (self.name.as_bytes()[0], try_number);
            let payload = vec![key, before, before + 1];
            let (machine, fence) = (self.name.to_owned(), None);
            let batch = NewBatch { id: BatchId(id), machine, payload, fence };
            let result = loop {
                match self.log.append(&self.position, &batch) {
                    Err(Error::OutcomeUnknown { .. } | Error::Unavailable { .. }) => {}
                    result => break result,
                }
            };
            match result {
                Ok(_) => {
                    let number = self.position.number + 1;
                    self.apply(Position { number, id: batch.id }, &batch.payload);
                    assert!(self.acknowledged.insert(batch.id));
                    return;
                }
                Err(Error::Moved(found)) => {
                    for batch in found.batches {
                        self.apply(batch.position, &batch.payload);
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Both machines write at once; each of their connections is cut at growing distances.
fn two_machines_agree(direct: &str, url: &str) {
    let namespace = namespace();
    let log = PostgresLog::create(settings(direct, &namespace), BRAIN).unwrap();
    for name in ["a", "b"] {
        log.register(&registration(name, Position::START)).unwrap();
    }
    let run = |name: &'static str, step: i64| {
        let proxy = Proxy::start(port(url));
        let through = settings(&with_port(url, proxy.port()), &namespace);
        let log = PostgresLog::open(through).unwrap();
        let (position, values) = (Position::START, BTreeMap::new());
        let acknowledged = BTreeSet::new();
        let mut machine = Machine { name, log: &log, position, values, acknowledged };
        for number in 0..WRITES {
            let direction = if number % 2 == 0 { Direction::ToServer } else { Direction::ToClient };
            proxy.cut_after(direction, i64::from(number) * step);
            machine.write(number);
        }
        proxy.cut_after(Direction::ToServer, -1);
        proxy.cut_after(Direction::ToClient, -1);
        (machine.position, machine.values, machine.acknowledged)
    };
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| run("a", 37));
        let other = scope.spawn(|| run("b", 53));
        (one.join().unwrap(), other.join().unwrap())
    });
    let found = log.read(&Position::START, ReadLimit::default()).unwrap();
    let ids: BTreeSet<BatchId> = found.batches.iter().map(|batch| batch.position.id).collect();
    assert_eq!(found.batches.len(), 2 * usize::from(WRITES), "nothing is lost or doubled");
    assert_eq!(ids, one.2.union(&other.2).copied().collect());
    let mut values = Vec::new();
    for (position, values_of_one, acknowledged) in [one, other] {
        let mut machine =
            Machine { name: "", log: &log, position, values: values_of_one, acknowledged };
        machine.catch_up();
        values.push(machine.values);
    }
    assert_eq!(values[0], values[1]);
}

#[test]
fn two_machines_agree_over_postgres() {
    let Some(servers) = servers() else { return };
    two_machines_agree(&servers.direct, &servers.direct);
}

#[test]
fn two_machines_agree_over_pgbouncer() {
    let Some(servers) = servers() else { return };
    two_machines_agree(&servers.direct, &servers.pooler);
}

/// Without turns a machine that needs time for its local transaction would be refused for ever.
#[test]
fn a_refused_machine_writes_next() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let a = PostgresLog::create(settings(&servers.direct, &namespace), BRAIN).unwrap();
    let b = PostgresLog::open(settings(&servers.direct, &namespace)).unwrap();
    for name in ["a", "b"] {
        a.register(&registration(name, Position::START)).unwrap();
    }
    let batch = |machine: &str, id: u8| {
        let (id, machine) = (BatchId([id; 16]), machine.to_owned());
        NewBatch { id, machine, payload: Vec::new(), fence: None }
    };
    let head = a.append(&Position::START, &batch("a", 1)).unwrap().position;
    // Each refusal in a row makes the turn longer: 1.6 s at last.
    for _ in 0..8 {
        let refused = b.append(&Position::START, &batch("b", 2));
        assert!(matches!(refused, Err(Error::Moved(_))), "{refused:?}");
    }
    let (of_a, of_b) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| a.append(&head, &batch("a", 3)));
        std::thread::sleep(Duration::from_millis(100));
        let of_b = b.append(&head, &batch("b", 4));
        (waiting.join().unwrap(), of_b)
    });
    let head = of_b.unwrap().position;
    assert!(matches!(of_a, Err(Error::Moved(_))), "{of_a:?}");
    // A machine that does not use its turn delays the others only.
    let refused = b.append(&Position::START, &batch("b", 5));
    assert!(matches!(refused, Err(Error::Moved(_))), "{refused:?}");
    assert_eq!(a.append(&head, &batch("a", 6)).unwrap().position.number, 3);
}

/// A standby is never used while the server works. After a failover that lost batches, the log
/// says so.
#[test]
fn a_failover_that_lost_batches_is_noticed() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let primary = PostgresLog::create(settings(&servers.direct, &namespace), BRAIN).unwrap();
    primary.register(&registration("a", Position::START)).unwrap();
    let append = |log: &PostgresLog, expected: &Position, id: u8| {
        let (id, payload) = (BatchId([id; 16]), vec![id]);
        let batch = NewBatch { id, machine: "a".into(), payload, fence: None };
        log.append(expected, &batch).map(|head| head.position)
    };
    let first = append(&primary, &Position::START, 1).unwrap();

    let (server, standby) = (port(&servers.direct), port(&servers.standby));
    let both = |one: u16, other: u16| {
        let hosts = format!("@localhost:{one},localhost:{other}/");
        let url = servers.direct.replace(&format!("@localhost:{server}/"), &hosts);
        PostgresLog::open(settings(&url, &namespace)).unwrap()
    };
    let log = both(standby, server);
    assert_eq!(log.head().unwrap().position, first, "the standby is passed over");
    let second = append(&log, &first, 2).unwrap();

    let end = Instant::now() + Duration::from_secs(10);
    let count = format!("SELECT number FROM {namespace}.head");
    while admin_at(&servers.standby, &count).trim() != "2" {
        assert!(Instant::now() < end, "the standby does not follow");
        std::thread::sleep(Duration::from_millis(20));
    }
    let only_standby = both(1, standby);
    let refused = only_standby.head();
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");

    // The standby stops following; the next batch is lost by the failover.
    admin_at(&servers.standby, "ALTER SYSTEM SET primary_conninfo = ''");
    admin_at(&servers.standby, "SELECT pg_reload_conf()");
    let is_following = "SELECT count(*) FROM pg_stat_replication";
    while admin(&servers, is_following).trim() != "0" {
        assert!(Instant::now() < end, "the standby still follows");
        std::thread::sleep(Duration::from_millis(20));
    }
    let lost = append(&primary, &second, 3).unwrap();
    admin_at(&servers.standby, "SELECT pg_promote()");
    let log = both(1, standby);
    match log.read(&lost, ReadLimit::default()) {
        Err(Error::Diverged { replica, log }) => assert_eq!((replica, log), (lost, second)),
        other => panic!("{other:?}"),
    }
    assert!(log.read(&second, ReadLimit::default()).unwrap().batches.is_empty());
    assert!(matches!(append(&log, &lost, 4), Err(Error::Moved(_))));
    append(&log, &second, 5).unwrap();
    let refused = log.read(&lost, ReadLimit::default());
    assert!(matches!(refused, Err(Error::Diverged { .. })), "{refused:?}");
}
