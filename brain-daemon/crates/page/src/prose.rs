//! Finds the prose of a page (text outside of code, links, images and HTML), its `%%comments%%` and
//! its `$$formulas$$`.

use super::markdown::for_each_event;
use pulldown_cmark::{Event, Options, Tag, TagEnd};
use std::ops::{ControlFlow, Range};

/// Options for parsing a body. With footnotes, so that `[^1]: text` is not a link definition.
/// Without tables, so that the `|` in `[[a|b]]` does not start a cell.
pub(super) const MARKDOWN: Options = Options::ENABLE_WIKILINKS.union(Options::ENABLE_FOOTNOTES);

/// Calls `each` with the byte ranges of the prose, in order. A range is contiguous in the source.
pub(super) fn for_each_prose_range(body: &str, mut each: impl FnMut(Range<usize>)) {
    let mut depth = 0_usize;
    // The parser splits text at every character that can have a meaning. A run joins the pieces.
    let mut run: Range<usize> = 0..0;
    for_each_event(body, MARKDOWN, |event, range| {
        match event {
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_)) => depth += 1,
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => depth -= 1,
            Event::Text(_) if depth == 0 => {
                if range.start == run.end && !run.is_empty() {
                    run.end = range.end;
                } else {
                    let whole = std::mem::replace(&mut run, range);
                    if !whole.is_empty() {
                        each(whole);
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    if !run.is_empty() {
        each(run);
    }
}

/// Returns the byte ranges of the blocks of code, in order: fenced and indented ones.
pub fn code_blocks(body: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    for_each_event(body, MARKDOWN, |event, range| {
        if let Event::Start(Tag::CodeBlock(_)) = event {
            blocks.push(range);
        }
        ControlFlow::Continue(())
    });
    blocks
}

/// Returns the byte ranges of `%%comments%%` and `$$formulas$$`, in order. A delimiter that is not
/// closed begins none.
pub(super) fn comments_and_formulas(body: &str) -> Vec<Range<usize>> {
    let mut out = between(body, "%%");
    let formulas = between(body, "$$");
    if !formulas.is_empty() {
        out.extend(formulas);
        out.sort_by_key(|range| range.start);
        let mut end = 0;
        out.retain(|range| {
            let is_apart = range.start >= end;
            end = end.max(range.end);
            is_apart
        });
    }
    out
}

/// Returns the byte ranges between two of these delimiters of two characters, with them, in order.
fn between(body: &str, delimiter: &str) -> Vec<Range<usize>> {
    // Most pages have none, and need not be parsed.
    if body.matches(delimiter).take(2).count() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for_each_prose_range(body, |run| {
        found.extend(body[run.clone()].match_indices(delimiter).map(|(at, _)| run.start + at));
    });
    let mut out = Vec::new();
    let mut at = 0;
    while let (Some(&open), Some(&close)) = (found.get(at), found.get(at + 1)) {
        if is_pair(body, open, &body[open + delimiter.len()..close]) {
            out.push(open..close + delimiter.len());
            at += 1;
        }
        at += 1;
    }
    out
}

/// Returns whether the `%%` or `$$` at `open` begins a comment or formula with this text. `100%%`
/// and `\$$` do not begin one. One that begins within a line ends in the same paragraph.
fn is_pair(body: &str, open: usize, text: &str) -> bool {
    let before = body[..open].trim_end_matches([' ', '\t']);
    let is_first_in_line = before.is_empty() || before.ends_with(['\n', '>']);
    let has_blank_line = || text.split('\n').skip(1).any(|line| line.trim().is_empty());
    let is_escaped = body[..open].ends_with(['\\', '$']) || text.starts_with('$');
    !is_escaped
        && !body[..open].ends_with(char::is_numeric)
        && (is_first_in_line || !has_blank_line())
}

/// Returns whether `at` is in one of the sorted ranges.
pub(super) fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.end <= at);
    ranges.get(after).is_some_and(|range| range.contains(&at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(body: &str) -> Vec<&str> {
        let mut out = Vec::new();
        for_each_prose_range(body, |run| out.push(&body[run]));
        out
    }

    #[test]
    fn code_blocks_are_found_in_lists_and_by_indentation() {
        let body = "a\n\n    one\n\n- b\n\n    c\n\n  ````\n  ```\n  two\n  ````\n\nd `e`\n    f";
        let shown: Vec<&str> = code_blocks(body).into_iter().map(|it| &body[it]).collect();
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown[0].contains("one") && shown[1].contains("two"), "{shown:?}");
    }

    #[test]
    fn code_links_and_html_are_not_prose() {
        assert_eq!(
            shown("a_b_c `d` [e](f) ![g](h) [[i]] <b>j</b>\n"),
            ["a_b_c ", " ", " ", " ", " ", "j"]
        );
        assert_eq!(shown("```\na\n```\n    b\n"), Vec::<&str>::new());
    }

    #[test]
    fn comments_and_formulas_are_closed_and_outside_of_code() {
        let of = |body: &'static str| -> Vec<&str> {
            comments_and_formulas(body).into_iter().map(|r| &body[r]).collect()
        };
        assert_eq!(of("a $$b$$ c\n$$\nd\n\ne\n$$ f"), ["$$b$$", "$$\nd\n\ne\n$$"]);
        assert_eq!(of("%%a $$b%% c$$ $$d$$"), ["%%a $$b%%", "$$d$$"]);
        assert_eq!(of("costs $$ here\n\nand $$ there"), Vec::<&str>::new());
        for body in ["`$$a$$` 5$$d$$", "\\$$b$$", "$$$c$$$"] {
            assert_eq!(of(body), Vec::<&str>::new(), "{body}");
        }
        assert_eq!(of("a %%b%% c\n%%\nd\n\ne\n%% f"), ["%%b%%", "%%\nd\n\ne\n%%"]);
        assert_eq!(of("a %%b\nc%% d %%e\n\nf %%g%%"), ["%%b\nc%%", "%%g%%"]);
        assert_eq!(of("100%% sure\n%%a%%\n> %%b%%"), ["%%a%%", "%%b%%"]);
        assert_eq!(of("100%% sure `%%x%%`"), Vec::<&str>::new());
        assert_eq!(of("%%a%% %%b"), ["%%a%%"]);
        let ranges = [2..5, 8..9];
        let inside: Vec<usize> = (0..12).filter(|&at| is_in(&ranges, at)).collect();
        assert_eq!(inside, [2, 3, 4, 8]);
    }

    proptest! {
        #[test]
        fn prose_is_in_order(body in "([a%$#_*`<>\\[\\]()|é\\\\ -]|%%|\\$\\$|\n){0,60}|\\PC{0,40}") {
            let mut end = 0;
            for_each_prose_range(&body, |run| {
                assert!(run.start >= end && run.end > run.start
                    && body.is_char_boundary(run.start));
                end = run.end;
            });
            end = 0;
            for range in comments_and_formulas(&body) {
                prop_assert!(range.start >= end);
                end = range.end;
                let text = &body[range];
                prop_assert!(["%%", "$$"].iter().any(|d| text.starts_with(d) && text.ends_with(d)));
            }
        }
    }
}
