use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::FORMATS;
use brain_convert_base::recognise;
use brain_convert_testing::{Converted, assert_linear};

const GARDEN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/joplin/garden.jex");

/// An export in a directory.
struct Export(TempDir);

impl Export {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Adds an item. `properties` come before the kind.
    fn item(&self, kind: u32, id: u128, text: &str, properties: &str) -> &Self {
        let gap = if kind == 6 { "" } else { "\n\n" };
        let text = format!("{text}{gap}id: {id:032x}\n{properties}\ntype_: {kind}");
        let text = text.replace("\n\ntype_", "\ntype_");
        fs::write(self.path().join(format!("{id:032x}.md")), text).unwrap();
        self
    }

    fn note(&self, id: u128, title: &str, body: &str) -> &Self {
        self.item(1, id, &format!("{title}\n\n{body}"), "")
    }

    /// Adds an attachment with its facts.
    fn file(&self, id: u128, title: &str, properties: &str, bytes: &[u8]) -> &Self {
        self.item(4, id, title, properties);
        fs::create_dir_all(self.path().join("resources")).unwrap();
        fs::write(self.path().join(format!("resources/{id:032x}.bin")), bytes).unwrap();
        self
    }

    fn converted(&self) -> Converted {
        Converted::of(&FORMATS, self.path())
    }

    /// Returns the body of a page.
    fn body(&self, path: &str) -> String {
        body(&self.converted(), path)
    }
}

fn body(converted: &Converted, path: &str) -> String {
    let (_, body) = converted.page(path).split_once("\n---\n\n").unwrap();
    body.trim_end().to_owned()
}

/// The id with this number in links.
fn id(number: u128) -> String {
    format!("{number:032x}")
}

/// Unpacks the archive as RAW.
fn raw() -> Export {
    let export = Export::new();
    let mut archive = tar::Archive::new(fs::File::open(GARDEN).unwrap());
    archive.unpack(export.path()).unwrap();
    export
}

/// Returns a ZIP archive of an export, with this before all paths.
fn archived(export: &Export, root: &str) -> tempfile::NamedTempFile {
    let tree = brain_convert_base::Tree::open(export.path()).unwrap().unwrap();
    let entries = tree.entries().iter();
    let files: Vec<(String, Vec<u8>)> = entries
        .map(|it| (format!("{root}{}", it.path), tree.read(it, 1 << 20).unwrap().unwrap()))
        .collect();
    let files: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    crate::testing::archive(&files)
}

#[test]
fn jex_becomes_pages_with_links_tags_and_files() {
    let converted = Converted::of(&FORMATS, Path::new(GARDEN));
    assert_eq!((converted.format, &converted.error), ("joplin", &None));
    assert_eq!(
        converted.paths(),
        [
            "Garden/Beds/Plan- beans & peas",
            "Garden/Map",
            "Garden/Beds/Buy seeds",
            "Garden/Beds/Mow",
            "Garden/No title here",
            "Garden/Clip",
        ]
    );
    assert_eq!(
        converted.page("Garden/Beds/Plan- beans & peas"),
        "---\ntitle: \"Plan: beans & peas\"\ncreated: 2020-02-03T04:05:06.789Z\n\
         updated: 2021-02-03T00:00:00Z\ntags: [\"Café\", \"Salt, Water\"]\n\
         attachments: [\"map.png\"]\nurl: \"https://weirs.example/1\"\nauthor: \"Ida Strand\"\n\
         latitude: \"59.91000000\"\nlongitude: \"10.75000000\"\n\
         joplin_id: \"00000000000000000000000000000010\"\n---\n\n\
         See [[Garden/Map#north-side|the map]], ![[map.png]].\n\n\
         ```\n[x](:/00000000000000000000000000000011)\n```\n\nEnd\n"
    );
    assert_eq!(
        converted.page("Garden/Beds/Buy seeds"),
        "---\ntitle: \"Buy seeds\"\ncreated: 2023-11-14T22:13:38Z\n\
         updated: 2023-11-14T22:13:38Z\ndue: \"2026-03-03T09:00:00Z\"\n\
         joplin_id: \"00000000000000000000000000000012\"\n---\n\n- [ ] Buy seeds\n\n\
         The blue ones.\n"
    );
    assert_eq!(body(&converted, "Garden/Beds/Mow"), "- [x] Mow");
    assert_eq!(
        body(&converted, "Garden/Map"),
        "# North side\n\nBack to [[Garden/Beds/Plan- beans & peas]]."
    );
    let untitled = converted.page("Garden/No title here");
    assert!(!untitled.contains("title:"), "{untitled}");
    assert_eq!(body(&converted, "Garden/No title here"), "## No title here\n\nWords.");
    assert_eq!(
        body(&converted, "Garden/Clip"),
        "# Clip\n\nTom & Ida [[Garden/Map|map]] ![a plan](map.png)"
    );
    let png = b"\x89PNG".to_vec();
    assert_eq!(
        converted.files(),
        [
            ("Garden/Beds/Plan- beans & peas", "map.png", png.clone()),
            ("Garden/Clip", "map.png", png)
        ]
    );
    assert_eq!(
        converted.lost(),
        ["attachment \"old.pdf\" (garden.jex, 00000000000000000000000000000021.md): \
          no note that was imported refers to it"]
    );
}

#[test]
fn raw_and_sync_directories_give_the_same_pages() {
    let export = raw();
    let archive = Converted::of(&FORMATS, Path::new(GARDEN));
    let directory = export.converted();
    let texts = |converted: &Converted| -> Vec<String> {
        converted.paths().iter().map(|path| converted.page(path).to_owned()).collect()
    };
    assert_eq!(texts(&directory), texts(&archive));
    assert_eq!(directory.files(), archive.files());

    // A ZIP archive of the directory, with the name of its folder before all paths.
    let archived = archived(&export, "RAW/");
    let archived = Converted::of(&FORMATS, archived.path());
    assert_eq!(archived.format, "joplin");
    assert_eq!(texts(&archived), texts(&archive));
    assert_eq!(archived.files(), archive.files());

    // Attachments of a sync directory have no extension.
    let (from, to) = (export.path().join("resources"), export.path().join(".resource"));
    fs::create_dir(&to).unwrap();
    fs::rename(from.join(format!("{}.png", id(32))), to.join(id(32))).unwrap();
    fs::remove_dir_all(from).unwrap();
    fs::write(export.path().join("info.json"), "{}").unwrap();
    fs::create_dir(export.path().join("locks")).unwrap();
    fs::create_dir(export.path().join("temp")).unwrap();
    let sync = export.converted();
    assert_eq!(texts(&sync), texts(&archive));
    assert_eq!(sync.files(), archive.files());
    assert_eq!(sync.lost().len(), 1, "{:?}", sync.lost());
}

#[test]
fn other_files_are_not_joplin() {
    let export = Export::new();
    fs::write(export.path().join(format!("{}.md", id(1))), "Words\n\nwithout properties").unwrap();
    fs::write(export.path().join("note.md"), format!("A\n\nid: {}\ntype_: 1", id(2))).unwrap();
    assert!(recognise(&FORMATS, export.path()).unwrap().is_none_or(|it| it.name != "joplin"));
    let tar = export.path().join("other.tar");
    let mut builder = tar::Builder::new(fs::File::create(&tar).unwrap());
    builder.append_path_with_name(export.path().join("note.md"), "note.md").unwrap();
    builder.finish().unwrap();
    for path in [tar, export.path().join("note.md")] {
        assert!(recognise(&FORMATS, &path).unwrap().is_none_or(|it| it.name != "joplin"));
    }
}

#[test]
fn links_of_all_forms_are_rewritten_and_code_is_not() {
    let (note, file) = (id(2), id(9));
    let cases = [
        (format!("[a](:/{note})"), "[[B b|a]]"),
        (format!("[a](<:/{note}> \"t\")"), "[[B b|a]] (t)"),
        (format!("[a [b] c](:/{note}#x-y)"), "[[B b#x-y|a b c]]"),
        (format!("[a](joplin://x-callback-url/openNote?id={note})"), "[[B b|a]]"),
        (format!("[a]\n[a](:/{note})"), "[a]\n[[B b|a]]"),
        (format!("- [ ] [a](:/{note})"), "- [ ] [[B b|a]]"),
        (format!("[r]\n\n[r]: :/{note}\n"), "[r]\n\n[r]: B%20b.md"),
        (format!("[r]: :/{file}"), "[r]: my%20plan.pdf"),
        (format!("<a href=\":/{note}#x\">a <b>b</b></a>"), "[[B b#x|a <b>b</b>]]"),
        (format!("<img width=9 src=\":/{file}\" alt=\"A\"/>"), "![A](my%20plan.pdf)"),
        (format!("<video src=':/{file}'></video>"), "<video src='my%20plan.pdf'></video>"),
        (format!("![](:/{file})![my plan.pdf](:/{file})"), "![[my plan.pdf]]![[my plan.pdf]]"),
        (format!("[the plan](:/{file} \"t\")"), "[the plan](my%20plan.pdf \"t\")"),
        (format!("[![](:/{file})](:/{note})"), "![[my plan.pdf]] [[B b]]"),
        (format!("`[a](:/{note})` `` ` [a](:/{note})``"), ""),
        (format!("~~~\n[a](:/{note})\n```\n~~~"), ""),
        (format!("- ```\n  [a](:/{note})\n  ```"), ""),
        (format!("\\[a](:/{note}) :/{note} [a](:/{note}x) [a](:/12)"), ""),
        (format!("[a](https://x.example/:/{note})"), ""),
        (format!("` [a](:/{note})"), "` [[B b|a]]"),
        (format!("x\n\n    [a](:/{note})\n\ty"), ""),
        (format!("````\n```\n[a](:/{note})\n````"), ""),
        (format!("- x\n\n    [a](:/{note})"), "- x\n\n    [[B b|a]]"),
        (format!("joplin-item/x [a](joplin-item/{note})"), ""),
    ];
    for (text, expected) in cases {
        let export = Export::new();
        export.note(1, "A", &text).note(2, "B b", "");
        export.file(9, "my plan.pdf", "filename: \nfile_extension: pdf", b"x");
        let expected = if expected.is_empty() { text.trim_end() } else { expected };
        assert_eq!(export.body("A"), expected, "{text}");
    }
}

#[test]
fn missing_targets_are_reported_and_links_kept() {
    let export = Export::new();
    let text = format!("[a](:/{}) [b](:/{}) [c](:/{}) [a](:/{})", id(7), id(8), id(3), id(7));
    export.note(1, "A", &text).item(4, 8, "b.png", "file_extension: png");
    export.item(2, 3, "Notebook", "").item(1, 4, "In it", &format!("parent_id: {}", id(3)));
    let converted = export.converted();
    assert_eq!(body(&converted, "A"), text);
    let from = format!("note \"A\" ({}.md)", id(1));
    assert_eq!(
        converted.lost(),
        [
            format!(
                "{from}: the target of its link :/{} is not in the export; the link is kept as \
                 it is",
                id(7)
            ),
            format!("{from}: the file b.png is not in the export; its link is kept as it is"),
            format!(
                "{from}: the target of its link :/{} is a notebook; the link is kept as it is",
                id(3)
            ),
            format!("attachment \"b.png\" ({}.md): no note that was imported refers to it", id(8)),
        ]
    );
}

#[test]
fn items_that_are_not_imported_are_named() {
    let export = Export::new();
    export.note(1, "A", "").item(1, 2, "Old", "deleted_time: 1700000000000");
    export.item(1, 3, "", "encryption_applied: 1").item(1, 4, "A\n\nmine", "is_conflict: 1");
    export.item(2, 5, "Empty", "").item(5, 6, "lonely", "").item(13, 7, "", "");
    export.item(13, 8, "", "").item(99, 9, "", "").item(6, 10, "", &format!("note_id: {}", id(1)));
    fs::write(export.path().join("stray.txt"), "x").unwrap();
    fs::write(export.path().join(format!("{}.md", id(11))), "no properties").unwrap();
    let converted = export.converted();
    let name = export.path().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(converted.paths(), ["A", "A (conflict)"]);
    assert_eq!(body(&converted, "A (conflict)"), "mine");
    let mut expected = [
        "stray.txt: it is neither an item nor an attachment of Joplin".to_owned(),
        format!("note \"Old\" ({}.md): it is in the trash of Joplin", id(2)),
        format!("note ({}.md): it is encrypted; decrypt it in Joplin and export again", id(3)),
        format!(
            "note \"A\" ({}.md): Joplin kept it after a conflict; it was imported as a page of \
             its own",
            id(4)
        ),
        format!("{}.md: it ties a tag to a note, and names only one of them", id(10)),
        format!("{}.md: it does not end as an item of Joplin", id(11)),
        format!("notebook \"Empty\" ({}.md): it has no notes that were imported", id(5)),
        format!("tag \"lonely\" ({}.md): no note that was imported has it", id(6)),
        format!("{name}, 2 items of kind 13: earlier versions of notes: not read"),
        format!("{name}, 1 item of kind 99: this kind is not known"),
    ];
    let mut lost = converted.lost();
    lost.sort();
    expected.sort();
    assert_eq!(lost, expected);
}

#[test]
fn notebooks_in_a_circle_or_without_parent_are_folders() {
    let export = Export::new();
    export.item(2, 1, "One", &format!("parent_id: {}", id(2)));
    export.item(2, 2, "Two", &format!("parent_id: {}", id(1)));
    export.item(2, 3, "../Climbs", &format!("parent_id: {}", id(77)));
    export.item(1, 4, "A", &format!("parent_id: {}", id(1)));
    export.item(1, 5, "../../etc/B", &format!("parent_id: {}", id(3)));
    export.item(1, 6, "C", &format!("parent_id: {}", id(88)));
    assert_eq!(export.converted().paths(), ["Two/One/A", "-Climbs/-..-etc-B", "C"]);
}

#[test]
fn notebooks_that_are_nested_too_deeply_are_named() {
    let export = Export::new();
    for number in 1..=60 {
        export.item(2, number, &format!("N{number}"), &format!("parent_id: {}", id(number + 1)));
    }
    export.item(1, 100, "A", &format!("parent_id: {}", id(1)));
    let converted = export.converted();
    let path = converted.paths()[0];
    assert!(path.starts_with("N50/N49/") && path.ends_with("/N1/A"), "{path}");
    let lost = converted.lost();
    assert!(lost.iter().any(|it| it.starts_with("notebook \"N50\"") && it.contains("too deeply")));
    let export = Export::new();
    for number in 1..=40 {
        let (title, parent) = (format!("N{number} {}", "x".repeat(200)), id(number + 1));
        export.item(2, number, &title, &format!("parent_id: {parent}"));
    }
    export.item(1, 100, "A", &format!("parent_id: {}", id(1)));
    let converted = export.converted();
    assert!(converted.paths()[0].len() < 513);
    assert!(converted.lost()[0].contains("nested too deeply"), "{:?}", converted.lost());
}

#[test]
fn times_that_are_none_are_named_and_other_fields_kept() {
    let export = Export::new();
    let properties = "created_time: soon\nuser_created_time: 2020-01-01T00:00:00.000Z\n\
                      todo_due: 99999999999999999\nsource_application: org.example.clipper";
    export.item(1, 1, "A", properties);
    let own = "source_application: net.cozic.joplin-desktop\ntodo_due: 0";
    export.item(1, 2, "B", own);
    let converted = export.converted();
    assert!(converted.page("A").contains("joplin_source: \"org.example.clipper\"\n"));
    assert!(converted.page("A").contains("created: 2020-01-01T00:00:00Z\n"));
    assert!(!converted.page("B").contains("joplin_source"));
    let from = format!("note \"A\" ({}.md)", id(1));
    assert_eq!(
        converted.lost(),
        [
            format!("{from}: its time \"created_time\" is not a time: soon"),
            format!("{from}: its time \"todo_due\" is not a time: 99999999999999999"),
        ]
    );
}

#[test]
fn equal_titles_get_numbers_by_creation() {
    let export = Export::new();
    export.item(1, 1, "Same", "created_time: 2021-01-01T00:00:00.000Z");
    export.item(1, 2, "same", "created_time: 2020-01-01T00:00:00.000Z\nuser_created_time: ");
    assert_eq!(export.converted().paths(), ["same", "Same 2"]);
    export.item(1, 0, "Same", "created_time: 2022-01-01T00:00:00.000Z");
    assert_eq!(export.converted().paths(), ["same", "Same 2", "Same 3"]);
}

#[test]
fn attachments_get_the_name_of_a_person() {
    let cases = [
        ("t.txt", "filename: a/../b.png\nfile_extension: png", "a-..-b.png"),
        ("Report", "filename: \nfile_extension: pdf", "Report.pdf"),
        ("", "filename: \nfile_extension: png", "00000000000000000000000000000009.png"),
        ("", "filename: \nfile_extension: ", "00000000000000000000000000000009"),
        ("readme.md", "filename: \nfile_extension: md", "readme.md.txt"),
    ];
    for (title, properties, expected) in cases {
        let export = Export::new();
        export.note(1, "A", &format!("![](:/{0}) ![](:/{0})", id(9)));
        export.file(9, title, properties, b"x");
        let converted = export.converted();
        assert_eq!(converted.files(), [("A", expected, b"x".to_vec())]);
        assert_eq!(body(&converted, "A"), format!("![[{expected}]] ![[{expected}]]"));
    }
}

#[test]
fn an_encrypted_file_is_not_attached() {
    let export = Export::new();
    export.note(1, "A", &format!("![](:/{})", id(9)));
    export.file(9, "a.png", "encryption_blob_encrypted: 1", b"cipher");
    let converted = export.converted();
    assert_eq!(converted.files(), []);
    assert!(converted.lost().iter().any(|it| it.contains("a.png is encrypted")));
}

#[test]
fn symbolic_links_are_not_followed() {
    let outside = Export::new();
    outside.note(2, "Secret", "x");
    fs::write(outside.path().join("secret"), "x").unwrap();
    let export = Export::new();
    export.note(1, "A", &format!("![](:/{})", id(9))).file(9, "a.png", "", b"x");
    let link = |to: PathBuf, from: PathBuf| std::os::unix::fs::symlink(to, from).unwrap();
    let name = format!("{}.md", id(2));
    link(outside.path().join(&name), export.path().join(&name));
    let blob = export.path().join(format!("resources/{}.bin", id(9)));
    fs::remove_file(&blob).unwrap();
    link(outside.path().join("secret"), blob);
    let converted = export.converted();
    assert_eq!(converted.paths(), ["A"]);
    assert_eq!(converted.files(), []);
    let links = converted.lost().iter().filter(|it| it.contains("it is a link")).count();
    assert_eq!(links, 2);
}

#[test]
fn a_cut_archive_keeps_the_notes_before_the_cut() {
    let bytes = fs::read(GARDEN).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.jex");
    // Each entry has a header of 512 bytes and at most 1024 bytes of content.
    fs::write(&path, &bytes[..4 * 1024 + 3 * 1536 + 600]).unwrap();
    let converted = Converted::of(&FORMATS, &path);
    assert!(!converted.paths().is_empty());
    let error = converted.error.unwrap();
    assert!(error.starts_with("cut.jex: the archive ends within 0000"), "{error}");
    // Every cut gives an error, the end of the format, or whole pages, never a panic.
    for length in (0..bytes.len()).step_by(97) {
        fs::write(&path, &bytes[..length]).unwrap();
        if recognise(&FORMATS, &path).unwrap().is_some_and(|it| it.name == "joplin") {
            let converted = Converted::of(&FORMATS, &path);
            assert!(converted.error.is_some() || converted.paths().len() <= 6);
        }
    }
}

#[test]
fn odd_items_are_read() {
    let export = Export::new();
    let path = |id: u128| export.path().join(format!("{id:032x}.md"));
    fs::write(path(1), format!("\u{feff}A\r\n\r\nx: y\r\n\r\nid: {}\r\ntype_: 1\r\n", id(1)))
        .unwrap();
    fs::write(path(2), b"B\n\nbad \xff byte\n\nid: x\ntype_: 1").unwrap();
    fs::write(path(3), "\n\nid: 3\ntype_: 1").unwrap();
    fs::write(path(4), "D\n\nauthor: a\\nb \\\\n c\nlatitude: 0.00000000\ntype_: 1").unwrap();
    let converted = export.converted();
    assert_eq!(converted.paths(), ["A", "B", "Untitled", "D"]);
    assert_eq!(body(&converted, "A"), "x: y");
    assert_eq!(body(&converted, "B"), "bad \u{fffd} byte");
    assert!(converted.page("D").contains("author: \"a\\nb \\\\n c\"\n"));
    assert!(!converted.page("D").contains("latitude"));
    assert_eq!(converted.lost(), [format!("{}.md: bytes that are not UTF-8 were replaced", id(2))]);
}

#[test]
fn html_notes_become_markdown() {
    let export = Export::new();
    let html = |it: u128, text: &str| {
        _ = export.item(1, it, text, "markup_language: 2");
    };
    html(1, "Empty\n\n<p></p>");
    html(2, "\n\n<p>First words</p><p>two&nbsp;lamps &amp; oil</p>");
    html(
        3,
        &format!("Gone\n\n<a href=\":/{}\">x</a><img src=\"data:image/png;base64,AA\">", id(7)),
    );
    let converted = export.converted();
    assert_eq!(converted.paths(), ["Empty", "First words", "Gone"]);
    assert_eq!(body(&converted, "First words"), "First words\n\ntwo\u{a0}lamps & oil");
    assert_eq!(body(&converted, "Gone"), format!("[x](:/{})", id(7)));
    assert_eq!(converted.lost().len(), 2, "{:?}", converted.lost());
}

#[test]
fn hostile_text_takes_linear_time() {
    let link = format!("](:/{})", id(9));
    assert_linear("all texts", 400_000, |size| {
        let texts = [
            "[".repeat(size),
            "![".repeat(size / 2) + &link.repeat(size / 40),
            "` `` ".repeat(size / 5),
            "<a <a href=\"".repeat(size / 12),
            format!("<a href=\":/{}\">", id(9)).repeat(size / 50) + &"</a>".repeat(size / 50),
            "\\".repeat(size),
            format!("[a](:/{} \"", id(9)).repeat(size / 50),
        ];
        let export = Export::new();
        for (number, text) in (20..).zip(&texts) {
            export.note(number, &format!("N{number}"), text);
        }
        export.file(9, "a.png", "", b"x");
        assert_eq!(export.converted().paths().len(), texts.len());
    });
}
