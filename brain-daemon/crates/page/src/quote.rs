//! Quoted sentences: whether a page still has one. No I/O.
//!
//! Both texts are compared after one normalisation: NFC, each run of white space as one space,
//! curly quotes as straight ones, without soft hyphens and characters of no width. Nothing is
//! compared by likeness: a sentence that differs in a word is another sentence.

/// Number of words beside a quote that tell it from an equal text elsewhere.
const CONTEXT_WORDS: usize = 6;
/// Maximum length of a quote in bytes.
const MAX_SPAN: usize = 2_000;

/// A quoted sentence with the words around it, normalised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quote {
    /// The text.
    pub span: String,
    /// The words before it.
    pub before: String,
    /// The words after it.
    pub after: String,
    /// How often the text occurs.
    pub count: usize,
}

impl Quote {
    /// Quotes the sentence of `text` that begins at the byte `at`.
    #[must_use]
    pub fn of(text: &str, sentence: &str, at: usize) -> Self {
        let span = span_of(sentence);
        let places = places(text, &span);
        let place = places.iter().find(|place| place.at >= at).or(places.last());
        let Some(Place { before, after, .. }) = place.cloned() else {
            return Self { span, ..Self::default() };
        };
        Self { count: places.len(), span, before, after }
    }

    /// Returns whether `text` still has the quote as a whole sentence. One that occurred once and
    /// occurs once is the same. Otherwise the words before or after it decide.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let places = places(text, &self.span);
        if self.count <= 1 && places.len() == 1 {
            return true;
        }
        places.iter().any(|Place { before, after, .. }| {
            (*before == self.before && !before.is_empty())
                || (*after == self.after && !after.is_empty())
        })
    }
}

/// A place of a sentence in a text.
#[derive(Clone)]
struct Place {
    at: usize,
    before: String,
    after: String,
}

/// Returns the form of a sentence that is kept: normalised, and not too long.
fn span_of(sentence: &str) -> String {
    let mut span = normalize_quoted(sentence);
    span.truncate(span.floor_char_boundary(MAX_SPAN));
    span
}

fn places(text: &str, span: &str) -> Vec<Place> {
    let same = sentences(text).into_iter().filter(|(_, sentence)| span_of(sentence) == span);
    same.map(|(at, sentence)| {
        let (before, after) = (&text[..at], &text[at + sentence.len()..]);
        let mut before: Vec<&str> = before.split_whitespace().rev().take(CONTEXT_WORDS).collect();
        before.reverse();
        let after: Vec<&str> = after.split_whitespace().take(CONTEXT_WORDS).collect();
        let normal = |words: Vec<&str>| normalize_quoted(&words.join(" "));
        Place { at, before: normal(before), after: normal(after) }
    })
    .collect()
}

/// Returns the form in which texts are compared.
#[must_use]
pub fn normalize_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut has_space = false;
    for c in unicode_normalization::UnicodeNormalization::nfc(text) {
        let c = match c {
            '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{2032}' => '\'',
            '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{00AB}' | '\u{00BB}' | '\u{2033}' => '"',
            '\u{00AD}' | '\u{200B}' | '\u{200C}' | '\u{200D}' | '\u{2060}' | '\u{FEFF}' => continue,
            c if c.is_whitespace() => {
                has_space = !out.is_empty();
                continue;
            }
            c => c,
        };
        if std::mem::take(&mut has_space) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// Returns the sentences of a page with their places, in bytes. A line of a list is one.
#[must_use]
pub fn sentences(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    let mut push = |from: usize, to: usize| {
        let part = &text[from..to];
        let sentence = part.trim().trim_start_matches(['#', '>', '-', '*', '+']).trim();
        if sentence.chars().filter(|c| c.is_alphanumeric()).count() > 2 {
            let at = sentence.as_ptr() as usize - text.as_ptr() as usize;
            found.push((at, sentence));
        }
    };
    for (at, c) in text.char_indices() {
        let next = bytes.get(at + c.len_utf8()).copied();
        let ends = match c {
            '.' | '!' | '?' => next.is_none_or(|next| next.is_ascii_whitespace()),
            // A paragraph, or a line of a list, begins.
            '\n' => {
                let rest = text[at + 1..].trim_start_matches([' ', '\t']);
                rest.starts_with(['\n', '\r', '-', '*', '+', '#', '>', '|'])
            }
            _ => false,
        };
        if ends {
            push(start, at + c.len_utf8());
            start = at + c.len_utf8();
        }
    }
    push(start, text.len());
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ALPHA: &str = "Alpha cut fuel by twelve percent on all routes.";
    const BETA: &str = "Beta cut fuel by twelve percent on all routes.";

    #[test]
    fn a_deleted_sentence_is_not_found_in_a_similar_one() {
        let page = format!("# Fuel\n\n{ALPHA}\n\n{BETA}\n");
        let quote = Quote::of(&page, ALPHA, page.find(ALPHA).unwrap());
        assert!(quote.is_in(&page));
        assert!(!quote.is_in(&format!("# Fuel\n\n{BETA}\n")));
        assert!(!quote.is_in(&page.replace("Alpha cut fuel by twelve", "Alpha cut fuel by ten")));
    }

    #[test]
    fn a_part_of_another_sentence_is_not_the_sentence() {
        for (was, now) in [
            ("5 MB per page.", "15 MB per page."),
            ("The retention is 3", "The retention is 30 days"),
            ("The cost is 5.", "The cost is 5.3 million."),
            ("Always on.", "It is not true that it is always on."),
            ("The switch is on.", "Nobody said: The switch is on."),
        ] {
            let quote = Quote::of(was, was, 0);
            assert!(quote.is_in(&format!("First.\n\n{was}\n")), "{was}");
            assert!(!quote.is_in(&format!("{now}\n")), "{now}");
        }
    }

    #[test]
    fn another_form_or_place_of_the_sentence_is_the_same() {
        let text = "He said \"it\u{2019}s café\" on all routes.";
        let page = format!("# One\n\n{text}\n\n# Two\n\nrest\n");
        let quote = Quote::of(&page, text, 7);
        for other in [
            "# One\r\n\r\nHe said\r\n\u{201C}it's caf\u{e9}\u{201D} on\r\nall routes.\r\n",
            "# Two\n\nrest\n\n# One\n\nHe said \"it's cafe\u{301}\" on   all rou\u{ad}tes.\n",
        ] {
            assert!(quote.is_in(other), "{other}");
        }
    }

    #[test]
    fn of_several_equal_sentences_the_words_around_decide() {
        let page = "North. It is done. Then lunch came.\n\nSouth. It is done. The rest waits.\n";
        let quote = Quote::of(page, "It is done.", page.rfind("It is").unwrap());
        assert_eq!((quote.count, quote.after.as_str()), (2, "The rest waits."));
        assert!(quote.is_in(page));
        // The quoted one went; the other one stays.
        assert!(!quote.is_in("North. It is done. Then lunch came.\n"));
        assert!(quote.is_in("South. It is done. The rest waits.\n"));
        let more = format!("{page}\nWest. It is done. Nobody came.\n");
        assert!(quote.is_in(&more));
        assert!(!quote.is_in(&more.replace("South. It is done. The rest waits.", "")));
    }

    #[test]
    fn a_page_is_split_into_sentences() {
        let text = "# Head\n\nOne is\nhere. Two is 3.5 m. Three?\n- item one\n- item two\n";
        let found: Vec<&str> = sentences(text).into_iter().map(|(_, it)| it).collect();
        assert_eq!(
            found,
            ["Head", "One is\nhere.", "Two is 3.5 m.", "Three?", "item one", "item two"]
        );
        assert!(sentences(text).iter().all(|(at, it)| text[*at..].starts_with(it)));
    }
}
