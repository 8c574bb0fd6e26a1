//! Tools that send messages during a call: log lines, progress, and requests to older clients.

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

/// The tools of this file.
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
            "Asks with values that are there already",
            nothing(),
        ),
        Tool::new("test_elicitation_sep1330_enums", "Asks for choices of five kinds", nothing()),
    ]
}

/// Calls a tool of this file.
///
/// # Errors
/// If there is no tool of this name.
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
            elicit(context, "Change what is wrong", with_defaults()).await
        }
        "test_elicitation_sep1330_enums" => elicit(context, "Choose", with_choices()).await,
        _ => Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
    }
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, line: &str) {
    let line = LoggingMessageNotificationParam::new(level, json!(line)).with_logger(LOGGER);
    let _ = context.peer.notify_logging_message(line).await;
}

/// Requests an answer of the client's model. Without an answer, the tool returns an error, and the
/// protocol goes on.
async fn sample(context: &RequestContext<RoleServer>, prompt: &str) -> CallToolResult {
    match context.peer.create_message(ask::sampled(prompt)).await {
        Ok(sampled) => {
            let said = sampled.message.content.first().and_then(|content| content.as_text());
            text(format!("LLM response: {}", said.map_or("nothing", |said| &said.text)))
        }
        Err(error) => {
            CallToolResult::error(vec![ContentBlock::text(format!("no sample: {error}"))])
        }
    }
}

/// Requests that the user fills in a form.
async fn elicit(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> Result<CallToolResult, ErrorData> {
    Ok(match context.peer.create_elicitation(ask::fill_in(message, schema)?).await {
        Ok(filled) => {
            let action = match filled.action {
                ElicitationAction::Accept => "accept",
                ElicitationAction::Decline => "decline",
                _ => "cancel",
            };
            let content = filled.content.unwrap_or_default();
            text(format!("Elicitation completed: action={action}, content={content}"))
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(format!("no form: {error}"))]),
    })
}

/// Returns a form with default values (SEP-1034).
fn with_defaults() -> Value {
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

/// Returns a form with choices in each form of a schema (SEP-1330).
fn with_choices() -> Value {
    let titled =
        |what: &str| {
            let choices = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
            json!(choices.map(
                |(value, title)| json!({ "const": value, "title": format!("{title} {what}") })
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
