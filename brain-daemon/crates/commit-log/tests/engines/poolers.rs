//! Poolers, several hosts, and servers that end sessions: what the caller is told, and that it
//! goes on.

use std::process::Command;
use std::time::{Duration, Instant};

use brain_commit_log::{
    Administration, BatchId, CommitLog, Delivery, Engine, Error, NewBatch, Position, PostgresLog,
    ReadLimit,
};

use test_skips::{Need, skip};

use crate::servers::{Servers, admin, namespace, pgpool, port, servers, settings, url};
use crate::world::{BRAIN, registration};

fn batch(id: u8) -> NewBatch {
    NewBatch { id: BatchId([id; 16]), machine: "a".into(), payload: vec![id], fence: None }
}

/// Creates a log with the machine `a`.
fn create(servers: &Servers, namespace: &str) -> PostgresLog {
    let log = PostgresLog::create(settings(&servers.direct, namespace), BRAIN).unwrap();
    log.register(&registration("a", Position::START)).unwrap();
    log
}

/// Returns the error of the first call at a URL, and how long it took.
fn first_error(url: &str) -> (Error, Duration) {
    let start = Instant::now();
    let refused = PostgresLog::open(settings(url, "brain")).unwrap().head().unwrap_err();
    (refused, start.elapsed())
}

/// Creates a user, and returns a URL for it.
fn create_user(servers: &Servers, user: &str, settings: &str) -> String {
    admin(servers, &format!("CREATE ROLE {user} LOGIN PASSWORD 'hunter2' {settings}"));
    let (_, rest) = servers.direct.split_once("@localhost").unwrap();
    format!("postgresql://{user}:hunter2@localhost{rest}")
}

#[test]
fn a_cache_of_queries_hides_no_batch() {
    let (Some(servers), Some(url)) = (servers(), pgpool()) else { return };
    let namespace = namespace();
    create(&servers, &namespace);
    let open = || PostgresLog::open(settings(&url, &namespace)).unwrap();
    let (writer, reader) = (open(), open());
    let limit = ReadLimit::default();
    assert!(reader.read(&Position::START, limit).unwrap().batches.is_empty());
    assert!(reader.leases().unwrap().is_empty());
    let mut position = Position::START;
    for id in 1..=3 {
        // The function that appends is no statement that the pooler knows to change a table.
        position = writer.append(&position, &batch(id)).unwrap().position;
        let found = reader.read(&Position::START, limit).unwrap();
        assert_eq!(found.batches.len(), usize::from(id), "the batches are from the cache");
        assert_eq!(found.head.position, position);
    }
    // The pooler has a cache: it keeps the rows of a statement without a volatile function.
    let cached = format!("SELECT number FROM {namespace}.head");
    assert_eq!(crate::servers::admin_at(&url, &cached).trim(), "3");
    writer.append(&position, &batch(4)).unwrap();
    assert_eq!(crate::servers::admin_at(&url, &cached).trim(), "3", "the cache is not in use");
}

/// Opens a log whose notifications come through the same pooler as its statements.
fn listening(url_text: &str, namespace: &str) -> PostgresLog {
    let mut settings = settings(url_text, namespace);
    settings.direct_url = Some(url(url_text));
    PostgresLog::open(settings).unwrap()
}

/// Returns how a log notices batches, after the time of the first probe.
fn delivery(log: &PostgresLog) -> Delivery {
    let end = Instant::now() + Duration::from_secs(4);
    while log.delivery() == Delivery::Polling && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    log.delivery()
}

#[test]
fn notifications_count_only_if_a_second_connection_causes_them() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let writer = create(&servers, &namespace);
    let sessions = servers.pooler.replace("/brain?", "/brain_sessions?");
    // `LISTEN` succeeds in all modes. With a server's session for each transaction, the
    // notification goes to the connection that has the listening session at that time.
    let mut logs = vec![
        ("transactions", Delivery::Polling, listening(&servers.pooler, &namespace)),
        ("sessions", Delivery::Notified, listening(&sessions, &namespace)),
    ];
    logs.extend(pgpool().map(|url| ("pgpool", Delivery::Notified, listening(&url, &namespace))));
    for (name, expected, log) in &logs {
        assert_eq!(delivery(log), *expected, "{name}");
    }
    std::thread::scope(|scope| {
        let waiting: Vec<_> = logs
            .iter()
            .map(|(name, _, log)| (name, scope.spawn(|| log.wait(0, Duration::from_secs(30)))))
            .collect();
        writer.append(&Position::START, &batch(1)).unwrap();
        for (name, waiting) in waiting {
            assert_eq!(waiting.join().unwrap().unwrap(), Some(1), "{name}");
        }
    });
}

#[test]
fn a_schema_of_the_owner_is_used() {
    let Some(servers) = servers() else { return };
    let (namespace, user) = (namespace(), format!("plain_{}", namespace()));
    let url = create_user(&servers, &user, "");
    let refused = PostgresLog::create(settings(&url, &namespace), BRAIN).map(drop).unwrap_err();
    assert!(matches!(refused, Error::Denied { .. }), "{refused:?}");
    let way_out = format!("CREATE SCHEMA \"{namespace}\" AUTHORIZATION");
    assert!(refused.to_string().contains(&way_out), "{refused}");
    admin(&servers, &format!("CREATE SCHEMA {namespace} AUTHORIZATION {user}"));
    let log = PostgresLog::create(settings(&url, &namespace), BRAIN).unwrap();
    log.register(&registration("a", Position::START)).unwrap();
    assert_eq!(log.append(&Position::START, &batch(1)).unwrap().position.number, 1);
}

#[test]
fn a_missing_database_is_named() {
    let Some(servers) = servers() else { return };
    for (url, advice) in [(&servers.direct, "createdb"), (&servers.pooler, "pooler's databases")] {
        let (refused, time) = first_error(&url.replace("/brain?", "/no%20such?"));
        assert!(matches!(refused, Error::NoDatabase { .. }), "{refused:?}");
        let host = format!("localhost:{}", port(url));
        let text = format!("the database \"no such\" does not exist on {host};");
        assert!(refused.to_string().starts_with(&text), "{refused}");
        assert!(refused.to_string().contains(advice), "{refused}");
        assert!(time < Duration::from_secs(2), "{time:?}");
    }
}

#[test]
fn sessions_that_the_server_ends_refuse_nothing() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    create(&servers, &namespace);
    let user = format!("idle_{namespace}");
    let url = create_user(&servers, &user, "IN ROLE brain_user");
    admin(&servers, &format!("ALTER ROLE {user} SET idle_session_timeout = '100ms'"));
    let log = PostgresLog::open(settings(&url, &namespace)).unwrap();
    let mut position = Position::START;
    for id in 1..=60 {
        position = log.append(&position, &batch(id)).unwrap().position;
        // Around the limit, the end of the session and the next statement cross on their way.
        std::thread::sleep(Duration::from_micros(98_000 + u64::from(id) * 60));
    }
    assert_eq!(position.number, 60);
    for id in 61..=80 {
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}'"
        );
        position = std::thread::scope(|scope| {
            scope.spawn(|| admin(&servers, &end));
            log.append(&position, &batch(id)).unwrap().position
        });
    }
    assert_eq!(position.number, 80);
}

#[test]
fn a_server_without_free_connections_says_how_many_are_needed() {
    let Some(servers) = servers() else { return };
    let user = format!("few_{}", namespace());
    let url = create_user(&servers, &user, "CONNECTION LIMIT 0");
    let mut limits = settings(&url, "brain");
    limits.timeouts.deadline = Duration::from_millis(300);
    let refused = PostgresLog::open(limits).unwrap().head().unwrap_err();
    assert!(refused.is_retryable(), "{refused:?}");
    assert!(refused.to_string().contains("up to four connections"), "{refused}");
}

#[test]
fn the_most_telling_error_of_several_hosts_is_returned() {
    let Some(servers) = servers() else { return };
    let (direct, standby) = (port(&servers.direct), port(&servers.standby));
    let hosts = |url: &str, hosts: &[u16]| {
        let list: Vec<String> = hosts.iter().map(|port| format!("localhost:{port}")).collect();
        url.replace(&format!("@localhost:{direct}/"), &format!("@{}/", list.join(",")))
    };
    let (start, rest) = servers.direct.split_once("brain_user:").unwrap();
    let (_, rest) = rest.split_once('@').unwrap();
    let wrong = format!("{start}brain_user:hunter2@{rest}");
    for order in [[direct, 1], [1, direct]] {
        let (refused, time) = first_error(&hosts(&wrong, &order));
        let named = format!("localhost:{direct}/brain denies access");
        assert!(refused.to_string().contains(&named), "{order:?}: {refused}");
        assert!(time < Duration::from_secs(4), "{time:?}");
        let namespace = namespace();
        let right = settings(&hosts(&servers.direct, &order), &namespace);
        drop(PostgresLog::create(right, BRAIN).unwrap());
    }
    // A standby says more than a host that does not answer.
    let (refused, _) = first_error(&hosts(&servers.direct, &[standby, 1]));
    assert!(matches!(refused, Error::ReadOnly { .. }), "{refused:?}");
    let (refused, _) = first_error(&hosts(&servers.direct, &[1, 2]));
    assert!(refused.to_string().contains("refused"), "{refused}");
    // A host that accepts connections and never answers does not take all of the time.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let order = [silent.local_addr().unwrap().port(), direct];
    let mut limits = settings(&hosts(&servers.direct, &order), &namespace());
    limits.timeouts.connect = Duration::from_millis(300);
    drop(PostgresLog::create(limits, BRAIN).unwrap());
}

/// Runs a test again where `localhost` also has an address at which nothing listens.
fn run_with_two_addresses(test: &str) {
    const VARIABLE: &str = "BRAIN_TEST_TWO_ADDRESSES";
    assert!(std::env::var_os(VARIABLE).is_none(), "localhost still has one address");
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.arg("-m").args(arguments).env(VARIABLE, "1");
        command.status().is_ok_and(|status| status.success())
    };
    if !unshare(&["true"]) {
        return skip(Need::Root("servers whose name has several addresses".into()));
    }
    let script = "hosts=$(mktemp) && printf '::1 localhost\\n127.0.0.1 localhost\\n' >\"$hosts\" &&
        mount --bind \"$hosts\" /etc/hosts && rm \"$hosts\" && exec \"$0\" --exact \"$1\"";
    let program = std::env::current_exe().unwrap();
    assert!(unshare(&["sh", "-c", script, program.to_str().unwrap(), test]));
}

#[test]
fn a_name_with_several_addresses_keeps_the_telling_error() {
    let Some(servers) = servers() else { return };
    let addresses: Vec<_> =
        std::net::ToSocketAddrs::to_socket_addrs("localhost:1").unwrap().collect();
    if addresses.len() < 2 {
        return run_with_two_addresses(
            "poolers::a_name_with_several_addresses_keeps_the_telling_error",
        );
    }
    let (start, rest) = servers.direct.split_once("brain_user:").unwrap();
    let (_, rest) = rest.split_once('@').unwrap();
    let (refused, _) = first_error(&format!("{start}brain_user:hunter2@{rest}"));
    assert!(matches!(refused, Error::Denied { .. }), "{addresses:?}: {refused:?}");
}

#[test]
fn a_server_that_demands_tls_is_said() {
    let Some(servers) = servers() else { return };
    for url in [&servers.direct, &servers.pooler] {
        let (plain, _) = url.split_once('?').unwrap();
        let (refused, time) = first_error(plain);
        assert!(matches!(refused, Error::Tls { .. }), "{refused:?}");
        assert!(refused.to_string().contains("add sslmode=verify-full"), "{refused}");
        assert!(time < Duration::from_secs(2), "{time:?}");
        let (_, authority) = url.split_once("sslrootcert=").unwrap();
        let (refused, _) = first_error(&format!("{plain}?sslrootcert={authority}"));
        assert!(matches!(refused, Error::NotCreated { .. }), "TLS is tried: {refused:?}");
    }
}

#[test]
fn statement_pooling_is_said_at_once() {
    let Some(servers) = servers() else { return };
    let (refused, time) = first_error(&servers.pooler.replace("/brain?", "/brain_statements?"));
    assert!(matches!(refused, Error::Unsuitable { .. }), "{refused:?}");
    assert!(refused.to_string().contains("pool_mode = transaction"), "{refused}");
    assert!(time < Duration::from_secs(2), "{time:?}");
}

#[test]
fn refused_startup_options_are_said_at_once() {
    let Some(servers) = servers() else { return };
    let pooled = format!("{}&options=-c%20search_path%3Dx", servers.pooler);
    let unknown = format!("{}&options=-c%20no_such_setting%3D1", servers.direct);
    let invalid = format!("{}&options=-c%20statement_timeout%3Dsoon", servers.direct);
    for (url, advice) in [
        (pooled, "ignore_startup_parameters"),
        (unknown, "correct the options"),
        (invalid, "correct the options"),
    ] {
        let (refused, time) = first_error(&url);
        assert!(matches!(refused, Error::Unsuitable { .. }), "{refused:?}");
        assert!(refused.to_string().contains(advice), "{refused}");
        assert!(time < Duration::from_secs(2), "{time:?}");
    }
}
