//! Wire types of the daemon's state: status, doctor, steps of a check.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Hint, JobCounts, WorkerStatus};

/// `brain status`: shows the state of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status;

/// The state of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatusReply {
    /// The daemon's version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Its home directory.
    pub home: String,
    /// The socket it listens on.
    pub socket: String,
    /// Seconds since it became ready.
    pub uptime_seconds: u64,
    /// The store's schema number.
    pub schema: u32,
    /// The number of active pages.
    pub pages: u64,
    /// The number of soft-deleted pages.
    pub deleted: u64,
    /// The number of registered sources.
    pub sources: u64,
    /// The size of the store file in bytes.
    pub store_bytes: u64,
    /// The number of changes that the index on disk lacks. They are searched in memory.
    pub index_behind: u64,
    /// The number of files that are not yet written.
    pub outbox: u64,
    /// Problems; empty if there are none.
    pub degraded: Vec<String>,
    /// The address of the local HTTP listener; `None` if it is off.
    pub http_local: Option<String>,
    /// The address of the public HTTP listener; `None` if it is off.
    pub http_public: Option<String>,
    /// The numbers of ingest jobs.
    pub jobs: JobCounts,
    /// The background workers.
    pub workers: Vec<WorkerStatus>,
    /// How this machine follows the others; `None` if the brain is not shared.
    pub machines: Option<String>,
}

/// `brain stop`: ends the daemon after the running operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop;

/// The reply to `stop`: the daemon is stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReply;

/// `brain mcp`: switches the connection to MCP, with one JSON-RPC message on each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mcp;

/// The reply to `mcp`. MCP messages follow on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpReply;

/// `brain doctor`: checks the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doctor {
    /// Whether to repair what can be repaired safely.
    pub fix: bool,
}

/// The state of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReply {
    /// The worst result of a check.
    pub status: DoctorStatus,
    /// The score: 100, less 25 for each failed check and 5 for each warning; at least 0.
    pub health_score: u32,
    /// All checks.
    pub checks: Vec<Check>,
}

words! {
    /// The state of the installation.
    DoctorStatus { Healthy = "healthy", Warnings = "warnings", Unhealthy = "unhealthy" }

    /// The result of a step, or of all steps: these passed, or the last one failed.
    StepStatus {
        Passed = "passed",
        /// It passed with a problem. Not for all steps.
        Warned = "warned",
        Failed = "failed",
    }
}

/// One check of the doctor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its result.
    pub status: CheckStatus,
    /// The observation.
    pub message: String,
    /// What to do, usually a command.
    pub hint: Option<Hint>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// No problem.
    Ok,
    /// A possible problem.
    Warn,
    /// A problem.
    Fail,
}

/// A step of a setup or test. Each step must pass before the next begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, one word.
    pub name: String,
    /// Its result.
    pub status: StepStatus,
    /// The observation.
    pub message: String,
    /// What to do.
    pub hint: Option<Hint>,
    /// Its duration in milliseconds.
    pub took_ms: u64,
}
