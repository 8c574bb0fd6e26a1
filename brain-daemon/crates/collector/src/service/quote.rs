//! Shortens untrusted text of posts to one line. No I/O.
//!
//! Callers that write the text into a page escape it with `page::escape_inline`.

use brain_page as page;

/// Decodes the entities `&amp;`, `&lt;` and `&gt;` in `text`, and puts it on one line by
/// [`page::single_line`].
pub(super) fn plain(text: &str) -> String {
    page::single_line(&text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// Cuts `text` to at most `max` characters, including the `…` at the cut.
pub(super) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => {
            let start: String = text.chars().take(max.saturating_sub(1)).collect();
            format!("{}…", start.trim_end())
        }
    }
}

/// Returns the first words of a post, at most `words` words and `max` characters, and a `…` if more
/// follow. Omits URLs, and accounts and `RT` at the start. Empty without letters or digits.
pub(super) fn quote(text: &str, words: usize, max: usize) -> String {
    let text = plain(text);
    let mut remaining = text.split(' ').filter(|word| !word.contains("://")).peekable();
    while remaining.next_if(|word| *word == "RT" || word.starts_with('@')).is_some() {}
    let mut first: Vec<&str> = remaining.by_ref().take(words).collect();
    let cut_off = remaining.next().is_some();
    if first.iter().all(|word| !word.contains(char::is_alphanumeric)) {
        first.clear();
    }
    let quote = cut(&first.join(" "), max);
    if cut_off && !first.is_empty() && !quote.ends_with('…') {
        format!("{quote}…")
    } else {
        quote
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_decoded() {
        assert_eq!(plain("R&amp;D &lt;3\n&amp;lt;"), "R&D <3 &lt;");
        assert_eq!(plain("&lt;b&gt;"), "<b>");
    }

    #[test]
    fn a_text_is_cut_by_characters_not_bytes() {
        assert_eq!(cut("größe", 5), "größe");
        assert_eq!(cut("größer", 5), "größ…");
        assert_eq!(cut("ab cd", 4), "ab…");
    }

    #[test]
    fn a_quote_has_the_first_words() {
        assert_eq!(
            quote("@a @b so I think that this is how we do it", 8, 80),
            "so I think that this is how we…"
        );
        assert_eq!(quote("RT @ann: hello there", 8, 80), "hello there");
        assert_eq!(quote("https://t.co/x look", 8, 80), "look");
        for wordless in ["", "https://t.co/x", "@ann", "🎉 …", "\u{202e}"] {
            assert_eq!(quote(wordless, 8, 80), "", "{wordless}");
        }
        assert_eq!(quote(&"字".repeat(200), 8, 80).chars().count(), 80);
    }
}
