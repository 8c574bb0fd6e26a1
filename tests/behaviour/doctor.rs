//! `doctor` with real problems, and its hints. Other checks are tested with the features that they
//! check.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use brain_tests::{TEST_TIMEOUT, TestHome};
use redb::{Database, TableDefinition};
use serde_json::Value;

/// Returns the check `name` of `brain doctor`.
fn check(home: &TestHome, name: &str) -> Value {
    let doctor = home.brain(["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    checks
        .iter()
        .find(|c| c["name"] == name)
        .unwrap_or_else(|| panic!("no check {name}: {doctor}"))
        .clone()
}

#[test]
fn unreadable_pages_are_found() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "whole\n");
    home.put("b", "whole\n");
    assert!(daemon.terminate().0.success());
    {
        let contents: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("contents");
        let db = Database::open(home.path().join("brain.redb")).unwrap();
        let txn = db.begin_write().unwrap();
        txn.open_table(contents).unwrap().insert(1, &b"\xffnot a text"[..]).unwrap();
        txn.commit().unwrap();
    }
    let _daemon = home.daemon();
    let doctor = home.brain(["doctor", "--json"]).expect(1).json();
    assert_eq!(doctor["status"], "unhealthy");
    let store = check(&home, "store integrity");
    assert_eq!(store["status"], "fail", "{store}");
    assert!(store["hint"].as_str().is_some_and(|hint| hint.contains("brain")), "{store}");
    assert_eq!(home.get("b")["body"], "whole\n", "other pages are still readable");
    assert_eq!(home.fault(["get", "a"], 1)["code"], "store_damaged");
}

#[test]
fn an_unwritable_index_is_a_warning() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    // A file takes the place of the directory.
    fs::write(home.path().join("index"), "in the way\n").unwrap();
    let _daemon = home.daemon();
    home.put("a", "quartz\n");
    let index = check(&home, "index");
    assert_eq!(index["status"], "warn", "{index}");
    assert!(index["message"].as_str().unwrap().contains("index"), "{index}");
    assert_eq!(home.search("quartz"), ["a"]);
    assert_eq!(
        fs::read_to_string(home.path().join("index")).unwrap(),
        "in the way\n",
        "a foreign file is not removed"
    );
}

#[test]
fn doctor_fix_restricts_the_socket_permissions() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    fs::set_permissions(home.socket(), fs::Permissions::from_mode(0o666)).unwrap();
    let socket = check(&home, "socket permissions");
    assert_eq!(socket["status"], "fail", "{socket}");
    assert!(socket["hint"].as_str().unwrap().starts_with("chmod 600 "), "{socket}");
    home.json(["doctor", "--fix"]);
    assert_eq!(fs::metadata(home.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(check(&home, "socket permissions")["status"], "ok");
}

#[test]
fn unwatchable_sources_are_reported() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("config.toml"), "[sources]\nwatch = true\n").unwrap();
    let _daemon = home.daemon();
    let just_started = check(&home, "watcher");
    assert!(!just_started["message"].as_str().unwrap().starts_with("off"), "{just_started}");
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    let wait_for_watcher = |status: &str| {
        let deadline = Instant::now() + TEST_TIMEOUT;
        while check(&home, "watcher")["status"] != status {
            assert!(Instant::now() < deadline, "{}", check(&home, "watcher"));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait_for_watcher("ok");
    fs::remove_dir(&notes).unwrap();
    wait_for_watcher("warn");
    let sources = check(&home, "sources");
    assert_eq!(sources["status"], "fail", "{sources}");
    assert!(sources["message"].as_str().unwrap().contains("notes"), "{sources}");
    // After the source is removed, both checks pass.
    home.json(["sources", "remove", "notes", "--yes"]);
    wait_for_watcher("ok");
    assert_eq!(check(&home, "sources")["status"], "ok");
}
