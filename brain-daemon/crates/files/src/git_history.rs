//! Reads the commit times of the files of a git work tree in one pass over its history, and finds
//! the files with uncommitted changes.
//!
//! Git fetches nothing, and runs no program that the repository names.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;

use super::git::{Git, error_line};
use brain_page::FileCommits;

/// Time limit of each git command that lists files.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum bytes of output that are read. Of the history, older commits are left out.
const MAX_LIST_BYTES: u64 = 64_000_000;
/// Maximum named files. If more are requested, git walks the history of all files.
const MAX_NAMED: usize = 100;
/// Maximum bytes of the list of commits at which a shallow clone ends.
const MAX_SHALLOW_BYTES: u64 = 1_000_000;
/// Begins the line of a commit.
const COMMIT: char = '\u{1}';
/// Pattern of the settings of a partial clone, which fetches missing objects on demand.
const PARTIAL_CLONE: &str = r"^(extensions\.partialclone|remote\..*\.promisor)$";

/// The commits of each file, by its path.
pub type CommitTimes = HashMap<String, FileCommits>;

/// Reads the histories of git work trees, and remembers those that cannot be read.
#[derive(Debug, Default)]
pub struct GitHistory {
    /// Directories whose history could not be read, with the commit of their `HEAD`. For the same
    /// commit the history is not read again, because each attempt can last until the time limit.
    unreadable: Mutex<BTreeMap<PathBuf, String>>,
}

impl GitHistory {
    /// Returns the commit times of files by their paths below `dir`. `paths` names the requested
    /// files; the result can have more. `None` means all files, and follows renames that do not
    /// change the content. The result is empty if `dir` is in no work tree or in a partial clone,
    /// or if git fails.
    #[must_use]
    pub fn commit_times(
        &self,
        dir: &Path,
        paths: Option<&[&str]>,
        should_continue: &dyn Fn() -> bool,
    ) -> CommitTimes {
        let has_no_paths = paths.is_some_and(<[_]>::is_empty);
        if has_no_paths || !dir.ancestors().any(|d| d.join(".git").exists()) {
            return CommitTimes::new();
        }
        let git = Git { dir, approved: &[], should_continue };
        let (head, commits) = match git.head() {
            Ok(None) => return CommitTimes::new(),
            Err(error) if error.contains("not a git repository") => return CommitTimes::new(),
            Ok(Some(head)) if self.unreadable.lock().get(dir) == Some(&head) => {
                return CommitTimes::new();
            }
            Ok(Some(head)) => (head, git.commits(paths)),
            Err(error) => (String::new(), Err(error)),
        };
        commits.unwrap_or_else(|error| {
            // A sync that is stopped says nothing about the repository.
            if should_continue()
                && self.unreadable.lock().insert(dir.to_owned(), head.clone()).as_ref()
                    != Some(&head)
            {
                let directory = dir.display();
                tracing::warn!(%directory, error, "the history of git cannot be read; until its \
                     next commit, notes have the dates of their files");
            }
            CommitTimes::new()
        })
    }
}

impl Git<'_> {
    /// Returns the commits of files. See [`GitHistory::commit_times`].
    fn commits(&self, paths: Option<&[&str]>) -> Result<CommitTimes, String> {
        if self.query(&["config", "--get-regexp", PARTIAL_CLONE])?.is_some() {
            return Ok(CommitTimes::new());
        }
        let boundary = self.boundary_commits()?;
        let named = paths.filter(|files| files.len() <= MAX_NAMED);
        let renames = if named.is_some() { "--no-renames" } else { "--find-renames=100%" };
        // Only names and times are requested, so git runs no filter and no program for signatures.
        let log = self.list(
            &[
                "-c",
                "log.showSignature=false",
                "-c",
                "log.showRoot=true",
                "-c",
                "log.diffMerges=off",
                "log",
                "--format=%x01%H %at",
                "--name-status",
                "--diff-filter=AMRT",
                "--no-show-signature",
                "--no-notes",
                "--no-follow",
                renames,
            ],
            named,
        )?;
        let mut found = parse_log(&log, &boundary.lines().collect());
        if !found.is_empty() {
            let edited = self.edited_files(named)?;
            for path in whole_fields(&edited) {
                if let Some(commits) = found.get_mut(path) {
                    commits.is_edited = true;
                }
            }
        }
        Ok(found)
    }

    /// Returns the commits at which a shallow clone ends, one on each line. In the log, such a
    /// commit seems to add every file.
    fn boundary_commits(&self) -> Result<String, String> {
        let path = self.query(&["rev-parse", "--git-path", "shallow"])?.unwrap_or_default();
        let path = self.dir.join(path);
        let mut commits = String::new();
        if path.is_file() {
            File::open(&path)
                .and_then(|file| file.take(MAX_SHALLOW_BYTES).read_to_string(&mut commits))
                .map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(commits)
    }

    /// Returns the files that differ from `HEAD`. To compare a file, git runs the filter that the
    /// file's attributes name. So the result is empty if the repository's own configuration names
    /// programs.
    fn edited_files(&self, files: Option<&[&str]>) -> Result<String, String> {
        if !self.programs()?.is_empty() {
            return Ok(String::new());
        }
        self.list(
            &[
                "-c",
                "diff.autoRefreshIndex=true",
                "diff",
                "--name-only",
                "--no-renames",
                "--ignore-submodules=all",
            ],
            files,
        )
    }

    /// Runs a git command that lists `files`; `None` means all files. Returns its output, in which
    /// each field ends with a NUL.
    fn list(&self, args: &[&str], files: Option<&[&str]>) -> Result<String, String> {
        let mut command = self.command();
        command
            .args(args)
            .args(["-z", "--relative", "--no-ext-diff", "--no-textconv", "--no-color"])
            .args(["HEAD", "--"])
            .args(files.unwrap_or(&["."]))
            .env("GIT_NO_LAZY_FETCH", "1")
            // An older git ignores GIT_NO_LAZY_FETCH. Without an allowed transport, it cannot fetch
            // either.
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_LITERAL_PATHSPECS", "1");
        let output = self.run_up_to(command, TIMEOUT, MAX_LIST_BYTES)?;
        match output.status.success() {
            true => Ok(output.out),
            false => Err(error_line(&output.err)),
        }
    }
}

/// Splits output of git into fields. Drops a last field without an end: the size limit cut it off.
fn whole_fields(out: &str) -> impl Iterator<Item = &str> {
    out.rsplit_once('\0').map_or("", |(fields, _)| fields).split('\0')
}

/// Reads the log, newest commit first: id and time, and after each the status and the names of
/// files. Takes no times from the commits `left_out`.
fn parse_log(log: &str, left_out: &HashSet<&str>) -> CommitTimes {
    let mut found = CommitTimes::new();
    // Former name → present name.
    let mut renamed: HashMap<&str, &str> = HashMap::new();
    let mut at = None;
    let mut fields = whole_fields(log);
    while let Some(field) = fields.next() {
        // git prints a newline between a commit and its files.
        let field = field.strip_prefix('\n').unwrap_or(field);
        if field.is_empty() {
            continue;
        }
        if let Some(commit) = field.strip_prefix(COMMIT) {
            let time = commit.split_once(' ').filter(|(id, _)| !left_out.contains(id));
            let seconds = time.and_then(|(_, seconds)| seconds.trim().parse::<i64>().ok());
            at = seconds.and_then(|seconds| seconds.checked_mul(1000));
            continue;
        }
        let Some(mut name) = fields.next() else { break };
        let former = field.starts_with('R').then_some(name);
        if former.is_some() {
            name = match fields.next() {
                Some(name) => name,
                None => break,
            };
        }
        let present = renamed.get(name).copied().unwrap_or(name);
        if let Some(former) = former {
            renamed.insert(former, present);
        }
        let Some(at) = at else { continue };
        match found.get_mut(present) {
            Some(commits) => {
                (commits.first, commits.last) = (commits.first.min(at), commits.last.max(at));
            }
            None => {
                let commits = FileCommits { first: at, last: at, is_edited: false };
                found.insert(present.to_owned(), commits);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times_of(log: &str, left_out: &[&str]) -> Vec<(String, (i64, i64))> {
        let found = parse_log(log, &left_out.iter().copied().collect()).into_iter();
        let mut found: Vec<_> = found.map(|(name, it)| (name, (it.first, it.last))).collect();
        found.sort();
        found
    }

    #[test]
    fn history_of_a_renamed_file_includes_its_former_name() {
        // A later file has the former name.
        let log = "\u{1}d 400\0\nA\0old.md\0\0\u{1}c 300\0\nM\0new.md\0A\0b c.md\0\0\
                   \u{1}b 200\0\nR100\0old.md\0new.md\0\0\u{1}a 100\0\nA\0old.md\0";
        let expected = [
            ("b c.md", (300_000, 300_000)),
            ("new.md", (100_000, 300_000)),
            ("old.md", (400_000, 400_000)),
        ];
        assert_eq!(times_of(log, &[]), expected.map(|(name, times)| (name.to_owned(), times)));
        let without = times_of(log, &["a", "d"]);
        let expected = [("b c.md", (300_000, 300_000)), ("new.md", (200_000, 300_000))];
        assert_eq!(without, expected.map(|(name, times)| (name.to_owned(), times)));
    }

    #[test]
    fn control_characters_in_file_names_are_kept() {
        let log = "\u{1}b 200\0\nA\0\nM\0A\0\u{1}a 9\0M\0\n\0\u{1}a 100\0\nA\0x.md\0";
        let expected =
            [("\u{1}a 9", 200_000), ("\n", 200_000), ("\nM", 200_000), ("x.md", 100_000)];
        assert_eq!(times_of(log, &[]), expected.map(|(name, at)| (name.to_owned(), (at, at))));
    }

    #[test]
    fn a_truncated_log_is_read_up_to_its_last_complete_field() {
        for log in ["", "M", "\u{1}a x\0M\0a\0", "\u{1}a 100\0\nM", "\u{1}a 100\0\nR100\0a\0"] {
            assert!(times_of(log, &[]).is_empty(), "{log:?}");
        }
        // The rest of the name is missing.
        let log = "\u{1}b 200\0\nM\0a.md\0M\0a.m";
        assert_eq!(times_of(log, &[]), [("a.md".to_owned(), (200_000, 200_000))]);
    }
}
