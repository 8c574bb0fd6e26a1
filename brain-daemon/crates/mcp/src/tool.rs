//! What a tool is: typed arguments, a typed answer, and what models and clients are told of it.

use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use brain_protocol::Fault;

use super::{Desk, answer, arguments, errors, schema};
use brain_base::caller::Scope;

/// What clients may expect of a tool before they let a model call it (MCP 2026-07-28, ToolAnnotations).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes nothing.
    Reads,
    /// Only adds; the same again adds nothing.
    Adds,
    /// Replaces or removes, and the same again changes nothing more.
    Replaces,
    /// Replaces, and the same again may change more.
    Edits,
}

/// A tool: the value is its arguments.
pub(super) trait Call: DeserializeOwned + JsonSchema {
    /// What models call it by.
    const NAME: &'static str;
    /// For people.
    const TITLE: &'static str;
    /// For models: what it does, when to use it, when another one.
    const DESCRIPTION: &'static str;
    /// What its caller needs.
    const SCOPE: Scope;
    /// What it does to pages.
    const EFFECT: Effect;
    /// What it answers.
    type Output: Serialize + JsonSchema;

    /// Does it. Blocks.
    ///
    /// # Errors
    /// Every failure, for the model to read.
    fn call(self, desk: &Desk) -> Result<Self::Output, Fault>;
}

/// A tool in the box.
pub(super) struct Entry {
    /// As clients see it.
    pub(super) tool: Tool,
    /// What its caller needs.
    pub(super) scope: Scope,
    run: fn(&Desk, JsonObject, &JsonObject) -> Result<CallToolResult, Fault>,
}

impl Entry {
    /// The tool whose arguments are `T`.
    pub(super) fn of<T: Call + 'static>() -> Self {
        let hints = ToolAnnotations::default()
            .read_only(T::EFFECT == Effect::Reads)
            .destructive(matches!(T::EFFECT, Effect::Replaces | Effect::Edits))
            .idempotent(T::EFFECT != Effect::Edits)
            .open_world(false);
        let tool = Tool::new(T::NAME, T::DESCRIPTION, schema::of_arguments::<T>())
            .with_title(T::TITLE)
            .with_raw_output_schema(schema::of_answer::<T::Output>())
            .with_annotations(hints);
        Self { tool, scope: T::SCOPE, run: run::<T> }
    }

    /// Calls it; a failure is an answer, too: the model is to read it.
    pub(super) fn call(&self, desk: &Desk, arguments: JsonObject) -> CallToolResult {
        let allowed = desk.caller.require(self.scope, &self.tool.name);
        allowed
            .and_then(|()| (self.run)(desk, arguments, &self.tool.input_schema))
            .unwrap_or_else(|fault| errors::told(&self.tool.name, &fault))
    }
}

fn run<T: Call>(
    desk: &Desk,
    arguments: JsonObject,
    schema: &JsonObject,
) -> Result<CallToolResult, Fault> {
    let call: T = arguments::read(arguments, schema)?;
    answer::told(&call.call(desk)?)
}
