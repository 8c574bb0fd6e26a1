//! `search`: what the index finds, shown from the store.

use std::time::Instant;

use brain_protocol::{Fault, FaultCode, Hit, Hits, Search, Slug, SourceId};

use super::index::index_fault;
use super::{Brain, Caller};
use crate::clock::{parse_instant, rfc3339};
use crate::page;
use crate::search::Question;
use crate::store::{Content, PageRecord, Visibility};

const MAX_LIMIT: u32 = 200;

impl Brain {
    pub(super) fn search(&self, caller: &Caller, request: Search) -> Result<Hits, Fault> {
        let began = Instant::now();
        if request.query.trim().is_empty() {
            return Err(Fault::new(FaultCode::Usage, "there is nothing to search for")
                .hint("give words: `brain search \"latency budget\"`; `brain list` shows all pages"));
        }
        let since = instant(request.since.as_deref(), false)?;
        let until = instant(request.until.as_deref(), true)?;
        let sources = self.sources_to_search(caller, request.source.as_ref())?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let Some(index) = self.index.get() else {
            return Err(
                Fault::new(FaultCode::Busy, "the index is not open yet").hint("try again in a moment")
            );
        };
        let question = Question {
            text: request.query.clone(),
            limit,
            sources,
            page_type: request.page_type,
            tags: request.tags.iter().map(|tag| page::normal_tag(tag)).collect(),
            since,
            until,
            explain: request.explain,
        };
        let found = index.search(&question).map_err(|e| index_fault(&e))?;
        // Taken after the search: a page that was deleted meanwhile is not shown.
        let reader = self.store.read(caller.view())?;
        let mut hits = Vec::with_capacity(found.hits.len());
        for ranked in found.hits {
            let Some((source, slug, record)) = reader.by_id(ranked.id)? else { continue };
            let Content { frontmatter, body } = reader.content(record.id)?;
            let snippet = found.snippets.snippet(&body, &page::chunks(&body));
            let url = page::own_address(&frontmatter, record.provenance.source_uri.as_deref());
            let mut hit = hit(source, slug, record, ranked.score);
            hit.snippet = snippet.text;
            hit.highlights = snippet.highlights;
            hit.chunk = snippet.chunk;
            hit.line = snippet.line;
            hit.url = url;
            hit.matched = ranked.matched.into_iter().map(Into::into).collect();
            hit.explain = ranked.explain;
            hits.push(hit);
        }
        Ok(Hits {
            query: request.query,
            hits,
            truncated: found.truncated,
            degraded: self.index.degraded(),
            took_us: began.elapsed().as_micros() as u64,
        })
    }

    /// What the caller may see, narrowed to what was asked for.
    fn sources_to_search(
        &self,
        caller: &Caller,
        named: Option<&SourceId>,
    ) -> Result<Option<Vec<SourceId>>, Fault> {
        if named.is_some() {
            let reader = self.store.read(caller.view())?;
            return Ok(Some(vec![self.source(caller, &reader, named)?.0]));
        }
        Ok(match caller.view() {
            Visibility::All => None,
            Visibility::Only(sources) => Some(sources),
        })
    }
}

/// A moment that was typed: the beginning of a day, or its `end`.
pub(super) fn instant(text: Option<&str>, end: bool) -> Result<Option<i64>, Fault> {
    text.map(|text| {
        parse_instant(text, end).ok_or_else(|| {
            Fault::new(
                FaultCode::Usage,
                format!("\"{}\" is neither a day nor an instant", text.escape_debug()),
            )
            .hint("write YYYY-MM-DD, or RFC 3339 as in 2026-11-21T10:30:00Z")
        })
    })
    .transpose()
}

fn hit(source: SourceId, slug: Slug, record: PageRecord, score: f32) -> Hit {
    Hit {
        slug,
        source_id: source,
        title: record.title,
        page_type: record.page_type,
        score,
        snippet: String::new(),
        highlights: Vec::new(),
        chunk: 0,
        matched: Vec::new(),
        updated_at: rfc3339(record.updated_at),
        explain: Vec::new(),
        line: 0,
        source_kind: record.provenance.source_kind,
        source_uri: record.provenance.source_uri,
        url: None,
    }
}
