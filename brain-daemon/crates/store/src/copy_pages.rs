//! Copies the pages of a snapshot into a new store, row by row: the beginning of a past state.

use std::path::Path;

use brain_base::home::free_bytes;
use redb::{Key, ReadTransaction, TableDefinition, Value, WriteTransaction};

use super::read::{PageEntry, Reader};
use super::store_file::{create, open_closed};
use super::{StoreError, StoreOptions, Transaction, tables as t};

impl Reader {
    /// Creates a store at `path` with the sources and pages of this snapshot, whatever the caller
    /// can see. It has no former versions, no steps, and nothing else that reading pages does not
    /// need. Writes one transaction.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`] when `bytes`, about the size of the pages, do not fit; other errors
    /// of the disk.
    pub fn copy_pages(
        &self,
        path: &Path,
        bytes: u64,
        options: &StoreOptions,
    ) -> Result<(), StoreError> {
        let dir = path.parent().unwrap_or(path);
        let needed = options.min_free_bytes.saturating_add(bytes.saturating_mul(2));
        if free_bytes(dir).is_ok_and(|free| free < needed) {
            let text = format!("{} has no space for a copy of the pages", dir.display());
            return Err(StoreError::DiskFull(text.into()));
        }
        create(path, options)?;
        let db = open_closed(path, options.cache_bytes)?.db;
        let to = db.begin_write()?;
        self.with_file_damage(|from| {
            macro_rules! copy {
                ($($table:ident),*) => {$( copy_table(from, &to, t::$table)?; )*};
            }
            copy!(
                SOURCES,
                SOURCE_SETTINGS,
                PAGES,
                IDS,
                CONTENTS,
                DERIVED,
                CHANGES,
                PATHS,
                NAMES,
                LINKS_IN,
                TAGS,
                TYPES,
                TAG_COUNTS,
                TIMELINE,
                DELETED,
                ATTACHMENTS,
                ATTACHMENT_FILES
            );
            let (numbers, mut copy) = (from.open_table(t::META)?, to.open_table(t::META)?);
            for key in [t::META_NEXT_ID, t::META_SEQ, t::META_ACTIVE] {
                if let Some(number) = numbers.get(key)? {
                    copy.insert(key, number.value())?;
                }
            }
            Ok(())
        })?;
        Ok(to.commit()?)
    }
}

fn copy_table<K: Key + 'static, V: Value + 'static>(
    from: &ReadTransaction,
    to: &WriteTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<(), StoreError> {
    let mut copy = to.open_table(definition)?;
    for row in from.open_table(definition)?.range::<K::SelfType<'_>>(..)? {
        let (key, value) = row?;
        copy.insert(key.value(), value.value())?;
    }
    Ok(())
}

impl Transaction<'_> {
    /// Removes a page, active or deleted, from a copy of the pages.
    pub fn remove_copied_page(
        &mut self,
        (source, slug, record): &PageEntry,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        let id = record.id;
        match record.deleted_at {
            Some(at) => _ = self.deleted.remove((at, id))?,
            None => {
                self.remove_derived(source, slug, record)?;
                self.counters.active = self.counters.active.saturating_sub(1);
            }
        }
        self.ids.remove(id)?;
        self.pages.remove((source.as_str(), slug.as_str()))?;
        self.paths.remove((source.as_str(), record.source_path.as_str()))?;
        self.contents.remove(id)?;
        self.derived.remove(id)?;
        for (name, file) in self.attachments_of(id)? {
            self.attachments.remove((id, name.as_str()))?;
            self.attachment_files.remove((&file.hash, id, name.as_str()))?;
        }
        self.changes.remove(record.seq)?;
        self.counters.seq += 1;
        self.add_change(id, None);
        Ok(())
    }
}
