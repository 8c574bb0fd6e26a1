//! `GET /page/{name}`: a page with its outline, links to it, timeline and provenance.
//!
//! It reads only what the screen shows, so long pages and long lists do not delay the response. A
//! long page is shown in parts.

mod embeds;
pub(crate) mod links;
pub(crate) mod marked_lines;
mod missing;
mod parts;
mod stale;
mod view;

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use brain_core::{Door, FirstOf, LinkedPage, NoProgress, Surroundings};
use brain_protocol::{Fault, FaultCode, Get, Page, PageRef, Slug, TimelineRow};

use crate::attachments::PageFiles;
use crate::layout::{self, Screen};
use crate::page_path::{page_path, parse_page_name};
use crate::session::{Session, block};
use parts::PageView;

/// Maximum number of timeline entries beside a page.
const TIMELINE: usize = 20;
/// Maximum number of links from the page, and of links to it, that are read.
const LINKS: usize = 24;

/// A page, and the data of the screen.
pub(crate) struct Reading<'a> {
    pub(crate) brain: &'a Door,
    pub(crate) session: &'a Session,
    pub(crate) page: Page,
    surroundings: Surroundings,
    sidebar: Sidebar,
    files: PageFiles,
}

/// The data that is shown beside a page.
struct Sidebar {
    linked: FirstOf<LinkedPage>,
    backlinks: FirstOf<LinkedPage>,
    timeline: Vec<TimelineRow>,
    /// The absolute path of the page's file.
    file: Option<String>,
}

/// The result of looking up the page that a URL names.
enum Lookup<'a> {
    Page(Box<Reading<'a>>),
    Missing {
        message: String,
        /// The name for a new page, if one could be written.
        new_name: Option<String>,
        /// The paths and names of similar pages.
        similar: Vec<(String, String)>,
    },
}

/// `GET /page/{name}`, with `?version=N` for a former version and `?part=N` for a part of a long
/// page.
pub(crate) async fn show(
    State(brain): State<Door>,
    Path(name): Path<String>,
    uri: Uri,
    session: Session,
) -> Response {
    let view = PageView::parse(uri.query().unwrap_or_default());
    let reader = session.clone();
    let rendered = block(&brain, move |brain| {
        Ok::<_, Fault>(match read(brain, &reader, &name, view.version)? {
            Lookup::Page(reading) => {
                let _permit = brain.text_permit(reading.page.body.len());
                let body = view::page_screen(&reader, &reading, view);
                (StatusCode::OK, reading.page.title, body)
            }
            Lookup::Missing { message, new_name, similar } => {
                let body = missing::screen(&message, new_name.as_deref(), &similar);
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

/// Reads the page that a URL names. Blocks.
fn read<'a>(
    brain: &'a Door,
    session: &'a Session,
    name: &str,
    version: Option<u32>,
) -> Result<Lookup<'a>, Fault> {
    let caller = &session.caller;
    let page = match parse_page_name(name) {
        Ok(page) => page,
        Err(nearest) => {
            let similar =
                nearest.map(|near| missing::similar(brain, session, &near)).transpose()?;
            let similar = similar.unwrap_or_default();
            let message = format!("\"{name}\" is not the name of a page.");
            return Ok(Lookup::Missing { message, new_name: None, similar });
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
            let new_name = (fault.code == FaultCode::NotFound).then(|| page.to_string());
            let similar = missing::similar(brain, session, &page)?;
            return Ok(Lookup::Missing { message, new_name, similar });
        }
    };
    let this = PageRef::new(&page.source_id, &page.slug);
    let surroundings = brain.surroundings(caller, &this)?;
    let sidebar = Sidebar {
        linked: surroundings.linked(LINKS),
        backlinks: surroundings.backlinks(LINKS)?,
        timeline: surroundings.timeline(TIMELINE)?.items,
        file: surroundings.file.clone(),
    };
    let files = PageFiles::read(brain, session, &this)?;
    let reading = Reading { brain, session, page, surroundings, sidebar, files };
    Ok(Lookup::Page(Box::new(reading)))
}

impl Reading<'_> {
    /// Returns the page that a link of this page leads to, if it exists.
    pub(crate) fn target(&self, target: &str) -> Option<PageRef> {
        self.surroundings.link_target(target)
    }

    /// Returns the URL of a link's page, even if the page does not exist yet.
    fn url(&self, target: &str) -> Option<String> {
        url_of(&self.surroundings, &self.page, target)
    }
}

/// Returns the URL of the page that a link of `page` leads to, even if it does not exist yet.
pub(crate) fn url_of(surroundings: &Surroundings, page: &Page, target: &str) -> Option<String> {
    let known = surroundings.link_target(target).map(|it| page_path(&it.to_string()));
    known.or_else(|| target_path(page, target))
}

/// Returns the URL of the page that a link names, in the source of `page`.
pub(crate) fn target_path(page: &Page, target: &str) -> Option<String> {
    let name = target.split(['#', '?']).next().unwrap_or_default();
    let slug = Slug::parse(name.strip_suffix(".md").unwrap_or(name)).ok()?;
    Some(page_path(&format!("{}:{slug}", page.source_id)))
}

/// Returns the body without a first heading that repeats the title.
pub(crate) fn without_title<'a>(body: &'a str, title: &str) -> &'a str {
    let text = body.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let heading = first.strip_prefix("# ").map(str::trim);
    if heading == Some(title.trim()) { rest } else { body }
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
