//! Sources, their synchronisation, and broken links.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{
    BrokenLink, BrokenLinks, BrokenLinksReply, Fault, FaultCode, SourceId, SourceList, SourceRow,
    Sync, SyncReply, SyncedSource,
};
use maud::{Markup, html};

use super::respond;
use crate::extract::FormPost;
use crate::layout::csrf;
use crate::live::LiveStreams;
use crate::page_path::page_path;
use crate::session::Session;
use crate::table::{optional_time, table, text};
use crate::text::Text;

const PATH: &str = "/web/sources";
/// Maximum number of broken links on the screen.
const LIMIT: u32 = 100;

/// `GET /web/sources`
pub(crate) async fn show(State(brain): State<Door>, session: Session) -> Response {
    respond(&session, PATH, screen(&brain, &session, None).await)
}

/// `POST /web/sources/sync`: synchronises one source or all, and shows the result.
pub(crate) async fn sync(
    State(brain): State<Door>,
    Extension(streams): Extension<Arc<LiveStreams>>,
    form_post: FormPost,
) -> Response {
    let work = async {
        let source = match form_post.field("source") {
            "" => None,
            text => Some(
                SourceId::parse(text)
                    .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))?,
            ),
        };
        let sync = Sync { all: source.is_none(), source, ..Sync::default() };
        let progress = streams.show_progress("Synchronising");
        let reply = form_post.session.run_with_progress(&brain, sync, progress).await?;
        screen(&brain, &form_post.session, Some(reply)).await
    };
    let body = work.await;
    respond(&form_post.session, PATH, body)
}

async fn screen(
    brain: &Door,
    session: &Session,
    synced: Option<SyncReply>,
) -> Result<Markup, Fault> {
    let sources = session.run(brain, SourceList).await?.sources;
    let broken = session.run(brain, BrokenLinks { source: None, limit: LIMIT }).await?;
    let rows: Vec<Vec<Markup>> = sources.iter().map(|source| row(session, source)).collect();
    let headings = ["Source", "Directory", "Pages", "Synchronised", "Problem", ""];
    Ok(html! {
        @if let Some(reply) = &synced { (report(reply)) }
        (table(
            "Sources",
            &headings,
            &rows,
            "There are no directories. Add one: brain sources add NAME --path DIR",
        ))
        form method="post" action="/web/sources/sync" {
            (csrf(session))
            p { button { "Synchronise all" } }
        }
        (broken_links(&broken))
    })
}

fn row(session: &Session, source: &SourceRow) -> Vec<Markup> {
    let id = source.source_id.as_str();
    vec![
        html! {
            a href={ "/?source=" (Text(id)) } { (Text(id)) }
            @if source.default { " " span class="facts" { "default" } }
        },
        html! {
            code { (Text(&source.path)) }
            @if source.git { " " span class="facts" { "git" } }
        },
        html! { (source.pages) },
        optional_time(source.synced_at.as_deref()),
        html! { @if let Some(problem) = &source.problem { (text(problem)) } },
        html! {
            form method="post" action="/web/sources/sync" {
                (csrf(session))
                input type="hidden" name="source" value=(Text(id));
                button class="plain" {
                    "Synchronise" span class="hidden" { " " (Text(id)) }
                }
            }
        },
    ]
}

fn report(reply: &SyncReply) -> Markup {
    let counts = |source: &SyncedSource| {
        [
            (source.added, "added"),
            (source.updated, "updated"),
            (source.renamed, "renamed"),
            (source.restored, "restored"),
            (source.removed, "removed"),
            (source.held_back, "held back"),
            (source.failed_total, "failed"),
        ]
    };
    html! {
        div class="notice good" role="status" {
            @for source in &reply.sources {
                p {
                    strong { (Text(source.source_id.as_str())) } ": " (source.status) ", "
                    (source.files) " files"
                    @for (count, name) in counts(source) {
                        @if count > 0 { ", " (count) " " (name) }
                    }
                    "."
                    @if let Some(problem) = &source.problem { " " (text(problem)) }
                }
                @if !source.conflicts.is_empty() {
                    p { "Both sides changed; the page's text is kept as a former version:" }
                    ul {
                        @for conflict in &source.conflicts {
                            @let name = format!("{}:{}", source.source_id, conflict.slug);
                            li {
                                a href=(Text(&page_path(&name))) { (Text(conflict.slug.as_str())) }
                                ", version " (conflict.kept_version)
                            }
                        }
                    }
                }
                @for failure in &source.failed {
                    p { code { (Text(&failure.path)) } ": " (text(&failure.reason)) }
                }
                @for warning in &source.warnings { p { (text(warning)) } }
            }
        }
    }
}

fn broken_links(reply: &BrokenLinksReply) -> Markup {
    let row = |link: &BrokenLink| {
        let name = format!("{}:{}", link.source_id, link.slug);
        let candidates: Vec<String> =
            link.candidates.iter().map(|slug| format!("{}:{slug}", link.source_id)).collect();
        vec![
            html! { a href=(Text(&page_path(&name))) { (Text(link.slug.as_str())) } },
            text(&link.target),
            html! {
                (link.status)
                @for name in &candidates { " " a href=(Text(&page_path(name))) { (Text(name)) } }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = reply.links.iter().map(row).collect();
    html! {
        h2 { "Broken links" }
        p { (reply.missing) " lead to no page, " (reply.ambiguous) " to several." }
        (table("Broken links", &["Page", "Link", "State"], &rows, "No link is broken."))
        @if reply.truncated {
            p class="note" { "There are more: " code { "brain links --broken" } }
        }
    }
}
