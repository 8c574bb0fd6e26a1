//! What a caller may ask. Variants and fields are positional on the wire: append only, and raise
//! [`crate::PROTOCOL`] with every change.

use serde::{Deserialize, Serialize};

use crate::{
    AdminToken, Ask, AuditList, ClientList, ClientRegister, ClientRevoke, ClientUpdate,
    CollectorCurve, CollectorDigest, CollectorEnrich, CollectorPeriod, CollectorSetup, ConnectTest,
    Costs, Embed, Ideas, JobList, JobRetry, JobShow, ModelInstall, Slug, SourceId, TokenCreate,
    TokenList, TokenRevoke, TunnelReplay, TunnelRequests, VoiceTurn,
};

/// One question to the daemon. A `None` source means the default one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// How the daemon is.
    Status,
    /// End after what is under way.
    Stop,
    /// Keep a thought.
    Capture(Capture),
    /// Store a page under a slug.
    Put(Put),
    /// Read a page.
    Get(Get),
    /// Find pages.
    Search(Search),
    /// List pages.
    List(List),
    /// Soft-delete a page.
    Delete(Delete),
    /// Undo a soft delete.
    Restore(PageRef),
    /// The former versions of a page.
    History(PageRef),
    /// Make a former version the present one.
    Revert(Revert),
    /// All tags with their counts, or one page's tags, changed on request.
    Tags(Tags),
    /// Add a typed link from one page to another.
    Link(Link),
    /// The links of a page.
    Links(PageRef),
    /// The links to a page.
    Backlinks(PageRef),
    /// The neighbourhood of a page.
    Graph(Graph),
    /// Dated lines of one page or of all.
    Timeline(Timeline),
    /// Take in a directory of markdown once.
    Import(Import),
    /// Check the installation.
    Doctor(Doctor),
    /// The registered sources.
    SourceList,
    /// Register a source.
    SourceAdd(SourceAdd),
    /// Unregister a source.
    SourceRemove(SourceRemove),
    /// Choose the source that is meant when none is named.
    SourceDefault(SourceDefault),
    /// Bring pages in line with the files of their sources.
    Sync(Sync),
    /// Write every page as a file.
    Export(Export),
    /// Copy the store.
    Backup(Backup),
    /// Read a copy of the store back.
    BackupVerify(BackupVerify),
    /// Links that lead nowhere, or to several pages.
    BrokenLinks(BrokenLinks),
    /// Register a client that comes over HTTP.
    ClientRegister(ClientRegister),
    /// The registered clients.
    ClientList(ClientList),
    /// Change what a client is granted.
    ClientUpdate(ClientUpdate),
    /// Let a client in no more.
    ClientRevoke(ClientRevoke),
    /// Make a personal token.
    TokenCreate(TokenCreate),
    /// The tokens.
    TokenList(TokenList),
    /// Take a token back.
    TokenRevoke(TokenRevoke),
    /// The owner's own token for the admin API.
    AdminToken(AdminToken),
    /// Who called over the network, and what became of it.
    AuditList(AuditList),
    /// What was taken in over HTTP.
    JobList(JobList),
    /// One item that was taken in over HTTP.
    JobShow(JobShow),
    /// Try again what failed.
    JobRetry(JobRetry),
    /// Speak MCP on this connection from now on: JSON-RPC messages, one a line, until either side closes it.
    Mcp,
    /// Walk the way of an AI client to a tool endpoint, and say which step fails.
    ConnectTest(ConnectTest),
    /// Set the social collector up, step by step.
    CollectorSetup(CollectorSetup),
    /// Run the collector once; its event lines come as [`crate::Event::Line`].
    CollectorCollect,
    /// How the collector is.
    CollectorStatus,
    /// Posts that are gone from the platform.
    CollectorDeletions(CollectorPeriod),
    /// What the collector warned of.
    CollectorAlerts(CollectorPeriod),
    /// What an agent needs to enrich pages.
    CollectorDigest(CollectorDigest),
    /// Carry the enrichment rules out.
    CollectorEnrich(CollectorEnrich),
    /// How a post's numbers went.
    CollectorCurve(CollectorCurve),
    /// Set the public tunnel up, step by step.
    TunnelSetup,
    /// Start the tunnel, and keep it up.
    TunnelStart,
    /// Stop the tunnel, if the daemon started it, and leave it down.
    TunnelStop,
    /// How the tunnel is.
    TunnelStatus,
    /// What came through the tunnel.
    TunnelRequests(TunnelRequests),
    /// Take an item in once more.
    TunnelReplay(TunnelReplay),
    /// A turn of a telephone call.
    Voice(VoiceTurn),
    /// Make vectors that are missing, and wait for them.
    Embed(Embed),
    /// Put a model for vectors where it is used from.
    ModelInstall(ModelInstall),
    /// Which models for vectors there are, and how search by meaning is.
    ModelList,
    /// Answer a question from the pages, with citations.
    Ask(Ask),
    /// What paid services cost.
    Costs(Costs),
    /// Make ideas.
    Ideas(Ideas),
    /// The runs of idea making that are kept.
    IdeaRuns,
}

impl Request {
    /// The name of the operation, for logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Stop => "stop",
            Self::Capture(_) => "capture",
            Self::Put(_) => "put",
            Self::Get(_) => "get",
            Self::Search(_) => "search",
            Self::List(_) => "list",
            Self::Delete(_) => "delete",
            Self::Restore(_) => "restore",
            Self::History(_) => "history",
            Self::Revert(_) => "revert",
            Self::Tags(_) => "tags",
            Self::Link(_) => "link",
            Self::Links(_) => "links",
            Self::Backlinks(_) => "backlinks",
            Self::Graph(_) => "graph",
            Self::Timeline(_) => "timeline",
            Self::Import(_) => "import",
            Self::Doctor(_) => "doctor",
            Self::SourceList => "sources list",
            Self::SourceAdd(_) => "sources add",
            Self::SourceRemove(_) => "sources remove",
            Self::SourceDefault(_) => "sources default",
            Self::Sync(_) => "sync",
            Self::Export(_) => "export",
            Self::Backup(_) => "backup",
            Self::BackupVerify(_) => "backup verify",
            Self::BrokenLinks(_) => "links --broken",
            Self::ClientRegister(_) => "clients register",
            Self::ClientList(_) => "clients list",
            Self::ClientUpdate(_) => "clients update",
            Self::ClientRevoke(_) => "clients revoke",
            Self::TokenCreate(_) => "token create",
            Self::TokenList(_) => "token list",
            Self::TokenRevoke(_) => "token revoke",
            Self::AdminToken(_) => "token admin",
            Self::AuditList(_) => "audit",
            Self::JobList(_) => "jobs list",
            Self::JobShow(_) => "jobs show",
            Self::JobRetry(_) => "jobs retry",
            Self::Mcp => "mcp",
            Self::ConnectTest(_) => "connect test",
            Self::CollectorSetup(_) => "collector setup",
            Self::CollectorCollect => "collector collect",
            Self::CollectorStatus => "collector status",
            Self::CollectorDeletions(_) => "collector deletions",
            Self::CollectorAlerts(_) => "collector alerts",
            Self::CollectorDigest(_) => "collector digest",
            Self::CollectorEnrich(_) => "collector enrich",
            Self::CollectorCurve(_) => "collector plot",
            Self::TunnelSetup => "tunnel setup",
            Self::TunnelStart => "tunnel start",
            Self::TunnelStop => "tunnel stop",
            Self::TunnelStatus => "tunnel status",
            Self::TunnelRequests(_) => "tunnel requests",
            Self::TunnelReplay(_) => "tunnel replay",
            Self::Voice(_) => "voice",
            Self::Embed(_) => "embed",
            Self::ModelInstall(_) => "model install",
            Self::ModelList => "model list",
            Self::Ask(_) => "ask",
            Self::Costs(_) => "costs",
            Self::Ideas(r) => r.profile.as_str(),
            Self::IdeaRuns => "idea runs",
        }
    }
}

/// Names a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRef {
    /// The page's source; the default one when absent.
    pub source: Option<SourceId>,
    /// The page's slug.
    pub slug: Slug,
}

/// `brain capture`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The content as it came, frontmatter included. Bytes, because the daemon decides what is text.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
    /// Where the content came from.
    pub origin: Origin,
    /// Where the page goes.
    pub source: Option<SourceId>,
    /// The slug to use instead of `inbox/<date>-<hash>`.
    pub slug: Option<Slug>,
    /// The page's type; overrides the file's.
    pub page_type: Option<String>,
    /// The page's title; overrides the file's.
    pub title: Option<String>,
    /// Tags to add to the file's.
    pub tags: Vec<String>,
}

/// The way a content took to the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// Words of the command line.
    Argument,
    /// Standard input.
    Stdin,
    /// A file, by absolute path.
    File(String),
    /// An AI client wrote it; where it says that it has it from.
    Agent(Option<String>),
}

/// What a page must be for a write to go through. Checked in the transaction of the write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precondition {
    /// There is no active page of this name.
    Absent,
    /// Its content has this hash (lower-case hex SHA-256).
    Hash(String),
    /// It is at this version.
    Version(u32),
}

/// `brain put`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// The page to write.
    pub page: PageRef,
    /// The whole page in markdown, frontmatter included.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
    /// Where the content came from.
    pub origin: Origin,
    /// Whether empty content may replace an existing page.
    pub allow_empty: bool,
    /// What must be there; anything when absent.
    pub expect: Option<Precondition>,
}

/// `brain delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delete {
    /// The page.
    pub page: PageRef,
    /// What must be there; anything when absent.
    pub expect: Option<Precondition>,
}

impl From<PageRef> for Delete {
    fn from(page: PageRef) -> Self {
        Self { page, expect: None }
    }
}

/// `brain get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Get {
    /// The page to read.
    pub page: PageRef,
    /// A former version, by its number, instead of the present one.
    pub version: Option<u32>,
}

/// `brain search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Search {
    /// The question as it was typed: words, `"phrases"`, `-word`, `prefix*`, `title:`, `tag:`,
    /// `type:`, `source:`.
    pub query: String,
    /// How many pages to answer with, 1 to [`crate::MAX_HITS`].
    pub limit: u32,
    /// Only this source.
    pub source: Option<SourceId>,
    /// Only this type.
    pub page_type: Option<String>,
    /// Only pages with all of these tags.
    pub tags: Vec<String>,
    /// Only pages updated at or after this day or instant (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// Only pages updated at or before this day or instant.
    pub until: Option<String>,
    /// Whether to explain each score.
    pub explain: bool,
}

/// `brain list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct List {
    /// Only this source.
    pub source: Option<SourceId>,
    /// Only slugs that begin so.
    pub prefix: Option<String>,
    /// Only this type.
    pub page_type: Option<String>,
    /// Only this tag.
    pub tag: Option<String>,
    /// Deleted pages instead of active ones.
    pub deleted: bool,
    /// How the pages are ordered.
    pub sort: Sort,
    /// How many pages, 1 to 1000.
    pub limit: u32,
    /// The `next` of the previous answer.
    pub after: Option<String>,
    /// Only pages updated at or after this day or instant (`YYYY-MM-DD` or RFC 3339).
    pub updated_since: Option<String>,
}

/// The order of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Newest change first.
    #[default]
    Updated,
    /// By source and slug.
    Slug,
}

/// `brain revert`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    /// The page to change.
    pub page: PageRef,
    /// The version that becomes the present one.
    pub version: u32,
}

/// `brain tags`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// Where to look.
    pub source: Option<SourceId>,
    /// The page; all tags of the brain when absent.
    pub slug: Option<Slug>,
    /// Tags to add to the page.
    pub add: Vec<String>,
    /// Tags to take from the page.
    pub remove: Vec<String>,
}

/// `brain link`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The page that gets the link.
    pub from: PageRef,
    /// The page it leads to.
    pub to: Slug,
    /// The frontmatter key that carries it, for example `related` or `company`.
    pub kind: String,
    /// Whether to take the link away instead.
    pub remove: bool,
}

/// `brain graph`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The page in the middle.
    pub page: PageRef,
    /// How many steps away, 1 to 5.
    pub depth: u32,
    /// How many pages at the most, 1 to 1000.
    pub limit: u32,
}

/// `brain timeline`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Timeline {
    /// Where to look.
    pub source: Option<SourceId>,
    /// One page; all when absent.
    pub slug: Option<Slug>,
    /// First day, `YYYY-MM-DD`.
    pub since: Option<String>,
    /// Last day, `YYYY-MM-DD`.
    pub until: Option<String>,
    /// How many entries, 1 to 1000.
    pub limit: u32,
}

/// `brain import`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The directory, by absolute path.
    pub path: String,
    /// Where the pages go.
    pub source: Option<SourceId>,
    /// Say what would happen, write nothing.
    pub dry_run: bool,
}

/// `brain doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doctor {
    /// Mend what can be mended safely.
    pub fix: bool,
}

/// `brain sources add`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceAdd {
    /// Its name.
    pub id: SourceId,
    /// Its directory, by absolute path.
    pub path: String,
}

/// `brain sources remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRemove {
    /// Its name.
    pub id: SourceId,
    /// Whether the user has agreed.
    pub yes: bool,
}

/// `brain sources default`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceDefault {
    /// Its name; only tell the present one when absent.
    pub id: Option<SourceId>,
}

/// `brain sync`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Sync {
    /// Only this source; the default one when absent.
    pub source: Option<SourceId>,
    /// Every source.
    pub all: bool,
    /// Whether to pull git work trees first.
    pub pull: bool,
    /// Whether to embed what has changed.
    pub embed: bool,
    /// Say what would happen, write nothing.
    pub dry_run: bool,
    /// Read every file, whatever its size and times say.
    pub full: bool,
    /// Whether the user has agreed that many pages go.
    pub yes: bool,
}

/// `brain export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The directory to write to, by absolute path. Made when it is not there; else it must be empty.
    pub path: String,
    /// Only this source; all when absent.
    pub source: Option<SourceId>,
}

/// `brain backup FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// The file to write, by absolute path. It must not exist.
    pub path: String,
}

/// `brain backup verify FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupVerify {
    /// The file to read, by absolute path.
    pub path: String,
}

/// `brain links --broken`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLinks {
    /// Only this source; all when absent.
    pub source: Option<SourceId>,
    /// How many links, 1 to 1000.
    pub limit: u32,
}
