//! Runs a plan on the disk index: statistics, candidates, and their term occurrences.
//!
//! Conditions are bit sets. Positions of phrases are read only for documents that are among the
//! best so far.

use std::sync::Arc;

use tantivy::{
    DocSet, InvertedIndexReader, Searcher, TERMINATED,
    postings::{Postings, TermInfo},
    schema::IndexRecordOption,
};

use super::{
    best_docs::{self, Filter},
    bm25::Stats,
    match_table::{Candidate, Cell, MatchTable, Occurrences},
    names::{self, NameMatch},
    overlay::Overlay,
    phrase_postings::reach,
    plan::Plan,
    schema::Fields,
    terms::{AllowedDocs, Segment},
    top_docs::TopDocs,
};

type Result<T> = tantivy::Result<T>;

/// Maximum number of documents of a segment that are found by one kind of whole name.
const MAX_NAMED_DOCS: usize = 64;

/// A plan running on the disk index.
pub(super) struct DiskSearch<'a, 'p> {
    fields: Fields,
    plan: &'p Plan,
    overlay: &'a Overlay,
    segments: Vec<Segment<'a>>,
}

impl<'a, 'p> DiskSearch<'a, 'p> {
    /// Looks up the plan's terms.
    pub(super) fn new(
        searcher: &'a Searcher,
        fields: Fields,
        plan: &'p Plan,
        overlay: &'a Overlay,
    ) -> Result<Self> {
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|reader| Segment::open(reader, fields, plan))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { fields, plan, overlay, segments })
    }

    /// Returns the statistics of the disk index. Replaced documents count until tantivy merges them
    /// away.
    pub(super) fn stats(&self) -> Stats {
        let mut stats =
            Stats { frequency: vec![[0; 4]; self.plan.groups.len()], ..Stats::default() };
        for segment in &self.segments {
            stats.docs += u64::from(segment.reader.max_doc());
            stats.body_terms += segment.body.total_num_tokens();
            stats.title_terms += segment.title.total_num_tokens();
            for (total, found) in stats.frequency.iter_mut().zip(&segment.groups) {
                total.iter_mut().zip(found.frequency()).for_each(|(a, b)| *a += b);
            }
        }
        stats
    }

    /// Returns the segments with the plan's terms.
    pub(super) fn into_segments(self) -> Vec<Segment<'a>> {
        self.segments
    }

    /// Returns whether a document meets the plan's conditions.
    pub(super) fn has_match(&self) -> Result<bool> {
        for segment in &self.segments {
            if segment.has_match(self.plan, &|doc| self.is_match(segment, None, doc))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds about `max_count` candidates to `hits`.
    pub(super) fn collect(
        &self,
        stats: &Stats,
        max_count: usize,
        hits: &mut MatchTable,
    ) -> Result<()> {
        let mut best = TopDocs::new(max_count);
        let mut named_docs = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let mut allowed = if self.plan.is_unconditional() {
                None
            } else {
                Some(segment.allowed_without_phrases(self.plan)?)
            };
            let docs = allowed.as_ref().map(|allowed| Arc::clone(allowed.docs()));
            if docs.as_ref().is_some_and(|docs| docs.next_from(0).is_none()) {
                continue;
            }
            self.collect_named(number, allowed.as_ref(), max_count, &mut named_docs)?;
            if self.plan.names_only {
                continue;
            }
            if let (true, Some(allowed)) = (self.plan.groups.is_empty(), &mut allowed) {
                self.collect_newest(number, allowed, &mut best);
                continue;
            }
            let mut admits = |doc| self.is_match(segment, allowed.as_mut(), doc);
            let filter = Filter { docs, admits: &mut admits };
            let numbered = (number, segment);
            best_docs::collect(numbered, self.fields, self.plan, stats, filter, &mut best)?;
        }
        let mut docs: Vec<(u32, u32, NameMatch)> = best
            .into_docs()
            .map(|(segment, doc)| (segment, doc, NameMatch::default()))
            .chain(named_docs)
            .collect();
        docs.sort_unstable_by_key(|(segment, doc, _)| (*segment, *doc));
        docs.dedup_by(|b, a| {
            let is_same = (a.0, a.1) == (b.0, b.1);
            if is_same {
                a.2.add(b.2);
            }
            is_same
        });
        for segment_docs in docs.chunk_by(|a, b| a.0 == b.0) {
            let segment = &self.segments[segment_docs[0].0 as usize];
            self.fill_matches(segment, segment_docs, hits)?;
        }
        Ok(())
    }

    /// Returns whether the document exists, meets the plan's conditions (`allowed`), and is not
    /// replaced in the overlay. Call it with a segment's documents in ascending order.
    fn is_match(&self, segment: &Segment<'_>, allowed: Option<&mut AllowedDocs>, doc: u32) -> bool {
        let may_match = match &allowed {
            Some(allowed) => allowed.may_match(doc),
            None => !segment.reader.is_deleted(doc),
        };
        let is_superseded =
            || segment.ids.first(doc).is_some_and(|id| self.overlay.contains_key(&id));
        may_match
            && (self.overlay.is_empty() || !is_superseded())
            && allowed.is_none_or(|allowed| allowed.phrases_match(doc))
    }

    /// Adds the newest documents that meet the conditions: the best, if there are only filters.
    fn collect_newest(&self, number: usize, allowed: &mut AllowedDocs, best: &mut TopDocs) {
        let segment = &self.segments[number];
        for doc in Arc::clone(allowed.docs()).iter() {
            let time = segment.times.first(doc).unwrap_or(i64::MIN) as f64;
            if time > best.threshold() && self.is_match(segment, Some(allowed), doc) {
                best.add(time, number, doc);
            }
        }
    }

    /// Collects documents that the question names.
    fn collect_named(
        &self,
        number: usize,
        allowed: Option<&AllowedDocs>,
        max_count: usize,
        out: &mut Vec<(u32, u32, NameMatch)>,
    ) -> Result<()> {
        let segment = &self.segments[number];
        let Some(query) = &self.plan.names else { return Ok(()) };
        for (which, key) in query.whole.iter().enumerate() {
            let Some(mut postings) = segment.with_key(key)? else { continue };
            // Each list starts at the first document again.
            let mut allowed = allowed.cloned();
            let mut left = MAX_NAMED_DOCS;
            while postings.doc() != TERMINATED && left > 0 {
                let doc = postings.doc();
                if self.is_match(segment, allowed.as_mut(), doc) {
                    out.push((number as u32, doc, NameMatch::whole(which)));
                    left -= 1;
                }
                postings.advance();
            }
        }
        if let Some(partial) = &query.partial {
            let is_live = |doc| !segment.reader.is_deleted(doc);
            // Without other pages, these are enough for the list.
            let enough = if self.plan.names_only { max_count } else { names::MAX_PARTIAL_MATCHES };
            let mut found = names::partial_matches(segment, partial, enough, &is_live)?;
            let mut allowed = allowed.cloned();
            found.retain(|(doc, _)| self.is_match(segment, allowed.as_mut(), *doc));
            names::keep_best(&mut found, max_count);
            out.extend(found.into_iter().map(|(doc, names)| (number as u32, doc, names)));
        }
        Ok(())
    }

    /// Adds `docs` of `segment`, ascending, to `hits` with their term occurrences.
    fn fill_matches(
        &self,
        segment: &Segment<'_>,
        docs: &[(u32, u32, NameMatch)],
        hits: &mut MatchTable,
    ) -> Result<()> {
        let body_norms = segment.reader.get_fieldnorms_reader(self.fields.body)?;
        let title_norms = segment.reader.get_fieldnorms_reader(self.fields.title)?;
        let first = hits.candidates.len();
        for &(number, doc, names) in docs {
            hits.push(Candidate {
                id: segment.ids.first(doc).unwrap_or(u64::MAX),
                doc_address: (number, doc),
                updated_at: segment.times.first(doc).unwrap_or(0),
                body_len: body_norms.fieldnorm(doc),
                title_len: title_norms.fieldnorm(doc),
                names,
            });
        }
        let mut rows = SegmentRows { docs, first, hits };
        for (group, found) in segment.groups.iter().enumerate() {
            let is_prefix = self.plan.groups[group].prefix.is_some();
            // Positions are read only for words that can form a pair.
            let needs_positions = self.plan.is_paired(group) && !is_prefix;
            let read = GroupRead { group, is_prefix, needs_positions };
            rows.count(read, &segment.body, &found.body, |cell| &mut cell.body)?;
            rows.count(read, &segment.title, &found.title, |cell| &mut cell.title)?;
            rows.mark(group, &segment.words, &found.words, |cell| {
                cell.body.count = cell.body.count.max(1);
            })?;
            rows.mark(group, &segment.keys, found.tag.as_slice(), |cell| cell.tag = true)?;
            rows.mark(group, &segment.keys, found.slug.as_slice(), |cell| cell.slug = true)?;
            rows.mark(group, &segment.words, found.exact.as_slice(), |cell| cell.exact = true)?;
        }
        Ok(())
    }
}

/// The rows of a match table for documents of one segment.
struct SegmentRows<'a> {
    /// The documents, ascending.
    docs: &'a [(u32, u32, NameMatch)],
    /// The row of the first document.
    first: usize,
    hits: &'a mut MatchTable,
}

/// How the occurrences of a group are read.
#[derive(Clone, Copy)]
struct GroupRead {
    group: usize,
    is_prefix: bool,
    needs_positions: bool,
}

impl SegmentRows<'_> {
    /// Counts the occurrences of the terms `infos` in each document, in the cell's part that `cell`
    /// returns.
    fn count(
        &mut self,
        read: GroupRead,
        reader: &InvertedIndexReader,
        infos: &[TermInfo],
        cell: fn(&mut Cell) -> &mut Occurrences,
    ) -> Result<()> {
        let option = if read.needs_positions {
            IndexRecordOption::WithFreqsAndPositions
        } else {
            IndexRecordOption::WithFreqs
        };
        if infos.is_empty() {
            return Ok(());
        }
        let open = |info| reader.read_postings_from_terminfo(info, option);
        let mut forms = infos.iter().map(open).collect::<std::io::Result<Vec<_>>>()?;
        for (row, &(_, doc, _)) in self.docs.iter().enumerate() {
            let at = self.hits.positions.len();
            let mut found = Occurrences { first_position: at as u32, ..Occurrences::default() };
            let mut form_count = 0;
            for form in &mut forms {
                if reach(form, doc) {
                    found.count += form.term_freq();
                    form_count += 1;
                    if read.needs_positions {
                        form.append_positions_with_offset(0, &mut self.hits.positions);
                    }
                }
            }
            if form_count > 1 {
                self.hits.positions[at..].sort_unstable();
            }
            found.position_count = (self.hits.positions.len() - at) as u32;
            if read.is_prefix {
                found.count = found.count.min(1);
            }
            *cell(self.hits.cell(self.first + row, read.group)) = found;
        }
        Ok(())
    }

    /// Calls `set` with the cell of each document that has one of the terms `infos`.
    fn mark(
        &mut self,
        group: usize,
        reader: &InvertedIndexReader,
        infos: &[TermInfo],
        set: fn(&mut Cell),
    ) -> Result<()> {
        for info in infos {
            let mut postings =
                reader.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
            for (row, &(_, doc, _)) in self.docs.iter().enumerate() {
                if reach(&mut postings, doc) {
                    set(self.hits.cell(self.first + row, group));
                }
            }
        }
        Ok(())
    }
}
