//! The URLs of the server, the time limit of its calls, and the wait for notifications.

use std::time::{Duration, Instant};

use brain_commit_log::{Delivery, Engine};
use brain_protocol::Secret;

/// The longest time of an append, and of any other call that a writer waits for.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// The URLs of the server.
#[derive(Debug, Clone)]
pub struct ServerSecrets {
    /// The URL of the server, or of a pooler before it.
    pub url: Secret,
    /// The URL of the server itself, past a pooler: for notifications and to create tables.
    pub direct_url: Option<Secret>,
}

/// Waits until the server sends notifications, at most for `limit`. Returns whether it does.
pub(crate) fn wait_until_notifying(engine: &dyn Engine, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while engine.delivery() == Delivery::Polling {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}
