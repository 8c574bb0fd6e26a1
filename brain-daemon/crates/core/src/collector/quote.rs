//! Quotes untrusted text of posts for pages, escaped by `page::single_line` and
//! `page::escape_inline`. No I/O.

use brain_page as page;

/// Returns `text` on one line, as [`page::single_line`], with decoded entities (`&amp;`, `&lt;`,
/// `&gt;`).
pub(super) fn plain(text: &str) -> String {
    page::single_line(&text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// Cuts `text` to `max` characters, with `…` if it was cut.
pub(super) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(max.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// Returns the first words of a post, at most `words` words and `max` characters. Omits URLs, and
/// accounts and repost mark at the start. May be empty. Not escaped.
pub(super) fn quote(text: &str, words: usize, max: usize) -> String {
    let text = plain(text);
    let mut remaining = text.split(' ').filter(|word| !word.contains("://")).peekable();
    while remaining.next_if(|word| *word == "RT" || word.starts_with('@')).is_some() {}
    let mut kept: Vec<&str> = remaining.by_ref().take(words).collect();
    let more = remaining.next().is_some();
    if kept.iter().all(|word| !word.contains(char::is_alphanumeric)) {
        kept.clear();
    }
    let quote = cut(&kept.join(" "), max);
    if more && !kept.is_empty() && !quote.ends_with('…') { format!("{quote}…") } else { quote }
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
    fn a_text_is_cut_to_characters() {
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
        for none in ["", "https://t.co/x", "@ann", "🎉 …", "\u{202e}"] {
            assert_eq!(quote(none, 8, 80), "", "{none}");
        }
        assert_eq!(quote(&"字".repeat(200), 8, 80).chars().count(), 80);
    }
}
