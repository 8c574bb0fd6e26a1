//! Verifies the rows of the review.

use redb::{Key, ReadableTable, TableDefinition};

use super::Verifier;
use crate::record::{CitationRecord, RecallRecord, SettledRecord, StoredValue, from_bytes};
use crate::{StoreError, tables as t};

impl Verifier<'_> {
    /// Checks that every citation, question and settled contradiction can be read.
    pub(super) fn review(
        &self,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.readable::<CitationRecord, _>(t::CITATIONS, step)?;
        self.readable::<RecallRecord, _>(t::RECALL, step)?;
        self.readable::<SettledRecord, _>(t::SETTLED, step)
    }

    fn readable<T: StoredValue, K: Key + 'static>(
        &self,
        table: TableDefinition<'static, K, &'static [u8]>,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.required_table(table)?.iter()? {
            step()?;
            from_bytes::<T>(row?.1.value())?;
        }
        Ok(())
    }
}
