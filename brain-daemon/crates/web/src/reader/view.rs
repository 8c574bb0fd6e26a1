//! The screen of a page.

use brain_page::{LongText, plain_sentence};
use brain_protocol::{Page, TimelineRow, TrustLevel};
use maud::{Markup, html};

use super::embeds;
use super::parts::{self, PageView};
use super::{Reading, links, marked_lines, stale, without_title};
use crate::layout::csrf;
use crate::page_path::{encoded_path, page_path};
use crate::results::day;
use crate::search_query::SearchQuery;
use crate::session::Session;
use crate::text::{MAX_LINE, Text, direction};
use crate::{graph, markdown, neighbours, provenance};

/// Maximum number of tags that are shown at first.
const MAX_TAGS: usize = 100;

/// Shows a page, or the part of it that `view` names. Blocks.
pub(super) fn page_screen(session: &Session, reading: &Reading<'_>, view: PageView) -> Markup {
    let Reading { page, sidebar, files, .. } = reading;
    let name = format!("{}:{}", page.source_id, page.slug);
    let body = without_title(&page.body, &page.title);
    let long = LongText::new(body);
    let view = PageView { part: view.part.clamp(1, long.count()), ..view };
    let part = long.part(view.part);
    let url = |target: &str| files.url(target).or_else(|| reading.url(target));
    let embedded = embeds::read(reading, &part.text);
    let embed = |target: &str| embedded.get(target).cloned();
    let rendered = match long.count() {
        1 => markdown::render_with(&part.text, "", url, |it| files.picture(it), embed),
        _ => markdown::render_part(&part, url, |it| files.picture(it), embed),
    };
    let is_former = view.version.is_some();
    let current = (!is_former).then_some(Text(&name));
    html! {
        div class="reader" data-page=[current] data-version=(page.version) {
            article dir=(direction(body)) {
                h1 { bdi { (Text(&page.title)) } }
                @if is_former { (former_version(session, &name, page.version)) }
                @if page.trust == TrustLevel::Outside {
                    p class="notice" role="note" {
                        "This text came from outside: from the web, a message or a program. "
                        "You did not write it. Check its claims and links before you rely on them."
                    }
                }
                @if !is_former { (stale::notice(reading)) }
                (page_facts(page, view))
                (parts::navigation(&name, view, long.count(), "Parts of this page"))
                (rendered.html)
                (parts::navigation(&name, view, long.count(), "Parts of this page, at the end"))
                (marked_lines::section(session, &name, page, view, long.count()))
            }
            aside aria-label="About this page" {
                @if !is_former { (actions(session, &name, page)) }
                (parts::outline(&name, view, parts::headings(body, &long, rendered.headings)))
                (neighbours::drawing(&name, &sidebar.linked, &sidebar.backlinks))
                @if !is_former { (files.section(session)) }
                (links::backlinks(&name, &sidebar.backlinks))
                @if !is_former { (mentions(&name)) }
                (timeline(&sidebar.timeline))
                section {
                    h2 { "Where it is from" }
                    @for sentence in provenance::sentences(page) { p { (sentence) } }
                    @if let Some(file) = &sidebar.file { (file_path(file)) }
                }
            }
        }
    }
}

/// Shows slug, type, source, date and tags.
fn page_facts(page: &Page, view: PageView) -> Markup {
    html! {
        p class="facts" {
            code { (Text(page.slug.as_str())) } " · " bdi { (Text(&page.page_type)) }
            " · in " (Text(page.source_id.as_str())) " · changed " (day(&page.updated_at))
        }
        @if !page.tags.is_empty() {
            @let shown = if view.has_all_tags { page.tags.len() } else { MAX_TAGS };
            p class="chips" {
                @for tag in page.tags.iter().take(shown) {
                    @let search = SearchQuery { tags: vec![tag.clone()], ..SearchQuery::default() };
                    a class="chip" href=(Text(&search.path())) { "#" bdi { (Text(tag)) } }
                }
                @if page.tags.len() > shown {
                    @let all = PageView { has_all_tags: true, ..view };
                    a href=(Text(&all.path(&format!("{}:{}", page.source_id, page.slug)))) {
                        "All " (page.tags.len()) " tags"
                    }
                }
            }
        }
    }
}

fn former_version(session: &Session, name: &str, version: u32) -> Markup {
    html! {
        div class="notice" role="note" {
            p {
                "This is version " (version) ", not the page as it is. "
                a href=(Text(&page_path(name))) { "Show the page as it is" }
            }
            form method="post" action=(Text(&encoded_path("/web/revert/", name))) {
                (csrf(session))
                input type="hidden" name="version" value=(version);
                button { "Make this version the current one" }
            }
        }
    }
}

fn actions(session: &Session, name: &str, page: &Page) -> Markup {
    html! {
        p class="actions" {
            a class="button" id="edit" href=(Text(&encoded_path("/web/edit/", name))) { "Edit" }
            a class="button" id="history" href=(Text(&encoded_path("/web/history/", name))) {
                "Versions (" (page.version) ")"
            }
            a class="button" href=(Text(&encoded_path("/web/why/", name))) { "Why" }
            a class="button" href=(Text(&graph::path_around(name))) { "Graph" }
        }
        details class="danger" {
            summary { "Delete" }
            form method="post" action=(Text(&encoded_path("/web/delete/", name))) {
                (csrf(session))
                input type="hidden" name="version" value=(page.version);
                p { "The page can be restored for 72 hours." }
                button { "Delete this page" }
            }
        }
    }
}

/// Links to the mentions of the page; `assets/read.js` shows them in place.
fn mentions(name: &str) -> Markup {
    html! {
        section {
            h2 { "Mentions without a link" }
            div id="mentions" {
                p { a href=(Text(&encoded_path("/web/mentions/", name))) { "Show them" } }
            }
        }
    }
}

/// Shows the path of the page's file, and a link that opens it in Obsidian. `assets/read.js` adds a
/// button that copies the path.
fn file_path(file: &str) -> Markup {
    let encoded: String = form_urlencoded::byte_serialize(file.as_bytes()).collect();
    let address = format!("obsidian://open?path={}", encoded.replace('+', "%20"));
    html! {
        p class="file" { code data-copy=(Text(file)) { (Text(file)) } }
        p { a href=(Text(&address)) { "Open in Obsidian" } }
    }
}

fn timeline(entries: &[TimelineRow]) -> Markup {
    html! {
        @if !entries.is_empty() {
            section {
                h2 { "Timeline" }
                dl class="timeline" {
                    @for entry in entries {
                        dt { (day(&entry.date)) }
                        dd { bdi { (Text(&plain_sentence(&entry.text, MAX_LINE))) } }
                    }
                }
            }
        }
    }
}
