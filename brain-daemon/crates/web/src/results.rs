//! The results of a search as HTML: hits with marks, recent pages, and filters as chips.

use std::collections::BTreeMap;

use brain_protocol::{Hit, Hits, PageRow, Pages, TagCounts, TrustLevel, page_name};
use maud::{Markup, html};

use crate::page_path::page_path;
use crate::search_query::{PERIODS, SearchQuery};
use crate::text::Text;

/// Maximum number of offered values of one filter.
const MAX_CHIPS: usize = 6;

/// Shows the filters in force, filters that narrow the search, and the hits.
pub(crate) fn hits(question: &SearchQuery, found: &Hits) -> Markup {
    let default = found.default_source.as_str();
    html! {
        (active_filters(question))
        (suggested_filters(question, &found.hits))
        @if let Some(note) = &found.note { p class="note" { (Text(note)) } }
        @if let Some(why) = &found.degraded { p class="notice" { (Text(why)) } }
        p class="count" {
            @match found.hits.len() {
                0 => "Nothing found",
                1 => "1 page",
                n => { (n) " pages" }
            }
            @if found.truncated { " shown, there are more" }
            span class="took" { " · " (milliseconds(found.took_us)) " ms" }
        }
        @if found.hits.is_empty() {
            p { "Fewer or other words may find it. " a href="/" { "Clear the search" } }
        }
        ol class="hits" { @for hit in &found.hits { (hit_row(default, hit)) } }
    }
}

/// Shows the filters in force, the pages that changed last, and without filters also tags.
pub(crate) fn recent(question: &SearchQuery, pages: &Pages, tags: &TagCounts) -> Markup {
    let default = pages.default_source.as_str();
    html! {
        (active_filters(question))
        @if question.filters().is_empty() && !tags.tags.is_empty() {
            p class="chips" aria-label="Tags" {
                @for tag in &tags.tags {
                    @let tags = vec![tag.tag.clone()];
                    @let next = SearchQuery { tags, ..SearchQuery::default() };
                    a class="chip" href=(Text(&next.path())) {
                        "#" bdi { (Text(&tag.tag)) } " " span class="number" { (tag.pages) }
                    }
                }
            }
        }
        h2 { "Changed last" }
        @if pages.pages.is_empty() {
            p {
                "There are no pages here yet. Capture a thought, or run "
                code { "brain import" } "."
            }
        }
        ol class="hits" { @for page in &pages.pages { (page_row(default, page, &html! {})) } }
        @if pages.truncated { p class="note" { "Older pages are found by searching." } }
    }
}

/// Shows the filters in force, each with a link that removes it.
pub(crate) fn active_filters(question: &SearchQuery) -> Markup {
    let mut chips: Vec<(String, SearchQuery)> = Vec::new();
    let base = question.clone();
    if let Some(value) = &question.page_type {
        chips.push((format!("type: {value}"), SearchQuery { page_type: None, ..base.clone() }));
    }
    if let Some(value) = &question.source {
        chips.push((format!("source: {value}"), SearchQuery { source: None, ..base.clone() }));
    }
    for tag in &question.tags {
        let tags = question.tags.iter().filter(|other| *other != tag).cloned().collect();
        chips.push((format!("#{tag}"), SearchQuery { tags, ..base.clone() }));
    }
    if let Some(value) = &question.period {
        let known = PERIODS.iter().find(|(period, _, _)| period == value);
        let name = known.map_or(value.as_str(), |(_, name, _)| name);
        chips.push((name.to_owned(), SearchQuery { period: None, ..base.clone() }));
    }
    if let Some(day) = &question.since {
        chips.push((format!("from {day}"), SearchQuery { since: None, ..base.clone() }));
    }
    if let Some(day) = &question.until {
        chips.push((format!("to {day}"), SearchQuery { until: None, ..base.clone() }));
    }
    if question.explain {
        chips.push(("with scores".to_owned(), SearchQuery { explain: false, ..base }));
    }
    html! {
        @if !chips.is_empty() {
            p class="chips" aria-label="Filters" {
                @for (name, without) in &chips {
                    a class="chip on" href=(Text(&without.path())) {
                        bdi { (Text(name)) } " " span aria-hidden="true" { "×" }
                        span class="hidden" { ", remove this filter" }
                    }
                }
            }
        }
    }
}

/// Offers filters for the types and sources of the hits and for periods, and a link that shows
/// scores.
fn suggested_filters(question: &SearchQuery, hits: &[Hit]) -> Markup {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for hit in hits {
        *types.entry(&hit.page_type).or_default() += 1;
        *sources.entry(hit.source_id.as_str()).or_default() += 1;
    }
    let mut chips: Vec<(String, SearchQuery)> = Vec::new();
    if question.page_type.is_none() && types.len() > 1 {
        chips.extend(most_frequent(&types).map(|value| {
            let page_type = Some(value.to_owned());
            (value.to_owned(), SearchQuery { page_type, ..question.clone() })
        }));
    }
    if question.source.is_none() && sources.len() > 1 {
        chips.extend(most_frequent(&sources).map(|value| {
            let source = Some(value.to_owned());
            (format!("in {value}"), SearchQuery { source, ..question.clone() })
        }));
    }
    let has_days = question.since.is_some() || question.until.is_some();
    if question.period.is_none() && !has_days && !hits.is_empty() {
        chips.extend(PERIODS.iter().skip(1).map(|(value, name, _)| {
            let period = Some((*value).to_owned());
            ((*name).to_owned(), SearchQuery { period, ..question.clone() })
        }));
    }
    if !question.explain && !hits.is_empty() {
        chips.push(("Why these?".to_owned(), SearchQuery { explain: true, ..question.clone() }));
    }
    html! {
        @if !chips.is_empty() {
            p class="chips" aria-label="Narrow the search" {
                @for (name, with) in &chips {
                    a class="chip" href=(Text(&with.path())) { bdi { (Text(name)) } }
                }
            }
        }
    }
}

/// Returns the most frequent values, at most [`MAX_CHIPS`].
fn most_frequent<'a>(counts: &BTreeMap<&'a str, usize>) -> impl Iterator<Item = &'a str> {
    let mut sorted: Vec<(&str, usize)> = counts.iter().map(|(name, n)| (*name, *n)).collect();
    sorted.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    sorted.into_iter().take(MAX_CHIPS).map(|(name, _)| name)
}

/// Shows one hit of a search.
pub(crate) fn hit_row(default_source: &str, hit: &Hit) -> Markup {
    let name = page_name(default_source, &hit.source_id, &hit.slug);
    html! {
        li {
            a class="title" href=(Text(&page_path(&name))) { bdi { (Text(&hit.title)) } }
            (row_facts(&name, &hit.page_type, &hit.updated_at, hit.trust))
            @if !hit.also_in.is_empty() {
                p class="facts" {
                    "also in "
                    @for (n, name) in hit.also_in.iter().enumerate() {
                        @if n > 0 { ", " }
                        a href=(Text(&page_path(name))) { bdi { (Text(name)) } }
                    }
                }
            }
            @if !hit.snippet.is_empty() {
                p class="snippet" dir="auto" { (marked(&hit.snippet, &hit.highlights)) }
            }
            @if !hit.explain.is_empty() {
                table class="scores" {
                    @for part in &hit.explain {
                        tr { th scope="row" { (Text(&part.reason)) }
                            td { (format!("{:.2}", part.score)) } }
                    }
                    tr { th scope="row" { "total" } td { (format!("{:.2}", hit.score)) } }
                }
            }
        }
    }
}

/// Shows one page of a list, with `details` about it.
pub(crate) fn page_row(default_source: &str, page: &PageRow, details: &Markup) -> Markup {
    let name = page_name(default_source, &page.source_id, &page.slug);
    html! {
        li {
            a class="title" href=(Text(&page_path(&name))) { bdi { (Text(&page.title)) } }
            (row_facts(&name, &page.page_type, &page.updated_at, page.trust))
            @if !page.tags.is_empty() {
                " " span class="facts" {
                    @for tag in &page.tags { "#" bdi { (Text(tag)) } " " }
                }
            }
            (details)
        }
    }
}

fn row_facts(name: &str, page_type: &str, updated_at: &str, trust: TrustLevel) -> Markup {
    html! {
        " " span class="facts" {
            bdi { (Text(name)) } " · " bdi { (Text(page_type)) } " · " (day(updated_at))
            @if trust == TrustLevel::Outside { " · " span class="outside" { "from outside" } }
        }
    }
}

/// Shows a time as its day.
pub(crate) fn day(time: &str) -> Markup {
    let day = time.get(..10).unwrap_or(time);
    html! { time datetime=(Text(time)) { (Text(day)) } }
}

/// Marks byte ranges of a text. Ignores a range that is not on character boundaries, or that begins
/// before the end of the previous one.
pub(crate) fn marked(text: &str, ranges: &[(u32, u32)]) -> Markup {
    let mut parts: Vec<(&str, bool)> = Vec::new();
    let mut at = 0;
    for (start, end) in ranges.iter().map(|(start, end)| (*start as usize, *end as usize)) {
        let (Some(before), Some(word)) = (text.get(at..start), text.get(start..end)) else {
            continue;
        };
        parts.push((before, false));
        parts.push((word, true));
        at = end;
    }
    parts.push((text.get(at..).unwrap_or_default(), false));
    html! {
        @for (part, is_marked) in parts {
            @if is_marked { mark { (Text(part)) } } @else { (Text(part)) }
        }
    }
}

fn milliseconds(microseconds: u64) -> String {
    format!("{:.1}", microseconds as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_between_characters_and_escaped() {
        assert_eq!(marked("a <b> c", &[(2, 5)]).0, "a <mark>&lt;b&gt;</mark> c");
        assert_eq!(marked("äb", &[(1, 2), (2, 3)]).0, "ä<mark>b</mark>");
        assert_eq!(marked("ab", &[(1, 9), (5, 4)]).0, "ab");
        assert_eq!(marked("abc", &[(1, 2), (0, 1)]).0, "a<mark>b</mark>c");
    }
}
