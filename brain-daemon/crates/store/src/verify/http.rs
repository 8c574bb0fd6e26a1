//! Verifies the rows that HTTP requests write: ingest jobs, clients, tokens, audited calls and the
//! two ledgers.

use brain_protocol::{JobId, JobState};
use redb::{ReadableTable, ReadableTableMetadata};

use super::super::jobs::rows_of;
use super::super::ledger_records::{LeftRecord, SeenRecord};
use super::super::record::{AuditPage, ClientRecord, JobKind, JobRecord, TokenRecord, from_bytes};
use super::super::replica::FIRST_SPOOLED_ID;
use super::super::{StoreError, meta, tables as t};
use super::Verifier;
use super::pages::check_count;
use brain_page as page;

impl Verifier<'_> {
    /// Verifies the rows of all these tables.
    pub(super) fn http(
        &self,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.jobs(step)?;
        for row in self.required_table(t::CLIENTS)?.iter()? {
            step()?;
            from_bytes::<ClientRecord>(row?.1.value())?;
        }
        for row in self.required_table(t::TOKENS)?.iter()? {
            step()?;
            from_bytes::<TokenRecord>(row?.1.value())?;
        }
        for row in self.required_table(t::AUDIT)?.iter()? {
            step()?;
            from_bytes::<AuditPage<'_>>(row?.1.value())?;
        }
        if let Some(seen) = self.table(t::SEEN)? {
            for row in seen.iter()? {
                step()?;
                from_bytes::<SeenRecord>(row?.1.value())?;
            }
        }
        if let Some(left) = self.table(t::LEFT)? {
            for row in left.iter()? {
                step()?;
                from_bytes::<LeftRecord>(row?.1.value())?;
            }
        }
        Ok(())
    }

    /// Checks every ingest job, and that the tables agree on it.
    fn jobs(&self, step: &mut dyn FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
        let (jobs, due) = (self.required_table(t::JOBS)?, self.required_table(t::JOBS_DUE)?);
        let expiring = self.required_table(t::FINISHED_JOBS_BY_EXPIRY)?;
        let (mut waiting, mut finished, mut failed, mut newest) = (0, 0, 0, 0);
        for row in jobs.iter()? {
            step()?;
            let (key, value) = row?;
            let id = key.value();
            let wrong = |what: &str| StoreError::damaged(format!("{}: {what}", JobId(id)));
            let record: JobRecord = from_bytes(value.value())?;
            match rows_of(&record) {
                (Some(at), _) if due.get((at, id))?.is_none() => {
                    return Err(wrong("it waits, but has no due time"));
                }
                (_, Some(at)) if expiring.get((at, id))?.is_none() => {
                    return Err(wrong("it is finished, but has no expiry time"));
                }
                (Some(_), _) => {
                    waiting += 1;
                    // The content hash of a document is that of its file.
                    if record.kind() == JobKind::Text
                        && page::content_digest(&record.content.body) != record.content_hash
                    {
                        return Err(wrong("its text does not match its content hash"));
                    }
                }
                _ => finished += 1,
            }
            failed += u64::from(record.state == JobState::Failed);
            newest = id;
        }
        self.duplicate_keys(step)?;
        let number =
            |key: &str| Ok::<_, StoreError>(meta::number(self.txn, key)?.unwrap_or_default());
        for (what, found, expected) in [
            ("jobs with a due time", due.len()?, waiting),
            ("jobs with an expiry time", expiring.len()?, finished),
            ("counted waiting jobs", number(t::META_WAITING)?, waiting),
            ("counted failed jobs", number(t::META_FAILED)?, failed),
        ] {
            check_count(what, found, expected)?;
        }
        if newest > 0 && newest < FIRST_SPOOLED_ID && number(t::META_NEXT_JOB)? <= newest {
            return Err(StoreError::damaged(format!(
                "the number of {} would be used again",
                JobId(newest)
            )));
        }
        Ok(())
    }

    /// Checks that each duplicate key belongs to the job that it refers to.
    fn duplicate_keys(
        &self,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let jobs = self.required_table(t::JOBS)?;
        for row in self.required_table(t::JOBS_SEEN)?.iter()? {
            step()?;
            let (key, id) = row?;
            let id = id.value();
            let record =
                jobs.get(id)?.map(|value| from_bytes::<JobRecord>(value.value())).transpose()?;
            if !record.is_some_and(|record| record.duplicate_keys.contains(key.value())) {
                return Err(StoreError::damaged(format!(
                    "{} does not have the duplicate key that refers to it",
                    JobId(id)
                )));
            }
        }
        Ok(())
    }
}
