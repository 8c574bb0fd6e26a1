//! Anthropic's messages API: requests, responses and events. No I/O.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::stream_state::ResponseState;
use super::{Completion, Finish, Image, ModelQuestion, UnsupportedOptions};

/// The version of the API.
pub(super) const VERSION: &str = "2023-06-01";

/// Builds the body of a request. There is no option for JSON: the prompt asks for it.
pub(super) fn body(
    model: &str,
    question: &ModelQuestion<'_>,
    unsupported: UnsupportedOptions,
    is_stream: bool,
) -> Value {
    let images = question.images.iter().map(|image| {
        let source = match image {
            Image::Url(url) => json!({ "type": "url", "url": url }),
            Image::Bytes { kind, bytes } => {
                json!({ "type": "base64", "media_type": kind, "data": STANDARD.encode(bytes) })
            }
        };
        json!({ "type": "image", "source": source })
    });
    let content: Vec<Value> =
        images.chain([json!({ "type": "text", "text": question.text })]).collect();
    let mut body = json!({
        "model": model,
        "max_tokens": question.max_tokens,
        "system": question.system,
        "messages": [{ "role": "user", "content": content }],
    });
    if let Some(temperature) = question.temperature.filter(|_| !unsupported.temperature) {
        body["temperature"] = temperature.into();
    }
    if is_stream {
        body["stream"] = true.into();
    }
    body
}

/// Returns the content of a response with status 200; `None` when it does not follow the API.
pub(super) fn read(response: &Value) -> Option<Completion> {
    let finish = match response.get("stop_reason").and_then(Value::as_str) {
        Some("refusal") => return Some(Completion::Refused),
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        _ => Finish::Stop,
    };
    // Blocks of other types hold reasoning and tool calls.
    let text = |block: &Value| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        block.get("text").filter(|_| is_text).and_then(Value::as_str).map(str::to_owned)
    };
    let text = response.get("content")?.as_array()?.iter().filter_map(text).collect();
    Some(Completion::Text(text, finish))
}

/// Returns the tokens in and out that a response or event reports; 0 where it reports none.
pub(super) fn usage(message: &Value) -> (u64, u64) {
    let usage =
        |name: &str| message.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    let input_counts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    (
        input_counts.into_iter().filter_map(usage).fold(0, u64::saturating_add),
        usage("output_tokens").unwrap_or(0),
    )
}

/// Reads an event of a stream and returns its text; `None` when it does not follow the API.
pub(super) fn read_event(state: &mut ResponseState, event: &Value) -> Option<String> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    match event.get("type")?.as_str()? {
        "message_start" => state.count(usage(event.get("message")?)),
        "content_block_start" => {
            return Some(text(event.get("content_block").and_then(|block| block.get("text"))));
        }
        "content_block_delta" => {
            // Deltas of other types hold reasoning, tool calls and signatures.
            let delta = event.get("delta").filter(|delta| text(delta.get("type")) == "text_delta");
            return Some(text(delta.and_then(|delta| delta.get("text"))));
        }
        "message_delta" => {
            state.count(usage(event));
            match event
                .get("delta")
                .and_then(|delta| delta.get("stop_reason"))
                .and_then(Value::as_str)
            {
                None => {}
                Some("refusal") => state.is_refused = true,
                Some("max_tokens" | "model_context_window_exceeded") => {
                    state.finish = Some(Finish::Length);
                }
                Some(_) => state.finish = Some(Finish::Stop),
            }
        }
        "message_stop" => state.is_over = true,
        "error" => state.fail(event.get("error")?),
        // `ping`, and future types.
        _ => {}
    }
    Some(String::new())
}
