//! Tests of the reader of DokuWiki.

use std::path::Path;

use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const FIXTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/dokuwiki/notes");

#[test]
fn a_wiki_is_read_with_dates_and_files() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    assert_eq!((done.format, done.error.clone()), ("dokuwiki", None));
    assert_eq!(
        done.paths(),
        ["boats/ferry", "boats/red_rowboat", "boats/start", "gr_uen_soehne", "start"]
    );
    assert_eq!(
        done.page("boats/ferry"),
        "---\ntitle: \"ferry\"\ncreated: 2026-11-30T08:50:23Z\nupdated: 2026-11-30T08:50:24Z\n\
         attachments: [\"ferry.png\"]\nauthor: \"ida\"\n---\n\nNo heading here. Back to \
         [[boats/start|Boats]] and [[start|home]].\n\n## Keys\n\nIn the red box. ![[ferry.png]]\n"
    );
    assert_eq!(
        done.lost(),
        [
            "data/pages/boats/start.txt: its file missing.png is not in the import",
            "data/media/stray.csv: no page has this file",
        ]
    );
}

#[test]
fn links_follow_namespaces() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    let boats = done.page("boats/start");
    assert!(
        boats.contains(
            "[[boats/ferry|ferry]] [[start|Weir notes]] [[boats/red_rowboat|Red & blue <rowboat>]]"
                .replace("boats/ferry|ferry", "boats/ferry|boats:ferry")
                .as_str()
        ),
        "{boats}"
    );
    assert!(
        boats.contains("![[ferry.png|The ferry]] [[plan.pdf|plan]] `missing.png` ![](<https://")
    );
    let start = done.page("start");
    assert!(
        start.contains(
            "[[boats/start|Boats]], [[boats/ferry|the keys]], [[gr_uen_soehne|Grün]], \
             [[missing_page|missing page]]."
        ),
        "{start}"
    );
}

#[test]
fn wikitext_becomes_markdown() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    let start = done.page("start");
    for text in [
        "tags: [\"garden\", \"river bank\"]",
        "**bold** *italic* <u>under</u> `code_x` ~~gone~~ H<sub>2</sub>O snake_case_name [^1]\n",
        "Second line  \nafter a break. <https://weirs.example/a_b(1)> [Weirs](https://weirs.example)",
        "wiki (`wp>Weir`) <ida@weir.example>",
        "## Lists\n\n- rope\n- nails\n    - long\n    - short\n1. first\n1. second\n",
        "key.py\n\n```python\nprint(\"a_b\")\n```\n\n```\npreformatted **not bold**\n```",
        "> quoted  \n> > deeper",
        "| Part | Price |\n| --- | --- |\n| hinge | 4 |\n| [[boats/ferry\\|the ferry]] |  |",
        "---\n\n1986\\. A dry year\n\\# of guests: 40\n\\- no list\n//literal// \\*\\*x\\*\\*",
        "[^1]: Since **1911**.",
    ] {
        assert!(start.contains(text), "{text}\n{start}");
    }
}

#[test]
fn folders_of_these_names_are_no_wiki() {
    let files = directory(&[("pages/a.txt", "a"), ("media/b.png", "b")]);
    let sample = brain_convert_base::Sample::of(files.path()).unwrap();
    assert!(!(super::FORMAT.recognise)(&sample));
    for (page, is_wiki) in
        [("====== A ======\n", true), ("Content-Type: text/x-zim-wiki\n\n====== A ======\n", false)]
    {
        let files = directory(&[("pages/a.txt", page), ("media/b.png", "b")]);
        let sample = brain_convert_base::Sample::of(files.path()).unwrap();
        assert_eq!((super::FORMAT.recognise)(&sample), is_wiki, "{page}");
    }
}

#[test]
fn a_picture_keeps_its_text() {
    let files = directory(&[
        ("pages/a.txt", "====== A ======\n{{:b.png?20|The weir}} {{b.png|b.png}} {{b.png}}"),
        ("media/b.png", "b"),
    ]);
    let done = Converted::of(&FORMATS, files.path());
    let page = done.page("a");
    assert!(page.contains("![[b.png|The weir]] ![[b.png]] ![[b.png]]"), "{page}");
}

#[test]
fn the_program_is_one_line_of_the_report() {
    let files = directory(&[
        ("wiki/doku.php", "x"),
        ("wiki/inc/a.php", "x"),
        ("wiki/conf/local.php", "x"),
        ("wiki/data/pages/a.txt", "====== A ======\nx"),
        ("wiki/data/attic/a.1.txt.gz", "x"),
    ]);
    let done = Converted::of(&FORMATS, files.path());
    assert_eq!(done.page("a"), "---\ntitle: \"A\"\n---\n\nx\n");
    assert_eq!(
        done.lost(),
        [
            "files of the program: it has no pages, and is not read: 3 files",
            "wiki/data/attic: it has no pages, and is not read: 1 file",
        ]
    );
}

#[test]
fn a_wiki_does_not_take_over_the_notes_beside_it() {
    let wiki = [("wiki/data/pages/a.txt", "text"), ("wiki/data/meta/a.changes", "")];
    let is_recognised = |more: &[(&str, &str)]| {
        let dir = directory(&[&wiki[..], more].concat());
        brain_convert_base::recognise(&FORMATS, dir.path()).unwrap().is_some()
    };
    assert!(is_recognised(&[("wiki/lib/README.md", "of the program")]));
    assert!(!is_recognised(&[("notes/a.md", "mine")]));
}

#[test]
fn a_tag_of_several_words_is_in_quotation_marks() {
    let text = "====== A ======\n{{tag>boats \"big river\" old_weir}}\n";
    let files = [("pages/a.txt", text), ("pages/start.txt", "x"), ("meta/a.changes", "")];
    let done = Converted::of(&FORMATS, directory(&files).path());
    let tags = "\ntags: [\"boats\", \"big river\", \"old weir\"]\n";
    assert!(done.page("a").contains(tags), "{}", done.page("a"));
}
