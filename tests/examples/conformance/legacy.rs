//! Tools that send messages during a call: log lines, progress, and requests for input. Only
//! clients of older protocol versions answer such requests.

use std::time::Duration;

use rmcp::model::{
    CallToolResult, ContentBlock, ElicitationAction, JsonObject, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::ask;
use crate::tools::{nothing, schema, text};

/// The pause between two steps of a tool.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// The name of the logger.
const LOGGER: &str = "fixture";

/// Returns the tools of this file that `tools.rs` does not list.
pub(crate) fn tools() -> Vec<Tool> {
    let with_argument = |name: &str| {
        schema(json!({ "type": "object", "properties": { name: { "type": "string" } },
                "required": [name] }))
    };
    vec![
        Tool::new("test_tool_with_logging", "Logs three lines", nothing()),
        Tool::new("test_sampling", "Asks the client's model", with_argument("prompt")),
        Tool::new(
            "test_elicitation",
            "Asks the person for a name and an address",
            with_argument("message"),
        ),
        Tool::new(
            "test_elicitation_sep1034_defaults",
            "Asks with a form that has default values",
            nothing(),
        ),
        Tool::new("test_elicitation_sep1330_enums", "Asks for choices of five kinds", nothing()),
    ]
}

/// Calls a tool of this file.
///
/// # Errors
/// When there is no tool of this name, or MCP does not allow the schema of its form.
pub(crate) async fn call(
    name: &str,
    arguments: &JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or("?");
    match name {
        "test_tool_with_logging" => {
            for line in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                log(context, LoggingLevel::Info, line).await;
                tokio::time::sleep(PAUSE).await;
            }
            Ok(text("logged"))
        }
        "test_logging_tool" => {
            if let Some(level) = context.meta.log_level() {
                log(context, level, "as it was asked for").await;
            }
            Ok(text("logged if it was asked for"))
        }
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                if let Some(token) = context.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, done).with_total(100.0);
                    let _ = context.peer.notify_progress(progress).await;
                }
                tokio::time::sleep(PAUSE).await;
            }
            Ok(text("done"))
        }
        "test_sampling" => Ok(sample(context, argument("prompt")).await),
        "test_elicitation" => {
            let schema = ask::form(&json!({
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" }
            }));
            elicit(context, argument("message"), schema).await
        }
        "test_elicitation_sep1034_defaults" => {
            elicit(context, "Change what is wrong", schema_with_defaults()).await
        }
        "test_elicitation_sep1330_enums" => elicit(context, "Choose", schema_with_choices()).await,
        _ => Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
    }
}

/// Sends a log line. A client that disconnected is no error.
async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, line: &str) {
    let line = LoggingMessageNotificationParam::new(level, json!(line)).with_logger(LOGGER);
    let _ = context.peer.notify_logging_message(line).await;
}

/// Requests a message from the client's model. Without a message, the tool returns an error in its
/// result.
async fn sample(context: &RequestContext<RoleServer>, prompt: &str) -> CallToolResult {
    match context.peer.create_message(ask::sampled(prompt)).await {
        Ok(sample) => {
            let answer = sample.message.content.first().and_then(|content| content.as_text());
            text(format!("LLM response: {}", answer.map_or("nothing", |answer| &answer.text)))
        }
        Err(error) => {
            CallToolResult::error(vec![ContentBlock::text(format!("no sample: {error}"))])
        }
    }
}

/// Requests that the user fills in a form. Without an answer, the tool returns an error in its
/// result.
///
/// # Errors
/// When MCP does not allow `schema` for a form.
async fn elicit(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> Result<CallToolResult, ErrorData> {
    Ok(match context.peer.create_elicitation(ask::fill_in(message, schema)?).await {
        Ok(reply) => {
            let action = match reply.action {
                ElicitationAction::Accept => "accept",
                ElicitationAction::Decline => "decline",
                _ => "cancel",
            };
            let content = reply.content.unwrap_or_default();
            text(format!("Elicitation completed: action={action}, content={content}"))
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(format!("no form: {error}"))]),
    })
}

/// Returns the schema of a form with default values (SEP-1034).
fn schema_with_defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"],
                "default": "active" },
            "verified": { "type": "boolean", "default": true }
        }
    })
}

/// Returns the schema of a form with each of the five kinds of choices (SEP-1330).
fn schema_with_choices() -> Value {
    let titled =
        |noun: &str| {
            let choices = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
            json!(choices.map(
                |(value, title)| json!({ "const": value, "title": format!("{title} {noun}") })
            ))
        };
    let plain = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": plain },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } }
        }
    })
}
