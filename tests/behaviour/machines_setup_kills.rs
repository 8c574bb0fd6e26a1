//! SIGKILL for the daemon at several moments of `brain machines init` and `join`. After a restart,
//! the brain is shared or not, it has every page, and the setup can be completed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brain_tests::{Daemon, TEST_TIMEOUT, TestHome, report};

use crate::crash::rare_word;
use crate::machines::{MachineStatus, Shared, has_page, server, state, wait_for_state, wait_until};
use crate::machines_fixture::{compare_running, pages_with_files, wait_until_settled};
use crate::machines_setup::init_when_possible;

/// The pages of the brain.
const PAGES: usize = 2_000;
/// Maximum time until a snapshot is written. A machine with the lease writes a missing one within a
/// minute.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(150);

/// Files of the home that appear one after the other.
const INIT_MOMENTS: [&str; 6] = [
    "brain.redb.before-sharing-1",
    "secrets/machines-key",
    "machines.json",
    "machines.setup/snapshot",
    "machines.setup/check/snapshot",
    "machines.setup/check/brain.redb",
];
const JOIN_MOMENTS: [&str; 4] = [
    "machines.registered.json",
    "machines.setup/received",
    "machines.setup/joined.redb",
    "machines.joining.json",
];

/// Makes a home with many pages. The import starts its daemon.
fn home_with_pages() -> TestHome {
    let home = TestHome::new();
    let dir = home.outside().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    for number in 0..PAGES {
        let sentence = "The tide tables of the harbour were printed once more. ";
        let text = format!("{} {number}\n\n{}\n", rare_word(1, number), sentence.repeat(8));
        std::fs::write(dir.join(format!("page-{number}.md")), text).unwrap();
    }
    let reply = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(reply["created"], PAGES, "{reply}");
    home
}

fn copy_of(home: &Path) -> TestHome {
    let copy = TestHome::new();
    let copied = Command::new("cp").arg("-a").args([home.join("."), copy.path()]).status();
    assert!(copied.unwrap().success());
    copy
}

/// Returns the pages by slug, after checking their files.
fn pages_of(home: &TestHome) -> BTreeMap<String, String> {
    let pages = pages_with_files(home).into_iter();
    pages.map(|page| (page.slug.to_string(), page.body)).collect()
}

/// Runs `brain machines`, and kills the daemon when a file of the home appears. Returns the
/// restarted daemon, and whether the command was still running at the kill.
fn kill_at(home: &TestHome, args: &[String], stdin: &str, moment: &str) -> (Daemon, bool) {
    let daemon = home.daemon();
    let mut command = home.command("brain");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, stdin.as_bytes()).unwrap();
    drop(pipe);
    let deadline = Instant::now() + TEST_TIMEOUT;
    let path = home.path().join(moment);
    while path.symlink_metadata().is_err() && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "{moment} does not appear");
        std::thread::sleep(Duration::from_micros(200));
    }
    let was_running = child.try_wait().unwrap().is_none();
    daemon.kill();
    let _ = child.kill();
    child.wait().unwrap();
    (home.daemon(), was_running)
}

fn check_killed_init(base: &TestHome, pages: &BTreeMap<String, String>, moment: &str) {
    let Some(url) = server() else { return };
    let shared = Shared::new(url);
    let home = copy_of(&base.path());
    let args = shared.init_args(&home, "laptop");
    let (_daemon, was_running) = kill_at(&home, &args, "", moment);
    assert!(was_running, "{moment}: the init ended before the kill");
    wait_until("a known state", TEST_TIMEOUT, || state(&home) != "starting");
    let found = state(&home);
    report(&format!("machines: init killed at {moment}: {found}"));
    assert_eq!(&pages_of(&home), pages, "{moment}: every page is there");
    for name in ["machines.setup", "machines.json.tmp"] {
        assert!(!home.path().join(name).exists(), "{moment}: {name} is left");
    }
    match found.as_str() {
        "not_shared" => {
            assert!(!home.path().join("machines.json").exists());
            let run = home.brain(std::iter::once("--json").chain(args.iter().map(String::as_str)));
            if run.code != 0 {
                let hint = run.json()["error"]["hint"].as_str().unwrap().to_owned();
                assert!(hint.contains("3 minutes"), "{moment}: {hint}");
                init_when_possible(&shared, &shared.url, &home, &args);
            }
        }
        _ => {
            wait_for_state(&home, "ready");
            let error = home.fault(args, 1);
            assert!(error["message"].as_str().unwrap().contains("shared already"), "{error}");
            wait_until("a snapshot", SNAPSHOT_TIMEOUT, || {
                home.json_status()["snapshot_at"].is_string()
            });
        }
    }
    assert_eq!(state(&home), "ready");
    let words = std::fs::read_to_string(home.path().join("secrets/machines-key")).unwrap();
    let desktop = TestHome::new();
    shared.join(&desktop, "desktop", &words);
    wait_until_settled(&[&home, &desktop]);
    assert_eq!(&pages_of(&desktop), pages, "{moment}: every page is on the other machine");
    compare_running(&[&home, &desktop]);
}

#[test]
fn a_killed_init_leaves_a_complete_brain() {
    if server().is_none() {
        return;
    }
    let base = home_with_pages();
    let pages = pages_of(&base);
    base.brain(["stop"]).expect(0);
    drop(crate::machines_fixture::open_store(&base.path()));
    std::thread::scope(|scope| {
        for moment in INIT_MOMENTS {
            let (base, pages) = (&base, &pages);
            scope.spawn(move || check_killed_init(base, pages, moment));
        }
    });
}

fn check_killed_join(shared: &Shared, laptop: &TestHome, words: &str, moment: &str) -> String {
    let home = TestHome::new();
    home.put("own/page", "A page that only this machine has.");
    home.brain(["stop"]).expect(0);
    let name = moment.replace(['.', '/'], "-");
    let args = shared.join_args(&home, &name);
    let (_daemon, was_running) = kill_at(&home, &args, words, moment);
    // The last file appears just before the end.
    assert!(
        was_running || moment == "machines.joining.json",
        "{moment}: the join ended before the kill"
    );
    wait_until("a known state", TEST_TIMEOUT, || state(&home) != "starting");
    let found = state(&home);
    report(&format!("machines: join killed at {moment}: {found}"));
    if found == "not_shared" {
        assert!(has_page(&home, "own/page"), "{moment}: its own page is there");
        assert!(!has_page(&home, "page-1"), "{moment}: no page of the other machine");
        home.put("own/second", "Written after the kill.");
        for name in ["machines.setup", "machines.json"] {
            assert!(!home.path().join(name).exists(), "{moment}: {name} is left");
        }
        // The same command again, with the same name.
        home.json_with(args, words.as_bytes());
        assert!(home.path().join("pages.before-joining-1/own/second.md").exists());
    }
    wait_until_settled(&[laptop, &home]);
    assert!(home.path().join("pages.before-joining-1/own/page.md").exists());
    assert!(!home.path().join("machines.registered.json").exists());
    assert_eq!(pages_of(&home), pages_of(laptop), "{moment}: the copy is complete");
    let list = laptop.json(["machines", "list"])["machines"].to_string();
    assert_eq!(list.matches(&format!("\"{name}\"")).count(), 1, "{list}");
    found
}

#[test]
fn a_killed_join_can_be_repeated() {
    let Some(url) = server() else { return };
    let shared = Shared::new(url);
    let laptop = home_with_pages();
    let words = shared.init(&laptop, "laptop", &[])["words"].as_str().unwrap().to_owned();
    let states: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = JOIN_MOMENTS
            .into_iter()
            .map(|moment| {
                let (shared, laptop, words) = (&shared, &laptop, &words);
                scope.spawn(move || check_killed_join(shared, laptop, words, moment))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(states.contains(&"not_shared".to_owned()), "{states:?}");
}
