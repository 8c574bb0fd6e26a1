//! What the fixture asks a client for, in the shapes that both eras send: a form, a sampled
//! message, the roots.

use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ListRootsRequest, SamplingMessage,
};
use serde_json::{Map, Value, json};

/// The schema of a form with these fields, all required.
pub(crate) fn form(properties: &Value) -> Value {
    let required: Vec<&String> =
        properties.as_object().map(|fields| fields.keys().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The same with one field.
pub(crate) fn field(name: &str, kind: &str) -> Value {
    form(&json!({ name: { "type": kind } }))
}

/// What asks a person to fill in a form.
///
/// # Errors
/// When `schema` is none that MCP lets a form have.
pub(crate) fn fill_in(message: &str, schema: Value) -> Result<ElicitRequestParams, ErrorData> {
    let requested_schema: ElicitationSchema = serde_json::from_value(schema)
        .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    })
}

/// What asks the client's model for a message.
pub(crate) fn sampled(prompt: &str) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100)
}

/// A form as part of an answer (SEP-2322).
///
/// # Errors
/// As [`fill_in`].
pub(crate) fn elicitation(message: &str, schema: Value) -> Result<InputRequest, ErrorData> {
    Ok(InputRequest::Elicitation(ElicitRequest::new(fill_in(message, schema)?)))
}

/// A message of the client's model as part of an answer.
pub(crate) fn sampling(prompt: &str) -> InputRequest {
    InputRequest::CreateMessage(CreateMessageRequest::new(sampled(prompt)))
}

/// The client's roots as part of an answer.
pub(crate) fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

/// An answer that only says what is missing.
pub(crate) fn missing<const N: usize>(asked: [(&str, InputRequest); N]) -> InputRequiredResult {
    InputRequiredResult::from_input_requests(requests(asked))
}

/// The same with what the server wants to hear again.
pub(crate) fn missing_with<const N: usize>(
    asked: [(&str, InputRequest); N],
    state: String,
) -> InputRequiredResult {
    InputRequiredResult::new(Some(requests(asked)), Some(state))
}

fn requests<const N: usize>(asked: [(&str, InputRequest); N]) -> InputRequests {
    asked.into_iter().map(|(key, request)| (key.to_owned(), request)).collect()
}

/// What the client answered to `key`. Every answer is an object; what is none counts as missing, so
/// it is asked for again.
pub(crate) fn answer<'a>(
    responses: Option<&'a InputResponses>,
    key: &str,
) -> Option<&'a Map<String, Value>> {
    responses?.get(key)?.as_object()
}

/// A field of a form that was filled in.
pub(crate) fn filled<'a>(answer: &'a Map<String, Value>, name: &str) -> &'a str {
    answer
        .get("content")
        .and_then(|content| content.get(name))
        .and_then(Value::as_str)
        .unwrap_or("nobody")
}
