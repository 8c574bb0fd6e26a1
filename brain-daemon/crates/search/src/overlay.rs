//! Overlay: in-memory pages that are newer than the disk index.
//!
//! It usually holds a few hundred changes; each question scans all of them.

use std::{collections::HashMap, sync::Arc};

use super::{
    bm25::Stats,
    document::{PageTerms, PageToIndex},
    encoding::{GAP_MARK, HashedTerm, TERM_MARK, Terms},
    fold::BuildTermHasher,
    match_table::{Candidate, MatchTable, OVERLAY_SEGMENT},
    names::{self, NameMatch},
    plan::{PageCondition, Phrase, Plan},
    query::Reach,
    schema::rounded_length,
};

/// The last change of a page.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) seq: u64,
    /// `None` for a removed page.
    pub(super) entry: Option<Arc<PageToIndex>>,
}

/// The newest uncommitted change by page id.
pub(super) type Overlay = HashMap<u64, Slot, BuildTermHasher>;

/// Adds the overlay's pages to the statistics and returns the matches.
pub(super) fn count_pages(overlay: &Overlay, plan: &Plan, stats: &mut Stats) -> Vec<OverlayMatch> {
    let finder = Finder::new(plan);
    let mut matched = Vec::new();
    for slot in overlay.values() {
        let Some(document) = slot.entry.as_ref().and_then(|entry| entry.analyzed_document()) else {
            continue;
        };
        stats.docs += 1;
        stats.body_terms += u64::from(document.body.count);
        stats.title_terms += u64::from(document.title.count);
        let Some(entry) = &slot.entry else { continue };
        finder.count(document, entry, stats, &mut matched);
    }
    matched
}

/// As [`count_pages`], for statistics that already include the number and lengths of `entries`.
pub(super) fn count_visible(
    entries: &[Arc<PageToIndex>],
    plan: &Plan,
    stats: &mut Stats,
) -> Vec<OverlayMatch> {
    let finder = Finder::new(plan);
    let mut matched = Vec::new();
    for entry in entries {
        let Some(document) = entry.analyzed_document() else { continue };
        finder.count(document, entry, stats, &mut matched);
    }
    matched
}

/// Occurrences of a plan's terms in one page of the overlay.
pub(super) struct OverlayMatch {
    entry: Option<Arc<PageToIndex>>,
    /// Index of the group, and the occurrence; ordered by group.
    cells: Vec<(usize, TermOccurrence)>,
    /// Whether the page matches the plan. Only then is `entry` set.
    is_match: bool,
}

/// Field in which a term occurs, with its position there, if known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TermOccurrence {
    Body(u32),
    /// In the body, without position: a prefix.
    BodyPrefix,
    Title(u32),
    /// In the title, without position: a prefix.
    TitlePrefix,
    Tag,
    Slug,
    Exact,
}

impl TermOccurrence {
    /// Returns the field's index in [`Stats::frequency`], if it counts there.
    fn field(self) -> Option<usize> {
        Some(match self {
            Self::Body(_) | Self::BodyPrefix => 0,
            Self::Title(_) | Self::TitlePrefix => 1,
            Self::Tag => 2,
            Self::Slug => 3,
            Self::Exact => return None,
        })
    }
}

/// Adds the matching pages to the candidates.
pub(super) fn add_candidates<'m>(
    matched: impl IntoIterator<Item = &'m OverlayMatch>,
    plan: &Plan,
    hits: &mut MatchTable,
) {
    for found in matched {
        let Some(document) = found.entry.as_ref().and_then(|entry| entry.analyzed_document())
        else {
            continue;
        };
        let names = plan
            .names
            .as_ref()
            .map_or_else(NameMatch::default, |query| names::of_document(query, document));
        let index = hits.push(Candidate {
            id: document.id,
            doc_address: (OVERLAY_SEGMENT, 0),
            updated_at: document.updated_at,
            body_len: rounded_length(document.body.count),
            title_len: rounded_length(document.title.count),
            names,
        });
        for &(group, occurrence) in &found.cells {
            let next = hits.positions.len() as u32;
            let cell = hits.cell(index, group);
            match occurrence {
                TermOccurrence::Body(position) | TermOccurrence::Title(position) => {
                    let field = if let TermOccurrence::Body(_) = occurrence {
                        &mut cell.body
                    } else {
                        &mut cell.title
                    };
                    if field.position_count == 0 {
                        field.first_position = next;
                    }
                    field.count += 1;
                    field.position_count += 1;
                    hits.positions.push(position);
                }
                TermOccurrence::BodyPrefix => cell.body.count = cell.body.count.max(1),
                TermOccurrence::TitlePrefix => cell.title.count = cell.title.count.max(1),
                TermOccurrence::Tag => cell.tag = true,
                TermOccurrence::Slug => cell.slug = true,
                TermOccurrence::Exact => cell.exact = true,
            }
        }
    }
}

/// Finds a plan's terms in documents.
struct Finder<'a> {
    plan: &'a Plan,
    /// Hash of a term → its groups.
    terms: HashMap<u64, Vec<usize>, BuildTermHasher>,
    /// Bits of the hashes: rules out most terms of a page without a lookup.
    filter: [u64; 16],
    has_prefixes: bool,
}

impl<'a> Finder<'a> {
    fn new(plan: &'a Plan) -> Self {
        let mut terms: HashMap<u64, Vec<usize>, BuildTermHasher> = HashMap::default();
        let mut filter = [0; 16];
        for (index, group) in plan.groups.iter().enumerate() {
            for term in &group.terms {
                terms.entry(term.hash).or_default().push(index);
                let bit = term.hash >> 54;
                filter[(bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        let has_prefixes = plan.groups.iter().any(|g| g.prefix.is_some());
        Self { plan, terms, filter, has_prefixes }
    }

    /// Calls `each` with group and position of each term of the plan in `hashes`.
    fn each_occurrence(&self, hashes: &[u64], mut each: impl FnMut(usize, u32)) {
        if self.terms.is_empty() {
            return;
        }
        for (position, &hash) in hashes.iter().enumerate() {
            let bit = hash >> 54;
            if self.filter[(bit / 64) as usize] >> (bit % 64) & 1 == 1
                && let Some(groups) = self.terms.get(&hash)
            {
                for &group in groups {
                    each(group, position as u32);
                }
            }
        }
    }

    /// Counts the groups of `document`, and adds it to `matched` if it matches.
    fn count(
        &self,
        document: &PageTerms,
        entry: &Arc<PageToIndex>,
        stats: &mut Stats,
        matched: &mut Vec<OverlayMatch>,
    ) {
        let found = self.find(document, entry);
        let mut counted = None;
        for &(group, occurrence) in &found.cells {
            let Some(field) = occurrence.field() else { continue };
            if counted != Some((group, field)) {
                counted = Some((group, field));
                stats.frequency[group][field] += 1;
            }
        }
        if found.is_match {
            matched.push(found);
        }
    }

    fn find(&self, document: &PageTerms, entry: &Arc<PageToIndex>) -> OverlayMatch {
        let mut cells = Vec::new();
        let groups = &self.plan.groups;
        self.each_occurrence(&document.body.hashes, |group, position| {
            if groups[group].scope == Reach::Anywhere {
                cells.push((group, TermOccurrence::Body(position)));
            }
        });
        self.each_occurrence(&document.title.hashes, |group, position| {
            cells.push((group, TermOccurrence::Title(position)));
        });
        for (index, group) in groups.iter().enumerate() {
            if group.scope == Reach::Title || !group.joined.is_empty() {
                continue;
            }
            if document.has_key(group.tag.hash) {
                cells.push((index, TermOccurrence::Tag));
            }
            if document.has_key(group.slug.hash) {
                cells.push((index, TermOccurrence::Slug));
            }
            if group.exact.as_ref().is_some_and(|exact| has_term(&document.words, &exact.text)) {
                cells.push((index, TermOccurrence::Exact));
            }
        }
        if self.has_prefixes {
            self.find_prefixes(document, &mut cells);
        }
        // Positions of a group must be adjacent and sorted.
        cells.sort_unstable();
        let is_named = self
            .plan
            .names
            .as_ref()
            .is_some_and(|query| !names::of_document(query, document).is_none());
        let is_found = self.plan.groups.is_empty() && !self.plan.names_only;
        let is_match =
            (!cells.is_empty() || is_named || is_found) && self.meets_conditions(document);
        OverlayMatch { entry: is_match.then(|| Arc::clone(entry)), cells, is_match }
    }

    fn find_prefixes(&self, document: &PageTerms, cells: &mut Vec<(usize, TermOccurrence)>) {
        for (index, group) in self.plan.groups.iter().enumerate() {
            let Some(prefix) = &group.prefix else { continue };
            if group.scope == Reach::Anywhere
                && (has_prefix(&document.body.encoded, prefix)
                    || has_prefix(&document.words, prefix))
            {
                cells.push((index, TermOccurrence::BodyPrefix));
            }
            if has_prefix(&document.title.encoded, prefix) {
                cells.push((index, TermOccurrence::TitlePrefix));
            }
        }
    }

    /// Returns whether `document` meets the plan's conditions.
    fn meets_conditions(&self, document: &PageTerms) -> bool {
        self.plan.since.is_none_or(|since| document.updated_at >= since)
            && self.plan.until.is_none_or(|until| document.updated_at <= until)
            && self.plan.required.iter().all(|condition| is_met(condition, document))
            && !self.plan.excluded.iter().any(|condition| is_met(condition, document))
    }
}

/// Returns the ids of the pages of `entries` that meet the plan's conditions.
pub(super) fn matching_ids<'e>(
    entries: impl Iterator<Item = &'e Arc<PageToIndex>>,
    plan: &Plan,
) -> Vec<u64> {
    let finder = Finder::new(plan);
    let documents = entries.filter_map(|entry| entry.analyzed_document());
    let found = documents.filter(|document| finder.meets_conditions(document));
    found.map(|document| document.id).collect()
}

fn is_met(condition: &PageCondition, document: &PageTerms) -> bool {
    match condition {
        PageCondition::Keys(keys) => keys.iter().any(|key| document.has_key(key.hash)),
        PageCondition::Prefix(prefix, scope) => {
            has_prefix(&document.title.encoded, prefix)
                || (*scope == Reach::Anywhere
                    && (has_prefix(&document.body.encoded, prefix)
                        || has_prefix(&document.words, prefix)))
        }
        PageCondition::Phrase(phrase) => {
            has_phrase(&document.title, phrase)
                || (phrase.scope == Reach::Anywhere && has_phrase(&document.body, phrase))
        }
    }
}

fn has_phrase(terms: &Terms, phrase: &Phrase) -> bool {
    let Some(((_, first), rest)) = phrase.words.split_first() else { return false };
    let is_form = |hash: u64, forms: &[HashedTerm]| forms.iter().any(|form| form.hash == hash);
    terms.hashes.iter().enumerate().any(|(at, &hash)| {
        is_form(hash, first)
            && rest.iter().all(|(offset, forms)| {
                terms.hashes.get(at + *offset as usize).is_some_and(|&h| is_form(h, forms))
            })
    })
}

/// Returns whether `encoded` has `term`.
fn has_term(encoded: &str, term: &str) -> bool {
    encoded.match_indices(term).any(|(at, _)| {
        at > 0
            && encoded.as_bytes()[at - 1] == TERM_MARK
            && encoded.as_bytes().get(at + term.len()).is_none_or(|next| *next == TERM_MARK)
    })
}

/// Returns whether a term of `encoded` begins with `prefix`.
fn has_prefix(encoded: &str, prefix: &str) -> bool {
    encoded
        .match_indices(prefix)
        .any(|(at, _)| at > 0 && matches!(encoded.as_bytes()[at - 1], TERM_MARK | GAP_MARK))
}
