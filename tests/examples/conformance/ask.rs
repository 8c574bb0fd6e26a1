//! Requests of the server for input from the client, in the form of both protocol eras: a form, a
//! sampled message, the roots.

use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ListRootsRequest, SamplingMessage,
};
use serde_json::{Map, Value, json};

/// Returns the schema of a form with these fields, all required.
pub(crate) fn form(properties: &Value) -> Value {
    let required: Vec<&String> =
        properties.as_object().map(|fields| fields.keys().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Returns the schema of a form with one field.
pub(crate) fn field(name: &str, kind: &str) -> Value {
    form(&json!({ name: { "type": kind } }))
}

/// Returns the parameters that ask the user to fill in a form.
///
/// # Errors
/// When MCP does not allow `schema` for a form.
pub(crate) fn fill_in(message: &str, schema: Value) -> Result<ElicitRequestParams, ErrorData> {
    let requested_schema: ElicitationSchema = serde_json::from_value(schema)
        .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    })
}

/// Returns the parameters that ask the client's model for a message.
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

/// Returns an answer that only requests input.
pub(crate) fn missing<const N: usize>(asked: [(&str, InputRequest); N]) -> InputRequiredResult {
    InputRequiredResult::from_input_requests(requests(asked))
}

/// As [`missing`], with a state that the client sends back.
pub(crate) fn missing_with<const N: usize>(
    asked: [(&str, InputRequest); N],
    state: String,
) -> InputRequiredResult {
    InputRequiredResult::new(Some(requests(asked)), Some(state))
}

fn requests<const N: usize>(asked: [(&str, InputRequest); N]) -> InputRequests {
    asked.into_iter().map(|(key, request)| (key.to_owned(), request)).collect()
}

/// Returns the client's answer to `key`. A value that is not an object counts as missing, so it is
/// requested again.
pub(crate) fn answer<'a>(
    responses: Option<&'a InputResponses>,
    key: &str,
) -> Option<&'a Map<String, Value>> {
    responses?.get(key)?.as_object()
}

/// Returns the value of a field of a completed form.
pub(crate) fn filled<'a>(answer: &'a Map<String, Value>, name: &str) -> &'a str {
    answer
        .get("content")
        .and_then(|content| content.get(name))
        .and_then(Value::as_str)
        .unwrap_or("nobody")
}
