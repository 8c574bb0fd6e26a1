//! Finds the pages that a text embeds, and writes them.

use std::ops::ControlFlow;

use brain_page::{for_each_event, is_attachment};
use maud::Markup;
use pulldown_cmark::{Event, LinkType, Tag};

use super::{MAX_EMBEDS, OPTIONS, Renderer};

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

impl<F, P, E> Renderer<'_, F, P, E>
where
    F: Fn(&str) -> Option<String>,
    P: Fn(&str) -> Option<String>,
    E: Fn(&str) -> Option<Markup>,
{
    /// Writes the page that `target` names. If it cannot be embedded, begins a link to it or a
    /// description.
    pub(super) fn embed_page(&mut self, target: &str) {
        let place = self.out.open.last().copied().unwrap_or("div");
        if matches!(place, "p" | "div" | "li" | "blockquote")
            && let Some(embedded) = (self.embed)(target)
        {
            // A paragraph cannot contain blocks.
            if place == "p" {
                self.out.end();
            }
            self.out.html.push_str(&embedded.0);
            if place == "p" {
                self.out.start("p");
            }
            self.muted = 1;
            return;
        }
        let url = (self.page)(target).filter(|_| !is_attachment(target));
        match url.filter(|_| !self.links.contains(&true)) {
            Some(url) => {
                self.images.push(true);
                self.links.push(true);
                self.out.start_with("a", &[("href", &url)]);
            }
            None if is_attachment(target) => self.describe_only("picture: "),
            None => self.describe_only("embedded page: "),
        }
    }
}
