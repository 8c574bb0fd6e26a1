//! Settings of a log in PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use brain_base::outgoing::{NoOutgoingLog, OutgoingLog};
use brain_base::random::RandomSource;

use super::ServerUrl;
use crate::Error;

/// How to reach a log in PostgreSQL.
#[derive(Clone)]
pub struct PostgresSettings {
    /// The URL of the server, or of a pooler in front of the server.
    pub url: ServerUrl,
    /// The URL of the server without a pooler, for notifications and for creating tables. Without
    /// this URL, polling finds new batches.
    pub direct_url: Option<ServerUrl>,
    /// The PostgreSQL schema of the tables. See [`PostgresSettings::with_namespace`].
    pub namespace: String,
    /// The newest schema of batches that this program knows.
    pub schema: u32,
    /// Time limits.
    pub timeouts: Timeouts,
    /// The random source for pauses between retries, and for probes of notifications.
    pub random: Arc<dyn RandomSource>,
    /// The log in which connections are recorded before they are made.
    pub outgoing: Arc<dyn OutgoingLog>,
}

impl PostgresSettings {
    /// Returns settings with the namespace `brain`, no direct URL, the default limits, and no log of
    /// connections.
    #[must_use]
    pub fn new(url: ServerUrl, schema: u32, random: Arc<dyn RandomSource>) -> Self {
        let namespace = "brain".to_owned();
        let (timeouts, outgoing) = (Timeouts::default(), Arc::new(NoOutgoingLog));
        Self { url, direct_url: None, namespace, schema, timeouts, random, outgoing }
    }

    /// Sets the namespace: 1 to 40 lower-case letters, digits and `_`, with a letter first.
    ///
    /// # Errors
    /// [`Error::InvalidUrl`] for another name.
    pub fn with_namespace(mut self, name: &str) -> Result<Self, Error> {
        let is_valid = (1..=40).contains(&name.len())
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !is_valid {
            let rule = "a namespace has 1 to 40 lower-case letters, digits and _, a letter first";
            return Err(Error::InvalidUrl(rule.into()));
        }
        name.clone_into(&mut self.namespace);
        Ok(self)
    }

    /// Returns the name of the channel of notifications.
    pub(super) fn channel(&self) -> String {
        format!("{}_log", self.namespace)
    }
}

/// Time limits of a log in PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a TCP connection. Default 5 s.
    pub connect: Duration,
    /// For the lock of the head row (`lock_timeout`). Default 5 s.
    pub lock: Duration,
    /// For one statement (`statement_timeout`). Default 10 s, and 4 s more for each MiB.
    pub statement: Duration,
    /// For a call with its retries. Default 15 s, and 4 s more for each MiB.
    pub deadline: Duration,
    /// Between two polls of the head while a caller waits. Default 1 s.
    pub poll: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            lock: Duration::from_secs(5),
            statement: Duration::from_secs(10),
            deadline: Duration::from_secs(15),
            poll: Duration::from_secs(1),
        }
    }
}

impl Timeouts {
    /// Returns limits for a call that sends or returns this many bytes, for links of
    /// 2 Mbit/s and more.
    pub(super) fn for_bytes(mut self, bytes: usize) -> Self {
        let more = Duration::from_millis(bytes as u64 / 262);
        self.statement += more;
        self.deadline += more;
        self
    }

    /// Shortens the limits to the time that a call has `left`; the limit of the lock to half of it.
    pub(super) fn within(mut self, left: Duration) -> Self {
        let left = left.max(Duration::from_millis(100));
        self.lock = self.lock.min(left / 2);
        self.statement = self.statement.min(left);
        self
    }

    /// Returns the statement that begins a transaction with these limits.
    pub(super) fn begin(&self) -> String {
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {}; \
             SET LOCAL statement_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}",
            self.lock.as_millis(),
            self.statement.as_millis(),
            self.statement.as_millis(),
        )
    }
}
