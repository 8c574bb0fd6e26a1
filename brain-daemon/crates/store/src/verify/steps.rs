//! Verifies the steps of pages.

use redb::ReadableTable;

use super::Verifier;
use crate::record::{StepRecord, UndoneRecord, from_bytes};
use crate::{StoreError, tables as t};

impl Verifier<'_> {
    /// Checks that every step can be read, that the one before it is older, and that every undo can
    /// be read.
    pub(super) fn steps(
        &self,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.required_table(t::STEPS)?.iter()? {
            step()?;
            let (number, value) = row?;
            let found: StepRecord = from_bytes(value.value())?;
            if found.previous >= number.value() {
                let problem = format!("step {} names a later one", number.value());
                return Err(StoreError::damaged(problem));
            }
        }
        for row in self.required_table(t::UNDONE)?.iter()? {
            step()?;
            let _: UndoneRecord = from_bytes(row?.1.value())?;
        }
        Ok(())
    }
}
