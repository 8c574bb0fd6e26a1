//! `GET /web/mentions/{name}`: pages that name a page's title without a link to it.

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{Backlinks, Fault, Get, Hit, Page, PageRef, Search};
use maud::{Markup, html};

use crate::layout::{self, Screen};
use crate::page_path::{page_path, parse_page};
use crate::results::marked;
use crate::session::Session;
use crate::text::Text;

pub(crate) const ROUTE: &str = "/web/mentions/{*name}";
/// Maximum number of shown mentions.
const MAX_MENTIONS: usize = 10;
/// Maximum number of hits among which mentions are looked for.
const MAX_HITS: u32 = 60;
/// Titles with fewer characters are not searched.
const MIN_CHARS: usize = 3;
/// Titles with more words are not searched.
const MAX_WORDS: usize = 10;

/// Shows the mentions; with `?part` only their list, for `assets/read.js`.
pub(crate) async fn show(
    State(brain): State<Door>,
    Path(name): Path<String>,
    uri: Uri,
    session: Session,
) -> Response {
    let is_part = uri.query() == Some("part");
    match find(&brain, &session, &name).await {
        Ok((_, hits)) if is_part => layout::fragment(&list(&hits)),
        Ok((page, hits)) => {
            let path = page_path(&format!("{}:{}", page.source_id, page.slug));
            let body = html! {
                h1 { "Mentions of " a href=(Text(&path)) { bdi { (Text(&page.title)) } } }
                p { "These pages have the title in their text, but no link to the page." }
                (list(&hits))
            };
            Screen::new(&session, "Mentions", body).respond()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// Returns the page `name`, and the hits that mention its title without a link to it.
async fn find(brain: &Door, session: &Session, name: &str) -> Result<(Page, Vec<Hit>), Fault> {
    let page = session.run(brain, Get { page: parse_page(name)?, version: None }).await?;
    let title = page.title.replace(['"', '\\'], " ");
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.chars().count() < MIN_CHARS || title.split(' ').count() > MAX_WORDS {
        return Ok((page, Vec::new()));
    }
    let this = PageRef::new(&page.source_id, &page.slug);
    let links = session.run(brain, Backlinks { page: this }).await?.links;
    let search = Search { query: format!("\"{title}\""), limit: MAX_HITS, ..Search::default() };
    let mut hits = session.run(brain, search).await?.hits;
    let title = title.to_lowercase();
    hits.retain(|hit| {
        let is_this = hit.slug == page.slug && hit.source_id == page.source_id;
        let is_linked = links.iter().any(|link| {
            link.slug.as_ref() == Some(&hit.slug) && link.source_id.as_ref() == Some(&hit.source_id)
        });
        !is_this && !is_linked && hit.snippet.to_lowercase().contains(&title)
    });
    hits.truncate(MAX_MENTIONS);
    Ok((page, hits))
}

fn list(hits: &[Hit]) -> Markup {
    html! {
        @if hits.is_empty() { p class="facts" { "None found." } }
        ul class="mentions" {
            @for hit in hits {
                @let path = page_path(&format!("{}:{}", hit.source_id, hit.slug));
                li {
                    a href=(Text(&path)) { bdi { (Text(&hit.title)) } }
                    p class="snippet" dir="auto" { (marked(&hit.snippet, &hit.highlights)) }
                }
            }
        }
    }
}
