//! Who is asked: a language model with a budget, as crosses and judge see it.

use std::time::Duration;

use brain_protocol::IdeaProfile;

use super::prompt::Prompt;
use brain_costs::Budget;
use brain_llm::{Model, ModelFault, Question, Why};

/// How long a service that has too much to do is waited for, in all, before a question counts as failed.
const BUSY: Duration = Duration::from_secs(120);

/// Why there is no answer, for whoever decides whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Because {
    /// The budget does not allow the question.
    Budget,
    /// Nobody waits any more, or the daemon is stopping.
    Stopped,
    /// No question would be answered now.
    Service,
    /// It may pass.
    Passing,
    /// This question, or this answer.
    Question,
}

/// No answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost {
    /// Why, for us.
    pub(super) because: Because,
    /// What happened, for people.
    pub(super) message: String,
    /// The way out, for people.
    pub(super) hint: String,
}

impl From<ModelFault> for Lost {
    fn from(fault: ModelFault) -> Self {
        let because = match fault.why {
            Why::Budget => Because::Budget,
            Why::Stopped => Because::Stopped,
            Why::Slow | Why::ServerError | Why::Overloaded | Why::RateLimited(_) | Why::Broken => {
                Because::Passing
            }
            why if why.is_the_services() => Because::Service,
            _ => Because::Question,
        };
        Self { because, message: fault.message, hint: fault.hint }
    }
}

/// Somebody who answers.
pub(super) trait Mind: Sync {
    /// The answer's text, perhaps cut at its length. `goes_on` says whether anybody still waits.
    fn ask(&self, prompt: &Prompt, goes_on: &dyn Fn() -> bool) -> Result<String, Lost>;
}

/// A model that is paid from a budget.
pub(super) struct Paid<'a> {
    pub(super) model: &'a Model,
    pub(super) budget: &'a Budget,
    pub(super) kind: IdeaProfile,
}

impl Mind for Paid<'_> {
    fn ask(&self, prompt: &Prompt, goes_on: &dyn Fn() -> bool) -> Result<String, Lost> {
        let question = Question {
            purpose: self.kind.as_str(),
            system: &prompt.system,
            text: &prompt.text,
            temperature: Some(prompt.temperature),
            max_tokens: prompt.max_tokens,
            json: true,
            busy: BUSY,
            ..Question::default()
        };
        Ok(self.model.ask(&question, Some(self.budget), goes_on)?.text)
    }
}
