//! The collector as the brain has it: its settings and token, its runs, and what people and agents ask of what it has collected. What
//! a run does is the collector's own room; what it means for pages is decided here, and only when somebody asks (`enrich`).
//!
//! `collect` runs it, `setup` sets it up, `shown` answers what is stored, `digest` and `named` make of it what an agent needs, `enrich`
//! carries the enrichment rules out, `standing` is for `doctor`, `patterns` has what is behind switches.

mod collect;
mod digest;
mod enrich;
mod gate;
mod named;
mod noticed;
mod patterns;
mod setup;
mod shown;
mod standing;
mod stream;
mod topics;
mod words;

use std::sync::{Mutex, MutexGuard, PoisonError};

use brain_protocol::{Fault, FaultCode, StreamStatus};
use tokio::sync::Notify;

use super::Brain;
use brain_base::clock::rfc3339;
use brain_base::secrets::Found;
use brain_collector::{DataFault, Settings, State, UserId};
pub(super) use standing::Standing;

/// The name of the token's secret.
const TOKEN: &str = "platform-bearer-token";

/// The collector, in this process.
#[derive(Default)]
pub(super) struct Collecting {
    /// What is at work in the collector's directory, and since when (Unix milliseconds).
    at_work: Mutex<Option<(&'static str, i64)>>,
    /// When a run by schedule was tried last, Unix milliseconds; one that could not begin leaves no trace elsewhere.
    tried: Mutex<Option<i64>>,
    /// How the persistent connection is.
    stream: Mutex<Option<StreamStatus>>,
    /// Rings when new posts may wait for what is behind switches.
    collected: Notify,
    /// What is behind switches, held by whoever does it.
    patterns: Mutex<patterns::Memory>,
}

/// The collector's directory is whoever holds this one's; dropped, it is free again.
struct AtWork<'a>(&'a Collecting);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        *self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Collecting {
    /// Takes the collector's directory for `what`.
    ///
    /// # Errors
    /// `busy`, naming what is at work there.
    fn begin(&self, what: &'static str, now: i64) -> Result<AtWork<'_>, Fault> {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((other, since)) = *at_work {
            let message =
                format!("the collector is busy: {other} is at work since {}", rfc3339(since));
            return Err(Fault::new(FaultCode::Busy, message)
                .hint("wait for its end; `brain collector status` shows it"));
        }
        *at_work = Some((what, now));
        Ok(AtWork(self))
    }

    /// How the persistent connection is, to be read or changed.
    pub(super) fn stream(&self) -> MutexGuard<'_, Option<StreamStatus>> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Brain {
    /// Rings when new posts may wait for [`Brain::collector_patterns`].
    pub fn collected(&self) -> &Notify {
        &self.collecting.collected
    }

    /// Whether there is a token for the platform, or something where one should be.
    #[must_use]
    pub fn collector_has_token(&self) -> bool {
        !matches!(self.platform_token(), Ok(None))
    }

    /// What a run goes by.
    fn collector_settings(&self) -> Settings {
        self.config.collector(&self.home)
    }

    /// The platform's bearer token, if there is one. Looked for anew each time, so that a new one needs no restart.
    fn platform_token(&self) -> Result<Option<Found>, Fault> {
        let file = self.config.platform_token_file(&self.home);
        self.secrets.find(TOKEN, file.as_deref())
    }

    /// The settings with the account that setup looked up, where the configuration names none.
    fn with_account(settings: Settings, state: &State) -> Settings {
        let known = state.user.as_ref();
        // An account that was looked up for another handle is not this one.
        let known = known.filter(|user| {
            let named = settings.handle.as_ref();
            named.is_none_or(|handle| handle.eq_ignore_ascii_case(&user.username))
        });
        // Nor is the handle that was looked up the one of another id.
        let known =
            known.filter(|user| settings.user_id.as_ref().is_none_or(|id| id.as_str() == user.id));
        let user_id = settings.user_id.clone().or_else(|| UserId::parse(&known?.id));
        let handle = settings.handle.clone().or_else(|| Some(known?.username.clone()));
        Settings { user_id, handle, ..settings }
    }
}

/// A file of the collector that cannot be read or written.
fn data_fault(fault: &DataFault) -> Fault {
    let code = match fault.error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => FaultCode::DiskFull,
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            FaultCode::ReadOnly
        }
        _ => FaultCode::Io,
    };
    Fault::new(code, fault.to_string())
        .hint("look at that file and its disk; `collector.dir` moves the collector elsewhere")
}
