//! Files that other programs wrote, imported by the real programs: what each gives, that the same
//! import changes nothing, and that all of it can be taken back.

use std::path::Path;

use brain_tests::TestHome;
use serde_json::Value;

/// The files and directories in `tests/fixtures/import`.
const FIXTURES: &[&str] = &[
    "bookmarks/Bookmarks",
    "bookmarks/firefox.html",
    "bookmarks/firefox.json",
    "bookmarks/firefox.jsonlz4",
    "cherrytree/notes.ctd",
    "dendron/workspace",
    "documents/libreoffice.docx",
    "documents/libreoffice.odt",
    "documents/pandoc.docx",
    "documents/pandoc.epub",
    "dokuwiki/notes",
    "evernote/export",
    "gnote/notes",
    "ics/khal",
    "joplin/garden.jex",
    "joplin/terminal.jex",
    "joplin-markdown/export",
    "jrnl/folder",
    "jrnl/j.json",
    "jrnl/j.txt",
    "mail/crew.mbox",
    "org/notes",
    "pdf/form.pdf",
    "pdf/labels.pdf",
    "pdf/typst.pdf",
    "pdf/writer.pdf",
    "rednotebook/notes",
    "tiddlywiki/folder",
    "tiddlywiki/wiki-5.1.html",
    "tiddlywiki/wiki-5.4.html",
    "vcard/khard",
    "zim/notes",
];

fn count(reply: &Value, field: &str) -> u64 {
    reply[field].as_u64().unwrap()
}

#[test]
fn files_of_real_programs_become_pages_once() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import");
    let mut shown = String::new();
    for name in FIXTURES {
        let home = TestHome::new();
        let _daemon = home.daemon();
        let path = fixtures.join(name);
        let first = home.json(["import", path.to_str().unwrap()]);
        let pages = count(&first, "created");
        assert!(pages > 0 && count(&first, "failed_total") == 0, "{name}: {first}");
        shown.push_str(&format!(
            "{name}: {}: {pages}, {} named as lost\n",
            first["format"].as_str().unwrap_or("no format"),
            count(&first, "skipped")
        ));
        let again = home.json(["import", path.to_str().unwrap()]);
        assert_eq!(count(&again, "unchanged"), pages, "{name}: {again}");
        let undone = home.json(["import", "--undo", first["id"].as_str().unwrap()]);
        assert_eq!(
            (count(&undone, "taken_back"), count(&undone, "kept_in_part")),
            (pages, 0),
            "{name}"
        );
        assert_eq!(home.status().pages, 0, "{name}");
    }
    insta::assert_snapshot!(shown);
}
