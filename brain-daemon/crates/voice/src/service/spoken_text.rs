//! Turns page text into spoken text: at most three plain sentences without markup and URLs. No I/O.

use pulldown_cmark::{Event, Options, Parser};

use super::phrases::Phrases;

/// Maximum number of sentences of a passage.
const MAX_SENTENCES: usize = 2;
/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 120;
/// Maximum length of a sentence of a passage, in characters.
const MAX_SENTENCE_CHARS: usize = 220;

/// Builds an answer from the title and passage of the best page.
pub(super) fn answer(title: &str, passage: &str, phrases: &Phrases) -> Vec<String> {
    let title = cut_at_word(&plain_text(title), MAX_TITLE_CHARS);
    let passage = plain_text(passage);
    // A passage from the beginning of a page repeats the title as a heading. If a lower-case letter
    // follows, the title is the beginning of a sentence.
    let is_after_heading =
        |rest: &&str| rest.trim_start().chars().next().is_none_or(|c| !c.is_lowercase());
    let rest = passage.strip_prefix(&title).filter(is_after_heading).unwrap_or(&passage);
    let mut spoken = vec![format!("{} {}", phrases.result_intro, with_full_stop(&title))];
    spoken.extend(
        sentences(rest)
            .take(MAX_SENTENCES)
            .map(|sentence| with_full_stop(&cut_at_word(sentence, MAX_SENTENCE_CHARS))),
    );
    spoken
}

/// Converts Markdown to one line of plain text.
fn plain_text(markdown: &str) -> String {
    // A heading is one line, so no list, quote or code block can begin in it.
    let line = format!("# {}", markdown.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut out = String::with_capacity(line.len());
    for event in Parser::new_ext(&line, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS) {
        match event {
            Event::Text(text) | Event::Code(text) => out.push_str(&text),
            Event::SoftBreak | Event::HardBreak | Event::InlineHtml(_) => out.push(' '),
            _ => {}
        }
    }
    let words = out
        .split_whitespace()
        .filter(|word| !is_url(word))
        // A passage may begin or end inside markup.
        .map(|word| {
            word.trim_matches(['#', '*', '|', '…', '`', '=', '~', '[', ']', '<', '>', '_', '^'])
        })
        .filter(|word| word.contains(char::is_alphanumeric));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether a word is a URL, possibly without a scheme: `https://…`, `www.…`,
/// `example.org/x`.
fn is_url(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let host = word.split_once('/').and_then(|(host, _)| host.rsplit_once('.'));
    let is_host = host.is_some_and(|(name, end)| {
        name.ends_with(char::is_alphanumeric)
            && end.len() > 1
            && end.bytes().all(|b| b.is_ascii_alphabetic())
    });
    word.contains("://") || word.starts_with("www.") || is_host
}

/// Splits a text into sentences with their final punctuation.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |pair: &[u8]| matches!(pair[0], b'.' | b'!' | b'?') && pair[1] == b' ';
    let mut from = 0;
    let mut ends: Vec<usize> = text
        .as_bytes()
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| is_end(pair))
        .map(|(at, _)| at + 1)
        .collect();
    ends.push(text.len());
    ends.into_iter().filter_map(move |to| {
        let sentence = text
            .get(from..to)?
            .trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | ':' | ','));
        from = to;
        sentence.contains(char::is_alphanumeric).then_some(sentence)
    })
}

/// Cuts a text to at most `max_chars` characters, after a whole word if there is one.
fn cut_at_word(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.into() };
    let cut = text.get(..end).unwrap_or_default();
    cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole).trim_end().into()
}

/// Adds a full stop if the sentence has no final punctuation, so that the voice pauses.
fn with_full_stop(sentence: &str) -> String {
    if sentence.ends_with(['.', '!', '?']) { sentence.into() } else { format!("{sentence}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_of(title: &str, passage: &str) -> Vec<String> {
        answer(title, passage, Phrases::of("en"))
    }

    #[test]
    fn answer_has_at_most_three_short_sentences() {
        assert_eq!(
            answer_of(
                "The boat",
                "…The boat is called Skua. It lies at pier 4! Is it blue? It is."
            ),
            ["I found this: The boat.", "The boat is called Skua.", "It lies at pier 4!"]
        );
        assert_eq!(
            answer_of("WiFi", "# WiFi The code is 1"),
            ["I found this: WiFi.", "The code is 1."]
        );
        assert_eq!(
            answer_of("WiFi", "version 2.5 has the code 1234"),
            ["I found this: WiFi.", "version 2.5 has the code 1234."]
        );
        let long = answer_of(&"word ".repeat(100), &"word ".repeat(1000));
        assert_eq!(long.len(), 2);
        assert!(
            long.iter().all(|sentence| sentence.chars().count() <= MAX_SENTENCE_CHARS + 20),
            "{long:?}"
        );
    }

    #[test]
    fn markup_and_urls_are_left_out() {
        assert_eq!(
            answer_of(
                "**Ann**",
                "# Ann - see [her page](https://a.example/x?y) and [[people/ann|Ann Lee]], \
                    https://b.example/z `code` <b>x</b> | cell |"
            ),
            ["I found this: Ann.", "Ann see her page and Ann Lee, code x cell."]
        );
        // A link is cut at each end of the passage.
        assert_eq!(
            answer_of("Pier", "…people/ann.md) lies at [pier 4](https://port.exam…"),
            ["I found this: Pier.", "people/ann.md) lies at pier."]
        );
        assert_eq!(
            answer_of(
                "Pier",
                "go to port.example/p4 or <https://a.example> or (www.b.example) and/or 1.5/2 m"
            ),
            ["I found this: Pier.", "go to or or and/or 1.5/2 m."]
        );
        assert_eq!(answer_of("Empty", ""), ["I found this: Empty."]);
        assert_eq!(answer_of("Empty", "--- *** ... !!! ?"), ["I found this: Empty."]);
    }
}
