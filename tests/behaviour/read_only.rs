//! A read-only file system: reads work, status reports the mode, and writes are refused until the
//! file system is writable again.

use std::fs;
use std::time::{Duration, Instant};

use brain_tests::{TEST_TIMEOUT, TestHome};
use serde_json::Value;

use crate::faults::small_home;

/// Returns the check `name` of doctor's reply.
fn check<'a>(doctor: &'a Value, name: &str) -> &'a Value {
    doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap()
}

/// Asserts that reading commands work and writing commands are refused.
fn assert_read_only(home: &TestHome, page_count: usize) {
    assert_eq!(home.get("kept/0")["body"], "walrus number 0\n");
    assert_eq!(home.search("walrus").len(), page_count);
    assert_eq!(home.json(["list"])["pages"].as_array().unwrap().len(), page_count);
    let out =
        home.outside().join(format!("export-{}", fs::read_dir(home.outside()).unwrap().count()));
    assert_eq!(home.json(["export", out.to_str().unwrap()])["files"], page_count);
    for args in [&["put", "fresh"][..], &["capture", "--stdin"]] {
        let error = home.fault_with(args, b"no place for this\n", 1);
        assert_eq!(error["code"], "read_only", "{args:?}: {error}");
        assert!(error["hint"].as_str().unwrap().contains("remount"), "{error}");
    }
    assert_eq!(home.fault(["delete", "kept/1"], 1)["code"], "read_only");
    let degraded = home.json(["status"])["degraded"].to_string();
    assert!(degraded.contains("read-only"), "{degraded}");
    let doctor = home.brain(["doctor", "--json"]).expect(1).json();
    let disk = check(&doctor, "disk space");
    assert_eq!(disk["status"], "fail", "{disk}");
    assert!(disk["message"].as_str().unwrap().contains("read-only"), "{disk}");
}

/// Waits until a write succeeds.
fn wait_until_writable(home: &TestHome) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let output = home.brain_with(["put", "after", "--json"], b"written again\n");
        if output.code == 0 {
            break;
        }
        assert!(Instant::now() < deadline, "{output:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(home.get("after")["body"], "written again\n");
    assert_eq!(fs::read_to_string(home.page_file("after")).unwrap(), home.get("after")["content"]);
    let degraded = home.json(["status"])["degraded"].to_string();
    assert!(!degraded.contains("read-only"), "{degraded}");
}

/// Waits until doctor has no warning about the index.
fn wait_until_healthy(home: &TestHome) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let doctor = home.brain(["doctor", "--json"]).json();
        let index = check(&doctor, "index");
        if index["status"] == "ok" {
            assert!(!index["message"].as_str().unwrap().contains("in memory"), "{index}");
            break;
        }
        assert!(Instant::now() < deadline, "{index}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_daemon_starts_read_only_and_writes_when_it_can() {
    let Some(mut home) = small_home("60m") else { return };
    let runtime = home.outside().join("runtime");
    fs::create_dir_all(&runtime).unwrap();
    home.env.push(("XDG_RUNTIME_DIR".into(), runtime.display().to_string()));
    let daemon = home.daemon();
    for n in 0..5 {
        home.put(&format!("kept/{n}"), &format!("walrus number {n}\n"));
    }
    assert!(daemon.terminate().0.success());
    let before = fs::read(home.path().join("brain.redb")).unwrap();
    home.remount("ro");
    // The client starts the daemon, whose socket cannot be in the home.
    assert_read_only(&home, 5);
    assert_eq!(fs::read(home.path().join("brain.redb")).unwrap(), before, "not a byte has changed");
    let status = home.json(["status"]);
    let (pid, socket) = (&status["pid"], status["socket"].as_str().unwrap());
    assert!(socket.starts_with(runtime.to_str().unwrap()), "{socket}");
    home.remount("rw");
    wait_until_writable(&home);
    assert_eq!(&home.json(["status"])["pid"], pid, "it is the same daemon");
    wait_until_healthy(&home);
    home.json(["stop"]);
    let _daemon = home.daemon();
    assert_eq!(home.search("walrus").len(), 5);
    assert_eq!(home.get("after")["body"], "written again\n");
}

#[test]
fn reading_continues_when_a_file_system_becomes_read_only() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_STORE_MIN_FREE_MB".into(), "1".into()));
    let mount_point = home.path();
    if !home.mount_ext4(&mount_point, 64) {
        return;
    }
    let runtime = home.outside().join("runtime");
    fs::create_dir_all(&runtime).unwrap();
    home.env.push(("XDG_RUNTIME_DIR".into(), runtime.display().to_string()));
    let mut daemon = home.daemon();
    for n in 0..5 {
        home.put(&format!("kept/{n}"), &format!("walrus number {n}\n"));
    }
    // After a disk error, ext4 aborts in the same way.
    home.remount("abort");
    assert_read_only(&home, 5);
    assert!(daemon.is_running());
    assert_read_only(&home, 5);
    daemon.kill();
    // The next command starts a read-only daemon, although the mount has no flag `ro`.
    assert_read_only(&home, 5);
    home.json(["stop"]);
}
