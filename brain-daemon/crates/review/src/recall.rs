//! The owner's own test set: questions that were searched, and the page that was opened for each.
//!
//! Off unless the configuration says otherwise. The questions stay in the store and go nowhere.
//! Searches without an opened page stay in memory only, for half an hour.

use std::collections::VecDeque;
use std::sync::Arc;

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::{Clock, rfc3339};
use brain_protocol::{
    Command, Fault, Hits, MissedQuestion, PageRef, RecallReply, RecallResult, RecallRun, Scopes,
    Search, Slug, SourceId,
};
use brain_retrieval::search::SearchService;
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};
use brain_store::{Reader, RecallRecord, Store};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// How long a page counts as opened for a search that found it, in milliseconds.
const OPEN_MS: i64 = 10 * 60 * 1000;
/// How long a page counts as what a search missed, in milliseconds.
const MISS_MS: i64 = 30 * 60 * 1000;
/// Maximum number of searches in memory.
const MAX_RECENT: usize = 20;
/// Maximum number of questions; the oldest ones go.
const MAX_QUESTIONS: usize = 1000;
/// Maximum number of former runs in a reply.
const MAX_RUNS: usize = 20;
/// Maximum number of missed questions in a reply.
const MAX_MISSED: usize = 100;
/// The number of results in which a page must be.
const RESULTS: u32 = 5;
/// The fall that is a warning, in points of a hundred.
const MAX_FALL: f64 = 2.0;

/// A search whose page was not opened yet.
struct RecentSearch {
    text: String,
    found: Vec<(SourceId, Slug)>,
    at: i64,
}

/// Remembers searches, and asks them again.
pub struct RecallService {
    store: Arc<Store>,
    search: Arc<SearchService>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
    is_enabled: bool,
    recent: Mutex<VecDeque<RecentSearch>>,
}

impl RecallService {
    /// Creates the service.
    pub fn new(
        store: Arc<Store>,
        search: Arc<SearchService>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
        is_enabled: bool,
    ) -> Self {
        Self { store, search, clock, stop, is_enabled, recent: Mutex::default() }
    }

    /// Notes a search of the owner. Does nothing if the configuration has it off.
    pub fn note_search(&self, caller: &Caller, request: &Search, reply: &Hits) {
        if !self.is_enabled || !is_owner(caller) || request.query.trim().is_empty() {
            return;
        }
        let found = reply.hits.iter().map(|hit| (hit.source_id.clone(), hit.slug.clone()));
        let (text, at) = (request.query.trim().to_owned(), self.clock.now());
        let mut recent = self.recent.lock();
        recent.retain(|search| search.text != text && at - search.at <= MISS_MS);
        recent.push_front(RecentSearch { text, found: found.collect(), at });
        recent.truncate(MAX_RECENT);
    }

    /// Notes that the owner opened a page: the last search that found it is a question for the test
    /// set, else the last one for which no page was opened.
    pub fn note_open(&self, caller: &Caller, source: &SourceId, slug: &Slug) {
        if !self.is_enabled || !is_owner(caller) {
            return;
        }
        let now = self.clock.now();
        let (text, was_missed) = {
            let mut recent = self.recent.lock();
            recent.retain(|search| (0..=MISS_MS).contains(&(now - search.at)));
            let has_page = |search: &RecentSearch| {
                search.found.iter().any(|(of, name)| of == source && name == slug)
            };
            let found = recent.iter().position(|it| has_page(it) && now - it.at <= OPEN_MS);
            let was_missed = found.is_none();
            let Some(search) = found.or((!recent.is_empty()).then_some(0)) else { return };
            let Some(search) = recent.remove(search) else { return };
            (search.text, was_missed)
        };
        if let Err(fault) = self.add(text, source, slug, was_missed, now) {
            tracing::warn!(%fault, "cannot remember a search");
        }
    }

    /// Forgets the searches for which no page was opened yet. They may name what is purged.
    pub fn forget_recent(&self) {
        self.recent.lock().clear();
    }

    fn add(
        &self,
        text: String,
        source: &SourceId,
        slug: &Slug,
        was_missed: bool,
        at: i64,
    ) -> Result<(), Fault> {
        let reader = self.store.read(Visibility::All)?;
        let Some(record) = reader.page(source, slug)? else { return Ok(()) };
        let page = record.id;
        let questions: Vec<(u64, RecallRecord)> =
            reader.recall()?.into_iter().filter(|(_, row)| is_question(row)).collect();
        let is_same = |row: &RecallRecord| {
            matches!(row, RecallRecord::Question { text: of, page: id, .. }
                if *id == page && of.eq_ignore_ascii_case(&text))
        };
        let known = questions.iter().find(|(_, row)| is_same(row)).map(|(number, _)| *number);
        let surplus = (known.is_none() && questions.len() >= MAX_QUESTIONS)
            .then(|| questions.first().map(|(number, _)| *number))
            .flatten();
        let row = RecallRecord::Question { text, page, was_missed, at };
        self.store.write(move |transaction| {
            if let Some(number) = surplus {
                transaction.set_recall(number, None)?;
            }
            let number = match known {
                Some(number) => number,
                None => transaction.next_recall()?,
            };
            transaction.set_recall(number, Some(&row))
        })?;
        Ok(())
    }

    /// Asks all questions again, or forgets them.
    ///
    /// # Errors
    /// The fault of a search; or the store fails.
    pub fn run(&self, caller: &Caller, request: &RecallRun) -> Result<RecallReply, Fault> {
        let rows = self.store.read(Visibility::All)?.recall()?;
        let mut reply = RecallReply {
            enabled: self.is_enabled,
            run: None,
            former: Vec::new(),
            missed: Vec::new(),
            warnings: Vec::new(),
        };
        if request.forget {
            let numbers: Vec<u64> = rows.iter().map(|(number, _)| *number).collect();
            self.store.write(move |transaction| {
                numbers.iter().try_for_each(|number| transaction.set_recall(*number, None))
            })?;
            self.forget_recent();
            return Ok(reply);
        }
        reply.former = results(&rows).take(MAX_RUNS).collect();
        let ranking = self.search.ranking();
        let (mut found, mut asked, mut gone) = (0, 0, 0);
        for (_, row) in &rows {
            let RecallRecord::Question { text, page, .. } = row else { continue };
            if self.stop.is_cancelled() {
                return Ok(reply);
            }
            let Some((source, slug, _)) = self.store.read(Visibility::All)?.by_id(*page)? else {
                gone += 1;
                continue;
            };
            asked += 1;
            let search = Search { query: text.clone(), limit: RESULTS, ..Search::default() };
            let hits = self.search.search(caller, search)?.hits;
            match hits.iter().any(|hit| hit.source_id == source && hit.slug == slug) {
                true => found += 1,
                false if reply.missed.len() < MAX_MISSED => reply.missed.push(MissedQuestion {
                    question: text.clone(),
                    page: PageRef::new(&source, &slug),
                }),
                false => {}
            }
        }
        if asked == 0 {
            return Ok(reply);
        }
        let at = self.clock.now();
        let row = RecallRecord::Run { at, ranking, found, asked, gone };
        reply.run = result_of(&row);
        if let (Some(run), Some(before)) = (&reply.run, reply.former.first()) {
            reply.warnings.extend(warning(run, before));
        }
        self.store.write(move |transaction| {
            let number = transaction.next_recall()?;
            transaction.set_recall(number, Some(&row))
        })?;
        Ok(reply)
    }
}

impl Health for RecallService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("recall", &self, Self::check_recall)]
    }
}

impl RecallService {
    /// Warns if another ranking found less at the last run, or was not measured yet.
    fn check_recall(&self) -> Finding {
        let rows = self.store.read_through(Reader::recall)?;
        let questions = rows.iter().filter(|(_, row)| is_question(row)).count();
        let mut runs = results(&rows);
        let (Some(last), before) = (runs.next(), runs.next()) else {
            return ok(match (self.is_enabled, questions) {
                (false, _) => "off: search.remember keeps no questions of yours".to_owned(),
                (true, count) => format!("{count} questions of yours, not asked again yet"),
            });
        };
        if let Some(fall) = before.and_then(|before| warning(&last, &before)) {
            return warn(fall, Command::Recall);
        }
        let ranking = self.search.ranking();
        if questions > 0 && last.ranking != ranking {
            return warn(
                format!("measured with {}, and not yet with {ranking}", last.ranking),
                Command::Recall,
            );
        }
        ok(format!("recall@5 {:.1} % of {} questions", last.recall_at_5, last.questions))
    }
}

fn is_question(row: &RecallRecord) -> bool {
    matches!(row, RecallRecord::Question { .. })
}

/// Returns the results of former runs, newest first.
fn results(rows: &[(u64, RecallRecord)]) -> impl Iterator<Item = RecallResult> {
    rows.iter().rev().filter_map(|(_, row)| result_of(row))
}

/// Returns whether the owner searches, and not a program for the owner.
fn is_owner(caller: &Caller) -> bool {
    caller.scopes().cover(Scopes::ADMIN) && caller.sees_all() && !caller.is_model()
}

fn result_of(row: &RecallRecord) -> Option<RecallResult> {
    let RecallRecord::Run { at, ranking, found, asked, gone } = row else { return None };
    Some(RecallResult {
        at: rfc3339(*at),
        recall_at_5: f64::from(*found) * 100.0 / f64::from((*asked).max(1)),
        questions: *asked,
        gone: *gone,
        ranking: ranking.clone(),
    })
}

/// Warns if another model or version finds less.
fn warning(run: &RecallResult, before: &RecallResult) -> Option<String> {
    let fall = before.recall_at_5 - run.recall_at_5;
    (run.ranking != before.ranking && fall > MAX_FALL).then(|| {
        format!(
            "your recall fell by {fall:.1} points, from {:.1} % with {} to {:.1} % with {}",
            before.recall_at_5, before.ranking, run.recall_at_5, run.ranking
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(recall_at_5: f64, ranking: &str) -> RecallResult {
        RecallResult {
            at: String::new(),
            recall_at_5,
            questions: 50,
            gone: 0,
            ranking: ranking.into(),
        }
    }

    #[test]
    fn only_a_fall_of_another_ranking_is_a_warning() {
        let before = result(90.0, "a");
        assert!(warning(&result(87.0, "b"), &before).is_some());
        assert_eq!(warning(&result(88.0, "b"), &before), None);
        assert_eq!(warning(&result(80.0, "a"), &before), None);
        assert_eq!(warning(&result(95.0, "b"), &before), None);
    }
}
