//! One run: pull the streams, store posts, find deletions and alerts, save the state.

mod deletions;
mod engagement;
mod incoming;
mod pull;
mod store_posts;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, TryLockError};
use std::io;

use brain_protocol::{CollectorRun, RunProblem, RunStatus, Secret};
use serde_json::{Map, Value};

use super::{
    Data, DataFault, Endpoint, Journal, Line, Platform, PlatformFault, PostId, Rates, Record,
    RunSettings, State, Stream, StreamState,
};
use brain_base::clock::{Clock, rfc3339};
use brain_base::disk;
use brain_net::RetryingClient;

pub use incoming::IncomingPost;

/// Endpoints of the persistent connection. Runs do not change their limits.
const PERSISTENT_CONNECTION_ENDPOINTS: [Endpoint; 3] =
    [Endpoint::Rules, Endpoint::ChangeRules, Endpoint::Connect];

/// Receives the events of a run.
pub trait RunListener {
    /// Receives an event line. An alert arrives before the file that prevents its repetition is
    /// written.
    fn line(&self, line: &Line);

    /// Receives a new post after it was stored.
    fn new_post(&self, stream: Stream, post: &Record);

    /// Receives the progress, in steps. Returns `false` to end the run at the next safe point.
    fn should_continue(&self, done: u64, total: u64) -> bool;
}

/// The inputs of a run. A file lock allows one run per directory.
pub struct Run<'a> {
    /// The settings.
    pub settings: &'a RunSettings,
    /// The platform's base URL.
    pub base: &'a url::Url,
    /// The connection to the platform.
    pub http_client: &'a dyn RetryingClient,
    /// The bearer token.
    pub token: &'a Secret,
    /// The clock.
    pub clock: &'a dyn Clock,
}

/// The lock of the directory. It is released explicitly, because a child process that is being
/// started briefly has a copy of the handle.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the handle also unlocks it, at worst a little later.
        let _ = self.0.unlock();
    }
}

/// The report of a run. `Err` if the run could not begin, or if a file could not be read or
/// written.
pub type RunResult = Result<CollectorRun, DataFault>;

/// The cause of an early end.
enum StopCause {
    /// The platform refuses all further requests.
    Refused(PlatformFault),
    /// No stream got an answer. Has the reason and message of the first stream.
    Unanswered(RunProblem, String),
    /// The daemon is stopping.
    Stopping,
    /// A file cannot be read or written.
    Disk(DataFault),
}

impl From<DataFault> for StopCause {
    fn from(fault: DataFault) -> Self {
        Self::Disk(fault)
    }
}

/// A post seen in this run.
struct ObservedPost {
    id: PostId,
    author: String,
    metrics: Map<String, Value>,
}

/// The state of a run.
struct RunInProgress<'a> {
    settings: &'a RunSettings,
    clock: &'a dyn Clock,
    listener: &'a dyn RunListener,
    data: &'a Data,
    journal: &'a Journal,
    platform: Platform<'a>,
    /// Whether the platform rejected the requested related objects.
    without_expansions: bool,
    /// The ids of all posts of this run.
    present_ids: HashSet<PostId>,
    /// Posts of this run with metrics.
    observed_posts: Vec<ObservedPost>,
    /// New states of complete streams; empty until all missing posts were looked up.
    streams: BTreeMap<String, StreamState>,
    report: CollectorRun,
    /// Completed steps.
    done: u64,
    /// Known steps.
    total: u64,
}

impl Run<'_> {
    /// Pulls the streams once.
    ///
    /// # Errors
    /// If another run has locked the directory (`WouldBlock`), or if a file cannot be read or
    /// written.
    pub fn execute(&self, listener: &dyn RunListener) -> RunResult {
        let (data, journal) = (Data::new(&self.settings.dir), Journal::new(&self.settings.dir));
        data.prepare()?;
        let _lock = self.lock()?;
        let (state, damage) = State::load(&data)?;
        // Only an interrupted run leaves temporary files. A search for them reads large
        // directories.
        let last_report =
            state.last_report.as_ref().filter(|last| last.reason != Some(RunProblem::Storage));
        let last_ended = last_report.map(|last| last.started_at.clone());
        if damage.is_some() || state.last_started != last_ended {
            data.remove_leftovers();
        }
        journal.rebuild(&data)?;
        let damage =
            damage.map(|damage| format!("{damage}; the next run rebuilds the missing state"));
        let mut warnings: Vec<String> = damage.into_iter().collect();
        if self.settings.redact && !state.redacted {
            redact_all(&data, &mut warnings)?;
        }
        let started = self.clock.now();
        let mut rates = state.rate_limits.clone();
        rates.clamp_resets(started.div_euclid(1000));
        let state = State::change(&data, |state| {
            state.last_started = Some(rfc3339(started));
            state.redacted = self.settings.redact;
            state.rate_limits = rates.clone();
        })?;
        listener.line(&Line::Start(rfc3339(started)));
        let now = || self.clock.now();
        let mut run_state = RunInProgress::begin(self, listener, &data, &journal, rates, &now);
        // The same time as in the state, which identifies an unfinished run.
        run_state.report = CollectorRun { warnings, ..new_report(rfc3339(started)) };
        run_state.total = 2 + self.settings.searches.len() as u64;
        let result = run_state.pull_and_compare(&state);
        run_state.end(result)
    }

    /// Locks the directory. The kernel releases the lock if the process dies.
    fn lock(&self) -> Result<Lock, DataFault> {
        let path = self.settings.dir.join("run.lock");
        let file =
            File::options().create(true).append(true).open(&path).map_err(disk::fault(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => {
                let error = io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "another run of the collector uses this directory",
                );
                Err(disk::fault(&path)(error))
            }
            Err(TryLockError::Error(error)) => Err(disk::fault(&path)(error)),
        }
    }
}

impl<'a> RunInProgress<'a> {
    /// Creates the state of a new run.
    fn begin(
        run: &Run<'a>,
        listener: &'a dyn RunListener,
        data: &'a Data,
        journal: &'a Journal,
        rates: Rates,
        now: &'a dyn Fn() -> i64,
    ) -> Self {
        Self {
            settings: run.settings,
            clock: run.clock,
            listener,
            data,
            journal,
            platform: Platform::new(run.http_client, run.base, run.token, rates, now),
            without_expansions: false,
            present_ids: HashSet::new(),
            observed_posts: Vec::new(),
            streams: BTreeMap::new(),
            report: new_report(rfc3339(now())),
            done: 0,
            total: 0,
        }
    }

    /// Pulls, looks up missing posts and tracks metrics.
    fn pull_and_compare(&mut self, state: &State) -> Result<(), StopCause> {
        let pulled = self.pull_all()?;
        if let Some((reason, message)) = pull::unanswered(&pulled) {
            return Err(StopCause::Unanswered(reason, message));
        }
        self.find_deletions(state, &pulled)?;
        self.track_metrics()
    }

    /// Records and reports the end of the run.
    fn end(mut self, result: Result<(), StopCause>) -> RunResult {
        let result = match result {
            // Tracking needs no further requests.
            Err(StopCause::Refused(fault)) => {
                self.track_metrics().and(Err(StopCause::Refused(fault)))
            }
            other => other,
        };
        let at = rfc3339(self.clock.now());
        let listener = self.listener;
        let (run_result, reason) = match result {
            Ok(()) => (self.save_state(&at, None), None),
            Err(StopCause::Refused(fault)) => {
                let (reason, message) =
                    (fault.reason.run_problem(), format!("{}; {}", fault.message, fault.hint));
                (self.save_state(&at, Some((reason, message))), Some(reason))
            }
            Err(StopCause::Unanswered(reason, message)) => {
                (self.save_state(&at, Some((reason, message))), Some(reason))
            }
            Err(StopCause::Stopping) => {
                let message = "the run was stopped; the next run starts over".to_owned();
                let reason = RunProblem::Stopped;
                (self.save_state(&at, Some((reason, message))), Some(reason))
            }
            Err(StopCause::Disk(fault)) => {
                // The error may concern one file only. The state must not keep reporting success.
                self.streams.clear();
                let _ = self.save_state(&at, Some((RunProblem::Storage, fault.to_string())));
                (Err(fault), None)
            }
        };
        listener.line(&match (&run_result, reason) {
            (Ok(report), None) => Line::Complete {
                at,
                stored: report.tweets_stored,
                deletions: report.deletions,
                alerts: report.velocity_alerts,
            },
            (Ok(_), Some(reason)) => Line::Failed { at, reason },
            (Err(_), _) => Line::Failed { at, reason: RunProblem::Storage },
        });
        run_result
    }

    /// Saves the state for the next run. A failed run keeps the former streams.
    fn save_state(mut self, at: &str, failed: Option<(RunProblem, String)>) -> RunResult {
        // Post files are not flushed one by one, so flush them before the state.
        self.data.sync()?;
        self.report.finished_at = at.to_owned();
        self.report.requests = self.platform.requests;
        self.report.tweets_stored = self.present_ids.len() as u64;
        if let Some((reason, message)) = failed {
            self.report.status = RunStatus::Failed;
            self.report.reason = Some(reason);
            self.report.message = Some(message);
        }
        State::change(self.data, |state| {
            state.last_run = Some(at.to_owned());
            state.last_report = Some(self.report.clone());
            let stored_rates =
                std::mem::replace(&mut state.rate_limits, self.platform.rates.clone());
            state.rate_limits.merge(&PERSISTENT_CONNECTION_ENDPOINTS, &stored_rates);
            state.streams.append(&mut self.streams);
        })?;
        Ok(self.report)
    }

    /// Completes a step. Fails if the run must end.
    fn step(&mut self) -> Result<(), StopCause> {
        let total = self.total.max(self.done);
        let should_continue = self.listener.should_continue(self.done, total);
        self.done += 1;
        if should_continue { Ok(()) } else { Err(StopCause::Stopping) }
    }

    /// Turns a damaged file into a warning and `None`.
    fn warn_if_damaged<T>(
        &mut self,
        read: Result<Option<T>, DataFault>,
    ) -> Result<Option<T>, DataFault> {
        match read {
            Err(fault) if fault.is_damage() => {
                self.report.warnings.push(fault.to_string());
                Ok(None)
            }
            other => other,
        }
    }
}

/// Redacts all recorded deletions. A run does this once after redaction is enabled.
fn redact_all(data: &Data, warnings: &mut Vec<String>) -> Result<(), DataFault> {
    for id in data.ids("deletions")? {
        match data.redact(&id) {
            Err(fault) if fault.is_damage() => warnings.push(fault.to_string()),
            redacted => redacted?,
        }
    }
    Ok(())
}

/// Creates the report of a new run.
fn new_report(at: String) -> CollectorRun {
    CollectorRun {
        status: RunStatus::Complete,
        reason: None,
        message: None,
        finished_at: at.clone(),
        started_at: at,
        streams: Vec::new(),
        tweets_stored: 0,
        deletions: 0,
        velocity_alerts: 0,
        unverified: 0,
        requests: 0,
        warnings: Vec::new(),
    }
}
