//! Selects the two page sets of a run: search results near the question, and distant pages.
//!
//! Neither set includes pages that were made from ideas, so that ideas do not feed on themselves.

use std::collections::HashSet;

use brain_protocol::{Fault, FaultCode, Search, Slug};

use super::distant_pages::{self, Candidate};
use super::profile::Profile;
use super::run_state::{ClosePageRef, FarPageRef, Run, RunPage};
use crate::{Caller, IdeaService};
use brain_store::{PageEntry, PageRecord, Reader};

/// The distance of two pages without vectors.
pub(super) const UNKNOWN_DISTANCE: f32 = 0.5;
/// Search hits fetched per close page: some are duplicates or were made from ideas.
const HITS_PER_PAGE: usize = 5;

impl IdeaService {
    /// Selects the pages of a run: at most `close` near and `far` distant ones.
    ///
    /// # Errors
    /// `not_found` if either set is empty; otherwise as a search.
    pub(super) fn select_pages(
        &self,
        caller: &Caller,
        profile: &Profile,
        run: &mut Run,
        close: usize,
        far: usize,
    ) -> Result<(), Fault> {
        let reader = self.store.read(caller.visibility())?;
        let near = self
            .close_set(caller, &reader, run, close)
            .map_err(|fault| with_phase("close set", fault))?;
        self.far_set(&reader, profile, run, &near, far)
            .map_err(|fault| with_phase("far set", fault))
    }

    /// Selects the best distinct pages and returns their ids and slugs.
    fn close_set(
        &self,
        caller: &Caller,
        reader: &Reader,
        run: &mut Run,
        max: usize,
    ) -> Result<Vec<(u64, Slug)>, Fault> {
        let search = Search {
            query: run.question.clone(),
            limit: (max * HITS_PER_PAGE) as u32,
            ..Search::default()
        };
        let hits = self.search.search(caller, search)?;
        run.degraded = hits.degraded;
        let (mut near, mut texts) = (Vec::new(), HashSet::new());
        for hit in hits.hits {
            if near.len() == max {
                break;
            }
            let Some(record) = reader.page(&hit.source_id, &hit.slug)? else { continue };
            if !is_eligible(&record) || !texts.insert(record.content_hash) {
                continue;
            }
            near.push((record.id, hit.slug.clone()));
            let page = RunPage { source: hit.source_id, slug: hit.slug, title: hit.title };
            run.close.push(ClosePageRef { page, score: hit.score });
        }
        if near.is_empty() {
            return Err(Fault::new(
                FaultCode::NotFound,
                "no page is close to the question; nothing was spent",
            )
            .hint(
                "use words that occur in your pages (try `brain search`), or first write a page \
                 about the topic",
            ));
        }
        Ok(near)
    }

    fn far_set(
        &self,
        reader: &Reader,
        profile: &Profile,
        run: &mut Run,
        near: &[(u64, Slug)],
        max: usize,
    ) -> Result<(), Fault> {
        let candidates = self.candidates(reader, profile)?;
        let domain_bank = distant_pages::select(&candidates, near, max);
        run.short_of_target = domain_bank.has_too_few_groups;
        for (id, domain) in domain_bank.pages {
            let Some((source, slug, record)) = reader.by_id(id)? else { continue };
            let distances = near
                .iter()
                .map(|(one, _)| self.embedding.distance(*one, id).unwrap_or(UNKNOWN_DISTANCE))
                .collect();
            let page = RunPage { source, slug, title: record.title };
            run.far.push(FarPageRef { page, distances, domain });
        }
        if run.far.is_empty() {
            let message = "no page is far from the question: all pages are in the groups of the \
                           close pages; nothing was spent";
            return Err(Fault::new(FaultCode::NotFound, message)
                .hint("write or import more pages, or use fewer close pages: `--close 1`"));
        }
        Ok(())
    }

    /// Lists all pages that can be distant, from their records alone. Reads no text.
    fn candidates(&self, reader: &Reader, profile: &Profile) -> Result<Vec<Candidate>, Fault> {
        let (now, inbound, mut out) = (self.env.clock.now(), reader.inbound()?, Vec::new());
        reader.in_order(("", ""), |found: PageEntry| {
            if !is_eligible(&found.2) {
                return Ok(true);
            }
            let (source, slug, record) = found;
            let stale = match profile.stale_first {
                true => distant_pages::staleness(record.version, record.updated_at, now),
                false => 0,
            };
            let links = inbound.of(&source, &slug);
            out.push(Candidate { id: record.id, source, slug, stale, links });
            Ok(true)
        })?;
        Ok(out)
    }
}

/// Returns whether a page has content and was not made from ideas.
fn is_eligible(record: &PageRecord) -> bool {
    let is_from_ideas =
        matches!(record.provenance.source_kind.as_deref(), Some("brainstorm" | "lsd"));
    record.bytes > 0 && !is_from_ideas
}

/// Prefixes a fault with the phase that it happened in.
fn with_phase(phase: &str, fault: Fault) -> Fault {
    Fault { message: format!("{phase}: {}", fault.message), ..fault }
}
