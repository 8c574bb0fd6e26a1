//! Ranks the copies that sync programs made below their originals.

use std::collections::VecDeque;

use brain_store::{Reader, StoreError, unless_damaged};

use super::fuse::RankingEntry;
use brain_page::program_copy;

/// Returns the next page of a ranking: `page`, or its original if `page` is a copy and the original
/// is in `rest`. The copy then follows it. A copy without an original in the ranking keeps its
/// place, because it may be the only one.
pub(super) fn original_first(
    reader: &Reader,
    page: RankingEntry,
    rest: &mut VecDeque<RankingEntry>,
) -> Result<RankingEntry, StoreError> {
    let Some(Some((source, _, record))) = unless_damaged(reader.by_id(page.id))? else {
        return Ok(page);
    };
    let Some(copy) = program_copy(&record.source_path) else { return Ok(page) };
    let Some((_, original)) = reader.page_at(&source, &copy.original)? else { return Ok(page) };
    let position = rest.iter().position(|entry| entry.id == original.id);
    let Some(mut first) = position.and_then(|position| rest.remove(position)) else {
        return Ok(page);
    };
    first.score = first.score.max(page.score);
    rest.push_front(page);
    Ok(first)
}
