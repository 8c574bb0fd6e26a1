//! A search in progress: asks the index and the model, and merges their results.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet, VecDeque};

use brain_protocol::{Command, Fault, Hit, SourceId};

use super::SearchService;
use super::dated::{DatedPages, order_answers};
use super::fuse::{RankingEntry, Rankings, fuse};
use super::hits::{HitList, HitReader};
use super::lists::ListReader;
use super::originals::original_first;
use super::reading::Reading;
use super::relations::{Relations, relations};
use super::target_pages::kinds;
use crate::embedding::{CallerPages, VectorResults};
use brain_base::caller::Caller;
use brain_page::month_named;
use brain_pages::index::index_fault;
use brain_pages::preferred_source::preferred;
use brain_questions::ParsedQuestion;
use brain_questions::forms::question_form;
use brain_questions::function_words::is_negated;
use brain_questions::kinds::{is_kind_word, names_kind};
use brain_questions::named::named_pages;
use brain_questions::times::{Order, Times};
use brain_search::{
    Index, IndexError, Query, Question, QuestionTerms, QuestionWord, RankedPage, SearchResults,
    Snippeter, Spelling,
};
use brain_store::{Reader, StoreError, unless_damaged};

/// Number of pages that the text and vector rankings each contribute to the merged one. The text
/// ranking contributes more if more hits are requested.
const DEPTH: usize = 200;
/// Additional hits of the index, which replace pages with the same text as a shown page.
const SPARE_HITS: usize = 10;
/// A day in milliseconds.
const DAY_MS: f32 = 86_400_000.0;

/// A search of one question.
pub(super) struct SearchRun<'a> {
    service: &'a SearchService,
    caller: &'a Caller,
    index: &'a Index,
    parsed: ParsedQuestion,
    /// The question to the index.
    question: Question,
    /// How the question was read, if that is not obvious.
    notes: Vec<String>,
}

/// The pages to show, and what the caller must know about them.
pub(super) struct SearchAnswer {
    pub(super) hits: Vec<Hit>,
    /// Whether there are more pages.
    pub(super) truncated: bool,
    /// Why pages may be missing or in another order.
    pub(super) degraded: Vec<String>,
    pub(super) default_source: SourceId,
    /// How the question was interpreted, if that is not obvious.
    pub(super) note: Option<String>,
}

/// What the searches by words, by meaning and by days found.
struct Findings {
    terms: QuestionTerms,
    /// Whether the terms are of the question in another spelling.
    is_corrected: bool,
    text: SearchResults,
    vectors: VectorResults,
    dated: DatedPages,
    /// Whether a second model orders the first pages.
    reranks: bool,
}

impl<'a> SearchRun<'a> {
    /// Decides how `question` is read.
    ///
    /// # Errors
    /// If the index or the store cannot answer.
    pub(super) fn new(
        service: &'a SearchService,
        caller: &'a Caller,
        index: &'a Index,
        question: Question,
        parsed: ParsedQuestion,
    ) -> Result<Self, Fault> {
        let reader = service.store.read(caller.visibility())?;
        let Reading { question, mut parsed, notes } =
            Reading::of(index, question, parsed, &reader)?;
        if question.is_being_typed {
            parsed.times = Times::default();
        }
        Ok(Self { service, caller, index, parsed, question, notes })
    }

    /// Finds the pages and reads those to show.
    ///
    /// # Errors
    /// If the index or the store cannot answer.
    pub(super) fn answer(mut self) -> Result<SearchAnswer, Fault> {
        let terms = self.terms(&self.parsed.query)?;
        self.parsed.forget_period_in_name(&terms);
        self.question.asks_for_links = question_form(&terms).is_some();
        let conditions =
            Conditions { index: self.index, question: &self.question, pages: OnceCell::new() };
        let Findings { terms, is_corrected, text, vectors, mut dated, reranks } =
            self.find(terms, &conditions)?;
        let SearchResults { hits, truncated, spelling, snippets } = text;
        // Opened after the search, so that pages deleted meanwhile are left out.
        let reader = self.service.store.read(self.caller.visibility())?;
        dated.add_kind_weight(&reader, &terms)?;
        let (mut ranking, is_list) =
            self.merge(&reader, hits, &terms, &vectors, &dated, &conditions)?;
        let reranking = match reranks {
            true => {
                let display = (&snippets, self.question.explain);
                self.service.rerank(self.caller, &reader, &terms.text, &mut ranking, display)?
            }
            false => None,
        };
        let (hits, truncated, damaged) =
            self.read_hits(&reader, ranking, &dated, &snippets, truncated)?;
        let degradation = vectors.degradation.map(|degradation| degradation.text(self.caller));
        Ok(SearchAnswer {
            hits,
            truncated,
            degraded: [degradation, reranking, damaged].into_iter().flatten().collect(),
            default_source: preferred(&reader.sources()?),
            note: note(
                self.notes,
                // The pages of a list are first by the words as they are typed.
                spelling.as_ref().filter(|_| !is_list || is_corrected),
                dated.note(&self.parsed.query.text),
                dated.period.is_some(),
            ),
        })
    }

    /// Returns the words and the named pages of a question.
    fn terms(&self, query: &Query) -> Result<QuestionTerms, Fault> {
        let view = self.question.view.as_deref();
        self.index.question_terms(query, view).map_err(|e| index_fault(&e))
    }

    /// Searches by words, by meaning and by days.
    fn find(
        &self,
        mut terms: QuestionTerms,
        conditions: &Conditions<'_>,
    ) -> Result<Findings, Fault> {
        let vectors = self.pages_by_meaning(&terms, conditions)?;
        let dated = self.dated_pages(&terms)?;
        self.parsed.remove_period_names(&mut terms);
        let has_times = self.parsed.times != Times::default();
        // Other rankings can reorder the text hits. A fixed depth keeps the first hits the same for
        // every limit.
        let reranks = self.service.embedding.has_reranker()
            && !self.question.is_being_typed
            && !terms.words.is_empty()
            && !has_times;
        let is_text_only =
            vectors.near.is_empty() && terms.subjects.is_empty() && !has_times && !reranks;
        let limit = self.question.limit;
        let depth = if is_text_only { limit + SPARE_HITS } else { DEPTH.max(limit) };
        let mut text = self.search_words(depth, &dated)?;
        let mut is_corrected = false;
        // A word that is in no page can still be the verb of a question about a named page.
        if let Some(spelling) = &text.spelling
            && terms.subjects.is_empty()
        {
            let corrected = self.terms(&spelling.query)?;
            // Without a named page, a list is read from the words as they are typed: `dernière`
            // asks for an order, `derrière` does not.
            if !corrected.subjects.is_empty() {
                terms = corrected;
                is_corrected = true;
            }
            if !terms.subjects.is_empty() && depth < DEPTH {
                text = self.search_words(DEPTH, &dated)?;
            }
        }
        Ok(Findings { terms, is_corrected, text, vectors, dated, reranks })
    }

    /// Finds the pages of the period that the question names.
    fn dated_pages(&self, terms: &QuestionTerms) -> Result<DatedPages, Fault> {
        if self.parsed.times.period.is_none() {
            return Ok(DatedPages::default());
        }
        let kind_words: Vec<&QuestionWord> =
            terms.words.iter().filter(|word| is_kind_word(&word.text)).collect();
        let reader = self.service.store.read(self.caller.visibility())?;
        let is_of_kind = |id: u64| {
            let page = reader.by_id(id).ok().flatten();
            let kinds = page.as_ref().map(kinds).unwrap_or_default();
            kinds.iter().any(|kind| kind_words.iter().any(|word| names_kind(word, kind)))
        };
        let is_of_kind = (!kind_words.is_empty()).then_some(&is_of_kind as &dyn Fn(u64) -> bool);
        DatedPages::find(self.index, &self.question, &self.parsed, is_of_kind)
            .map_err(|e| index_fault(&e))
    }

    fn search_words(&self, limit: usize, dated: &DatedPages) -> Result<SearchResults, Fault> {
        let day_words = self.parsed.day_words().filter(|_| dated.has_topic());
        let question = Question { limit, day_words, ..self.question.clone() };
        self.index.search(&question).map_err(|e| index_fault(&e))
    }

    /// Returns the pages nearest to the question by meaning, among those that match its filters.
    /// Returns none if only words can find the pages, or without an embedding model.
    fn pages_by_meaning(
        &self,
        terms: &QuestionTerms,
        conditions: &Conditions<'_>,
    ) -> Result<VectorResults, Fault> {
        // A word that is being typed has no meaning yet, and every key press needs a fast answer.
        if self.question.is_being_typed {
            return Ok(VectorResults::default());
        }
        let embedding = &self.service.embedding;
        // Punctuation or a word prefix has no meaning, but a model finds near pages for any text. A
        // phrase or the name of a page is found by its words.
        let needs_words_only =
            terms.words.is_empty() || self.parsed.query.is_literal() || terms.is_name();
        if needs_words_only || !embedding.has_embedding() {
            return Ok(VectorResults::default());
        }
        let caller_pages = match &self.question.view {
            None => None,
            Some(sources) => {
                let pages = self.index.pages_of(sources).map_err(|e| index_fault(&e))?;
                Some(CallerPages { sources: sources.clone(), pages })
            }
        };
        let admits = |id| conditions.admit(id);
        Ok(embedding.near(&terms.text, DEPTH, &admits, caller_pages.as_ref()))
    }

    /// Merges the rankings by words, by meaning and by days with the pages that links lead to, and
    /// puts the pages in the order that the question asks for. Returns also whether the first pages
    /// are a list that pages state.
    fn merge(
        &self,
        reader: &Reader,
        text: Vec<RankedPage>,
        terms: &QuestionTerms,
        vectors: &VectorResults,
        dated: &DatedPages,
        conditions: &Conditions<'_>,
    ) -> Result<(Vec<RankingEntry>, bool), Fault> {
        let positions = positions(&text, vectors);
        let admits = |id| conditions.admit(id);
        let relations = self.relations(reader, terms, &positions, &admits)?;
        conditions.result()?;
        let recency = match &self.parsed.times.order {
            Some((Order::Newest, word)) => Some((word.clone(), self.ages(reader, &positions)?)),
            _ => None,
        };
        // A page whose name is being typed has a tier, and a page whose neighbours are asked for is
        // no answer: neither needs a bonus.
        let named = match self.question.is_being_typed || !relations.subjects.is_empty() {
            true => Vec::new(),
            false => named_pages(terms),
        };
        let (explain, is_list) = (self.question.explain, relations.is_list);
        let mut merged = fuse(Rankings {
            text,
            vectors,
            relations,
            named,
            dated: &dated.weights,
            recency,
            explain,
        });
        if let Some((order, _)) = self.parsed.times.order.as_ref().filter(|_| !is_list) {
            order_answers(&mut merged, *order, self.parsed.today, reader, terms, explain)?;
        }
        Ok((merged, is_list))
    }

    /// Returns the pages of the list that the question asks for, such as `notes tagged evergreen`,
    /// else those that links relate to it, else those of a kind by their days. None for a negative
    /// question: all of them state the opposite.
    fn relations(
        &self,
        reader: &Reader,
        terms: &QuestionTerms,
        positions: &HashMap<u64, usize>,
        admits: &dyn Fn(u64) -> bool,
    ) -> Result<Relations, Fault> {
        if is_negated(terms) {
            return Ok(Relations::default());
        }
        if self.question.is_being_typed || self.parsed.query.is_literal() {
            return Ok(relations(reader, terms, positions, admits)?);
        }
        // A damaged page must not hide the others.
        let intact = self.service.store.read(self.caller.visibility())?.leaving_out_damage();
        let lists = ListReader {
            reader: &intact,
            index: self.index,
            view: self.question.view.as_deref(),
            source: None,
            terms,
            times: &self.parsed.times,
            today: self.parsed.today,
        };
        if let Some(list) = lists.stated(admits)? {
            return Ok(list);
        }
        let related = relations(reader, terms, positions, admits)?;
        if !related.related.is_empty() {
            return Ok(related);
        }
        let list = match lists.by_day(admits)? {
            Some(list) => Some(list),
            None => lists.valued(admits)?,
        };
        Ok(list.unwrap_or(related))
    }

    /// Returns the ages of these pages in days, by page id.
    fn ages(
        &self,
        reader: &Reader,
        positions: &HashMap<u64, usize>,
    ) -> Result<HashMap<u64, f32>, StoreError> {
        let now = self.service.clock.now();
        let mut ages = HashMap::with_capacity(positions.len());
        for &id in positions.keys() {
            if let Some((_, _, record)) = reader.by_id(id)? {
                ages.insert(id, now.saturating_sub(record.updated_at).max(0) as f32 / DAY_MS);
            }
        }
        Ok(ages)
    }

    /// Reads the first pages of a ranking. Returns the hits, whether there are more, and the first
    /// damaged page.
    fn read_hits(
        &self,
        reader: &Reader,
        ranking: Vec<RankingEntry>,
        dated: &DatedPages,
        snippets: &Snippeter,
        mut truncated: bool,
    ) -> Result<(Vec<Hit>, bool, Option<String>), Fault> {
        let mut hits = HitList::new(self.question.limit);
        let hit_reader = HitReader { caller: self.caller, reader, files: &self.service.files };
        let mut damaged = Vec::new();
        let mut ranking = VecDeque::from(ranking);
        while let Some(page) = ranking.pop_front() {
            if hits.is_full() {
                truncated = truncated || unless_damaged(reader.by_id(page.id))?.flatten().is_some();
                if truncated {
                    break;
                }
                continue;
            }
            let page = original_first(reader, page, &mut ranking)?;
            match hit_reader.add(page, dated, snippets, &mut hits) {
                Err(error) if error.is_damage() => damaged.push(error.to_string()),
                added => added?,
            }
        }
        let more_damaged = damaged.len().saturating_sub(1);
        let damaged = damaged.into_iter().next().map(|first| match more_damaged {
            0 => first,
            _ => {
                format!("{first} ({more_damaged} more are damaged, too: see `{}`)", Command::Doctor)
            }
        });
        Ok((hits.into_hits(), truncated, damaged))
    }
}

/// Returns a note on how the question was interpreted, if that is not obvious.
fn note(
    mut notes: Vec<String>,
    spelling: Option<&Spelling>,
    times: Option<String>,
    has_period: bool,
) -> Option<String> {
    notes.extend(times);
    notes.extend(spelling.and_then(|it| spelling_note(it, has_period)));
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Returns the note on other spellings. If the question names a period, a month in another language
/// (`october` for `Oktober`) explains nothing.
fn spelling_note(spelling: &Spelling, has_period: bool) -> Option<String> {
    let explains = |word: &&str| !has_period || month_named(word).is_none();
    let spellings: Vec<&str> =
        spelling.explaining.iter().map(String::as_str).filter(explains).collect();
    (!spellings.is_empty()).then(|| format!("also searched: {}", spellings.join(", ")))
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
