//! A write transaction with its tables open, shared by the tasks of a batch.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use brain_protocol::{Slug, SourceId};
use redb::{ReadableTable, Table, WriteTransaction};

use super::act::Act;
use super::change::{Change, ChangedPage};
use super::counters::StoreCounters;
use super::error::unless_damaged;
use super::link_changes::LinkChanges;
use super::pending_keys::{PendingKeys, PendingKeysChange};
use super::record::{
    Content, DerivedRows, Hash, OutboxRow, PageRecord, VersionRecord, check_text, check_version,
    read,
};
use super::replica::{ReplicaPlace, RowChanges, read_id};
use super::row_table::RowTable;
use super::{StoreError, tables as t};

/// A key of two texts: the source, then a slug, a path or a tag.
type TextPair = (&'static str, &'static str);
/// A key of the tables of tags and types: source, label, time of the last change, page id.
pub(super) type LabelKey = (&'static str, &'static str, i64, u64);

/// The tables of one write transaction. Later tasks of the batch see its writes at once; readers
/// see them after the commit.
pub struct Transaction<'t> {
    pub(super) meta: RowTable<'t, &'static str, u64>,
    pub(super) sources: RowTable<'t, &'static str, &'static [u8]>,
    pub(super) source_settings: RowTable<'t, &'static str, &'static [u8]>,
    pub(super) source_machines: RowTable<'t, &'static str, (u64, u64)>,
    pub(super) pages: RowTable<'t, TextPair, &'static [u8]>,
    pub(super) ids: RowTable<'t, u64, TextPair>,
    pub(super) contents: RowTable<'t, u64, &'static [u8]>,
    pub(super) derived: RowTable<'t, u64, &'static [u8]>,
    pub(super) versions: RowTable<'t, (u64, u32), &'static [u8]>,
    pub(super) changes: RowTable<'t, u64, u64>,
    pub(super) paths: RowTable<'t, TextPair, u64>,
    pub(super) files: Table<'t, TextPair, &'static [u8]>,
    pub(super) names: RowTable<'t, (&'static str, &'static str, u64), ()>,
    pub(super) links_in: RowTable<'t, (&'static str, &'static str, u64), ()>,
    pub(super) broken_link_counts: RowTable<'t, TextPair, (u32, u32, u32)>,
    pub(super) broken_link_totals: RowTable<'t, TextPair, u64>,
    pub(super) pending_link_checks: RowTable<'t, (&'static str, &'static str, u64), u64>,
    pub(super) tags: RowTable<'t, LabelKey, ()>,
    pub(super) types: RowTable<'t, LabelKey, ()>,
    pub(super) tag_counts: RowTable<'t, TextPair, u64>,
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
    pub(super) seen: RowTable<'t, u64, &'static [u8]>,
    pub(super) left: RowTable<'t, u64, &'static [u8]>,
    pub(super) attachments: RowTable<'t, (u64, &'static str), &'static [u8]>,
    pub(super) attachment_files: RowTable<'t, (&'static [u8; 32], u64, &'static str), ()>,
    pub(super) steps: RowTable<'t, u64, &'static [u8]>,
    pub(super) made_from: RowTable<'t, (u64, u64), u64>,
    pub(super) undone: RowTable<'t, u64, &'static [u8]>,
    pub(super) citations: RowTable<'t, (u64, u32), &'static [u8]>,
    pub(super) recall: RowTable<'t, u64, &'static [u8]>,
    pub(super) settled: RowTable<'t, &'static str, &'static [u8]>,
    pub(super) counters: StoreCounters,
    /// Number of writes, to tell whether a failed task has written.
    pub(super) write_count: u64,
    /// Whether to commit even if the batch only removes outbox rows.
    pub(super) must_flush: bool,
    /// Number of the next job while the log does not answer; see [`ReplicaPlace::spooled_id`].
    pub(super) next_spooled_id: Option<u64>,
    /// The store's place in the log; `None` if it is not shared.
    pub(super) replica: Option<ReplicaPlace>,
    /// The id of this machine, if the store is or was shared.
    pub(super) machine: Option<u128>,
    /// How far this machine's clock is ahead of that of the log's server, in milliseconds.
    pub(super) clock_ahead: i64,
    /// Bytes of the added jobs, for the spool; `None` when they are not spooled.
    pub(super) spool_records: Option<Vec<Vec<u8>>>,
    /// What the current task said about itself.
    pub(super) task: TaskNeeds,
    pub(super) pending_keys: &'t PendingKeys,
    /// Rows to insert at the end.
    pending_rows: PendingRows,
    pub(super) link_changes: LinkChanges,
    /// Results so far.
    pub(super) effects: Effects,
}

/// What a task says about itself while it runs.
#[derive(Default)]
pub(super) struct TaskNeeds {
    /// Whether it frees space, so that it runs on a full disk.
    pub(super) frees_space: bool,
    /// Whether its changes are acknowledged later.
    pub(super) is_bulk: bool,
    /// Whether it needs the spool's jobs in the store.
    pub(super) needs_spooled_jobs: bool,
    /// Who changes pages.
    pub(super) act: Act,
    /// The number of the first step of this write.
    pub(super) first_step: Option<u64>,
}

/// Results of a transaction, to apply after its commit.
#[derive(Default)]
pub(super) struct Effects {
    /// The lease that the changes need.
    pub(super) lease: Option<&'static str>,
    /// The indexes of the tasks that need the lease.
    pub(super) leased_tasks: Vec<usize>,
    /// Changes to `pending_keys`.
    pub(super) pending_keys_change: PendingKeysChange,
    /// Whether a source was added, removed or changed.
    pub(super) sources_changed: bool,
    /// Changes of pages, in order.
    feed: Vec<Change>,
}

/// Results of a complete transaction, to apply after its commit.
pub(super) struct CompletedTransaction {
    /// The changes, in order.
    pub(super) changes: Vec<Change>,
    pub(super) pending_keys_change: PendingKeysChange,
    pub(super) sources_changed: bool,
    /// The lease that the changes need.
    pub(super) lease: Option<&'static str>,
    /// The indexes of the tasks that need the lease.
    pub(super) leased_tasks: Vec<usize>,
    /// The changes for the log, and the store's place in it; `None` if the store is not shared.
    pub(super) for_log: Option<(ReplicaPlace, RowChanges)>,
}

/// Lookup rows of the written pages, inserted sorted at the end: sorted rows share leaves.
#[derive(Default)]
struct PendingRows {
    pages: HashSet<u64>,
    names: LookupRows,
    links_in: LookupRows,
    tags: DatedRows,
    types: DatedRows,
    /// Change in the number of pages by source and tag.
    tag_counts: BTreeMap<(String, String), i64>,
    timeline: Vec<(String, u64, u32)>,
}

impl<'t> Transaction<'t> {
    /// Opens all tables; creates them in a new store.
    #[allow(clippy::too_many_lines, reason = "one line a table")]
    pub(super) fn open(
        txn: &'t WriteTransaction,
        pending_keys: &'t PendingKeys,
    ) -> Result<Self, StoreError> {
        let mut meta = RowTable::new(txn.open_table(t::META)?, false);
        let replica = ReplicaPlace::read(&*meta)?;
        let machine = read_id(&*meta, t::META_MACHINE)?;
        let is_shared = replica.is_some();
        meta.record(is_shared);
        let counters = StoreCounters::read(&*meta)?;
        Ok(Self {
            meta,
            sources: RowTable::open(txn, t::SOURCES, is_shared)?,
            source_settings: RowTable::open(txn, t::SOURCE_SETTINGS, is_shared)?,
            source_machines: RowTable::open(txn, t::SOURCE_MACHINES, is_shared)?,
            pages: RowTable::open(txn, t::PAGES, is_shared)?,
            ids: RowTable::open(txn, t::IDS, is_shared)?,
            contents: RowTable::open(txn, t::CONTENTS, is_shared)?,
            derived: RowTable::open(txn, t::DERIVED, is_shared)?,
            versions: RowTable::open(txn, t::VERSIONS, is_shared)?,
            changes: RowTable::open(txn, t::CHANGES, is_shared)?,
            paths: RowTable::open(txn, t::PATHS, is_shared)?,
            files: txn.open_table(t::FILES)?,
            names: RowTable::open(txn, t::NAMES, is_shared)?,
            links_in: RowTable::open(txn, t::LINKS_IN, is_shared)?,
            broken_link_counts: RowTable::open(txn, t::BROKEN, is_shared)?,
            broken_link_totals: RowTable::open(txn, t::BROKEN_SUMS, is_shared)?,
            pending_link_checks: RowTable::open(txn, t::UNCHECKED, is_shared)?,
            tags: RowTable::open(txn, t::TAGS, is_shared)?,
            types: RowTable::open(txn, t::TYPES, is_shared)?,
            tag_counts: RowTable::open(txn, t::TAG_COUNTS, is_shared)?,
            timeline: RowTable::open(txn, t::TIMELINE, is_shared)?,
            deleted: RowTable::open(txn, t::DELETED, is_shared)?,
            captured: RowTable::open(txn, t::CAPTURED, is_shared)?,
            outbox: txn.open_table(t::OUTBOX)?,
            jobs: RowTable::open(txn, t::JOBS, is_shared)?,
            jobs_due: RowTable::open(txn, t::JOBS_DUE, is_shared)?,
            jobs_seen: RowTable::open(txn, t::JOBS_SEEN, is_shared)?,
            finished_jobs_by_expiry: RowTable::open(txn, t::FINISHED_JOBS_BY_EXPIRY, is_shared)?,
            clients: RowTable::open(txn, t::CLIENTS, is_shared)?,
            tokens: RowTable::open(txn, t::TOKENS, is_shared)?,
            audit: txn.open_table(t::AUDIT)?,
            seen: RowTable::open(txn, t::SEEN, is_shared)?,
            left: RowTable::open(txn, t::LEFT, is_shared)?,
            attachments: RowTable::open(txn, t::ATTACHMENTS, is_shared)?,
            attachment_files: RowTable::open(txn, t::ATTACHMENT_FILES, is_shared)?,
            steps: RowTable::open(txn, t::STEPS, is_shared)?,
            made_from: RowTable::open(txn, t::MADE_FROM, is_shared)?,
            undone: RowTable::open(txn, t::UNDONE, is_shared)?,
            citations: RowTable::open(txn, t::CITATIONS, is_shared)?,
            recall: RowTable::open(txn, t::RECALL, is_shared)?,
            settled: RowTable::open(txn, t::SETTLED, is_shared)?,
            counters,
            write_count: 0,
            must_flush: false,
            next_spooled_id: None,
            replica,
            machine,
            clock_ahead: 0,
            spool_records: None,
            task: TaskNeeds::default(),
            pending_keys,
            pending_rows: PendingRows::default(),
            link_changes: LinkChanges::default(),
            effects: Effects::default(),
        })
    }

    /// Writes counters and pending rows, and returns the changes. The transaction is then complete.
    pub(super) fn finish(mut self) -> Result<CompletedTransaction, StoreError> {
        self.insert_pending_rows()?;
        self.counters.write(&mut self.meta)?;
        let effects = std::mem::take(&mut self.effects);
        let replica = self.replica;
        Ok(CompletedTransaction {
            changes: effects.feed,
            pending_keys_change: effects.pending_keys_change,
            sources_changed: effects.sources_changed,
            lease: effects.lease,
            leased_tasks: effects.leased_tasks,
            for_log: replica.map(|replica| (replica, self.into_row_changes())),
        })
    }

    /// Collects the lookup rows of a page. They are inserted by [`Transaction::finish`], or earlier
    /// if the page's rows are removed.
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
        self.task.is_bulk = true;
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

    /// Adds a page's new state to the changes; `None` if it is deleted.
    pub(super) fn add_change(&mut self, id: u64, page: Option<ChangedPage>) {
        self.effects.feed.push(Change {
            seq: self.counters.seq,
            id,
            page: page.map(Arc::new),
            is_bulk: self.task.is_bulk,
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
        Ok(content.map(|content| content.file_hash()))
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
pub(super) type LookupRows = Vec<(String, String, u64)>;

/// Rows of a table of tags or types; see [`LabelKey`].
pub(super) type DatedRows = Vec<(String, String, i64, u64)>;

/// Inserts rows in sorted order.
pub(super) fn insert_in_order(
    table: &mut RowTable<'_, (&'static str, &'static str, u64), ()>,
    rows: &mut LookupRows,
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
    table: &mut RowTable<'_, TextPair, u64>,
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
