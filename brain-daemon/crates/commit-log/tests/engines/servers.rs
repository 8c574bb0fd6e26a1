//! The servers that `.ci/postgres` starts, and logs on them.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use brain_base::random::SystemRandom;
use brain_commit_log::{PostgresLog, PostgresSettings, ServerUrl};
use brain_protocol::Secret;

use test_skips::{Need, skip};

use crate::world::{BRAIN, SCHEMA, World};

/// The URLs of the servers.
#[derive(Clone)]
pub(crate) struct Servers {
    pub(crate) direct: String,
    pub(crate) pooler: String,
    pub(crate) admin: String,
    pub(crate) standby: String,
}

/// Returns the servers, or reports a skip.
pub(crate) fn servers() -> Option<Servers> {
    let url = |name: &str| std::env::var(name).ok();
    let found = (|| {
        Some(Servers {
            direct: url("BRAIN_TEST_POSTGRES")?,
            pooler: url("BRAIN_TEST_PGBOUNCER")?,
            admin: url("BRAIN_TEST_POSTGRES_ADMIN")?,
            standby: url("BRAIN_TEST_POSTGRES_STANDBY")?,
        })
    })();
    if found.is_none() {
        skip(Need::Server("PostgreSQL".into()));
    }
    found
}

pub(crate) fn url(text: &str) -> ServerUrl {
    ServerUrl::parse(&Secret::new(text)).unwrap()
}

/// Returns the port of a URL that `.ci/postgres` made.
pub(crate) fn port(url: &str) -> u16 {
    let rest = url.split("@localhost:").nth(1).unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}

/// Returns the URL with another port.
pub(crate) fn with_port(url: &str, other: u16) -> String {
    url.replace(&format!("@localhost:{}/", port(url)), &format!("@localhost:{other}/"))
}

/// Starts psql as superuser with these statements.
pub(crate) fn start_admin(servers: &Servers, statements: &str) -> Child {
    start_psql(&servers.admin, statements)
}

fn start_psql(url: &str, statements: &str) -> Child {
    Command::new("psql")
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, url])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs statements as superuser and returns their rows.
pub(crate) fn admin(servers: &Servers, statements: &str) -> String {
    admin_at(&servers.admin, statements)
}

/// Runs statements at a URL and returns their rows.
pub(crate) fn admin_at(url: &str, statements: &str) -> String {
    let output = start_psql(url, statements).wait_with_output().unwrap();
    assert!(output.status.success(), "{statements}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the URL of pgpool-II with its cache of queries, or reports a skip.
pub(crate) fn pgpool() -> Option<String> {
    let found = std::env::var("BRAIN_TEST_PGPOOL").ok();
    if found.is_none() {
        skip(Need::Server("pgpool-II".into()));
    }
    found
}

/// Returns a name that no other test of this run has.
pub(crate) fn namespace() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    format!("test_{}_{number}", std::process::id())
}

/// Returns settings with short limits: a test that meets one ends soon.
pub(crate) fn settings(url_text: &str, namespace: &str) -> PostgresSettings {
    let random = Arc::new(SystemRandom);
    let mut settings =
        PostgresSettings::new(url(url_text), SCHEMA, random).with_namespace(namespace).unwrap();
    settings.timeouts.lock = Duration::from_secs(2);
    settings.timeouts.statement = Duration::from_secs(5);
    settings
}

/// Returns two machines over a new log. They use `url_text`; the tables are created directly.
pub(crate) fn world(servers: &Servers, url_text: &str, notified: bool) -> World {
    let namespace = namespace();
    let create = settings(&servers.direct, &namespace);
    drop(PostgresLog::create(create, BRAIN).unwrap());
    let open = |schema| {
        let mut settings = settings(url_text, &namespace);
        settings.schema = schema;
        settings.timeouts.poll = Duration::from_millis(200);
        settings.direct_url = notified.then(|| url(&servers.direct));
        Box::new(PostgresLog::open(settings).unwrap())
    };
    World::of(open(SCHEMA), open(SCHEMA), open(SCHEMA - 1), None)
}
