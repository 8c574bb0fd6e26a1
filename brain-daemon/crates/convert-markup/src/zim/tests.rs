//! Tests of the reader of Zim.

use std::path::Path;

use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const FIXTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/zim/notes");
const HEAD: &str = "Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.6\n";

fn converted(files: &[(&str, &str)]) -> Converted {
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (*name, text.replace("HEAD", HEAD))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Converted::of(&FORMATS, directory(&files).path())
}

#[test]
fn a_notebook_of_zim_is_read() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    assert_eq!((done.format, done.error.clone()), ("zim", None));
    assert_eq!(
        done.paths(),
        [
            "Boats",
            "Boats/Blue Ferry",
            "Boats/Red Rowboat",
            "Grün & Söhne",
            "Home",
            "Journal/2026/11/14"
        ]
    );
    assert_eq!(
        done.page("Boats"),
        "---\ntitle: \"Boats\"\ncreated: 2026-11-30T08:41:54Z\nattachments: [\"boat.png\", \"plan \
         b.pdf\", \"extra.csv\"]\n---\n\nChild: [[Boats/Blue Ferry|Blue Ferry]] and picture \
         ![[boat.png]] and file [[plan b.pdf|the plan]] and `./missing.png`\n\n[[extra.csv]]\n"
    );
    assert_eq!(done.lost(), ["Boats.txt: its file ./missing.png is not in the import"]);
    assert_eq!(done.files().len(), 4);
}

#[test]
fn boxes_are_tasks_and_x_is_not_done() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    let todos = brain_page::todos(done.page("Home"));
    let shown: Vec<(&str, bool)> =
        todos.iter().map(|todo| (todo.text.as_str(), todo.is_done)).collect();
    assert_eq!(
        shown,
        [
            ("Buy rope", false),
            ("blue rope", true),
            ("red rope (not done)", true),
            ("Oil the hinge (moved on)", true),
            ("Grease (moved from elsewhere)", true),
        ]
    );
}

#[test]
fn wikitext_becomes_markdown() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    let home = done.page("Home");
    for text in [
        "tags: [\"garden\"]",
        "and [[Boats/Blue Ferry|the ferry]] and [[Boats/Blue Ferry|Boats:Blue Ferry]].  \n",
        "**bold**, *italic*, ==marked==, ~~gone~~, `code_x` and H<sub>2</sub>O, m<sup>2</sup>.",
        "snake_case_name, <https://weirs.example/a_b(1)> and [Weirs](https://weirs.example).",
        "\n## Tasks\n\n- [ ] Buy rope\n    - [x] blue rope\n",
        "- item one\n    - nested item  \n        continued text\n- item two\n1. first\n",
        "```\nverbatim  **not bold**\n\ttab\n```",
        "```python3\nprint(\"a_b\")\n```",
        "| Part | Price |\n| --- | --- |\n| hinge | 4 |\n| a \\| b | **5** |",
        "Last line: 1986. A dry year  \n\\# of guests: 40  \n\\- no list here\n",
    ] {
        assert!(home.contains(text), "{text}\n{home}");
    }
    assert!(!home.contains("# Home"));
}

#[test]
fn links_lead_to_the_nearest_page_of_a_name() {
    let done = converted(&[
        ("notebook.zim", "[Notebook]\n"),
        ("A.txt", "HEAD\n[[B]] [[+B]] [[:a:b|low]] [[None]] [[wp?Weir]] [[mailto:a@b.c|x]]"),
        ("B.txt", "HEAD\n"),
        ("A/B.txt", "HEAD\n[[C]] [[B]] [[A]]"),
        ("A/C.txt", "HEAD\n[[./x.txt]]"),
    ]);
    let body = |path: &str| done.page(path).splitn(3, "---\n").nth(2).unwrap().trim().to_owned();
    assert_eq!(body("A"), "[[B]] [[A/B|B]] [[A/B|low]] [[None]] `wp?Weir` [x](mailto:a@b.c)");
    assert_eq!(body("A/B"), "[[A/C|C]] [[A/B|B]] [[A]]");
    assert_eq!(done.lost(), ["A/C.txt: its file ./x.txt is not in the import"]);
}

#[test]
fn what_is_no_page_is_a_file_or_named() {
    let done = converted(&[
        ("A.txt", "HEADCreation-Date: 2011-01-01T10:00:00.12\n\ntext"),
        ("notebook.zim", "[Notebook]\n"),
        ("A/plain.txt", "no header"),
        ("A/with blank.txt", "HEAD\n"),
        ("stray.txt", "no header"),
    ]);
    assert_eq!(done.paths(), ["A"]);
    assert!(done.page("A").contains("created: \"2011-01-01T10:00:00.12\"\n"), "{}", done.page("A"));
    let names: Vec<&str> = done.files().iter().map(|file| file.1).collect();
    assert_eq!(names, ["plain.txt", "with blank.txt"]);
    assert_eq!(done.lost(), ["stray.txt: it is no page, and no page has it"]);
}

#[test]
fn one_page_alone_is_read() {
    let files = directory(&[("Old_Page.txt", &format!("{HEAD}\n====== Old Page ======\nx"))]);
    let done = Converted::of(&FORMATS, &files.path().join("Old_Page.txt"));
    assert_eq!(done.page("Old Page"), "---\ntitle: \"Old Page\"\n---\n\nx\n");
}

#[test]
fn a_page_of_the_journal_has_its_day() {
    let done = converted(&[
        ("notebook.zim", "[Notebook]\nname=N\n"),
        ("Journal/2026/11/01.txt", "HEAD\n====== Sunday 01 November 2026 ======\nx\n"),
        ("A/2026/11/41.txt", "HEAD\ny\n"),
    ]);
    let page = done.page("Journal/2026/11/01");
    assert!(page.contains("title: \"2026-11-01\"\ndate: \"2026-11-01\"\n"), "{page}");
    assert!(page.ends_with("# Sunday 01 November 2026\n\nx\n"), "{page}");
    assert!(done.page("A/2026/11/41").contains("title: \"41\"\n---"));
}
