//! Merges that stand on others: the last one is taken back first.

use brain_base::clock::local_minute;
use brain_protocol::{Command, Fault, FaultCode, hint};
use brain_store::{Reader, StepKind, StepRecord, StoreError};

use super::past_steps::merged_page;
use super::select::Steps;

/// Refuses to take back a merge into a page that was itself merged into another one since.
///
/// # Errors
/// `conflict`, with the name of the later merge.
pub(super) fn check_later_merges(reader: &Reader, steps: &Steps) -> Result<(), Fault> {
    for (seq, page) in steps {
        let Some(step) = reader.step(*seq)? else { continue };
        let Some(from) = merged_page(reader, *seq, &step)? else { continue };
        let Some((later, into)) = later_merge(reader, *page, steps)? else { continue };
        let name = |id: u64| -> Result<String, StoreError> {
            let found = reader.by_id_including_deleted(id)?;
            Ok(found.map_or_else(|| "a page".to_owned(), |(_, slug, _)| format!("\"{slug}\"")))
        };
        let (from, middle, into_name) = (name(from)?, name(*page)?, name(into)?);
        let message = format!(
            "{from} was merged into {middle}, which was merged into {into_name} on {}; nothing \
             was taken back",
            local_minute(later.at)
        );
        let page = reader.by_id_including_deleted(into)?.map(|(_, slug, _)| slug.to_string());
        return Err(Fault::new(FaultCode::Conflict, message)
            .hint(hint!("take that back first: {}", Command::UndoPage { page })));
    }
    Ok(())
}

/// Returns the merge of the page `id` into another one that stands, and the other one's id.
fn later_merge(
    reader: &Reader,
    id: u64,
    steps: &Steps,
) -> Result<Option<(StepRecord, u64)>, StoreError> {
    let Some((_, _, record)) = reader.by_id_including_deleted(id)? else { return Ok(None) };
    if record.deleted_at.is_none() || steps.contains_key(&record.seq) {
        return Ok(None);
    }
    let Some(deletion) = reader.step(record.seq)?.filter(|it| it.kind == StepKind::Deleted) else {
        return Ok(None);
    };
    let Some(first) = reader.step(deletion.write)? else { return Ok(None) };
    let is_merge = merged_page(reader, deletion.write, &first)? == Some(id);
    Ok(is_merge.then_some((first.clone(), first.page)))
}
