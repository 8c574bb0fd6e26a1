//! Says of a saved answer or idea that what it cites has changed.

use std::collections::BTreeSet;

use brain_protocol::{Fault, FaultCode, PageRef, Slug, SourceId, StaleAnswerList, keeps_citations};

use super::ToolContext;

/// Maximum number of named pages.
const MAX_NAMES: usize = 5;

/// Returns the note on a page of this type; `None` if all that it cites is still there.
///
/// # Errors
/// The store cannot be read.
pub(super) fn stale_note(
    context: &ToolContext,
    (source, slug): (&SourceId, &Slug),
    page_type: &str,
) -> Result<Option<String>, Fault> {
    if !keeps_citations(page_type) {
        return Ok(None);
    }
    let page = Some(PageRef::new(source, slug));
    // The reply is recorded, so it has no text that a purge would have to find.
    let found = match context.run(StaleAnswerList { page, names_only: true }) {
        // The page may be gone since it was found.
        Err(fault) if fault.code == FaultCode::NotFound => return Ok(None),
        found => found?,
    };
    let mut changes = found.answers.iter().flat_map(|answer| &answer.changes).peekable();
    if changes.peek().is_none() {
        return Ok(None);
    }
    let mut names = BTreeSet::new();
    for page in changes.filter_map(|change| change.page.as_ref()) {
        names.insert(match &page.source {
            Some(source) => context.page_name(source, &page.slug)?,
            None => page.slug.to_string(),
        });
    }
    let names: Vec<String> = names.into_iter().take(MAX_NAMES).collect();
    Ok(Some(match names.is_empty() {
        true => "what this was made from has changed".to_owned(),
        false => format!("what this was made from has changed: {}", names.join(", ")),
    }))
}
