//! Search for callers who can see some sources only.
//!
//! Statistics and candidates come from [`VisiblePages`].
//!
//! One pass over the postings counts each group in every visible page. These counts yield the
//! statistics, the candidates and their cells. Pages count the same on disk and in the overlay, and
//! a prefix stands for all its terms. So results depend neither on a page's segment nor on the
//! words of other pages.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
};

use tantivy::{
    DocSet, InvertedIndexReader, Searcher, TERMINATED,
    fieldnorm::FieldNormReader,
    postings::{Postings, TermInfo},
    schema::IndexRecordOption,
};

use super::{
    bm25::Stats,
    doc_bit_set::DocBitSet,
    match_table::{
        Candidate, Cell, CellCounts, MatchTable, OVERLAY_SEGMENT, Occurrences, PlanMatches,
    },
    names::{self, NameMatch},
    overlay,
    phrase_postings::reach,
    plan::Plan,
    rank::Weights,
    schema::Fields,
    terms::Segment,
    visible_pages::VisiblePages,
};

type Result<T> = tantivy::Result<T>;

/// Runs `plan` on `visible` pages. Returns their statistics and their best `max_count` matches by
/// tier and by score without pairs.
pub(super) fn search<'a>(
    searcher: &'a Searcher,
    fields: Fields,
    plan: &Plan,
    visible: &VisiblePages,
    max_count: usize,
) -> Result<PlanMatches<'a>> {
    let totals = &visible.totals;
    let mut stats = Stats {
        docs: totals.docs,
        body_terms: totals.body_terms,
        title_terms: totals.title_terms,
        frequency: vec![[0; 4]; plan.groups.len()],
    };
    let mut parts = Vec::new();
    for (reader, docs) in searcher.segment_readers().iter().zip(&visible.segments) {
        let segment = Segment::open_whole(reader, fields, plan)?;
        parts.push(SegmentMatches::of(segment, fields, plan, docs, &mut stats)?);
    }
    let matched = overlay::count_visible(&visible.overlay_entries, plan, &mut stats);
    let weights = Weights::new(&stats, plan);
    let mut best = TopPages { heap: BinaryHeap::new(), max_count };
    for (number, part) in parts.iter().enumerate() {
        part.offer(number as u32, plan, &weights, &mut best);
    }
    let mut overlay_table = MatchTable::new(plan.groups.len());
    overlay::add_candidates(&matched, plan, &mut overlay_table);
    for (index, candidate) in overlay_table.candidates.iter().enumerate() {
        let cells = overlay_table.row(index).iter().enumerate();
        let score = cells
            .map(|(g, cell)| {
                weights.score(g, cell.counts(), candidate.body_len, candidate.title_len)
            })
            .sum::<f32>()
            + candidate.names.score();
        let time_and_id = || (candidate.updated_at, candidate.id);
        best.offer(candidate.names.tier(), score, (OVERLAY_SEGMENT, index as u32), time_and_id);
    }
    let mut chosen = best.addresses();
    chosen.sort_unstable();
    let mut hits = MatchTable::new(plan.groups.len());
    for addresses in chosen.chunk_by(|a, b| a.0 == b.0) {
        let docs = addresses.iter().map(|(_, doc)| *doc);
        match parts.get(addresses[0].0 as usize) {
            Some(part) => {
                let segment = addresses[0].0;
                part.add_candidates(segment, &docs.collect::<Vec<_>>(), plan, &mut hits)?;
            }
            None => {
                let docs: Vec<_> = docs.filter_map(|index| matched.get(index as usize)).collect();
                overlay::add_candidates(docs, plan, &mut hits);
            }
        }
    }
    let segments = parts.into_iter().map(|part| part.segment).collect();
    Ok(PlanMatches { stats, hits, segments })
}

/// The best pages so far.
struct TopPages {
    heap: BinaryHeap<Reverse<(Rank, DocAddress)>>,
    max_count: usize,
}

/// Tier, bits of the score, time and id: the order of results.
type Rank = (u8, u32, i64, Reverse<u64>);
/// A segment and a document there; or [`OVERLAY_SEGMENT`] and the index of a match of the overlay.
type DocAddress = (u32, u32);

impl TopPages {
    /// Adds a page if it is among the best. `time_and_id` returns the time of the page's last
    /// change and its id, unless tier and score alone exclude the page.
    fn offer(
        &mut self,
        tier: u8,
        score: f32,
        address: DocAddress,
        time_and_id: impl FnOnce() -> (i64, u64),
    ) {
        // Scores are not negative, so their bits have the same order.
        let score = score.max(0.0).to_bits();
        let least = self.heap.peek().filter(|_| self.heap.len() >= self.max_count);
        if least.is_some_and(|Reverse((least, _))| (least.0, least.1) > (tier, score)) {
            return;
        }
        let (updated_at, id) = time_and_id();
        self.heap.push(Reverse(((tier, score, updated_at, Reverse(id)), address)));
        if self.heap.len() > self.max_count {
            self.heap.pop();
        }
    }

    fn addresses(self) -> Vec<DocAddress> {
        self.heap.into_iter().map(|Reverse((_, address))| address).collect()
    }
}

/// Matches of a plan in the visible documents of one segment.
struct SegmentMatches<'a> {
    segment: Segment<'a>,
    body_norms: FieldNormReader,
    title_norms: FieldNormReader,
    /// The visible documents that meet the plan's conditions.
    allowed: Arc<DocBitSet>,
    /// By group: the visible documents with it, and its counts there.
    groups: Vec<Vec<(u32, CellCounts)>>,
    /// The allowed documents that the question names.
    names: HashMap<u32, NameMatch>,
}

impl<'a> SegmentMatches<'a> {
    fn of(
        segment: Segment<'a>,
        fields: Fields,
        plan: &Plan,
        visible: &Arc<DocBitSet>,
        stats: &mut Stats,
    ) -> Result<Self> {
        let mut allowed = Arc::clone(visible);
        if !plan.is_unconditional() {
            let mut docs = segment.matching_docs(plan)?;
            docs.intersect(visible);
            allowed = Arc::new(docs);
        }
        let mut scratch = vec![CellCounts::default(); segment.reader.max_doc() as usize];
        let mut groups = Vec::with_capacity(plan.groups.len());
        for (group, frequency) in stats.frequency.iter_mut().enumerate() {
            let counted = count_group(&segment, plan, group, visible, &mut scratch)?;
            for (_, counts) in &counted {
                let CellCounts { body, title, tag, slug, .. } = *counts;
                let has = [body > 0, title > 0, tag, slug];
                frequency.iter_mut().zip(has).for_each(|(total, has)| *total += u64::from(has));
            }
            groups.push(counted);
        }
        let mut names: HashMap<u32, NameMatch> = HashMap::new();
        for (index, key) in plan.names.iter().flat_map(|query| query.whole.iter().enumerate()) {
            let Some(mut postings) = segment.with_key(key)? else { continue };
            while postings.doc() != TERMINATED {
                if allowed.contains(postings.doc()) {
                    names.entry(postings.doc()).or_default().add(NameMatch::whole(index));
                }
                postings.advance();
            }
        }
        if let Some(partial) = plan.names.as_ref().and_then(|query| query.partial.as_ref()) {
            // Without a limit (`usize::MAX`): it would make results depend on a page's segment.
            let is_allowed = |doc| allowed.contains(doc);
            for (doc, found) in names::partial_matches(&segment, partial, usize::MAX, &is_allowed)?
            {
                names.entry(doc).or_default().add(found);
            }
        }
        Ok(Self {
            body_norms: segment.reader.get_fieldnorms_reader(fields.body)?,
            title_norms: segment.reader.get_fieldnorms_reader(fields.title)?,
            segment,
            allowed,
            groups,
            names,
        })
    }

    /// Offers every allowed document that matches to `best`. `number` is that of the segment.
    fn offer(&self, number: u32, plan: &Plan, weights: &Weights<'_>, best: &mut TopPages) {
        let time_and_id = |doc| {
            let time = self.segment.times.first(doc).unwrap_or(0);
            (time, self.segment.ids.first(doc).unwrap_or(u64::MAX))
        };
        if plan.groups.is_empty() {
            for doc in self.allowed.iter() {
                best.offer(0, 0.0, (number, doc), || time_and_id(doc));
            }
            return;
        }
        let mut sums = vec![0.0_f32; self.segment.reader.max_doc() as usize];
        for (group, counted) in self.groups.iter().enumerate() {
            for &(doc, counts) in counted {
                let (body, title) =
                    (self.body_norms.fieldnorm(doc), self.title_norms.fieldnorm(doc));
                sums[doc as usize] += weights.score(group, counts, body, title);
            }
        }
        for (doc, &sum) in (0..).zip(&sums) {
            if sum > 0.0 && self.allowed.contains(doc) && !self.names.contains_key(&doc) {
                best.offer(0, sum, (number, doc), || time_and_id(doc));
            }
        }
        for (&doc, &names) in &self.names {
            let sum = sums.get(doc as usize).copied().unwrap_or_default();
            best.offer(names.tier(), sum + names.score(), (number, doc), || time_and_id(doc));
        }
    }

    /// Adds `docs`, ascending, to the candidates. `number` is that of the segment.
    fn add_candidates(
        &self,
        number: u32,
        docs: &[u32],
        plan: &Plan,
        hits: &mut MatchTable,
    ) -> Result<()> {
        let mut rows = HashMap::with_capacity(docs.len());
        for &doc in docs {
            let row = hits.push(Candidate {
                id: self.segment.ids.first(doc).unwrap_or(u64::MAX),
                doc_address: (number, doc),
                updated_at: self.segment.times.first(doc).unwrap_or(0),
                body_len: self.body_norms.fieldnorm(doc),
                title_len: self.title_norms.fieldnorm(doc),
                names: self.names.get(&doc).copied().unwrap_or_default(),
            });
            rows.insert(doc, row);
        }
        for (group, counted) in self.groups.iter().enumerate() {
            for (doc, counts) in counted {
                let Some(&row) = rows.get(doc) else { continue };
                let cell = hits.cell(row, group);
                (cell.body.count, cell.title.count) = (counts.body, counts.title);
                (cell.tag, cell.slug) = (counts.tag, counts.slug);
                cell.exact = counts.exact;
            }
        }
        for (group, found) in self.segment.groups.iter().enumerate() {
            // Positions are read only for words that can form a pair.
            if plan.groups[group].prefix.is_some() || !plan.is_paired(group) {
                continue;
            }
            let mut record_field = |reader, infos, cell: fn(&mut Cell) -> &mut Occurrences| {
                self.record_positions(
                    reader,
                    infos,
                    docs,
                    hits,
                    |doc| rows[&doc],
                    |hits, row| cell(hits.cell(row, group)),
                )
            };
            record_field(&self.segment.body, &found.body, |cell| &mut cell.body)?;
            record_field(&self.segment.title, &found.title, |cell| &mut cell.title)?;
        }
        Ok(())
    }

    /// Records the positions of a group's forms in `docs`, which are ascending.
    fn record_positions(
        &self,
        reader: &InvertedIndexReader,
        infos: &[TermInfo],
        docs: &[u32],
        hits: &mut MatchTable,
        row: impl Fn(u32) -> usize,
        cell: impl Fn(&mut MatchTable, usize) -> &mut Occurrences,
    ) -> Result<()> {
        let open = |info| {
            reader.read_postings_from_terminfo(info, IndexRecordOption::WithFreqsAndPositions)
        };
        let mut forms = infos.iter().map(open).collect::<std::io::Result<Vec<_>>>()?;
        for &doc in docs {
            let at = hits.positions.len();
            for form in &mut forms {
                if reach(form, doc) {
                    form.append_positions_with_offset(0, &mut hits.positions);
                }
            }
            hits.positions[at..].sort_unstable();
            let places = (hits.positions.len() - at) as u32;
            let found = cell(hits, row(doc));
            (found.first_position, found.position_count) = (at as u32, places);
        }
        Ok(())
    }
}

/// Returns the visible documents with a group, and its counts there. `scratch` has an entry for
/// each document of the segment; all entries are zero before and after.
fn count_group(
    segment: &Segment<'_>,
    plan: &Plan,
    group: usize,
    visible: &DocBitSet,
    scratch: &mut [CellCounts],
) -> Result<Vec<(u32, CellCounts)>> {
    let found = &segment.groups[group];
    let mut docs = Vec::new();
    let mut count_terms = |reader: &InvertedIndexReader,
                           infos: &[TermInfo],
                           option: IndexRecordOption,
                           add: fn(&mut CellCounts, u32)| {
        for info in infos {
            let mut postings = reader.read_postings_from_terminfo(info, option)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if visible.contains(doc) {
                    let counts = &mut scratch[doc as usize];
                    if *counts == CellCounts::default() {
                        docs.push(doc);
                    }
                    add(counts, postings.term_freq());
                }
                doc = postings.advance();
            }
        }
        Ok::<(), std::io::Error>(())
    };
    let (basic, with_freqs) = (IndexRecordOption::Basic, IndexRecordOption::WithFreqs);
    if plan.groups[group].prefix.is_some() {
        // A prefix counts once.
        count_terms(&segment.body, &found.body, basic, |counts, _| counts.body = 1)?;
        count_terms(&segment.words, &found.words, basic, |counts, _| counts.body = 1)?;
        count_terms(&segment.title, &found.title, basic, |counts, _| counts.title = 1)?;
    } else {
        count_terms(&segment.body, &found.body, with_freqs, |counts, n| counts.body += n)?;
        count_terms(&segment.title, &found.title, with_freqs, |counts, n| counts.title += n)?;
    }
    count_terms(&segment.keys, found.tag.as_slice(), basic, |counts, _| counts.tag = true)?;
    count_terms(&segment.keys, found.slug.as_slice(), basic, |counts, _| counts.slug = true)?;
    count_terms(&segment.words, found.exact.as_slice(), basic, |counts, _| counts.exact = true)?;
    Ok(docs.into_iter().map(|doc| (doc, std::mem::take(&mut scratch[doc as usize]))).collect())
}
