//! Finds the best documents of a segment by their words, without scoring all (MaxScore).
//!
//! A list has the documents with one term, and adds at most a known score to each. Once enough
//! documents are found, lists that together add too little for a better one are no longer read, but
//! only looked up for documents of the other lists. The result is that of scoring all documents.

use std::{cmp::Reverse, sync::Arc};

use tantivy::{
    InvertedIndexReader,
    postings::{BlockSegmentPostings, Postings, SegmentPostings, TermInfo},
    schema::IndexRecordOption,
};

use super::{
    bm25::{MAX_SATURATION, Saturation, Stats},
    doc_bit_set::DocBitSet,
    phrase_postings::reach,
    plan::Plan,
    rank::{SLUG_WEIGHT, TAG_WEIGHT},
    schema::Fields,
    terms::Segment,
    top_docs::TopDocs,
};

type Result<T> = tantivy::Result<T>;

/// Number of documents whose scores are added up together: few enough for the processor's cache.
const WINDOW_DOCS: u32 = if cfg!(test) { 256 } else { 4096 };
/// Number of documents in a block of postings, except in the last one.
const BLOCK_DOCS: usize = 128;
/// Number of documents whose scores are compared with the threshold together.
const CHUNK_DOCS: usize = 64;
/// Looking up a document takes as long as reading about this many documents of a list (measured).
const LOOKUP_DOCS: u64 = if cfg!(test) { 1 } else { 16 };
/// Factor for bounds of sums: sums of the same numbers in another order differ a little.
const ROUNDING: f32 = 1.0001;

/// The documents of a segment that can be results.
pub(super) struct Filter<'a> {
    /// Documents that include all that can be; `None` if all can be.
    pub(super) docs: Option<Arc<DocBitSet>>,
    /// Returns whether one of them is a result. It is called with ascending documents.
    pub(super) admits: &'a mut dyn FnMut(u32) -> bool,
}

/// Adds the best documents of the segment `number` to `best`.
pub(super) fn collect<'f>(
    (number, segment): (usize, &Segment<'_>),
    fields: Fields,
    plan: &Plan,
    stats: &Stats,
    filter: Filter<'f>,
    best: &'f mut TopDocs,
) -> Result<()> {
    let body_norms = segment.reader.get_fieldnorms_reader(fields.body)?;
    let title_norms = segment.reader.get_fieldnorms_reader(fields.title)?;
    let shares = Shares {
        body: Saturation::new(&body_norms, stats.average(stats.body_terms)),
        title: Saturation::new(&title_norms, stats.average(stats.title_terms)),
    };
    let lists = Lists::open(segment, plan, stats, &shares)?;
    let lookups = filter.docs.as_ref().map_or(u64::MAX, |docs| u64::from(docs.count()));
    let lookup_cost = lookups.saturating_mul(LOOKUP_DOCS * lists.all.len() as u64);
    let mut search = Search { lists, scores: Vec::new(), number, filter, best };
    match search.filter.docs.clone() {
        Some(docs) if lookup_cost < search.lists.docs() => {
            docs.iter().try_for_each(|doc| search.offer(doc))
        }
        _ => search.read(segment.reader.max_doc()),
    }
}

/// The saturation of the fields that have lengths.
struct Shares<'a> {
    body: Saturation<'a>,
    title: Saturation<'a>,
}

/// The documents of a list.
enum Docs<'a> {
    /// Those with one term.
    Postings {
        /// Reads them in order, from `next` in its block.
        reader: Box<BlockSegmentPostings>,
        next: usize,
        /// Looks single documents up. Opened when it is needed.
        lookup: Option<Box<SegmentPostings>>,
        index: &'a InvertedIndexReader,
        term: &'a TermInfo,
    },
    /// Those with one of the terms of a prefix, which counts once.
    Bits { docs: DocBitSet, next: u32 },
}

/// The documents with a term of the question, and what it adds to their scores.
struct List<'a> {
    docs_with: Docs<'a>,
    /// Number of these documents.
    docs: u64,
    weight: f32,
    /// The saturation of the field; `None` if the term adds its weight.
    shares: Option<&'a Saturation<'a>>,
    /// The maximum that the term adds.
    max: f32,
}

impl List<'_> {
    fn score(&self, doc: u32, count: u32) -> f32 {
        self.weight * self.shares.map_or(1.0, |shares| shares.share(doc, count))
    }

    /// Returns the first document that was not read yet, from `from` on.
    fn next_doc(&mut self, from: u32) -> Option<u32> {
        match &mut self.docs_with {
            Docs::Postings { reader, next, .. } => loop {
                match reader.docs().get(*next) {
                    Some(doc) if *doc >= from => return Some(*doc),
                    Some(_) => *next = reader.seek(from),
                    None if reader.docs().len() < BLOCK_DOCS => return None,
                    None => {
                        reader.advance();
                        *next = 0;
                    }
                }
            },
            Docs::Bits { docs, next } => {
                *next = docs.next_from(from.max(*next))?;
                Some(*next)
            }
        }
    }

    /// Adds the scores of the unread documents before `first` + [`WINDOW_DOCS`] to `sums`, which
    /// begins with document `first`.
    fn add_scores(&mut self, first: u32, sums: &mut [f32]) {
        let (weight, shares) = (self.weight, self.shares);
        let mut add = |doc: u32, count: u32| match sums.get_mut((doc - first) as usize) {
            Some(sum) => {
                *sum += weight * shares.map_or(1.0, |shares| shares.share(doc, count));
                true
            }
            None => false,
        };
        match &mut self.docs_with {
            Docs::Postings { reader, next, .. } => loop {
                let docs = reader.docs();
                while let Some(doc) = docs.get(*next) {
                    if !add(*doc, reader.freq(*next)) {
                        return;
                    }
                    *next += 1;
                }
                if docs.len() < BLOCK_DOCS {
                    return;
                }
                reader.advance();
                *next = 0;
            },
            Docs::Bits { docs, next } => {
                while let Some(doc) = docs.next_from(*next) {
                    *next = doc;
                    if !add(doc, 1) {
                        return;
                    }
                    *next = doc + 1;
                }
            }
        }
    }

    /// Returns what the term adds to the score of a document. Call it with ascending documents.
    fn look_up(&mut self, doc: u32) -> Result<f32> {
        let count = match &mut self.docs_with {
            Docs::Postings { lookup, index, term, .. } => {
                let lookup = match lookup {
                    Some(lookup) => lookup,
                    None => lookup.insert(Box::new(
                        index.read_postings_from_terminfo(term, IndexRecordOption::WithFreqs)?,
                    )),
                };
                reach(lookup, doc).then(|| lookup.term_freq())
            }
            Docs::Bits { docs, .. } => docs.contains(doc).then_some(1),
        };
        Ok(count.map_or(0.0, |count| self.score(doc, count)))
    }
}

/// The lists of a plan in a segment.
struct Lists<'a> {
    /// In the order in which their scores are added.
    all: Vec<List<'a>>,
    /// Indexes of the lists, each with the maximum that it and those behind it add together. The
    /// list that can add most is first.
    by_max: Vec<(usize, f32)>,
    /// Indexes of the lists, the longest first.
    by_length: Vec<usize>,
}

impl<'a> Lists<'a> {
    fn open(
        segment: &'a Segment<'_>,
        plan: &Plan,
        stats: &Stats,
        shares: &'a Shares<'a>,
    ) -> Result<Self> {
        let mut lists = Self { all: Vec::new(), by_max: Vec::new(), by_length: Vec::new() };
        lists.add_groups(segment, plan, stats, shares)?;
        let all = &lists.all;
        lists.by_length = (0..all.len()).collect();
        lists.by_length.sort_by_key(|list| Reverse(all[*list].docs));
        lists.by_max = (0..all.len()).map(|list| (list, 0.0)).collect();
        lists.by_max.sort_by(|a, b| all[b.0].max.total_cmp(&all[a.0].max));
        let mut sum = 0.0;
        for (list, left) in lists.by_max.iter_mut().rev() {
            sum += all[*list].max;
            *left = sum;
        }
        Ok(lists)
    }

    /// Returns the number of documents of all lists.
    fn docs(&self) -> u64 {
        self.all.iter().map(|list| list.docs).sum()
    }

    fn add_groups(
        &mut self,
        segment: &'a Segment<'_>,
        plan: &Plan,
        stats: &Stats,
        shares: &'a Shares<'a>,
    ) -> Result<()> {
        for (number, (group, found)) in plan.groups.iter().zip(&segment.groups).enumerate() {
            let weight = stats.idf(number) * group.multiplier;
            let (body, title) = (Some(&shares.body), Some(&shares.title));
            if group.prefix.is_some() {
                let texts = [(&*segment.body, &*found.body), (&*segment.words, &*found.words)];
                self.add_bits(segment.with_any(&texts)?, body, weight);
                let titles = [(&*segment.title, &*found.title)];
                self.add_bits(segment.with_any(&titles)?, title, weight);
            } else {
                self.add(&segment.body, &found.body, body, weight)?;
                self.add(&segment.title, &found.title, title, weight)?;
            }
            self.add(&segment.keys, found.tag.as_slice(), None, weight * TAG_WEIGHT)?;
            self.add(&segment.keys, found.slug.as_slice(), None, weight * SLUG_WEIGHT)?;
            let exact_weight = weight * group.exact_weight;
            self.add(&segment.words, found.exact.as_slice(), None, exact_weight)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        index: &'a InvertedIndexReader,
        terms: &'a [TermInfo],
        shares: Option<&'a Saturation<'a>>,
        weight: f32,
    ) -> Result<()> {
        for term in terms {
            let option = IndexRecordOption::WithFreqs;
            let reader = Box::new(index.read_block_postings_from_terminfo(term, option)?);
            let docs_with = Docs::Postings { reader, next: 0, lookup: None, index, term };
            self.push(docs_with, u64::from(term.doc_freq), shares, weight);
        }
        Ok(())
    }

    fn add_bits(&mut self, docs: DocBitSet, shares: Option<&'a Saturation<'a>>, weight: f32) {
        let count = u64::from(docs.count());
        self.push(Docs::Bits { docs, next: 0 }, count, shares, weight);
    }

    fn push(
        &mut self,
        docs_with: Docs<'a>,
        docs: u64,
        shares: Option<&'a Saturation<'a>>,
        weight: f32,
    ) {
        let max = weight * shares.map_or(1.0, |_| MAX_SATURATION);
        self.all.push(List { docs_with, docs, weight, shares, max });
    }

    /// Returns the lists to read for documents with a score above `least`, in order, and the maximum
    /// that the others add together. The longest lists are left out first, if looking up the
    /// documents of the others is faster than reading them.
    fn to_read(&self, least: f32) -> (Vec<usize>, f32) {
        let (mut others, mut unread) = (0.0, 0);
        let mut read: Vec<usize> = Vec::with_capacity(self.all.len());
        for &list in &self.by_length {
            let sum = others + self.all[list].max;
            match sum * ROUNDING <= least {
                true => (others, unread) = (sum, unread + self.all[list].docs),
                false => read.push(list),
            }
        }
        if (self.docs() - unread) * LOOKUP_DOCS > unread {
            return ((0..self.all.len()).collect(), 0.0);
        }
        read.sort_unstable();
        (read, others)
    }
}

/// A search for the best documents of a segment.
struct Search<'a, 'f> {
    lists: Lists<'a>,
    /// What each list adds to the score of a document.
    scores: Vec<f32>,
    /// Number of the segment.
    number: usize,
    filter: Filter<'f>,
    best: &'f mut TopDocs,
}

impl Search<'_, '_> {
    /// Returns the score that a document must exceed to be among the best.
    fn least_score(&self) -> f32 {
        self.best.threshold().max(0.0) as f32
    }

    /// Offers the documents that can be among the best, window by window.
    fn read(&mut self, max_doc: u32) -> Result<()> {
        let mut sums = vec![0.0_f32; WINDOW_DOCS as usize];
        let mut from = 0;
        while from < max_doc {
            let mut least = self.least_score();
            let (read, others) = self.lists.to_read(least);
            let lists = &mut self.lists.all;
            let Some(first) = read.iter().filter_map(|list| lists[*list].next_doc(from)).min()
            else {
                return Ok(());
            };
            sums.fill(0.0);
            read.iter().for_each(|list| lists[*list].add_scores(first, &mut sums));
            for (chunk_first, chunk) in (first..).step_by(CHUNK_DOCS).zip(sums.chunks(CHUNK_DOCS)) {
                // Most documents have none of the words or a low score.
                let can_be_best = |sum: f32| sum > 0.0 && (sum + others) * ROUNDING > least;
                if !chunk.iter().fold(false, |any, sum| any | can_be_best(*sum)) {
                    continue;
                }
                for (doc, sum) in (chunk_first..).zip(chunk) {
                    if *sum <= 0.0 || (*sum + others) * ROUNDING <= least {
                        continue;
                    }
                    match read.len() == self.lists.all.len() {
                        true => self.add(doc, *sum),
                        false => self.offer(doc)?,
                    }
                    least = self.least_score();
                }
            }
            from = first.saturating_add(WINDOW_DOCS);
        }
        Ok(())
    }

    /// Looks up the score of a document, and adds the document if it is among the best.
    fn offer(&mut self, doc: u32) -> Result<()> {
        if !self.may_match(doc) {
            return Ok(());
        }
        let least = self.least_score();
        self.scores.clear();
        self.scores.resize(self.lists.all.len(), 0.0);
        let mut sum = 0.0;
        for &(list, left) in &self.lists.by_max {
            if (sum + left) * ROUNDING <= least {
                return Ok(());
            }
            let score = self.lists.all[list].look_up(doc)?;
            sum += score;
            self.scores[list] = score;
        }
        // Added in the same order for each document: equal pages have equal scores.
        self.add(doc, self.scores.iter().sum());
        Ok(())
    }

    /// Adds a document if its score is among the best.
    fn add(&mut self, doc: u32, score: f32) {
        if score > self.least_score() && self.may_match(doc) && (self.filter.admits)(doc) {
            self.best.add(f64::from(score), self.number, doc);
        }
    }

    fn may_match(&self, doc: u32) -> bool {
        self.filter.docs.as_ref().is_none_or(|docs| docs.contains(doc))
    }
}
