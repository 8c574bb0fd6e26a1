//! One value of every request and reply about conflicts of pages and files, in wire order.

use brain_protocol::*;

pub(crate) fn requests() -> Vec<Request> {
    let page = PageRef { source: None, slug: Slug::parse("people/ada").unwrap() };
    vec![Request::ConflictList(ConflictList), Request::Keep(Keep { page, side: KeptSide::File })]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let conflict = Conflict {
        slug: Slug::parse("people/ada").unwrap(),
        source_id: SourceId::default(),
        path: "people/ada.md".into(),
        reason: "r".into(),
        file_version: Some(300),
        page_changed_at: "2026-11-28T10:30:45.123Z".into(),
        file_changed_at: "2026-11-28T10:31:45.123Z".into(),
    };
    vec![("conflicts", Reply::Conflicts(Conflicts { conflicts: vec![conflict] }))]
}
