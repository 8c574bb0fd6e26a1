//! Replies of the daemon.
//!
//! The client prints the same types as JSON, so field names must not change. Times are RFC 3339 in
//! UTC with milliseconds.

use serde::{Deserialize, Serialize};

use crate::{
    AdminTokenReply, AskReply, AttachReply, AttachmentContent, Attachments, Audit, BackupListReply,
    BackupReply, BrokenLinksReply, BrowserOpenReply, ChangesReply, ClientRegisterReply,
    ClientReply, Clients, CollectorAlertsReply, CollectorDeletionsReply, CollectorEnrichReply,
    CollectorRun, CollectorSetupReply, CollectorStatusReply, Completions, Conflicts, ConnectReport,
    Contradictions, CostsReply, Curve, DeleteReply, DiffReply, Digest, DoctorReply,
    EditorChangesReply, EmbedReply, ExportReply, Fault, GraphLayoutReply, GraphReply, HistoryReply,
    Hits, IdeaRunsReply, IdeasReply, ImportReply, ImportReportsReply, IngestJob, JobRetryReply,
    Jobs, LeftReply, LinkReply, LinksReply, MachineRemoveReply, Machines, MachinesInitReply,
    MachinesJoinReply, MachinesPlanReply, MachinesRotateKeyReply, MachinesStatusReply, McpReply,
    ModelInstallReply, Models, MoveReply, Page, PageNamesReply, PageTags, Pages, PastState,
    PurgeReply, RecallReply, RefactorReply, ResolveReply, RestoreReply, SeenReplayReply, SeenReply,
    Settled, SourceReply, SourcesReply, StaleAnswers, StatusReply, StopReply, SyncReply, TagCounts,
    TimelineDaysReply, TimelineReply, TodosReply, TokenCreateReply, TokenRevokeReply, Tokens,
    TunnelReplayReply, TunnelRequestsReply, TunnelSetupReply, TunnelStatusReply, UndoReply,
    VoiceReply, WhyReply, WriteReply,
};

/// One message of an answer: any number of events, then a reply or a fault.
// Few values exist at a time, so boxes would cost more than they save.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Progress; more messages follow.
    Event(Event),
    /// The operation succeeded.
    Reply(Reply),
    /// The operation failed.
    Fault(Fault),
}

/// Progress of long work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// `done` of `total` units are processed.
    Progress {
        /// The number of processed units.
        done: u64,
        /// The number of all units, or 0 if unknown.
        total: u64,
    },
    /// A line of the operation's log.
    Line(String),
    /// The next part of an answer in prose.
    Text(String),
}

/// The daemon's reply belongs to another operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnexpectedReply;

/// Declares the replies in wire order: append only, and raise [`crate::PROTOCOL`].
macro_rules! replies {
    ($($variant:ident($reply:ident),)*) => {
        /// The reply to a [`crate::Request`].
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub enum Reply {
            $(
                #[doc = concat!("See [`", stringify!($reply), "`].")]
                $variant($reply),
            )*
        }

        $(
            impl From<$reply> for Reply {
                fn from(reply: $reply) -> Self {
                    Self::$variant(reply)
                }
            }

            impl TryFrom<Reply> for $reply {
                type Error = UnexpectedReply;

                fn try_from(reply: Reply) -> Result<Self, UnexpectedReply> {
                    match reply {
                        Reply::$variant(reply) => Ok(reply),
                        _ => Err(UnexpectedReply),
                    }
                }
            }
        )*
    };
}

replies! {
    Status(StatusReply),
    Stopping(StopReply),
    Write(WriteReply),
    Page(Page),
    Hits(Hits),
    Pages(Pages),
    Delete(DeleteReply),
    Restore(RestoreReply),
    History(HistoryReply),
    TagCounts(TagCounts),
    PageTags(PageTags),
    Link(LinkReply),
    Links(LinksReply),
    Graph(GraphReply),
    Timeline(TimelineReply),
    Import(ImportReply),
    Doctor(DoctorReply),
    Sources(SourcesReply),
    Source(SourceReply),
    Sync(SyncReply),
    Export(ExportReply),
    Backup(BackupReply),
    BrokenLinks(BrokenLinksReply),
    Clients(Clients),
    ClientRegister(ClientRegisterReply),
    Client(ClientReply),
    Tokens(Tokens),
    TokenCreate(TokenCreateReply),
    TokenRevoke(TokenRevokeReply),
    AdminToken(AdminTokenReply),
    Audit(Audit),
    Jobs(Jobs),
    Job(IngestJob),
    JobRetry(JobRetryReply),
    Mcp(McpReply),
    ConnectTest(ConnectReport),
    CollectorSetup(CollectorSetupReply),
    CollectorRun(CollectorRun),
    CollectorStatus(CollectorStatusReply),
    CollectorDeletions(CollectorDeletionsReply),
    CollectorAlerts(CollectorAlertsReply),
    CollectorDigest(Digest),
    CollectorEnrich(CollectorEnrichReply),
    CollectorCurve(Curve),
    TunnelSetup(TunnelSetupReply),
    TunnelStatus(TunnelStatusReply),
    TunnelRequests(TunnelRequestsReply),
    TunnelReplay(TunnelReplayReply),
    Voice(VoiceReply),
    Embed(EmbedReply),
    ModelInstall(ModelInstallReply),
    Models(Models),
    Ask(AskReply),
    Costs(CostsReply),
    Ideas(IdeasReply),
    IdeaRuns(IdeaRunsReply),
    Diff(DiffReply),
    Todos(TodosReply),
    BackupList(BackupListReply),
    Move(MoveReply),
    Purge(PurgeReply),
    Completions(Completions),
    BrowserOpen(BrowserOpenReply),
    TimelineDays(TimelineDaysReply),
    GraphLayout(GraphLayoutReply),
    Attach(AttachReply),
    Attachments(Attachments),
    AttachmentContent(AttachmentContent),
    MachinesPlan(MachinesPlanReply),
    MachinesInit(MachinesInitReply),
    MachinesJoin(MachinesJoinReply),
    Machines(Machines),
    MachinesStatus(MachinesStatusReply),
    MachineRemove(MachineRemoveReply),
    MachinesRotateKey(MachinesRotateKeyReply),
    Conflicts(Conflicts),
    ImportReports(ImportReportsReply),
    Why(WhyReply),
    Undo(UndoReply),
    AsOf(AsOfReply),
    Changes(ChangesReply),
    Left(LeftReply),
    Seen(SeenReply),
    SeenReplay(SeenReplayReply),
    Contradictions(Contradictions),
    Settled(Settled),
    StaleAnswers(StaleAnswers),
    Recall(RecallReply),
    Resolve(ResolveReply),
    PageNames(PageNamesReply),
    EditorChanges(EditorChangesReply),
    Refactor(RefactorReply),
}

/// The reply to a request about the past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AsOfReply {
    /// What the reply is about.
    pub past: PastState,
    /// The reply to the request.
    pub reply: Box<Reply>,
}

/// The reply to `tags`: one page's tags if the request names a page, else all tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagsReply {
    /// All tags, each with the number of its pages.
    All(TagCounts),
    /// The tags of the named page.
    OfPage(PageTags),
}

impl From<TagsReply> for Reply {
    fn from(reply: TagsReply) -> Self {
        match reply {
            TagsReply::All(tags) => Self::TagCounts(tags),
            TagsReply::OfPage(tags) => Self::PageTags(tags),
        }
    }
}

impl TryFrom<Reply> for TagsReply {
    type Error = UnexpectedReply;

    fn try_from(reply: Reply) -> Result<Self, UnexpectedReply> {
        match reply {
            Reply::TagCounts(tags) => Ok(Self::All(tags)),
            Reply::PageTags(tags) => Ok(Self::OfPage(tags)),
            _ => Err(UnexpectedReply),
        }
    }
}
