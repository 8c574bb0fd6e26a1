//! Copies that sync programs make of notes after a conflict, and symbolic links. Unison and
//! git-annex made their names when this was written; the other names follow reports of runs.

use std::fs;

use brain_tests::{http, mcp::mcp, slugs};
use serde_json::{Value, json};

use crate::sync::{assert_changes, get_note, home_with_notes, sync, sync_with, write};

#[test]
fn a_copy_is_counted_ranked_below_its_original_and_compared() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "walrus.md", "# Walrus\n\nThe original.\n");
    let copy = "walrus.sync-conflict-20261128-211825-ABCDEFG.md";
    write(&notes, copy, "# Walrus\n\nWalrus walrus walrus, the copy of the walrus.\n");
    let lone = "seal (conflict_on_2026-11-28_was_deleted).md";
    write(&notes, lone, "# Seal\n\nOnly here.\n");
    let report = sync(&home);
    assert_changes(&report, &[("added", 3)]);
    let warnings = report["warnings"].to_string();
    for words in ["Syncthing made", "Unison made", copy, lone, "brain diff COPY"] {
        assert!(warnings.contains(words), "{words}: {warnings}");
    }
    let found = slugs(&home.json(["search", "walrus"])["hits"]);
    assert_eq!(found.len(), 2, "a copy is not left out: {found:?}");
    assert_eq!(found[0], "walrus", "{found:?}");
    assert_eq!(
        slugs(&home.json(["search", "only here"])["hits"]).len(),
        1,
        "it may be the only one"
    );
    let diff = home.json(["diff", &found[1], "--source", "notes"]);
    assert_eq!(diff["other"], "walrus");
    assert!(diff["diff"].as_str().unwrap().contains("\n+The original.\n"), "{diff}");
    let copy = found[1].as_str();
    let plain = home.brain(["search", "walrus"]).expect(0);
    assert_eq!(plain.stdout.matches("copy of walrus.md").count(), 1, "{plain:?}");
    let note = home.brain(["get", copy, "--source", "notes"]).expect(0).stderr;
    assert!(note.contains("made this copy of walrus.md"), "{note}");
    // Each interface says it, with the file of which it is a copy.
    let of_row = |rows: &Value| -> Vec<Value> {
        rows.as_array().unwrap().iter().map(|row| row["copy_of"].clone()).collect()
    };
    let expected = [Value::Null, json!("walrus.md")];
    assert_eq!(of_row(&home.json(["search", "walrus"])["hits"]), expected);
    assert_eq!(home.json(["get", copy, "--source", "notes"])["copy_of"], "walrus.md");
    assert_eq!(home.json(["get", "walrus", "--source", "notes"])["copy_of"], Value::Null);
    let mut listed = of_row(&home.json(["list"])["pages"]);
    listed.sort_by_key(Value::to_string);
    assert_eq!(listed, [json!("seal.md"), json!("walrus.md"), Value::Null]);
    let token = home.token("reader", "read", &[]);
    let bearer = format!("Bearer {token}");
    let read = |path: &str| {
        let headers = [("Authorization", bearer.as_str())];
        http::call(home.http_local(), "GET", path, &headers, b"").expect(200).json()
    };
    assert_eq!(of_row(&read("/search?q=walrus")["hits"]), expected);
    assert_eq!(read(&format!("/pages/{copy}"))["copy_of"], "walrus.md");
    let client = mcp(&home, &token);
    let queried = client.call("query", json!({ "query": "walrus" }));
    assert_eq!(of_row(&queried["results"]), expected, "{queried}");
    let page = client.call("get_page", json!({ "slug": copy }));
    assert_eq!(page["metadata"]["copy_of"], "walrus.md", "{page}");
    let rows = client.call("list_pages", json!({}));
    assert!(of_row(&rows["pages"]).contains(&json!("seal.md")), "{rows}");
    let doctor = home.json(["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "sources").unwrap();
    let message = check["message"].as_str().unwrap();
    assert!(message.contains("2 pages are copies that sync programs made"), "{check}");
    assert_eq!(check["status"], "ok");
    let plain = home.brain(["diff", &found[1], "--source", "notes"]).expect(0);
    assert!(plain.stderr.contains("walrus"), "{plain:?}");
}

#[test]
fn a_page_stays_while_copies_of_both_versions_are_in_its_place() {
    let (home, _daemon, notes) = home_with_notes();
    for name in ["a", "b", "c"] {
        write(&notes, &format!("dir/{name}.md"), format!("{name} before.\n"));
    }
    sync(&home);
    // rclone bisync
    fs::rename(notes.join("dir/a.md"), notes.join("dir/a.md..path1")).unwrap();
    write(&notes, "dir/a.md..path2", "There.\n");
    // git-annex, with locked files
    fs::remove_file(notes.join("dir/b.md")).unwrap();
    for key in ["d457", "e4ae"] {
        let link = notes.join(format!("dir/b.variant-{key}.md"));
        std::os::unix::fs::symlink("../.git/annex/objects/x", link).unwrap();
    }
    fs::remove_file(notes.join("dir/c.md")).unwrap();
    for _ in 0..2 {
        let report = sync_with(&home, &[], 1);
        assert_eq!(report["failed_total"], 2, "{report}");
        let failed = report["failed"].to_string();
        for words in ["rclone left dir/a.md..path1 and dir/a.md..path2", "git-annex left"] {
            assert!(failed.contains(words), "{words}: {failed}");
        }
        assert_eq!(get_note(&home, "dir/b")["body"], "b before.\n");
    }
    home.brain(["get", "dir/c", "--source", "notes"]).expect(4);
    // The command of the report takes a copy in.
    let copy = notes.join("dir/a.md..path2");
    home.json(["put", "dir/a", "--source", "notes", "--file", copy.to_str().unwrap()]);
    let text = fs::read_to_string(notes.join("dir/a.md")).unwrap();
    assert!(text.ends_with("There.\n"), "{text}");
    assert_eq!(sync_with(&home, &[], 1)["failed_total"], 1);
    assert_changes(&sync_with(&home, &["--yes"], 0), &[("removed", 1)]);
}

#[test]
fn symbolic_links_are_named() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "a.md", "A file.\n");
    let outside = home.outside().join("outside");
    write(&outside, "b.md", "Not in the source.\n");
    std::os::unix::fs::symlink(outside.join("b.md"), notes.join("b.md")).unwrap();
    std::os::unix::fs::symlink(&outside, notes.join("stowed")).unwrap();
    let mut expected = "2 are symbolic links, which are not followed: b.md, stowed";
    let report = sync(&home);
    assert_eq!((&report["files"], &report["warnings"]), (&json!(1), &json!([expected])));
    let row = || {
        let listed = home.json(["sources", "list"])["sources"].clone();
        listed.as_array().unwrap().iter().find(|row| row["source_id"] == "notes").unwrap().clone()
    };
    assert_eq!(row()["links"], json!({ "count": 2, "first": ["b.md", "stowed"] }));
    let plain = home.brain(["sources", "list"]).expect(0).stderr;
    assert!(plain.contains("notes: 2 symbolic links are not followed: b.md, stowed"), "{plain}");
    std::fs::remove_file(notes.join("stowed")).unwrap();
    sync(&home);
    assert_eq!(row()["links"], json!({ "count": 1, "first": ["b.md"] }));
    expected = "1 is a symbolic link, which is not followed: b.md";
    let imported = home.json(["import", notes.to_str().unwrap(), "--dry-run"]);
    assert_eq!(imported["warnings"], json!([expected]), "{imported}");
    assert_eq!(imported["skipped"], 0);
}
