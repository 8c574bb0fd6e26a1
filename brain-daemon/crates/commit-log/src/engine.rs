//! The trait of an engine, and what an engine tells of its server.

use std::time::Duration;

use crate::{Administration, BrainId, CommitLog, Error, Snapshots};

/// All that an engine offers.
///
/// The methods of this trait are about the engine's server. The defaults suit an engine without one.
pub trait Engine: CommitLog + Snapshots + Administration {
    /// Returns host, port and database, without user and password.
    fn address(&self) -> &str {
        "this process"
    }

    /// Returns whether the connection is encrypted.
    fn uses_tls(&self) -> bool {
        false
    }

    /// Returns how new batches are noticed at present.
    fn delivery(&self) -> Delivery {
        Delivery::Polling
    }

    /// Waits for a notification of a later batch, at most for `limit`. Returns whether one arrived.
    /// Returns false at once if the server does not notify. Sends nothing to the server.
    fn wait_for_notification(&self, _after: u64, _limit: Duration) -> bool {
        false
    }

    /// Ends the present wait for notifications, if there is one.
    fn interrupt(&self) {}

    /// Returns the server's settings for durability; `None` without a server.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Denied`]
    fn durability(&self) -> Result<Option<Durability>, Error> {
        Ok(None)
    }

    /// Deletes the log of a brain with all its batches, snapshots and keys. A missing log is no
    /// error.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if the log is another brain's; nothing is deleted then.
    fn drop_log(&self, _brain: BrainId) -> Result<(), Error> {
        Ok(())
    }

    /// Deletes the log of a brain that nobody can join: without batches and complete snapshots, and
    /// without a sign of a machine for `silence`.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if the log is in use or another brain's; nothing is deleted then.
    fn drop_abandoned(&self, _brain: BrainId, _silence: Duration) -> Result<(), Error> {
        Ok(())
    }
}

/// How new batches are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The server notifies at once.
    Notified,
    /// The head is polled every second.
    Polling,
}

/// The server's settings that decide whether an acknowledged batch survives a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    /// `fsync`: without it a power cut can damage the whole database.
    pub fsync: bool,
    /// `full_page_writes`: without it a power cut can damage pages.
    pub full_page_writes: bool,
    /// `synchronous_commit` of this user: `off` loses the last batches in a crash.
    pub synchronous_commit: String,
    /// Whether a standby must confirm a commit. Without one, a failover loses the last batches.
    pub has_synchronous_standby: bool,
}
