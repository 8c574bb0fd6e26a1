//! Tests of both APIs with a fake network: requests, answers, errors, and the secrecy of the key.

use std::path::Path;
use std::sync::Arc;

use brain_protocol::Secret;
use serde_json::{Value, json};
use url::Url;

use super::*;
use brain_base::clock::SystemClock;
use brain_costs::{Ledger, Price};
use brain_fakes::{FakeNetwork, KEY, RecordedRequest};
use brain_net::{Error as NetError, HttpResponse};

pub(super) fn answer(status: u16, body: &Value) -> Result<HttpResponse, NetError> {
    Ok(HttpResponse {
        status,
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
        server_address: None,
    })
}

fn settings(provider: Provider, base: Option<&str>) -> ModelSettings {
    let base = base.map(|base| Url::parse(base).unwrap());
    let idle_timeout = Duration::from_secs(180);
    ModelSettings { provider, base, model: None, vision_model: None, idle_timeout }
}

/// Opens a model without a price, which needs no ledger.
fn open(
    provider: Provider,
    base: Option<&str>,
    key: Option<&str>,
    net: &FakeNetwork,
) -> Result<Model, ModelError> {
    let ledger = Arc::new(Ledger::new(Path::new("/nowhere/costs.jsonl"), Arc::new(SystemClock)));
    let meter = CostMeter { ledger, price: Price::default() };
    Model::open(&settings(provider, base), "m", key.map(Secret::new), net, meter)
}

/// Opens a model at 1 USD per million input tokens and 2 USD per million output tokens, with its
/// ledger in `dir`.
pub(super) fn paid_model(
    provider: Provider,
    net: &FakeNetwork,
    dir: &Path,
) -> (Model, Arc<Ledger>) {
    let ledger = Arc::new(Ledger::new(&dir.join("costs.jsonl"), Arc::new(SystemClock)));
    let price = Price { input: 1_000_000, output: 2_000_000 };
    let meter = CostMeter { ledger: Arc::clone(&ledger), price };
    let settings = settings(provider, Some("http://127.0.0.1:1/v1"));
    (Model::open(&settings, "m", Some(Secret::new(KEY)), net, meter).unwrap(), ledger)
}

fn ask(model: &Model, question: &ModelQuestion<'_>) -> Result<ModelReply, ModelError> {
    model.ask(question, None, &|| true)
}

pub(super) fn simple_question() -> ModelQuestion<'static> {
    ModelQuestion {
        purpose: "test",
        system: "be",
        text: "hello",
        max_tokens: 7,
        ..ModelQuestion::default()
    }
}

/// Returns an answer of the OpenAI API.
pub(super) fn completion(content: &Value, finish: &str) -> Value {
    json!({ "choices": [{ "index": 0, "finish_reason": finish,
        "message": { "role": "assistant", "content": content } }],
        "usage": { "prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14 } })
}

/// Returns an answer of the Anthropic API.
fn message(blocks: &Value, stop: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "content": blocks, "stop_reason": stop,
        "usage": { "input_tokens": 5, "cache_read_input_tokens": 6, "output_tokens": 3 } })
}

#[test]
fn a_question_follows_the_openai_api() {
    let net =
        FakeNetwork::new(|_| answer(200, &completion(&json!("<think>hm</think>\n hi "), "stop")));
    let model =
        open(Provider::OpenAi, Some("http://127.0.0.1:11434/v1/"), Some(KEY), &net).unwrap();
    let images = [
        Image::Url("https://e.org/a.png".into()),
        Image::Bytes { kind: "image/png".into(), bytes: b"abc".into() },
    ];
    let question =
        ModelQuestion { images: &images, temperature: Some(0.5), json: true, ..simple_question() };
    let reply = ask(&model, &question).unwrap();
    assert_eq!(
        reply,
        ModelReply { text: "hi".into(), tokens_in: 11, tokens_out: 3, finish: Finish::Stop }
    );
    let sent = net.requests().remove(0);
    assert_eq!(sent.url, "http://127.0.0.1:11434/v1/chat/completions");
    assert_eq!(sent.authorization.as_deref(), Some("Bearer sk-very-secret-key"));
    assert!(sent.headers.iter().all(|(_, value)| !value.contains(KEY)));
    assert_eq!(
        sent.body,
        json!({ "model": "m", "max_tokens": 7, "temperature": 0.5,
            "response_format": { "type": "json_object" },
            "messages": [ { "role": "system", "content": "be" }, { "role": "user", "content": [
                { "type": "image_url", "image_url": { "url": "https://e.org/a.png" } },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,YWJj" } },
                { "type": "text", "text": "hello" } ] } ] })
    );
    ask(&model, &simple_question()).unwrap();
    let sent = net.requests().remove(1).body;
    assert_eq!(sent["messages"][1]["content"], "hello");
    assert!(sent.get("temperature").is_none() && sent.get("response_format").is_none());
}

#[test]
fn a_question_follows_the_anthropic_api() {
    let blocks =
        json!([{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "hi" }]);
    let net = FakeNetwork::new(move |_| answer(200, &message(&blocks, "end_turn")));
    for (base, url) in [
        (None, "https://api.anthropic.com/v1/messages"),
        (Some("https://gateway.example/a"), "https://gateway.example/a/v1/messages"),
        (Some("https://gateway.example/v1/"), "https://gateway.example/v1/messages"),
    ] {
        let model = open(Provider::Anthropic, base, Some(KEY), &net).unwrap();
        let images = [
            Image::Url("https://e.org/a.png".into()),
            Image::Bytes { kind: "image/png".into(), bytes: b"abc".into() },
        ];
        let reply =
            ask(&model, &ModelQuestion { images: &images, json: true, ..simple_question() })
                .unwrap();
        assert_eq!(
            reply,
            ModelReply { text: "hi".into(), tokens_in: 11, tokens_out: 3, finish: Finish::Stop }
        );
        let sent = net.requests().pop().unwrap();
        assert_eq!((sent.url.as_str(), sent.authorization), (url, None));
        let header = |name: &str| {
            sent.headers.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str())
        };
        assert_eq!(
            (header("x-api-key"), header("anthropic-version")),
            (Some(KEY), Some("2023-06-01"))
        );
        assert_eq!(
            sent.body,
            json!({ "model": "m", "max_tokens": 7, "system": "be",
                "messages": [{ "role": "user", "content": [
                { "type": "image", "source": { "type": "url", "url": "https://e.org/a.png" } },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png",
                    "data": "YWJj" } },
                { "type": "text", "text": "hello" } ] }] })
        );
    }
}

#[test]
fn provider_service_requires_a_key() {
    let net = FakeNetwork::new(|_| answer(401, &json!({})));
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let fault = open(provider, None, None, &net).err().unwrap();
        assert_eq!(fault.kind, ModelErrorKind::NoKey);
        assert!(
            fault.hint.to_string().contains("secrets/llm-api-key")
                && fault.hint.to_string().contains("BRAIN_LLM_API_KEY")
        );
        assert!(net.requests().is_empty());
    }
    // Any other server decides whether it requires a key.
    let model = open(Provider::OpenAi, Some("http://localhost:1/v1"), None, &net).unwrap();
    assert_eq!(ask(&model, &simple_question()).unwrap_err().kind, ModelErrorKind::NoKey);
}

#[test]
fn rejected_options_are_left_out() {
    let strict_service = |sent: &RecordedRequest| {
        let refuse = |param: &str, message: &str| {
            let error = json!({ "message": message, "type": "invalid_request_error", "param": param,
                "code": "unsupported" });
            answer(400, &json!({ "error": error }))
        };
        let has = |name: &str| sent.body.get(name).is_some();
        match () {
            () if has("max_tokens") => refuse(
                "max_tokens",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                    'max_completion_tokens' instead.",
            ),
            () if has("temperature") => {
                refuse("temperature", "Unsupported value: 'temperature' does not support 0.0.")
            }
            () if has("response_format") => {
                refuse("response_format", "'response_format.type' must be 'json_schema'")
            }
            () => answer(200, &completion(&json!("{}"), "stop")),
        }
    };
    let net = FakeNetwork::new(strict_service);
    let model = open(Provider::OpenAi, None, Some(KEY), &net).unwrap();
    let question = ModelQuestion { temperature: Some(0.0), json: true, ..simple_question() };
    assert_eq!(ask(&model, &question).unwrap().text, "{}");
    assert_eq!(
        (net.requests().len(), net.requests()[3].body["max_completion_tokens"].as_u64()),
        (4, Some(7))
    );
    // The rejected options are remembered.
    ask(&model, &question).unwrap();
    assert_eq!(net.requests().len(), 5);

    let net = FakeNetwork::new(|_| {
        answer(
            400,
            &json!({ "error": { "message": "`temperature` is deprecated for this model." } }),
        )
    });
    let model = open(Provider::Anthropic, None, Some(KEY), &net).unwrap();
    assert_eq!(
        ask(&model, &ModelQuestion { temperature: Some(0.0), ..simple_question() })
            .unwrap_err()
            .kind,
        ModelErrorKind::InvalidRequest
    );
    assert_eq!(net.requests().len(), 2, "an option is dropped only once");
}

#[test]
#[allow(clippy::too_many_lines)]
fn each_error_status_has_a_kind_and_a_hint() {
    let error = |message: &str, code: &str| {
        json!({ "error": { "message": message, "type": "t",
        "code": code } })
    };
    for (status, body, kind, is_service_failure) in [
        (
            401,
            error("Incorrect API key provided: sk-very-secret-key", "invalid_api_key"),
            ModelErrorKind::Unauthorized,
            true,
        ),
        (403, error("no", ""), ModelErrorKind::Unauthorized, true),
        (402, error("pay", ""), ModelErrorKind::Payment, true),
        (
            429,
            error("You exceeded your current quota", "insufficient_quota"),
            ModelErrorKind::Payment,
            true,
        ),
        (
            400,
            error("Your credit balance is too low to access the Anthropic API.", ""),
            ModelErrorKind::Payment,
            true,
        ),
        (
            404,
            error("The model `m` does not exist", "model_not_found"),
            ModelErrorKind::NotFound,
            true,
        ),
        (
            429,
            error("slow down", "rate_limit_exceeded"),
            ModelErrorKind::RateLimited(Some(17)),
            true,
        ),
        (503, json!({ "error": "Loading model" }), ModelErrorKind::Overloaded, true),
        (529, error("Overloaded", ""), ModelErrorKind::Overloaded, true),
        (500, json!("<html>"), ModelErrorKind::ServerError, true),
        (400, error("bad sk-very-secret-key image", ""), ModelErrorKind::InvalidRequest, false),
        (413, error("large", ""), ModelErrorKind::InvalidRequest, false),
    ] {
        let text = body.to_string();
        let net = FakeNetwork::new(move |_| {
            let headers = vec![("retry-after".into(), "17".into())];
            Ok(HttpResponse {
                status,
                headers,
                body: body.to_string().into_bytes(),
                server_address: None,
            })
        });
        let model = open(Provider::OpenAi, None, Some(KEY), &net).unwrap();
        let fault = ask(&model, &simple_question()).unwrap_err();
        assert_eq!(
            (fault.kind, fault.kind.is_independent_of_question()),
            (kind, is_service_failure),
            "{text}"
        );
        assert!(fault.message.contains("https://api.openai.com/v1/chat/completions"), "{fault}");
        assert!(fault.message.contains(&status.to_string()) && !fault.hint.is_empty(), "{fault}");
        for shown in [fault.to_string(), format!("{fault:?}")] {
            assert!(!shown.contains(KEY) && !shown.contains("sk-"), "{shown}");
        }
    }
}

#[test]
fn service_message_is_one_bounded_line() {
    let words = format!("a\nb\u{202e}c {}", "x".repeat(999));
    let net = FakeNetwork::new(move |_| answer(500, &json!({ "error": { "message": words } })));
    let model = open(Provider::OpenAi, None, Some(KEY), &net).unwrap();
    let fault = ask(&model, &simple_question()).unwrap_err();
    assert!(
        fault.message.contains(": a b c xxx") && fault.message.len() < 350,
        "{}",
        fault.message
    );
}

#[test]
fn timeout_and_refused_connection_differ() {
    for (error, kind) in [
        (NetError::Timeout(180), ModelErrorKind::Timeout),
        (NetError::ConnectionRefused, ModelErrorKind::Unreachable),
    ] {
        let net = FakeNetwork::new(move |_| Err(error.clone()));
        let model = open(Provider::OpenAi, Some("http://127.0.0.1:1/v1"), None, &net).unwrap();
        let fault = ask(&model, &simple_question()).unwrap_err();
        assert_eq!((fault.kind, kind.is_independent_of_question()), (kind, true));
        assert_eq!(kind.may_be_caused_by_question(), kind == ModelErrorKind::Timeout);
    }
}

#[test]
fn unusable_answers_are_errors() {
    let text_answer = |text: &str, finish: &str| completion(&json!(text), finish);
    for (body, kind) in [
        (completion(&json!(null), "content_filter"), ModelErrorKind::Refused),
        (
            json!({ "choices": [{ "message": { "content": null, "refusal": "I cannot" } }] }),
            ModelErrorKind::Refused,
        ),
        (json!({ "choices": [] }), ModelErrorKind::InvalidResponse),
        (json!({ "error": { "message": "upstream" } }), ModelErrorKind::InvalidResponse),
        (json!("<html>"), ModelErrorKind::InvalidResponse),
    ] {
        let net = FakeNetwork::new(move |_| answer(200, &body));
        let model = open(Provider::OpenAi, None, Some(KEY), &net).unwrap();
        assert_eq!(ask(&model, &simple_question()).unwrap_err().kind, kind);
    }
    let net = FakeNetwork::new(|_| answer(200, &message(&json!([]), "refusal")));
    let model = open(Provider::Anthropic, None, Some(KEY), &net).unwrap();
    assert_eq!(ask(&model, &simple_question()).unwrap_err().kind, ModelErrorKind::Refused);

    for (text, finish, expected) in [
        ("{\"a\": 1}", "stop", Ok(json!({ "a": 1 }))),
        ("```json\n{\"a\": 1}\n```", "stop", Ok(json!({ "a": 1 }))),
        ("<think>{}</think>{\"a\": 1}", "length", Ok(json!({ "a": 1 }))),
        ("{\"a\": ", "length", Err(ModelErrorKind::Truncated)),
        ("Sure! {\"a\": 1}", "stop", Err(ModelErrorKind::NotJson)),
        ("[1]", "stop", Err(ModelErrorKind::NotJson)),
    ] {
        let body = text_answer(text, finish);
        let net = FakeNetwork::new(move |_| answer(200, &body));
        let model = open(Provider::OpenAi, None, Some(KEY), &net).unwrap();
        let json = ask(&model, &simple_question()).unwrap().json();
        assert_eq!(json.map_err(|fault| fault.kind), expected, "{text}");
    }
}

#[test]
fn cancelled_question_is_not_sent() {
    let net = FakeNetwork::new(|_| answer(200, &completion(&json!("late"), "stop")));
    let model = open(Provider::OpenAi, None, Some(KEY), &net).unwrap();
    assert_eq!(
        model.ask(&simple_question(), None, &|| false).unwrap_err().kind,
        ModelErrorKind::Stopped
    );
}

#[test]
fn oversized_answer_is_rejected() {
    let net =
        FakeNetwork::new(|_| answer(200, &completion(&json!("x".repeat(3 * 1024 * 1024)), "stop")));
    let model = open(Provider::OpenAi, None, Some(KEY), &net).unwrap();
    assert_eq!(ask(&model, &simple_question()).unwrap_err().kind, ModelErrorKind::InvalidResponse);
}
