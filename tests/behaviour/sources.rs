//! `sources`: directories whose slugs are independent of each other.

mod grants;
mod removal;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_base::caller::{Caller, Scope, Visibility};
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_config::Config;
use brain_core::{Brain, NoProgress};
use brain_protocol::{
    BrokenLinks, FaultCode, Origin, PageRef, Put, Request, Slug, SourceAdd, SourceDefault,
    SourceId, SourceList, SourceRemove,
};
use brain_tests::{TestHome, expect_reply, slugs, texts};
use serde_json::{Value, json};

/// Creates a directory beside the home.
fn dir(home: &TestHome, name: &str) -> PathBuf {
    let dir = home.outside().canonicalize().unwrap().join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn path_str(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns a home with the source `work`, and the directory of that source.
fn home_with_work() -> (TestHome, PathBuf) {
    let home = TestHome::new();
    let work = dir(&home, "work");
    home.json(["sources", "add", "work", "--path", path_str(&work)]);
    (home, work)
}

/// Returns the row of a source in `sources list`, or null.
fn row(home: &TestHome, id: &str) -> Value {
    let listed = home.json(["sources", "list"]);
    let rows = listed["sources"].as_array().unwrap();
    rows.iter().find(|row| row["source_id"] == id).cloned().unwrap_or(Value::Null)
}

fn put_in(home: &TestHome, source: &str, slug: &str, page: &str) -> Value {
    home.json_with(["put", slug, "--source", source], page.as_bytes())
}

#[test]
fn a_source_is_added_once_and_listed() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let work = dir(&home, "work");
    let added = home.json(["sources", "add", "work", "--path", path_str(&work)]);
    assert_eq!(
        (&added["status"], &added["source"]["path"]),
        (&json!("added"), &json!(path_str(&work)))
    );
    assert_eq!(
        home.json(["sources", "add", "work", "--path", path_str(&work)])["status"],
        "unchanged"
    );
    // Another path of the same directory.
    let detour = home.outside().join("work/../work/.");
    assert_eq!(
        home.json(["sources", "add", "work", "--path", path_str(&detour)])["status"],
        "unchanged"
    );

    let listed = home.json(["sources"]);
    assert_eq!(texts(&listed["sources"], "source_id"), ["default", "work"]);
    let default = &listed["sources"][0];
    assert_eq!(
        (&default["default"], &default["path"]),
        (&json!(true), &json!(path_str(&home.path().join("pages"))))
    );
    let row = &listed["sources"][1];
    assert_eq!(
        (&row["default"], &row["git"], &row["pages"], &row["synced_at"], &row["problem"]),
        (&json!(false), &json!(false), &json!(0), &Value::Null, &Value::Null)
    );
    assert!(row["added_at"].as_str().unwrap().ends_with('Z'), "{row}");
    put_in(&home, "work", "a", "x\n");
    fs::create_dir(home.outside().join(".git")).unwrap();
    let row = self::row(&home, "work");
    assert_eq!(
        (&row["pages"], &row["git"]),
        (&json!(1), &json!(true)),
        "the directory is in a git work tree"
    );
    assert_eq!(home.json(["status"])["sources"], 2);
    assert_eq!(home.brain(["sources", "-q"]).expect(0).stdout, "default\nwork\n");
}

#[test]
fn a_relative_path_is_relative_to_the_caller() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let work = dir(&home, "work");
    let mut command = home.command("brain");
    command.current_dir(&work).args(["--json", "sources", "add", "here", "--path", "."]);
    let added = brain_tests::run(command, b"").expect(0).json();
    assert_eq!(added["source"]["path"], path_str(&work));
}

#[test]
fn an_invalid_source_is_refused_with_a_reason() {
    let (home, work) = home_with_work();
    let file = home.outside().join("file.md");
    fs::write(&file, "x").unwrap();
    let inside = dir(&home, "work/inside");
    let link = home.outside().join("link");
    symlink(&work, &link).unwrap();
    let outside = home.outside().canonicalize().unwrap();
    let pages = home.path().join("pages");
    fs::create_dir_all(&pages).unwrap();
    let own_home = home.path().canonicalize().unwrap();
    let parent = own_home.parent().unwrap();
    for (name, path, exit, code, reason) in [
        ("none", &outside.join("none"), 4, "not_found", "ENOENT: no such file or directory"),
        ("file", &file, 2, "usage", "is not a directory"),
        ("sub", &inside, 1, "conflict", "is inside the directory of the source \"work\""),
        ("above", &outside, 1, "conflict", "contains the directory of the source \"work\""),
        ("twin", &work, 1, "conflict", "is the directory of the source \"work\""),
        ("linked", &link, 1, "conflict", "is the directory of the source \"work\""),
        ("pages", &pages, 1, "conflict", "is inside brain's own home"),
        ("own", &own_home, 1, "conflict", "is inside brain's own home"),
        ("roof", &parent.to_owned(), 1, "conflict", "contains brain's own home"),
        ("default", &dir(&home, "else"), 1, "conflict", "brain's own home"),
        ("work", &dir(&home, "else"), 1, "conflict", "the source \"work\" has the directory"),
    ] {
        let error = home.fault(["sources", "add", name, "--path", path_str(path)], exit);
        assert_eq!(error["code"], code, "{name}: {error}");
        assert!(error["message"].as_str().unwrap().contains(reason), "{name}: {error}");
        assert!(error["hint"].is_string(), "{name}: {error}");
    }
    // A path that begins with another source's path is no overlap.
    home.json(["sources", "add", "work-2", "--path", path_str(&dir(&home, "work-2"))]);
    assert_eq!(
        home.fault(["sources", "add", "Bad_Name", "--path", "."], 2)["code"],
        "invalid_source"
    );
    for args in [
        &["sources", "add", "x"][..],
        &["sources", "add"],
        &["sources", "remove"],
        &["sources", "list", "work"],
        &["sources", "list", "--yes"],
        &["sources", "default", "--path", "."],
    ] {
        assert_eq!(home.fault(args, 2)["code"], "usage", "{args:?}");
    }
    assert_eq!(
        texts(&home.json(["sources"])["sources"], "source_id"),
        ["default", "work", "work-2"]
    );
}

#[test]
fn a_source_is_added_and_synchronised_by_its_name() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let work = dir(&home, "work");
    fs::write(work.join("plan.md"), "# Plan\n").unwrap();
    let path = path_str(&work);
    let added = home.brain(["sources", "add", "work", path]).expect(0);
    assert!(added.stderr.contains("brain sync work"), "{added:?}");
    assert_eq!(home.json(["sources", "add", "work", "--path", path])["status"], "unchanged");
    assert_eq!(home.json(["sync", "work"])["sources"][0]["source_id"], "work");
    assert_eq!(home.json(["get", "work:plan"])["title"], "Plan");

    for (args, hint) in [
        (&["sync", path][..], "brain sync work".to_owned()),
        (&["sync", "./nowhere"], "brain sources add NAME ./nowhere".to_owned()),
        (&["sources", "add", path], format!("brain sources add work {path}")),
        (&["sources", "add", "notes"], "brain sources add notes ~/vaults/notes".to_owned()),
    ] {
        let fault = home.fault(args, 2);
        assert_eq!(fault["code"], "usage", "{args:?}");
        assert!(fault["hint"].as_str().unwrap().contains(&hint), "{args:?}: {fault}");
    }
    for args in [
        &["sync", "work", "--source", "work"][..],
        &["sync", "work", "--all"],
        &["sources", "add", "more", path, "--path", path],
        &["sources", "set", "work", path],
    ] {
        assert_eq!(home.fault(args, 2)["code"], "usage", "{args:?}");
    }
    assert_eq!(home.fault(["sync", "nothing"], 4)["code"], "unknown_source");
}

#[test]
fn the_number_of_pages_follows_every_change() {
    let (home, work) = home_with_work();
    let daemon = home.daemon();
    let pages = || ["default", "work"].map(|id| row(&home, id)["pages"].as_u64().unwrap());
    assert_eq!(pages(), [0, 0]);
    home.put("a", "one\n");
    home.put("a", "two\n");
    put_in(&home, "work", "b", "three\n");
    fs::write(work.join("c.md"), "four\n").unwrap();
    home.json(["sync", "work"]);
    assert_eq!(pages(), [1, 2]);
    home.json(["mv", "work:b", "d"]);
    home.json(["delete", "work:c"]);
    assert_eq!(pages(), [1, 1]);
    home.json(["restore", "work:c"]);
    home.json(["purge", "a", "--now", "--yes"]);
    assert_eq!(pages(), [0, 2]);
    drop(daemon);
    let _daemon = home.daemon();
    assert_eq!(pages(), [0, 2]);
}

#[test]
fn one_slug_in_two_sources_is_two_pages_for_every_command() {
    let (home, work) = home_with_work();
    let default_page = home.put(
        "people/ann",
        "---\ntitle: Ann at home\ntags: [home]\n---\nzebra [[notes/here]]\n\n- 2024-01-02 | at \
            home\n",
    );
    let work_page = put_in(
        &home,
        "work",
        "people/ann",
        "---\ntitle: Ann at work\ntags: [office]\n---\nzebra [[notes/there]] [[Bob]]\n\n- \
            2024-01-02 | at work\n",
    );
    put_in(&home, "work", "people/bob", "[[people/ann]] [[default:people/ann]]\n");
    assert_eq!(default_page["source_id"], "default");
    assert_eq!(
        (&work_page["source_id"], &work_page["path"]),
        (&json!("work"), &json!(path_str(&work.join("people/ann.md"))))
    );
    assert!(fs::read_to_string(work.join("people/ann.md")).unwrap().contains("Ann at work"));
    assert!(fs::read_to_string(home.page_file("people/ann")).unwrap().contains("Ann at home"));

    let in_work = |args: &[&str]| home.json(args.iter().copied().chain(["--source", "work"]));
    assert_eq!(home.get("people/ann")["title"], "Ann at home");
    assert_eq!(in_work(&["get", "people/ann"])["title"], "Ann at work");
    assert_eq!(texts(&home.json(["search", "zebra"])["hits"], "source_id").len(), 2);
    assert_eq!(texts(&in_work(&["search", "zebra"])["hits"], "title"), ["Ann at work"]);
    assert_eq!(home.json(["search", "zebra source:work"])["hits"].as_array().unwrap().len(), 1);
    assert_eq!(
        home.json(["list"])["pages"].as_array().unwrap().len(),
        3,
        "a list covers all sources"
    );
    assert_eq!(slugs(&in_work(&["list", "--sort", "slug"])["pages"]), ["people/ann", "people/bob"]);
    assert_eq!(texts(&home.json(["tags"])["tags"], "tag"), ["home", "office"]);
    assert_eq!(texts(&in_work(&["tags"])["tags"], "tag"), ["office"]);
    assert_eq!(
        in_work(&["tags", "people/ann", "--add", "lead"])["tags"],
        json!(["office", "lead"])
    );
    assert_eq!(home.json(["tags", "people/ann"])["tags"], json!(["home"]));
    assert_eq!(
        texts(&in_work(&["links", "people/ann"])["links"], "target"),
        ["notes/there", "Bob"]
    );
    assert_eq!(
        in_work(&["links", "people/ann"])["links"][1]["slug"],
        "people/bob",
        "a name is resolved in its own source"
    );
    assert_eq!(texts(&home.json(["links", "people/ann"])["links"], "target"), ["notes/here"]);
    let backlinks = home.json(["backlinks", "people/ann"]);
    assert_eq!(
        texts(&backlinks["links"], "source_id"),
        ["work"],
        "only the link that names the source: {backlinks}"
    );
    assert_eq!(slugs(&in_work(&["backlinks", "people/ann"])["links"]), ["people/bob"]);
    let graph = in_work(&["graph", "people/ann"]);
    assert_eq!(texts(&graph["nodes"], "source_id"), ["work", "work"], "{graph}");
    assert_eq!(texts(&in_work(&["timeline"])["entries"], "text"), ["at work"]);
    assert_eq!(texts(&in_work(&["timeline", "people/ann"])["entries"], "text"), ["at work"]);
    assert_eq!(in_work(&["link", "people/ann", "people/bob"])["live"], true);
    assert_eq!(home.json(["link", "people/ann", "people/bob"])["live"], false);
    assert_eq!(in_work(&["history", "people/ann"])["versions"].as_array().unwrap().len(), 3);
    assert_eq!(home.json(["history", "people/ann"])["versions"].as_array().unwrap().len(), 2);
    assert_eq!(in_work(&["revert", "people/ann", "1"])["source_id"], "work");
    assert_eq!(in_work(&["get", "people/ann"])["tags"], json!(["office"]));

    let deleted = in_work(&["delete", "people/ann"]);
    assert_eq!(deleted["source_id"], "work");
    assert!(work.join(".trash/people/ann.md").exists() && !work.join("people/ann.md").exists());
    assert!(home.page_file("people/ann").exists());
    assert_eq!(home.get("people/ann")["title"], "Ann at home");
    let fault = home.fault(["get", "people/ann", "--source", "work"], 4);
    assert!(fault["hint"].as_str().unwrap().contains("brain restore work:people/ann"), "{fault}");
    assert_eq!(
        home.fault(["restore", "people/ann"], 1)["code"],
        "already_active",
        "the name means the page of the default source"
    );
    assert_eq!(in_work(&["restore", "people/ann"])["path"], path_str(&work.join("people/ann.md")));
    assert_eq!(in_work(&["get", "people/ann"])["title"], "Ann at work");
}

#[test]
fn the_same_capture_makes_a_page_in_each_source() {
    let (home, work) = home_with_work();
    let default_page = home.json(["capture", "one thought"]);
    let work_page = home.json(["capture", "one thought", "--source", "work"]);
    assert_eq!(default_page["slug"], work_page["slug"]);
    assert_eq!(
        (&work_page["status"], &work_page["source_id"]),
        (&json!("created"), &json!("work"))
    );
    let file = work.join(format!("{}.md", work_page["slug"].as_str().unwrap()));
    assert!(fs::read_to_string(file).unwrap().trim_end().ends_with("one thought"));
    assert_eq!(home.json(["capture", "one thought", "--source", "work"])["duplicate"], true);
    let message = home
        .brain(["delete", work_page["slug"].as_str().unwrap(), "--source", "work"])
        .expect(0)
        .stdout;
    assert!(message.contains("brain restore work:"), "the hint names the source: {message}");
}

#[test]
fn the_configured_source_is_used_when_none_is_named() {
    let (home, work) = home_with_work();
    assert_eq!(home.json(["sources", "default"])["source"]["source_id"], "default");
    let chosen = home.json(["sources", "default", "work"]);
    assert_eq!(
        (&chosen["status"], &chosen["source"]["default"]),
        (&json!("default"), &json!(true))
    );
    assert_eq!(home.json(["sources", "default", "work"])["status"], "unchanged");
    assert_eq!(home.json(["sources", "default"])["source"]["source_id"], "work");
    assert_eq!(
        (&row(&home, "default")["default"], &row(&home, "work")["default"]),
        (&json!(false), &json!(true))
    );

    let captured = home.json(["capture", "thought"]);
    assert_eq!(captured["source_id"], "work");
    home.put("a", "at work\n");
    assert!(work.join("a.md").exists() && !home.page_file("a").exists());
    assert_eq!(home.get("a")["source_id"], "work");
    put_in(&home, "default", "a", "at home\n");
    assert_eq!(
        home.json(["search", "home"])["hits"][0]["source_id"],
        "default",
        "a search covers all sources"
    );
    home.json(["delete", "a"]);
    assert_eq!(home.json(["get", "a", "--source", "default"])["body"], "at home\n");
    home.json(["restore", "a"]);
    let vault = dir(&home, "vault");
    fs::write(vault.join("b.md"), "imported\n").unwrap();
    home.json(["import", path_str(&vault)]);
    assert_eq!(home.get("b")["source_id"], "work");
    assert_eq!(home.fault(["sources", "default", "nowhere"], 4)["code"], "unknown_source");

    let removed = home.json(["sources", "remove", "work", "--yes"]);
    assert!(removed["warnings"][0].as_str().unwrap().contains("\"default\" again"), "{removed}");
    assert_eq!(home.json(["sources", "default"])["source"]["source_id"], "default");
    assert_eq!(home.get("a")["body"], "at home\n");
}

#[test]
fn a_missing_directory_is_reported_and_not_created() {
    let (home, work) = home_with_work();
    put_in(&home, "work", "a", "one\n");
    let away = home.outside().join("unmounted");
    fs::rename(&work, &away).unwrap();
    let stored = put_in(&home, "work", "b", "two\n");
    assert_eq!(stored["written"], false);
    assert!(stored["warnings"][0].as_str().unwrap().contains("is not there"), "{stored}");
    assert!(!work.exists());
    assert!(row(&home, "work")["problem"].as_str().unwrap().contains("is not there"));
    let doctor = home.brain(["doctor", "--json"]).expect(1).json();
    let check = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["name"] == "sources")
        .unwrap()
        .clone();
    assert_eq!(
        (&check["status"], &check["hint"]),
        (&json!("fail"), &json!("brain sources list")),
        "{check}"
    );
    assert!(check["message"].as_str().unwrap().contains("work"), "{check}");
    fs::rename(&away, &work).unwrap();
    home.json(["doctor", "--fix"]);
    assert!(fs::read_to_string(work.join("b.md")).unwrap().ends_with("two\n"));
    assert_eq!(row(&home, "work")["problem"], Value::Null);
}

#[test]
fn a_file_in_place_of_the_directory_is_called_no_directory() {
    let (home, work) = home_with_work();
    put_in(&home, "work", "a", "one\n");
    fs::rename(&work, home.outside().join("elsewhere")).unwrap();
    fs::write(&work, "a file").unwrap();
    let problem = row(&home, "work")["problem"].as_str().unwrap().to_owned();
    assert_eq!(problem, format!("{} is no directory", work.display()));
}

/// The file on the disk has neither the newest text nor the first one.
#[test]
fn a_directory_that_reappears_gets_the_newest_text() {
    let (home, work) = home_with_work();
    let write = |numbers: std::ops::Range<u32>| {
        numbers.for_each(|n| _ = put_in(&home, "work", "a", &format!("text {n}\n")));
    };
    write(0..20);
    let away = home.outside().join("unmounted");
    fs::rename(&work, &away).unwrap();
    write(20..40);
    fs::rename(&away, &work).unwrap();
    assert!(fs::read_to_string(work.join("a.md")).unwrap().ends_with("text 19\n"));
    home.json(["doctor", "--fix"]);
    assert!(fs::read_to_string(work.join("a.md")).unwrap().ends_with("text 39\n"));
    home.json(["sync", "--source", "work"]);
    assert_eq!(home.json(["get", "a", "--source", "work"])["body"], "text 39\n");
}

#[test]
fn a_source_is_not_imported_into_itself() {
    let (home, work) = home_with_work();
    fs::write(work.join("Big Idea.md"), "x\n").unwrap();
    for path in [&work, &home.outside()] {
        let error = home.fault(["import", path_str(path), "--source", "work"], 2);
        assert!(error["hint"].as_str().unwrap().contains("brain sync --source work"), "{error}");
    }
    assert!(!work.join("big-idea.md").exists());
    home.json(["import", path_str(&work)]);
    assert!(home.page_file("big-idea").exists(), "the file can be imported into another source");
}

#[test]
fn sources_survive_a_kill() {
    let home = TestHome::new();
    let work = dir(&home, "work");
    let daemon = home.daemon();
    home.json(["sources", "add", "work", "--path", path_str(&work)]);
    home.json(["sources", "default", "work"]);
    home.put("a", "walrus\n");
    daemon.kill();
    let daemon = home.daemon();
    assert_eq!(home.get("a")["source_id"], "work");
    home.json(["sources", "remove", "work", "--yes"]);
    daemon.kill();
    let _daemon = home.daemon();
    assert!(home.search("walrus").is_empty());
    assert_eq!(texts(&home.json(["sources"])["sources"], "source_id"), ["default"]);
    assert!(work.join("a.md").exists());
}
