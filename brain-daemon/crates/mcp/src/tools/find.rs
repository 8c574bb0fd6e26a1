//! Tools that find pages: `search` and `fetch` for connectors, and `query` with filters.

use std::collections::BTreeMap;

use brain_protocol::{Fault, FaultCode, Get, Hit, Hits, Operation as _, OperationInfo, PageRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::{
    DEFAULT_TEXT, MAX_TITLE, MAX_TYPE, TextSelection, part_metadata, select_text, shorten_tags,
};
use crate::answer::{DEFAULT_ANSWER, json_len, shorten};
use crate::cursor::{self, Cursors};
use crate::stale::stale_note;
use crate::tool::{Effect, ToolCall};
use crate::trust::{TextTrust, max_frame, origin};
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

/// The parts of an id that name a position in a page.
const START_LINE: &str = "start_line";
const SKIP_CHARS: &str = "skip_chars";
/// The minimum size of the text of one part, in bytes of JSON, however long title and address are.
const MIN_TEXT: usize = 1_000;

/// The search of connectors. Their contract allows one argument only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchPages {
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
    trust: TextTrust,
}

impl ToolCall for SearchPages {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search";
    const DESCRIPTION: &'static str = "For connectors: at most 10 pages by words or a question. \
        Use query otherwise.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::Search::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = SearchOutput;

    fn call(self, context: &ToolContext) -> Result<SearchOutput, Fault> {
        let found = search(
            context,
            None,
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
    /// From a result or metadata.next; append `#Heading` for one section
    id: String,
}

/// The output of `fetch`, as connectors expect it: one block with the whole object.
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
    const DESCRIPTION: &'static str = "For connectors: a page by its id, in parts of 9000 \
        characters; metadata.next is the id of the next part. Use get_page otherwise.";
    const OPERATIONS: &'static [OperationInfo] =
        &[brain_protocol::Get::INFO, brain_protocol::StaleAnswerList::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = FetchOutput;

    fn call(self, context: &ToolContext) -> Result<FetchOutput, Fault> {
        let (id, position) = split_position(&self.id);
        let address = names::find(context, &id)?;
        let page = names::read_page(context, &address.page)?;
        let name = context.page_name(&page.source_id, &page.slug)?;
        let mut metadata = part_metadata(&page, false);
        metadata.extend([
            ("type", shorten(&page.page_type, MAX_TYPE)),
            ("updated_at", page.updated_at.clone()),
            ("source", page.source_id.to_string()),
            ("origin", origin(page.source_kind.as_deref(), page.source_uri.as_deref())),
        ]);
        let stale = stale_note(context, (&page.source_id, &page.slug), &page.page_type)?;
        metadata.extend(stale.map(|note| ("stale", note)));
        let url = page_url(&page.frontmatter, page.source_uri.as_deref())
            .unwrap_or_else(|| context.web_address(&name));
        let id = part_id(&name, position, address.section.as_deref());
        let title = shorten(&page.title, MAX_TITLE);
        let mut fetched = FetchOutput { id, title, text: String::new(), url, metadata };
        // The address of the page and 100 bytes are for the metadata that is added below.
        let used = json_len(&fetched) + json_len(&fetched.id) + max_frame(&page) + 100;
        let part = select_text(
            &page,
            &TextSelection {
                heading: address.section.as_deref(),
                line: position.map(|(line, _)| line),
                skip: position.map_or(0, |(_, skip)| skip),
                max_lines: usize::MAX,
                max_bytes: DEFAULT_ANSWER.saturating_sub(used).clamp(MIN_TEXT, DEFAULT_TEXT),
            },
        )?;
        fetched.text = part.text;
        if part.next.is_some() {
            fetched.metadata.insert("truncated", "true".into());
            fetched.metadata.insert("next", part_id(&name, part.next, address.section.as_deref()));
        }
        Ok(fetched)
    }
}

/// Returns the id of the part of a page that begins at a line, after a number of its characters.
fn part_id(name: &str, position: Option<(usize, usize)>, section: Option<&str>) -> String {
    let mut id = name.to_owned();
    if let Some((line, skip)) = position {
        id += &format!("?{START_LINE}={line}");
        if skip > 0 {
            id += &format!("&{SKIP_CHARS}={skip}");
        }
    }
    match section {
        Some(section) => format!("{id}#{section}"),
        None => id,
    }
}

/// Splits an id of [`part_id`] into the id of the whole page or section, and the position. Another
/// text, such as a title with a question mark, has no position.
fn split_position(id: &str) -> (String, Option<(usize, usize)>) {
    let (name, section) = id.find('#').map_or((id, ""), |at| id.split_at(at));
    let split = name.rsplit_once('?').and_then(|(name, query)| {
        let query = query.strip_prefix(START_LINE)?.strip_prefix('=')?;
        let (line, skip) = match query.split_once('&') {
            Some((line, rest)) => (line, rest.strip_prefix(SKIP_CHARS)?.strip_prefix('=')?),
            None => (query, "0"),
        };
        Some((name, (line.parse().ok().filter(|&line| line > 0)?, skip.parse().ok()?)))
    });
    match split {
        Some((name, position)) => (format!("{name}{section}"), Some(position)),
        None => (id.to_owned(), None),
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
    /// As recorded then
    as_of: Option<String>,
    #[serde(default)]
    format: ResultFormat,
}

fn default_limit() -> u32 {
    10
}

/// How detailed results are.
#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum ResultFormat {
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
    trust: TextTrust,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
    /// Other pages with the same text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_in: Vec<String>,
    /// The file of which a sync program made this copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy_of: Option<String>,
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
    /// Reads the page of `hit`, whose address is `name`, as it was at the time `at`. `max_bytes` is the maximum size of the
    /// passage, in bytes of JSON.
    fn of(
        context: &ToolContext,
        at: Option<&str>,
        hit: &Hit,
        name: &str,
        max_bytes: usize,
    ) -> Self {
        let target = PageRef { source: Some(hit.source_id.clone()), slug: hit.slug.clone() };
        // The page may be gone since the search.
        let page = context.run_as_of(at, Get { page: target, version: None }).ok();
        let page = page.map(|(page, _)| page);
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

impl QueryResult {
    /// Returns a hit with what the format shows of its page, at the time `at`.
    fn of(
        context: &ToolContext,
        at: Option<&str>,
        hit: &Hit,
        (format, max_bytes): (ResultFormat, usize),
    ) -> Result<Self, Fault> {
        let slug = context.page_name(&hit.source_id, &hit.slug)?;
        let details = match format {
            ResultFormat::Concise => Details::default(),
            ResultFormat::Detailed => Details::of(context, at, hit, &slug, max_bytes),
        };
        let stale = match at {
            Some(_) => None,
            None => stale_note(context, (&hit.source_id, &hit.slug), &hit.page_type)?,
        };
        Ok(Self {
            details,
            slug,
            stale,
            title: shorten(&hit.title, MAX_TITLE),
            r#type: shorten(&hit.page_type, MAX_TYPE),
            snippet: hit.snippet.clone(),
            line: hit.line,
            score: (f64::from(hit.score) * 100.0).round() / 100.0,
            updated_at: hit.updated_at.clone(),
            trust: hit.trust.into(),
            also_in: hit.also_in.clone(),
            copy_of: hit.copy_of.as_deref().map(|path| shorten(path, MAX_TITLE)),
        })
    }
}

impl ToolCall for Query {
    const NAME: &'static str = "query";
    const TITLE: &'static str = "Search notes";
    const DESCRIPTION: &'static str = "Search my notes, search my brain and memory for what I \
        know: find notes, look up, recall or check what I know, said or wrote about a person, \
        topic or project. Use it before answering about the user's work or past. To browse use \
        list_pages. detailed adds passages, tags and origins.";
    const OPERATIONS: &'static [OperationInfo] = &[
        brain_protocol::Search::INFO,
        brain_protocol::Get::INFO,
        brain_protocol::StaleAnswerList::INFO,
    ];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = QueryOutput;

    fn call(self, context: &ToolContext) -> Result<QueryOutput, Fault> {
        let source = self.source_id.as_deref().map(page_address::parse_source).transpose()?;
        let period = (&self.since, &self.until, &self.as_of);
        let filters = (&self.query, &self.r#type, &self.tags, &source, period);
        let cursors = Cursors::of(Self::NAME, &filters);
        let after = cursors.position(self.cursor.as_deref())?;
        let rows_before = cursor::rows_before(after.as_deref())?;
        let limit = self.limit as usize;
        let end = rows_before.saturating_add(limit + CURSOR_SLACK).min(MAX_QUERY_RESULTS);
        let (at, format) = (self.as_of.as_deref(), self.format);
        let found = search(
            context,
            at,
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
        let max_rows = cursor::max_rows_bytes(limit, default_limit());
        let after = after.as_deref();
        let part = cursor::list_part(&found.hits, has_more, after, limit, max_rows, key, |hit| {
            QueryResult::of(context, at, hit, (format, max_bytes))
        })?;
        context.show_hits(part.items.0, part.items.1);
        let is_cut = part.next.is_none() && found.truncated;
        let note = note(context, found, is_cut);
        Ok(QueryOutput {
            results: part.rows,
            next_cursor: part.next.map(|position| cursors.after(&position)),
            note,
        })
    }
}

/// Returns what a model must know about the results. `is_cut` says whether more exist that a cursor
/// does not reach.
fn note(context: &ToolContext, found: Hits, is_cut: bool) -> Option<String> {
    let note = match (&found.degraded, is_cut) {
        // Other causes are shown to the owner only.
        (Some(_), _) => Some(context.age_of_reads().unwrap_or_else(|| {
            "the index is incomplete at the moment: pages may be missing; try again later".into()
        })),
        (None, true) => {
            Some(format!("only the best {MAX_QUERY_RESULTS} are shown; use a more specific query"))
        }
        (None, false) => None,
    };
    let notes: Vec<String> = found.note.into_iter().chain(note).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Runs a search.
///
/// # Errors
/// `invalid_request` if the query is empty; any fault of the operation.
fn search(
    context: &ToolContext,
    at: Option<&str>,
    search: brain_protocol::Search,
) -> Result<Hits, Fault> {
    if search.query.trim().is_empty() {
        return Err(Fault::new(FaultCode::InvalidRequest, "the query is empty")
            .hint("give words or a question; `list_pages` lists pages without a query"));
    }
    context.run_as_of(at, search).map(|(hits, _)| hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_a_part() {
        for (id, name, position) in [
            ("a/b", "a/b", None),
            ("a/b?start_line=7", "a/b", Some((7, 0))),
            ("w:a/b?start_line=7&skip_chars=30", "w:a/b", Some((7, 30))),
            ("a/b?start_line=7#Why? start_line=1", "a/b#Why? start_line=1", Some((7, 0))),
            ("What? start_line=x", "What? start_line=x", None),
            ("a/b?start_line=0", "a/b?start_line=0", None),
        ] {
            assert_eq!(split_position(id), (name.to_owned(), position), "{id}");
        }
        let id = part_id("a/b", Some((7, 30)), Some("Head"));
        assert_eq!(split_position(&id), ("a/b#Head".to_owned(), Some((7, 30))));
    }
}
