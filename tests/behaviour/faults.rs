//! Real faults of the store: a full disk, an unwritable home, a damaged file, and a store of a
//! newer or another program.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use brain_store::SCHEMA;
use brain_tests::{TestHome, run, slugs};
use redb::{Database, ReadableDatabase, TableDefinition};

/// Returns a home on a file system of `size`, of which the store keeps 1 MB free. Returns `None` if
/// mounting is not permitted.
pub(crate) fn small_home(size: &str) -> Option<TestHome> {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_STORE_MIN_FREE_MB".into(), "1".into()));
    let path = home.path();
    home.mount(&path, &format!("size={size},mode=700")).then_some(home)
}

/// Fills the file system of `dir` until about `leave` bytes are free. Returns the file that fills
/// it.
pub(crate) fn fill(dir: &Path, leave: u64) -> std::path::PathBuf {
    let filler = dir.join("filler");
    let stat = rustix::fs::statvfs(dir).unwrap();
    let free = stat.f_bavail * stat.f_frsize;
    let mut file = fs::File::create(&filler).unwrap();
    let piece = vec![7_u8; 64 * 1024];
    let mut left = free.saturating_sub(leave);
    while left > 0 {
        let n = left.min(piece.len() as u64) as usize;
        if file.write(&piece[..n]).is_err() {
            break;
        }
        left -= n as u64;
    }
    file.sync_all().unwrap();
    filler
}

#[test]
fn on_a_full_disk_only_writes_fail() {
    let Some(home) = small_home("60m") else { return };
    let mut daemon = home.daemon();
    for n in 0..5 {
        home.put(&format!("kept/{n}"), &format!("walrus number {n}\n"));
    }
    let filler = fill(&home.path(), 200_000);
    for args in [&["put", "kept/0"][..], &["put", "fresh"], &["capture", "--stdin"]] {
        let error = home.fault_with(args, b"no room for this\n", 1);
        assert_eq!(error["code"], "disk_full", "{args:?}: {error}");
        let (message, hint) = (error["message"].as_str().unwrap(), error["hint"].as_str().unwrap());
        assert!(
            message.contains(home.path().to_str().unwrap()) && message.contains("MB"),
            "{message}"
        );
        assert!(hint.contains("free space"), "{hint}");
    }
    for args in [
        &["delete", "kept/1"][..],
        &["tags", "kept/1", "--add", "x"],
        &["link", "kept/1", "kept/2"],
    ] {
        assert_eq!(home.fault(args, 1)["code"], "disk_full", "{args:?}");
    }
    let vault = home.outside().join("vault");
    fs::create_dir_all(&vault).unwrap();
    fs::write(vault.join("imported.md"), "no room either\n").unwrap();
    assert_eq!(home.fault(["import", vault.to_str().unwrap()], 1)["code"], "disk_full");
    assert_eq!(home.get("kept/0")["body"], "walrus number 0\n", "reads still work");
    assert_eq!(home.search("walrus").len(), 5, "searches still work");
    assert_eq!(home.json(["list"])["pages"].as_array().unwrap().len(), 5);
    let doctor = home.brain(["doctor", "--json"]).expect(1).json();
    let disk =
        doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == "disk space").unwrap();
    assert_eq!(disk["status"], "fail", "{disk}");
    assert!(daemon.is_running());
    fs::remove_file(filler).unwrap();
    assert_eq!(home.put("fresh", "room again\n")["status"], "created");
    assert_eq!(home.json(["delete", "kept/1"])["status"], "soft_deleted");
    daemon.kill();
    let _daemon = home.daemon();
    let mut all = slugs(&home.json(["list"])["pages"]);
    all.sort();
    assert_eq!(all, ["fresh", "kept/0", "kept/2", "kept/3", "kept/4"]);
    assert!(all.iter().all(|slug| home.page_file(slug).exists()));
}

#[test]
fn a_disk_that_fills_during_a_commit_loses_nothing() {
    let Some(home) = small_home("60m") else { return };
    let mut daemon = home.daemon();
    for n in 0..5 {
        home.put(&format!("kept/{n}"), &format!("walrus number {n}\n"));
    }
    // The free space passes the check before the write, and the disk fills during it.
    let filler = fill(&home.path(), 2_500_000);
    let huge = "An enormous page about nothing at all. ".repeat(125_000);
    let mut refused = 0;
    for n in 0..3 {
        let slug = format!("huge/{n}");
        let output = home.brain_with(["put", &slug, "--json"], &huge.as_bytes()[..4_800_000]);
        if output.code == 0 {
            assert_eq!(
                home.get(&slug)["body"].as_str().unwrap().len(),
                4_800_000,
                "an acknowledged write is stored"
            );
            continue;
        }
        refused += 1;
        assert_eq!(output.json()["error"]["code"], "disk_full", "{}", output.stdout);
        assert!(daemon.is_running());
        assert_eq!(
            home.fault(["get", &slug], 4)["code"],
            "not_found",
            "a page is stored whole or not at all"
        );
        assert_eq!(home.get("kept/3")["body"], "walrus number 3\n");
        assert_eq!(home.search("walrus").len(), 5);
    }
    assert!(refused > 0, "the disk did not fill");
    fs::remove_file(filler).unwrap();
    assert_eq!(home.put("after", "room again\n")["status"], "created");
    assert_eq!(
        home.json_with(["put", "huge/last"], &huge.as_bytes()[..4_000_000])["status"],
        "created"
    );
    daemon.kill();
    let _daemon = home.daemon();
    for n in 0..5 {
        assert_eq!(home.get(&format!("kept/{n}"))["body"], format!("walrus number {n}\n"));
    }
    assert_eq!(home.get("after")["body"], "room again\n");
    assert_eq!(home.search("walrus").len(), 5);
}

#[test]
fn a_full_disk_at_start_is_reported() {
    let Some(home) = small_home("300k") else { return };
    let output = home.brain(["capture", "no room to begin with"]);
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains(home.path().to_str().unwrap()), "{output:?}");
    let stderr = output.stderr.to_lowercase();
    assert!(
        stderr.contains("disk is full") || stderr.contains("space") || stderr.contains("free"),
        "{output:?}"
    );
}

#[test]
fn an_unwritable_home_is_reported() {
    let Some(home) = TestHome::that_obeys_modes() else { return };
    let set_read_only = |on: bool| {
        let store = home.path().join("brain.redb");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(store, fs::Permissions::from_mode(if on { 0o400 } else { 0o600 }))
            .unwrap();
        fs::set_permissions(
            home.path(),
            fs::Permissions::from_mode(if on { 0o500 } else { 0o700 }),
        )
        .unwrap();
    };
    let daemon = home.daemon();
    home.put("a", "walrus\n");
    assert!(daemon.terminate().0.success());
    let before = fs::read(home.path().join("brain.redb")).unwrap();
    set_read_only(true);
    for args in [&["list"][..], &["capture", "x"]] {
        let output = home.brain(args);
        assert_ne!(output.code, 0, "{args:?}");
        assert!(
            output.stderr.contains(home.path().to_str().unwrap()),
            "the error names the path: {output:?}"
        );
        assert!(output.stderr.to_lowercase().contains("permission"), "{output:?}");
    }
    let daemon = run(home.command("brain-daemon"), b"").expect(1);
    assert!(daemon.stderr.contains("hint:"), "{daemon:?}");
    set_read_only(false);
    assert_eq!(fs::read(home.path().join("brain.redb")).unwrap(), before);
    let _daemon = home.daemon();
    assert_eq!(home.get("a")["body"], "walrus\n");
}

#[test]
fn an_impossible_home_is_reported() {
    let mut home = TestHome::new();
    let file = home.outside().join("file");
    fs::write(&file, "x").unwrap();
    home.env.push(("BRAIN_HOME".into(), file.join("home").to_str().unwrap().into()));
    let output = home.brain(["capture", "x"]);
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains(file.to_str().unwrap()), "{output:?}");
    let daemon = run(home.command("brain-daemon"), b"").expect(1);
    assert!(
        daemon.stderr.contains(file.to_str().unwrap()) && daemon.stderr.contains("BRAIN_HOME"),
        "{daemon:?}"
    );
}

/// Returns a home with 30 pages and a stopped daemon.
fn closed_home() -> TestHome {
    let home = TestHome::new();
    let daemon = home.daemon();
    for n in 0..30 {
        home.put(&format!("p/{n}"), &format!("page {n} {}\n", "words ".repeat(2000)));
    }
    assert!(daemon.terminate().0.success());
    home
}

/// Asserts that client and daemon reject the store with these words and leave it unchanged.
fn assert_refused_unchanged(home: &TestHome, expected_words: &[&str]) {
    let store = home.path().join("brain.redb");
    let before = fs::read(&store).unwrap();
    assert_refused(home, expected_words);
    assert!(fs::read(&store).unwrap() == before, "the damaged file is unchanged");
}

fn assert_refused(home: &TestHome, expected_words: &[&str]) {
    let output = home.brain(["list"]);
    assert_ne!(output.code, 0, "{output:?}");
    assert_eq!(output.stdout, "");
    for word in expected_words {
        assert!(output.stderr.contains(word), "{word} is missing: {output:?}");
    }
    let daemon = run(home.command("brain-daemon"), b"");
    assert_eq!(daemon.code, 1, "{daemon:?}");
    for word in expected_words {
        assert!(daemon.stderr.contains(word), "{word} is missing: {daemon:?}");
    }
    assert!(daemon.stderr.contains("hint:"), "no hint: {daemon:?}");
    assert!(!daemon.stderr.contains("panicked"), "{daemon:?}");
}

#[test]
fn a_garbage_store_is_rejected_unchanged() {
    let home = closed_home();
    let store = home.path().join("brain.redb");
    let good = fs::read(&store).unwrap();
    let noise: Vec<u8> = (0..good.len()).map(|n| (n * 31 % 251) as u8).collect();
    for bytes in [&noise[..], b"short", &vec![0; good.len()], b"{\"not\": \"a store\"}\n"] {
        fs::write(&store, bytes).unwrap();
        assert_refused_unchanged(&home, &["brain.redb", "damaged", "backup"]);
    }
    fs::write(&store, &good).unwrap();
    assert_eq!(
        home.json(["list"])["pages"].as_array().unwrap().len(),
        30,
        "the intact store works again"
    );
}

#[test]
fn an_emptied_store_is_rejected() {
    let home = closed_home();
    fs::write(home.path().join("brain.redb"), b"").unwrap();
    assert_refused_unchanged(&home, &["brain.redb", "damaged", "empty"]);
}

#[test]
fn a_truncated_store_is_rejected() {
    let home = closed_home();
    let store = home.path().join("brain.redb");
    let good = fs::read(&store).unwrap();
    for divisor in [10, 2, 4] {
        fs::write(&store, &good[..good.len() / divisor]).unwrap();
        assert_refused_unchanged(&home, &["brain.redb", "damaged"]);
    }
}

#[test]
fn a_damaged_store_never_returns_wrong_pages() {
    let home = closed_home();
    let store = home.path().join("brain.redb");
    let good = fs::read(&store).unwrap();
    let mut refused = 0;
    for step in [3, 7] {
        let mut bad = good.clone();
        let from = bad.len() / 4;
        for at in (from..bad.len()).step_by(4096 * step) {
            let end = bad.len().min(at + 512);
            bad[at..end].fill(0xa5);
        }
        fs::write(&store, &bad).unwrap();
        for n in 0..30 {
            let output = home.brain(["get", &format!("p/{n}"), "--json"]);
            if output.code == 0 {
                assert_eq!(
                    output.json()["body"],
                    format!("page {n} {}\n", "words ".repeat(2000)),
                    "page {n}"
                );
            } else {
                let error = &output.json()["error"];
                assert!(
                    error["message"].is_string() && !output.stderr.contains("panicked"),
                    "{output:?}"
                );
                refused += 1;
            }
        }
        let _ = home.brain(["stop"]);
    }
    assert!(refused > 0, "no page was damaged");
    fs::write(&store, &good).unwrap();
    assert_eq!(home.json(["list"])["pages"].as_array().unwrap().len(), 30);
}

#[test]
fn a_newer_store_is_rejected_with_both_versions() {
    let home = closed_home();
    let store = home.path().join("brain.redb");
    set_schema(&store, 4711);
    let way_out = "install the version of brain that wrote it";
    assert_refused(&home, &["4711", &SCHEMA.to_string(), "brain.redb", way_out]);
    assert_eq!(schema(&store), 4711);
    set_schema(&store, SCHEMA);
    for n in 0..30 {
        assert_eq!(home.get(&format!("p/{n}"))["version"], 1);
    }
}

#[test]
fn a_database_of_another_program_is_rejected() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    let db = Database::create(home.path().join("brain.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(TableDefinition::<&str, u64>::new("theirs")).unwrap().insert("x", 1).unwrap();
    txn.commit().unwrap();
    drop(db);
    assert_refused(&home, &["brain.redb", "not a brain store"]);
    let db = Database::open(home.path().join("brain.redb")).unwrap();
    let theirs =
        db.begin_read().unwrap().open_table(TableDefinition::<&str, u64>::new("theirs")).unwrap();
    assert_eq!(theirs.get("x").unwrap().unwrap().value(), 1);
    assert_eq!(db.begin_read().unwrap().list_tables().unwrap().count(), 1, "no table was added");
}

fn schema(store: &Path) -> u64 {
    let db = Database::open(store).unwrap();
    let meta =
        db.begin_read().unwrap().open_table(TableDefinition::<&str, u64>::new("meta")).unwrap();
    meta.get("schema").unwrap().unwrap().value()
}

fn set_schema(store: &Path, version: u64) {
    let db = Database::open(store).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(TableDefinition::<&str, u64>::new("meta"))
        .unwrap()
        .insert("schema", version)
        .unwrap();
    txn.commit().unwrap();
}
