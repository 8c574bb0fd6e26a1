//! Audit of network calls. A row holds an audit page: up to a thousand calls.

use std::borrow::Cow;

use redb::ReadableTable;

use super::record::{AuditPage, AuditRecord, read, to_bytes};
use super::{Reader, StoreError, Transaction, tables as t};

/// Maximum calls in an audit page.
const MAX_PAGE_CALLS: usize = 1000;
/// Maximum audit pages removed in one transaction, so that other writers do not wait.
const MAX_REMOVED_PAGES: usize = 200;

impl AuditRecord {
    /// Client name of calls from unknown callers.
    pub const UNKNOWN: &str = "-";
}

impl Transaction<'_> {
    /// Stores calls, which are in the order in which they ended. `now` is in Unix milliseconds.
    pub fn add_calls(&mut self, now: i64, calls: &[AuditRecord]) -> Result<(), StoreError> {
        let last = self.audit.range((now, 0)..=(now, u64::MAX))?.next_back();
        let first = last.transpose()?.map_or(0, |(key, _)| key.value().1 + 1);
        for (number, calls) in (first..).zip(calls.chunks(MAX_PAGE_CALLS)) {
            self.write_count += 1;
            let page = AuditPage { calls: Cow::Borrowed(calls) };
            self.audit.insert((now, number), to_bytes(&page)?.as_slice())?;
        }
        Ok(())
    }

    /// Removes up to 200 audit pages that were stored before `before` (Unix milliseconds). Returns
    /// whether there may be more.
    pub fn forget_calls(&mut self, before: i64) -> Result<bool, StoreError> {
        self.task.frees_space = true;
        let old: Vec<(i64, u64)> = self
            .audit
            .range(..(before, 0))?
            .take(MAX_REMOVED_PAGES)
            .map(|row| Ok(row?.0.value()))
            .collect::<Result<_, StoreError>>()?;
        for key in &old {
            self.write_count += 1;
            self.audit.remove(key)?;
        }
        Ok(old.len() == MAX_REMOVED_PAGES)
    }
}

impl Reader {
    /// Calls `each` with the calls that were stored at or after `since` (Unix milliseconds), last
    /// first. Stops when `each` returns `false`.
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
