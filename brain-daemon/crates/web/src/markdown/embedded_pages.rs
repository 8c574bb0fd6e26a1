//! Finds the pages that a text embeds.

use std::ops::ControlFlow;

use brain_page::{for_each_event, is_attachment};
use pulldown_cmark::{Event, LinkType, Tag};

use super::{MAX_EMBEDS, OPTIONS};

/// Returns the targets of the pages that `text` embeds with `![[…]]`, each once. At most
/// [`MAX_EMBEDS`]; files are no pages.
pub(crate) fn embedded_pages(text: &str) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    if !text.contains("![[") {
        return targets;
    }
    for_each_event(text, OPTIONS, |event, _| {
        if let Event::Start(Tag::Image { link_type: LinkType::WikiLink { .. }, dest_url, .. }) =
            event
            && !is_attachment(&dest_url)
            && !targets.iter().any(|it| **it == *dest_url)
        {
            targets.push(dest_url.into_string());
        }
        match targets.len() < MAX_EMBEDS {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    targets
}
