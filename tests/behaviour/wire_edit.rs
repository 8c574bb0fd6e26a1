//! The requests and replies that change existing pages, for `wire.rs`.

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
        Request::Diff(Diff { page: page(), from: Some(300), to: None }),
        Request::Trust(Trust { page: page() }),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let PageRef { slug, .. } = page();
    vec![(
        "diff",
        Reply::Diff(DiffReply {
            slug,
            source_id: SourceId::default(),
            from: 1,
            to: 300,
            added: 2,
            removed: 1,
            diff: "--- a\n".into(),
        }),
    )]
}
