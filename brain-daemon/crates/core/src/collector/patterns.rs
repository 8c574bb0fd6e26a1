//! Optional analyses of posts: ratings, text in images, articles and videos.
//!
//! They process posts of the last 24 hours in the journal, a bounded number per call. Results are
//! stored beside each post, so nothing is repeated and a kill loses nothing.
//!
//! `rubric`, `model_rating` and `address` are pure. `ratings`, `images`, `articles` and `videos`
//! are one switch each; `ledger` is a file for all posts.
//!
//! A failed post is retried at most twice. An unresponsive service is asked once per call and then
//! paused; failures that are not the post's fault are not counted for it.

mod address;
mod articles;
mod images;
mod ledger;
mod model_rating;
mod ratings;
mod rubric;
mod videos;

use std::collections::{HashMap, HashSet};
use std::sync::TryLockError;

use brain_protocol::Fault;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::ledger::Ledger;
use super::data_fault;
use crate::CollectorService;
use brain_base::clock::{parse_instant, rfc3339};
use brain_collector::{
    Data, DataFault, Journal, JournalEvent, PostId, Record, Settings, State, Stream,
};
use brain_llm::{Model, ModelError, ModelErrorKind, Settings as Models};

/// Maximum age of posts that are processed, in milliseconds.
const WINDOW_MS: i64 = 24 * 60 * 60 * 1000;
/// Maximum posts per pattern and call.
const MAX_POSTS: usize = 50;
/// Maximum number of attempts.
const MAX_ATTEMPTS: u32 = 3;
/// Delay between attempts, and pause of an unresponsive service, in milliseconds.
const RETRY_DELAY_MS: i64 = 10 * 60 * 1000;
/// Maximum delay that a service may request, in seconds.
const MAX_WAIT_S: u64 = 60 * 60;
/// Consecutive failures after which a model is skipped for this call.
const MAX_FAILURES: usize = 3;

/// A cache between calls; all of it can be recomputed.
#[derive(Default)]
pub(super) struct PatternCache {
    /// Completed posts by pattern.
    done: HashSet<(&'static str, PostId)>,
    /// Hashed words of posts.
    words: HashMap<PostId, Vec<u64>>,
    /// End of the models' pause, in Unix milliseconds.
    rests: [i64; 2],
    /// End of the pause of unresponsive hosts.
    silent: HashMap<String, i64>,
}

/// The model to use.
#[derive(Debug, Clone, Copy)]
enum ModelKind {
    Text,
    Pictures,
}

/// The number of attempts and the time of the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Attempts {
    #[serde(default)]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tried_at: Option<String>,
}

impl Attempts {
    fn are_over(&self) -> bool {
        self.attempts >= MAX_ATTEMPTS
    }

    /// Returns whether another attempt is due at `now`.
    fn are_due(&self, now: i64) -> bool {
        let last = self.tried_at.as_deref().and_then(|at| parse_instant(at, false));
        // A clock that was set back must not block attempts.
        !self.are_over() && last.is_none_or(|last| !(0..RETRY_DELAY_MS).contains(&(now - last)))
    }

    fn note(&mut self, now: i64) {
        self.attempts += 1;
        self.tried_at = Some(rfc3339(now));
    }
}

impl CollectorService {
    /// Runs the enabled patterns for posts of the last 24 hours, a bounded number per call. Returns
    /// whether more can be done at once. Results are stored beside each post, so nothing is
    /// repeated or lost. Blocks for long.
    ///
    /// # Errors
    /// If the collector's files cannot be used.
    pub fn patterns(&self) -> Result<bool, Fault> {
        let on = &self.env.config.collector;
        if !on.has_patterns() {
            return Ok(false);
        }
        let mut memory = match self.state.patterns.try_lock() {
            Ok(memory) => memory,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The active call does everything.
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        let mut round = PatternRun::begin(self, &mut memory).map_err(|fault| data_fault(&fault))?;
        let mut done = Vec::new();
        // A failed pattern must not block the others.
        if on.videos {
            done.push(round.videos());
        }
        if on.ratings {
            done.push(round.ratings());
        }
        if on.images {
            done.push(round.images());
        }
        if on.articles {
            done.push(round.articles());
        }
        let left: Vec<bool> =
            done.into_iter().collect::<Result<_, _>>().map_err(|fault| data_fault(&fault))?;
        Ok(left.contains(&true) && !self.env.stop.is_cancelled())
    }
}

/// One call.
struct PatternRun<'a> {
    brain: &'a CollectorService,
    memory: &'a mut PatternCache,
    settings: Settings,
    data: Data,
    journal: Journal,
    /// The posts in the order of the journal, without deleted ones.
    posts: Vec<PostId>,
    models: Option<Models>,
}

impl<'a> PatternRun<'a> {
    fn begin(brain: &'a CollectorService, memory: &'a mut PatternCache) -> Result<Self, DataFault> {
        let settings = brain.collector_settings();
        let (data, journal) = (Data::new(&settings.dir), Journal::new(&settings.dir));
        let noted = journal.since(brain.env.clock.now() - WINDOW_MS)?;
        let mut seen = HashSet::new();
        let mut gone = HashSet::new();
        let mut posts = Vec::new();
        for entry in noted {
            match entry.noted {
                JournalEvent::Post { id, .. } => {
                    posts.extend(PostId::parse(&id).filter(|id| seen.insert(id.clone())));
                }
                JournalEvent::Deletion { id } => gone.extend(PostId::parse(&id)),
                JournalEvent::Alert { .. } | JournalEvent::Enriched { .. } => {}
            }
        }
        if settings.redact {
            for ledger in [Ledger::articles(&settings.dir), Ledger::videos(&settings.dir)] {
                ledger.forget(&gone)?;
            }
        }
        memory.done.retain(|(_, id)| seen.contains(id));
        memory.silent.retain(|_, until| *until > brain.env.clock.now());
        posts.retain(|id| !data.is_deleted(id));
        Ok(Self {
            brain,
            memory,
            settings,
            data,
            journal,
            posts,
            models: Models::from_config(&brain.env.config),
        })
    }

    fn goes_on(&self) -> bool {
        !self.brain.env.stop.is_cancelled()
    }

    /// Returns the posts that a pattern has not completed.
    fn undone(&self, kind: &'static str) -> Vec<PostId> {
        let open = |id: &&PostId| !self.memory.done.contains(&(kind, (*id).clone()));
        self.posts.iter().filter(open).cloned().collect()
    }

    /// Marks a post as completed.
    fn done(&mut self, kind: &'static str, id: &PostId) {
        self.memory.done.insert((kind, id.clone()));
    }

    /// Returns a post and its streams. A damaged file is skipped.
    fn post(&self, id: &PostId) -> Result<Option<(Record, Vec<Stream>)>, DataFault> {
        match self.data.find_post(id) {
            Err(fault) if fault.is_damage() => {
                tracing::warn!(%fault, "a post");
                Ok(None)
            }
            read => read,
        }
    }

    /// Returns a value beside a post; an unreadable one is made again.
    fn beside<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        id: &PostId,
    ) -> Result<Option<T>, DataFault> {
        match self.data.attachment(kind, id) {
            Err(fault) if fault.is_damage() => {
                tracing::warn!(%fault, "beside a post");
                Ok(None)
            }
            Ok(value) => Ok(value.and_then(|value| serde_json::from_value(value).ok())),
            Err(fault) => Err(fault),
        }
    }

    /// Stores a value beside a post, unless the post was deleted and must be redacted.
    fn keep(
        &self,
        kind: &'static str,
        id: &PostId,
        value: &impl Serialize,
    ) -> Result<(), DataFault> {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.data.put_attachment(kind, id, &value)?;
        if self.settings.redact && self.data.is_deleted(id) {
            self.data.redact(id)?;
        }
        Ok(())
    }

    /// Returns the account's handle from the configuration or setup.
    fn handle(&self) -> Result<Option<String>, DataFault> {
        let (state, _) = State::peek(&self.data)?;
        Ok(CollectorService::with_account(self.settings.clone(), &state).handle)
    }

    /// Returns the name of a configured model.
    fn model_name(&self, reads: ModelKind) -> Option<String> {
        let models = self.models.as_ref()?;
        match reads {
            ModelKind::Text => models.model.clone(),
            ModelKind::Pictures => models.vision_model.clone(),
        }
    }

    /// Returns a configured model that is not paused.
    fn model(&mut self, reads: ModelKind) -> Option<Model> {
        let name = self.model_name(reads)?;
        if self.memory.rests[reads as usize] > self.brain.env.clock.now() {
            return None;
        }
        let key = match self.brain.models.llm_key() {
            Ok(key) => key,
            Err(fault) => {
                tracing::warn!(%fault, "the language model's key");
                self.rest(reads, None);
                return None;
            }
        };
        match Model::open(
            self.models.as_ref()?,
            &name,
            key,
            &*self.brain.env.net,
            self.brain.models.llm_cost_meter(),
        ) {
            Ok(model) => Some(model),
            Err(fault) => {
                self.heard(reads, &fault);
                None
            }
        }
    }

    /// Records a model failure. Returns whether to skip the model for this call.
    fn heard(&mut self, reads: ModelKind, fault: &ModelError) -> bool {
        tracing::warn!(%fault, reads = ?reads, "a language model did not answer");
        match fault.kind {
            ModelErrorKind::RateLimited(wait) => self.rest(reads, wait),
            ModelErrorKind::Stopped => {}
            why if why.is_service_failure() => self.rest(reads, None),
            _ => return false,
        }
        true
    }

    fn rest(&mut self, reads: ModelKind, seconds: Option<u64>) {
        let asked = seconds.map_or(0, |seconds| seconds.min(MAX_WAIT_S) as i64 * 1000);
        self.memory.rests[reads as usize] = self.brain.env.clock.now() + asked.max(RETRY_DELAY_MS);
    }
}
