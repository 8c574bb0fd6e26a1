//! Words that a question excludes in plain words: `trust without game`, `sqlite but not datasette`,
//! `graph, not canvas`. No I/O.

use std::ops::Range;

/// What a question wants, and what it excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwanted {
    /// The question without the excluded words.
    pub wanted: String,
    /// The words of it that say what is wanted.
    pub topic: Vec<String>,
    /// The excluded words or phrases.
    pub words: Vec<String>,
    /// Phrases with which the question excludes nothing. With the first one, it is a name: `life
    /// without principle`. The others, such as `without a password`, count in pages that have the
    /// wanted words, too: then they are what is sought.
    pub phrases: Vec<String>,
}

/// Words after which everything is excluded, also in whole sentences.
const CLEAR_MARKS: [&[&str]; 32] = [
    &["that", "does", "not", "mention"],
    &["that", "do", "not", "mention"],
    &["that", "doesn't", "mention"],
    &["that", "don't", "mention"],
    &["not", "mentioning"],
    &["qui", "ne", "mentionne", "pas"],
    &["que", "no", "menciona"],
    &["que", "no", "mencionan"],
    &["but", "not"],
    &["but", "no"],
    &["other", "than"],
    &["apart", "from"],
    &["and", "not"],
    &["but", "without"],
    &["except"],
    &["excluding"],
    &["aber", "nicht"],
    &["aber", "ohne"],
    &["aber", "kein"],
    &["aber", "keine"],
    &["aber", "keinen"],
    &["und", "nicht"],
    &["außer"],
    &["ausser"],
    &["mais", "pas"],
    &["mais", "sans"],
    &["sauf"],
    &["hormis"],
    &["pero", "no"],
    &["pero", "sin"],
    &["excepto"],
    &["salvo"],
];
/// Words after which something is excluded if the question is a list of words.
const MARKS: [&str; 4] = ["without", "ohne", "sans", "sin"];
/// Words that exclude after a comma.
const MARKS_AFTER_COMMA: [&str; 5] = ["not", "nicht", "kein", "pas", "no"];
/// Words of sentences: with one of them, `without` is part of what the question wants.
const SENTENCE_WORDS: [&str; 65] = [
    "how", "what", "why", "when", "who", "which", "where", "is", "are", "was", "were", "can",
    "could", "do", "does", "did", "to", "i", "you", "we", "they", "he", "she", "it", "my",
    "should", "will", "wie", "warum", "wann", "wer", "welche", "welcher", "welches", "wo", "ist",
    "sind", "kann", "man", "ich", "wir", "du", "mein", "comment", "pourquoi", "quand", "qui",
    "quel", "quelle", "où", "est", "sont", "peut", "je", "nous", "cómo", "por", "cuándo", "quién",
    "qué", "dónde", "es", "son", "puedo", "se",
];
/// Words before what is wanted.
const PREPOSITIONS: [&str; 9] = ["on", "of", "für", "zu", "sur", "de", "sobre", "des", "du"];
/// Words between excluded ones.
const CONJUNCTIONS: [&str; 9] = ["or", "and", "nor", "oder", "und", "ou", "et", "o", "y"];
/// Words before an excluded one that say nothing about it.
const FILLERS: [&str; 28] = [
    "the",
    "a",
    "an",
    "any",
    "mentioning",
    "about",
    "with",
    "in",
    "mit",
    "über",
    "avec",
    "con",
    "de",
    "der",
    "die",
    "das",
    "den",
    "dem",
    "le",
    "la",
    "les",
    "el",
    "los",
    "las",
    "un",
    "una",
    "une",
    "ein",
];
/// How texts go on after a word that excludes: `without a password`.
const FILLERS_AFTER_MARK: [(&str, &[&str]); 4] = [
    ("without", &["without", "without a", "without any", "without the"]),
    ("ohne", &["ohne", "ohne den", "ohne die", "ohne ein"]),
    ("sans", &["sans", "sans le", "sans la", "sans les"]),
    ("sin", &["sin", "sin el", "sin la", "sin los"]),
];
/// Words for pages. A sentence with one of them asks for pages, and can exclude some.
const PAGE_WORDS: [&str; 17] = [
    "notes",
    "note",
    "pages",
    "page",
    "entries",
    "articles",
    "posts",
    "notizen",
    "seiten",
    "einträge",
    "artikel",
    "beiträge",
    "fiches",
    "notas",
    "páginas",
    "entradas",
    "something",
];
/// Words for tags: a tag is no word of a text.
const TAG_WORDS: [&str; 6] = ["tag", "#", "schlagwort", "étiquette", "etiqueta", "label"];
/// Maximum words of what is wanted, without fillers and words for pages. A longer question is a
/// sentence in which the words mean something else: `git add all files except one`.
const MAX_TOPIC_WORDS: usize = 3;
/// Maximum words that are excluded together.
const MAX_WORDS: usize = 3;

/// Returns what the question excludes in plain words; `None` if it excludes nothing.
pub fn unwanted(question: &str) -> Option<Unwanted> {
    let words = Words::of(question);
    let (first, mark_end) = (1..words.all.len()).find_map(|at| Some((at, words.mark_at(at)?)))?;
    let is_clear = words.is_clear_mark(first);
    let is_question = question.trim_end().ends_with('?');
    let is_sentence =
        words.all[..first].iter().any(|it| SENTENCE_WORDS.contains(&it.text.as_str()));
    let asks_for_pages = words.all[..first].iter().any(|it| is_page_word(&it.text));
    let topic = words.topic_words(first);
    let is_long = topic.len() > MAX_TOPIC_WORDS;
    let is_other = match is_clear {
        true => (is_question || is_sentence) && !asks_for_pages,
        false => is_question || is_sentence,
    };
    if is_other || is_long || words.is_action(mark_end) {
        return None;
    }
    let rest = &words.all[mark_end..];
    let items: Vec<String> = rest
        .split(|word| CONJUNCTIONS.contains(&word.text.as_str()))
        .flat_map(|item| item.split_inclusive(|word| word.has_comma))
        .map(|item| {
            let names = item.iter().skip_while(|it| FILLERS.contains(&it.text.as_str()));
            names.map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
        })
        .filter(|item| !item.is_empty())
        .collect();
    let is_short = |item: &String| item.split(' ').count() <= MAX_WORDS;
    let is_tag = |item: &String| TAG_WORDS.iter().any(|word| item.starts_with(word));
    if items.is_empty() || !items.iter().all(is_short) || items.iter().any(is_tag) {
        return None;
    }
    let text = |from: usize| {
        let from = words.all[from].range.start;
        question[from..].trim_end_matches(['?', '!', '.']).trim().to_owned()
    };
    let mark = words.all[first].text.as_str();
    let fillers = FILLERS_AFTER_MARK.iter().filter(|(it, _)| *it == mark).flat_map(|(_, all)| *all);
    let with_mark =
        fillers.flat_map(|filler| items.iter().map(move |item| format!("{filler} {item}")));
    let with_mark: Vec<String> = with_mark.collect();
    let wanted = question[..words.all[first - 1].range.end].trim_end_matches(',').trim();
    Some(Unwanted {
        wanted: wanted.to_owned(),
        topic,
        words: items,
        phrases: [text(first - 1)].into_iter().chain(with_mark).collect(),
    })
}

/// Whether a word stands for pages: `notes`.
fn is_page_word(word: &str) -> bool {
    PAGE_WORDS.contains(&word)
}

/// A word in lower case, without punctuation.
struct Word {
    text: String,
    range: Range<usize>,
    /// Whether a comma or semicolon follows.
    has_comma: bool,
}

/// The words of a question.
struct Words {
    all: Vec<Word>,
}

impl Words {
    fn of(question: &str) -> Self {
        let mut all = Vec::new();
        for part in question.split_whitespace() {
            let start = part.as_ptr() as usize - question.as_ptr() as usize;
            let text = part.trim_matches(|c: char| !c.is_alphanumeric() && c != '+' && c != '#');
            if text.is_empty() {
                continue;
            }
            all.push(Word {
                text: text.to_lowercase(),
                range: start..start + part.len(),
                has_comma: part.ends_with([',', ';']),
            });
        }
        Self { all }
    }

    /// Returns the end of the words at `at` that exclude what follows.
    fn mark_at(&self, at: usize) -> Option<usize> {
        let word = self.all[at].text.as_str();
        if let Some(mark) = CLEAR_MARKS.iter().find(|mark| self.begins(at, mark)) {
            return Some(at + mark.len());
        }
        let is_after_comma = self.all[at - 1].has_comma && MARKS_AFTER_COMMA.contains(&word);
        (MARKS.contains(&word) || is_after_comma).then_some(at + 1)
    }

    /// Returns the words before `end` that say what is wanted.
    fn topic_words(&self, end: usize) -> Vec<String> {
        let is_topic = |word: &&Word| {
            let text = word.text.as_str();
            let is_other = FILLERS.contains(&text) || SENTENCE_WORDS.contains(&text);
            !is_other && !is_page_word(text) && !PREPOSITIONS.contains(&text)
        };
        self.all[..end].iter().filter(is_topic).map(|word| word.text.clone()).collect()
    }

    fn is_clear_mark(&self, at: usize) -> bool {
        CLEAR_MARKS.iter().any(|mark| self.begins(at, mark))
    }

    fn begins(&self, at: usize, mark: &[&str]) -> bool {
        let words = self.all[at..].iter().map(|word| word.text.as_str());
        words.take(mark.len()).eq(mark.iter().copied())
    }

    /// Whether the excluded words name an action: `without saving`, `ohne zu speichern`.
    fn is_action(&self, at: usize) -> bool {
        let word = self.all.get(at).map(|word| word.text.as_str());
        word.is_some_and(|word| (word.len() > 5 && word.ends_with("ing")) || word == "zu")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parts(question: &str) -> Option<(String, Vec<String>)> {
        unwanted(question).map(|found| (found.wanted, found.words))
    }

    #[test]
    fn questions_exclude_in_four_languages() {
        for (question, wanted, words) in [
            ("trust without game", "trust", &["game"][..]),
            ("sqlite but not datasette", "sqlite", &["datasette"]),
            ("graph, not canvas", "graph", &["canvas"]),
            ("notes about gardens without the tomatoes", "notes about gardens", &["tomatoes"]),
            ("python except django or flask", "python", &["django", "flask"]),
            (
                "which notes are about sqlite but not datasette?",
                "which notes are about sqlite",
                &["datasette"],
            ),
            ("Garten ohne Tomaten", "Garten", &["tomaten"]),
            ("Rezepte, aber nicht mit Fleisch", "Rezepte", &["fleisch"]),
            ("Vertrauen, nicht Spieltheorie", "Vertrauen", &["spieltheorie"]),
            ("recettes sans gluten", "recettes", &["gluten"]),
            ("something about tea that does not mention milk", "something about tea", &["milk"]),
            ("notes on tea without milk", "notes on tea", &["milk"]),
            ("jardin mais pas tomates", "jardin", &["tomates"]),
            ("jardin mais pas de tomates", "jardin", &["tomates"]),
            ("trust but no game", "trust", &["game"]),
            ("Garten, aber keine Tomaten", "Garten", &["tomaten"]),
            ("libros salvo novelas", "libros", &["novelas"]),
            ("python other than django", "python", &["django"]),
            ("huerto sin tomates", "huerto", &["tomates"]),
            ("bases de datos pero no sqlite", "bases de datos", &["sqlite"]),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(parts(question), Some((wanted.to_owned(), words)), "{question}");
        }
    }

    #[test]
    fn sentences_and_actions_exclude_nothing() {
        for question in [
            "how do I sync without icloud",
            "vim exit without saving",
            "not invented here",
            "without a trace",
            "why does git not work",
            "to be or not to be",
            "is it a bug, not a feature?",
            "why does the build work locally but not in CI?",
            "git add all files except one",
            "recipes without the tag meat",
            "Warum geht es ohne Strom nicht",
            "trust without",
            "notes without the long list of things that nobody wants",
            "",
        ] {
            assert_eq!(parts(question), None, "{question}");
        }
        let phrases = unwanted("ssh login without password").unwrap().phrases;
        assert_eq!(
            phrases[..3],
            ["login without password", "without password", "without a password"]
        );
    }
}
