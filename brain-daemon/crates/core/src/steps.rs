//! Something that is checked step by step: what each step saw, and how long it took. The first that
//! fails is the last.

use brain_protocol::Step;

use brain_base::clock::Clock;

/// What a step that went well leaves behind.
pub(crate) struct Passed<T> {
    /// For the next steps.
    pub(crate) value: T,
    /// What was seen.
    pub(crate) message: String,
    /// What some clients stumble over, and what to do about it.
    pub(crate) warning: Option<String>,
}

/// What a step that failed leaves behind.
pub(crate) struct Failed {
    /// What was seen.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: String,
}

/// How a step ended.
pub(crate) type Ended<T> = Result<Passed<T>, Failed>;

pub(crate) fn passed<T>(value: T, message: impl Into<String>) -> Ended<T> {
    Ok(Passed { value, message: message.into(), warning: None })
}

pub(crate) fn warned<T>(
    value: T,
    message: impl Into<String>,
    warning: impl Into<String>,
) -> Ended<T> {
    Ok(Passed { value, message: message.into(), warning: Some(warning.into()) })
}

pub(crate) fn failed<T>(message: impl Into<String>, hint: impl Into<String>) -> Ended<T> {
    Err(Failed { message: message.into(), hint: hint.into() })
}

/// The steps that were taken.
pub(crate) struct Steps<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) taken: Vec<Step>,
}

impl Steps<'_> {
    /// Takes a step; nothing when it failed.
    pub(crate) fn take<T>(&mut self, name: &str, step: impl FnOnce() -> Ended<T>) -> Option<T> {
        let began = self.clock.now();
        let ended = step();
        let took_ms = u64::try_from(self.clock.now() - began).unwrap_or(0);
        let (value, status, message, hint) = match ended {
            Ok(Passed { value, message, warning: None }) => (Some(value), "passed", message, None),
            Ok(Passed { value, message, warning }) => (Some(value), "warned", message, warning),
            Err(Failed { message, hint }) => (None, "failed", message, Some(hint)),
        };
        self.taken.push(Step { name: name.into(), status: status.into(), message, hint, took_ms });
        value
    }
}
