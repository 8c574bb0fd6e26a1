//! Links to a page: the first links beside the page, and the list of `GET /web/links/{name}`.

use axum::extract::{Path, State};
use axum::response::Response;
use brain_core::{Door, FirstOf, LinkedPage};
use brain_protocol::{Backlinks, LinkRow, LinksReply, PageRef};
use maud::{Markup, html};

use crate::layout::{self, Screen};
use crate::page_path::{encoded_path, page_path, parse_page};
use crate::session::Session;
use crate::text::Text;

/// The route of the list of links to a page.
pub(crate) const ROUTE: &str = "/web/links/{*name}";
/// Maximum number of links that are shown at first; the others unfold.
const MAX_SHOWN: usize = 12;

/// Shows `links`, the first links to the page `name`.
pub(super) fn backlinks(name: &str, links: &FirstOf<LinkedPage>) -> Markup {
    let (first, rest) = links.items.split_at(links.items.len().min(MAX_SHOWN));
    html! {
        @if !first.is_empty() {
            section {
                h2 { "Links to this page" }
                ul { @for link in first { (row(link)) } }
                @if !rest.is_empty() {
                    details {
                        summary { (rest.len()) " more" }
                        ul { @for link in rest { (row(link)) } }
                    }
                }
                @if links.has_more {
                    p {
                        a href=(Text(&encoded_path("/web/links/", name))) {
                            "All links to this page"
                        }
                    }
                }
            }
        }
    }
}

fn row(link: &LinkedPage) -> Markup {
    html! {
        li {
            a href=(Text(&page_path(&link.page.to_string()))) { bdi { (Text(&link.title)) } }
            @if link.kind != brain_page::MENTIONS {
                " " span class="facts" { (Text(&link.kind)) }
            }
            @if let Some(sentence) = &link.sentence {
                p class="facts" { bdi { (Text(sentence)) } }
            }
        }
    }
}

/// `GET /web/links/{name}`: the links to a page, as [`Backlinks`] returns them.
pub(crate) async fn show(
    State(brain): State<Door>,
    Path(name): Path<String>,
    session: Session,
) -> Response {
    let work = async { session.run(&brain, Backlinks { page: parse_page(&name)? }).await };
    match work.await {
        Ok(reply) => Screen::new(&session, "Links to a page", screen(&reply)).respond(),
        Err(fault) => layout::fault(&session, &fault),
    }
}

fn screen(reply: &LinksReply) -> Markup {
    let name = PageRef::new(&reply.source_id, &reply.slug).to_string();
    let links: Vec<LinkedPage> = reply.links.iter().filter_map(linked_page).collect();
    html! {
        h1 { "Links to " a href=(Text(&page_path(&name))) { code { (Text(&name)) } } }
        @if links.is_empty() { p { "No page links to this page." } }
        ul class="mentions" { @for link in &links { (row(link)) } }
        @if reply.truncated { p { "There are more links than this list shows." } }
    }
}

fn linked_page(row: &LinkRow) -> Option<LinkedPage> {
    let (source, slug) = (row.source_id.as_ref()?, row.slug.as_ref()?);
    Some(LinkedPage {
        page: PageRef::new(source, slug),
        title: row.title.clone().unwrap_or_else(|| slug.to_string()),
        kind: row.kind.clone(),
        sentence: row.sentence.clone(),
    })
}
