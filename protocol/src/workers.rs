//! The state of the background workers, as `status` reports it. Positional on the wire: append
//! only.

use serde::{Deserialize, Serialize};

/// The state of a background worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WorkerState {
    /// The configuration does not enable it.
    NotConfigured,
    /// It is working.
    Running,
    /// It waits for a time or for work.
    Waiting,
    /// It failed, and starts again soon.
    Restarting,
}

/// A background worker, its state and its last failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerStatus {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: WorkerState,
    /// The number of restarts after failures since the daemon started.
    pub restarts: u64,
    /// The last failure, until the worker has run for five minutes without another one.
    pub failure: Option<WorkerFailure>,
}

/// Why a worker ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerFailure {
    /// The message; empty for callers that cannot see all sources.
    pub message: String,
    /// The time of the failure.
    pub at: String,
}
