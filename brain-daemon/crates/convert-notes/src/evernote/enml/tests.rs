//! Tests of content that no program writes.

use brain_convert_testing::assert_linear;

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
            assert_linear(piece, 60_000, |size| {
                let content = format!("<en-note>{}{end}", piece.repeat(size / piece.len()));
                _ = convert(&content, &[], &mut NoTargets);
            });
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

#[test]
fn marked_text_has_its_marks() {
    let marked = "<en-note><div>a <span style=\"--en-highlight:yellow;background-color: \
                  #ffef9e;\">b</span> <span style=\"font-weight:bold;-evernote-highlight:true;\">c\
                  </span></div></en-note>";
    assert_eq!(convert(marked, &[], &mut NoTargets).markdown.trim(), "a ==b== ==**c**==");
}

#[test]
fn hidden_text_is_left_out_and_counted() {
    let content = "<en-note><div>a<span style=\"display:none\">b <b>c</b></span></div><div \
                   style=\"visibility:hidden\">d</div><div>e</div></en-note>";
    let done = convert(content, &[], &mut NoTargets);
    assert_eq!(done.markdown.trim(), "a\n\ne");
    assert_eq!(done.lost.all(), ["text that it hides is left out: 3 words"]);
}
