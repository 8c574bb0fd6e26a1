//! What was taken in over HTTP and is on its way to a page. Questions and answers of `brain jobs` and of the admin API alike.
//! Positional on the wire, as all of them.

use serde::{Deserialize, Serialize};

/// How far an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits.
    Queued,
    /// It is being made a page.
    Processing,
    /// It failed, and will be tried again by itself.
    Retrying,
    /// It is a page.
    Stored,
    /// It failed for good; it is kept for 7 days, and can be retried.
    Failed,
}

impl JobState {
    /// Every state, in the order of an item's life.
    pub const ALL: [Self; 5] =
        [Self::Queued, Self::Processing, Self::Retrying, Self::Stored, Self::Failed];

    /// The state as it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Retrying => "retrying",
            Self::Stored => "stored",
            Self::Failed => "failed",
        }
    }
}

/// The name of an item: `job_` and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(pub u64);

impl JobId {
    /// The id that `text` is.
    ///
    /// # Errors
    /// When it is none; the message says what one looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("job_").unwrap_or_default();
        let plain =
            !digits.is_empty() && digits.len() <= 19 && digits.bytes().all(|b| b.is_ascii_digit());
        let number = plain.then(|| digits.parse().ok()).flatten();
        number.map(Self).ok_or_else(|| {
            let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            format!("\"{shown}\" is not the id of a job, such as job_17")
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

/// `brain jobs list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct JobList {
    /// Only items that are so far; all when absent.
    pub state: Option<JobState>,
    /// How many, 1 to 1000, the newest first.
    pub limit: u32,
    /// The `next` of the previous answer.
    pub after: Option<JobId>,
}

/// `GET /ingest/{job_id}`, `brain jobs show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShow {
    /// Which one.
    pub id: JobId,
}

/// `brain jobs retry`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRetry {
    /// Which one; all that failed when absent.
    pub id: Option<JobId>,
}

/// An item that was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Job))]
pub struct IngestJob {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "job_17"))]
    pub job_id: JobId,
    /// How far it is.
    pub status: JobState,
    /// SHA-256 of its text, lower-case hex.
    pub content_hash: String,
    /// Where the page goes.
    pub source_id: String,
    /// Who sent it.
    pub client: String,
    /// Its media type.
    pub content_type: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was accepted.
    pub received_at: String,
    /// When it became a page or failed for good.
    pub finished_at: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// When it will be tried again.
    pub retry_at: Option<String>,
    /// The page that it became.
    pub slug: Option<String>,
    /// What went wrong last: a stable code and what happened.
    pub error: Option<JobError>,
}

/// Why an item did not become a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobError {
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
}

/// How many items are so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobCounts {
    /// They wait, first try or later.
    pub waiting: u64,
    /// They failed for good.
    pub failed: u64,
    /// They became pages within the last 24 hours.
    pub stored: u64,
}

/// To `JobList`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Jobs {
    /// The newest first.
    pub jobs: Vec<IngestJob>,
    /// Of all items, whatever was asked for.
    pub counts: JobCounts,
    /// Where to go on.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub next: Option<JobId>,
}

/// To `JobRetry`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = JobsRetried))]
pub struct JobRetryReply {
    /// How many wait anew.
    pub retried: u64,
}
