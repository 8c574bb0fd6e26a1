//! The notice on a saved answer or idea whose cited texts changed.

use brain_core::NoProgress;
use brain_protocol::{Fault, PageRef, StaleAnswerList, StaleCitation, keeps_citations};
use maud::{Markup, html};

use super::Reading;
use crate::page_path::page_path;
use crate::text::Text;

/// Shows what changed, if the page is stale. Blocks.
pub(super) fn notice(reading: &Reading<'_>) -> Markup {
    match changes(reading) {
        Ok(changes) if changes.is_empty() => html! {},
        Ok(changes) => html! {
            div class="notice" role="note" {
                p { "Pages that this text cites have changed since. Ask again before you rely on it." }
                ul { @for change in &changes { li { (row(change)) } } }
            }
        },
        // The page itself can be read.
        Err(fault) => html! {
            p class="notice" role="note" {
                "Whether the pages that this text cites have changed is not known: "
                (Text(&fault.message))
            }
        },
    }
}

fn changes(reading: &Reading<'_>) -> Result<Vec<StaleCitation>, Fault> {
    let page = &reading.page;
    if !keeps_citations(&page.page_type) {
        return Ok(Vec::new());
    }
    let page = Some(PageRef::new(&page.source_id, &page.slug));
    let request = StaleAnswerList { page, names_only: false };
    let reply = reading.brain.run(&reading.session.caller, request, &NoProgress)?;
    Ok(reply.answers.into_iter().flat_map(|answer| answer.changes).collect())
}

fn row(change: &StaleCitation) -> Markup {
    html! {
        @match &change.page {
            Some(page) => {
                @let name = page.to_string();
                a href=(Text(&page_path(&name))) { (Text(&name)) }
            },
            None => { "A page that is gone" },
        }
        ": " (change.change.as_str())
        @if !change.was.is_empty() { br; "was: " bdi { (Text(&change.was)) } }
        @if let Some(now) = &change.now { br; "now: " bdi { (Text(now)) } }
    }
}
