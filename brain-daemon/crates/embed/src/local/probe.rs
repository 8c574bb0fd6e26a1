//! Tries a tokenizer in a separate process before use: `brain-daemon check-tokenizer FILE`.
//!
//! A file of a few megabytes can make the library use gigabytes or minutes. The process has limits,
//! and its end does no harm. The daemon keeps a result while the file is unchanged.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use tokenizers::Tokenizer;

use super::error::damaged;
use crate::EmbedError;

/// The command that makes the daemon's program run the check.
const COMMAND: &str = "check-tokenizer";
/// The daemon's own program, even if its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Maximum address space in bytes. A tokenizer with a quarter of a million words takes a third.
const MAX_MEMORY_BYTES: u64 = 1 << 30;
/// Maximum CPU time in seconds.
const MAX_CPU_SECONDS: u64 = 30;
/// Maximum duration of the check, also on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Exit code for a file that is not a tokenizer.
const REFUSED: u8 = 3;
/// Exit code when the process could not limit itself, so that it did not load the file.
const NOT_LIMITED: u8 = 4;

/// Runs the check if the arguments `args` of this program request it, and returns the exit code.
/// Returns `None` otherwise.
pub fn run_if_requested(args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.skip(1);
    if args.next()? != COMMAND {
        return None;
    }
    let path = args.next()?;
    let limit = |resource, max| {
        setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) }).is_ok()
    };
    let is_limited = limit(Resource::As, MAX_MEMORY_BYTES)
        && limit(Resource::Cpu, MAX_CPU_SECONDS)
        && limit(Resource::Core, 0);
    if !is_limited || set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        return Some(ExitCode::from(NOT_LIMITED));
    }
    let loads = || {
        let bytes = std::fs::read(&path).ok()?;
        let tokenizer = Tokenizer::from_bytes(&bytes).ok()?;
        tokenizer.encode_fast("The quick brown fox, 狐狸, рыжая лиса.", true).ok()
    };
    Some(if loads().is_some() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}

/// Results by path, with the stamp of the checked file.
static RESULTS: Mutex<Option<HashMap<PathBuf, (FileStamp, CheckResult)>>> = Mutex::new(None);

/// Device, inode, size and change time (seconds, nanoseconds) of a file. No program can set the
/// change time.
type FileStamp = (u64, u64, u64, i64, i64);

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckResult {
    /// The tokenizer loads within limits.
    Loads,
    /// The file is not a tokenizer.
    Invalid,
    /// The check exceeded a limit.
    ExceedsLimits,
}

impl CheckResult {
    fn into_result(self, path: &Path) -> Result<(), EmbedError> {
        match self {
            Self::Loads => Ok(()),
            Self::Invalid => Err(damaged(path, "is not a tokenizer that brain can run")),
            Self::ExceedsLimits => Err(damaged(
                path,
                "takes more than 1 GB of memory or 30 s of processor time to load, so it is not \
                 used",
            )),
        }
    }
}

/// Checks that the tokenizer at `path` loads within limits. Calls `should_continue` several times a
/// second, and returns `Ok` without a result when it returns `false`. Programs other than the
/// daemon check nothing.
///
/// # Errors
/// [`EmbedErrorKind::Model`](crate::EmbedErrorKind::Model) when it does not load within limits, or
/// the check cannot run.
pub(super) fn check(path: &Path, should_continue: &dyn Fn() -> bool) -> Result<(), EmbedError> {
    if !is_daemon() {
        return Ok(());
    }
    let before = stamp(path);
    if let Some(result) = before.and_then(|stamp| cached_result(path, stamp)) {
        return result.into_result(path);
    }
    let mut command = Command::new(OWN_PROGRAM);
    command.arg(COMMAND).arg(path).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return Err(damaged(path, "could not be checked: no process can be started for it"));
    };
    let Some(status) = wait_for_exit(&mut child, should_continue) else {
        return match should_continue() {
            true => Err(damaged(path, "does not load within two minutes, so it is not used")),
            false => Ok(()),
        };
    };
    let result = match status.code() {
        Some(0) => CheckResult::Loads,
        Some(code) if code == i32::from(REFUSED) => CheckResult::Invalid,
        Some(code) if code == i32::from(NOT_LIMITED) => {
            return Err(damaged(
                path,
                "could not be checked: the process for it cannot be limited",
            ));
        }
        _ => CheckResult::ExceedsLimits,
    };
    // A file changed meanwhile has no result.
    if let Some(stamp) = before.filter(|before| stamp(path) == Some(*before)) {
        let mut results = RESULTS.lock();
        results.get_or_insert_default().insert(path.to_owned(), (stamp, result));
    }
    result.into_result(path)
}

/// Returns the result for the file at `path`, if the file is unchanged.
fn cached_result(path: &Path, stamp: FileStamp) -> Option<CheckResult> {
    let results = RESULTS.lock();
    results.as_ref()?.get(path).filter(|(then, _)| *then == stamp).map(|(_, result)| *result)
}

/// Returns the stamp of the file at `path`; `None` when it cannot be read.
fn stamp(path: &Path) -> Option<FileStamp> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.len(), file.ctime(), file.ctime_nsec()))
}

/// Waits for the end of the check. Ends it and returns `None` after [`TIMEOUT`], or when
/// `should_continue` returns `false`.
fn wait_for_exit(child: &mut Child, should_continue: &dyn Fn() -> bool) -> Option<ExitStatus> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if begun.elapsed() < TIMEOUT && should_continue() => {}
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

/// Returns whether this program is the daemon. Tests and benchmarks cannot start the check.
fn is_daemon() -> bool {
    let name = std::env::current_exe().ok().and_then(|path| Some(path.file_name()?.to_owned()));
    name.is_some_and(|name| name == "brain-daemon" || name == "brain-daemon (deleted)")
}
