//! How a page changes: the record, its text, its former version, what is derived from it, its place in the
//! sequence of changes and its row in the outbox, together.

use std::collections::BTreeSet;

use brain_protocol::{Slug, SourceId, WriteStatus};
use redb::ReadableTable;

use super::error::unless_damaged;
use super::record::{
    Content, Derived, FileRecord, FileState, Hash, LinkRecord, OutboxRow, PageRecord, Provenance,
    TimelineRecord, VersionRecord, to_bytes,
};
use super::writer::ChangedPage;
use super::{Draft, RECOVERY_MS, StoreError};
use brain_page as page;

/// How many digests of earlier files an outbox row keeps. What is on disk is one of the newest while many change one page at once, and
/// one of the oldest after its directory was away: each half has room for hundreds of changes in the seconds between two flushes of
/// the outbox, which begin the list anew.
const MAX_OURS: usize = 512;

/// A page as it comes in, worked out before the writer sees it.
#[derive(Debug, Clone)]
pub struct NewPage {
    /// The page's type.
    pub page_type: String,
    /// The page's title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// Its text.
    pub content: Content,
    /// SHA-256 of the normalised body.
    pub content_hash: Hash,
    /// In how many chunks the body is.
    pub chunks: u32,
    /// Its links.
    pub links: Vec<LinkRecord>,
    /// Its names for bare links.
    pub names: Vec<String>,
    /// Its dated lines.
    pub timeline: Vec<TimelineRecord>,
    /// Where it came from.
    pub provenance: Provenance,
    /// Digest of what stands in the page's file and may be overwritten, because this page was made from it.
    pub replaces: Option<Hash>,
    /// Whether the slug was made from the content, so that the same content within 24 hours is a duplicate.
    pub captured: bool,
    /// What is to become of the page's file.
    pub file: FilePlan,
}

impl NewPage {
    /// Returns `record` with everything in it that the page itself says.
    fn describe(&self, record: PageRecord) -> PageRecord {
        PageRecord {
            page_type: self.page_type.clone(),
            title: self.title.clone(),
            tags: self.tags.clone(),
            aliases: self.aliases.clone(),
            content_hash: self.content_hash,
            chunks: self.chunks,
            bytes: self.content.body.len() as u64,
            provenance: self.provenance.clone(),
            ..record
        }
    }
}

/// What is to become of the file of a page that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePlan {
    /// It is to hold the page's text.
    Write,
    /// The page was read from the file at this path, relative to the source: it is as it should be, to the byte, whatever
    /// brain itself would have written.
    Keep(String),
}

/// A page after a change.
#[derive(Debug, Clone)]
pub struct Applied {
    /// What happened.
    pub status: WriteStatus,
    /// The page now.
    pub record: PageRecord,
}

impl Draft<'_> {
    /// Creates the page, or keeps its former version and replaces it. A soft-deleted page becomes active again.
    ///
    /// # Errors
    /// When the store fails.
    pub fn write_page(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        new: NewPage,
        now: i64,
    ) -> Result<Applied, StoreError> {
        self.check_registered(source)?;
        self.dirty += 1;
        let former = self.page(source, slug)?;
        let mut ours: Vec<Hash> = new.replaces.into_iter().collect();
        let (id, version, created_at, content_at, status, path);
        match &former {
            None => {
                id = self.next_id;
                self.next_id += 1;
                path = match &new.file {
                    FilePlan::Write => self.free_path(source, slug, id)?,
                    FilePlan::Keep(path) => path.clone(),
                };
                self.ids.insert(id, (source.as_str(), slug.as_str()))?;
                (version, created_at, content_at, status) = (1, now, now, WriteStatus::Created);
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
                // A damaged text is no version to go back to; the page is whole again after this.
                if let Some(content) = unless_damaged(self.content(old))? {
                    ours.push(page::file_hash(&content.frontmatter, &content.body));
                    let kept = VersionRecord { record: old.clone(), content };
                    self.versions.insert((id, old.version), to_bytes(&kept)?.as_slice())?;
                }
                // What sync read there may differ from that: CRLF, a byte order mark.
                ours.extend(self.taken_in(source, &path)?);
                self.changes.remove(old.seq)?;
                match old.deleted_at {
                    None => self.remove_derived(source, slug, old)?,
                    Some(at) => _ = self.deleted.remove((at, id))?,
                }
                version = old.version + 1;
                created_at = old.created_at;
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
        let record = new.describe(PageRecord {
            id,
            seq: self.seq,
            version,
            created_at,
            updated_at: now,
            content_at,
            source_path: path,
            ..PageRecord::default()
        });
        if new.captured {
            self.captured.insert((content_at, id), ())?;
        }
        let derived = Derived {
            links: new.links,
            names: new.names,
            tags: record.tags.clone(),
            timeline: new.timeline,
        };
        self.contents.insert(id, to_bytes(&new.content)?.as_slice())?;
        self.derived.insert(id, to_bytes(&derived)?.as_slice())?;
        self.insert_derived(source, &record, &derived);
        if former.is_some() {
            self.note_answering(source, slug, id, &derived.names);
        }
        let is_read = matches!(new.file, FilePlan::Keep(_));
        match new.file {
            FilePlan::Write => {
                self.put_record(source, slug, &record, Some((FileState::Present, ours)))?
            }
            FilePlan::Keep(path) => {
                self.paths.insert((source.as_str(), path.as_str()), id)?;
                self.outbox.remove(id)?;
                self.put_record(source, slug, &record, None)?;
            }
        }
        self.announce(
            id,
            Some(ChangedPage {
                source: source.clone(),
                slug: slug.clone(),
                record: record.clone(),
                content: new.content,
                is_read,
            }),
        );
        Ok(Applied { status, record })
    }

    /// Keeps `new` as a former version of an active page, which stays as it is; the number of that version.
    ///
    /// # Errors
    /// When the store fails.
    pub fn keep_version(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        new: NewPage,
        now: i64,
    ) -> Result<u32, StoreError> {
        self.dirty += 1;
        let (id, version) = (record.id, record.version);
        let kept = new.describe(PageRecord { updated_at: now, content_at: now, ..record.clone() });
        let kept = VersionRecord { record: kept, content: new.content };
        self.versions.insert((id, version), to_bytes(&kept)?.as_slice())?;
        record.version += 1;
        self.touch(source, slug, &mut record, None)?;
        let content = self.content(&record)?;
        let (source, slug) = (source.clone(), slug.clone());
        self.announce(id, Some(ChangedPage { source, slug, record, content, is_read: false }));
        Ok(version)
    }

    /// Hides an active page.
    pub(super) fn hide(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        now: i64,
        file: Option<FileState>,
    ) -> Result<PageRecord, StoreError> {
        self.dirty += 1;
        let id = record.id;
        self.remove_derived(source, slug, &record)?;
        self.deleted.insert((now, id), ())?;
        self.active -= 1;
        record.deleted_at = Some(now);
        self.touch(source, slug, &mut record, file)?;
        self.announce(id, None);
        Ok(record)
    }

    /// Makes a soft-deleted page active again, as it was.
    pub(super) fn unhide(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        mut record: PageRecord,
        file: Option<FileState>,
    ) -> Result<PageRecord, StoreError> {
        self.check_registered(source)?;
        self.dirty += 1;
        let id = record.id;
        if let Some(at) = record.deleted_at.take() {
            self.deleted.remove((at, id))?;
        }
        self.active += 1;
        let is_read = file.is_none();
        self.touch(source, slug, &mut record, file)?;
        let derived = self.derived_of(id)?;
        self.insert_derived(source, &record, &derived);
        self.note_answering(source, slug, id, &derived.names);
        let content = self.content(&record)?;
        let (source, slug) = (source.clone(), slug.clone());
        let page = ChangedPage { source, slug, record: record.clone(), content, is_read };
        self.announce(id, Some(page));
        Ok(record)
    }

    /// Purges up to `limit` pages whose recovery window has ended, with everything about them; their ids. A page of a
    /// source whose file could not be moved to the trash yet waits for that, hidden: without its page, the file that still
    /// stands there would come back as a new one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn purge(&mut self, now: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
        self.frees_room = true;
        let mut due = Vec::new();
        for row in self.deleted.range(..=(now - RECOVERY_MS, u64::MAX))? {
            // Those that wait take nobody's place.
            if due.len() == limit {
                break;
            }
            let (at, id) = row?.0.value();
            if !self.waits_for_trash(id)? {
                due.push((at, id));
            }
        }
        let mut erased = Vec::with_capacity(due.len());
        for (at, id) in due {
            self.dirty += 1;
            self.deleted.remove((at, id))?;
            let Some((source, slug)) = self.ids.remove(id)?.map(|guard| {
                let (source, slug) = guard.value();
                (source.to_owned(), slug.to_owned())
            }) else {
                continue;
            };
            let record = super::draft::read::<PageRecord>(
                self.pages
                    .remove((source.as_str(), slug.as_str()))?
                    .as_ref()
                    .map(redb::AccessGuard::value),
            )?;
            let known = self.sources.get(source.as_str())?.is_some();
            let ours = record.as_ref().map(|record| self.own_digest(record)).transpose()?.flatten();
            self.contents.remove(id)?;
            self.derived.remove(id)?;
            self.versions.retain_in((id, 0)..=(id, u32::MAX), |_, _| false)?;
            if let Some(record) = record {
                self.paths.remove((source.as_str(), record.source_path.as_str()))?;
                // The row in `changes` stays, at a new place: followers learn that the page is gone.
                self.changes.remove(record.seq)?;
                self.seq += 1;
                self.changes.insert(self.seq, id)?;
                let ours = ours.into_iter().collect();
                let file: Option<FileRecord> = super::draft::read(
                    self.files
                        .remove((source.as_str(), record.source_path.as_str()))?
                        .as_ref()
                        .map(redb::AccessGuard::value),
                )?;
                let sent = source == SourceId::DEFAULT
                    || file.is_some_and(|file| file.page == Some(id) && file.is_trashed());
                // Where the file did not get to the trash, it goes from its place; otherwise what stands there came later,
                // or was never sent away, and is not ours.
                let want = match self.outbox_row(id)? {
                    Some(_) => Some(FileState::Purged),
                    None => sent.then_some(FileState::TrashPurged),
                };
                // The files of a source that was removed are none of our business any more.
                if let Some(want) = want.filter(|_| known) {
                    self.ask_for_file(id, &source, &record.source_path, want, ours)?;
                }
            }
            self.announce(id, None);
            erased.push(id);
        }
        Ok(erased)
    }

    /// Whether the file of this deleted page still has to leave its place in the directory of a source.
    fn waits_for_trash(&self, id: u64) -> Result<bool, StoreError> {
        match self.outbox_row(id)? {
            Some(row) if row.want == FileState::Trashed && row.source != SourceId::DEFAULT => {
                Ok(self.sources.get(row.source.as_str())?.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Forgets captures that are too old to be duplicates of anything.
    ///
    /// # Errors
    /// When the store fails.
    pub fn forget_captures(&mut self, before: i64) -> Result<(), StoreError> {
        let old: Vec<_> = self
            .captured
            .range(..(before, 0))?
            .map(|row| Ok(row?.0.value()))
            .collect::<Result<_, StoreError>>()?;
        for key in old {
            self.dirty += 1;
            self.captured.remove(key)?;
        }
        Ok(())
    }

    /// Gives the record a new place in the sequence and asks for its file.
    fn touch(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: &mut PageRecord,
        want: Option<FileState>,
    ) -> Result<(), StoreError> {
        let mut ours: Vec<Hash> = self.own_digest(record)?.into_iter().collect();
        ours.extend(self.taken_in(source, &record.source_path)?);
        self.changes.remove(record.seq)?;
        self.seq += 1;
        record.seq = self.seq;
        self.put_record(source, slug, record, want.map(|want| (want, ours)))
    }

    /// The digest of the file that sync made a page of. One that could not become a page is its author's alone.
    fn taken_in(&self, source: &SourceId, path: &str) -> Result<Option<Hash>, StoreError> {
        Ok(self.file(source, path)?.filter(|file| file.problem.is_none()).map(|file| file.digest))
    }

    /// Stores the record; asks for its file, if that has to change, with the digests of what may be there.
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
            Some((want, ours)) => {
                self.ask_for_file(record.id, source.as_str(), &record.source_path, want, ours)
            }
            None => Ok(()),
        }
    }

    fn ask_for_file(
        &mut self,
        id: u64,
        source: &str,
        path: &str,
        want: FileState,
        mut ours: Vec<Hash>,
    ) -> Result<(), StoreError> {
        // A file that was never written may still hold what an earlier change left.
        if let Some(waiting) = self.outbox_row(id)? {
            let new = ours.len();
            for digest in waiting.ours {
                if !ours[..new].contains(&digest) {
                    ours.push(digest);
                }
            }
            if ours.len() > MAX_OURS {
                ours.drain(MAX_OURS / 2..ours.len() - MAX_OURS / 2);
            }
        }
        let row = OutboxRow {
            seq: self.seq,
            source: source.to_owned(),
            path: path.to_owned(),
            want,
            ours,
        };
        self.outbox.insert(id, to_bytes(&row)?.as_slice())?;
        Ok(())
    }

    /// The file for a new page: its slug's, unless another page has it.
    fn free_path(&mut self, source: &SourceId, slug: &Slug, id: u64) -> Result<String, StoreError> {
        let mut path = page::file_path(slug);
        let taken = self.paths.get((source.as_str(), path.as_str()))?.is_some();
        if taken {
            path = format!("{}~{id}.md", path.trim_end_matches(".md"));
        }
        self.paths.insert((source.as_str(), path.as_str()), id)?;
        Ok(path)
    }
}

impl PageRecord {
    /// Its tags, each once.
    pub(super) fn distinct_tags(&self) -> BTreeSet<&str> {
        self.tags.iter().map(String::as_str).collect()
    }
}

impl Derived {
    /// The rows under which the page is found from the other ends of its links: source and key, each once. A link to a slug has
    /// none of its own where the page has one under the same name: a bare link is by name and by slug, and each row that is
    /// somewhere in a large table costs a commit a leaf.
    pub(super) fn link_rows<'a>(&'a self, own_source: &'a str) -> BTreeSet<(&'a str, String)> {
        // Names are those of the page's own source.
        let names = self.links.iter().flat_map(LinkRecord::names).map(|name| (own_source, name));
        let mut rows: BTreeSet<_> = names.collect();
        for link in &self.links {
            let source = link.source.as_deref().unwrap_or(own_source);
            for slug in &link.slugs {
                let [path, name] = slug_keys(slug);
                if !rows.contains(&(source, name)) {
                    rows.insert((source, path));
                }
            }
        }
        rows
    }
}

impl LinkRecord {
    /// The names that may answer to the link, best first.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let file = self.name.as_deref().and_then(page::file_name_key);
        self.name.clone().into_iter().chain(file)
    }
}

/// The two keys under which a page with a link to this slug may be found. The second has pages with links by that name as well;
/// the link itself says what it means.
pub(super) fn slug_keys(slug: &str) -> [String; 2] {
    [format!("/{slug}"), page::normal_name(slug)]
}
