//! `import` of exports of other programs, by the real programs.

use std::fs;
use std::path::Path;

use brain_tests::{TestHome, texts};
use serde_json::{Value, json};

/// An export of Evernote with these notes.
fn enex(notes: &[String]) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE en-export SYSTEM \
         \"http://xml.evernote.com/pub/evernote-export4.dtd\">\n<en-export>{}</en-export>\n",
        notes.concat()
    )
}

fn note(title: &str, created: &str, content: &str) -> String {
    format!(
        "<note><title>{title}</title><created>{created}</created><tag>boats</tag><content>\
         <![CDATA[<?xml version=\"1.0\" encoding=\"UTF-8\"?><en-note>{content}</en-note>]]>\
         </content></note>"
    )
}

/// Returns the numbers of created, updated and unchanged pages, of things not imported, and of
/// failures.
fn counts(reply: &Value) -> [u64; 5] {
    ["created", "updated", "unchanged", "skipped", "failed_total"]
        .map(|field| reply[field].as_u64().unwrap())
}

fn import(home: &TestHome, path: &Path) -> Value {
    home.json(["import", path.to_str().unwrap()])
}

#[test]
fn an_export_is_recognised_and_a_newer_one_updates_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.outside().join("Harbour.xml");
    let oar = note("The oar", "20240301T080000Z", "<div>Tar &amp; rope</div>");
    let shed = note("Shed", "20240302T080000Z", "<div><en-todo checked=\"true\"/>Lock it</div>");
    fs::write(&file, enex(&[oar.clone(), shed])).unwrap();

    let dry = home.json(["import", file.to_str().unwrap(), "--dry-run"]);
    assert_eq!((counts(&dry), &dry["dry_run"]), ([2, 0, 0, 0, 0], &json!(true)), "{dry}");
    assert_eq!(home.json(["status"])["pages"], 0);
    let first = import(&home, &file);
    assert_eq!(counts(&first), [2, 0, 0, 0, 0], "{first}");
    assert!(first["format"].as_str().unwrap().contains("Evernote"), "{first}");

    let page = home.get("harbour/the-oar");
    assert_eq!((&page["title"], &page["tags"]), (&json!("The oar"), &json!(["boats"])), "{page}");
    assert!(page["body"].as_str().unwrap().contains("Tar & rope"), "{page}");
    assert!(page["created_at"].as_str().unwrap().starts_with("2024-03-01T08:00:00"), "{page}");
    let uri = page["source_uri"].as_str().unwrap();
    assert!(uri.starts_with("file://") && uri.contains("/Harbour.xml#"), "{page}");
    assert_eq!(home.search("rope"), ["harbour/the-oar"]);

    assert_eq!(counts(&import(&home, &file)), [0, 0, 2, 0, 0]);
    let shed = note("Shed", "20240302T080000Z", "<div>It burnt down</div>");
    fs::write(&file, enex(&[oar, shed])).unwrap();
    assert_eq!(counts(&import(&home, &file)), [0, 1, 1, 0, 0]);
    assert!(home.get("harbour/shed")["body"].as_str().unwrap().contains("burnt"));
    let converted = fs::read_dir(home.path().join("run/converted")).unwrap();
    assert_eq!(converted.count(), 0, "the converted files stayed");
}

#[test]
fn the_text_names_the_program_and_all_that_is_lost() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.outside().join("secrets.enex");
    let secret = "<div>The key: <en-crypt cipher=\"AES\" length=\"128\">QUJD</en-crypt></div>";
    fs::write(&file, enex(&[note("Vault", "20240301T080000Z", secret)])).unwrap();
    let out = home.brain(["import", file.to_str().unwrap()]).expect(0).stdout;
    assert!(out.starts_with("imported 1 page of "), "{out}");
    assert!(out.contains("1 not imported, or only in part"), "{out}");
    assert!(out.contains("left out: ") && out.contains("encrypted"), "{out}");
    assert!(!home.get("secrets/vault")["body"].as_str().unwrap().contains("QUJD"));
}

#[test]
fn what_was_read_before_a_cut_stays_and_the_import_fails() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.outside().join("cut.enex");
    let whole = enex(&[
        note("First", "20240301T080000Z", "<div>one</div>"),
        note("Second", "20240301T080000Z", "<div>two</div>"),
    ]);
    fs::write(&file, &whole[..whole.len() - 60]).unwrap();
    let failed = home.brain(["import", file.to_str().unwrap()]).expect(1);
    assert!(failed.stdout.contains("1 created"), "{failed:?}");
    assert!(failed.stderr.contains("cut.enex"), "{failed:?}");
    assert!(home.get("cut/first")["body"].as_str().unwrap().contains("one"));
    assert_eq!(home.json(["status"])["pages"], 1);
}

#[test]
fn an_export_can_be_read_as_markdown_and_unknown_names_are_refused() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("joplin");
    fs::create_dir(&dir).unwrap();
    let id = "0123456789abcdef0123456789abcdef";
    fs::write(
        dir.join(format!("{id}.md")),
        format!("Boat\n\nText\n\nid: {id}\nparent_id: \nmarkup_language: 1\ntype_: 1"),
    )
    .unwrap();
    let path = dir.to_str().unwrap();
    let unknown = home.brain(["import", path, "--as", "nothing"]).expect(2);
    assert!(unknown.stderr.contains("nothing is no format"), "{unknown:?}");
    let dry = home.json(["import", path, "--as", "markdown", "--dry-run"]);
    assert_eq!((&dry["format"], &dry["created"]), (&Value::Null, &json!(1)));
    let found = import(&home, &dir);
    assert!(found["format"].as_str().unwrap().contains("Joplin"), "{found}");
    assert_eq!(texts(&home.json(["list"])["pages"], "slug"), ["boat"]);
}

#[test]
fn a_file_in_no_known_format_is_refused_by_name() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.outside().join("data.bin");
    fs::write(&file, b"\x00\x01\x02").unwrap();
    let refused = home.brain(["import", file.to_str().unwrap()]).expect(1);
    assert!(
        refused.stderr.contains("data.bin is neither a directory nor an export"),
        "{refused:?}"
    );
    assert_eq!(home.json(["status"])["pages"], 0);
}
