//! Renders recorded calls again, with the code that answered them.

use std::sync::Arc;

use brain_base::caller::{Caller, Visibility};
use brain_core::{RecordedCall, Renderer};
use brain_protocol::{Fault, FaultCode, Scopes, SeenOutcome};
use serde::Serialize;
use serde_json::Value;

use super::context::{ToolContext, answer_bytes};
use super::{errors, resources, tools};

/// The number of the form of answers. A change of what an answer looks like raises it: calls of an
/// earlier form are then not rendered again. A test compares a digest of answers.
pub(crate) const FORM: u16 = 1;
/// The name of the caller of a recorded call. No client has this id.
const CALLER: &str = "replay";

/// Returns what renders recorded calls of AI clients.
#[must_use]
pub fn renderer() -> Arc<dyn Renderer> {
    Arc::new(AnswerRenderer)
}

struct AnswerRenderer;

impl Renderer for AnswerRenderer {
    fn form(&self) -> u16 {
        FORM
    }

    fn render(&self, call: &RecordedCall) -> Result<Vec<u8>, Fault> {
        let arguments: Value = serde_json::from_str(&call.request).map_err(|_| damaged())?;
        let caller = Caller::granted(CALLER, Scopes::ADMIN, Visibility::All).as_model();
        let context = ToolContext::of_record(call, caller);
        let text = |name: &str| arguments[name].as_str().map(str::to_owned);
        match (call.tool.as_str(), call.outcome) {
            (_, SeenOutcome::ProtocolFailed | SeenOutcome::HttpRefused) => {
                Err(refused("it was an error of the protocol, whose text is not kept"))
            }
            (tool, SeenOutcome::Refused | SeenOutcome::ToolFailed) => match call.replies.first() {
                Some(Err(fault)) => to_bytes(&errors::to_result(tool, fault)),
                _ => Err(damaged()),
            },
            ("resources/list", _) => to_result(resources::list(&context, text("cursor"))),
            ("resources/read", _) => {
                let uri = text("uri").ok_or_else(damaged)?;
                to_result(resources::read(&context, &uri))
            }
            (tool, SeenOutcome::Answered) => {
                let Some(tool) = tools::find(tool) else {
                    return Err(refused("its method is not rendered again"));
                };
                let Value::Object(arguments) = arguments else { return Err(damaged()) };
                to_bytes(&tool.run(&context, arguments)?)
            }
        }
    }
}

fn to_result<T: Serialize>(answer: Result<T, rmcp::ErrorData>) -> Result<Vec<u8>, Fault> {
    match answer {
        Ok(answer) => to_bytes(&answer),
        Err(error) => Err(refused(&error.message)),
    }
}

fn to_bytes(answer: &impl Serialize) -> Result<Vec<u8>, Fault> {
    answer_bytes(answer).map_err(|_| damaged())
}

fn damaged() -> Fault {
    refused("its record is damaged")
}

fn refused(why: &str) -> Fault {
    Fault::new(FaultCode::NotReplayable, format!("the answer cannot be rendered again: {why}"))
}
