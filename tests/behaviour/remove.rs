//! `delete` and `restore`: deleted pages are hidden and can be restored.

use std::fs;

use brain_tests::{TestHome, slugs};
use serde_json::json;

#[test]
fn a_deleted_page_is_hidden_and_its_file_is_in_the_trash() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "---\ntags: [t]\n---\nUnmistakable zebra\n\n- 2024-01-02 | Zebra seen\n");
    home.put("b", "[[a]]\n");
    let text = fs::read(home.page_file("a")).unwrap();
    let deleted = home.json(["delete", "a"]);
    assert_eq!((&deleted["status"], &deleted["slug"]), (&json!("soft_deleted"), &json!("a")));
    let until = deleted["recoverable_until"].as_str().unwrap();
    assert!(until.ends_with('Z') && until.len() == 24, "{until}");

    assert!(!home.page_file("a").exists());
    assert_eq!(fs::read(home.path().join("pages/.trash/a.md")).unwrap(), text);
    assert_eq!(home.fault(["get", "a"], 4)["code"], "not_found");
    let hint = home.fault(["get", "a"], 4)["hint"].as_str().unwrap().to_owned();
    // The time zone of the tests is UTC.
    let minute = until[..16].replace('T', " ");
    assert!(hint.contains("brain restore a") && hint.contains(&minute), "{hint}");
    assert_eq!(slugs(&home.json(["list"])["pages"]), ["b"]);
    assert!(home.search("zebra").is_empty());
    assert_eq!(home.json(["tags"])["tags"], json!([]));
    assert_eq!(home.json(["timeline"])["entries"], json!([]));
    assert_eq!(home.json(["links", "b"])["links"][0]["status"], "missing");
    assert_eq!(slugs(&home.json(["graph", "b"])["nodes"]), ["b"]);
    for args in [
        &["history", "a"][..],
        &["links", "a"],
        &["backlinks", "a"],
        &["graph", "a"],
        &["timeline", "a"],
    ] {
        assert_eq!(home.fault(args, 4)["code"], "not_found", "{args:?}");
    }
    let status = home.json(["status"]);
    assert_eq!((&status["pages"], &status["deleted"]), (&json!(1), &json!(1)));
    let listed = home.json(["list", "--deleted"]);
    assert_eq!(slugs(&listed["pages"]), ["a"]);
    assert_eq!(listed["pages"][0]["recoverable_until"], until);
}

#[test]
fn a_restored_page_has_its_file_links_tags_and_versions() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "first\n");
    home.put("a", "---\ntags: [t]\n---\nUnmistakable zebra\n\n- 2024-01-02 | Zebra seen\n");
    home.put("b", "[[a]]\n");
    let (before, text) = (home.get("a"), fs::read(home.page_file("a")).unwrap());
    home.json(["delete", "a"]);
    let restored = home.json(["restore", "a"]);
    assert_eq!(restored["status"], "restored");
    assert_eq!(restored["path"], home.page_file("a").to_str().unwrap());
    assert_eq!(home.get("a"), before);
    assert_eq!(fs::read(home.page_file("a")).unwrap(), text);
    assert!(!home.path().join("pages/.trash/a.md").exists());
    assert_eq!(home.search("zebra"), ["a"]);
    assert_eq!(home.json(["tags"])["tags"][0]["tag"], "t");
    assert_eq!(home.json(["timeline"])["entries"][0]["text"], "Zebra seen");
    assert_eq!(home.json(["links", "b"])["links"][0]["status"], "live");
    assert_eq!(home.json(["history", "a"])["versions"].as_array().unwrap().len(), 2);
}

#[test]
fn deleted_active_and_missing_pages_have_different_errors() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "x\n");
    assert_eq!(home.fault(["restore", "a"], 1)["code"], "already_active");
    home.json(["delete", "a"]);
    assert_eq!(home.fault(["delete", "a"], 1)["code"], "already_soft_deleted");
    assert_eq!(home.fault(["delete", "never"], 4)["code"], "not_found");
    assert_eq!(home.fault(["restore", "never"], 4)["code"], "not_found");
}

#[test]
fn a_put_to_a_deleted_slug_restores_the_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "old giraffe\n");
    home.json(["delete", "a"]);
    let put = home.put("a", "new giraffe\n");
    assert_eq!(put["status"], "restored");
    assert_eq!(home.get("a")["body"], "new giraffe\n");
    assert_eq!(home.search("giraffe"), ["a"]);
    assert_eq!(
        home.json(["get", "a", "--version", "1"])["body"],
        "old giraffe\n",
        "the deleted text is a version"
    );
    assert!(home.page_file("a").exists());
    home.json(["delete", "a"]);
    assert_eq!(
        home.put("a", "new giraffe\n")["status"],
        "restored",
        "putting the deleted text restores the page"
    );
    assert_eq!(home.fault(["restore", "a"], 1)["code"], "already_active");
}

#[test]
fn an_import_to_a_deleted_slug_restores_the_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("a.md"), "imported\n").unwrap();
    home.json(["import", dir.to_str().unwrap()]);
    home.json(["delete", "a"]);
    let again = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!((&again["restored"], &again["updated"]), (&json!(1), &json!(0)));
    assert_eq!(home.get("a")["body"], "imported\n");
}

#[test]
fn a_page_deleted_twice_is_restored_with_its_last_text() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "one\n");
    home.json(["delete", "a"]);
    home.put("a", "two\n");
    home.json(["delete", "a"]);
    assert_eq!(home.json(["restore", "a"])["status"], "restored");
    let page = home.get("a");
    assert_eq!(page["body"], "two\n");
    assert_eq!(fs::read_to_string(home.page_file("a")).unwrap(), page["content"].as_str().unwrap());
}

#[test]
fn a_deleted_page_keeps_its_folder_in_the_trash() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("deep/er/page", "x\n");
    home.json(["delete", "deep/er/page"]);
    assert!(home.path().join("pages/.trash/deep/er/page.md").exists());
    home.json(["restore", "deep/er/page"]);
    assert!(home.page_file("deep/er/page").exists());
}

#[test]
fn a_delete_and_a_restore_survive_sigkill() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "walrus\n");
    home.json(["delete", "a"]);
    daemon.kill();
    let daemon = home.daemon();
    assert_eq!(home.fault(["delete", "a"], 1)["code"], "already_soft_deleted");
    assert!(home.search("walrus").is_empty());
    home.json(["restore", "a"]);
    daemon.kill();
    let _daemon = home.daemon();
    assert_eq!(home.get("a")["body"], "walrus\n");
    assert_eq!(home.search("walrus"), ["a"]);
    assert!(home.page_file("a").exists());
}

#[test]
fn all_texts_state_the_end_of_recovery_in_local_time() {
    let mut home = TestHome::new();
    home.env.push(("TZ".into(), "TEST-5:30".into()));
    let _daemon = home.daemon();
    home.put("notes/a", "text\n");
    let text = home.brain(["delete", "notes/a"]).expect(0).stdout;
    let (_, rest) = text.split_once("restore it until ").unwrap();
    let (until, _) = rest.split_once(": ").unwrap();
    for args in [["get", "notes/a"], ["delete", "notes/a"]] {
        let refused = home.brain(args);
        assert!(refused.stderr.contains(&format!("brings it back until {until}\n")), "{refused:?}");
    }
}
