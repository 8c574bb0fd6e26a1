//! Tools with several rounds: the result requests input, and the client calls the tool again with
//! the input (SEP-2322).

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, RequestMetaObject};
use serde_json::{Value, json};

use crate::ask::{self, answer, filled};
use crate::fixture::Fixture;
use crate::tools::text;

/// Names and descriptions. No tool takes an argument.
pub(crate) const TOOLS: [(&str, &str); 8] = [
    ("test_input_required_result_elicitation", "Asks for a name"),
    ("test_input_required_result_sampling", "Asks the client's model"),
    ("test_input_required_result_list_roots", "Asks for the client's roots"),
    ("test_input_required_result_request_state", "Asks, and recognises its own state"),
    ("test_input_required_result_multiple_inputs", "Asks for three things at once"),
    ("test_input_required_result_multi_round", "Asks twice, one after the other"),
    ("test_input_required_result_tampered_state", "Refuses a state that is not its own"),
    ("test_input_required_result_capabilities", "Asks for the input that the client can give"),
];

/// Calls one of [`TOOLS`].
///
/// # Errors
/// When the state in the request is not from this server, or there is no tool of this name.
pub(crate) fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    meta: &RequestMetaObject,
) -> Result<CallToolResponse, ErrorData> {
    let responses = request.input_responses.as_ref();
    let name_form = || ask::elicitation("What is your name?", ask::field("name", "string"));
    // The state comes from the client, so the server verifies it.
    let state =
        request.request_state.as_deref().map(|sealed| fixture.unseal(sealed)).transpose()?;
    let short_name = request.name.trim_start_matches("test_input_required_result_");
    Ok(match short_name {
        "elicitation" => match answer(responses, "user_name") {
            Some(input) => text(format!("Hello, {}!", filled(input, "name"))).into(),
            None => ask::missing([("user_name", name_form()?)]).into(),
        },
        "sampling" => match answer(responses, "capital_question") {
            Some(input) => {
                let answer_text = input
                    .get("content")
                    .and_then(|content| content.get("text"))
                    .and_then(Value::as_str);
                text(format!("the model said: {}", answer_text.unwrap_or("nothing"))).into()
            }
            None => ask::missing([(
                "capital_question",
                ask::sampling("What is the capital of France?"),
            )])
            .into(),
        },
        "list_roots" => match answer(responses, "client_roots") {
            Some(input) => {
                text(format!("roots: {}", input.get("roots").unwrap_or(&Value::Null))).into()
            }
            None => ask::missing([("client_roots", ask::roots())]).into(),
        },
        "request_state" | "tampered_state" if state.is_some() => text("state-ok").into(),
        "request_state" | "tampered_state" => {
            let confirm = ask::elicitation("Please confirm", ask::field("ok", "boolean"))?;
            ask::missing_with([("confirm", confirm)], fixture.seal(&json!({}))?).into()
        }
        "multiple_inputs" => {
            let keys = ["user_name", "greeting", "client_roots"];
            if state.is_some() && keys.iter().all(|key| answer(responses, key).is_some()) {
                return Ok(text("all three are there").into());
            }
            let inputs = [
                ("user_name", name_form()?),
                ("greeting", ask::sampling("Generate a greeting")),
                ("client_roots", ask::roots()),
            ];
            ask::missing_with(inputs, fixture.seal(&json!({}))?).into()
        }
        "multi_round" => {
            match state.map_or(0, |state| state["done"].as_u64().unwrap_or_default()) {
                0 => {
                    let first = ask::elicitation(
                        "Step 1: What is your name?",
                        ask::field("name", "string"),
                    )?;
                    ask::missing_with([("step1", first)], fixture.seal(&json!({ "done": 1 }))?)
                        .into()
                }
                1 => {
                    let second = ask::elicitation(
                        "Step 2: What is your favorite color?",
                        ask::field("color", "string"),
                    )?;
                    ask::missing_with([("step2", second)], fixture.seal(&json!({ "done": 2 }))?)
                        .into()
                }
                _ => text("both steps are done").into(),
            }
        }
        "capabilities" if responses.is_some() => text("answered").into(),
        "capabilities" => {
            let capabilities = meta.client_capabilities().unwrap_or_default();
            // One request is enough: the suite checks that the client has the capability for it.
            if capabilities.elicitation.is_some() {
                ask::missing([("user_name", name_form()?)]).into()
            } else if capabilities.sampling.is_some() {
                ask::missing([("greeting", ask::sampling("Generate a greeting"))]).into()
            } else if capabilities.roots.is_some() {
                ask::missing([("client_roots", ask::roots())]).into()
            } else {
                text("there is nothing that the client could be asked for").into()
            }
        }
        _ => {
            return Err(ErrorData::invalid_params(
                format!("there is no tool {}", request.name),
                None,
            ));
        }
    })
}
