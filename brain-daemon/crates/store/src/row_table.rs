//! A table that records its changes for the log of a shared brain.

use std::borrow::Borrow;
use std::ops::{Deref, RangeBounds};

use redb::{
    AccessGuard, Key, ReadableTable, StorageError, Table, TableDefinition, Value, WriteTransaction,
};

use super::StoreError;

/// Marks a row that was removed, in recorded changes.
const REMOVED: u8 = 0;
/// Marks a row that was inserted, in recorded changes.
const INSERTED: u8 = 1;

/// A table of a write transaction. Reads go to the table; changes are recorded, too, if the store
/// is shared and all machines have the table.
pub(super) struct RowTable<'t, K: Key + 'static, V: Value + 'static> {
    table: Table<'t, K, V>,
    /// Changes so far; `None` if they are not recorded.
    changes: Option<Vec<u8>>,
}

impl<'t, K: Key + 'static, V: Value + 'static> RowTable<'t, K, V> {
    pub(super) fn new(table: Table<'t, K, V>, is_recorded: bool) -> Self {
        Self { table, changes: is_recorded.then(Vec::new) }
    }

    /// Opens the table; creates it in a new store.
    pub(super) fn open(
        txn: &'t WriteTransaction,
        definition: TableDefinition<'_, K, V>,
        is_recorded: bool,
    ) -> Result<Self, StoreError> {
        Ok(Self::new(txn.open_table(definition)?, is_recorded))
    }

    /// Starts or stops recording.
    pub(super) fn record(&mut self, is_recorded: bool) {
        self.changes = is_recorded.then(Vec::new);
    }

    /// As [`Table::insert`], for a row that only this machine has.
    pub(super) fn insert_unrecorded<'k, 'v>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
        value: impl Borrow<V::SelfType<'v>>,
    ) -> Result<(), StorageError> {
        self.table.insert(key, value).map(|_| ())
    }

    /// As [`Table::remove`], for a row that only this machine has.
    pub(super) fn remove_unrecorded<'k>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
    ) -> Result<(), StorageError> {
        self.table.remove(key).map(|_| ())
    }

    /// As [`Table::insert`].
    pub(super) fn insert<'k, 'v>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
        value: impl Borrow<V::SelfType<'v>>,
    ) -> Result<Option<AccessGuard<'_, V>>, StorageError> {
        if let Some(changes) = &mut self.changes {
            changes.push(INSERTED);
            add_part(changes, K::as_bytes(key.borrow()).as_ref());
            add_part(changes, V::as_bytes(value.borrow()).as_ref());
        }
        self.table.insert(key, value)
    }

    /// As [`Table::remove`].
    pub(super) fn remove<'k>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
    ) -> Result<Option<AccessGuard<'_, V>>, StorageError> {
        let recorded = self.changes.is_some().then(|| {
            let mut change = vec![REMOVED];
            add_part(&mut change, K::as_bytes(key.borrow()).as_ref());
            change
        });
        let removed = self.table.remove(key)?;
        if let (Some(changes), Some(change), Some(_)) = (&mut self.changes, recorded, &removed) {
            changes.extend(change);
        }
        Ok(removed)
    }

    pub(super) fn remove_range<'k>(
        &mut self,
        range: impl RangeBounds<K::SelfType<'k>> + Clone + 'k,
    ) -> Result<(), StorageError> {
        if let Some(changes) = &mut self.changes {
            for row in self.table.range::<K::SelfType<'k>>(range.clone())? {
                changes.push(REMOVED);
                add_part(changes, K::as_bytes(&row?.0.value()).as_ref());
            }
        }
        self.table.retain_in::<K::SelfType<'k>, _>(range, |_, _| false)
    }

    /// Returns the recorded changes.
    pub(super) fn into_changes(self) -> Vec<u8> {
        self.changes.unwrap_or_default()
    }
}

impl<'t, K: Key + 'static, V: Value + 'static> Deref for RowTable<'t, K, V> {
    type Target = Table<'t, K, V>;

    fn deref(&self) -> &Self::Target {
        &self.table
    }
}

/// A recorded change of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowChange<'b> {
    pub(super) key: &'b [u8],
    /// `None` if the row was removed.
    pub(super) value: Option<&'b [u8]>,
}

/// Splits recorded changes of one table.
///
/// # Errors
/// [`StoreError::Damaged`] when the bytes are not such changes.
pub(super) fn row_changes(mut bytes: &[u8]) -> Result<Vec<RowChange<'_>>, StoreError> {
    let mut found = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        bytes = rest;
        let key = take_part(&mut bytes)?;
        let value = match *kind {
            REMOVED => None,
            INSERTED => Some(take_part(&mut bytes)?),
            other => return Err(damaged_change(&format!("kind {other}"))),
        };
        found.push(RowChange { key, value });
    }
    Ok(found)
}

/// Makes the recorded changes in a table.
///
/// # Errors
/// [`StoreError::Damaged`] for a key or value whose length does not fit the table; errors of the
/// disk.
pub(super) fn apply_changes<K: Key + 'static, V: Value + 'static>(
    table: &mut Table<'_, K, V>,
    changes: &[RowChange<'_>],
) -> Result<(), StoreError> {
    let check_width = |width: Option<usize>, bytes: &[u8]| match width {
        Some(width) if width != bytes.len() => Err(damaged_change("a row of a wrong length")),
        _ => Ok(()),
    };
    for change in changes {
        check_width(K::fixed_width(), change.key)?;
        let key = K::from_bytes(change.key);
        match change.value {
            Some(value) => {
                check_width(V::fixed_width(), value)?;
                table.insert(key, V::from_bytes(value))?;
            }
            None => _ = table.remove(key)?,
        }
    }
    Ok(())
}

/// Appends a length and bytes.
pub(super) fn add_part(to: &mut Vec<u8>, part: &[u8]) {
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(part);
}

/// Takes what [`add_part`] appended.
///
/// # Errors
/// [`StoreError::Damaged`] when the bytes end before.
pub(super) fn take_part<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], StoreError> {
    let too_short = || damaged_change("an incomplete row");
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(too_short)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| too_short())?;
    let (part, rest) = rest.split_at_checked(length).ok_or_else(too_short)?;
    *bytes = rest;
    Ok(part)
}

pub(super) fn damaged_change(what: &str) -> StoreError {
    StoreError::Damaged(format!("a change of the shared log has {what}"))
}
