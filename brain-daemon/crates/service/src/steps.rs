//! Runs a check step by step, and records the result and the duration of each step. A failed step
//! has no value, so that the caller can end the check.

use brain_protocol::{Command, Fault, Hint, Step, StepStatus, hint};

use brain_base::clock::Clock;

/// The result of a step that passed.
pub struct StepSuccess<T> {
    /// A value for the next steps.
    pub value: T,
    /// The result in words.
    pub message: String,
    /// A problem that does not fail the step, and its remedy.
    pub warning: Option<Hint>,
}

/// The result of a step that failed.
pub struct StepFailure {
    /// The result in words.
    pub message: String,
    /// The remedy.
    pub hint: Hint,
}

impl StepFailure {
    /// A failure with the result in words and the remedy.
    pub fn new(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// Puts `context` and a colon before the message.
    #[must_use]
    pub fn with_context(self, context: &str) -> Self {
        Self { message: format!("{context}: {}", self.message), ..self }
    }
}

impl From<Fault> for StepFailure {
    fn from(fault: Fault) -> Self {
        Self::new(fault.message, fault.hint.unwrap_or_else(|| hint!("run {}", Command::Doctor)))
    }
}

/// The result of a step.
pub type StepResult<T> = Result<StepSuccess<T>, StepFailure>;

/// Returns the result of a step that passed.
///
/// # Errors
/// Never.
pub fn pass<T>(value: T, message: impl Into<String>) -> StepResult<T> {
    Ok(StepSuccess { value, message: message.into(), warning: None })
}

/// Returns the result of a step that passed with a problem.
///
/// # Errors
/// Never.
pub fn warn<T>(value: T, message: impl Into<String>, warning: impl Into<Hint>) -> StepResult<T> {
    Ok(StepSuccess { value, message: message.into(), warning: Some(warning.into()) })
}

/// Returns the result of a step that failed.
///
/// # Errors
/// Always.
pub fn fail<T>(message: impl Into<String>, hint: impl Into<Hint>) -> StepResult<T> {
    Err(StepFailure::new(message, hint))
}

/// Runs the steps, and has their results.
pub struct Steps<'a> {
    /// The clock that times the steps.
    pub clock: &'a dyn Clock,
    /// The results so far, in order.
    pub results: Vec<Step>,
}

impl Steps<'_> {
    /// Runs a step. Returns `None` if it failed.
    pub fn run<T>(&mut self, name: &str, step: impl FnOnce() -> StepResult<T>) -> Option<T> {
        let began = self.clock.now();
        let result = step();
        let took_ms = u64::try_from(self.clock.now() - began).unwrap_or(0);
        let (value, status, message, hint) = match result {
            Ok(StepSuccess { value, message, warning }) => {
                let status =
                    if warning.is_some() { StepStatus::Warned } else { StepStatus::Passed };
                (Some(value), status, message, warning)
            }
            Err(StepFailure { message, hint }) => (None, StepStatus::Failed, message, Some(hint)),
        };
        self.results.push(Step { name: name.into(), status, message, hint, took_ms });
        value
    }
}
