//! Verifies the rows of attachments, and in a backup their files.

use std::collections::BTreeSet;

use redb::{ReadableTable, ReadableTableMetadata};

use brain_protocol::MAX_ATTACHMENT;

use super::super::jobs::files_of_jobs;
use super::super::packed_attachments::for_each_packed;
use super::super::record::{AttachmentRecord, Hash, from_bytes};
use super::super::{StoreError, tables as t};
use super::{Verifier, VerifyReport};
use brain_page::attachment_name;

impl Verifier<'_> {
    /// Checks that the tables agree, that names are bare file names, and that files match their
    /// hashes.
    pub(super) fn attachments(
        &self,
        report: &mut VerifyReport,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut named = self.named_files(step)?;
        named.append(&mut files_of_jobs(&self.required_table(t::JOBS)?)?);
        let parts = self.required_table(t::ATTACHMENT_PARTS)?;
        let mut present = 0;
        for_each_packed(&parts, |hash, _| {
            step()?;
            present += 1;
            match named.contains(hash) {
                true => Ok(()),
                false => Err(StoreError::damaged(format!(
                    "attachment {}: it belongs to no page and no job",
                    brain_page::hex(hash)
                ))),
            }
        })?;
        report.attachments = present;
        // The files of a store that is no backup are beside it.
        if report.made_at.is_some() {
            report.missing_attachments = named.len() as u64 - present;
        }
        Ok(())
    }

    /// Checks the rows of [`t::ATTACHMENTS`] and [`t::ATTACHMENT_FILES`], and returns the hashes of
    /// the files.
    fn named_files(
        &self,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<BTreeSet<Hash>, StoreError> {
        let (ids, files) =
            (self.required_table(t::IDS)?, self.required_table(t::ATTACHMENT_FILES)?);
        let attachments = self.required_table(t::ATTACHMENTS)?;
        let mut named = BTreeSet::new();
        for row in attachments.iter()? {
            step()?;
            let (key, value) = row?;
            let (id, name) = key.value();
            let wrong = |what: &str| {
                StoreError::damaged(format!("attachment {name:?} of page {id}: {what}"))
            };
            let record: AttachmentRecord = from_bytes(value.value())?;
            if attachment_name(name).as_deref() != Ok(name) {
                return Err(wrong("its name is not that of a file"));
            }
            if ids.get(id)?.is_none() {
                return Err(wrong("there is no such page"));
            }
            if record.bytes > MAX_ATTACHMENT as u64 {
                return Err(wrong("it is too large"));
            }
            if files.get((&record.hash, id, name))?.is_none() {
                return Err(wrong("the list of files lacks it"));
            }
            named.insert(record.hash);
        }
        if files.len()? != attachments.len()? {
            return Err(StoreError::damaged("the list of files has rows of no attachment"));
        }
        Ok(named)
    }
}
