//! Tools that run as tasks, which a client polls, answers and cancels later (SEP-2663).

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateTaskResult, Tool,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use crate::ask::{self, answer, filled};
use crate::fixture::Fixture;
use crate::tools::{schema, text};

/// How a tool of this file runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunMode {
    /// Always synchronously.
    AtOnce,
    /// As a task if the client supports tasks.
    Either,
    /// Only as a task.
    AsTask,
}

/// Names and types of arguments.
type Arguments = &'static [(&'static str, &'static str)];

/// Name, description, arguments, and how it runs.
const TOOLS: [(&str, &str, Arguments, RunMode); 7] = [
    ("greet", "Greets", &[("name", "string")], RunMode::AtOnce),
    (
        "slow_compute",
        "Takes so many seconds",
        &[("seconds", "number"), ("label", "string")],
        RunMode::Either,
    ),
    ("failing_job", "Fails as a tool", &[], RunMode::AsTask),
    ("protocol_error_job", "Fails as a request", &[], RunMode::Either),
    ("confirm_delete", "Asks before it continues", &[("filename", "string")], RunMode::AsTask),
    ("multi_input", "Asks for two things, in any order", &[], RunMode::AsTask),
    ("test_tool_with_task", "Asks first and is a task then", &[], RunMode::AsTask),
];

/// Returns whether this file has a tool of this name.
pub(crate) fn has_tool(name: &str) -> bool {
    TOOLS.iter().any(|(known, ..)| *known == name)
}

/// The tools of this file.
pub(crate) fn tools() -> impl Iterator<Item = Tool> {
    TOOLS.iter().map(|(name, what, arguments, _)| {
        let properties: Map<String, Value> = arguments
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
            .collect();
        Tool::new(*name, *what, schema(json!({ "type": "object", "properties": properties })))
    })
}

/// Calls a tool of this file.
///
/// # Errors
/// If the tool needs tasks and the client does not support them, or on a protocol error.
pub(crate) async fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.as_ref();
    let mode =
        TOOLS.iter().find(|(known, ..)| *known == name).map_or(RunMode::AtOnce, |(.., mode)| *mode);
    let supports_tasks =
        context.client_capabilities().is_some_and(|client| client.supports_tasks());
    if mode == RunMode::AsTask && !supports_tasks {
        let needed = ClientCapabilities::builder().enable_tasks().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    let arguments = request.arguments.clone().unwrap_or_default();
    let argument =
        |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or("it").to_owned();
    let job = match name {
        "greet" => return Ok(text(format!("Hello, {}!", argument("name"))).into()),
        "slow_compute" => {
            let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
            Job::Slow(Duration::from_secs_f64(seconds.clamp(0.0, 60.0)), argument("label"))
        }
        "failing_job" => Job::Fails,
        "protocol_error_job" => Job::Breaks,
        "confirm_delete" => Job::Confirms(argument("filename")),
        "multi_input" => Job::AsksTwice,
        _ => match answer(request.input_responses.as_ref(), "user_name") {
            Some(given) => Job::Greets(filled(given, "name").to_owned()),
            None => {
                let name = ask::elicitation("What is your name?", ask::field("name", "string"))?;
                return Ok(ask::missing([("user_name", name)]).into());
            }
        },
    };
    if mode == RunMode::Either && !supports_tasks {
        return job.run_without_input().await.map(Into::into);
    }
    let task = fixture.tasks().spawn(TaskOptions::default(), move |task| Box::pin(job.run(task)));
    Ok(CreateTaskResult::new(task).into())
}

/// The work of a task.
enum Job {
    Slow(Duration, String),
    Fails,
    Breaks,
    Confirms(String),
    AsksTwice,
    Greets(String),
}

impl Job {
    /// Runs a job that needs no input.
    async fn run_without_input(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Slow(time, label) => {
                tokio::time::sleep(time).await;
                Ok(text(format!("{label} took {} s", time.as_secs_f64())))
            }
            Self::Fails => {
                // Long enough for a client to see it running.
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(CallToolResult::error(vec![ContentBlock::text("this job fails, always")]))
            }
            Self::Greets(name) => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok(text(format!("Hello, {name}!")))
            }
            _ => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Err(ErrorData::internal_error("this job breaks, always", None))
            }
        }
    }

    async fn run(self, task: TaskContext) -> Result<CallToolResult, TaskExit> {
        match self {
            Self::Confirms(file) => {
                let form =
                    ask::elicitation(&format!("Delete {file}?"), ask::field("confirm", "boolean"))?;
                let given = task.request_input("confirm", form).await?;
                let agreed = given["content"]["confirm"].as_bool().unwrap_or_default();
                Ok(text(format!("{file}: confirmed = {agreed}")))
            }
            Self::AsksTwice => {
                let form = |message: &str| ask::elicitation(message, ask::field("value", "string"));
                let one = task.request_input("input-a", form("The one value")?);
                let other = task.request_input("input-b", form("The other value")?);
                let (one, other) = tokio::try_join!(one, other)?;
                Ok(text(format!("{} and {}", one["content"]["value"], other["content"]["value"])))
            }
            // A task can only be cancelled where it checks for it.
            job => tokio::select! {
                () = task.cancelled() => Err(TaskExit::Cancelled),
                done = job.run_without_input() => done.map_err(TaskExit::Error),
            },
        }
    }
}
