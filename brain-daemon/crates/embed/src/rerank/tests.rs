//! Tests of a reranker's endpoint with a fake network: requests, answers, costs, and where the key
//! appears.

use serde_json::Value;

use super::*;
use brain_base::clock::SystemClock;
use brain_fakes::{FakeNetwork, KEY, RecordedRequest};
use brain_net::{Error as NetError, HttpResponse};

fn answer(status: u16, body: &Value) -> Result<HttpResponse, NetError> {
    let body = body.to_string().into_bytes();
    Ok(HttpResponse { status, headers: Vec::new(), body, server_address: None })
}

/// The outcome of one call: the scores of the texts, the request, and the calls in the ledger as
/// state and input tokens.
type Outcome = (Result<Vec<f32>, EmbedError>, RecordedRequest, Vec<(String, u64)>);

/// Reranks two texts at a fake endpoint.
fn rerank(
    price: u64,
    respond: impl Fn(&RecordedRequest) -> Result<HttpResponse, NetError> + Send + Sync + 'static,
) -> Outcome {
    let net = FakeNetwork::new(respond);
    let dir = tempfile::tempdir().unwrap();
    let ledger = Arc::new(Ledger::new(&dir.path().join("costs.jsonl"), Arc::new(SystemClock)));
    let base = Url::parse("http://127.0.0.1:8080/v1/").unwrap();
    let price = Price { input: price, output: 0 };
    let key: KeyProvider = Box::new(|| Ok(Some(Secret::new(KEY))));
    let endpoint =
        RerankEndpoint::open(Some(&base), "m".into(), &net, key, price, ledger.clone()).unwrap();
    let scores = endpoint.rerank("why?", &["one".into(), "two".into()], &|| true);
    if let Err(error) = &scores {
        let text = format!("{error:?} {error}");
        assert!(!text.contains(KEY) && !text.contains("why?") && !text.contains("two"), "{text}");
    }
    let calls = ledger.read(None, None, 9).unwrap().calls;
    let calls =
        calls.into_iter().map(|call| (call.state.to_string(), call.spent.tokens_in)).collect();
    (scores, net.requests().pop().unwrap(), calls)
}

#[test]
fn a_request_has_the_form_of_jina_and_cohere() {
    let rows = json!({ "results": [
        { "index": 1, "relevance_score": 0.9, "document": { "text": "two" } },
        { "index": 0, "relevance_score": -4.5 },
    ] });
    let (scores, sent, calls) = rerank(0, move |_| answer(200, &rows));
    assert_eq!(scores.unwrap(), [-4.5, 0.9], "in the order of the texts");
    assert_eq!(sent.url, "http://127.0.0.1:8080/v1/rerank");
    assert_eq!(
        sent.body,
        json!({ "model": "m", "query": "why?", "documents": ["one", "two"], "top_n": 2 })
    );
    assert_eq!(sent.authorization.unwrap(), format!("Bearer {KEY}"));
    assert_eq!(calls, [], "a free service is not in the ledger");
}

#[test]
fn paid_calls_are_in_the_ledger() {
    let rows = |usage: Value| {
        json!({ "data": [
            { "index": 0, "relevance_score": 1 }, { "index": 1, "relevance_score": 2 } ],
            "usage": usage })
    };
    let counted = rows(json!({ "total_tokens": 7 }));
    let (scores, _, calls) = rerank(50_000, move |_| answer(200, &counted));
    assert_eq!((scores.unwrap(), calls.len(), calls[0].1), (vec![1.0, 2.0], 1, 7));
    // Without a reported count, each text counts as (4 + 3) / 2 + 8 tokens.
    let uncounted = rows(json!({}));
    let (scores, _, calls) = rerank(50_000, move |_| answer(200, &uncounted));
    assert_eq!((scores.is_ok(), calls[0].1), (true, 22));
    let (scores, _, calls) = rerank(50_000, |_| answer(401, &json!({ "detail": "why? two" })));
    assert_eq!(
        (scores.unwrap_err().kind, calls.iter().map(|call| call.1).sum()),
        (EmbedErrorKind::Refused, 0)
    );
}

#[test]
fn incomplete_answers_are_refused() {
    let row = |index: u64| json!({ "index": index, "relevance_score": 0.5 });
    for body in [
        json!({ "results": [row(0)] }),
        json!({ "results": [row(0), row(0)] }),
        json!({ "results": [row(0), row(2)] }),
        json!({ "results": [row(0), { "index": 1, "relevance_score": null }] }),
        json!({ "results": "none" }),
        json!([]),
    ] {
        let (scores, ..) = rerank(0, move |_| answer(200, &body));
        assert_eq!(scores.unwrap_err().kind, EmbedErrorKind::Retryable(None));
    }
    let (scores, ..) = rerank(0, |_| Err(NetError::ConnectionRefused));
    assert!(scores.unwrap_err().message.contains("does not answer"));
    let (scores, ..) = rerank(0, |_| answer(503, &Value::Null));
    assert_eq!(scores.unwrap_err().kind, EmbedErrorKind::Retryable(None));
}

#[test]
fn an_address_and_a_model_are_needed() {
    let open = |base: Option<&str>, model: &str| {
        let net = FakeNetwork::new(|_| Err(NetError::ConnectionRefused));
        let dir = tempfile::tempdir().unwrap();
        let ledger = Arc::new(Ledger::new(&dir.path().join("costs.jsonl"), Arc::new(SystemClock)));
        let base = base.map(|base| Url::parse(base).unwrap());
        let key: KeyProvider = Box::new(|| Ok(None));
        RerankEndpoint::open(base.as_ref(), model.into(), &net, key, Price::default(), ledger)
            .is_ok()
    };
    assert!(open(Some("https://api.jina.ai/v1"), "m"));
    assert!(!open(None, "m") && !open(Some("https://api.jina.ai/v1"), ""));
}
