//! The table of operations. [`Request`], names, scopes and reply types are generated from it.
//!
//! A row pairs an operation with its reply. `docs/development.md` shows how to add one.

use serde::{Deserialize, Serialize};

use crate::{
    AdminToken, AdminTokenReply, AnswerSave, Append, AsOfReply, Ask, AskReply, Attach, AttachReply,
    AttachmentContent, AttachmentGet, AttachmentList, Attachments, Audit, AuditList, Backlinks,
    Backup, BackupList, BackupListReply, BackupReply, BackupVerify, BrokenLinks, BrokenLinksReply,
    BrowserOpen, BrowserOpenReply, Capture, Changes, ChangesReply, ClientList, ClientRegister,
    ClientRegisterReply, ClientReply, ClientRevoke, ClientUpdate, Clients, CollectorAlerts,
    CollectorAlertsReply, CollectorCollect, CollectorCurve, CollectorDeletions,
    CollectorDeletionsReply, CollectorDigest, CollectorEnrich, CollectorEnrichReply, CollectorRun,
    CollectorSetup, CollectorSetupReply, CollectorStatus, CollectorStatusReply, Command, Complete,
    Completions, ConflictList, Conflicts, ConnectReport, ConnectTest, ContradictionList,
    Contradictions, Costs, CostsReply, Curve, Delete, DeleteReply, Detach, Diff, DiffReply, Digest,
    Doctor, DoctorReply, EditorChanges, EditorChangesReply, Embed, EmbedReply, Export, ExportReply,
    Fault, FaultCode, Get, Graph, GraphLayout, GraphLayoutReply, GraphReply, History, HistoryReply,
    Hits, IdeaRuns, IdeaRunsReply, Ideas, IdeasReply, Import, ImportReply, ImportReports,
    ImportReportsReply, IngestJob, JobList, JobRetry, JobRetryReply, JobShow, Jobs, Keep, LeftList,
    LeftReply, Link, LinkReply, Links, LinksReply, List, MachineList, MachineRemove,
    MachineRemoveReply, Machines, MachinesInit, MachinesInitReply, MachinesJoin, MachinesJoinReply,
    MachinesLeave, MachinesPlan, MachinesPlanReply, MachinesRotateKey, MachinesRotateKeyReply,
    MachinesStatus, MachinesStatusReply, Mcp, McpReply, Merge, ModelInstall, ModelInstallReply,
    ModelList, Models, MoveReply, Orphans, Page, PageNames, PageNamesReply, Pages, Purge,
    PurgeReply, Put, Random, RecallReply, RecallRun, Redo, Refactor, RefactorReply, Rename, Reply,
    Resolve, ResolveReply, Restore, RestoreReply, Revert, Scope, Search, SeenList, SeenReplay,
    SeenReplayReply, SeenReply, Settle, Settled, SourceAdd, SourceDefault, SourceList,
    SourceRemove, SourceReply, SourceSet, SourcesReply, StaleAnswerList, StaleAnswers, Status,
    StatusReply, Stop, StopReply, Sync, SyncReply, Tags, TagsReply, Timeline, TimelineDays,
    TimelineDaysReply, TimelineReply, Today, Todos, TodosReply, TokenCreate, TokenCreateReply,
    TokenList, TokenRevoke, TokenRevokeReply, Tokens, Trust, TunnelReplay, TunnelReplayReply,
    TunnelRequests, TunnelRequestsReply, TunnelSetup, TunnelSetupReply, TunnelStart, TunnelStatus,
    TunnelStatusReply, TunnelStop, Undo, UndoReply, UnexpectedReply, VoiceReply, VoiceTurn, Why,
    WhyReply, WriteReply, hint,
};

/// An operation of the daemon. The value is its parameters.
pub trait Operation: Into<Request> {
    /// The type of its reply.
    type Reply: TryFrom<Reply, Error = UnexpectedReply>;

    /// Its name in logs and errors: usually the command without `brain`.
    const NAME: &'static str;

    /// Its row of [`OPERATIONS`].
    const INFO: OperationInfo;

    /// Returns the scope that a caller needs.
    fn scope(&self) -> Scope;

    /// Extracts the operation's reply.
    ///
    /// # Errors
    /// [`FaultCode::Internal`] if the daemon replied to another operation.
    fn read_reply(reply: Reply) -> Result<Self::Reply, Fault> {
        Self::Reply::try_from(reply).map_err(|UnexpectedReply| {
            let message = format!("the daemon returned an unexpected answer to `{}`", Self::NAME);
            Fault::new(FaultCode::Internal, message)
                .hint(hint!("restart the daemon: {}", Command::Restart))
        })
    }
}

/// The name of an operation, and the scope that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationInfo {
    /// The operation's name.
    pub name: &'static str,
    /// The scope that a caller needs. In [`OPERATIONS`], the highest scope that any request needs.
    pub scope: Scope,
}

/// A property of some operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Property {
    /// Permitted while the home is missing, as all `Read` operations are.
    WithoutHome,
    /// Can take minutes, or wait for other work.
    Slow,
}

/// Declares the operations in wire order: append only, and raise [`crate::PROTOCOL`].
///
/// A row is `Type, "name", Scope => ReplyType;`. `or VALUE if METHOD` is the name or scope of
/// requests for which the method returns `true`. Variants of [`Property`] follow the scope.
macro_rules! operations {
    ($(
        $operation:ident, $name:literal $(or $other:literal if $has_other:ident)?,
        $scope:ident $(or $lower:ident if $has_lower:ident)? $(, $property:ident)*
        => $reply:ident;
    )*) => {
        /// A request to the daemon.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Request {
            $(
                #[doc = concat!("The operation `", $name, "`.")]
                $operation($operation),
            )*
        }

        impl Request {
            /// Returns the name of the operation, for logs and errors.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(
                        $(Self::$operation(operation) if operation.$has_other() => $other,)?
                        Self::$operation(_) => $name,
                    )*
                }
            }

            /// Returns the scope that a caller needs.
            #[must_use]
            pub fn scope(&self) -> Scope {
                match self { $(Self::$operation(operation) => operation.scope(),)* }
            }

            /// Returns the name and the scope, which decide about permission.
            #[must_use]
            pub fn info(&self) -> OperationInfo {
                OperationInfo { name: self.name(), scope: self.scope() }
            }

            /// Returns whether the home must be at its path.
            #[must_use]
            pub fn needs_home(&self) -> bool {
                self.scope() > Scope::Read && !self.properties().contains(&Property::WithoutHome)
            }

            /// Returns whether the work can take minutes, or wait for other work.
            #[must_use]
            pub fn is_slow(&self) -> bool {
                self.properties().contains(&Property::Slow)
            }

            fn properties(&self) -> &'static [Property] {
                match self { $(Self::$operation(_) => &[$(Property::$property),*],)* }
            }
        }

        /// All operations, in wire order. An operation with two names has two rows.
        pub const OPERATIONS: &[OperationInfo] = &[
            $(
                <$operation as Operation>::INFO,
                $(OperationInfo { name: $other, scope: Scope::$scope },)?
            )*
        ];

        $(
            impl Operation for $operation {
                type Reply = $reply;

                const NAME: &'static str = $name;

                const INFO: OperationInfo =
                    OperationInfo { name: $name, scope: Scope::$scope };

                fn scope(&self) -> Scope {
                    $(if self.$has_lower() { return Scope::$lower; })?
                    Scope::$scope
                }
            }

            impl From<$operation> for Request {
                fn from(operation: $operation) -> Self {
                    Self::$operation(operation)
                }
            }
        )*
    };
}

operations! {
    Status, "status", Read => StatusReply;
    Stop, "stop", Admin, WithoutHome => StopReply;
    Capture, "capture", Write => WriteReply;
    Put, "put", Write => WriteReply;
    Get, "get", Read => Page;
    Search, "search", Read => Hits;
    List, "list", Read => Pages;
    Delete, "delete", Write => DeleteReply;
    Restore, "restore", Write => RestoreReply;
    History, "history", Read => HistoryReply;
    Revert, "revert", Write => WriteReply;
    Tags, "tags", Write or Read if is_lookup => TagsReply;
    Link, "link", Write => LinkReply;
    Links, "links", Read => LinksReply;
    Backlinks, "backlinks", Read => LinksReply;
    Graph, "graph", Read => GraphReply;
    Timeline, "timeline", Read => TimelineReply;
    Import, "import", Admin, Slow => ImportReply;
    Doctor, "doctor", Admin, WithoutHome, Slow => DoctorReply;
    SourceList, "sources list", Read => SourcesReply;
    SourceAdd, "sources add", Admin => SourceReply;
    SourceRemove, "sources remove", Admin, Slow => SourceReply;
    SourceDefault, "sources default", Admin or Read if is_lookup => SourceReply;
    Sync, "sync", Admin, Slow => SyncReply;
    Export, "export", Admin, WithoutHome => ExportReply;
    Backup, "backup", Admin, WithoutHome => BackupReply;
    BackupVerify, "backup verify", Admin, WithoutHome => BackupReply;
    BrokenLinks, "links --broken", Read => BrokenLinksReply;
    ClientRegister, "clients register", Admin => ClientRegisterReply;
    ClientList, "clients list", Admin, WithoutHome => Clients;
    ClientUpdate, "clients update", Admin => ClientReply;
    ClientRevoke, "clients revoke", Admin => ClientReply;
    TokenCreate, "token create", Admin => TokenCreateReply;
    TokenList, "token list", Admin, WithoutHome => Tokens;
    TokenRevoke, "token revoke", Admin => TokenRevokeReply;
    AdminToken, "token admin", Admin => AdminTokenReply;
    AuditList, "audit", Admin, WithoutHome => Audit;
    JobList, "jobs list", Admin, WithoutHome => Jobs;
    JobShow, "jobs show", Read => IngestJob;
    JobRetry, "jobs retry", Admin => JobRetryReply;
    Mcp, "mcp", Read => McpReply;
    ConnectTest, "connect test", Admin, Slow => ConnectReport;
    CollectorSetup, "collector setup", Admin, Slow => CollectorSetupReply;
    CollectorCollect, "collector collect", Admin, Slow => CollectorRun;
    CollectorStatus, "collector status", Admin => CollectorStatusReply;
    CollectorDeletions, "collector deletions", Admin => CollectorDeletionsReply;
    CollectorAlerts, "collector alerts", Admin => CollectorAlertsReply;
    CollectorDigest, "collector digest", Read => Digest;
    CollectorEnrich, "collector enrich", Admin, Slow => CollectorEnrichReply;
    CollectorCurve, "collector plot", Admin => Curve;
    TunnelSetup, "tunnel setup", Admin => TunnelSetupReply;
    TunnelStart, "tunnel start", Admin => TunnelStatusReply;
    TunnelStop, "tunnel stop", Admin, WithoutHome => TunnelStatusReply;
    TunnelStatus, "tunnel status", Admin => TunnelStatusReply;
    TunnelRequests, "tunnel requests", Admin => TunnelRequestsReply;
    TunnelReplay, "tunnel replay", Admin => TunnelReplayReply;
    VoiceTurn, "voice", Write => VoiceReply;
    Embed, "embed", Admin, Slow => EmbedReply;
    ModelInstall, "model install", Admin, Slow => ModelInstallReply;
    ModelList, "model list", Read => Models;
    // `ask` and `brainstorm` need `Admin`, because they can cost money.
    Ask, "ask", Admin, Slow => AskReply;
    Costs, "costs", Admin => CostsReply;
    Ideas, "brainstorm" or "lsd" if is_lsd, Admin, Slow => IdeasReply;
    IdeaRuns, "idea runs", Admin => IdeaRunsReply;
    Append, "append", Write => WriteReply;
    Diff, "diff", Read => DiffReply;
    Trust, "trust", Admin => WriteReply;
    Today, "today", Write => WriteReply;
    Random, "random", Read => Page;
    Orphans, "orphans", Read => Pages;
    Todos, "todos", Read => TodosReply;
    SourceSet, "sources set", Admin => SourceReply;
    BackupList, "backup list", Admin => BackupListReply;
    Rename, "mv", Write, Slow => MoveReply;
    Merge, "merge", Write, Slow => MoveReply;
    Purge, "purge", Admin, Slow => PurgeReply;
    Complete, "complete", Admin or Read if is_about_pages => Completions;
    BrowserOpen, "open", Admin => BrowserOpenReply;
    TimelineDays, "timeline --days", Read => TimelineDaysReply;
    GraphLayout, "graph --all", Read => GraphLayoutReply;
    Attach, "attach", Write => AttachReply;
    Detach, "attachments --remove", Write => AttachReply;
    AttachmentList, "attachments", Read => Attachments;
    AttachmentGet, "attachments --get", Read => AttachmentContent;
    MachinesPlan, "machines plan", Admin, Slow => MachinesPlanReply;
    MachinesInit, "machines init", Admin, Slow => MachinesInitReply;
    MachinesJoin, "machines join", Admin, Slow => MachinesJoinReply;
    MachineList, "machines list", Admin, WithoutHome => Machines;
    MachinesStatus, "machines status", Admin, WithoutHome => MachinesStatusReply;
    MachinesLeave, "machines leave", Admin, Slow => MachineRemoveReply;
    MachineRemove, "machines remove", Admin => MachineRemoveReply;
    MachinesRotateKey, "machines rotate-key", Admin => MachinesRotateKeyReply;
    ConflictList, "conflicts", Read => Conflicts;
    Keep, "keep", Write => WriteReply;
    ImportReports, "import --report", Admin => ImportReportsReply;
    Why, "why", Read => WhyReply;
    Undo, "undo", Admin or Write if is_of_caller, Slow => UndoReply;
    Redo, "redo", Write, Slow => UndoReply;
    AsOf, "as of", Admin or Read if only_reads, Slow => AsOfReply;
    Changes, "diff --since", Read, Slow => ChangesReply;
    LeftList, "left", Admin, WithoutHome => LeftReply;
    SeenList, "seen", Admin, WithoutHome => SeenReply;
    SeenReplay, "seen --replay", Admin, WithoutHome => SeenReplayReply;
    ContradictionList, "contradictions", Read, Slow => Contradictions;
    Settle, "settle", Admin, Slow => Settled;
    AnswerSave, "ask --save", Admin => WriteReply;
    StaleAnswerList, "ask --stale", Read, Slow => StaleAnswers;
    RecallRun, "recall", Admin, Slow => RecallReply;
    Resolve, "editor links", Read => ResolveReply;
    PageNames, "editor names", Read => PageNamesReply;
    EditorChanges, "editor changes", Read => EditorChangesReply;
    Refactor, "editor rename", Write, Slow => RefactorReply;
}

/// A request that only reads, answered from what brain had recorded at an earlier time.
///
/// That is not what pages say about their own dates: a page that tells of 2019 and was written
/// today is not there as of yesterday.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsOf {
    /// RFC 3339, or a day, which counts in full. A later time than now means now.
    pub at: String,
    /// The request.
    pub request: PastRequest,
}

impl AsOf {
    /// Whether the request needs no more than the scope `read`.
    pub(crate) fn only_reads(&self) -> bool {
        !matches!(self.request, PastRequest::Export(_))
    }
}

/// The requests that can be about the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PastRequest {
    /// A page.
    Get(Get),
    /// A search by words and links.
    Search(Search),
    /// A list of pages.
    List(List),
    /// The links of a page.
    Links(Links),
    /// The pages that linked to a page.
    Backlinks(Backlinks),
    /// The pages around a page.
    Graph(Graph),
    /// Dated lines.
    Timeline(Timeline),
    /// All pages, as files.
    Export(Export),
}

/// Declares which requests can be about the past.
macro_rules! past_requests {
    ($($request:ident),*) => {
        $(
            impl From<$request> for PastRequest {
                fn from(request: $request) -> Self {
                    Self::$request(request)
                }
            }
        )*

        impl From<PastRequest> for Request {
            fn from(request: PastRequest) -> Self {
                match request {
                    $(PastRequest::$request(request) => Self::$request(request),)*
                }
            }
        }
    };
}

past_requests!(Get, Search, List, Links, Backlinks, Graph, Timeline, Export);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_names_are_unique() {
        let mut names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// An operation that only reads needs neither a higher scope nor the home.
    #[test]
    fn lookups_need_less_than_changes() {
        let lookup = Tags { source: None, slug: None, add: Vec::new(), remove: Vec::new() };
        let change = Tags { add: vec!["x".into()], ..lookup.clone() };
        let cases: [(Request, Scope, bool); 5] = [
            (lookup.into(), Scope::Read, false),
            (change.into(), Scope::Write, true),
            (SourceDefault { id: None }.into(), Scope::Read, false),
            (Stop.into(), Scope::Admin, false),
            (Embed::default().into(), Scope::Admin, true),
        ];
        for (request, scope, needs_home) in cases {
            assert_eq!((request.scope(), request.needs_home()), (scope, needs_home), "{request:?}");
        }
        assert!(Request::from(Embed::default()).is_slow() && !Request::from(Stop).is_slow());
    }

    #[test]
    fn a_reply_to_another_operation_is_a_fault() {
        assert_eq!(Stop::read_reply(StopReply.into()), Ok(StopReply));
        let error = Status::read_reply(StopReply.into()).map_err(|fault| fault.code);
        assert_eq!(error, Err(FaultCode::Internal));
    }
}
