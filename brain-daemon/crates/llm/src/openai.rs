//! OpenAI's chat completions API, which local servers and gateways use, too. No I/O.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::stream_state::ResponseState;
use super::{Completion, Finish, Image, ModelQuestion, UnsupportedOptions};

/// Builds the body of a request.
pub(super) fn body(
    model: &str,
    question: &ModelQuestion<'_>,
    unsupported: UnsupportedOptions,
    is_stream: bool,
) -> Value {
    let content = if question.images.is_empty() {
        Value::from(question.text)
    } else {
        let images = question.images.iter().map(|image| {
            let url = match image {
                Image::Url(url) => url.clone(),
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
        "messages": [{ "role": "system", "content": question.system },
            { "role": "user", "content": content }],
    });
    // Newer models of OpenAI accept only `max_completion_tokens`, most other servers only
    // `max_tokens`.
    let max_tokens = if unsupported.max_tokens { "max_completion_tokens" } else { "max_tokens" };
    body[max_tokens] = question.max_tokens.into();
    if let Some(temperature) = question.temperature.filter(|_| !unsupported.temperature) {
        body["temperature"] = temperature.into();
    }
    if question.json && !unsupported.format {
        body["response_format"] = json!({ "type": "json_object" });
    }
    if is_stream {
        body["stream"] = true.into();
        if !unsupported.usage {
            body["stream_options"] = json!({ "include_usage": true });
        }
    }
    body
}

/// Returns the content of a response with status 200; `None` when it does not follow the API.
pub(super) fn read(response: &Value) -> Option<Completion> {
    let choice = response.get("choices")?.get(0)?;
    let message = choice.get("message")?;
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("content_filter") => return Some(Completion::Refused),
        Some("length") => Finish::Length,
        _ => Finish::Stop,
    };
    if message.get("refusal").and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
        return Some(Completion::Refused);
    }
    let text = match message.get("content")? {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        _ => return None,
    };
    Some(Completion::Text(text, finish))
}

/// Returns the tokens in and out that a response or event reports; 0 where it reports none.
pub(super) fn usage(message: &Value) -> (u64, u64) {
    let usage =
        |name: &str| message.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    (usage("prompt_tokens").unwrap_or(0), usage("completion_tokens").unwrap_or(0))
}

/// Reads an event of a stream and returns its text; `None` when it does not follow the API.
pub(super) fn read_event(state: &mut ResponseState, event: &Value) -> Option<String> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        state.fail(error);
        return Some(String::new());
    }
    state.count(usage(event));
    // The event with the token counts has no choices.
    let Some(choice) = event.get("choices")?.as_array()?.first() else {
        return Some(String::new());
    };
    match choice.get("finish_reason").and_then(Value::as_str) {
        None => {}
        Some("content_filter") => state.is_refused = true,
        Some("length") => state.finish = Some(Finish::Length),
        Some(_) => state.finish = Some(Finish::Stop),
    }
    let delta =
        |name: &str| choice.get("delta").and_then(|delta| delta.get(name)).and_then(Value::as_str);
    state.is_refused |= delta("refusal").is_some_and(|text| !text.is_empty());
    Some(delta("content").unwrap_or_default().to_owned())
}
