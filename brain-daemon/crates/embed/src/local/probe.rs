//! Loads a tokenizer in a process of its own first: `brain-daemon check-tokenizer FILE`. A file of a
//! few megabytes can make the library take gigabytes or minutes; there it meets limits, and ends
//! without harm. The daemon loads only what ended well there. What was found out about a file holds
//! as long as the file is the same one, unchanged.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use tokenizers::Tokenizer;

use super::fault::damaged;
use crate::EmbedFault;

/// What makes the daemon's program the check.
const WORD: &str = "check-tokenizer";
/// The daemon's program, whatever became of its file.
const OURSELVES: &str = "/proc/self/exe";
/// The most memory, in bytes of address space. One of a quarter of a million words takes a third.
const MEMORY: u64 = 1 << 30;
/// The most processor time, in seconds.
const SECONDS: u64 = 30;
/// The longest that the check may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// How the check says that the file is no tokenizer.
const REFUSED: u8 = 3;
/// How it says that it could not limit itself, and so did not look.
const UNLIMITED: u8 = 4;

/// Is the check when `args`, this program's own, say so; the code says how it ended.
pub fn take(args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.skip(1);
    if args.next()? != WORD {
        return None;
    }
    let path = args.next()?;
    let limit = |resource, most| {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
    };
    let limited =
        limit(Resource::As, MEMORY) && limit(Resource::Cpu, SECONDS) && limit(Resource::Core, 0);
    if !limited || set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        return Some(ExitCode::from(UNLIMITED));
    }
    let loads = || {
        let bytes = std::fs::read(&path).ok()?;
        let tokenizer = Tokenizer::from_bytes(&bytes).ok()?;
        tokenizer.encode_fast("The quick brown fox, 狐狸, рыжая лиса.", true).ok()
    };
    Some(if loads().is_some() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}

/// What was found out about files, by their paths.
static CHECKED: Mutex<Option<HashMap<PathBuf, (Stamp, Finding)>>> = Mutex::new(None);

/// By what a file is known to be the same one, unchanged: device, number, length, and the time of
/// its last change, which no program can set.
type Stamp = (u64, u64, u64, i64, i64);

/// What the check found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// The tokenizer loads within limits.
    Loads,
    /// The file is no tokenizer.
    NoTokenizer,
    /// It met a limit.
    TooMuch,
}

impl Finding {
    fn told(self, path: &Path) -> Result<(), EmbedFault> {
        match self {
            Self::Loads => Ok(()),
            Self::NoTokenizer => Err(damaged(path, "is no tokenizer that brain can run")),
            Self::TooMuch => Err(damaged(
                path,
                "takes more than 1 GB of memory or 30 s of processor time to load, so it is not used",
            )),
        }
    }
}

/// Whether the tokenizer at `path` loads within limits. `goes_on` is asked several times a second;
/// when it says no, nothing is found out, and the caller is to stop.
pub(super) fn check(path: &Path, goes_on: &dyn Fn() -> bool) -> Result<(), EmbedFault> {
    if !is_daemon() {
        return Ok(());
    }
    let before = stamp(path);
    if let Some(finding) = before.and_then(|stamp| known(path, stamp)) {
        return finding.told(path);
    }
    let mut command = Command::new(OURSELVES);
    command.arg(WORD).arg(path).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return Err(damaged(path, "could not be checked: no process can be started for it"));
    };
    let Some(status) = ended(&mut child, goes_on) else {
        return match goes_on() {
            true => Err(damaged(path, "does not load within two minutes, so it is not used")),
            false => Ok(()),
        };
    };
    let finding = match status.code() {
        Some(0) => Finding::Loads,
        Some(code) if code == i32::from(REFUSED) => Finding::NoTokenizer,
        Some(code) if code == i32::from(UNLIMITED) => {
            return Err(damaged(
                path,
                "could not be checked: the process for it cannot be limited",
            ));
        }
        _ => Finding::TooMuch,
    };
    // One that was changed meanwhile is another one.
    if let Some(stamp) = before.filter(|before| stamp(path) == Some(*before)) {
        let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        checked.get_or_insert_default().insert(path.to_owned(), (stamp, finding));
    }
    finding.told(path)
}

/// What was found out about the file at `path`, if it is still the same one.
fn known(path: &Path, stamp: Stamp) -> Option<Finding> {
    let checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.as_ref()?.get(path).filter(|(then, _)| *then == stamp).map(|(_, finding)| *finding)
}

/// What the file at `path` is like at the moment; `None` when it is not there.
fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
}

/// How the check ended; `None` when it was ended.
fn ended(child: &mut Child, goes_on: &dyn Fn() -> bool) -> Option<ExitStatus> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if begun.elapsed() < PATIENCE && goes_on() => {}
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

/// Whether this program is the daemon: tests and measurements have no such check to start.
fn is_daemon() -> bool {
    let name = std::env::current_exe().ok().and_then(|path| Some(path.file_name()?.to_owned()));
    name.is_some_and(|name| name == "brain-daemon" || name == "brain-daemon (deleted)")
}
