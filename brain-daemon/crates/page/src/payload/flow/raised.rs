//! Raised and lowered text, fractions and formulas in an HTML flow. None of them ever joins the
//! text before it: `10<sup>3</sup>` is not 103.

use super::super::parts::Inline;
use super::{Flow, Gap};

/// A raised or lowered text with more bytes is prose in small print.
const MAX_RAISED: usize = 80;
/// The signs that have a raised and a lowered form, with these forms.
const SIGNS: [(char, char, char); 16] = [
    ('0', '⁰', '₀'),
    ('1', '¹', '₁'),
    ('2', '²', '₂'),
    ('3', '³', '₃'),
    ('4', '⁴', '₄'),
    ('5', '⁵', '₅'),
    ('6', '⁶', '₆'),
    ('7', '⁷', '₇'),
    ('8', '⁸', '₈'),
    ('9', '⁹', '₉'),
    ('+', '⁺', '₊'),
    ('-', '⁻', '₋'),
    ('\u{2212}', '⁻', '₋'),
    ('=', '⁼', '₌'),
    ('(', '⁽', '₍'),
    (')', '⁾', '₎'),
];
/// Endings of ordinal numbers: English, French, Dutch, Italian, Portuguese, Spanish.
const ORDINALS: &str = " st nd rd th er re ere ère ers res e es eme ème ieme ième nde de ste te ro \
                        ra do da to ta mo ma vo va no na os as ";
/// Signs that stand raised after a word without a meaning of their own for it.
const MARKS: &str = "*†‡§¶®©™℠°′″'\"’”,.;:–—";

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::payload) enum RaisedPosition {
    /// `<sup>`.
    Raised,
    /// `<sub>`.
    Lowered,
}

/// How a raised or lowered text is written.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::payload) enum RaisedForm {
    /// In place: it cannot join the text before it.
    Plain(String),
    /// After a sign that says its position: `^x`, `_(i+1)`.
    Signed(String),
}

/// Returns the form of a text that follows `before`: digits and signs have one in Unicode, endings
/// of ordinal numbers and marks of footnotes stay, and all else gets `^` or `_`.
pub(in crate::payload) fn form(
    text: &str,
    before: Option<char>,
    position: RaisedPosition,
) -> RaisedForm {
    let is_raised = position == RaisedPosition::Raised;
    let unicode = |c: char| {
        let (_, raised, lowered) = SIGNS.iter().find(|(sign, ..)| *sign == c)?;
        Some(if is_raised { *raised } else { *lowered })
    };
    if let Some(text) = text.chars().map(unicode).collect() {
        return RaisedForm::Plain(text);
    }
    if is_raised {
        match (before.is_some_and(char::is_numeric), text) {
            (true, "o") => return RaisedForm::Plain("º".into()),
            (true, "a") => return RaisedForm::Plain("ª".into()),
            (_, "TM") => return RaisedForm::Plain("™".into()),
            (_, "SM") => return RaisedForm::Plain("℠".into()),
            (true, ending) if ORDINALS.contains(&format!(" {} ", ending.to_lowercase())) => {
                return RaisedForm::Plain(ending.into());
            }
            _ => {}
        }
    }
    let is_mark = text.starts_with('[') && text.ends_with(']');
    if is_mark || text.chars().all(|c| MARKS.contains(c) || c.is_whitespace()) {
        return RaisedForm::Plain(text.into());
    }
    let sign = if is_raised { '^' } else { '_' };
    let is_closed = text.starts_with('(') && text.find(')') == Some(text.len() - 1);
    RaisedForm::Signed(
        match is_closed || text.chars().all(|c| c.is_alphabetic() || c.is_ascii_digit()) {
            true => format!("{sign}{text}"),
            false => format!("{sign}({text})"),
        },
    )
}

/// Returns a raised or lowered text in a form that joins neither text beside it: `⁶`, `st`,
/// `^(n+1)`. `before` and `after` are the characters beside it, unless these are blanks.
#[must_use]
pub fn raised_text(
    text: &str,
    before: Option<char>,
    after: Option<char>,
    is_raised: bool,
) -> String {
    if text.len() > MAX_RAISED {
        return format!(" {text} ");
    }
    let position = if is_raised { RaisedPosition::Raised } else { RaisedPosition::Lowered };
    match form(text, before, position) {
        RaisedForm::Signed(text) if after.is_some_and(char::is_alphanumeric) => text + " ",
        RaisedForm::Plain(text) | RaisedForm::Signed(text) => text,
    }
}

impl Flow {
    /// Writes a raised or lowered text, as a link if it has an address.
    pub(in crate::payload) fn raise(
        &mut self,
        text: &str,
        position: RaisedPosition,
        address: Option<String>,
    ) {
        let has_space_before = text.starts_with(char::is_whitespace);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        self.has_space |= has_space_before && !self.in_code();
        if text.len() > MAX_RAISED {
            self.gap(Gap::Words);
            self.text(&text);
            return self.gap(Gap::Words);
        }
        if position == RaisedPosition::Lowered && address.is_none() && self.fraction(&text) {
            return;
        }
        let is_link = address.is_some();
        if let Some(address) = address {
            self.open(Inline::Link(address));
        }
        let before = self.last.filter(|_| !self.has_space);
        // At the beginning of a link, `^` would make a footnote of it.
        let begins_link = self
            .inline
            .iter()
            .skip(self.written_inline)
            .any(|inline| matches!(inline, Inline::Link(_)));
        let before = before.filter(|_| !begins_link);
        match form(&text, before, position) {
            RaisedForm::Plain(text) => self.text(&text),
            RaisedForm::Signed(_) if begins_link => self.text(&format!("[{text}]")),
            RaisedForm::Signed(text) => {
                self.text(&text);
                self.gap(Gap::Words);
            }
        }
        if is_link {
            self.close(&Inline::Link(String::new()));
        }
    }

    /// Writes the raised number and the bar at the end of the text, and the lowered number `below`,
    /// as a fraction. Returns whether they are one.
    fn fraction(&mut self, below: &str) -> bool {
        let is_number = !below.is_empty() && below.bytes().all(|b| b.is_ascii_digit());
        if !is_number || self.has_space || self.leaf.is_none() {
            return false;
        }
        let digit = |c: char| SIGNS[..10].iter().find(|(_, raised, _)| *raised == c);
        let Some(head) = self.out.strip_suffix(['/', '⁄']) else { return false };
        let whole = head.trim_end_matches(|c| digit(c).is_some());
        let above: String = head[whole.len()..].chars().filter_map(digit).map(|d| d.0).collect();
        if above.is_empty() {
            return false;
        }
        let gap = if whole.ends_with(char::is_alphanumeric) { " " } else { "" };
        let length = whole.len();
        self.out.truncate(length);
        self.out.push_str(&format!("{gap}{above}/{below}"));
        self.last = below.chars().next_back();
        self.gap(Gap::Words);
        true
    }

    /// Writes a formula in TeX. A `display` formula has a line of its own, where that is possible.
    pub(in crate::payload) fn formula(&mut self, tex: &str, is_display: bool) {
        if self.in_code() {
            return self.text(tex);
        }
        let is_block = is_display && !self.in_cell() && !self.in_heading();
        if is_block {
            self.boundary();
        }
        self.gap(Gap::Words);
        self.raw(&if is_block { format!("$${tex}$$") } else { format!("${tex}$") });
        self.gap(Gap::Words);
        if is_block {
            self.boundary();
        }
    }

    /// Writes markdown that the converter does not change. It counts as a word.
    fn raw(&mut self, markdown: &str) {
        self.begin_run('x');
        self.write_raw(markdown);
        self.last = Some('x');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_joins_the_text_before_it() {
        for (before, text, raised, lowered) in [
            (Some('0'), "3", "³", "₃"),
            (Some('e'), "-2", "⁻²", "₋₂"),
            (Some('x'), "n+1", "^(n+1)", "_(n+1)"),
            (Some('x'), "n", "^n", "_n"),
            (Some('2'), "n", "^n", "_n"),
            (Some('x'), "(n)", "^(n)", "_(n)"),
            (Some('x'), "(a)(b)", "^((a)(b))", "_((a)(b))"),
            (Some('1'), "st", "st", "_st"),
            (Some('1'), "ère", "ère", "_ère"),
            (Some('x'), "th", "^th", "_th"),
            (Some('2'), "o", "º", "_o"),
            (Some('d'), "[2]", "[2]", "[2]"),
            (Some('d'), "*", "*", "*"),
            (Some('d'), "TM", "™", "_TM"),
        ] {
            let text_of = |form| match form {
                RaisedForm::Plain(text) | RaisedForm::Signed(text) => text,
            };
            assert_eq!(text_of(form(text, before, RaisedPosition::Raised)), raised, "{text}");
            assert_eq!(text_of(form(text, before, RaisedPosition::Lowered)), lowered, "{text}");
        }
    }
}
