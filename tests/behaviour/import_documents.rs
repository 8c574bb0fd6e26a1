//! Documents in an imported directory: each has a process of its own, so one that fails, crashes
//! or lies is named, and the others are imported. Programs of the owner stand in for parsers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use brain_tests::{Daemon, TestHome, texts};
use serde_json::{Value, json};

/// A program that does what the first line of the document says.
const PROCESSOR: &str = r##"#!/bin/sh
IFS= read -r task < "$1"
echo '{"type":"format","name":"x","title":"X"}'
case $task in
page*) printf '{"type":"page","from":"x","path":"any","markdown":"---\\nsource_kind: import:others\\n---\\n# %s\\n"}\n' "${task#page }"
    echo '{"type":"end","pages":1}' ;;
cut) echo '{"type":"page","from":"x","path":"any","markdown":"half"}' ;;
crash) kill -SEGV $$ ;;
error) echo 'brain-convert: it has no pages' >&2; exit 1 ;;
climb) echo '{"type":"page","from":"x","path":"../../up","markdown":"x"}'; echo '{"type":"end","pages":1}' ;;
rubbish) head -c 100000 /dev/zero ;;
loud) head -c 300000 /dev/zero >&2; echo 'Traceback: no font' >&2; exit 1 ;;
linger) sleep 300 >/dev/null & echo '{"type":"end","pages":0}' ;;
esac
"##;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Starts a daemon whose processor for `.doc9` files is [`PROCESSOR`].
fn daemon(home: &TestHome) -> Daemon {
    let program = home.outside().join("processor");
    write(&program, PROCESSOR);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[import]\nprocessors = [\"doc9: {}\"]\n", program.display());
    write(&home.path().join("config.toml"), &config);
    home.daemon()
}

/// Returns the process ids of the children of a process.
fn children(parent: u32) -> Vec<String> {
    let parent = format!("PPid:\t{parent}\n");
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap());
    let is_child = |path: &Path| {
        fs::read_to_string(path.join("status")).is_ok_and(|status| status.contains(&parent))
    };
    let children = processes.filter(|process| is_child(&process.path()));
    children.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the memory of a process in use, in bytes (proc_pid_status(5)).
fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn documents_become_pages_beside_the_notes() {
    let home = TestHome::new();
    let _daemon = daemon(&home);
    let dir = home.outside().join("notes");
    write(&dir.join("plan.md"), "# The plan\n");
    write(&dir.join("sub/plan.doc9"), "page A heron");
    write(&dir.join("plan.doc9"), "page An ibis");
    let reply = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!((&reply["created"], &reply["failed_total"]), (&json!(3), &json!(0)), "{reply}");
    assert_eq!(
        texts(&home.json(["list", "--sort", "slug"])["pages"], "slug"),
        ["plan", "plan-doc9/any", "sub/plan/any"]
    );
    let page = home.get("sub/plan/any");
    assert!(page["source_uri"].as_str().unwrap().ends_with("/notes/sub/plan.doc9"), "{page}");
    // A document is not the owner's text.
    assert_eq!(
        (&page["source_kind"], &page["trust"]),
        (&json!("import:others"), &json!("outside"))
    );
    let again = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!((&again["unchanged"], &again["created"]), (&json!(3), &json!(0)), "{again}");
    let markdown = home.json(["import", dir.to_str().unwrap(), "--as", "markdown"]);
    assert_eq!((&markdown["files"], &markdown["skipped"]), (&json!(1), &json!(2)), "{markdown}");
}

#[test]
fn a_document_that_fails_is_named_and_the_others_are_stored() {
    let home = TestHome::new();
    let _daemon = daemon(&home);
    let dir = home.outside().join("notes");
    for task in ["crash", "error", "cut", "climb", "rubbish", "loud", "linger", "page fine"] {
        write(&dir.join(format!("{}.doc9", task.replace(' ', "-"))), task);
    }
    let failed = home.brain(["import", dir.to_str().unwrap()]).expect(1);
    for reason in [
        "crash.doc9: the program that reads it ended with signal: 11",
        "error.doc9: it has no pages",
        "climb.doc9: the program that reads it failed: a page has the path",
        "rubbish.doc9: the program that reads it failed",
        "cut.doc9: the program that reads it ended",
        "Traceback: no font",
    ] {
        assert!(failed.stderr.contains(reason), "{reason}: {failed:?}");
    }
    assert_eq!(home.get("page-fine/any")["title"], "fine");
    assert_eq!(fs::read_dir(home.path().join("run/converted")).unwrap().count(), 0);
    assert!(!failed.stderr.contains("linger"), "{failed:?}");
}

#[test]
fn a_thousand_documents_that_crash_leave_the_daemon_as_it_was() {
    let home = TestHome::new();
    let daemon = daemon(&home);
    let dir = home.outside().join("notes");
    for n in 0..1000 {
        write(&dir.join(format!("{n}.doc9")), if n % 2 == 0 { "crash" } else { "rubbish" });
    }
    write(&dir.join("z.doc9"), "page last");
    let before = resident_bytes(daemon.pid());
    home.brain(["import", dir.to_str().unwrap()]).expect(1);
    assert_eq!(home.get("z/any")["title"], "last");
    let after = resident_bytes(daemon.pid());
    assert!(after < before + 40_000_000, "{before} {after}");
    assert_eq!(children(daemon.pid()), Vec::<String>::new());
}

#[test]
fn the_documented_processor_works() {
    let guide = fs::read_to_string(crate::architecture::root().join("docs/processors.md")).unwrap();
    let program = guide.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let home = TestHome::new();
    let path = home.outside().join("subtitles");
    write(&path, program);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[import]\nprocessors = [\"srt: {}\"]\n", path.display());
    write(&home.path().join("config.toml"), &config);
    let _daemon = home.daemon();
    let talk = "1\n00:00:01,000 --> 00:00:02,000\nThe \"tide\"\nturns.\n\n2\n00:00:03,000 --> \
                00:00:04,000\nAt noon.\n";
    write(&home.outside().join("films/talk.srt"), talk);
    let reply = home.json(["import", home.outside().join("films").to_str().unwrap()]);
    assert_eq!(reply["created"], 1, "{reply}");
    let page = home.get("talk/talk");
    assert_eq!((&page["title"], &page["trust"]), (&json!("talk"), &json!("outside")), "{page}");
    assert_eq!(page["body"].as_str().unwrap().trim(), "The \"tide\" turns.\nAt noon.");
}

#[test]
fn a_processor_can_have_blanks_in_its_path_and_a_double_extension() {
    let home = TestHome::new();
    let program = home.outside().join("my programs/two words");
    write(&program, PROCESSOR);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[import]\nprocessors = ['tar.gz: \"{}\"']\n", program.display());
    write(&home.path().join("config.toml"), &config);
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    write(&dir.join("old.tar.gz"), "page fine");
    let reply = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(reply["created"], 1, "{reply}");
    assert_eq!(home.get("old/any")["title"], "fine");
}

#[test]
fn a_wrong_processor_is_refused_by_name() {
    let home = TestHome::new();
    write(&home.path().join("config.toml"), "[import]\nprocessors = [\"srt: bin/x\"]\n");
    let said = home.brain(["list"]).stderr;
    assert!(said.contains("has the program \"bin/x\", which is no absolute path"), "{said}");
}

#[test]
fn links_between_html_pages_lead_to_their_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("site");
    let html = |title: &str, body: &str| {
        format!(
            "<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>"
        )
    };
    let index = "<p>See <a href=\"Two%20words.html#top\">two</a> and <a href=\"deep/c.htm\">c</a>, \
                 <a href=\"none.html\">none</a></p>";
    write(&dir.join("index.html"), &html("Index", index));
    write(&dir.join("Two words.html"), &html("Two", "<p>Back <a href=\"index.html\">home</a></p>"));
    write(&dir.join("deep/c.htm"), &html("C", "<p>Up <a href=\"../index.html\">home</a></p>"));
    let reply = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(reply["created"], 3, "{reply}");
    let links = |slug: &str| texts(&home.json(["links", slug])["links"], "slug");
    assert_eq!(links("two-words"), ["index"]);
    assert_eq!(links("deep/c"), ["index"]);
    let index = home.json(["links", "index"])["links"].clone();
    let found: Vec<&Value> = index.as_array().unwrap().iter().map(|link| &link["slug"]).collect();
    assert_eq!(found[..2], [&json!("two-words"), &json!("deep/c")], "{index}");
    let again = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(again["unchanged"], 3, "{again}");
}

#[test]
fn a_file_in_another_encoding_is_named_with_the_way_to_convert_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    write(&dir.join("a.md"), "Fine\n");
    fs::write(dir.join("old.md"), b"Gr\xfc\xdfe\n").unwrap();
    fs::write(dir.join("wide.md"), b"\xff\xfea\0b\0").unwrap();
    let said = home.brain(["import", dir.to_str().unwrap()]).expect(1).stderr;
    assert!(said.contains("old.md: it is not text: invalid UTF-8 at byte 2; "), "{said}");
    assert!(said.contains("iconv -f latin1 -t utf8"), "{said}");
    assert!(said.contains("wide.md: ") && said.contains("iconv -f utf16 -t utf8"), "{said}");
}

#[test]
fn links_to_attached_files_are_not_broken() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    write(&dir.join("a.md"), "[[keys.kdbx]] [way](img/c.gpx) [[Nowhere]] [[gone.gpx]]\n");
    write(&dir.join("keys.kdbx"), "x");
    write(&dir.join("img/c.gpx"), "x");
    home.brain(["import", dir.to_str().unwrap()]).expect(0);
    let broken = home.json(["links", "--broken"]);
    assert_eq!(texts(&broken["links"], "target"), ["Nowhere", "gone.gpx"], "{broken}");
    assert_eq!(broken["missing"], 2);
    assert_eq!(texts(&home.json(["links", "a"])["links"], "target"), ["Nowhere", "gone.gpx"]);
}

#[test]
fn notes_and_documents_of_one_slug_are_pages_of_their_own() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    write(&dir.join("my note.md"), "The heron\n");
    write(&dir.join("my-note.txt"), "The ibis\n");
    for (created, unchanged) in [(2, 0), (0, 2)] {
        let reply = home.json(["import", dir.to_str().unwrap()]);
        assert_eq!(
            (&reply["created"], &reply["unchanged"]),
            (&json!(created), &json!(unchanged)),
            "{reply}"
        );
    }
    assert_eq!(home.get("my-note")["body"], "The heron\n");
    assert_eq!(home.search("ibis").len(), 1);
}

#[test]
fn excluded_documents_and_those_of_a_page_are_no_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    write(&dir.join(".gitignore"), "secret.txt\n");
    write(&dir.join("secret.txt"), "hidden\n");
    write(&dir.join("._plan.txt"), "of macOS\n");
    write(&dir.join("plan.md"), "---\nattachments: [own.txt]\n---\n[[linked.txt]]\n");
    write(&dir.join("own.txt"), "an attachment\n");
    write(&dir.join("linked.txt"), "a document\n");
    let reply = home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(reply["failed_total"], 0, "{reply}");
    assert_eq!(texts(&home.json(["list", "--sort", "slug"])["pages"], "slug"), ["linked", "plan"]);
    let files = home.json(["attachments", "plan"]);
    assert_eq!(texts(&files["attachments"], "name"), ["linked.txt", "own.txt"], "{files}");
    assert_eq!(texts(&reply["not_imported"], "path"), ["._plan.txt", ".gitignore"], "{reply}");
    assert_eq!(reply["left_out"]["paths"], json!(["secret.txt"]), "{reply}");
}

#[test]
fn a_changed_document_replaces_its_attachment() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    let note = |text: &str| format!("---\nattachments: [own.bin]\n---\n{text}\n");
    for (text, bytes) in [("one", "first"), ("two", "second")] {
        write(&dir.join("plan.md"), &note(text));
        write(&dir.join("own.bin"), bytes);
        home.brain(["import", dir.to_str().unwrap()]).expect(0);
        let copy = home.outside().join(text);
        home.brain(["attachments", "plan", "--get", "own.bin", "--to", copy.to_str().unwrap()])
            .expect(0);
        assert_eq!(fs::read_to_string(copy).unwrap(), bytes);
    }
}
