use std::io::{Cursor, Write as _};
use std::path::Path;

use brain_convert_testing::Converted;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::FORMATS;

const NS: &str = "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
    xmlns:draw=\"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0\" \
    xmlns:form=\"urn:oasis:names:tc:opendocument:xmlns:form:1.0\" \
    xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" \
    xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\"";

fn converted(manifest: &str, content: &str) -> Converted {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let files = [
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", manifest),
        ("content.xml", content),
    ];
    for (name, text) in files {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("letter.odt");
    std::fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
    Converted::of(&FORMATS, &path)
}

/// Converts a document that has nothing but this text: no styles, no metadata.
fn text(text: &str) -> String {
    let content = format!("<office:body {NS}><office:text>{text}</office:text></office:body>");
    let converted = converted("", &content);
    assert_eq!((converted.format, converted.error.as_deref()), ("odt", None));
    let page = converted.page("letter");
    page.split_once("\n---\n\n").unwrap().1.trim_end().to_owned()
}

fn fixture(name: &str) -> Converted {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/documents");
    Converted::of(&FORMATS, &Path::new(folder).join(name))
}

#[test]
fn im01_references_do_not_split_a_text() {
    let shown = text("<text:p>Salt &amp; Sons\n  &lt;harbour&gt; 5 &#8211; 7</text:p>");
    assert_eq!(shown, "Salt & Sons \\<harbour> 5 – 7");
}

#[test]
fn im06_values_of_form_fields_are_in_the_text() {
    let shown = text(
        "<office:forms><form:form><form:text form:id=\"c1\" form:current-value=\"Ilse Brandt\"/>\
         <form:checkbox xml:id=\"c2\" form:label=\"Member\" form:current-state=\"checked\"/>\
         <form:checkbox form:id=\"c3\" form:label=\"Newsletter\"/>\
         <form:listbox form:id=\"c4\"><form:option form:label=\"red\"/><form:option \
         form:label=\"blue\" form:current-selected=\"true\"/></form:listbox>\
         <form:password form:id=\"c5\" form:current-value=\"secret\"/>\
         </form:form></office:forms><text:p>Name: <draw:control draw:control=\"c1\"/>, \
         <draw:control draw:control=\"c2\"/>, <draw:control draw:control=\"c3\"/>, \
         <draw:control draw:control=\"c4\"/><draw:control draw:control=\"c5\"/></text:p>",
    );
    assert_eq!(shown, "Name: Ilse Brandt, ☑ Member, ☐ Newsletter, blue");
}

#[test]
fn deleted_text_is_left_out() {
    let shown = text(
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>\
         </text:deletion></text:changed-region></text:tracked-changes>\
         <text:p>kept<text:change/> <text:change-start/>new<text:change-end/></text:p>",
    );
    assert_eq!(shown, "kept new");
}

#[test]
fn covered_cells_are_kept() {
    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    let shown = text(&format!(
        "<table:table><table:table-row>{}<table:covered-table-cell/>{}</table:table-row>\
         <table:table-row><table:covered-table-cell><text:p>hidden</text:p>\
         </table:covered-table-cell>{}{}</table:table-row></table:table>",
        cell("a"),
        cell("c"),
        cell("b2"),
        cell("c2")
    ));
    assert_eq!(shown, "| a |  | c |\n| --- | --- | --- |\n| hidden | b2 | c2 |");
}

#[test]
fn repeated_cells_have_a_limit() {
    let cell = format!(
        "<table:table-cell table:number-columns-repeated=\"200\"><text:p>{}</text:p>\
         </table:table-cell>",
        "x".repeat(1000)
    );
    let row =
        format!("<table:table-row table:number-rows-repeated=\"200\">{cell}</table:table-row>");
    let content = format!(
        "<office:body {NS}><office:text><table:table>{}</table:table></office:text></office:body>",
        row.repeat(3)
    );
    let converted = converted("", &content);
    assert!(converted.page("letter").len() < brain_protocol::MAX_CONTENT);
    assert!(converted.lost().iter().any(|it| it.contains("that a table repeats are there once")));
}

#[test]
fn a_document_of_libreoffice_is_whole() {
    let converted = fixture("libreoffice.odt");
    let page = converted.page("libreoffice");
    for part in [
        "title: \"Minutes of the weir\"\n",
        "author: \"Ilse Brandt\"\n",
        "tags: [\"water\", \"harbour\"]\n",
        "leaves never late at six[^1] o'clock. A point[^2] here.",
        "**Bold** and *italic* and ~~struck~~, two blanks, a tab,  \na new line.",
        "[A link](https://weirs.example/1911), and [[#Minutes|inside]].",
        "- First\n  1. Nested one\n  2. Nested two\n- Second",
        "Between the lists.\n\n3. Tre",
        "| Name | Wide \\| head |  |\n| --- | --- | --- |\n| Tall | b1<br>b1 second | c1 |",
        "Before the box. After the box.\n\nOpen Mondays\n",
        "[^1]: **Comment by Bo Lund, 2026-03-05:** Is that so & true?",
        "[^3]: The note of the foot.",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("SECRETDELETED"));
    assert_eq!(converted.lost(), Vec::<String>::new());
}

#[test]
fn a_locked_document_is_refused_by_name() {
    let manifest = "<manifest:manifest \
        xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\">\
        <manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>";
    let error = converted(manifest, "\0\0").error.unwrap();
    assert_eq!(error, "letter.odt: it is locked by a password; save it without one");
}

#[test]
fn content_that_is_cut_gives_what_is_before() {
    let content = format!("<office:body {NS}><office:text><text:p>one</text:p><text:p>tw");
    for end in 0..content.len() {
        let converted = converted("", &content[..end]);
        assert_eq!(converted.paths(), ["letter"]);
    }
    let converted = converted("", &content);
    assert!(converted.page("letter").ends_with("one\n\ntw\n"));
    assert!(converted.error.unwrap().contains("it ends within an element"));
}

#[test]
fn im04_raised_numbers_do_not_join_the_number_before() {
    let style = |name: &str, position: &str| {
        format!(
            "<style:style style:name=\"{name}\" style:family=\"text\"><style:text-properties \
             style:text-position=\"{position}\"/></style:style>"
        )
    };
    let span = |name: &str, text: &str| {
        format!("<text:span text:style-name=\"{name}\">{text}</text:span>")
    };
    let content = format!(
        "<office:document-content {NS} xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\">\
         <office:automatic-styles>{}{}{}</office:automatic-styles>\
         <office:body><office:text><text:p>10{} H{}O, 5{}</text:p></office:text></office:body>\
         </office:document-content>",
        style("up", "super 58%"),
        style("down", "-33% 58%"),
        style("level", "0% 100%"),
        span("up", "6"),
        span("down", "2"),
        span("level", "7"),
    );
    let converted = converted("", &content);
    assert!(converted.page("letter").ends_with("\n\n10\u{2076} H\u{2082}O, 57\n"));
}

#[test]
fn hidden_text_is_left_out_and_counted() {
    let style = |name: &str, family: &str, display: &str| {
        format!(
            "<style:style style:name=\"{name}\" style:family=\"{family}\"><style:text-properties \
             text:display=\"{display}\"/></style:style>"
        )
    };
    let content = format!(
        "<office:document-content {NS} \
         xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\"><office:automatic-styles>\
         {}{}{}</office:automatic-styles><office:body><office:text>\
         <text:p>Seen <text:span text:style-name=\"H\">one<text:s/>two<text:note><text:note-body>\
         <text:p>none</text:p></text:note-body></text:note></text:span>end</text:p>\
         <text:p text:style-name=\"P\">three <text:span text:style-name=\"S\">shown</text:span></text:p>\
         <text:section text:display=\"none\"><text:p>four</text:p></text:section>\
         <text:section text:display=\"condition\" text:is-hidden=\"true\"><text:p>five</text:p>\
         </text:section><text:section text:display=\"condition\"><text:p>A</text:p></text:section>\
         <text:p>b <text:hidden-text text:string-value=\"six\" text:is-hidden=\"true\"/>\
         <text:hidden-text text:string-value=\"c\">c</text:hidden-text></text:p>\
         <text:p><text:hidden-paragraph text:is-hidden=\"true\"/>seven</text:p>\
         </office:text></office:body></office:document-content>",
        style("H", "text", "none"),
        style("P", "paragraph", "none"),
        style("S", "text", "true"),
    );
    let converted = converted("", &content);
    let page = converted.page("letter");
    assert!(page.ends_with("\n\nSeen end\n\nshown\n\nA\n\nb c\n"), "{page}");
    assert_eq!(converted.lost(), ["letter.odt: text that it hides is left out: 7 words"]);
}
