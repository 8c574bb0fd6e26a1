//! Pages inside another page: `![[page]]` and `![[page#heading]]`, one level deep.

use std::collections::HashMap;

use brain_core::NoProgress;
use brain_page::first_section;
use brain_protocol::{Get, Page, PageRef, Slug, TrustLevel};
use maud::{Markup, html};

use super::{Reading, url_of, without_title};
use crate::markdown::{self, MAX_EMBED_HTML};
use crate::page_path::page_path;
use crate::text::Text;

/// Maximum number of shown bytes of an embedded text.
const MAX_TEXT: usize = 20_000;

/// Returns the HTML of each page that `text` embeds, by its target. `text` is a part of the page
/// that is shown. Leaves out that page itself, and pages that cannot be shown. Blocks.
pub(crate) fn read(reading: &Reading<'_>, text: &str) -> HashMap<String, Markup> {
    let page = &reading.page;
    let targets = markdown::embedded_pages(text);
    let html_by_target = targets.into_iter().enumerate().filter_map(|(number, target)| {
        let (name, heading) = split(&target);
        let embedded = find(reading, &target, name)?;
        if embedded.slug == page.slug && embedded.source.as_ref() == Some(&page.source_id) {
            return None;
        }
        let get = Get { page: embedded, version: None };
        let found = reading.brain.run(&reading.session.caller, get, &NoProgress).ok()?;
        let shown = show(reading, &found, heading, &format!("e{number}"))?;
        Some((target, shown))
    });
    html_by_target.collect()
}

/// Splits a target into the page's name and a heading.
fn split(target: &str) -> (&str, Option<&str>) {
    match target.split_once('#') {
        Some((name, heading)) => (name, Some(heading)),
        None => (target, None),
    }
}

/// Returns the page that `target` leads to. `name` is the target without its heading.
fn find(reading: &Reading<'_>, target: &str, name: &str) -> Option<PageRef> {
    let found = reading.target(target).or_else(|| reading.target(name));
    let by_name = || Some(PageRef::new(&reading.page.source_id, &Slug::parse(name).ok()?));
    found.or_else(by_name)
}

fn show(reading: &Reading<'_>, page: &Page, heading: Option<&str>, prefix: &str) -> Option<Markup> {
    let text = match heading {
        // A target such as `page#^block` names a block instead of a heading, and the whole page is
        // shown.
        Some(heading) => first_section(&page.body, heading).and_then(|range| page.body.get(range)),
        None => None,
    };
    let text = text.unwrap_or_else(|| without_title(&page.body, &page.title));
    let (text, is_whole) = shortened(text);
    let this = PageRef::new(&page.source_id, &page.slug);
    let caller = &reading.session.caller;
    let surroundings = reading.brain.surroundings(caller, &this).ok()?;
    let urls = |target: &str| url_of(&surroundings, page, target);
    let rendered = markdown::render_with(text, prefix, urls, |_| None, |_| None).html;
    let path = page_path(&this.to_string());
    let shown = html! {
        section class="embed" aria-label=(Text(&page.title)) {
            p class="facts" {
                a href=(Text(&path)) { bdi { (Text(&page.title)) } }
                @if page.trust == TrustLevel::Outside {
                    " · " span class="outside" { "from outside" }
                }
            }
            (rendered)
            @if !is_whole { p { a href=(Text(&path)) { "Read the whole page" } } }
        }
    };
    (shown.0.len() <= MAX_EMBED_HTML).then_some(shown)
}

/// Returns the beginning of a text up to a line end, and whether it is the whole text.
fn shortened(text: &str) -> (&str, bool) {
    if text.len() <= MAX_TEXT {
        return (text, true);
    }
    let end = text.bytes().take(MAX_TEXT).rposition(|byte| byte == b'\n').unwrap_or_default();
    (text.get(..end).unwrap_or_default(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_lines() {
        let line = "ä".repeat(50) + "\n";
        let (text, is_whole) = shortened(&line);
        assert!(is_whole && text == line);
        let long = line.repeat(1000);
        let (text, is_whole) = shortened(&long);
        assert!(!is_whole && text.len() <= MAX_TEXT && long[text.len()..].starts_with('\n'));
    }

    #[test]
    fn targets_may_name_a_heading() {
        assert_eq!(split("a/b#C d"), ("a/b", Some("C d")));
        assert_eq!(split("a"), ("a", None));
    }
}
