//! Tests of the reader of CherryTree.

use std::path::Path;

use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const FIXTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/cherrytree/notes.ctd");

fn converted(xml: &str) -> Converted {
    let files = directory(&[("notes.ctd", xml)]);
    Converted::of(&FORMATS, &files.path().join("notes.ctd"))
}

/// A document with one node that has this content.
fn node(content: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cherrytree><bookmarks list=\"\"/>\n\
         <node name=\"N\" unique_id=\"1\" prog_lang=\"custom-colors\">{content}</node></cherrytree>"
    )
}

#[test]
fn nodes_of_cherrytree_are_pages() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    assert_eq!((done.format, done.error.clone()), ("cherrytree", None));
    assert_eq!(
        done.paths(),
        [
            "The harbour",
            "The harbour/Red rowboat",
            "The harbour/Red rowboat/deep-er",
            "row.py",
            "Empty",
            "Empty 2",
            "Typed here"
        ]
    );
    assert_eq!(
        done.page("The harbour"),
        "---\ntitle: \"The harbour\"\ncreated: 2023-11-14T22:13:20Z\nupdated: \
         2023-11-14T23:13:20Z\ntags: [\"boats\", \"river\"]\nattachments: [\"picture.png\", \
         \"plan.pdf\"]\n---\n\n## Repairs & tar\n\nAsk **Ann**, *Bo* and ~~Cy~~ about `rope_1`, see \
         [[The harbour/Red rowboat|the boat]], [weirs](https://weirs.example/a_b), a file \
         (`/home/ann/boats/plan.pdf`) and a folder (`/home/ann/boats`).  \nH<sub>2</sub>O, \
         m<sup>2</sup>, <u>under</u>, ==lit==, small  \n\\# of guests: 40\n\n### Lists\n\n- rope\n    \
         - long\n    - short\n- tar\n1. first\n2. second\n- [ ] scrub the hull\n- [x] mend the \
         oar\n- [x] sell the barge (not done)\n\nPicture: ![[picture.png]] \
         <https://weirs.example/pic> and file: [[plan.pdf]] and sum:\n\n$$\n\\begin{align*}\na^2 + \
         b^2 &= c^2\n\\end{align*}\n$$\n\n.  \nAfter the table:\n\n| Boat | Metres |\n| --- | --- \
         |\n| Ferry | 12 \\| 13 |\n| Barge & tug | two<br>lines |\n\nCode:\n\n```python3\ndef \
         row(n):\n    return \"stroke \" * n  # <b>\n```\n\nEnd.\n"
    );
    let body = |path: &str| done.page(path).rsplit_once("---\n").unwrap().1.trim_start();
    assert_eq!(
        body("The harbour/Red rowboat"),
        "Its rigging.  \nBack to [[The harbour|the harbour]], and to nothing.\n"
    );
    let plain = "\\# plain \\*text\\*  \n\u{a0}\u{a0}\u{a0}\u{a0}with blanks\n";
    assert_eq!(body("The harbour/Red rowboat/deep-er"), plain);
    assert_eq!(body("row.py"), "```python3\nprint(\"# no heading\")\n```\n");
    assert_eq!(
        (body("Empty"), body("Empty 2"), body("Typed here")),
        ("", "Twin\n", "Plain words\n")
    );
    let files: Vec<&str> = done.files().iter().map(|(_, name, _)| *name).collect();
    assert_eq!(files, ["picture.png", "plan.pdf"]);
    assert_eq!(done.files()[1].2, b"%PDF-1.4\n% the plan\n");
    let from = "notes.ctd, The harbour";
    assert_eq!(
        done.lost(),
        [
            format!("{from}: /home/ann/boats is linked, and not in the document"),
            format!("{from}: /home/ann/boats/plan.pdf is linked, and not in the document"),
            format!("{from}/Red rowboat: the link \"nothing\" leads to no node"),
        ]
    );
}

#[test]
fn an_object_is_at_its_place() {
    let done = converted(&node(
        "<rich_text>äö</rich_text><rich_text weight=\"heavy\">ab\ncd</rich_text>\
         <codebox char_offset=\"3\" syntax_highlighting=\"sh\">ls</codebox>\
         <table char_offset=\"8\" head_front=\"1\"><row><cell>H</cell></row><row><cell>1</cell></row>\
         </table><encoded_png char_offset=\"99\" filename=\"a.txt\">eA==</encoded_png>",
    ));
    assert_eq!(
        done.page("N"),
        "---\ntitle: \"N\"\nattachments: [\"a.txt\"]\n---\n\näö**a**\n\n```sh\nls\n```\n\n**b**  \n\
         **cd**\n\n| H |\n| --- |\n| 1 |\n\n[[a.txt]]\n"
    );
}

#[test]
fn a_shared_node_links_to_the_one_with_the_content() {
    let done = converted(
        "<cherrytree><node name=\"A\" unique_id=\"1\"><rich_text>text &amp; &lt;b&gt;</rich_text>\
         <node name=\"A\" unique_id=\"2\" master_id=\"1\"/></node></cherrytree>",
    );
    assert!(done.page("A").ends_with("\n\ntext & \\<b>\n"), "{}", done.page("A"));
    assert!(done.page("A/A").ends_with("\n\n[[A]]\n"), "{}", done.page("A/A"));
}

#[test]
fn a_cut_document_is_read_up_to_the_cut() {
    let whole = std::fs::read_to_string(FIXTURE).unwrap();
    let cut = whole.split_once("Back to").unwrap().0;
    let done = converted(cut);
    assert_eq!(done.paths(), ["The harbour", "The harbour/Red rowboat"]);
    assert!(done.page("The harbour/Red rowboat").contains("Its rigging."));
    assert!(done.error.unwrap().contains("ends too early"));
}

#[test]
fn a_damaged_file_of_a_node_is_named_and_the_text_stays() {
    let damaged = "<rich_text>a</rich_text><encoded_png char_offset=\"0\">!</encoded_png>";
    let done = converted(&node(damaged));
    assert_eq!((done.error.clone(), done.paths()), (None, vec!["N"]));
    assert_eq!(done.lost(), ["notes.ctd, N, picture.png: its data is damaged"]);
    let deep = format!("<cherrytree>{}", "<node name=\"x\">".repeat(300));
    assert!(converted(&deep).error.unwrap().contains("are nested"));
}

#[test]
fn a_database_or_a_locked_file_is_refused_with_the_way_out() {
    let database =
        "SQLite format 3\0..CREATE TABLE children (node_id..CREATE TABLE codebox (node_id";
    let files = directory(&[("a.ctb", database)]);
    let done = Converted::of(&FORMATS, &files.path().join("a.ctb"));
    let error = done.error.unwrap();
    assert!(error.starts_with("a.ctb: it is a database; in CherryTree choose File > Save As"));
    let locked = files.path().join("a.ctx");
    std::fs::write(&locked, b"7z\xBC\xAF\x27\x1C\0\x04").unwrap();
    assert!(Converted::of(&FORMATS, &locked).error.unwrap().contains("it is encrypted; in"));
}
