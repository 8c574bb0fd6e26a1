//! Finding pages: `search` and `fetch` as connectors of chat products call them, and `query` with filters.

use std::collections::BTreeMap;

use brain_protocol::{Fault, FaultCode, Hit, Hits, Reply, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::{Section, TITLE, TYPE, shown};
use crate::answer::{LONGEST, short, weight};
use crate::cursor::{self, Cursors};
use crate::tool::{Call, Effect};
use crate::trust::{FRAME, Trust, origin};
use crate::{Desk, defect, near, place};
use brain_base::caller::Scope;
use brain_page::page_url;

/// How many pages a search answers with.
const FOUND: usize = 10;
/// How many matches of a query can be seen, part by part.
const SEEN: usize = 200;
/// How many matches more than needed are asked for: a cursor finds its place again when so many have come before it.
const MOVED: usize = 10;

/// The search of connectors: one argument, ids to fetch. Their contract allows no other.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    query: String,
}

/// What a search found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
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

impl Call for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search";
    const DESCRIPTION: &'static str = "Find pages by words or a question; read one with fetch. Use query for filters or more results.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Found;

    fn call(self, desk: &Desk) -> Result<Found, Fault> {
        let found = search(
            desk,
            brain_protocol::Search { query: self.query, limit: FOUND as u32, ..Default::default() },
        )?;
        let result = |hit: Hit| {
            let id = desk.name(&hit.source_id, &hit.slug)?;
            let url = hit.url.unwrap_or_else(|| desk.address(&id));
            let trust = Trust::of(hit.source_kind.as_deref());
            Ok(SearchResult { url, id, title: short(&hit.title, TITLE), text: hit.snippet, trust })
        };
        Ok(Found { results: found.hits.into_iter().map(result).collect::<Result<_, Fault>>()? })
    }
}

/// Reads what `search` found.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetch {
    /// From search; `#Heading` behind it for one section
    id: String,
}

/// A page as connectors have it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Fetched {
    id: String,
    title: String,
    text: String,
    url: String,
    metadata: BTreeMap<&'static str, String>,
}

impl Call for Fetch {
    const NAME: &'static str = "fetch";
    const TITLE: &'static str = "Fetch";
    const DESCRIPTION: &'static str = "Read a page that search found. Use get_page for a slug, a part of a long page, or its links.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Fetched;

    fn call(self, desk: &Desk) -> Result<Fetched, Fault> {
        let wanted = place::parse(&self.id)?;
        let page = near::page(desk, &wanted.page)?;
        let name = desk.name(&page.source_id, &page.slug)?;
        let trust = Trust::of(page.source_kind.as_deref());
        let metadata = BTreeMap::from([
            ("trust", trust.as_str().to_owned()),
            ("type", short(&page.page_type, TYPE)),
            ("updated_at", page.updated_at.clone()),
            ("source", page.source_id.to_string()),
            ("origin", origin(page.source_kind.as_deref(), page.source_uri.as_deref())),
        ]);
        let url = page_url(&page.frontmatter, page.source_uri.as_deref())
            .unwrap_or_else(|| desk.address(&name));
        let id = wanted
            .section
            .as_ref()
            .map_or_else(|| name.clone(), |section| format!("{name}#{section}"));
        let title = short(&page.title, TITLE);
        let mut fetched = Fetched { id, title, text: String::new(), url, metadata };
        let room = LONGEST.saturating_sub(weight(&fetched) + FRAME + 200);
        let part =
            shown(&page, &Section { heading: wanted.section.as_deref(), ..Section::whole(room) })?;
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
    #[serde(default = "ten")]
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

fn ten() -> u32 {
    10
}

/// How much is told of a page that was found.
#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// What it takes to choose.
    #[default]
    Concise,
    /// Its address, too.
    Detailed,
}

/// What a query found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Queried {
    results: Vec<QueryResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Why there may be less than there should be.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl Call for Query {
    const NAME: &'static str = "query";
    const TITLE: &'static str = "Query";
    const DESCRIPTION: &'static str = "Find pages by their text, with filters, best first. Use it before answering about the \
user's people, work or past. Not to browse (use list_pages) or read (use get_page with the slug and line).";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Queried;

    fn call(self, desk: &Desk) -> Result<Queried, Fault> {
        let source = self.source_id.as_deref().map(place::source).transpose()?;
        let asked = (&self.query, &self.r#type, &self.tags, &source, &self.since, &self.until);
        let cursors = Cursors::of(Self::NAME, &asked);
        let after = cursors.place(self.cursor.as_deref())?;
        let passed = cursor::passed(after.as_deref())?;
        let limit = self.limit as usize;
        let end = passed.saturating_add(limit + MOVED).min(SEEN);
        let found = search(
            desk,
            brain_protocol::Search {
                query: self.query,
                limit: end as u32,
                source,
                page_type: self.r#type,
                tags: self.tags,
                since: self.since,
                until: self.until,
                explain: false,
            },
        )?;
        let more = found.truncated && end < SEEN;
        let key = |hit: &Hit| format!("{}:{}", hit.source_id, hit.slug);
        let part = cursor::part(&found.hits, more, after.as_deref(), limit, key, |hit| {
            let slug = desk.name(&hit.source_id, &hit.slug)?;
            Ok(QueryResult {
                url: (self.format == Format::Detailed)
                    .then(|| hit.url.clone().unwrap_or_else(|| desk.address(&slug))),
                slug,
                title: short(&hit.title, TITLE),
                r#type: short(&hit.page_type, TYPE),
                snippet: hit.snippet.clone(),
                line: hit.line,
                score: (f64::from(hit.score) * 100.0).round() / 100.0,
                updated_at: hit.updated_at.clone(),
                trust: Trust::of(hit.source_kind.as_deref()),
            })
        })?;
        let note = match (&found.degraded, part.next.is_none() && found.truncated) {
            // What exactly is wrong is for the owner.
            (Some(_), _) => Some(
                "the index is not complete just now: pages may be missing; try again later".into(),
            ),
            (None, true) => {
                Some(format!("only the best {SEEN} are shown; ask for something narrower"))
            }
            (None, false) => None,
        };
        Ok(Queried {
            results: part.rows,
            next_cursor: part.next.map(|place| cursors.after(&place)),
            note,
        })
    }
}

/// What the brain finds.
fn search(desk: &Desk, search: brain_protocol::Search) -> Result<Hits, Fault> {
    if search.query.trim().is_empty() {
        return Err(Fault::new(FaultCode::InvalidRequest, "the query is empty")
            .hint("give words or a question; `list_pages` shows pages without any"));
    }
    match desk.ask(Request::Search(search))? {
        Reply::Hits(found) => Ok(found),
        _ => Err(defect()),
    }
}
