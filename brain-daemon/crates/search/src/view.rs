//! The state that one search sees, and the queued changes of the index.

use std::sync::Arc;

use tantivy::{Searcher, Term};

use super::{
    document::{Analyzer, PageToIndex},
    encoding::{key, key_of},
    language::Lang,
    overlay::{Overlay, Slot},
    schema::Fields,
};

/// The state that one search sees: the disk index and all newer changes.
#[derive(Clone)]
pub(super) struct View {
    pub(super) searcher: Searcher,
    pub(super) overlay: Overlay,
    /// Languages on disk, most used first.
    pub(super) languages: Vec<Lang>,
}

impl View {
    /// Returns the default language, then those of the pages. Analyzes the pages of the overlay.
    pub(super) fn corpus_languages(&self, analyzer: &mut Analyzer) -> Vec<Lang> {
        let mut languages = vec![analyzer.default_language()];
        let mut add = |lang: Lang| {
            if !languages.contains(&lang) {
                languages.push(lang);
            }
        };
        self.languages.iter().copied().for_each(&mut add);
        for slot in self.overlay.values() {
            if let Some(entry) = &slot.entry {
                add(entry.document(analyzer).lang);
            }
        }
        languages
    }

    /// Applies a pushed change, unless a newer one of the page is there.
    pub(super) fn apply(&mut self, op: Op) {
        let (id, seq) = (op.id(), op.seq());
        // Changes may be pushed again after the index was reopened: the newest wins.
        if self.overlay.get(&id).is_some_and(|slot| slot.seq > seq) {
            return;
        }
        let entry = match op {
            Op::Put(entry) => Some(entry),
            Op::Remove { .. } => None,
        };
        self.overlay.insert(id, Slot { seq, entry });
    }
}

/// A pushed change.
#[derive(Clone)]
pub(super) enum Op {
    Put(Arc<PageToIndex>),
    Remove { id: u64, seq: u64 },
}

impl Op {
    pub(super) fn seq(&self) -> u64 {
        match self {
            Self::Put(entry) => entry.seq,
            Self::Remove { seq, .. } => *seq,
        }
    }

    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Put(entry) => entry.id,
            Self::Remove { id, .. } => *id,
        }
    }

    /// Returns whether the next search must see the change. It must see all removals.
    pub(super) fn is_due(&self) -> bool {
        match self {
            Self::Put(entry) => entry.is_due(),
            Self::Remove { .. } => true,
        }
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Put(entry) => entry.weight,
            Self::Remove { .. } => 200,
        }
    }
}

/// Returns the languages of the pages on disk, most used first. Unreadable terms are ignored.
pub(super) fn languages(searcher: &Searcher, fields: Fields) -> Vec<Lang> {
    let mut counts: Vec<(u64, Lang)> = Lang::all()
        .map(|lang| {
            let key = key_of(key::LANGUAGE, lang.code());
            (searcher.doc_freq(&Term::from_field_text(fields.keys, &key)).unwrap_or(0), lang)
        })
        .filter(|(count, _)| *count > 0)
        .collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.into_iter().map(|(_, lang)| lang).collect()
}
