//! What a sync has done so far, in the words of its reply.

use brain_protocol::{Pull, Slug, SourceId, SyncConflict, SyncedSource, WriteStatus};

use super::decide::Verdict;
use crate::batch::Failures;

/// How many conflicts and warnings a reply names.
const MAX_CONFLICTS: usize = 1000;
const MAX_WARNINGS: usize = 20;

/// Counts of what happened in one source.
pub(super) struct Tally {
    pub(super) out: SyncedSource,
    failures: Failures,
    /// Files that changed while they were looked at.
    moving: u64,
}

impl Tally {
    pub(super) fn new(source: &SourceId, path: String) -> Self {
        let out = SyncedSource {
            source_id: source.clone(),
            path,
            status: String::new(),
            problem: None,
            pull: Pull { status: "skipped".into(), message: None },
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
        };
        Self { out, failures: Failures::default(), moving: 0 }
    }

    pub(super) fn fail(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.failures.add(path, reason);
    }

    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        if self.out.warnings.len() < MAX_WARNINGS {
            self.out.warnings.push(warning.into());
        }
    }

    /// Counts what became of a file.
    pub(super) fn count(&mut self, path: &str, slug: &Slug, verdict: &Verdict) {
        match verdict {
            Verdict::Same { .. } => self.out.unchanged += 1,
            Verdict::Restore(_) => self.out.restored += 1,
            Verdict::Ours | Verdict::Gone => {}
            Verdict::Moving => self.moving += 1,
            Verdict::Bad { reason, .. } => self.fail(path, reason.clone()),
            Verdict::Write { status, conflict, .. } => {
                match status {
                    WriteStatus::Created => self.out.added += 1,
                    WriteStatus::Updated => self.out.updated += 1,
                    WriteStatus::Restored => self.out.restored += 1,
                    WriteStatus::Unchanged => self.out.unchanged += 1,
                }
                if let Some(kept_version) = *conflict
                    && self.out.conflicts.len() < MAX_CONFLICTS
                {
                    let (slug, path) = (slug.clone(), path.to_owned());
                    self.out.conflicts.push(SyncConflict { slug, path, kept_version });
                }
            }
        }
    }

    /// The source could not be read.
    pub(super) fn failed(mut self, problem: String) -> SyncedSource {
        self.out.status = "failed".into();
        self.out.problem = Some(problem);
        self.out
    }

    /// The reply; `dry_run` only words what waits for `--yes`.
    pub(super) fn done(mut self) -> SyncedSource {
        if self.moving > 0 {
            let what =
                if self.moving == 1 { "1 file".into() } else { format!("{} files", self.moving) };
            self.warn(format!(
                "{what} changed while the sync read them; the next one takes them in"
            ));
        }
        let mut out = self.out;
        out.failed = self.failures.named;
        out.failed_total = self.failures.total;
        let mut problems = Vec::new();
        if out.held_back > 0 {
            problems.push(format!(
                "{} pages have no file any more and wait for your word: brain sync --source {} --yes",
                out.held_back, out.source_id
            ));
        }
        if out.pull.status == "failed" {
            problems
                .push(format!("git pull: {}", out.pull.message.as_deref().unwrap_or("it failed")));
        }
        if out.failed_total > 0 {
            let what = if out.failed_total == 1 { "file" } else { "files" };
            problems.push(format!("{} {what} could not be taken in", out.failed_total));
        }
        out.status = match (out.held_back, problems.is_empty()) {
            (1.., _) => "held_back",
            (0, false) => "partial",
            (0, true) => "done",
        }
        .into();
        out.problem = (!problems.is_empty()).then(|| problems.join("; "));
        out
    }
}
