//! Tests of answers and costs with a local server that closes idle connections.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use url::Url;

use super::tests::{completion, simple_question};
use super::*;
use brain_base::clock::SystemClock;
use brain_costs::{Ledger, Price};
use brain_net::Client;

/// Starts a server that answers one request on each connection, and closes the connection 300 ms
/// later.
fn server(answers: Vec<String>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            read_request(&mut stream);
            let _ = stream.write_all(answer.as_bytes());
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                drop(stream);
            });
        }
    });
    url
}

/// Reads a complete request.
fn read_request(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let _ = stream.read_exact(&mut vec![0; length.unwrap_or(0)]);
}

/// Returns the bytes of a response.
fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Opens a model at 1 USD per million input tokens and 2 USD per million output tokens.
fn paid_model(base: Url, dir: &Path) -> (Model, Arc<Ledger>) {
    let ledger = Arc::new(Ledger::new(&dir.join("costs.jsonl"), Arc::new(SystemClock)));
    let price = Price { input: 1_000_000, output: 2_000_000 };
    let meter = CostMeter { ledger: Arc::clone(&ledger), price };
    let idle_timeout = Duration::from_secs(20);
    let provider = Provider::OpenAi;
    let settings =
        ModelSettings { provider, base: Some(base), model: None, vision_model: None, idle_timeout };
    (Model::open(&settings, "m", None, &Client::new(), meter).unwrap(), ledger)
}

#[test]
fn retry_after_a_closed_connection_costs_one_answer() {
    let busy = http("429 Too Many Requests\r\nRetry-After: 1", r#"{"error":{"message":"later"}}"#);
    let answer = http("200 OK", &completion(&json!("hi"), "stop").to_string());
    let dir = tempfile::tempdir().unwrap();
    let (model, ledger) = paid_model(server(vec![busy, answer]), dir.path());
    let question = ModelQuestion { max_retry_wait: Duration::from_secs(10), ..simple_question() };
    let reply = model.ask(&question, None, &|| true).unwrap();
    assert_eq!((reply.text.as_str(), reply.tokens_in, reply.tokens_out), ("hi", 11, 3));
    let costs = ledger.read(None, None, 10).unwrap();
    let calls: Vec<_> =
        costs.calls.iter().map(|call| (call.state.as_str(), call.spent.actual)).collect();
    assert_eq!(calls, [("done", 17), ("failed", 0)], "only the answered call costs");
}

#[test]
fn implausible_token_counts_are_replaced_by_the_maximum() {
    let mut absurd = completion(&json!("hi"), "stop");
    absurd["usage"] = json!({ "prompt_tokens": 1_u64 << 62, "completion_tokens": 1_u64 << 62 });
    let dir = tempfile::tempdir().unwrap();
    let (model, ledger) = paid_model(server(vec![http("200 OK", &absurd.to_string())]), dir.path());
    let reply = model.ask(&simple_question(), None, &|| true).unwrap();
    let max_input = simple_question().max_input_tokens();
    assert_eq!((reply.tokens_in, reply.tokens_out), (max_input, 7));
    let costs = ledger.read(None, None, 10).unwrap();
    assert_eq!((costs.implausible, costs.total.actual), (1, max_input + 14));
}
