//! Wire types of ingest jobs: items received over HTTP that become pages.
//!
//! The admin API uses the same types as `brain jobs`.

use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// The state of an ingest job.
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    JobState {
        /// Waits in the queue.
        Queued = "queued",
        /// Is being processed.
        Processing = "processing",
        /// Failed, and is retried automatically.
        Retrying = "retrying",
        /// Is stored as a page.
        Stored = "stored",
        /// Failed permanently. Kept for 7 days, and can be retried.
        Failed = "failed",
    }

    /// Whether an accepted item is a new one.
    IngestStatus {
        Queued = "queued",
        /// It was accepted before, and has a job.
        Duplicate = "duplicate",
    }
}

/// The number of an ingest job. As text: `job_` and the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(pub u64);

impl JobId {
    /// Parses an id.
    ///
    /// # Errors
    /// The message for people, if `text` is not an id.
    pub fn parse(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("job_").unwrap_or_default();
        let is_valid =
            !digits.is_empty() && digits.len() <= 19 && digits.bytes().all(|b| b.is_ascii_digit());
        let number = is_valid.then(|| digits.parse().ok()).flatten();
        number.map(Self).ok_or_else(|| {
            let escaped: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            format!("\"{escaped}\" is not the id of a job, such as job_17")
        })
    }
}

impl std::fmt::Display for JobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "job_{}", self.0)
    }
}

impl TryFrom<String> for JobId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.to_string()
    }
}

/// `brain jobs list`: lists ingest jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct JobList {
    /// Only jobs in this state; all if absent.
    pub state: Option<JobState>,
    /// The maximum number of jobs, newest first, 1 to 1000.
    pub limit: u32,
    /// The `next` of the previous reply.
    pub after: Option<JobId>,
}

/// `brain jobs show` and `GET /ingest/{job_id}`: shows an ingest job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShow {
    /// The job.
    pub id: JobId,
}

/// `brain jobs retry`: retries failed jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRetry {
    /// The job; all failed ones if absent.
    pub id: Option<JobId>,
}

/// The job of an item received over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Job))]
pub struct IngestJob {
    /// The id of the job.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "job_17"))]
    pub job_id: JobId,
    /// The state of the job.
    pub status: JobState,
    /// The SHA-256 of the item's text, in lower-case hex.
    pub content_hash: String,
    /// The source of the page.
    pub source_id: String,
    /// The client that sent the item.
    pub client: String,
    /// The media type of the item.
    pub content_type: String,
    /// The size of the item in bytes.
    pub bytes: u64,
    /// When it was received.
    pub received_at: String,
    /// When it was stored or failed permanently.
    pub finished_at: Option<String>,
    /// The number of attempts.
    pub attempts: u32,
    /// When it is retried.
    pub retry_at: Option<String>,
    /// The slug of the page.
    pub slug: Option<String>,
    /// The last error, if an attempt failed.
    pub error: Option<JobError>,
}

/// Why an ingest job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobError {
    /// The stable code, for programs.
    pub code: String,
    /// The message, for people.
    pub message: String,
}

/// The numbers of ingest jobs, by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobCounts {
    /// Not finished: queued, in processing, or to be retried.
    pub waiting: u64,
    /// Permanently failed.
    pub failed: u64,
    /// Stored as a page; such jobs are kept for 24 hours and ten minutes.
    pub stored: u64,
}

/// A list of ingest jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Jobs {
    /// Newest first.
    pub jobs: Vec<IngestJob>,
    /// The numbers of all jobs.
    pub counts: JobCounts,
    /// The `after` of the next request.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub next: Option<JobId>,
}

/// The result of `brain jobs retry`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = JobsRetried))]
pub struct JobRetryReply {
    /// The number of jobs queued again.
    pub retried: u64,
}
