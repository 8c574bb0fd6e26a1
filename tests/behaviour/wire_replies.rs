//! One value of every reply, in wire order.

use brain_protocol::*;

fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

fn source(text: &str) -> SourceId {
    SourceId::parse(text).unwrap()
}

pub(crate) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn source_row() -> SourceRow {
    SourceRow {
        source_id: source("work"),
        path: "/notes".into(),
        default: true,
        git: false,
        pages: 1,
        added_at: "2026-11-21T10:00:00.000Z".into(),
        synced_at: Some("2026-11-21T11:00:00.000Z".into()),
        problem: Some("p".into()),
        include: texts(&["i"]),
        exclude: texts(&["e"]),
        provenance: true,
        links: Some(SymbolicLinks { count: 4, first: texts(&["l"]) }),
    }
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let at = || "2026-11-21T10:30:45.123Z".to_owned();
    let some = |text: &str| Some(text.to_owned());
    let (page_slug, default_source) = (slug("a"), SourceId::default());
    vec![
        (
            "status",
            Reply::Status(StatusReply {
                version: VERSION.into(),
                pid: 7,
                home: "/h".into(),
                socket: "/s".into(),
                uptime_seconds: 70_000,
                schema: 81,
                pages: 1,
                deleted: 2,
                sources: 3,
                store_bytes: 1 << 33,
                index_behind: 4,
                outbox: 5,
                degraded: vec!["x".into()],
                http_local: some("127.0.0.1:3131"),
                http_public: None,
                jobs: JobCounts { waiting: 1, failed: 2, stored: 70_000 },
                workers: vec![
                    WorkerStatus {
                        name: "audit".into(),
                        state: WorkerState::Waiting,
                        restarts: 0,
                        failure: None,
                    },
                    WorkerStatus {
                        name: "ingest".into(),
                        state: WorkerState::Restarting,
                        restarts: 3,
                        failure: Some(WorkerFailure { message: "m".into(), at: at() }),
                    },
                ],
                machines: some("laptop: follows h:5432/b"),
            }),
        ),
        ("stopping", Reply::Stopping(StopReply)),
        (
            "written",
            Reply::Write(WriteReply {
                slug: page_slug.clone(),
                status: WriteStatus::Restored,
                duplicate: true,
                chunks: 2,
                content_hash: "ab".repeat(32),
                written: false,
                path: "/p".into(),
                source_id: default_source.clone(),
                source_kind: some("capture-cli"),
                source_uri: some("cli:stdin"),
                captured_at: None,
                warnings: vec!["w".into()],
                version: 7,
            }),
        ),
        (
            "page",
            Reply::Page(Page {
                slug: page_slug.clone(),
                source_id: default_source.clone(),
                page_type: "note".into(),
                title: "日本".into(),
                tags: vec!["t".into()],
                aliases: vec!["al".into()],
                frontmatter: "a: 1\n".into(),
                body: "b".into(),
                content: "c".into(),
                content_hash: "cd".repeat(32),
                chunks: 1,
                created_at: at(),
                updated_at: at(),
                source_path: some("a.md"),
                source_kind: some("import"),
                source_uri: None,
                ingested_via: some("import"),
                ingested_at: None,
                version: 9,
                trust: TrustLevel::Mixed,
                outside_lines: vec![MarkedLines {
                    first: 3,
                    last: 300,
                    source_kind: "mcp:put_page".into(),
                    source_uri: "mcp:robot".into(),
                    written_at: at(),
                }],
                copy_of: some("b.md"),
            }),
        ),
        (
            "hits",
            Reply::Hits(Hits {
                query: "q".into(),
                hits: vec![Hit {
                    slug: page_slug.clone(),
                    source_id: default_source.clone(),
                    title: "t".into(),
                    page_type: "note".into(),
                    score: 1.5,
                    snippet: "s".into(),
                    highlights: vec![(0, 1)],
                    chunk: 3,
                    matched: vec!["title".into()],
                    updated_at: at(),
                    explain: vec![ScorePart { reason: "text: q".into(), score: -0.25 }],
                    line: 300,
                    source_kind: some("webhook"),
                    source_uri: some("https://e.org"),
                    url: some("https://x"),
                    trust: TrustLevel::Outside,
                    path: some("/p"),
                    also_in: vec!["work:b".into()],
                    copy_of: some("c.md"),
                }],
                truncated: true,
                degraded: some("d"),
                took_us: 99,
                default_source: default_source.clone(),
                note: some("n"),
            }),
        ),
        (
            "pages",
            Reply::Pages(Pages {
                pages: vec![PageRow {
                    slug: page_slug.clone(),
                    source_id: default_source.clone(),
                    title: "t".into(),
                    page_type: "note".into(),
                    tags: vec![],
                    created_at: at(),
                    updated_at: at(),
                    deleted_at: Some(at()),
                    recoverable_until: None,
                    source_kind: some("sync"),
                    trust: TrustLevel::Owner,
                    path: some("/p"),
                    copy_of: some("d.md"),
                }],
                truncated: true,
                next: some("n"),
                default_source: source("work"),
                damaged: vec![Fault::new(FaultCode::StoreDamaged, "d").hint("h")],
            }),
        ),
        (
            "deleted",
            Reply::Delete(DeleteReply {
                status: "soft_deleted".into(),
                slug: page_slug.clone(),
                source_id: default_source.clone(),
                recoverable_until: at(),
                warnings: vec![],
            }),
        ),
        (
            "restored",
            Reply::Restore(RestoreReply {
                status: "restored".into(),
                slug: page_slug.clone(),
                source_id: default_source.clone(),
                path: "/p".into(),
                warnings: vec![],
            }),
        ),
        (
            "history",
            Reply::History(HistoryReply {
                slug: page_slug.clone(),
                source_id: default_source.clone(),
                versions: vec![VersionRow {
                    version: 2,
                    current: true,
                    written_at: at(),
                    title: "t".into(),
                    page_type: "note".into(),
                    content_hash: "ef".repeat(32),
                    bytes: 5_000_000,
                    written_via: some("mcp:put_page"),
                    written_by: some("robot"),
                    trust: TrustLevel::Mixed,
                    outside_lines: vec![],
                    lines_added: Some(300),
                    lines_removed: None,
                }],
            }),
        ),
        (
            "tag_counts",
            Reply::TagCounts(TagCounts { tags: vec![TagCount { tag: "t".into(), pages: 251 }] }),
        ),
        (
            "page_tags",
            Reply::PageTags(PageTags {
                slug: page_slug.clone(),
                source_id: default_source.clone(),
                tags: vec!["t".into()],
                changed: true,
                warnings: vec![],
            }),
        ),
        (
            "linked",
            Reply::Link(LinkReply {
                from: page_slug.clone(),
                to: slug("b"),
                kind: "related".into(),
                status: "added".into(),
                target_exists: true,
                warnings: vec![],
            }),
        ),
        (
            "links",
            Reply::Links(LinksReply {
                slug: page_slug.clone(),
                source_id: default_source.clone(),
                direction: "backlinks".into(),
                links: vec![LinkRow {
                    slug: Some(slug("b")),
                    source_id: Some(default_source.clone()),
                    title: some("B"),
                    target: "B".into(),
                    kind: "mentions".into(),
                    status: "live".into(),
                    source_kind: some("import"),
                    trust: TrustLevel::Mixed,
                    path: some("/p"),
                    sentence: some("s"),
                }],
                truncated: false,
            }),
        ),
        (
            "graph",
            Reply::Graph(GraphReply {
                nodes: vec![GraphNode {
                    slug: page_slug.clone(),
                    source_id: default_source.clone(),
                    title: "t".into(),
                    page_type: "note".into(),
                    depth: 1,
                    source_kind: None,
                    trust: TrustLevel::Owner,
                }],
                edges: vec![GraphEdge { from: 0, to: 1, kind: "related".into() }],
                truncated: false,
            }),
        ),
        (
            "timeline",
            Reply::Timeline(TimelineReply {
                entries: vec![TimelineRow {
                    date: "2024-02-29".into(),
                    text: "x".into(),
                    source: some("s"),
                    slug: page_slug,
                    source_id: default_source,
                    source_kind: some("collector"),
                    trust: TrustLevel::Outside,
                    path: some("/p"),
                }],
                truncated: false,
            }),
        ),
        (
            "import",
            Reply::Import(ImportReply {
                status: "partial".into(),
                dry_run: false,
                files: 3,
                created: 1,
                updated: 0,
                restored: 1,
                unchanged: 1,
                skipped: 2,
                failed: vec![ImportFailure { path: "x.md".into(), reason: "r".into() }],
                failed_total: 1,
                warnings: vec![],
                took_ms: 12,
                left_out: IgnoredFiles { files: 1, directories: 2, paths: texts(&["d/"]) },
                not_imported: vec![ImportFailure { path: "a.ics".into(), reason: "c".into() }],
            }),
        ),
        (
            "doctor",
            Reply::Doctor(DoctorReply {
                status: "warnings".into(),
                health_score: 95,
                checks: vec![Check {
                    name: "clock".into(),
                    status: CheckStatus::Warn,
                    message: "m".into(),
                    hint: Some("date -u".into()),
                }],
            }),
        ),
        ("sources", Reply::Sources(SourcesReply { sources: vec![source_row()] })),
        (
            "source",
            Reply::Source(SourceReply {
                status: "added".into(),
                source: source_row(),
                warnings: texts(&["w"]),
            }),
        ),
        (
            "sync",
            Reply::Sync(SyncReply {
                status: "partial".into(),
                dry_run: true,
                sources: vec![SyncedSource {
                    source_id: source("work"),
                    path: "/notes".into(),
                    status: "partial".into(),
                    problem: some("p"),
                    pull: Pull { status: "updated".into(), message: some("m") },
                    files: 1,
                    added: 2,
                    updated: 3,
                    restored: 4,
                    renamed: 5,
                    removed: 6,
                    unchanged: 7,
                    held_back: 8,
                    failed: vec![ImportFailure { path: "a.md".into(), reason: "r".into() }],
                    failed_total: 9,
                    conflicts: vec![SyncConflict {
                        slug: slug("b"),
                        path: "b.md".into(),
                        kept_version: 10,
                    }],
                    warnings: texts(&["w"]),
                    left_out: IgnoredFiles { files: 1, directories: 2, paths: texts(&["d/"]) },
                }],
                took_ms: 11,
            }),
        ),
        (
            "export",
            Reply::Export(ExportReply {
                status: "partial".into(),
                path: "/out".into(),
                files: 1,
                bytes: 2,
                failed: vec![ImportFailure { path: "a.md".into(), reason: "r".into() }],
                failed_total: 3,
                attachments: 4,
            }),
        ),
        (
            "backup",
            Reply::Backup(BackupReply {
                status: "written".into(),
                path: "/b.redb".into(),
                bytes: 1,
                schema: 82,
                pages: 2,
                deleted: 3,
                versions: 4,
                made_at: some("2026-11-21T10:00:00.000Z"),
                warnings: texts(&["w"]),
                attachments: 5,
            }),
        ),
        (
            "broken-links",
            Reply::BrokenLinks(BrokenLinksReply {
                links: vec![BrokenLink {
                    slug: slug("a"),
                    source_id: source("work"),
                    target: "Ada".into(),
                    kind: "mentions".into(),
                    status: "ambiguous".into(),
                    candidates: vec![slug("b"), slug("c")],
                }],
                missing: 1,
                ambiguous: 2,
                truncated: true,
            }),
        ),
    ]
    .into_iter()
    .chain(crate::wire_access::replies())
    .chain(crate::wire_collector::replies())
    .chain(crate::wire_tunnel::replies())
    .chain(crate::wire_meaning::replies())
    .chain(crate::wire_edit::replies())
    .chain(crate::wire_everyday::replies())
    .chain(crate::wire_edit::move_replies())
    .chain(crate::wire_completion::replies())
    .chain(crate::wire_attachments::replies())
    .chain(crate::wire_machines::replies())
    .chain(crate::wire_conflict::replies())
    .collect()
}
