//! Answers that come as streams, in both shapes, and what each call is in the ledger.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::tests::{answer, completion, paid, plain};
use super::*;
use brain_costs::Budget;
use brain_fakes::{KEY, Net};
use brain_net::{Error as NetError, HttpResponse};

/// What `plain()` may cost at worst: 7 bytes are 4 tokens, with 50 around them, and 7 out.
const WORST: u64 = 54 + 2 * 7;

/// A stream of these events; `then` is what happens after its last byte.
fn events(lines: &[&str], then: &str) -> HttpResponse {
    let body: String = lines.iter().map(|line| format!("data: {line}\n\n")).collect();
    let headers = vec![("then".into(), then.into())];
    HttpResponse { status: 200, headers, body: body.into_bytes(), from: None }
}

/// The same without its last line end.
fn cut(mut answer: HttpResponse) -> HttpResponse {
    answer.body.pop();
    answer
}

/// What came of a question: the pieces, the answer, and what the ledger says that it cost.
fn heard(
    provider: Provider,
    net: &Net,
    question: &Question<'_>,
) -> (String, Result<Reply, ModelError>, Vec<(String, u64)>) {
    let dir = tempfile::tempdir().unwrap();
    let (model, ledger) = paid(provider, net, dir.path());
    let mut pieces = String::new();
    let reply = model.stream(question, None, &mut |piece| pieces.push_str(piece), &|| true);
    let calls = ledger.read(None, None, 100).unwrap().calls;
    (pieces, reply, calls.into_iter().map(|call| (call.state, call.spent.actual)).collect())
}

fn delta(text: &str) -> String {
    json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }], "usage": null })
        .to_string()
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3}}"#;

#[test]
fn a_stream_in_the_shape_of_openai() {
    let (one, two, three) = (delta("<think>no</thi"), delta("nk>\n hel"), delta("lo "));
    let net = Net::new(move |_| {
        let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
        Ok(events(&[role, &one, &two, &three, STOP, USAGE, "[DONE]", "after the end"], "silent"))
    });
    let (pieces, reply, costs) = heard(Provider::OpenAi, &net, &plain());
    assert_eq!(pieces, "hello ");
    assert_eq!(
        reply.unwrap(),
        Reply { text: "hello".into(), tokens_in: 11, tokens_out: 3, finish: Finish::Stop }
    );
    assert_eq!(costs, [("done".into(), 11 + 2 * 3)]);
    let body = &net.sent()[0].body;
    assert_eq!(
        (&body["stream"], &body["stream_options"]),
        (&json!(true), &json!({ "include_usage": true }))
    );
}

#[test]
fn a_stream_in_the_shape_of_anthropic() {
    let net = Net::new(|_| {
        Ok(events(
            &[
                r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":6,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
                r#"{"type":"ping"}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hel"}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}"#,
                r#"{"type":"message_stop"}"#,
            ],
            "silent",
        ))
    });
    let (pieces, reply, costs) = heard(Provider::Anthropic, &net, &plain());
    assert_eq!(pieces, "hello");
    assert_eq!(
        reply.unwrap(),
        Reply { text: "hello".into(), tokens_in: 11, tokens_out: 9, finish: Finish::Length }
    );
    assert_eq!(costs, [("done".into(), 11 + 2 * 9)]);
}

#[test]
fn a_server_that_knows_no_streams_answers_all_the_same() {
    let net = Net::new(|_| answer(200, &completion(&json!("<think>x</think> hi"), "stop")));
    let (pieces, reply, costs) = heard(Provider::OpenAi, &net, &plain());
    assert_eq!((pieces.as_str(), reply.unwrap().text.as_str()), ("hi", "hi"));
    assert_eq!(costs, [("done".into(), 11 + 2 * 3)]);
    // Neither does this one, and it says so.
    let net = Net::new(|sent| match sent.body.get("stream_options") {
        Some(_) => answer(400, &json!({ "error": { "message": "unknown field stream_options" } })),
        None => Ok(events(&[&delta("hi"), STOP, "[DONE]"], "")),
    });
    let (pieces, reply, costs) = heard(Provider::OpenAi, &net, &plain());
    assert_eq!((pieces.as_str(), reply.unwrap().text.as_str()), ("hi", "hi"));
    // Nobody counted: the worst counts.
    assert_eq!(costs, [("done".into(), WORST), ("failed".into(), 0)]);
}

#[test]
fn what_breaks_off_is_a_fault_that_has_what_came_and_counts_at_its_worst() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded sk-very-secret-key"}}"#;
    let text =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half "}}"#;
    let torn = r#"{"choices":[{"delta":{"content":"ha"#;
    for (provider, body, why) in [
        (Provider::OpenAi, events(&[&delta("half ")], ""), ModelErrorKind::Interrupted),
        (Provider::OpenAi, events(&[&delta("half ")], "broken"), ModelErrorKind::Interrupted),
        (Provider::OpenAi, events(&[&delta("half ")], "silent"), ModelErrorKind::Timeout),
        (Provider::OpenAi, cut(events(&[&delta("half "), torn], "")), ModelErrorKind::Interrupted),
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
        for body in [body.clone(), cut(body)] {
            let net = Net::new(move |_| Ok(body.clone()));
            let patient = Question { max_retry_wait: Duration::from_secs(60), ..plain() };
            let (pieces, reply, costs) = heard(provider, &net, &patient);
            let fault = reply.unwrap_err();
            assert_eq!(
                (fault.kind, fault.partial_text.as_str(), pieces.as_str()),
                (why, "half", "half "),
                "{shown}"
            );
            assert!(!fault.to_string().contains(KEY), "{fault}");
            assert_eq!(costs, [("failed".into(), WORST)], "{shown}");
            assert_eq!(net.sent().len(), 1, "never again after text came");
        }
    }
    for body in ["", "<html>\n<p>", "data: [1]\n\n", "{\"choices\": "] {
        let net = Net::new(move |_| Ok(HttpResponse { body: body.into(), ..events(&[], "") }));
        let (pieces, reply, costs) = heard(Provider::OpenAi, &net, &plain());
        let why = if body.is_empty() {
            ModelErrorKind::Interrupted
        } else {
            ModelErrorKind::InvalidResponse
        };
        assert_eq!((pieces.as_str(), reply.unwrap_err().kind), ("", why), "{body}");
        assert_eq!(costs, [("failed".into(), WORST)]);
    }
    let net = Net::new(|_| Err(NetError::ConnectionRefused));
    let (_, reply, costs) = heard(Provider::OpenAi, &net, &plain());
    assert_eq!(
        (reply.unwrap_err().kind, costs),
        (ModelErrorKind::Unreachable, vec![("failed".into(), 0)])
    );
}

#[test]
fn a_model_that_does_not_want_to_says_so() {
    let refusal = r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#;
    let net = Net::new(move |_| Ok(events(&[&delta("I "), refusal], "")));
    let fault = heard(Provider::OpenAi, &net, &plain()).1.unwrap_err();
    assert_eq!((fault.kind, fault.partial_text.as_str()), (ModelErrorKind::Refused, "I"));
}

#[test]
fn a_busy_service_is_asked_again_as_often_and_as_soon_as_it_says() {
    let busy = |status: u16, after: Option<u64>| HttpResponse {
        status,
        headers: after
            .map(|seconds| ("retry-after".to_owned(), seconds.to_string()))
            .into_iter()
            .collect(),
        body: Vec::new(),
        from: None,
    };
    for (status, state) in [(429, 0), (529, 0), (503, 0), (500, 0), (502, WORST)] {
        let calls = AtomicUsize::new(0);
        let net = Net::new(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(busy(status, Some(0))),
            _ => Ok(events(&[&delta("hi"), STOP, USAGE, "[DONE]"], "")),
        });
        let patient = Question { max_retry_wait: Duration::from_secs(5), ..plain() };
        let (pieces, reply, costs) = heard(Provider::OpenAi, &net, &patient);
        assert_eq!((pieces.as_str(), reply.unwrap().text.as_str()), ("hi", "hi"));
        assert_eq!(costs, [("done".into(), 11 + 2 * 3), ("failed".into(), state)], "{status}");
    }
    // It goes round in no circle, and waits no longer than it may.
    for (after, patience, calls) in
        [(Some(0), 5, 5), (Some(3600), 5, 1), (None, 0, 1), (Some(0), 0, 1)]
    {
        let net = Net::new(move |_| Ok(busy(429, after)));
        let question = Question { max_retry_wait: Duration::from_secs(patience), ..plain() };
        let (_, reply, costs) = heard(Provider::OpenAi, &net, &question);
        assert_eq!(
            (reply.unwrap_err().kind, net.sent().len()),
            (ModelErrorKind::RateLimited(after), calls)
        );
        assert_eq!(costs.len(), calls);
    }
    // An hour without end is no sum that overflows.
    let calls = AtomicUsize::new(0);
    let net = Net::new(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(busy(429, Some(1))),
        _ => Ok(busy(503, Some(u64::MAX))),
    });
    let patient = Question { max_retry_wait: Duration::from_secs(5), ..plain() };
    assert_eq!(
        heard(Provider::OpenAi, &net, &patient).1.unwrap_err().kind,
        ModelErrorKind::Overloaded
    );
    // Whoever waits may stop to.
    let net = Net::new(move |_| Ok(busy(429, Some(60))));
    let dir = tempfile::tempdir().unwrap();
    let (model, _) = paid(Provider::OpenAi, &net, dir.path());
    let question = Question { max_retry_wait: Duration::from_secs(600), ..plain() };
    let fault = model.ask(&question, None, &|| net.sent().is_empty()).unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::Stopped);
}

#[test]
fn what_may_cost_too_much_is_not_sent() {
    let net = Net::new(|_| answer(200, &completion(&json!("hi"), "stop")));
    let dir = tempfile::tempdir().unwrap();
    let (model, ledger) = paid(Provider::OpenAi, &net, dir.path());
    let budget = Budget::new(WORST + 16);
    assert_eq!(model.ask(&plain(), Some(&budget), &|| true).unwrap().text, "hi");
    let fault = model.ask(&plain(), Some(&budget), &|| true).unwrap_err();
    assert_eq!(
        (fault.kind, fault.message.as_str(), net.sent().len()),
        (
            ModelErrorKind::Budget,
            "the next call may cost 0.000068 USD, and 0.000067 USD are left of 0.000084 USD",
            1
        )
    );
    assert_eq!((budget.spent().actual, ledger.read(None, None, 0).unwrap().total.actual), (17, 17));
    // Nor what cannot be entered.
    std::fs::remove_file(dir.path().join("costs.jsonl")).unwrap();
    std::fs::create_dir(dir.path().join("costs.jsonl")).unwrap();
    let fault = model.ask(&plain(), None, &|| true).unwrap_err();
    assert_eq!((fault.kind, net.sent().len()), (ModelErrorKind::Ledger, 1), "{fault}");
}
