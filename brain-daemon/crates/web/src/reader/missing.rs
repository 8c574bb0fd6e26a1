//! The screen for a name that no page has, or several.

use brain_core::{Door, SimilarPage};
use brain_protocol::{Fault, PageRef};
use maud::{Markup, html};

use crate::page_path::page_path;
use crate::session::Session;
use crate::text::Text;

/// Returns the paths and names of pages with the slug of `page`, and of similar pages.
pub(super) fn similar(
    brain: &Door,
    session: &Session,
    page: &PageRef,
) -> Result<Vec<(String, String)>, Fault> {
    let similar = brain.similar_pages(&session.caller, &page.slug)?;
    let named = |page: SimilarPage| {
        let path = page_path(&format!("{}:{}", page.source, page.slug));
        (path, format!("{} ({})", page.title, page.slug))
    };
    Ok(similar.into_iter().map(named).collect())
}

/// Returns the path of the form for the new page `name`.
fn new_path(name: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("slug", name);
    format!("/web/new?{}", query.finish())
}

/// Shows the message, and links to similar pages and to the form for the page `new_name`.
pub(super) fn screen(
    message: &str,
    new_name: Option<&str>,
    similar: &[(String, String)],
) -> Markup {
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
        @if let Some(name) = new_name {
            p {
                a class="button" href=(Text(&new_path(name))) { "Write this page" }
            }
        }
        p { a href="/web/deleted" { "Deleted pages" } " can be restored for 72 hours." }
    }
}
