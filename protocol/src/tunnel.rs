//! Wire types of `brain tunnel`: the public address and the requests to it.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Hint, IngestStatus, JobId, Step, StepStatus};

/// `brain tunnel setup`: sets the tunnel up, step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelSetup;

/// `brain tunnel start`: starts the tunnel and keeps it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelStart;

/// `brain tunnel stop`: stops the tunnel if the daemon started it, and keeps it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelStop;

/// `brain tunnel status`: shows the state of the tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelStatus;

/// `brain tunnel requests`: lists the requests through the tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TunnelRequests {
    /// Only requests that failed (status 400 and above).
    pub failed: bool,
    /// The maximum number of requests, newest first, 1 to 1000.
    pub limit: u32,
}

/// `brain tunnel replay`: processes the item of an ingest job again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelReplay {
    /// The job.
    pub job_id: JobId,
}

/// The result of `brain tunnel setup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelSetupReply {
    /// Whether all steps passed.
    pub status: StepStatus,
    /// The steps: `provider`, `agent`, `authtoken`, `start`, `reachable`, `telephone`, `heartbeat`;
    /// those after a failure are missing.
    pub steps: Vec<Step>,
}

words! {
    /// Whether the tunnel is up, or why not.
    TunnelState {
        Off = "off",
        /// Stopped by `brain tunnel stop`.
        Stopped = "stopped",
        Up = "up", AgentMissing = "agent_missing",
        /// The agent does not run or does not answer.
        AgentDown = "agent_down",
        /// The agent has no tunnel to the port.
        NotConnected = "not_connected",
        /// The agent's tunnel has another address than the configured one.
        WrongDomain = "wrong_domain",
        /// The agent is up, but brain does not answer at the port.
        ServiceDown = "service_down",
        /// The agent reports that it is up, but requests from outside fail.
        Unreachable = "unreachable",
        /// The provider rejects the agent, for example its token.
        Refused = "refused",
    }
}

/// The state of the tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelStatusReply {
    /// `none`, `ngrok`, `cloudflared` or `tailscale`.
    pub provider: String,
    /// Whether it is up, or why not.
    pub state: TunnelState,
    /// The last observation, for people.
    pub message: String,
    /// What to do.
    pub hint: Option<Hint>,
    /// The public address, if there is one.
    pub url: Option<String>,
    /// When the tunnel came up at this address.
    pub up_since: Option<String>,
    /// When it was last checked.
    pub checked_at: Option<String>,
    /// When it is checked or restarted next.
    pub next_at: Option<String>,
    /// The number of starts of the agent since the daemon started.
    pub starts: u64,
    /// Whether another program started the agent. The daemon does not stop such an agent.
    pub adopted: bool,
    /// The local port of the tunnel.
    pub forward: u16,
    /// The webhook URL of the telephone number, or `not changed: <reason>` if the last update
    /// failed. `None` if no number is configured.
    pub telephone: Option<String>,
}

/// The requests through the tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelRequestsReply {
    /// Newest first; only requests since the daemon started, at most 1000.
    pub requests: Vec<TunnelRequest>,
    /// Whether there are more requests than the limit.
    pub truncated: bool,
}

/// One request through the tunnel, without body, query or headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelRequest {
    /// When it arrived.
    pub at: String,
    /// Its method.
    pub method: String,
    /// The path, if brain serves it; else `(none)`.
    pub path: String,
    /// The status of its response.
    pub status: u16,
    /// Its duration in microseconds.
    pub took_us: u64,
    /// The sender: a client's id, `token:<name>`, `telephone`, or `-` if unknown.
    pub client: String,
    /// Size of its body in bytes.
    pub bytes: u64,
    /// The ingest job that it created, which can be replayed.
    pub job_id: Option<JobId>,
}

/// The result of `brain tunnel replay`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelReplayReply {
    /// The replayed job.
    pub job_id: JobId,
    /// The new job, or the existing one if it is a duplicate.
    pub new_job_id: JobId,
    /// Whether it is new.
    pub status: IngestStatus,
    /// An explanation for people.
    pub message: String,
}
