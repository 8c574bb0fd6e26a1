//! Page changes: writes, deletes and restores pages with all their rows.
//!
//! Record, text, former version, derived rows, sequence number and outbox row change together.

use std::collections::BTreeSet;

use brain_protocol::{Slug, SourceId, WriteStatus};
use redb::ReadableTable;

use super::change::ChangedPage;
use super::error::unless_damaged;
use super::line_marks::PageMarks;
use super::record::{
    Content, FileState, Hash, OutboxRow, PageRecord, StepKind, VersionRecord, to_bytes,
};
use super::steps::StepPlace;
use super::tables::EVERY_PAGE;
use super::{FilePlan, NewPage, StoreError, Transaction};
use brain_page as page;

/// Maximum digests of earlier contents in an outbox row, half of them the newest and half the
/// oldest. If a page changes often, its file has one of the newest contents. If its directory was
/// missing for a while, its file has one of the oldest.
const MAX_OWN_DIGESTS: usize = 512;

/// Result of writing a page.
#[derive(Debug, Clone)]
pub struct WrittenPage {
    /// What the write did.
    pub status: WriteStatus,
    /// The page after the write.
    pub record: PageRecord,
    /// The text that was written; `None` if the page is unchanged.
    pub content: Option<Content>,
}

impl WrittenPage {
    /// Returns the result of a write that left the page as it was.
    #[must_use]
    pub fn unchanged(record: PageRecord) -> Self {
        Self { status: WriteStatus::Unchanged, record, content: None }
    }
}

/// What a write knows about its page before the record is made.
struct Target {
    id: u64,
    version: u32,
    /// When the page got its text, in Unix milliseconds.
    content_at: i64,
    path: String,
    marks: PageMarks,
    status: WriteStatus,
    /// Digests of the contents of the file that brain may overwrite.
    own_digests: Vec<Hash>,
}

impl Transaction<'_> {
    /// Creates or replaces the page; keeps the former version. A soft-deleted page becomes active
    /// again.
    ///
    /// # Errors
    /// [`StoreError::UnknownSource`] when the source is not registered; otherwise when the store
    /// cannot be read or written.
    pub fn write_page(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        new: &NewPage,
        now: i64,
    ) -> Result<WrittenPage, StoreError> {
        self.check_registered(source)?;
        self.write_count += 1;
        let former = self.page(source, slug)?;
        let target = match &former {
            None => self.target_of_new_page(source, slug, new, now)?,
            Some(old) => self.retire_version(source, slug, old, new, now)?,
        };
        if former.as_ref().is_none_or(|old| old.deleted_at.is_some()) {
            self.counters.active += 1;
        }
        self.counters.seq += 1;
        let Target { id, version, content_at, path, marks, status, own_digests } = target;
        let (created_at, updated_at) = new.resolve_dates(former.as_ref(), now);
        let mut record = new.fill_record(PageRecord {
            id,
            seq: self.counters.seq,
            version,
            created_at,
            updated_at,
            written_at: now,
            content_at,
            source_path: path,
            ..PageRecord::default()
        });
        record.has_outside_title =
            marks.has_outside_title(&new.line_change, former.as_ref(), &record);
        record.marks = marks.lines;
        if new.is_capture {
            self.captured.insert((content_at, id), ())?;
        }
        self.contents.insert(id, to_bytes(&new.content)?.as_slice())?;
        self.follow_attachments(id, &new.content, now)?;
        self.derived.insert(id, to_bytes(&new.derived)?.as_slice())?;
        self.insert_derived(source, &record, &new.derived);
        if former.is_some() {
            self.record_added_names(source, slug, id, &new.derived.names);
        }
        let is_from_file = matches!(new.file, FilePlan::Keep(_));
        let (previous, kind) = match &former {
            None => (0, StepKind::Created),
            Some(old) => (old.seq, StepKind::Written),
        };
        self.put_record_as_planned(source, slug, &record, &new.file, own_digests)?;
        let (source_name, slug_name) = (source.as_str(), slug.as_str());
        let place = StepPlace { source: source_name, slug: slug_name, previous, kind };
        self.add_step(&record, &place, Some(now))?;
        self.add_page_change(source, slug, &record, &new.content, is_from_file);
        Ok(WrittenPage { status, record, content: Some(new.content.clone()) })
    }

    /// Reserves id and path of a page that does not exist.
    fn target_of_new_page(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        new: &NewPage,
        now: i64,
    ) -> Result<Target, StoreError> {
        let id = self.counters.next_id;
        self.counters.next_id += 1;
        let path = match &new.file {
            FilePlan::Write => self.free_path(source, slug, id)?,
            FilePlan::Keep(path) => path.clone(),
        };
        self.ids.insert(id, (source.as_str(), slug.as_str()))?;
        Ok(Target {
            id,
            version: 1,
            content_at: now,
            path,
            marks: new.marks(None, now),
            status: WriteStatus::Created,
            own_digests: new.replaces.into_iter().collect(),
        })
    }

    /// Keeps the text of `old` as a former version, and removes the rows that `new` replaces.
    fn retire_version(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        old: &PageRecord,
        new: &NewPage,
        now: i64,
    ) -> Result<Target, StoreError> {
        let id = old.id;
        let path = match &new.file {
            FilePlan::Write => old.source_path.clone(),
            FilePlan::Keep(path) => path.clone(),
        };
        if path != old.source_path {
            self.paths.remove((source.as_str(), old.source_path.as_str()))?;
        }
        // A damaged text cannot become a version; this write repairs the page.
        let content = unless_damaged(self.content(old))?;
        let marks = new.marks(Some((old, content.as_ref())), now);
        let mut own_digests: Vec<Hash> = new.replaces.into_iter().collect();
        if let Some(content) = content {
            own_digests.push(content.file_hash());
            own_digests.extend(page::earlier_file_hash(&content.frontmatter, &content.body));
            let kept = VersionRecord { record: old.clone(), content };
            self.versions.insert((id, old.version), to_bytes(&kept)?.as_slice())?;
        }
        // The file that sync read may differ from the text: CRLF, a byte order mark.
        own_digests.extend(self.imported_digest(source, &path)?);
        self.changes.remove(old.seq)?;
        let status = match old.deleted_at {
            None => {
                self.remove_derived(source, slug, old)?;
                WriteStatus::Updated
            }
            Some(at) => {
                self.deleted.remove((at, id))?;
                WriteStatus::Restored
            }
        };
        let is_same_text = old.content_hash == new.content_hash;
        let content_at = if is_same_text { old.content_at } else { now };
        Ok(Target { id, version: old.version + 1, content_at, path, marks, status, own_digests })
    }

    /// Stores the record. The file is written by the outbox, or it is the one that sync read.
    fn put_record_as_planned(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: &PageRecord,
        plan: &FilePlan,
        own_digests: Vec<Hash>,
    ) -> Result<(), StoreError> {
        match plan {
            FilePlan::Write => {
                self.put_record(source, slug, record, Some((FileState::Present, own_digests)))
            }
            FilePlan::Keep(path) => {
                self.paths.insert((source.as_str(), path.as_str()), record.id)?;
                self.outbox.remove(record.id)?;
                self.put_record(source, slug, record, None)
            }
        }
    }

    /// Stores `new` as a former version of an active page and returns its number. The page keeps
    /// its text, which is also stored under the number that it had: a version's number means the
    /// same text for ever.
    ///
    /// # Errors
    /// [`StoreError::DamagedText`] when the page's text is damaged; otherwise when the store cannot
    /// be read or written.
    pub fn store_version(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        new: &NewPage,
        now: i64,
    ) -> Result<u32, StoreError> {
        self.write_count += 1;
        let (id, version) = (record.id, self.keep_current(&record)? + 1);
        let (created_at, updated_at) = new.resolve_dates(Some(&record), now);
        let mut kept = new.fill_record(PageRecord {
            created_at,
            updated_at,
            written_at: now,
            content_at: now,
            version,
            ..record.clone()
        });
        let marks = new.marks(None, now);
        kept.has_outside_title = marks.has_outside_title(&new.line_change, None, &kept);
        kept.marks = marks.lines;
        let kept = VersionRecord { record: kept, content: new.content.clone() };
        self.versions.insert((id, version), to_bytes(&kept)?.as_slice())?;
        record.version = version + 1;
        self.touch(source, slug, &mut record, None, (StepKind::TextKept, Some(now)))?;
        let content = self.content(&record)?;
        self.add_page_change(source, slug, &record, &content, false);
        Ok(version)
    }

    /// Stores the current text of a page as a former version, too, and returns its number.
    pub(super) fn keep_current(&mut self, record: &PageRecord) -> Result<u32, StoreError> {
        let kept = VersionRecord { record: record.clone(), content: self.content(record)? };
        self.versions.insert((record.id, record.version), to_bytes(&kept)?.as_slice())?;
        Ok(record.version)
    }

    /// Lets the outbox replace the file of an active page that has the digest `replaced`.
    pub fn replace_file(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        replaced: Hash,
    ) -> Result<PageRecord, StoreError> {
        self.write_count += 1;
        let id = record.id;
        let step = (StepKind::FileReplaced, None);
        self.touch(source, slug, &mut record, Some(FileState::Present), step)?;
        let path = record.source_path.as_str();
        self.add_outbox_row(id, source.as_str(), path, FileState::Present, vec![replaced])?;
        let content = self.content(&record)?;
        self.add_page_change(source, slug, &record, &content, false);
        Ok(record)
    }

    /// Lets the outbox write the file of a page that does not change. It replaces a file with one
    /// of the digests `replaced`, and no other one.
    pub fn write_file_again(
        &mut self,
        source: &SourceId,
        record: &PageRecord,
        replaced: Vec<Hash>,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        let path = record.source_path.as_str();
        self.add_outbox_row(record.id, source.as_str(), path, FileState::Present, replaced)
    }

    /// Soft-deletes an active page. `file` is the state that its file must get; `None` leaves it.
    pub(super) fn mark_deleted(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        now: i64,
        file: Option<FileState>,
    ) -> Result<PageRecord, StoreError> {
        self.write_count += 1;
        let id = record.id;
        self.remove_derived(source, slug, &record)?;
        self.deleted.insert((now, id), ())?;
        self.counters.active -= 1;
        record.deleted_at = Some(now);
        self.touch(source, slug, &mut record, file, (StepKind::Deleted, Some(now)))?;
        self.add_change(id, None);
        Ok(record)
    }

    /// Makes a soft-deleted page active again. `file` is the state that its file must get; `None`
    /// means that the page was read from its file.
    pub(super) fn mark_active(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        file: Option<FileState>,
    ) -> Result<PageRecord, StoreError> {
        self.check_registered(source)?;
        self.write_count += 1;
        let id = record.id;
        if let Some(at) = record.deleted_at.take() {
            self.deleted.remove((at, id))?;
        }
        self.counters.active += 1;
        let is_from_file = file.is_none();
        self.touch(source, slug, &mut record, file, (StepKind::Restored, None))?;
        let derived = self.derived_of(id)?;
        self.insert_derived(source, &record, &derived);
        self.record_added_names(source, slug, id, &derived.names);
        let content = self.content(&record)?;
        self.add_page_change(source, slug, &record, &content, is_from_file);
        Ok(record)
    }

    /// Adds the new state of an active page to the changes.
    pub(super) fn add_page_change(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: &PageRecord,
        content: &Content,
        is_from_file: bool,
    ) {
        let (source, slug, content) = (source.clone(), slug.clone(), content.clone());
        let record = record.clone();
        let page = ChangedPage { source, slug, record, content, is_from_file };
        self.add_change(page.record.id, Some(page));
    }

    /// Removes captures before `before` (Unix milliseconds): the duplicate check needs them no
    /// longer.
    pub fn forget_captures(&mut self, before: i64) -> Result<(), StoreError> {
        let old: Vec<_> = self
            .captured
            .range(..(before, 0))?
            .map(|row| Ok(row?.0.value()))
            .collect::<Result<_, StoreError>>()?;
        for key in old {
            self.write_count += 1;
            self.captured.remove(key)?;
        }
        Ok(())
    }

    /// Gives the record a new sequence number and a step, with its time if that is known. Adds an
    /// outbox row if the file must get a state.
    fn touch(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: &mut PageRecord,
        file: Option<FileState>,
        (kind, now): (StepKind, Option<i64>),
    ) -> Result<(), StoreError> {
        let previous = record.seq;
        let mut ours: Vec<Hash> = self.own_digest(record)?.into_iter().collect();
        ours.extend(self.imported_digest(source, &record.source_path)?);
        self.changes.remove(record.seq)?;
        self.counters.seq += 1;
        record.seq = self.counters.seq;
        self.put_record(source, slug, record, file.map(|file| (file, ours)))?;
        let (source, slug) = (source.as_str(), slug.as_str());
        self.add_step(record, &StepPlace { source, slug, previous, kind }, now)
    }

    /// Returns the digest of the file that sync imported. `None` for a file that did not become a
    /// page: only its author may change it.
    pub(super) fn imported_digest(
        &self,
        source: &SourceId,
        path: &str,
    ) -> Result<Option<Hash>, StoreError> {
        Ok(self.file(source, path)?.filter(|file| file.problem.is_none()).map(|file| file.digest))
    }

    /// Stores the record. If the file must change, adds an outbox row with the digests of the
    /// contents that brain may overwrite.
    pub(super) fn put_record(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: &PageRecord,
        file: Option<(FileState, Vec<Hash>)>,
    ) -> Result<(), StoreError> {
        self.pages.insert((source.as_str(), slug.as_str()), to_bytes(record)?.as_slice())?;
        self.changes.insert(record.seq, record.id)?;
        match file {
            Some((state, ours)) => {
                self.add_outbox_row(record.id, source.as_str(), &record.source_path, state, ours)
            }
            None => Ok(()),
        }
    }

    /// Adds or extends the outbox row of page `id`, if this machine has the files of the source.
    pub(super) fn add_outbox_row(
        &mut self,
        id: u64,
        source: &str,
        path: &str,
        state: FileState,
        mut own_digests: Vec<Hash>,
    ) -> Result<(), StoreError> {
        if !self.has_files_of(source)? {
            return Ok(());
        }
        // A file that was not written yet may still have the contents of an earlier change.
        if let Some(waiting) = self.outbox_row(id)? {
            let new = own_digests.len();
            for digest in waiting.own_digests {
                if !own_digests[..new].contains(&digest) {
                    own_digests.push(digest);
                }
            }
            if own_digests.len() > MAX_OWN_DIGESTS {
                own_digests.drain(MAX_OWN_DIGESTS / 2..own_digests.len() - MAX_OWN_DIGESTS / 2);
            }
        }
        let row = OutboxRow {
            seq: self.counters.seq,
            source: source.to_owned(),
            path: path.to_owned(),
            target_state: state,
            own_digests,
        };
        self.outbox.insert(id, to_bytes(&row)?.as_slice())?;
        Ok(())
    }

    /// Reserves the path `path` for a page and returns it. Without one, or if another page has it,
    /// as [`Self::free_path`].
    pub(super) fn reserve_path(
        &mut self,
        source: &SourceId,
        (slug, path): (&Slug, Option<&str>),
        id: u64,
    ) -> Result<String, StoreError> {
        match path {
            Some(path) if self.paths.get((source.as_str(), path))?.is_none() => {
                self.paths.insert((source.as_str(), path), id)?;
                Ok(path.to_owned())
            }
            _ => self.free_path(source, slug, id),
        }
    }

    /// Reserves a path for a page and returns it: the slug's, or one with the page's id if another
    /// page has the slug's.
    pub(super) fn free_path(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        id: u64,
    ) -> Result<String, StoreError> {
        let mut path = page::file_path(slug);
        let is_taken = self.paths.get((source.as_str(), path.as_str()))?.is_some();
        if is_taken {
            path = format!("{}~{id}.md", path.trim_end_matches(".md"));
        }
        self.paths.insert((source.as_str(), path.as_str()), id)?;
        Ok(path)
    }
}

impl PageRecord {
    pub(super) fn distinct_tags(&self) -> BTreeSet<&str> {
        self.tags.iter().map(String::as_str).collect()
    }

    /// Returns the labels of the page's rows by tag: its tags, and [`EVERY_PAGE`].
    pub(super) fn labels(&self) -> BTreeSet<&str> {
        let mut labels = self.distinct_tags();
        labels.insert(EVERY_PAGE);
        labels
    }
}
