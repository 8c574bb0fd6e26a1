//! Wire fixtures of completions.

use brain_protocol::{Complete, CompletionKind, CompletionValue, Completions, Reply, Request};

pub(crate) fn requests() -> Vec<Request> {
    vec![Request::Complete(Complete { kind: CompletionKind::Client, text: "Pho".into() })]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let value = CompletionValue { value: "a".into(), description: "A".into() };
    vec![("completions", Reply::Completions(Completions { values: vec![value] }))]
}
