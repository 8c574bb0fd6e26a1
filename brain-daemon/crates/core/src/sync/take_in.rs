//! Brings store and `pages/` together after the store was restored, replaced or copied with its
//! home. Each of the two can be newer: a program that copies a running home reads them one after
//! the other.

use std::collections::HashSet;

use brain_base::caller::Visibility;
use brain_page::file_hash;
use brain_protocol::{Fault, FaultCode, Slug, SourceId, SyncedSource};
use brain_store::files::{RootDir, TRASH, stat_of};
use brain_store::{Content, Hash, PageRecord, Reader, StoreError, unless_damaged};

use super::SyncOptions;
use super::read::read_bytes;
use crate::{NoProgress, SyncService};

/// Pages of the default source whose file is not what the store expects.
#[derive(Default)]
struct Differences {
    /// Paths of pages whose file is in the trash: they were deleted after the store was copied.
    trashed: Vec<String>,
    /// Pages without a file.
    missing: Vec<Slug>,
    /// Pages whose file has a former version, from before the page got its current one; with the
    /// digest of the file.
    outdated: Vec<(Slug, Hash)>,
}

impl SyncService {
    /// Stores the files of the default source that are new or newer than their pages, and deletes
    /// the pages whose file is in the trash. Lets the outbox write the files of other pages that
    /// have none or a former version.
    ///
    /// # Errors
    /// As [`Self::sync_paths`].
    pub(crate) fn take_in_files(&self) -> Result<SyncedSource, Fault> {
        let _turn = self.wait_for_turn(&NoProgress)?;
        let id = SourceId::default();
        let sources = self.store.read(Visibility::All)?.sources()?;
        let Some((_, record)) = sources.into_iter().find(|(known, _)| *known == id) else {
            return Err(Fault::new(FaultCode::UnknownSource, "the default source is missing"));
        };
        let found = self.differences()?;
        // The sync leaves a file alone that the outbox is about to replace.
        self.write_again(
            found.outdated.into_iter().map(|(page, file)| (page, Some(file))).collect(),
        )?;
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
        let found = self.differences()?;
        self.write_again(found.missing.into_iter().map(|page| (page, None)).collect())?;
        self.pages.files.replay_outbox();
        Ok(taken_in)
    }

    /// Compares the pages of the default source with its files.
    fn differences(&self) -> Result<Differences, Fault> {
        let mut out = Differences::default();
        let reader = self.store.read(Visibility::All)?;
        let waiting: HashSet<u64> = reader.outbox()?.into_iter().collect();
        // A directory that cannot be opened is reported by the sync.
        let Ok(root) = self.pages.files.outbox.default_tree.open_root() else { return Ok(out) };
        reader.pages_in_order((SourceId::DEFAULT, ""), |(source, slug, record)| {
            if source.as_str() != SourceId::DEFAULT {
                return Ok(false);
            }
            if !waiting.contains(&record.id) {
                out.add(&reader, &root, slug, &record)?;
            }
            Ok(true)
        })?;
        Ok(out)
    }

    /// Lets the outbox write the files of these pages, and replace a file with that digest.
    fn write_again(&self, pages: Vec<(Slug, Option<Hash>)>) -> Result<(), Fault> {
        if pages.is_empty() {
            return Ok(());
        }
        tracing::info!(
            files = pages.len(),
            "files in pages/ are missing or older than their pages"
        );
        self.store.write(move |draft| {
            let source = SourceId::default();
            for (slug, replaced) in &pages {
                if let Some(record) = draft.page(&source, slug)? {
                    draft.write_file_again(&source, &record, replaced.iter().copied().collect())?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

impl Differences {
    /// Compares a page with its file. A file that cannot be read is left to the sync.
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
    let has_digest = |content: &Content| file_hash(&content.frontmatter, &content.body) == digest;
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
