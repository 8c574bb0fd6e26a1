//! Tests of text that HTML hides.

use super::{MediaType, html, parse_payload};

/// Checks that each HTML becomes this markdown and has so many hidden words.
fn check(rows: &[(&str, &str, usize)]) {
    for (page, markdown, words) in rows {
        let payload = parse_payload(MediaType::Html, page);
        assert_eq!(payload.document.body.trim(), *markdown, "{page}");
        assert_eq!(payload.hidden_words, *words, "{page}");
    }
}

#[test]
fn hidden_elements_are_left_out() {
    check(&[
        ("<p>a<p hidden>b c</p><p>d", "a\n\nd", 2),
        ("a<span style='color:red; DISPLAY : none !important'>b, c – d</span> e", "a e", 3),
        ("<div style='visibility:hidden'>b<div>c</div>d</div><p>e", "e", 3),
        ("<p style='display:none;display:block'>a</p>", "a", 0),
        ("<div style=display:none><ul><li>b<li>c</ul><p>d</div>a", "a", 3),
        ("a<div hidden=until-found>b</div>", "a\n\nb", 0),
        ("<input type=checkbox style=display:none checked>yes", "☑ yes", 0),
        (
            "<table><tr><td>a<td>b<td>c<tr><td>1<td hidden>2<td>3</table>",
            "|  |  |  |\n| --- | --- | --- |\n| a | b | c |\n| 1 | 3 |",
            1,
        ),
    ]);
}

#[test]
fn missing_ends_hide_no_other_text() {
    check(&[
        ("<p hidden>b<p>c</p><p>d</p>", "c\n\nd", 1),
        ("<p hidden>b<i>c<div>d</div>", "d", 2),
        ("<div><span hidden>b</div>c", "c", 1),
        ("<ul><li hidden>b<ul><li>c</ul><li>d</ul>", "- d", 2),
        ("<dl><dt hidden>b<dd>c</dl>", "c", 1),
        ("<table><tr hidden><td>b<td>c<tr><td>d</table>", "d", 2),
        ("<div hidden/>a", "a", 0),
        ("a<br hidden>b", "a  \nb", 0),
        ("<div style=visibility:hidden>b<i style=visibility:visible>c</i></div>", "*c*", 1),
    ]);
    let deep = format!("<div hidden>{}b</div>", "<i>".repeat(600));
    assert!(html(&deep).contains('b'));
}

#[test]
fn a_hidden_formula_is_kept() {
    check(&[(
        "x<span style='display:none'>n<math><mi>a</mi><mo>=</mo><mn>1</mn></math>m</span> y",
        "x a = 1 y",
        2,
    )]);
}

#[test]
fn a_document_that_hides_all_is_read() {
    check(&[
        ("<body style='visibility:hidden'><p>a", "a", 0),
        ("<div style='display:none'><p>a</div>", "a", 0),
    ]);
}
