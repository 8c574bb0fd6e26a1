//! Ratings: computed at once and again after an hour, and by a model once if configured.
//!
//! Stored as `data/ratings/<id>.json` with the model or the number of attempts.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use brain_protocol::Rating;
use serde::{Deserialize, Serialize};

use super::super::name_index::NameIndex;
use super::super::topics::{WEEK_MS, mentioned};
use super::rubric::{
    OwnerRelations, PostMetrics, is_second_rating_due, novelty, second_rating, words,
};
use super::{Attempts, MAX_FAILURES, MAX_POSTS, ModelKind, PatternRun, model_rating};
use brain_base::caller::Visibility;
use brain_base::clock::{parse_instant, rfc3339};
use brain_collector::{DataFault, JournalEvent, PostId, Record, SEARCHES, Stream};
use brain_llm::{Model, ModelError, Question};

const KIND: &str = "ratings";
/// Posts per question.
const BATCH_SIZE: usize = 10;
/// Maximum tokens of an answer: 60 per post, and room for models that think first.
const MAX_TOKENS: u32 = 4000;
/// Maximum number of posts of the last week to compare words with.
const MAX_COMPARED: usize = 2000;
/// A snapshot this close to a post's metrics is not an earlier one, in milliseconds.
const MIN_SNAPSHOT_GAP_MS: i64 = 60_000;

/// A stored rating.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredRating {
    #[serde(flatten)]
    rating: Rating,
    /// The model that rated it as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(flatten)]
    tries: Attempts,
}

/// The data that posts are compared with.
struct Compared {
    names: NameIndex,
    /// The account's handle.
    handle: Option<String>,
    /// Positions of the week's posts in the order of the journal.
    places: HashMap<PostId, usize>,
    /// First position of each word.
    first: HashMap<u64, usize>,
}

impl PatternRun<'_> {
    /// Rates pending posts. Returns whether more are pending.
    ///
    /// # Errors
    /// If files cannot be used.
    pub(super) fn ratings(&mut self) -> Result<bool, DataFault> {
        let by_model = self.model_name(ModelKind::Text).is_some();
        let (mut new, mut old, mut unasked) = (Vec::new(), Vec::new(), Vec::new());
        let now = self.brain.env.clock.now();
        for id in self.undone(KIND) {
            let Some(kept) = self.beside::<StoredRating>(KIND, &id)? else {
                new.push(id);
                continue;
            };
            let waits = by_model && kept.model.is_none() && !kept.tries.are_over();
            if kept.rating.before.is_some() && !waits {
                self.done(KIND, &id);
                continue;
            }
            if is_second_rating_due(&kept.rating, now) {
                old.push(id.clone());
            }
            if waits && kept.tries.are_due(now) {
                unasked.push(id);
            }
        }
        let more = new.len() + old.len() > MAX_POSTS;
        // New posts have no rating at all.
        new.truncate(MAX_POSTS);
        old.truncate(MAX_POSTS - new.len());
        for id in old {
            self.rate_again(&id)?;
        }
        if !new.is_empty() {
            let post_metrics = self.post_metrics()?;
            for id in new {
                if self.rate(&id, post_metrics.as_ref())? && by_model {
                    unasked.push(id);
                }
            }
        }
        Ok(self.ask(unasked)? || more)
    }

    /// Computes the first rating. Returns whether the post exists.
    fn rate(&mut self, id: &PostId, post_metrics: Option<&Compared>) -> Result<bool, DataFault> {
        let Some((post, streams)) = self.post(id)? else {
            self.done(KIND, id);
            return Ok(false);
        };
        let seen = self.seen(&post)?;
        let rating = Rating {
            reach: seen.reach(),
            virality: seen.virality(),
            relevance: post_metrics.map(|with| with.ties(&post, &streams).relevance()),
            novelty: post_metrics.and_then(|with| with.novelty(id, self.memory.words.get(id)?)),
            rated_at: rfc3339(self.brain.env.clock.now()),
            ..Rating::default()
        };
        self.keep(KIND, id, &StoredRating { rating, model: None, tries: Attempts::default() })?;
        Ok(true)
    }

    /// Computes the second rating.
    fn rate_again(&mut self, id: &PostId) -> Result<(), DataFault> {
        let (Some(kept), Some((post, _))) =
            (self.beside::<StoredRating>(KIND, id)?, self.post(id)?)
        else {
            self.done(KIND, id);
            return Ok(());
        };
        let rating = second_rating(kept.rating, &self.seen(&post)?, self.brain.env.clock.now());
        self.keep(KIND, id, &StoredRating { rating, ..kept })
    }

    fn seen<'p>(&self, post: &'p Record) -> Result<PostMetrics<'p>, DataFault> {
        let at = post
            .instant(brain_collector::LAST_UPDATED)
            .unwrap_or_else(|| self.brain.env.clock.now());
        let snapshots = match self.data.snapshots(post.id()) {
            Err(fault) if fault.is_damage() => Vec::new(),
            read => read?,
        };
        let previous_ids = snapshots
            .iter()
            .rev()
            .filter_map(|one| Some((parse_instant(&one.timestamp, false)?, one.metrics)));
        let before = previous_ids.into_iter().find(|(taken, _)| at - taken >= MIN_SNAPSHOT_GAP_MS);
        Ok(PostMetrics { post, before, at })
    }

    /// Builds the comparison data; `None` if the brain's pages cannot be read.
    fn post_metrics(&mut self) -> Result<Option<Compared>, DataFault> {
        let reader = self.brain.store.read(Visibility::All).map_err(brain_protocol::Fault::from);
        let names = match reader.and_then(|reader| NameIndex::read(&reader)) {
            Ok(names) => names,
            Err(fault) => {
                tracing::warn!(%fault, "pages that posts name");
                return Ok(None);
            }
        };
        let week = self.journal.since(self.brain.env.clock.now() - WEEK_MS)?;
        let ids = week.into_iter().filter_map(|entry| match entry.noted {
            JournalEvent::Post { id, .. } => PostId::parse(&id),
            _ => None,
        });
        let mut seen = HashSet::new();
        let mut ids: Vec<PostId> = ids.filter(|id| seen.insert(id.clone())).collect();
        ids.drain(..ids.len().saturating_sub(MAX_COMPARED));
        let mut first = HashMap::new();
        let mut words_of = std::mem::take(&mut self.memory.words);
        let mut kept = HashMap::with_capacity(ids.len());
        for (place, id) in ids.iter().enumerate() {
            let words = match words_of.remove(id) {
                Some(words) => words,
                None => self.post(id)?.map(|(post, _)| numbers(post.text())).unwrap_or_default(),
            };
            for word in &words {
                first.entry(*word).or_insert(place);
            }
            kept.insert(id.clone(), words);
        }
        self.memory.words = kept;
        let handle = self.handle()?;
        let places = ids.into_iter().enumerate().map(|(place, id)| (id, place)).collect();
        Ok(Some(Compared { names, handle, places, first }))
    }

    /// Asks the model about unrated posts. Returns whether more are pending.
    fn ask(&mut self, ids: Vec<PostId>) -> Result<bool, DataFault> {
        if ids.is_empty() {
            return Ok(false);
        }
        let Some(model) = self.model(ModelKind::Text) else { return Ok(false) };
        let mut waiting = Vec::new();
        for id in ids {
            let (Some(kept), Some((post, _))) =
                (self.beside::<StoredRating>(KIND, &id)?, self.post(&id)?)
            else {
                continue;
            };
            waiting.push((post, kept));
        }
        waiting.sort_by_key(|(_, kept)| kept.tries.attempts);
        let more = waiting.len() > MAX_POSTS;
        waiting.truncate(MAX_POSTS);
        // One post may cause the failure, so posts of a failed batch are asked about one by one.
        let fresh = waiting.iter().take_while(|(_, kept)| kept.tries.attempts == 0).count();
        let (fresh, tried) = waiting.split_at(fresh);
        let handle = self.handle()?;
        let mut faults = 0;
        for batch in fresh.chunks(BATCH_SIZE).chain(tried.chunks(1)) {
            if !self.goes_on() {
                return Ok(false);
            }
            match self.ask_about(&model, handle.as_deref(), batch) {
                Ok(()) => faults = 0,
                Err(BatchError::CollectedFiles(fault)) => return Err(fault),
                Err(BatchError::Model(fault)) => {
                    faults += 1;
                    let ends = self.heard(ModelKind::Text, &fault) || faults >= MAX_FAILURES;
                    if fault.kind.may_be_input_failure() {
                        self.in_vain(batch.iter())?;
                    }
                    if ends {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(more)
    }

    fn ask_about(
        &mut self,
        model: &Model,
        handle: Option<&str>,
        batch: &[(Record, StoredRating)],
    ) -> Result<(), BatchError> {
        let posts: Vec<Record> = batch.iter().map(|(post, _)| post.clone()).collect();
        let text = model_rating::question(handle, &self.settings.searches, &posts);
        let question = Question {
            purpose: "ratings",
            system: model_rating::SYSTEM,
            text: &text,
            temperature: Some(0.0),
            max_tokens: MAX_TOKENS,
            json: true,
            ..Question::default()
        };
        let reply = model.ask(&question, None, &|| self.goes_on()).map_err(BatchError::Model)?;
        tracing::debug!(
            model = model.name(),
            tokens_in = reply.tokens_in,
            tokens_out = reply.tokens_out,
            "posts rated"
        );
        let answer = reply.json().map_err(BatchError::Model)?;
        let said = model_rating::read(&answer, &posts);
        for (post, kept) in batch {
            let Some(parse_rating) = said.get(post.id()) else { continue };
            let rating = parse_rating.merge_into(kept.rating.clone());
            let kept =
                StoredRating { rating, model: Some(model.name().to_owned()), ..kept.clone() };
            self.keep(KIND, post.id(), &kept).map_err(BatchError::CollectedFiles)?;
        }
        self.in_vain(batch.iter().filter(|(post, _)| !said.contains_key(post.id())))
            .map_err(BatchError::CollectedFiles)
    }

    /// Records a question without a result.
    fn in_vain<'p>(
        &self,
        posts: impl Iterator<Item = &'p (Record, StoredRating)>,
    ) -> Result<(), DataFault> {
        for (post, kept) in posts {
            let mut kept = kept.clone();
            kept.tries.note(self.brain.env.clock.now());
            self.keep(KIND, post.id(), &kept)?;
        }
        Ok(())
    }
}

/// Why a batch has no result.
enum BatchError {
    /// The model did not answer.
    Model(ModelError),
    /// The result could not be stored.
    CollectedFiles(DataFault),
}

impl Compared {
    fn ties(&self, post: &Record, streams: &[Stream]) -> OwnerRelations {
        let mentions = mentioned(post);
        let handle = self.handle.as_deref().unwrap_or_default();
        let searches =
            post.fields().get(SEARCHES).and_then(|searches| Some(searches.as_array()?.len()));
        OwnerRelations {
            account: streams.iter().any(|stream| *stream != Stream::Searches)
                || mentions.iter().any(|name| name.eq_ignore_ascii_case(handle)),
            searches: searches.unwrap_or(0),
            pages: self.names.named_in(post.text(), &mentions).len(),
        }
    }

    /// Returns the novelty of a post when it was recorded.
    fn novelty(&self, id: &PostId, words: &[u64]) -> Option<f32> {
        let place = *self.places.get(id)?;
        novelty(words, |word| self.first.get(&word).is_none_or(|first| *first >= place))
    }
}

/// Hashes the words of a text; collisions are harmless.
fn numbers(text: &str) -> Vec<u64> {
    let number = |word: String| {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        hasher.finish()
    };
    words(text).into_iter().map(number).collect()
}
