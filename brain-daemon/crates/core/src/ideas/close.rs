//! The two sets: what search finds for the question, and the domain bank far from it. Pages that came of ideas are in neither: ideas that
//! feed on ideas go round in a circle.

use std::collections::HashSet;

use brain_protocol::{Fault, FaultCode, Search, Slug};

use super::far::{self, Candidate};
use super::profile::Profile;
use super::state::{ClosePick, FarPick, Pick, Run};
use crate::{Brain, Caller};
use brain_store::{Found, PageRecord, Reader};

/// The distance of two pages of which nothing is known.
pub(super) const UNKNOWN: f32 = 0.5;
/// How many hits are looked at for each close page: some are copies, or came of ideas.
const HITS: usize = 5;

impl Brain {
    /// Chooses the pages that a run crosses: at most `close` and at most `far`.
    ///
    /// # Errors
    /// When there is nothing close or nothing far; as a search.
    pub(super) fn choose(
        &self,
        caller: &Caller,
        profile: &Profile,
        run: &mut Run,
        close: usize,
        far: usize,
    ) -> Result<(), Fault> {
        let reader = self.store.read(caller.view())?;
        let near = self
            .close_set(caller, &reader, run, close)
            .map_err(|fault| in_phase("close set", fault))?;
        self.far_set(&reader, profile, run, &near, far).map_err(|fault| in_phase("far set", fault))
    }

    /// The best distinct pages; gives their ids and slugs.
    fn close_set(
        &self,
        caller: &Caller,
        reader: &Reader,
        run: &mut Run,
        most: usize,
    ) -> Result<Vec<(u64, Slug)>, Fault> {
        let search = Search {
            query: run.question.clone(),
            limit: (most * HITS) as u32,
            ..Search::default()
        };
        let hits = self.search(caller, search)?;
        run.degraded = hits.degraded;
        let (mut near, mut texts) = (Vec::new(), HashSet::new());
        for hit in hits.hits {
            if near.len() == most {
                break;
            }
            let Some(record) = reader.page(&hit.source_id, &hit.slug)? else { continue };
            if !counts(&record) || !texts.insert(record.content_hash) {
                continue;
            }
            near.push((record.id, hit.slug.clone()));
            let page = Pick { source: hit.source_id, slug: hit.slug, title: hit.title };
            run.close.push(ClosePick { page, score: hit.score });
        }
        if near.is_empty() {
            return Err(Fault::new(
                FaultCode::NotFound,
                "no page is close to the question; nothing was spent",
            )
            .hint(
                "ask with words that your pages have (try `brain search`), or write a page about it first",
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
        most: usize,
    ) -> Result<(), Fault> {
        let candidates = self.candidates(reader, profile)?;
        let bank = far::pick(&candidates, near, most);
        run.short_of_target = bank.short;
        for (id, domain) in bank.pages {
            let Some((source, slug, record)) = reader.by_id(id)? else { continue };
            let distances =
                near.iter().map(|(one, _)| self.distance(*one, id).unwrap_or(UNKNOWN)).collect();
            let page = Pick { source, slug, title: record.title };
            run.far.push(FarPick { page, distances, domain });
        }
        if run.far.is_empty() {
            let message = "no page is far from the question: all there are belong to the close ones; nothing was spent";
            return Err(Fault::new(FaultCode::NotFound, message)
                .hint("write or import more pages, or take fewer close ones: `--close 1`"));
        }
        Ok(())
    }

    /// Every page that may stand far from something, by its record alone: no text is read.
    fn candidates(&self, reader: &Reader, profile: &Profile) -> Result<Vec<Candidate>, Fault> {
        let (now, inbound, mut out) = (self.clock.now(), reader.inbound()?, Vec::new());
        reader.in_order(("", ""), |found: Found| {
            if !counts(&found.2) {
                return Ok(true);
            }
            let (source, slug, record) = found;
            let stale = match profile.stale_first {
                true => far::staleness(record.version, record.updated_at, now),
                false => 0,
            };
            let links = inbound.of(&source, &slug);
            out.push(Candidate { id: record.id, source, slug, stale, links });
            Ok(true)
        })?;
        Ok(out)
    }
}

/// Whether a page has something to cross, and is not itself made of crosses.
fn counts(record: &PageRecord) -> bool {
    let made = matches!(record.provenance.source_kind.as_deref(), Some("brainstorm" | "lsd"));
    record.bytes > 0 && !made
}

/// The fault with the phase that it happened in.
fn in_phase(phase: &str, fault: Fault) -> Fault {
    Fault { message: format!("{phase}: {}", fault.message), ..fault }
}
