//! The trait of a tool: typed arguments, typed output, and its description for clients.

use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use brain_protocol::{Fault, FaultCode, OperationInfo, Scope, SeenOutcome};
use serde_json::Value;

use super::context::{CallEnd, ToolContext};
use super::{answer, arguments, errors, schema};
use brain_base::caller::Caller;
use brain_base::permission::permit;

/// How a tool changes pages, for the annotations that clients read before they let a model call it
/// (MCP 2026-07-28, ToolAnnotations).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes nothing.
    ReadOnly,
    /// Only adds. Repeating the call adds nothing.
    Additive,
    /// Replaces or removes. Repeating the call changes nothing more.
    Destructive,
    /// Replaces. Repeating the call may change more.
    NonIdempotent,
}

/// The arguments of one tool call. The type describes the tool.
pub(super) trait ToolCall: DeserializeOwned + JsonSchema {
    /// The name that models use.
    const NAME: &'static str;
    /// The title for people.
    const TITLE: &'static str;
    /// The description for models: what the tool does, when to use it, and when to use another one.
    const DESCRIPTION: &'static str;
    /// The operations that the tool runs. A caller needs the highest of their scopes.
    const OPERATIONS: &'static [OperationInfo];
    /// Whether only callers who see all sources can use the tool, because its data belongs to no
    /// source.
    const NEEDS_ALL_SOURCES: bool = false;
    /// How the tool changes pages.
    const EFFECT: Effect;
    /// The field of the answer that has the text of a page. It gets a block of its own.
    const PAGE_TEXT: Option<&'static str> = None;
    /// The type of the answer.
    type Output: Serialize + JsonSchema;

    /// Runs the call. Blocks.
    ///
    /// # Errors
    /// If an argument is invalid or an operation fails. The model reads the message.
    fn call(self, context: &ToolContext) -> Result<Self::Output, Fault>;
}

/// A tool in the list of tools.
pub(super) struct RegisteredTool {
    /// The name, description and schemas.
    pub(super) tool: Tool,
    /// The name, and the scope that a caller needs.
    pub(super) operation: OperationInfo,
    needs_all_sources: bool,
    /// Whether it changes nothing, so that its arguments may be recorded.
    is_read_only: bool,
    run: fn(&ToolContext, JsonObject, &JsonObject) -> Result<CallToolResult, Fault>,
}

impl RegisteredTool {
    /// Registers the tool whose arguments are `T`.
    pub(super) fn of<T: ToolCall + 'static>() -> Self {
        let hints = ToolAnnotations::default()
            .read_only(T::EFFECT == Effect::ReadOnly)
            .destructive(matches!(T::EFFECT, Effect::Destructive | Effect::NonIdempotent))
            .idempotent(T::EFFECT != Effect::NonIdempotent)
            .open_world(false);
        let tool = Tool::new(T::NAME, T::DESCRIPTION, schema::of_arguments::<T>())
            .with_title(T::TITLE)
            .with_raw_output_schema(schema::of_answer::<T::Output>())
            .with_annotations(hints);
        // A tool without operations would be for administrators.
        let scope = T::OPERATIONS.iter().map(|it| it.scope).max().unwrap_or(Scope::Admin);
        let operation = OperationInfo { name: T::NAME, scope };
        Self {
            tool,
            operation,
            needs_all_sources: T::NEEDS_ALL_SOURCES,
            is_read_only: T::EFFECT == Effect::ReadOnly,
            run: run::<T>,
        }
    }

    /// Returns whether `caller` can use the tool.
    pub(super) fn is_usable_by(&self, caller: &Caller) -> bool {
        permit(caller, self.operation).is_ok() && (!self.needs_all_sources || caller.sees_all())
    }

    /// Checks the scope and calls the tool. A failure is a result, too, because the model reads it.
    pub(super) fn call(&self, context: &ToolContext, arguments: JsonObject) -> CallToolResult {
        let request = self.is_read_only.then(|| Value::Object(arguments.clone()).to_string());
        let called =
            permit(&context.caller, self.operation).and_then(|()| self.run(context, arguments));
        let (answer, outcome, fault) = match called {
            Ok(answer) => (answer, SeenOutcome::Answered, None),
            Err(fault) => {
                let outcome = match fault.code {
                    FaultCode::Forbidden => SeenOutcome::Refused,
                    _ => SeenOutcome::ToolFailed,
                };
                (errors::to_result(&self.tool.name, &fault), outcome, Some(fault))
            }
        };
        let code = fault.as_ref().map_or_else(String::new, |fault| fault.code.as_str().to_owned());
        let end = CallEnd { answer: &answer, outcome, fault: fault.as_ref(), code };
        context.record(&self.tool.name, request, &end);
        answer
    }

    /// Calls the tool, whatever the scope of the caller.
    pub(super) fn run(
        &self,
        context: &ToolContext,
        arguments: JsonObject,
    ) -> Result<CallToolResult, Fault> {
        (self.run)(context, arguments, &self.tool.input_schema)
    }
}

fn run<T: ToolCall>(
    context: &ToolContext,
    arguments: JsonObject,
    schema: &JsonObject,
) -> Result<CallToolResult, Fault> {
    let call: T = arguments::read(arguments, schema)?;
    answer::to_result(&call.call(context)?, T::PAGE_TEXT)
}
