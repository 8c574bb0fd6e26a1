//! The shape of OpenAI's chat completions, which local servers and gateways speak, too. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::stream::Heard;
use super::{Finish, Image, Question, Said, Without};

/// The request.
pub(super) fn body(model: &str, question: &Question<'_>, without: Without, streams: bool) -> Value {
    let content = if question.images.is_empty() {
        Value::from(question.text)
    } else {
        let images = question.images.iter().map(|image| {
            let url = match image {
                Image::At(url) => url.clone(),
                Image::Bytes { kind, bytes } => {
                    format!("data:{kind};base64,{}", STANDARD.encode(bytes))
                }
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
    if streams {
        body["stream"] = true.into();
        if !without.usage {
            body["stream_options"] = json!({ "include_usage": true });
        }
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
    Some(Said::Text(text, finish))
}

/// The tokens in and out that an answer or an event names; 0 where it does not.
pub(super) fn usage(answer: &Value) -> (u64, u64) {
    let usage =
        |name: &str| answer.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    (usage("prompt_tokens").unwrap_or(0), usage("completion_tokens").unwrap_or(0))
}

/// Takes an event of a stream, and gives the text that it brings; `None` when it is none.
pub(super) fn hear(heard: &mut Heard, event: &Value) -> Option<String> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        heard.fault(error);
        return Some(String::new());
    }
    heard.count(usage(event));
    // The event with the tokens has no choice in it.
    let Some(choice) = event.get("choices")?.as_array()?.first() else {
        return Some(String::new());
    };
    match choice.get("finish_reason").and_then(Value::as_str) {
        None => {}
        Some("content_filter") => heard.is_refused = true,
        Some("length") => heard.finish = Some(Finish::Length),
        Some(_) => heard.finish = Some(Finish::Stop),
    }
    let said =
        |name: &str| choice.get("delta").and_then(|delta| delta.get(name)).and_then(Value::as_str);
    heard.is_refused |= said("refusal").is_some_and(|why| !why.is_empty());
    Some(said("content").unwrap_or_default().to_owned())
}
