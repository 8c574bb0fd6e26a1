//! Names and types of redb's tables. Keys of derived tables begin with the lookup value.

use brain_protocol::SourceId;
use redb::TableDefinition;

/// Numbers about the store itself; see the constants below.
pub(super) const META: TableDefinition<'static, &str, u64> = TableDefinition::new("meta");
/// Source id → [`super::SourceRecord`].
pub(super) const SOURCES: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("sources");
/// Source id → [`super::SourceSettingsRecord`], unless they are the default. Schema 86.
pub(super) const SOURCE_SETTINGS: TableDefinition<'static, &str, &[u8]> =
    TableDefinition::new("source_settings");
/// (source, slug) → [`super::PageRecord`].
pub(super) const PAGES: TableDefinition<'static, (&str, &str), &[u8]> =
    TableDefinition::new("pages");
/// Page id → (source, slug).
pub(super) const IDS: TableDefinition<'static, u64, (&str, &str)> = TableDefinition::new("ids");
/// Page id → [`super::Content`].
pub(super) const CONTENTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("contents");
/// Page id → [`super::DerivedRows`]. A deleted page keeps this row, but loses its rows in
/// [`NAMES`], [`LINKS_IN`], [`TAGS`], [`TYPES`] and [`TIMELINE`].
pub(super) const DERIVED: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("derived");
/// (page id, version) → [`super::VersionRecord`].
pub(super) const VERSIONS: TableDefinition<'static, (u64, u32), &[u8]> =
    TableDefinition::new("versions");
/// Sequence number → page id. One row a page, at its last change; a purged page keeps its row.
pub(super) const CHANGES: TableDefinition<'static, u64, u64> = TableDefinition::new("changes");
/// (source, path) → page id.
pub(super) const PATHS: TableDefinition<'static, (&str, &str), u64> = TableDefinition::new("paths");
/// Source id → the machine that has the source's directory: its id as two numbers. Only in stores
/// of a shared brain, and only for sources with a directory. Schema 89.
pub(super) const SOURCE_MACHINES: TableDefinition<'static, &str, (u64, u64)> =
    TableDefinition::new("source_machines");
/// (source, path) → [`super::FileRecord`]. Schema 82.
pub(super) const FILES: TableDefinition<'static, (&str, &str), &[u8]> =
    TableDefinition::new("files");
/// (source, name, page id).
pub(super) const NAMES: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("names");
/// (source, key, page id that links): see [`super::DerivedRows::link_rows`]. For a link from another
/// source, the first part names both; see [`link_source`]. So a reader that does not see that
/// source does not read the row, and its time tells nothing. Other keys before schemas 84 and 90.
pub(super) const LINKS_IN: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("links_in");
/// Returns the first part of the keys in [`LINKS_IN`] of links from pages of the source `from` to
/// pages of the source `to`.
pub(super) fn link_source(to: &str, from: &str) -> String {
    // No source has a space in its id.
    if to == from { to.to_owned() } else { format!("{to} {from}") }
}

/// (source, slug) → number of an active page's links that lead to no page, to several, and to
/// another source, as of the last check; see [`super::link_check`]. No row for zeros.
pub(super) const BROKEN: TableDefinition<'static, (&str, &str), (u32, u32, u32)> =
    TableDefinition::new("broken_links");
/// (source, `missing`, `ambiguous` or `abroad`) → sum of these numbers in [`BROKEN`], unless zero.
pub(super) const BROKEN_SUMS: TableDefinition<'static, (&str, &str), u64> =
    TableDefinition::new("broken_link_sums");
/// Changes since the last check of links → sequence number of the change. (source, key as in
/// [`LINKS_IN`], 0): a name or slug that appeared or disappeared. ("", "", page id): a page with
/// new links.
pub(super) const UNCHECKED: TableDefinition<'static, (&str, &str, u64), u64> =
    TableDefinition::new("unchecked_links");
/// (source, tag, last change of the page's text in Unix milliseconds, page id). Schema 87.
pub(super) const TAGS: TableDefinition<'static, (&str, &str, i64, u64), ()> =
    TableDefinition::new("tags_by_date");
/// A label in [`TAGS`] for every active page; no tag is empty. Its rows list the pages of a source
/// by date, and its row in [`TAG_COUNTS`] counts them. Schema 87.
pub(super) const EVERY_PAGE: &str = "";
/// (source, page type, last change of the page's text in Unix milliseconds, page id). Schema 87.
pub(super) const TYPES: TableDefinition<'static, (&str, &str, i64, u64), ()> =
    TableDefinition::new("types_by_date");
/// (source, tag, sequence number of the page's last change) up to schema 86. Page ids instead
/// before schema 85.
pub(super) const TAGS_86: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("tags");
/// (source, page type, sequence number of the page's last change) in schemas 85 and 86.
pub(super) const TYPES_86: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("types");
/// (source, tag) → number of rows in [`TAGS`], unless zero. Schema 85.
pub(super) const TAG_COUNTS: TableDefinition<'static, (&str, &str), u64> =
    TableDefinition::new("tag_counts");
/// (date, page id, position in the page).
pub(super) const TIMELINE: TableDefinition<'static, (&str, u64, u32), ()> =
    TableDefinition::new("timeline");
/// (deleted at in Unix milliseconds, page id).
pub(super) const DELETED: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("deleted");
/// (arrival of the body in Unix milliseconds, page id) of captured pages, for the duplicate check.
pub(super) const CAPTURED: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("captured");
/// Page id → [`super::OutboxRow`].
pub(super) const OUTBOX: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("outbox");

/// (page id, name) → [`super::AttachmentRecord`]. This table and the next two: schema 88.
pub(super) const ATTACHMENTS: TableDefinition<'static, (u64, &str), &[u8]> =
    TableDefinition::new("attachments");
/// (SHA-256 of the file, page id, name) of the rows of [`ATTACHMENTS`].
pub(super) const ATTACHMENT_FILES: TableDefinition<'static, (&[u8; 32], u64, &str), ()> =
    TableDefinition::new("attachment_files");
/// (SHA-256 of the file, number of the part) → bytes of the file. Only in backups, and in a
/// restored store until its first start has written the files.
pub(super) const ATTACHMENT_PARTS: TableDefinition<'static, (&[u8; 32], u32), &[u8]> =
    TableDefinition::new("attachment_parts");

/// Job number → [`super::JobRecord`]. This table and those below: schema 83.
pub(super) const JOBS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("jobs");
/// (due time in Unix milliseconds, job number) of waiting ingest jobs.
pub(super) const JOBS_DUE: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("jobs_due");
/// SHA-256 of a duplicate key → job number. The job itself decides whether it still counts.
pub(super) const JOBS_SEEN: TableDefinition<'static, &[u8; 32], u64> =
    TableDefinition::new("jobs_seen");
/// (expiry time in Unix milliseconds, job number) of finished jobs.
pub(super) const FINISHED_JOBS_BY_EXPIRY: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("jobs_over");
/// Client id → [`super::ClientRecord`].
pub(super) const CLIENTS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("clients");
/// SHA-256 of a token → [`super::TokenRecord`].
pub(super) const TOKENS: TableDefinition<'static, &[u8; 32], &[u8]> =
    TableDefinition::new("tokens");
/// (time in Unix milliseconds, number) → [`super::record::AuditPage`].
pub(super) const AUDIT: TableDefinition<'static, (i64, u64), &[u8]> = TableDefinition::new("audit");

/// Change number → [`super::StepRecord`]. This table and the next one: schema 91.
pub(super) const STEPS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("steps");
/// (page id, id of a page that was made from it) → the last step that did so.
pub(super) const MADE_FROM: TableDefinition<'static, (u64, u64), u64> =
    TableDefinition::new("made_from");
/// Number of a step, or of an undo or redo → [`super::UndoneRecord`]. Schema 91.
pub(super) const UNDONE: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("undone");
/// Id by time (see [`super::ledger_id`]) → [`super::SeenRecord`]: calls of AI clients. Schema 91.
pub(super) const SEEN: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("seen");
/// Id by time → [`super::LeftRecord`]: requests that left a machine. Schema 91.
pub(super) const LEFT: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("left");

/// (page id of a saved answer, number) → [`super::CitationRecord`]. This table and the next two:
/// schema 91.
pub(super) const CITATIONS: TableDefinition<'static, (u64, u32), &[u8]> =
    TableDefinition::new("citations");
/// Number → [`super::RecallRecord`].
pub(super) const RECALL: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("recall");
/// Key of a contradiction → [`super::SettledRecord`].
pub(super) const SETTLED: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("settled");

/// Calls `$each!(TABLE, …)` with every table, so that a copy of a store forgets none.
macro_rules! every_table {
    ($each:ident) => {
        $each!(
            META,
            SOURCES,
            SOURCE_SETTINGS,
            SOURCE_MACHINES,
            PAGES,
            IDS,
            CONTENTS,
            DERIVED,
            VERSIONS,
            CHANGES,
            PATHS,
            FILES,
            NAMES,
            LINKS_IN,
            BROKEN,
            BROKEN_SUMS,
            UNCHECKED,
            TAGS,
            TYPES,
            TAG_COUNTS,
            TIMELINE,
            DELETED,
            CAPTURED,
            OUTBOX,
            JOBS,
            JOBS_DUE,
            JOBS_SEEN,
            FINISHED_JOBS_BY_EXPIRY,
            CLIENTS,
            TOKENS,
            AUDIT,
            SEEN,
            LEFT,
            ATTACHMENTS,
            ATTACHMENT_FILES,
            STEPS,
            MADE_FROM,
            UNDONE,
            CITATIONS,
            RECALL,
            SETTLED,
            // The last one: a backup adds its rows after those of all other tables.
            ATTACHMENT_PARTS
        )
    };
}
pub(super) use every_table;

/// Calls `$each!(number TABLE, …)` with the tables that all machines of a shared brain have. The
/// others belong to one machine: its files ([`FILES`], [`OUTBOX`]) and its network calls
/// ([`AUDIT`]). The numbers are part of the log's format and never change.
macro_rules! every_shared_table {
    ($each:ident) => {
        $each!(
            1 META, 2 SOURCES, 3 SOURCE_SETTINGS, 4 SOURCE_MACHINES, 5 PAGES, 6 IDS, 7 CONTENTS,
            8 DERIVED, 9 VERSIONS, 10 CHANGES, 11 PATHS, 12 NAMES, 13 LINKS_IN, 14 BROKEN,
            15 BROKEN_SUMS, 16 UNCHECKED, 17 TAGS, 18 TYPES, 19 TAG_COUNTS, 20 TIMELINE,
            21 DELETED, 22 CAPTURED, 23 ATTACHMENTS, 24 ATTACHMENT_FILES, 25 JOBS, 26 JOBS_DUE,
            27 JOBS_SEEN, 28 FINISHED_JOBS_BY_EXPIRY, 29 CLIENTS, 30 TOKENS,
            31 STEPS, 32 SEEN, 33 LEFT, 34 CITATIONS, 35 RECALL, 36 SETTLED, 37 UNDONE,
            38 MADE_FROM
        )
    };
}
pub(super) use every_shared_table;

/// Schema number.
pub(super) const META_SCHEMA: &str = "schema";
/// Id of the next page.
pub(super) const META_NEXT_ID: &str = "next_id";
/// Last sequence number.
pub(super) const META_SEQ: &str = "seq";
/// Number of the next job.
pub(super) const META_NEXT_JOB: &str = "next_job";
/// Time of this machine's last step, Unix milliseconds.
pub(super) const META_STEP_AT: &str = "step_at";
/// Number of waiting ingest jobs.
pub(super) const META_WAITING: &str = "jobs_waiting";
/// Number of failed ingest jobs that are kept.
pub(super) const META_FAILED: &str = "jobs_failed";
/// Number of active pages.
pub(super) const META_ACTIVE: &str = "active";
/// Links of pages with this id or a greater one were never checked. The key differs from
/// `links_checked` of earlier versions, which resolved links by other rules, so that every page is
/// checked once more.
pub(super) const META_LINKS_CHECKED: &str = "paths_checked";
/// No link was ever checked without the pages below this id.
pub(super) const META_LINKS_KNOWN: &str = "links_known";
/// Random id of the store. Derived data has it too, to name its store.
pub(super) const META_STORE_ID: &str = "store_id";
/// Set when a repair lost all pages of a store whose page files exist. The daemon refuses this
/// store at every later start.
pub(super) const META_LOST: &str = "lost_in_repair";
/// In a backup: its time in Unix milliseconds.
pub(super) const META_MADE_AT: &str = "backup_made_at";
/// Size on disk, in bytes, up to which a start need not measure the space in use.
pub(super) const META_NEXT_MEASUREMENT: &str = "next_look";
/// Number of texts at the last such measurement.
pub(super) const META_TEXTS_MEASURED: &str = "texts_looked";
/// The key of the numbers that restricted callers see, if it is not the store's id: all machines of
/// a shared brain have the key of the first one.
pub(super) const META_NUMBER_KEY: &str = "number_key";
/// In a shared store: number and id of the last batch of the log that the store contains. The id is
/// two numbers.
pub(super) const META_LOG_NUMBER: &str = "log_number";
pub(super) const META_LOG_ID: [&str; 2] = ["log_id_high", "log_id_low"];
/// In a shared store: id of this machine, as two numbers.
pub(super) const META_MACHINE: [&str; 2] = ["machine_high", "machine_low"];
/// In a shared store: number of the next job that this machine spools while the log is away, of
/// those that the store does not have.
pub(super) const META_NEXT_SPOOLED: &str = "next_spooled";
/// Keys of unfinished purges begin with these: of the pages, and of their attachments. See
/// [`super::unfinished_purges`]. The first one sorts before the second one.
pub(super) const META_PURGED_FILE: &str = "purged_file:";
pub(super) const META_PURGED_PAGE: &str = "purged_page:";
/// Keys of [`META`] whose values all machines of a shared brain have.
pub(super) const SHARED_META: [&str; 9] = [
    META_NEXT_ID,
    META_SEQ,
    META_NEXT_JOB,
    META_WAITING,
    META_FAILED,
    META_ACTIVE,
    META_LINKS_CHECKED,
    META_LINKS_KNOWN,
    META_NUMBER_KEY,
];

/// Returns the string that sorts directly after all keys of this source.
pub(super) fn end_of_source(source: &SourceId) -> String {
    format!("{source}\0")
}
