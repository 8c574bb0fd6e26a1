use std::path::Path;

use brain_convert_testing::{Converted, directory};

use crate::FORMATS;

const NOTE: &str =
    "---\nid: x\ntitle: Ann\ndesc: ''\nupdated: 1700000000000\ncreated: 1700000000000\n---\n";

#[test]
fn a_workspace_of_dendron_is_read() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/dendron/workspace");
    let converted = Converted::of(&FORMATS, Path::new(path));
    assert_eq!(converted.format, "dendron");
    assert_eq!(
        converted.paths(),
        ["garden/bed-2023", "garden", "people/ann", "root", "tags/crop/bean", "user/ann"]
    );
    assert!(
        converted.page("garden").ends_with(
            "---\n\nSee [[people/ann#beds|Bed]] and [[people/ann]]\n\n![[people/ann#beds]]\n\n#crop/bean \
             [[user/ann|@ann]] [[garden/bed-2023]] ![[bed.png]]\n"
        ),
        "{}",
        converted.page("garden")
    );
    assert!(converted.page("garden").contains("title: Garden\ndesc: ''\nupdated: 17"));
    assert_eq!(converted.files().len(), 1);
    let reasons = converted.lost();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
}

#[test]
fn notes_without_settings_are_known_by_their_frontmatter() {
    let both = directory(&[("people.ann.md", NOTE), ("a.md", NOTE)]);
    assert_eq!(Converted::of(&FORMATS, both.path()).paths(), ["a", "people/ann"]);
    let other = directory(&[("people.ann.md", NOTE), ("b.md", "# mine")]);
    assert!(brain_convert_base::recognise(&FORMATS, other.path()).unwrap().is_none());
}

#[test]
fn several_vaults_keep_their_names_apart() {
    let converted = Converted::of(
        &FORMATS,
        directory(&[
            ("dendron.yml", "version: 5\n"),
            ("one/root.md", NOTE),
            ("one/a.b.md", &format!("{NOTE}[[a.b]] [[dendron://two/a.b]] [[x|no.note]] [[#here]]")),
            ("two/root.md", NOTE),
            ("two/a.b.md", "---\ntags: [x.y, z]\n---\n![](/assets/p.png) [gone](assets/no.png)"),
            ("two/assets/p.png", "png"),
            ("two/assets/q.png", "png"),
            ("README.md", "read me"),
        ])
        .path(),
    );
    assert_eq!(converted.paths(), ["README", "one/a/b", "one/root", "two/a/b", "two/root"]);
    assert!(
        converted.page("one/a/b").ends_with("[[one/a/b]] [[two/a/b]] [[no/note|x]] [[#here]]\n"),
        "{}",
        converted.page("one/a/b")
    );
    let page = converted.page("two/a/b");
    assert!(
        page.contains("- x/y\n") && page.ends_with("![[p.png]] [gone](assets/no.png)\n"),
        "{page}"
    );
    assert_eq!(converted.lost().len(), 3, "{:?}", converted.lost());
}

#[test]
fn hard_input_gives_pages_or_reasons() {
    let converted = Converted::of(
        &FORMATS,
        directory(&[
            ("dendron.yml", ""),
            ("root.md", ""),
            ("bad.md", "---\na: [\n---\ntext"),
            ("...md", "dots"),
            ("A.b.md", "[[a|b|c]] [[ ]] @ # #. [x]("),
            ("a.B.md", "\u{0}"),
            (&format!("{}.md", "y.".repeat(110)), NOTE),
        ])
        .path(),
    );
    assert!(converted.error.is_none());
    assert!(converted.page("bad").contains("a: [\n~~~~~~~~\n\ntext"), "{}", converted.page("bad"));
}
