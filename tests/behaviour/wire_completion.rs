//! Wire fixtures of completions and of the page in the browser.

use brain_protocol::{
    BrowserOpen, BrowserOpenReply, Complete, CompletionKind, CompletionValue, Completions,
    DayCount, PageRef, Reply, Request, Secret, Slug, SourceId, TimelineDays, TimelineDaysReply,
};

pub(crate) fn requests() -> Vec<Request> {
    let page = PageRef { source: None, slug: Slug::parse("a").unwrap() };
    vec![
        Request::Complete(Complete { kind: CompletionKind::Client, text: "Pho".into() }),
        Request::BrowserOpen(BrowserOpen { page: Some(page), sign_out: true }),
        Request::TimelineDays(TimelineDays {
            source: SourceId::parse("work").ok(),
            since: Some("2026-01-01".into()),
            until: None,
        }),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let value = CompletionValue { value: "a".into(), description: "A".into() };
    let url = Some(Secret::new("http://127.0.0.1:3131/open/c"));
    let open = BrowserOpenReply { url, valid_seconds: 60, signed_out: 1 };
    let days = TimelineDaysReply {
        days: vec![DayCount { date: "2026-03-04".into(), entries: 300 }],
        before: Some("2025-12-31".into()),
        after: None,
    };
    vec![
        ("completions", Reply::Completions(Completions { values: vec![value] })),
        ("browser_open", Reply::BrowserOpen(open)),
        ("timeline_days", Reply::TimelineDays(days)),
    ]
}
