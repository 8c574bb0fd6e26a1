//! Pages as they were at an earlier time: read from steps and versions, and put into another store
//! that has this state alone.
//!
//! The other store has no versions and no steps. It gives the operations that read pages the tables
//! that they need, so that none of them has a second form for the past.

use brain_protocol::{Slug, SourceId};
use redb::ReadableTable;

use super::attachments::NamedAttachment;
use super::read::{PageEntry, parse_key};
use super::record::{Content, DerivedRows, PageRecord, StepKind, StepRecord, from_bytes, to_bytes};
use super::{Reader, StoreError, Transaction, tables as t};

/// A page as it was at a time.
#[derive(Debug, Clone)]
pub struct PastPage {
    /// Its source.
    pub source: SourceId,
    /// Its slug at that time.
    pub slug: Slug,
    /// Its record. The sequence number is that of the step, so that it orders the changes.
    pub record: PageRecord,
    /// Its text.
    pub content: Content,
    /// What is derived from the text.
    pub derived: DerivedRows,
    /// Its attached files.
    pub attachments: Vec<NamedAttachment>,
}

impl Reader {
    /// Calls `each` with all pages that the caller can see, deleted ones included, by source and
    /// slug. Stops at an error. Leaves out damaged pages as other lists do.
    pub fn each_page(
        &self,
        mut each: impl FnMut(PageEntry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.table(t::PAGES)?.iter()? {
            let (key, value) = row?;
            let (source, slug) = key.value();
            if !self.view.shows(source) {
                continue;
            }
            let (source, slug) = parse_key(source, slug)?;
            if let Some(record) = self.unless_left_out(from_bytes(value.value()))? {
                each((source, slug, record))?;
            }
        }
        Ok(())
    }

    /// Returns when the page was deleted, Unix milliseconds, if it was deleted after this step.
    pub fn deleted_at_step(&self, step: &StepRecord) -> Result<Option<i64>, StoreError> {
        let mut step = step.clone();
        loop {
            match step.kind {
                StepKind::Deleted | StepKind::Purged => return Ok(Some(step.at)),
                StepKind::Created | StepKind::Written | StepKind::Restored => return Ok(None),
                StepKind::Moved | StepKind::TextKept | StepKind::FileReplaced => {}
            }
            match self.step(step.previous)? {
                // A step names an older one; anything else is damage, and must not loop.
                Some(former) if former.previous < step.previous => step = former,
                _ => return Ok(None),
            }
        }
    }

    /// Returns the ids of pages that have or had this slug in one of the sources, the last one to
    /// get it first. Reads all steps.
    pub fn holders(&self, sources: &[SourceId], slug: &Slug) -> Result<Vec<u64>, StoreError> {
        let mut found = Vec::new();
        self.each_step_back(u64::MAX, |_, step| {
            if step.slug == slug.as_str()
                && !found.contains(&step.page)
                && sources.iter().any(|source| source.as_str() == step.source)
            {
                found.push(step.page);
            }
            Ok(true)
        })?;
        Ok(found)
    }
}

impl Transaction<'_> {
    /// Adds a page to a store of a past state. Returns whether its name was free: the page that
    /// changed last has it.
    pub fn add_past_page(&mut self, page: &PastPage) -> Result<bool, StoreError> {
        let PastPage { source, slug, record, content, derived, attachments } = page;
        let key = (source.as_str(), slug.as_str());
        if self.pages.get(key)?.is_some() {
            return Ok(false);
        }
        self.write_count += 1;
        let id = record.id;
        self.ids.insert(id, key)?;
        self.pages.insert(key, to_bytes(record)?.as_slice())?;
        self.paths.insert((source.as_str(), record.source_path.as_str()), id)?;
        self.contents.insert(id, to_bytes(content)?.as_slice())?;
        self.derived.insert(id, to_bytes(derived)?.as_slice())?;
        self.changes.insert(record.seq, id)?;
        // Consumers of changes need numbers that grow in the order in which pages are added.
        self.counters.seq += 1;
        self.counters.next_id = self.counters.next_id.max(id + 1);
        for (name, file) in attachments {
            self.attachments.insert((id, name.as_str()), to_bytes(file)?.as_slice())?;
            self.attachment_files.insert((&file.hash, id, name.as_str()), ())?;
        }
        match record.deleted_at {
            Some(at) => _ = self.deleted.insert((at, id), ())?,
            None => {
                self.counters.active += 1;
                self.insert_derived(source, record, derived);
                self.add_page_change(source, slug, record, content, false);
            }
        }
        Ok(true)
    }
}
