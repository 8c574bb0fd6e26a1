//! Orders the first results by how well their passages answer the question, with a second model
//! that reads both. Pages that the question names, and pages that links lead to, keep their places.

use super::SearchService;
use super::fuse::RankingEntry;
use super::hits::passage;
use brain_base::caller::Caller;
use brain_search::Snippeter;
use brain_store::{Reader, StoreError, unless_damaged};

/// Number of first results that can be reordered.
const MAX_PAGES: usize = 24;
/// Approximate length of a passage, in bytes: short enough for rerankers to read all passages
/// during a search.
const PASSAGE_BYTES: usize = 1000;

/// A page whose place can change.
struct RerankCandidate {
    /// Its index in the ranking.
    at: usize,
    /// Its title and passage.
    text: String,
}

impl SearchService {
    /// Reranks the first pages of `ranking`. On failure, returns the reason for `degraded` and
    /// leaves the ranking unchanged. Only text that `reader` shows to the caller is read.
    pub(super) fn rerank(
        &self,
        caller: &Caller,
        reader: &Reader,
        question: &str,
        ranking: &mut [RankingEntry],
        (snippets, explain): (&Snippeter, bool),
    ) -> Result<Option<String>, StoreError> {
        let mut candidates = Vec::new();
        for (at, page) in ranking.iter().enumerate().take(MAX_PAGES) {
            if page.is_pinned() {
                continue;
            }
            // A damaged page is reported where it would be shown.
            if let Some(Some(text)) = unless_damaged(text(reader, page, snippets))? {
                candidates.push(RerankCandidate { at, text });
            }
        }
        if candidates.len() < 2 {
            return Ok(None);
        }
        let texts =
            candidates.iter_mut().map(|candidate| std::mem::take(&mut candidate.text)).collect();
        let pages = candidates.iter().filter_map(|candidate| Some(ranking.get(candidate.at)?.id));
        match self.embedding.rerank(caller, question, (texts, pages.collect())) {
            Ok(relevances) => {
                let places: Vec<usize> = candidates.iter().map(|candidate| candidate.at).collect();
                reorder(ranking, &places, &relevances, explain);
                Ok(None)
            }
            Err(reason) => Ok(Some(reason)),
        }
    }
}

/// Returns the title and the passage of a page; `None` if the caller cannot see the page.
fn text(
    reader: &Reader,
    page: &RankingEntry,
    snippets: &Snippeter,
) -> Result<Option<String>, StoreError> {
    let Some((_, _, record)) = reader.by_id(page.id)? else { return Ok(None) };
    let body = reader.content(&record)?.body;
    let range = passage(&body, page.window(), snippets).range;
    let around = PASSAGE_BYTES.saturating_sub(range.len()) / 2;
    let begin = body.floor_char_boundary(range.start.saturating_sub(around));
    let end = body.floor_char_boundary((range.end + around).min(begin + PASSAGE_BYTES));
    let passage = body.get(begin..end).unwrap_or_default();
    Ok(Some(format!("{}\n{passage}", record.title)))
}

/// Sorts the pages at `places` by relevance, highest first. Each place keeps its score, so that
/// scores stay in descending order.
fn reorder(ranking: &mut [RankingEntry], places: &[usize], relevances: &[f32], explain: bool) {
    let mut pages: Vec<(usize, f32, RankingEntry)> = places
        .iter()
        .zip(relevances)
        .map(|(&at, &relevance)| (at, relevance, std::mem::take(&mut ranking[at])))
        .collect();
    let scores: Vec<f32> = pages.iter().map(|(.., page)| page.score).collect();
    // The sort is stable: pages of equal relevance keep their order.
    pages.sort_by(|one, other| other.1.total_cmp(&one.1));
    for ((&place, score), (before, relevance, mut page)) in places.iter().zip(scores).zip(pages) {
        let difference = score - page.score;
        page.add(difference, explain, || {
            format!("rerank: relevance {relevance:.3}, previous place {}", before + 1)
        });
        ranking[place] = page;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64, score: f32) -> RankingEntry {
        RankingEntry { id, score, ..RankingEntry::default() }
    }

    #[test]
    fn pages_change_places_and_scores_keep_falling() {
        let mut ranking: Vec<RankingEntry> =
            (1..=5).map(|id| entry(id, 10.0 - id as f32)).collect();
        // The pages 1 and 3 are pinned.
        reorder(&mut ranking, &[1, 3, 4], &[0.2, 0.2, 0.9], true);
        let ids: Vec<u64> = ranking.iter().map(|page| page.id).collect();
        assert_eq!(ids, [1, 5, 3, 2, 4]);
        let scores: Vec<f32> = ranking.iter().map(|page| page.score).collect();
        assert_eq!(scores, [9.0, 8.0, 7.0, 6.0, 5.0]);
        let part = &ranking[1].explain[0];
        assert_eq!(part.reason, "rerank: relevance 0.900, previous place 5");
        assert_eq!(part.score.to_bits(), 3.0_f32.to_bits(), "the part is the gain of the score");
        assert_eq!(ranking[0].explain, []);
    }
}
