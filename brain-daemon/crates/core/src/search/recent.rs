//! Whether a question asks for what is new. Pure.

use brain_search::QuestionTerms;

/// Words that ask for what is new, in English and German.
const NEW: [&str; 18] = [
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

/// `last week`, `this month`, `letzte Woche`.
const LAST: [&str; 13] = [
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
const SPANS: [&str; 16] = [
    "day", "days", "week", "weeks", "month", "months", "year", "tage", "tagen", "woche", "wochen",
    "monat", "monate", "monaten", "jahr", "jahre",
];

/// The words of `asked` that ask for what is new.
pub(super) fn wants_new(asked: &QuestionTerms) -> Option<String> {
    let words: Vec<&str> = asked.words.iter().map(|word| word.text.as_str()).collect();
    if let Some(word) = words.iter().find(|word| NEW.contains(word)) {
        return Some((*word).to_owned());
    }
    words
        .windows(2)
        .find(|pair| LAST.contains(&pair[0]) && SPANS.contains(&pair[1]))
        .map(|pair| pair.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_search::{QuestionWord, each_word};

    #[test]
    fn time_words_ask_for_what_is_new() {
        let new = |text: &str| {
            let mut words = Vec::new();
            each_word(text, &mut |word| words.push(QuestionWord::new(word)));
            wants_new(&QuestionTerms { text: text.to_owned(), words, subjects: Vec::new() })
        };
        assert_eq!(new("latest notes about Acme").as_deref(), Some("latest"));
        assert_eq!(new("was war letzte Woche").as_deref(), Some("letzte woche"));
        assert_eq!(new("what is her last name"), None);
        assert_eq!(new("the week of wine"), None);
    }
}
