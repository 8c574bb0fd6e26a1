//! The numbers of a store's table `meta`, the schema number among them.

use std::path::Path;

use redb::ReadTransaction;

use super::{StoreError, tables as t};

/// The schema that this program reads and writes.
pub const SCHEMA: u64 = 91;

/// The oldest schema that can be migrated.
pub const FIRST_SCHEMA: u64 = 80;

/// Returns a number of the `meta` table.
pub(super) fn number(txn: &ReadTransaction, key: &str) -> Result<Option<u64>, StoreError> {
    match txn.open_table(t::META) {
        Ok(table) => Ok(table.get(key)?.map(|guard| guard.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Returns the schema of the store at `path`, or refuses one that this program cannot use.
pub(super) fn check_schema(txn: &ReadTransaction, path: &Path) -> Result<u64, StoreError> {
    let name = path.display().to_string();
    let Some(found) = number(txn, t::META_SCHEMA)? else {
        return Err(StoreError::Damaged(format!(
            "{name} has no schema number: it is not a brain store"
        )));
    };
    if found > SCHEMA {
        return Err(StoreError::Newer { path: name, found, known: SCHEMA });
    }
    if found < FIRST_SCHEMA {
        return Err(StoreError::Damaged(format!(
            "{name} has schema {found}, which no version of brain wrote"
        )));
    }
    Ok(found)
}
