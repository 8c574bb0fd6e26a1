//! One write transaction with its tables open: what the jobs of a batch change together.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use brain_protocol::{Fault, FaultCode, Slug, SourceId};
use redb::{ReadableTable, Table, WriteTransaction};

use super::damage::{check_text, check_version};
use super::error::unless_damaged;
use super::jobs::{SeenChange, Waiting};
use super::link_check::LinkChanges;
use super::record::{
    Content, Derived, Hash, OutboxRow, PageRecord, Stored, VersionRecord, from_bytes,
};
use super::writer::{Change, ChangedPage};
use super::{StoreError, tables as t};
use brain_page as page;

type Pair = (&'static str, &'static str);

/// The tables of one write transaction. Everything here is seen by later jobs of the same batch at once, by
/// readers after the commit.
pub struct Draft<'t> {
    meta: Table<'t, &'static str, u64>,
    pub(super) sources: Table<'t, &'static str, &'static [u8]>,
    pub(super) pages: Table<'t, Pair, &'static [u8]>,
    pub(super) ids: Table<'t, u64, Pair>,
    pub(super) contents: Table<'t, u64, &'static [u8]>,
    pub(super) derived: Table<'t, u64, &'static [u8]>,
    pub(super) versions: Table<'t, (u64, u32), &'static [u8]>,
    pub(super) changes: Table<'t, u64, u64>,
    pub(super) paths: Table<'t, Pair, u64>,
    pub(super) files: Table<'t, Pair, &'static [u8]>,
    pub(super) names: Table<'t, (&'static str, &'static str, u64), ()>,
    pub(super) links_in: Table<'t, (&'static str, &'static str, u64), ()>,
    pub(super) broken: Table<'t, Pair, (u32, u32, u32)>,
    pub(super) broken_sums: Table<'t, Pair, u64>,
    pub(super) unchecked: Table<'t, (&'static str, &'static str, u64), u64>,
    pub(super) tags: Table<'t, (&'static str, &'static str, u64), ()>,
    pub(super) types: Table<'t, (&'static str, &'static str, u64), ()>,
    pub(super) tag_counts: Table<'t, Pair, u64>,
    pub(super) timeline: Table<'t, (&'static str, u64, u32), ()>,
    pub(super) deleted: Table<'t, (i64, u64), ()>,
    pub(super) captured: Table<'t, (i64, u64), ()>,
    pub(super) outbox: Table<'t, u64, &'static [u8]>,
    pub(super) jobs: Table<'t, u64, &'static [u8]>,
    pub(super) jobs_due: Table<'t, (i64, u64), ()>,
    pub(super) jobs_seen: Table<'t, &'static [u8; 32], u64>,
    pub(super) jobs_over: Table<'t, (i64, u64), ()>,
    pub(super) clients: Table<'t, &'static str, &'static [u8]>,
    pub(super) tokens: Table<'t, &'static [u8; 32], &'static [u8]>,
    pub(super) audit: Table<'t, (i64, u64), &'static [u8]>,
    pub(super) next_job: u64,
    /// Items that wait to be made pages.
    pub(super) waiting: u64,
    /// Items that failed for good.
    pub(super) failed: u64,
    pub(super) next_id: u64,
    pub(super) seq: u64,
    pub(super) active: u64,
    /// Counts writes, so that a job that refuses after writing can be told from one that only looked.
    pub(super) dirty: u64,
    /// Whether somebody wants this commit even if only outbox rows go.
    pub(super) flush: bool,
    /// The jobs that were added, for the spool; `None` when they need none.
    pub(super) accepted: Option<Vec<Vec<u8>>>,
    /// Whether the job at work makes room, so that a full disk is no reason to refuse it.
    pub(super) frees_room: bool,
    /// Whether nobody is told of the job's changes when it ends.
    pub(super) bulk: bool,
    /// Whether the job at work needs every accepted item to be in the store.
    pub(super) wants_items: bool,
    /// What becomes of `shared_waiting` once the transaction is on disk.
    pub(super) seen: SeenChange,
    pub(super) shared_waiting: &'t Waiting,
    /// Whether a source came, went or changed.
    pub(super) sources_changed: bool,
    /// Rows that go in at the end.
    gathered: Gathered,
    pub(super) link_changes: LinkChanges,
    feed: Vec<Change>,
}

/// What is to be done when a complete transaction is on disk.
pub(super) struct Finished {
    /// What it changed, in order.
    pub(super) changes: Vec<Change>,
    pub(super) seen: SeenChange,
    pub(super) sources_changed: bool,
}

/// Rows by which the pages that this transaction writes are found. Their keys lie anywhere in their tables, so they are
/// inserted at the end and in their order: neighbours go into one leaf one after the other, and it is not read and written
/// anew for each when the tables are larger than the cache.
#[derive(Default)]
struct Gathered {
    pages: HashSet<u64>,
    names: Rows,
    links_in: Rows,
    tags: Rows,
    types: Rows,
    /// How many more pages have a tag of a source than before, or fewer.
    tag_counts: BTreeMap<(String, String), i64>,
    timeline: Vec<(String, u64, u32)>,
}

impl<'t> Draft<'t> {
    /// Opens, and in a new store makes, every table.
    pub(super) fn open(
        txn: &'t WriteTransaction,
        waiting_jobs: &'t Waiting,
    ) -> Result<Self, StoreError> {
        let meta = txn.open_table(t::META)?;
        let number = |key: &str, or: u64| -> Result<u64, StoreError> {
            Ok(meta.get(key)?.map_or(or, |guard| guard.value()))
        };
        let (next_id, seq, active) =
            (number(t::META_NEXT_ID, 1)?, number(t::META_SEQ, 0)?, number(t::META_ACTIVE, 0)?);
        let (next_job, waiting) = (number(t::META_NEXT_JOB, 1)?, number(t::META_WAITING, 0)?);
        let failed = number(t::META_FAILED, 0)?;
        Ok(Self {
            meta,
            sources: txn.open_table(t::SOURCES)?,
            pages: txn.open_table(t::PAGES)?,
            ids: txn.open_table(t::IDS)?,
            contents: txn.open_table(t::CONTENTS)?,
            derived: txn.open_table(t::DERIVED)?,
            versions: txn.open_table(t::VERSIONS)?,
            changes: txn.open_table(t::CHANGES)?,
            paths: txn.open_table(t::PATHS)?,
            files: txn.open_table(t::FILES)?,
            names: txn.open_table(t::NAMES)?,
            links_in: txn.open_table(t::LINKS_IN)?,
            broken: txn.open_table(t::BROKEN)?,
            broken_sums: txn.open_table(t::BROKEN_SUMS)?,
            unchecked: txn.open_table(t::UNCHECKED)?,
            tags: txn.open_table(t::TAGS)?,
            types: txn.open_table(t::TYPES)?,
            tag_counts: txn.open_table(t::TAG_COUNTS)?,
            timeline: txn.open_table(t::TIMELINE)?,
            deleted: txn.open_table(t::DELETED)?,
            captured: txn.open_table(t::CAPTURED)?,
            outbox: txn.open_table(t::OUTBOX)?,
            jobs: txn.open_table(t::JOBS)?,
            jobs_due: txn.open_table(t::JOBS_DUE)?,
            jobs_seen: txn.open_table(t::JOBS_SEEN)?,
            jobs_over: txn.open_table(t::JOBS_OVER)?,
            clients: txn.open_table(t::CLIENTS)?,
            tokens: txn.open_table(t::TOKENS)?,
            audit: txn.open_table(t::AUDIT)?,
            next_job,
            waiting,
            failed,
            next_id,
            seq,
            active,
            dirty: 0,
            flush: false,
            accepted: None,
            frees_room: false,
            bulk: false,
            wants_items: false,
            seen: SeenChange::default(),
            shared_waiting: waiting_jobs,
            sources_changed: false,
            gathered: Gathered::default(),
            link_changes: LinkChanges::default(),
            feed: Vec::new(),
        })
    }

    /// Writes the counters and hands over what changed. The transaction is complete after this.
    pub(super) fn finish(mut self) -> Result<Finished, StoreError> {
        self.insert_gathered()?;
        self.meta.insert(t::META_NEXT_ID, self.next_id)?;
        self.meta.insert(t::META_SEQ, self.seq)?;
        self.meta.insert(t::META_ACTIVE, self.active)?;
        self.meta.insert(t::META_NEXT_JOB, self.next_job)?;
        self.meta.insert(t::META_WAITING, self.waiting)?;
        self.meta.insert(t::META_FAILED, self.failed)?;
        Ok(Finished { changes: self.feed, seen: self.seen, sources_changed: self.sources_changed })
    }

    /// Gathers the rows by which a page is found. The tables have them from [`Draft::finish`] on, or when the page's rows are
    /// removed before that.
    pub(super) fn insert_derived(
        &mut self,
        source: &SourceId,
        page: &PageRecord,
        derived: &Derived,
    ) {
        let (source, gathered, id) = (source.as_str(), &mut self.gathered, page.id);
        gathered.pages.insert(id);
        let row = |of: &str, key: &str, number: u64| (of.to_owned(), key.to_owned(), number);
        gathered.names.extend(derived.names.iter().map(|name| row(source, name, id)));
        for tag in page.distinct_tags() {
            gathered.tags.push(row(source, tag, page.seq));
            *gathered.tag_counts.entry((source.to_owned(), tag.to_owned())).or_default() += 1;
        }
        gathered.types.push(row(source, &page.page_type, page.seq));
        let links = derived.link_rows(source).into_iter();
        gathered.links_in.extend(links.map(|(to, key)| (to.to_owned(), key, id)));
        let dates = derived.timeline.iter().map(|entry| entry.date.clone());
        gathered.timeline.extend((0..).zip(dates).map(|(i, date)| (date, id, i)));
    }

    /// Removes the rows by which a page is found, as it was before it changes.
    pub(super) fn remove_derived(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        page: &PageRecord,
    ) -> Result<(), StoreError> {
        let id = page.id;
        if self.gathered.pages.contains(&id) {
            self.insert_gathered()?;
        }
        let derived = self.derived_of(id)?;
        self.note_vanishing(source, slug, id, &derived.names)?;
        let source = source.as_str();
        for name in &derived.names {
            self.names.remove((source, name.as_str(), id))?;
        }
        for tag in page.distinct_tags() {
            self.tags.remove((source, tag, page.seq))?;
            *self.gathered.tag_counts.entry((source.to_owned(), tag.to_owned())).or_default() -= 1;
        }
        self.types.remove((source, page.page_type.as_str(), page.seq))?;
        for (i, entry) in (0_u32..).zip(&derived.timeline) {
            self.timeline.remove((entry.date.as_str(), id, i))?;
        }
        for (to, key) in derived.link_rows(source) {
            self.links_in.remove((to, key.as_str(), id))?;
        }
        Ok(())
    }

    pub(super) fn insert_gathered(&mut self) -> Result<(), StoreError> {
        let Gathered { names, links_in, tags, types, tag_counts, mut timeline, .. } =
            std::mem::take(&mut self.gathered);
        let tables = [
            (&mut self.names, names),
            (&mut self.links_in, links_in),
            (&mut self.tags, tags),
            (&mut self.types, types),
        ];
        for (table, mut rows) in tables {
            insert_in_order(table, &mut rows)?;
        }
        add_to_counts(&mut self.tag_counts, tag_counts)?;
        timeline.sort_unstable();
        for (date, id, position) in &timeline {
            self.timeline.insert((date.as_str(), *id, *position), ())?;
        }
        self.insert_link_changes()
    }

    /// Says that this job is a part of something larger, such as an import, whose caller is told at its end. Who follows
    /// the store's changes may take until then for those of this job.
    pub fn in_bulk(&mut self) {
        self.bulk = true;
    }

    pub(super) fn set_meta(&mut self, key: &'static str, value: u64) -> Result<(), StoreError> {
        self.meta.insert(key, value)?;
        Ok(())
    }

    /// Notes a page's new state for those who follow the store's changes.
    pub(super) fn announce(&mut self, id: u64, page: Option<ChangedPage>) {
        self.feed.push(Change { seq: self.seq, id, page: page.map(Arc::new), bulk: self.bulk });
    }

    /// The page, deleted or not.
    ///
    /// # Errors
    /// When the store fails.
    pub fn page(&self, source: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError> {
        read(
            self.pages
                .get((source.as_str(), slug.as_str()))?
                .as_ref()
                .map(redb::AccessGuard::value),
        )
    }

    /// The text of the page, compared with the content hash in its record.
    ///
    /// # Errors
    /// `store_damaged` when there is none, or another one: what is made of it would hide that.
    pub fn content(&self, record: &PageRecord) -> Result<Content, StoreError> {
        let read = || {
            let found: Option<Content> =
                read(self.contents.get(record.id)?.as_ref().map(redb::AccessGuard::value))?;
            let content = found.ok_or_else(|| StoreError::damaged("it has no text"))?;
            check_text(record, &content).map_err(StoreError::damaged)?;
            Ok(content)
        };
        read().map_err(|error| match error {
            StoreError::Damaged(what) => {
                let name = &record.source_path;
                Fault::new(
                    FaultCode::StoreDamaged,
                    format!("the page of {name} is damaged in the store: {what}"),
                )
                .hint("`brain get SLUG` tells where it is whole; `brain put SLUG --file FILE` stores it anew")
                .into()
            }
            other => other,
        })
    }

    /// The digest of what brain wrote into the page's file; none when the page is damaged, for nobody knows it then.
    pub(super) fn own_digest(&self, record: &PageRecord) -> Result<Option<Hash>, StoreError> {
        let content = unless_damaged(self.content(record))?;
        Ok(content.map(|content| page::file_hash(&content.frontmatter, &content.body)))
    }

    /// A former version of a page.
    ///
    /// # Errors
    /// When the store fails.
    pub fn version(&self, id: u64, version: u32) -> Result<Option<VersionRecord>, StoreError> {
        let kept: Option<VersionRecord> =
            read(self.versions.get((id, version))?.as_ref().map(redb::AccessGuard::value))?;
        if let Some(kept) = &kept {
            check_version(kept, id, version).map_err(StoreError::damaged)?;
        }
        Ok(kept)
    }

    /// Drops the outbox row of a page whose file is as the change `seq` wanted it.
    pub(super) fn file_done(&mut self, id: u64, seq: u64) -> Result<(), StoreError> {
        if self.outbox_row(id)?.is_some_and(|row| row.seq == seq) {
            self.dirty += 1;
            self.outbox.remove(id)?;
        }
        Ok(())
    }

    /// What the page's file is still to become.
    ///
    /// # Errors
    /// When the store fails.
    pub fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError> {
        read(self.outbox.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    pub(super) fn derived_of(&self, id: u64) -> Result<Derived, StoreError> {
        Ok(read(self.derived.get(id)?.as_ref().map(redb::AccessGuard::value))?.unwrap_or_default())
    }
}

/// The value behind a guard, if there is one.
pub(super) fn read<T: Stored>(bytes: Option<&[u8]>) -> Result<Option<T>, StoreError> {
    bytes.map(from_bytes).transpose()
}

/// Rows of a table by which pages are found.
pub(super) type Rows = Vec<(String, String, u64)>;

/// Moves the rows to their table, neighbours one after the other.
pub(super) fn insert_in_order(
    table: &mut Table<'_, (&'static str, &'static str, u64), ()>,
    rows: &mut Rows,
) -> Result<(), StoreError> {
    rows.sort_unstable();
    for (source, key, id) in rows.drain(..) {
        table.insert((source.as_str(), key.as_str(), id), ())?;
    }
    Ok(())
}

/// Adds to the numbers of pages by source and tag. A tag that no page has any more has no row.
pub(super) fn add_to_counts(
    table: &mut Table<'_, Pair, u64>,
    changes: BTreeMap<(String, String), i64>,
) -> Result<(), StoreError> {
    for ((source, tag), more) in changes.into_iter().filter(|(_, more)| *more != 0) {
        let key = (source.as_str(), tag.as_str());
        let before = table.get(key)?.map_or(0, |guard| guard.value());
        match before.saturating_add_signed(more) {
            0 => _ = table.remove(key)?,
            now => _ = table.insert(key, now)?,
        }
    }
    Ok(())
}
