//! Brings store and `pages/` together after the store was restored, replaced or copied with its
//! home. Each of the two can be newer: a program that copies a running home reads them one after
//! the other.

use brain_base::caller::Visibility;
use brain_files::{RootDir, TRASH, stat_of};
use brain_protocol::{Fault, FaultCode, Slug, SourceId, SyncedSource};
use brain_store::{
    Content, FileState, Hash, OutboxRow, PageRecord, Reader, StoreError, unless_damaged,
};

use super::SyncOptions;
use crate::sync::SyncService;
use brain_pages::files::read::read_bytes;
use brain_service::NoProgress;

/// The difference of clock and file times that a copy can have, in milliseconds: some programs keep
/// whole seconds.
const FILE_TIME_ACCURACY_MS: i64 = 1000;

/// Pages of the default source whose file is not what the store expects.
#[derive(Default)]
struct FileDifferences {
    /// Paths of pages whose file is in the trash: they were deleted after the store was copied.
    trashed: Vec<String>,
    /// Pages without a file.
    missing: Vec<Slug>,
    /// Pages whose file has a former version, from before the page got its current one; with the
    /// digest of the file.
    outdated: Vec<(Slug, Hash)>,
    /// Pages whose file the outbox would write, but which has a newer text: id, and sequence number
    /// of the outbox row.
    newer: Vec<(u64, u64)>,
}

impl SyncService {
    /// Stores the files of the default source that are new or newer than their pages, and deletes
    /// the pages whose file is in the trash. Writes the files of other pages that have none or a
    /// former version.
    ///
    /// # Errors
    /// As [`Self::sync_paths`].
    pub fn take_in_files(&self) -> Result<SyncedSource, Fault> {
        let _turn = self.wait_for_turn(&NoProgress)?;
        let id = SourceId::default();
        let sources = self.store.read(Visibility::All)?.sources()?;
        let Some((_, record)) = sources.into_iter().find(|(known, _)| *known == id) else {
            return Err(Fault::new(FaultCode::UnknownSource, "the default source is missing"));
        };
        let found = self.differences()?;
        let newer = found.newer;
        self.store.write(move |transaction| {
            newer.iter().try_for_each(|(page, row)| transaction.remove_outbox_row(*page, *row))
        })?;
        self.write_again(found.outdated.into_iter().map(|(page, file)| (page, Some(file))))?;
        let options = SyncOptions {
            pull: false,
            dry_run: false,
            full: false,
            yes: false,
            watched: Some(&found.trashed),
            scope: &[String::new()],
        };
        let taken_in = self.sync_source(&id, &record, options, &NoProgress)?;
        // Files that were moved have their pages now. The others were not copied.
        let missing = self.differences()?.missing;
        if missing.is_empty() {
            self.pages.files.replay_outbox();
            return Ok(taken_in);
        }
        self.write_again(missing.into_iter().map(|page| (page, None)))?;
        // The files are there now, so they are no problem of the source any more.
        let SyncedSource { status, held_back, problem, .. } =
            self.sync_source(&id, &record, options, &NoProgress)?;
        Ok(SyncedSource { status, held_back, problem, ..taken_in })
    }

    /// Compares the pages of the default source with its files.
    fn differences(&self) -> Result<FileDifferences, Fault> {
        let mut out = FileDifferences::default();
        let reader = self.store.read(Visibility::All)?;
        // A directory that cannot be opened is reported by the sync.
        let Ok(root) = self.pages.files.outbox.default_tree.open_root() else { return Ok(out) };
        reader.pages_in_order((SourceId::DEFAULT, ""), |(source, slug, record)| {
            if source.as_str() != SourceId::DEFAULT {
                return Ok(false);
            }
            match reader.outbox_row(record.id)? {
                None => out.add(&reader, &root, slug, &record)?,
                Some(row) if self.is_newer(&root, &record, &row) => {
                    out.newer.push((record.id, row.seq));
                }
                Some(_) => {}
            }
            Ok(true)
        })?;
        Ok(out)
    }

    /// Returns whether the file that the outbox would write was saved after the page, and is not
    /// torn.
    fn is_newer(&self, root: &RootDir, record: &PageRecord, row: &OutboxRow) -> bool {
        let Ok(Some(file)) = read_bytes(root, &record.source_path) else { return false };
        let Some(bytes) = file.bytes() else { return false };
        row.target_state == FileState::Present
            && file.stat.mtime_ns / 1_000_000 + FILE_TIME_ACCURACY_MS > record.written_at
            && !row.own_digests.contains(&file.digest())
            && !self.pages.files.is_torn(record.id, &row.own_digests, bytes)
    }

    /// Writes the files of these pages, and replaces those with that digest.
    fn write_again(&self, pages: impl Iterator<Item = (Slug, Option<Hash>)>) -> Result<(), Fault> {
        let pages: Vec<_> = pages.collect();
        if !pages.is_empty() {
            tracing::info!(
                files = pages.len(),
                "files in pages/ are missing or older than their pages: they are written again"
            );
            self.store.write(move |transaction| {
                let source = SourceId::default();
                for (slug, replaced) in &pages {
                    if let Some(record) = transaction.page(&source, slug)? {
                        let replaced = replaced.iter().copied().collect();
                        transaction.write_file_again(&source, &record, replaced)?;
                    }
                }
                Ok(())
            })?;
        }
        self.pages.files.replay_outbox();
        Ok(())
    }
}

impl FileDifferences {
    /// Compares a page without an outbox row with its file. A file that cannot be read is left to
    /// the sync.
    fn add(
        &mut self,
        reader: &Reader,
        root: &RootDir,
        slug: Slug,
        record: &PageRecord,
    ) -> Result<(), StoreError> {
        let path = record.source_path.as_str();
        let is_missing = stat_of(root, path).is_ok_and(|stat| stat.is_none());
        if is_missing && root.path().join(TRASH).join(path).symlink_metadata().is_ok() {
            self.trashed.push(path.to_owned());
        } else if is_missing {
            self.missing.push(slug);
        } else if let Ok(Some(file)) = read_bytes(root, path)
            && file.stat.mtime_ns / 1_000_000 < record.written_at
            && is_former_version(reader, record, file.digest())?
        {
            self.outdated.push((slug, file.digest()));
        }
        Ok(())
    }
}

/// Returns whether a former version of the page, and not the current one, has this digest. A
/// damaged text has none.
fn is_former_version(
    reader: &Reader,
    record: &PageRecord,
    digest: Hash,
) -> Result<bool, StoreError> {
    let has_digest = |content: &Content| content.file_hash() == digest;
    let current = unless_damaged(reader.content(record))?;
    if current.is_none_or(|current| has_digest(&current)) {
        return Ok(false);
    }
    for former in reader.versions(record.id)? {
        let version = unless_damaged(reader.version(record.id, former.version))?.flatten();
        if version.is_some_and(|version| has_digest(&version.content)) {
            return Ok(true);
        }
    }
    Ok(false)
}
