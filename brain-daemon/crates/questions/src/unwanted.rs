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
const CLEAR_MARKS: &[&str] = &[
    "that does not mention",
    "that do not mention",
    "that doesn't mention",
    "that don't mention",
    "that does not contain",
    "that do not contain",
    "that doesn't contain",
    "that don't contain",
    "that doesn't involve",
    "that don't involve",
    "not mentioning",
    "not including",
    "but not",
    "but no",
    "but nothing about",
    "but nothing on",
    "but without",
    "and not",
    "and nothing about",
    "other than",
    "apart from",
    "except",
    "excluding",
    "leaving out",
    "with nothing about",
    "aber nicht",
    "aber ohne",
    "aber kein",
    "aber keine",
    "aber keinen",
    "aber bitte kein",
    "aber bitte keine",
    "aber bitte keinen",
    "aber nichts über",
    "jedoch nicht",
    "jedoch ohne",
    "und nicht",
    "nicht aber",
    "in denen kein",
    "in denen keine",
    "abgesehen von",
    "mit ausnahme von",
    "ausgenommen",
    "außer",
    "ausser",
    "qui ne mentionne pas",
    "qui ne mentionnent pas",
    "qui ne parle pas",
    "qui ne parlent pas",
    "mais pas",
    "mais sans",
    "mais rien sur",
    "et pas",
    "et non",
    "à part",
    "à l'exception",
    "excepté",
    "sauf",
    "hormis",
    "que no menciona",
    "que no mencionan",
    "que no mencione",
    "que no mencionen",
    "que no sea",
    "que no sean",
    "que no contenga",
    "que no contengan",
    "pero no",
    "pero sin",
    "pero nada de",
    "y no",
    "excluyendo",
    "a excepción",
    "excepto",
    "salvo",
];
/// Words after which something is excluded if the question is a list of words.
const MARKS: &[&str] =
    &["without", "w/o", "with no", "minus", "ohne", "bis auf", "sans", "sin", "menos"];
/// Words that exclude after a comma or a bracket.
const MARKS_AFTER_COMMA: &[&str] = &[
    "not",
    "no",
    "nothing about",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "nichts über",
    "pas",
    "non",
    "rien sur",
    "nada de",
];
/// Words after a mark with which it excludes nothing: `not only`, `last but not least`.
const PHRASES_AFTER_MARK: &[&str] = &[
    "only",
    "just",
    "least",
    "to",
    "yet",
    "nur",
    "bloß",
    "zuletzt",
    "seulement",
    "solo",
    "sólo",
    "solamente",
];
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
const PREPOSITIONS: &[&str] = &[
    "on", "of", "by", "from", "für", "zu", "von", "sur", "de", "par", "sobre", "des", "du", "por",
];
/// Words for having pages: `what do I have on tea`.
const HAVE_WORDS: &[&str] =
    &["have", "got", "written", "habe", "hab", "haben", "ai", "avons", "tengo", "tenemos"];
/// Words before what pages are about.
const ABOUT_WORDS: &[&str] = &["on", "about", "über", "zu", "zum", "zur", "sur", "sobre", "acerca"];
/// Words that ask how or why: what follows is no list of pages.
const HOW_WORDS: &[&str] = &["how", "why", "wie", "warum", "comment", "pourquoi", "cómo", "por"];
/// Words between excluded ones.
const CONJUNCTIONS: [&str; 9] = ["or", "and", "nor", "oder", "und", "ou", "et", "o", "y"];
/// Words before an excluded one that say nothing about it.
const FILLERS: &[&str] = &[
    "the",
    "a",
    "an",
    "any",
    "anything",
    "mentioning",
    "using",
    "about",
    "with",
    "in",
    "for",
    "mit",
    "über",
    "von",
    "avec",
    "con",
    "de",
    "du",
    "des",
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
/// Words after an excluded one that say nothing about it.
const POLITE_WORDS: &[&str] = &["please", "thanks", "bitte", "danke", "svp", "merci", "gracias"];
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
    if words.all.get(mark_end).is_some_and(|it| PHRASES_AFTER_MARK.contains(&it.text.as_str())) {
        return None;
    }
    let is_clear = words.find(first, CLEAR_MARKS).is_some();
    let is_question = question.trim_end().ends_with('?');
    let is_sentence =
        words.all[..first].iter().any(|it| SENTENCE_WORDS.contains(&it.text.as_str()));
    let names_pages = words.all[..first].iter().any(|it| is_page_word(&it.text));
    let asks_for_pages = (is_clear && names_pages) || words.ask_what_there_is(first);
    let topic = words.topic_words(first);
    let is_long = topic.len() > MAX_TOPIC_WORDS;
    let is_other = (is_question || is_sentence) && !asks_for_pages;
    if is_other || is_long || words.is_action(mark_end) {
        return None;
    }
    let rest = &words.all[mark_end..];
    let items: Vec<String> = rest
        .split(|word| CONJUNCTIONS.contains(&word.text.as_str()))
        .flat_map(|item| item.split_inclusive(|word| word.has_comma))
        .map(|item| {
            let item: Vec<&str> = item.iter().map(|word| word.text.as_str()).collect();
            let is_before = |it: &&&str| {
                [FILLERS, MARKS, MARKS_AFTER_COMMA].iter().any(|words| words.contains(*it))
            };
            let begin = item.iter().take_while(is_before).count();
            let after = item.iter().rev().take_while(|it| POLITE_WORDS.contains(*it)).count();
            item[begin..(item.len() - after).max(begin)].join(" ")
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
    // In a list of words, the first one alone may belong to the mark: `compost sans odeur paille`.
    let firsts = items.iter().filter_map(|item| Some(item.split_once(' ')?.0));
    let objects: Vec<&str> = items.iter().map(String::as_str).chain(firsts).collect();
    let with_mark =
        fillers.flat_map(|filler| objects.iter().map(move |object| format!("{filler} {object}")));
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
    /// Whether a comma, a semicolon or an opening bracket follows.
    has_comma: bool,
}

/// The words of a question.
struct Words {
    all: Vec<Word>,
}

impl Words {
    fn of(question: &str) -> Self {
        let mut all: Vec<Word> = Vec::new();
        for part in question.split_whitespace() {
            let start = part.as_ptr() as usize - question.as_ptr() as usize;
            let text = part.trim_matches(|c: char| !c.is_alphanumeric() && c != '+' && c != '#');
            if text.is_empty() {
                continue;
            }
            if part.starts_with('(')
                && let Some(before) = all.last_mut()
            {
                before.has_comma = true;
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
        let before = &self.all[at - 1];
        let is_joined = CONJUNCTIONS.contains(&before.text.as_str());
        let of_list = || self.find(at, MARKS).filter(|_| !is_joined);
        let after_comma = || self.find(at, MARKS_AFTER_COMMA).filter(|_| before.has_comma);
        self.find(at, CLEAR_MARKS).or_else(of_list).or_else(after_comma)
    }

    /// Returns the end of the longest of these marks that is at `at`.
    fn find(&self, at: usize, marks: &[&str]) -> Option<usize> {
        let ends = marks.iter().filter_map(|mark| {
            let words = self.all[at..].iter().map(|word| word.text.as_str());
            let count = mark.split(' ').count();
            words.take(count).eq(mark.split(' ')).then_some(at + count)
        });
        ends.max()
    }

    /// Whether the words before `end` ask which pages there are about something: `what do I have on
    /// tea`, `which notes are about tea`.
    fn ask_what_there_is(&self, end: usize) -> bool {
        let is_of = |at: usize, words: &[&str]| {
            self.all[..end].get(at).is_some_and(|word| words.contains(&word.text.as_str()))
        };
        let asks_at = |at: usize| {
            let has = is_of(at, HAVE_WORDS) || is_of(at, &PAGE_WORDS);
            has && (at + 1..at + 3).any(|next| is_of(next, ABOUT_WORDS))
        };
        !is_of(0, HOW_WORDS) && (0..end).any(asks_at)
    }

    /// Returns the words before `end` that say what is wanted.
    fn topic_words(&self, end: usize) -> Vec<String> {
        let is_topic = |word: &&Word| {
            let text = word.text.as_str();
            let is_other = FILLERS.contains(&text) || SENTENCE_WORDS.contains(&text);
            let is_asking = HAVE_WORDS.contains(&text) || ABOUT_WORDS.contains(&text);
            !is_other && !is_asking && !is_page_word(text) && !PREPOSITIONS.contains(&text)
        };
        self.all[..end].iter().filter(is_topic).map(|word| word.text.clone()).collect()
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
            ("sourdough except for rye", "sourdough", &["rye"]),
            ("sourdough without using rye", "sourdough", &["rye"]),
            ("sourdough, no rye please", "sourdough", &["rye"]),
            ("bread without rye, without pizza", "bread", &["rye", "pizza"]),
            ("sourdough (not rye)", "sourdough", &["rye"]),
            ("tea with no milk", "tea", &["milk"]),
            ("what do I have on sourdough without rye?", "what do I have on sourdough", &["rye"]),
            (
                "was habe ich über die Hobelbank ohne Leim?",
                "was habe ich über die Hobelbank",
                &["leim"],
            ),
            ("books by Orla Fennimore without Gravel", "books by Orla Fennimore", &["gravel"]),
            ("Garten, jedoch nicht Tomaten", "Garten", &["tomaten"]),
            ("Bienen mit Ausnahme von Varroa", "Bienen", &["varroa"]),
            ("jardin à part tomates", "jardin", &["tomates"]),
            ("huerto menos tomates", "huerto", &["tomates"]),
            ("notas de huerto que no mencionen tomates", "notas de huerto", &["tomates"]),
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
            "ferry, not only brass",
            "kelp, not to mention ropes",
            "last but not least quince grafting",
            "how do I print notes about tea without margins?",
            "más o menos tomates",
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
        let phrases = unwanted("compost sans odeur paille").unwrap().phrases;
        assert!(phrases.contains(&"sans odeur".to_owned()), "{phrases:?}");
    }
}
