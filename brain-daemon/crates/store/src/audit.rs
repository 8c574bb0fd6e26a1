//! The audit: which calls came over the network. Written in pages, each under the time at which it was written, so that a
//! thousand calls cost one row.

use std::borrow::Cow;

use redb::ReadableTable;

use super::draft::read;
use super::record::{AuditPage, AuditRecord, to_bytes};
use super::{Draft, Reader, StoreError, tables as t};

/// The most calls in one page.
const PAGE: usize = 1000;
/// The most pages that one transaction forgets: keeps other writers from waiting.
const FORGET: usize = 200;

impl AuditRecord {
    /// The client of calls whose callers are not known.
    pub const UNKNOWN: &str = "-";
}

impl Draft<'_> {
    /// Writes calls down, in the order of their end. `now` is in Unix milliseconds.
    ///
    /// # Errors
    /// When the store fails.
    pub fn add_calls(&mut self, now: i64, calls: &[AuditRecord]) -> Result<(), StoreError> {
        let last = self.audit.range((now, 0)..=(now, u64::MAX))?.next_back();
        let first = last.transpose()?.map_or(0, |(key, _)| key.value().1 + 1);
        for (number, calls) in (first..).zip(calls.chunks(PAGE)) {
            self.dirty += 1;
            let page = AuditPage { calls: Cow::Borrowed(calls) };
            self.audit.insert((now, number), to_bytes(&page)?.as_slice())?;
        }
        Ok(())
    }

    /// Forgets some pages that were written before `before`, Unix milliseconds. `true` when there may be more.
    ///
    /// # Errors
    /// When the store fails.
    pub fn forget_calls(&mut self, before: i64) -> Result<bool, StoreError> {
        self.frees_room = true;
        let old: Vec<(i64, u64)> = self
            .audit
            .range(..(before, 0))?
            .take(FORGET)
            .map(|row| Ok(row?.0.value()))
            .collect::<Result<_, StoreError>>()?;
        for key in &old {
            self.dirty += 1;
            self.audit.remove(key)?;
        }
        Ok(old.len() == FORGET)
    }
}

impl Reader {
    /// Walks the calls that ended at or after `since`, Unix milliseconds, the last one first, while `each` says so.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn calls_since(
        &self,
        since: i64,
        mut each: impl FnMut(AuditRecord) -> bool,
    ) -> Result<(), StoreError> {
        for row in self.table(t::AUDIT)?.range((since, 0)..)?.rev() {
            let Some(page) = read::<AuditPage<'_>>(Some(row?.1.value()))? else { continue };
            for call in page.calls.into_owned().into_iter().rev() {
                if !each(call) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
