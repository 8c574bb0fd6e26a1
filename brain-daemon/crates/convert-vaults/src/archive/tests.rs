use std::fs;
use std::io::{Cursor, Write as _};

use brain_convert_testing::{Converted, directory};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::FORMATS;

fn zipped<T: AsRef<[u8]>>(files: &[(&str, T)]) -> tempfile::NamedTempFile {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_ref()).unwrap();
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), writer.finish().unwrap().into_inner()).unwrap();
    file
}

fn converted(files: &[(&str, &str)]) -> Converted {
    Converted::of(&FORMATS, zipped(files).path())
}

#[test]
fn text_in_other_encodings_is_read() {
    let wide: Vec<u8> = "\u{feff}# Bøye\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let files = [("V/wide.md", wide), ("V/old.md", b"caf\xe9".to_vec()), ("V/a.md", b"a".to_vec())];
    let converted = Converted::of(&FORMATS, zipped(&files).path());
    assert!(converted.page("wide").contains("# Bøye\n"), "{}", converted.page("wide"));
    assert!(converted.page("old").contains("café"));
    assert_eq!(converted.lost().len(), 1, "{:?}", converted.lost());
}

#[test]
fn a_zipped_vault_keeps_paths_and_frontmatter() {
    let text = "---\n# mine\nid: 007\ncover: \"[[c.png]]\"\n---\n\n[[b]] [[folder/b|x]] ![[p.png|300]] \
                [f](files/a%20b.pdf) [[gone.pdf]] ![](https://a.example/x.png)\n";
    let converted = converted(&[
        ("Vault/a.md", text),
        ("Vault/folder/b.md", "plain [a](../a.md)"),
        ("Vault/files/p.png", "png"),
        ("Vault/files/a b.pdf", "pdf"),
        ("Vault/c.png", "png"),
        ("Vault/left.png", "png"),
        ("Vault/.obsidian/app.json", "{}"),
        ("Vault/.obsidian/themes/x.css", ""),
    ]);
    assert_eq!(converted.format, "markdown-zip");
    assert_eq!(converted.paths(), ["a", "folder/b"]);
    assert_eq!(
        converted.page("a"),
        "---\n# mine\nid: 007\ncover: \"[[c.png]]\"\nattachments:\n  - c.png\n  - p.png\n  - a \
         b.pdf\n---\n\n[[b]] [[folder/b|x]] ![[p.png|300]] [f](a%20b.pdf) [[gone.pdf]] \
         ![](https://a.example/x.png)\n"
    );
    assert_eq!(converted.page("folder/b"), "plain [a](../a.md)\n");
    assert_eq!(converted.files().len(), 3);
    let lost = converted.lost();
    assert_eq!(lost.len(), 3, "{lost:?}");
    assert_eq!(lost[1], "Vault/.obsidian: it is hidden, so its 2 files are not read");
}

#[test]
fn links_follow_pages_whose_names_change() {
    let converted = converted(&[
        ("a.md", "[[What?]] [x](What%3F.md#part) [[same]] [[d/same]] [[Same]]"),
        ("What?.md", "x"),
        ("c/same.md", "x"),
        ("d/same.md", "x"),
        ("plan.canvas", "{\"nodes\":[],\"edges\":[]}"),
        ("e.md", "[[plan.canvas]] [[new page]]"),
    ]);
    assert_eq!(
        converted.page("a"),
        "[[What-]] [[What-#part|x]] [[c/same]] [[d/same]] [[c/same]]\n"
    );
    assert_eq!(converted.page("e"), "[[plan]] [[new page]]\n");
}

#[test]
fn a_canvas_and_a_base_are_pages() {
    let canvas = "{\"nodes\":[{\"id\":\"1\",\"type\":\"text\",\"text\":\"# Oil\\n- [ ] the \
                  hinge\",\"x\":0,\"y\":0,\"width\":10,\"height\":10},{\"id\":\"2\",\"type\":\"file\",\"file\":\
                  \"a.md\",\"subpath\":\"#Part\",\"x\":100,\"y\":0},{\"id\":\"3\",\"type\":\"link\",\"url\":\
                  \"https://a.example\",\"x\":100,\"y\":0},{\"id\":\"4\",\"type\":\"group\",\"label\":\"Box\",\
                  \"x\":-5,\"y\":-5,\"width\":20,\"height\":20},{\"id\":\"5\",\"type\":\"file\",\"file\":\"p.png\",\
                  \"x\":100,\"y\":0}],\"edges\":[{\"id\":\"e\",\"fromNode\":\"1\",\"toNode\":\"2\",\"label\":\
                  \"needs\"}]}";
    let converted = converted(&[
        ("a.md", "x"),
        ("p.png", "png"),
        ("plan.canvas", canvas),
        ("bad.canvas", "{"),
        ("books.base", "views:\n  - type: table\n"),
    ]);
    assert_eq!(
        converted.page("plan"),
        "---\nattachments: [\"p.png\"]\n---\n\n[[a#Part]]\n\n<https://a.example>\n\n![[p.png]]\n\n## \
         Box\n\n> # Oil\n> - [ ] the hinge\n\n## Connections\n\n- Oil → [[a#Part]]: needs\n"
    );
    assert!(converted.page("books").contains("yaml\nviews:\n  - type: table\n~~~"));
    assert!(converted.page("bad").contains("json\n{\n~~~"));
    assert_eq!(converted.lost().len(), 1);
    let directory = directory(&[("x.canvas", canvas), ("y.base", "views:\n")]);
    let alone = Converted::of(&FORMATS, &directory.path().join("x.canvas"));
    assert!(alone.page("x").contains("[[a#Part]]"));
    assert_eq!(Converted::of(&FORMATS, &directory.path().join("y.base")).paths(), ["y"]);
}

#[test]
fn directories_and_documents_are_no_archive_of_markdown() {
    let vault = directory(&[("a.md", "x"), (".obsidian/app.json", "{}"), ("b.canvas", "{}")]);
    assert!(brain_convert_base::recognise(&FORMATS, vault.path()).unwrap().is_none());
    for files in [
        &[("[Content_Types].xml", ""), ("readme.md", "")][..],
        &[("mimetype", "application/epub+zip"), ("a.md", "")],
        &[("a.txt", "x")],
    ] {
        let file = zipped(files);
        assert!(brain_convert_base::recognise(&FORMATS, file.path()).unwrap().is_none());
    }
}

#[test]
fn hard_input_gives_pages_or_reasons() {
    let long = format!("{}.md", "x".repeat(300));
    let converted = converted(&[
        ("a.md", "---\nx: [\n---\ntext"),
        ("A.md", ""),
        ("../up.md", "x"),
        (&long, "[[[[a]]]] ![[|]] [](<>) [a](b(c) [[#]]"),
        ("n.md", "\u{0}\u{feff}---\n"),
        ("d/.md", "hidden"),
    ]);
    assert!(converted.error.is_none());
    assert_eq!(converted.paths().len(), 4, "{:?}", converted.paths());
    assert!(converted.page("a 2").contains("~~~~~~~~yaml\nx: [\n~~~~~~~~\n\ntext\n"));
    assert_eq!(converted.lost().len(), 3, "{:?}", converted.lost());
}

#[test]
fn a_connection_has_the_ends_of_the_canvas() {
    for (ends, sign) in [
        ("", '→'),
        (",\"toEnd\":\"none\"", '—'),
        (",\"fromEnd\":\"arrow\"", '↔'),
        (",\"fromEnd\":\"arrow\",\"toEnd\":\"none\"", '←'),
    ] {
        let canvas = format!(
            "{{\"nodes\":[{{\"id\":\"1\",\"type\":\"text\",\"text\":\"A\"}},{{\"id\":\"2\",\
             \"type\":\"text\",\"text\":\"B\"}}],\"edges\":[{{\"id\":\"e\",\"fromNode\":\"1\",\
             \"toNode\":\"2\"{ends}}}]}}"
        );
        let converted = converted(&[("a.md", "x"), ("p.canvas", canvas.as_str())]);
        let page = converted.page("p");
        assert!(page.ends_with(&format!("- A {sign} B\n")), "{page}");
    }
}
