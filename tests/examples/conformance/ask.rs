//! Requests of the server for input from the client, for both ways of the protocol: a message
//! during the call, and a part of the result. The input is a form, a model's message, or the roots.

use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ListRootsRequest, SamplingMessage,
};
use serde_json::{Map, Value, json};

/// Returns the schema of a form with these fields. All are required.
pub(crate) fn form(properties: &Value) -> Value {
    let required: Vec<&String> =
        properties.as_object().map(|fields| fields.keys().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Returns the schema of a form with one required field of the JSON type `kind`.
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

/// Returns the request for a form, as part of a result (SEP-2322).
///
/// # Errors
/// When MCP does not allow `schema` for a form.
pub(crate) fn elicitation(message: &str, schema: Value) -> Result<InputRequest, ErrorData> {
    Ok(InputRequest::Elicitation(ElicitRequest::new(fill_in(message, schema)?)))
}

/// Returns the request for a message of the client's model, as part of a result.
pub(crate) fn sampling(prompt: &str) -> InputRequest {
    InputRequest::CreateMessage(CreateMessageRequest::new(sampled(prompt)))
}

/// Returns the request for the client's roots, as part of a result.
pub(crate) fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

/// Returns a result that only requests input. The strings are keys for the client's answers.
pub(crate) fn missing<const N: usize>(inputs: [(&str, InputRequest); N]) -> InputRequiredResult {
    InputRequiredResult::from_input_requests(requests(inputs))
}

/// As [`missing`], with a `state` that the client sends back in the next call.
pub(crate) fn missing_with<const N: usize>(
    inputs: [(&str, InputRequest); N],
    state: String,
) -> InputRequiredResult {
    InputRequiredResult::new(Some(requests(inputs)), Some(state))
}

fn requests<const N: usize>(inputs: [(&str, InputRequest); N]) -> InputRequests {
    inputs.into_iter().map(|(key, request)| (key.to_owned(), request)).collect()
}

/// Returns the client's answer to `key`. An answer that is not an object counts as missing, so that
/// the server requests it again.
pub(crate) fn answer<'a>(
    responses: Option<&'a InputResponses>,
    key: &str,
) -> Option<&'a Map<String, Value>> {
    responses?.get(key)?.as_object()
}

/// Returns the text in a field of a completed form, or `nobody` if there is none.
pub(crate) fn filled<'a>(answer: &'a Map<String, Value>, name: &str) -> &'a str {
    answer
        .get("content")
        .and_then(|content| content.get(name))
        .and_then(Value::as_str)
        .unwrap_or("nobody")
}
