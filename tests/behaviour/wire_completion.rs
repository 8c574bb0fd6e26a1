//! Wire fixtures of completions and of the page in the browser.

use brain_protocol::{
    BrowserOpen, BrowserOpenReply, Complete, CompletionKind, CompletionValue, Completions, PageRef,
    Reply, Request, Secret, Slug,
};

pub(crate) fn requests() -> Vec<Request> {
    let page = PageRef { source: None, slug: Slug::parse("a").unwrap() };
    vec![
        Request::Complete(Complete { kind: CompletionKind::Client, text: "Pho".into() }),
        Request::BrowserOpen(BrowserOpen { page: Some(page), sign_out: true }),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let value = CompletionValue { value: "a".into(), description: "A".into() };
    let url = Some(Secret::new("http://127.0.0.1:3131/open/c"));
    let open = BrowserOpenReply { url, valid_seconds: 60, signed_out: 1 };
    vec![
        ("completions", Reply::Completions(Completions { values: vec![value] })),
        ("browser_open", Reply::BrowserOpen(open)),
    ]
}
