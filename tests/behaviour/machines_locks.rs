//! Tables of the server that another session locks for longer than the limits of a statement. Each
//! step of a machine ends by its limit, and goes on by itself after the end of the lock.

use std::process::Child;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use brain_fakes::{Decision, Direction, Proxy};
use brain_protocol::{Reply, WriteStatus};
use brain_tests::postgres::{Cluster, Part};
use brain_tests::{TestHome, capture, report};

use crate::machines::{
    MachineStatus, Shared, VISIBLE, has_page, state, wait_for_state, wait_until,
};
use crate::machines_fixture::{compare_running, wait_until_settled};
use crate::machines_setup::{HomeFiles, add_attachment, init_when_possible};

/// Longer than any limit of a statement, a lock or a call.
const LOCKED: Duration = Duration::from_secs(8);
/// The time of a write on a busy test machine, of which the limits are 5 s.
const WRITE: Duration = Duration::from_secs(20);

/// A table that another session locks, until this is dropped.
struct Lock<'a> {
    cluster: &'a Cluster,
    table: String,
    session: Child,
}

impl<'a> Lock<'a> {
    /// Locks a table.
    fn of(cluster: &'a Cluster, namespace: &str, table: &str) -> Self {
        let lock = Self::request(cluster, namespace, table);
        lock.wait_until("granted");
        lock
    }

    /// Begins to lock a table: later statements of others wait.
    fn request(cluster: &'a Cluster, namespace: &str, table: &str) -> Self {
        let table = format!("\"{namespace}\".{table}");
        let session = cluster.start_sql(&format!(
            "BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(300)"
        ));
        let lock = Self { cluster, table, session };
        lock.wait_until("true");
        lock
    }

    /// Waits until the lock is in this state.
    fn wait_until(&self, state: &str) {
        let query = format!(
            "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND {state} \
             AND relation = '{}'::regclass",
            self.table
        );
        wait_until("the lock", VISIBLE, || self.cluster.sql(&query) != "0");
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.cluster.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE query LIKE '%LOCK TABLE {} %' AND pid <> pg_backend_pid()",
            self.table
        ));
        let _ = self.session.kill();
        let _ = self.session.wait();
    }
}

/// Captures a text, and returns its status after checking the time.
fn timed_capture(home: &TestHome, text: &str) -> WriteStatus {
    let began = Instant::now();
    let reply = home.connect().unwrap().ask(&capture(text));
    assert!(began.elapsed() < WRITE, "{text}: {:?}", began.elapsed());
    match reply {
        Ok(Reply::Write(reply)) => reply.status,
        other => panic!("{text}: {other:?}"),
    }
}

/// Locks a table of a brain of two machines, and checks what a user of them sees.
fn check_locked(cluster: &Cluster, table: &str) {
    let (shared, laptop, desktop) = Shared::two_machines(cluster.url(Part::Server));
    wait_until_settled(&[&laptop, &desktop]);
    let began = Instant::now();
    let lock = Lock::of(cluster, &shared.namespace, table);
    // Leases are renewed each 10 s. Meanwhile other calls succeed.
    let is_needed_always = table != "leases";
    if is_needed_always {
        // Reads need the registry seldom, writes need it always.
        assert_eq!(timed_capture(&laptop, "echidna"), WriteStatus::Queued, "{table}");
        wait_for_state(&laptop, "away");
        let message = laptop.json_status()["message"].to_string();
        assert!(message.contains("holds a lock too long"), "{table}: {message}");
        let error = laptop.fault_with(["put", "refused"], b"text", 1);
        assert_eq!(error["code"], "server_away", "{table}: {error}");
    } else {
        let waiting = format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{}'::regclass",
            lock.table
        );
        wait_until("a waiting renewal", Duration::from_secs(30), || cluster.sql(&waiting) != "0");
        timed_capture(&laptop, "echidna");
    }
    assert!(has_page(&laptop, "first"), "{table}");
    assert_eq!(laptop.search("quokka"), ["first"], "{table}");
    std::thread::sleep(LOCKED.saturating_sub(began.elapsed()));
    drop(lock);
    let unlocked = Instant::now();
    for home in [&laptop, &desktop] {
        wait_for_state(home, "ready");
    }
    report(&format!("machines: {table} locked, ready after {:.1?}", unlocked.elapsed()));
    for (index, home) in [&laptop, &desktop].into_iter().enumerate() {
        wait_until("a write", VISIBLE, || {
            home.brain_with(["--json", "put", &format!("after/{index}")], b"After the lock.").code
                == 0
        });
    }
    wait_until_settled(&[&laptop, &desktop]);
    wait_until("a holder", Duration::from_secs(60), || {
        [&laptop, &desktop].iter().any(|home| {
            let status = home.json_status();
            let leases = status["leases"].as_array().unwrap().clone();
            leases.iter().any(|lease| lease["name"] == "purge" && lease["this"] == true)
        })
    });
    for home in [&laptop, &desktop] {
        assert_eq!(home.search("echidna").len(), 1, "{table}");
        assert!(!has_page(home, "refused"), "{table}");
    }
    compare_running(&[&laptop, &desktop]);
}

/// Holds the first connection with more bytes than this in a direction, once. Returns what receives
/// a sender, whose end lets the connection go on.
fn hold(proxy: &Proxy, direction: Direction, bytes: usize) -> Receiver<Sender<()>> {
    let (sender, reached) = channel();
    let sender = Mutex::new(Some(sender));
    proxy.set_rule(move |chunk| {
        let sent = match direction {
            Direction::ToServer => chunk.to_server,
            Direction::ToClient => chunk.to_client,
        };
        if chunk.direction == direction
            && sent > bytes
            && let Some(sender) = sender.lock().unwrap().take()
        {
            let (go_on, held) = channel();
            // The test may have failed meanwhile.
            if sender.send(go_on).is_ok() {
                let _ = held.recv();
            }
        }
        Decision::Forward
    });
    reached
}

#[test]
fn a_machine_goes_on_after_a_locked_table() {
    let Some(cluster) = Cluster::start() else { return };
    std::thread::scope(|scope| {
        for table in ["head", "batches", "machines", "leases"] {
            let cluster = &cluster;
            scope.spawn(move || check_locked(cluster, table));
        }
    });
}

#[test]
fn a_join_goes_on_after_locked_snapshots() {
    let Some(cluster) = Cluster::start() else { return };
    let (proxy, through) = Proxy::before(&cluster.url(Part::Server));
    let shared = Shared::new(cluster.url(Part::Server));
    let behind = Shared { url: through, namespace: shared.namespace.clone() };
    let (laptop, desktop) = (TestHome::new(), TestHome::new());
    laptop.put("first", "The first page, with a quokka.");
    add_attachment(&laptop, "first");
    desktop.put("own", "A page that only the desktop has.");
    let words = shared.init(&laptop, "laptop", &[])["words"].as_str().unwrap().to_owned();
    wait_until_settled(&[&laptop]);
    let before = HomeFiles::of(&desktop);
    let args = behind.join_args(&desktop, "desktop");

    // The list of snapshots is locked. Writes of the machine do not need it.
    let lock = Lock::of(&cluster, &shared.namespace, "snapshots");
    let status = laptop.json_status();
    assert_eq!(status["state"], "ready", "{status}");
    assert!(status["warnings"].to_string().contains("reading snapshots"), "{status}");
    laptop.put("second", "Written while the list of snapshots is locked.");
    let error = desktop.fault_with(args.clone(), words.as_bytes(), 1);
    assert_eq!(error["code"], "server_away", "{error}");
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    wait_until("no session that waits", VISIBLE, || cluster.sql(waiting) == "0");
    drop(lock);
    before.check(&desktop, "own");

    // The chunks are locked in the middle of the download.
    let reached = hold(&proxy, Direction::ToClient, 1_000_000);
    std::thread::scope(|scope| {
        let joining = scope.spawn(|| desktop.fault_with(args.clone(), words.as_bytes(), 1));
        let go_on = reached.recv_timeout(VISIBLE).expect("no download");
        // The lock waits for the chunk that is being read, and later chunks wait for the lock.
        let lock = Lock::request(&cluster, &shared.namespace, "chunks");
        drop(go_on);
        lock.wait_until("granted");
        let error = joining.join().unwrap();
        assert_eq!(error["code"], "server_away", "{error}");
        assert!(error["message"].as_str().unwrap().contains("reading a chunk"), "{error}");
        drop(lock);
    });
    proxy.remove_rule();
    before.check(&desktop, "own");
    let list = laptop.json(["machines", "list"]).to_string();
    assert!(!list.contains("desktop"), "{list}");
    behind.join(&desktop, "desktop", &words);
    wait_until_settled(&[&laptop, &desktop]);
    assert!(has_page(&desktop, "second"));
    compare_running(&[&laptop, &desktop]);
}

#[test]
fn an_init_can_be_repeated_after_locked_chunks() {
    let Some(cluster) = Cluster::start() else { return };
    let (proxy, through) = Proxy::before(&cluster.url(Part::Server));
    let shared = Shared::new(through);
    let laptop = TestHome::new();
    laptop.put("first", "The first page, with a quokka.");
    add_attachment(&laptop, "first");
    let before = HomeFiles::of(&laptop);
    let args = shared.init_args(&laptop, "laptop");
    let reached = hold(&proxy, Direction::ToServer, 100_000);
    std::thread::scope(|scope| {
        let sharing = scope.spawn(|| laptop.fault(args.clone(), 1));
        let go_on = reached.recv_timeout(VISIBLE).expect("no upload");
        let lock = Lock::request(&cluster, &shared.namespace, "chunks");
        drop(go_on);
        lock.wait_until("granted");
        let error = sharing.join().unwrap();
        assert_eq!(error["code"], "server_away", "{error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("as before") && hint.contains("next `init`"), "{error}");
        drop(lock);
    });
    proxy.remove_rule();
    before.check(&laptop, "first");
    let error = laptop.fault(args.clone(), 1);
    assert!(error["hint"].as_str().unwrap().contains("3 minutes"), "{error}");
    init_when_possible(&shared, &cluster.url(Part::Server), &laptop, &args);
    assert_eq!(state(&laptop), "ready");
    laptop.put("second", "text");
}
