//! Tools that find pages: `search` and `fetch` for connectors, and `query` with filters.

use std::collections::BTreeMap;

use brain_protocol::{Fault, FaultCode, Get, Hit, Hits, Operation as _, OperationInfo, PageRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::{MAX_TITLE, MAX_TYPE, TextSelection, select_text, shorten_tags};
use crate::answer::{MAX_ANSWER, json_len, shorten};
use crate::cursor::{self, Cursors};
use crate::tool::{Effect, ToolCall};
use crate::trust::{MAX_FRAME, Trust, origin};
use crate::{ToolContext, names, page_address};
use brain_page::page_url;

/// Maximum number of results of one search.
const MAX_RESULTS: usize = 10;
/// Maximum number of matches of a query that can be listed with cursors.
const MAX_QUERY_RESULTS: usize = 200;
/// How many more matches to request than one part of the list needs. A cursor finds its position
/// again if at most this many new matches precede the position.
const CURSOR_SLACK: usize = 10;
/// The maximum number of lines of a passage in detailed results.
const MAX_PASSAGE_LINES: usize = 20;
/// The maximum size of a passage, in bytes of JSON.
const MAX_PASSAGE: usize = 1_500;
/// The maximum size of all passages of an answer together, in bytes of JSON.
const MAX_PASSAGES: usize = 24_000;

/// The search of connectors. Their contract allows one argument only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    query: String,
}

/// The output of `search`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchOutput {
    results: Vec<SearchResult>,
}

/// A page that was found.
#[derive(Serialize, JsonSchema)]
struct SearchResult {
    /// For `fetch`.
    id: String,
    title: String,
    url: String,
    /// The best passage.
    text: String,
    trust: Trust,
}

impl ToolCall for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search";
    const DESCRIPTION: &'static str = "Find pages by words or a question; read one with fetch. Use \
        query for filters or more results.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::Search::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = SearchOutput;

    fn call(self, context: &ToolContext) -> Result<SearchOutput, Fault> {
        let found = search(
            context,
            brain_protocol::Search {
                query: self.query,
                limit: MAX_RESULTS as u32,
                ..Default::default()
            },
        )?;
        let result = |hit: Hit| {
            let id = context.page_name(&hit.source_id, &hit.slug)?;
            let url = hit.url.unwrap_or_else(|| context.web_address(&id));
            let trust = hit.trust.into();
            Ok(SearchResult {
                url,
                id,
                title: shorten(&hit.title, MAX_TITLE),
                text: hit.snippet,
                trust,
            })
        };
        Ok(SearchOutput {
            results: found.hits.into_iter().map(result).collect::<Result<_, Fault>>()?,
        })
    }
}

/// Reads what `search` found.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetch {
    /// From search; append `#Heading` for one section
    id: String,
}

/// The output of `fetch`, as connectors expect it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FetchOutput {
    id: String,
    title: String,
    text: String,
    url: String,
    metadata: BTreeMap<&'static str, String>,
}

impl ToolCall for Fetch {
    const NAME: &'static str = "fetch";
    const TITLE: &'static str = "Fetch";
    const DESCRIPTION: &'static str = "Read a page that search found. Use get_page for a slug, a \
        part of a long page, or its links.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::Get::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = FetchOutput;

    fn call(self, context: &ToolContext) -> Result<FetchOutput, Fault> {
        let address = names::find(context, &self.id)?;
        let page = names::read_page(context, &address.page)?;
        let name = context.page_name(&page.source_id, &page.slug)?;
        let trust = Trust::from(page.trust);
        let metadata = BTreeMap::from([
            ("trust", trust.as_str().to_owned()),
            ("type", shorten(&page.page_type, MAX_TYPE)),
            ("updated_at", page.updated_at.clone()),
            ("source", page.source_id.to_string()),
            ("origin", origin(page.source_kind.as_deref(), page.source_uri.as_deref())),
        ]);
        let url = page_url(&page.frontmatter, page.source_uri.as_deref())
            .unwrap_or_else(|| context.web_address(&name));
        let id = address
            .section
            .as_ref()
            .map_or_else(|| name.clone(), |section| format!("{name}#{section}"));
        let title = shorten(&page.title, MAX_TITLE);
        let mut fetched = FetchOutput { id, title, text: String::new(), url, metadata };
        // 200 bytes are for the metadata that is added below.
        let max_bytes = MAX_ANSWER.saturating_sub(json_len(&fetched) + MAX_FRAME + 200);
        let part = select_text(
            &page,
            &TextSelection {
                heading: address.section.as_deref(),
                ..TextSelection::whole(max_bytes)
            },
        )?;
        fetched.text = part.text;
        if let Some((line, skip)) = part.next {
            let skip = if skip > 0 { format!(" and skip_chars {skip}") } else { String::new() };
            fetched.metadata.insert("truncated", "true".into());
            fetched
                .metadata
                .insert("next", format!("get_page {name} with start_line {line}{skip}"));
        }
        Ok(fetched)
    }
}

/// A search with filters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// Words (not all need match), "a phrase", -word, prefix*, title:word
    query: String,
    #[schemars(range(min = 1, max = 50))]
    #[serde(default = "default_limit")]
    limit: u32,
    cursor: Option<String>,
    r#type: Option<String>,
    /// All of these
    #[serde(default)]
    tags: Vec<String>,
    source_id: Option<String>,
    /// Updated since: YYYY-MM-DD or RFC 3339
    since: Option<String>,
    until: Option<String>,
    #[serde(default)]
    format: Format,
}

fn default_limit() -> u32 {
    10
}

/// How detailed results are.
#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// What is needed to choose a result.
    #[default]
    Concise,
    /// Also the passage around the match, tags, origin and address.
    Detailed,
}

/// The output of `query`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QueryOutput {
    results: Vec<QueryResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Why results may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A page that was found.
#[derive(Serialize, JsonSchema)]
struct QueryResult {
    slug: String,
    title: String,
    r#type: String,
    snippet: String,
    /// The line of the snippet.
    line: u32,
    score: f64,
    updated_at: String,
    trust: Trust,
    /// Other pages with the same text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_in: Vec<String>,
    #[serde(flatten)]
    details: Details,
}

/// The fields that only detailed results have.
#[derive(Serialize, JsonSchema, Default)]
struct Details {
    /// The text from `line` on, framed if it is from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<String>>,
    /// Where it matched: title, alias, slug, text, tag, meaning, link.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl Details {
    /// Reads the page of `hit`, whose address is `name`. `max_bytes` is the maximum size of the
    /// passage, in bytes of JSON.
    fn of(context: &ToolContext, hit: &Hit, name: &str, max_bytes: usize) -> Self {
        let target = PageRef { source: Some(hit.source_id.clone()), slug: hit.slug.clone() };
        // The page may be gone since the search.
        let page = context.run(Get { page: target, version: None }).ok();
        let selection = TextSelection {
            heading: None,
            line: Some(hit.line as usize),
            skip: 0,
            max_lines: MAX_PASSAGE_LINES,
            max_bytes,
        };
        let passage = page.as_ref().and_then(|page| select_text(page, &selection).ok());
        let origin = origin(hit.source_kind.as_deref(), hit.source_uri.as_deref());
        Self {
            passage: passage.map(|part| part.text),
            tags: page.map(|page| shorten_tags(&page.tags)),
            matched: Some(hit.matched.clone()),
            origin: Some(origin).filter(|origin| !origin.is_empty()),
            url: Some(hit.url.clone().unwrap_or_else(|| context.web_address(name))),
        }
    }
}

impl ToolCall for Query {
    const NAME: &'static str = "query";
    const TITLE: &'static str = "Query";
    const DESCRIPTION: &'static str = "Find pages by their text, with filters, best first. Use it \
        before answering about the user's people, work or past. Not to browse (use list_pages) or \
        read (use get_page with the slug and line). detailed adds passages, tags and origins.";
    const OPERATIONS: &'static [OperationInfo] =
        &[brain_protocol::Search::INFO, brain_protocol::Get::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = QueryOutput;

    fn call(self, context: &ToolContext) -> Result<QueryOutput, Fault> {
        let source = self.source_id.as_deref().map(page_address::parse_source).transpose()?;
        let filters = (&self.query, &self.r#type, &self.tags, &source, &self.since, &self.until);
        let cursors = Cursors::of(Self::NAME, &filters);
        let after = cursors.position(self.cursor.as_deref())?;
        let rows_before = cursor::rows_before(after.as_deref())?;
        let limit = self.limit as usize;
        let end = rows_before.saturating_add(limit + CURSOR_SLACK).min(MAX_QUERY_RESULTS);
        let found = search(
            context,
            brain_protocol::Search {
                query: self.query,
                limit: end as u32,
                source,
                page_type: self.r#type,
                tags: self.tags,
                since: self.since,
                until: self.until,
                explain: false,
                prefix: false,
            },
        )?;
        let has_more = found.truncated && end < MAX_QUERY_RESULTS;
        let key = |hit: &Hit| format!("{}:{}", hit.source_id, hit.slug);
        let max_bytes = MAX_PASSAGE.min(MAX_PASSAGES / limit.max(1));
        let part = cursor::list_part(&found.hits, has_more, after.as_deref(), limit, key, |hit| {
            let slug = context.page_name(&hit.source_id, &hit.slug)?;
            let details = match self.format {
                Format::Concise => Details::default(),
                Format::Detailed => Details::of(context, hit, &slug, max_bytes),
            };
            Ok(QueryResult {
                details,
                slug,
                title: shorten(&hit.title, MAX_TITLE),
                r#type: shorten(&hit.page_type, MAX_TYPE),
                snippet: hit.snippet.clone(),
                line: hit.line,
                score: (f64::from(hit.score) * 100.0).round() / 100.0,
                updated_at: hit.updated_at.clone(),
                trust: hit.trust.into(),
                also_in: hit.also_in.clone(),
            })
        })?;
        let note = match (&found.degraded, part.next.is_none() && found.truncated) {
            // Other causes are shown to the owner only.
            (Some(_), _) => Some(context.brain.machines.degraded().unwrap_or_else(|| {
                "the index is incomplete at the moment: pages may be missing; try again later"
                    .into()
            })),
            (None, true) => Some(format!(
                "only the best {MAX_QUERY_RESULTS} are shown; use a more specific query"
            )),
            (None, false) => None,
        };
        let notes: Vec<String> = found.note.into_iter().chain(note).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(QueryOutput {
            results: part.rows,
            next_cursor: part.next.map(|position| cursors.after(&position)),
            note,
        })
    }
}

/// Runs a search.
///
/// # Errors
/// `invalid_request` if the query is empty; any fault of the operation.
fn search(context: &ToolContext, search: brain_protocol::Search) -> Result<Hits, Fault> {
    if search.query.trim().is_empty() {
        return Err(Fault::new(FaultCode::InvalidRequest, "the query is empty")
            .hint("give words or a question; `list_pages` lists pages without a query"));
    }
    context.run(search)
}
