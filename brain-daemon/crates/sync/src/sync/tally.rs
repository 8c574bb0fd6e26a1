//! Counts the results of a sync, and builds the report about a source.

use brain_protocol::{
    Command, Fault, IgnoredFiles, Pull, PullStatus, Slug, SourceId, SyncConflict, SyncStatus,
    SyncedSource, WriteStatus,
};

use super::decide::FileVerdict;
use brain_files::AwayPart;
use brain_pages::files::merge_file::FileMerge;
use brain_service::batch::Failures;

/// The maximum number of conflicts and of warnings in a reply.
const MAX_CONFLICTS: usize = 1000;
const MAX_WARNINGS: usize = 20;

/// The counts, failures and warnings of the sync of one source.
pub(super) struct Tally {
    pub(super) report: SyncedSource,
    failures: Failures,
    /// The number of files that changed, or whose pages changed, during the sync.
    changing: u64,
    /// What is away of the source.
    away_parts: Vec<String>,
}

impl Tally {
    pub(super) fn new(source: &SourceId, path: String) -> Self {
        let report = SyncedSource {
            source_id: source.clone(),
            path,
            status: SyncStatus::Done,
            problem: None,
            pull: Pull { status: PullStatus::Skipped, message: None },
            files: 0,
            added: 0,
            updated: 0,
            restored: 0,
            renamed: 0,
            removed: 0,
            unchanged: 0,
            held_back: 0,
            failed: Vec::new(),
            failed_total: 0,
            conflicts: Vec::new(),
            warnings: Vec::new(),
            left_out: IgnoredFiles::default(),
        };
        Self { report, failures: Failures::default(), changing: 0, away_parts: Vec::new() }
    }

    pub(super) fn fail(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.failures.add(path, reason);
    }

    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        if self.report.warnings.len() < MAX_WARNINGS {
            self.report.warnings.push(warning.into());
        }
    }

    /// Counts the decision about a file.
    pub(super) fn count(&mut self, path: &str, verdict: &FileVerdict) {
        match verdict {
            FileVerdict::Unchanged { .. } => self.report.unchanged += 1,
            FileVerdict::Restore(_) => self.report.restored += 1,
            FileVerdict::PendingWrite | FileVerdict::Gone => {}
            // A dry run does not join texts.
            FileVerdict::Differing(_) => self.report.updated += 1,
            FileVerdict::Changed => self.changing += 1,
            FileVerdict::Refused { reason, .. } => self.fail(path, reason.clone()),
            FileVerdict::Write { status, .. } => match status {
                WriteStatus::Created => self.report.added += 1,
                WriteStatus::Updated => self.report.updated += 1,
                WriteStatus::Restored => self.report.restored += 1,
                WriteStatus::Unchanged | WriteStatus::Queued => self.report.unchanged += 1,
            },
        }
    }

    /// Counts a file that another program changed while the page had a change of its own.
    pub(super) fn count_merge(
        &mut self,
        path: &str,
        slug: &Slug,
        merged: Result<FileMerge, Fault>,
    ) {
        match merged {
            Ok(FileMerge::Same) => self.report.unchanged += 1,
            Ok(FileMerge::Changed(_)) => self.report.updated += 1,
            Ok(FileMerge::Conflict(kept_version)) => {
                if self.report.conflicts.len() < MAX_CONFLICTS {
                    let (slug, path) = (slug.clone(), path.to_owned());
                    self.report.conflicts.push(SyncConflict { slug, path, kept_version });
                }
            }
            Ok(FileMerge::Unusable(reason)) => {
                self.fail(path, reason.unwrap_or_else(|| "it is empty".into()));
            }
            Err(fault) => self.fail(path, fault.message),
        }
    }

    /// Returns the report about a source that cannot be read.
    pub(super) fn into_failure(mut self, problem: String) -> SyncedSource {
        self.report.status = SyncStatus::Failed;
        self.report.problem = Some(problem);
        self.report
    }

    /// Returns the report about a source that is away.
    pub(super) fn into_away(mut self, reason: String) -> SyncedSource {
        self.report.status = SyncStatus::Away;
        self.report.problem = Some(reason);
        self.report
    }

    /// Records that a part of the source is away.
    pub(super) fn note_away_part(&mut self, part: &AwayPart) {
        self.away_parts.push(format!("{} is away: {}", part.path, part.reason));
    }

    pub(super) fn into_report(mut self) -> SyncedSource {
        if self.changing > 0 {
            let files = match self.changing {
                1 => "1 file".into(),
                count => format!("{count} files"),
            };
            self.warn(format!(
                "{files} changed while the sync read them; the next sync stores them"
            ));
        }
        let mut report = self.report;
        report.failed = self.failures.named;
        report.failed_total = self.failures.total;
        let mut problems = self.away_parts;
        let is_part_away = !problems.is_empty();
        if report.held_back > 0 {
            let pages = match report.held_back {
                1 => "1 page has no file any more; to delete it".to_owned(),
                count => format!("{count} pages have no file any more; to delete them"),
            };
            let source = Some(report.source_id.to_string());
            problems.push(format!("{pages}: {}", Command::SyncDeletions { source }));
        }
        if report.pull.status == PullStatus::Failed {
            let message = report.pull.message.as_deref().unwrap_or("it failed");
            problems.push(format!("git pull: {message}"));
        }
        if report.failed_total > 0 {
            let noun = if report.failed_total == 1 { "file" } else { "files" };
            problems.push(format!("{} {noun} could not be stored", report.failed_total));
        }
        report.status = match (report.held_back, problems.is_empty()) {
            (1.., _) => SyncStatus::HeldBack,
            (0, false) if is_part_away => SyncStatus::Away,
            (0, false) => SyncStatus::Partial,
            (0, true) => SyncStatus::Done,
        };
        report.problem = (!problems.is_empty()).then(|| problems.join("; "));
        report
    }
}
