//! What is behind switches: ratings, text in pictures, articles and videos. Works through posts that the journal has of the last 24 hours,
//! a bounded number a call. What was done stands beside each post, so nothing is done twice and a kill loses nothing.
//!
//! `rubric`, `judged` and `address` are pure. Each of `ratings`, `images`, `articles` and `videos` is one switch; `ledger` is a file of what
//! is done once for all posts together.
//!
//! One post that fails is tried again at most twice, later. A service that does not answer is asked once a call, and then rests; what
//! cannot be the post's fault is no try of it.

mod address;
mod articles;
mod images;
mod judged;
mod ledger;
mod ratings;
mod rubric;
mod videos;

use std::collections::{HashMap, HashSet};
use std::sync::TryLockError;

use brain_protocol::Fault;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::ledger::Ledger;
use super::super::Brain;
use super::data_fault;
use brain_base::clock::{parse_instant, rfc3339};
use brain_collector::{Data, DataFault, Journal, Noted, PostId, Record, Settings, State, Stream};
use brain_llm::{Model, ModelFault, Settings as Models, Why};

/// Posts that are older here than this, in milliseconds, are left as they are.
const WINDOW_MS: i64 = 24 * 60 * 60 * 1000;
/// The most posts that one pattern does something for in a call.
const BOUND: usize = 50;
/// How often something is tried in all.
const TRIES: u32 = 3;
/// The time between two tries, and for which a service rests that did not answer, in milliseconds.
const PAUSE_MS: i64 = 10 * 60 * 1000;
/// The longest that a service may ask us to wait, in seconds.
const LONGEST_WAIT: u64 = 60 * 60;
/// So many questions in a row that a model does not answer, and it is not asked any more in this call.
const FAULTS: usize = 3;

/// What is kept of one call for the next: nothing that could not be found out again.
#[derive(Default)]
pub(super) struct Memory {
    /// What is done for good, pattern by pattern.
    done: HashSet<(&'static str, PostId)>,
    /// The words of posts, as numbers.
    words: HashMap<PostId, Vec<u64>>,
    /// Until when the models rest, Unix milliseconds.
    rests: [i64; 2],
    /// Until when hosts of web pages rest.
    silent: HashMap<String, i64>,
}

/// Which of the models.
#[derive(Debug, Clone, Copy)]
enum Reads {
    Text,
    Pictures,
}

/// How often something was tried for a post, and when last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Tries {
    #[serde(default)]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tried_at: Option<String>,
}

impl Tries {
    fn are_over(&self) -> bool {
        self.attempts >= TRIES
    }

    /// Whether it may be tried at `now`.
    fn are_due(&self, now: i64) -> bool {
        let last = self.tried_at.as_deref().and_then(|at| parse_instant(at, false));
        // A clock that was set back keeps nothing waiting.
        !self.are_over() && last.is_none_or(|last| !(0..PAUSE_MS).contains(&(now - last)))
    }

    fn note(&mut self, now: i64) {
        self.attempts += 1;
        self.tried_at = Some(rfc3339(now));
    }
}

impl Brain {
    /// Does what is switched on for posts that wait for it: those noted in the last 24 hours, a bounded number a call; whether more
    /// wait that can be done at once. What was done stands beside each post, so nothing is done twice and a kill loses nothing. For a
    /// timer. Blocks for long.
    ///
    /// # Errors
    /// When the collector's files cannot be used. What fails for one post is logged and tried again at most twice.
    pub fn collector_patterns(&self) -> Result<bool, Fault> {
        let on = self.config.collector_switches();
        if !(on.ratings || on.images || on.articles || on.videos) {
            return Ok(false);
        }
        let mut memory = match self.collecting.patterns.try_lock() {
            Ok(memory) => memory,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Whoever is at it does it all.
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        let mut round = Round::begin(self, &mut memory).map_err(|fault| data_fault(&fault))?;
        let mut done = Vec::new();
        // One that cannot be done keeps no other one from being done.
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
        Ok(left.contains(&true) && !self.is_stopping())
    }
}

/// One call.
struct Round<'a> {
    brain: &'a Brain,
    memory: &'a mut Memory,
    settings: Settings,
    data: Data,
    journal: Journal,
    /// The posts, the one that was noted first first; none that is deleted.
    posts: Vec<PostId>,
    models: Option<Models>,
}

impl<'a> Round<'a> {
    fn begin(brain: &'a Brain, memory: &'a mut Memory) -> Result<Self, DataFault> {
        let settings = brain.collector_settings();
        let (data, journal) = (Data::new(&settings.dir), Journal::new(&settings.dir));
        let noted = journal.since(brain.now() - WINDOW_MS)?;
        let mut seen = HashSet::new();
        let mut gone = HashSet::new();
        let mut posts = Vec::new();
        for entry in noted {
            match entry.noted {
                Noted::Post { id, .. } => {
                    posts.extend(PostId::parse(&id).filter(|id| seen.insert(id.clone())));
                }
                Noted::Deletion { id } => gone.extend(PostId::parse(&id)),
                Noted::Alert { .. } | Noted::Enriched { .. } => {}
            }
        }
        if settings.redact {
            for ledger in [Ledger::articles(&settings.dir), Ledger::videos(&settings.dir)] {
                ledger.forget(&gone)?;
            }
        }
        memory.done.retain(|(_, id)| seen.contains(id));
        memory.silent.retain(|_, until| *until > brain.now());
        posts.retain(|id| !data.is_deleted(id));
        Ok(Self { brain, memory, settings, data, journal, posts, models: brain.config.llm() })
    }

    fn goes_on(&self) -> bool {
        !self.brain.is_stopping()
    }

    /// The posts that a pattern may have something to do for.
    fn undone(&self, kind: &'static str) -> Vec<PostId> {
        let open = |id: &&PostId| !self.memory.done.contains(&(kind, (*id).clone()));
        self.posts.iter().filter(open).cloned().collect()
    }

    /// There is nothing more to do for this post.
    fn done(&mut self, kind: &'static str, id: &PostId) {
        self.memory.done.insert((kind, id.clone()));
    }

    /// A post and its streams. A file that was damaged is another post's concern.
    fn post(&self, id: &PostId) -> Result<Option<(Record, Vec<Stream>)>, DataFault> {
        match self.data.anywhere(id) {
            Err(fault) if fault.is_damage() => {
                tracing::warn!(%fault, "a post");
                Ok(None)
            }
            read => read,
        }
    }

    /// What stands beside a post; what cannot be read there is made anew.
    fn beside<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        id: &PostId,
    ) -> Result<Option<T>, DataFault> {
        match self.data.beside(kind, id) {
            Err(fault) if fault.is_damage() => {
                tracing::warn!(%fault, "beside a post");
                Ok(None)
            }
            Ok(value) => Ok(value.and_then(|value| serde_json::from_value(value).ok())),
            Err(fault) => Err(fault),
        }
    }

    /// Puts something beside a post, but beside none that was deleted meanwhile and is to be forgotten.
    fn keep(
        &self,
        kind: &'static str,
        id: &PostId,
        value: &impl Serialize,
    ) -> Result<(), DataFault> {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.data.put_beside(kind, id, &value)?;
        if self.settings.redact && self.data.is_deleted(id) {
            self.data.redact(id)?;
        }
        Ok(())
    }

    /// The account's handle, as it is configured or as setup found it.
    fn handle(&self) -> Result<Option<String>, DataFault> {
        let (state, _) = State::look(&self.data)?;
        Ok(Brain::with_account(self.settings.clone(), &state).handle)
    }

    /// The name of a model, when one is configured.
    fn model_name(&self, reads: Reads) -> Option<String> {
        let models = self.models.as_ref()?;
        match reads {
            Reads::Text => models.model.clone(),
            Reads::Pictures => models.vision_model.clone(),
        }
    }

    /// A model, when it is configured and does not rest.
    fn model(&mut self, reads: Reads) -> Option<Model> {
        let name = self.model_name(reads)?;
        if self.memory.rests[reads as usize] > self.brain.now() {
            return None;
        }
        let key = match self.brain.llm_key() {
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
            &*self.brain.net,
            self.brain.llm_till(),
        ) {
            Ok(model) => Some(model),
            Err(fault) => {
                self.heard(reads, &fault);
                None
            }
        }
    }

    /// Notes that a model did not answer; whether it is to be asked no more in this call.
    fn heard(&mut self, reads: Reads, fault: &ModelFault) -> bool {
        tracing::warn!(%fault, reads = ?reads, "a language model did not answer");
        match fault.why {
            Why::RateLimited(wait) => self.rest(reads, wait),
            Why::Stopped => {}
            why if why.is_the_services() => self.rest(reads, None),
            _ => return false,
        }
        true
    }

    fn rest(&mut self, reads: Reads, seconds: Option<u64>) {
        let asked = seconds.map_or(0, |seconds| seconds.min(LONGEST_WAIT) as i64 * 1000);
        self.memory.rests[reads as usize] = self.brain.now() + asked.max(PAUSE_MS);
    }
}
