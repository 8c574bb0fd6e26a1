//! One value of every request and reply about edits, differences, moves and purges, in wire order.

use brain_protocol::*;

fn page() -> PageRef {
    let slug = Slug::parse("people/ada").unwrap();
    PageRef { source: Some(SourceId::parse("work").unwrap()), slug }
}

pub(crate) fn requests() -> Vec<Request> {
    vec![
        Request::Append(Append {
            page: page(),
            content: b"text".to_vec(),
            origin: Origin::Argument,
            section: Some("Log".into()),
        }),
        Request::Diff(Diff {
            page: page(),
            from: Some(300),
            to: None,
            other: Some(DiffOther::Original),
        }),
        Request::Trust(Trust { page: page() }),
    ]
}

pub(crate) fn move_requests() -> Vec<Request> {
    vec![
        Request::Rename(Rename { page: page(), to: Slug::parse("ada").unwrap() }),
        Request::Merge(Merge { page: page(), into: Slug::parse("ada").unwrap() }),
        Request::Purge(Purge { page: page(), version: Some(300) }),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let (slug, source_id) = (page().slug, SourceId::default());
    vec![(
        "diff",
        Reply::Diff(DiffReply {
            slug: slug.clone(),
            source_id: source_id.clone(),
            from: 1,
            to: 300,
            added: 2,
            removed: 1,
            diff: "--- a\n".into(),
            other: Some("a.md".into()),
        }),
    )]
}

pub(crate) fn move_replies() -> Vec<(&'static str, Reply)> {
    let (slug, source_id) = (page().slug, SourceId::default());
    vec![
        (
            "move",
            Reply::Move(MoveReply {
                status: PageChange::Merged,
                slug: slug.clone(),
                from: Slug::parse("ada").unwrap(),
                source_id: source_id.clone(),
                version: 300,
                written: true,
                path: "/p".into(),
                pages: vec![page()],
                left: vec!["l".into()],
                recoverable_until: Some("2026-11-24".into()),
                warnings: vec!["w".into()],
            }),
        ),
        (
            "purge",
            Reply::Purge(PurgeReply {
                status: PageChange::Purged,
                slug,
                source_id,
                version: Some(300),
                versions: 1,
                backups: vec!["/b".into()],
                warnings: vec!["w".into()],
            }),
        ),
    ]
}
