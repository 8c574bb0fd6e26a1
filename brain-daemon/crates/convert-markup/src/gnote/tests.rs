//! Tests of the reader of Gnote and Tomboy.

use std::path::Path;

use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const FIXTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/gnote/notes");

fn note(title: &str, content: &str, more: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<note version=\"0.3\" \
         xmlns:link=\"http://beatniksoftware.com/tomboy/link\" \
         xmlns:size=\"http://beatniksoftware.com/tomboy/size\" \
         xmlns=\"http://beatniksoftware.com/tomboy\"><title>{title}</title><text \
         xml:space=\"preserve\"><note-content version=\"0.1\">{title}\n\n{content}</note-content>\
         </text>{more}</note>"
    )
}

fn converted(files: &[(&str, &str)]) -> Converted {
    Converted::of(&FORMATS, directory(files).path())
}

#[test]
fn notes_of_gnote_are_pages() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    assert_eq!((done.format, done.error.clone()), ("gnote", None));
    assert_eq!(
        done.paths(),
        ["Start Here", "Using Links in Gnote", "River/The weir", "Ferry & boats"]
    );
    assert_eq!(
        done.page("River/The weir"),
        "---\ntitle: \"The weir\"\ncreated: 2026-11-30T08:52:20.241027Z\nupdated: \
         2026-11-30T08:52:20.255151Z\ntags: [\"repairs\"]\npinned: \"true\"\n---\n\nTom & Ida meet at \
         [[Ferry & boats]], see <https://weirs.example/a_b>.  \n**bold** *italic* ~~gone~~ ==lit== \
         `code_x` large Huge heading <u>under</u>\n\n- rope\n- nails\n    - long\n\n\\# of guests: 40  \n\
         \\- \\[ \\] no task\n"
    );
    let lost = done.lost();
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost.iter().any(|line| line.ends_with("it is the template of a notebook")));
    assert!(lost.iter().any(|line| line.ends_with("it is in Backup: the note was deleted")));
}

#[test]
fn im01_references_are_part_of_the_text() {
    let text = note("Salt &amp; Sons", "5 &#8211; 7 &lt;b&gt; <bold>a &amp;</bold> &unknown;", "");
    let done = converted(&[("a.note", &text)]);
    assert_eq!(
        done.page("Salt & Sons"),
        "---\ntitle: \"Salt & Sons\"\n---\n\n5 – 7 \\<b> **a &** \\&unknown;\n"
    );
    assert_eq!(done.lost(), ["a.note: the name &unknown; is unknown, and stays as it is"]);
}

#[test]
fn a_format_over_several_lines_is_in_each_line() {
    let text = note("T", "<bold>one\ntwo</bold>\n\n<size:huge>Big</size:huge>\n\tin", "");
    let done = converted(&[("a.note", &text)]);
    assert!(
        done.page("T")
            .ends_with("---\n\n**one**  \n**two**\n\n## Big\n\n\u{a0}\u{a0}\u{a0}\u{a0}in\n"),
        "{}",
        done.page("T")
    );
}

#[test]
fn the_newest_version_of_a_note_counts() {
    let more = "<create-date>2011-03-04T10:11:12.1234567+01:00</create-date>";
    let done = converted(&[
        ("0/2/a.note", &note("T", "old", more)),
        ("0/10/a.note", &note("T", "new", more)),
        ("0/10/manifest.xml", "<sync/>"),
    ]);
    assert_eq!(
        done.page("T"),
        "---\ntitle: \"T\"\ncreated: 2011-03-04T09:11:12.1234567Z\n---\n\nnew\n"
    );
    assert_eq!(done.lost(), ["0/2/a.note: there is a newer version of the note"]);
}

#[test]
fn a_cut_note_is_read_up_to_the_cut() {
    let text = note("T", "one two three", "");
    let files = directory(&[("a.note", text.split_once(" three").unwrap().0)]);
    let done = Converted::of(&FORMATS, &files.path().join("a.note"));
    assert!(done.page("T").ends_with("one two\n"));
    assert!(done.error.unwrap().contains("ends too early"));
}
