//! The shape of Anthropic's messages. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Finish, Image, Question, Reply, Said, Without};

/// The version of the API that is spoken here.
pub(super) const VERSION: &str = "2023-06-01";

/// The request. There is no switch for JSON: the words ask for it.
pub(super) fn body(model: &str, question: &Question<'_>, without: Without) -> Value {
    let images = question.images.iter().map(|image| {
        let source = match image {
            Image::At(url) => json!({ "type": "url", "url": url }),
            Image::Bytes { kind, bytes } => {
                json!({ "type": "base64", "media_type": kind, "data": STANDARD.encode(bytes) })
            }
        };
        json!({ "type": "image", "source": source })
    });
    let content: Vec<Value> = images.chain([json!({ "type": "text", "text": question.text })]).collect();
    let mut body = json!({
        "model": model,
        "max_tokens": question.max_tokens,
        "system": question.system,
        "messages": [{ "role": "user", "content": content }],
    });
    if let Some(temperature) = question.temperature.filter(|_| !without.temperature) {
        body["temperature"] = temperature.into();
    }
    body
}

/// What an answer with status 200 says; `None` when it is none.
pub(super) fn read(answer: &Value) -> Option<Said> {
    let finish = match answer.get("stop_reason").and_then(Value::as_str) {
        Some("refusal") => return Some(Said::Refused),
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        _ => Finish::Stop,
    };
    // Blocks of other types are thoughts and tools.
    let text = |block: &Value| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        block.get("text").filter(|_| is_text).and_then(Value::as_str).map(str::to_owned)
    };
    let text = answer.get("content")?.as_array()?.iter().filter_map(text).collect();
    let usage = |name: &str| answer.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    Some(Said::Text(Reply {
        text,
        tokens_in: parts.into_iter().filter_map(usage).sum(),
        tokens_out: usage("output_tokens").unwrap_or(0),
        finish,
    }))
}
