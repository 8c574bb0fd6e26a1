//! Optional analyses of posts: ratings, text in images, articles and videos.
//!
//! They process posts of the last 24 hours in the journal, a bounded number per call. Each
//! result is stored at once in a file of the post, so nothing is repeated or lost after a crash.
//!
//! `rubric`, `model_rating` and `address` are pure. `ratings`, `images`, `articles` and `videos`
//! have one configuration switch each; `ledger` is a file for all posts.
//!
//! A failed post is retried at most twice. A service that does not respond is asked once per call
//! and then paused; such failures do not count as attempts of the post.

mod address;
mod articles;
mod images;
mod ledger;
mod model_rating;
mod ratings;
mod rubric;
mod videos;

use std::collections::{HashMap, HashSet};

use brain_base::leases;
use brain_protocol::Fault;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::ledger::Ledger;
use super::data_fault;
use crate::service::CollectorService;
use crate::{Data, DataFault, Journal, JournalEvent, PostId, Record, RunSettings, State, Stream};
use brain_base::clock::{parse_instant, rfc3339};
use brain_llm::{Model, ModelError, ModelErrorKind, ModelSettings as Models};

/// Maximum age of posts that are processed, in milliseconds.
const WINDOW_MS: i64 = 24 * 60 * 60 * 1000;
/// Maximum number of posts per analysis and call.
const MAX_POSTS: usize = 50;
/// Maximum number of attempts for a post.
const MAX_ATTEMPTS: u32 = 3;
/// Minimum delay between attempts, and pause of an unresponsive service, in milliseconds.
const RETRY_DELAY_MS: i64 = 10 * 60 * 1000;
/// Maximum delay that a service may request, in seconds.
const MAX_PAUSE_S: u64 = 60 * 60;
/// Consecutive failures after which a model is skipped for this call.
const MAX_FAILURES: usize = 3;

/// A cache between calls; all of it can be recomputed.
#[derive(Default)]
pub(super) struct AnalysisCache {
    /// Completed posts, with the name of the analysis.
    completed: HashSet<(&'static str, PostId)>,
    /// Hashed words of posts.
    words: HashMap<PostId, Vec<u64>>,
    /// End of each model's pause in Unix milliseconds, by [`ModelKind`].
    paused_until: [i64; 2],
    /// End of the pause of unresponsive hosts, in Unix milliseconds.
    paused_hosts: HashMap<String, i64>,
}

/// The kind of a model.
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
    fn are_used_up(&self) -> bool {
        self.attempts >= MAX_ATTEMPTS
    }

    /// Returns whether another attempt is due at `now`.
    fn are_due(&self, now: i64) -> bool {
        let last = self.tried_at.as_deref().and_then(parse_instant);
        // A clock that was set back must not block attempts.
        !self.are_used_up() && last.is_none_or(|last| !(0..RETRY_DELAY_MS).contains(&(now - last)))
    }

    fn record(&mut self, now: i64) {
        self.attempts += 1;
        self.tried_at = Some(rfc3339(now));
    }
}

impl CollectorService {
    /// Runs the enabled analyses of posts of the last 24 hours, a bounded number per call. Returns
    /// whether more posts can be processed at once. May block for minutes.
    ///
    /// # Errors
    /// If the collector's files cannot be used.
    pub fn run_analyses(&self) -> Result<bool, Fault> {
        let config = &self.env.config;
        if !config.has_analyses() || !self.env.leases.holds(leases::COLLECTOR) {
            return Ok(false);
        }
        // An active call processes all posts, so this one has nothing to do.
        let Some(mut cache) = self.state.analyses.try_lock() else { return Ok(false) };
        let mut run = AnalysisRun::begin(self, &mut cache).map_err(|fault| data_fault(&fault))?;
        let mut results = Vec::new();
        // All analyses run before an error ends the call: a failed one does not block the others.
        if config.videos {
            results.push(run.videos());
        }
        if config.ratings {
            results.push(run.ratings());
        }
        if config.images {
            results.push(run.images());
        }
        if config.articles {
            results.push(run.articles());
        }
        let pending: Vec<bool> =
            results.into_iter().collect::<Result<_, _>>().map_err(|fault| data_fault(&fault))?;
        Ok(pending.contains(&true) && !self.env.stop.is_cancelled())
    }
}

/// A call of [`CollectorService::run_analyses`].
struct AnalysisRun<'a> {
    service: &'a CollectorService,
    cache: &'a mut AnalysisCache,
    settings: RunSettings,
    data: Data,
    journal: Journal,
    /// The posts in the order of the journal, without deleted ones.
    posts: Vec<PostId>,
    models: Option<Models>,
}

impl<'a> AnalysisRun<'a> {
    fn begin(
        service: &'a CollectorService,
        cache: &'a mut AnalysisCache,
    ) -> Result<Self, DataFault> {
        let settings = service.collector_settings();
        let (data, journal) = (Data::new(&settings.dir), Journal::new(&settings.dir));
        let entries = journal.since(service.env.clock.now() - WINDOW_MS)?;
        let mut post_ids = HashSet::new();
        let mut deleted = HashSet::new();
        let mut posts = Vec::new();
        for entry in entries {
            match entry.event {
                JournalEvent::Post { id, .. } => {
                    posts.extend(PostId::parse(&id).filter(|id| post_ids.insert(id.clone())));
                }
                JournalEvent::Deletion { id } => deleted.extend(PostId::parse(&id)),
                JournalEvent::Alert { .. } | JournalEvent::Enriched { .. } => {}
            }
        }
        if settings.redact {
            for ledger in [Ledger::articles(&settings.dir), Ledger::videos(&settings.dir)] {
                ledger.remove_posts(&deleted)?;
            }
        }
        cache.completed.retain(|(_, id)| post_ids.contains(id));
        cache.paused_hosts.retain(|_, until| *until > service.env.clock.now());
        posts.retain(|id| !data.is_deleted(id));
        Ok(Self {
            service,
            cache,
            settings,
            data,
            journal,
            posts,
            models: Models::from_config(&service.models.config),
        })
    }

    fn should_continue(&self) -> bool {
        !self.service.env.stop.is_cancelled()
    }

    /// Returns the posts that an analysis has not completed.
    fn pending_posts(&self, kind: &'static str) -> Vec<PostId> {
        let is_pending = |id: &&PostId| !self.cache.completed.contains(&(kind, (*id).clone()));
        self.posts.iter().filter(is_pending).cloned().collect()
    }

    /// Marks a post as completed by an analysis.
    fn mark_completed(&mut self, kind: &'static str, id: &PostId) {
        self.cache.completed.insert((kind, id.clone()));
    }

    /// Returns a post and its streams. A damaged file is skipped.
    fn post(&self, id: &PostId) -> Result<Option<(Record, Vec<Stream>)>, DataFault> {
        match self.data.find_post(id) {
            Err(fault) if fault.is_damage() => {
                tracing::warn!(%fault, "damaged file of a post");
                Ok(None)
            }
            result => result,
        }
    }

    /// Returns the stored result for a post. Returns `None` if there is none or it is unreadable,
    /// so that the analysis makes it again.
    fn attachment<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        id: &PostId,
    ) -> Result<Option<T>, DataFault> {
        match self.data.attachment(kind, id) {
            Err(fault) if fault.is_damage() => {
                tracing::warn!(%fault, "damaged data about a post");
                Ok(None)
            }
            Ok(value) => Ok(value.and_then(|value| serde_json::from_value(value).ok())),
            Err(fault) => Err(fault),
        }
    }

    /// Stores the result for a post. Removes it again if the post was deleted and must be redacted.
    fn store_attachment(
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

    /// Returns the name of the configured model, if any.
    fn model_name(&self, kind: ModelKind) -> Option<String> {
        let models = self.models.as_ref()?;
        match kind {
            ModelKind::Text => models.model.clone(),
            ModelKind::Pictures => models.vision_model.clone(),
        }
    }

    /// Returns the configured model, if it can be used and is not paused.
    fn model(&mut self, kind: ModelKind) -> Option<Model> {
        let name = self.model_name(kind)?;
        if self.cache.paused_until[kind as usize] > self.service.env.clock.now() {
            return None;
        }
        let key = match self.service.models.llm_key() {
            Ok(key) => key,
            Err(fault) => {
                tracing::warn!(%fault, "key of the language model cannot be read");
                self.pause_model(kind, None);
                return None;
            }
        };
        match Model::open(
            self.models.as_ref()?,
            &name,
            key,
            &*self.service.env.net,
            self.service.models.llm_cost_meter(),
        ) {
            Ok(model) => Some(model),
            Err(fault) => {
                self.record_model_failure(kind, &fault);
                None
            }
        }
    }

    /// Pauses the model if the failure concerns the service. Returns whether to skip the model for
    /// this call.
    fn record_model_failure(&mut self, kind: ModelKind, fault: &ModelError) -> bool {
        tracing::warn!(%fault, kind = ?kind, "a language model did not answer");
        match fault.kind {
            ModelErrorKind::RateLimited(wait) => self.pause_model(kind, wait),
            ModelErrorKind::Stopped => {}
            failure if failure.is_independent_of_question() => self.pause_model(kind, None),
            _ => return false,
        }
        true
    }

    fn pause_model(&mut self, kind: ModelKind, seconds: Option<u64>) {
        let requested_ms = seconds.map_or(0, |seconds| seconds.min(MAX_PAUSE_S) as i64 * 1000);
        self.cache.paused_until[kind as usize] =
            self.service.env.clock.now() + requested_ms.max(RETRY_DELAY_MS);
    }
}
