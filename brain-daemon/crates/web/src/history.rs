//! Versions of a page, their differences, and deleted pages.

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{
    Diff, DiffReply, History, HistoryReply, List, PageRow, Pages, VersionRow, page_name,
};
use maud::{Markup, html};

use crate::layout::{self, Screen, csrf};
use crate::operations;
use crate::page_path::{encoded_path, page_path, parse_page};
use crate::results::{day, page_row};
use crate::session::Session;
use crate::text::Text;

/// Maximum number of deleted pages on the screen.
const DELETED: u32 = 200;

/// `GET /web/history/{name}`: the versions, newest first.
pub(crate) async fn list(
    State(brain): State<Door>,
    Path(name): Path<String>,
    session: Session,
) -> Response {
    let work = async { session.run(&brain, History { page: parse_page(&name)? }).await };
    match work.await {
        Ok(history) => Screen::new(&session, "Versions", versions(&session, &history)).respond(),
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// `GET /web/diff/{name}?from=A&to=B`: what changed between two versions.
pub(crate) async fn diff(
    State(brain): State<Door>,
    Path(name): Path<String>,
    uri: Uri,
    session: Session,
) -> Response {
    let query = uri.query().unwrap_or_default();
    let number = |field: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(name, _)| name == field).and_then(|(_, value)| value.parse().ok())
    };
    let (from, to) = (number("from"), number("to"));
    let work = async {
        session.run(&brain, Diff { page: parse_page(&name)?, from, to, other: None }).await
    };
    match work.await {
        Ok(diff) => Screen::new(&session, "Difference", difference(&diff)).respond(),
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// `GET /web/deleted`: pages that can be restored.
pub(crate) async fn deleted(State(brain): State<Door>, session: Session) -> Response {
    let list = List { deleted: true, limit: DELETED, ..List::default() };
    let pages = session.run(&brain, list).await;
    let body = pages.map(|pages| deleted_pages(&session, &pages));
    operations::respond(&session, "/web/deleted", body)
}

fn versions(session: &Session, history: &HistoryReply) -> Markup {
    let name = format!("{}:{}", history.source_id, history.slug);
    html! {
        h1 { "Versions of " a href=(Text(&page_path(&name))) { (Text(history.slug.as_str())) } }
        p { a href=(Text(&encoded_path("/web/why/", &name))) { "Where each paragraph comes from" } }
        div class="wide" tabindex="0" role="region" aria-label="Versions" {
            table class="stack" {
                thead {
                    tr {
                        th { "Version" } th { "Written" } th { "By" } th { "Lines" } th { "Title" }
                        th { span class="hidden" { "Actions" } }
                    }
                }
                tbody {
                    @for row in &history.versions { (version_row(session, &name, row)) }
                }
            }
        }
    }
}

fn version_row(session: &Session, name: &str, row: &VersionRow) -> Markup {
    let shown = match row.current {
        true => page_path(name),
        false => format!("{}?version={}", page_path(name), row.version),
    };
    html! {
        tr {
            td data-label="Version" {
                a href=(Text(&shown)) { (row.version) } @if row.current { " (now)" }
            }
            td { (day(&row.written_at)) " " (Text(row.written_at.get(11..16).unwrap_or(""))) }
            td data-label="By" {
                bdi { (Text(row.written_by.as_deref().unwrap_or("unknown"))) }
                @if let Some(via) = &row.written_via { " " span class="facts" { (Text(via)) } }
            }
            td data-label="Lines" {
                @if let (Some(added), Some(removed)) = (row.lines_added, row.lines_removed) {
                    span class="added" { "+" (added) } " " span class="removed" { "−" (removed) }
                }
            }
            td { bdi { (Text(&row.title)) } }
            td class="buttons" {
                a href={ (Text(&encoded_path("/web/diff/", name))) "?to=" (row.version) } {
                    "Changes"
                }
                @if !row.current {
                    form method="post" action=(Text(&encoded_path("/web/revert/", name))) {
                        (csrf(session))
                        input type="hidden" name="version" value=(row.version);
                        button class="plain" { "Restore" }
                    }
                }
            }
        }
    }
}

fn difference(diff: &DiffReply) -> Markup {
    let name = format!("{}:{}", diff.source_id, diff.slug);
    let class = |line: &str| match line.as_bytes() {
        [b'@', ..] => "hunk",
        [b'+', ..] => "added",
        [b'-', ..] => "removed",
        _ => "same",
    };
    // The first two lines name the files.
    let lines = diff.diff.lines().skip_while(|line| !line.starts_with('@'));
    html! {
        h1 { "Changes of " a href=(Text(&page_path(&name))) { (Text(diff.slug.as_str())) } }
        p {
            @if diff.from == 0 { "The first version" }
            @else { "Version " (diff.from) " to " (diff.to) }
            ": " span class="added" { "+" (diff.added) } " "
            span class="removed" { "−" (diff.removed) } " lines. "
            a href=(Text(&encoded_path("/web/history/", &name))) { "All versions" }
        }
        @if diff.diff.is_empty() { p { "The text is the same." } }
        @else {
            pre class="diff" tabindex="0" aria-label="Difference" {
                @for line in lines { span class=(class(line)) { (Text(line)) } "\n" }
            }
        }
    }
}

fn deleted_pages(session: &Session, pages: &Pages) -> Markup {
    let default = pages.default_source.as_str();
    html! {
        p { "A deleted page can be restored for 72 hours." }
        @if pages.pages.is_empty() { p { "No page was deleted in this time." } }
        ul class="hits" {
            @for page in &pages.pages {
                (page_row(default, page, &restore_form(session, default, page)))
            }
        }
    }
}

fn restore_form(session: &Session, default_source: &str, page: &PageRow) -> Markup {
    let name = page_name(default_source, &page.source_id, &page.slug);
    html! {
        form class="row" method="post" action=(Text(&encoded_path("/web/restore/", &name))) {
            (csrf(session))
            @if let Some(until) = &page.recoverable_until {
                span class="facts" { "until " (Text(until.get(..16).unwrap_or(until))) " UTC" }
            }
            button { "Restore" span class="hidden" { " " (Text(&name)) } }
        }
    }
}
