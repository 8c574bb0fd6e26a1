//! Makes scheduled backups, each in a minute in which no other job starts.
//! `BackupService::backup_due` decides when a backup is due.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Next, Worker};
use super::schedule::Schedule;
use brain_core::Brain;

/// The delay of the first check, to keep the start of the daemon fast.
const FIRST_CHECK: Duration = Duration::from_secs(5);

/// Makes scheduled backups.
pub(super) struct ScheduledBackup {
    brain: Arc<Brain>,
    schedule: Arc<Schedule>,
    is_first: bool,
}

impl ScheduledBackup {
    pub(super) fn new(brain: Arc<Brain>, schedule: Arc<Schedule>) -> Self {
        Self { brain, schedule, is_first: true }
    }
}

impl Worker for ScheduledBackup {
    fn round(&mut self) -> Next {
        if std::mem::take(&mut self.is_first) {
            return Next::After(FIRST_CHECK);
        }
        let (brain, now) = (&self.brain, self.brain.now());
        self.schedule.run("backup", now, || Ok(brain.backup.backup_due()?.is_some()))
    }
}
