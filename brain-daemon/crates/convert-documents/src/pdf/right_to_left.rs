//! Text of scripts from right to left: what programs draw differently, in one form.
//!
//! A page has such text in the order of the eye. Three things are otherwise: vowel points are pieces
//! of their own beside the line, LuaTeX draws several letters as one piece from right to left, and
//! LibreOffice names a bracket as it was typed, not as it looks.

use unicode_normalization::char::is_combining_mark;
use unpdf::parser::TextSpan;
use unpdf::parser::backend::DecodedRun;
use unpdf::parser::bidi::{contains_rtl, reorder_bidi};

/// The mark for the direction from right to left.
const MARK: char = '\u{200f}';
/// A piece that is narrower than this part of its font size was drawn backwards.
const NO_WIDTH: f32 = 0.05;
/// The usual width of a letter, as a part of the font size.
const LETTER: f32 = 0.35;
/// A vowel point is at most this part of the font size beside its piece.
const BESIDE: f32 = 0.3;
/// Brackets, and their counterparts.
const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// Puts the letters of a glyph that stands for several into the order of the eye, as all others are.
/// A font has one for lam and alef; else the word would end in "alef and lam".
pub(super) fn turn_ligatures(mut run: DecodedRun) -> DecodedRun {
    for cluster in run.clusters.iter().flatten() {
        let Some(text) = run.decoded.text.get(cluster.text.clone()) else { continue };
        if text.chars().count() > 1 && text.chars().all(is_letter) {
            let turned: String = text.chars().rev().collect();
            run.decoded.text.replace_range(cluster.text.clone(), &turned);
        }
    }
    run
}

fn is_letter(c: char) -> bool {
    contains_rtl(c.encode_utf8(&mut [0; 4]))
}

/// Brings pieces into the order of the eye, and vowel points into the pieces of their letters.
pub(super) fn prepared(spans: Vec<TextSpan>) -> Vec<TextSpan> {
    if !spans.iter().any(|span| contains_rtl(&span.text)) {
        return spans;
    }
    let (points, mut spans): (Vec<_>, Vec<_>) =
        spans.into_iter().enumerate().partition(|(_, span)| is_points(span));
    for (_, span) in &mut spans {
        turn_backward_piece(span);
    }
    for (at, point) in points {
        let next = spans.partition_point(|(index, _)| *index < at);
        let beside = next.saturating_sub(1)..(next + 1).min(spans.len());
        let nearest = spans[beside]
            .iter_mut()
            .filter(|(_, span)| contains_rtl(&span.text))
            .min_by(|(_, a), (_, b)| distance(a, &point).total_cmp(&distance(b, &point)));
        if let Some((_, span)) = nearest
            && distance(span, &point) < BESIDE * span.font_size
            && (span.y - point.y).abs() < span.font_size
        {
            add_point(span, &point);
        }
    }
    spans.into_iter().map(|(_, span)| span).collect()
}

/// Returns whether a piece has only vowel points.
fn is_points(span: &TextSpan) -> bool {
    contains_rtl(&span.text) && span.text.chars().all(is_combining_mark)
}

/// Turns a piece that was drawn from right to left, and gives it about the width that it has.
fn turn_backward_piece(span: &mut TextSpan) {
    let letters = span.text.chars().filter(|c| !is_combining_mark(*c)).count();
    if letters < 2 || span.width > NO_WIDTH * span.font_size || !span.text.chars().all(is_letter) {
        return;
    }
    span.text = span.text.chars().rev().collect();
    // It begins with its first letter, and the others are to the left of that.
    let letter = LETTER * span.font_size;
    span.x -= letter * (letters - 1) as f32;
    span.width = letter * letters as f32;
}

/// Returns how far a vowel point is beside the letters of a piece.
fn distance(span: &TextSpan, point: &TextSpan) -> f32 {
    let count = |text: &str| text.chars().count() as f32;
    let character = span.width / count(&span.text).max(1.0);
    let left = span.x + character * (count(&span.text) - count(span.text.trim_start()));
    let right = left + character * count(span.text.trim());
    (left - point.x).max(point.x - right).max(0.0)
}

/// Adds a vowel point before the letter below which it stands; in the order of reading, it follows.
fn add_point(span: &mut TextSpan, point: &TextSpan) {
    let letters: Vec<usize> = span
        .text
        .char_indices()
        .filter(|(_, c)| !is_combining_mark(*c))
        .map(|(index, _)| index)
        .collect();
    let part = (point.x - span.x) / span.width.max(f32::EPSILON);
    let index = (part.max(0.0) * letters.len() as f32) as usize;
    if let Some(at) = letters.get(index.min(letters.len().saturating_sub(1))) {
        let points: String = point.text.chars().rev().collect();
        span.text.insert_str(*at, &points);
    }
}

/// Returns whether more characters of a page are of a script from right to left than not.
pub(super) fn is_page(spans: &[TextSpan]) -> bool {
    let of = |is_counted: fn(&TextSpan) -> bool| -> usize {
        spans.iter().filter(|span| is_counted(span)).map(|span| span.text.chars().count()).sum()
    };
    of(|span| contains_rtl(&span.text)) > of(|span| !contains_rtl(&span.text))
}

/// Returns a line in the order of reading. A page has it in the order of the eye.
pub(super) fn logical(line: &str, is_right_to_left_page: bool) -> String {
    match (contains_rtl(line), is_right_to_left_page) {
        (false, _) => line.to_owned(),
        (true, false) => reorder_bidi(line),
        // A mark at the beginning decides the direction of the line.
        (true, true) => reorder_bidi(&format!("{MARK}{line}")).replace(MARK, ""),
    }
}

/// Turns the brackets of a page, if most of its pairs would begin with the closing one.
pub(super) fn turn_brackets(lines: &mut [String]) {
    let pairs = |turn: fn(char) -> char| -> usize {
        lines.iter().filter(|line| contains_rtl(line)).map(|line| pairs(line, turn)).sum()
    };
    if pairs(other_bracket) > pairs(std::convert::identity) {
        for line in lines.iter_mut().filter(|line| contains_rtl(line)) {
            *line = line.chars().map(other_bracket).collect();
        }
    }
}

/// Returns the number of pairs of brackets of a line.
fn pairs(line: &str, turn: fn(char) -> char) -> usize {
    let mut open = Vec::new();
    let mut count = 0;
    for c in line.chars().map(turn) {
        if BRACKETS.iter().any(|(first, _)| *first == c) {
            open.push(c);
        } else if open.last().is_some_and(|first| BRACKETS.contains(&(*first, c))) {
            open.pop();
            count += 1;
        }
    }
    count
}

fn other_bracket(c: char) -> char {
    let of = |(open, close)| match c {
        c if c == open => Some(close),
        c if c == close => Some(open),
        _ => None,
    };
    BRACKETS.into_iter().find_map(of).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, x: f32, y: f32, width: f32) -> TextSpan {
        let mut span = TextSpan::new(text.to_owned(), x, y, 10.0, "Serif".to_owned());
        span.width = width;
        span
    }

    fn text(spans: Vec<TextSpan>) -> String {
        prepared(spans).iter().map(|span| logical(&span.text, true)).collect()
    }

    #[test]
    fn a_vowel_point_follows_its_letter() {
        // Drawn before the letter and after it; the eye sees the last letter at the left.
        let word = || span("ارکش ", 100.0, 700.0, 25.0);
        let point = || span("\u{64b}", 99.0, 702.0, 0.0);
        for spans in [vec![point(), word()], vec![word(), point()]] {
            assert_eq!(text(spans), " شکرا\u{64b}");
        }
        let inner = span("\u{651}", 112.0, 698.0, 0.0);
        assert_eq!(text(vec![word(), inner]), " شک\u{651}را");
        // Above the blank it belongs to the next word.
        let spans = vec![word(), span("\u{651}", 124.0, 698.0, 0.0), span("دا", 125.0, 700.0, 9.0)];
        assert_eq!(text(spans), " شکرااد\u{651}");
    }

    #[test]
    fn a_vowel_point_far_from_any_letter_is_left_out() {
        let spans = vec![span("ابا", 100.0, 700.0, 15.0), span("\u{64b}", 300.0, 700.0, 0.0)];
        assert_eq!(text(spans), "ابا");
    }

    #[test]
    fn letters_that_were_drawn_backwards_are_in_order() {
        let pieces = prepared(vec![span("ذا", 100.0, 700.0, 0.0)]);
        assert_eq!(logical(&pieces[0].text, true), "ذا");
        assert_eq!((pieces[0].x, pieces[0].width), (96.5, 7.0));
        // A narrow letter and western text stay.
        assert_eq!(text(vec![span("ا", 1.0, 2.0, 0.0)]), "ا");
    }

    #[test]
    fn brackets_are_turned_where_they_are_as_typed() {
        for (lines, expected) in [
            (vec![")مرحبا( أهلا", "f(x)"], vec!["(مرحبا) أهلا", "f(x)"]),
            (vec!["(مرحبا) أهلا", "قال) هنا ("], vec!["(مرحبا) أهلا", "قال) هنا ("]),
        ] {
            let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            turn_brackets(&mut lines);
            assert_eq!(lines, expected);
        }
    }
}
