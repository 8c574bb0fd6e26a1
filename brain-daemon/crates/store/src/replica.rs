//! A store of a shared brain: its place in the log, and the batches that it sends and applies.
//!
//! A batch has the changed rows of all tables that machines share. A machine that applies it has
//! the same rows, and derives what belongs to this machine alone: which files to write.

use std::collections::BTreeMap;

use brain_protocol::{Slug, SourceId};
use redb::{ReadableTable, Value, WriteTransaction};

use super::error::unless_damaged;
use super::jobs::PendingKeys;
use super::record::{FileState, Hash, PageRecord};
use super::row_table::{
    RowChange, add_part, apply_changes, damaged_change, row_changes, take_part,
};
use super::shared_log::{LogBatch, LogPosition};
use super::shared_state::SharedState;
use super::writer::{Change, ChangedPage};
use super::{Draft, StoreError, tables as t};
use brain_page as page;

/// The largest file of an attachment that a batch contains, in bytes. Larger files stay on the
/// machine where they were attached.
pub const MAX_SHARED_ATTACHMENT: u64 = 4 << 20;

/// Ids of jobs from this one on belong to jobs that were accepted while the log was away.
pub(super) const FIRST_SPOOLED_ID: u64 = 1 << 61;

/// Whether the job with this id was accepted while the log of a shared brain was away.
#[must_use]
pub fn waited_for_log(id: u64) -> bool {
    id >= FIRST_SPOOLED_ID
}

/// A part of a batch that is a file of an attachment instead of rows.
const FILE_PART: u8 = 255;

/// The most changes of a batch that searches find at once. A batch with more is indexed in the
/// background, like an import.
const MAX_DIRECT_CHANGES: usize = 256;

/// A shared store's place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replica {
    /// The last batch that the store contains.
    pub(super) position: LogPosition,
    /// The id of this machine.
    pub(super) machine: u128,
    /// The number of the first spooled job that the store does not have.
    pub(super) next_spooled: u64,
    /// The id of the store, which no other machine and no later store of this machine has.
    pub(super) store_id: u64,
}

impl Replica {
    /// Returns the id of the spooled job with this number. It is known before the log answers, so
    /// it must differ from the ids of all other jobs: it has a part of the store's random id.
    pub(super) fn spooled_id(&self, number: u64) -> u64 {
        FIRST_SPOOLED_ID | (self.store_id & ((1 << 21) - 1)) << 40 | number & ((1 << 40) - 1)
    }

    /// Reads the place; `None` if the store is not shared.
    pub(super) fn read(
        meta: &impl ReadableTable<&'static str, u64>,
    ) -> Result<Option<Self>, StoreError> {
        let number = |key: &str| -> Result<Option<u64>, StoreError> {
            Ok(meta.get(key)?.map(|guard| guard.value()))
        };
        let id = |keys: [&str; 2]| -> Result<u128, StoreError> {
            let [high, low] = keys;
            Ok(from_halves((number(high)?.unwrap_or_default(), number(low)?.unwrap_or_default())))
        };
        let Some(log_number) = number(t::META_LOG_NUMBER)? else { return Ok(None) };
        Ok(Some(Self {
            position: LogPosition { number: log_number, id: id(t::META_LOG_ID)? },
            machine: id(t::META_MACHINE)?,
            next_spooled: number(t::META_NEXT_SPOOLED)?.unwrap_or(1),
            store_id: number(t::META_STORE_ID)?.unwrap_or_default(),
        }))
    }

    /// The keys of [`Replica::numbers`]. A store that leaves the brain keeps the last two, which
    /// are the machine's id: it still has only the directories of this machine.
    pub(super) const KEYS: [&str; 6] = [
        t::META_LOG_NUMBER,
        t::META_LOG_ID[0],
        t::META_LOG_ID[1],
        t::META_NEXT_SPOOLED,
        t::META_MACHINE[0],
        t::META_MACHINE[1],
    ];

    /// Returns the place as rows of the store's metadata.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let (log, machine) = (halves(self.position.id), halves(self.machine));
        let numbers = [self.position.number, log.0, log.1, self.next_spooled, machine.0, machine.1];
        Self::KEYS.into_iter().zip(numbers)
    }

    /// Writes the place to the store's metadata.
    pub(super) fn write(&self, txn: &WriteTransaction) -> Result<(), StoreError> {
        let mut meta = txn.open_table(t::META)?;
        for (key, number) in self.numbers() {
            meta.insert(key, number)?;
        }
        Ok(())
    }
}

/// Reads an id that is stored as two numbers.
pub(super) fn read_id(
    meta: &impl ReadableTable<&'static str, u64>,
    [high, low]: [&str; 2],
) -> Result<Option<u128>, StoreError> {
    let number = |key: &str| Ok::<_, StoreError>(meta.get(key)?.map(|guard| guard.value()));
    Ok(number(high)?.zip(number(low)?).map(from_halves))
}

/// Splits an id into two numbers.
pub(super) fn halves(id: u128) -> (u64, u64) {
    ((id >> 64) as u64, id as u64)
}

/// Joins what [`halves`] split.
pub(super) fn from_halves((high, low): (u64, u64)) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// The changed rows of a transaction, by table.
#[derive(Debug, Default)]
pub(super) struct RowChanges {
    parts: Vec<u8>,
    /// Hashes of files that rows of the transaction name.
    attached: Vec<Hash>,
}

impl RowChanges {
    /// Adds the recorded changes of a table.
    pub(super) fn add(&mut self, table: u8, changes: &[u8]) {
        if changes.is_empty() {
            return;
        }
        self.parts.push(table);
        add_part(&mut self.parts, changes);
        if table == ATTACHMENT_FILES_NUMBER {
            let rows = row_changes(changes).unwrap_or_default();
            let inserted = rows.iter().filter(|row| row.value.is_some());
            self.attached.extend(
                inserted.map(|row| *<(&[u8; 32], u64, &str) as Value>::from_bytes(row.key).0),
            );
        }
    }

    /// Whether no row changed.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the bytes of the batch, with the small files that its rows name. It begins with the
    /// store's id and [`Replica::next_spooled`] after the batch, so that a store that finds its own
    /// batch in the log knows which spooled jobs that has.
    pub(super) fn into_batch(self, shared: &SharedState, replica: &Replica) -> Vec<u8> {
        let mut bytes = replica.store_id.to_le_bytes().to_vec();
        bytes.extend(replica.next_spooled.to_le_bytes());
        bytes.extend(self.parts);
        let mut hashes = self.attached;
        hashes.sort_unstable();
        hashes.dedup();
        for hash in hashes {
            // A missing or damaged file is reported where it is read.
            if shared
                .attachments
                .length(&hash)
                .is_some_and(|length| length <= MAX_SHARED_ATTACHMENT)
                && let Ok(content) = shared.attachments.read(&hash)
            {
                bytes.push(FILE_PART);
                add_part(&mut bytes, &content);
            }
        }
        bytes
    }
}

/// The number of [`t::ATTACHMENT_FILES`] in [`t::every_shared_table`].
const ATTACHMENT_FILES_NUMBER: u8 = 24;

/// What batches changed in the store that applied them.
#[derive(Default)]
pub(super) struct BatchEffects {
    /// Changes of pages, in order.
    pub(super) changes: Vec<Change>,
    /// Whether sources changed.
    pub(super) sources_changed: bool,
    /// Whether clients or tokens changed.
    pub(super) access_changed: bool,
    /// The ids of outbox rows that were added.
    pub(super) files: Vec<u64>,
    /// See [`Replica::next_spooled`].
    pub(super) next_spooled: u64,
}

/// Applies batches to a transaction. Batches that the store contains are skipped.
///
/// # Errors
/// [`StoreError::Damaged`] when a batch is not the next one, or its bytes are invalid; errors of
/// the disk.
pub(super) fn apply_batches(
    shared: &SharedState,
    txn: &WriteTransaction,
    batches: &[LogBatch],
) -> Result<BatchEffects, StoreError> {
    let mut effects = BatchEffects::default();
    let Some(mut replica) = Replica::read(&txn.open_table(t::META)?)? else {
        return Err(StoreError::Defect);
    };
    for batch in batches {
        if batch.position.number <= replica.position.number {
            continue;
        }
        if batch.position.number != replica.position.number + 1 {
            return Err(damaged_change("a gap before it"));
        }
        let (store_id, next_spooled) = apply_batch(shared, txn, &batch.changes, &mut effects)?;
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
/// [`Replica::next_spooled`].
fn apply_batch(
    shared: &SharedState,
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
        let draft = Draft::open(txn, &pending)?;
        let pages = touched.values().map(|id| Ok((*id, FormerPage::read(&draft, *id)?)));
        pages.collect::<Result<BTreeMap<_, _>, StoreError>>()?
    };
    for (table, part) in &parts {
        match *table {
            FILE_PART => {
                let root = shared.attachments.root().display().to_string();
                let written = shared.attachments.write(part);
                written.map_err(|e| StoreError::from_io(&e, &root))?;
            }
            table => apply_part(txn, table, &row_changes(part)?, effects)?,
        }
    }
    let mut draft = Draft::open(txn, &pending)?;
    for source in removed_sources(&parts)? {
        draft.forget_files_of(&source)?;
    }
    for (&seq, &id) in &touched {
        // A later change of the batch can have replaced this one.
        if draft.changes.get(seq)?.is_none_or(|found| found.value() != id) {
            continue;
        }
        let now = CurrentPage::read(&draft, id)?;
        draft.seq = seq;
        let former = former.get(&id).and_then(Option::as_ref);
        follow_file(&mut draft, id, former, now.as_ref())?;
        for row in [id, moved_file_id(seq)] {
            effects.files.extend(draft.outbox_row(row)?.map(|_| row));
        }
        let page = match now.filter(|now| now.record.deleted_at.is_none()) {
            Some(CurrentPage { source, slug, record }) => {
                let content = draft.content(&record)?;
                let is_from_file = false;
                Some(ChangedPage { source, slug, record, content, is_from_file }.into())
            }
            None => None,
        };
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
struct FormerPage {
    source: SourceId,
    record: PageRecord,
    /// The digest of the file that brain wrote.
    digest: Option<Hash>,
}

impl FormerPage {
    fn read(draft: &Draft<'_>, id: u64) -> Result<Option<Self>, StoreError> {
        let Some(CurrentPage { source, record, .. }) = CurrentPage::read(draft, id)? else {
            return Ok(None);
        };
        let digest = match draft.has_files_of(source.as_str())? {
            true => draft.own_digest(&record)?,
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
    fn read(draft: &Draft<'_>, id: u64) -> Result<Option<Self>, StoreError> {
        let Some(guard) = draft.ids.get(id)? else { return Ok(None) };
        let damaged = |error: String| StoreError::damaged(format!("key of page {id}: {error}"));
        let (source, slug) = guard.value();
        let source = SourceId::parse(source).map_err(|e| damaged(e.to_string()))?;
        let slug = Slug::parse(slug).map_err(|e| damaged(e.to_string()))?;
        Ok(draft.page(&source, &slug)?.map(|record| Self { source, slug, record }))
    }
}

/// Returns the id of the outbox row for the former file of a page that the change `seq` moved.
fn moved_file_id(seq: u64) -> u64 {
    seq | 1 << 63
}

/// Adds the outbox rows that bring the page's file to its state after a batch.
fn follow_file(
    draft: &mut Draft<'_>,
    id: u64,
    former: Option<&FormerPage>,
    now: Option<&CurrentPage>,
) -> Result<(), StoreError> {
    let source = match (former, now) {
        (_, Some(now)) => &now.source,
        (Some(former), None) => &former.source,
        (None, None) => return Ok(()),
    };
    let is_registered = draft.source(source)?.is_some();
    if !is_registered || !draft.has_files_of(source.as_str())? {
        return Ok(());
    }
    let mut ours: Vec<Hash> = former.and_then(|former| former.digest).into_iter().collect();
    if let Some(former) = former {
        ours.extend(draft.imported_digest(source, &former.record.source_path)?);
    }
    let Some(now) = now else {
        return match former {
            Some(former) => {
                if former.record.deleted_at.is_none() {
                    let path = &former.record.source_path;
                    draft.add_outbox_row(id, source.as_str(), path, FileState::Trashed, ours)?;
                }
                draft.purge_file(id, source.as_str(), &former.record, former.digest)
            }
            None => Ok(()),
        };
    };
    let record = &now.record;
    if let Some(former) = former.filter(|former| former.record.source_path != record.source_path) {
        // The outbox row of the former path gets an id that belongs to no page on any machine.
        draft.next_id = moved_file_id(draft.seq);
        let synced = draft.file(source, &former.record.source_path)?;
        let is_changed = former.record.content_hash != record.content_hash;
        draft.move_file_rows(source, &former.record, record, synced, is_changed, &ours)?;
    }
    match record.deleted_at {
        None => {
            // The machine that read this text from its file, and was killed, finds it there.
            let content = unless_damaged(draft.content(record))?;
            ours.extend(content.map(|text| page::file_hash(&text.frontmatter, &text.body)));
            let path = &record.source_path;
            draft.add_outbox_row(id, source.as_str(), path, FileState::Present, ours)
        }
        Some(_) if former.is_some_and(|former| former.record.deleted_at.is_none()) => {
            draft.move_to_trash(source, record, ours)
        }
        Some(_) => Ok(()),
    }
}
