//! Wire types of import, export and backup.

use serde::{Deserialize, Serialize};

use crate::SourceId;
use crate::words::words;

/// `brain import`: imports a directory of markdown and documents, or an export of another program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The absolute path of a directory of markdown, or of an export of another program.
    pub path: String,
    /// The name of the export's format; its content tells it if absent.
    pub format: Option<String>,
    /// The source of the pages; the default one if absent.
    pub source: Option<SourceId>,
    /// Only pages that changed at this time or later: RFC 3339 or a day.
    pub since: Option<String>,
    /// Whether to write nothing and report what would change.
    pub dry_run: bool,
    /// Whether to remove API keys, tokens and private keys from the texts.
    pub scrub: bool,
}

words! {
    /// How a sync, an import or an export ended; the worst last.
    #[derive(PartialOrd, Ord)]
    SyncStatus {
        Done = "done",
        /// Some files, or a pull, failed.
        Partial = "partial",
        /// Removals of pages need `--yes`.
        HeldBack = "held_back",
        /// The source, or a part of it, is not mounted.
        Away = "away",
        /// The source could not be read.
        Failed = "failed",
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReply {
    /// The id of the import; `None` in a dry run.
    pub id: Option<String>,
    /// `Done` or `Partial`.
    pub status: SyncStatus,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// What the export is, for people; `None` for a directory of markdown.
    pub format: Option<String>,
    /// The number of markdown files, or of pages in an export.
    pub files: u64,
    /// The number of new pages.
    pub created: u64,
    /// The number of changed pages.
    pub updated: u64,
    /// The number of restored pages.
    pub restored: u64,
    /// The number of unchanged pages.
    pub unchanged: u64,
    /// The number of pages that are older than `since`.
    pub older: u64,
    /// The number of files that are not markdown, or of things in an export that are in no page or
    /// only in part.
    pub skipped: u64,
    /// Files that could not be imported; at most the first 1000.
    pub failed: Vec<ImportFailure>,
    /// The number of all failures.
    pub failed_total: u64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Time in the daemon, in milliseconds.
    pub took_ms: u64,
    /// Files and directories that rules left out.
    pub left_out: IgnoredFiles,
    /// The files that are not markdown, and links; or what `skipped` counts of an export. At most the
    /// first 10,000.
    pub not_imported: Vec<ImportFailure>,
    /// What became of the posts of an account in the collector's files; `None` if the import has no
    /// posts, or if no collector is set up.
    #[serde(default)]
    pub posts: Option<ImportedPosts>,
    /// The number of secrets that were removed from the texts; 0 if the import did not ask for that.
    #[serde(default)]
    pub secrets: u64,
}

/// What became of imported posts in the collector's files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportedPosts {
    /// The directory of the collector.
    pub directory: String,
    /// The number of posts that were added; in a dry run, of those that would be.
    pub added: u64,
    /// The number of posts that were there.
    pub present: u64,
    /// The number of posts that the collector recorded as deleted. They are not added.
    pub deleted: u64,
}

/// Files and directories that rules left out of a sync or an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IgnoredFiles {
    /// The number of files.
    pub files: u64,
    /// The number of directories, hidden ones included. Directories below them are not counted.
    pub directories: u64,
    /// The first [`Self::MAX_PATHS`] paths, relative to the source; directories end with `/`.
    pub paths: Vec<String>,
}

impl IgnoredFiles {
    /// Maximum number of `paths`.
    pub const MAX_PATHS: usize = 1000;

    /// Counts a file or directory.
    pub fn add(&mut self, path: String, is_dir: bool) {
        if is_dir {
            self.directories += 1;
        } else {
            self.files += 1;
        }
        if self.paths.len() < Self::MAX_PATHS {
            self.paths.push(if is_dir { format!("{path}/") } else { path });
        }
    }
}

/// A file that was not imported, or a page that could not be exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportFailure {
    /// The path of the file, relative to the directory.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// `brain import --report`: lists the imports, or shows the report of one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportReports {
    /// The import; all of them if absent.
    pub id: Option<String>,
}

/// Imports, or the report of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReportsReply {
    /// The imports, newest first.
    pub imports: Vec<ImportRow>,
    /// The reply of the import, if the request named one that ended.
    pub report: Option<ImportReply>,
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRow {
    /// Its id.
    pub id: String,
    /// When it began.
    pub began_at: String,
    /// The path that was imported.
    pub path: String,
    /// The source of the pages.
    pub source_id: SourceId,
    /// How it ended; `None` if it runs, or ended with the daemon.
    pub status: Option<SyncStatus>,
    /// The number of pages that it wrote, or was about to write when the daemon ended.
    pub pages: u64,
    /// When it was undone.
    pub undone_at: Option<String>,
}

/// `brain export`: writes all pages as files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The absolute path of the target directory. It must be empty or absent.
    pub path: String,
    /// Only pages of this source; all sources if absent.
    pub source: Option<SourceId>,
}

/// The result of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportReply {
    /// `Done` or `Partial`.
    pub status: SyncStatus,
    /// The directory.
    pub path: String,
    /// The number of written files.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Pages and attachments that could not be written; at most the first 1000.
    pub failed: Vec<ImportFailure>,
    /// The number of all failures.
    pub failed_total: u64,
    /// The number of written attachments.
    pub attachments: u64,
}

/// `brain backup FILE`: copies the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// The absolute path of the file. It must not exist.
    pub path: String,
}

/// `brain backup verify FILE`: checks a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupVerify {
    /// The absolute path of the file.
    pub path: String,
}

/// `brain backup list`: lists the scheduled backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupList;

/// The scheduled backups of this brain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupListReply {
    /// Their directory; `None` if no backups are scheduled.
    pub dir: Option<String>,
    /// The backups, newest first.
    pub backups: Vec<BackupFile>,
}

/// A file with a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was made.
    pub made_at: String,
}

words! {
    /// The use of a backup.
    BackupStatus {
        Written = "written",
        /// It was verified.
        Sound = "sound",
        Restored = "restored",
    }
}

/// The result of making, verifying or restoring a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReply {
    /// The use.
    pub status: BackupStatus,
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its schema number.
    pub schema: u32,
    /// The number of its active pages.
    pub pages: u64,
    /// The number of its soft-deleted pages.
    pub deleted: u64,
    /// The number of its former versions.
    pub versions: u64,
    /// When it was made, if known.
    pub made_at: Option<String>,
    /// Warnings for the user, for example about an older schema.
    pub warnings: Vec<String>,
    /// The number of its attachments, all of which match their hashes.
    pub attachments: u64,
}
