//! `search`: finds pages by words, vectors and links, and reads them from the store.
//!
//! A question is parsed once, into a [`ParsedQuestion`]. A question without its period, a corrected
//! one and a command line are other questions.
//!
//! | file | purpose |
//! |---|---|
//! | `run` | a search in progress: asks the index and the model, and merges their results |
//! | `answers` | answers without a language model: from links and from `lists` |
//! | `lists` | lists that pages state: mentions, tags, people at an event, values, order |
//! | `dated` | the pages of the days that a question names |
//! | `no_day` | questions with a day that is not in the calendar |
//! | `relations`, `neighbours` | pages that links connect with a named page, and their sentences |
//! | `clause` | the part of a sentence that says something about a link |
//! | `names_without_page` | persons to whom a page links, but who have no page |
//! | `target_pages` | the kind of the pages that a question asks for, and which links answer it |
//! | `fuse` | merges the rankings |
//! | `rerank` | orders the first pages by a second model, if one is configured |
//! | `reading` | how a question is read: command lines, excluded words, quoted phrases, fields |
//! | `hits` | reads the pages to show; pages with the same text are one hit |
//! | `health` | the check of the index for `doctor` |
//!
//! Every hit meets two conditions. The index says which pages match the filters of the question.
//! The store's `Reader` decides last whether the caller may see the page.

mod answers;
mod clause;
mod dated;
mod fuse;
mod health;
mod hits;
mod lists;
mod names_without_page;
mod neighbours;
mod no_day;
mod originals;
mod reading;
mod relations;
mod rerank;
mod run;
mod target_pages;

use std::sync::Arc;
use std::time::Instant;

use brain_protocol::{Command, Fault, FaultCode, Hits, MAX_HITS, Search, SourceId, VERSION, hint};

use self::run::SearchRun;
use crate::embedding::EmbeddingService;
use brain_base::caller::Caller;
use brain_base::clock::{Clock, end_instant_argument, instant_argument};
use brain_machines::MachineService;
use brain_page as page;
use brain_pages::files::FileService;
use brain_pages::index::{IndexFollower, index_fault};
use brain_search::{Query, Question};
use brain_store::Store;

pub use self::answers::{DirectAnswer, PageChoice};
pub use self::lists::{ListAnswer, ListEntry};
pub use brain_questions::ParsedQuestion;

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
        let sources = caller.visibility().sources();
        self.index.degraded_for(caller).is_some()
            || self.machines.degraded().is_some()
            || self.index.incomplete_reason(sources.as_deref()).is_some()
    }

    /// Names what ranks: the version of brain, which has the weights, and the models.
    #[must_use]
    pub fn ranking(&self) -> String {
        format!("brain {VERSION}, {}", self.embedding.ranking_models())
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
        let found = self.typed(caller, sources, (text, false), limit)?;
        Ok(found.into_iter().filter(|(_, is_name)| *is_name).map(|(id, _)| id).collect())
    }

    /// As [`Self::titles`], and if no page has such a name, those with other spellings of the
    /// words.
    ///
    /// # Errors
    /// When the index cannot answer.
    pub fn near_names(
        &self,
        caller: &Caller,
        sources: &[SourceId],
        text: &str,
        limit: usize,
    ) -> Result<Vec<u64>, Fault> {
        // Reading the texts as well takes much longer, and longer the more pages there are.
        let mut found = self.typed(caller, sources, (text, true), limit)?;
        let has_name = |found: &[(u64, bool)]| found.iter().any(|(_, is_name)| *is_name);
        if !has_name(&found) {
            found = self.typed(caller, sources, (text, false), limit)?;
        }
        let has_name = has_name(&found);
        Ok(found.into_iter().filter(|(_, it)| *it || !has_name).map(|(id, _)| id).collect())
    }

    /// Finds pages by words of which the last one may be incomplete, only by their names or also by
    /// their texts. Returns their ids, and whether the words are of the page's name.
    fn typed(
        &self,
        caller: &Caller,
        sources: &[SourceId],
        (text, names_only): (&str, bool),
        limit: usize,
    ) -> Result<Vec<(u64, bool)>, Fault> {
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let Some(index) = self.index.get().filter(|_| !words.is_empty()) else {
            return Ok(Vec::new());
        };
        let question = Question {
            query: Query::parse(words.join(" ")),
            limit,
            sources: Some(sources.to_vec()),
            view: caller.visibility().sources(),
            is_being_typed: true,
            names_only,
            ..Question::default()
        };
        let found = index.search(&question).map_err(|e| index_fault(&e))?;
        Ok(found.hits.into_iter().map(|hit| (hit.id, hit.tier > 0)).collect())
    }

    /// Parses a question that is asked today.
    #[must_use]
    pub fn parse(&self, text: &str) -> ParsedQuestion {
        ParsedQuestion::new(text, brain_base::clock::local_date(self.clock.now()))
    }

    /// Finds pages by words, links and, with a model, by meaning.
    ///
    /// # Errors
    /// For a query or a filter that cannot be read, and if the index cannot answer.
    pub fn search(&self, caller: &Caller, request: Search) -> Result<Hits, Fault> {
        let parsed = self.parse(&request.query);
        self.search_parsed(caller, request, parsed)
    }

    /// As [`Self::search`], for a request whose query is parsed.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn search_parsed(
        &self,
        caller: &Caller,
        request: Search,
        parsed: ParsedQuestion,
    ) -> Result<Hits, Fault> {
        let began = Instant::now();
        let query = request.query.clone();
        let question = self.question(caller, request, &parsed)?;
        let Some(index) = self.index.get() else {
            return Err(Fault::new(FaultCode::Busy, "the index is not open yet")
                .hint("try again in a moment"));
        };
        // Read before the search: pages stored later were not acknowledged when it began.
        let searched_sources = question.sources.as_deref().or(question.view.as_deref());
        let incomplete_reason = self.index.incomplete_reason(searched_sources);
        let answer = SearchRun::new(self, caller, index, question, parsed)?.answer()?;
        let degraded: Vec<String> =
            [self.index.degraded_for(caller), self.machines.degraded(), incomplete_reason]
                .into_iter()
                .flatten()
                .chain(answer.degraded)
                .collect();
        Ok(Hits {
            query,
            hits: answer.hits,
            truncated: answer.truncated,
            degraded: (!degraded.is_empty()).then(|| degraded.join("; ")),
            took_us: began.elapsed().as_micros() as u64,
            default_source: answer.default_source,
            note: answer.note,
        })
    }

    /// Returns the question of a request to the index.
    fn question(
        &self,
        caller: &Caller,
        request: Search,
        parsed: &ParsedQuestion,
    ) -> Result<Question, Fault> {
        if request.query.trim().is_empty() {
            return Err(Fault::new(FaultCode::Usage, "the query is empty").hint(hint!(
                "give words: {}; {} shows all pages",
                Command::Search { words: Some("latency budget".into()) },
                Command::List
            )));
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
        Ok(Question {
            query: Arc::clone(&parsed.query),
            limit: request.limit.clamp(1, MAX_HITS) as usize,
            sources,
            view: caller.visibility().sources(),
            page_type: request.page_type,
            tags: request.tags.iter().map(|tag| page::normalize_tag(tag)).collect(),
            since,
            until,
            explain: request.explain,
            is_being_typed: request.prefix,
            ..Question::default()
        })
    }
}
