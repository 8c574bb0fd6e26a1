//! The collector operations: settings, token, runs, and queries about collected posts.
//!
//! `collect` runs the collector, `setup` configures it, `status` shows stored data,
//! `archived_posts` adds posts of the account's archive. `digest` and
//! `name_index` prepare facts for agents, `enrich` edits pages on request, `health` serves
//! `doctor`, and `analyses` has the optional analyses.

mod analyses;
mod archived_posts;
mod collect;
mod collected_events;
mod digest;
mod enrich;
mod health;
mod name_index;
mod notability;
mod quote;
mod setup;
mod status;
mod stream;
mod topics;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use brain_protocol::{Command, Fault, FaultCode, StreamStatus, hint};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{DataFault, RunSettings, State, UserId};
use brain_base::clock::{Clock, rfc3339};
use brain_base::home::Home;
use brain_base::leases::LeaseHolder;
use brain_base::schedule::ScheduledTask;
use brain_base::secrets::{FoundSecret, Secrets};
use brain_config::CollectorConfig;
use brain_ingest::IngestService;
use brain_llm::LanguageModels;
use brain_net::HttpClient;
use brain_pages::index::IndexFollower;
use brain_pages::pages::PageService;
use brain_service::EventLines;
use brain_store::Store;
use brain_sync::sync::SyncService;

/// The name of the secret with the platform's token.
const TOKEN: &str = "platform-bearer-token";

/// What is known of the persistent connection.
#[derive(Clone)]
pub(crate) struct StreamView {
    pub(crate) status: StreamStatus,
    /// Whether no connection can be prepared, for example without a token. Replies have a current
    /// state instead of the recorded one, because a setup may have solved the problem.
    pub(crate) is_unready: bool,
}

/// The state of the collector in this process.
#[derive(Default)]
pub(crate) struct CollectorState {
    /// The active operation and its start, in Unix milliseconds.
    active: Mutex<Option<(&'static str, i64)>>,
    /// The last attempt of a scheduled run, in Unix milliseconds. A run that could not begin is
    /// recorded only here.
    last_attempt: Mutex<Option<i64>>,
    /// The status of the persistent connection.
    stream: Mutex<Option<StreamView>>,
    /// Wakes the worker of the analyses after new posts.
    new_posts: Notify,
    /// Cache of the optional analyses, locked while they run.
    analyses: Mutex<analyses::AnalysisCache>,
}

/// Holds the collector's directory; dropping it releases the directory.
struct DirectoryGuard<'a>(&'a CollectorState);

impl Drop for DirectoryGuard<'_> {
    fn drop(&mut self) {
        *self.0.active.lock() = None;
    }
}

impl CollectorState {
    /// Reserves the directory for `operation`.
    ///
    /// # Errors
    /// `busy` if another operation is active. The fault names it.
    fn begin(&self, operation: &'static str, now: i64) -> Result<DirectoryGuard<'_>, Fault> {
        let mut active = self.active.lock();
        if let Some((other, since)) = *active {
            let message =
                format!("the collector is busy: {other} has been running since {}", rfc3339(since));
            return Err(Fault::new(FaultCode::Busy, message)
                .hint(hint!("wait until it ends; {} shows its state", Command::CollectorStatus)));
        }
        *active = Some((operation, now));
        Ok(DirectoryGuard(self))
    }

    /// Locks the status of the persistent connection.
    pub(crate) fn stream(&self) -> MutexGuard<'_, Option<StreamView>> {
        self.stream.lock()
    }
}

/// What [`CollectorService`] uses besides other services.
pub struct CollectorEnvironment {
    /// The home directory.
    pub home: Home,
    /// The section `[collector]`.
    pub config: CollectorConfig,
    /// The schedule of runs.
    pub task: ScheduledTask,
    /// The configured file with the platform's token.
    pub token_file: Option<PathBuf>,
    /// The maximum size of an ingested article, in bytes.
    pub max_article_bytes: usize,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The secrets.
    pub secrets: Arc<Secrets>,
    /// The client for the platform, articles and pictures.
    pub net: Arc<dyn HttpClient>,
    /// The output of event lines.
    pub lines: Arc<dyn EventLines>,
    /// Tells whether this machine runs the collector.
    pub leases: Arc<dyn LeaseHolder>,
    /// Cancelled when long work should end.
    pub stop: CancellationToken,
}

/// The collector of the social platform.
pub struct CollectorService {
    pub(crate) env: CollectorEnvironment,
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) sync: Arc<SyncService>,
    pub(crate) ingest: Arc<IngestService>,
    pub(crate) models: Arc<LanguageModels>,
    pub(crate) started: Instant,
    pub(crate) state: CollectorState,
}

impl CollectorService {
    /// Creates the service.
    pub fn new(
        env: CollectorEnvironment,
        store: Arc<Store>,
        index: Arc<IndexFollower>,
        pages: Arc<PageService>,
        sync: Arc<SyncService>,
        ingest: Arc<IngestService>,
        models: Arc<LanguageModels>,
    ) -> Self {
        Self {
            env,
            store,
            index,
            pages,
            sync,
            ingest,
            models,
            started: Instant::now(),
            state: CollectorState::default(),
        }
    }

    /// Returns the notification of new posts, for the caller of [`CollectorService::run_analyses`].
    pub fn collected(&self) -> &Notify {
        &self.state.new_posts
    }

    /// Returns whether a token is configured, readable or not.
    #[must_use]
    pub fn has_token(&self) -> bool {
        !matches!(self.platform_token(), Ok(None))
    }

    /// Returns the settings of a run.
    fn collector_settings(&self) -> RunSettings {
        RunSettings::from_config(&self.env.config, &self.env.home)
    }

    /// Reads the bearer token. It is not cached, so a new token needs no restart.
    fn platform_token(&self) -> Result<Option<FoundSecret>, Fault> {
        Ok(self.env.secrets.find(TOKEN, self.env.token_file.as_deref())?)
    }

    /// Adds the account found by setup to settings without one.
    fn with_account(settings: RunSettings, state: &State) -> RunSettings {
        let stored = state.user.as_ref();
        // Ignores a stored account with another handle than the configured one.
        let stored = stored.filter(|user| {
            let configured = settings.handle.as_ref();
            configured.is_none_or(|handle| handle.eq_ignore_ascii_case(&user.username))
        });
        // Ignores a stored account with another id than the configured one.
        let stored =
            stored.filter(|user| settings.user_id.as_ref().is_none_or(|id| id.as_str() == user.id));
        let user_id = settings.user_id.clone().or_else(|| UserId::parse(&stored?.id));
        let handle = settings.handle.clone().or_else(|| Some(stored?.username.clone()));
        RunSettings { user_id, handle, ..settings }
    }
}

/// Converts an error of the collector's files.
fn data_fault(fault: &DataFault) -> Fault {
    Fault::new(brain_base::write_code(&fault.error), fault.to_string())
        .hint("check the file and its disk, or set `collector.dir` to another directory")
}
