//! Tests of content that no program writes.

use super::*;

struct NoTargets;

impl Targets for NoTargets {
    fn note(&self, _: &str, _: &str) -> Option<String> {
        None
    }

    fn file(&mut self, _: &str) -> Option<String> {
        None
    }
}

#[test]
fn hostile_content_takes_linear_time() {
    let pieces = [
        "<b>",
        "</b>",
        "<b></i>",
        "<div><p>x",
        "<ul><li>",
        "<li><ul>x",
        "<en-todo/>",
        "&x;",
        "&",
        "<en-crypt>",
        "<en-media/>",
        "|",
        "2) ",
        "[[",
        "# ",
        "<a href=\"evernote:///view/1\">x",
        "<td>",
        "<table><tr><td>",
        "<pre>x",
        "<!--",
        "<![CDATA[x]]>",
        "< ",
        "<en-crypt <",
    ];
    for piece in pieces {
        for end in ["", "</en-note>"] {
            let content = format!("<en-note>{}{end}", piece.repeat(60_000 / piece.len()));
            let start = std::time::Instant::now();
            _ = convert(&content, &[], &mut NoTargets);
            assert!(start.elapsed().as_secs() < 10, "{piece}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn text_outside_of_all_elements_is_kept() {
    for (content, expected) in [
        ("just text", "just text"),
        ("<en-note><div>a</div></div></en-note> b", "a\n\nb"),
        ("<?xml version=\"1.0\"?>\n<en-note/>\n", ""),
    ] {
        assert_eq!(convert(content, &[], &mut NoTargets).markdown.trim(), expected, "{content}");
    }
}
