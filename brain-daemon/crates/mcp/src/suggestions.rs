//! Suggests existing pages when a slug is not found, because models write slugs from memory.

use brain_protocol::{Fault, FaultCode, Get, List, Page, PageRef, Search, Slug, Sort, SourceId};

use super::ToolContext;

/// Names in one error message.
const MAX_SUGGESTIONS: usize = 5;
/// Pages that are compared around the slug's position in the alphabetical list.
const MAX_NEIGHBOURS: u32 = 100;
/// Search results for the slug's words that are compared.
const MAX_HITS: u32 = 10;
/// The minimum similarity of a suggestion, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

/// Reads a page.
///
/// # Errors
/// `not_found` with suggestions, or any other fault of the operation.
pub(super) fn read_page(context: &ToolContext, page: &PageRef) -> Result<Page, Fault> {
    add_suggestions(context, page, context.ask(Get { page: page.clone(), version: None }))
}

/// Adds the names of similar pages that this caller can see to a `not_found` fault about `page`.
///
/// # Errors
/// The fault of `answer`.
pub(super) fn add_suggestions<T>(
    context: &ToolContext,
    page: &PageRef,
    answer: Result<T, Fault>,
) -> Result<T, Fault> {
    answer.map_err(|fault| {
        let deleted = fault.hint.as_deref().is_some_and(|hint| hint.contains("restore"));
        if fault.code != FaultCode::NotFound || deleted {
            return fault;
        }
        // Without names, the original message is sufficient.
        let names = similar_names(context, page).unwrap_or_default();
        if names.is_empty() {
            return fault;
        }
        Fault {
            message: format!("{}; similar pages: {}", fault.message, names.join(", ")),
            ..fault
        }
    })
}

/// Returns the names of similar pages, the most similar first.
fn similar_names(context: &ToolContext, page: &PageRef) -> Result<Vec<String>, Fault> {
    let mut similar: Vec<(f64, SourceId, Slug)> = Vec::new();
    let mut add = |source: SourceId, slug: Slug, min_score: f64| {
        let score = similarity(&page.slug, &slug).max(min_score);
        if score >= MIN_SIMILARITY
            && !similar.iter().any(|(_, of, name)| *of == source && *name == slug)
        {
            similar.push((score, source, slug));
        }
    };
    let query = page.slug.name().replace(['-', '_', '.'], " ");
    let search = Search { query: query.clone(), limit: MAX_HITS, ..Search::default() };
    if let Ok(found) = context.ask(search) {
        for hit in found.hits {
            let by_name = hit.title.to_lowercase() == query
                || hit.matched.iter().any(|field| matches!(field.as_str(), "slug" | "alias"));
            add(hit.source_id, hit.slug, if by_name { MIN_SIMILARITY } else { 0.0 });
        }
    }
    let source = match &page.source {
        Some(source) => source.clone(),
        None => context.brain.sources.usual_source(&context.caller)?,
    };
    let folder_len = page.slug.as_str().len() - page.slug.name().len();
    let start: String = page.slug.name().chars().take(2).collect();
    let after = format!("{source}:{}{start}", &page.slug.as_str()[..folder_len]);
    let list =
        List { sort: Sort::Slug, limit: MAX_NEIGHBOURS, after: Some(after), ..List::default() };
    if let Ok(listed) = context.ask(list) {
        listed.pages.into_iter().for_each(|row| add(row.source_id, row.slug, 0.0));
    }
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    similar.truncate(MAX_SUGGESTIONS);
    similar.iter().map(|(_, source, slug)| context.page_name(source, slug)).collect()
}

/// Returns the similarity of two slugs, from 0 to 1: of the whole slugs, or of their last parts.
fn similarity(a: &Slug, b: &Slug) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(a.as_str(), b.as_str());
    let name = strsim::normalized_damerau_levenshtein(a.name(), b.name());
    // A common folder alone does not make slugs similar.
    name.min(whole + 0.4).max(if name >= 0.5 { whole } else { 0.0 })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_similar_by_their_last_part() {
        let near = |a: &str, b: &str| {
            similarity(&Slug::parse(a).unwrap(), &Slug::parse(b).unwrap()) >= MIN_SIMILARITY
        };
        assert!(near("people/ada-lovelace", "people/ada-lovelaec"));
        assert!(near("people/ada-lovelace", "persons/ada-lovelace"));
        assert!(near("ada-lovelace", "people/ada-lovelace"));
        assert!(near("people/grüße", "people/gruße"));
        assert!(!near("people/ada-lovelace", "people/grace-hopper"));
        assert!(!near("meetings/2026-01-01-x", "meetings/standup"));
    }
}
