//! `purge`: removes a page, or a former version of it, for good and at once.
//!
//! Removes the rows in one transaction, then the files. Then rewrites the index and the store,
//! because both keep removed bytes until they need the space. The transaction records that the
//! purge is unfinished, so that a later start does what a kill or a full disk prevented.

use std::sync::Arc;

use brain_base::caller::Visibility;
use brain_protocol::{
    Command, Fault, FaultCode, PageChange, PageRef, Purge, PurgeReply, SourceId, hint,
};
use brain_store::{FileState, PageRecord, PurgeName, Store, UnfinishedPurges};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::store_identity;
use brain_base::caller::Caller;
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::pages::{PageService, no_page};
use brain_retrieval::embedding::EmbeddingService;
use brain_service::health::{Finding, Health, HealthCheck, warn};
use brain_sync::backup::scheduled_backup::BackupService;

/// The maximum number of purges that are remembered after they were finished later.
const MAX_REMEMBERED: usize = 1000;

/// Purges pages, and finishes purges that were interrupted.
pub struct PurgeService {
    pub(crate) home: Home,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stop: CancellationToken,
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) files: Arc<FileService>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) embedding: Arc<EmbeddingService>,
    pub(crate) backup: Arc<BackupService>,
    /// The purges that this daemon finished later, with the ids of their pages. The lock is held
    /// while a purge runs.
    pub(crate) finished_later: Mutex<Vec<(PurgeName, u64)>>,
    /// Why the last attempt did not finish all purges.
    pub(crate) problems: Mutex<Vec<String>>,
}

impl Health for PurgeService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("purge", &self, Self::check_purges)]
    }
}

impl PurgeService {
    pub(crate) fn purge(&self, caller: &Caller, request: &Purge) -> Result<PurgeReply, Fault> {
        let mut finished_later = self.finished_later.lock();
        let (source, id, versions, mut warnings) = self.erase(caller, request, &finished_later)?;
        if let Some(root) = self.files.file_path_of(&source, "")
            && root.ancestors().any(|dir| dir.join(".git").exists())
        {
            warnings.push(format!("the git history of {} may still have the text", root.display()));
        }
        let slug = request.page.slug.clone();
        let backups = self.store.copies_with(id, (&source, &slug), request.version);
        let problems = self.finish_locked(&mut finished_later, false)?;
        if versions > 0 {
            // This call finished its own purge.
            let name = PurgeName::of(&source, &slug, request.version);
            finished_later.retain(|(other, _)| *other != name);
        }
        let is_finished = problems.is_empty();
        let status = if is_finished { PageChange::Purged } else { PageChange::Unfinished };
        if !is_finished {
            warnings.extend(problems);
            warnings.push(format!(
                "brain tries again every minute, and after a restart, until the purge is finished; \
                 `{}` shows whether it is",
                Command::Doctor
            ));
        }
        if self.store.is_shared() {
            warnings.push(
                "the server has the text in its log and snapshots until new snapshots replace \
                 them, and the other machines have it in free space of their stores until they \
                 use that; docs/machines.md, section Purge, says how to end that at once"
                    .to_owned(),
            );
        }
        Ok(PurgeReply {
            status,
            slug,
            source_id: source,
            version: request.version,
            versions,
            backups: backups.iter().map(|path| path.display().to_string()).collect(),
            warnings,
        })
    }

    /// Returns the names of pages that were made from a page.
    fn made_from(&self, caller: &Caller, record: &PageRecord) -> Result<Vec<String>, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let mut names = Vec::new();
        for id in reader.made_from(record.id)?.into_iter().filter(|id| *id != record.id) {
            let entry = reader.by_id_including_deleted(id)?;
            names.extend(entry.map(|(source, slug, _)| PageRef::new(&source, &slug).to_string()));
        }
        Ok(names)
    }

    /// Erases the page or the version from the store. Returns source and id of the page, the number
    /// of erased versions, and warnings. There is none to erase if an interrupted purge did that.
    fn erase(
        &self,
        caller: &Caller,
        request: &Purge,
        finished_later: &[(PurgeName, u64)],
    ) -> Result<(SourceId, u64, u64, Vec<String>), Fault> {
        let purged =
            self.pages.page_to_purge(caller, &request.page).and_then(|(source, record)| {
                let made = self.made_from(caller, &record)?;
                let versions = match request.version {
                    Some(number) => self.purge_version(&source, &record, request, number)?,
                    None => self.purge_whole(&source, &record, request)?,
                };
                Ok((source, record, versions, made))
            });
        match purged {
            Ok((source, record, versions, made)) => {
                let mut warnings = match request.version {
                    Some(_) => Vec::new(),
                    None => self.remaining_files(&source, &record),
                };
                if !made.is_empty() {
                    let made = made.join(", ");
                    warnings.push(format!("made from it, so they may have its text: {made}"));
                }
                Ok((source, record.id, versions, warnings))
            }
            Err(fault) => {
                let (source, id) =
                    self.find_purged(caller, request, finished_later)?.ok_or(fault)?;
                Ok((source, id, 0, Vec::new()))
            }
        }
    }

    /// Returns source and id of a page whose purge was interrupted, and is unfinished or was
    /// finished later.
    fn find_purged(
        &self,
        caller: &Caller,
        request: &Purge,
        finished_later: &[(PurgeName, u64)],
    ) -> Result<Option<(SourceId, u64)>, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let sources: Vec<SourceId> = match &request.page.source {
            Some(source) => vec![source.clone()],
            None => reader.sources()?.into_iter().map(|(id, _)| id).collect(),
        };
        let mut known = self.store.read(Visibility::All)?.unfinished_purges()?.pages;
        known.extend_from_slice(finished_later);
        Ok(sources.into_iter().find_map(|source| {
            let name = PurgeName::of(&source, &request.page.slug, request.version);
            let found = known.iter().find(|(other, _)| *other == name);
            found.map(|(_, id)| (source, *id))
        }))
    }

    /// Finishes purges that a kill or a full disk interrupted. A timer calls this method.
    pub fn finish_interrupted(&self) {
        if self.store.is_read_only() || self.home.has_moved() {
            return;
        }
        match self.finish_locked(&mut self.finished_later.lock(), true) {
            Ok(problems) => {
                for problem in problems {
                    tracing::warn!("a purge is not finished: {problem}");
                }
            }
            Err(fault) => tracing::warn!(%fault, "cannot finish a purge"),
        }
    }

    /// Removes what the store, its index and its copies still have of purged pages. Returns what
    /// failed; the purges stay unfinished then. A retry writes the store again only if the files
    /// are removed and the index is complete.
    fn finish_locked(
        &self,
        finished_later: &mut Vec<(PurgeName, u64)>,
        is_retry: bool,
    ) -> Result<Vec<String>, Fault> {
        let unfinished = self.store.read(Visibility::All)?.unfinished_purges()?;
        if unfinished.is_empty() {
            self.problems.lock().clear();
            return Ok(Vec::new());
        }
        let mut problems = self.unremoved_files(&unfinished)?;
        problems.extend(self.index.degraded().filter(|_| !self.index.is_complete()));
        if is_retry && !problems.is_empty() {
            self.problems.lock().clone_from(&problems);
            return Ok(problems);
        }
        if let Err(error) = self.store.purge_attachments(&unfinished.attachments) {
            let root = self.store.attachments().root().display();
            problems.push(format!("{root} may still have files of the page: {error}"));
        }
        // Rows of unchecked links have slugs and aliases that disappeared.
        if let Err(error) = self.store.check_links(&|| !self.stop.is_cancelled()) {
            problems.push(format!("the store may still have a name of the page: {error}"));
        }
        match self.index.erase_removed() {
            Ok(()) => {}
            Err(error) => {
                problems.push(format!("the index may still have words of the text: {error}"));
            }
        }
        self.embedding.flush_vectors();
        if let Err(error) = self.store.compact_now() {
            let path = self.store.path().display();
            problems.push(format!("free space in {path} may still have the text: {error}"));
        }
        if let Err(fault) = self.backup.replace_kept_copy() {
            let path = self.home.kept_copy();
            problems.push(format!("{} still has the text: {fault}", path.display()));
        }
        store_identity::record(&self.home);
        if problems.is_empty() {
            self.store.finish_purges(&unfinished)?;
            finished_later.extend(unfinished.pages);
            let excess = finished_later.len().saturating_sub(MAX_REMEMBERED);
            finished_later.drain(..excess);
        }
        self.problems.lock().clone_from(&problems);
        Ok(problems)
    }

    /// Removes the rows of the files that were removed: they have the paths of the pages. Returns
    /// the problems of the other files.
    fn unremoved_files(&self, unfinished: &UnfinishedPurges) -> Result<Vec<String>, Fault> {
        self.files.replay_outbox();
        self.files.flush_outbox()?;
        let reader = self.store.read(Visibility::All)?;
        let mut problems = Vec::new();
        for (_, id) in &unfinished.pages {
            let Some(row) = reader.outbox_row(*id)? else { continue };
            if matches!(row.target_state, FileState::Purged | FileState::TrashPurged) {
                problems.push(format!(
                    "the file {} of source \"{}\" is not removed yet",
                    row.path, row.source
                ));
            }
        }
        Ok(problems)
    }

    fn check_purges(&self) -> Finding {
        let unfinished = self.store.read(Visibility::All)?.unfinished_purges()?;
        let count = unfinished.pages.len();
        if count == 0 {
            return self.pages.check_purge();
        }
        let problems = self.problems.lock().join("; ");
        let reason = if problems.is_empty() { "it is being finished".into() } else { problems };
        let purges = if count == 1 { "1 purge is".into() } else { format!("{count} purges are") };
        warn(
            format!("{purges} not finished: {reason}"),
            hint!(
                "brain finishes it by itself within a minute after that is mended; {} tries at \
                 once",
                Command::DoctorFix
            ),
        )
    }

    /// Removes a former version. Returns the number of removed versions: 1.
    fn purge_version(
        &self,
        source: &SourceId,
        record: &PageRecord,
        request: &Purge,
        number: u32,
    ) -> Result<u64, Fault> {
        let (source, slug, page_id) = (source.clone(), request.page.slug.clone(), record.id);
        let (argument, now) = (request.page.to_string(), self.clock.now());
        Ok(self.store.write(move |transaction| {
            let current = transaction.page(&source, &slug)?.filter(|page| page.id == page_id);
            let current = current.ok_or_else(|| no_page(&source, &slug))?;
            if current.version == number {
                let message = format!("version {number} of \"{slug}\" is the current one");
                return Err(Fault::new(FaultCode::Conflict, message)
                    .hint(hint!(
                        "change the text first ({}), then purge the former version; without \
                         --version the whole page is purged",
                        Command::Edit { page: Some(argument.clone()) }
                    ))
                    .into());
            }
            if !transaction.purge_version(&source, &slug, page_id, number, now)? {
                let message = format!("\"{slug}\" has no version {number}");
                return Err(Fault::new(FaultCode::UnknownVersion, message)
                    .hint(hint!("see {}", Command::History { page: Some(argument.clone()) }))
                    .into());
            }
            Ok(1)
        })?)
    }

    /// Removes the page with all versions. Returns the number of removed versions.
    fn purge_whole(
        &self,
        source: &SourceId,
        record: &PageRecord,
        request: &Purge,
    ) -> Result<u64, Fault> {
        let now = self.clock.now();
        let (source_id, slug, page_id) = (source.clone(), request.page.slug.clone(), record.id);
        let versions = self.store.write(move |transaction| {
            let record = transaction.page(&source_id, &slug)?.filter(|page| page.id == page_id);
            let record = record.ok_or_else(|| no_page(&source_id, &slug))?;
            transaction.purge_page(&source_id, &slug, record, now)
        })?;
        self.files.update_file(source, record, None);
        Ok(versions)
    }

    /// Returns warnings about files of a purged page that another program wrote.
    fn remaining_files(&self, source: &SourceId, record: &PageRecord) -> Vec<String> {
        let path = &record.source_path;
        let trashed = format!("{}/{path}", brain_files::TRASH);
        let paths = [path, &trashed].map(|path| self.files.file_path_of(source, path));
        let left = paths.iter().flatten().filter(|file_path| file_path.exists());
        left.map(|file_path| {
            format!(
                "{} was written by another program, so it stays; the next sync makes it a page",
                file_path.display()
            )
        })
        .collect()
    }
}
