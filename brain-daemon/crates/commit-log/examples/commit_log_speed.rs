//! Measures the speed of the log in PostgreSQL, beside the same work without the log. Needs the
//! servers of `.ci/postgres`:
//!
//! ```text
//! .ci/postgres cargo run -p brain-commit-log --example commit_log_speed
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use brain_base::random::SystemRandom;
use brain_commit_log::{
    Administration, BatchId, BrainId, CommitLog, Delivery, Engine, Error, Head, MachineId,
    NewBatch, Position, PostgresLog, PostgresSettings, ReadLimit, Registration, ServerUrl,
};
use brain_protocol::Secret;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use tokio_postgres::types::Type;
use tokio_postgres_rustls::MakeRustlsConnect;

const BRAIN: BrainId = BrainId([1; 16]);
const BODY: usize = 2_000;
const ROUNDS: usize = 500;

fn main() {
    let url = |name: &str| std::env::var(name).expect("run it with .ci/postgres");
    let (direct, pooler) = (url("BRAIN_TEST_POSTGRES"), url("BRAIN_TEST_PGBOUNCER"));
    for (name, url) in [("direct", &direct), ("pgbouncer", &pooler)] {
        let log = create(&direct, url, &format!("speed_{name}"));
        measure_appends(name, url, &log);
        let other = open(url, None, &format!("speed_{name}"));
        for work in [Duration::ZERO, Duration::from_micros(1_500)] {
            measure_two_machines(name, &log, &other, work);
        }
    }
    measure_writers(&pooler, &direct);
    measure_visibility(&direct, &pooler);
    // Without flushes to disk, the log costs the difference between the baselines and the log.
    let baseline = Baseline::connect(&direct);
    baseline.run("ALTER ROLE CURRENT_USER SET synchronous_commit = off");
    let log = create(&direct, &direct, "speed_unflushed");
    measure_appends("without flushes", &direct, &log);
    baseline.run("ALTER ROLE CURRENT_USER RESET synchronous_commit");
    measure_catch_up(&direct);
}

fn open(url: &str, direct: Option<&str>, namespace: &str) -> PostgresLog {
    let parse = |text: &str| ServerUrl::parse(&Secret::new(text)).unwrap();
    let settings = PostgresSettings::new(parse(url), 1, Arc::new(SystemRandom));
    let mut settings = settings.with_namespace(namespace).unwrap();
    settings.direct_url = direct.map(parse);
    PostgresLog::open(settings).unwrap()
}

/// Creates a log with the machines `a` and `b` and opens it through a URL.
fn create(direct: &str, url: &str, namespace: &str) -> PostgresLog {
    let parsed = ServerUrl::parse(&Secret::new(direct)).unwrap();
    let settings = PostgresSettings::new(parsed, 1, Arc::new(SystemRandom));
    let log = PostgresLog::create(settings.with_namespace(namespace).unwrap(), BRAIN).unwrap();
    for (name, id) in [("a", 1), ("b", 2)] {
        let (name, version) = (name.to_owned(), String::new());
        let id = MachineId([id; 16]);
        log.register(&Registration { name, id, version, position: Position::START }).unwrap();
    }
    open(url, None, namespace)
}

fn batch(machine: &str, size: usize) -> NewBatch {
    NewBatch {
        id: BatchId::random(&SystemRandom).unwrap(),
        machine: machine.into(),
        payload: vec![b'x'; size],
        fence: None,
    }
}

/// Prints the median, the 99th percentile and the rate of some durations.
fn print(name: &str, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort();
    let at = |part: usize| sorted[(sorted.len() - 1) * part / 100].as_secs_f64() * 1e3;
    let mean = times.iter().sum::<Duration>().as_secs_f64() / times.len() as f64;
    let (median, high) = (at(50), at(99));
    println!("{name}: median {median:.2} ms, p99 {high:.2} ms, {:.0}/s", 1.0 / mean);
}

fn measure(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// A connection of the driver alone, without the log.
struct Baseline {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
}

impl Baseline {
    fn connect(url: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (base, authority) = url.split_once("?sslmode=verify-full&sslrootcert=").unwrap();
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(authority).unwrap() {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let config: tokio_postgres::Config = format!("{base}?sslmode=require").parse().unwrap();
        let (client, connection) =
            runtime.block_on(config.connect(MakeRustlsConnect::new(tls))).unwrap();
        runtime.spawn(connection);
        let baseline = Self { runtime, client };
        baseline.run(
            "CREATE TABLE IF NOT EXISTS baseline_rows (number bigint, body bytea); \
             CREATE TABLE IF NOT EXISTS baseline_head (number bigint); \
             DELETE FROM baseline_head; INSERT INTO baseline_head VALUES (0)",
        );
        baseline
    }

    fn run(&self, statement: &str) {
        self.runtime.block_on(self.client.batch_execute(statement)).unwrap();
    }

    fn insert(&self, body: &Vec<u8>) {
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 1] =
            [(body, Type::BYTEA)];
        let statement = "INSERT INTO baseline_rows VALUES (1, $1)";
        self.runtime.block_on(self.client.execute_typed(statement, &parameters)).unwrap();
    }

    fn append_one_by_one(&self, body: &Vec<u8>) {
        self.run("BEGIN");
        self.run("SET LOCAL lock_timeout = 5000");
        self.run("SELECT number FROM baseline_head FOR UPDATE");
        self.insert(body);
        self.run("UPDATE baseline_head SET number = number + 1");
        self.run("SELECT pg_notify('baseline', '1')");
        self.run("COMMIT");
    }
}

/// Measures the baselines and the log's append, one after another in each round, so that a slow
/// disk slows all of them.
fn measure_appends(name: &str, url: &str, log: &PostgresLog) {
    let (baseline, body) = (Baseline::connect(url), vec![b'x'; BODY]);
    let mut position = log.head().unwrap().position;
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(measure(|| {
            baseline.runtime.block_on(baseline.client.query_typed("SELECT 1", &[])).unwrap();
        }));
        times[1].push(measure(|| baseline.insert(&body)));
        times[2].push(measure(|| baseline.append_one_by_one(&body)));
        let new = batch("a", BODY);
        times[3].push(measure(|| position = log.append(&position, &new).unwrap().position));
    }
    let names = [
        "baseline, a round trip",
        "baseline, one durable insert",
        "baseline, seven statements one by one",
        "append of the log",
    ];
    for (operation, times) in names.iter().zip(&times) {
        print(&format!("{name}: {operation}"), times);
    }
}

/// Measures appends from two machines at once. `work` is the duration of the local transaction
/// before each attempt.
fn measure_two_machines(name: &str, a: &PostgresLog, b: &PostgresLog, work: Duration) {
    let rounds = ROUNDS / 2;
    let run = move |log: &PostgresLog, machine| {
        let (mut head, mut refused, mut max_in_a_row): (Head, usize, usize) =
            (log.head().unwrap(), 0, 0);
        for _ in 0..rounds {
            let new = batch(machine, BODY);
            for tries in 0.. {
                thread::sleep(work);
                match log.append(&head.position, &new) {
                    Ok(next) => {
                        head = next;
                        break;
                    }
                    Err(Error::Moved(next)) => (head, refused) = (next.head, refused + 1),
                    Err(error) => panic!("{error}"),
                }
                max_in_a_row = max_in_a_row.max(tries + 1);
            }
        }
        (refused, max_in_a_row)
    };
    let start = Instant::now();
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(move || run(b, "b"));
        (run(a, "a"), other.join().unwrap())
    });
    let rate = (2 * rounds) as f64 / start.elapsed().as_secs_f64();
    println!(
        "{name}: two machines, {} us of work: {rate:.0}/s together, {} refused, {} in a row",
        work.as_micros(),
        one.0 + other.0,
        one.1.max(other.1)
    );
}

/// Measures group commit: writers wait for their machine, which appends one batch for all of them.
fn measure_writers(url: &str, direct: &str) {
    let time = Duration::from_secs(4);
    for (count, machines) in [(1, 1), (64, 1), (64, 2)] {
        let namespace = format!("speed_writers_{count}_{machines}");
        drop(create(direct, url, &namespace));
        let (mut written, mut batches) = (0, 0);
        thread::scope(|scope| {
            let names = ["a", "b"].into_iter().take(machines);
            let running: Vec<_> = names
                .map(|name| {
                    let log = open(url, None, &namespace);
                    scope.spawn(move || group_commit(&log, name, count / machines, time))
                })
                .collect();
            for machine in running {
                let (machine_written, machine_batches) = machine.join().unwrap();
                (written, batches) = (written + machine_written, batches + machine_batches);
            }
        });
        let rate = written as f64 / time.as_secs_f64();
        let size = written as f64 / batches as f64;
        println!("{count} writers, {machines} machines: {rate:.0}/s, {size:.1} in a batch");
    }
}

/// Serves writers that each wait for their write. Returns how many writes and batches were made.
fn group_commit(
    log: &PostgresLog,
    machine: &str,
    writers: usize,
    time: Duration,
) -> (usize, usize) {
    let (queue, waiting) = std::sync::mpsc::channel::<std::sync::mpsc::Sender<()>>();
    let end = Instant::now() + time;
    thread::scope(|scope| {
        for _ in 0..writers {
            let queue = queue.clone();
            scope.spawn(move || {
                let (done, answer) = std::sync::mpsc::channel();
                while Instant::now() < end && queue.send(done.clone()).is_ok() {
                    answer.recv().unwrap();
                }
            });
        }
        drop(queue);
        let (mut position, mut written, mut batches) = (log.head().unwrap().position, 0, 0);
        while let Ok(first) = waiting.recv() {
            let mut group = vec![first];
            group.extend(waiting.try_iter());
            let new = batch(machine, BODY * group.len());
            position = loop {
                match log.append(&position, &new) {
                    Ok(head) => break head.position,
                    Err(Error::Moved(found)) => position = found.head.position,
                    Err(error) => panic!("{error}"),
                }
            };
            (written, batches) = (written + group.len(), batches + 1);
            group.iter().for_each(|done| done.send(()).unwrap());
        }
        (written, batches)
    })
}

/// Measures the time from the start of an append until another machine has read the batch.
fn measure_visibility(direct: &str, pooler: &str) {
    for (name, notified, rounds) in [("notified", true, 300), ("polling", false, 20)] {
        let namespace = format!("speed_{name}");
        let writer = create(direct, pooler, &namespace);
        let reader = open(pooler, notified.then_some(direct), &namespace);
        let end = Instant::now() + Duration::from_secs(10);
        while notified && reader.delivery() == Delivery::Polling && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let times = thread::scope(|scope| {
            scope.spawn(move || {
                let mut position = Position::START;
                while position.number < rounds {
                    reader.wait(position.number, Duration::from_secs(30)).unwrap();
                    let found = reader.read(&position, ReadLimit::default()).unwrap();
                    for batch in found.batches {
                        position = batch.position;
                        sender.send(Instant::now()).unwrap();
                    }
                }
            });
            let mut position = Position::START;
            let mut times = Vec::new();
            for round in 0..rounds {
                // Pauses of different lengths, so that appends begin at any moment of a poll.
                thread::sleep(Duration::from_millis(3 + round * 7 % 13));
                let start = Instant::now();
                position = writer.append(&position, &batch("a", BODY)).unwrap().position;
                times.push(receiver.recv().unwrap() - start);
            }
            times
        });
        print(&format!("{name}: from append to visible on the other machine"), &times);
    }
}

/// Measures a replica that reads 10,000 batches of 2 KB.
fn measure_catch_up(direct: &str) {
    const BATCHES: usize = 10_000;
    let log = create(direct, direct, "speed_catch_up");
    let mut position = log.head().unwrap().position;
    for _ in 0..BATCHES {
        position = log.append(&position, &batch("a", BODY)).unwrap().position;
    }
    let (start, mut position, mut count) = (Instant::now(), Position::START, 0);
    loop {
        let found = log.read(&position, ReadLimit::default()).unwrap();
        let Some(last) = found.batches.last() else { break };
        (position, count) = (last.position, count + found.batches.len());
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    println!("catching up: {count} batches of {BODY} bytes, {rate:.0}/s");
}
