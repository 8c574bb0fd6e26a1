//! Tests of an endpoint with a fake network: requests, retries, messages, and use of the key.

use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::*;
use brain_base::clock::SystemClock;
use brain_fakes::{FakeNetwork, KEY};
use brain_net::HttpResponse;

fn answer(status: u16, body: &Value, headers: &[(&str, &str)]) -> Result<HttpResponse, NetError> {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Ok(HttpResponse { status, headers, body: body.to_string().into_bytes(), server_address: None })
}

/// Answers with one vector for each text, made from the length of the text, in reverse order.
fn vectors(body: &Value) -> Result<HttpResponse, NetError> {
    let texts = body["input"].as_array().unwrap();
    let rows = texts.iter().enumerate().rev().map(
        |(index, text)| json!({ "index": index, "embedding": [text.as_str().unwrap().len(), 1] }),
    );
    let data: Vec<Value> = rows.collect();
    answer(200, &json!({ "object": "list", "data": data, "usage": { "prompt_tokens": 9 } }), &[])
}

struct Fixture {
    net: FakeNetwork,
    dir: TempDir,
    settings: EndpointSettings,
    key: Option<&'static str>,
    price: u64,
}

impl Fixture {
    fn new(
        answers: impl Fn(usize, &Value) -> Result<HttpResponse, NetError> + Send + Sync + 'static,
    ) -> Self {
        let settings = EndpointSettings {
            base: Some(Url::parse("http://127.0.0.1:11434/v1/").unwrap()),
            model: "m".into(),
            query_prefix: "q: ".into(),
            document_prefix: "d: ".into(),
            dimensions: None,
        };
        let net = FakeNetwork::new(move |sent| answers(sent.index, &sent.body));
        let dir = tempfile::tempdir().unwrap();
        Self { net, dir, settings, key: Some(KEY), price: 0 }
    }

    fn ledger(&self) -> Arc<Ledger> {
        Arc::new(Ledger::new(&self.dir.path().join("costs.jsonl"), Arc::new(SystemClock)))
    }

    fn open(&self) -> EndpointClient {
        let key = self.key;
        let key_provider: KeyProvider = Box::new(move || Ok(key.map(Secret::new)));
        let price = Price { input: self.price, output: 0 };
        let mut endpoint = EndpointClient::open(
            self.settings.clone(),
            &self.net,
            key_provider,
            price,
            self.ledger(),
        )
        .unwrap();
        // Retries need no pause in tests.
        for policy in &mut endpoint.policy {
            policy.backoff = Backoff::new(Duration::from_millis(1), MAX_PAUSE);
        }
        endpoint
    }

    fn sent_bodies(&self) -> Vec<Value> {
        self.net.requests().into_iter().map(|sent| sent.body).collect()
    }

    /// Returns the authorization of the last request.
    fn authorization(&self) -> Option<String> {
        self.net.requests().pop().unwrap().authorization
    }

    fn embed(&self, texts: &[&str], purpose: VectorPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        self.open().embed(&texts, purpose, &|| true)
    }

    /// Embeds, and returns the error, which must contain neither the key nor a text.
    fn embed_error(&self, texts: &[&str]) -> EmbedError {
        let fault = self.embed(texts, VectorPurpose::Document).unwrap_err();
        let message = format!("{fault:?} {fault}");
        assert!(
            !message.contains(KEY) && !texts.iter().any(|text| message.contains(text)),
            "{message}"
        );
        fault
    }
}

#[test]
fn requests_follow_the_configuration_and_keep_order() {
    let fixture = Fixture::new(|_, body| vectors(body));
    let vectors = fixture.embed(&["a", "bb", ""], VectorPurpose::Document).unwrap();
    assert_eq!(vectors.len(), 3);
    for (vector, length) in vectors.iter().zip([4.0_f32, 5.0, 3.0]) {
        assert!((vector[0] / vector[1] - length).abs() < 1e-3, "{vector:?} {length}");
        assert!((vector[0].hypot(vector[1]) - 1.0).abs() < 1e-6);
    }
    assert_eq!(
        fixture.sent_bodies(),
        [json!({ "model": "m", "input": ["d: a", "d: bb", "d: "], "encoding_format": "float" })]
    );
    assert_eq!(fixture.authorization().as_deref(), Some("Bearer sk-very-secret-key"));
    fixture.embed(&["why"], VectorPurpose::Query).unwrap();
    assert_eq!(fixture.sent_bodies()[1]["input"], json!(["q: why"]));

    let mut unkeyed = Fixture::new(|_, body| self::vectors(body));
    (unkeyed.key, unkeyed.settings.dimensions, unkeyed.settings.document_prefix) =
        (None, Some(2), String::new());
    unkeyed.embed(&[" "], VectorPurpose::Document).unwrap();
    assert_eq!(unkeyed.sent_bodies()[0]["dimensions"], 2);
    assert_eq!(unkeyed.sent_bodies()[0]["input"], json!(["-"]), "a hyphen replaces an empty text");
    assert_eq!(unkeyed.authorization(), None);
    unkeyed.settings.base = Some(Url::parse("https://api.voyageai.com/v1").unwrap());
    unkeyed.embed(&["x"], VectorPurpose::Query).unwrap();
    assert_eq!(
        unkeyed.sent_bodies()[1],
        json!({ "model": "m", "input": ["q: x"], "input_type": "query", "output_dimension": 2 })
    );
}

#[test]
fn many_texts_are_sent_in_batches() {
    let fixture = Fixture::new(|_, body| vectors(body));
    let short: Vec<&str> = vec!["x"; MAX_BATCH_TEXTS + 1];
    assert_eq!(fixture.embed(&short, VectorPurpose::Document).unwrap().len(), MAX_BATCH_TEXTS + 1);
    let long = "x".repeat(MAX_BATCH_BYTES / 3);
    assert_eq!(
        fixture.embed(&[&long, &long, &long, &long], VectorPurpose::Document).unwrap().len(),
        4
    );
    let counts: Vec<usize> =
        fixture.sent_bodies().iter().map(|body| body["input"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [64, 1, 3, 1]);
    let huge = "é".repeat(MAX_TEXT_BYTES);
    fixture.embed(&[&huge], VectorPurpose::Document).unwrap();
    assert!(fixture.sent_bodies()[4]["input"][0].as_str().unwrap().len() <= MAX_TEXT_BYTES);
}

#[test]
fn a_space_is_requested_once_and_fixes_the_dimensions() {
    let fixture = Fixture::new(|index, _| {
        let length = if index < 2 { 3 } else { 4 };
        answer(200, &json!({ "data": [{ "index": 0, "embedding": vec![1; length] }] }), &[])
    });
    let endpoint = fixture.open();
    let space = endpoint.space().unwrap();
    assert_eq!((space.model.as_str(), space.dimensions), ("m", 3));
    assert_eq!(endpoint.space().unwrap(), space);
    assert_eq!(fixture.sent_bodies().len(), 1);
    endpoint.embed(&["a".into()], VectorPurpose::Document, &|| true).unwrap();
    let fault = endpoint.embed(&["a".into()], VectorPurpose::Document, &|| true).unwrap_err();
    assert!(fault.message.contains("4 numbers where 3 were expected"), "{fault}");
    // Another configuration gives another space.
    let mut other = Fixture::new(|_, body| vectors(body));
    other.settings.query_prefix = "other: ".into();
    other.settings.dimensions = Some(3);
    let other = other.open().space().unwrap();
    assert_ne!(other.identity, space.identity);
    for identity in [&space.identity, &other.identity] {
        assert!(!identity.contains(KEY));
    }
}

#[test]
fn only_temporary_errors_are_retried() {
    let fail_three_times = |index: usize, body: &Value| match index {
        0 => answer(429, &json!({}), &[("retry-after", "0")]),
        1 => answer(503, &json!({ "error": { "type": "overloaded" } }), &[]),
        2 => Err(NetError::ConnectionBroken("x".into())),
        _ => vectors(body),
    };
    let fixture = Fixture::new(fail_three_times);
    assert!(fixture.embed(&["text"], VectorPurpose::Document).is_ok());
    assert_eq!(fixture.sent_bodies().len(), 4);

    let limited = Fixture::new(|_, _| answer(429, &json!({}), &[("retry-after", "3600")]));
    assert_eq!(limited.embed_error(&["a text"]).kind, EmbedErrorKind::Retryable(Some(3600)));
    assert_eq!(limited.sent_bodies().len(), 1, "a wait of an hour is too long for a retry");

    let down = Fixture::new(|_, _| Err(NetError::ConnectionRefused));
    assert_eq!(down.embed_error(&["a text"]).kind, EmbedErrorKind::Retryable(None));
    assert_eq!(down.sent_bodies().len(), 6);

    for (status, body, kind, message_part) in [
        (
            401,
            json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } }),
            EmbedErrorKind::Refused,
            "401",
        ),
        (404, json!({ "error": "model not found" }), EmbedErrorKind::Refused, "404"),
        (
            400,
            json!({ "error": { "code": "unsupported_value", "param": "dimensions" } }),
            EmbedErrorKind::Refused,
            "dimensions",
        ),
        (
            400,
            json!({ "error": { "message": "about a text that is secret", "code": KEY } }),
            EmbedErrorKind::Refused,
            "400",
        ),
        (402, json!({}), EmbedErrorKind::Retryable(Some(3600)), "402"),
        (
            429,
            json!({ "error": { "code": "insufficient_quota" } }),
            EmbedErrorKind::Retryable(Some(3600)),
            "insufficient_quota",
        ),
    ] {
        let fixture = Fixture::new(move |_, _| answer(status, &body, &[]));
        let fault = fixture.embed_error(&["a text that is secret"]);
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.contains(message_part) && fault.hint.is_some(), "{fault:?}");
        assert_eq!(fixture.sent_bodies().len(), 1, "{status}");
    }
    let mut unkeyed = Fixture::new(|_, _| answer(401, &json!({}), &[]));
    unkeyed.key = None;
    assert!(
        unkeyed
            .embed_error(&["x y"])
            .hint
            .unwrap()
            .to_string()
            .contains("secrets/embedding-api-key")
    );
}

#[test]
fn large_batches_are_split_and_long_texts_truncated() {
    let fixture = Fixture::new(|_, body| {
        let texts = body["input"].as_array().unwrap();
        let bytes: usize = texts.iter().map(|text| text.as_str().unwrap().len()).sum();
        match bytes {
            0..=400 => vectors(body),
            401..=900 => answer(
                500,
                &json!({ "error": { "message": "input is too large to process" } }),
                &[],
            ),
            _ => answer(
                400,
                &json!({ "error": { "message": "maximum context length is 400" } }),
                &[],
            ),
        }
    });
    let texts = ["a".repeat(390), "b".repeat(300), "c".repeat(2000), "d".repeat(10)];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = fixture.embed(&texts, VectorPurpose::Document).unwrap();
    let lengths: Vec<i32> = vectors.iter().map(|v| (v[0] / v[1]).round() as i32).collect();
    assert_eq!(lengths, [393, 303, 250, 13]);

    let always_too_large = Fixture::new(|_, _| answer(413, &json!({}), &[]));
    assert_eq!(always_too_large.embed_error(&[&"x ".repeat(500)]).kind, EmbedErrorKind::Text);
    assert!(always_too_large.sent_bodies().len() < 8);
}

#[test]
fn an_invalid_response_is_an_error() {
    for body in ["<html></html>", "", "{\"data\":[{\"embedding\":[1,2", "{}", "{\"data\":[]}"] {
        let fixture = Fixture::new(move |_, _| {
            Ok(HttpResponse {
                status: 200,
                headers: Vec::new(),
                body: body.into(),
                server_address: None,
            })
        });
        let fault = fixture.embed_error(&["a text"]);
        assert_eq!(fault.kind, EmbedErrorKind::Retryable(None), "{body}");
        assert!(fault.message.contains("does not answer with vectors"), "{fault}");
    }
    let mut endless = Fixture::new(|_, _| {
        Ok(HttpResponse {
            status: 200,
            headers: Vec::new(),
            body: vec![b' '; 4 * MAX_RESPONSE_BYTES],
            server_address: None,
        })
    });
    endless.key = None;
    assert!(endless.embed_error(&["a text"]).message.contains("too long"));
}

#[test]
fn a_stopped_call_ends_early() {
    let calls = Arc::new(AtomicUsize::new(0));
    let fixture = Fixture::new(|_, body| vectors(body));
    let counter = Arc::clone(&calls);
    let should_continue = move || counter.fetch_add(1, Ordering::SeqCst) < 2;
    let fault =
        fixture.open().embed(&["a".into()], VectorPurpose::Document, &should_continue).unwrap_err();
    assert_eq!(fault.kind, EmbedErrorKind::Stopped);
    let stopped =
        fixture.open().embed(&["a".into()], VectorPurpose::Document, &|| false).unwrap_err();
    assert_eq!((stopped.kind, fixture.sent_bodies().len()), (EmbedErrorKind::Stopped, 1));
}

#[test]
fn a_paid_call_is_in_the_ledger_before_it_is_made() {
    let mut fixture = Fixture::new(|_, body| vectors(body));
    fixture.price = 20_000;
    fixture.embed(&["text"], VectorPurpose::Document).unwrap();
    let costs = fixture.ledger().read(None, None, 10).unwrap();
    let call = costs.calls.first().unwrap();
    assert_eq!(
        (call.purpose.as_str(), call.model.as_str(), call.state.as_str()),
        ("embedding", "m", "done")
    );
    assert_eq!(call.spent.tokens_in, 9);

    let mut refused = Fixture::new(|_, _| answer(401, &json!({}), &[]));
    refused.price = 20_000;
    refused.embed_error(&["a text"]);
    let costs = refused.ledger().read(None, None, 10).unwrap();
    assert_eq!(costs.total.actual, 0, "a refused request costs nothing");

    // A call that cannot be recorded is not sent.
    let mut full = Fixture::new(|_, body| vectors(body));
    full.price = 20_000;
    std::fs::create_dir(full.dir.path().join("costs.jsonl")).unwrap();
    assert_eq!(full.embed_error(&["a text"]).kind, EmbedErrorKind::Budget);
    assert_eq!(full.sent_bodies().len(), 0);
}
