//! The ledgers of videos and articles, as JSON lines.
//!
//! Lines are appended. Redaction removes the lines of deleted posts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use brain_base::{disk, durable, json_lines};
use serde::{Deserialize, Serialize};

use crate::{DataFault, PostId};

/// A line of `videos.jsonl`: a video to transcribe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Video {
    /// When the line was added, in RFC 3339.
    pub(super) queued_at: String,
    /// The first post that links to it.
    pub(super) id: String,
    /// The URL.
    pub(super) url: String,
    /// The handle or the id of the post's author.
    pub(super) author: String,
}

/// A line of `articles.jsonl`: a processed URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Article {
    /// When the URL was processed, in RFC 3339.
    pub(super) at: String,
    /// The first post that links to it.
    pub(super) id: String,
    /// The URL.
    pub(super) url: String,
    /// The ingest job, `job_17`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<String>,
    /// The reason why there is no job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

/// A ledger.
pub(super) struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// Opens the ledger of videos in the collector's directory `dir`.
    pub(super) fn videos(dir: &Path) -> Self {
        Self { path: dir.join("videos.jsonl") }
    }

    /// Opens the ledger of articles in the collector's directory `dir`.
    pub(super) fn articles(dir: &Path) -> Self {
        Self { path: dir.join("articles.jsonl") }
    }

    /// Returns the lines that are valid values of type `T`. Skips others, such as lines that a
    /// crash cut.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn lines<T: for<'a> Deserialize<'a>>(&self) -> Result<Vec<T>, DataFault> {
        let text = self.text()?;
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Appends a line durably. If a crash cut the last line, ends that line first.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn append(&self, line: &impl Serialize) -> Result<(), DataFault> {
        let line = serde_json::to_string(line).unwrap_or_default();
        json_lines::append(&self.path, true, |_| line + "\n").map_err(disk::fault(&self.path))
    }

    /// Removes the lines of these posts.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub(super) fn remove_posts(&self, posts: &HashSet<PostId>) -> Result<(), DataFault> {
        #[derive(Deserialize)]
        struct LineId {
            id: String,
        }
        if posts.is_empty() {
            return Ok(());
        }
        let text = self.text()?;
        let is_kept = |line: &&str| {
            let id =
                serde_json::from_str::<LineId>(line).ok().and_then(|line| PostId::parse(&line.id));
            id.is_none_or(|id| !posts.contains(&id))
        };
        let remaining: String =
            text.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect();
        if remaining.lines().count() == text.lines().count() {
            return Ok(());
        }
        durable::replace(&self.path, remaining.as_bytes()).map_err(disk::fault(&self.path))
    }

    fn text(&self) -> Result<String, DataFault> {
        let bytes = disk::read(&self.path)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::*;

    fn video(id: &str, url: &str) -> Video {
        Video {
            queued_at: "2026-11-21T10:00:00.000Z".into(),
            id: id.into(),
            url: url.into(),
            author: "ann".into(),
        }
    }

    #[test]
    fn a_line_cut_by_a_crash_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::videos(dir.path());
        assert_eq!(ledger.lines::<Video>().unwrap(), []);
        ledger.append(&video("1", "a")).unwrap();
        let mut file = File::options().append(true).open(dir.path().join("videos.jsonl")).unwrap();
        file.write_all(b"{\"queued_at\":\"2026").unwrap();
        ledger.append(&video("2", "b")).unwrap();
        assert_eq!(ledger.lines::<Video>().unwrap(), [video("1", "a"), video("2", "b")]);
    }

    #[test]
    fn lines_of_deleted_posts_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::videos(dir.path());
        for (id, url) in [("1", "a"), ("2", "b"), ("1", "c")] {
            ledger.append(&video(id, url)).unwrap();
        }
        let posts = |id: &str| HashSet::from([PostId::parse(id).unwrap()]);
        ledger.remove_posts(&posts("3")).unwrap();
        assert_eq!(ledger.lines::<Video>().unwrap().len(), 3);
        ledger.remove_posts(&posts("1")).unwrap();
        assert_eq!(ledger.lines::<Video>().unwrap(), [video("2", "b")]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
