//! Words that a question excludes in plain words: `trust without game`, `sqlite but not datasette`,
//! `graph, not canvas`, `notes on tea in which milk does not appear`. No I/O.

use std::ops::Range;

use self::marks::{
    BEGINNINGS, CLAUSE_MARKS, CLEAR_MARKS, FILLERS_AFTER_MARK, MARKS, MARKS_AFTER_COMMA,
    MARKS_AT_END, PAGE_MARKS, PAGE_MARKS_AT_END, PHRASES_AFTER_MARK, VERBS_AT_END, is_mark,
    mark_length,
};

mod marks;

/// What a question wants, and what it excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwanted {
    /// The question without the excluded words.
    pub wanted: String,
    /// The words of it that say what is wanted.
    pub topic: Vec<String>,
    /// The excluded words or phrases.
    pub words: Vec<String>,
    /// Whether they are tags: `tagged garden but not draft`.
    pub are_tags: bool,
    /// Phrases with which the question excludes nothing. With the first one, it is a name: `life
    /// without principle`. The others, such as `without a password`, count in pages that have the
    /// wanted words, too: then they are what is sought.
    pub phrases: Vec<String>,
}

/// Words of sentences: with one of them, `without` is part of what the question wants.
const SENTENCE_WORDS: [&str; 64] = [
    "how", "what", "why", "when", "who", "which", "where", "is", "are", "was", "were", "can",
    "could", "do", "does", "did", "to", "i", "you", "we", "they", "he", "she", "it", "my",
    "should", "will", "wie", "warum", "wann", "wer", "welche", "welcher", "welches", "wo", "ist",
    "sind", "kann", "ich", "wir", "du", "mein", "comment", "pourquoi", "quand", "qui", "quel",
    "quelle", "où", "est", "sont", "peut", "je", "nous", "cómo", "por", "cuándo", "quién", "qué",
    "dónde", "es", "son", "puedo", "se",
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
    "del",
    "vom",
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
/// Words that say nothing about what is wanted.
const POLITE_WORDS: &[&str] = &["please", "thanks", "bitte", "danke", "svp", "merci", "gracias"];
/// Words for pages. A sentence with one of them asks for pages, and can exclude some.
const PAGE_WORDS: [&str; 18] = [
    "notes",
    "ones",
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
/// Words for tags: `but not tagged X`.
const TAG_WORDS: [&str; 16] = [
    "tag",
    "tags",
    "tagged",
    "label",
    "labels",
    "labeled",
    "labelled",
    "schlagwort",
    "getaggt",
    "étiquette",
    "étiquettes",
    "étiquetées",
    "etiqueta",
    "etiquetas",
    "etiquetadas",
    "etiquetado",
];
/// Maximum words of what is wanted, without fillers and words for pages. A longer question is a
/// sentence in which the words mean something else: `git add all files except one`.
const MAX_TOPIC_WORDS: usize = 3;
/// Maximum words that are excluded together.
const MAX_WORDS: usize = 3;

/// Returns what the question can exclude in plain words, in the order of its words. The words
/// before an exclusion can be a name with such a word: `the man without a shadow, not the salt
/// road`.
pub fn unwanted(question: &str) -> Vec<Unwanted> {
    let words = Words::of(question);
    let found = (1..words.all.len()).filter_map(|at| words.exclusion_at(at));
    found.filter_map(|exclusion| words.unwanted(question, &exclusion)).collect()
}

/// Where a question excludes something.
struct Exclusion {
    /// The first word that is not wanted: that of a mark, or an excluded one.
    first: usize,
    /// The excluded words.
    items: Range<usize>,
    /// Whether it excludes in sentences, too.
    is_clear: bool,
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

/// Returns a word in lower case, without a French article in front: `l'eau`.
fn plain_word(text: &str) -> String {
    let text = text.to_lowercase().replace('’', "'");
    let object = ["l'", "d'"].iter().find_map(|article| text.strip_prefix(article));
    object.map_or(text.clone(), str::to_owned)
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
            let is_polite = POLITE_WORDS.contains(&text.to_lowercase().as_str());
            let has_comma = part.ends_with([',', ';']);
            if (part.starts_with('(') || (is_polite && has_comma))
                && let Some(before) = all.last_mut()
            {
                before.has_comma = true;
            }
            if text.is_empty() || is_polite {
                continue;
            }
            // `NOT` in capitals is an operator of other programs.
            let is_operator = text == "NOT" && question.contains(char::is_lowercase);
            all.push(Word {
                text: if is_operator { text.to_owned() } else { plain_word(text) },
                range: start..start + part.len(),
                has_comma,
            });
        }
        Self { all }
    }

    /// Returns the exclusion whose first word is at `at`.
    fn exclusion_at(&self, at: usize) -> Option<Exclusion> {
        let before = &self.all[at - 1];
        let is_joined = CONJUNCTIONS.contains(&before.text.as_str());
        let end = self.all.len();
        let has_pages = self.all[..at].iter().any(|word| is_page_word(&word.text));
        let ends_with_verb = VERBS_AT_END.contains(&self.all[end - 1].text.as_str());
        let clear = self
            .find(at, CLEAR_MARKS)
            .or_else(|| self.find(at, PAGE_MARKS).filter(|_| has_pages))
            .or_else(|| self.find(at, CLAUSE_MARKS).filter(|_| ends_with_verb));
        let after_comma = || self.find(at, MARKS_AFTER_COMMA).filter(|_| before.has_comma);
        let in_list = || self.find(at, MARKS).filter(|_| !is_joined).or_else(after_comma);
        if let Some(mark_end) = clear.or_else(in_list) {
            return Some(Exclusion { first: at, items: mark_end..end, is_clear: clear.is_some() });
        }
        // `notes not tagged draft`
        let is_not = ["not", "nicht"].contains(&self.all[at].text.as_str());
        if is_not && self.all.get(at + 1).is_some_and(|word| is_tag_word(&word.text)) {
            return Some(Exclusion { first: at, items: at + 1..end, is_clear: true });
        }
        let begin = self.find(at, BEGINNINGS).or_else(|| before.has_comma.then_some(at))?;
        let is_at_end = |from: &usize| {
            let of_pages = || self.find(*from, PAGE_MARKS_AT_END).filter(|_| has_pages);
            self.find(*from, MARKS_AT_END).or_else(of_pages) == Some(end)
        };
        let mark = (begin + 1..end).find(is_at_end)?;
        Some(Exclusion { first: at, items: begin..mark, is_clear: true })
    }

    /// Returns the end of the longest of these marks that is at `at`.
    fn find(&self, at: usize, marks: &[&str]) -> Option<usize> {
        let words = self.all.get(at..)?.iter().map(|word| word.text.as_str());
        mark_length(&words, marks).map(|count| at + count)
    }

    /// Returns what an exclusion leaves; `None` if the words mean something else.
    fn unwanted(&self, question: &str, exclusion: &Exclusion) -> Option<Unwanted> {
        let Exclusion { first, ref items, is_clear } = *exclusion;
        let begin = self.all.get(items.start)?;
        if PHRASES_AFTER_MARK.contains(&begin.text.as_str()) {
            return None;
        }
        let before = &self.all[..first];
        let is_question = question.trim_end().ends_with('?');
        let is_sentence = before.iter().any(|it| SENTENCE_WORDS.contains(&it.text.as_str()));
        let names_pages = before.iter().any(|it| is_page_word(&it.text));
        let asks_for_pages = (is_clear && names_pages) || self.ask_what_there_is(first);
        let topic = self.topic_words(first);
        let is_other = (is_question || is_sentence) && !asks_for_pages;
        if is_other || topic.len() > MAX_TOPIC_WORDS || is_action(&begin.text) {
            return None;
        }
        let mut items = excluded_items(&self.all[items.clone()])?;
        let mut are_tags = before.iter().any(|word| is_tag_word(&word.text));
        for item in &mut items {
            let tag = item.split_once(' ').filter(|(first, _)| is_tag_word(first));
            if let Some(tag) = tag.map(|(_, tag)| tag).or_else(|| item.strip_prefix('#')) {
                *item = tag.to_owned();
                are_tags = true;
            }
        }
        let from = self.all[first - 1].range.start;
        let phrase = question[from..].trim_end_matches(['?', '!', '.']).trim();
        let mark = self.all[first].text.as_str();
        let fillers =
            FILLERS_AFTER_MARK.iter().filter(|(it, _)| *it == mark).flat_map(|(_, all)| *all);
        // In a list of words, the first one alone may belong to the mark: `compost sans odeur
        // paille`.
        let firsts = items.iter().filter_map(|item| Some(item.split_once(' ')?.0));
        let objects: Vec<&str> = items.iter().map(String::as_str).chain(firsts).collect();
        let with_mark = fillers
            .flat_map(|filler| objects.iter().map(move |object| format!("{filler} {object}")));
        let phrases = [phrase.to_owned()].into_iter().chain(with_mark).collect();
        let wanted = question[..self.all[first - 1].range.end].trim_end_matches(',').trim();
        Some(Unwanted { wanted: wanted.to_owned(), topic, words: items, are_tags, phrases })
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
            let is_mark = MARKS.contains(&text) || is_asking || is_page_word(text);
            !is_other && !is_mark && !PREPOSITIONS.contains(&text)
        };
        self.all[..end].iter().filter(is_topic).map(|word| word.text.clone()).collect()
    }
}

/// Returns the excluded words or phrases; `None` if they are a long text.
fn excluded_items(words: &[Word]) -> Option<Vec<String>> {
    let items: Vec<String> = words
        .split(|word| CONJUNCTIONS.contains(&word.text.as_str()))
        .flat_map(|item| item.split_inclusive(|word| word.has_comma))
        .map(|item| {
            let item: Vec<&str> = item.iter().map(|word| word.text.as_str()).collect();
            let is_before = |it: &&&str| FILLERS.contains(*it) || is_mark(it);
            let begin = item.iter().take_while(is_before).count();
            let after = item.iter().rev().take_while(|it| VERBS_AT_END.contains(*it)).count();
            item[begin..(item.len() - after).max(begin)].join(" ")
        })
        .filter(|item| !item.is_empty())
        .collect();
    let is_short = |item: &String| item.split(' ').count() <= MAX_WORDS;
    (!items.is_empty() && items.iter().all(is_short)).then_some(items)
}

/// Whether a word names an action: `without saving`, `ohne zu speichern`.
fn is_action(word: &str) -> bool {
    (word.len() > 5 && word.ends_with("ing")) || word == "zu"
}

fn is_tag_word(word: &str) -> bool {
    TAG_WORDS.contains(&word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parts(question: &str) -> Option<(String, Vec<String>)> {
        unwanted(question).into_iter().next().map(|found| (found.wanted, found.words))
    }

    fn check(question: &str, wanted: &str, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(parts(question), Some((wanted.to_owned(), words)), "{question}");
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
        ] {
            check(question, wanted, words);
        }
    }

    #[test]
    fn clauses_exclude_before_and_after_the_word() {
        for (question, wanted, words) in [
            ("bread recipes that have nothing to do with rye", "bread recipes", &["rye"][..]),
            ("pages on bread which don’t contain rye", "pages on bread", &["rye"]),
            ("which pages about bread don't mention rye?", "which pages about bread", &["rye"]),
            ("bread, but please no rye", "bread", &["rye"]),
            ("bread that is not about rye", "bread", &["rye"]),
            ("bread notes with rye left out", "bread notes", &["rye"]),
            ("Brot, in dem kein Roggen vorkommt", "Brot", &["roggen"]),
            ("bread but leave out the rye", "bread", &["rye"]),
            ("bread, anything but rye", "bread", &["rye"]),
            ("bread NOT rye", "bread", &["rye"]),
            ("bread, rye not mentioned", "bread", &["rye"]),
            ("bread notes in which rye does not appear", "bread notes", &["rye"]),
            (
                "notes on bread where pizza or rye is not mentioned please",
                "notes on bread",
                &["pizza", "rye"],
            ),
            ("Brotrezepte, in denen Roggen nicht vorkommt", "Brotrezepte", &["roggen"]),
            ("notes de pain où le seigle n'apparaît pas", "notes de pain", &["seigle"]),
            ("notas de pan en las que no aparece centeno", "notas de pan", &["centeno"]),
            ("tomates que no sean del huerto", "tomates", &["huerto"]),
            ("pain sauf l'épeautre", "pain", &["épeautre"]),
            ("notas de huerto que no mencionen tomates", "notas de huerto", &["tomates"]),
        ] {
            check(question, wanted, words);
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
            "Warum geht es ohne Strom nicht",
            "trust without",
            "ferry, not only brass",
            "kelp, not to mention ropes",
            "last but not least quince grafting",
            "how do I print notes about tea without margins?",
            "más o menos tomates",
            "notes without the long list of things that nobody wants",
            "why is rye not mentioned",
            "regex that ignores case",
            "dialog where the button does not appear",
            "countries in which no visa is required",
            "kit with screws not included",
            "bread NOT",
            "the field, not mentioned",
            "",
        ] {
            assert_eq!(parts(question), None, "{question}");
        }
        let phrases = unwanted("ssh login without password").remove(0).phrases;
        assert_eq!(
            phrases[..3],
            ["login without password", "without password", "without a password"]
        );
        let phrases = unwanted("compost sans odeur paille").remove(0).phrases;
        assert!(phrases.contains(&"sans odeur".to_owned()), "{phrases:?}");
        for (question, tag) in [
            ("recipes without the tag meat", "meat"),
            ("notes tagged garden but not draft", "draft"),
            ("garden notes, not tagged draft", "draft"),
            ("garden notes without #draft", "draft"),
            ("garden notes not tagged draft", "draft"),
            ("which notes are not tagged draft?", "draft"),
        ] {
            let found = unwanted(question).remove(0);
            assert!(found.are_tags && found.words == [tag], "{found:?}");
        }
        let all = unwanted("the man without a shadow, not the salt road");
        let last = &all[all.len() - 1];
        assert_eq!(
            (&*last.wanted, &*last.words),
            ("the man without a shadow", &["salt road".to_owned()][..])
        );
    }
}
