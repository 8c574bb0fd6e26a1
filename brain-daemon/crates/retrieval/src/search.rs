//! `search`: finds pages by words, vectors and links, and reads them from the store.
//!
//! | file | purpose |
//! |---|---|
//! | `question` | the form of a question: whether it asks for persons or for things |
//! | `answers` | the pages that links alone give as an answer |
//! | `chain` | a question with two relations |
//! | `times`, `dated` | the days and the order that a question names; the pages of those days |
//! | `relations`, `neighbours` | pages that links connect with a named page, and their sentences |
//! | `target_pages`, `relation_words` | the kind of the target pages, and words for a relation |
//! | `named` | the bonus of pages that a question names |
//! | `fuse` | merges the rankings |
//! | `rerank` | orders the first pages by a second model, if one is configured |
//! | `pasted` | a question that is a line of a page, such as a command line with options |
//! | `hits` | reads the pages to show; pages with the same text are one hit |
//! | `health` | the check of the index for `doctor` |
//!
//! Every hit meets two conditions. The index says which pages match the filters of the question.
//! The store's [`Reader`] decides last whether the caller may see the page.

mod answers;
mod dated;
mod fuse;
mod health;
mod hits;
mod neighbours;
mod originals;
mod pasted;
mod relations;
mod rerank;
mod target_pages;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use brain_protocol::{Fault, FaultCode, Hits, MAX_HITS, Search, SourceId};

use self::dated::{DatedPages, order_answers};
use self::fuse::{Rankings, fuse};
use self::hits::{HitList, HitReader};
use self::originals::original_first;
use self::pasted::pasted_text;
use self::relations::relations;
use crate::embedding::{CallerPages, EmbeddingService, VectorResults};
use brain_base::caller::{Caller, Visibility};
use brain_base::clock::{Clock, end_instant_argument, instant_argument};
use brain_machines::MachineService;
use brain_page as page;
use brain_pages::files::FileService;
use brain_pages::index::{IndexFollower, index_fault};
use brain_pages::preferred_source::preferred;
use brain_questions::forms::question_form;
use brain_questions::named::named_pages;
use brain_questions::times::{Order, Times};
use brain_search::{Index, IndexError, Question, QuestionTerms, RankedPage, Spelling};
use brain_store::{Reader, Store, StoreError, unless_damaged};

pub use self::answers::LinkAnswer;

/// Number of pages that the text and vector rankings each contribute to the merged one. The text
/// ranking contributes more if more hits are requested.
const DEPTH: usize = 200;
/// Additional hits of the index, which replace pages with the same text as a shown page.
const SPARE_HITS: usize = 10;
/// A day in milliseconds.
const DAY_MS: f32 = 86_400_000.0;

/// Search by words, links and meaning.
pub struct SearchService {
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) embedding: Arc<EmbeddingService>,
    pub(crate) files: Arc<FileService>,
    pub(crate) machines: Arc<MachineService>,
}

impl SearchService {
    /// Creates the service.
    pub fn new(
        store: Arc<Store>,
        index: Arc<IndexFollower>,
        clock: Arc<dyn Clock>,
        embedding: Arc<EmbeddingService>,
        files: Arc<FileService>,
        machines: Arc<MachineService>,
    ) -> Self {
        Self { store, index, clock, embedding, files, machines }
    }

    /// Returns whether a search of `caller` may miss pages at the moment, because the index is
    /// incomplete.
    #[must_use]
    pub fn is_degraded(&self, caller: &Caller) -> bool {
        let sources = match caller.visibility() {
            Visibility::All => None,
            Visibility::Only(sources) => Some(sources),
        };
        self.index.degraded_for(caller).is_some()
            || self.machines.degraded().is_some()
            || self.index.incomplete_reason(sources.as_deref()).is_some()
    }

    /// Returns the approximate number of changes that are not in the index on disk.
    #[must_use]
    pub fn index_behind(&self) -> u64 {
        self.index.uncommitted_count()
    }

    /// Returns the ids of up to `limit` pages of `sources` whose names have the words of `text`.
    /// The last word may be incomplete. Reads the index only; returns nothing while it is not open.
    pub fn titles(
        &self,
        caller: &Caller,
        sources: &[SourceId],
        text: &str,
        limit: usize,
    ) -> Result<Vec<u64>, Fault> {
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let Some(index) = self.index.get() else { return Ok(Vec::new()) };
        let question = Question {
            text: words.join(" "),
            limit,
            sources: Some(sources.to_vec()),
            view: match caller.visibility() {
                Visibility::All => None,
                Visibility::Only(sources) => Some(sources),
            },
            page_type: None,
            tags: Vec::new(),
            since: None,
            until: None,
            days: None,
            explain: false,
            prefer_quotes: false,
            is_being_typed: true,
            asks_for_links: false,
        };
        let found = index.search(&question).map_err(|e| index_fault(&e))?;
        let named = found.hits.into_iter().filter(|hit| hit.tier > 0);
        Ok(named.map(|hit| hit.id).collect())
    }

    /// Finds pages by words, links and, with a model, by meaning.
    ///
    /// # Errors
    /// For a query or a filter that cannot be read, and if the index cannot answer.
    pub fn search(&self, caller: &Caller, request: Search) -> Result<Hits, Fault> {
        let began = Instant::now();
        if request.query.trim().is_empty() {
            return Err(Fault::new(FaultCode::Usage, "the query is empty").hint(
                "give words: `brain search \"latency budget\"`; `brain list` shows all pages",
            ));
        }
        let since = instant_argument(request.since.as_deref())?;
        let until = end_instant_argument(request.until.as_deref())?;
        let sources = match &request.source {
            Some(named) => {
                let reader = self.store.read(caller.visibility())?;
                Some(vec![brain_pages::sources::resolve(caller, &reader, Some(named))?.0])
            }
            None => None,
        };
        let limit = request.limit.clamp(1, MAX_HITS) as usize;
        let Some(index) = self.index.get() else {
            return Err(Fault::new(FaultCode::Busy, "the index is not open yet")
                .hint("try again in a moment"));
        };
        let mut question = Question {
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
            days: None,
            explain: request.explain,
            prefer_quotes: false,
            is_being_typed: request.prefix,
            asks_for_links: false,
        };
        // Read before the search: pages stored later were not acknowledged when it began.
        let searched_sources = question.sources.as_deref().or(question.view.as_deref());
        let incomplete_reason = self.index.incomplete_reason(searched_sources);
        let reader = self.store.read(caller.visibility())?;
        if let Some(text) = pasted_text(index, &question, &reader)? {
            question.text = text;
        }
        drop(reader);
        let unmet_quotes = index.unmet_quotes(&question).map_err(|e| index_fault(&e))?;
        question.prefer_quotes = !unmet_quotes.is_empty();
        let mut terms = index
            .question_terms(&question.text, question.view.as_deref())
            .map_err(|e| index_fault(&e))?;
        question.asks_for_links = question_form(&terms).is_some();
        let conditions = Conditions { index, question: &question, pages: OnceCell::new() };
        // A word that is being typed has no meaning yet, and every key press needs a fast answer.
        let vectors = match request.prefix {
            true => VectorResults::default(),
            false => self.pages_by_meaning(&terms, &conditions)?,
        };
        let zone = brain_base::clock::zone();
        let today = brain_base::clock::local_date(self.clock.now());
        let times = match request.prefix {
            true => Times::default(),
            false => Times::of(&question.text, today),
        };
        let mut dated =
            DatedPages::find(index, &question, &times, &zone).map_err(|e| index_fault(&e))?;
        dated.remove_period_names(&mut terms, today);
        let recency_word = match &times.order {
            Some((Order::Newest, word)) => Some(word.clone()),
            _ => None,
        };
        // Other rankings can reorder the text hits. A fixed depth keeps the first hits the same for
        // every limit.
        let reranks = self.embedding.has_reranker()
            && !request.prefix
            && !terms.words.is_empty()
            && times == Times::default();
        let is_text_only = vectors.near.is_empty()
            && terms.subjects.is_empty()
            && times == Times::default()
            && !reranks;
        let depth = if is_text_only { limit + SPARE_HITS } else { DEPTH.max(limit) };
        let mut text_results = index
            .search(&Question { limit: depth, ..question.clone() })
            .map_err(|e| index_fault(&e))?;
        // A word that is in no page can still be the verb of a question about a named page.
        if let Some(spelling) = &text_results.spelling
            && terms.subjects.is_empty()
        {
            terms = index
                .question_terms(&spelling.text, question.view.as_deref())
                .map_err(|e| index_fault(&e))?;
            if !terms.subjects.is_empty() && depth < DEPTH {
                text_results = index
                    .search(&Question { limit: DEPTH, ..question.clone() })
                    .map_err(|e| index_fault(&e))?;
            }
        }
        // Opened after the search, so that pages deleted meanwhile are left out.
        let reader = self.store.read(caller.visibility())?;
        dated.add_kind_weight(&reader, &terms)?;
        let positions = positions(&text_results.hits, &vectors);
        let relations = relations(&reader, &terms, &positions, &|id| conditions.admit(id))?;
        conditions.result()?;
        let recency = match recency_word {
            Some(word) => Some((word, self.ages(&reader, &positions)?)),
            None => None,
        };
        // A page whose name is being typed has a tier, and a page whose neighbours are asked for is
        // no answer: neither needs a bonus.
        let named = match request.prefix || !relations.subjects.is_empty() {
            true => Vec::new(),
            false => named_pages(&terms),
        };
        let explain = request.explain;
        let rankings = Rankings {
            text: text_results.hits,
            vectors: &vectors,
            relations,
            named,
            dated: &dated.weights,
            recency,
            explain,
        };
        let mut merged = fuse(rankings);
        if let Some((order, _)) = &times.order {
            order_answers(&mut merged, *order, today, &reader, &terms, explain)?;
        }
        let reranking = match reranks {
            true => {
                let display = (&text_results.snippets, explain);
                self.rerank(caller, &reader, &terms.text, &mut merged, display)?
            }
            false => None,
        };
        let mut hits = HitList::new(limit);
        let hit_reader = HitReader { caller, reader: &reader, files: &self.files };
        let (mut truncated, mut damaged) = (text_results.truncated, Vec::new());
        let mut merged = VecDeque::from(merged);
        while let Some(page) = merged.pop_front() {
            if hits.is_full() {
                truncated = truncated || unless_damaged(reader.by_id(page.id))?.flatten().is_some();
                if truncated {
                    break;
                }
                continue;
            }
            let page = original_first(&reader, page, &mut merged)?;
            match hit_reader.add(page, &dated, &text_results.snippets, &mut hits) {
                Err(error) if error.is_damage() => damaged.push(error.to_string()),
                added => added?,
            }
        }
        let more_damaged = damaged.len().saturating_sub(1);
        let damaged = damaged.into_iter().next().map(|first| match more_damaged {
            0 => first,
            _ => format!("{first} ({more_damaged} more are damaged, too: see `brain doctor`)"),
        });
        let degraded: Vec<String> = [
            self.index.degraded_for(caller),
            self.machines.degraded(),
            incomplete_reason,
            vectors.degradation.map(|degradation| degradation.text(caller)),
            reranking,
        ]
        .into_iter()
        .flatten()
        .chain(damaged)
        .collect();
        Ok(Hits {
            query: request.query,
            hits: hits.into_hits(),
            truncated,
            degraded: (!degraded.is_empty()).then(|| degraded.join("; ")),
            took_us: began.elapsed().as_micros() as u64,
            default_source: preferred(&reader.sources()?),
            note: note(&unmet_quotes, text_results.spelling.as_ref()),
        })
    }

    /// Returns the pages nearest to the question by meaning, among those that match its filters.
    /// Returns none if only words can find the pages, or without an embedding model.
    fn pages_by_meaning(
        &self,
        terms: &QuestionTerms,
        conditions: &Conditions<'_>,
    ) -> Result<VectorResults, Fault> {
        // Punctuation or a word prefix has no meaning, but a model finds near pages for any text. A
        // phrase or the name of a page is found by its words.
        let needs_words_only = terms.words.is_empty() || terms.is_literal || terms.is_name();
        if needs_words_only || !self.embedding.has_embedding() {
            return Ok(VectorResults::default());
        }
        let caller_pages = match &conditions.question.view {
            None => None,
            Some(sources) => {
                let pages = conditions.index.pages_of(sources).map_err(|e| index_fault(&e))?;
                Some(CallerPages { sources: sources.clone(), pages })
            }
        };
        let admits = |id| conditions.admit(id);
        Ok(self.embedding.near(&terms.text, DEPTH, &admits, caller_pages.as_ref()))
    }

    /// Returns the ages of these pages in days, by page id.
    fn ages(
        &self,
        reader: &Reader,
        positions: &HashMap<u64, usize>,
    ) -> Result<HashMap<u64, f32>, StoreError> {
        let now = self.clock.now();
        let mut ages = HashMap::with_capacity(positions.len());
        for &id in positions.keys() {
            if let Some((_, _, record)) = reader.by_id(id)? {
                ages.insert(id, now.saturating_sub(record.updated_at).max(0) as f32 / DAY_MS);
            }
        }
        Ok(ages)
    }
}

/// Returns a note on how the question was interpreted, if that is not obvious.
fn note(unmet_quotes: &[String], spelling: Option<&Spelling>) -> Option<String> {
    let spelling = spelling.map(|it| format!("also searched: {}", it.spellings.join(", ")));
    let notes: Vec<String> = unmet_quotes_note(unmet_quotes).into_iter().chain(spelling).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Returns the note on phrases of the question that no page has.
fn unmet_quotes_note(phrases: &[String]) -> Option<String> {
    let quoted: Vec<String> = phrases.iter().map(|phrase| format!("\"{phrase}\"")).collect();
    (!quoted.is_empty()).then(|| {
        format!("no page has {}: pages with similar words are shown", quoted.join(" and "))
    })
}

/// The pages that match a question's filters. They are searched at the first use.
struct Conditions<'a> {
    index: &'a Index,
    question: &'a Question,
    pages: OnceCell<Result<Option<HashSet<u64>>, IndexError>>,
}

impl Conditions<'_> {
    /// Returns whether the page matches the filters; `false` if the index fails.
    fn admit(&self, id: u64) -> bool {
        match self.pages.get_or_init(|| self.index.matching_pages(self.question)) {
            Ok(Some(pages)) => pages.contains(&id),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Returns the error of the index, if it failed.
    fn result(&self) -> Result<(), Fault> {
        match self.pages.get() {
            Some(Err(error)) => Err(index_fault(error)),
            _ => Ok(()),
        }
    }
}

/// Returns the best position of each page in the text and vector rankings, from 0.
fn positions(text: &[RankedPage], vectors: &VectorResults) -> HashMap<u64, usize> {
    let mut positions = HashMap::with_capacity(text.len() + vectors.near.len());
    for (rank, id) in text.iter().map(|hit| hit.id).enumerate() {
        positions.insert(id, rank);
    }
    for (rank, id) in vectors.near.iter().map(|near| near.page).enumerate() {
        let best = positions.entry(id).or_insert(rank);
        *best = rank.min(*best);
    }
    positions
}
