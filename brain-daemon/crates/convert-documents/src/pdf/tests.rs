//! Tests of the reader of PDF.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::FORMATS;
use brain_convert_testing::Converted;

fn fixture(name: &str) -> PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/pdf");
    Path::new(directory).join(name)
}

fn converted(name: &str) -> Converted {
    Converted::of(&FORMATS, &fixture(name))
}

#[test]
fn im06_fields_of_a_form_are_on_their_page() {
    let done = converted("form.pdf");
    assert_eq!((done.format, done.error.as_deref()), ("pdf", None));
    let page = done.page("Membership");
    for line in [
        "\n## Page 1\n",
        "\nName: Ilse Brandt, Łódź\n",
        "\n[x] Member\n",
        "\n[ ] Newsletter\n",
        "\nBerth: north\n",
        "\nSize: large\n",
        "\nMembership of the harbour club\n",
        "\nauthor: \"Ole Strand\"\n",
    ] {
        assert!(page.contains(line), "{line:?}: {page}");
    }
    assert!(!page.contains("Boat:") && !page.contains("south"), "{page}");
    assert_eq!(done.lost(), Vec::<String>::new());
}

#[test]
fn a_form_of_xfa_alone_is_named() {
    let done = converted("xfa.pdf");
    assert_eq!(done.lost(), ["xfa.pdf: its form is in XFA, which is not read"]);
    assert!(done.page("Tax").contains("Please wait"));
}

#[test]
fn a_file_that_is_locked_is_an_error_by_name() {
    let done = converted("locked.pdf");
    let error = done.error.clone().unwrap();
    assert!(error.starts_with("locked.pdf: it is locked with a password"), "{error}");
    assert_eq!(done.paths(), Vec::<&str>::new());
    let open = converted("not-printable.pdf");
    assert!(open.page("Locked").contains("Nobody reads this."), "{:?}", open.error);
}

#[test]
fn scans_are_named_as_ranges_of_pages() {
    let done = converted("scan.pdf");
    assert_eq!(done.lost(), ["scan.pdf, pages 2–3: a scan: no text"]);
    // The title is the printer driver's, so the page has the name of the file.
    let page = done.page("scan");
    assert!(page.contains("## Page 1\n\nThis is sheet 1."), "{page}");
    assert!(page.contains("## Page 5\n\nThis is sheet 5."), "{page}");
    assert!(!page.contains("## Page 2"), "{page}");
}

#[test]
fn pages_have_their_labels_bookmarks_and_links() {
    let done = converted("labels.pdf");
    let page = done.page("The weir");
    for part in [
        "\ncreated: 2026-07-03T12:00:00Z\ntags: [\"weir\", \"harbour\", \"Łódź\"]\n",
        "\n## Page xi\n\n### Preface\n\n",
        "\n## Page xii\n\n### Contents\n\n",
        "\n## Page 1\n\n### 1 The leak\n\n",
        "and in the morning\n",
        "\nLinks: <https://harbour.example/a_b>\n\n## Page 2\n",
        "\n\nComment of Ole Strand: Oil the hinge first.  \nThen paint \\*it\\*.\n",
    ] {
        assert!(page.contains(part), "{part:?}: {page}");
    }
    assert!(!page.contains("updated"), "{page}");
    assert_eq!(done.lost(), Vec::<String>::new());
}

#[test]
fn sheets_that_are_shown_turned_are_read_as_drawn() {
    let done = converted("landscape.pdf");
    let expected = "## Page 1\n\nnorth berth\nof Ilse Brandt\nsouth berth\nof Ole Strand\n";
    assert!(done.page("Berths").ends_with(expected), "{}", done.page("Berths"));
}

#[test]
fn the_file_is_attached_to_its_page() {
    let done = converted("labels.pdf");
    let bytes = fs::read(fixture("labels.pdf")).unwrap();
    assert_eq!(done.files(), [("The weir", "labels.pdf", bytes)]);
    assert!(done.page("The weir").contains("\n[[labels.pdf]]\n"));
}

#[test]
fn hyphens_of_typst_are_hyphens() {
    let done = converted("typst.pdf");
    let page = done.page("The log of the weir");
    for part in ["2026-11-28", "well-known", "Überschwemmungs", "Müller"] {
        assert!(page.contains(part), "{part:?}: {page}");
    }
    assert!(!page.contains('\u{ad}'), "{page}");
}

#[test]
fn text_of_writer_is_read_in_its_scripts() {
    let done = converted("writer.pdf");
    let page = done.page("Four languages");
    for part in ["Grüße vom Hafen", "Лодка у плотины", "שלום לנמל", "مرحبا بالميناء", "rope"]
    {
        assert!(page.contains(part), "{part:?}: {page}");
    }
    // The bullet of a list is a sign of a font that has no names for its signs.
    let lost = done.lost().concat();
    assert!(lost.starts_with("writer.pdf, page 1: some characters are missing"), "{lost}");
}

#[test]
fn long_documents_become_several_pages() {
    let sheet =
        |n: usize| Sheet { lines: vec![format!("word{n} ").repeat(60_000)], ..Sheet::default() };
    let sheets: Vec<Sheet> = (0..20).map(sheet).collect();
    let facts = Facts {
        metadata: Metadata::default(),
        labels: (1..=20).map(|n| n.to_string()).collect(),
        annotations: Vec::new(),
        is_xfa_only: false,
        missing: 0,
    };
    let parts = parts(&facts, &sheets);
    assert!(parts.len() > 1 && parts.iter().all(|part| part.len() <= MAX_PART), "{}", parts.len());
    let all: String = parts.concat();
    assert_eq!(all.matches("## Page ").count(), 20);
}

fn with_text(name: &str, text: &str) -> Converted {
    Converted::with_text(&FORMATS, &fixture(name), Some(text))
}

#[test]
fn text_of_another_program_replaces_that_of_the_sheet() {
    let done = with_text("scan.pdf", "One\u{fb01}sh\n\u{c}Two\n\n\u{c}\u{c}\u{c}\u{c}");
    let page = done.page("scan");
    assert!(page.contains("## Page 1\n\nOnefish\n\n## Page 2\n\nTwo\n"), "{page}");
    // It read nothing on sheet 5.
    assert!(page.contains("## Page 5\n\nThis is sheet 5."), "{page}");
    assert_eq!(done.lost(), ["scan.pdf, page 3: a scan: no text"]);
}

#[test]
fn text_with_another_number_of_sheets_is_ignored() {
    let done = with_text("scan.pdf", "One\n\u{c}Two\n\u{c}");
    assert_eq!(done.lines, converted("scan.pdf").lines);
}

#[test]
fn other_text_keeps_labels_bookmarks_and_fields() {
    let text = "Preface\nWe begin.\n\u{c}\u{c}\u{c}\u{c}";
    let done = with_text("labels.pdf", text);
    let page = done.page("The weir");
    assert!(page.contains("\n## Page xi\n\n### Preface\n\nWe begin."), "{page}");
    assert!(page.contains("\n## Page 1\n\n### 1 The leak\n\n"), "{page}");
    let form = with_text("form.pdf", "Club\n\u{c}");
    assert!(form.page("Membership").contains("Name: Ilse Brandt"), "{:?}", form.lines);
}

#[test]
fn a_file_that_the_library_cannot_read_has_other_text() {
    let done = with_text("no-type.pdf", "The weir\n\u{c}leaks.\n\u{c}");
    let page = done.page("no-type");
    assert!(page.ends_with("## Page 1\n\nThe weir\n\n## Page 2\n\nleaks.\n"), "{page}");
    let lost = done.lost().concat();
    assert!(lost.starts_with("no-type.pdf: only its text is read, by pdftotext: "), "{lost}");
    let empty = with_text("no-type.pdf", "\u{c}");
    assert!(empty.error.unwrap().contains("the PDF is damaged"));
}

/// Each damaged file ends with an error that names it, or with a page.
#[test]
fn damaged_files_end_with_a_page_or_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.pdf");
    for name in ["form.pdf", "labels.pdf", "scan.pdf"] {
        let bytes = fs::read(fixture(name)).unwrap();
        for tenth in 1..10 {
            let length = bytes.len() * tenth / 10;
            let cut = bytes[..length].to_vec();
            let mut flipped = bytes.clone();
            flipped[length..(length + 40).min(bytes.len())].iter_mut().for_each(|it| *it ^= 0x55);
            for damaged in [cut, flipped] {
                fs::write(&path, damaged).unwrap();
                let done = Converted::of(&FORMATS, &path);
                match done.error {
                    Some(error) => assert!(error.starts_with("cut.pdf: "), "{error}"),
                    None => assert_eq!(done.paths().len(), 1, "{name} {tenth}"),
                }
            }
        }
    }
}

#[test]
fn other_files_are_not_recognised() {
    let directory = brain_convert_testing::directory(&[("a.txt", "see %PDF-1.7"), ("b.txt", "")]);
    for name in ["a.txt", "b.txt"] {
        assert!(!recognise(&Sample::of(&directory.path().join(name)).unwrap()), "{name}");
    }
}
