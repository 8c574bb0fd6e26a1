//! `brain tunnel …`: the public address, and what came through it.

use serde::{Deserialize, Serialize};

use crate::{JobId, Step};

/// `brain tunnel requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TunnelRequests {
    /// Only those that failed (status 400 and above).
    pub failed: bool,
    /// How many, newest first, 1 to 1000.
    pub limit: u32,
}

/// `brain tunnel replay`: take an item of `POST /ingest` in once more, as if it came now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelReplay {
    /// The item.
    pub job_id: JobId,
}

/// How setting the tunnel up went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelSetupReply {
    /// `passed`, or `failed` with the last step being the one that failed.
    pub status: String,
    /// The steps: `provider`, `agent`, `authtoken`, `start`, `reachable`, `telephone`, `heartbeat`; those after a failure are missing.
    pub steps: Vec<Step>,
}

/// How the tunnel is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelStatus {
    /// `none`, `ngrok`, `cloudflared` or `tailscale`.
    pub provider: String,
    /// `off`, `stopped` (by `brain tunnel stop`), `up`, `agent_missing`, `agent_down`, `not_connected`, `wrong_domain`, `service_down`,
    /// `unreachable` (up by its own word, but not from outside), `refused` (by the platform).
    pub state: String,
    /// What was seen last, in words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The public address, when there is one.
    pub url: Option<String>,
    /// Since when the tunnel is up at this address.
    pub up_since: Option<String>,
    /// When it was looked at last.
    pub checked_at: Option<String>,
    /// When it is looked at next, or started again.
    pub next_at: Option<String>,
    /// Starts of the agent since the daemon started.
    pub starts: u64,
    /// Whether somebody else started the agent: it is left alone.
    pub adopted: bool,
    /// The port that it leads to.
    pub forward: u16,
    /// What the telephone number leads to, where one is configured.
    pub telephone: Option<String>,
}

/// What came through the tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelRequestsReply {
    /// Newest first; those of this run of the daemon, at most 1000.
    pub requests: Vec<TunnelRequest>,
    /// Whether there are more than were asked for.
    pub truncated: bool,
}

/// One request that came through the tunnel: no body, no query, no header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelRequest {
    /// When it came.
    pub at: String,
    /// Its method.
    pub method: String,
    /// The path, as far as it is one that is served; else `(none)`.
    pub path: String,
    /// The status of its answer.
    pub status: u16,
    /// How long that took, in microseconds.
    pub took_us: u64,
    /// Who sent it: a client's id, `token:<name>`, `telephone`, or `-` for somebody unknown.
    pub client: String,
    /// Bytes of its body.
    pub bytes: u64,
    /// What it became: an item of the queue, which can be replayed.
    pub job_id: Option<JobId>,
}

/// What became of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelReplayed {
    /// The item that was replayed.
    pub job_id: JobId,
    /// The new item, or the one that it is a repetition of.
    pub new_job_id: JobId,
    /// Its state when this was answered.
    pub status: String,
    /// What is to be known about it, in words.
    pub message: String,
}
