//! One value of every request and reply about attachments, in wire order.

use brain_protocol::*;

fn page() -> PageRef {
    PageRef { source: Some(SourceId::default()), slug: Slug::parse("people/ada").unwrap() }
}

pub(crate) fn requests() -> Vec<Request> {
    let name = || "a.png".to_owned();
    vec![
        Request::Attach(Attach { page: page(), name: name(), content: b"bytes".to_vec() }),
        Request::Detach(Detach { page: page(), name: name() }),
        Request::AttachmentList(AttachmentList {
            page: Some(page()),
            source: Some(SourceId::default()),
        }),
        Request::AttachmentGet(AttachmentGet { page: page(), name: name() }),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let attachment = || Attachment {
        name: "a.png".into(),
        bytes: 300,
        media_type: "image/png".into(),
        hash: "ab".into(),
        attached_at: "2026-11-24".into(),
        pages: vec![page()],
    };
    let attached = AttachReply {
        status: ChangeStatus::Attached,
        slug: page().slug,
        source_id: SourceId::default(),
        version: 300,
        attachment: attachment(),
        warnings: vec!["w".into()],
    };
    let content = AttachmentContent { attachment: attachment(), content: b"bytes".to_vec() };
    vec![
        ("attach", Reply::Attach(attached)),
        ("attachments", Reply::Attachments(Attachments { attachments: vec![attachment()] })),
        ("attachment_content", Reply::AttachmentContent(content)),
    ]
}
