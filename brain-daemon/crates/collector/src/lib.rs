//! The collector: pulls posts from a social platform, and detects deletions and fast growth.
//!
//! Pulling stores posts as files and reports event lines; it interprets no post and uses no pages.
//! `service` has the operations, and what becomes of posts in pages: the digest, and lines that
//! `enrich` adds, each once. Clock, network and settings are injected; calls block.
//!
//! `record`, `metrics`, `velocity`, `deletion`, `reserve` and `lines` are pure rules. `data` is the
//! directory, `journal` the events, `state` the state between runs. `platform` is the API, `run`
//! one run, `filtered_stream` the persistent connection.

mod data;
pub mod deletion;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fake;
pub mod filtered_stream;
mod journal;
mod lines;
mod metrics;
pub mod outbound;
mod platform;
mod record;
mod reserve;
mod run;
mod service;
mod settings;
mod state;
mod velocity;

pub use brain_base::disk::DataFault;
pub use data::Data;
pub use journal::{Entry, Journal, JournalEvent};
pub use lines::{Line, preview};
pub use metrics::{parse_metrics, post_metrics};
pub use platform::{Expansions, FaultReason, Platform, PlatformFault, PostPage};
pub use record::{
    ARCHIVED, AUTHOR, COLLECTED_AT, LAST_UPDATED, MEDIA, PostId, Record, SEARCHES, Stream, UserId,
    WHOLE_TEXT,
};
pub use reserve::{Endpoint, KnownLimit, RESERVE, Rates, WINDOW_SECONDS};
pub use run::{IncomingPost, Run, RunListener, RunResult};
pub use service::{CollectorEnvironment, CollectorService};
pub use state::{Account, State, StreamState};
pub use velocity::is_velocity_alert;

use std::path::PathBuf;

/// The version that the heartbeats report.
const COLLECTOR_VERSION: &str = "0.8.1";

/// The validated settings of a run.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// The platform's base URL, without a trailing slash.
    pub platform_api: String,
    /// The collector's directory, with `data/` and the journal.
    pub dir: PathBuf,
    /// The account's handle, without `@`.
    pub handle: Option<String>,
    /// The account's id.
    pub user_id: Option<UserId>,
    /// Queries, in the platform's syntax.
    pub searches: Vec<String>,
    /// Maximum number of pages per stream or search.
    pub max_pages: u32,
    /// Whether to request authors' names, which the platform may charge for.
    pub request_authors: bool,
    /// Whether to request the URLs of pictures and videos.
    pub request_media: bool,
    /// Whether to reduce deleted posts to id, times and reason.
    pub redact: bool,
}
