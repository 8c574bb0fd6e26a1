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

/// Whether a tool runs as a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunMode {
    /// Never as a task: the call waits for the result.
    AtOnce,
    /// As a task if the client supports tasks; otherwise the call waits.
    Either,
    /// Only as a task. Clients without tasks get an error.
    AsTask,
}

/// Names and JSON types of arguments.
type Arguments = &'static [(&'static str, &'static str)];

/// Name, description, arguments and run mode of each tool.
const TOOLS: [(&str, &str, Arguments, RunMode); 7] = [
    ("greet", "Greets", &[("name", "string")], RunMode::AtOnce),
    (
        "slow_compute",
        "Takes the given number of seconds",
        &[("seconds", "number"), ("label", "string")],
        RunMode::Either,
    ),
    ("failing_job", "Fails as a tool", &[], RunMode::AsTask),
    ("protocol_error_job", "Fails as a request", &[], RunMode::Either),
    ("confirm_delete", "Asks before it continues", &[("filename", "string")], RunMode::AsTask),
    ("multi_input", "Asks for two things, in any order", &[], RunMode::AsTask),
    ("test_tool_with_task", "Asks first, and then runs as a task", &[], RunMode::AsTask),
];

/// Returns whether this file has a tool of this name.
pub(crate) fn has_tool(name: &str) -> bool {
    TOOLS.iter().any(|(known, ..)| *known == name)
}

/// Returns the tools of this file.
pub(crate) fn tools() -> impl Iterator<Item = Tool> {
    TOOLS.iter().map(|(name, description, arguments, _)| {
        let properties: Map<String, Value> = arguments
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
            .collect();
        let schema = schema(json!({ "type": "object", "properties": properties }));
        Tool::new(*name, *description, schema)
    })
}

/// Calls a tool of this file.
///
/// # Errors
/// When the tool needs tasks and the client does not support them, and when `protocol_error_job`
/// runs without a task.
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
        let required = ClientCapabilities::builder().enable_tasks().build();
        return Err(ErrorData::missing_required_client_capability(required));
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
            Some(form) => Job::Greets(filled(form, "name").to_owned()),
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
    /// Takes this time. The text is the label in the result.
    Slow(Duration, String),
    /// Returns a result with an error.
    Fails,
    /// Returns a protocol error.
    Breaks,
    /// Requests a confirmation to delete this file.
    Confirms(String),
    /// Requests two inputs at once.
    AsksTwice,
    /// Greets this name.
    Greets(String),
}

impl Job {
    /// Runs a job that needs no input. Jobs that need input fail like [`Job::Breaks`].
    ///
    /// # Errors
    /// For jobs that break or need input.
    async fn run_without_input(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Slow(time, label) => {
                tokio::time::sleep(time).await;
                Ok(text(format!("{label} took {} s", time.as_secs_f64())))
            }
            Self::Fails => {
                // Long enough for a client to observe the running job.
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

    /// Runs a job as a task.
    ///
    /// # Errors
    /// When the job breaks, is cancelled, or gets no input.
    async fn run(self, task: TaskContext) -> Result<CallToolResult, TaskExit> {
        match self {
            Self::Confirms(file) => {
                let form =
                    ask::elicitation(&format!("Delete {file}?"), ask::field("confirm", "boolean"))?;
                let input = task.request_input("confirm", form).await?;
                let agreed = input["content"]["confirm"].as_bool().unwrap_or_default();
                Ok(text(format!("{file}: confirmed = {agreed}")))
            }
            Self::AsksTwice => {
                let form = |message: &str| ask::elicitation(message, ask::field("value", "string"));
                let one = task.request_input("input-a", form("The one value")?);
                let other = task.request_input("input-b", form("The other value")?);
                let (one, other) = tokio::try_join!(one, other)?;
                Ok(text(format!("{} and {}", one["content"]["value"], other["content"]["value"])))
            }
            // A task ends early only where it checks for cancellation.
            job => tokio::select! {
                () = task.cancelled() => Err(TaskExit::Cancelled),
                result = job.run_without_input() => result.map_err(TaskExit::Error),
            },
        }
    }
}
