//! One brain on several machines, over PostgreSQL from `.ci/postgres`. Each home is a machine.
//!
//! Without the servers these tests print `SKIPPED`.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use brain_fakes::Proxy;
use brain_tests::{Need, TestHome, capture, http, skip, texts};
use serde_json::Value;

/// The longest time until another machine sees a change, on a busy test machine.
pub(crate) const VISIBLE: Duration = Duration::from_secs(15);

/// Returns the URL of the server, or reports a skip.
pub(crate) fn server() -> Option<String> {
    let url = std::env::var("BRAIN_TEST_POSTGRES").ok();
    if url.is_none() {
        skip(Need::Server("PostgreSQL".into()));
    }
    url
}

/// A shared brain of one test, in a PostgreSQL schema of its own.
pub(crate) struct Shared {
    pub(crate) url: String,
    pub(crate) namespace: String,
}

impl Shared {
    pub(crate) fn new(url: String) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        Self { url, namespace: format!("b{}_{count}", std::process::id()) }
    }

    /// Writes the URL to a file outside of a home.
    pub(crate) fn url_file(&self, home: &TestHome) -> PathBuf {
        let path = home.outside().join("url");
        std::fs::write(&path, &self.url).unwrap();
        path
    }

    /// Shares the brain of a home, and returns the reply.
    pub(crate) fn init(&self, home: &TestHome, name: &str, more: &[&str]) -> Value {
        let more = more.iter().map(|&argument| argument.to_owned());
        home.json(self.init_args(home, name).into_iter().chain(more))
    }

    /// Returns the arguments that share the brain of a home.
    pub(crate) fn init_args(&self, home: &TestHome, name: &str) -> Vec<String> {
        self.setup_args(home, "init", name)
    }

    /// Returns the arguments with which a machine joins. It reads the key from standard input.
    pub(crate) fn join_args(&self, home: &TestHome, name: &str) -> Vec<String> {
        let mut args = self.setup_args(home, "join", name);
        args.extend(["--key-file".to_owned(), "-".to_owned()]);
        args
    }

    fn setup_args(&self, home: &TestHome, action: &str, name: &str) -> Vec<String> {
        let url = self.url_file(home).into_os_string().into_string().unwrap();
        let args = ["machines", action, "--yes", "--name", name, "--namespace", &self.namespace];
        args.into_iter().chain(["--url-file", &url]).map(str::to_owned).collect()
    }

    /// Joins with the words of the key, and returns the reply.
    pub(crate) fn join(&self, home: &TestHome, name: &str, words: &str) -> Value {
        home.json_with(self.join_args(home, name), words.as_bytes())
    }

    /// Makes a brain of two machines. The first has the page `first`.
    pub(crate) fn two_machines(url: String) -> (Self, TestHome, TestHome) {
        let shared = Self::new(url);
        let (laptop, desktop) = (TestHome::new(), TestHome::new());
        laptop.put("first", "The first page, with a quokka.");
        let reply = shared.init(&laptop, "laptop", &[]);
        shared.join(&desktop, "desktop", reply["words"].as_str().unwrap());
        (shared, laptop, desktop)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let drop = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.namespace);
        let url = std::env::var("BRAIN_TEST_POSTGRES").unwrap_or_default();
        let _ = Command::new("psql").args(["-X", "-q", "-c", &drop, &url]).output();
    }
}

/// Waits until a check succeeds.
pub(crate) fn wait_until(description: &str, limit: Duration, check: impl Fn() -> bool) {
    let deadline = Instant::now() + limit;
    while !check() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {description}");
        thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn has_page(home: &TestHome, slug: &str) -> bool {
    home.brain(["--json", "get", slug]).code == 0
}

pub(crate) fn state(home: &TestHome) -> String {
    home.json_status()["state"].as_str().unwrap().to_owned()
}

pub(crate) trait MachineStatus {
    fn json_status(&self) -> Value;
}

impl MachineStatus for TestHome {
    /// Returns `brain machines status`, which fails for a stopped machine.
    fn json_status(&self) -> Value {
        self.brain(["--json", "machines", "status"]).json()
    }
}

pub(crate) fn wait_for_state(home: &TestHome, expected: &str) {
    wait_until(expected, Duration::from_secs(30), || state(home) == expected);
}

#[test]
fn a_plan_changes_nothing_and_needs_a_confirmation() {
    let Some(url) = server() else { return };
    let shared = Shared::new(url);
    let home = TestHome::new();
    home.put("first", "text");
    let url = shared.url_file(&home);
    let url = url.to_str().unwrap();
    let plan = home.json(["machines", "plan", "init", "--url-file", url]);
    assert_eq!((&plan["pages"], &plan["encrypted"]), (&1.into(), &true.into()));
    assert!(plan["tls"].as_bool().unwrap() && !plan["steps"].as_array().unwrap().is_empty());
    let namespace = shared.namespace.as_str();
    let args = ["machines", "init", "--url-file", url, "--namespace", namespace];
    assert_eq!(home.fault(args, 5)["code"], "confirmation_needed");
    assert_eq!(state(&home), "not_shared");
    let log = home.log();
    assert!(!log.contains("postgresql://"), "{log}");
}

#[test]
fn machines_share_pages_in_both_directions() {
    let Some(url) = server() else { return };
    let shared = Shared::new(url);
    let (laptop, desktop) = (TestHome::new(), TestHome::new());
    laptop.put("first", "The first page, with a quokka.");
    desktop.put("own", "A page that only the desktop had.");
    let init = shared.init(&laptop, "laptop", &[]);
    let words = init["words"].as_str().unwrap();
    assert_eq!(words.split_whitespace().count(), 24);
    assert!(std::fs::exists(init["former_store"].as_str().unwrap()).unwrap());
    let join = shared.join(&desktop, "desktop", words);
    assert!(has_page(&desktop, "first") && !has_page(&desktop, "own"));
    wait_until("search on the desktop", VISIBLE, || desktop.search("quokka") == ["first"]);
    let former = join["former_pages"].as_str().unwrap();
    desktop.json(["import", former]);
    wait_until("the imported page on the laptop", VISIBLE, || has_page(&laptop, "own"));
    laptop.put("second", "From the laptop.");
    wait_until("the page on the desktop", VISIBLE, || has_page(&desktop, "second"));
    wait_until("its file", VISIBLE, || desktop.page_file("second").exists());
    let list = laptop.json(["machines", "list"]);
    assert_eq!(texts(&list["machines"], "name"), ["desktop", "laptop"]);
    for home in [&laptop, &desktop] {
        assert_eq!(state(home), "ready");
        let status = home.json_status();
        assert_eq!(status["delivery"], "notified", "{status}");
    }
    let dump = PathBuf::from(std::env::var("BRAIN_TEST_POSTGRES_BIN").unwrap()).join("pg_dump");
    let dump =
        Command::new(dump).args(["-n", &shared.namespace, "-d", &shared.url]).output().unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert!(dump.contains("laptop") && !dump.contains("quokka"), "the server sees a page");
    let hex: String = "quokka".bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(!dump.contains(&hex), "the server sees a page");
}

#[test]
fn a_shared_brain_goes_on_after_restarts() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    for home in [&laptop, &desktop] {
        home.json(["restart"]);
    }
    desktop.put("after", "After the restart.");
    wait_until("the page on the laptop", VISIBLE, || has_page(&laptop, "after"));
}

#[test]
fn writes_are_refused_and_reads_go_on_while_the_server_is_away() {
    let Some(url) = server() else { return };
    let (proxy, through) = Proxy::before(&url);
    let (_shared, laptop, desktop) = Shared::two_machines(through);
    proxy.close();
    wait_for_state(&laptop, "away");
    assert!(has_page(&laptop, "first"));
    let hits = laptop.json(["search", "quokka"]);
    assert!(hits["degraded"].as_str().unwrap().contains("away"), "{hits}");
    let began = Instant::now();
    let error = laptop.fault_with(["put", "second"], b"text", 1);
    assert_eq!(error["code"], "server_away");
    assert!(began.elapsed() < Duration::from_secs(4), "writers do not wait for the server");
    proxy.open();
    wait_for_state(&laptop, "ready");
    laptop.put("second", "text");
    wait_for_state(&desktop, "ready");
    wait_until("the page on the desktop", VISIBLE, || has_page(&desktop, "second"));
}

#[test]
fn captures_wait_while_the_server_is_away_and_are_stored_once() {
    let Some(url) = server() else { return };
    let (proxy, through) = Proxy::before(&url);
    let (_shared, laptop, desktop) = Shared::two_machines(through);
    proxy.close();
    wait_for_state(&laptop, "away");
    for number in 0..5 {
        let reply = laptop.json(["capture", &format!("A thought about wombat {number}")]);
        assert_eq!(reply["status"], "queued", "{reply}");
    }
    assert_eq!(laptop.json_status()["queued"], 5);
    proxy.open();
    wait_for_state(&laptop, "ready");
    wait_for_state(&desktop, "ready");
    for home in [&laptop, &desktop] {
        wait_until("the thoughts", VISIBLE, || home.search("wombat").len() == 5);
    }
    assert_eq!(laptop.json_status()["queued"], 0);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(laptop.json(["list"])["pages"].as_array().unwrap().len(), 6);
}

#[test]
fn queued_items_become_pages_at_once_after_leave() {
    let Some(url) = server() else { return };
    let (proxy, through) = Proxy::before(&url);
    let (_shared, laptop, _desktop) = Shared::two_machines(through);
    proxy.close();
    wait_for_state(&laptop, "away");
    for number in 0..20 {
        laptop.json(["capture", &format!("A thought about wombat {number}")]);
    }
    laptop.json(["machines", "leave", "--yes"]);
    // Before, they waited 12 to 40 s.
    let pages = || laptop.json(["status"])["pages"] == 21;
    wait_until("the queued thoughts", Duration::from_secs(10), pages);
}

#[test]
fn queued_items_are_counted_until_they_are_pages() {
    let Some(url) = server() else { return };
    let (proxy, through) = Proxy::before(&url);
    let (_shared, laptop, _desktop) = Shared::two_machines(through);
    proxy.close();
    wait_for_state(&laptop, "away");
    let mut client = laptop.connect().unwrap();
    for number in 0..400 {
        client.ask(&capture(format!("A thought about wombat {number}"))).unwrap();
    }
    assert_eq!(laptop.json_status()["queued"], 400);
    proxy.open();
    let settled = || {
        let status = laptop.json_status();
        status["state"] == "ready" && status["queued"] == 0
    };
    wait_until("the queue is empty", Duration::from_secs(60), settled);
    // `queued: 0` was read before this.
    assert_eq!(laptop.json(["status"])["pages"], 401);
}

#[test]
fn a_pooler_delivers_changes_by_polling() {
    let Some(_) = server() else { return };
    let pooler = std::env::var("BRAIN_TEST_PGBOUNCER").unwrap();
    let (_shared, laptop, desktop) = Shared::two_machines(pooler);
    laptop.put("second", "text");
    wait_until("the page on the desktop", VISIBLE, || has_page(&desktop, "second"));
    desktop.put("third", "text");
    wait_until("the page on the laptop", VISIBLE, || has_page(&laptop, "third"));
    assert_eq!(laptop.json_status()["delivery"], "polling");
}

#[test]
fn tokens_from_other_machines_are_refused_while_the_server_is_away() {
    let Some(url) = server() else { return };
    let (proxy, through) = Proxy::before(&url);
    let shared = Shared::new(through);
    let mut laptop = TestHome::new();
    laptop.env.push(("BRAIN_HTTP_PUBLIC".into(), "127.0.0.1:0".into()));
    laptop.env.push(("BRAIN_MACHINES_MAX_TOKEN_AGE".into(), "2s".into()));
    laptop.put("first", "text");
    shared.init(&laptop, "laptop", &[]);
    let token = laptop.token("agent", "read", &[]);
    let request = || {
        let mut stream = TcpStream::connect(laptop.http_public()).unwrap();
        let head = format!(
            "GET /search?q=text HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n",
            laptop.http_public()
        );
        stream.write_all(head.as_bytes()).unwrap();
        std::io::read_to_string(stream).unwrap()
    };
    assert!(request().starts_with("HTTP/1.1 200"), "{}", request());
    proxy.close();
    wait_until("a refusal", Duration::from_secs(30), || {
        let answer = request();
        answer.starts_with("HTTP/1.1 503") && answer.contains("server_away")
    });
    proxy.open();
    wait_until("an answer", Duration::from_secs(30), || request().starts_with("HTTP/1.1 200"));
    // A machine that cannot follow the others does not learn of revocations either.
    std::fs::remove_file(laptop.path().join("secrets/machines-key")).unwrap();
    laptop.json(["restart"]);
    assert_eq!(state(&laptop), "incomplete");
    assert!(request().starts_with("HTTP/1.1 503"), "{}", request());
}

#[test]
fn a_daemon_starts_while_the_server_is_away() {
    let Some(url) = server() else { return };
    let (proxy, through) = Proxy::before(&url);
    let (_shared, laptop, _desktop) = Shared::two_machines(through);
    proxy.close();
    laptop.json(["restart"]);
    assert!(has_page(&laptop, "first"));
    wait_for_state(&laptop, "away");
    proxy.open();
    wait_for_state(&laptop, "ready");
    laptop.put("second", "text");
}

#[test]
fn a_machine_leaves_and_keeps_its_pages() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    let reply = desktop.json(["machines", "leave", "--yes"]);
    assert_eq!(reply["status"], "left");
    assert_eq!(state(&desktop), "not_shared");
    desktop.put("alone", "Only here.");
    assert!(has_page(&desktop, "first"));
    let list = laptop.json(["machines", "list"]);
    assert_eq!(texts(&list["machines"], "name"), ["laptop"]);
    laptop.put("second", "Only there.");
    desktop.json(["restart"]);
    assert_eq!(state(&desktop), "not_shared");
    assert!(!has_page(&desktop, "second") && !has_page(&laptop, "alone"));
    assert!(!desktop.path().join("secrets/machines-key").exists());
}

#[test]
fn a_removed_machine_stops_and_can_join_again() {
    let Some(url) = server() else { return };
    let (shared, laptop, desktop) = Shared::two_machines(url);
    let words = std::fs::read_to_string(laptop.path().join("secrets/machines-key")).unwrap();
    laptop.json(["machines", "remove", "desktop", "--yes"]);
    let error = desktop.fault_with(["put", "second"], b"text", 1);
    assert_eq!(error["code"], "machine_stopped");
    assert_eq!(state(&desktop), "removed");
    assert!(has_page(&desktop, "first"));
    shared.join(&desktop, "desktop", words.trim());
    wait_for_state(&desktop, "ready");
    desktop.put("second", "text");
    wait_until("the page on the laptop", VISIBLE, || has_page(&laptop, "second"));
}

#[test]
fn a_replaced_key_stops_other_machines_until_they_have_it() {
    let Some(url) = server() else { return };
    let (shared, laptop, desktop) = Shared::two_machines(url);
    let words = laptop.json(["machines", "rotate-key", "--yes"])["words"].clone();
    laptop.put("second", "With the new key.");
    wait_for_state(&desktop, "wrong_key");
    let reply = shared.join(&desktop, "desktop", words.as_str().unwrap());
    assert_eq!(reply["needs_restart"], false, "{reply}");
    wait_for_state(&desktop, "ready");
    wait_until("the page on the desktop", VISIBLE, || has_page(&desktop, "second"));
}

#[test]
fn wrong_words_and_wrong_urls_change_nothing() {
    let Some(url) = server() else { return };
    let shared = Shared::new(url);
    let (laptop, desktop) = (TestHome::new(), TestHome::new());
    laptop.put("first", "text");
    desktop.put("own", "text");
    let file = shared.url_file(&laptop);
    let args = ["machines", "join", "--yes", "--namespace", &shared.namespace, "--url-file"];
    let args: Vec<&str> = args.into_iter().chain([file.to_str().unwrap()]).collect();
    assert_eq!(desktop.fault(args.clone(), 1)["code"], "not_set_up", "no log yet");
    shared.init(&laptop, "laptop", &[]);
    assert_eq!(desktop.fault(args, 2)["code"], "invalid_request", "no words");
    let other = "abandon ".repeat(23) + "art";
    let args = ["machines", "join", "--yes", "--namespace", &shared.namespace, "--url-file"];
    let more = [file.to_str().unwrap(), "--key-file", "-"];
    let args: Vec<&str> = args.into_iter().chain(more).collect();
    let error = desktop.fault_with(args, other.as_bytes(), 2);
    assert_eq!(error["code"], "invalid_request");
    assert!(error["message"].as_str().unwrap().contains("key"), "{error}");
    assert_eq!(state(&desktop), "not_shared");
    assert!(has_page(&desktop, "own"));
    let list = laptop.json(["machines", "list"]);
    assert_eq!(texts(&list["machines"], "name"), ["laptop"]);
}

#[test]
fn another_machine_takes_over_the_tasks() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    let runs = |home: &TestHome| {
        let status = home.json_status();
        let leases = status["leases"].as_array().unwrap().clone();
        leases.iter().any(|lease| lease["name"] == "purge" && lease["this"] == true)
    };
    wait_until("a holder", Duration::from_secs(20), || runs(&laptop) != runs(&desktop));
    let (holder, other) = if runs(&laptop) { (&laptop, &desktop) } else { (&desktop, &laptop) };
    holder.brain(["stop"]).expect(0);
    wait_until("a takeover", Duration::from_secs(15), || runs(other));
}

#[test]
fn new_words_of_an_interrupted_rotation_are_used() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    let words = laptop.json(["machines", "rotate-key", "--yes"])["words"].clone();
    // Nobody has written with the new key.
    wait_for_state(&desktop, "wrong_key");
    let file = desktop.path().join("secrets/machines-key-new");
    std::fs::write(&file, words.as_str().unwrap()).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    wait_for_state(&desktop, "ready");
    assert!(!file.exists());
    desktop.put("second", "With the new key.");
    desktop.json(["restart"]);
    wait_for_state(&desktop, "ready");
}

#[test]
fn a_copied_home_stops_one_of_the_two() {
    let Some(url) = server() else { return };
    let (_shared, _laptop, desktop) = Shared::two_machines(url);
    wait_for_state(&desktop, "ready");
    desktop.brain(["stop"]).expect(0);
    let copy = TestHome::new();
    let (from, to) = (desktop.path().join("."), copy.path());
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
    wait_until("a copy that stopped", Duration::from_secs(90), || {
        [state(&desktop), state(&copy)].contains(&"copied".to_owned())
    });
    let stopped = if state(&copy) == "copied" { &copy } else { &desktop };
    assert_eq!(stopped.fault_with(["put", "second"], b"text", 1)["code"], "machine_stopped");
}

#[test]
fn a_purge_says_what_stays_elsewhere() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    let reply = laptop.json(["purge", "first", "--now", "--yes"]);
    assert!(reply["warnings"].to_string().contains("the other machines"), "{reply}");
    wait_until("no page on the desktop", VISIBLE, || !has_page(&desktop, "first"));
}

#[test]
fn a_job_has_the_same_id_on_all_machines() {
    let Some(url) = server() else { return };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    // Clients of some sources only get ids that do not reveal the number of jobs.
    let token = laptop.token("agent", "read write", &["default"]);
    let receipt = http::ingest(laptop.http_local(), &token, "An item from a client.").json();
    let path = format!("/ingest/{}", receipt["job_id"].as_str().unwrap());
    let bearer = format!("Bearer {token}");
    wait_until("the job on the desktop", VISIBLE, || {
        let headers = [("Authorization", bearer.as_str())];
        http::call(desktop.http_local(), "GET", &path, &headers, b"").status == 200
    });
}
