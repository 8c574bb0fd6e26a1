//! Periodic maintenance: of files and pages, of the audit, and of read-only mode.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::runner::{Next, Worker};
use super::{is_shared_log_unusable, log_failure};
use brain_base::leases;
use brain_core::{Brain, IdleLinkCheck};
use brain_protocol::Fault;

/// How often written files are flushed and their outbox rows are removed: once a round.
const FLUSH_EVERY: Duration = Duration::from_secs(10);
/// Rounds between two attempts to write failed files and to finish purges: one minute.
const RETRY_ROUNDS: u32 = 6;
/// Rounds between two writes of the clients' last use: one minute.
const LAST_USE_ROUNDS: u32 = 6;
/// Rounds between two purges: ten minutes.
const PURGE_ROUNDS: u32 = 60;

/// How often a read-only file system is checked for being writable.
const WRITABLE_CHECK_EVERY: Duration = Duration::from_secs(1);
/// How often audited calls are written to the store.
const WRITE_CALLS_EVERY: Duration = Duration::from_secs(1);
/// How often old audited calls are removed.
const PURGE_CALLS_EVERY: Duration = Duration::from_secs(10 * 60);

/// Flushes the outbox, retries files, writes the clients' last use, purges expired pages, clients
/// and tokens, and checks links when idle.
pub(super) struct Maintenance {
    brain: Arc<Brain>,
    /// The number of rounds so far. The first one, also after a restart, does everything.
    rounds: u32,
    links: IdleLinkCheck,
}

impl Maintenance {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { brain, rounds: 0, links: IdleLinkCheck::default() }
    }

    fn purge(&self) {
        // In a shared brain, one machine purges for all; the files of this one are its own.
        let is_ours = self.brain.env.leases.holds(leases::PURGE);
        let access = if is_ours { self.brain.access.purge().map(drop) } else { Ok(()) };
        let purged = [self.brain.pages.purge_due().map(drop), access];
        for fault in purged.into_iter().filter_map(Result::err) {
            log_failure(&fault, "expired pages, clients or tokens not removed");
        }
    }
}

impl Worker for Maintenance {
    fn round(&mut self) -> Next {
        if let Err(fault) = self.brain.files.flush_outbox() {
            log_failure(&fault, "outbox not flushed");
        }
        if self.rounds.is_multiple_of(RETRY_ROUNDS) && self.brain.files.has_failing_files() {
            self.brain.files.replay_outbox();
        }
        if self.rounds.is_multiple_of(RETRY_ROUNDS) {
            self.brain.purge.finish_interrupted();
        }
        if self.rounds.is_multiple_of(LAST_USE_ROUNDS)
            && let Err(fault) = self.brain.access.write_last_use()
        {
            log_failure(&fault, "last use of clients not written");
        }
        if self.rounds.is_multiple_of(PURGE_ROUNDS) {
            self.purge();
        }
        self.rounds = self.rounds.wrapping_add(1);
        self.brain.graph.drop_when_idle();
        if let Err(fault) = self.brain.past.drop_views(false) {
            log_failure(&fault, "copies of past states not removed");
        }
        self.links = self.brain.pages.check_links_when_idle(self.links);
        Next::After(FLUSH_EVERY)
    }
}

/// Writes audited calls to the store, and removes old ones.
pub(super) struct AuditUpkeep {
    brain: Arc<Brain>,
    purge_at: Instant,
    /// Whether the last write failed. Repeated failures are logged once.
    is_failing: bool,
}

impl AuditUpkeep {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { brain, purge_at: Instant::now() + PURGE_CALLS_EVERY, is_failing: false }
    }

    fn write(&mut self) {
        let written = self.brain.audit.write();
        if let Err(fault) = &written
            && !self.is_failing
        {
            log_failure(fault, "audit not written; trying again");
        }
        // The log of a shared brain tells its failures itself, and another one may follow.
        self.is_failing = written.is_err_and(|fault| !is_shared_log_unusable(&fault));
    }

    /// Removes some old calls. Returns whether there are more.
    fn purge(&mut self) -> bool {
        let has_more = self.brain.audit.purge().unwrap_or_else(|fault| {
            log_failure(&fault, "old audited calls not removed");
            false
        });
        if !has_more {
            self.purge_at = Instant::now() + PURGE_CALLS_EVERY;
        }
        has_more
    }
}

impl Worker for AuditUpkeep {
    fn round(&mut self) -> Next {
        if self.brain.audit.has_buffered() {
            self.write();
        }
        if self.purge_at <= Instant::now() && self.purge() {
            return Next::After(Duration::ZERO);
        }
        Next::After(WRITE_CALLS_EVERY)
    }
}

/// Writes recorded calls and ended requests to the store, and removes old ones.
pub(super) struct LedgerUpkeep {
    brain: Arc<Brain>,
    prune_at: Instant,
    /// When ended requests were moved last; before that, when the daemon started.
    moved_at: Instant,
    /// Whether the last write failed. Repeated failures are logged once.
    is_failing: bool,
}

impl LedgerUpkeep {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        let now = Instant::now();
        Self { brain, prune_at: now + PURGE_CALLS_EVERY, moved_at: now, is_failing: false }
    }

    /// Logs the first failure of several.
    fn report(&mut self, written: &Result<(), Fault>, message: &str) {
        if let Err(fault) = written
            && !self.is_failing
        {
            log_failure(fault, message);
        }
        self.is_failing = written.is_err();
    }

    /// Removes some old rows. Returns whether there are more.
    fn prune(&mut self) -> bool {
        let pruned = self.brain.seen.prune().and_then(|seen| Ok(self.brain.left.prune()? || seen));
        let has_more = pruned.unwrap_or_else(|fault| {
            log_failure(&fault, "old rows of the ledgers not removed");
            false
        });
        if !has_more {
            self.prune_at = Instant::now() + PURGE_CALLS_EVERY;
        }
        has_more
    }
}

impl Worker for LedgerUpkeep {
    fn round(&mut self) -> Next {
        if self.brain.seen.has_buffered() {
            let written = self.brain.seen.write();
            self.report(&written, "calls of AI clients not recorded; trying again");
        }
        if self.moved_at.elapsed() >= self.brain.left.move_every() {
            let moved = self.brain.left.store_ended();
            self.report(&moved, "outgoing requests not moved into the store; trying again");
            self.moved_at = Instant::now();
        }
        if self.prune_at <= Instant::now() && self.prune() {
            return Next::After(Duration::ZERO);
        }
        Next::After(WRITE_CALLS_EVERY)
    }
}

/// Leaves read-only mode when the file system becomes writable.
pub(super) struct WritableCheck(pub(super) Arc<Brain>);

impl Worker for WritableCheck {
    fn round(&mut self) -> Next {
        if self.0.files.is_read_only() {
            self.0.files.leave_read_only();
        }
        Next::After(WRITABLE_CHECK_EVERY)
    }
}
