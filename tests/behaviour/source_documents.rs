//! Documents of a source: those that `--include` names become pages, and follow their files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brain_tests::{Daemon, TEST_TIMEOUT, TestHome, texts};
use serde_json::json;

/// A program that makes a page of the second line of a document, and counts its runs.
const PROCESSOR: &str = r##"#!/bin/sh
echo run >> "RUNS"
{ IFS= read -r task; IFS= read -r text; } < "$1"
[ "$task" = broken ] && { echo 'brain-convert: it is broken' >&2; exit 1; }
name=$(basename "$1" .pdf)
echo '{"type":"format","name":"x","title":"X"}'
printf '{"type":"page","from":"x","path":"%s","markdown":"---\\ntitle: %s\\nsource_kind: import:others\\nattachments: [%s]\\n---\\n%s\\n"}\n' "$name" "$name" "$name.pdf" "$text"
printf '{"type":"file","page":"%s","name":"%s.pdf","base64":"%s"}\n' "$name" "$name" "$(base64 -w0 < "$1")"
echo '{"type":"end","pages":1}'
"##;

struct Papers {
    home: TestHome,
    dir: PathBuf,
    daemon: Daemon,
}

impl Papers {
    /// Starts a daemon whose program for `.pdf` files is [`PROCESSOR`], with the source `papers`.
    fn new() -> Self {
        let home = TestHome::new();
        let program = home.outside().join("processor");
        let runs = home.outside().join("runs");
        fs::write(&program, PROCESSOR.replace("RUNS", runs.to_str().unwrap())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!("[import]\nprocessors = [\"pdf: {}\"]\n", program.display());
        fs::create_dir_all(home.path()).unwrap();
        fs::write(home.path().join("config.toml"), config).unwrap();
        let daemon = home.daemon();
        let dir = home.outside().join("papers");
        fs::create_dir_all(dir.join("deep")).unwrap();
        fs::write(dir.join("note.md"), "# A note\n").unwrap();
        fs::write(dir.join("a.pdf"), "fine\nThe heron\n").unwrap();
        fs::write(dir.join("deep/b.pdf"), "fine\nThe ibis\n").unwrap();
        home.json(["sources", "add", "papers", dir.to_str().unwrap()]);
        Self { home, dir, daemon }
    }

    fn sync(&self) -> serde_json::Value {
        let reply = self.home.json(["sync", "papers"]);
        reply["sources"][0].clone()
    }

    fn runs(&self) -> usize {
        let runs = fs::read_to_string(self.home.outside().join("runs")).unwrap_or_default();
        runs.lines().count()
    }

    fn slugs(&self) -> Vec<String> {
        let list = self.home.json(["list", "--source", "papers", "--sort", "slug"]);
        texts(&list["pages"], "slug")
    }
}

fn counts(reply: &serde_json::Value) -> (u64, u64, u64, u64) {
    let count = |name: &str| reply[name].as_u64().unwrap();
    (count("added"), count("updated"), count("unchanged"), count("removed"))
}

#[test]
fn documents_of_a_source_follow_their_files() {
    let papers = Papers::new();
    assert_eq!(counts(&papers.sync()), (1, 0, 0, 0));
    assert_eq!((papers.slugs(), papers.runs()), (vec!["note".to_owned()], 0));

    papers.home.json(["sources", "set", "papers", "--include", "*.pdf"]);
    let listed = papers.home.json(["sources", "list"]);
    let row = listed["sources"].as_array().unwrap().iter().find(|it| it["source_id"] == "papers");
    assert_eq!(row.unwrap()["include"], json!(["*.pdf"]));
    assert_eq!(counts(&papers.sync()), (2, 0, 1, 0));
    assert_eq!(papers.slugs(), ["a", "deep/b", "note"]);
    let page = papers.home.get("papers:a");
    assert!(page["source_uri"].as_str().unwrap().ends_with("/papers/a.pdf"), "{page}");
    assert_eq!((&page["trust"], &page["title"]), (&json!("outside"), &json!("a")));
    let files = papers.home.json(["attachments", "papers:a"]);
    assert_eq!(files["attachments"][0]["name"], "a.pdf");
    // The page has a file, as every page of a source.
    assert!(papers.dir.join("a.md").exists());
    assert_eq!((counts(&papers.sync()), papers.runs()), ((0, 0, 5, 0), 2));

    fs::write(papers.dir.join("a.pdf"), "fine\nThe grey heron\n").unwrap();
    assert_eq!(counts(&papers.sync()), (0, 1, 4, 0));
    assert!(papers.home.get("papers:a")["body"].as_str().unwrap().contains("grey"));
    let files = papers.home.json(["attachments", "papers:a"]);
    assert_eq!(files["attachments"].as_array().unwrap().len(), 1, "{files}");

    fs::remove_file(papers.dir.join("deep/b.pdf")).unwrap();
    assert_eq!(counts(&papers.sync()).3, 1);
    assert_eq!(papers.slugs(), ["a", "note"]);
    assert!(!papers.dir.join("deep/b.md").exists());

    // After a start, unchanged documents are recognised by their bytes.
    let Papers { home, dir, daemon } = papers;
    drop(daemon);
    let papers = Papers { daemon: home.daemon(), home, dir };
    let before = papers.runs();
    assert_eq!((counts(&papers.sync()), papers.runs()), ((0, 0, 3, 0), before));
}

#[test]
fn a_page_that_was_changed_stays() {
    let papers = Papers::new();
    papers.home.json(["sources", "set", "papers", "--include", "*.pdf"]);
    papers.sync();
    papers.home.brain(["append", "papers:a", "my own line"]).expect(0);
    papers.home.brain(["append", "papers:deep/b", "my own line"]).expect(0);
    fs::write(papers.dir.join("a.pdf"), "fine\nOther words\n").unwrap();
    fs::remove_file(papers.dir.join("deep/b.pdf")).unwrap();
    let reply = papers.sync();
    assert_eq!((counts(&reply).1, counts(&reply).3), (0, 0), "{reply}");
    let warnings = reply["warnings"].to_string();
    assert!(warnings.contains("a.pdf changed; its page was written or changed"), "{warnings}");
    assert!(warnings.contains("the document of deep/b is gone"), "{warnings}");
    assert_eq!(papers.slugs(), ["a", "deep/b", "note"]);
}

#[test]
fn a_document_that_comes_back_restores_its_page_and_a_deleted_page_stays_deleted() {
    let mut papers = Papers::new();
    papers.home.json(["sources", "set", "papers", "--include", "*.pdf"]);
    papers.sync();
    let aside = papers.home.outside().join("a.pdf");
    fs::rename(papers.dir.join("a.pdf"), &aside).unwrap();
    assert_eq!(counts(&papers.sync()).3, 1);
    fs::rename(&aside, papers.dir.join("a.pdf")).unwrap();
    assert_eq!(papers.sync()["restored"], 1);
    assert_eq!(papers.slugs(), ["a", "deep/b", "note"]);

    papers.home.json(["delete", "papers:a"]);
    papers.sync();
    let Papers { home, dir, daemon } = papers;
    drop(daemon);
    papers = Papers { daemon: home.daemon(), home, dir };
    papers.sync();
    papers.home.json(["sync", "papers", "--full"]);
    assert_eq!(papers.slugs(), ["deep/b", "note"]);
}

#[test]
fn removed_documents_count_with_removed_notes() {
    let papers = Papers::new();
    papers.home.json(["sources", "set", "papers", "--include", "*.pdf"]);
    let dir = papers.dir.clone();
    let paths = |kind: &'static str| {
        let dir = dir.clone();
        (0..15).map(move |n| dir.join(format!("{kind}{n}.{kind}")))
    };
    paths("md").for_each(|path| fs::write(path, "# A note\n").unwrap());
    paths("pdf").for_each(|path| fs::write(path, "fine\nA bird\n").unwrap());
    papers.sync();
    assert_eq!(papers.slugs().len(), 33);
    paths("md").chain(paths("pdf")).for_each(|path| fs::remove_file(path).unwrap());
    let reply = papers.home.brain(["sync", "papers", "--json"]).expect(5).stdout;
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    let source = &reply["sources"][0];
    assert_eq!((&source["removed"], &source["held_back"]), (&json!(15), &json!(15)), "{reply}");
    papers.home.json(["sync", "papers", "--yes"]);
    assert_eq!(papers.slugs(), ["a", "deep/b", "note"]);
}

#[test]
fn a_broken_document_is_named_and_read_once() {
    let papers = Papers::new();
    fs::write(papers.dir.join("c.pdf"), "broken\n").unwrap();
    fs::write(papers.dir.join("a.md"), "# My own\n").unwrap();
    papers.home.json(["sources", "set", "papers", "--include", "*.pdf"]);
    for _ in 0..2 {
        let reply = papers.home.brain(["sync", "papers", "--json"]);
        let reply: serde_json::Value = serde_json::from_str(&reply.stdout).unwrap();
        let failed = &reply["sources"][0]["failed"];
        assert_eq!(failed, &json!([{"path": "c.pdf", "reason": "it is broken"}]), "{reply}");
    }
    assert_eq!(papers.runs(), 3);
    // A note of the same name keeps its own page.
    assert_eq!(papers.home.get("papers:a")["title"], "My own");
    assert_eq!(papers.slugs(), ["a", "a-pdf", "deep/b", "note"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let papers = Papers::new();
    papers.home.json(["sources", "set", "papers", "--include", "*.pdf"]);
    let reply = papers.home.json(["sync", "papers", "--dry-run"]);
    assert_eq!(counts(&reply["sources"][0]).0, 3, "{reply}");
    assert!(papers.slugs().is_empty() && !papers.dir.join("a.md").exists());
}

#[test]
fn the_watcher_sees_documents() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("config.toml"), "[sources]\nwatch = true\n").unwrap();
    let _daemon = home.daemon();
    let dir = home.outside().join("papers");
    fs::create_dir_all(&dir).unwrap();
    let arguments = ["sources", "add", "papers", dir.to_str().unwrap(), "--include", "*.pdf"];
    home.json(arguments);
    let pdf = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import/pdf/typst.pdf");
    fs::copy(pdf, dir.join("typst.pdf")).unwrap();
    let until = Instant::now() + TEST_TIMEOUT;
    while home.json(["list", "--source", "papers"])["pages"] == json!([]) {
        assert!(Instant::now() < until, "the document became no page");
        std::thread::sleep(Duration::from_millis(50));
    }
}
