//! Pages that a caller with access to some sources can see, and their statistics.
//!
//! Statistics, languages and names for a restricted question come from these pages alone, each
//! counted once. So no answer depends on a page of another source, nor on merges and commits caused
//! by one.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use brain_protocol::SourceId;
use parking_lot::Mutex;
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, index::SegmentId};

use super::{
    doc_bit_set::DocBitSet,
    document::{Analyzer, PageToIndex},
    encoding::{hashed_key, key},
    fold::BuildTermHasher,
    language::Lang,
    plan::Plan,
    schema::{Fields, rounded_length},
    terms::Segment,
    view::View,
};

type Result<T> = tantivy::Result<T>;

/// Maximum number of cached segments. Each takes an eighth of a byte per document.
const MAX_CACHED_SEGMENTS: usize = 512;

/// The pages that one caller can see in one search.
pub(super) struct VisiblePages {
    /// Documents by segment, in the searcher's order, without those that the overlay replaces.
    pub(super) segments: Vec<Arc<DocBitSet>>,
    /// The pages of the overlay, all analyzed.
    pub(super) overlay_entries: Vec<Arc<PageToIndex>>,
    /// Statistics of all these pages.
    pub(super) totals: Totals,
    /// The default language, then those of the pages, most used first.
    pub(super) languages: Vec<Lang>,
}

/// Statistics of pages. Lengths are rounded as in the disk index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Number of pages.
    pub(super) docs: u64,
    /// Terms in their bodies.
    pub(super) body_terms: u64,
    /// Terms in their titles.
    pub(super) title_terms: u64,
    /// Number of pages by language.
    languages: BTreeMap<Lang, u64>,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.docs += other.docs;
        self.body_terms += other.body_terms;
        self.title_terms += other.title_terms;
        for (lang, count) in &other.languages {
            *self.languages.entry(*lang).or_default() += count;
        }
    }

    /// Returns the statistics of `docs` of one segment.
    fn of(segment: &Segment<'_>, fields: Fields, docs: &DocBitSet) -> Result<Self> {
        let body = segment.reader.get_fieldnorms_reader(fields.body)?;
        let title = segment.reader.get_fieldnorms_reader(fields.title)?;
        let mut totals = Self::default();
        for doc in docs.iter() {
            totals.docs += 1;
            totals.body_terms += u64::from(body.fieldnorm(doc));
            totals.title_terms += u64::from(title.fieldnorm(doc));
        }
        for lang in Lang::all() {
            let mut count = 0;
            each_doc_with_key(segment, key::LANGUAGE, lang.code(), |doc| {
                count += u64::from(docs.contains(doc));
            })?;
            if count > 0 {
                totals.languages.insert(lang, count);
            }
        }
        Ok(totals)
    }
}

impl VisiblePages {
    /// Returns the pages of `sources` in `view`.
    pub(super) fn of(
        view: &View,
        sources: &[SourceId],
        fields: Fields,
        cache: &VisibleDocsCache,
        analyzer: &mut Analyzer,
    ) -> Result<Self> {
        let (mut overlay_entries, mut changed) = (Vec::new(), HashSet::default());
        for (id, slot) in &view.overlay {
            match &slot.entry {
                Some(entry) if !sources.contains(&entry.source) => continue,
                Some(entry) => overlay_entries.push(Arc::clone(entry)),
                // The source of a removed page is unknown.
                None => {}
            }
            changed.insert(*id);
        }
        let mut totals = Totals::default();
        for entry in &overlay_entries {
            let document = entry.document(analyzer);
            totals.docs += 1;
            totals.body_terms += u64::from(rounded_length(document.body.count));
            totals.title_terms += u64::from(rounded_length(document.title.count));
            *totals.languages.entry(document.lang).or_default() += 1;
        }
        let mut segments = Vec::new();
        for reader in view.searcher.segment_readers() {
            let visible = cache.get_or_build(&view.searcher, reader, sources, fields)?;
            let visible = visible.without(reader, fields, &changed)?;
            totals.add(&visible.totals);
            segments.push(Arc::clone(&visible.docs));
        }
        let languages = languages(&totals, analyzer.default_language());
        Ok(Self { segments, overlay_entries, totals, languages })
    }
}

/// Returns the default language, then the others of the pages, most used first.
fn languages(totals: &Totals, default: Lang) -> Vec<Lang> {
    let mut counts: Vec<(u64, Lang)> =
        totals.languages.iter().map(|(lang, count)| (*count, *lang)).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let others = counts.into_iter().map(|(_, lang)| lang).filter(|lang| *lang != default);
    std::iter::once(default).chain(others).collect()
}

/// Calls `f` with the documents of `segment` that have the key `value` in `namespace`.
fn each_doc_with_key(
    segment: &Segment<'_>,
    namespace: char,
    value: &str,
    mut f: impl FnMut(u32),
) -> Result<()> {
    let key = hashed_key(namespace, value);
    let Some(mut postings) = segment.with_key(&key)? else { return Ok(()) };
    let mut doc = postings.doc();
    while doc != TERMINATED {
        f(doc);
        doc = postings.advance();
    }
    Ok(())
}

/// The visible documents of one segment, and their statistics.
#[derive(Clone)]
struct VisibleDocs {
    docs: Arc<DocBitSet>,
    totals: Totals,
}

impl VisibleDocs {
    fn of(reader: &SegmentReader, sources: &[SourceId], fields: Fields) -> Result<Self> {
        let segment = Segment::open(reader, fields, &Plan::default())?;
        let mut docs = DocBitSet::empty(reader.max_doc());
        for source in sources {
            each_doc_with_key(&segment, key::SOURCE, source.as_str(), |doc| {
                if !reader.is_deleted(doc) {
                    docs.insert(doc);
                }
            })?;
        }
        let totals = Totals::of(&segment, fields, &docs)?;
        Ok(Self { docs: Arc::new(docs), totals })
    }

    /// Returns these documents without those of changed pages.
    fn without(
        self: Arc<Self>,
        reader: &SegmentReader,
        fields: Fields,
        changed: &HashSet<u64, BuildTermHasher>,
    ) -> Result<Arc<Self>> {
        let ids = reader.fast_fields().u64("id")?;
        if changed.iter().all(|id| *id > ids.max_value()) {
            return Ok(self);
        }
        let is_changed = |doc: &u32| ids.first(*doc).is_some_and(|id| changed.contains(&id));
        let changed_docs: Vec<u32> = self.docs.iter().filter(is_changed).collect();
        if changed_docs.is_empty() {
            return Ok(self);
        }
        let mut docs = DocBitSet::clone(&self.docs);
        changed_docs.into_iter().for_each(|doc| docs.remove(doc));
        let segment = Segment::open(reader, fields, &Plan::default())?;
        let totals = Totals::of(&segment, fields, &docs)?;
        Ok(Arc::new(Self { docs: Arc::new(docs), totals }))
    }
}

/// Segment, number of its deletions, and the caller's sources.
type VisibleDocsKey = (SegmentId, u32, Vec<SourceId>);

/// Cache of visible documents. An entry is valid until its segment gets more deletions or is
/// merged.
#[derive(Default)]
pub(super) struct VisibleDocsCache(Mutex<HashMap<VisibleDocsKey, Arc<VisibleDocs>>>);

impl VisibleDocsCache {
    fn get_or_build(
        &self,
        searcher: &Searcher,
        reader: &SegmentReader,
        sources: &[SourceId],
        fields: Fields,
    ) -> Result<Arc<VisibleDocs>> {
        let key = (reader.segment_id(), reader.num_deleted_docs(), sources.to_vec());
        let cache = || self.0.lock();
        if let Some(visible) = cache().get(&key) {
            return Ok(Arc::clone(visible));
        }
        let visible = Arc::new(VisibleDocs::of(reader, sources, fields)?);
        let mut cache = cache();
        let current: HashSet<(SegmentId, u32)> = searcher
            .segment_readers()
            .iter()
            .map(|r| (r.segment_id(), r.num_deleted_docs()))
            .collect();
        cache.retain(|(id, deleted, _), _| current.contains(&(*id, *deleted)));
        if cache.len() >= MAX_CACHED_SEGMENTS {
            cache.clear();
        }
        cache.insert(key, Arc::clone(&visible));
        Ok(visible)
    }
}
