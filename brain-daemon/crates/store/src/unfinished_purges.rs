//! Purges whose rows are removed, but whose bytes may still be in free space, in the index or in
//! files.
//!
//! The transaction that removes the rows adds rows to `meta`; [`Store::finish_purges`] removes
//! these. So a purge that a kill or a full disk interrupts is finished later. Keys have hashes
//! instead of names, because a name can be the secret.

use brain_page as page;
use brain_protocol::{Slug, SourceId};

use super::record::Hash;
use super::{Reader, Store, StoreError, Transaction, tables as t};
use brain_files::attachment_files::hash_of;

/// A hash that stands for a purged page, or for a purged version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeName(String);

impl PurgeName {
    /// Returns the name of a page's purge, or of the purge of one version.
    #[must_use]
    pub fn of(source: &SourceId, slug: &Slug, version: Option<u32>) -> Self {
        let version = version.map(|number| number.to_string()).unwrap_or_default();
        let digest = page::content_digest(&format!("{source}\0{slug}\0{version}"));
        Self(page::hex(&digest).chars().take(16).collect())
    }
}

/// The purges that are not finished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnfinishedPurges {
    /// The purges, with the id of each page.
    pub pages: Vec<(PurgeName, u64)>,
    /// The attachments that the purged pages had.
    pub attachments: Vec<Hash>,
}

impl UnfinishedPurges {
    /// Whether all purges are finished.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.attachments.is_empty()
    }
}

impl Transaction<'_> {
    /// Records that a purge is unfinished.
    pub(super) fn begin_purge(
        &mut self,
        PurgeName(name): PurgeName,
        id: u64,
        attachments: &[Hash],
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        let key = format!("{}{name}", t::META_PURGED_PAGE);
        self.meta.insert_unrecorded(key.as_str(), id)?;
        for hash in attachments {
            let key = format!("{}{}", t::META_PURGED_FILE, page::hex(hash));
            self.meta.insert_unrecorded(key.as_str(), id)?;
        }
        Ok(())
    }
}

impl Reader {
    /// Returns the purges that are not finished.
    pub fn unfinished_purges(&self) -> Result<UnfinishedPurges, StoreError> {
        let mut found = UnfinishedPurges::default();
        for row in self.table(t::META)?.range(t::META_PURGED_FILE..)? {
            let (key, id) = row?;
            if let Some(hash) = key.value().strip_prefix(t::META_PURGED_FILE) {
                found.attachments.extend(hash_of(hash));
            } else if let Some(name) = key.value().strip_prefix(t::META_PURGED_PAGE) {
                found.pages.push((PurgeName(name.to_owned()), id.value()));
            } else {
                break;
            }
        }
        Ok(found)
    }
}

impl Store {
    /// Records that these purges are finished.
    pub fn finish_purges(&self, finished: &UnfinishedPurges) -> Result<(), StoreError> {
        let UnfinishedPurges { pages, attachments } = finished;
        let pages = pages.iter().map(|(name, _)| format!("{}{}", t::META_PURGED_PAGE, name.0));
        let files =
            attachments.iter().map(|hash| format!("{}{}", t::META_PURGED_FILE, page::hex(hash)));
        let keys: Vec<String> = pages.chain(files).collect();
        self.write(move |transaction| {
            transaction.task.frees_space = true;
            transaction.write_count += 1;
            for key in &keys {
                transaction.meta.remove_unrecorded(key.as_str())?;
            }
            Ok(())
        })
    }
}
