//! Wire types of the social collector. Ids of posts and users are strings of digits, because
//! numbers in JSON cannot hold them safely.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Secret, Slug, SourceId, Step, StepStatus};

/// `brain collector setup`: sets the collector up, step by step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CollectorSetup {
    /// The account's handle without `@`, if `collector.handle` is not set.
    pub handle: Option<String>,
    /// The bearer token to store in the home's `secrets/`.
    pub token: Option<Secret>,
}

/// The period of `brain collector deletions` and `alerts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CollectorPeriod {
    /// Only events at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// The maximum number of events, newest first, 1 to 1000.
    pub limit: u32,
}

/// `brain collector collect`: runs the collector once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorCollect;

/// `brain collector status`: shows the state of the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorStatus;

/// `brain collector deletions`: lists posts that were deleted on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CollectorDeletions {
    /// The period.
    pub period: CollectorPeriod,
}

/// `brain collector alerts`: lists alerts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CollectorAlerts {
    /// The period.
    pub period: CollectorPeriod,
}

/// `brain collector enrich`: applies the enrichment rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CollectorEnrich {
    /// Only posts collected at or after this day or time; the last 7 days if absent. Overlapping
    /// periods write nothing twice.
    pub since: Option<String>,
    /// Whether to write nothing and report what would change.
    pub dry_run: bool,
}

/// `brain collector plot`: shows the counts of a post over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorCurve {
    /// The post.
    pub id: String,
}

/// The result of `brain collector setup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorSetupReply {
    /// Whether all steps passed.
    pub status: StepStatus,
    /// The account's id.
    pub user_id: Option<String>,
    /// The steps `token`, `user`, `directories`, `collect`, `enrichment`, `schedule`, `heartbeat`;
    /// those after a failure are missing.
    pub steps: Vec<Step>,
}

words! {
    /// How a run of the collector ended.
    RunStatus { Complete = "complete", Failed = "failed" }

    /// Why a run of the collector failed, or why a stream is incomplete.
    RunProblem {
        Unauthorized = "unauthorized",
        /// The account has no credits. Ends the run.
        PaymentRequired = "payment_required",
        Forbidden = "forbidden", NotFound = "not_found", InvalidRequest = "invalid_request",
        RateLimited = "rate_limited",
        /// The monthly or daily cap is reached.
        UsageCapped = "usage_capped",
        TooManyConnections = "too_many_connections", ServerError = "server_error",
        Unreachable = "unreachable", Unreadable = "unreadable",
        /// The pages of the stream repeat.
        Paging = "paging",
        /// The account's id is unknown.
        NoUser = "no_user",
        Stopped = "stopped",
        /// A file cannot be read or written.
        Storage = "storage",
    }
}

/// A run of the collector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorRun {
    /// How it ended.
    pub status: RunStatus,
    /// Why it failed, for programs.
    pub reason: Option<RunProblem>,
    /// Why it failed and what to do, for people.
    pub message: Option<String>,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub finished_at: String,
    /// Its streams, in the order `own`, `mentions`, `searches`.
    pub streams: Vec<CollectedStream>,
    /// The number of stored posts.
    pub tweets_stored: u64,
    /// The number of confirmed deletions.
    pub deletions: u64,
    /// The number of velocity alerts.
    pub velocity_alerts: u64,
    /// The number of missing posts whose deletion is not confirmed. The next run checks them again.
    pub unverified: u64,
    /// The number of requests to the platform.
    pub requests: u64,
    /// Warnings for the user, for example about damaged files and refused searches.
    pub warnings: Vec<String>,
}

impl CollectorRun {
    /// Returns why the run failed, for people.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        self.message.as_deref().or(self.reason.map(RunProblem::as_str))
    }
}

/// A stream of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedStream {
    /// `own`, `mentions` or `searches`.
    pub stream: String,
    /// The number of its posts.
    pub total: u64,
    /// The number of posts that were not stored before.
    pub new: u64,
    /// Why it is incomplete; `None` if it is complete.
    pub skipped: Option<SkippedStream>,
}

/// Why a stream is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedStream {
    /// The reason, for programs.
    pub reason: RunProblem,
    /// The reason, for people.
    pub message: String,
    /// When the rate limit ends, in Unix seconds, if known.
    pub reset: Option<i64>,
}

/// The state of the collector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectorStatusReply {
    /// Whether it runs on schedule.
    pub enabled: bool,
    /// Why it does not run on schedule, and what to do.
    pub off_because: Option<String>,
    /// The account's handle.
    pub handle: Option<String>,
    /// The account's id.
    pub user_id: Option<String>,
    /// The address of the platform's API.
    pub platform_api: String,
    /// The collector's directory.
    pub dir: String,
    /// When the next scheduled run begins.
    pub next_run: Option<String>,
    /// The last finished run.
    pub last_run: Option<CollectorRun>,
    /// The numbers of stored items.
    pub stored: CollectorCounts,
    /// The platform's rate limits, by endpoint.
    pub rate_limits: Vec<RateLimit>,
    /// The persistent connection, if it is on.
    pub stream: Option<StreamStatus>,
    /// The posts whose likes grow fastest, by their last two snapshots; at most five.
    pub movers: Vec<Curve>,
}

/// The numbers of the collector's stored items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CollectorCounts {
    /// Posts of the account's own timeline.
    pub own: u64,
    /// Mentions.
    pub mentions: u64,
    /// Posts found by searches.
    pub searches: u64,
    /// Confirmed deletions.
    pub deletions: u64,
    /// Posts with an engagement curve.
    pub engagement: u64,
}

/// The rate limit of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// The endpoint, for example `/2/users/:id/tweets`.
    pub endpoint: String,
    /// The number of remaining requests.
    pub remaining: u64,
    /// When `remaining` is reset, in Unix seconds.
    pub reset: i64,
    /// Whether the collector sends no request until `reset`.
    pub held: bool,
}

words! {
    /// The state of the persistent connection.
    ConnectionStatus {
        Connected = "connected",
        /// Waits for the next attempt.
        Waiting = "waiting",
        Off = "off",
    }
}

/// The persistent connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamStatus {
    /// Its state.
    pub state: ConnectionStatus,
    /// The last event, for people.
    pub message: String,
    /// The number of received posts since the daemon started.
    pub posts: u64,
    /// The number of connections since the daemon started.
    pub connections: u64,
}

/// Confirmed deletions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorDeletionsReply {
    /// The deletions.
    pub deletions: Vec<Deletion>,
    /// Whether there are more.
    pub truncated: bool,
}

words! {
    /// How the platform answers a request for a deleted post.
    DeletionReason {
        /// With the status 404.
        NotFound404 = "not_found_404",
        /// With an error that it does not exist.
        NotFound = "not_found",
        /// With an error about permission: the account is private or suspended.
        NotAuthorized = "not_authorized",
        /// Without a post and without an error.
        NoData = "no_data",
    }

    /// What an alert is about.
    AlertKind {
        Deletion = "deletion", Velocity = "velocity", ReplyRatio = "reply_ratio",
        QuoteRatio = "quote_ratio",
    }
}

/// A post that was deleted on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// The post.
    pub id: String,
    /// The handle or id of its author; empty if redacted.
    pub author: String,
    /// Its text; empty if redacted.
    pub text: String,
    /// When it was written, if known.
    pub created_at: Option<String>,
    /// When the deletion was found.
    pub detected_at: String,
    /// How the platform answers a request for it: a [`DeletionReason`], or the word of another
    /// program that wrote the record.
    pub reason: String,
}

/// The collector's alerts, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorAlertsReply {
    /// The alerts.
    pub alerts: Vec<Alert>,
    /// Whether there are more.
    pub truncated: bool,
}

/// An alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// The time.
    pub at: String,
    /// What it is about.
    pub kind: AlertKind,
    /// The post.
    pub id: String,
    /// The handle or id of its author.
    pub author: String,
    /// The event line of a `deletion` or `velocity` alert; a sentence for others.
    pub message: String,
}

/// The result of `brain collector enrich`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorEnrichReply {
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The enriched pages with their new lines.
    pub pages: Vec<EnrichedPage>,
    /// The number of people without a page who are below the notability threshold.
    #[serde(rename = "below_gate")]
    pub people_below_threshold: u64,
    /// Pages with the name of a person but without an account, so nothing was written into them.
    /// Each text says what to add to the page.
    #[serde(rename = "unclaimed")]
    pub pages_without_account: Vec<String>,
    /// Partial failures.
    pub failures: Vec<String>,
}

/// An enriched page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrichedPage {
    /// Its source.
    pub source_id: SourceId,
    /// Its slug.
    pub slug: Slug,
    /// Whether it is new.
    pub created: bool,
    /// The new lines.
    pub lines: Vec<String>,
}

/// The counts of a post over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Curve {
    /// The post.
    pub id: String,
    /// The handle or id of its author.
    pub author: String,
    /// The beginning of its text, on one line.
    pub preview: String,
    /// The snapshots, oldest first, at most 100.
    pub snapshots: Vec<Snapshot>,
}

/// The counts of a post at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The time.
    pub timestamp: String,
    /// The counts.
    pub metrics: Metrics,
}

/// The counts of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Metrics {
    /// Likes.
    pub like_count: u64,
    /// Reposts.
    pub retweet_count: u64,
    /// Replies.
    pub reply_count: u64,
    /// Quotes.
    pub quote_count: u64,
}
