//! `search`: what the index, the vectors and the links find, shown from the store.
//!
//! | file | purpose |
//! |---|---|
//! | `question` | the form of a question: whom or what it wants |
//! | `recent` | whether it asks for what is new |
//! | `relations`, `sentence` | neighbours of the page that a question names, and what is said where they are linked |
//! | `fuse` | one ranking out of all |
//!
//! Whatever the way a page was found on: it meets the question's conditions (the index says which
//! pages do), and the caller may see it (the store's [`Reader`] says so, last).

mod fuse;
mod question;
mod recent;
mod relations;
mod sentence;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use brain_protocol::{Fault, FaultCode, Hit, Hits, MAX_HITS, Search, Slug, SourceId};

use self::fuse::{MergedPage, Rankings, fuse};
use self::relations::relations;
use crate::embedding::{CallerPages, VectorResults};
use crate::index::{Follower, index_fault};
use crate::{Caller, EmbeddingService};
use brain_base::caller::Visibility;
use brain_base::clock::{Clock, parse_instant, rfc3339};
use brain_page as page;
use brain_search::{Index, IndexError, Question, QuestionTerms, RankedPage, Snippet, Snippeter};
use brain_store::{Content, PageRecord, Reader, Store, StoreError, unless_damaged};

/// How many pages each way brings into the fusion.
const DEPTH: usize = 200;
/// A day in milliseconds.
const DAY: f32 = 86_400_000.0;

/// Search by words, links and meaning.
pub struct SearchService {
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<Follower>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) embedding: Arc<EmbeddingService>,
}

impl SearchService {
    /// Creates the service.
    pub(crate) fn new(
        store: Arc<Store>,
        index: Arc<Follower>,
        clock: Arc<dyn Clock>,
        embedding: Arc<EmbeddingService>,
    ) -> Self {
        Self { store, index, clock, embedding }
    }

    pub(crate) fn search(&self, caller: &Caller, request: Search) -> Result<Hits, Fault> {
        let began = Instant::now();
        if request.query.trim().is_empty() {
            return Err(Fault::new(FaultCode::Usage, "there is nothing to search for").hint(
                "give words: `brain search \"latency budget\"`; `brain list` shows all pages",
            ));
        }
        let since = instant(request.since.as_deref(), false)?;
        let until = instant(request.until.as_deref(), true)?;
        let sources = match &request.source {
            Some(named) => {
                let reader = self.store.read(caller.visibility())?;
                Some(vec![crate::sources::resolve(caller, &reader, Some(named))?.0])
            }
            None => None,
        };
        let limit = request.limit.clamp(1, MAX_HITS) as usize;
        let Some(index) = self.index.get() else {
            return Err(Fault::new(FaultCode::Busy, "the index is not open yet")
                .hint("try again in a moment"));
        };
        let question = Question {
            text: request.query.clone(),
            limit,
            sources,
            view: match caller.visibility() {
                Visibility::All => None,
                Visibility::Only(sources) => Some(sources),
            },
            page_type: request.page_type,
            tags: request.tags.iter().map(|tag| page::normalize_tag(tag)).collect(),
            since,
            until,
            explain: request.explain,
        };
        // QuestionTerms first: what is stored from here on was not acknowledged when the search
        // began.
        let of = question.sources.as_deref().or(question.view.as_deref());
        let catching_up = self.index.catching_up(of);
        let asked = index
            .question_terms(&question.text, question.view.as_deref())
            .map_err(|e| index_fault(&e))?;
        let conditions = Conditions { index, question: &question, pages: OnceCell::new() };
        let meant = self.meant(&asked, &conditions)?;
        let new = recent::wants_new(&asked);
        // Whatever may change the order looks deeper than what is shown: the first ten are the
        // same, however many are asked for.
        let by_words = meant.near.is_empty() && asked.subjects.is_empty() && new.is_none();
        let depth = if by_words { limit } else { DEPTH.max(limit) };
        let found = index
            .search(&Question { limit: depth, ..question.clone() })
            .map_err(|e| index_fault(&e))?;
        // Taken after the search: a page that was deleted meanwhile is not shown.
        let reader = self.store.read(caller.visibility())?;
        let order = order(&found.hits, &meant);
        let relations = relations(&reader, &asked, &order, &|id| conditions.admit(id))?;
        conditions.result()?;
        let new = match new {
            Some(word) => Some((word, self.ages(&reader, &order)?)),
            None => None,
        };
        let explain = request.explain;
        let fused = fuse(Rankings { text: found.hits, meant: &meant, relations, new, explain });
        let mut hits = Vec::with_capacity(limit.min(fused.len()));
        let (mut truncated, mut damaged) = (found.truncated, Vec::new());
        for page in fused {
            if hits.len() < limit {
                match shown(&reader, page, &found.snippets) {
                    Err(error) if error.is_damage() => damaged.push(error.to_string()),
                    hit => hits.extend(hit?),
                }
            } else if truncated || unless_damaged(reader.by_id(page.id))?.flatten().is_some() {
                truncated = true;
                break;
            }
        }
        let others = damaged.len().saturating_sub(1);
        let damaged = damaged.into_iter().next().map(|first| match others {
            0 => first,
            _ => format!("{first} ({others} more are damaged, too: see `brain doctor`)"),
        });
        let degraded: Vec<String> = [
            self.index.degraded_for(caller),
            catching_up,
            meant.degradation.map(|degradation| degradation.text(caller)),
        ]
        .into_iter()
        .flatten()
        .chain(damaged)
        .collect();
        Ok(Hits {
            query: request.query,
            hits,
            truncated,
            degraded: (!degraded.is_empty()).then(|| degraded.join("; ")),
            took_us: began.elapsed().as_micros() as u64,
        })
    }

    /// What vectors say about the question, of the pages that meet its conditions.
    fn meant(
        &self,
        asked: &QuestionTerms,
        conditions: &Conditions<'_>,
    ) -> Result<VectorResults, Fault> {
        // Marks alone, or the beginning of a word, mean nothing; and a model finds something near
        // to anything.
        if asked.words.is_empty() || !self.embedding.has_embedding() {
            return Ok(VectorResults::default());
        }
        let own = match &conditions.question.view {
            None => None,
            Some(sources) => {
                let pages = conditions.index.pages_of(sources).map_err(|e| index_fault(&e))?;
                Some(CallerPages { sources: sources.clone(), pages })
            }
        };
        Ok(self.embedding.near(&asked.text, DEPTH, &|id| conditions.admit(id), own.as_ref()))
    }

    /// The age in days of every page of `order`.
    fn ages(
        &self,
        reader: &Reader,
        order: &HashMap<u64, usize>,
    ) -> Result<HashMap<u64, f32>, StoreError> {
        let now = self.clock.now();
        let mut ages = HashMap::with_capacity(order.len());
        for &id in order.keys() {
            if let Some((_, _, record)) = reader.by_id(id)? {
                ages.insert(id, now.saturating_sub(record.updated_at).max(0) as f32 / DAY);
            }
        }
        Ok(ages)
    }
}

/// A moment that was typed: the beginning of a day, or its `end`.
pub(crate) fn instant(text: Option<&str>, end: bool) -> Result<Option<i64>, Fault> {
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

/// The pages that meet a question's conditions; found out when somebody wants to know.
struct Conditions<'a> {
    index: &'a Index,
    question: &'a Question,
    pages: OnceCell<Result<Option<HashSet<u64>>, IndexError>>,
}

impl Conditions<'_> {
    /// Whether the page may be an answer. Nothing is when the index cannot say so.
    fn admit(&self, id: u64) -> bool {
        match self.pages.get_or_init(|| self.index.allowed(self.question)) {
            Ok(Some(pages)) => pages.contains(&id),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// What went wrong, if anything did.
    fn result(&self) -> Result<(), Fault> {
        match self.pages.get() {
            Some(Err(error)) => Err(index_fault(error)),
            _ => Ok(()),
        }
    }
}

/// The places of the pages that words and vectors found, best first.
fn order(text: &[RankedPage], meant: &VectorResults) -> HashMap<u64, usize> {
    let mut order = HashMap::with_capacity(text.len() + meant.near.len());
    for (place, id) in text.iter().map(|hit| hit.id).enumerate() {
        order.insert(id, place);
    }
    for (place, id) in meant.near.iter().map(|near| near.page).enumerate() {
        order.entry(id).and_modify(|known: &mut usize| *known = place.min(*known)).or_insert(place);
    }
    order
}

/// A page as a hit; `None` when it is not there any more, or not the caller's to see.
fn shown(
    reader: &Reader,
    page: MergedPage,
    snippets: &Snippeter,
) -> Result<Option<Hit>, StoreError> {
    let Some((source, slug, record)) = reader.by_id(page.id)? else { return Ok(None) };
    let Content { frontmatter, body } = reader.content(&record)?;
    let snippet = passage(&body, page.window, snippets);
    let url = page::page_url(&frontmatter, record.provenance.source_uri.as_deref());
    let mut hit = hit(source, slug, record, page.score);
    hit.snippet = snippet.text;
    hit.highlights = snippet.highlights;
    hit.chunk = snippet.chunk;
    hit.line = snippet.line;
    hit.url = url;
    hit.matched = page.matched.into_iter().map(Into::into).collect();
    hit.explain = page.explain;
    Ok(Some(hit))
}

/// The passage to show: around the question's words, or the window that is nearest to it.
fn passage(body: &str, window: Option<(u32, u32)>, snippets: &Snippeter) -> Snippet {
    let chunks = page::chunks(body);
    let Some((start, end)) = window.map(|(start, end)| (start as usize, end as usize)) else {
        return snippets.snippet(body, &chunks);
    };
    // The page may have changed since its vectors were made.
    if body.get(start..end).is_none_or(str::is_empty) {
        return snippets.snippet(body, &chunks);
    }
    let mut snippet = snippets.snippet(body, std::slice::from_ref(&(start..end)));
    let chunk = chunks.iter().position(|chunk| start < chunk.end).unwrap_or(0);
    snippet.chunk = u32::try_from(chunk).unwrap_or(u32::MAX);
    snippet
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
