//! The prompts of the server.

use rmcp::ErrorData;
use rmcp::model::{
    ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ImageContent, Prompt,
    PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use crate::ask::{self, answer, filled};
use crate::tools::PNG;

/// Returns the list of prompts.
pub(crate) fn all() -> Vec<Prompt> {
    let argument =
        |name: &str| PromptArgument::new(name).with_description("A word").with_required(true);
    vec![
        Prompt::new("test_simple_prompt", Some("A text"), None),
        Prompt::new(
            "test_prompt_with_arguments",
            Some("A text with two words of the caller's in it"),
            Some(vec![argument("arg1"), argument("arg2")]),
        ),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            Some("A text about a resource"),
            Some(vec![argument("resourceUri")]),
        ),
        Prompt::new("test_prompt_with_image", Some("A text about an image"), None),
        Prompt::new("test_input_required_result_prompt", Some("Asks before it answers"), None),
    ]
}

/// Returns the prompt that `request` names, or a request for input that it needs.
///
/// # Errors
/// When there is no prompt of this name.
pub(crate) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let user_message = |text: String| PromptMessage::new_text(Role::User, text);
    let arguments = request.arguments.as_ref();
    let argument = |name: &str| {
        arguments
            .and_then(|all| all.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let messages = match request.name.as_str() {
        "test_simple_prompt" => {
            vec![user_message("This is a simple prompt for testing.".to_owned())]
        }
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![user_message(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            PromptMessage::new_resource(
                Role::User,
                argument("resourceUri"),
                Some("text/plain".to_owned()),
                Some("EmbedReply resource content for testing.".to_owned()),
                None,
                None,
                None,
            ),
            user_message("What does it say?".to_owned()),
        ],
        "test_prompt_with_image" => {
            let image = ContentBlock::Image(ImageContent::new(PNG, "image/png"));
            vec![PromptMessage::new(Role::User, image), user_message("What is it?".to_owned())]
        }
        "test_input_required_result_prompt" => {
            match answer(request.input_responses.as_ref(), "user_context") {
                Some(form) => {
                    vec![user_message(format!("In this context: {}", filled(form, "context")))]
                }
                None => {
                    let form = ask::elicitation(
                        "What context should the prompt use?",
                        ask::field("context", "string"),
                    )?;
                    return Ok(ask::missing([("user_context", form)]).into());
                }
            }
        }
        name => return Err(ErrorData::invalid_params(format!("there is no prompt {name}"), None)),
    };
    Ok(GetPromptResult::new(messages).into())
}
