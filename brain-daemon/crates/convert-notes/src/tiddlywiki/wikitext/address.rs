//! Addresses of the web in wikitext.

/// Schemes of addresses (`extlink.js`, `TiddlyWiki` 5.4.1), without `data` and `file`.
const SCHEMES: [&str; 7] = ["https:", "http:", "mailto:", "ftp:", "irc:", "news:", "skype:"];

/// Returns the length of the address at the beginning, or 0.
pub(super) fn address(text: &str) -> usize {
    let Some(scheme) = SCHEMES.iter().find(|scheme| text.starts_with(**scheme)) else { return 0 };
    let ends = |c: char| c.is_whitespace() || "<>{}[]`|\"\\^".contains(c);
    let end = text.find(ends).unwrap_or(text.len());
    let is_last = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/';
    let shown = text.get(..end).unwrap_or_default();
    let length = shown.trim_end_matches(|c| !is_last(c)).len();
    if length > scheme.len() { length } else { 0 }
}
