//! Applies the batches of other machines to the store.
//!
//! The store then has the same rows as theirs. It derives what belongs to this machine alone: which
//! files to write.

use std::collections::BTreeMap;

use brain_protocol::{Slug, SourceId};
use redb::{ReadableTable, WriteTransaction};

use super::change::{Change, ChangedPage};
use super::pending_keys::PendingKeys;
use super::record::{Content, FileState, Hash, PageRecord};
use super::replica::{FILE_PART, ReplicaPlace};
use super::row_table::{RowChange, apply_changes, damaged_change, row_changes, take_part};
use super::shared_log::LogBatch;
use super::{StoreError, Transaction, tables as t};
use brain_files::AttachmentFiles;

/// The most changes of a batch that searches find at once. A batch with more is indexed in the
/// background, like an import.
const MAX_DIRECT_CHANGES: usize = 256;

/// What batches changed in the store that applied them.
#[derive(Default)]
pub(super) struct BatchEffects {
    /// Changes of pages, in order.
    pub(super) changes: Vec<Change>,
    pub(super) sources_changed: bool,
    /// Whether clients or tokens changed.
    pub(super) access_changed: bool,
    /// The ids of outbox rows that were added.
    pub(super) files: Vec<u64>,
    /// See [`ReplicaPlace::next_spooled`].
    pub(super) next_spooled: u64,
}

/// Applies batches to a transaction. Batches that the store contains are skipped.
///
/// # Errors
/// [`StoreError::Damaged`] when a batch is not the next one, or its bytes are invalid; errors of
/// the disk.
pub(super) fn apply_batches(
    attachments: &AttachmentFiles,
    txn: &WriteTransaction,
    batches: &[LogBatch],
) -> Result<BatchEffects, StoreError> {
    let mut effects = BatchEffects::default();
    let Some(mut replica) = ReplicaPlace::read(&txn.open_table(t::META)?)? else {
        return Err(StoreError::Defect);
    };
    for batch in batches {
        if batch.position.number <= replica.position.number {
            continue;
        }
        if batch.position.number != replica.position.number + 1 {
            return Err(damaged_change("a gap before it"));
        }
        let (store_id, next_spooled) = apply_batch(attachments, txn, &batch.changes, &mut effects)?;
        if store_id == replica.store_id {
            replica.next_spooled = replica.next_spooled.max(next_spooled);
        }
        replica.position = batch.position;
    }
    replica.write(txn)?;
    effects.next_spooled = replica.next_spooled;
    let len = effects.changes.len();
    for change in &mut effects.changes {
        change.is_bulk = len > MAX_DIRECT_CHANGES;
    }
    Ok(effects)
}

/// Applies the bytes of a batch. Returns the id of the store that wrote it, and its
/// [`ReplicaPlace::next_spooled`].
fn apply_batch(
    attachments: &AttachmentFiles,
    txn: &WriteTransaction,
    bytes: &[u8],
    effects: &mut BatchEffects,
) -> Result<(u64, u64), StoreError> {
    let too_short = || damaged_change("no content");
    let (store_id, rest) = bytes.split_first_chunk::<8>().ok_or_else(too_short)?;
    let (next_spooled, mut rest) = rest.split_first_chunk::<8>().ok_or_else(too_short)?;
    let mut parts = Vec::new();
    while let Some((table, behind)) = rest.split_first() {
        rest = behind;
        parts.push((*table, take_part(&mut rest)?));
    }
    let touched = touched_pages(&parts)?;
    let pending = PendingKeys::default();
    let former = {
        let transaction = Transaction::open(txn, &pending)?;
        let pages = touched.values().map(|id| Ok((*id, ReplacedPage::read(&transaction, *id)?)));
        pages.collect::<Result<BTreeMap<_, _>, StoreError>>()?
    };
    for (table, part) in &parts {
        match *table {
            FILE_PART => {
                let root = attachments.root().display().to_string();
                let written = attachments.write(part);
                written.map_err(|e| StoreError::from_io(&e, &root))?;
            }
            table => apply_part(txn, table, &row_changes(part)?, effects)?,
        }
    }
    let mut transaction = Transaction::open(txn, &pending)?;
    for source in removed_sources(&parts)? {
        transaction.forget_files_of(&source)?;
    }
    for (&seq, &id) in &touched {
        // A later change of the batch can have replaced this one.
        if transaction.changes.get(seq)?.is_none_or(|found| found.value() != id) {
            continue;
        }
        let now = CurrentPage::read(&transaction, id)?;
        transaction.counters.seq = seq;
        let former = former.get(&id).and_then(Option::as_ref);
        let active = now.as_ref().filter(|now| now.record.deleted_at.is_none());
        let content = active.map(|now| transaction.content(&now.record)).transpose()?;
        follow_file(&mut transaction, id, former, now.as_ref(), content.as_ref())?;
        for row in [id, moved_file_id(seq)] {
            effects.files.extend(transaction.outbox_row(row)?.map(|_| row));
        }
        let page = now.zip(content).map(|(CurrentPage { source, slug, record }, content)| {
            ChangedPage { source, slug, record, content, is_from_file: false }.into()
        });
        effects.changes.push(Change { seq, id, page, is_bulk: false });
    }
    Ok((u64::from_le_bytes(*store_id), u64::from_le_bytes(*next_spooled)))
}

/// Returns the changed pages of a batch: sequence number → page id.
fn touched_pages(parts: &[(u8, &[u8])]) -> Result<BTreeMap<u64, u64>, StoreError> {
    let mut touched = BTreeMap::new();
    for (_, part) in parts.iter().filter(|(table, _)| *table == CHANGES_NUMBER) {
        for RowChange { key, value } in row_changes(part)? {
            let number = |bytes: &[u8]| {
                bytes
                    .try_into()
                    .map(u64::from_le_bytes)
                    .map_err(|_| damaged_change("a row of a wrong length"))
            };
            match value {
                Some(id) => touched.insert(number(key)?, number(id)?),
                None => touched.remove(&number(key)?),
            };
        }
    }
    Ok(touched)
}

/// Returns the sources that a batch unregisters.
fn removed_sources(parts: &[(u8, &[u8])]) -> Result<Vec<SourceId>, StoreError> {
    let mut removed = Vec::new();
    for (_, part) in parts.iter().filter(|(table, _)| *table == SOURCES_NUMBER) {
        for change in row_changes(part)?.iter().filter(|change| change.value.is_none()) {
            let name = std::str::from_utf8(change.key);
            removed.extend(name.ok().and_then(|name| SourceId::parse(name).ok()));
        }
    }
    Ok(removed)
}

/// The number of [`t::SOURCES`] in [`t::every_shared_table`].
const SOURCES_NUMBER: u8 = 2;

/// The number of [`t::CHANGES`] in [`t::every_shared_table`].
const CHANGES_NUMBER: u8 = 10;

/// Makes the changes of one table.
fn apply_part(
    txn: &WriteTransaction,
    table: u8,
    changes: &[RowChange<'_>],
    effects: &mut BatchEffects,
) -> Result<(), StoreError> {
    macro_rules! apply {
        ($($number:literal $name:ident),*) => {
            match table {
                $($number => {
                    effects.sources_changed |= ["sources", "source_settings", "source_machines"]
                        .contains(&redb::TableHandle::name(&t::$name));
                    effects.access_changed |=
                        ["clients", "tokens"].contains(&redb::TableHandle::name(&t::$name));
                    apply_changes(&mut txn.open_table(t::$name)?, changes)
                })*
                other => Err(damaged_change(&format!("rows of a table {other}"))),
            }
        };
    }
    t::every_shared_table!(apply)
}

/// A page before a batch.
struct ReplacedPage {
    source: SourceId,
    record: PageRecord,
    /// The digest of the file that brain wrote.
    digest: Option<Hash>,
}

impl ReplacedPage {
    fn read(transaction: &Transaction<'_>, id: u64) -> Result<Option<Self>, StoreError> {
        let Some(CurrentPage { source, record, .. }) = CurrentPage::read(transaction, id)? else {
            return Ok(None);
        };
        let digest = match transaction.has_files_of(source.as_str())? {
            true => transaction.own_digest(&record)?,
            false => None,
        };
        Ok(Some(Self { source, record, digest }))
    }
}

/// A page after a batch.
struct CurrentPage {
    source: SourceId,
    slug: Slug,
    record: PageRecord,
}

impl CurrentPage {
    fn read(transaction: &Transaction<'_>, id: u64) -> Result<Option<Self>, StoreError> {
        let Some(guard) = transaction.ids.get(id)? else { return Ok(None) };
        let damaged = |error: String| StoreError::damaged(format!("key of page {id}: {error}"));
        let (source, slug) = guard.value();
        let source = SourceId::parse(source).map_err(|e| damaged(e.to_string()))?;
        let slug = Slug::parse(slug).map_err(|e| damaged(e.to_string()))?;
        Ok(transaction.page(&source, &slug)?.map(|record| Self { source, slug, record }))
    }
}

/// Returns the id of the outbox row for the former file of a page that the change `seq` moved.
fn moved_file_id(seq: u64) -> u64 {
    seq | 1 << 63
}

/// Adds the outbox rows that bring the page's file to its state after a batch. `content` is the
/// text of an active page.
fn follow_file(
    transaction: &mut Transaction<'_>,
    id: u64,
    former: Option<&ReplacedPage>,
    now: Option<&CurrentPage>,
    content: Option<&Content>,
) -> Result<(), StoreError> {
    let source = match (former, now) {
        (_, Some(now)) => &now.source,
        (Some(former), None) => &former.source,
        (None, None) => return Ok(()),
    };
    let is_registered = transaction.source(source)?.is_some();
    if !is_registered || !transaction.has_files_of(source.as_str())? {
        return Ok(());
    }
    let mut ours: Vec<Hash> = former.and_then(|former| former.digest).into_iter().collect();
    if let Some(former) = former {
        ours.extend(transaction.imported_digest(source, &former.record.source_path)?);
    }
    let Some(now) = now else {
        return match former {
            Some(former) => {
                if former.record.deleted_at.is_none() {
                    let path = &former.record.source_path;
                    transaction.add_outbox_row(
                        id,
                        source.as_str(),
                        path,
                        FileState::Trashed,
                        ours,
                    )?;
                }
                transaction.purge_file(id, source.as_str(), &former.record, former.digest)
            }
            None => Ok(()),
        };
    };
    let record = &now.record;
    if let Some(former) = former.filter(|former| former.record.source_path != record.source_path) {
        // The outbox row of the former path gets an id that belongs to no page on any machine.
        transaction.counters.next_id = moved_file_id(transaction.counters.seq);
        let synced = transaction.file(source, &former.record.source_path)?;
        let is_changed = former.record.content_hash != record.content_hash;
        transaction.move_file_rows(source, &former.record, record, synced, is_changed, &ours)?;
    }
    match content {
        Some(text) => {
            // The machine that read this text from its file, and was killed, finds it there.
            ours.push(text.file_hash());
            let path = &record.source_path;
            transaction.add_outbox_row(id, source.as_str(), path, FileState::Present, ours)
        }
        None if former.is_some_and(|former| former.record.deleted_at.is_none()) => {
            transaction.move_to_trash(source, record, ours)
        }
        None => Ok(()),
    }
}
