//! The counts of an import, and what it could not import.

use std::collections::HashSet;
use std::path::Path;
use std::thread::ScopedJoinHandle;

use brain_files::ScanReport;
use brain_protocol::{IgnoredFiles, Import, ImportFailure, ImportReply, SyncStatus, WriteStatus};
use brain_service::batch::Failures;

use super::convert::{ConvertedPages, MAX_LOST};
use super::import_input::{ImportInput, InputKind, reasons};
use super::import_page::ImportPage;

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
    pub(super) failures: Failures,
    pub(super) warnings: Vec<String>,
    /// What is in no page, or only in part.
    pub(super) lost: Vec<ImportFailure>,
    pub(super) lost_total: u64,
    /// Files that the body of a note names: they are attached, or already lost by name.
    pub(super) named_files: HashSet<String>,
}

impl ImportTally {
    /// Returns the page, or records the failure of its file.
    pub(super) fn accept(&mut self, file: Result<ImportPage, ImportFailure>) -> Option<ImportPage> {
        file.map_err(|ImportFailure { path, reason }| self.failures.add(path, reason)).ok()
    }

    /// Adds what the input and its listing found.
    pub(super) fn add_problems(
        &mut self,
        request: &Import,
        input: &mut ImportInput<'_>,
        found: &mut ScanReport,
    ) {
        self.warnings.extend(input.warning.take());
        if let InputKind::Export(export) = &mut input.kind {
            self.lose(&mut export.pages);
            if let Some(problem) = export.problem.take() {
                self.failures.add(request.path.as_str(), problem);
            }
        }
        for (path, reason) in std::mem::take(&mut found.unreadable) {
            let path = if path.is_empty() { request.path.clone() } else { path };
            self.failures.add(path, reason);
        }
    }

    /// Adds what a conversion lost.
    pub(super) fn lose(&mut self, pages: &mut ConvertedPages<'_>) {
        let room = MAX_LOST.saturating_sub(self.lost.len());
        self.lost.extend(std::mem::take(&mut pages.lost).into_iter().take(room));
        self.lost_total += pages.lost_total;
    }

    /// Counts a file that the body of a note names. `reason` says why it is not attached.
    pub(super) fn count_named_file(&mut self, path: &str, reason: Option<String>) {
        if self.named_files.insert(path.to_owned())
            && let Some(reason) = reason
        {
            self.lost_total += 1;
            self.lost.push(ImportFailure { path: path.to_owned(), reason });
        }
    }

    /// Adds the files of a directory that are neither markdown nor documents.
    pub(super) fn lose_others(&mut self, root: &Path, found: &mut ScanReport) {
        let room = MAX_LOST.saturating_sub(self.lost.len());
        let mut paths = std::mem::take(&mut found.other_paths);
        let all = paths.len();
        paths.retain(|path| !self.named_files.contains(path));
        let named = (all - paths.len()) as u64;
        self.lost_total += found.other_files - named - found.links.len() as u64;
        self.lost.extend(reasons(root, paths, &found.links).into_iter().take(room));
    }

    pub(super) fn refuse_blank(&mut self, path: String) {
        self.failures.add(path, "it is empty, and would blank the page of that slug");
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
            skipped: self.lost_total,
            failed: self.failures.named,
            failed_total: self.failures.total,
            warnings: self.warnings,
            took_ms: 0,
            not_imported: self.lost,
            left_out: IgnoredFiles::default(),
        }
    }
}
