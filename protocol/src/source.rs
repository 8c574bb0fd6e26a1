//! Wire types of sources and their synchronisation.

use serde::{Deserialize, Serialize};

use crate::name::is_markdown_extension;
use crate::words::words;
use crate::{ChangeStatus, IgnoredFiles, ImportFailure, Slug, SourceId, SyncStatus};

/// `brain sources list`: lists the registered sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceList;

/// The registered sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcesReply {
    /// The sources, ordered by name.
    pub sources: Vec<SourceRow>,
}

/// A source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRow {
    /// Its name.
    pub source_id: SourceId,
    /// Its directory.
    pub path: String,
    /// Whether it is the default source.
    pub default: bool,
    /// Whether its directory is in the work tree of a git repository.
    pub git: bool,
    /// The number of active pages.
    pub pages: u64,
    /// When it was registered.
    pub added_at: String,
    /// When it was last synchronised.
    pub synced_at: Option<String>,
    /// Why its directory cannot be used, or the problem of the last sync.
    pub problem: Option<String>,
    /// Patterns of the files that become pages; empty: all.
    pub include: Vec<String>,
    /// Patterns of files and directories that are left out.
    pub exclude: Vec<String>,
    /// Whether brain writes lines about the provenance into the files of new pages.
    pub provenance: bool,
    /// The symbolic links to notes and directories, which are not followed, at the last sync of the
    /// whole source; `None` before the first one since the daemon started.
    pub links: Option<SymbolicLinks>,
}

/// The symbolic links in a source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SymbolicLinks {
    /// Their number.
    pub count: u64,
    /// The paths of the first three, relative to the source.
    pub first: Vec<String>,
}

/// `brain sources add`: registers a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceAdd {
    /// Its name.
    pub id: SourceId,
    /// The absolute path of its directory.
    pub path: String,
    /// Its settings.
    pub settings: SourceSettings,
}

/// Settings of a source. An absent one stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceSettings {
    /// Patterns, as in a `.gitignore` file, of the files that become pages; see
    /// [`names_documents`]. Without a pattern for markdown, all markdown files do.
    pub include: Option<Vec<String>>,
    /// Patterns of files and directories to leave out.
    pub exclude: Option<Vec<String>>,
    /// Whether brain writes lines about the provenance into the files of new pages.
    pub provenance: Option<bool>,
}

/// Returns whether a pattern of [`SourceSettings::include`] is about documents: its last part ends
/// with `*.` and an extension other than that of markdown. A name with a dot can be a directory.
#[must_use]
pub fn names_documents(pattern: &str) -> bool {
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    let extension = name.rsplit_once("*.").map_or("", |(_, extension)| extension);
    !extension.is_empty()
        && extension.chars().all(char::is_alphanumeric)
        && !is_markdown_extension(extension)
}

/// `brain sources set`: changes the settings of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSet {
    /// Its name.
    pub id: SourceId,
    /// The settings to change.
    pub settings: SourceSettings,
}

/// `brain sources remove`: unregisters a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRemove {
    /// Its name.
    pub id: SourceId,
    /// Whether the user confirmed.
    pub yes: bool,
}

/// `brain sources default`: shows or changes the default source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceDefault {
    /// The new default source; if absent, the request only shows the current one.
    pub id: Option<SourceId>,
}

impl SourceDefault {
    /// Returns whether the request changes nothing.
    pub(crate) fn is_lookup(&self) -> bool {
        self.id.is_none()
    }
}

/// The result of a change of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReply {
    /// The effect.
    pub status: ChangeStatus,
    /// The source; if removed, its last state.
    pub source: SourceRow,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// `brain sync`: updates pages from the files of their sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Sync {
    /// The source; the default one if absent.
    pub source: Option<SourceId>,
    /// Whether to update all sources.
    pub all: bool,
    /// Whether to pull git work trees first.
    pub pull: bool,
    /// Whether to embed changed pages.
    pub embed: bool,
    /// Whether to write nothing and report what would change.
    pub dry_run: bool,
    /// Whether to read every file, even if its size and times are unchanged.
    pub full: bool,
    /// Whether the user confirmed the removal of many pages.
    pub yes: bool,
}

/// The result of a sync.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncReply {
    /// The worst status of a source.
    pub status: SyncStatus,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The synchronised sources.
    pub sources: Vec<SyncedSource>,
    /// Time in the daemon, in milliseconds.
    pub took_ms: u64,
}

/// The result of a sync in one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncedSource {
    /// Its name.
    pub source_id: SourceId,
    /// Its directory.
    pub path: String,
    /// How it ended.
    pub status: SyncStatus,
    /// Why it failed.
    pub problem: Option<String>,
    /// The result of `git pull`.
    pub pull: Pull,
    /// The number of markdown files.
    pub files: u64,
    /// The number of new pages.
    pub added: u64,
    /// The number of changed pages.
    pub updated: u64,
    /// The number of restored pages.
    pub restored: u64,
    /// The number of pages whose slug changed, because their file was renamed.
    pub renamed: u64,
    /// The number of pages that were soft-deleted, because their file is gone.
    pub removed: u64,
    /// The number of unchanged pages.
    pub unchanged: u64,
    /// The number of removals that need `--yes`.
    pub held_back: u64,
    /// Files that could not be imported; at most the first 1000.
    pub failed: Vec<ImportFailure>,
    /// The number of all failures.
    pub failed_total: u64,
    /// Pages that were changed both through brain and in their file; at most the first 1000.
    pub conflicts: Vec<SyncConflict>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Files and directories that rules left out.
    pub left_out: IgnoredFiles,
}

/// The result of `git pull`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    /// How it ended.
    pub status: PullStatus,
    /// The reason, or what changed.
    pub message: Option<String>,
}

words! {
    /// How a `git pull` ended.
    PullStatus {
        /// There was nothing to pull, or no pull was requested.
        Skipped = "skipped",
        UpToDate = "up_to_date", Updated = "updated", Failed = "failed",
    }
}

/// A page that was changed both through brain and in its file, in the same lines. Both stay as they
/// are until [`crate::Keep`] chooses one, or one is changed so that both can be joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncConflict {
    /// The page.
    pub slug: Slug,
    /// Its file, relative to the source.
    pub path: String,
    /// The version with the text of the file.
    pub kept_version: u32,
}
