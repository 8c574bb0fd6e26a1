//! The Markdown files and the index can be changed or damaged without loss of a page.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use brain_tests::TestHome;
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

/// Returns the warnings of a write, and asserts that it did not write the page's file.
fn warnings_of(written: &Value) -> String {
    assert_eq!(written["written"], false, "{written}");
    written["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn concurrent_changes_keep_the_file_under_brains_control() {
    const WRITERS: usize = 32;
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "text\n");
    std::thread::scope(|scope| {
        for n in 0..WRITERS {
            let home = &home;
            scope.spawn(move || {
                for turn in 0..3 {
                    home.json(["tags", "a", "--add", &format!("tag-{n}-{turn}")]);
                }
            });
        }
    });
    assert_eq!(home.get("a")["tags"].as_array().unwrap().len(), 3 * WRITERS);
    let file = fs::read_to_string(home.page_file("a")).unwrap();
    let missing: Vec<_> = (0..WRITERS)
        .filter(|n| (0..3).any(|turn| !file.contains(&format!("tag-{n}-{turn}"))))
        .collect();
    assert_eq!(missing, Vec::<usize>::new(), "{file}");
    assert_eq!(check(&home, "outbox")["status"], "ok");
}

#[test]
fn files_changed_by_others_are_never_overwritten() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "ours\n");
    let file = home.page_file("a");
    fs::write(&file, "theirs, unsaved elsewhere\n").unwrap();
    let written = home.put("a", "ours again\n");
    assert_eq!(written["status"], "updated");
    assert!(warnings_of(&written).contains(file.to_str().unwrap()), "{written}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs, unsaved elsewhere\n");
    assert_eq!(home.get("a")["body"], "ours again\n", "the store has the page");
    let outbox = check(&home, "outbox");
    assert_eq!(outbox["status"], "warn", "{outbox}");
    let path = file.display();
    assert_eq!(
        outbox["message"],
        format!(
            "1 file differs from its page: {path}: another program changed the same lines as the \
             page, so brain replaced neither; the text of the file is version 3 of the page"
        )
    );
    let hint = outbox["hint"].as_str().unwrap();
    for remedy in ["`brain diff a --file`", "`brain keep a page`", "`brain keep a file`"] {
        assert!(hint.contains(remedy), "the hint names three commands: {hint}");
    }
    let status = home.json(["status"]);
    assert!(status["degraded"].to_string().contains("a.md"), "{status}");
    // A restart does not overwrite it either.
    daemon.kill();
    let _daemon = home.daemon();
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs, unsaved elsewhere\n");
    // After the file is removed, `doctor --fix` writes the page's file.
    fs::remove_file(&file).unwrap();
    home.json(["doctor", "--fix"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), home.get("a")["content"].as_str().unwrap());
    assert_eq!(check(&home, "outbox")["status"], "ok");
}

#[test]
fn warnings_are_printed_as_text() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "ours\n");
    fs::write(home.page_file("a"), "theirs\n").unwrap();
    let output = home.brain_with(["put", "a"], b"more\n").expect(0);
    assert!(
        output.stderr.contains("warning") && output.stderr.contains("the same lines"),
        "{output:?}"
    );
}

#[test]
fn a_changed_file_is_taken_in_before_it_goes_to_the_trash() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "ours\n");
    fs::write(home.page_file("a"), "theirs\n").unwrap();
    home.json(["delete", "a"]);
    assert!(!home.page_file("a").exists());
    assert_eq!(fs::read_to_string(home.path().join("pages/.trash/a.md")).unwrap(), "theirs\n");
    home.json(["restore", "a"]);
    assert_eq!(home.get("a")["body"], "theirs\n");
    assert_eq!(fs::read_to_string(home.page_file("a")).unwrap(), "theirs\n");
    assert!(!home.path().join("pages/.trash/a.md").exists());
    assert_eq!(home.json(["get", "a", "--version", "1"])["body"], "ours\n");
}

#[test]
fn missing_files_are_written_with_the_next_change() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "one\n");
    fs::remove_file(home.page_file("a")).unwrap();
    assert_eq!(home.put("a", "two\n")["written"], true);
    assert!(fs::read_to_string(home.page_file("a")).unwrap().ends_with("two\n"));
}

#[test]
fn foreign_files_in_a_pages_place_are_left_alone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let pages = home.path().join("pages");
    fs::create_dir_all(&pages).unwrap();
    let outside = home.outside().join("precious.md");
    fs::write(&outside, "precious\n").unwrap();
    fs::write(pages.join("file.md"), "mine\n").unwrap();
    std::os::unix::fs::symlink(&outside, pages.join("link.md")).unwrap();
    fs::create_dir(pages.join("directory.md")).unwrap();
    std::os::unix::fs::symlink(home.outside(), pages.join("out")).unwrap();
    for slug in ["file", "link", "directory", "out/page"] {
        let written = home.put(slug, "from brain\n");
        assert!(!warnings_of(&written).is_empty(), "{slug}");
        assert_eq!(home.get(slug)["body"], "from brain\n", "{slug}");
    }
    assert_eq!(fs::read_to_string(pages.join("file.md")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious\n");
    assert_eq!(fs::read_dir(home.outside()).unwrap().count(), 1, "nothing was written outside");
}

#[test]
fn pages_are_stored_while_their_directory_is_read_only() {
    let mut home = TestHome::new();
    let pages = home.path().join("pages");
    let is_root = rustix::process::geteuid().is_root();
    if is_root && !home.mount(&pages, "size=20m,mode=700") {
        return;
    }
    fs::create_dir_all(&pages).unwrap();
    let home = home;
    let set_read_only = |on: bool| match is_root {
        true => home.remount(if on { "ro" } else { "rw" }),
        false => {
            let mode = if on { 0o500 } else { 0o700 };
            fs::set_permissions(&pages, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    let daemon = home.daemon();
    home.put("before", "text\n");
    set_read_only(true);
    let written = home.json(["capture", "walrus on ice"]);
    assert_eq!(written["status"], "created");
    assert!(warnings_of(&written).contains(pages.to_str().unwrap()), "{written}");
    let slug = written["slug"].as_str().unwrap().to_owned();
    assert_eq!(home.get(&slug)["body"], "walrus on ice");
    assert_eq!(home.search("walrus"), [slug.as_str()]);
    assert_eq!(
        home.json(["delete", "before"])["status"],
        "soft_deleted",
        "a delete is stored, too"
    );
    assert!(home.page_file("before").exists());
    assert_eq!(check(&home, "outbox")["status"], "warn");
    daemon.kill();
    let _daemon = home.daemon();
    assert_eq!(home.get(&slug)["body"], "walrus on ice", "the outbox survives SIGKILL");
    set_read_only(false);
    home.json(["doctor", "--fix"]);
    assert!(fs::read_to_string(home.page_file(&slug)).unwrap().ends_with("walrus on ice"));
    assert!(!home.page_file("before").exists() && pages.join(".trash/before.md").exists());
    assert_eq!(check(&home, "outbox")["status"], "ok");
}

/// Returns a home with 40 pages and a stopped daemon.
fn indexed_home() -> TestHome {
    let home = TestHome::new();
    let daemon = home.daemon();
    for n in 0..40 {
        home.put(&format!("p/{n}"), &format!("walrus number{n}\n"));
    }
    assert!(daemon.terminate().0.success());
    assert!(home.path().join("index").is_dir());
    home
}

fn assert_all_pages_are_found(home: &TestHome) {
    let found = home.json(["search", "walrus", "--limit", "200"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 40, "{found}");
    assert_eq!(found["degraded"], Value::Null);
    assert_eq!(home.search("number17"), ["p/17"]);
    let index = check(home, "index");
    assert_eq!(index["status"], "ok", "{index}");
}

#[test]
fn a_deleted_index_is_rebuilt() {
    let home = indexed_home();
    fs::remove_dir_all(home.path().join("index")).unwrap();
    let _daemon = home.daemon();
    assert_all_pages_are_found(&home);
}

#[test]
fn an_index_deleted_at_runtime_is_rebuilt_at_start() {
    let home = indexed_home();
    let mut daemon = home.daemon();
    fs::remove_dir_all(home.path().join("index")).unwrap();
    home.put("p/new", "seal instead\n");
    assert_eq!(home.search("seal"), ["p/new"]);
    assert!(daemon.is_running());
    daemon.kill();
    let _daemon = home.daemon();
    assert_all_pages_are_found(&home);
    assert_eq!(home.search("seal"), ["p/new"]);
}

#[test]
fn a_damaged_index_is_rebuilt() {
    fn files(dir: &Path) -> Vec<std::path::PathBuf> {
        let mut all = Vec::new();
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
        }
        all
    }
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 5] = [
        ("garbage", |file| fs::write(file, b"garbage, not an index").unwrap()),
        ("emptied", |file| fs::write(file, b"").unwrap()),
        ("cut in half", |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("flipped", |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes.iter_mut().step_by(3).for_each(|byte| *byte ^= 0x5a);
            fs::write(file, bytes).unwrap();
        }),
        ("removed", |file| {
            if file.extension().is_some() {
                fs::remove_file(file).unwrap();
            }
        }),
    ];
    for (name, damage) in damages {
        let home = indexed_home();
        let index_files = files(&home.path().join("index"));
        assert!(index_files.len() > 2, "{index_files:?}");
        index_files.iter().for_each(|file| damage(file));
        let daemon = home.daemon();
        assert_all_pages_are_found(&home);
        assert!(!home.log().contains("panicked"), "{name}: {}", home.log());
        drop(daemon);
    }
    let home = indexed_home();
    fs::remove_dir_all(home.path().join("index")).unwrap();
    fs::write(home.path().join("index"), "a file where a directory should be").unwrap();
    let output = home.brain(["search", "walrus", "--json", "--limit", "50"]);
    if output.code == 0 {
        assert_eq!(output.json()["hits"].as_array().unwrap().len(), 40);
    } else {
        assert!(
            output.stdout.contains("index"),
            "the error names the obstructing file: {output:?}"
        );
    }
}

#[test]
fn an_index_of_another_store_is_rebuilt() {
    let (one, two) = (indexed_home(), TestHome::new());
    let daemon = two.daemon();
    two.put("only", "here\n");
    assert!(daemon.terminate().0.success());
    let (from, to) = (one.path().join("index"), two.path().join("index"));
    fs::remove_dir_all(&to).unwrap();
    let copied = std::process::Command::new("cp").arg("-r").args([&from, &to]).status().unwrap();
    assert!(copied.success());
    let _daemon = two.daemon();
    assert_eq!(two.search("walrus"), Vec::<String>::new());
    assert_eq!(two.search("here"), ["only"]);
}

#[test]
fn putting_an_edited_file_brings_it_back_under_brains_control() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "ours\n");
    let file = home.page_file("a");
    fs::write(&file, "theirs\n").unwrap();
    assert_eq!(home.put("a", "more\n")["written"], false);
    let put = home.json(["put", "a", "--file", file.to_str().unwrap()]);
    assert_eq!((&put["status"], &put["written"]), (&"updated".into(), &true.into()));
    assert!(fs::read_to_string(&file).unwrap().ends_with("theirs\n"));
    assert_eq!(home.put("a", "on\n")["written"], true);
}

#[test]
fn foreign_files_survive_the_deletion_of_their_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.page_file("notes/mine");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "mine, never brain's\n").unwrap();
    assert_eq!(home.put("notes/mine", "brain's\n")["written"], false);
    let deleted = home.json(["delete", "notes/mine"]);
    assert_eq!(deleted["warnings"].as_array().unwrap().len(), 1, "{deleted}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine, never brain's\n");
}

#[test]
fn emptied_files_are_another_programs_unless_power_failed() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "one\n");
    fs::write(home.page_file("a"), "").unwrap();
    assert!(warnings_of(&home.put("a", "two\n")).contains("emptied by another program"));
    assert_eq!(fs::read_to_string(home.page_file("a")).unwrap(), "");
    // After an unclean end, an empty file counts as torn by a power loss and is replaced.
    daemon.kill();
    let _daemon = home.daemon();
    assert!(fs::read_to_string(home.page_file("a")).unwrap().ends_with("two\n"));
}

#[test]
fn large_indexes_are_rebuilt_in_the_background() {
    let home = TestHome::new();
    let dir = home.outside().join("vault");
    fs::create_dir_all(&dir).unwrap();
    // More pages than the daemon indexes before it is ready.
    for n in 0..1500 {
        fs::write(dir.join(format!("n{n}.md")), format!("a page about otters, number {n}\n"))
            .unwrap();
    }
    home.json(["import", dir.to_str().unwrap()]);
    home.json(["stop"]);
    fs::remove_dir_all(home.path().join("index")).unwrap();
    let _daemon = home.daemon();
    home.put("late", "a walrus, written while the index was being built\n");
    home.put("n7", "no longer about otters, but about a heron\n");
    home.json(["delete", "n8"]);
    let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    while home.json(["status"])["degraded"] != serde_json::json!([]) {
        assert!(std::time::Instant::now() < deadline, "{}", home.log());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let hit_count = |words: &str| home.json(["search", words])["hits"].as_array().unwrap().len();
    assert_eq!((hit_count("walrus"), hit_count("heron"), hit_count("\"number 1499\"")), (1, 1, 1));
    assert_eq!((hit_count("\"number 7\""), hit_count("\"number 8\"")), (0, 0));
    assert_eq!(home.json(["doctor"])["status"], "healthy");
}
