//! One value of every request and reply about completions, the browser, the days of the timeline,
//! and the graph of all pages, in wire order.

use brain_protocol::{
    BrowserOpen, BrowserOpenReply, Complete, CompletionKind, CompletionValue, Completions,
    DayCount, GraphLayout, GraphLayoutReply, LayoutEdge, LayoutNode, PageRef, Reply, Request,
    Secret, Slug, SourceId, TimelineDays, TimelineDaysReply, TrustLevel,
};

pub(crate) fn requests() -> Vec<Request> {
    let page = PageRef { source: None, slug: Slug::parse("a").unwrap() };
    let layout = GraphLayout {
        page: Some(page.clone()),
        depth: 2,
        source: SourceId::parse("work").ok(),
        page_type: Some("idea".into()),
        tag: Some("t".into()),
        until: Some("2026-11-21".into()),
        limit: Some(300),
        skip: 600,
    };
    vec![
        Request::Complete(Complete { kind: CompletionKind::Client, text: "Pho".into() }),
        Request::BrowserOpen(BrowserOpen { page: Some(page), sign_out: true }),
        Request::TimelineDays(TimelineDays {
            source: SourceId::parse("work").ok(),
            since: Some("2026-01-01".into()),
            until: None,
        }),
        Request::GraphLayout(layout),
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
    let node = LayoutNode {
        slug: Slug::parse("a").unwrap(),
        source: 0,
        title: "A".into(),
        page_type: 0,
        links: 300,
        created_day: 20_000,
        x: 1,
        y: 65_535,
        trust: TrustLevel::Outside,
    };
    let layout = GraphLayoutReply {
        sources: vec![SourceId::default()],
        types: vec!["idea".into()],
        nodes: vec![node],
        edges: vec![LayoutEdge { from: 0, to: 1 }],
        total: 2,
        truncated: true,
    };
    vec![
        ("completions", Reply::Completions(Completions { values: vec![value] })),
        ("browser_open", Reply::BrowserOpen(open)),
        ("timeline_days", Reply::TimelineDays(days)),
        ("graph_layout", Reply::GraphLayout(layout)),
    ]
}
