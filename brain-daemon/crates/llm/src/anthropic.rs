//! The shape of Anthropic's messages. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::stream::Heard;
use super::{Finish, Image, Question, Said, Without};

/// The version of the API that is spoken here.
pub(super) const VERSION: &str = "2023-06-01";

/// The request. There is no switch for JSON: the words ask for it.
pub(super) fn body(model: &str, question: &Question<'_>, without: Without, streams: bool) -> Value {
    let images = question.images.iter().map(|image| {
        let source = match image {
            Image::At(url) => json!({ "type": "url", "url": url }),
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
    if let Some(temperature) = question.temperature.filter(|_| !without.temperature) {
        body["temperature"] = temperature.into();
    }
    if streams {
        body["stream"] = true.into();
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
    Some(Said::Text(text, finish))
}

/// The tokens in and out that an answer or an event names; 0 where it does not.
pub(super) fn usage(answer: &Value) -> (u64, u64) {
    let usage =
        |name: &str| answer.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    (
        parts.into_iter().filter_map(usage).fold(0, u64::saturating_add),
        usage("output_tokens").unwrap_or(0),
    )
}

/// Takes an event of a stream, and gives the text that it brings; `None` when it is none.
pub(super) fn hear(heard: &mut Heard, event: &Value) -> Option<String> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    match event.get("type")?.as_str()? {
        "message_start" => heard.count(usage(event.get("message")?)),
        "content_block_start" => {
            return Some(text(event.get("content_block").and_then(|block| block.get("text"))));
        }
        "content_block_delta" => {
            // Deltas of other types are thoughts, tools and signatures.
            let delta = event.get("delta").filter(|delta| text(delta.get("type")) == "text_delta");
            return Some(text(delta.and_then(|delta| delta.get("text"))));
        }
        "message_delta" => {
            heard.count(usage(event));
            match event
                .get("delta")
                .and_then(|delta| delta.get("stop_reason"))
                .and_then(Value::as_str)
            {
                None => {}
                Some("refusal") => heard.is_refused = true,
                Some("max_tokens" | "model_context_window_exceeded") => {
                    heard.finish = Some(Finish::Length)
                }
                Some(_) => heard.finish = Some(Finish::Stop),
            }
        }
        "message_stop" => heard.is_over = true,
        "error" => heard.fault(event.get("error")?),
        // `ping`, and whatever comes to be.
        _ => {}
    }
    Some(String::new())
}
