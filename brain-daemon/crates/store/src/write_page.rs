//! Page changes: writes, deletes and restores pages with all their rows.
//!
//! Record, text, former version, derived rows, sequence number and outbox row change together.

use std::collections::BTreeSet;

use brain_protocol::{Slug, SourceId, WriteStatus};
use redb::ReadableTable;

use super::change::ChangedPage;
use super::error::unless_damaged;
use super::record::{
    DerivedRows, FileState, Hash, LinkRecord, OutboxRow, PageRecord, VersionRecord, to_bytes,
};
use super::tables::{EVERY_PAGE, link_source};
use super::{Draft, FilePlan, NewPage, StoreError};
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
}

impl Draft<'_> {
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
        new: NewPage,
        now: i64,
    ) -> Result<WrittenPage, StoreError> {
        self.check_registered(source)?;
        self.write_count += 1;
        let former = self.page(source, slug)?;
        let mut ours: Vec<Hash> = new.replaces.into_iter().collect();
        let (id, version, content_at, status, path);
        let mut marks = new.marks(None, now);
        match &former {
            None => {
                id = self.next_id;
                self.next_id += 1;
                path = match &new.file {
                    FilePlan::Write => self.free_path(source, slug, id)?,
                    FilePlan::Keep(path) => path.clone(),
                };
                self.ids.insert(id, (source.as_str(), slug.as_str()))?;
                (version, content_at, status) = (1, now, WriteStatus::Created);
            }
            Some(old) => {
                id = old.id;
                path = match &new.file {
                    FilePlan::Write => old.source_path.clone(),
                    FilePlan::Keep(path) => path.clone(),
                };
                if path != old.source_path {
                    self.paths.remove((source.as_str(), old.source_path.as_str()))?;
                }
                // A damaged text cannot become a version; this write repairs the page.
                let content = unless_damaged(self.content(old))?;
                marks = new.marks(Some((old, content.as_ref())), now);
                if let Some(content) = content {
                    ours.push(page::file_hash(&content.frontmatter, &content.body));
                    ours.extend(page::earlier_file_hash(&content.frontmatter, &content.body));
                    let kept = VersionRecord { record: old.clone(), content };
                    self.versions.insert((id, old.version), to_bytes(&kept)?.as_slice())?;
                }
                // The file that sync read may differ from the text: CRLF, a byte order mark.
                ours.extend(self.imported_digest(source, &path)?);
                self.changes.remove(old.seq)?;
                match old.deleted_at {
                    None => self.remove_derived(source, slug, old)?,
                    Some(at) => _ = self.deleted.remove((at, id))?,
                }
                version = old.version + 1;
                content_at =
                    if old.content_hash == new.content_hash { old.content_at } else { now };
                status = if old.deleted_at.is_some() {
                    WriteStatus::Restored
                } else {
                    WriteStatus::Updated
                };
            }
        }
        if former.as_ref().is_none_or(|old| old.deleted_at.is_some()) {
            self.active += 1;
        }
        self.seq += 1;
        let (created_at, updated_at) = new.resolve_dates(former.as_ref(), now);
        let mut record = new.fill_record(PageRecord {
            id,
            seq: self.seq,
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
        let derived = DerivedRows {
            links: new.links,
            names: new.names,
            tags: record.tags.clone(),
            timeline: new.timeline,
        };
        self.contents.insert(id, to_bytes(&new.content)?.as_slice())?;
        self.follow_attachments(id, &new.content, now)?;
        self.derived.insert(id, to_bytes(&derived)?.as_slice())?;
        self.insert_derived(source, &record, &derived);
        if former.is_some() {
            self.record_added_names(source, slug, id, &derived.names);
        }
        let is_from_file = matches!(new.file, FilePlan::Keep(_));
        match new.file {
            FilePlan::Write => {
                self.put_record(source, slug, &record, Some((FileState::Present, ours)))?;
            }
            FilePlan::Keep(path) => {
                self.paths.insert((source.as_str(), path.as_str()), id)?;
                self.outbox.remove(id)?;
                self.put_record(source, slug, &record, None)?;
            }
        }
        self.add_change(
            id,
            Some(ChangedPage {
                source: source.clone(),
                slug: slug.clone(),
                record: record.clone(),
                content: new.content,
                is_from_file,
            }),
        );
        Ok(WrittenPage { status, record })
    }

    /// Stores `new` as a former version of an active page and returns its number. The page keeps
    /// its text, and its own version gets the next number.
    ///
    /// # Errors
    /// [`StoreError::DamagedText`] when the page's text is damaged; otherwise when the store cannot
    /// be read or written.
    pub fn store_version(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        new: NewPage,
        now: i64,
    ) -> Result<u32, StoreError> {
        self.write_count += 1;
        let (id, version) = (record.id, record.version);
        let (created_at, updated_at) = new.resolve_dates(Some(&record), now);
        let mut kept = new.fill_record(PageRecord {
            created_at,
            updated_at,
            written_at: now,
            content_at: now,
            ..record.clone()
        });
        let marks = new.marks(None, now);
        kept.has_outside_title = marks.has_outside_title(&new.line_change, None, &kept);
        kept.marks = marks.lines;
        let kept = VersionRecord { record: kept, content: new.content };
        self.versions.insert((id, version), to_bytes(&kept)?.as_slice())?;
        record.version += 1;
        self.touch(source, slug, &mut record, None)?;
        let content = self.content(&record)?;
        let (source, slug) = (source.clone(), slug.clone());
        self.add_change(
            id,
            Some(ChangedPage { source, slug, record, content, is_from_file: false }),
        );
        Ok(version)
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
        self.touch(source, slug, &mut record, Some(FileState::Present))?;
        let path = record.source_path.as_str();
        self.add_outbox_row(id, source.as_str(), path, FileState::Present, vec![replaced])?;
        let content = self.content(&record)?;
        let (source, slug, page) = (source.clone(), slug.clone(), record.clone());
        let page = ChangedPage { source, slug, record: page, content, is_from_file: false };
        self.add_change(id, Some(page));
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
        self.active -= 1;
        record.deleted_at = Some(now);
        self.touch(source, slug, &mut record, file)?;
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
        self.active += 1;
        let is_from_file = file.is_none();
        self.touch(source, slug, &mut record, file)?;
        let derived = self.derived_of(id)?;
        self.insert_derived(source, &record, &derived);
        self.record_added_names(source, slug, id, &derived.names);
        let content = self.content(&record)?;
        let (source, slug) = (source.clone(), slug.clone());
        let page = ChangedPage { source, slug, record: record.clone(), content, is_from_file };
        self.add_change(id, Some(page));
        Ok(record)
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

    /// Gives the record a new sequence number. Adds an outbox row if the file must get a state.
    fn touch(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: &mut PageRecord,
        file: Option<FileState>,
    ) -> Result<(), StoreError> {
        let mut ours: Vec<Hash> = self.own_digest(record)?.into_iter().collect();
        ours.extend(self.imported_digest(source, &record.source_path)?);
        self.changes.remove(record.seq)?;
        self.seq += 1;
        record.seq = self.seq;
        self.put_record(source, slug, record, file.map(|file| (file, ours)))
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
            seq: self.seq,
            source: source.to_owned(),
            path: path.to_owned(),
            target_state: state,
            own_digests,
        };
        self.outbox.insert(id, to_bytes(&row)?.as_slice())?;
        Ok(())
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

impl DerivedRows {
    /// Returns the first parts of the keys of this page's rows in
    /// [`LINKS_IN`](super::tables::LINKS_IN). A link by path gets
    /// no row if the page has a row for the same name: each row in a large table can make a commit
    /// write one more leaf.
    pub(super) fn link_rows(&self, own_source: &str) -> BTreeSet<(String, String)> {
        // Names belong to the page's own source.
        let names = self.links.iter().flat_map(LinkRecord::names);
        let mut rows: BTreeSet<_> = names.map(|name| (own_source.to_owned(), name)).collect();
        for link in &self.links {
            let source = link_source(link.source.as_deref().unwrap_or(own_source), own_source);
            for slug in &link.slugs {
                let [path, name] = slug_keys(slug);
                let by_name = (source.clone(), name);
                if !rows.contains(&by_name) {
                    rows.insert((by_name.0, path));
                }
            }
        }
        rows
    }
}

impl LinkRecord {
    /// Returns the names that the link may mean, best first.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let file = self.name.as_deref().and_then(page::file_name_key);
        self.name.clone().into_iter().chain(file)
    }
}

/// Returns the two keys under which links to this slug are stored. Links by name are stored under
/// the second key, too; the link record says which kind a link is.
pub(super) fn slug_keys(slug: &str) -> [String; 2] {
    [format!("/{slug}"), page::normalize_name(slug)]
}

/// Returns the keys of all links whose path can mean this slug: the keys of the slug, and those of
/// each suffix of its path, because `[[folder/name]]` can mean `a/folder/name`.
pub(super) fn link_keys(slug: &str) -> impl Iterator<Item = String> {
    let starts = slug.match_indices('/').map(|(at, _)| &slug[at + 1..]);
    let ends = starts.filter(|end| end.contains('/'));
    std::iter::once(slug).chain(ends).flat_map(slug_keys)
}
