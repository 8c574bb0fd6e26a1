#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use crate::FORMATS;
use brain_convert_testing::{Converted, assert_linear};

fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/import");
    root.join("tiddlywiki").join(name)
}

/// Converts a file of this name.
fn converted(name: &str, content: &str) -> Converted {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, content).unwrap();
    Converted::of(&FORMATS, &path)
}

/// Converts one tiddler of wikitext, and returns its body.
fn body(text: &str) -> String {
    let tid = format!("created: 20240101000000000\ntitle: X\n\n{text}");
    let converted = converted("x.tid", &tid);
    let page = converted.page("X");
    page.split_once("\n---\n\n").map_or(page, |(_, body)| body).trim_end().to_owned()
}

#[test]
fn the_folder_of_the_program_is_read_whole() {
    let wiki = Converted::of(&FORMATS, &fixture("folder"));
    assert_eq!((wiki.format, wiki.error.as_deref()), ("tiddlywiki", None));
    assert_eq!(wiki.paths().len(), 11, "{:?}", wiki.paths());
    let page = wiki.page("Harbour");
    let head = "---\ntitle: \"Harbour\"\ncreated: 2024-03-01T08:15:00.123Z\n\
                updated: 2024-03-02T09:15:00.456Z\ntags: [\"plain\", \"two words\", \"Lamps\"]\n\
                attachments: [\"lamp.png\"]\nauthor: \"Ida\"\nmodifier: \"Tom\"\n\
                place: \"north quay\"\n---\n\n";
    assert!(page.starts_with(head), "{page}");
    for part in [
        "[[Tom & Ida|the keeper]]",
        "![[lamp.png|A lamp]] and ![[lamp.png]].",
        "- two\n  - two a\n  1. two b\n- three\n",
        "| Name | Count |\n| :--- | :--- |\n| lamp | 3 |\n",
        "\n\n![[Lamps]]\n\n",
        "`<$list filter=\"[tag[plain]]\">` `<$link/>` `</$list>`",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("hidden comment"));
    let files: Vec<_> = wiki.files().iter().map(|it| (it.0, it.1, it.2.len())).collect();
    assert_eq!(files, [("Harbour", "lamp.png", 70), ("Alone.pdf", "Alone.pdf", 16)]);
    let lost = wiki.lost();
    assert!(lost.iter().any(|it| it.starts_with("Draft of 'Lamps'.tid: it is a draft")));
    assert!(lost.iter().any(|it| it.contains("$:/my/own is a system tiddler")));
    assert!(lost.iter().all(|it| !it.contains("StoryList")), "{lost:?}");
}

#[test]
fn single_files_of_both_versions_equal_the_folder() {
    let folder = Converted::of(&FORMATS, &fixture("folder"));
    for name in ["wiki-5.4.html", "wiki-5.1.html"] {
        let wiki = Converted::of(&FORMATS, &fixture(name));
        assert_eq!(wiki.error, None);
        assert_eq!(wiki.paths().len(), 11, "{name}");
        // Version 5.1 read the file with the odd fields as data; CamelCase is a link there.
        for path in folder.paths().into_iter().filter(|it| !["Odd fields", "Lamps"].contains(it)) {
            assert_eq!(wiki.page(path), folder.page(path), "{name}");
        }
        assert_eq!(wiki.files().len(), 2, "{name}");
    }
}

#[test]
fn camel_case_is_a_link_in_5_1_only() {
    let old = Converted::of(&FORMATS, &fixture("wiki-5.1.html"));
    let text = "[[HarbourMaster]] again, and HarbourMaster not.";
    assert!(old.page("Lamps").contains(text), "{}", old.page("Lamps"));
    let new = Converted::of(&FORMATS, &fixture("wiki-5.4.html"));
    assert!(!new.page("Lamps").contains("[[HarbourMaster]]"));
}

#[test]
fn plain_signs_stay_plain() {
    for (text, shown) in [
        ("snake_case *a* _b_ #tag [x] 3 < 4", "snake_case \\*a\\* \\_b\\_ \\#tag \\[x\\] 3 < 4"),
        ("a\n- b\n1986. c\n# d", "a\n\\- b\n1986\\. c\n\\# d"),
        ("<notatag 5 > 3", "\\<notatag 5 > 3"),
        ("''open and //never closed", "''open and //never closed"),
    ] {
        assert_eq!(body(text), shown, "{text}");
    }
}

#[test]
fn wikitext_is_markdown() {
    for (text, shown) in [
        ("!!!.cls Head", "### Head"),
        ("a''b''c ''d ''e", "a**b**c **d** e"),
        ("x''-a''y", "x<b>-a</b>y"),
        ("[[Label|Missing#x]]", "[[Missing-x|Label]]"),
        ("[[a|https://x.org/a(b)]]", "[a](<https://x.org/a(b)>)"),
        ("$$x_1 = 2$$ and $$5 or $$6", "$x_1 = 2$ and \\$\\$5 or \\$\\$6"),
        ("a\n\n$$\na^2\n$$", "a\n\n$$\na^2\n$$"),
        ("a -- b --- c ----- d", "a – b — c \\-\\-— d"),
        ("|a|b|\n|>|c|", "| | |\n| --- | --- |\n| a | b |\n| | c |"),
        ("|[[x|https://y.org]]|`a|b`|", "| | |\n| --- | --- |\n| [x](https://y.org) | `a\\|b` |"),
        ("*# a\n*# b\n# c", "- 1. a\n  2. b\n\n1. c"),
        ("<<<\na\n\n* b\n<<<\nc", "> a\n>\n> - b\n\nc"),
        ("a <!-- b\n\nc --> d", "a  d"),
    ] {
        assert_eq!(body(text), shown, "{text}");
    }
}

#[test]
fn titles_that_climb_or_differ_in_case_get_paths() {
    let json = r#"[{"title":"../../etc/x","text":"[[abc]]","created":"20240102000000000"},
        {"title":"ABC","text":"1","created":"20240101000000000"},
        {"title":"abc","text":"2","created":"20240103000000000"}]"#;
    let wiki = converted("tiddlers.json", json);
    assert_eq!(wiki.paths(), ["-..-etc-x", "ABC", "abc 2"]);
    assert!(wiki.page("-..-etc-x").ends_with("[[abc 2|abc]]\n"));
}

#[test]
fn a_cut_file_gives_what_is_whole_and_an_error() {
    let html = fs::read_to_string(fixture("wiki-5.4.html")).unwrap();
    let cut = html.find("\"Macro note\"").unwrap();
    let wiki = converted("w.html", &html[..cut]);
    assert!(wiki.error.unwrap().contains("ends in the middle of a tiddler"));
    assert!(!wiki.lines.is_empty());
    let old = fs::read_to_string(fixture("wiki-5.1.html")).unwrap();
    let wiki = converted("w.html", &old[..old.len() - 60]);
    assert!(wiki.error.is_some());
}

#[test]
fn hostile_text_takes_linear_time() {
    let pieces = [
        "''",
        "[[",
        "<<",
        "{{",
        "|",
        "//",
        "<$a",
        "@@",
        "*#",
        "<<<\n",
        "\"\"\"",
        "``",
        "<div>",
        // An end far away, behind the end of the line.
        "[[\n",
        "`\n",
        "<a>",
        "<a href='x'>",
        "[img [\n",
        "<b\n",
        "http:!",
        "<ul>\n\n",
        "@@;",
    ];
    for piece in pieces {
        let text =
            |size: usize| format!("{}\n]] `` </a> >> }}}} </ul>", piece.repeat(size / piece.len()));
        assert_linear(piece, 100_000, |size| _ = body(&text(size)));
        assert_linear(&format!("{piece} in markdown"), 100_000, |size| {
            let line = text(size).replace('\n', " ");
            let tid =
                format!("title: X\ntype: text/markdown\ncreated: 20240101000000000\n\n{line}");
            _ = converted("x.tid", &tid);
        });
    }
}

#[test]
fn html_with_wikitext_keeps_links_and_macros() {
    for (text, shown) in [
        ("<ul><li>a</li><li>[[b]]</li></ul>", "a\n[[b]]"),
        ("<table><tr><td>''a''</td><td><<now>></td></tr></table>", "**a** `<<now>>`"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "a\nb\nc"),
        ("<ul><li>https://x.org/a</li></ul>", "- https://x.org/a"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
    ] {
        assert_eq!(body(text), shown, "{text}");
    }
    let wiki =
        converted("x.tid", "created: 20240101000000000\ntitle: X\n\n<ol><li>[[b]]</li></ol>");
    assert_eq!(wiki.lost(), ["x.tid: lists or tables of HTML that have wikitext became lines"]);
}

#[test]
fn links_in_markdown_are_rewritten_outside_of_code() {
    let text = "[a](#B%20b) ![c](B%20b) [[d|B b]] ``[e](#B%20b) ` `` `[f](#B%20b)\n\n````\n```\n\
                [g](#B%20b)\n````\n\n    [h](#B%20b)\n";
    let json = serde_json::json!([
        {"title": "A", "type": "text/markdown", "text": text, "created": "20240101000000000"},
        {"title": "B b", "text": "x", "created": "20240101000000000"},
    ]);
    let wiki = converted("t.json", &json.to_string());
    let expected = "[[B b|a]] ![[B b|c]] [[B b|d]] ``[e](#B%20b) ` `` `[[B b|f]]\n\n````\n```\n\
                    [g](#B%20b)\n````\n\n    [h](#B%20b)\n";
    let page = wiki.page("A");
    assert!(page.ends_with(&format!("---\n\n{expected}")), "{page}");
}

#[test]
fn a_list_takes_linear_time() {
    use super::tiddler::list;
    assert_eq!(list("a [[b c]] [[d [[e f]] g"), ["a", "b c", "d [[e f", "g"]);
    assert_eq!(list("[[a [[b"), ["[[a", "[[b"]);
    assert_linear("[[a ", 500_000, |size| assert_eq!(list(&"[[a ".repeat(size)).len(), size));
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret.txt");
    fs::write(&secret, "secret").unwrap();
    let wiki = dir.path().join("wiki");
    fs::create_dir_all(&wiki).unwrap();
    fs::write(wiki.join("a.tid"), "created: 20240101000000000\ntitle: A\n\ntext").unwrap();
    fs::write(wiki.join("b.tid"), "created: 20240101000000000\ntitle: B\n\ntext").unwrap();
    std::os::unix::fs::symlink(&secret, wiki.join("b.txt")).unwrap();
    fs::write(wiki.join("c.txt"), "own").unwrap();
    fs::write(&secret, "title: Secret\nkey: secret").unwrap();
    std::os::unix::fs::symlink(&secret, wiki.join("c.txt.meta")).unwrap();
    let converted = Converted::of(&FORMATS, &wiki);
    assert_eq!(converted.paths(), ["A", "B", "c.txt"]);
    assert!(!converted.page("c.txt").contains("secret"));
    assert!(converted.lost()[0].starts_with("b.txt: it is a symbolic link"));
}

#[test]
fn a_folder_of_tiddlers_can_begin_with_those_of_the_program() {
    let files = brain_convert_testing::directory(&[
        ("$__SiteTitle.tid", "title: $:/SiteTitle\n\nHarbour"),
        ("A.tid", "created: 20240101000000000\ntitle: A\n\ntext"),
        ("B.md", "text"),
        ("B.md.meta", "title: B\ntype: text/x-markdown\n"),
    ]);
    assert!(Converted::of(&FORMATS, files.path()).paths().contains(&"B"));
}

#[test]
fn hidden_text_is_left_out_and_counted() {
    let wikitext = "created: 20240101000000000\ntitle: X\n\n<ul><li>a</li><li hidden>b c</li></ul>";
    let html = "created: 20240101000000000\ntitle: X\ntype: text/html\n\n<p>a</p><p hidden>b c</p>";
    for tid in [wikitext, html] {
        let wiki = converted("x.tid", tid);
        assert!(!wiki.page("X").contains("b c"), "{}", wiki.page("X"));
        assert_eq!(wiki.lost(), ["x.tid: text that it hides is left out: 2 words"]);
    }
}
