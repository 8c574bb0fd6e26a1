use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;
use crate::model::{Block, FlatItem, Inline, Link, List, Position, Style, Text, nested_lists};

const PLAIN: Style =
    Style { bold: false, italic: false, strike: false, code: false, position: Position::Normal };
const BOLD: Style = Style { bold: true, ..PLAIN };
const ITALIC: Style = Style { italic: true, ..PLAIN };

fn styled(text: &str, style: Style) -> Inline {
    Inline::Text(Text { text: text.to_owned(), style, link: None })
}

fn linked(text: &str, address: &str) -> Inline {
    let link = Some(Link::Address(address.into()));
    Inline::Text(Text { text: text.to_owned(), style: Style::default(), link })
}

fn plain(text: &str) -> Block {
    Block::Paragraph(vec![Inline::plain(text)])
}

fn written(blocks: &[Block]) -> String {
    Writer::default().document(blocks, &[], 1 << 20).markdown
}

fn line(content: &[Inline]) -> String {
    written(&[Block::Paragraph(content.to_vec())])
}

/// Returns the text of the bold parts, as a parser of markdown sees them.
fn bold_parts(markdown: &str) -> String {
    let (mut out, mut is_bold) = (String::new(), false);
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::Strong) => is_bold = true,
            Event::End(TagEnd::Strong) => {
                is_bold = false;
                out.push('|');
            }
            Event::Text(text) if is_bold => out.push_str(&text),
            Event::Text(text) => assert!(!text.contains("**"), "{text} in {markdown}"),
            _ => {}
        }
    }
    out
}

#[test]
fn marks_are_marks_whatever_stands_beside_them() {
    for (before, bold, after, expected, parts) in [
        ("a ", "b", " c", "a **b** c", "b|"),
        ("a", " b ", "c", "a **b** c", "b|"),
        ("Note", "(x)", "y", "Note(**x**)y", "x|"),
        ("", "Name:", "Ann", "**Name**:Ann", "Name|"),
        ("", "Name:", " Ann", "**Name:** Ann", "Name:|"),
        ("これは", "「太字」", "です", "これは「**太字**」です", "太字|"),
        ("a", "...", "b", "a...b", ""),
        ("snake", "_case", "", "snake\\_**case**", "case|"),
    ] {
        let text = line(&[Inline::plain(before), styled(bold, BOLD), Inline::plain(after)]);
        assert_eq!(text, expected);
        assert_eq!(bold_parts(&text), parts, "{text}");
    }
}

#[test]
fn looks_that_overlap_are_nested() {
    let both = Style { bold: true, ..ITALIC };
    let text = line(&[styled("a ", BOLD), styled("b ", both), styled("c", ITALIC)]);
    assert_eq!(text, "**a *b*** *c*");
    let text = line(&[styled("a", BOLD), styled("b", BOLD), styled(" ", Style::default())]);
    assert_eq!(text, "**ab**");
}

#[test]
fn links_are_safe_and_short() {
    assert_eq!(
        line(&[linked("a [b]", "https://x.org/(c) d")]),
        "[a \\[b\\]](https://x.org/%28c%29%20d)"
    );
    assert_eq!(line(&[linked("https://x.org/a_b", "https://x.org/a_b")]), "https://x.org/a_b");
    for address in ["javascript:alert(1)", "file:///etc/passwd", "x.docx"] {
        assert_eq!(line(&[linked("text", address)]), "text");
    }
}

#[test]
fn text_is_literal() {
    for (text, shown) in [
        ("1986. A dry year", "1986\\. A dry year"),
        ("- no list  ", "\\- no list"),
        ("  four\n\tblanks", "four blanks"),
        ("a*b* <i> `c` | [[x]] #t", "a\\*b\\* \\<i> \\`c\\` \\| \\[\\[x\\]\\] \\#t"),
        ("snake_case co\u{ad}op \u{fdd0}", "snake_case coop"),
    ] {
        assert_eq!(line(&[Inline::plain(text)]), shown);
    }
}

#[test]
fn code_has_a_fence_that_is_long_enough() {
    let code = Style { code: true, ..Style::default() };
    assert_eq!(line(&[styled("a_b *c*", code)]), "`a_b *c*`");
    assert_eq!(line(&[styled("`x`", code)]), "`` `x` ``");
    assert_eq!(written(&[Block::Code("```\nx".into())]), "````\n```\nx\n````");
}

#[test]
fn lists_are_nested_and_apart() {
    let item = |level, number, text: &str| FlatItem { level, number, blocks: vec![plain(text)] };
    let blocks = nested_lists(vec![
        item(0, None, "a"),
        item(2, Some(1), "b"),
        item(2, Some(2), "c"),
        item(1, None, "d"),
        item(0, None, "e"),
        item(0, Some(7), "f"),
        item(0, Some(1), "g"),
    ]);
    assert_eq!(written(&blocks), "- a\n  1. b\n  2. c\n  - d\n- e\n\n7. f\n\n1) g");
}

#[test]
fn an_item_can_have_several_blocks() {
    let list = List { first: Some(9), items: vec![vec![plain("a"), Block::Code("x\n\ny".into())]] };
    assert_eq!(written(&[Block::List(list)]), "9. a\n\n   ```\n   x\n\n   y\n   ```");
}

#[test]
fn blocks_that_do_not_fit_are_counted() {
    let blocks: Vec<Block> = (0..100).map(|n| plain(&format!("paragraph {n}"))).collect();
    let notes = vec![vec![plain("note")]];
    let written = Writer::default().document(&blocks, &notes, 500);
    assert!(written.markdown.len() <= 500 && written.markdown.ends_with("[^1]: note"));
    assert_eq!(written.markdown.matches("paragraph").count(), 100 - written.blocks_omitted);
}

#[test]
fn rows_that_do_not_fit_are_counted() {
    let row = |n: usize| vec![vec![plain(&format!("row {n}"))], vec![plain("x")]];
    let blocks = [Block::Table((0..100).map(row).collect())];
    let written = Writer::default().document(&blocks, &[], 500);
    assert!(written.markdown.len() <= 500 && written.rows_omitted > 0);
    assert_eq!(written.markdown.matches("| row").count(), 100 - written.rows_omitted);
}

#[test]
fn deep_lists_and_quotes_stay_linear() {
    let mut block = plain("x");
    for n in 0..100 {
        block = match n % 2 {
            0 => Block::Quote(vec![block]),
            _ => Block::List(List { first: None, items: vec![vec![block]] }),
        };
    }
    assert!(written(&[block]).len() < 100);
}
