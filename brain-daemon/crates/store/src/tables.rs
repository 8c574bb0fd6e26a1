//! The names and types of redb's tables. Derived tables begin with what they are looked up by.

use redb::TableDefinition;

/// Numbers about the store itself; see the constants below.
pub(super) const META: TableDefinition<'static, &str, u64> = TableDefinition::new("meta");
/// Source id → [`super::SourceRecord`].
pub(super) const SOURCES: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("sources");
/// (source, slug) → [`super::PageRecord`].
pub(super) const PAGES: TableDefinition<'static, (&str, &str), &[u8]> =
    TableDefinition::new("pages");
/// Page id → (source, slug).
pub(super) const IDS: TableDefinition<'static, u64, (&str, &str)> = TableDefinition::new("ids");
/// Page id → [`super::Content`].
pub(super) const CONTENTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("contents");
/// Page id → [`super::Derived`]. A deleted page keeps its row and loses what the row
/// stands for in the tables below.
pub(super) const DERIVED: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("derived");
/// (page id, version) → [`super::VersionRecord`].
pub(super) const VERSIONS: TableDefinition<'static, (u64, u32), &[u8]> =
    TableDefinition::new("versions");
/// Sequence number → page id. One row a page, at its last change; a purged page keeps its row.
pub(super) const CHANGES: TableDefinition<'static, u64, u64> = TableDefinition::new("changes");
/// (source, path) → page id.
pub(super) const PATHS: TableDefinition<'static, (&str, &str), u64> = TableDefinition::new("paths");
/// (source, path) → [`super::FileRecord`]. Schema 82.
pub(super) const FILES: TableDefinition<'static, (&str, &str), &[u8]> =
    TableDefinition::new("files");
/// (source, name, page id).
pub(super) const NAMES: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("names");
/// (source, key, page id that links): see [`super::Derived::link_rows`]. Other keys before schema 84.
pub(super) const LINKS_IN: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("links_in");
/// (source, slug) → how many links of an active page lead nowhere, to several pages, and to another source, as of the
/// last check; see [`super::link_check`]. No row when none does.
pub(super) const BROKEN: TableDefinition<'static, (&str, &str), (u32, u32, u32)> =
    TableDefinition::new("broken_links");
/// (source, `missing`, `ambiguous` or `abroad`) → the sum of these numbers in [`BROKEN`], if any.
pub(super) const BROKEN_SUMS: TableDefinition<'static, (&str, &str), u64> =
    TableDefinition::new("broken_link_sums");
/// What was changed since the last check of links → the last such change's sequence number. (source, key as in
/// [`LINKS_IN`], 0) is a name or slug that appeared or vanished, ("", "", page id) a page whose links are new.
pub(super) const UNCHECKED: TableDefinition<'static, (&str, &str, u64), u64> =
    TableDefinition::new("unchecked_links");
/// (source, tag, sequence number of the page's last change). Page ids instead before schema 85.
pub(super) const TAGS: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("tags");
/// (source, page type, sequence number of the page's last change). Schema 85.
pub(super) const TYPES: TableDefinition<'static, (&str, &str, u64), ()> =
    TableDefinition::new("types");
/// (source, tag) → how many rows [`TAGS`] has for it, if any. Schema 85.
pub(super) const TAG_COUNTS: TableDefinition<'static, (&str, &str), u64> =
    TableDefinition::new("tag_counts");
/// (date, page id, position in the page).
pub(super) const TIMELINE: TableDefinition<'static, (&str, u64, u32), ()> =
    TableDefinition::new("timeline");
/// (deleted at in Unix milliseconds, page id).
pub(super) const DELETED: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("deleted");
/// (when its body came in, page id) of captured pages: the 24 hours of the duplicate check.
pub(super) const CAPTURED: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("captured");
/// Page id → [`super::OutboxRow`].
pub(super) const OUTBOX: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("outbox");

/// Job number → [`super::JobRecord`]. Schema 83, as what follows.
pub(super) const JOBS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("jobs");
/// (when it is due in Unix milliseconds, job number) of items that wait to be made pages.
pub(super) const JOBS_DUE: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("jobs_due");
/// SHA-256 of what makes two items one → job number: it only points, the job itself decides.
pub(super) const JOBS_SEEN: TableDefinition<'static, &[u8; 32], u64> =
    TableDefinition::new("jobs_seen");
/// (when it may be forgotten in Unix milliseconds, job number).
pub(super) const JOBS_OVER: TableDefinition<'static, (i64, u64), ()> =
    TableDefinition::new("jobs_over");
/// Client id → [`super::ClientRecord`].
pub(super) const CLIENTS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("clients");
/// SHA-256 of a token → [`super::TokenRecord`].
pub(super) const TOKENS: TableDefinition<'static, &[u8; 32], &[u8]> =
    TableDefinition::new("tokens");
/// (when in Unix milliseconds, number) → [`super::AuditPage`].
pub(super) const AUDIT: TableDefinition<'static, (i64, u64), &[u8]> = TableDefinition::new("audit");

/// Calls `$each!(TABLE, …)` with every table there is: what copies a store must not forget one.
macro_rules! every_table {
    ($each:ident) => {
        $each!(
            META,
            SOURCES,
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
            JOBS_OVER,
            CLIENTS,
            TOKENS,
            AUDIT
        )
    };
}
pub(super) use every_table;

/// The schema's number.
pub(super) const META_SCHEMA: &str = "schema";
/// The id of the next page.
pub(super) const META_NEXT_ID: &str = "next_id";
/// The last sequence number.
pub(super) const META_SEQ: &str = "seq";
/// The number of the next job.
pub(super) const META_NEXT_JOB: &str = "next_job";
/// Items that wait to be made pages.
pub(super) const META_WAITING: &str = "jobs_waiting";
/// Items that failed for good and are kept.
pub(super) const META_FAILED: &str = "jobs_failed";
/// Active pages.
pub(super) const META_ACTIVE: &str = "active";
/// The links of pages with ids from this one on were never checked.
pub(super) const META_LINKS_CHECKED: &str = "links_checked";
/// No link was ever checked without the pages with ids below this one.
pub(super) const META_LINKS_KNOWN: &str = "links_known";
/// Random, made with the store: what is derived from it carries it.
pub(super) const META_STORE_ID: &str = "store_id";
/// Set where a repair found nothing in a store that pages lie beside: it stays refused.
pub(super) const META_LOST: &str = "lost_in_repair";
/// In a backup: when it was made, Unix milliseconds.
pub(super) const META_MADE_AT: &str = "backup_made_at";
/// The room that the file takes on the disk, in bytes, up to which a start need not count what is
/// in use.
pub(super) const META_NEXT_LOOK: &str = "next_look";
/// How many texts there were when that was counted last.
pub(super) const META_TEXTS_LOOKED: &str = "texts_looked";
