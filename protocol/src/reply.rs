//! What the daemon answers. The same types are printed as JSON by the client, so field names are part
//! of the contract. Times are RFC 3339 in UTC with milliseconds. Positional on the wire: append only,
//! and raise [`crate::PROTOCOL`] with every change.

use serde::{Deserialize, Serialize};

use crate::{
    AdminTokenReply, AskReply, Audit, ClientRegisterReply, ClientReply, Clients, CollectorAlerts,
    CollectorDeletions, CollectorEnrichReply, CollectorRun, CollectorSetupReply, CollectorStatus,
    ConnectReport, CostsReply, Curve, Digest, EmbedReply, Fault, IdeaRuns, IdeasReply, IngestJob,
    JobCounts, JobRetryReply, Jobs, ModelInstallReply, Models, Slug, SourceId, TokenCreateReply,
    TokenRevokeReply, Tokens, TunnelReplayReply, TunnelRequestsReply, TunnelSetupReply,
    TunnelStatus, VoiceReply,
};

/// One message of an answer: any number of events, then a reply or a fault.
// One exists at a time, on its way to the wire: boxes would cost more than they save.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// The work goes on.
    Event(Event),
    /// The work is done.
    Reply(Reply),
    /// The work failed.
    Fault(Fault),
}

/// Progress of long work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// `done` of `total` units are through.
    Progress {
        /// Units that are through.
        done: u64,
        /// All units, when known.
        total: u64,
    },
    /// A line of what is going on, for who follows it.
    Line(String),
    /// The next piece of an answer in prose, as it comes.
    Text(String),
}

/// The answer to a [`crate::Request`], variant by variant.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// To `Status`.
    Status(StatusReply),
    /// To `Stop`: the daemon is ending.
    Stopping,
    /// To `Capture` and `Put`.
    Write(WriteReply),
    /// To `Get`.
    Page(Page),
    /// To `Search`.
    Hits(Hits),
    /// To `List`.
    Pages(Pages),
    /// To `Delete`.
    Delete(DeleteReply),
    /// To `Restore`.
    Restore(RestoreReply),
    /// To `History`.
    History(History),
    /// To `Tags` without a slug.
    TagCounts(TagCounts),
    /// To `Tags` with a slug.
    PageTags(PageTags),
    /// To `Link`.
    Link(LinkReply),
    /// To `Links` and `Backlinks`.
    Links(Links),
    /// To `Graph`.
    Graph(GraphReply),
    /// To `Timeline`.
    Timeline(TimelineReply),
    /// To `Import`.
    Import(ImportReply),
    /// To `Doctor`.
    Doctor(DoctorReply),
    /// To `SourceList`.
    Sources(SourcesReply),
    /// To `SourceAdd`, `SourceRemove` and `SourceDefault`.
    Source(SourceReply),
    /// To `Sync`.
    Sync(SyncReply),
    /// To `Export`.
    Export(ExportReply),
    /// To `Backup` and `BackupVerify`.
    Backup(BackupReply),
    /// To `BrokenLinks`.
    BrokenLinks(BrokenLinksReply),
    /// To `ClientList`.
    Clients(Clients),
    /// To `ClientRegister`.
    ClientRegister(ClientRegisterReply),
    /// To `ClientUpdate` and `ClientRevoke`.
    Client(ClientReply),
    /// To `TokenList`.
    Tokens(Tokens),
    /// To `TokenCreate`.
    TokenCreate(TokenCreateReply),
    /// To `TokenRevoke`.
    TokenRevoke(TokenRevokeReply),
    /// To `AdminToken`.
    AdminToken(AdminTokenReply),
    /// To `AuditList`.
    Audit(Audit),
    /// To `JobList`.
    Jobs(Jobs),
    /// To `JobShow`.
    Job(IngestJob),
    /// To `JobRetry`.
    JobRetry(JobRetryReply),
    /// To `Mcp`: what follows on this connection is MCP.
    Mcp,
    /// To `ConnectTest`.
    ConnectTest(ConnectReport),
    /// To `CollectorSetup`.
    CollectorSetup(CollectorSetupReply),
    /// To `CollectorCollect`.
    CollectorRun(CollectorRun),
    /// To `CollectorStatus`.
    CollectorStatus(CollectorStatus),
    /// To `CollectorDeletions`.
    CollectorDeletions(CollectorDeletions),
    /// To `CollectorAlerts`.
    CollectorAlerts(CollectorAlerts),
    /// To `CollectorDigest`.
    CollectorDigest(Digest),
    /// To `CollectorEnrich`.
    CollectorEnrich(CollectorEnrichReply),
    /// To `CollectorCurve`.
    CollectorCurve(Curve),
    /// To `TunnelSetup`.
    TunnelSetup(TunnelSetupReply),
    /// To `TunnelStart`, `TunnelStop` and `TunnelStatus`.
    TunnelStatus(TunnelStatus),
    /// To `TunnelRequests`.
    TunnelRequests(TunnelRequestsReply),
    /// To `TunnelReplay`.
    TunnelReplay(TunnelReplayReply),
    /// To `Voice`.
    Voice(VoiceReply),
    /// To `Embed`.
    Embed(EmbedReply),
    /// To `ModelInstall`.
    ModelInstall(ModelInstallReply),
    /// To `ModelList`.
    Models(Models),
    /// To `Ask`.
    Ask(AskReply),
    /// To `Costs`.
    Costs(CostsReply),
    /// To `Ideas`.
    Ideas(IdeasReply),
    /// To `IdeaRuns`.
    IdeaRuns(IdeaRuns),
}

/// One step of something that is checked step by step: each has to pass before the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, one word.
    pub name: String,
    /// `passed`, `warned` or `failed`.
    pub status: String,
    /// What was seen.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// How the daemon is.
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
    /// Seconds since it was ready.
    pub uptime_seconds: u64,
    /// The store's schema number.
    pub schema: u32,
    /// Active pages.
    pub pages: u64,
    /// Soft-deleted pages.
    pub deleted: u64,
    /// Registered sources.
    pub sources: u64,
    /// Size of the store file in bytes.
    pub store_bytes: u64,
    /// Changes that are not yet in the index on disk (they are searched from memory).
    pub index_behind: u64,
    /// Files that still have to be written.
    pub outbox: u64,
    /// What is not as it should be; empty when all is well.
    pub degraded: Vec<String>,
    /// Where HTTP is served for this machine; `None` when it is off.
    pub http_local: Option<String>,
    /// Where HTTP is served for a tunnel; `None` when it is off.
    pub http_public: Option<String>,
    /// What was taken in over HTTP.
    pub jobs: JobCounts,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteStatus {
    /// A new page.
    Created,
    /// The page was there, with other content; the former version is kept.
    Updated,
    /// The page was there, just so.
    Unchanged,
    /// The page was soft-deleted and is active again.
    Restored,
}

/// The outcome of a capture, put, revert or of a change of tags and links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteReply {
    /// The page.
    pub slug: Slug,
    /// What happened.
    pub status: WriteStatus,
    /// Whether the same content was there already.
    pub duplicate: bool,
    /// In how many chunks the page is stored.
    pub chunks: u32,
    /// Lower-case hex SHA-256 of the normalised content.
    pub content_hash: String,
    /// Whether the file is on disk.
    pub written: bool,
    /// Where the file is, or would be.
    pub path: String,
    /// The page's source.
    pub source_id: SourceId,
    /// Which door the page came through.
    pub source_kind: Option<String>,
    /// Where the content came from.
    pub source_uri: Option<String>,
    /// When the page was captured.
    pub captured_at: Option<String>,
    /// What the user should know, for example why the file was not written.
    pub warnings: Vec<String>,
    /// The version that the page has now, from 1.
    pub version: u32,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Its slug.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Its title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// The YAML between the `---` lines, verbatim; empty when there is none.
    pub frontmatter: String,
    /// The markdown below the frontmatter.
    pub body: String,
    /// The whole page as it stands in its file.
    pub content: String,
    /// Lower-case hex SHA-256 of the normalised content.
    pub content_hash: String,
    /// In how many chunks it is stored.
    pub chunks: u32,
    /// When the page was first stored.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// The file it came from or is kept in, relative to its source's directory.
    pub source_path: Option<String>,
    /// Which door it came through.
    pub source_kind: Option<String>,
    /// Where the content came from.
    pub source_uri: Option<String>,
    /// The operation that took it in.
    pub ingested_via: Option<String>,
    /// When it was taken in.
    pub ingested_at: Option<String>,
    /// The number of the version shown.
    pub version: u32,
}

/// A page in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRow {
    /// Its slug.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// When it was first stored.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// When it was soft-deleted.
    pub deleted_at: Option<String>,
    /// Until when it can be restored.
    pub recoverable_until: Option<String>,
    /// Which door it came through.
    pub source_kind: Option<String>,
}

/// A listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// The pages.
    pub pages: Vec<PageRow>,
    /// Whether there are more.
    pub truncated: bool,
    /// Give this as `after` for the next ones.
    pub next: Option<String>,
}

/// Search results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hits {
    /// The query as it was asked.
    pub query: String,
    /// Best first, one a page.
    pub hits: Vec<Hit>,
    /// Whether there are more matches than the limit let through.
    pub truncated: bool,
    /// Why the answer may be less than it should be, for example an index that is being rebuilt.
    pub degraded: Option<String>,
    /// Time in the daemon, in microseconds.
    pub took_us: u64,
}

/// One found page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Its slug.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Comparable within this answer only.
    pub score: f32,
    /// The best passage, one line, at most 240 characters.
    pub snippet: String,
    /// Byte ranges of `snippet` that match.
    pub highlights: Vec<(u32, u32)>,
    /// The chunk the snippet is from, counted from 0.
    pub chunk: u32,
    /// Why it matched: `title`, `alias`, `slug`, `text`, `tag`, `meaning`, `link`.
    pub matched: Vec<String>,
    /// When it was last changed.
    pub updated_at: String,
    /// The parts of the score; empty unless asked for.
    pub explain: Vec<ScorePart>,
    /// The line of the body that the snippet begins in, from 1.
    pub line: u32,
    /// Which door it came through.
    pub source_kind: Option<String>,
    /// Where the content came from.
    pub source_uri: Option<String>,
    /// The page's own address in the web.
    pub url: Option<String>,
}

/// One part of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorePart {
    /// What counted, for example `text: latency`.
    pub reason: String,
    /// How much it added.
    pub score: f32,
}

/// The outcome of a delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteReply {
    /// Always `soft_deleted`.
    pub status: String,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Until when `restore` brings it back.
    pub recoverable_until: String,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The outcome of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReply {
    /// Always `restored`.
    pub status: String,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Where its file is again.
    pub path: String,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The versions of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Newest first; the first is the present one.
    pub versions: Vec<VersionRow>,
}

/// One version of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRow {
    /// Its number, from 1.
    pub version: u32,
    /// Whether it is the present one.
    pub current: bool,
    /// When it was written.
    pub written_at: String,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Lower-case hex SHA-256 of its normalised content.
    pub content_hash: String,
    /// Length of the body in bytes.
    pub bytes: u64,
}

/// All tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCounts {
    /// Most used first.
    pub tags: Vec<TagCount>,
}

/// A tag and how many active pages have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// Active pages that have it.
    pub pages: u64,
}

/// One page's tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTags {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its tags now.
    pub tags: Vec<String>,
    /// Whether this call changed them.
    pub changed: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The outcome of `link`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkReply {
    /// The page that has the link.
    pub from: Slug,
    /// The page it leads to.
    pub to: Slug,
    /// The frontmatter key.
    pub kind: String,
    /// `added`, `removed`, or `unchanged`.
    pub status: String,
    /// Whether the page it leads to exists.
    pub live: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Links of, or to, a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// `links` or `backlinks`.
    pub direction: String,
    /// In the order of the text (links) or of the slugs (backlinks).
    pub links: Vec<LinkRow>,
    /// Whether there are more than one answer holds.
    pub truncated: bool,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The page at the other end, when there is one.
    pub slug: Option<Slug>,
    /// Its source.
    pub source_id: Option<SourceId>,
    /// Its title.
    pub title: Option<String>,
    /// What the text says, for example `companies/acme` or `Acme`.
    pub target: String,
    /// `mentions` for a link in the text, else the frontmatter key.
    pub kind: String,
    /// `live`, `missing` (no such page yet) or `ambiguous` (several answer to the name).
    pub status: String,
    /// Which door the page at the other end came through.
    pub source_kind: Option<String>,
}

/// A neighbourhood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphReply {
    /// The pages, nearest first.
    pub nodes: Vec<GraphNode>,
    /// The links between them.
    pub edges: Vec<GraphEdge>,
    /// Whether the limit cut it.
    pub truncated: bool,
}

/// A page in a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphNode {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Steps from the middle.
    pub depth: u32,
    /// Which door it came through.
    pub source_kind: Option<String>,
}

/// A link in a graph, between `nodes` by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// Position of the page that has the link.
    pub from: u32,
    /// Position of the page it leads to.
    pub to: u32,
    /// `mentions` or the frontmatter key.
    pub kind: String,
}

/// Dated lines, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineReply {
    /// The entries.
    pub entries: Vec<TimelineRow>,
    /// Whether there are more.
    pub truncated: bool,
}

/// A dated line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRow {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// What happened.
    pub text: String,
    /// What stands in `[Source: …]`.
    pub source: Option<String>,
    /// The page it stands in.
    pub slug: Slug,
    /// That page's source.
    pub source_id: SourceId,
    /// Which door that page came through.
    pub source_kind: Option<String>,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReply {
    /// `done`, or `partial` when a file failed.
    pub status: String,
    /// Whether nothing was written on purpose.
    pub dry_run: bool,
    /// Markdown files found.
    pub files: u64,
    /// New pages.
    pub created: u64,
    /// Pages whose former version was kept.
    pub updated: u64,
    /// Pages that had been deleted and are active again.
    pub restored: u64,
    /// Pages that were there, just so.
    pub unchanged: u64,
    /// Files that are not markdown.
    pub skipped: u64,
    /// Files that could not be taken in; at most the first 1000.
    pub failed: Vec<ImportFailure>,
    /// How many failed.
    pub failed_total: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Time in the daemon, in milliseconds.
    pub took_ms: u64,
}

/// A file that could not be taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportFailure {
    /// The file, relative to the directory.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// How the installation is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReply {
    /// `healthy`, `warnings` or `unhealthy`.
    pub status: String,
    /// 0 to 100.
    pub health_score: u32,
    /// Every check.
    pub checks: Vec<Check>,
}

/// One check of the doctor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// How it is.
    pub status: CheckStatus,
    /// What was seen.
    pub message: String,
    /// A command that helps.
    pub hint: Option<String>,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Worth a look.
    Warn,
    /// Broken.
    Fail,
}

/// The registered sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcesReply {
    /// By name.
    pub sources: Vec<SourceRow>,
}

/// A source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRow {
    /// Its name.
    pub source_id: SourceId,
    /// Its directory.
    pub path: String,
    /// Whether it is meant when no source is named.
    pub default: bool,
    /// Whether its directory is in a git work tree.
    pub git: bool,
    /// Active pages.
    pub pages: u64,
    /// When it was registered.
    pub added_at: String,
    /// When it was last synchronised.
    pub synced_at: Option<String>,
    /// Why its directory cannot be used, or what the last sync could not do.
    pub problem: Option<String>,
}

/// What became of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReply {
    /// `added`, `removed`, `default` or `unchanged`.
    pub status: String,
    /// The source; as it was, when it was removed.
    pub source: SourceRow,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What a sync did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncReply {
    /// The worst of the sources' states: `done`, `partial`, `held_back` or `failed`.
    pub status: String,
    /// Whether nothing was written on purpose.
    pub dry_run: bool,
    /// Each source that was synchronised.
    pub sources: Vec<SyncedSource>,
    /// Time in the daemon, in milliseconds.
    pub took_ms: u64,
}

/// What a sync did in one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncedSource {
    /// Its name.
    pub source_id: SourceId,
    /// Its directory.
    pub path: String,
    /// `done`; `partial` when a file or the pull failed; `held_back` when removals wait for `--yes`; `failed` when the source
    /// could not be read at all.
    pub status: String,
    /// Why it failed.
    pub problem: Option<String>,
    /// What git said.
    pub pull: Pull,
    /// Markdown files found.
    pub files: u64,
    /// New pages.
    pub added: u64,
    /// Pages whose former version was kept.
    pub updated: u64,
    /// Pages that had been deleted and are active again.
    pub restored: u64,
    /// Pages that have another slug because their file has another name.
    pub renamed: u64,
    /// Pages that were soft-deleted because their file is gone.
    pub removed: u64,
    /// Files that say what their page says.
    pub unchanged: u64,
    /// Removals that wait for `--yes`.
    pub held_back: u64,
    /// Files that could not be taken in; at most the first 1000.
    pub failed: Vec<ImportFailure>,
    /// How many failed.
    pub failed_total: u64,
    /// Pages that were changed here and on disk since the last sync; at most the first 1000.
    pub conflicts: Vec<SyncConflict>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What came of `git pull`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    /// `skipped`, `up_to_date`, `updated` or `failed`.
    pub status: String,
    /// Why, or what changed.
    pub message: Option<String>,
}

/// A page that was changed here and on disk. The file won.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncConflict {
    /// The page.
    pub slug: Slug,
    /// Its file, relative to the source.
    pub path: String,
    /// The version that keeps what was changed here.
    pub kept_version: u32,
}

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportReply {
    /// `done`, or `partial` when a file failed.
    pub status: String,
    /// The directory.
    pub path: String,
    /// Files written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pages that could not be written; at most the first 1000.
    pub failed: Vec<ImportFailure>,
    /// How many failed.
    pub failed_total: u64,
}

/// A copy of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReply {
    /// `written` or `sound`.
    pub status: String,
    /// The file.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// The schema's number.
    pub schema: u32,
    /// Active pages in it.
    pub pages: u64,
    /// Soft-deleted pages in it.
    pub deleted: u64,
    /// Former versions in it.
    pub versions: u64,
    /// When it was made, if it says so.
    pub made_at: Option<String>,
    /// What the user should know, for example that it is of an older schema.
    pub warnings: Vec<String>,
}

/// Links that need somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLinksReply {
    /// By source and slug of the page that has them.
    pub links: Vec<BrokenLink>,
    /// How many lead nowhere.
    pub missing: u64,
    /// How many lead to several pages.
    pub ambiguous: u64,
    /// Whether there are more than one answer holds.
    pub truncated: bool,
}

/// A link that leads nowhere, or to several pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLink {
    /// The page that has it.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// What the text says.
    pub target: String,
    /// `mentions` for a link in the text, else the frontmatter key.
    pub kind: String,
    /// `missing` or `ambiguous`.
    pub status: String,
    /// The pages that it may mean, at most ten.
    pub candidates: Vec<Slug>,
}
