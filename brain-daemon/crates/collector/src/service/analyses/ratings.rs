//! Ratings of posts: computed at once, again after an hour, and once by a model if configured.
//!
//! A rating is stored as `data/ratings/<id>.json`, with the model's name or the model's attempts.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use brain_protocol::Rating;
use serde::{Deserialize, Serialize};

use super::super::name_index::NameIndex;
use super::super::topics::{WEEK_MS, mentioned_accounts};
use super::rubric::{
    OwnerRelations, PostMetrics, is_second_rating_due, novelty, second_rating, words,
};
use super::{AnalysisRun, Attempts, MAX_FAILURES, MAX_POSTS, ModelKind, model_rating};
use crate::{DataFault, JournalEvent, PostId, Record, SEARCHES, Stream};
use brain_base::caller::Visibility;
use brain_base::clock::{parse_instant, rfc3339};
use brain_llm::{Model, ModelError, ModelQuestion};

const KIND: &str = "ratings";
/// Posts per question to the model.
const BATCH_SIZE: usize = 10;
/// Maximum tokens of an answer: 60 per post, and room for models that think first.
const MAX_TOKENS: u32 = 4000;
/// Maximum number of posts of the last week whose words are compared.
const MAX_COMPARED: usize = 2000;
/// Minimum time between a post's metrics and the snapshot compared with them, in milliseconds.
const MIN_SNAPSHOT_GAP_MS: i64 = 60_000;

/// A stored rating.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredRating {
    #[serde(flatten)]
    rating: Rating,
    /// The model that also rated the post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The model's attempts without a result.
    #[serde(flatten)]
    tries: Attempts,
}

/// The data that posts are compared with.
struct ComparisonData {
    names: NameIndex,
    /// The handle of the collected account.
    handle: Option<String>,
    /// Positions of the week's posts in the order of the journal.
    positions: HashMap<PostId, usize>,
    /// Position of the first post with each word, by the word's hash.
    first_positions: HashMap<u64, usize>,
}

impl AnalysisRun<'_> {
    /// Rates pending posts. Returns whether more can be rated at once.
    ///
    /// # Errors
    /// [`DataFault`] if the collector's files cannot be read or written.
    pub(super) fn ratings(&mut self) -> Result<bool, DataFault> {
        let by_model = self.model_name(ModelKind::Text).is_some();
        let (mut unrated, mut due_again, mut for_model) = (Vec::new(), Vec::new(), Vec::new());
        let now = self.service.env.clock.now();
        for id in self.pending_posts(KIND) {
            let Some(stored) = self.attachment::<StoredRating>(KIND, &id)? else {
                unrated.push(id);
                continue;
            };
            let needs_model = by_model && stored.model.is_none() && !stored.tries.are_used_up();
            if stored.rating.before.is_some() && !needs_model {
                self.mark_completed(KIND, &id);
                continue;
            }
            if is_second_rating_due(&stored.rating, now) {
                due_again.push(id.clone());
            }
            if needs_model && stored.tries.are_due(now) {
                for_model.push(id);
            }
        }
        let more = unrated.len() + due_again.len() > MAX_POSTS;
        // Posts without any rating come first.
        unrated.truncate(MAX_POSTS);
        due_again.truncate(MAX_POSTS - unrated.len());
        for id in due_again {
            self.rate_again(&id)?;
        }
        if !unrated.is_empty() {
            let comparison = self.comparison_data()?;
            for id in unrated {
                if self.rate(&id, comparison.as_ref())? && by_model {
                    for_model.push(id);
                }
            }
        }
        Ok(self.ask_model(for_model)? || more)
    }

    /// Computes and stores the first rating. Returns `false` if the post is missing or damaged.
    fn rate(
        &mut self,
        id: &PostId,
        comparison: Option<&ComparisonData>,
    ) -> Result<bool, DataFault> {
        let Some((post, streams)) = self.post(id)? else {
            self.mark_completed(KIND, id);
            return Ok(false);
        };
        let metrics = self.metrics_of(&post)?;
        let rating = Rating {
            reach: metrics.reach(),
            virality: metrics.virality(),
            relevance: comparison.map(|data| data.owner_relations(&post, &streams).relevance()),
            novelty: comparison.and_then(|data| data.novelty(id, self.cache.words.get(id)?)),
            rated_at: rfc3339(self.service.env.clock.now()),
            ..Rating::default()
        };
        self.store_attachment(
            KIND,
            id,
            &StoredRating { rating, model: None, tries: Attempts::default() },
        )?;
        Ok(true)
    }

    /// Computes and stores the second rating.
    fn rate_again(&mut self, id: &PostId) -> Result<(), DataFault> {
        let (Some(stored), Some((post, _))) =
            (self.attachment::<StoredRating>(KIND, id)?, self.post(id)?)
        else {
            self.mark_completed(KIND, id);
            return Ok(());
        };
        let rating =
            second_rating(stored.rating, &self.metrics_of(&post)?, self.service.env.clock.now());
        self.store_attachment(KIND, id, &StoredRating { rating, ..stored })
    }

    /// Returns the metrics of a post and of its newest snapshot that is old enough.
    fn metrics_of<'p>(&self, post: &'p Record) -> Result<PostMetrics<'p>, DataFault> {
        let at = post.instant(crate::LAST_UPDATED).unwrap_or_else(|| self.service.env.clock.now());
        let snapshots = match self.data.snapshots(post.id()) {
            Err(fault) if fault.is_damage() => Vec::new(),
            read => read?,
        };
        let earlier = snapshots
            .iter()
            .rev()
            .filter_map(|snapshot| Some((parse_instant(&snapshot.timestamp)?, snapshot.metrics)));
        let before = earlier.into_iter().find(|(taken, _)| at - taken >= MIN_SNAPSHOT_GAP_MS);
        Ok(PostMetrics { post, before, at })
    }

    /// Builds the comparison data and refreshes the cache of words. Returns `None` if the brain's
    /// pages cannot be read.
    fn comparison_data(&mut self) -> Result<Option<ComparisonData>, DataFault> {
        let reader = self.service.store.read(Visibility::All).map_err(brain_protocol::Fault::from);
        let names = match reader.and_then(|reader| NameIndex::read(&reader)) {
            Ok(names) => names,
            Err(fault) => {
                tracing::warn!(%fault, "pages cannot be read; posts are rated without them");
                return Ok(None);
            }
        };
        let week = self.journal.since(self.service.env.clock.now() - WEEK_MS)?;
        let ids = week.into_iter().filter_map(|entry| match entry.event {
            JournalEvent::Post { id, .. } => PostId::parse(&id),
            _ => None,
        });
        let mut distinct_ids = HashSet::new();
        let mut ids: Vec<PostId> = ids.filter(|id| distinct_ids.insert(id.clone())).collect();
        ids.drain(..ids.len().saturating_sub(MAX_COMPARED));
        let mut first_positions = HashMap::new();
        let mut cached_words = std::mem::take(&mut self.cache.words);
        let mut used_words = HashMap::with_capacity(ids.len());
        for (position, id) in ids.iter().enumerate() {
            let words = match cached_words.remove(id) {
                Some(words) => words,
                None => {
                    self.post(id)?.map(|(post, _)| word_hashes(post.text())).unwrap_or_default()
                }
            };
            for word in &words {
                first_positions.entry(*word).or_insert(position);
            }
            used_words.insert(id.clone(), words);
        }
        self.cache.words = used_words;
        let handle = self.handle()?;
        let positions = ids.into_iter().enumerate().map(|(position, id)| (id, position)).collect();
        Ok(Some(ComparisonData { names, handle, positions, first_positions }))
    }

    /// Asks the model to rate posts. Returns whether more can be rated at once.
    fn ask_model(&mut self, ids: Vec<PostId>) -> Result<bool, DataFault> {
        if ids.is_empty() {
            return Ok(false);
        }
        let Some(model) = self.model(ModelKind::Text) else { return Ok(false) };
        let mut waiting = Vec::new();
        for id in ids {
            let (Some(stored), Some((post, _))) =
                (self.attachment::<StoredRating>(KIND, &id)?, self.post(&id)?)
            else {
                continue;
            };
            waiting.push((post, stored));
        }
        waiting.sort_by_key(|(_, stored)| stored.tries.attempts);
        let more = waiting.len() > MAX_POSTS;
        waiting.truncate(MAX_POSTS);
        // One post may have caused a failure, so posts of a failed batch are rated one by one.
        let untried_count =
            waiting.iter().take_while(|(_, stored)| stored.tries.attempts == 0).count();
        let (untried, tried) = waiting.split_at(untried_count);
        let handle = self.handle()?;
        let mut failures = 0;
        for batch in untried.chunks(BATCH_SIZE).chain(tried.chunks(1)) {
            if !self.should_continue() {
                return Ok(false);
            }
            match self.rate_batch(&model, handle.as_deref(), batch) {
                Ok(()) => failures = 0,
                Err(BatchError::Files(fault)) => return Err(fault),
                Err(BatchError::Model(fault)) => {
                    failures += 1;
                    let should_stop = self.record_model_failure(ModelKind::Text, &fault)
                        || failures >= MAX_FAILURES;
                    if fault.kind.may_be_caused_by_question() {
                        self.record_attempts(batch.iter())?;
                    }
                    if should_stop {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(more)
    }

    /// Rates posts with one question. Records an attempt for each post without an answer.
    fn rate_batch(
        &mut self,
        model: &Model,
        handle: Option<&str>,
        batch: &[(Record, StoredRating)],
    ) -> Result<(), BatchError> {
        let posts: Vec<Record> = batch.iter().map(|(post, _)| post.clone()).collect();
        let text = model_rating::question(handle, &self.settings.searches, &posts);
        let question = ModelQuestion {
            purpose: "ratings",
            system: model_rating::SYSTEM,
            text: &text,
            temperature: Some(0.0),
            max_tokens: MAX_TOKENS,
            json: true,
            ..ModelQuestion::default()
        };
        let reply =
            model.ask(&question, None, &|| self.should_continue()).map_err(BatchError::Model)?;
        tracing::debug!(
            model = model.name(),
            tokens_in = reply.tokens_in,
            tokens_out = reply.tokens_out,
            "posts rated"
        );
        let answer = reply.json().map_err(BatchError::Model)?;
        let ratings = model_rating::read_ratings(&answer, &posts);
        for (post, stored) in batch {
            let Some(model_rating) = ratings.get(post.id()) else { continue };
            let rating = model_rating.merge_into(stored.rating.clone());
            let stored =
                StoredRating { rating, model: Some(model.name().to_owned()), ..stored.clone() };
            self.store_attachment(KIND, post.id(), &stored).map_err(BatchError::Files)?;
        }
        self.record_attempts(batch.iter().filter(|(post, _)| !ratings.contains_key(post.id())))
            .map_err(BatchError::Files)
    }

    /// Records an attempt without a result for each post.
    fn record_attempts<'p>(
        &self,
        posts: impl Iterator<Item = &'p (Record, StoredRating)>,
    ) -> Result<(), DataFault> {
        for (post, stored) in posts {
            let mut stored = stored.clone();
            stored.tries.record(self.service.env.clock.now());
            self.store_attachment(KIND, post.id(), &stored)?;
        }
        Ok(())
    }
}

/// Why a batch has no result.
enum BatchError {
    /// The model did not answer, or not with JSON.
    Model(ModelError),
    /// A result could not be stored.
    Files(DataFault),
}

impl ComparisonData {
    fn owner_relations(&self, post: &Record, streams: &[Stream]) -> OwnerRelations {
        let mentions = mentioned_accounts(post);
        let handle = self.handle.as_deref().unwrap_or_default();
        let searches =
            post.fields().get(SEARCHES).and_then(|searches| Some(searches.as_array()?.len()));
        OwnerRelations {
            concerns_account: streams.iter().any(|stream| *stream != Stream::Searches)
                || mentions.iter().any(|name| name.eq_ignore_ascii_case(handle)),
            searches: searches.unwrap_or(0),
            pages: self.names.pages_mentioned_in(post.text(), &mentions).len(),
        }
    }

    /// Returns the share of words that no earlier post of the week has, as a rating. `None` if the
    /// post is not among the compared ones.
    fn novelty(&self, id: &PostId, words: &[u64]) -> Option<f32> {
        let position = *self.positions.get(id)?;
        novelty(words, |word| {
            self.first_positions.get(&word).is_none_or(|first| *first >= position)
        })
    }
}

/// Hashes the words of a text. A collision only makes a new word count as known.
fn word_hashes(text: &str) -> Vec<u64> {
    let hash = |word: String| {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        hasher.finish()
    };
    words(text).into_iter().map(hash).collect()
}
