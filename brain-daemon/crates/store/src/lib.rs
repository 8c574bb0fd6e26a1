//! The store: everything that must survive, in one redb file.
//!
//! Only this room touches redb. It knows records and their invariants (a page, its former versions, what is
//! derived from it, its place in the sequence of changes, its row in the outbox change together or not at
//! all); it must not know how pages are parsed, searched, or shown, nor who asks.
//!
//! Writing: one thread owns the write transaction and lets everybody who waits share one commit
//! ([`Store::write`]). Reading: short snapshots through a [`Reader`], which is the only place that decides
//! whether a caller may see a page. The layout is described in `docs/store.md`.

mod apply;
mod audit;
mod backup;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod backup_tests;
mod broken_links;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod broken_links_tests;
mod compaction;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod compaction_tests;
mod damage;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod damage_tests;
mod draft;
mod error;
pub mod files;
mod grants;
mod inbound;
mod intake;
mod jobs;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod jobs_tests;
mod link_check;
mod migrate;
mod open;
mod overlay;
mod read;
mod record;
mod restore;
mod sources;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod sources_tests;
mod spool;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod spool_tests;
mod tables;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod verify;
mod writer;

pub use apply::{Applied, FilePlan, NewPage};
pub use backup::sweep_unfinished;
pub use broken_links::{Broken, BrokenAt};
pub use compaction::Usage;
pub use draft::Draft;
pub use error::{StoreError, unless_damaged};
pub use grants::GrantChange;
pub use inbound::Inbound;
pub use migrate::{FIRST_SCHEMA, SCHEMA};
pub use open::{ReaderMaker, Sources, Store, StoreOptions};
pub use read::{Counts, Found, Mark, PathRow, Reader, Resolution};
pub use record::{
    AuditRecord, ClientRecord, Content, Derived, FileRecord, FileState, Hash, JobRecord, JobWishes,
    LinkRecord, OutboxRow, PageRecord, Provenance, SourceRecord, SyncMark, TimelineRecord,
    TokenKind, TokenRecord, VersionRecord,
};
pub use restore::restore;
pub use verify::{Sound, store_id, verify};
pub use writer::{Change, CommitHook};

/// How long a soft-deleted page can be restored, in milliseconds: 72 hours.
pub const RECOVERY_MS: i64 = 72 * 60 * 60 * 1000;
