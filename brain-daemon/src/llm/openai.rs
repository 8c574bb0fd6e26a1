//! The shape of OpenAI's chat completions, which local servers and gateways speak, too. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Finish, Image, Question, Reply, Said, Without};

/// The request.
pub(super) fn body(model: &str, question: &Question<'_>, without: Without) -> Value {
    let content = if question.images.is_empty() {
        Value::from(question.text)
    } else {
        let images = question.images.iter().map(|image| {
            let url = match image {
                Image::At(url) => url.clone(),
                Image::Bytes { kind, bytes } => format!("data:{kind};base64,{}", STANDARD.encode(bytes)),
            };
            json!({ "type": "image_url", "image_url": { "url": url } })
        });
        images.chain([json!({ "type": "text", "text": question.text })]).collect()
    };
    let mut body = json!({
        "model": model,
        "messages": [{ "role": "system", "content": question.system }, { "role": "user", "content": content }],
    });
    // Newer models of OpenAI take the one name only, most other servers the other.
    let most = if without.max_tokens { "max_completion_tokens" } else { "max_tokens" };
    body[most] = question.max_tokens.into();
    if let Some(temperature) = question.temperature.filter(|_| !without.temperature) {
        body["temperature"] = temperature.into();
    }
    if question.json && !without.format {
        body["response_format"] = json!({ "type": "json_object" });
    }
    body
}

/// What an answer with status 200 says; `None` when it is none.
pub(super) fn read(answer: &Value) -> Option<Said> {
    let choice = answer.get("choices")?.get(0)?;
    let message = choice.get("message")?;
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("content_filter") => return Some(Said::Refused),
        Some("length") => Finish::Length,
        _ => Finish::Stop,
    };
    if message.get("refusal").and_then(Value::as_str).is_some_and(|why| !why.is_empty()) {
        return Some(Said::Refused);
    }
    let text = match message.get("content")? {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        _ => return None,
    };
    let usage = |name: &str| answer.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    Some(Said::Text(Reply {
        text,
        tokens_in: usage("prompt_tokens").unwrap_or(0),
        tokens_out: usage("completion_tokens").unwrap_or(0),
        finish,
    }))
}
