//! The counts of an import, and what it could not import.

use std::collections::HashSet;
use std::path::Path;
use std::thread::ScopedJoinHandle;

use brain_files::ScanReport;
use brain_protocol::{IgnoredFiles, Import, ImportFailure, ImportReply, SyncStatus, WriteStatus};
use brain_service::batch::Failures;

use super::import_input::{ImportInput, InputKind, reasons};
use super::losses::Losses;

/// The maximum number of warnings in a reply.
const MAX_WARNINGS: usize = 20;

/// The counts and failures of an import.
#[derive(Default)]
pub(super) struct ImportTally {
    pub(super) created: u64,
    pub(super) updated: u64,
    pub(super) restored: u64,
    pub(super) unchanged: u64,
    pub(super) older: u64,
    /// The number of secrets that were removed.
    pub(super) secrets: u64,
    pub(super) failures: Failures,
    pub(super) warnings: Vec<String>,
    /// What is in no page, or only in part.
    pub(super) lost: Losses,
    /// Files that the frontmatter of a page lists: they are attachments, and no documents.
    pub(super) listed_files: HashSet<String>,
    /// Files that the body of a note names: they are attached, or already lost by name.
    pub(super) named_files: HashSet<String>,
}

impl ImportTally {
    /// Adds what the input and its listing found.
    pub(super) fn add_problems(
        &mut self,
        request: &Import,
        input: &mut ImportInput,
        found: &mut ScanReport,
    ) {
        self.warnings.extend(input.warning.take());
        if let InputKind::Export(export) = &mut input.kind {
            self.lost.merge(std::mem::take(&mut export.pages.lost));
            if let Some(problem) = export.problem.take() {
                self.failures.add(request.path.as_str(), problem);
            }
        }
        for (path, reason) in std::mem::take(&mut found.unreadable) {
            let path = if path.is_empty() { request.path.clone() } else { path };
            self.failures.add(path, reason);
        }
    }

    /// Counts the secrets that were removed from the page of `from`, which stays otherwise whole.
    pub(super) fn count_secrets(&mut self, from: &str, kinds: &[&str]) {
        if !kinds.is_empty() {
            self.secrets += kinds.len() as u64;
            self.lost.add(from.to_owned(), format!("removed: {}", kinds.join(", ")));
        }
    }

    /// Counts a file that the body of a note names and that is not attached.
    pub(super) fn lose_named_file(&mut self, note: &str, path: &str, reason: &str) {
        self.lost.add(path.to_owned(), format!("{reason} ({note} names it)"));
    }

    /// Adds the files of a directory that are neither markdown nor documents.
    pub(super) fn lose_others(&mut self, root: &Path, found: &mut ScanReport) {
        let mut paths = std::mem::take(&mut found.other_paths);
        let unnamed = found.other_files.saturating_sub(paths.len() as u64);
        if unnamed > 0 {
            self.warnings.push(format!(
                "{unnamed} files that are not markdown were not looked at: the directory has too \
                 many"
            ));
        }
        paths.retain(|path| !self.named_files.contains(path) && !self.listed_files.contains(path));
        for ImportFailure { path, reason } in reasons(root, paths, &found.links) {
            self.lost.add(path, reason);
        }
        self.lost.total += unnamed;
        // A warning counts links to notes and directories.
        self.lost.total = self.lost.total.saturating_sub(found.links.len() as u64);
    }

    /// Waits for a thread that writes files, and adds its problems.
    pub(super) fn warn(&mut self, writer: Option<ScopedJoinHandle<'_, Vec<String>>>) {
        let Some(writer) = writer else { return };
        let problems = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let max_new = MAX_WARNINGS.saturating_sub(self.warnings.len());
        self.warnings.extend(
            problems.into_iter().take(max_new).map(|p| format!("stored, but its file is not: {p}")),
        );
    }

    pub(super) fn count(&mut self, status: WriteStatus) {
        match status {
            WriteStatus::Created => self.created += 1,
            WriteStatus::Updated => self.updated += 1,
            WriteStatus::Restored => self.restored += 1,
            WriteStatus::Unchanged | WriteStatus::Queued => self.unchanged += 1,
        }
    }

    /// Returns the reply. `id` is that of the import, and `files` the number of all files.
    pub(super) fn reply(
        self,
        id: Option<String>,
        format: Option<String>,
        files: u64,
    ) -> ImportReply {
        ImportReply {
            status: match self.failures.total {
                0 => SyncStatus::Done,
                _ => SyncStatus::Partial,
            },
            dry_run: id.is_none(),
            id,
            format,
            files,
            created: self.created,
            updated: self.updated,
            restored: self.restored,
            unchanged: self.unchanged,
            older: self.older,
            skipped: self.lost.total,
            failed: self.failures.named,
            failed_total: self.failures.total,
            warnings: self.warnings,
            took_ms: 0,
            not_imported: self.lost.named,
            left_out: IgnoredFiles::default(),
            posts: None,
            secrets: self.secrets,
        }
    }
}
