use std::io::{Cursor, Write as _};
use std::path::Path;

use brain_convert_testing::Converted;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::FORMATS;

const CONTAINER: &str = "<container xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\">\
    <rootfiles><rootfile full-path=\"o/c.opf\"/></rootfiles></container>";

/// Makes a book with these chapters, metadata and other files.
fn book(metadata: &str, chapters: &[&str], others: &[(&str, &str)]) -> Converted {
    let mut files = vec![("mimetype".to_owned(), "application/epub+zip".to_owned())];
    files.push(("META-INF/container.xml".to_owned(), CONTAINER.to_owned()));
    let (mut items, mut spine) = (String::new(), String::new());
    for (n, chapter) in chapters.iter().enumerate() {
        items += &format!(
            "<item id=\"c{n}\" href=\"c{n}.xhtml\" media-type=\"application/xhtml+xml\"/>"
        );
        spine += &format!("<itemref idref=\"c{n}\"/>");
        files.push((format!("o/c{n}.xhtml"), (*chapter).to_owned()));
    }
    files.push((
        "o/c.opf".to_owned(),
        format!(
            "<package xmlns=\"http://www.idpf.org/2007/opf\"><metadata \
             xmlns:dc=\"http://purl.org/dc/elements/1.1/\" \
             xmlns:opf=\"http://www.idpf.org/2007/opf\">{metadata}</metadata><manifest>{items}\
             <item id=\"n\" href=\"toc.ncx\" media-type=\"application/x-dtbncx+xml\"/></manifest>\
             <spine>{spine}</spine></package>"
        ),
    ));
    files.extend(others.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("book.epub");
    std::fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
    Converted::of(&FORMATS, &path)
}

fn body(converted: &Converted) -> &str {
    converted.page("book").split_once("\n---\n\n").unwrap().1.trim_end()
}

#[test]
fn im05_a_chapter_is_xml() {
    let chapter = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title/><script \
        src=\"k.js\"/></head><body><h1><a id=\"p8\"/>The weir</h1><p>It leaked<i/> all night.</p>\
        <p>Then it &nbsp;stopped.</p></body></html>";
    let converted = book("", &[chapter], &[]);
    assert_eq!(converted.format, "epub");
    assert_eq!(body(&converted), "# The weir\n\nIt leaked all night.\n\nThen it \u{a0}stopped.");
}

#[test]
fn a_chapter_that_is_no_xml_is_read_as_html() {
    let converted = book("", &["<html><body><p>one<br>two<p>three</body></html>"], &[]);
    assert_eq!(body(&converted).split_whitespace().collect::<Vec<_>>(), ["one", "two", "three"]);
}

#[test]
fn a_chapter_without_headings_has_those_of_the_contents() {
    let ncx = "<ncx><navMap><navPoint><navLabel><text>First</text></navLabel><content \
        src=\"c0.xhtml\"/></navPoint><navPoint><navLabel><text>Part two</text></navLabel>\
        <content src=\"c0.xhtml#two\"/></navPoint></navMap></ncx>";
    let chapter = "<html><body><p>one</p><p id=\"two\">two</p></body></html>";
    let converted = book("", &[chapter], &[("o/toc.ncx", ncx)]);
    assert_eq!(body(&converted), "# First\n\none\n\n# Part two\n\ntwo");
}

#[test]
fn classes_can_be_bold() {
    let chapter = "<html><head><link href=\"../s.css\"/><style>.i { font-style: italic }</style>\
        </head><body><p class=\"b\">one <span class=\"b\">two</span> <span class=\"i\">three\
        </span></p></body></html>";
    let converted = book("", &[chapter], &[("s.css", "span.b { font-weight: bold }")]);
    assert_eq!(body(&converted), "one **two** *three*");
}

#[test]
fn a_heading_of_the_contents_is_there_once() {
    let ncx = "<ncx><navMap><navPoint><navLabel><text>The weir</text></navLabel><content \
        src=\"c0.xhtml\"/></navPoint><navPoint><navLabel><text>Section 1</text></navLabel>\
        <content src=\"c1.xhtml\"/></navPoint></navMap></ncx>";
    let chapter = "<html><body><p>The weir</p><p>one</p></body></html>";
    let converted = book("", &[chapter, chapter], &[("o/toc.ncx", ncx)]);
    assert_eq!(body(&converted), "# The weir\n\none\n\nThe weir\n\none");
}

#[test]
fn links_between_chapters_name_the_heading() {
    let one = "<html><body><h1>One</h1><p>See <a href=\"c1.xhtml#x\">two</a>, \
        <a href=\"c1.xhtml\">it</a>, <a href=\"http://a.example/\">web</a>.</p></body></html>";
    let two = "<html><body><section id=\"x\"><h2>Two [b]</h2></section></body></html>";
    let converted = book("", &[one, two], &[]);
    let links = "See [[#Two b|two]], [[#Two b|it]], [web](http://a.example/).";
    assert!(body(&converted).contains(links), "{}", body(&converted));
}

#[test]
fn notes_are_notes_of_the_page() {
    let chapter = "<html xmlns:epub=\"http://www.idpf.org/2007/ops\"><body><p>Text<a \
        epub:type=\"noteref\" href=\"#f1\">1</a></p><aside epub:type=\"footnote\" id=\"f1\">\
        <span>[1]</span><p>The note.</p></aside><p>End.</p></body></html>";
    let converted = book("", &[chapter], &[]);
    assert_eq!(body(&converted), "Text[^1]\n\nEnd.\n\n[^1]: The note.");
}

#[test]
fn dates_and_authors_are_those_of_the_book() {
    let metadata = "<dc:title>Unknown</dc:title><dc:creator opf:role=\"aut\">Ole &amp; Ida\
        </dc:creator><dc:creator opf:role=\"bkp\">calibre</dc:creator><dc:date>\
        0101-01-01T00:00:00+00:00</dc:date><dc:subject>Water</dc:subject>";
    let converted = book(metadata, &["<html><body><p>x</p></body></html>"], &[]);
    let page = converted.page("book");
    let head = "---\nsource_kind: \"import:others\"\ntitle: \"book\"\ntags: [\"Water\"]\nattachments: [\"book.epub\"]\nauthor: \
        \"Ole & Ida\"\n---\n";
    assert!(page.starts_with(head), "{page}");
}

#[test]
fn tables_have_cells_for_covered_ones() {
    let chapter = "<html><body><table><tr><td rowspan='2'>a</td><td colspan='2'>b</td></tr>\
        <tr><td>c</td><td>d</td></tr></table></body></html>";
    let converted = book("", &[chapter], &[]);
    assert_eq!(body(&converted), "| a | b |  |\n| --- | --- | --- |\n|  | c | d |");
}

#[test]
fn a_locked_book_is_refused_by_name() {
    let lock = "<encryption><EncryptedData><CipherData><CipherReference URI=\"o/c0.xhtml\"/>\
        </CipherData></EncryptedData></encryption>";
    let converted = book("", &["x"], &[("META-INF/encryption.xml", lock)]);
    assert!(converted.error.unwrap().contains("it is locked (DRM)"));
}

#[test]
fn a_missing_chapter_or_picture_is_reported() {
    let chapter = "<html><body><p>x <img src=\"a.png\" alt=\"A\"/></p></body></html>";
    let converted = book("", &[chapter], &[]);
    assert_eq!(converted.lost(), ["book.epub: its picture o/a.png is not in the file"]);
}

#[test]
fn a_book_of_pandoc_is_whole() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/documents");
    let converted = Converted::of(&FORMATS, &Path::new(folder).join("pandoc.epub"));
    let page = converted.page("pandoc");
    for part in [
        "title: \"The harbour book\"\ncreated: 2026-03-04T00:00:00Z\n",
        "![A red lamp](file0.png)",
        "See [[#Lists|Lists]] above.",
        "Text with a footnote.[^1] And another.[^2]",
        "[^1]: The first note & its end.",
        "- alpha\n- beta\n  - beta one\n    1. deep one\n",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(converted.files().len(), 2);
    assert_eq!(converted.lost(), Vec::<String>::new());
}

#[test]
fn im04_raised_numbers_do_not_join_the_number_before() {
    let chapter = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><body><p>10<sup>6</sup> grains of \
                   H<sub>2</sub>O, see<sup><a href=\"#n\">12</a></sup> <span \
                   style=\"vertical-align:super\">3</span></p><h2>E = mc<sup>2</sup></h2></body></html>";
    let converted = book("<dc:title>Salt</dc:title>", &[chapter], &[]);
    let page = converted.page("book");
    assert!(page.contains("\n10\u{2076} grains of H\u{2082}O, see\u{b9}\u{b2} \u{b3}\n"), "{page}");
    assert!(page.contains("## E = mc\u{b2}\n"), "{page}");
}

#[test]
fn hidden_text_is_left_out_and_counted() {
    let chapter = "<html xmlns=\"http://www.w3.org/1999/xhtml\" \
        xmlns:epub=\"http://www.idpf.org/2007/ops\"><body><h1>The weir</h1>\
        <p>It leaked<a href=\"#n\" epub:type=\"noteref\">1</a> <span hidden=\"\">one</span>all \
        <i style=\"display:none\">two</i>night.</p><p style=\"visibility: hidden\">three</p>\
        <ul><li hidden=\"hidden\">four</li><li>a</li></ul>\
        <aside id=\"n\" epub:type=\"footnote\" style=\"display:none\"><p>A note.</p></aside>\
        </body></html>";
    let converted = book("", &[chapter], &[]);
    let body = body(&converted);
    assert!(body.contains("It leaked[^1] all night.\n\n- a\n"), "{body}");
    assert!(body.contains("[^1]: A note."), "{body}");
    assert_eq!(converted.lost(), ["book.epub: text that it hides is left out: 4 words"]);
}

#[test]
fn boxes_show_whether_they_are_ticked() {
    let chapter = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><body><h1>List</h1><ul>\
        <li><input type=\"checkbox\" disabled=\"\"/>\nrope</li>\
        <li><input type=\"checkbox\" checked=\"\"/>oil</li></ul></body></html>";
    let converted = book("", &[chapter], &[]);
    assert!(body(&converted).ends_with("- ☐ rope\n- ☑ oil"), "{}", body(&converted));
}

/// Returns a chapter in which elements can have types.
fn chapter(body: &str) -> String {
    format!(
        "<html xmlns=\"http://www.w3.org/1999/xhtml\" \
         xmlns:epub=\"http://www.idpf.org/2007/ops\"><body>{body}</body></html>"
    )
}

#[test]
fn the_number_of_a_note_in_another_chapter_joins_no_number() {
    let first = chapter(
        "<h1>The weir</h1><p>Built in 1911<a href=\"c1.xhtml#n3\" epub:type=\"noteref\">3</a>.</p>",
    );
    let second = chapter("<h1>Notes</h1><p id=\"n3\">By Ole.</p>");
    let converted = book("", &[&first, &second], &[]);
    assert!(body(&converted).contains("Built in 1911\u{b3}."), "{}", body(&converted));
}

#[test]
fn notes_of_another_chapter_are_notes_of_the_page() {
    let first = chapter(
        "<h1>The weir</h1><p>Built in 1911<a href=\"c1.xhtml#n1\" epub:type=\"noteref\">1</a>.</p>",
    );
    let notes = chapter(
        "<h1>Notes</h1><ol><li id=\"n1\" epub:type=\"endnote\"><p>By Ole. <a \
         href=\"c0.xhtml#r1\" epub:type=\"backlink\">back</a></p></li>\
         <li id=\"n2\" epub:type=\"endnote\"><p>Without a place.</p></li></ol>",
    );
    let last = chapter("<p>See<a href=\"c1.xhtml#n2\" epub:type=\"noteref\">2</a>.</p>");
    let converted = book("", &[&first, &notes, &last], &[]);
    let expected = "# The weir\n\nBuilt in 1911[^1].\n\n# Notes\n\n1. Without a place.\n\n";
    let body = body(&converted);
    assert!(body.starts_with(expected) && body.ends_with("\n\n[^1]: By Ole."), "{body}");
    assert!(body.contains("\n\nSee\u{b2}.\n\n"), "{body}");
}

#[test]
fn notes_of_pandoc_in_epub_2_are_notes_of_the_page() {
    let chapter = "<html><body><p>Text<a href=\"#fn1\" class=\"footnote-ref\" \
        id=\"fnref1\">1</a> here.</p><div class=\"footnotes footnotes-end-of-document\"><hr />\
        <ol><li id=\"fn1\"><p>The note.<a href=\"#fnref1\" class=\"footnote-back\">back</a></p>\
        </li></ol></div></body></html>";
    let converted = book("", &[chapter], &[]);
    assert_eq!(body(&converted), "Text[^1] here.\n\n---\n\n[^1]: The note.");
}
