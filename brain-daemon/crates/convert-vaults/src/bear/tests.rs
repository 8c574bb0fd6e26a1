use brain_convert_testing::{Converted, directory};

use crate::FORMATS;

fn info(more: &str) -> String {
    format!(
        "{{\"type\":\"net.daringfireball.markdown\",\"version\":2,\"net.shinyfrog.bear\":{{\
         \"uniqueIdentifier\":\"AB-1\",\"creationDate\":\"2023-10-11T08:08:52Z\",\"modificationDate\":\
         \"2023-10-11T08:10:40Z\",\"trashed\":0{more}}}}}"
    )
}

#[test]
fn notes_have_dates_tags_links_and_files() {
    let converted = Converted::of(
        &FORMATS,
        directory(&[
            ("A.textbundle/info.json", &info(",\"archived\":1")),
            (
                "A.textbundle/text.md",
                "# A note\n#a/b #two words# text #c\n![](assets/p%201.png)<!-- {\"width\":3} -->\n[[B/Part \
                 one|part]] [[B]] [x](bear://x-callback-url/open-note?id=AB-1) [[none]] [f](assets/no.pdf)",
            ),
            ("A.textbundle/assets/p 1.png", "png"),
            ("A.textbundle/assets/left.png", "png"),
            ("B.textbundle/info.json", &info("").replace("AB-1", "B-2")),
            ("B.textbundle/text.md", "no heading"),
            ("C.textbundle/info.json", &info("").replace("\"trashed\":0", "\"trashed\":1")),
            ("C.textbundle/text.md", "gone"),
            ("C.textbundle/assets/c.png", "gone"),
            ("D.textbundle/info.json", &info(",\"encrypted\":1")),
            ("D.textbundle/text.md", ""),
            ("tags.json", "{}"),
        ])
        .path(),
    );
    assert_eq!(converted.format, "bear");
    assert_eq!(converted.paths(), ["A note", "B"]);
    assert_eq!(
        converted.page("A note"),
        "---\ntitle: \"A note\"\ncreated: 2023-10-11T08:08:52Z\nupdated: 2023-10-11T08:10:40Z\ntags: [\"two \
         words\"]\nattachments: [\"p 1.png\"]\narchived: \"true\"\n---\n\n# A note\n#a/b \\#two words text \
         #c\n![[p 1.png]]<!-- {\"width\":3} -->\n[[B#Part one|part]] [[B]] [[A note|x]] [[none]] \
         [f](assets/no.pdf)\n"
    );
    assert_eq!(converted.files(), [("A note", "p 1.png", b"png".to_vec())]);
    let lost = converted.lost().join("\n");
    for part in
        ["C.textbundle: it is in the trash", "D.textbundle: it is encrypted", "no.pdf", "left.png"]
    {
        assert!(lost.contains(part), "{part} in {lost}");
    }
    assert_eq!(converted.lost().len(), 4, "{lost}");
}

#[test]
fn a_note_without_a_heading_has_its_first_line_as_title_for_links() {
    let converted = Converted::of(
        &FORMATS,
        directory(&[
            ("A.textbundle/info.json", &info("")),
            ("A.textbundle/text.md", "# A\n[[And/or]]"),
            ("And-or.textbundle/info.json", &info("").replace("AB-1", "B-2")),
            ("And-or.textbundle/text.md", "And/or\n\ntext"),
        ])
        .path(),
    );
    assert!(converted.page("A").ends_with("[[And-or]]\n"), "{}", converted.page("A"));
}

#[test]
fn a_bundle_itself_is_read() {
    let dir = directory(&[
        ("A.textbundle/info.json", "{\"version\":2}"),
        ("A.textbundle/text.md", "# A\n![](assets/p.png)"),
        ("A.textbundle/assets/p.png", "png"),
    ]);
    let converted = Converted::of(&FORMATS, &dir.path().join("A.textbundle"));
    assert_eq!((converted.format, converted.paths()), ("bear", vec!["A"]));
    assert_eq!(converted.files().len(), 1);
}

#[test]
fn hard_input_gives_pages_or_reasons() {
    let converted = Converted::of(
        &FORMATS,
        directory(&[
            ("x.textbundle/info.json", "{"),
            ("x.textbundle/text.markdown", "# \n# # ## #a #"),
            ("y.textbundle/info.json", &info("").replace("2023-10-11T08:08:52Z", "9999999-01-01")),
            ("y.textbundle/text.txt", ""),
            ("Y.textbundle/info.json", ""),
            ("Y.textbundle/text.md", "#a b#c #d e#"),
        ])
        .path(),
    );
    assert_eq!(converted.paths().len(), 3);
    assert_eq!(converted.lost().len(), 2, "{:?}", converted.lost());
}

#[test]
fn of_notes_with_one_title_the_older_has_its_name() {
    let older = info("").replace("2023-10-11T08:08:52Z", "2022-10-11T08:08:52Z");
    let converted = Converted::of(
        &FORMATS,
        directory(&[
            ("A.textbundle/info.json", &older),
            ("A.textbundle/text.md", "# A\nold [[A]]"),
            ("A 2.textbundle/info.json", &info("").replace("AB-1", "B-2")),
            ("A 2.textbundle/text.md", "# A\nnew"),
        ])
        .path(),
    );
    assert_eq!(converted.paths(), ["A", "A 2"]);
    assert!(
        converted.page("A").ends_with("old [[A]]\n") && converted.page("A 2").ends_with("new\n")
    );
}
