//! Detects whether a question asks for recent pages. No I/O.

use brain_search::QuestionTerms;

/// Words that ask for recent pages, in English and German.
const RECENT: [&str; 18] = [
    "latest",
    "newest",
    "recent",
    "recently",
    "today",
    "yesterday",
    "lately",
    "neueste",
    "neuesten",
    "neuester",
    "neuestes",
    "neulich",
    "kurzlich",
    "heute",
    "gestern",
    "letztens",
    "jungst",
    "jungste",
];

/// First words of a time span: `last week`, `this month`, `letzte Woche`.
const SPAN_PREFIXES: [&str; 13] = [
    "last",
    "this",
    "past",
    "letzte",
    "letzter",
    "letztes",
    "letzten",
    "diese",
    "dieser",
    "dieses",
    "diesen",
    "vergangene",
    "vergangenen",
];
/// Second words of a time span.
const SPANS: [&str; 16] = [
    "day", "days", "week", "weeks", "month", "months", "year", "tage", "tagen", "woche", "wochen",
    "monat", "monate", "monaten", "jahr", "jahre",
];

/// Returns the words of a question that ask for recent pages.
pub(super) fn recency_word(terms: &QuestionTerms) -> Option<String> {
    let words: Vec<&str> = terms.words.iter().map(|word| word.text.as_str()).collect();
    if let Some(word) = words.iter().find(|word| RECENT.contains(word)) {
        return Some((*word).to_owned());
    }
    words
        .windows(2)
        .find(|pair| SPAN_PREFIXES.contains(&pair[0]) && SPANS.contains(&pair[1]))
        .map(|pair| pair.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_search::{QuestionWord, each_word};

    #[test]
    fn time_words_ask_for_recent_pages() {
        let recency = |text: &str| {
            let mut words = Vec::new();
            each_word(text, &mut |word| words.push(QuestionWord::new(word)));
            recency_word(&QuestionTerms { text: text.to_owned(), words, subjects: Vec::new() })
        };
        assert_eq!(recency("latest notes about Acme").as_deref(), Some("latest"));
        assert_eq!(recency("was war letzte Woche").as_deref(), Some("letzte woche"));
        assert_eq!(recency("what is her last name"), None);
        assert_eq!(recency("the week of wine"), None);
    }
}
