//! What a question says besides ranking: its words, the pages that it calls by name, and the pages that its conditions allow. For those
//! who look for answers on other ways than by words and must keep to the same question.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use brain_protocol::SourceId;
use tantivy::{DocSet, TERMINATED};

use super::{
    Index, IndexError, Question,
    bits::Bits,
    document::{Analyzer, key, key_of},
    fold::{BuildTermHasher, hash},
    index::View,
    language::{Lang, alphabet, stem, stop_words},
    overlay,
    plan::{Hashed, Plan},
    query::{parse, plain},
    terms::Segment,
    token::{self, Kind, name_key},
    visible::Visible,
};

/// In longer questions no names are looked for.
const MAX_WORDS: usize = 24;
/// Longer names are not looked for, in words.
const MAX_NAME: usize = 12;
/// At most so many things that a question is about.
const MAX_SUBJECTS: usize = 3;
/// At most so many pages of one name.
const MAX_PAGES: usize = 8;
/// Words are compared by their stems in at most so many languages.
const MAX_LANGUAGES: usize = 4;

/// What a question says.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Its words and phrases as typed, without operators, filters and what it excludes.
    pub text: String,
    /// The words of `text`, in order.
    pub words: Vec<AskedWord>,
    /// What it is about: runs of its words that are the title, an alias, or the first part of the title of pages. They do not overlap;
    /// longest first.
    pub subjects: Vec<Subject>,
}

/// A word of a question.
#[derive(Debug, Clone)]
pub struct AskedWord {
    /// Folded: lower case, without accents.
    pub text: String,
    /// Where it stands in [`Asked::text`], in bytes.
    pub place: Range<usize>,
    /// Whether it says little by itself.
    pub stop: bool,
    stems: Vec<(Lang, String)>,
}

/// Something that a question is about.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Which of [`Asked::words`] name it.
    pub words: Range<usize>,
    /// The pages that are called so.
    pub pages: Vec<u64>,
}

impl AskedWord {
    /// A word of no language.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let stems = vec![(Lang::ENGLISH, stem(text, Lang::ENGLISH).into_owned())];
        Self { text: text.to_owned(), place: 0..0, stop: false, stems }
    }

    /// How far the folded `word` says the same: 1 by its stem, 0.8 when both are of one family (`invested`, `investors`), else 0.
    #[must_use]
    pub fn said_by(&self, word: &str) -> f32 {
        if self.text == word {
            return 1.0;
        }
        let common = self.text.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
        // Stems keep how a word begins.
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
        if common >= 5 && common * 5 >= longer * 3 { 0.8 } else { 0.0 }
    }
}

/// Calls `sink` with every word of `text`, folded.
pub fn each_word(text: &str, sink: &mut dyn FnMut(&str)) {
    token::scan(text, &mut |t| {
        if !matches!(t.kind, Kind::Whole | Kind::Tail) {
            sink(t.text);
        }
    });
}

impl Index {
    /// What `question`, as typed, says to somebody who may see `sources`, or with `None` all.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn asked(&self, question: &str, sources: Option<&[SourceId]>) -> Result<Asked, IndexError> {
        let text = plain(&parse(question));
        self.look(|view, analyzer| {
            let visible = self.visible(view, sources, analyzer)?;
            self.take_apart(&text, view, visible.as_ref(), analyzer)
        })
    }

    /// The numbers of the pages of `sources`, ascending.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn pages_of(&self, sources: &[SourceId]) -> Result<Vec<u64>, IndexError> {
        self.look(|view, analyzer| {
            let Some(visible) = self.visible(view, Some(sources), analyzer)? else {
                return Ok(Vec::new());
            };
            let mut pages: Vec<u64> = visible.newest.iter().map(|entry| entry.id).collect();
            for (reader, docs) in view.searcher.segment_readers().iter().zip(&visible.segments) {
                let ids = reader.fast_fields().u64("id")?;
                pages.extend(docs.iter().filter_map(|doc| ids.first(doc)));
            }
            pages.sort_unstable();
            Ok(pages)
        })
    }

    /// The pages that meet the conditions of `question`: sources, type, tags, times, and what its text requires and excludes; `None` when
    /// it has no condition. None at all when its text asks for nothing.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn allowed(&self, question: &Question) -> Result<Option<HashSet<u64>>, IndexError> {
        self.look(|view, analyzer| {
            let visible = self.visible(view, question.view.as_deref(), analyzer)?;
            let languages = match &visible {
                Some(visible) => visible.languages.clone(),
                None => view.every_language(analyzer),
            };
            let plan = Plan::new(question, &languages, analyzer);
            // A plan of nothing has no conditions either, not even those of the options.
            if plan.is_empty() {
                return Ok(Some(HashSet::new()));
            }
            let mut pages = HashSet::new();
            if let Some(visible) = &visible {
                for (reader, docs) in view.searcher.segment_readers().iter().zip(&visible.segments)
                {
                    let segment = Segment::open_whole(reader, self.fields(), &Plan::default())?;
                    let mut allowed = Bits::clone(docs);
                    if !plan.is_unconditional() {
                        allowed.keep(&segment.allowed(&plan)?);
                    }
                    pages.extend(allowed.iter().filter_map(|doc| segment.ids.first(doc)));
                }
                pages.extend(overlay::allowed(visible.newest.iter(), &plan));
                return Ok(Some(pages));
            }
            if plan.is_unconditional() {
                return Ok(None);
            }
            for reader in view.searcher.segment_readers() {
                let segment = Segment::open(reader, self.fields(), &Plan::default())?;
                let ids = segment.allowed(&plan)?;
                pages.extend(ids.iter().filter_map(|doc| segment.ids.first(doc)));
            }
            pages.retain(|id| !view.overlay.contains_key(id));
            let newest = view.overlay.values().filter_map(|slot| slot.entry.as_ref());
            pages.extend(overlay::allowed(newest, &plan));
            Ok(Some(pages))
        })
    }

    fn take_apart(
        &self,
        text: &str,
        view: &View,
        visible: Option<&Visible>,
        analyzer: &mut Analyzer,
    ) -> tantivy::Result<Asked> {
        let mut languages = match visible {
            Some(visible) => visible.languages.clone(),
            None => view.every_language(analyzer),
        };
        languages.truncate(MAX_LANGUAGES);
        let mut words = Vec::new();
        token::scan(text, &mut |t| {
            if !matches!(t.kind, Kind::Whole | Kind::Tail) {
                let stems = languages
                    .iter()
                    .map(|&lang| lang.of_word(alphabet(t.text), lang))
                    .map(|lang| (lang, stem(t.text, lang).into_owned()))
                    .collect();
                words.push(AskedWord {
                    text: t.text.to_owned(),
                    place: t.start..t.end,
                    stop: false,
                    stems,
                });
            }
        });
        let stop: HashSet<String> = {
            let all: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
            stop_words(&all, &languages).into_iter().map(str::to_owned).collect()
        };
        words.iter_mut().for_each(|word| word.stop = stop.contains(&word.text));
        let subjects = if words.len() <= MAX_WORDS {
            self.subjects(text, &words, view, visible)?
        } else {
            Vec::new()
        };
        Ok(Asked { text: text.to_owned(), words, subjects })
    }

    fn subjects(
        &self,
        text: &str,
        words: &[AskedWord],
        view: &View,
        visible: Option<&Visible>,
    ) -> tantivy::Result<Vec<Subject>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut keys: HashMap<u64, (usize, Hashed), BuildTermHasher> = HashMap::default();
        for from in 0..words.len() {
            for to in from + 1..=words.len().min(from + MAX_NAME) {
                // A name of words that say nothing is met by chance.
                if words[from..to].iter().all(|word| word.stop || word.text.chars().count() < 2) {
                    continue;
                }
                let Some(run) = text.get(words[from].place.start..words[to - 1].place.end) else {
                    continue;
                };
                let name = name_key(run);
                for space in [key::TITLE, key::ALIAS, key::SHORT_TITLE] {
                    let text = key_of(space, &name);
                    let hash = hash(text.as_bytes());
                    keys.entry(hash).or_insert((runs.len(), Hashed { text, hash }));
                }
                runs.push(from..to);
            }
        }
        if let Some(visible) = visible {
            let pages = self.named_within(&keys, view, visible)?;
            return Ok(choose(text, words, &runs, pages));
        }
        let mut pages: HashMap<usize, Vec<u64>> = HashMap::new();
        let mut note = |run: usize, id: u64| {
            let pages = pages.entry(run).or_default();
            if pages.len() < MAX_PAGES && !pages.contains(&id) {
                pages.push(id);
            }
        };
        for document in view.overlay.values().filter_map(|slot| slot.entry.as_ref()?.ready()) {
            for (run, _) in document.key_hashes.iter().filter_map(|hash| keys.get(hash)) {
                note(*run, document.id);
            }
        }
        for reader in view.searcher.segment_readers() {
            let segment = Segment::open(reader, self.fields(), &Plan::default())?;
            for (run, key) in keys.values() {
                let Some(mut postings) = segment.with_key(key)? else { continue };
                let mut left = MAX_PAGES * 4;
                while postings.doc() != TERMINATED && left > 0 {
                    left -= 1;
                    let id = segment.ids.first(postings.doc());
                    if let Some(id) = id.filter(|id| !view.overlay.contains_key(id))
                        && !segment.reader.is_deleted(postings.doc())
                    {
                        note(*run, id);
                    }
                    postings.advance();
                }
            }
        }
        Ok(choose(text, words, &runs, pages))
    }

    /// The visible pages that have one of `keys`, by the run of words: the oldest of each.
    fn named_within(
        &self,
        keys: &HashMap<u64, (usize, Hashed), BuildTermHasher>,
        view: &View,
        visible: &Visible,
    ) -> tantivy::Result<HashMap<usize, Vec<u64>>> {
        let mut pages: HashMap<usize, Vec<u64>> = HashMap::new();
        for document in visible.newest.iter().filter_map(|entry| entry.ready()) {
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

/// The longest runs that name pages and do not overlap; where some are written as names, only those.
fn choose(
    text: &str,
    words: &[AskedWord],
    runs: &[Range<usize>],
    mut pages: HashMap<usize, Vec<u64>>,
) -> Vec<Subject> {
    let place = |run: &Range<usize>| match words.get(run.clone()) {
        Some([first, .., last]) => first.place.start..last.place.end,
        Some([only]) => only.place.clone(),
        _ => 0..0,
    };
    let proper = |run: &Range<usize>| {
        text.get(place(run)).and_then(|run| run.chars().next()).is_some_and(|c| !c.is_lowercase())
    };
    let mut named: Vec<usize> = pages.keys().copied().collect();
    named.sort_unstable_by_key(|&n| {
        let run = &runs[n];
        (std::cmp::Reverse((run.len(), place(run).len())), run.start)
    });
    if named.iter().any(|&n| proper(&runs[n])) {
        named.retain(|&n| proper(&runs[n]));
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
    fn words_of_one_family_meet() {
        let said = |asked: &str, word: &str| AskedWord::new(asked).said_by(word);
        assert!((said("attended", "attend") - 1.0).abs() < 1e-6);
        for (asked, word) in
            [("invested", "investors"), ("attended", "attendees"), ("advises", "advisor")]
        {
            assert!(said(asked, word) > 0.5, "{asked} {word}");
        }
        for (asked, word) in
            [("work", "workshop"), ("company", "complete"), ("act", "actor"), ("a", "b")]
        {
            assert!(said(asked, word) < 0.5, "{asked} {word}");
        }
    }

    #[test]
    fn the_longest_names_win_and_proper_ones_before_others() {
        let text = "who works at Acme Labs in paris";
        let words: Vec<AskedWord> = {
            let mut all = Vec::new();
            token::scan(text, &mut |t| {
                all.push(AskedWord { place: t.start..t.end, ..AskedWord::new(t.text) });
            });
            all
        };
        let runs = [3..4, 3..5, 6..7];
        let pages = HashMap::from([(0, vec![1]), (1, vec![2]), (2, vec![3])]);
        let subjects = choose(text, &words, &runs, pages);
        assert_eq!(subjects.len(), 1, "{subjects:?}");
        assert_eq!((subjects[0].words.clone(), &subjects[0].pages), (3..5, &vec![2]));
    }
}
