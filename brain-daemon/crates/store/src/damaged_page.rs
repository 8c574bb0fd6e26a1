//! A damaged page, with the newest backup that has an intact copy.

use std::path::PathBuf;

use brain_base::clock::rfc3339;
use brain_protocol::SourceId;

/// A damaged page, or former version of a page.
#[derive(Debug, Clone)]
pub struct DamagedPage {
    pub(super) source_id: String,
    pub(super) slug: String,
    /// The version, for a former one.
    pub(super) version: Option<u32>,
    /// Whether the text is damaged, which a `put` repairs, rather than the record.
    pub(super) is_text: bool,
    /// What is wrong.
    pub(super) problem: String,
    /// The newest backup with an intact copy.
    pub(super) backup: BackupSearch,
}

/// The result of a search for a backup with an intact copy of a page.
#[derive(Debug, Clone)]
pub(super) enum BackupSearch {
    /// The caller must not see local paths, or too many pages are damaged.
    NotSearched,
    /// No scheduled backup has one.
    NotFound,
    /// This backup has one.
    Found {
        path: PathBuf,
        /// When it was made, in Unix milliseconds.
        made_at: i64,
    },
}

impl std::fmt::Display for DamagedPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(number) = self.version {
            write!(f, "version {number} of ")?;
        }
        write!(f, "page \"{}\"", self.slug)?;
        if self.source_id != SourceId::DEFAULT {
            write!(f, " of source \"{}\"", self.source_id)?;
        }
        write!(f, " is damaged in the store: {}", self.problem)?;
        match &self.backup {
            BackupSearch::NotSearched => Ok(()),
            BackupSearch::NotFound => f.write_str("; no scheduled backup has an intact copy"),
            BackupSearch::Found { path, made_at } => {
                let (path, at) = (path.display(), rfc3339(*made_at));
                write!(f, "; the newest backup with an intact copy is {path}, of {at}")
            }
        }
    }
}
