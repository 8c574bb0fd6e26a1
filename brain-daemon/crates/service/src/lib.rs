//! What every service of the daemon is made of: health checks, steps of a check, progress of long
//! work, batches of files, heartbeats, the audit log.
//!
//! Each service uses what it needs from here; this crate uses no service. It knows no pages,
//! permissions, search or HTTP.

mod audit;
pub mod batch;
mod change_feed;
mod event_lines;
pub mod health;
mod heartbeat;
pub mod moved_home;
mod number_cipher;
mod progress;
pub mod steps;
mod text_budget;

pub use audit::AuditLog;
pub use change_feed::ChangeFeed;
pub use event_lines::{EventLines, StandardOutput};
pub use heartbeat::Heartbeat;
pub use number_cipher::NumberCipher;
pub use progress::{NoProgress, Progress};
pub use text_budget::{TextBudget, TextPermit, text_bytes};
