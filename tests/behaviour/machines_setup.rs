//! `brain machines init` on a server that fails meanwhile: the home is as before, and the way out
//! that the error names works.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;

use brain_fakes::{Chunk, Decision, Direction, Proxy};
use brain_protocol::{Reply, WriteStatus};
use brain_tests::postgres::{Cluster, Part};
use brain_tests::{TEST_TIMEOUT, TestHome, capture};
use serde_json::Value;

use crate::crash::Rng;
use crate::faults::fill;
use crate::machines::{Shared, has_page, server, state};
use crate::machines_fixture::{compare_running, wait_until_settled};

/// The size of an attachment that is in snapshots.
const ATTACHMENT: usize = 3_900_000;

/// Attaches files to a page, so that a snapshot has several chunks.
pub(crate) fn add_attachment(home: &TestHome, slug: &str) {
    for number in 0..2 {
        let path = home.outside().join(format!("sound-{number}.bin"));
        let mut rng = Rng::from_seed(number);
        let bytes: Vec<u8> =
            (0..ATTACHMENT / 4).flat_map(|_| (rng.below(1 << 32) as u32).to_le_bytes()).collect();
        fs::write(&path, bytes).unwrap();
        home.json(["attach", slug, path.to_str().unwrap()]);
    }
}

/// Runs `init` with `args` until it succeeds, and returns its result. Before each try, lets minutes
/// pass on the server for the log of an interrupted `init`, whose last report may still arrive.
pub(crate) fn init_when_possible(
    shared: &Shared,
    url: &str,
    home: &TestHome,
    args: &[String],
) -> Value {
    let namespace = &shared.namespace;
    let update = format!(
        "UPDATE \"{namespace}\".head SET time_ms = time_ms - 200000; \
         UPDATE \"{namespace}\".machines SET seen_ms = seen_ms - 200000"
    );
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let output = Command::new("psql").args(["-X", "-q", "-c", &update, url]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let run = home.brain(["--json"].into_iter().chain(args.iter().map(String::as_str)));
        if run.code == 0 {
            return run.json();
        }
        let hint = run.json()["error"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("3 minutes") && Instant::now() < deadline, "{run:?}");
    }
}

/// The names in a home, and its secrets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HomeFiles {
    names: BTreeSet<String>,
    secrets: BTreeMap<String, String>,
}

fn names_in(dir: &std::path::Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

impl HomeFiles {
    pub(crate) fn of(home: &TestHome) -> Self {
        let secrets = home.path().join("secrets");
        let content = |name: String| {
            let text = fs::read_to_string(secrets.join(&name)).unwrap();
            (name, text.trim().to_owned())
        };
        Self {
            names: names_in(&home.path()),
            secrets: names_in(&secrets).into_iter().map(content).collect(),
        }
    }

    /// Checks that a home is as before, has a page, and takes captures.
    pub(crate) fn check(&self, home: &TestHome, slug: &str) {
        assert_eq!(state(home), "not_shared");
        let now = Self::of(home);
        assert_eq!(now.secrets, self.secrets, "the secrets are as before");
        let new: Vec<_> = now.names.difference(&self.names).collect();
        // An ordinary store may have got a spool or a log meanwhile, but nothing of a setup.
        let is_of_setup = |name: &&&String| {
            let known = ["before-", "snapshot", "joining", "machines", "registered", ".tmp"];
            known.iter().any(|part| name.contains(part))
        };
        let left: Vec<_> = new.iter().filter(|name| is_of_setup(name)).collect();
        assert!(left.is_empty(), "{left:?} is left in the home");
        assert!(has_page(home, slug), "the pages are as before");
        match home.connect().unwrap().ask(&capture(format!("A capture after {new:?}."))) {
            Ok(Reply::Write(reply)) => {
                assert_ne!(reply.status, WriteStatus::Queued);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A home with a page, attachments, and secrets of its own.
fn new_home() -> TestHome {
    let home = TestHome::new();
    let secrets = home.path().join("secrets");
    fs::create_dir_all(&secrets).unwrap();
    for dir in [home.path(), secrets.clone()] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    }
    for (name, text) in [
        ("machines-url", "postgresql://u:p@former.example.org/b"),
        ("machines-key", "former words"),
    ] {
        fs::write(secrets.join(name), text).unwrap();
        fs::set_permissions(secrets.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    home.put("first", "The first page, with a quokka.");
    add_attachment(&home, "first");
    home
}

/// Runs `init`, which must fail. Returns the error.
fn fail(shared: &Shared, home: &TestHome) -> Value {
    home.fault(shared.init_args(home, "laptop"), 1)
}

/// Lets another machine join, and compares both.
fn check_shared(shared: &Shared, laptop: &TestHome, words: &Value) {
    let desktop = TestHome::new();
    shared.join(&desktop, "desktop", words.as_str().unwrap());
    wait_until_settled(&[laptop, &desktop]);
    assert!(has_page(&desktop, "first"));
    compare_running(&[laptop, &desktop]);
}

/// The server goes away when a connection has carried this many bytes in a direction.
fn go_away_at(direction: Direction, bytes: usize) {
    let Some(url) = server() else { return };
    let (proxy, through) = Proxy::before(&url);
    let mut shared = Shared::new(through);
    let home = new_home();
    let before = HomeFiles::of(&home);
    proxy.set_rule(move |chunk: &Chunk| {
        let sent = match direction {
            Direction::ToServer => chunk.to_server,
            Direction::ToClient => chunk.to_client,
        };
        match chunk.direction == direction && sent > bytes {
            true => Decision::CutAndClose(0),
            false => Decision::Forward,
        }
    });
    let error = fail(&shared, &home);
    assert_eq!(error["code"], "server_away", "{direction:?} {bytes}: {error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("this brain is as before"), "{direction:?} {bytes}: {error}");
    assert!(hint.contains("the next `init` there deletes them"), "{error}");
    before.check(&home, "first");
    proxy.remove_rule();
    proxy.open();
    // The server still has tables. The error names what to do, and that works.
    let error = fail(&shared, &home);
    assert_eq!(error["code"], "conflict", "{direction:?} {bytes}: {error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("--namespace"), "{error}");
    let former = shared.namespace.clone();
    let reply = if hint.contains("3 minutes") {
        init_when_possible(&shared, &url, &home, &shared.init_args(&home, "laptop"))
    } else {
        shared.namespace += "_2";
        shared.init(&home, "laptop", &[])
    };
    check_shared(&shared, &home, &reply["words"]);
    drop(Shared { url, namespace: former });
}

#[test]
fn a_server_that_goes_away_during_an_init_changes_nothing_here() {
    // While tables are made, in the first and the second chunk, and while the copy is read.
    let moments = [
        (Direction::ToServer, 9_000),
        (Direction::ToServer, 1_000_000),
        (Direction::ToServer, 6_000_000),
        (Direction::ToClient, 1_000_000),
    ];
    std::thread::scope(|scope| {
        for (direction, bytes) in moments {
            scope.spawn(move || go_away_at(direction, bytes));
        }
    });
}

#[test]
fn an_init_without_the_right_to_create_changes_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.sql("ALTER DATABASE brain OWNER TO brain_admin");
    let shared = Shared::new(cluster.url(Part::Server));
    let home = new_home();
    let before = HomeFiles::of(&home);
    let error = fail(&shared, &home);
    assert!(error["message"].as_str().unwrap().contains("permission denied"), "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("the server has no part of it"), "{error}");
    before.check(&home, "first");
    cluster.sql("GRANT CREATE ON DATABASE brain TO brain_user");
    let reply = shared.init(&home, "laptop", &[]);
    check_shared(&shared, &home, &reply["words"]);
}

#[test]
fn an_init_on_a_full_server_changes_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let mut disk = TestHome::new();
    let dir = disk.outside().join("disk");
    fs::create_dir_all(&dir).unwrap();
    if !disk.mount(&dir, "size=48m,mode=755") {
        return;
    }
    // The servers' user must reach the directory.
    for above in dir.ancestors().skip(1).take(2) {
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).unwrap();
    }
    cluster.give(&dir);
    cluster.sql(&format!("CREATE TABLESPACE small LOCATION '{}'", dir.display()));
    cluster.sql("GRANT CREATE ON TABLESPACE small TO brain_user");
    cluster.sql("ALTER ROLE brain_user SET default_tablespace = small");
    let shared = Shared::new(cluster.url(Part::Server));
    let home = new_home();
    let before = HomeFiles::of(&home);
    let filler = fill(&dir, 5_000_000);
    let error = fail(&shared, &home);
    assert!(error["message"].as_str().unwrap().contains("full"), "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("the server has no part of it"), "{error}");
    before.check(&home, "first");
    fs::remove_file(filler).unwrap();
    let reply = shared.init(&home, "laptop", &[]);
    check_shared(&shared, &home, &reply["words"]);
}
