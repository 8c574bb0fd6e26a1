//! Health of the outbox.

use brain_protocol::Command;
use std::collections::HashSet;
use std::sync::Arc;

use crate::files::FileService;
use brain_base::caller::Visibility;
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};

impl Health for FileService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("outbox", &self, Self::check_outbox)]
    }
}

impl FileService {
    /// Warns about preserved edits, and about files that differ from their pages.
    fn check_outbox(&self) -> Finding {
        let rows = self.store.read(Visibility::All)?.counts()?.outbox;
        let waiting = self.waiting_files(rows);
        let (failing, edits) = (self.failing_files(), self.preserved_edits());
        if let (None, [.., last]) = (&failing, edits.as_slice()) {
            let message = format!(
                "{} saves by other programs conflicted with a write by brain, and are stored as \
                 versions: the last one is version {} of {}",
                edits.len(),
                last.conflict.kept_version,
                last.conflict.slug
            );
            return warn(
                message,
                Command::History { page: Some(format!("{}:{}", last.source, last.conflict.slug)) },
            );
        }
        match failing {
            Some((message, hint)) => {
                let differ = match waiting {
                    1 => "1 file differs from its page".to_owned(),
                    _ => format!("{waiting} files differ from their pages"),
                };
                let hint = hint.unwrap_or_else(|| Command::DoctorFix.into());
                warn(format!("{differ}: {message}"), hint)
            }
            None => ok(format!("files waiting: {waiting}")),
        }
    }

    /// Returns the number of files that are still to be written, given the number of outbox rows.
    /// Rows of written files remain until they are flushed.
    pub fn waiting_files(&self, rows: u64) -> u64 {
        // A finished row of a failing page belongs to an earlier change, so its file still waits.
        let failing = self.failing_ids();
        let written: HashSet<u64> = self
            .store
            .finished_outbox_rows()
            .into_iter()
            .map(|(id, _)| id)
            .filter(|id| !failing.contains(id))
            .collect();
        rows.saturating_sub(written.len() as u64)
    }
}
