//! A store of a shared brain: its place in the log, and the batches that it sends.
//!
//! A batch has the changed rows of all tables that machines share.

use redb::{ReadableTable, Value, WriteTransaction};

use super::record::Hash;
use super::row_table::{add_part, row_changes};
use super::shared_log::LogPosition;
use super::{StoreError, tables as t};
use brain_files::AttachmentFiles;

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
pub(super) const FILE_PART: u8 = 255;

/// A shared store's place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplicaPlace {
    /// The last batch that the store contains.
    pub(super) position: LogPosition,
    /// The id of this machine.
    pub(super) machine: u128,
    /// The number of the first spooled job that the store does not have.
    pub(super) next_spooled: u64,
    /// The id of the store, which no other machine and no later store of this machine has.
    pub(super) store_id: u64,
}

impl ReplicaPlace {
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

    /// The keys of [`ReplicaPlace::numbers`]. A store that leaves the brain keeps the last two,
    /// which are the machine's id: it still has only the directories of this machine.
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
    /// store's id and [`ReplicaPlace::next_spooled`] after the batch, so that a store that finds
    /// its own batch in the log knows which spooled jobs that has.
    pub(super) fn into_batch(self, files: &AttachmentFiles, replica: &ReplicaPlace) -> Vec<u8> {
        let mut bytes = replica.store_id.to_le_bytes().to_vec();
        bytes.extend(replica.next_spooled.to_le_bytes());
        bytes.extend(self.parts);
        let mut hashes = self.attached;
        hashes.sort_unstable();
        hashes.dedup();
        for hash in hashes {
            // A missing or damaged file is reported where it is read.
            if files.length(&hash).is_some_and(|length| length <= MAX_SHARED_ATTACHMENT)
                && let Ok(content) = files.read(&hash)
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
