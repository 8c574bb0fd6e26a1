//! Persistent storage: all records in one redb file, pages as markdown files, attachments as files.
//!
//! Only this crate uses redb. It knows records and their invariants. A page, its former versions,
//! its derived rows, its sequence number and its outbox row change together or not at all. The
//! crate does not know how pages are searched or shown, or who the caller is.
//!
//! Writing: one thread owns the write transaction, and concurrent writers share a commit
//! ([`Store::write`]). Reading: short snapshots through a [`Reader`]. Only the reader decides
//! whether a caller can see a page. `docs/store.md` describes the tables.
//!
//! Every call can fail because the file cannot be read or written, or is damaged. A section on
//! errors names what a call returns besides, or what it leaves behind.

mod act;
mod apply_batches;
mod attachments;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod attachments_tests;
mod audit;
mod backup;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod backup_tests;
mod batch_receiver;
mod broken_links;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod broken_links_tests;
mod change;
mod commit;
mod commit_error;
mod compaction;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod compaction_tests;
mod copy_pages;
mod copy_store;
mod counters;
mod damage;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod damage_tests;
mod damaged_page;
mod date_migration;
mod error;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fake_log;
mod fault;
mod find_copies;
mod former_names;
mod former_records;
mod grants;
mod group_commit;
mod jobs;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod jobs_tests;
mod kept_copy;
mod ledger_records;
mod ledgers;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod ledgers_tests;
mod line_marks;
mod link_changes;
mod link_check;
mod link_keys;
mod link_target;
mod links;
mod listing;
mod meta;
mod migrate;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod migrate_tests;
mod move_page;
mod new_page;
mod open;
mod overlay;
mod packed_attachments;
mod past_pages;
mod pending_keys;
mod purge;
mod read;
mod record;
mod replica;
mod restore;
mod review_rows;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod review_tests;
mod row_table;
mod shared_commit;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod shared_history_tests;
mod shared_log;
mod shared_state;
mod shared_store;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod shared_tests;
mod shared_writer;
mod snapshot;
mod sources;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod sources_tests;
mod space_count;
mod spool;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod spool_recovery_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod spool_tests;
mod step_migration;
mod step_times;
mod steps;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod steps_tests;
mod store;
mod store_file;
mod tables;
mod temporary_file;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod title_migration;
mod toml_migration;
mod torn_store;
mod transaction;
mod undone;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod undone_tests;
mod unfinished_purges;
mod verify;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod verify_tests;
mod write_page;
mod write_task;
mod writer;

pub use act::{Act, acting, current_act};
pub use attachments::NamedAttachment;
pub use broken_links::{BrokenLinkEntry, BrokenLinkList};
pub use change::{Change, CommitHook};
pub use compaction::SpaceUsage;
pub use damaged_page::DamagedPage;
pub use error::{StoreError, StoreFailure, unless_damaged};
pub use former_names::FormerNames;
pub use grants::GrantUpdate;
pub use kept_copy::{KeptCopy, StoreState, read_kept_copy};
pub use ledger_records::{
    LeftRecord, SeenHit, SeenPageRecord, SeenRecord, SeenReplyRecord, SeenSnippet, SeenTexts,
    ledger_id, ledger_time,
};
pub use links::Resolution;
pub use listing::{DateKey, LATEST, PageLabel, date_key};
pub use meta::{FIRST_SCHEMA, SCHEMA};
pub use new_page::{FilePlan, LineChange, NewPage};
pub use past_pages::PastPage;
pub use read::{Counts, PageEntry, PathRow, Reader};
pub use record::{
    Actor, AttachmentRecord, AuditRecord, Author, CitationRecord, ClientRecord, Content,
    DerivedRows, FileRecord, FileState, Hash, JobKind, JobOptions, JobRecord, LineMark, LinkRecord,
    Origin, OutboxRow, PageRecord, Provenance, RecallRecord, SettledRecord, SourceRecord,
    SourceSettingsRecord, StepHead, StepKind, StepRecord, SyncResult, TokenRecord, UndoAct,
    UndoneRecord, VersionRecord, purged_name,
};
pub use replica::{MAX_SHARED_ATTACHMENT, waited_for_log};
pub use restore::{restore, restore_replica};
pub use shared_log::{AppendResult, FollowResult, LogBatch, LogPosition, RemoteChanges, SharedLog};
pub use shared_state::Sources;
pub use space_count::SpaceCount;
pub use spool::{spool_path, spooled_jobs};
pub use steps::{HistorySize, LastHolder};
pub use store::{ReaderFactory, Store};
pub use store_file::{StoreOptions, create as create_store};
pub use temporary_file::sweep_unfinished;
pub use torn_store::{check_not_torn, is_closed};
pub use transaction::Transaction;
pub use unfinished_purges::{PurgeName, UnfinishedPurges};
pub use verify::{VerifyReport, store_id, verify};
pub use write_page::WrittenPage;

/// How long a soft-deleted page can be restored, in milliseconds: 72 hours.
pub const RECOVERY_MS: i64 = 72 * 60 * 60 * 1000;
