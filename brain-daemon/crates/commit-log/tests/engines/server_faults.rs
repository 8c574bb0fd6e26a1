//! What a server can refuse, delay or lose, and what the caller is told.

use std::process::Command;
use std::time::{Duration, Instant};

use brain_base::random::SystemRandom;
use brain_commit_log::cipher::{BatchPlace, ChunkPlace, Keys, RootKey};
use brain_commit_log::{
    Administration, BatchId, BrainId, CommitLog, Delivery, Engine, Error, LeaseRequest, NewBatch,
    Position, PostgresLog, ReadLimit, SnapshotId, Snapshots,
};
use brain_fakes::Proxy;

use crate::servers::{Servers, admin, namespace, servers, settings, start_admin, url, with_port};
use crate::world::{BRAIN, registration};

fn batch(id: u8, payload: &[u8]) -> NewBatch {
    NewBatch { id: BatchId([id; 16]), machine: "a".into(), payload: payload.to_vec(), fence: None }
}

/// Creates a log with the machine `a`.
fn create(servers: &Servers, namespace: &str) -> PostgresLog {
    let log = PostgresLog::create(settings(&servers.direct, namespace), BRAIN).unwrap();
    log.register(&registration("a", Position::START)).unwrap();
    log
}

/// Creates a user who may use a log's tables, and returns a URL for it.
fn other_user(servers: &Servers, namespace: &str) -> String {
    let user = format!("user_{namespace}");
    admin(
        servers,
        &format!(
            "CREATE ROLE {user} LOGIN PASSWORD 'hunter2'; \
             GRANT USAGE ON SCHEMA {namespace} TO {user}; \
             GRANT ALL ON ALL TABLES IN SCHEMA {namespace} TO {user}"
        ),
    );
    let (_, rest) = servers.direct.split_once("@localhost").unwrap();
    format!("postgresql://{user}:hunter2@localhost{rest}")
}

#[test]
fn a_log_is_created_once() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let missing = PostgresLog::open(settings(&servers.direct, &namespace)).unwrap();
    let refused = missing.head();
    assert!(matches!(refused, Err(Error::NotCreated { .. })), "{refused:?}");
    let log = create(&servers, &namespace);
    let head = log.append(&Position::START, &batch(1, b"text")).unwrap();
    create(&servers, &namespace);
    assert_eq!(log.head().unwrap().position, head.position);
    let other = PostgresLog::create(settings(&servers.direct, &namespace), BrainId([9; 16]));
    assert!(matches!(other, Err(Error::AlreadyCreated { .. })), "{:?}", other.err());
    let durability = log.durability().unwrap().unwrap();
    assert!(durability.fsync && durability.full_page_writes);
    assert_eq!(durability.synchronous_commit, "on");
    assert!(!durability.has_synchronous_standby);
}

#[test]
fn only_an_abandoned_log_is_deleted() {
    let Some(servers) = servers() else { return };
    let (long, none) = (Duration::from_secs(3_600), Duration::ZERO);
    let namespace = namespace();
    let log = create(&servers, &namespace);
    let refused = log.drop_abandoned(BRAIN, long);
    assert!(matches!(refused, Err(Error::AlreadyCreated { .. })), "a machine was seen just now");
    let refused = log.drop_abandoned(BrainId([9; 16]), none);
    assert!(matches!(refused, Err(Error::AlreadyCreated { .. })), "another brain");
    log.drop_abandoned(BRAIN, none).unwrap();
    assert!(matches!(log.head(), Err(Error::NotCreated { .. })));
    let log = create(&servers, &namespace);
    log.append(&Position::START, &batch(1, b"text")).unwrap();
    let refused = log.drop_abandoned(BRAIN, none);
    assert!(matches!(refused, Err(Error::AlreadyCreated { .. })), "the log has a batch");
    assert_eq!(log.head().unwrap().position.number, 1);
}

#[test]
fn a_read_only_server_is_read() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let log = create(&servers, &namespace);
    log.append(&Position::START, &batch(1, b"text")).unwrap();
    let url = other_user(&servers, &namespace);
    let user = format!("user_{namespace}");
    let before = PostgresLog::open(settings(&url, &namespace)).unwrap();
    let position = before.head().unwrap().position;
    admin(&servers, &format!("ALTER ROLE {user} SET default_transaction_read_only = on"));
    let log = PostgresLog::open(settings(&url, &namespace)).unwrap();
    assert_eq!(log.read(&Position::START, ReadLimit::default()).unwrap().batches.len(), 1);
    let refused = log.append(&position, &batch(2, b"text"));
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
    assert!(!refused.unwrap_err().is_retryable());
    let request = LeaseRequest {
        name: "collector".into(),
        holder: "a".into(),
        fencing: None,
        ttl: Duration::from_secs(60),
    };
    let refused = log.lease(&request);
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
}

#[test]
fn revoked_rights_are_named() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    create(&servers, &namespace);
    let (url, user) = (other_user(&servers, &namespace), format!("user_{namespace}"));
    let log = PostgresLog::open(settings(&url, &namespace)).unwrap();
    let head = log.append(&Position::START, &batch(1, b"text")).unwrap();
    admin(&servers, &format!("REVOKE INSERT ON {namespace}.batches FROM {user}"));
    let refused = log.append(&head.position, &batch(2, b"text"));
    match refused {
        Err(Error::Denied { reason, .. }) => assert!(reason.contains("batches"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(log.read(&Position::START, ReadLimit::default()).unwrap().batches.len(), 1);
    assert_eq!(log.head().unwrap().position, head.position, "the head did not move");
    admin(&servers, &format!("REVOKE USAGE ON SCHEMA {namespace} FROM {user}"));
    let refused = log.head();
    assert!(matches!(refused, Err(Error::Denied { .. })), "{refused:?}");
    admin(&servers, &format!("ALTER ROLE {user} PASSWORD 'another'"));
    let refused = PostgresLog::open(settings(&url, &namespace)).unwrap().head().unwrap_err();
    assert!(matches!(refused, Error::Denied { .. }), "{refused:?}");
    assert!(!format!("{refused} {refused:?}").contains("hunter2"));
}

#[test]
fn a_slow_statement_is_named() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    create(&servers, &namespace);
    let hold = format!("BEGIN; SELECT FROM {namespace}.head FOR UPDATE; SELECT pg_sleep(20)");
    let mut holder = start_admin(&servers, &hold);
    let held = format!(
        "SELECT count(*) FROM pg_locks WHERE mode = 'RowShareLock' AND granted \
         AND relation = '{namespace}.head'::regclass"
    );
    while admin(&servers, &held).trim() == "0" {
        std::thread::sleep(Duration::from_millis(20));
    }

    let mut limits = settings(&servers.direct, &namespace);
    limits.timeouts.statement = Duration::from_millis(200);
    let log = PostgresLog::open(limits).unwrap();
    let refused = log.append(&Position::START, &batch(1, b"text")).unwrap_err();
    let message = refused.to_string();
    assert!(matches!(refused, Error::Timeout { .. }), "{message}");
    assert!(message.contains("appending a change after 200 ms"), "{message}");
    assert!(message.contains("statement_timeout"), "{message}");

    let mut limits = settings(&servers.direct, &namespace);
    limits.timeouts.lock = Duration::from_millis(100);
    limits.timeouts.deadline = Duration::from_millis(500);
    let log = PostgresLog::open(limits).unwrap();
    let start = Instant::now();
    let refused = log.append(&Position::START, &batch(2, b"text")).unwrap_err();
    assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
    let reason = "appending a change: another session holds a lock too long";
    assert!(refused.to_string().contains(reason), "{refused}");
    assert!(start.elapsed() >= Duration::from_millis(200), "it was tried again");
    assert_eq!(log.head().unwrap().position, Position::START, "readers do not wait");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn a_batch_waits_for_a_takeover_of_its_lease() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let log = create(&servers, &namespace);
    let request = LeaseRequest {
        name: "collector".into(),
        holder: "a".into(),
        fencing: None,
        ttl: Duration::from_secs(60),
    };
    let lease = log.lease(&request).unwrap().granted().unwrap();
    // What another machine's takeover does, with a pause before its commit.
    let takeover = format!(
        "BEGIN; UPDATE {namespace}.leases SET holder = 'b', fencing = fencing + 1; \
         UPDATE {namespace}.head SET fencing = fencing + 1; SELECT pg_sleep(0.6); COMMIT"
    );
    let mut takeover = start_admin(&servers, &takeover);
    let begun = format!(
        "SELECT count(*) FROM pg_locks WHERE mode = 'RowExclusiveLock' AND granted \
         AND relation = '{namespace}.head'::regclass"
    );
    while admin(&servers, &begun).trim() == "0" {
        std::thread::sleep(Duration::from_millis(10));
    }
    let refused =
        log.append(&Position::START, &NewBatch { fence: Some(lease.fence()), ..batch(1, b"text") });
    assert!(takeover.wait().unwrap().success());
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    assert_eq!(log.head().unwrap().position, Position::START);
}

#[test]
fn a_restored_server_is_noticed() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let log = create(&servers, &namespace);
    let mut positions = vec![Position::START];
    for id in 1..=3 {
        let head = log.append(positions.last().unwrap(), &batch(id, b"text")).unwrap();
        positions.push(head.position);
    }
    admin(
        &servers,
        &format!(
            "DELETE FROM {namespace}.batches WHERE number > 1; \
             UPDATE {namespace}.head SET number = 1, id = decode('{}', 'hex')",
            positions[1].id
        ),
    );
    let read = |after: &Position| log.read(after, ReadLimit::default());
    match read(&positions[3]) {
        Err(Error::Diverged { replica, log }) => {
            assert_eq!((replica, log), (positions[3], positions[1]));
        }
        other => panic!("{other:?}"),
    }
    for id in 7..=9 {
        let head = log.head().unwrap();
        log.append(&head.position, &batch(id, b"other")).unwrap();
        let refused = read(&positions[3]);
        assert!(matches!(refused, Err(Error::Diverged { .. })), "{id}: {refused:?}");
    }
    assert_eq!(read(&positions[1]).unwrap().batches.len(), 3, "the last common batch");
    admin(&servers, &format!("DELETE FROM {namespace}.batches WHERE number = 2"));
    let refused = read(&positions[1]);
    assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
}

#[test]
fn an_unreachable_server_is_named_without_its_password() {
    let url_text = "postgresql://user:hunter2@127.0.0.1:1/brain";
    let mut limits = settings(url_text, "brain");
    limits.timeouts.deadline = Duration::from_millis(200);
    let log = PostgresLog::open(limits).unwrap();
    let refused = log.head().unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    let message = refused.to_string();
    assert!(message.contains("127.0.0.1:1/brain"), "{message}");
    assert!(!format!("{refused:?} {message}").contains("hunter2"));
    let refused = log.append(&Position::START, &batch(1, b"text")).unwrap_err();
    assert!(matches!(refused, Error::Unavailable { .. }), "nothing was sent: {refused:?}");
    assert_eq!(log.delivery(), Delivery::Polling);
}

#[test]
fn an_untrusted_certificate_is_refused() {
    let Some(servers) = servers() else { return };
    let (without_authority, _) = servers.direct.split_once("&sslrootcert").unwrap();
    let log = PostgresLog::open(settings(without_authority, "brain")).unwrap();
    let refused = log.head().unwrap_err();
    assert!(matches!(refused, Error::Tls { .. }), "{refused:?}");
    assert!(refused.to_string().contains("sslrootcert"), "{refused}");
}

#[test]
fn a_pooler_that_denies_access_is_not_asked_again() {
    let Some(servers) = servers() else { return };
    let (start, rest) = servers.pooler.split_once("brain_user:").unwrap();
    let (_, rest) = rest.split_once('@').unwrap();
    let first_error = |url: &str| {
        let start = Instant::now();
        let refused = PostgresLog::open(settings(url, "brain")).unwrap().head().unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(10), "{refused}");
        refused
    };
    for user in ["brain_user:hunter2", "nobody:hunter2"] {
        let refused = first_error(&format!("{start}{user}@{rest}"));
        assert!(matches!(refused, Error::Denied { .. }), "{user}: {refused:?}");
    }
    let refused = first_error(&servers.pooler.replace("/brain?", "/other?"));
    assert!(matches!(refused, Error::NoDatabase { .. }), "{refused:?}");
}

#[test]
fn notifications_need_a_direct_connection() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let writer = create(&servers, &namespace);
    let open = |direct: &str| {
        let mut settings = settings(&servers.pooler, &namespace);
        settings.direct_url = Some(url(direct));
        PostgresLog::open(settings).unwrap()
    };
    let (notified, pooled) = (open(&servers.direct), open(&servers.pooler));
    let end = Instant::now() + Duration::from_secs(10);
    while notified.delivery() == Delivery::Polling {
        assert!(Instant::now() < end, "no notification arrived");
        std::thread::sleep(Duration::from_millis(20));
    }
    let woken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| notified.wait(0, Duration::from_secs(30)));
        writer.append(&Position::START, &batch(1, b"text")).unwrap();
        waiting.join().unwrap().unwrap()
    });
    assert_eq!(woken, Some(1));
    // The probe of the other one takes two seconds until it gives up.
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(pooled.delivery(), Delivery::Polling);
    assert_eq!(pooled.wait(0, Duration::from_secs(30)).unwrap(), Some(1));
}

#[test]
fn a_broken_notification_connection_is_replaced() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let writer = create(&servers, &namespace);
    let proxy = Proxy::start(crate::servers::port(&servers.direct));
    let mut settings = settings(&servers.direct, &namespace);
    settings.direct_url = Some(url(&with_port(&servers.direct, proxy.port())));
    let log = PostgresLog::open(settings).unwrap();
    let wait_for = |delivery| {
        let end = Instant::now() + Duration::from_secs(10);
        while log.delivery() != delivery {
            assert!(Instant::now() < end, "never {delivery:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for(Delivery::Notified);
    proxy.refuse(true);
    proxy.cut_all();
    wait_for(Delivery::Polling);
    writer.append(&Position::START, &batch(1, b"text")).unwrap();
    assert_eq!(log.wait(0, Duration::from_secs(30)).unwrap(), Some(1), "by polling");
    proxy.refuse(false);
    wait_for(Delivery::Notified);
}

#[test]
fn a_batch_of_100_mb_is_appended() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let log = create(&servers, &namespace);
    let payload: Vec<u8> =
        (0..100_000_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9) as u8).collect();
    let large = batch(1, &payload);
    log.append(&Position::START, &large).unwrap();
    let found = log.read(&Position::START, ReadLimit::default()).unwrap();
    assert!(found.batches[0].payload == payload);
    admin(&servers, &format!("TRUNCATE {namespace}.batches"));
}

#[test]
fn a_dump_contains_no_plain_text() {
    let Some(servers) = servers() else { return };
    let namespace = namespace();
    let log = create(&servers, &namespace);
    let secret = "Aunt Mathilda's diagnosis";
    let (root, keys) =
        (RootKey::generate(&SystemRandom).unwrap(), Keys::generate(&SystemRandom).unwrap());
    log.replace_keys(0, &keys.seal(&root, BRAIN, &SystemRandom).unwrap()).unwrap();
    let mut new = batch(1, b"");
    let predecessor = Position::START;
    let place = BatchPlace { brain: BRAIN, predecessor, id: new.id, machine: "a" };
    new.payload = keys.seal_batch(&place, secret.as_bytes(), &SystemRandom).unwrap();
    let head = log.append(&Position::START, &new).unwrap();
    let place = ChunkPlace {
        snapshot: SnapshotId([1; 16]),
        contains: head.position,
        index: 0,
        is_last: true,
    };
    let chunk = keys.seal_chunk(BRAIN, &place, secret.as_bytes(), &SystemRandom).unwrap();
    log.begin_snapshot(place.snapshot, &head.position, "a").unwrap();
    log.put_chunk(place.snapshot, 0, &chunk).unwrap();
    log.complete_snapshot(place.snapshot, 1).unwrap();

    let programs = std::env::var("BRAIN_TEST_POSTGRES_BIN").unwrap();
    let output = Command::new(format!("{programs}/pg_dump"))
        .args(["--schema", &namespace, &servers.admin])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let dump = String::from_utf8(output.stdout).unwrap().to_lowercase();
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    assert!(dump.contains(&hex(&new.payload)), "the dump has the batch");
    assert!(dump.contains(&hex(&chunk)), "the dump has the chunk");
    for word in secret.split(' ') {
        assert!(!dump.contains(&word.to_lowercase()), "{word}");
        assert!(!dump.contains(&hex(word.as_bytes())), "{word} in hexadecimal");
    }

    // Another machine opens everything with the words.
    let root = RootKey::from_words(root.words().unwrap().expose()).unwrap();
    let keys = Keys::open(&root, BRAIN, &log.sealed_keys().unwrap().bytes).unwrap();
    let found = log.read(&Position::START, ReadLimit::default()).unwrap();
    assert_eq!(keys.open_batch(BRAIN, &found.batches[0]).unwrap(), secret.as_bytes());
    let chunk = log.read_chunk(place.snapshot, 0).unwrap();
    assert_eq!(keys.open_chunk(BRAIN, &place, &chunk).unwrap(), secret.as_bytes());
    let wrong = RootKey::generate(&SystemRandom).unwrap();
    let refused = Keys::open(&wrong, BRAIN, &log.sealed_keys().unwrap().bytes);
    assert!(matches!(refused, Err(Error::WrongKey)));
}
