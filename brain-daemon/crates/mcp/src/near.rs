//! Pages that may have been meant: models write slugs from memory.

use brain_protocol::{
    Fault, FaultCode, Get, List, Page, PageRef, Reply, Request, Search, Slug, Sort, SourceId,
};

use super::{Desk, defect};

/// How many names a refusal has.
const NAMED: usize = 5;
/// How many pages beside the slug, in the order of slugs, are looked at.
const BESIDE: u32 = 100;
/// How many pages that have its words are looked at.
const FOUND: u32 = 10;
/// How like a slug must be, from 0 to 1.
const LIKE: f64 = 0.6;

/// Reads a page.
///
/// # Errors
/// When there is none, with the names of near ones.
pub(super) fn page(desk: &Desk, page: &PageRef) -> Result<Page, Fault> {
    let answer = desk.ask(Request::Get(Get { page: page.clone(), version: None }));
    match or_near(desk, page, answer)? {
        Reply::Page(page) => Ok(page),
        _ => Err(defect()),
    }
}

/// An answer about `page`; a refusal because there is none gets the names of near ones that this caller may see.
///
/// # Errors
/// Those of `answer`.
pub(super) fn or_near<T>(
    desk: &Desk,
    page: &PageRef,
    answer: Result<T, Fault>,
) -> Result<T, Fault> {
    answer.map_err(|fault| {
        let deleted = fault.hint.as_deref().is_some_and(|hint| hint.contains("restore"));
        if fault.code != FaultCode::NotFound || deleted {
            return fault;
        }
        // Without them the refusal says enough.
        let names = names(desk, page).unwrap_or_default();
        if names.is_empty() {
            return fault;
        }
        Fault { message: format!("{}; there are: {}", fault.message, names.join(", ")), ..fault }
    })
}

/// The names of near pages, the nearest first.
fn names(desk: &Desk, page: &PageRef) -> Result<Vec<String>, Fault> {
    let mut near: Vec<(f64, SourceId, Slug)> = Vec::new();
    let mut add = |source: SourceId, slug: Slug, at_least: f64| {
        let like = likeness(&page.slug, &slug).max(at_least);
        if like >= LIKE && !near.iter().any(|(_, of, known)| *of == source && *known == slug) {
            near.push((like, source, slug));
        }
    };
    let query = page.slug.name().replace(['-', '_', '.'], " ");
    let search = Search { query: query.clone(), limit: FOUND, ..Search::default() };
    if let Ok(Reply::Hits(found)) = desk.ask(Request::Search(search)) {
        for hit in found.hits {
            let by_name = hit.title.to_lowercase() == query
                || hit.matched.iter().any(|how| matches!(how.as_str(), "slug" | "alias"));
            add(hit.source_id, hit.slug, if by_name { LIKE } else { 0.0 });
        }
    }
    let source = match &page.source {
        Some(source) => source.clone(),
        None => desk.brain.usual_source(&desk.caller)?,
    };
    let folder = page.slug.as_str().len() - page.slug.name().len();
    let begin: String = page.slug.name().chars().take(2).collect();
    let after = format!("{source}:{}{begin}", &page.slug.as_str()[..folder]);
    let list = List { sort: Sort::Slug, limit: BESIDE, after: Some(after), ..List::default() };
    if let Ok(Reply::Pages(listed)) = desk.ask(Request::List(list)) {
        listed.pages.into_iter().for_each(|row| add(row.source_id, row.slug, 0.0));
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    near.truncate(NAMED);
    near.iter().map(|(_, source, slug)| desk.name(source, slug)).collect()
}

/// How like two slugs are, from 0 to 1: as a whole, or in their last part.
fn likeness(a: &Slug, b: &Slug) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(a.as_str(), b.as_str());
    let name = strsim::normalized_damerau_levenshtein(a.name(), b.name());
    // The same folder alone makes no likeness.
    name.min(whole + 0.4).max(if name >= 0.5 { whole } else { 0.0 })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_alike_by_their_last_part() {
        let near =
            |a: &str, b: &str| likeness(&Slug::parse(a).unwrap(), &Slug::parse(b).unwrap()) >= LIKE;
        assert!(near("people/ada-lovelace", "people/ada-lovelaec"));
        assert!(near("people/ada-lovelace", "persons/ada-lovelace"));
        assert!(near("ada-lovelace", "people/ada-lovelace"));
        assert!(near("people/grüße", "people/gruße"));
        assert!(!near("people/ada-lovelace", "people/grace-hopper"));
        assert!(!near("meetings/2026-01-01-x", "meetings/standup"));
    }
}
