//! `mv` and `merge`: pages get another slug, and links to them are updated.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use brain_tests::{TestHome, slugs};
use serde_json::{Value, json};

/// Registers a directory with these files as the source "vault".
fn vault(home: &TestHome, files: &[(&str, &str)]) -> PathBuf {
    let vault = home.outside().join("vault");
    for (path, text) in files {
        let file = vault.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    home.json(["sources", "add", "vault", "--path", vault.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    vault
}

fn body(page: &Value) -> &str {
    page["body"].as_str().unwrap()
}

#[test]
fn mv_keeps_versions_and_moves_the_file() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("people/ada", "one\n");
    home.put("people/ada", "---\ntitle: Ada\n---\n\ntwo\n");
    let before = home.get("people/ada");
    let reply = home.json(["mv", "people/ada", "persons/lovelace"]);
    assert_eq!((&reply["status"], &reply["from"]), (&json!("renamed"), &json!("people/ada")));
    let page = home.get("persons/lovelace");
    for field in ["content", "version", "created_at", "updated_at", "title"] {
        assert_eq!(page[field], before[field], "{field}");
    }
    assert_eq!(home.json(["get", "persons/lovelace", "--version", "1"])["body"], "one\n");
    assert_eq!(home.fault(["get", "people/ada"], 4)["code"], "not_found");
    assert!(!home.page_file("people/ada").exists());
    let file = fs::read_to_string(home.page_file("persons/lovelace")).unwrap();
    assert_eq!(page["content"], file.as_str());
    assert_eq!(home.search("two"), ["persons/lovelace"]);
    let listed = slugs(&home.json(["list"])["pages"]);
    assert_eq!(listed, ["persons/lovelace"]);
}

#[test]
fn mv_changes_a_title_that_is_the_name_of_the_file() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("notes/alpha", "Text without a title.\n");
    home.put("notes/named", "# Named\n");
    home.json(["mv", "notes/alpha", "notes/beta"]);
    home.json(["mv", "notes/named", "notes/other"]);
    assert_eq!(home.get("notes/beta")["title"], "beta");
    assert_eq!(home.get("notes/other")["title"], "Named");
    assert_eq!(home.search("title:beta"), ["notes/beta"]);
    assert_eq!(home.search("title:alpha"), Vec::<String>::new());
}

#[test]
fn mv_updates_links_in_pages_and_files() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("people/ada", "# Ada\n\nSee [[people/ada]] and [Bob](bob.md).\n");
    home.put("people/bob", "Bob.\n");
    home.put("notes/a", "Ask [[people/ada|her]], ![[people/ada#Life]] or [A](../people/ada.md).\n");
    home.put("notes/b", "By name: [[Ada]].\n");
    home.put(
        "notes/c",
        "---\nrelated:\n  - \"[[people/ada]]\"\n---\n\n`[[people/ada]]` is code.\n",
    );
    home.put("notes/d", "[[people/adam]]\n");
    let reply = home.json(["mv", "people/ada", "persons/lovelace"]);
    assert_eq!(reply["left"], json!([]));
    assert_eq!(slugs(&reply["pages"]), ["notes/a", "notes/b", "notes/c"]);
    assert_eq!(
        body(&home.get("notes/a")),
        "Ask [[persons/lovelace|her]], ![[persons/lovelace#Life]] or [A](../persons/lovelace.md).\n"
    );
    assert_eq!(body(&home.get("notes/b")), "By name: [[lovelace]].\n");
    let c = home.get("notes/c");
    assert!(c["frontmatter"].as_str().unwrap().contains("\"[[persons/lovelace]]\""), "{c}");
    assert!(body(&c).contains("`[[people/ada]]`"), "{c}");
    assert_eq!(home.get("notes/d")["version"], 1);
    let moved = home.get("persons/lovelace");
    assert!(body(&moved).contains("[[persons/lovelace]] and [Bob](../people/bob.md)"), "{moved}");
    let file = fs::read_to_string(home.page_file("notes/a")).unwrap();
    assert!(file.contains("[[persons/lovelace|her]]"), "{file}");
    let broken = home.json(["links", "--broken"]);
    let broken: Vec<&str> =
        broken["links"].as_array().unwrap().iter().filter_map(|l| l["target"].as_str()).collect();
    assert_eq!(broken, ["people/adam"]);
    assert_eq!(home.get("notes/a")["version"], 2, "the former text is a version");
}

#[test]
fn mv_in_a_directory_keeps_the_mode_of_the_file() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("a/note.md", "Mine.\n"), ("b.md", "[[a/note]]\n")]);
    fs::set_permissions(vault.join("a/note.md"), PermissionsExt::from_mode(0o664)).unwrap();
    home.json(["mv", "a/note", "c/new-note", "--source", "vault"]);
    let file = vault.join("c/new-note.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), "Mine.\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o664);
    assert!(!vault.join("a/note.md").exists());
    assert_eq!(fs::read_to_string(vault.join("b.md")).unwrap(), "[[c/new-note]]\n");
    let synced = home.json(["sync", "--source", "vault"]);
    let pages = home.json(["list", "--source", "vault", "--sort", "slug"]);
    assert_eq!(slugs(&pages["pages"]), ["b", "c/new-note"], "{synced}");
    assert_eq!(home.json(["get", "c/new-note", "--source", "vault"])["version"], 1);
}

#[test]
fn a_page_that_moves_back_keeps_its_file_after_a_kill() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("notes/alpha", "Text.\n");
    home.json(["mv", "notes/alpha", "notes/beta"]);
    home.json(["mv", "notes/beta", "notes/alpha"]);
    daemon.kill();
    let _daemon = home.daemon();
    assert!(fs::read_to_string(home.page_file("notes/alpha")).unwrap().ends_with("Text.\n"));
    assert!(!home.page_file("notes/beta").exists());
}

#[test]
fn a_file_that_comes_back_to_the_former_path_is_a_page_and_stays() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let vault = vault(&home, &[("a.md", "Mine.\n")]);
    home.json(["mv", "a", "b", "--source", "vault"]);
    home.json(["mv", "b", "a", "--source", "vault"]);
    home.json(["mv", "a", "c", "--source", "vault"]);
    // A sync program or a backup brings the former files back.
    for name in ["a.md", "b.md"] {
        fs::write(vault.join(name), "Mine.\n").unwrap();
    }
    let synced = home.json(["sync", "vault"]);
    let pages = || slugs(&home.json(["list", "--source", "vault", "--sort", "slug"])["pages"]);
    assert_eq!(pages(), ["a", "b", "c"], "{synced}");
    daemon.kill();
    let _daemon = home.daemon();
    home.json(["sync", "vault"]);
    assert_eq!(pages(), ["a", "b", "c"]);
    assert_eq!(fs::read_to_string(vault.join("a.md")).unwrap(), "Mine.\n");
}

#[test]
fn mv_never_takes_the_slug_of_another_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "one\n");
    home.put("b", "two\n");
    assert_eq!(home.fault(["mv", "a", "b"], 1)["code"], "conflict");
    home.json(["delete", "b"]);
    let refused = home.fault(["mv", "a", "b"], 1);
    assert_eq!(refused["code"], "conflict");
    assert_eq!(refused["message"], "a deleted page has the slug \"b\"");
    assert_eq!(home.fault(["mv", "nothing", "c"], 4)["code"], "not_found");
    fs::write(home.page_file("d"), "a file of another program\n").unwrap();
    assert_eq!(home.fault(["mv", "a", "d"], 1)["code"], "conflict");
    assert_eq!(home.fault(["mv", "a", "a"], 2)["code"], "usage");
    assert_eq!(home.get("a")["body"], "one\n");
}

#[test]
fn merge_joins_texts_links_and_histories() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("ada-l", "from one\n");
    home.put("ada-l", "---\ntags: [maths]\naliases: [Countess]\n---\n\nfrom two\n");
    home.put("people/ada", "---\ntags: [history]\n---\n\ninto one\n");
    home.put("notes/a", "[[ada-l]] and [[Countess]]\n");
    let reply = home.json(["merge", "ada-l", "people/ada"]);
    assert_eq!((&reply["status"], &reply["slug"]), (&json!("merged"), &json!("people/ada")));
    let page = home.get("people/ada");
    assert_eq!(body(&page), "into one\n\nfrom two\n");
    assert_eq!(page["tags"], json!(["history", "maths"]));
    assert_eq!(page["aliases"], json!(["Countess"]));
    assert_eq!(body(&home.get("notes/a")), "[[ada]] and [[Countess]]\n");
    let history = home.json(["history", "people/ada"]);
    let numbers: Vec<u64> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["version"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    let text =
        |version: &str| home.json(["get", "people/ada", "--version", version])["body"].clone();
    // A number means one text for ever, so the page's own text keeps its number.
    let texts = ["into one\n", "from one\n", "from two\n", "into one\n"];
    assert_eq!([text("1"), text("2"), text("3"), text("4")], texts);
    assert_eq!(home.fault(["get", "ada-l"], 4)["code"], "not_found");
    home.json(["restore", "ada-l"]);
    assert_eq!(home.get("ada-l")["body"], "from two\n");
    assert_eq!(home.fault(["merge", "ada-l", "ada-l"], 2)["code"], "usage");
}

#[test]
fn merge_of_text_from_outside_keeps_its_mark() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let outside = "---\nsource_kind: webhook\n---\n\ntheir words\n";
    vault(&home, &[("their.md", outside), ("mine.md", "my words\n")]);
    home.json(["merge", "their", "mine", "--source", "vault"]);
    let page = home.json(["get", "mine", "--source", "vault"]);
    assert_eq!(page["trust"], "mixed", "{page}");
    let marked = &page["outside_lines"][0];
    assert_eq!((&marked["first"], &marked["source_kind"]), (&json!(3), &json!("webhook")));
}

#[test]
fn mv_keeps_paths_to_files_with_capitals_and_spaces() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let body = "[o](Other%20Note.md) ![p](./Pics/a.png) ![q](Pics/a.png) [s](<Other Note.md#P>) \
                [[Other Note]] [d][1] <img src=\"Pics/a.png\"> [up](../Top.md)\n\n[1]: Doc.pdf\n";
    let linking = "[one](My%20Folder/Note%20One.md) [two](<My Folder/Note One.md#x>)\n";
    let vault = vault(
        &home,
        &[
            ("My Folder/Note One.md", body),
            ("My Folder/Other Note.md", "[back](Note%20One.md) [again](./Note%20One.md)\n"),
            ("My Folder/Pics/a.png", "png"),
            ("My Folder/Doc.pdf", "pdf"),
            ("Top.md", linking),
        ],
    );
    let reply = home.json(["mv", "vault:my-folder/note-one", "vault:x/note-one"]);
    assert_eq!(reply["left"], json!([]));
    let read = |path: &str| fs::read_to_string(vault.join(path)).unwrap();
    assert_eq!(
        read("x/note-one.md"),
        "[o](../My%20Folder/Other%20Note.md) ![p](../My%20Folder/Pics/a.png) \
         ![q](../My%20Folder/Pics/a.png) [s](<../My Folder/Other Note.md#P>) [[Other Note]] [d][1] \
         <img src=\"../My%20Folder/Pics/a.png\"> [up](../Top.md)\n\n[1]: ../My%20Folder/Doc.pdf\n"
    );
    assert_eq!(
        read("My Folder/Other Note.md"),
        "[back](../x/note-one.md) [again](../x/note-one.md)\n"
    );
    assert_eq!(read("Top.md"), "[one](x/note-one.md) [two](<x/note-one.md#x>)\n");
    assert_eq!(home.json(["links", "--broken"])["links"], json!([]));
}

#[test]
fn undo_gives_a_moved_file_its_name_again() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let files = [("Road Map 2026.md", "# Road map\n"), ("notes.md", "see [[Road Map 2026]]\n")];
    let vault = vault(&home, &files);
    let notes = || fs::read_to_string(vault.join("notes.md")).unwrap();
    home.json(["mv", "vault:road-map-2026", "route"]);
    assert!(vault.join("route.md").exists() && notes().contains("[[route]]"), "{}", notes());
    let done = home.json(["undo", "--yes"]);
    assert_eq!(done["taken_back"], 2, "{done}");
    assert!(vault.join("Road Map 2026.md").exists() && !vault.join("route.md").exists());
    assert!(notes().contains("[[Road Map 2026]]"), "{}", notes());
}
