//! Runs a check step by step, and records the result and the duration of each step. A failed step
//! has no value, so that the caller can end the check.

use brain_protocol::Step;

use brain_base::clock::Clock;

/// The result of a step that passed.
pub(crate) struct StepSuccess<T> {
    /// A value for the next steps.
    pub(crate) value: T,
    /// The result in words.
    pub(crate) message: String,
    /// A problem that does not fail the step, and its remedy.
    pub(crate) warning: Option<String>,
}

/// The result of a step that failed.
pub(crate) struct StepFailure {
    /// The result in words.
    pub(crate) message: String,
    /// The remedy.
    pub(crate) hint: String,
}

/// The result of a step.
pub(crate) type StepResult<T> = Result<StepSuccess<T>, StepFailure>;

pub(crate) fn pass<T>(value: T, message: impl Into<String>) -> StepResult<T> {
    Ok(StepSuccess { value, message: message.into(), warning: None })
}

pub(crate) fn warn<T>(
    value: T,
    message: impl Into<String>,
    warning: impl Into<String>,
) -> StepResult<T> {
    Ok(StepSuccess { value, message: message.into(), warning: Some(warning.into()) })
}

pub(crate) fn fail<T>(message: impl Into<String>, hint: impl Into<String>) -> StepResult<T> {
    Err(StepFailure { message: message.into(), hint: hint.into() })
}

/// Runs the steps, and has their results.
pub(crate) struct Steps<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) results: Vec<Step>,
}

impl Steps<'_> {
    /// Runs a step. Returns `None` if it failed.
    pub(crate) fn run<T>(&mut self, name: &str, step: impl FnOnce() -> StepResult<T>) -> Option<T> {
        let began = self.clock.now();
        let result = step();
        let took_ms = u64::try_from(self.clock.now() - began).unwrap_or(0);
        let (value, status, message, hint) = match result {
            Ok(StepSuccess { value, message, warning }) => {
                let status = if warning.is_some() { "warned" } else { "passed" };
                (Some(value), status, message, warning)
            }
            Err(StepFailure { message, hint }) => (None, "failed", message, Some(hint)),
        };
        let (name, status) = (name.into(), status.into());
        self.results.push(Step { name, status, message, hint, took_ms });
        value
    }
}
