//! Makes lines of the pieces of text of a page, in the order in which the page draws them.
//!
//! That order is the one of reading in almost all documents, also with columns. Only text that is
//! turned on the page is sorted, and lines of a script from right to left are put in logical order.

use unpdf::parser::TextSpan;
use unpdf::parser::bidi::contains_rtl;

use super::right_to_left::{is_page, logical, prepared, turn_brackets};

/// A gap of this part of the font size separates words.
const WORD_GAP: f32 = 0.15;
/// A shift of this part of the font size up or down begins a line; indices shift less.
const LINE_SHIFT: f32 = 0.5;
/// A step back of this part of the font size begins a line; accents and kerning step less.
const STEP_BACK: f32 = 0.5;
/// Lines of turned text that are closer than this part of the font size are one.
const SAME_LINE: f32 = 0.3;

/// Returns the lines of a page. Equal pieces at one place, which make a text bold, count once.
pub(super) fn lines(spans: Vec<TextSpan>) -> Vec<String> {
    let is_right_to_left_page = is_page(&spans);
    let spans = prepared(sorted_if_turned(spans));
    let mut lines = Vec::new();
    let mut line = Line::default();
    for span in spans.iter().filter(|span| !span.text.is_empty()) {
        match line.pieces.last().map(|previous| step(previous, span)) {
            Some(Step::Copy) => continue,
            Some(Step::Line) => lines.push(std::mem::take(&mut line).text(is_right_to_left_page)),
            Some(Step::Back) => line.has_steps_back = true,
            Some(Step::Forward) | None => {}
        }
        line.pieces.push(span);
    }
    lines.push(line.text(is_right_to_left_page));
    turn_brackets(&mut lines);
    lines
}

/// How a piece follows another one.
enum Step {
    /// It is the same at the same place.
    Copy,
    /// It begins a line.
    Line,
    /// It is to the left of it, in a line from right to left.
    Back,
    Forward,
}

fn step(previous: &TextSpan, span: &TextSpan) -> Step {
    let size = size(previous, span);
    let shift = (span.y - previous.y).abs();
    let is_at_its_place = shift < 0.1 * size && (span.x - previous.x).abs() < 0.1 * size;
    if is_at_its_place && span.text == previous.text {
        return Step::Copy;
    }
    let back = STEP_BACK * size;
    // Text from right to left is drawn in steps back.
    let is_back = is_right_to_left(previous, span, back);
    let gap = if is_back { gap(span, previous) } else { gap(previous, span) };
    let is_line = shift < LINE_SHIFT * size && span.direction == previous.direction;
    match is_line && !span.is_rotated() && gap > -back {
        false => Step::Line,
        true if is_back => Step::Back,
        true => Step::Forward,
    }
}

/// The pieces of a line.
#[derive(Default)]
struct Line<'a> {
    pieces: Vec<&'a TextSpan>,
    /// Whether they are in another order than that of the eye.
    has_steps_back: bool,
}

impl Line<'_> {
    fn text(mut self, is_right_to_left_page: bool) -> String {
        if self.has_steps_back {
            self.pieces.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        let mut line = String::new();
        let mut previous: Option<&TextSpan> = None;
        for span in self.pieces {
            if previous.is_some_and(|it| gap(it, span) > WORD_GAP * size(it, span))
                && !line.ends_with(' ')
                && !span.text.starts_with(' ')
            {
                line.push(' ');
            }
            line.push_str(&span.text);
            previous = Some(span);
        }
        logical(&line, is_right_to_left_page)
    }
}

fn size(first: &TextSpan, second: &TextSpan) -> f32 {
    first.font_size.max(second.font_size).max(1.0)
}

/// Returns the room between two pieces.
fn gap(left: &TextSpan, right: &TextSpan) -> f32 {
    right.x - (left.x + left.width)
}

/// Returns whether the second piece is to the left of the first one, and one is of such a script.
fn is_right_to_left(first: &TextSpan, second: &TextSpan, back: f32) -> bool {
    second.x + second.width < first.x + back
        && (contains_rtl(&first.text) || contains_rtl(&second.text))
}

/// Sorts text that is turned on the page from its first line to its last one. The library gives it
/// after all other text, and from the last line.
fn sorted_if_turned(mut spans: Vec<TextSpan>) -> Vec<TextSpan> {
    let first = spans.iter().position(TextSpan::is_rotated).unwrap_or(spans.len());
    let mut turned = spans.split_off(first);
    let down = |span: &TextSpan| span.x * span.direction[1] - span.y * span.direction[0];
    let along = |span: &TextSpan| span.x * span.direction[0] + span.y * span.direction[1];
    turned.sort_by(|a, b| down(a).total_cmp(&down(b)));
    let mut line: Vec<TextSpan> = Vec::new();
    for span in turned {
        let is_new = line.first().is_some_and(|first| {
            (down(&span) - down(first)).abs() > SAME_LINE * first.font_size.max(1.0)
        });
        if is_new {
            spans.append(&mut line);
        }
        let at = line.partition_point(|other| along(other) <= along(&span));
        line.insert(at, span);
    }
    spans.append(&mut line);
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, x: f32, y: f32) -> TextSpan {
        let mut span = TextSpan::new(text.to_owned(), x, y, 10.0, "Serif".to_owned());
        span.width = 5.0 * text.chars().count() as f32;
        span
    }

    #[test]
    fn pieces_of_a_line_are_words_by_their_gaps() {
        let pieces = vec![
            span("The", 0.0, 700.0),
            span("we", 18.0, 700.0),
            span("ir", 28.0, 700.0),
            span("2", 38.0, 704.0),
            span("leaked", 0.0, 688.0),
            span("leaked", 0.2, 688.0),
            span("column", 300.0, 700.0),
        ];
        assert_eq!(lines(pieces), ["The weir2", "leaked", "column"]);
    }

    #[test]
    fn lines_from_right_to_left_are_in_logical_order() {
        // The eye sees the first word at the right end.
        let pieces = vec![span("למנל םולש", 0.0, 700.0), span("TeX", 50.0, 700.0)];
        assert_eq!(lines(pieces), ["TeX שלום לנמל"]);
    }

    #[test]
    fn words_that_are_drawn_from_right_to_left_are_in_logical_order() {
        let pieces = vec![span("םולש", 100.0, 700.0), span("למנל", 75.0, 700.0)];
        assert_eq!(lines(pieces), ["שלום לנמל"]);
    }

    #[test]
    fn turned_text_is_read_from_its_first_line() {
        let turned = |text, x, y| TextSpan { direction: [0.0, 1.0], ..span(text, x, y) };
        let pieces = vec![turned("second", 120.0, 50.0), turned("first", 100.0, 50.0)];
        assert_eq!(lines(pieces), ["first", "second"]);
    }
}
