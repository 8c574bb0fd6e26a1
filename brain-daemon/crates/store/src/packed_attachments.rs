//! Attachments in a backup: each file is stored in parts.

use brain_page::hex;
use brain_protocol::MAX_ATTACHMENT;
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::record::Hash;
use super::{StoreError, tables as t};
use brain_files::AttachmentFiles;

/// Length of a part of a file in a backup, in bytes.
const PART_BYTES: usize = 1 << 20;

/// Splits a file into the parts of a backup, numbered from 0. An empty file has one part.
pub(super) fn parts(content: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let whole = content.is_empty().then_some(content).into_iter();
    (0..).zip(whole.chain(content.chunks(PART_BYTES)))
}

/// Joins the parts of each file in a backup and calls `work` with it, in the order of the hashes.
///
/// # Errors
/// When parts are missing or do not match the file's hash; when the store cannot be read; errors of
/// `work`.
pub(super) fn for_each_packed(
    table: &impl ReadableTable<(&'static [u8; 32], u32), &'static [u8]>,
    mut work: impl FnMut(&Hash, &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (mut current, mut content): (Option<Hash>, Vec<u8>) = (None, Vec::new());
    let mut next = 0;
    let mut finish_file = |hash: Option<Hash>, content: &[u8]| match hash {
        Some(hash) if brain_files::digest(content) == hash => work(&hash, content),
        Some(hash) => Err(damaged(&hash)),
        None => Ok(()),
    };
    for row in table.iter()? {
        let (key, value) = row?;
        let (hash, number) = key.value();
        if current != Some(*hash) {
            finish_file(current.replace(*hash), &content)?;
            content.clear();
            next = 0;
        }
        if number != next || content.len() + value.value().len() > MAX_ATTACHMENT {
            return Err(damaged(hash));
        }
        content.extend_from_slice(value.value());
        next += 1;
    }
    finish_file(current, &content)
}

fn damaged(hash: &Hash) -> StoreError {
    StoreError::damaged(format!("attachment {}: its bytes do not match its hash", hex(hash)))
}

/// Writes the attachments of a restored backup to their directory, then removes them from the
/// store.
///
/// # Errors
/// When the store cannot be read or written, an attachment is damaged, or a file cannot be written.
/// The store then keeps all of them.
pub(super) fn unpack(db: &Database, files: &AttachmentFiles) -> Result<(), StoreError> {
    let txn = db.begin_read()?;
    let table = txn.open_table(t::ATTACHMENT_PARTS)?;
    if table.is_empty()? {
        return Ok(());
    }
    let mut written = 0;
    for_each_packed(&table, |_, content| {
        let root = files.root().display().to_string();
        files.write(content).map_err(|e| StoreError::from_io(&e, &root))?;
        written += 1;
        Ok(())
    })?;
    drop((table, txn));
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(true);
    txn.delete_table(t::ATTACHMENT_PARTS)?;
    txn.open_table(t::ATTACHMENT_PARTS)?;
    txn.commit()?;
    tracing::info!(files = written, "attachments of the backup were written");
    Ok(())
}
