//! Text that a document hides from its readers. It is in no page, and the report counts it.

/// Returns the reason for the report, or `None` if no words are hidden.
pub fn hidden_text(words: usize) -> Option<String> {
    let noun = if words == 1 { "word" } else { "words" };
    (words > 0).then(|| format!("text that it hides is left out: {words} {noun}"))
}

#[cfg(test)]
mod tests {
    use brain_page::count_words;

    use super::*;

    #[test]
    fn words_are_counted_without_signs() {
        assert_eq!(count_words(" one, \u{200c}\u{a0} – two\n3"), 3);
        assert_eq!(count_words("a -- b2\n* *"), 2);
        assert_eq!(hidden_text(0), None);
        assert_eq!(hidden_text(1).as_deref(), Some("text that it hides is left out: 1 word"));
    }
}
