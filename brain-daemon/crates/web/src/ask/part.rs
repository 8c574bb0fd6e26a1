//! `GET /web/part/{name}`: the text of a page, for the panel beside an answer.

use axum::extract::{Path, State};
use axum::response::Response;
use brain_core::Door;
use brain_page::LongText;
use brain_protocol::{Fault, Get, Page, TrustLevel};
use maud::{Markup, html};

use crate::layout::{self, fragment};
use crate::page_path::{page_path, parse_page};
use crate::session::{Session, block};
use crate::text::Text;
use crate::{markdown, reader};

/// Shows the text of a page, or the first part of a long one. Links to other pages have the names
/// as written, without a lookup.
pub(super) async fn show(
    State(brain): State<Door>,
    Path(name): Path<String>,
    session: Session,
) -> Response {
    let work = async {
        let page = session.run(&brain, Get { page: parse_page(&name)?, version: None }).await?;
        block(&brain, move |brain| {
            let _permit = brain.text_permit(page.body.len());
            view(&page)
        })
        .await
    };
    let part: Result<Markup, Fault> = work.await;
    match part {
        Ok(part) => fragment(&part),
        Err(fault) => layout::fault(&session, &fault),
    }
}

fn view(page: &Page) -> Markup {
    let name = format!("{}:{}", page.source_id, page.slug);
    let body = reader::without_title(&page.body, &page.title);
    let long = LongText::new(body);
    let first = long.part(1).text;
    let rendered = markdown::render(&first, |target| reader::target_path(page, target));
    html! {
        h2 { a href=(Text(&page_path(&name))) { bdi { (Text(&page.title)) } } }
        p class="facts" { code { (Text(page.slug.as_str())) } }
        @match page.trust {
            TrustLevel::Outside => {
                p class="notice" role="note" {
                    "This text came from outside. You did not write it."
                }
            }
            TrustLevel::Mixed => {
                p class="notice" role="note" { "Others wrote parts of this text." }
            }
            TrustLevel::Owner => {}
        }
        div dir="auto" { (rendered.html) }
        @if long.count() > 1 {
            p { a href=(Text(&page_path(&name))) { "Read the whole page" } }
        }
    }
}
