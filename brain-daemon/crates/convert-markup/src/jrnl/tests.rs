//! Tests of the reader of jrnl.

use std::path::Path;

use super::entry::local_time;
use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/jrnl");

fn fixture(name: &str) -> Converted {
    Converted::of(&FORMATS, &Path::new(FIXTURE).join(name))
}

#[test]
fn text_and_json_give_the_same_pages() {
    let (text, json) = (fixture("j.txt"), fixture("j.json"));
    let paths = ["2026-11-01 The gate leaks", "2026-11-02 Bought rope", "2026-11-03 Whole day"];
    assert_eq!((text.format, json.format), ("jrnl", "jrnl"));
    assert_eq!((text.paths(), json.paths()), (paths.to_vec(), paths.to_vec()));
    let rope = "---\ntitle: \"Bought rope\"\ntags: [\"river\"]\ncreated: \"2026-11-02T21:00\"\n\
                starred: \"true\"\n---\n\n- [ ] oil the hinge\n1986. A dry year\n\nSecond paragraph \
                @river\n";
    assert_eq!(text.page(paths[1]), rope);
    assert_eq!(json.page(paths[1]), rope);
    assert!(json.page(paths[0]).contains("tags: [\"ole\", \"weir\"]\n"));
    assert!(text.lost().is_empty() && json.lost().is_empty());
}

#[test]
fn a_journal_can_be_a_folder() {
    let done = fixture("folder");
    assert_eq!(done.paths(), ["2026-11-01 In a folder"]);
}

#[test]
fn a_log_is_no_journal() {
    let log = "[2026-11-01 09:00:00] INFO start\n[2026-11-01 09:00:01] INFO stop\n";
    let files = directory(&[("a.txt", log)]);
    let sample = brain_convert_base::Sample::of(&files.path().join("a.txt")).unwrap();
    assert!(!(super::FORMAT.recognise)(&sample));
}

#[test]
fn times_have_their_half_of_the_day() {
    for (text, time) in [
        ("2026-11-01 12:05:00 AM", Some("2026-11-01T00:05")),
        ("2026-11-01 12:05 pm", Some("2026-11-01T12:05")),
        ("2026-11-01 21:05:09", Some("2026-11-01T21:05:09")),
        ("2026-11-01", Some("2026-11-01")),
        ("2026-11-01 13:05 PM", None),
        ("2026-13-01 10:00", None),
        ("note 1", None),
    ] {
        assert_eq!(local_time(text).as_deref(), time, "{text}");
    }
}

#[test]
fn cut_json_gives_the_whole_entries() {
    let whole = std::fs::read_to_string(Path::new(FIXTURE).join("j.json")).unwrap();
    let cut = whole.split_once("Whole day").unwrap().0;
    let files = directory(&[("j.json", cut)]);
    let done = Converted::of(&FORMATS, &files.path().join("j.json"));
    assert_eq!(done.paths().len(), 2);
    assert!(done.error.unwrap().starts_with("j.json: "));
}

#[test]
fn text_before_the_first_entry_is_named() {
    let files = directory(&[("2026/11/01.txt", "\n[2026-11-01 09:00] A\n"), ("x.png", "x")]);
    std::fs::write(files.path().join("2026/11/02.txt"), "[2026-11-02 09:00] B\nb").unwrap();
    std::fs::write(files.path().join("2026/11/03.txt"), "lost\n[2026-11-03 09:00] C").unwrap();
    let done = Converted::of(&FORMATS, files.path());
    assert_eq!(done.paths(), ["2026-11-01 A", "2026-11-02 B", "2026-11-03 C"]);
    assert_eq!(
        done.lost(),
        [
            "2026/11/03.txt: the text before its first entry has no time, and is not read",
            "x.png: it is no day of jrnl",
        ]
    );
}

#[test]
fn tags_of_the_title_are_those_of_the_page() {
    let files = directory(&[(
        "j.txt",
        "[2026-11-01 09:00] Oil @weir #Rope.\n## no tag\n\n[2026-11-02 09:00] x\n",
    )]);
    let done = Converted::of(&FORMATS, &files.path().join("j.txt"));
    assert!(done.page(done.paths()[0]).contains("tags: [\"weir\", \"rope\"]\n"));
}
