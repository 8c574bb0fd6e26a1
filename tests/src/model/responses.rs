//! Writes the fake model's responses and failures, complete or streamed.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{ModelResponse, Question};

/// Writes a complete HTTP response, with `Retry-After` in seconds if it is `Some`.
pub(super) fn write(mut stream: &TcpStream, status: u16, body: &str, retry_after: Option<u64>) {
    let retry_field =
        retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: \
            application/json\r\n{retry_field}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// Estimates the tokens of the question's text and of the response: one for each four bytes.
fn token_counts(question: &Question, text: &str) -> (usize, usize) {
    (question.text.len() / 4, text.len() / 4)
}

/// Writes `response` in the format of the API.
pub(super) fn answer(
    stream: &TcpStream,
    openai: bool,
    question: &Question,
    response: ModelResponse,
) {
    match response {
        ModelResponse::Status(status, body, retry_after) => {
            write(stream, status, &body, retry_after);
        }
        ModelResponse::Garbage => write(stream, 200, "<html><p>It works!</p></html>", None),
        ModelResponse::StreamError(_) if !question.stream => write(stream, 500, "{}", None),
        response if question.stream => stream_response(stream, openai, question, &response),
        ModelResponse::Stall(_) => wait_for_disconnect(stream),
        ModelResponse::Disconnect(text) | ModelResponse::StreamError(text) => {
            let mut stream = stream;
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n";
            let _ = stream.write_all(format!("{head}{{\"{text}").as_bytes());
        }
        ModelResponse::Text(text) => {
            write(
                stream,
                200,
                &response_body(openai, question, Some(&text), ["stop", "end_turn"]),
                None,
            );
        }
        ModelResponse::Truncated(text) => {
            write(
                stream,
                200,
                &response_body(openai, question, Some(&text), ["length", "max_tokens"]),
                None,
            );
        }
        ModelResponse::Refusal => {
            write(
                stream,
                200,
                &response_body(openai, question, None, ["content_filter", "refusal"]),
                None,
            );
        }
    }
}

fn wait_for_disconnect(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0]);
}

/// Returns the JSON of a response. `finish_reasons` are the values of OpenAI and of Anthropic.
fn response_body(
    openai: bool,
    question: &Question,
    text: Option<&str>,
    finish_reasons: [&str; 2],
) -> String {
    let (tokens_in, tokens_out) = token_counts(question, text.unwrap_or_default());
    let body = if openai {
        json!({ "id": "chatcmpl-1", "object": "chat.completion", "model": question.model,
            "choices": [{ "index": 0, "finish_reason": finish_reasons[0],
                "message": { "role": "assistant", "content": text } }],
            "usage": { "prompt_tokens": tokens_in, "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out } })
    } else {
        let blocks: Vec<Value> =
            text.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": question.model,
            "content": blocks, "stop_reason": finish_reasons[1],
            "usage": { "input_tokens": tokens_in, "output_tokens": tokens_out } })
    };
    body.to_string()
}

/// Writes a response as a stream of events with up to three characters of the text each.
fn stream_response(
    mut stream: &TcpStream,
    openai: bool,
    question: &Question,
    response: &ModelResponse,
) {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: \
        text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let _ = stream.write_all(head.as_bytes());
    let send = |event: &Value| {
        let name = event["type"].as_str().filter(|_| !openai);
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        write_chunk(stream, &format!("{name}data: {event}\n\n"));
    };
    let text = match response {
        ModelResponse::Text(text)
        | ModelResponse::Truncated(text)
        | ModelResponse::Stall(text)
        | ModelResponse::Disconnect(text)
        | ModelResponse::StreamError(text) => text.as_str(),
        _ => "",
    };
    let (tokens_in, tokens_out) = token_counts(question, text);
    if openai {
        send(&json!({ "choices": [{ "index": 0,
                "delta": { "role": "assistant", "content": "" } }] }));
    } else {
        send(&json!({ "type": "message_start",
                "message": { "usage": { "input_tokens": tokens_in, "output_tokens": 1 } } }));
        send(&json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "text", "text": "" } }));
    }
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(3) {
        let piece: String = piece.iter().collect();
        if openai {
            send(&json!({ "choices": [{ "index": 0, "delta": { "content": piece },
                    "finish_reason": null }] }));
        } else {
            send(&json!({ "type": "content_block_delta", "index": 0,
                    "delta": { "type": "text_delta", "text": piece } }));
        }
    }
    let finish_reasons = match response {
        ModelResponse::Stall(_) => return wait_for_disconnect(stream),
        ModelResponse::Disconnect(_) => return,
        ModelResponse::StreamError(_) if openai => {
            send(&json!({ "error": { "message": "The server had an error",
                    "type": "server_error" } }));
            return;
        }
        ModelResponse::StreamError(_) => {
            send(&json!({ "type": "error",
                    "error": { "type": "overloaded_error", "message": "Overloaded" } }));
            return;
        }
        ModelResponse::Truncated(_) => ["length", "max_tokens"],
        ModelResponse::Refusal => ["content_filter", "refusal"],
        _ => ["stop", "end_turn"],
    };
    if openai {
        send(&json!({ "choices": [{ "index": 0, "delta": {},
                "finish_reason": finish_reasons[0] }] }));
        send(&json!({ "choices": [], "usage": { "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out } }));
        write_chunk(stream, "data: [DONE]\n\n");
    } else {
        send(&json!({ "type": "content_block_stop", "index": 0 }));
        send(&json!({ "type": "message_delta", "delta": { "stop_reason": finish_reasons[1] },
                "usage": { "output_tokens": tokens_out } }));
        send(&json!({ "type": "message_stop" }));
    }
    let _ = stream.write_all(b"0\r\n\r\n");
}

/// Writes a chunk of a body (RFC 9112 section 7.1).
fn write_chunk(mut stream: &TcpStream, text: &str) {
    let _ = stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
}
