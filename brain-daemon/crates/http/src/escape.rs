//! Escapes text for HTML pages.

/// Escapes text for an element or a quoted attribute.
///
/// Characters that change the text direction become visible. Joiners stay, since languages need
/// them.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => out.push('\u{FFFD}'),
            '\n' | '\t' => out.push(char),
            char if char.is_control() => out.push('\u{FFFD}'),
            char => out.push(char),
        }
    }
    out
}

/// Escapes a name that the reader has to trust. All invisible characters become visible, so that
/// no name looks like another one.
pub(super) fn name(name: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{61C}' | '\u{FEFF}')
    };
    let seen: String = name.chars().map(|c| if hidden(c) { '\u{FFFD}' } else { c }).collect();
    text(&seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_names_hide_nothing() {
        let given = "<a b='c' d=\"e\">&\u{202e}\u{0}\n👩\u{200d}💻";
        let begins = "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\u{fffd}\u{fffd}";
        assert_eq!(text(given), format!("{begins}\n👩\u{200d}💻"));
        assert_eq!(name(given), format!("{begins}\u{fffd}👩\u{fffd}💻"));
    }
}
