//! The language model as the idea phases see it: one question, one answer, one budget.

use std::time::Duration;

use brain_protocol::{Hint, IdeaProfile};

use super::prompt::Prompt;
use brain_costs::Budget;
use brain_llm::{Model, ModelError as LlmError, ModelErrorKind, ModelQuestion};

/// Maximum time per question to wait for an overloaded service.
const MAX_BUSY_WAIT: Duration = Duration::from_secs(120);

/// The kind of a failure, which decides whether to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureReason {
    /// The budget does not cover the question.
    Budget,
    /// The caller is gone or the daemon is stopping.
    Stopped,
    /// The service is unavailable for any question.
    Service,
    /// A temporary failure: a timeout, an overload, a server error.
    Transient,
    /// A failure of this question or answer only.
    Question,
}

/// A failed question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IdeaError {
    /// The kind of the failure.
    pub(super) reason: FailureReason,
    /// The description.
    pub(super) message: String,
    /// What the user can do; may be empty.
    pub(super) hint: Hint,
}

impl From<LlmError> for IdeaError {
    fn from(error: LlmError) -> Self {
        let reason = match error.kind {
            ModelErrorKind::Budget => FailureReason::Budget,
            ModelErrorKind::Stopped => FailureReason::Stopped,
            ModelErrorKind::Timeout
            | ModelErrorKind::ServerError
            | ModelErrorKind::Overloaded
            | ModelErrorKind::RateLimited(_)
            | ModelErrorKind::Interrupted => FailureReason::Transient,
            kind if kind.is_independent_of_question() => FailureReason::Service,
            _ => FailureReason::Question,
        };
        Self { reason, message: error.message, hint: error.hint }
    }
}

/// A model that answers questions.
pub(super) trait IdeaModel: Sync {
    /// Returns the answer, which may be cut at the length limit. `should_continue` returns `false`
    /// once the caller is gone or the daemon is stopping.
    fn ask(&self, prompt: &Prompt, should_continue: &dyn Fn() -> bool)
    -> Result<String, IdeaError>;
}

/// A model whose calls are paid from a budget.
pub(super) struct BudgetedModel<'a> {
    pub(super) model: &'a Model,
    pub(super) budget: &'a Budget,
    pub(super) profile: IdeaProfile,
}

impl IdeaModel for BudgetedModel<'_> {
    fn ask(
        &self,
        prompt: &Prompt,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<String, IdeaError> {
        let question = ModelQuestion {
            purpose: self.profile.as_str(),
            system: &prompt.system,
            text: &prompt.text,
            pages: &prompt.pages,
            temperature: Some(prompt.temperature),
            max_tokens: prompt.max_tokens,
            json: true,
            max_retry_wait: MAX_BUSY_WAIT,
            ..ModelQuestion::default()
        };
        Ok(self.model.ask(&question, Some(self.budget), should_continue)?.text)
    }
}
