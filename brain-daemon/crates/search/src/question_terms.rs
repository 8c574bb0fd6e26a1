//! Words and subjects of a question, and the pages that its conditions allow.
//!
//! Vector search and link search use them to answer the same question as the full-text search.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use brain_protocol::SourceId;
use tantivy::{DocSet, TERMINATED};

use super::{
    Index, IndexError, Question,
    doc_bit_set::DocBitSet,
    encoding::{HashedTerm, key, key_of},
    fold::BuildTermHasher,
    language::{Lang, alphabet, of_question, stem, stop_words},
    name_key::{has_little_word_at_an_end, key_of_words, words_in_any_order},
    overlay,
    plan::Plan,
    query::Query,
    terms::Segment,
    token::{self, Kind},
    view::View,
    visible_pages::VisiblePages,
};

/// Maximum words of a question with subjects.
const MAX_WORDS: usize = 24;
/// Maximum words of a name.
const MAX_NAME_WORDS: usize = 12;
/// Maximum subjects of a question.
const MAX_SUBJECTS: usize = 3;
/// Maximum pages of one name.
const MAX_PAGES: usize = 8;
/// Maximum languages in which the words of a question are stemmed.
const MAX_LANGUAGES: usize = 4;

/// The words and subjects of a question.
#[derive(Debug, Clone, Default)]
pub struct QuestionTerms {
    /// [`Query::plain`].
    pub text: String,
    /// The words of `text`, in order.
    pub words: Vec<QuestionWord>,
    /// Subjects: runs of words that are a name of pages: the title, the title without its
    /// explanation, an alias, the path or its end, or the file name. They do not overlap; longest
    /// first.
    pub subjects: Vec<Subject>,
}

/// A word of a question, with its stems.
#[derive(Debug, Clone)]
pub struct QuestionWord {
    /// Folded word: lower case, without accents.
    pub text: String,
    /// Byte range in [`QuestionTerms::text`].
    pub range: Range<usize>,
    /// Whether it is too common to say what the question is about.
    pub is_stop_word: bool,
    stems: Vec<(Lang, String)>,
}

/// A page name in a question.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Indexes of its words in [`QuestionTerms::words`].
    pub words: Range<usize>,
    /// Ids of some pages with this name, ascending.
    pub pages: Vec<u64>,
}

/// Keys of possible names by their hash, each with the index of its run of words.
type NameKeys = HashMap<u64, (usize, HashedTerm), BuildTermHasher>;

impl QuestionTerms {
    /// Returns whether the question is the name of a page and has at least two words that are not
    /// stop words. A name of one word is often an ordinary word.
    #[must_use]
    pub fn is_name(&self) -> bool {
        let covers_all = self.subjects.iter().any(|name| name.words == (0..self.words.len()));
        covers_all && self.words.iter().filter(|word| !word.is_stop_word).count() > 1
    }
}

impl QuestionWord {
    /// Creates a word outside a question, stemmed as English.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let stems = vec![(Lang::ENGLISH, stem(text, Lang::ENGLISH).into_owned())];
        Self { text: text.to_owned(), range: 0..0, is_stop_word: false, stems }
    }

    /// Returns how similar the folded `word` is: 1 for an equal word or stem, 0.8 for a word of the
    /// same family (`invested`, `investors`), else 0.
    #[must_use]
    pub fn similarity(&self, word: &str) -> f32 {
        if self.text == word {
            return 1.0;
        }
        let common = self.text.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
        // Stems keep the beginning of a word.
        if common < 2 {
            return 0.0;
        }
        let alphabet = alphabet(word);
        if self
            .stems
            .iter()
            .any(|(lang, own)| stem(word, lang.of_word(alphabet, *lang)) == own.as_str())
        {
            return 1.0;
        }
        let longer = self.text.len().max(word.len());
        let is_family =
            (common >= 5 && common * 5 >= longer * 3) || (common >= 6 && common * 2 >= longer);
        if is_family { 0.8 } else { 0.0 }
    }
}

/// Calls `sink` with every folded word of `text`: compounds in parts, and text without spaces in
/// pairs of characters.
pub fn each_word(text: &str, sink: &mut dyn FnMut(&str)) {
    token::scan(text, &mut |t| {
        if !matches!(t.kind, Kind::Whole | Kind::Tail) {
            sink(t.text);
        }
    });
}

impl Index {
    /// Returns the words and subjects of a question for a caller who can see `sources`; `None`
    /// means all sources.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn question_terms(
        &self,
        query: &Query,
        sources: Option<&[SourceId]>,
    ) -> Result<QuestionTerms, IndexError> {
        self.with_view(sources, |view, visible, languages, _| {
            self.analyze(query, view, visible, languages)
        })
    }

    /// Returns the ids of the pages of `sources`, ascending.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn pages_of(&self, sources: &[SourceId]) -> Result<Vec<u64>, IndexError> {
        self.with_view(Some(sources), |view, visible, _, _| {
            let Some(visible) = visible else { return Ok(Vec::new()) };
            let mut pages: Vec<u64> =
                visible.overlay_entries.iter().map(|entry| entry.id).collect();
            for (reader, docs) in view.searcher.segment_readers().iter().zip(&visible.segments) {
                let ids = reader.fast_fields().u64("id")?;
                pages.extend(docs.iter().filter_map(|doc| ids.first(doc)));
            }
            pages.sort_unstable();
            Ok(pages)
        })
    }

    /// Returns the ids of the visible pages that meet the conditions of `question`: sources, type,
    /// tags, times, days, required and excluded words. Returns `None` when every page does: there
    /// are no conditions, and the caller can see all sources. Returns an empty set when the text
    /// has neither words nor conditions, and no days are given.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn matching_pages(&self, question: &Question) -> Result<Option<HashSet<u64>>, IndexError> {
        self.with_view(question.view.as_deref(), |view, visible, languages, analyzer| {
            let plan = Plan::new(question, languages, analyzer);
            // An empty plan lacks the conditions of the options and would accept all pages.
            if plan.is_empty() {
                return Ok(Some(HashSet::new()));
            }
            let mut pages = HashSet::new();
            if let Some(visible) = visible {
                for (reader, docs) in view.searcher.segment_readers().iter().zip(&visible.segments)
                {
                    let segment = Segment::open_whole(reader, self.fields(), &Plan::default())?;
                    let mut allowed = DocBitSet::clone(docs);
                    if !plan.is_unconditional() {
                        allowed.intersect(&segment.matching_docs(&plan)?);
                    }
                    pages.extend(allowed.iter().filter_map(|doc| segment.ids.first(doc)));
                }
                pages.extend(overlay::matching_ids(visible.overlay_entries.iter(), &plan));
                return Ok(Some(pages));
            }
            if plan.is_unconditional() {
                return Ok(None);
            }
            for reader in view.searcher.segment_readers() {
                let segment = Segment::open(reader, self.fields(), &Plan::default())?;
                let ids = segment.matching_docs(&plan)?;
                pages.extend(ids.iter().filter_map(|doc| segment.ids.first(doc)));
            }
            pages.retain(|id| !view.overlay.contains_key(id));
            let entries = view.overlay.values().filter_map(|slot| slot.entry.as_ref());
            pages.extend(overlay::matching_ids(entries, &plan));
            Ok(Some(pages))
        })
    }

    fn analyze(
        &self,
        query: &Query,
        view: &View,
        visible: Option<&VisiblePages>,
        languages: &[Lang],
    ) -> tantivy::Result<QuestionTerms> {
        let mut languages = languages.to_vec();
        let folded: Vec<&str> = query.plain_words().map(|(word, _)| word).collect();
        if let Some(question_lang) = of_question(&folded, &languages) {
            languages.retain(|lang| *lang != question_lang);
            languages.insert(0, question_lang);
        }
        languages.truncate(MAX_LANGUAGES);
        let stop = stop_words(&folded, &languages);
        let words: Vec<QuestionWord> = query
            .plain_words()
            .map(|(text, range)| {
                let languages = languages.iter().map(|lang| lang.of_word(alphabet(text), *lang));
                QuestionWord {
                    text: text.to_owned(),
                    range,
                    is_stop_word: stop.contains(text),
                    stems: languages.map(|lang| (lang, stem(text, lang).into_owned())).collect(),
                }
            })
            .collect();
        let text = &query.plain;
        let subjects = match words.len() <= MAX_WORDS {
            true => {
                let (runs, keys) = possible_names(&words);
                let pages = match visible {
                    Some(visible) => self.named_within(&keys, view, visible)?,
                    None => self.named_anywhere(&keys, view)?,
                };
                choose_subjects(text, &words, &runs, pages)
            }
            false => Vec::new(),
        };
        Ok(QuestionTerms { text: text.clone(), words, subjects })
    }

    /// Returns some pages with each of `keys`, by index of the run of words.
    fn named_anywhere(
        &self,
        keys: &NameKeys,
        view: &View,
    ) -> tantivy::Result<HashMap<usize, Vec<u64>>> {
        let mut pages: HashMap<usize, Vec<u64>> = HashMap::new();
        let mut add_page = |run: usize, id: u64| {
            let pages = pages.entry(run).or_default();
            if pages.len() < MAX_PAGES && !pages.contains(&id) {
                pages.push(id);
            }
        };
        for document in
            view.overlay.values().filter_map(|slot| slot.entry.as_ref()?.analyzed_document())
        {
            for (run, _) in document.key_hashes.iter().filter_map(|hash| keys.get(hash)) {
                add_page(*run, document.id);
            }
        }
        for reader in view.searcher.segment_readers() {
            let segment = Segment::open(reader, self.fields(), &Plan::default())?;
            for (run, key) in keys.values() {
                let Some(mut postings) = segment.with_key(key)? else { continue };
                // Deleted and replaced documents count, too.
                let mut postings_left = MAX_PAGES * 4;
                while postings.doc() != TERMINATED && postings_left > 0 {
                    postings_left -= 1;
                    let id = segment.ids.first(postings.doc());
                    if let Some(id) = id.filter(|id| !view.overlay.contains_key(id))
                        && !segment.reader.is_deleted(postings.doc())
                    {
                        add_page(*run, id);
                    }
                    postings.advance();
                }
            }
        }
        Ok(pages)
    }

    /// Returns the oldest visible pages with each of `keys`, by index of the run of words.
    fn named_within(
        &self,
        keys: &NameKeys,
        view: &View,
        visible: &VisiblePages,
    ) -> tantivy::Result<HashMap<usize, Vec<u64>>> {
        let mut pages: HashMap<usize, Vec<u64>> = HashMap::new();
        for document in visible.overlay_entries.iter().filter_map(|entry| entry.analyzed_document())
        {
            for (run, _) in document.key_hashes.iter().filter_map(|hash| keys.get(hash)) {
                pages.entry(*run).or_default().push(document.id);
            }
        }
        for (reader, docs) in view.searcher.segment_readers().iter().zip(&visible.segments) {
            let segment = Segment::open(reader, self.fields(), &Plan::default())?;
            for (run, key) in keys.values() {
                let Some(mut postings) = segment.with_key(key)? else { continue };
                while postings.doc() != TERMINATED {
                    let doc = Some(postings.doc()).filter(|doc| docs.contains(*doc));
                    if let Some(id) = doc.and_then(|doc| segment.ids.first(doc)) {
                        pages.entry(*run).or_default().push(id);
                    }
                    postings.advance();
                }
            }
        }
        for ids in pages.values_mut() {
            ids.sort_unstable();
            ids.dedup();
            ids.truncate(MAX_PAGES);
        }
        Ok(pages)
    }
}

/// Returns the runs of `words` that can be names, and their keys.
fn possible_names(words: &[QuestionWord]) -> (Vec<Range<usize>>, NameKeys) {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut keys = NameKeys::default();
    for from in 0..words.len() {
        for to in from + 1..=words.len().min(from + MAX_NAME_WORDS) {
            // A name of stop words matches by chance.
            if words[from..to].iter().all(|word| word.is_stop_word || word.text.chars().count() < 2)
            {
                continue;
            }
            let run = words[from..to].iter();
            let name = key_of_words(run.map(|word| (word.text.as_str(), word.range.clone())));
            // The run without that little word has the same key.
            if has_little_word_at_an_end(&name) {
                continue;
            }
            // Names are found with their words in any order.
            let key = HashedTerm::new(key_of(key::ANY_ORDER, &words_in_any_order(&name)));
            keys.entry(key.hash).or_insert((runs.len(), key));
            runs.push(from..to);
        }
    }
    (runs, keys)
}

/// Returns as subjects the longest runs that name pages and do not overlap. If some begin with no
/// lower-case letter, only these count.
fn choose_subjects(
    text: &str,
    words: &[QuestionWord],
    runs: &[Range<usize>],
    mut pages: HashMap<usize, Vec<u64>>,
) -> Vec<Subject> {
    let range = |run: &Range<usize>| match words.get(run.clone()) {
        Some([first, .., last]) => first.range.start..last.range.end,
        Some([only]) => only.range.clone(),
        _ => 0..0,
    };
    let is_capitalised = |run: &Range<usize>| {
        text.get(range(run)).and_then(|run| run.chars().next()).is_some_and(|c| !c.is_lowercase())
    };
    let mut named: Vec<usize> = pages.keys().copied().collect();
    named.sort_unstable_by_key(|&n| {
        let run = &runs[n];
        (std::cmp::Reverse((run.len(), range(run).len())), run.start)
    });
    if named.iter().any(|&n| is_capitalised(&runs[n])) {
        named.retain(|&n| is_capitalised(&runs[n]));
    }
    let mut out: Vec<Subject> = Vec::new();
    for n in named {
        let run = runs[n].clone();
        if out.len() < MAX_SUBJECTS
            && out.iter().all(|s| s.words.end <= run.start || run.end <= s.words.start)
        {
            let mut pages = pages.remove(&n).unwrap_or_default();
            pages.sort_unstable();
            out.push(Subject { words: run, pages });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_family_are_similar() {
        let similarity = |a: &str, b: &str| QuestionWord::new(a).similarity(b);
        assert!((similarity("attended", "attend") - 1.0).abs() < 1e-6);
        for (question_word, word) in
            [("invested", "investors"), ("attended", "attendees"), ("advises", "advisor")]
        {
            assert!(similarity(question_word, word) > 0.5, "{question_word} {word}");
        }
        for (question_word, word) in
            [("work", "workshop"), ("company", "complete"), ("act", "actor"), ("a", "b")]
        {
            assert!(similarity(question_word, word) < 0.5, "{question_word} {word}");
        }
    }

    #[test]
    fn longest_capitalised_names_are_subjects() {
        let text = "who works at Acme Labs in paris";
        let words: Vec<QuestionWord> = {
            let mut all = Vec::new();
            token::scan(text, &mut |t| {
                all.push(QuestionWord { range: t.start..t.end, ..QuestionWord::new(t.text) });
            });
            all
        };
        let runs = [3..4, 3..5, 6..7];
        let pages = HashMap::from([(0, vec![1]), (1, vec![2]), (2, vec![3])]);
        let subjects = choose_subjects(text, &words, &runs, pages);
        assert_eq!(subjects.len(), 1, "{subjects:?}");
        assert_eq!((subjects[0].words.clone(), &subjects[0].pages), (3..5, &vec![2]));
    }
}
