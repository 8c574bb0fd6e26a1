//! Selects the two page sets of a run: search results near the question, and distant pages.
//!
//! Neither set includes pages that were made from ideas, so that new ideas do not repeat old ones.

use std::collections::HashSet;

use brain_protocol::{Command, Fault, FaultCode, Search, hint};

use super::distant_pages::{self, DistantPages, Draw, DrawablePage};
use super::page_features;
use super::profile::Profile;
use super::run_state::{ClosePageRef, FarPageRef, IdeaRun, RunPage};
use crate::ideas::IdeaService;
use brain_base::caller::Caller;
use brain_base::clock::local_day;
use brain_store::{PageEntry, PageRecord, Reader, StoreError};

/// Number of search hits for a question. More than the close pages, because duplicates and pages
/// made from ideas are skipped. A hit becomes a distant page only if there are too few other pages.
const HITS: u32 = 60;
/// Maximum number of pages whose distances are computed. In a larger brain, a random sample is
/// compared.
const MAX_COMPARED: usize = 5000;

/// The pages near a question.
struct NearPages {
    /// The close pages.
    close: Vec<PageEntry>,
    /// The ids of all pages that the search found.
    found: HashSet<u64>,
}

impl IdeaService {
    /// Adds at most `close` near and `far` distant pages to the run.
    ///
    /// # Errors
    /// `not_found` if either set is empty; otherwise the errors of a search.
    pub(super) fn select_pages(
        &self,
        caller: &Caller,
        profile: &Profile,
        run: &mut IdeaRun,
        close: usize,
        far: usize,
    ) -> Result<(), Fault> {
        let reader = self.store.read(caller.visibility())?;
        let near = self
            .select_close(caller, &reader, run, close)
            .map_err(|fault| with_phase("close set", fault))?;
        self.select_far(&reader, profile, run, &near, far)
            .map_err(|fault| with_phase("far set", fault))
    }

    /// Adds the best `max` pages with different content to the run. Returns them, and the ids of
    /// all hits.
    fn select_close(
        &self,
        caller: &Caller,
        reader: &Reader,
        run: &mut IdeaRun,
        max: usize,
    ) -> Result<NearPages, Fault> {
        let search = Search { query: run.question.clone(), limit: HITS, ..Search::default() };
        let hits = self.search.search(caller, search)?;
        run.degraded = hits.degraded;
        let (mut near, mut texts) =
            (NearPages { close: Vec::new(), found: HashSet::new() }, HashSet::new());
        for hit in hits.hits {
            let Some(record) = reader.page(&hit.source_id, &hit.slug)? else { continue };
            near.found.insert(record.id);
            if near.close.len() == max
                || !is_eligible(&record)
                || !texts.insert(record.content_hash)
            {
                continue;
            }
            let page =
                RunPage { source: hit.source_id.clone(), slug: hit.slug.clone(), title: hit.title };
            run.close.push(ClosePageRef { page, score: hit.score });
            near.close.push((hit.source_id, hit.slug, record));
        }
        if near.close.is_empty() {
            return Err(Fault::new(
                FaultCode::NotFound,
                "no page is close to the question; nothing was spent",
            )
            .hint(hint!(
                "use words that occur in your pages (try {}), or first write a page about the \
                 topic",
                Command::Search { words: None }
            )));
        }
        Ok(near)
    }

    fn select_far(
        &self,
        reader: &Reader,
        profile: &Profile,
        run: &mut IdeaRun,
        near: &NearPages,
        max: usize,
    ) -> Result<(), Fault> {
        let draw = Draw::new(profile.kind, &run.question, &local_day(run.started_at));
        let candidates = self.candidates(reader, profile, near, &draw)?;
        let DistantPages { pages, is_short } =
            distant_pages::select(candidates, max, profile.far_divisor, &draw);
        run.short_of_target = is_short;
        for (page, band) in pages {
            let DrawablePage { source, slug, title, distances, .. } = page;
            run.far.push(FarPageRef { page: RunPage { source, slug, title }, distances, band });
        }
        if run.far.is_empty() {
            let message = "no page is far from the question: all pages are close pages; nothing \
                           was spent";
            return Err(Fault::new(FaultCode::NotFound, message)
                .hint("write or import more pages, or use fewer close pages: `--close 1`"));
        }
        Ok(())
    }

    /// Returns the pages that can be distant, with their distances. Reads no text.
    ///
    /// If at least half of the pages have vectors, distances are those of vectors, and the other
    /// pages are left out. Otherwise all distances are those of features. The two kinds are not
    /// comparable.
    fn candidates(
        &self,
        reader: &Reader,
        profile: &Profile,
        near: &NearPages,
        draw: &Draw,
    ) -> Result<Vec<DrawablePage>, Fault> {
        let mut pages = comparable_pages(reader, near, draw)?;
        let vector_distances = |(_, _, record): &PageEntry| -> Option<Vec<f32>> {
            let close = near.close.iter();
            close.map(|(.., close)| self.embedding.distance(close.id, record.id)).collect()
        };
        let by_vectors: Vec<Option<Vec<f32>>> = pages.iter().map(vector_distances).collect();
        let with_vectors = by_vectors.iter().flatten().count();
        let distances = if with_vectors > 0 && with_vectors * 2 >= pages.len() {
            let mut has_vectors = by_vectors.iter().map(Option::is_some);
            pages.retain(|_| has_vectors.next().unwrap_or(false));
            by_vectors.into_iter().flatten().collect()
        } else {
            let features = |pages: &[PageEntry]| -> Result<Vec<_>, StoreError> {
                let features_of = |(_, slug, record): &PageEntry| {
                    Ok(page_features::features(slug, record, &reader.derived(record.id)?))
                };
                pages.iter().map(features_of).collect()
            };
            page_features::distances(&features(&near.close)?, &features(&pages)?)
        };
        let now = self.env.clock.now();
        let candidate = |((source, slug, record), distances): (PageEntry, Vec<f32>)| {
            let staleness = match profile.should_prefer_stale {
                true => distant_pages::staleness(record.version, record.updated_at, now),
                false => 0,
            };
            let is_found = near.found.contains(&record.id);
            DrawablePage { source, slug, title: record.title, distances, is_found, staleness }
        };
        Ok(pages.into_iter().zip(distances).map(candidate).collect())
    }
}

/// Returns all pages that can be distant, or those with the lowest random keys if there are more
/// than [`MAX_COMPARED`].
fn comparable_pages(
    reader: &Reader,
    near: &NearPages,
    draw: &Draw,
) -> Result<Vec<PageEntry>, StoreError> {
    let close: HashSet<u64> = near.close.iter().map(|(.., record)| record.id).collect();
    let mut pages = Vec::new();
    let keep_lowest = |pages: &mut Vec<([u8; 8], PageEntry)>| {
        pages.sort_by_key(|(key, _)| *key);
        pages.truncate(MAX_COMPARED);
    };
    reader.pages_in_order(("", ""), |(source, slug, record): PageEntry| {
        if is_eligible(&record) && !close.contains(&record.id) {
            let key = draw.random_key(&source, &slug, 0);
            pages.push((key, (source, slug, record)));
        }
        if pages.len() == 2 * MAX_COMPARED {
            keep_lowest(&mut pages);
        }
        Ok(true)
    })?;
    keep_lowest(&mut pages);
    Ok(pages.into_iter().map(|(_, page)| page).collect())
}

/// Returns whether a page has content and was not made from ideas.
fn is_eligible(record: &PageRecord) -> bool {
    let is_from_ideas =
        matches!(record.provenance.source_kind.as_deref(), Some("brainstorm" | "lsd"));
    record.bytes > 0 && !is_from_ideas
}

/// Prefixes the message of a fault with the phase.
fn with_phase(phase: &str, fault: Fault) -> Fault {
    Fault { message: format!("{phase}: {}", fault.message), ..fault }
}
