//! Tests of streamed answers of both APIs, and of their ledger entries.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::tests::{answer, completion, paid_model, simple_question};
use super::*;
use brain_costs::Budget;
use brain_fakes::{FakeNetwork, KEY};
use brain_net::{Error as NetError, HttpResponse};

/// The maximum cost of `simple_question()` in millionths of a USD. 7 bytes count as 4 input tokens,
/// and the envelope as 50. The 7 output tokens cost 2 each.
const MAX_CALL_COST: u64 = 54 + 2 * 7;

/// Returns a stream of these events. `then` is the event after the last byte: `broken` connection,
/// `silent` server, or a regular end if it is empty.
fn events(lines: &[&str], then: &str) -> HttpResponse {
    let body: String = lines.iter().map(|line| format!("data: {line}\n\n")).collect();
    let headers = vec![("then".into(), then.into())];
    HttpResponse { status: 200, headers, body: body.into_bytes(), server_address: None }
}

/// Removes the last line end.
fn without_last_byte(mut answer: HttpResponse) -> HttpResponse {
    answer.body.pop();
    answer
}

/// Streams an answer. Returns its pieces, the result, and state and cost of each ledger entry.
fn stream_question(
    provider: Provider,
    net: &FakeNetwork,
    question: &ModelQuestion<'_>,
) -> (String, Result<ModelReply, ModelError>, Vec<(String, u64)>) {
    let dir = tempfile::tempdir().unwrap();
    let (model, ledger) = paid_model(provider, net, dir.path());
    let mut pieces = String::new();
    let reply = model.stream(question, None, &mut |piece| pieces.push_str(piece), &|| true);
    let calls = ledger.read(None, None, 100).unwrap().calls;
    (
        pieces,
        reply,
        calls.into_iter().map(|call| (call.state.to_string(), call.spent.actual)).collect(),
    )
}

fn delta(text: &str) -> String {
    json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }],
        "usage": null })
    .to_string()
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3}}"#;

#[test]
fn an_openai_stream_is_read_to_its_end() {
    let (one, two, three) = (delta("<think>no</thi"), delta("nk>\n hel"), delta("lo "));
    let net = FakeNetwork::new(move |_| {
        let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
        Ok(events(&[role, &one, &two, &three, STOP, USAGE, "[DONE]", "after the end"], "silent"))
    });
    let (pieces, reply, costs) = stream_question(Provider::OpenAi, &net, &simple_question());
    assert_eq!(pieces, "hello ");
    assert_eq!(
        reply.unwrap(),
        ModelReply { text: "hello".into(), tokens_in: 11, tokens_out: 3, finish: Finish::Stop }
    );
    assert_eq!(costs, [("done".into(), 11 + 2 * 3)]);
    let body = &net.requests()[0].body;
    assert_eq!(
        (&body["stream"], &body["stream_options"]),
        (&json!(true), &json!({ "include_usage": true }))
    );
}

#[test]
fn an_anthropic_stream_is_read_to_its_end() {
    let net = FakeNetwork::new(|_| {
        Ok(events(
            &[
                concat!(
                    r#"{"type":"message_start","message":{"usage":"#,
                    r#"{"input_tokens":5,"cache_read_input_tokens":6,"output_tokens":1}}}"#,
                ),
                concat!(
                    r#"{"type":"content_block_start","index":0,"#,
                    r#""content_block":{"type":"thinking","thinking":""}}"#,
                ),
                concat!(
                    r#"{"type":"content_block_delta","index":0,"#,
                    r#""delta":{"type":"thinking_delta","thinking":"hm"}}"#,
                ),
                r#"{"type":"ping"}"#,
                concat!(
                    r#"{"type":"content_block_start","index":1,"#,
                    r#""content_block":{"type":"text","text":""}}"#,
                ),
                concat!(
                    r#"{"type":"content_block_delta","index":1,"#,
                    r#""delta":{"type":"text_delta","text":"hel"}}"#,
                ),
                concat!(
                    r#"{"type":"content_block_delta","index":1,"#,
                    r#""delta":{"type":"text_delta","text":"lo"}}"#,
                ),
                r#"{"type":"content_block_stop","index":1}"#,
                concat!(
                    r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"#,
                    r#""usage":{"output_tokens":9}}"#,
                ),
                r#"{"type":"message_stop"}"#,
            ],
            "silent",
        ))
    });
    let (pieces, reply, costs) = stream_question(Provider::Anthropic, &net, &simple_question());
    assert_eq!(pieces, "hello");
    assert_eq!(
        reply.unwrap(),
        ModelReply { text: "hello".into(), tokens_in: 11, tokens_out: 9, finish: Finish::Length }
    );
    assert_eq!(costs, [("done".into(), 11 + 2 * 9)]);
}

#[test]
fn server_without_streams_or_stream_options_can_answer() {
    let net = FakeNetwork::new(|_| answer(200, &completion(&json!("<think>x</think> hi"), "stop")));
    let (pieces, reply, costs) = stream_question(Provider::OpenAi, &net, &simple_question());
    assert_eq!((pieces.as_str(), reply.unwrap().text.as_str()), ("hi", "hi"));
    assert_eq!(costs, [("done".into(), 11 + 2 * 3)]);
    // This server streams, but rejects `stream_options`.
    let net = FakeNetwork::new(|sent| match sent.body.get("stream_options") {
        Some(_) => answer(400, &json!({ "error": { "message": "unknown field stream_options" } })),
        None => Ok(events(&[&delta("hi"), STOP, "[DONE]"], "")),
    });
    let (pieces, reply, costs) = stream_question(Provider::OpenAi, &net, &simple_question());
    assert_eq!((pieces.as_str(), reply.unwrap().text.as_str()), ("hi", "hi"));
    // Without a reported count, the call costs the maximum.
    assert_eq!(costs, [("done".into(), MAX_CALL_COST), ("failed".into(), 0)]);
}

#[test]
#[allow(clippy::too_many_lines)]
fn interrupted_stream_keeps_its_text_and_counts_at_maximum() {
    let error = concat!(
        r#"{"type":"error","error":"#,
        r#"{"type":"overloaded_error","message":"Overloaded sk-very-secret-key"}}"#,
    );
    let text =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half "}}"#;
    let torn = r#"{"choices":[{"delta":{"content":"ha"#;
    for (provider, body, kind) in [
        (Provider::OpenAi, events(&[&delta("half ")], ""), ModelErrorKind::Interrupted),
        (Provider::OpenAi, events(&[&delta("half ")], "broken"), ModelErrorKind::Interrupted),
        (Provider::OpenAi, events(&[&delta("half ")], "silent"), ModelErrorKind::Timeout),
        (
            Provider::OpenAi,
            without_last_byte(events(&[&delta("half "), torn], "")),
            ModelErrorKind::Interrupted,
        ),
        (
            Provider::OpenAi,
            events(&[&delta("half "), "nonsense", &delta("more")], ""),
            ModelErrorKind::InvalidResponse,
        ),
        (
            Provider::OpenAi,
            events(&[&delta("half "), r#"{"error":{"message":"no"}}"#], ""),
            ModelErrorKind::ServerError,
        ),
        (Provider::Anthropic, events(&[text, error, text], ""), ModelErrorKind::Overloaded),
        (Provider::Anthropic, events(&[text], ""), ModelErrorKind::Interrupted),
    ] {
        let shown = format!("{body:?}");
        for body in [body.clone(), without_last_byte(body)] {
            let net = FakeNetwork::new(move |_| Ok(body.clone()));
            let question =
                ModelQuestion { max_retry_wait: Duration::from_secs(60), ..simple_question() };
            let (pieces, reply, costs) = stream_question(provider, &net, &question);
            let fault = reply.unwrap_err();
            assert_eq!(
                (fault.kind, fault.partial_text.as_str(), pieces.as_str()),
                (kind, "half", "half "),
                "{shown}"
            );
            assert!(!fault.to_string().contains(KEY), "{fault}");
            assert_eq!(costs, [("failed".into(), MAX_CALL_COST)], "{shown}");
            assert_eq!(net.requests().len(), 1, "no retry after text arrived");
        }
    }
    for body in ["", "<html>\n<p>", "data: [1]\n\n", "{\"choices\": "] {
        let net =
            FakeNetwork::new(move |_| Ok(HttpResponse { body: body.into(), ..events(&[], "") }));
        let (pieces, reply, costs) = stream_question(Provider::OpenAi, &net, &simple_question());
        let kind = if body.is_empty() {
            ModelErrorKind::Interrupted
        } else {
            ModelErrorKind::InvalidResponse
        };
        assert_eq!((pieces.as_str(), reply.unwrap_err().kind), ("", kind), "{body}");
        assert_eq!(costs, [("failed".into(), MAX_CALL_COST)]);
    }
    let net = FakeNetwork::new(|_| Err(NetError::ConnectionRefused));
    let (_, reply, costs) = stream_question(Provider::OpenAi, &net, &simple_question());
    assert_eq!(
        (reply.unwrap_err().kind, costs),
        (ModelErrorKind::Unreachable, vec![("failed".into(), 0)])
    );
}

#[test]
fn refusal_in_a_stream_is_an_error() {
    let refusal = r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#;
    let net = FakeNetwork::new(move |_| Ok(events(&[&delta("I "), refusal], "")));
    let fault = stream_question(Provider::OpenAi, &net, &simple_question()).1.unwrap_err();
    assert_eq!((fault.kind, fault.partial_text.as_str()), (ModelErrorKind::Refused, "I"));
}

#[test]
fn overloaded_service_is_retried_within_limits() {
    let busy = |status: u16, after: Option<u64>| HttpResponse {
        status,
        headers: after
            .map(|seconds| ("retry-after".to_owned(), seconds.to_string()))
            .into_iter()
            .collect(),
        body: Vec::new(),
        server_address: None,
    };
    for (status, cost) in [(429, 0), (529, 0), (503, 0), (500, 0), (502, MAX_CALL_COST)] {
        let calls = AtomicUsize::new(0);
        let net = FakeNetwork::new(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(busy(status, Some(0))),
            _ => Ok(events(&[&delta("hi"), STOP, USAGE, "[DONE]"], "")),
        });
        let question =
            ModelQuestion { max_retry_wait: Duration::from_secs(5), ..simple_question() };
        let (pieces, reply, costs) = stream_question(Provider::OpenAi, &net, &question);
        assert_eq!((pieces.as_str(), reply.unwrap().text.as_str()), ("hi", "hi"));
        assert_eq!(costs, [("done".into(), 11 + 2 * 3), ("failed".into(), cost)], "{status}");
    }
    // Retries and total waiting time are limited.
    for (after, max_seconds, calls) in
        [(Some(0), 5, 5), (Some(3600), 5, 1), (None, 0, 1), (Some(0), 0, 1)]
    {
        let net = FakeNetwork::new(move |_| Ok(busy(429, after)));
        let question =
            ModelQuestion { max_retry_wait: Duration::from_secs(max_seconds), ..simple_question() };
        let (_, reply, costs) = stream_question(Provider::OpenAi, &net, &question);
        assert_eq!(
            (reply.unwrap_err().kind, net.requests().len()),
            (ModelErrorKind::RateLimited(after), calls)
        );
        assert_eq!(costs.len(), calls);
    }
    // A huge delay does not overflow.
    let calls = AtomicUsize::new(0);
    let net = FakeNetwork::new(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(busy(429, Some(1))),
        _ => Ok(busy(503, Some(u64::MAX))),
    });
    let question = ModelQuestion { max_retry_wait: Duration::from_secs(5), ..simple_question() };
    assert_eq!(
        stream_question(Provider::OpenAi, &net, &question).1.unwrap_err().kind,
        ModelErrorKind::Overloaded
    );
    // The caller can cancel while it waits.
    let net = FakeNetwork::new(move |_| Ok(busy(429, Some(60))));
    let dir = tempfile::tempdir().unwrap();
    let (model, _) = paid_model(Provider::OpenAi, &net, dir.path());
    let question = ModelQuestion { max_retry_wait: Duration::from_secs(600), ..simple_question() };
    let fault = model.ask(&question, None, &|| net.requests().is_empty()).unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::Stopped);
}

#[test]
fn call_over_budget_is_not_sent() {
    let net = FakeNetwork::new(|_| answer(200, &completion(&json!("hi"), "stop")));
    let dir = tempfile::tempdir().unwrap();
    let (model, ledger) = paid_model(Provider::OpenAi, &net, dir.path());
    let budget = Budget::new(MAX_CALL_COST + 16);
    assert_eq!(model.ask(&simple_question(), Some(&budget), &|| true).unwrap().text, "hi");
    let fault = model.ask(&simple_question(), Some(&budget), &|| true).unwrap_err();
    assert_eq!(
        (fault.kind, fault.message.as_str(), net.requests().len()),
        (
            ModelErrorKind::Budget,
            "the next call may cost 0.000068 USD, and 0.000067 USD are left of 0.000084 USD",
            1
        )
    );
    assert_eq!((budget.spent().actual, ledger.read(None, None, 0).unwrap().total.actual), (17, 17));
    // A call that cannot be entered into the ledger is not sent.
    std::fs::remove_file(dir.path().join("costs.jsonl")).unwrap();
    std::fs::create_dir(dir.path().join("costs.jsonl")).unwrap();
    let fault = model.ask(&simple_question(), None, &|| true).unwrap_err();
    assert_eq!((fault.kind, net.requests().len()), (ModelErrorKind::Ledger, 1), "{fault}");
}
