//! `GET /page/{name}`: a page with its outline, links to it, timeline and provenance.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use brain_core::{Brain, NoProgress, SimilarPage};
use brain_page::plain_sentence;
use brain_protocol::{
    Backlinks, Fault, FaultCode, Get, LinkRow, Links, List, MarkedLines, Page, PageRef, Slug, Sort,
    Timeline, TimelineRow, TrustLevel,
};
use maud::{Markup, html};

use crate::attachments::PageFiles;
use crate::layout::{self, Screen, csrf};
use crate::page_path::{page_path, parse, path};
use crate::results::day;
use crate::search::Question;
use crate::session::{Session, block};
use crate::text::{MAX_LINE, Text, direction};
use crate::{embeds, graph, markdown, neighbours, provenance};

/// Entries of the timeline beside a page.
const TIMELINE: u32 = 20;
/// Links to the page that are always shown. The others are in a collapsed element.
const BACKLINKS: usize = 12;

/// A page with what is shown beside it.
struct Reading {
    page: Page,
    /// Whether a former version was asked for.
    is_former: bool,
    /// The URLs of the page's links, by target.
    links: HashMap<String, String>,
    /// The pages that this one links to.
    linked: Vec<LinkRow>,
    backlinks: Vec<LinkRow>,
    /// The pages that this one embeds, by target.
    embeds: HashMap<String, Markup>,
    /// The absolute path of its file.
    file: Option<String>,
    timeline: Vec<TimelineRow>,
    files: PageFiles,
}

/// What a URL leads to.
enum Outcome {
    Page(Box<Reading>),
    /// A message, the name of a page that can be created, and the URLs and names of similar pages.
    Missing(String, Option<String>, Vec<(String, String)>),
}

/// `GET /page/{name}`, with `?version=N` for a former version.
pub(crate) async fn show(
    State(brain): State<Arc<Brain>>,
    Path(name): Path<String>,
    uri: Uri,
    session: Session,
) -> Response {
    let query = uri.query().unwrap_or_default();
    let version = form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "version")
        .and_then(|(_, value)| value.parse::<u32>().ok());
    let reader = session.clone();
    let rendered = block(&brain, move |brain| {
        let outcome = read(brain, &reader, &name, version)?;
        Ok::<_, Fault>(match &outcome {
            Outcome::Page(reading) => {
                let _permit = brain.text_permit(reading.page.body.len());
                let body = page_screen(&reader, reading);
                (StatusCode::OK, reading.page.title.clone(), body)
            }
            Outcome::Missing(message, slug, similar) => {
                let body = missing(message, slug.as_deref(), similar);
                (StatusCode::NOT_FOUND, "No such page".to_owned(), body)
            }
        })
    });
    match rendered.await.and_then(|outcome| outcome) {
        Ok((status, title, body)) => {
            Screen { status, ..Screen::new(&session, &title, body) }.respond()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// Reads a page. Blocks.
fn read(
    brain: &Arc<Brain>,
    session: &Session,
    name: &str,
    version: Option<u32>,
) -> Result<Outcome, Fault> {
    let caller = &session.caller;
    let page = match parse(name) {
        Ok(page) => page,
        Err(nearest) => {
            let similar = nearest.map(|near| similar(brain, session, &near)).transpose()?;
            let message = format!("\"{name}\" is not the name of a page.");
            return Ok(Outcome::Missing(message, None, similar.unwrap_or_default()));
        }
    };
    let page = match brain.run(caller, Get { page: page.clone(), version }, &NoProgress) {
        Ok(page) => page,
        Err(fault) => {
            let message = match fault.code {
                FaultCode::AmbiguousSlug => format!("Several pages are called \"{name}\"."),
                FaultCode::NotFound | FaultCode::UnknownSource => {
                    format!("There is no page \"{name}\".")
                }
                _ => return Err(fault),
            };
            let free = (fault.code == FaultCode::NotFound).then(|| page.to_string());
            return Ok(Outcome::Missing(message, free, similar(brain, session, &page)?));
        }
    };
    let this = PageRef::new(&page.source_id, &page.slug);
    let linked = brain.run(caller, Links { page: this.clone() }, &NoProgress)?.links;
    let embeds = embeds::read(brain, session, &page, &linked);
    let backlinks = brain.run(caller, Backlinks { page: this.clone() }, &NoProgress)?.links;
    let timeline = Timeline {
        source: this.source.clone(),
        slug: Some(this.slug.clone()),
        limit: TIMELINE,
        ..Timeline::default()
    };
    let timeline = brain.run(caller, timeline, &NoProgress)?.entries;
    let (links, file) = (link_urls(&linked), file(brain, session, &page)?);
    let files = PageFiles::read(brain, session, &this)?;
    Ok(Outcome::Page(Box::new(Reading {
        page,
        is_former: version.is_some(),
        links,
        linked,
        backlinks,
        embeds,
        file,
        files,
        timeline,
    })))
}

/// Returns the URLs of the pages that links lead to, by target.
pub(crate) fn link_urls(links: &[LinkRow]) -> HashMap<String, String> {
    let urls = links.iter().filter_map(|link| {
        let (source, slug) = (link.source_id.as_ref()?, link.slug.as_ref()?);
        Some((link.target.clone(), page_path(&format!("{source}:{slug}"))))
    });
    urls.collect()
}

/// Returns the absolute path of a page's file, if it has one.
fn file(brain: &Arc<Brain>, session: &Session, page: &Page) -> Result<Option<String>, Fault> {
    if page.source_path.is_none() {
        return Ok(None);
    }
    let list = List {
        source: Some(page.source_id.clone()),
        prefix: Some(page.slug.to_string()),
        sort: Sort::Slug,
        limit: 1,
        ..List::default()
    };
    let first = brain.run(&session.caller, list, &NoProgress)?.pages.into_iter().next();
    Ok(first.filter(|row| row.slug == page.slug).and_then(|row| row.path))
}

/// Returns the URLs and names of the pages that a name may mean, and of similar ones.
fn similar(
    brain: &Arc<Brain>,
    session: &Session,
    page: &PageRef,
) -> Result<Vec<(String, String)>, Fault> {
    let similar = brain.pages.similar(&session.caller, &page.slug)?;
    let named = |page: SimilarPage| {
        let path = page_path(&format!("{}:{}", page.source, page.slug));
        (path, format!("{} ({})", page.title, page.slug))
    };
    Ok(similar.into_iter().map(named).collect())
}

/// Returns the path of the form for a new page.
fn new_path(name: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("slug", name);
    format!("/web/new?{}", query.finish())
}

/// Returns the URL of a link's page, even if the page does not exist yet.
pub(crate) fn resolve(
    page: &Page,
    links: &HashMap<String, String>,
    target: &str,
) -> Option<String> {
    if let Some(address) = links.get(target) {
        return Some(address.clone());
    }
    target_path(page, target)
}

/// Returns the URL of the page that a link names, in the source of `page`.
pub(crate) fn target_path(page: &Page, target: &str) -> Option<String> {
    let name = target.split(['#', '?']).next().unwrap_or_default();
    let slug = Slug::parse(name.strip_suffix(".md").unwrap_or(name)).ok()?;
    Some(page_path(&format!("{}:{slug}", page.source_id)))
}

fn page_screen(session: &Session, reading: &Reading) -> Markup {
    let page = &reading.page;
    let name = format!("{}:{}", page.source_id, page.slug);
    let body = without_title(&page.body, &page.title);
    let files = &reading.files;
    let url = |target: &str| files.url(target).or_else(|| resolve(page, &reading.links, target));
    let embed = |target: &str| reading.embeds.get(target).cloned();
    let rendered = markdown::render_with(body, "", url, |target| files.picture(target), embed);
    let current = (!reading.is_former).then_some(Text(&name));
    html! {
        div class="reader" data-page=[current] data-version=(page.version) {
            article dir=(direction(body)) {
                h1 { bdi { (Text(&page.title)) } }
                @if reading.is_former { (former_version(session, &name, page.version)) }
                @if page.trust == TrustLevel::Outside {
                    p class="notice" role="note" {
                        "This text came from outside: from the web, a message or a program. "
                        "You did not write it. Check its claims and links before you rely on them."
                    }
                }
                (page_facts(page))
                (rendered.html)
                (lines_by_others(session, &name, page))
            }
            aside aria-label="About this page" {
                @if !reading.is_former { (actions(session, &name, page)) }
                @if rendered.headings.len() > 1 { (outline(&rendered.headings)) }
                (neighbours::drawing(&name, &reading.linked, &reading.backlinks))
                @if !reading.is_former { (files.section(session)) }
                (backlinks(&reading.backlinks))
                @if !reading.is_former { (mentions(&name)) }
                (timeline(&reading.timeline))
                section {
                    h2 { "Where it is from" }
                    @for sentence in provenance::sentences(page) { p { (sentence) } }
                    @if let Some(file) = &reading.file { (open_in_editor(file)) }
                }
            }
        }
    }
}

/// Shows name, type, tags and date.
fn page_facts(page: &Page) -> Markup {
    html! {
        p class="facts" {
            code { (Text(page.slug.as_str())) } " · " bdi { (Text(&page.page_type)) }
            " · in " (Text(page.source_id.as_str())) " · changed " (day(&page.updated_at))
        }
        @if !page.tags.is_empty() {
            p class="chips" {
                @for tag in &page.tags {
                    @let found = Question { tags: vec![tag.clone()], ..Question::default() };
                    a class="chip" href=(Text(&found.path())) { "#" bdi { (Text(tag)) } }
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
            form method="post" action=(Text(&path("/web/revert/", name))) {
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
            a class="button" id="edit" href=(Text(&path("/web/edit/", name))) { "Edit" }
            a class="button" id="history" href=(Text(&path("/web/history/", name))) {
                "Versions (" (page.version) ")"
            }
            a class="button" href=(Text(&graph::path_around(name))) { "Graph" }
        }
        details class="danger" {
            summary { "Delete" }
            form method="post" action=(Text(&path("/web/delete/", name))) {
                (csrf(session))
                input type="hidden" name="version" value=(page.version);
                p { "The page can be restored for 72 hours." }
                button { "Delete this page" }
            }
        }
    }
}

fn outline(headings: &[markdown::Heading]) -> Markup {
    html! {
        nav class="outline" aria-labelledby="outline" {
            h2 id="outline" { "Outline" }
            ul {
                @for heading in headings {
                    li class={ "level" (heading.level) } {
                        a href={ "#" (heading.id) } { bdi { (Text(&heading.text)) } }
                    }
                }
            }
        }
    }
}

fn backlinks(links: &[LinkRow]) -> Markup {
    let row = |link: &LinkRow| {
        let (source, slug) = (link.source_id.as_ref()?, link.slug.as_ref()?);
        let path = page_path(&format!("{source}:{slug}"));
        let title = link.title.clone().unwrap_or_else(|| slug.to_string());
        Some(html! {
            li {
                a href=(Text(&path)) { bdi { (Text(&title)) } }
                @if link.kind != brain_page::MENTIONS {
                    " " span class="facts" { (Text(&link.kind)) }
                }
                @if let Some(sentence) = &link.sentence {
                    p class="facts" { bdi { (Text(sentence)) } }
                }
            }
        })
    };
    let rows: Vec<Markup> = links.iter().filter_map(row).collect();
    let (first, rest) = rows.split_at(rows.len().min(BACKLINKS));
    html! {
        @if !rows.is_empty() {
            section {
                h2 { "Links to this page" }
                ul { @for row in first { (row) } }
                @if !rest.is_empty() {
                    details { summary { (rest.len()) " more" } ul { @for row in rest { (row) } } }
                }
            }
        }
    }
}

/// Links to the mentions of this page; `assets/read.js` shows them in place.
fn mentions(name: &str) -> Markup {
    html! {
        section {
            h2 { "Mentions without a link" }
            div id="mentions" {
                p { a href=(Text(&path("/web/mentions/", name))) { "Show them" } }
            }
        }
    }
}

/// Shows the path of the page's file; `assets/read.js` adds a button that copies it.
fn open_in_editor(file: &str) -> Markup {
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

/// Lists the lines that somebody other than the page's author wrote.
fn lines_by_others(session: &Session, name: &str, page: &Page) -> Markup {
    let text = |mark: &MarkedLines| {
        let count = (mark.last - mark.first.min(mark.last)) as usize + 1;
        let lines = page.content.lines().skip(mark.first.saturating_sub(1) as usize).take(count);
        lines.collect::<Vec<_>>().join("\n")
    };
    html! {
        @if !page.outside_lines.is_empty() {
            section dir="auto" aria-labelledby="others" {
                h2 id="others" { "Lines by others" }
                p { "Others changed these lines. Check them before you rely on them." }
                @for mark in &page.outside_lines {
                    p {
                        @if mark.first == mark.last { "Line " (mark.first) }
                        @else { "Lines " (mark.first) "–" (mark.last) }
                        ": " bdi { (Text(&mark.source_uri)) } ", "
                        (Text(&mark.source_kind)) ", " (Text(&mark.written_at))
                    }
                    pre { (Text(&text(mark))) }
                }
                form method="post" action=(Text(&path("/web/trust/", name))) {
                    (csrf(session))
                    input type="hidden" name="version" value=(page.version);
                    button { "I checked them: make them mine" }
                }
            }
        }
    }
}

/// Returns the text without a first heading that repeats the title.
pub(crate) fn without_title<'a>(body: &'a str, title: &str) -> &'a str {
    let text = body.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let heading = first.strip_prefix("# ").map(str::trim);
    if heading == Some(title.trim()) { rest } else { body }
}

fn missing(message: &str, slug: Option<&str>, similar: &[(String, String)]) -> Markup {
    html! {
        h1 { "No such page" }
        p class="notice" role="alert" { bdi { (Text(message)) } }
        @if !similar.is_empty() {
            p { "Perhaps one of these:" }
            ul {
                @for (path, name) in similar {
                    li { a href=(Text(path)) { bdi { (Text(name)) } } }
                }
            }
        }
        @if let Some(slug) = slug {
            p {
                a class="button" href=(Text(&new_path(slug))) { "Write this page" }
            }
        }
        p { a href="/web/deleted" { "Deleted pages" } " can be restored for 72 hours." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_that_repeats_the_title_is_left_out() {
        assert_eq!(without_title("\n# Ada \ntext", "Ada"), "text");
        assert_eq!(without_title("# Ada", "Ada"), "");
        assert_eq!(without_title("# Ada L\ntext", "Ada"), "# Ada L\ntext");
        assert_eq!(without_title("## Ada\n", "Ada"), "## Ada\n");
    }
}
