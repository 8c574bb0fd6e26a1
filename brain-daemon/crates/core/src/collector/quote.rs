//! Quotes untrusted text of posts for pages, escaped by `page::single_line` and
//! `page::escape_inline`. No I/O.

use brain_page as page;

/// Returns `text` on one line, as [`page::single_line`], with decoded entities (`&amp;`, `&lt;`,
/// `&gt;`).
pub(super) fn plain(text: &str) -> String {
    page::single_line(&text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// Cuts `text` to `max` characters, with `…` if it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// Returns the first `words` words of a post without leading accounts, repost mark and URLs. May be
/// empty. Not escaped.
pub(super) fn quote(text: &str, words: usize, most: usize) -> String {
    let text = plain(text);
    let mut said = text.split(' ').filter(|word| !word.contains("://")).peekable();
    while said.next_if(|word| *word == "RT" || word.starts_with('@')).is_some() {}
    let mut kept: Vec<&str> = said.by_ref().take(words).collect();
    let more = said.next().is_some();
    if kept.iter().all(|word| !word.contains(char::is_alphanumeric)) {
        kept.clear();
    }
    let quote = cut(&kept.join(" "), most);
    if more && !kept.is_empty() && !quote.ends_with('…') { format!("{quote}…") } else { quote }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_platform_writes_as_entities_is_what_it_stands_for() {
        assert_eq!(plain("R&amp;D &lt;3\n&amp;lt;"), "R&D <3 &lt;");
        assert_eq!(plain("&lt;b&gt;"), "<b>");
    }

    #[test]
    fn a_text_is_cut_by_characters() {
        assert_eq!(cut("größe", 5), "größe");
        assert_eq!(cut("größer", 5), "größ…");
        assert_eq!(cut("ab cd", 4), "ab…");
    }

    #[test]
    fn a_quote_is_what_somebody_says() {
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
