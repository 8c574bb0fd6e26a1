use std::path::Path;

use brain_convert_testing::{Converted, directory};

use crate::FORMATS;

fn export() -> Converted {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/fixtures/import/joplin-markdown/export"
    );
    Converted::of(&FORMATS, Path::new(path))
}

#[test]
fn an_export_of_joplin_is_read() {
    let converted = export();
    assert_eq!(converted.format, "joplin-markdown");
    assert_eq!(
        converted.paths(),
        [
            "Garden/0012",
            "Garden/Dig the bed",
            "Garden/Links- 100% & more",
            "Garden/Old job",
            "Garden/Same",
            "Garden/Same 2",
            "Garden/null",
            "Garden/Beds (2023)/Bed one",
        ]
    );
    assert_eq!(converted.lost(), [""; 0]);
    assert_eq!(converted.files().len(), 1);
}

#[test]
fn links_and_pictures_of_joplin_work() {
    let converted = export();
    let bed = converted.page("Garden/Beds (2023)/Bed one");
    assert!(bed.contains("![[bed plan (1).png]] is the plan.\n"), "{bed}");
    assert!(bed.contains(
        "Back to [[Garden/Links- 100% & more#tasks|links]] and [web](https://a.example)."
    ));
    let links = converted.page("Garden/Links- 100% & more");
    assert!(
        links.contains("See [[Garden/Beds (2023)/Bed one|bed]] and [[Garden/Same|same]].\n"),
        "{links}"
    );
    assert!(links.contains("tags: [\"two words, comma\"]\n"), "{links}");
}

#[test]
fn values_of_joplin_are_texts_and_todos_are_tasks() {
    let converted = export();
    let page = converted.page("Garden/null");
    assert!(page.starts_with("---\ntitle: \"null\"\ncreated: 2026-11-30T08:56:52Z\n"), "{page}");
    assert!(
        page.contains("tags: [\"007\", \"null\"]\n")
            && page.contains("latitude: \"52.50000000\"\n")
    );
    assert!(!page.contains("altitude"));
    let html = converted.page("Garden/0012");
    assert!(html.contains("url: \"https://a.example/x_y\"\nauthor: \"Ida\"\n"), "{html}");
    assert!(html.ends_with("One **two**\n\n- three\n"), "{html}");
    let open = converted.page("Garden/Dig the bed");
    assert!(open.contains("due: \"2023-11-14T22:13:20Z\"\n"), "{open}");
    assert!(open.ends_with("\n- [ ] Dig the bed\n\nWith a spade.\n"), "{open}");
    assert!(converted.page("Garden/Old job").ends_with("\n- [x] Old job\n"));
}

#[test]
fn another_note_in_the_directory_makes_it_another_one() {
    let note =
        "---\ntitle: A\nupdated: 2026-11-30 08:57:29Z\ncreated: 2026-11-30 08:57:29Z\n---\n\nx";
    let export =
        directory(&[("a.md", note), ("_resources/r.md", "x"), ("_resources/left.png", "x")]);
    let converted = Converted::of(&FORMATS, export.path());
    assert_eq!(converted.paths(), ["A"]);
    assert_eq!(converted.lost().len(), 2);
    let mixed = directory(&[("a.md", note), ("b.md", "# mine")]);
    assert!(brain_convert_base::recognise(&FORMATS, mixed.path()).unwrap().is_none());
}
