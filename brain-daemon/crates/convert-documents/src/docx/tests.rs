use std::io::{Cursor, Write as _};
use std::path::Path;

use brain_convert_testing::Converted;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::FORMATS;

const W: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\" \
    xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\" \
    xmlns:wps=\"http://schemas.microsoft.com/office/word/2010/wordprocessingShape\" \
    xmlns:v=\"urn:schemas-microsoft-com:vml\"";

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn converted(bytes: &[u8]) -> Converted {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("letter.docx");
    std::fs::write(&path, bytes).unwrap();
    Converted::of(&FORMATS, &path)
}

/// Converts a document that has nothing but this body: no styles, no relationships.
fn body(text: &str) -> String {
    let document = format!("<w:document {W}><w:body>{text}</w:body></w:document>");
    let bytes = zip(&[("[Content_Types].xml", "<Types/>"), ("word/document.xml", &document)]);
    let converted = converted(&bytes);
    assert_eq!((converted.format, converted.error.as_deref()), ("docx", None));
    let page = converted.page("letter");
    page.split_once("\n---\n\n").unwrap().1.trim_end().to_owned()
}

fn fixture(name: &str) -> Converted {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/documents");
    Converted::of(&FORMATS, &Path::new(folder).join(name))
}

#[test]
fn im01_references_do_not_split_a_text() {
    let text = body("<w:p><w:r><w:t>Salt &amp; Sons &lt;harbour&gt; 5 &#8211; 7</w:t></w:r></w:p>");
    assert_eq!(text, "Salt & Sons \\<harbour> 5 – 7");
}

#[test]
fn im02_a_text_box_is_there_once() {
    let paragraph = "<w:p><w:r><w:t>Open Mondays</w:t></w:r></w:p>";
    let text = body(&format!(
        "<w:p><w:r><w:t>The ferry </w:t></w:r><w:r><mc:AlternateContent><mc:Choice \
         Requires=\"wps\"><w:drawing><wps:txbx><w:txbxContent>{paragraph}</w:txbxContent>\
         </wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent>\
         {paragraph}</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent>\
         </w:r><w:r><w:t>leaves at six.</w:t></w:r></w:p>"
    ));
    assert_eq!(text, "The ferry leaves at six.\n\nOpen Mondays");
}

#[test]
fn im03_wrappers_are_transparent() {
    let text = body(
        "<w:p><w:r><w:t>HAR</w:t></w:r><w:smartTag w:uri=\"urn:x\" w:element=\"place\"><w:r>\
         <w:t>BOUR</w:t></w:r></w:smartTag><w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t> on 4 May\
         </w:t></w:r></w:sdtContent></w:sdt><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr>\
         <w:sdtContent><w:r><w:t>Click here</w:t></w:r></w:sdtContent></w:sdt></w:p>\
         <w:tbl><w:tr><w:tc><w:p><w:r><w:t>Name</w:t></w:r></w:p></w:tc></w:tr><w:sdt>\
         <w:sdtContent><w:tr><w:tc><w:p><w:r><w:t>Ilse</w:t></w:r></w:p></w:tc></w:tr>\
         </w:sdtContent></w:sdt></w:tbl>",
    );
    assert_eq!(text, "HARBOUR on 4 May\n\n| Name |\n| --- |\n| Ilse |");
}

#[test]
fn im04_characters_that_are_elements_are_kept() {
    let text = body(
        "<w:p><w:r><w:t>after 2</w:t><w:noBreakHyphen/><w:t>15 days, by e</w:t><w:noBreakHyphen/>\
         <w:t>mail</w:t><w:cr/><w:t>co</w:t><w:softHyphen/><w:t>operate</w:t><w:tab/><w:t>now\
         </w:t><w:sym w:font=\"Wingdings\" w:char=\"F0FE\"/></w:r></w:p>",
    );
    assert_eq!(text, "after 2-15 days, by e-mail  \ncooperate now☑");
}

#[test]
fn im04_raised_numbers_do_not_join_the_number_before() {
    let run = |look: &str, text: &str| {
        format!("<w:r><w:rPr>{look}</w:rPr><w:t xml:space=\"preserve\">{text}</w:t></w:r>")
    };
    let (raised, lowered) =
        ("<w:vertAlign w:val=\"superscript\"/>", "<w:vertAlign w:val=\"subscript\"/>");
    let text = body(&format!(
        "<w:p>{}{}{}{}{}{}{}{}{}{}</w:p>",
        run("", "about 10"),
        run(raised, "6"),
        run("", " grains, H"),
        run(lowered, "2"),
        run("", "O, the 1"),
        run(raised, "st"),
        run("", " x"),
        run(raised, "n+"),
        run(raised, "1"),
        run("", "y"),
    ));
    assert_eq!(text, "about 10\u{2076} grains, H\u{2082}O, the 1st x^(n+1) y");
}

#[test]
fn deleted_and_moved_text_is_left_out() {
    let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
    let text = body(&format!(
        "<w:p>{}<w:del>{}</w:del><w:ins>{}</w:ins><w:moveFrom>{}</w:moveFrom></w:p>\
         <w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{}</w:p><w:p>{}</w:p>\
         <w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p>{}</w:p></w:tc></w:tr></w:tbl>",
        run("kept "),
        "<w:r><w:delText>gone</w:delText></w:r><w:r><w:t>gone</w:t></w:r>",
        run("new"),
        run("gone"),
        run("one "),
        run("paragraph"),
        run("gone")
    ));
    assert_eq!(text, "kept new\n\none paragraph");
}

#[test]
fn an_instruction_of_a_field_is_no_text() {
    let field = |kind: &str| format!("<w:r><w:fldChar w:fldCharType=\"{kind}\"/></w:r>");
    let text = body(&format!(
        "<w:p>{}<w:r><w:instrText>HYPERLINK \"https://a.example/\"</w:instrText><w:t>no</w:t>\
         </w:r>{}<w:r><w:t>site</w:t></w:r>{}<w:r><w:t> end</w:t></w:r></w:p>",
        field("begin"),
        field("separate"),
        field("end")
    ));
    assert_eq!(text, "[site](https://a.example/) end");
    // Without an end, nothing is hidden.
    let text = body(&format!("<w:p>{}<w:r><w:t>shown</w:t></w:r></w:p>", field("begin")));
    assert_eq!(text, "shown");
}

#[test]
fn merged_cells_become_empty_cells() {
    let cell = |properties: &str, text: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>")
    };
    let text = body(&format!(
        "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}{}</w:tr><w:tr>{}{}{}</w:tr></w:tbl>",
        cell("<w:gridSpan w:val=\"2\"/>", "wide"),
        cell("", "c"),
        cell("<w:vMerge w:val=\"restart\"/>", "tall"),
        cell("", "b"),
        cell("", "c2"),
        cell("<w:vMerge/>", ""),
        cell("", "b3"),
        cell("", "c3"),
    ));
    assert_eq!(text, "| wide |  | c |\n| --- | --- | --- |\n| tall | b | c2 |\n|  | b3 | c3 |");
}

#[test]
fn a_document_of_libreoffice_is_whole() {
    let converted = fixture("libreoffice.docx");
    let page = converted.page("libreoffice");
    for part in [
        "title: \"Minutes of the weir\"\n",
        "author: \"Ilse Brandt\"\n",
        "The ferry leaves never late at six o'clock[^1]. A point[^2] here.",
        "**Bold** and *italic* and ~~struck~~",
        "[A link](https://weirs.example/1911), and [[#Minutes|inside]].",
        "- First\n  1. Nested one\n  2. Nested two\n- Second",
        "Between the lists.\n\n3. Tre",
        "| Tall | b1<br>b1 second | c1 |\n|  | b2 | c2 |",
        "Before the box. After the box.\n\nOpen Mondays\n",
        "[^1]: **Comment by Bo Lund, 2026-03-05:** Is that so & true?",
        "[^4]: The note of the end.",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("SECRETDELETED"));
    assert_eq!(converted.files()[0].1, "libreoffice.docx");
    assert_eq!(converted.lost(), Vec::<String>::new());
}

#[test]
fn a_document_of_pandoc_has_pictures_and_code() {
    let converted = fixture("pandoc.docx");
    let page = converted.page("pandoc");
    for part in [
        "author: [\"Ilse Brandt\", \"Ole Strand\"]\n",
        "![A red lamp](rId25.png)",
        "```\ndef weir(x):\n    return x * 2  # comment\n```",
        "> A quotation of two lines",
        "これは日本語の文章です。**太字**と普通。",
        "\\#nottag *x* \\[brackets\\] and snake_case_name.",
        "[^2]: A long note.\n\n    With a second paragraph.",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(converted.files().len(), 2);
}

#[test]
fn a_cut_document_is_an_error_by_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/documents");
    let whole = std::fs::read(Path::new(folder).join("pandoc.docx")).unwrap();
    for tenth in 1..10 {
        let converted = converted(&whole[..whole.len() * tenth / 10]);
        let error = converted.error.unwrap();
        assert!(error.starts_with("letter.docx: the ZIP archive is damaged"), "{error}");
    }
}

#[test]
fn cut_xml_gives_what_is_before_the_cut() {
    let document = format!("<w:document {W}><w:body><w:p><w:r><w:t>whole</w:t></w:r></w:p><w:p>");
    let bytes = zip(&[("[Content_Types].xml", ""), ("word/document.xml", &document)]);
    let converted = converted(&bytes);
    assert!(converted.page("letter").ends_with("---\n\nwhole\n"));
    assert!(converted.error.unwrap().contains("it ends within an element"));
}

#[test]
fn a_locked_document_is_refused_by_name() {
    let mut compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    compound.resize(512, 0);
    compound.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    let error = converted(&compound).error.unwrap();
    assert_eq!(error, "letter.docx: it is locked by a password; save it without one");
    compound.truncate(512);
    let error = converted(&compound).error.unwrap();
    assert!(error.contains("it is an old DOC"), "{error}");
}

#[test]
fn a_bomb_ends_at_the_limit() {
    let part = " ".repeat(crate::xml::MAX_XML + 1);
    let bytes = zip(&[("[Content_Types].xml", ""), ("word/document.xml", &part)]);
    assert!(bytes.len() < 200_000);
    let error = converted(&bytes).error.unwrap();
    assert!(error.contains("word/document.xml in it has more than"), "{error}");
}

#[test]
fn deep_tables_and_text_boxes_are_reported() {
    let deep = 20_000;
    let open = "<w:tbl><w:tr><w:tc><w:p><w:r><w:pict><w:txbxContent>";
    let close = "</w:txbxContent></w:pict></w:r></w:p></w:tc></w:tr></w:tbl>";
    let inner = "<w:p><w:r><w:t>inmost</w:t></w:r></w:p>";
    let text = format!("{}{inner}{}{inner}", open.repeat(deep), close.repeat(deep));
    let document = format!("<w:document {W}><w:body>{text}</w:body></w:document>");
    let bytes = zip(&[("[Content_Types].xml", ""), ("word/document.xml", &document)]);
    let converted = converted(&bytes);
    assert!(converted.page("letter").ends_with("---\n\ninmost\n"));
    assert!(converted.lost()[0].contains("text in more than 150 elements"));
}

#[test]
fn hidden_text_is_left_out_and_counted() {
    let document = format!(
        "<w:document {W}><w:body><w:p><w:r><w:t xml:space=\"preserve\">Seen </w:t></w:r>\
         <w:r><w:rPr><w:vanish/></w:rPr><w:t>one, two</w:t></w:r>\
         <w:r><w:rPr><w:rStyle w:val=\"H\"/></w:rPr><w:t>three</w:t></w:r>\
         <w:r><w:rPr><w:rStyle w:val=\"H\"/><w:vanish w:val=\"0\"/></w:rPr><w:t>shown</w:t></w:r>\
         <w:r><w:rPr><w:webHidden/></w:rPr><w:t>, too</w:t></w:r></w:p>\
         <w:p><w:pPr><w:pStyle w:val=\"P2\"/></w:pPr><w:r><w:t>four</w:t></w:r></w:p>\
         <w:p><w:r><w:rPr><w:vanish/></w:rPr><w:fldChar w:fldCharType=\"begin\"/></w:r>\
         <w:r><w:rPr><w:vanish/></w:rPr><w:instrText> SET x </w:instrText></w:r>\
         <w:r><w:rPr><w:vanish/></w:rPr><w:fldChar w:fldCharType=\"end\"/></w:r>\
         <w:r><w:t>end</w:t></w:r></w:p>\
         <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr><w:tr><w:trPr>\
         <w:hidden/></w:trPr><w:tc><w:p><w:r><w:t>five</w:t></w:r></w:p></w:tc></w:tr></w:tbl>\
         </w:body></w:document>"
    );
    let styles = format!(
        "<w:styles {W}><w:style w:type=\"character\" w:styleId=\"H\"><w:rPr><w:vanish/></w:rPr>\
         </w:style><w:style w:type=\"paragraph\" w:styleId=\"P1\"><w:rPr><w:vanish/></w:rPr>\
         </w:style><w:style w:type=\"paragraph\" w:styleId=\"P2\"><w:basedOn w:val=\"P1\"/>\
         </w:style></w:styles>"
    );
    let relationships = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/\
        relationships\"><Relationship Id=\"s\" Type=\"http://schemas.openxmlformats.org/\
        officeDocument/2006/relationships/styles\" Target=\"styles.xml\"/></Relationships>";
    let converted = converted(&zip(&[
        ("[Content_Types].xml", "<Types/>"),
        ("word/document.xml", &document),
        ("word/styles.xml", &styles),
        ("word/_rels/document.xml.rels", relationships),
    ]));
    let page = converted.page("letter");
    assert!(page.ends_with("\n\nSeen shown, too\n\nend\n\na\n"), "{page}");
    assert_eq!(converted.lost(), ["letter.docx: text that it hides is left out: 5 words"]);
}
