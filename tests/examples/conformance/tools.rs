//! The tools that no other file has, the list of all tools, and the call of a tool by name.

use rmcp::model::{
    AudioContent, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    ContentBlock, JsonObject, ResourceContents, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::{ask, legacy, rounds, tasks};

/// An image of a red dot.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHg\
        AHggJ/PchI7wAAAABJRU5ErkJggg==";
/// A silent sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// The tool whose argument is also a header (SEP-2243).
pub(crate) const WITH_HEADER: &str = "test_custom_header";

/// Names and descriptions of tools without arguments.
const WITHOUT_ARGUMENTS: [(&str, &str); 13] = [
    ("test_simple_text", "Answers with a text"),
    ("test_image_content", "Answers with an image"),
    ("test_audio_content", "Answers with a sound"),
    ("test_embedded_resource", "Answers with a resource"),
    ("test_multiple_content_types", "Answers with a text, an image and a resource"),
    ("test_error_handling", "Fails, always"),
    ("test_reconnection", "Takes a moment, so that a client can resume a stream"),
    ("test_trigger_tool_change", "Notifies listeners that the tools changed"),
    ("test_trigger_prompt_change", "Notifies listeners that the prompts changed"),
    ("test_missing_capability", "Needs a client that supports sampling"),
    ("test_streaming_elicitation", "Asks for a value before it answers"),
    ("test_logging_tool", "Logs when the request asks for it"),
    ("test_tool_with_progress", "Reports its progress"),
];

/// Converts a JSON object to a schema.
///
/// # Panics
/// When `value` is not an object.
pub(crate) fn schema(value: Value) -> JsonObject {
    serde_json::from_value(value).expect("the schema is not an object")
}

/// Returns the schema of a tool without arguments.
pub(crate) fn nothing() -> JsonObject {
    schema(json!({ "type": "object", "properties": {} }))
}

/// Returns all tools, file by file.
pub(crate) fn all() -> Vec<Tool> {
    let plain = WITHOUT_ARGUMENTS
        .iter()
        .chain(&rounds::TOOLS)
        .map(|(name, description)| Tool::new(*name, *description, nothing()));
    let mut tools: Vec<Tool> = plain.collect();
    tools.extend(legacy::tools());
    tools.extend(tasks::tools());
    tools.extend([with_header(), with_schema_keywords()]);
    tools
}

/// Returns the tool whose argument is also a header. The transport compares their values.
pub(crate) fn with_header() -> Tool {
    let value = json!({ "type": "string", "x-mcp-header": "Value" });
    let input_schema =
        json!({ "type": "object", "properties": { "value": value }, "required": ["value"] });
    Tool::new(WITH_HEADER, "Repeats its argument, which a header has too", schema(input_schema))
}

/// Returns the tool whose schema uses additions of JSON Schema 2020-12 (SEP-1613, SEP-2106).
fn with_schema_keywords() -> Tool {
    let input_schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "address",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
        "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
        "if": { "required": ["address"] },
        "then": { "properties": { "address": { "required": ["street"] } } },
        "else": { "required": ["name"] },
        "additionalProperties": false
    });
    let description = "Has a schema with keywords of JSON Schema 2020-12";
    Tool::new("json_schema_2020_12_tool", description, schema(input_schema))
}

/// Returns a result with one text.
pub(crate) fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text.into())])
}

/// Returns a text resource with a URI.
fn document(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(kind.to_owned()),
        text: text.to_owned(),
        meta: None,
    })
}

/// Calls the tool that `request` names, in whichever file it is.
///
/// # Errors
/// When there is no such tool, an argument or state is invalid, or the client lacks a capability. A
/// tool that fails for other reasons returns a result.
pub(crate) async fn call(
    fixture: &Fixture,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.clone();
    let name = name.as_ref();
    if rounds::TOOLS.iter().any(|(known, _)| *known == name) {
        return rounds::call(fixture, &request, &context.meta);
    }
    if tasks::has_tool(name) {
        return tasks::call(fixture, &request, context).await;
    }
    let arguments = request.arguments.unwrap_or_default();
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
    let answer = match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => {
            CallToolResult::success(vec![ContentBlock::image(PNG, "image/png")])
        }
        "test_audio_content" => {
            CallToolResult::success(vec![ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))])
        }
        "test_embedded_resource" => CallToolResult::success(vec![document(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => CallToolResult::success(vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            document(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ]),
        "test_error_handling" => CallToolResult::error(vec![ContentBlock::text(
            "This tool intentionally returns an error for testing",
        )]),
        "test_reconnection" => {
            tokio::time::sleep(legacy::PAUSE).await;
            text("still there")
        }
        "test_trigger_tool_change" => {
            for listener in fixture.listeners() {
                // A listener may have disconnected.
                let _ = listener.notify_tool_list_changed().await;
            }
            text("notified")
        }
        "test_trigger_prompt_change" => {
            for listener in fixture.listeners() {
                let _ = listener.notify_prompt_list_changed().await;
            }
            text("notified")
        }
        "test_missing_capability" => {
            if context.meta.client_capabilities().unwrap_or_default().sampling.is_none() {
                let required = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(required));
            }
            text("the client samples")
        }
        "test_streaming_elicitation" => {
            let value = ask::elicitation("A value, please", ask::field("value", "string"))?;
            return Ok(ask::missing([("streaming_elicitation", value)]).into());
        }
        WITH_HEADER => text(
            argument("value").ok_or_else(|| ErrorData::invalid_params("value is a text", None))?,
        ),
        "json_schema_2020_12_tool" => {
            text(format!("Hello, {}!", argument("name").unwrap_or("world")))
        }
        _ => return legacy::call(name, &arguments, context).await.map(Into::into),
    };
    Ok(answer.into())
}
