//! A write transaction with its tables open, shared by the tasks of a batch.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use brain_protocol::{Slug, SourceId};
use redb::{ReadableTable, Table, WriteTransaction};

use super::change::{Change, ChangedPage};
use super::error::unless_damaged;
use super::link_changes::LinkChanges;
use super::pending_keys::{PendingKeys, PendingKeysChange};
use super::record::{
    Content, DerivedRows, Hash, OutboxRow, PageRecord, VersionRecord, check_text, check_version,
    read,
};
use super::replica::{Replica, RowChanges, read_id};
use super::row_table::RowTable;
use super::{StoreError, tables as t};
use brain_page as page;

/// A key of two texts: the source, then a slug, a path or a tag.
type Pair = (&'static str, &'static str);
/// A key of the tables of tags and types: source, label, time of the last change, page id.
pub(super) type LabelKey = (&'static str, &'static str, i64, u64);

/// The tables of one write transaction. Later tasks of the batch see its writes at once; readers
/// see them after the commit.
pub struct Draft<'t> {
    pub(super) meta: RowTable<'t, &'static str, u64>,
    pub(super) sources: RowTable<'t, &'static str, &'static [u8]>,
    pub(super) source_settings: RowTable<'t, &'static str, &'static [u8]>,
    pub(super) source_machines: RowTable<'t, &'static str, (u64, u64)>,
    pub(super) pages: RowTable<'t, Pair, &'static [u8]>,
    pub(super) ids: RowTable<'t, u64, Pair>,
    pub(super) contents: RowTable<'t, u64, &'static [u8]>,
    pub(super) derived: RowTable<'t, u64, &'static [u8]>,
    pub(super) versions: RowTable<'t, (u64, u32), &'static [u8]>,
    pub(super) changes: RowTable<'t, u64, u64>,
    pub(super) paths: RowTable<'t, Pair, u64>,
    pub(super) files: Table<'t, Pair, &'static [u8]>,
    pub(super) names: RowTable<'t, (&'static str, &'static str, u64), ()>,
    pub(super) links_in: RowTable<'t, (&'static str, &'static str, u64), ()>,
    pub(super) broken_link_counts: RowTable<'t, Pair, (u32, u32, u32)>,
    pub(super) broken_link_totals: RowTable<'t, Pair, u64>,
    pub(super) pending_link_checks: RowTable<'t, (&'static str, &'static str, u64), u64>,
    pub(super) tags: RowTable<'t, LabelKey, ()>,
    pub(super) types: RowTable<'t, LabelKey, ()>,
    pub(super) tag_counts: RowTable<'t, Pair, u64>,
    pub(super) timeline: RowTable<'t, (&'static str, u64, u32), ()>,
    pub(super) deleted: RowTable<'t, (i64, u64), ()>,
    pub(super) captured: RowTable<'t, (i64, u64), ()>,
    pub(super) outbox: Table<'t, u64, &'static [u8]>,
    pub(super) jobs: RowTable<'t, u64, &'static [u8]>,
    pub(super) jobs_due: RowTable<'t, (i64, u64), ()>,
    pub(super) jobs_seen: RowTable<'t, &'static [u8; 32], u64>,
    pub(super) finished_jobs_by_expiry: RowTable<'t, (i64, u64), ()>,
    pub(super) clients: RowTable<'t, &'static str, &'static [u8]>,
    pub(super) tokens: RowTable<'t, &'static [u8; 32], &'static [u8]>,
    pub(super) audit: Table<'t, (i64, u64), &'static [u8]>,
    pub(super) attachments: RowTable<'t, (u64, &'static str), &'static [u8]>,
    pub(super) attachment_files: RowTable<'t, (&'static [u8; 32], u64, &'static str), ()>,
    /// Number of the next ingest job.
    pub(super) next_job: u64,
    /// Number of waiting ingest jobs.
    pub(super) waiting: u64,
    /// Number of failed ingest jobs.
    pub(super) failed: u64,
    /// Id of the next page.
    pub(super) next_id: u64,
    /// Sequence number of the last change.
    pub(super) seq: u64,
    /// Number of active pages.
    pub(super) active: u64,
    /// Number of writes, to tell whether a failed task has written.
    pub(super) write_count: u64,
    /// Whether to commit even if the batch only removes outbox rows.
    pub(super) must_flush: bool,
    /// Number of the next job while the log does not answer; see [`Replica::spooled_id`].
    pub(super) next_spooled_id: Option<u64>,
    /// The store's place in the log; `None` if it is not shared.
    pub(super) replica: Option<Replica>,
    /// The id of this machine, if the store is or was shared.
    pub(super) machine: Option<u128>,
    /// The lease that the changes need.
    pub(super) lease: Option<&'static str>,
    /// The indexes of the tasks that need the lease.
    pub(super) leased_tasks: Vec<usize>,
    /// Bytes of the added jobs, for the spool; `None` when they are not spooled.
    pub(super) spool_records: Option<Vec<Vec<u8>>>,
    /// Whether the current task frees space, so that it runs on a full disk.
    pub(super) frees_space: bool,
    /// Whether the current task's changes are acknowledged later.
    pub(super) is_bulk: bool,
    /// Whether the current task needs the spool's jobs in the store.
    pub(super) needs_spooled_jobs: bool,
    /// Changes to `pending_keys`, to apply after the commit.
    pub(super) pending_keys_change: PendingKeysChange,
    pub(super) pending_keys: &'t PendingKeys,
    /// Whether a source was added, removed or changed.
    pub(super) sources_changed: bool,
    /// Rows to insert at the end.
    pending_rows: PendingRows,
    pub(super) link_changes: LinkChanges,
    /// Changes of pages so far, in order.
    feed: Vec<Change>,
}

/// Results of a complete transaction, to apply after its commit.
pub(super) struct CompletedDraft {
    /// The changes, in order.
    pub(super) changes: Vec<Change>,
    pub(super) pending_keys_change: PendingKeysChange,
    pub(super) sources_changed: bool,
    /// The lease that the changes need.
    pub(super) lease: Option<&'static str>,
    /// The indexes of the tasks that need the lease.
    pub(super) leased_tasks: Vec<usize>,
    /// The changes for the log, and the store's place in it; `None` if the store is not shared.
    pub(super) for_log: Option<(Replica, RowChanges)>,
}

/// Lookup rows of the written pages, inserted at the end. Sorted rows share leaves: with tables
/// larger than the cache, inserting them one by one would read and write a leaf for each.
#[derive(Default)]
struct PendingRows {
    pages: HashSet<u64>,
    names: Rows,
    links_in: Rows,
    tags: DatedRows,
    types: DatedRows,
    /// Change in the number of pages by source and tag.
    tag_counts: BTreeMap<(String, String), i64>,
    timeline: Vec<(String, u64, u32)>,
}

impl<'t> Draft<'t> {
    /// Opens all tables; creates them in a new store.
    pub(super) fn open(
        txn: &'t WriteTransaction,
        pending_keys: &'t PendingKeys,
    ) -> Result<Self, StoreError> {
        let mut meta = RowTable::new(txn.open_table(t::META)?, false);
        let replica = Replica::read(&*meta)?;
        let machine = read_id(&*meta, t::META_MACHINE)?;
        let is_shared = replica.is_some();
        meta.record(is_shared);
        let number = |key: &str, default: u64| -> Result<u64, StoreError> {
            Ok(meta.get(key)?.map_or(default, |guard| guard.value()))
        };
        let (next_id, seq, active) =
            (number(t::META_NEXT_ID, 1)?, number(t::META_SEQ, 0)?, number(t::META_ACTIVE, 0)?);
        let (next_job, waiting) = (number(t::META_NEXT_JOB, 1)?, number(t::META_WAITING, 0)?);
        let failed = number(t::META_FAILED, 0)?;
        macro_rules! table {
            ($name:ident) => {
                RowTable::new(txn.open_table(t::$name)?, is_shared)
            };
        }
        Ok(Self {
            meta,
            sources: table!(SOURCES),
            source_settings: table!(SOURCE_SETTINGS),
            source_machines: table!(SOURCE_MACHINES),
            pages: table!(PAGES),
            ids: table!(IDS),
            contents: table!(CONTENTS),
            derived: table!(DERIVED),
            versions: table!(VERSIONS),
            changes: table!(CHANGES),
            paths: table!(PATHS),
            files: txn.open_table(t::FILES)?,
            names: table!(NAMES),
            links_in: table!(LINKS_IN),
            broken_link_counts: table!(BROKEN),
            broken_link_totals: table!(BROKEN_SUMS),
            pending_link_checks: table!(UNCHECKED),
            tags: table!(TAGS),
            types: table!(TYPES),
            tag_counts: table!(TAG_COUNTS),
            timeline: table!(TIMELINE),
            deleted: table!(DELETED),
            captured: table!(CAPTURED),
            outbox: txn.open_table(t::OUTBOX)?,
            jobs: table!(JOBS),
            jobs_due: table!(JOBS_DUE),
            jobs_seen: table!(JOBS_SEEN),
            finished_jobs_by_expiry: table!(FINISHED_JOBS_BY_EXPIRY),
            clients: table!(CLIENTS),
            tokens: table!(TOKENS),
            audit: txn.open_table(t::AUDIT)?,
            attachments: table!(ATTACHMENTS),
            attachment_files: table!(ATTACHMENT_FILES),
            next_job,
            waiting,
            failed,
            next_id,
            seq,
            active,
            write_count: 0,
            must_flush: false,
            next_spooled_id: None,
            replica,
            machine,
            lease: None,
            leased_tasks: Vec::new(),
            spool_records: None,
            frees_space: false,
            is_bulk: false,
            needs_spooled_jobs: false,
            pending_keys_change: PendingKeysChange::default(),
            pending_keys,
            sources_changed: false,
            pending_rows: PendingRows::default(),
            link_changes: LinkChanges::default(),
            feed: Vec::new(),
        })
    }

    /// Writes counters and pending rows, and returns the changes. The transaction is then complete.
    pub(super) fn finish(mut self) -> Result<CompletedDraft, StoreError> {
        self.insert_pending_rows()?;
        for (key, number) in [
            (t::META_NEXT_ID, self.next_id),
            (t::META_SEQ, self.seq),
            (t::META_ACTIVE, self.active),
            (t::META_NEXT_JOB, self.next_job),
            (t::META_WAITING, self.waiting),
            (t::META_FAILED, self.failed),
        ] {
            // Only changed numbers are inserted: a shared store sends each inserted row to the log.
            if self.meta.get(key)?.map(|guard| guard.value()) != Some(number) {
                self.meta.insert(key, number)?;
            }
        }
        let (lease, replica) = (self.lease, self.replica);
        let leased_tasks = std::mem::take(&mut self.leased_tasks);
        let feed = std::mem::take(&mut self.feed);
        let pending_keys_change = std::mem::take(&mut self.pending_keys_change);
        let sources_changed = self.sources_changed;
        Ok(CompletedDraft {
            changes: feed,
            pending_keys_change,
            sources_changed,
            lease,
            leased_tasks,
            for_log: replica.map(|replica| (replica, self.into_row_changes())),
        })
    }

    /// Collects the lookup rows of a page. They are inserted by [`Draft::finish`], or earlier if
    /// the page's rows are removed.
    pub(super) fn insert_derived(
        &mut self,
        source: &SourceId,
        page: &PageRecord,
        derived: &DerivedRows,
    ) {
        let (source, pending_rows, id) = (source.as_str(), &mut self.pending_rows, page.id);
        pending_rows.pages.insert(id);
        let row = |of: &str, key: &str, number: u64| (of.to_owned(), key.to_owned(), number);
        pending_rows.names.extend(derived.names.iter().map(|name| row(source, name, id)));
        let dated = |label: &str| (source.to_owned(), label.to_owned(), page.updated_at, id);
        for tag in page.labels() {
            pending_rows.tags.push(dated(tag));
            *pending_rows.tag_counts.entry((source.to_owned(), tag.to_owned())).or_default() += 1;
        }
        pending_rows.types.push(dated(&page.page_type));
        let links = derived.link_rows(source).into_iter();
        pending_rows.links_in.extend(links.map(|(to, key)| (to, key, id)));
        let dates = derived.timeline.iter().map(|entry| entry.date.clone());
        pending_rows.timeline.extend((0..).zip(dates).map(|(i, date)| (date, id, i)));
    }

    /// Removes the page's lookup rows before the page changes.
    pub(super) fn remove_derived(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        page: &PageRecord,
    ) -> Result<(), StoreError> {
        let id = page.id;
        if self.pending_rows.pages.contains(&id) {
            self.insert_pending_rows()?;
        }
        let derived = self.derived_of(id)?;
        self.record_removed_names(source, slug, id, &derived.names)?;
        let source = source.as_str();
        for name in &derived.names {
            self.names.remove((source, name.as_str(), id))?;
        }
        for tag in page.labels() {
            self.tags.remove((source, tag, page.updated_at, id))?;
            *self
                .pending_rows
                .tag_counts
                .entry((source.to_owned(), tag.to_owned()))
                .or_default() -= 1;
        }
        self.types.remove((source, page.page_type.as_str(), page.updated_at, id))?;
        for (i, entry) in (0_u32..).zip(&derived.timeline) {
            self.timeline.remove((entry.date.as_str(), id, i))?;
        }
        for (to, key) in derived.link_rows(source) {
            self.links_in.remove((to.as_str(), key.as_str(), id))?;
        }
        Ok(())
    }

    /// Inserts the collected rows.
    pub(super) fn insert_pending_rows(&mut self) -> Result<(), StoreError> {
        let PendingRows { names, links_in, tags, types, tag_counts, mut timeline, .. } =
            std::mem::take(&mut self.pending_rows);
        for (table, mut rows) in [(&mut self.names, names), (&mut self.links_in, links_in)] {
            insert_in_order(table, &mut rows)?;
        }
        for (table, mut rows) in [(&mut self.tags, tags), (&mut self.types, types)] {
            insert_labels(table, &mut rows)?;
        }
        add_to_counts(&mut self.tag_counts, tag_counts)?;
        timeline.sort_unstable();
        for (date, id, position) in &timeline {
            self.timeline.insert((date.as_str(), *id, *position), ())?;
        }
        self.insert_link_changes()
    }

    /// Marks the task as part of a bulk write, such as an import, that is acknowledged at its end.
    /// Consumers of changes can process its changes later.
    pub fn mark_as_bulk(&mut self) {
        self.is_bulk = true;
    }

    pub(super) fn set_meta(&mut self, key: &'static str, value: u64) -> Result<(), StoreError> {
        match t::SHARED_META.contains(&key) {
            true => _ = self.meta.insert(key, value)?,
            false => self.meta.insert_unrecorded(key, value)?,
        }
        Ok(())
    }

    pub(super) fn remove_meta(&mut self, key: &'static str) -> Result<(), StoreError> {
        self.meta.remove_unrecorded(key)?;
        Ok(())
    }

    /// Adds a page's new state to the changes.
    pub(super) fn add_change(&mut self, id: u64, page: Option<ChangedPage>) {
        self.feed.push(Change {
            seq: self.seq,
            id,
            page: page.map(Arc::new),
            is_bulk: self.is_bulk,
        });
    }

    /// Returns the page, deleted or not.
    pub fn page(&self, source: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError> {
        read(
            self.pages
                .get((source.as_str(), slug.as_str()))?
                .as_ref()
                .map(redb::AccessGuard::value),
        )
    }

    /// Returns the page's text after comparing it with the content hash.
    ///
    /// # Errors
    /// [`StoreError::DamagedText`] when the text is missing, cannot be decoded or does not match;
    /// errors of the disk.
    pub fn content(&self, record: &PageRecord) -> Result<Content, StoreError> {
        let read_checked = || {
            let found: Option<Content> =
                read(self.contents.get(record.id)?.as_ref().map(redb::AccessGuard::value))?;
            let content = found.ok_or_else(|| StoreError::damaged("it has no text"))?;
            check_text(record, &content).map_err(StoreError::damaged)?;
            Ok(content)
        };
        read_checked().map_err(|error| match error {
            StoreError::Damaged(problem) => {
                StoreError::DamagedText { path: record.source_path.clone(), problem }
            }
            other => other,
        })
    }

    /// Returns the digest of the file that brain wrote for the page; `None` when the page is
    /// damaged.
    pub(super) fn own_digest(&self, record: &PageRecord) -> Result<Option<Hash>, StoreError> {
        let content = unless_damaged(self.content(record))?;
        Ok(content.map(|content| page::file_hash(&content.frontmatter, &content.body)))
    }

    /// Returns a former version of a page.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the version is damaged; errors of the disk.
    pub fn version(&self, id: u64, version: u32) -> Result<Option<VersionRecord>, StoreError> {
        let former: Option<VersionRecord> =
            read(self.versions.get((id, version))?.as_ref().map(redb::AccessGuard::value))?;
        if let Some(former) = &former {
            check_version(former, id, version).map_err(StoreError::damaged)?;
        }
        Ok(former)
    }

    /// Removes the page's outbox row if it belongs to the change `seq`: its file is written, or has
    /// a newer text.
    pub fn remove_outbox_row(&mut self, id: u64, seq: u64) -> Result<(), StoreError> {
        if self.outbox_row(id)?.is_some_and(|row| row.seq == seq) {
            self.write_count += 1;
            self.outbox.remove(id)?;
        }
        Ok(())
    }

    /// Returns the page's outbox row.
    pub fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError> {
        read(self.outbox.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    /// Returns the derived rows of a page; none if the page has no row of them.
    pub(super) fn derived_of(&self, id: u64) -> Result<DerivedRows, StoreError> {
        Ok(read(self.derived.get(id)?.as_ref().map(redb::AccessGuard::value))?.unwrap_or_default())
    }
}

/// Rows of a lookup table: source, key, page id.
pub(super) type Rows = Vec<(String, String, u64)>;

/// Rows of a table of tags or types; see [`LabelKey`].
pub(super) type DatedRows = Vec<(String, String, i64, u64)>;

/// Inserts rows in sorted order.
pub(super) fn insert_in_order(
    table: &mut RowTable<'_, (&'static str, &'static str, u64), ()>,
    rows: &mut Rows,
) -> Result<(), StoreError> {
    rows.sort_unstable();
    for (source, key, id) in rows.drain(..) {
        table.insert((source.as_str(), key.as_str(), id), ())?;
    }
    Ok(())
}

/// Inserts rows of tags or types in sorted order.
pub(super) fn insert_labels(
    table: &mut RowTable<'_, LabelKey, ()>,
    rows: &mut DatedRows,
) -> Result<(), StoreError> {
    rows.sort_unstable();
    for (source, label, at, id) in rows.drain(..) {
        table.insert((source.as_str(), label.as_str(), at, id), ())?;
    }
    Ok(())
}

/// Adds `changes` to counts by source and key, such as pages by tag. Removes counts of zero.
pub(super) fn add_to_counts(
    table: &mut RowTable<'_, Pair, u64>,
    changes: BTreeMap<(String, String), i64>,
) -> Result<(), StoreError> {
    for ((source, key), change) in changes.into_iter().filter(|(_, change)| *change != 0) {
        let key = (source.as_str(), key.as_str());
        let before = table.get(key)?.map_or(0, |guard| guard.value());
        match before.saturating_add_signed(change) {
            0 => _ = table.remove(key)?,
            now => _ = table.insert(key, now)?,
        }
    }
    Ok(())
}
