//! The collector: pulls posts of three streams from a social platform, keeps them as files, notices what was deleted there and what
//! spreads, and says so in event lines. It never interprets what it collects, and knows neither pages nor the brain; it has time, the
//! network and its settings from outside, and blocks the thread that calls.
//!
//! `record`, `metrics`, `velocity`, `deletion`, `reserve`, `lines` are pure rules. `disk` is one file, `data` the directory of them, `journal` what was
//! noted in which order, `state` what one run leaves to the next. `platform` asks the platform and reads its answers. `run` is one run.
//! `filtered` is the persistent connection.

mod data;
pub mod deletion;
mod disk;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fake;
pub mod filtered;
mod heartbeat;
mod journal;
mod lines;
mod metrics;
pub mod outbound;
mod platform;
mod record;
mod reserve;
mod run;
mod state;
mod velocity;

pub use data::{Data, DataFault};
pub use heartbeat::{COLLECTOR_VERSION, Heartbeat};
pub use journal::{Entry, Journal, Noted};
pub use lines::{Line, preview};
pub use metrics::{compared, counts};
pub use platform::{Page, Platform, PlatformFault, Why, With};
pub use record::{
    AUTHOR, COLLECTED_AT, LAST_UPDATED, MEDIA, PostId, Record, SEARCHES, Stream, UserId,
};
pub use reserve::{Allowance, Endpoint, RESERVE, Rates, WINDOW_S};
pub use run::{Arrived, Ran, Run, Sink};
pub use state::{Account, State, StreamState};
pub use velocity::gains;

use std::path::PathBuf;

/// What a run goes by. Made of the configuration; what it says is checked already.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The platform's address, without a slash at its end.
    pub platform_api: String,
    /// The collector's directory; `data/` and the journal are in it.
    pub dir: PathBuf,
    /// The account's handle, without `@`.
    pub handle: Option<String>,
    /// The account's id.
    pub user_id: Option<UserId>,
    /// Queries in the platform's syntax.
    pub searches: Vec<String>,
    /// Pages that are asked for of a stream or search at the most.
    pub max_pages: u32,
    /// Whether authors' names are asked for, which the platform may charge for.
    pub ask_authors: bool,
    /// Whether the addresses of pictures and videos are asked for.
    pub ask_media: bool,
    /// Whether of a post that was deleted on the platform only its id and times are kept.
    pub redact: bool,
}
