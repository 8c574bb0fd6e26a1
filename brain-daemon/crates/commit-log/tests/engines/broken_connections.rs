//! Appends whose connection breaks: a batch is in the log once, or the caller knows that it may
//! not be.

use std::time::Duration;

use brain_commit_log::{
    Administration, BatchId, CommitLog, Error, Position, PostgresLog, ReadLimit,
};
use brain_fakes::{Direction, Proxy};

use crate::servers::{Servers, admin, namespace, port, servers, settings, start_admin, with_port};
use crate::world::{BRAIN, registration};

/// How many different numbers of bytes are tried in each direction.
const CUTS: i64 = 40;

struct Setup {
    log: PostgresLog,
    proxy: Proxy,
    namespace: String,
    position: Position,
    next: u8,
}

impl Setup {
    fn new(servers: &Servers, url: &str, deadline: Duration) -> Self {
        let namespace = namespace();
        let log = PostgresLog::create(settings(&servers.direct, &namespace), BRAIN).unwrap();
        log.register(&registration("a", Position::START)).unwrap();
        let proxy = Proxy::start(port(url));
        let mut through = settings(&with_port(url, proxy.port()), &namespace);
        through.timeouts.deadline = deadline;
        let log = PostgresLog::open(through).unwrap();
        Self { log, proxy, namespace, position: Position::START, next: 0 }
    }

    fn batch(&mut self) -> brain_commit_log::NewBatch {
        self.next += 1;
        brain_commit_log::NewBatch {
            id: BatchId([self.next; 16]),
            machine: "a".into(),
            payload: vec![self.next; 600],
            fence: None,
        }
    }

    /// Returns how many bytes an append on an open connection sends in a direction.
    fn measure(&mut self, direction: Direction) -> i64 {
        for _ in 0..2 {
            self.proxy.cut_after(direction, -1);
            let batch = self.batch();
            self.position = self.log.append(&self.position, &batch).unwrap().position;
        }
        self.proxy.count(direction)
    }

    /// Checks that the log has exactly the batches that were written, in order.
    fn check(&self) {
        let found = self.log.read(&Position::START, ReadLimit::default()).unwrap();
        let ids: Vec<u8> = found.batches.iter().map(|batch| batch.position.id.0[0]).collect();
        assert_eq!(ids, (1..=self.next).collect::<Vec<_>>());
    }
}

/// Cuts the connection at many places of an append that repeats itself.
fn an_append_survives_a_cut(servers: &Servers, url: &str) {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let mut setup = Setup::new(servers, url, Duration::from_secs(10));
        let bytes = setup.measure(direction);
        assert!(bytes > 100, "{bytes}");
        for cut in 0..CUTS {
            // The last cuts are after the append, in the next one.
            setup.proxy.cut_after(direction, bytes * cut / (CUTS - 5));
            let batch = setup.batch();
            let head = setup.log.append(&setup.position, &batch).unwrap();
            assert_eq!(head.position.id, batch.id, "{direction:?} {cut}");
            assert_eq!(head.position.number, setup.position.number + 1);
            setup.position = head.position;
        }
        setup.check();
    }
}

/// Cuts the connection and refuses new ones, so that the outcome stays unknown.
fn an_unknown_outcome_is_resolved_later(servers: &Servers, url: &str) {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let mut setup = Setup::new(servers, url, Duration::from_millis(150));
        let bytes = setup.measure(direction);
        let mut unknown = 0;
        for cut in 0..CUTS / 2 {
            setup.proxy.cut_after(direction, bytes * cut / (CUTS / 2));
            setup.proxy.refuse(true);
            let batch = setup.batch();
            match setup.log.append(&setup.position, &batch) {
                Ok(_) => assert!(!setup.proxy.has_cut()),
                Err(Error::OutcomeUnknown { batch: id, .. }) => {
                    assert_eq!(id, batch.id);
                    unknown += 1;
                }
                Err(error) => panic!("{direction:?} {cut}: {error}"),
            }
            setup.proxy.refuse(false);
            let repeated = (0..20).find_map(|_| setup.log.append(&setup.position, &batch).ok());
            let head = repeated.expect("the server is back");
            assert_eq!(head.position.id, batch.id, "{direction:?} {cut}");
            setup.position = head.position;
        }
        assert!(unknown > CUTS / 4, "{unknown} of {} cuts were noticed", CUTS / 2);
        setup.check();
    }
}

#[test]
fn an_append_survives_a_cut_to_postgres() {
    let Some(servers) = servers() else { return };
    an_append_survives_a_cut(&servers, &servers.direct);
}

#[test]
fn an_append_survives_a_cut_to_pgbouncer() {
    let Some(servers) = servers() else { return };
    an_append_survives_a_cut(&servers, &servers.pooler);
}

#[test]
fn an_unknown_outcome_of_postgres_is_resolved_later() {
    let Some(servers) = servers() else { return };
    an_unknown_outcome_is_resolved_later(&servers, &servers.direct);
}

#[test]
fn an_unknown_outcome_of_pgbouncer_is_resolved_later() {
    let Some(servers) = servers() else { return };
    an_unknown_outcome_is_resolved_later(&servers, &servers.pooler);
}

/// The first request waits for a lock on the server while the client repeats it.
#[test]
fn a_request_that_commits_after_its_repetition_began_is_found() {
    let Some(servers) = servers() else { return };
    let mut setup = Setup::new(&servers, &servers.direct, Duration::from_secs(10));
    setup.measure(Direction::ToServer);
    let lock = format!(
        "BEGIN; SELECT FROM {}.head FOR UPDATE; SELECT pg_sleep(0.8); COMMIT",
        setup.namespace
    );
    let mut locked = start_admin(&servers, &lock);
    let count = format!(
        "SELECT count(*) FROM pg_locks WHERE mode = 'RowShareLock' AND granted \
         AND relation = '{}.head'::regclass",
        setup.namespace
    );
    while admin(&servers, &count).trim() == "0" {
        std::thread::sleep(Duration::from_millis(20));
    }
    let batch = setup.batch();
    let head = std::thread::scope(|scope| {
        let appending = scope.spawn(|| setup.log.append(&setup.position, &batch));
        std::thread::sleep(Duration::from_millis(200));
        setup.proxy.cut_all();
        appending.join().unwrap().unwrap()
    });
    assert!(locked.wait().unwrap().success());
    assert_eq!(head.position.id, batch.id);
    setup.check();
}
