//! Health checks of the services, which `doctor` runs.
//!
//! The hint of a finding is a command to run, or an instruction.

use std::sync::Arc;

use brain_protocol::{CheckStatus, Fault, Hint};

/// The result of a check: status, message and hint. A fault counts as a failure.
pub type Finding = Result<(CheckStatus, String, Option<Hint>), Fault>;

/// A service with health checks.
pub trait Health: Send + Sync {
    /// Returns the checks of the service. Runs none of them.
    fn checks(self: Arc<Self>) -> Vec<HealthCheck>;
}

/// A check of one service. It may block.
pub struct HealthCheck {
    /// The name in the reply of `doctor`.
    pub name: &'static str,
    find: Box<dyn FnOnce() -> Finding + Send>,
}

impl HealthCheck {
    /// Creates the check `name` of this service.
    pub fn new<S: Send + Sync + 'static>(
        name: &'static str,
        service: &Arc<S>,
        find: fn(&S) -> Finding,
    ) -> Self {
        let service = Arc::clone(service);
        Self { name, find: Box::new(move || find(&service)) }
    }

    /// Runs the check, and releases the service before it returns.
    pub fn run(self) -> Finding {
        (self.find)()
    }
}

/// Returns the finding of a check without a problem.
pub fn ok(message: impl Into<String>) -> Finding {
    Ok((CheckStatus::Ok, message.into(), None))
}

/// Returns the finding of a problem that leaves brain usable.
pub fn warn(message: impl Into<String>, hint: impl Into<Hint>) -> Finding {
    Ok((CheckStatus::Warn, message.into(), Some(hint.into())))
}

/// Returns the finding of a failure.
pub fn fail(message: impl Into<String>, hint: impl Into<Hint>) -> Finding {
    Ok((CheckStatus::Fail, message.into(), Some(hint.into())))
}
