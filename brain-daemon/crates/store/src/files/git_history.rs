//! Reads when the files of a git work tree were committed, in one pass over its history.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::git::Git;

/// Time limit of the pass.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum bytes of the history that are read. Older commits are left out.
const MAX_LOG_BYTES: u64 = 64_000_000;
/// Up to this number of files, git walks the history of these files only.
const MAX_NAMED: usize = 100;
/// Begins the line of a commit.
const COMMIT: char = '\u{1}';

/// The times of the first and the last commit of files, in Unix milliseconds, by the path.
pub type CommitTimes = HashMap<String, (i64, i64)>;

/// Returns the times of the commits of files by their paths below `dir`. `changed` are the files of
/// interest; `None` means all files, and follows renames that leave the content as it is. There are
/// none if `dir` is in no work tree, or git fails.
#[must_use]
pub fn commit_times(
    dir: &Path,
    changed: Option<&[&str]>,
    should_continue: &dyn Fn() -> bool,
) -> CommitTimes {
    let has_none = changed.is_some_and(<[_]>::is_empty);
    if has_none || !dir.ancestors().any(|d| d.join(".git").exists()) {
        return CommitTimes::new();
    }
    let git = Git { dir, approved: &[], should_continue };
    let mut command = git.command();
    // Only names and times are asked for, so git runs no filter and no program for signatures.
    command
        .args(["-c", "log.showSignature=false", "log", "-z", "--format=%x01%at"])
        .args(["--name-status", "--relative", "--diff-filter=AMRT", "--no-show-signature"])
        .args(["--no-ext-diff", "--no-textconv", "--no-color", "--no-notes", "--no-follow"])
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_LITERAL_PATHSPECS", "1");
    match changed.filter(|files| files.len() <= MAX_NAMED) {
        Some(files) => _ = command.args(["--no-renames", "--"]).args(files),
        None => _ = command.args(["--find-renames=100%", "--", "."]),
    }
    match git.run_up_to(command, TIMEOUT, MAX_LOG_BYTES) {
        Ok(output) if output.status.success() => times(&output.out),
        Ok(output) => {
            tracing::debug!(error = output.err.trim(), "git has no history of the files");
            CommitTimes::new()
        }
        Err(error) => {
            tracing::warn!(place = %dir.display(), error, "the history of git cannot be read");
            CommitTimes::new()
        }
    }
}

/// Reads the log, newest commit first: times, and after each the status and the names of files.
fn times(log: &str) -> CommitTimes {
    let mut found = CommitTimes::new();
    // Former name → present name.
    let mut renamed: HashMap<&str, &str> = HashMap::new();
    let mut at = None;
    let fields = log.split('\0').map(|field| field.trim_start_matches('\n'));
    let mut fields = fields.filter(|field| !field.is_empty());
    while let Some(field) = fields.next() {
        if let Some(seconds) = field.strip_prefix(COMMIT) {
            at = seconds.trim().parse::<i64>().ok().and_then(|s| s.checked_mul(1000));
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
            Some(times) => *times = (times.0.min(at), times.1.max(at)),
            None => _ = found.insert(present.to_owned(), (at, at)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_of_a_file_goes_on_behind_its_rename() {
        // A later file has the former name.
        let log = "\u{1}400\0\nA\0old.md\0\0\u{1}300\0\nM\0new.md\0A\0b c.md\0\0\u{1}200\0\n\
                   R100\0old.md\0new.md\0\0\u{1}100\0\nA\0old.md\0";
        let mut found: Vec<_> = times(log).into_iter().collect();
        found.sort();
        let expected = [
            ("b c.md", (300_000, 300_000)),
            ("new.md", (100_000, 300_000)),
            ("old.md", (400_000, 400_000)),
        ];
        assert_eq!(found, expected.map(|(name, times)| (name.to_owned(), times)));
    }

    #[test]
    fn a_log_that_is_cut_off_is_read_up_to_there() {
        for log in ["", "M", "\u{1}x\0M\0a", "\u{1}100\0\nM", "\u{1}100\0\nR100\0a"] {
            assert!(times(log).is_empty(), "{log:?}");
        }
    }
}
