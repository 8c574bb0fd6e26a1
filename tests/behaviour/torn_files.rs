//! After a power loss, brain rewrites a torn file from its page instead of taking it for an edit.

use std::fs::{self, File};
use std::path::Path;

use brain_tests::TestHome;
use serde_json::Value;

/// Returns a page whose blocks all differ.
fn long_page(word: &str) -> String {
    (0..700).map(|n| format!("{word} line {n}.\n")).collect()
}

fn assert_file_is_complete(home: &TestHome, slug: &str) {
    let page = home.get(slug);
    assert_eq!(
        fs::read_to_string(home.page_file(slug)).unwrap(),
        page["content"].as_str().unwrap()
    );
}

fn versions(home: &TestHome, slug: &str) -> usize {
    home.json(["history", slug])["versions"].as_array().unwrap().len()
}

/// Returns the check `name` of `brain doctor`.
fn doctor_check(home: &TestHome, name: &str) -> Value {
    let doctor = home.brain(["doctor", "--json"]).json();
    doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap().clone()
}

/// A kind of damage: its name, and the function that damages a file.
type Damage = (&'static str, fn(&Path));

/// Returns the damages that a power loss can cause.
fn damages() -> Vec<Damage> {
    fn cut(file_path: &Path, len: u64) {
        File::options().write(true).open(file_path).unwrap().set_len(len).unwrap();
    }
    fn blank(file_path: &Path, from: usize, to: usize) {
        let mut bytes = fs::read(file_path).unwrap();
        bytes[from..to].fill(0);
        fs::write(file_path, bytes).unwrap();
    }
    vec![
        ("cut at a block", |file_path| cut(file_path, 4096)),
        ("cut anywhere", |file_path| cut(file_path, 5001)),
        ("emptied", |file_path| cut(file_path, 0)),
        ("gone", |file_path| fs::remove_file(file_path).unwrap()),
        ("a hole", |file_path| blank(file_path, 4096, 8192)),
        ("all zeros", |file_path| {
            let len = fs::metadata(file_path).unwrap().len() as usize;
            blank(file_path, 0, len);
        }),
    ]
}

#[test]
fn a_torn_file_never_replaces_the_acknowledged_page() {
    for watch in ["false", "true"] {
        for (name, damage) in damages() {
            let mut home = TestHome::new();
            home.env.push(("BRAIN_SOURCES_WATCH".into(), watch.into()));
            let home = home;
            let daemon = home.daemon();
            home.put("a", &long_page("basalt"));
            let acknowledged = home.get("a")["content"].clone();
            daemon.kill();
            damage(&home.page_file("a"));
            let _daemon = home.daemon();
            assert_eq!(home.json(["sync", "--source", "default"])["status"], "done", "{name}");
            assert_eq!(home.get("a")["content"], acknowledged, "{name}, watch {watch}");
            assert_eq!(home.search("basalt"), ["a"]);
            assert_eq!(versions(&home, "a"), 1, "{name}");
            assert_file_is_complete(&home, "a");
            assert_eq!(home.json(["doctor"])["status"], "healthy", "{name}");
        }
    }
}

#[test]
fn a_torn_file_of_a_former_version_is_rewritten() {
    let home = TestHome::new();
    let daemon = home.daemon();
    for word in ["basalt", "gneiss", "schist"] {
        home.put("a", &long_page(word));
    }
    let second = home.json(["get", "a", "--version", "2"])["content"].as_str().unwrap().to_owned();
    daemon.kill();
    fs::write(home.page_file("a"), &second[..4096]).unwrap();
    let _daemon = home.daemon();
    home.json(["sync", "--source", "default"]);
    assert!(home.get("a")["body"].as_str().unwrap().starts_with("schist"));
    assert_eq!(versions(&home, "a"), 3);
    assert_file_is_complete(&home, "a");
}

#[test]
fn without_a_crash_a_save_that_looks_torn_is_an_edit() {
    for shortened in ["Only the beginning", ""] {
        let home = TestHome::new();
        let daemon = home.daemon();
        home.put("a", "Something else.\n");
        fs::write(home.page_file("a"), "Only the beginning").unwrap();
        // The outbox row stays, because another program changed the file.
        assert_eq!(home.put("a", "Only the beginning of it.\n")["written"], false);
        fs::write(home.page_file("a"), shortened).unwrap();
        assert!(daemon.terminate().0.success());
        let daemon = home.daemon();
        assert_eq!(
            fs::read_to_string(home.page_file("a")).unwrap(),
            shortened,
            "the file is not repaired after a clean shutdown"
        );
        home.brain(["doctor", "--fix"]);
        assert_eq!(
            fs::read_to_string(home.page_file("a")).unwrap(),
            shortened,
            "doctor does not repair the file either"
        );
        let outbox = doctor_check(&home, "outbox");
        assert_eq!(outbox["status"], "warn");
        let message = outbox["message"].as_str().unwrap();
        assert!(
            message.contains(if shortened.is_empty() { "emptied" } else { "another program" }),
            "{message}"
        );
        drop(daemon);
    }
}

#[test]
fn a_torn_file_in_the_trash_is_rewritten_and_copies_removed() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("x", &long_page("marl"));
    let text = fs::read_to_string(home.page_file("x")).unwrap();
    home.json(["delete", "x"]);
    daemon.kill();
    let trashed = home.path().join("pages/.trash/x.md");
    assert_eq!(fs::read_to_string(&trashed).unwrap(), text);
    fs::write(&trashed, "").unwrap();
    fs::write(home.path().join("pages/.trash/x.md~1"), &text[..4096]).unwrap();
    fs::write(home.page_file("x"), &text[..8192]).unwrap();
    fs::write(home.path().join("pages/.brain-1.tmp"), &text[..100]).unwrap();
    let _daemon = home.daemon();
    home.json(["sync", "--source", "default"]);
    assert_eq!(fs::read_to_string(&trashed).unwrap(), text);
    let names = |dir: &str| {
        let entries = fs::read_dir(home.path().join(dir)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names("pages/.trash"), names("pages")),
        (vec!["x.md".into()], vec![".trash".into()])
    );
    assert_eq!(home.fault(["get", "x"], 4)["code"], "not_found");
    home.json(["restore", "x"]);
    assert_file_is_complete(&home, "x");
    assert_eq!(names("pages/.trash"), Vec::<String>::new());
}

#[test]
fn a_copy_that_a_kill_left_in_the_trash_is_removed() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("x", "One.\n");
    let former = fs::read(home.page_file("x")).unwrap();
    home.json(["delete", "x"]);
    home.put("x", "Two.\n");
    daemon.kill();
    // As if the kill had come after the new file was written.
    let trashed = home.path().join("pages/.trash/x.md");
    fs::write(&trashed, former).unwrap();
    let _daemon = home.daemon();
    home.json(["sync", "--source", "default"]);
    assert!(!trashed.exists());
    assert!(fs::read_to_string(home.page_file("x")).unwrap().ends_with("Two.\n"));
}
