//! `import` of a directory with valid and invalid Markdown files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use brain_tests::{TestHome, run, texts, vault};
use serde_json::{Value, json};

fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let file_path = dir.join(name);
    fs::create_dir_all(file_path.parent().unwrap()).unwrap();
    fs::write(file_path, content).unwrap();
}

/// Returns the numbers of created, updated, unchanged and failed files.
fn counts(reply: &Value) -> [u64; 4] {
    ["created", "updated", "unchanged", "failed_total"].map(|field| reply[field].as_u64().unwrap())
}

#[test]
fn a_vault_imports_completely_and_repeatably() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    vault::write(&dir);
    let dir = dir.to_str().unwrap();
    let notes = vault::NOTES as u64;
    let dry = home.json(["import", dir, "--dry-run"]);
    assert_eq!((counts(&dry), &dry["dry_run"]), ([notes, 0, 0, 0], &json!(true)));
    assert_eq!(home.json(["status"])["pages"], 0);
    let first = home.json(["import", dir]);
    assert_eq!((counts(&first), &first["status"]), ([notes, 0, 0, 0], &json!("done")), "{first}");
    let status = home.json(["status"]);
    assert_eq!((&status["pages"], &status["outbox"]), (&json!(notes), &json!(0)));
    let company = "companies/dunlin-labs";
    let page = home.get(company);
    assert_eq!(
        (&page["title"], &page["type"], &page["source_kind"]),
        (&json!("Dunlin Labs"), &json!("company"), &json!("import"))
    );
    let uri = page["source_uri"].as_str().unwrap();
    assert!(uri.ends_with("/Companies/Dunlin Labs.md"), "{page}");
    let links = home.json(["links", company]);
    let states = texts(&links["links"], "status");
    assert_eq!(states, ["live", "live", "live", "live", "live", "missing"], "{links}");
    let timeline = home.json(["timeline", company]);
    assert!(!timeline["entries"].as_array().unwrap().is_empty(), "{timeline}");
    let again = home.json(["import", dir]);
    assert_eq!(counts(&again), [0, 0, notes, 0]);
    assert_eq!(home.json(["history", company])["versions"].as_array().unwrap().len(), 1);
    assert_questions_find_pages(&home);
}

/// Asserts that the plain questions about each concept find its page among the first five hits.
/// Ten other concepts share half of the words of a question.
fn assert_questions_find_pages(home: &TestHome) {
    let questions = vault::questions();
    assert!(questions.len() >= 20, "{} questions", questions.len());
    let missed: Vec<(String, String)> = questions
        .into_iter()
        .filter(|(question, page)| !home.search(question).iter().take(5).any(|hit| hit == page))
        .collect();
    assert!(missed.is_empty(), "not among the first five hits: {missed:?}");
}

#[test]
fn invalid_files_are_reported_and_others_imported() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    write(&dir, "good.md", "good\n");
    write(&dir, "deep/er/Also Good.markdown", "good too\n");
    write(&dir, "third.MDX", "and this\n");
    write(&dir, "nul.md", b"a\0b");
    write(&dir, "latin1.md", b"caf\xe9");
    write(&dir, "yaml.md", "---\nfine: 1\nbroken: [1, 2\n---\nx\n");
    write(&dir, "large.md", vec![b'x'; 5_000_001]);
    write(&dir, "😀.md", "a name without letters\n");
    write(
        &dir,
        "date-title.md",
        "---\ntitle: 2024-01-02\ntags: 7\n---\nnumbers and dates are text\n",
    );
    write(&dir, "picture.png", b"\x89PNG");
    write(&dir, ".obsidian/hidden.md", "not mine\n");
    let output = home.brain(["import", "--json", dir.to_str().unwrap()]).expect(1);
    let reply = output.json();
    assert_eq!(reply["status"], "partial");
    assert_eq!(counts(&reply), [5, 0, 0, 4], "{reply}");
    assert_eq!(reply["skipped"], 1);
    let reasons: BTreeMap<String, String> = texts(&reply["failed"], "path")
        .into_iter()
        .zip(texts(&reply["failed"], "reason"))
        .collect();
    let assert_reason = |path: &str, part: &str| {
        assert!(
            reasons.get(path).is_some_and(|reason| reason.contains(part)),
            "{path}: {part} is not in {reasons:?}"
        );
    };
    assert_reason("nul.md", "NUL byte at byte 1");
    assert_reason("latin1.md", "invalid UTF-8 at byte 3");
    assert_reason("yaml.md", "line ");
    assert_reason("yaml.md", "column ");
    assert_reason("large.md", "5000001");
    assert_eq!(home.get("deep/er/also-good")["body"], "good too\n");
    assert_eq!(home.get("date-title")["title"], "2024-01-02");
    assert_eq!(home.json(["status"])["pages"], 5);
    let plain = home.brain(["import", dir.to_str().unwrap()]).expect(1);
    for path in reasons.keys() {
        assert!(plain.stderr.contains(path.as_str()), "{path} is not named: {plain:?}");
    }
}

#[test]
fn files_whose_names_give_one_slug_each_become_a_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    write(&dir, "My Page.md", "one\n");
    write(&dir, "my-page.md", "two\n");
    write(&dir, "my-page.mdx", "three\n");
    write(&dir, "other.md", "fine\n");
    assert_eq!(counts(&home.json(["import", dir.to_str().unwrap()])), [4, 0, 0, 0]);
    assert_eq!(home.get("my-page")["body"], "two\n", "the file with the name of the slug");
    let found = home.search("one OR three");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|slug| slug.starts_with("my-page-")), "{found:?}");
    // The same files again change nothing.
    assert_eq!(counts(&home.json(["import", dir.to_str().unwrap()])), [0, 0, 4, 0]);
}

#[test]
fn a_dry_run_reports_like_an_import_and_writes_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("changed", "old\n");
    home.put("same", "same\n");
    home.put("gone", "gone\n");
    home.json(["delete", "gone"]);
    let dir = home.outside().join("vault");
    write(&dir, "changed.md", "new\n");
    write(&dir, "same.md", "same\n");
    write(&dir, "gone.md", "gone\n");
    write(&dir, "fresh.md", "fresh\n");
    write(&dir, "bad.md", b"\0");
    let dir = dir.to_str().unwrap();
    let before = home.json(["status"]);
    let dry = home.brain(["import", "--dry-run", "--json", dir]).expect(1).json();
    assert_eq!(home.get("changed")["body"], "old\n");
    home.fault(["get", "fresh"], 4);
    home.fault(["get", "gone"], 4);
    assert!(!home.page_file("fresh").exists());
    assert_eq!(
        (&home.json(["status"])["pages"], &dry["dry_run"]),
        (&before["pages"], &json!(true))
    );
    let real = home.brain(["import", "--json", dir]).expect(1).json();
    assert_eq!(
        counts(&dry),
        counts(&real),
        "the dry run and the import report the same: {dry} {real}"
    );
}

#[test]
fn a_changed_file_makes_a_version_and_provenance_names_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    write(&dir, "a.md", "one\n");
    home.json(["import", dir.to_str().unwrap()]);
    write(&dir, "a.md", "two\n");
    assert_eq!(counts(&home.json(["import", dir.to_str().unwrap()])), [0, 1, 0, 0]);
    let page = home.get("a");
    assert_eq!((&page["body"], &page["version"]), (&json!("two\n"), &json!(2)));
    assert_eq!(
        page["source_uri"],
        format!("file://{}/a.md", dir.canonicalize().unwrap().display())
    );
    assert_eq!(
        fs::read_to_string(dir.join("a.md")).unwrap(),
        "two\n",
        "an import does not change the file"
    );
}

#[test]
fn invalid_directories_are_rejected() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.json(["capture", "x"]);
    let missing = home.brain(["import", "/no/such/vault"]).expect(1);
    assert!(
        missing.stderr.contains("ENOENT") && missing.stderr.contains("/no/such/vault"),
        "{missing:?}"
    );
    let file = home.outside().join("one.md");
    fs::write(&file, "x").unwrap();
    let error = home.fault(["import", file.to_str().unwrap()], 1);
    assert!(error["hint"].as_str().unwrap().contains("brain capture --file"), "{error}");
    for own in [home.path(), home.path().join("pages"), home.path().join("pages/inbox")] {
        let error = home.fault(["import", own.to_str().unwrap()], 2);
        assert!(error["message"].as_str().unwrap().contains("home"), "{error}");
    }
    assert_eq!(home.json(["status"])["pages"], 1);
}

#[test]
fn a_relative_directory_is_relative_to_the_client() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    write(&home.outside(), "vault/a.md", "here\n");
    let mut command = home.command("brain");
    command.args(["import", "./vault", "--json"]).current_dir(home.outside());
    assert_eq!(counts(&run(command, b"").expect(0).json()), [1, 0, 0, 0]);
    let empty = home.outside().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(counts(&home.json(["import", empty.to_str().unwrap()])), [0, 0, 0, 0]);
}

#[test]
fn symbolic_links_are_not_followed() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    write(&dir, "a.md", "mine\n");
    write(&home.outside(), "private/secret.md", "not yours\n");
    std::os::unix::fs::symlink(home.outside().join("private"), dir.join("private")).unwrap();
    std::os::unix::fs::symlink(home.outside().join("private/secret.md"), dir.join("secret.md"))
        .unwrap();
    std::os::unix::fs::symlink(&dir, dir.join("loop")).unwrap();
    home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(home.json(["status"])["pages"], 1);
}

#[test]
fn empty_files_do_not_empty_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "text\n");
    let dir = home.outside().join("vault");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a.md"), "\n").unwrap();
    for extra in [&["--dry-run"][..], &[]] {
        let args =
            ["import", dir.to_str().unwrap(), "--json"].into_iter().chain(extra.iter().copied());
        let reply = home.brain(args).expect(1).json();
        assert_eq!(
            (&reply["status"], &reply["failed"][0]["path"]),
            (&"partial".into(), &"a.md".into())
        );
    }
    assert_eq!(home.get("a")["body"], "text\n");
}

#[test]
fn importing_a_parent_directory_skips_the_home() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "text\n");
    let parent = home.path().parent().unwrap().to_owned();
    std::fs::write(parent.join("note.md"), "beside\n").unwrap();
    let reply = home.json(["import", parent.to_str().unwrap()]);
    assert_eq!((&reply["files"], &reply["created"]), (&1.into(), &1.into()), "{reply}");
}

#[test]
fn files_that_notes_show_are_attached_and_the_text_stays() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    write(
        &dir,
        "notes/trip.md",
        "![[sea.png]] ![map](../img/a%20map.png) ![](gone.png) ![](../img/f%C3%A4hre.png)\n",
    );
    write(&dir, "img/sea.png", b"sea");
    write(&dir, "img/a map.png", b"map");
    write(&dir, "img/fähre.png", b"ferry");
    write(&dir, "img/unused.png", b"unused");
    std::os::unix::fs::symlink("/etc/hostname", dir.join("img/gone.png")).unwrap();
    for (created, unchanged) in [(1, 0), (0, 1)] {
        let reply = home.json(["import", dir.to_str().unwrap()]);
        assert_eq!(
            (&reply["created"], &reply["unchanged"], &reply["skipped"]),
            (&json!(created), &json!(unchanged), &json!(2)),
            "{reply}"
        );
        assert_eq!(texts(&reply["not_imported"], "path"), ["img/gone.png", "img/unused.png"]);
        let page = home.get("notes/trip");
        assert_eq!((&page["version"], &page["frontmatter"]), (&json!(1), &json!("")), "{page}");
        let files = home.json(["attachments", "notes/trip"]);
        assert_eq!(
            texts(&files["attachments"], "name"),
            ["a map.png", "fähre.png", "sea.png"],
            "{files}"
        );
    }
}
