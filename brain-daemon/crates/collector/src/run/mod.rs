//! One run: pull the three streams, keep what came, look what is missing, tell what spreads, leave the state for the next.

mod arrived;
mod engagement;
mod keep;
mod missing;
mod pull;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, TryLockError};
use std::io;

use brain_protocol::{CollectorRun, Secret};
use serde_json::{Map, Value};

use super::{
    Data, DataFault, Endpoint, Journal, Line, Platform, PlatformFault, PostId, Rates, Record,
    Settings, State, Stream, StreamState, disk,
};
use brain_base::clock::{Clock, rfc3339};
use brain_net::Link;

pub use arrived::Arrived;

/// Endpoints that runs do not ask: what is known of them is the persistent connection's to say.
const OF_OTHERS: [Endpoint; 3] = [Endpoint::Rules, Endpoint::ChangeRules, Endpoint::Connect];

/// Why a run failed that could not read or write a file.
const STORAGE: &str = "storage";

/// Hears of a run.
pub trait Sink {
    /// An event line, at the moment when it is true. Alerts are told before the file is written that keeps them from being told again.
    fn line(&self, line: &Line);

    /// A post that was not stored before, after it is.
    fn new_post(&self, stream: Stream, post: &Record);

    /// `done` of `total` requests are through, as far as that is known; `false` ends the run at the next safe place.
    fn goes_on(&self, done: u64, total: u64) -> bool;
}

/// A run, ready to begin. There is one at a time in a directory: a file lock holds others off.
pub struct Run<'a> {
    /// What it goes by.
    pub settings: &'a Settings,
    /// The platform's address.
    pub base: &'a url::Url,
    /// The way there.
    pub link: &'a dyn Link,
    /// The bearer token.
    pub token: &'a Secret,
    /// The time.
    pub clock: &'a dyn Clock,
}

/// The directory is this run's until this goes. A program that is just being started has a copy of the handle for a moment, so closing ours would not be
/// enough.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the handle, which follows, does it too, a little later at worst.
        let _ = self.0.unlock();
    }
}

/// How a run ended: what its event lines say and more. `Err` only for what kept it from beginning or from being written down.
pub type Ran = Result<CollectorRun, DataFault>;

/// What ends a run before its end.
enum Stop {
    /// The platform will answer nothing more.
    Refused(PlatformFault),
    /// No stream had an answer: the reason of the first, and its message.
    Unanswered(&'static str, String),
    /// The daemon stops.
    Asked,
    /// A file cannot be read or written.
    Disk(DataFault),
}

impl From<DataFault> for Stop {
    fn from(fault: DataFault) -> Self {
        Self::Disk(fault)
    }
}

/// A post that came, seen for the first time in this run.
struct Observed {
    id: PostId,
    author: String,
    metrics: Map<String, Value>,
}

/// A run at work: what it has at hand, and what it has found so far.
struct Work<'a> {
    settings: &'a Settings,
    clock: &'a dyn Clock,
    sink: &'a dyn Sink,
    data: &'a Data,
    journal: &'a Journal,
    platform: Platform<'a>,
    /// Whether the platform has refused what is asked for beside posts.
    bare: bool,
    /// Every post that came, by whichever stream.
    present: HashSet<PostId>,
    /// Those of them that have numbers.
    observed: Vec<Observed>,
    /// What becomes of the streams that were pulled to their end; nothing until it is known of everything that is missing.
    streams: BTreeMap<String, StreamState>,
    report: CollectorRun,
    /// Steps that are done, and those that are known of.
    done: u64,
    total: u64,
}

impl Run<'_> {
    /// Does it.
    ///
    /// # Errors
    /// When the directory cannot be used, or another run is at work there (`WouldBlock`).
    pub fn go(&self, sink: &dyn Sink) -> Ran {
        let (data, journal) = (Data::new(&self.settings.dir), Journal::new(&self.settings.dir));
        data.prepare()?;
        let _lock = self.lock()?;
        let (state, damage) = State::load(&data)?;
        // Only a run that did not end leaves unfinished files; to look for them, directories of any size are read.
        let ended =
            state.last_report.as_ref().filter(|last| last.reason.as_deref() != Some(STORAGE));
        if damage.is_some() || state.last_started != ended.map(|last| last.started_at.clone()) {
            data.sweep();
        }
        journal.rebuild(&data)?;
        let damage = damage
            .map(|damage| format!("{damage}; what is missing is known again from the next run on"));
        let mut warnings: Vec<String> = damage.into_iter().collect();
        if self.settings.redact && !state.redacted {
            redact_all(&data, &mut warnings)?;
        }
        let started = self.clock.now();
        let mut rates = state.rate_limits.clone();
        rates.settle(started.div_euclid(1000));
        let state = State::change(&data, |state| {
            state.last_started = Some(rfc3339(started));
            state.redacted = self.settings.redact;
            state.rate_limits = rates.clone();
        })?;
        sink.line(&Line::Start(rfc3339(started)));
        let now = || self.clock.now();
        let mut work = Work::begin(self, sink, &data, &journal, rates, &now);
        // The same instant as in the state, by which a run that did not end is known.
        work.report = CollectorRun { warnings, ..begun(rfc3339(started)) };
        work.total = 2 + self.settings.searches.len() as u64;
        let ended = work.all(&state);
        work.end(ended)
    }

    /// Takes the directory for this run. The lock goes with the file's handle, whatever becomes of the process.
    fn lock(&self) -> Result<Lock, DataFault> {
        let path = self.settings.dir.join("run.lock");
        let file =
            File::options().create(true).append(true).open(&path).map_err(disk::fault(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => {
                let error = io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "another run of the collector is at work here",
                );
                Err(disk::fault(&path)(error))
            }
            Err(TryLockError::Error(error)) => Err(disk::fault(&path)(error)),
        }
    }
}

impl<'a> Work<'a> {
    /// Nothing is done yet.
    fn begin(
        run: &Run<'a>,
        sink: &'a dyn Sink,
        data: &'a Data,
        journal: &'a Journal,
        rates: Rates,
        now: &'a dyn Fn() -> i64,
    ) -> Self {
        Self {
            settings: run.settings,
            clock: run.clock,
            sink,
            data,
            journal,
            platform: Platform::new(run.link, run.base, run.token, rates, now),
            bare: false,
            present: HashSet::new(),
            observed: Vec::new(),
            streams: BTreeMap::new(),
            report: begun(rfc3339(now())),
            done: 0,
            total: 0,
        }
    }

    /// Pulls, looks for what is missing, and follows the numbers.
    fn all(&mut self, state: &State) -> Result<(), Stop> {
        let pulled = self.pull_all()?;
        if let Some((reason, message)) = pull::unanswered(&pulled) {
            return Err(Stop::Unanswered(reason, message));
        }
        self.look_for_missing(state, &pulled)?;
        self.follow_numbers()
    }

    /// Writes down how the run ended, and says so.
    fn end(mut self, ended: Result<(), Stop>) -> Ran {
        let ended = match ended {
            // Numbers that came are followed: nothing need be asked for that.
            Err(Stop::Refused(fault)) => self.follow_numbers().and(Err(Stop::Refused(fault))),
            other => other,
        };
        let at = rfc3339(self.clock.now());
        let sink = self.sink;
        let (ended, reason) = match ended {
            Ok(()) => (self.write_down(&at, None), None),
            Err(Stop::Refused(fault)) => {
                let (reason, message) =
                    (fault.why.as_str(), format!("{}; {}", fault.message, fault.hint));
                (self.write_down(&at, Some((reason, message))), Some(reason))
            }
            Err(Stop::Unanswered(reason, message)) => {
                (self.write_down(&at, Some((reason, message))), Some(reason))
            }
            Err(Stop::Asked) => {
                let message = "the daemon is stopping; the next run does all of it".to_owned();
                (self.write_down(&at, Some(("stopped", message))), Some("stopped"))
            }
            Err(Stop::Disk(fault)) => {
                // Perhaps it is one file only, and the state can be written: it must not go on saying that all is well.
                self.streams.clear();
                let _ = self.write_down(&at, Some((STORAGE, fault.to_string())));
                (Err(fault), None)
            }
        };
        sink.line(&match (&ended, reason) {
            (Ok(report), None) => Line::Complete {
                at,
                stored: report.tweets_stored,
                deletions: report.deletions,
                alerts: report.velocity_alerts,
            },
            (Ok(_), Some(reason)) => Line::Failed { at, reason },
            (Err(_), _) => Line::Failed { at, reason: STORAGE },
        });
        ended
    }

    /// Leaves the state for the next run. One that failed leaves the streams as they were.
    fn write_down(mut self, at: &str, failed: Option<(&str, String)>) -> Ran {
        // Post files are not flushed one by one; what the state says of them must not be ahead of them.
        self.data.sync()?;
        self.report.finished_at = at.to_owned();
        self.report.requests = self.platform.requests;
        self.report.tweets_stored = self.present.len() as u64;
        if let Some((reason, message)) = failed {
            self.report.status = "failed".into();
            self.report.reason = Some(reason.to_owned());
            self.report.message = Some(message);
        }
        State::change(self.data, |state| {
            state.last_run = Some(at.to_owned());
            state.last_report = Some(self.report.clone());
            let of_others = std::mem::replace(&mut state.rate_limits, self.platform.rates.clone());
            state.rate_limits.take(&OF_OTHERS, &of_others);
            state.streams.append(&mut self.streams);
        })?;
        Ok(self.report)
    }

    /// A step is done; whether the run may go on.
    fn step(&mut self) -> Result<(), Stop> {
        let total = self.total.max(self.done);
        let goes_on = self.sink.goes_on(self.done, total);
        self.done += 1;
        if goes_on { Ok(()) } else { Err(Stop::Asked) }
    }

    /// What was read; a file that was damaged is a warning and counts as none.
    fn readable<T>(&mut self, read: Result<Option<T>, DataFault>) -> Result<Option<T>, DataFault> {
        match read {
            Err(fault) if fault.is_damage() => {
                self.report.warnings.push(fault.to_string());
                Ok(None)
            }
            other => other,
        }
    }
}

/// Redaction was switched on after posts were recorded as deleted: of them, too, only id and times are kept.
fn redact_all(data: &Data, warnings: &mut Vec<String>) -> Result<(), DataFault> {
    for id in data.ids("deletions")? {
        match data.redact(&id) {
            Err(fault) if fault.is_damage() => warnings.push(fault.to_string()),
            redacted => redacted?,
        }
    }
    Ok(())
}

/// The report of a run that begins.
fn begun(at: String) -> CollectorRun {
    CollectorRun {
        status: "complete".into(),
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
