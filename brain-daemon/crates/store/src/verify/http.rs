//! Verifies the rows of HTTP: ingest jobs, clients, tokens and the audit.

use brain_protocol::{JobId, JobState};
use redb::{ReadableTable, ReadableTableMetadata};

use super::super::jobs::rows_of;
use super::super::record::{AuditPage, ClientRecord, JobRecord, TokenRecord, from_bytes};
use super::super::{StoreError, migrate, tables as t};
use super::Verifier;
use brain_page as page;

impl Verifier<'_> {
    /// Verifies all of them.
    pub(super) fn http(
        &self,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.jobs(step)?;
        for row in self.must(t::CLIENTS)?.iter()? {
            step()?;
            from_bytes::<ClientRecord>(row?.1.value())?;
        }
        for row in self.must(t::TOKENS)?.iter()? {
            step()?;
            from_bytes::<TokenRecord>(row?.1.value())?;
        }
        for row in self.must(t::AUDIT)?.iter()? {
            step()?;
            from_bytes::<AuditPage<'_>>(row?.1.value())?;
        }
        Ok(())
    }

    /// Checks every ingest job, and that the tables agree on it.
    fn jobs(&self, step: &mut dyn FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
        let (jobs, due) = (self.must(t::JOBS)?, self.must(t::JOBS_DUE)?);
        let (over, seen) = (self.must(t::JOBS_OVER)?, self.must(t::JOBS_SEEN)?);
        let (mut waiting, mut ended, mut failed, mut newest) = (0, 0, 0, 0);
        for row in jobs.iter()? {
            step()?;
            let (key, value) = row?;
            let id = key.value();
            let wrong = |what: &str| StoreError::damaged(format!("{}: {what}", JobId(id)));
            let record: JobRecord = from_bytes(value.value())?;
            match rows_of(&record) {
                (Some(at), _) if due.get((at, id))?.is_none() => {
                    return Err(wrong("it waits, and nobody would know when it is due"));
                }
                (_, Some(at)) if over.get((at, id))?.is_none() => {
                    return Err(wrong("it is over, and would never be forgotten"));
                }
                (Some(_), _) => {
                    waiting += 1;
                    if page::content_digest(&record.content.body) != record.content_hash {
                        return Err(wrong("its text does not match its content hash"));
                    }
                }
                _ => ended += 1,
            }
            failed += u64::from(record.state == JobState::Failed);
            newest = id;
        }
        for row in seen.iter()? {
            step()?;
            let (key, id) = row?;
            let id = id.value();
            let record =
                jobs.get(id)?.map(|value| from_bytes::<JobRecord>(value.value())).transpose()?;
            if !record.is_some_and(|record| record.seen.contains(key.value())) {
                return Err(StoreError::damaged(format!(
                    "{} was not what it was seen as",
                    JobId(id)
                )));
            }
        }
        let number =
            |key: &str| Ok::<_, StoreError>(migrate::meta(self.txn, key)?.unwrap_or_default());
        for (what, found, expected) in [
            ("items that are due", due.len()?, waiting),
            ("items that are over", over.len()?, ended),
            ("waiting items by its count", number(t::META_WAITING)?, waiting),
            ("failed items by its count", number(t::META_FAILED)?, failed),
        ] {
            if found != expected {
                return Err(StoreError::damaged(format!(
                    "it has {found} {what}, and should have {expected}"
                )));
            }
        }
        if newest > 0 && number(t::META_NEXT_JOB)? <= newest {
            return Err(StoreError::damaged(format!(
                "the number of {} would be given again",
                JobId(newest)
            )));
        }
        Ok(())
    }
}
