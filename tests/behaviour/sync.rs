//! `sync`: pages follow files that are added, changed, moved and removed, and the files themselves
//! are left alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::{Daemon, TestHome, slugs, texts};
use serde_json::{Value, json};

/// Returns a home, its daemon, and the directory of the empty source `notes`.
pub(crate) fn home_with_notes() -> (TestHome, Daemon, PathBuf) {
    let home = TestHome::new();
    let daemon = home.daemon();
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    (home, daemon, notes)
}

pub(crate) fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let file_path = dir.join(name);
    fs::create_dir_all(file_path.parent().unwrap()).unwrap();
    fs::write(file_path, content).unwrap();
}

/// Runs `brain sync --source notes` with `flags` and expects the exit code `code`. Returns the
/// report on the source.
pub(crate) fn sync_with(home: &TestHome, flags: &[&str], code: i32) -> Value {
    let args = ["sync", "--json", "--source", "notes"].iter().chain(flags);
    let reply = home.brain(args).expect(code).json();
    assert_eq!(reply["sources"].as_array().unwrap().len(), 1, "{reply}");
    reply["sources"][0].clone()
}

pub(crate) fn sync(home: &TestHome) -> Value {
    sync_with(home, &[], 0)
}

/// Returns the report's counts of changes that are not 0.
pub(crate) fn changes(report: &Value) -> BTreeMap<String, u64> {
    ["added", "updated", "restored", "renamed", "removed", "held_back", "failed_total"]
        .into_iter()
        .map(|name| (name.to_owned(), report[name].as_u64().unwrap()))
        .filter(|(_, n)| *n > 0)
        .collect()
}

#[track_caller]
pub(crate) fn assert_changes(report: &Value, expected: &[(&str, u64)]) {
    let expected = expected.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    assert_eq!(changes(report), expected, "{report}");
}

pub(crate) fn get_note(home: &TestHome, slug: &str) -> Value {
    home.json(["get", slug, "--source", "notes"])
}

pub(crate) fn listed_slugs(home: &TestHome) -> Vec<String> {
    slugs(&home.json(["list", "--source", "notes", "--sort", "slug", "--limit", "1000"])["pages"])
}

pub(crate) fn version_count(home: &TestHome, slug: &str) -> usize {
    home.json(["history", slug, "--source", "notes"])["versions"].as_array().unwrap().len()
}

/// Returns the paths of the failed files with the reasons.
pub(crate) fn reasons(report: &Value) -> BTreeMap<String, String> {
    texts(&report["failed"], "path").into_iter().zip(texts(&report["failed"], "reason")).collect()
}

/// Returns the files below a directory with their bytes.
pub(crate) fn bytes_below(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            found.insert(
                path.strip_prefix(dir).unwrap().display().to_string(),
                fs::read(&path).unwrap(),
            );
        }
    }
    found
}

#[test]
fn pages_follow_added_changed_moved_and_removed_files() {
    let (home, _daemon, notes) = home_with_notes();
    write(
        &notes,
        "harbour.md",
        "---\ntitle: Harbour\ntags: [sea]\n---\nThe word is quartz. See [[deep/ann]].\n",
    );
    write(&notes, "deep/Ann.md", "# Ann\n\nAnn knows the [harbour](../harbour.md).\n");
    write(&notes, "old.md", "Nobody needs basalt.\n");
    write(&notes, "picture.png", "no page");
    let report = sync(&home);
    assert_changes(&report, &[("added", 3)]);
    assert_eq!(
        (&report["status"], &report["files"], &report["pull"]["status"]),
        (&json!("done"), &json!(3), &json!("skipped"))
    );
    assert_eq!(listed_slugs(&home), ["deep/ann", "harbour", "old"]);
    let page = get_note(&home, "harbour");
    assert_eq!(
        (&page["title"], &page["tags"], &page["source_kind"]),
        (&json!("Harbour"), &json!(["sea"]), &json!("sync"))
    );
    let uri = format!("file://{}", notes.join("harbour.md").display());
    assert_eq!((&page["source_uri"], &page["source_path"]), (&json!(uri), &json!("harbour.md")));
    assert_eq!(home.search("quartz"), ["harbour"]);

    // Without changes, all counts are 0.
    let before = bytes_below(&notes);
    let second_report = sync(&home);
    assert_changes(&second_report, &[]);
    assert_eq!(second_report["unchanged"], 3);
    assert_changes(&sync_with(&home, &["--full"], 0), &[]);
    assert_eq!(bytes_below(&notes), before, "no file was touched");

    write(&notes, "harbour.md", "---\ntitle: Harbour\n---\nThe word is gneiss.\n");
    fs::remove_file(notes.join("old.md")).unwrap();
    fs::create_dir_all(notes.join("people")).unwrap();
    fs::rename(notes.join("deep/Ann.md"), notes.join("people/Ann Lee.md")).unwrap();
    write(&notes, "new.markdown", "Fresh schist.\n");
    let report = sync(&home);
    assert_changes(&report, &[("added", 1), ("updated", 1), ("removed", 1), ("renamed", 1)]);
    assert_eq!(listed_slugs(&home), ["harbour", "new", "people/ann-lee"]);
    assert_eq!((home.search("quartz").len(), home.search("basalt").len()), (0, 0));
    assert_eq!(
        (home.search("gneiss"), home.search("schist")),
        (vec!["harbour".into()], vec!["new".into()])
    );
    assert_eq!(version_count(&home, "harbour"), 2);
    assert_eq!(home.fault(["get", "old", "--source", "notes"], 4)["code"], "not_found");
    // A file that reappears restores its page with its versions.
    write(&notes, "old.md", "Nobody needs basalt.\n");
    assert_changes(&sync(&home), &[("restored", 1)]);
    assert_eq!((home.search("basalt"), version_count(&home, "old")), (vec!["old".to_owned()], 1));
    fs::remove_file(notes.join("old.md")).unwrap();
    assert_changes(&sync(&home), &[("removed", 1)]);
    write(&notes, "old.md", "Somebody needs basalt.\n");
    assert_changes(&sync(&home), &[("restored", 1)]);
    assert_eq!(
        (version_count(&home, "old"), &get_note(&home, "old")["body"]),
        (2, &json!("Somebody needs basalt.\n"))
    );
}

#[test]
fn a_renamed_page_keeps_its_history_and_its_links() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "a/plan.md", "First.\n");
    write(&notes, "a/sibling.md", "I am near.\n");
    sync(&home);
    write(&notes, "a/plan.md", "Second. See [near](sibling.md).\n");
    sync(&home);
    let before = get_note(&home, "a/plan");
    fs::create_dir_all(notes.join("b")).unwrap();
    fs::rename(notes.join("a/plan.md"), notes.join("b/Plan.md")).unwrap();
    write(&notes, "b/sibling.md", "I am far.\n");
    let report = sync(&home);
    assert_changes(&report, &[("renamed", 1), ("added", 1)]);
    let after = get_note(&home, "b/plan");
    assert_eq!(after["created_at"], before["created_at"]);
    assert_eq!(after["source_uri"], json!(format!("file://{}", notes.join("b/Plan.md").display())));
    assert_eq!(version_count(&home, "b/plan"), 2);
    let links = home.json(["links", "b/plan", "--source", "notes"]);
    assert_eq!(
        slugs(&links["links"]),
        ["b/sibling"],
        "the link is resolved in the new directory: {links}"
    );
    assert_eq!(home.search("Second"), ["b/plan"]);
    assert_eq!(home.fault(["get", "a/plan", "--source", "notes"], 4)["code"], "not_found");

    // Renames of case and extension only: the page stays the same.
    fs::rename(notes.join("b/Plan.md"), notes.join("b/plan.mdx")).unwrap();
    assert_changes(&sync(&home), &[("renamed", 1)]);
    assert_eq!(
        (version_count(&home, "b/plan"), &get_note(&home, "b/plan")["source_path"]),
        (2, &json!("b/plan.mdx"))
    );
    // Another name and another text with the same slug: the page stays the same.
    fs::remove_file(notes.join("b/plan.mdx")).unwrap();
    write(&notes, "b/PLAN.md", "Third.\n");
    assert_changes(&sync(&home), &[("updated", 1)]);
    assert_eq!(
        (version_count(&home, "b/plan"), &get_note(&home, "b/plan")["source_path"]),
        (3, &json!("b/PLAN.md"))
    );
    // A renamed directory.
    fs::rename(notes.join("b"), notes.join("c")).unwrap();
    assert_changes(&sync(&home), &[("renamed", 2)]);
    assert_eq!(listed_slugs(&home), ["a/sibling", "c/plan", "c/sibling"]);
    // Two files with equal text: their renames are ambiguous, so the pages are new.
    write(&notes, "d/one.md", "Twin.\n");
    write(&notes, "d/two.md", "Twin.\n");
    sync(&home);
    fs::rename(notes.join("d/one.md"), notes.join("d/three.md")).unwrap();
    fs::rename(notes.join("d/two.md"), notes.join("d/four.md")).unwrap();
    assert_changes(&sync(&home), &[("added", 2), ("removed", 2)]);
    // If the files keep their names, the renames are clear.
    fs::rename(notes.join("d"), notes.join("e")).unwrap();
    assert_changes(&sync(&home), &[("renamed", 2)]);
}

#[test]
fn names_that_differ_in_signs_get_pages_with_stable_slugs() {
    let (home, _daemon, notes) = home_with_notes();
    for entry in fs::read_dir(&notes).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::remove_file(path).unwrap();
        } else {
            fs::remove_dir_all(path).unwrap();
        }
    }
    sync(&home);
    write(&notes, "C++.md", "Plus.\n");
    sync(&home);
    assert_eq!(listed_slugs(&home), ["c"]);
    let names = ["C.md", "C#.md", "???.md", "AT&T.md", "ATT.md", "a b.md", "A-B.md", "x/!.md"];
    for name in names {
        write(&notes, name, format!("Text of {name}.\n"));
    }
    sync(&home);
    let slugs = listed_slugs(&home);
    assert_eq!(slugs.len(), names.len() + 1, "{slugs:?}");
    assert!(slugs.iter().all(|slug| !slug.starts_with('-')), "{slugs:?}");
    assert_eq!(get_note(&home, "c")["source_path"], "C++.md", "a page keeps its slug");
    assert_eq!(get_note(&home, "att")["source_path"], "ATT.md");
    for name in names {
        write(&notes, name, format!("New text of {name}.\n"));
    }
    assert_changes(&sync(&home), &[("updated", names.len() as u64)]);
    assert_eq!(listed_slugs(&home), slugs);
}

#[test]
fn files_with_unusual_names_keep_their_names() {
    let (home, _daemon, notes) = home_with_notes();
    for (name, slug) in [
        ("Meeting Notes (May).md", "meeting-notes-may"),
        ("日本語 メモ.md", "日本語-メモ"),
        ("UPPER/Case.MD", "upper/case"),
        ("page.mdx", "page"),
        ("Ünïcode/ÉTÉ.markdown", "ünïcode/été"),
        ("cafe\u{301}.md", "café"),
        (" spaced .md", "spaced"),
    ] {
        write(&notes, name, format!("The file {name} became {slug}.\n"));
    }
    let before = bytes_below(&notes);
    let report = sync(&home);
    assert_changes(&report, &[("added", 7)]);
    assert_eq!(get_note(&home, "日本語-メモ")["source_path"], "日本語 メモ.md");
    assert_eq!(get_note(&home, "café")["source_path"], "cafe\u{301}.md");
    assert_eq!(get_note(&home, "upper/case")["source_path"], "UPPER/Case.MD");
    // A page that is changed in brain is written to its own file, not to a second one.
    home.json_with(["put", "upper/case", "--source", "notes"], b"Changed here.\n");
    assert_eq!(bytes_below(&notes).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(fs::read_to_string(notes.join("UPPER/Case.MD")).unwrap().ends_with("Changed here.\n"));
    let after = bytes_below(&notes);
    let report = sync(&home);
    assert_changes(&report, &[]);
    assert_eq!((&report["unchanged"], bytes_below(&notes) == after), (&json!(7), true));
    assert_eq!(version_count(&home, "upper/case"), 2);
}

#[test]
fn a_file_from_another_operating_system_keeps_every_byte() {
    let (home, _daemon, notes) = home_with_notes();
    let text = "\u{FEFF}---\r\ntitle: Windows\r\ntags: [a]\r\n---\r\n\r\nA line.\r\nAnother one \
        with feldspar.\r\n";
    write(&notes, "win.md", text);
    let assert_unchanged = |when: &str| {
        assert_eq!(fs::read(notes.join("win.md")).unwrap(), text.as_bytes(), "{when}");
    };
    assert_changes(&sync(&home), &[("added", 1)]);
    assert_unchanged("after a sync");
    let page = get_note(&home, "win");
    assert_eq!(
        (&page["title"], &page["body"]),
        (&json!("Windows"), &json!("A line.\r\nAnother one with feldspar.\r\n"))
    );
    assert_changes(&sync_with(&home, &["--full"], 0), &[]);
    assert_unchanged("after a full sync");
    home.json(["delete", "win", "--source", "notes"]);
    assert!(!notes.join("win.md").exists());
    assert_eq!(fs::read(notes.join(".trash/win.md")).unwrap(), text.as_bytes());
    assert_changes(&sync(&home), &[]);
    assert_eq!(listed_slugs(&home), Vec::<String>::new());
    home.json(["restore", "win", "--source", "notes"]);
    assert_unchanged("after delete and restore");
    assert!(!notes.join(".trash/win.md").exists());
    assert_changes(&sync(&home), &[]);
    assert_eq!((home.search("feldspar"), version_count(&home, "win")), (vec!["win".to_owned()], 1));
    // The file is moved away and back by hand.
    fs::rename(notes.join("win.md"), notes.join("moved.md")).unwrap();
    assert_changes(&sync(&home), &[("renamed", 1)]);
    assert_eq!(fs::read(notes.join("moved.md")).unwrap(), text.as_bytes());
}

#[test]
fn the_daemons_own_writes_are_no_changes() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "mine.md", "Text of mine.\n");
    sync(&home);
    // A page that is put into the source has a file with the same text.
    home.json_with(["put", "here", "--source", "notes"], b"Put here.\n");
    home.json_with(["put", "mine", "--source", "notes"], b"Put over mine.\n");
    home.json(["tags", "mine", "--add", "new", "--source", "notes"]);
    let report = sync(&home);
    assert_changes(&report, &[]);
    assert_eq!(
        (&report["files"], &report["unchanged"], &report["conflicts"]),
        (&json!(2), &json!(2), &json!([]))
    );
    assert_eq!(version_count(&home, "mine"), 3);
    // A page that is deleted in brain stays deleted.
    home.json(["delete", "here", "--source", "notes"]);
    home.json(["delete", "mine", "--source", "notes"]);
    for _ in 0..2 {
        assert_changes(&sync_with(&home, &["--full"], 0), &[]);
        assert_eq!(listed_slugs(&home), Vec::<String>::new());
    }
    // A file that is moved out of the trash by hand restores its page.
    fs::rename(notes.join(".trash/here.md"), notes.join("here.md")).unwrap();
    assert_changes(&sync(&home), &[("restored", 1)]);
    assert_eq!(listed_slugs(&home), ["here"]);
}

#[test]
fn the_pages_of_the_home_are_a_source_too() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    assert_eq!(home.json(["sync"])["status"], "done", "syncing a home without pages succeeds");
    home.put("people/ann", "---\ntitle: Ann\n---\nAnn likes marl.\n");
    home.put("people/bob", "Bob.\n");
    let page = fs::read_to_string(home.page_file("people/ann")).unwrap();
    fs::write(home.page_file("people/ann"), page.replace("marl", "loess")).unwrap();
    fs::remove_file(home.page_file("people/bob")).unwrap();
    write(&home.path().join("pages"), "people/Cy Ng.md", "Written by hand.\n");
    let reply = home.json(["sync"]);
    assert_changes(&reply["sources"][0], &[("updated", 1), ("removed", 1), ("added", 1)]);
    assert_eq!(reply["sources"][0]["conflicts"], json!([]), "no page was changed in brain");
    assert_eq!(
        (home.search("loess"), home.search("marl").len()),
        (vec!["people/ann".to_owned()], 0)
    );
    assert_eq!(
        slugs(&home.json(["list", "--sort", "slug"])["pages"]),
        ["people/ann", "people/cy-ng"]
    );
    assert!(!home.page_file("people/bob").exists(), "the removed page is not written again");
    let second_reply = home.json(["sync", "--all"]);
    assert_changes(&second_reply["sources"][0], &[]);
    assert_eq!(home.json(["doctor"])["status"], "healthy");
}

#[test]
fn links_and_hidden_directories_are_ignored() {
    let (home, _daemon, notes) = home_with_notes();
    let outside = home.outside().join("secret");
    write(&outside, "secret.md", "Not for brain.\n");
    write(&notes, "real.md", "Real.\n");
    for hidden in [".obsidian/x.md", ".git/x.md", ".trash/x.md", "deep/.hidden/x.md"] {
        write(&notes, hidden, "hidden\n");
    }
    std::os::unix::fs::symlink(&outside, notes.join("linked")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret.md"), notes.join("link.md")).unwrap();
    std::os::unix::fs::symlink(notes.join("real.md"), notes.join("inner.md")).unwrap();
    std::os::unix::fs::symlink(&notes, notes.join("round")).unwrap();
    let report = sync(&home);
    assert_changes(&report, &[("added", 1)]);
    assert_eq!(
        (listed_slugs(&home), &report["pull"]["status"]),
        (vec!["real".to_owned()], &json!("skipped"))
    );
    // A file that was replaced by a link counts as removed.
    fs::rename(notes.join("real.md"), outside.join("real.md")).unwrap();
    std::os::unix::fs::symlink(outside.join("real.md"), notes.join("real.md")).unwrap();
    assert_changes(&sync(&home), &[("removed", 1)]);
}
