//! Finds an existing page by the name that a model gives: a slug, a title, an alias, or a first
//! heading.

use brain_page::top_heading;
use brain_protocol::{
    Command, Fault, FaultCode, Get, Hint, Hit, Page, PageRef, Search, Slug, SourceId,
};

use super::page_address::{self, PageAddress};
use super::{MAX_QUOTED, ToolContext};
use crate::answer::shorten;

/// Maximum number of search results that are compared with a title.
const MAX_HITS: u32 = 20;
/// Maximum number of search results whose heading is read: other programs write a `title` of their
/// own above the heading that the model knows.
const MAX_HEADINGS: usize = 5;
/// Maximum number of names in one error message.
const MAX_NAMES: usize = 5;

/// Returns the address of the page that `text` names. A text that is not an address is read as a
/// title or an alias, with an optional source before it and an optional section after it.
///
/// # Errors
/// The fault of [`page_address::parse`] if no page has that title or alias; `invalid_request` if
/// several do.
pub(super) fn find(context: &ToolContext, text: &str) -> Result<PageAddress, Fault> {
    let fault = match page_address::parse(text) {
        Err(fault) if matches!(fault.code, FaultCode::InvalidSlug | FaultCode::InvalidSource) => {
            fault
        }
        parsed => return parsed,
    };
    let (name, section) = match text.split_once('#') {
        Some((name, section)) => (name, Some(section.trim().to_owned())),
        None => (text, None),
    };
    let named_source =
        name.split_once(':').and_then(|(id, title)| Some((SourceId::parse(id).ok()?, title)));
    let (source, title) = named_source.map_or((None, name), |(id, title)| (Some(id), title));
    match by_title(context, source.as_ref(), title)? {
        Some(page) => Ok(PageAddress { page, section: section.filter(|it| !it.is_empty()) }),
        None => Err(fault),
    }
}

/// Returns the page that `text` names, like [`find`], without a section.
///
/// # Errors
/// Like [`find`], and `invalid_request` if the address names a section.
pub(super) fn find_page(context: &ToolContext, text: &str) -> Result<PageRef, Fault> {
    page_address::whole_page(find(context, text)?)
}

/// Reads a page. A slug that does not exist is looked up as a title or an alias.
///
/// # Errors
/// `not_found` with suggestions, or any other fault of [`Get`].
pub(super) fn read_page(context: &ToolContext, page: &PageRef) -> Result<Page, Fault> {
    let fault = match context.run(Get { page: page.clone(), version: None }) {
        Err(fault) if fault.code == FaultCode::NotFound => fault,
        answer => return answer,
    };
    let is_restore = |command: &Command| matches!(command, Command::Restore { .. });
    let is_deleted = fault.hint.iter().flat_map(Hint::commands).any(is_restore);
    match by_title(context, page.source.as_ref(), page.slug.as_str()) {
        Ok(Some(page)) if !is_deleted => context.run(Get { page, version: None }),
        _ => Err(fault),
    }
}

/// Returns the page with this title or alias, ignoring case, else the one with this first heading.
/// `None` if no page among the first [`MAX_HITS`] search results has it, or of the first
/// [`MAX_HEADINGS`] as heading.
///
/// # Errors
/// `invalid_request` if several of these pages have it.
pub(super) fn by_title(
    context: &ToolContext,
    source: Option<&SourceId>,
    title: &str,
) -> Result<Option<PageRef>, Fault> {
    context.without_showing(|| search_title(context, source, title))
}

fn search_title(
    context: &ToolContext,
    source: Option<&SourceId>,
    title: &str,
) -> Result<Option<PageRef>, Fault> {
    let normalized = normalize_title(title);
    // Without punctuation, which is syntax in a query.
    let query: String =
        normalized.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    if query.trim().is_empty() {
        return Ok(None);
    }
    let search = Search { query, limit: MAX_HITS, source: source.cloned(), ..Search::default() };
    // A failed search finds no title.
    let Ok(found) = context.run(search) else { return Ok(None) };
    let read = |hit: &Hit| {
        let page = PageRef { source: Some(hit.source_id.clone()), slug: hit.slug.clone() };
        context.run(Get { page, version: None }).ok()
    };
    let is_named = |hit: &&Hit| {
        normalize_title(&hit.title) == normalized
            || (hit.matched.iter().any(|field| field == "alias")
                && read(hit).is_some_and(|page| {
                    page.aliases.iter().any(|alias| normalize_title(alias) == normalized)
                }))
    };
    let has_heading = |hit: &&Hit| {
        let heading = read(hit).and_then(|page| top_heading(&page.body));
        heading.is_some_and(|heading| normalize_title(&heading) == normalized)
    };
    let mut named: Vec<&Hit> = found.hits.iter().filter(is_named).collect();
    if named.is_empty() {
        named = found.hits.iter().take(MAX_HEADINGS).filter(has_heading).collect();
    }
    let pages: Vec<(SourceId, Slug)> =
        named.into_iter().map(|hit| (hit.source_id.clone(), hit.slug.clone())).collect();
    match pages.as_slice() {
        [] => Ok(None),
        [(source, slug)] => Ok(Some(PageRef { source: Some(source.clone()), slug: slug.clone() })),
        several => {
            let names: Result<Vec<String>, Fault> = several
                .iter()
                .take(MAX_NAMES)
                .map(|(source, slug)| context.page_name(source, slug))
                .collect();
            let title = shorten(title.trim(), MAX_QUOTED).escape_debug().to_string();
            let message = format!("several pages have the name \"{title}\": {}", names?.join(", "));
            Err(Fault::new(FaultCode::InvalidRequest, message).hint("give one of these slugs"))
        }
    }
}

/// Returns a title for comparison: in lower case, and with single spaces.
fn normalize_title(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
