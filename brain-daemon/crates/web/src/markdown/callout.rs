//! Reads the marker of a callout: `> [!kind] Title`, as Obsidian writes it. No I/O.

use pulldown_cmark::BlockQuoteKind;

/// Maximum length of a kind, in bytes.
const MAX_KIND: usize = 20;

/// A quote with a kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Callout {
    /// The classes of its element.
    pub(crate) class: &'static str,
    /// The title as written, or the capitalised kind.
    pub(crate) title: String,
}

impl Callout {
    /// Returns the callout of a kind that GitHub supports.
    pub(crate) fn of(kind: BlockQuoteKind) -> Self {
        let name = match kind {
            BlockQuoteKind::Note => "Note",
            BlockQuoteKind::Tip => "Tip",
            BlockQuoteKind::Important => "Important",
            BlockQuoteKind::Warning => "Warning",
            BlockQuoteKind::Caution => "Caution",
        };
        Self { class: class(name), title: name.to_owned() }
    }

    /// Parses the first line of a quote, which begins with `>`. Returns the callout and the length
    /// of that line in bytes.
    pub(crate) fn parse(quote: &str) -> Option<(Self, usize)> {
        let line = quote.split('\n').next()?;
        let (kind, rest) = line
            .trim_start()
            .strip_prefix('>')?
            .trim_start()
            .strip_prefix("[!")?
            .split_once(']')?;
        let is_kind = |char: char| char.is_ascii_alphabetic() || char == '-';
        if kind.is_empty() || kind.len() > MAX_KIND || !kind.chars().all(is_kind) {
            return None;
        }
        // A sign after the marker makes the callout collapsible in Obsidian.
        let title = rest.strip_prefix(['-', '+']).unwrap_or(rest).trim();
        let title = if title.is_empty() { capitalised(kind) } else { title.to_owned() };
        Some((Self { class: class(kind), title }, line.len()))
    }
}

fn class(kind: &str) -> &'static str {
    match kind.to_ascii_lowercase().as_str() {
        "tip" | "hint" | "success" | "check" | "done" => "callout tip",
        "important" => "callout important",
        "warning" | "attention" | "question" | "help" | "faq" => "callout warning",
        "caution" | "danger" | "error" | "failure" | "fail" | "missing" | "bug" => {
            "callout caution"
        }
        _ => "callout note",
    }
}

fn capitalised(kind: &str) -> String {
    let mut kind = kind.to_ascii_lowercase();
    if let Some(first) = kind.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_have_a_kind_and_an_optional_title() {
        let parsed =
            |quote: &str| Callout::parse(quote).map(|(it, length)| (it.class, it.title, length));
        assert_eq!(parsed("> [!note]\n> x"), Some(("callout note", "Note".into(), 9)));
        assert_eq!(parsed(">[!BUG]- A <b>"), Some(("callout caution", "A <b>".into(), 14)));
        for quote in ["> [note]", "> text", "> [!a b] c", "> [!]", "> > [!note]", "[!note]"] {
            assert_eq!(parsed(quote), None, "{quote}");
        }
    }
}
