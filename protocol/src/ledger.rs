//! Wire types of the two ledgers: requests that left the machine, and what AI clients were given.

use serde::{Deserialize, Serialize};

use crate::{PageRef, Slug, SourceId, TrustLevel};

/// `brain left`: lists requests of the daemon to other hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LeftList {
    /// Only requests at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// Only requests at or before this day or time.
    pub until: Option<String>,
    /// Only requests to this host, or starts of this program.
    pub host: Option<String>,
    /// Only requests with text of this page.
    pub page: Option<PageRef>,
    /// The maximum number of requests, newest first, 1 to 1000.
    pub limit: u32,
    /// The number of requests before the first one of the reply.
    pub skip: u32,
}

/// Requests to other hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftReply {
    /// Newest first.
    pub requests: Vec<LeftRequest>,
    /// Whether more requests match than the limit allows.
    pub truncated: bool,
    /// How long lines are kept, as configured; `off` if requests are not recorded.
    pub kept: String,
}

/// What a line of the ledger is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftKind {
    /// An HTTP request.
    Request,
    /// A connection to a server that does not speak HTTP, from its beginning to its end.
    Connection,
    /// The start of a program, which may send by itself.
    Program,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutcome {
    /// The host answered.
    Answered,
    /// Nothing was sent: the name was not found, or the host refused the connection.
    NotSent,
    /// The connection failed after the request was sent, or the answer was not read to its end.
    Failed,
    /// The connection or the program ended.
    Ended,
    /// It has not ended yet.
    Open,
    /// It is not known how it ended: the daemon stopped meanwhile.
    Unknown,
}

/// A request that left, or is about to leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRequest {
    /// Its id.
    pub id: String,
    /// What redirects and retries of one call have in common: the id of the first request.
    pub call: String,
    /// When it began.
    pub at: String,
    /// The machine that sent it; `None` if the brain is on one machine only.
    pub machine: Option<String>,
    /// What the line is about.
    pub kind: LeftKind,
    /// The host, or the name of the program.
    pub host: String,
    /// The port; 0 for a program.
    pub port: u16,
    /// The method; empty unless it is an HTTP request.
    pub method: String,
    /// Why it was sent, for example `embedding`.
    pub purpose: String,
    /// How it ended.
    pub outcome: LeftOutcome,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Bytes of the request's body; of a connection, all bytes sent.
    pub sent: u64,
    /// Bytes of the answer's body that were read; of a connection, all bytes received.
    pub received: u64,
    /// Its duration in milliseconds, if it has ended.
    pub took_ms: Option<u64>,
    /// The pages whose text was in it.
    pub pages: Vec<LeftPage>,
    /// The number of further pages whose text was in it, and that are purged.
    pub purged_pages: u32,
}

/// A page whose text was in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftPage {
    /// Its source.
    pub source_id: SourceId,
    /// Its slug now.
    pub slug: Slug,
}

/// `brain seen`: lists what AI clients were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct SeenList {
    /// Only calls of this client, by its id or name.
    pub client: Option<String>,
    /// Only calls at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// Only calls at or before this day or time.
    pub until: Option<String>,
    /// Only calls that were given this page.
    pub page: Option<PageRef>,
    /// Only calls that were refused or failed.
    pub failed: bool,
    /// The maximum number of calls, newest first, 1 to 1000.
    pub limit: u32,
    /// The number of calls before the first one of the reply.
    pub skip: u32,
}

/// Calls of AI clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenReply {
    /// Newest first.
    pub calls: Vec<SeenCall>,
    /// Whether more calls match than the limit allows.
    pub truncated: bool,
    /// How long calls are kept, as configured; `off` if calls are not recorded.
    pub kept: String,
}

/// How a call of an AI client ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenOutcome {
    /// It was answered.
    Answered,
    /// It was refused: the client lacks a scope or a source.
    Refused,
    /// The tool failed: the answer is a result that says so.
    ToolFailed,
    /// The request was answered with a JSON-RPC error.
    ProtocolFailed,
    /// The HTTP request was refused before it was read as MCP.
    HttpRefused,
}

/// A call of an AI client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCall {
    /// Its id, for `brain seen --replay`.
    pub id: String,
    /// When it was answered, in UTC.
    pub at: String,
    /// The machine that answered; `None` if the brain is on one machine only.
    pub machine: Option<String>,
    /// The client: its id, `token:<name>`, or `uid <n>` for a program on the machine.
    pub client: String,
    /// The tool, or the method of the request.
    pub tool: String,
    /// The arguments as JSON. `None` if they are not kept: the call wrote, or a page that it gave
    /// or named was purged.
    pub request: Option<String>,
    /// How it ended.
    pub outcome: SeenOutcome,
    /// The code of the failure; empty if there was none.
    pub code: String,
    /// The pages that the client was given, in order. Pages that are purged are left out.
    pub pages: Vec<SeenPage>,
    /// How many further pages it was given that are purged.
    pub purged_pages: u32,
    /// When a purge removed the call's texts.
    pub purged_at: Option<String>,
    /// The offset of the daemon's time zone from UTC at that time, in minutes.
    pub zone_minutes: i16,
    /// The number of the form of answers.
    pub form: u16,
    /// The first half of the SHA-256 of the answer, in hex; empty if it is not kept.
    pub hash: String,
    /// The size of the answer in bytes.
    pub bytes: u32,
}

/// A page that a client was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPage {
    /// Its source.
    pub source_id: SourceId,
    /// Its slug now.
    pub slug: Slug,
    /// The version.
    pub version: u32,
    /// The score as the client saw it; `None` unless it was a hit of a search.
    pub score: Option<String>,
    /// Who wrote what the client was given.
    pub trust: TrustLevel,
}

/// `brain seen --replay`: renders an answer again from the versions that it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenReplay {
    /// The id of the call.
    pub id: String,
}

/// An answer that was rendered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenReplayReply {
    /// The call.
    pub call: SeenCall,
    /// The answer: the result of the MCP request as JSON, byte for byte.
    pub answer: String,
}
