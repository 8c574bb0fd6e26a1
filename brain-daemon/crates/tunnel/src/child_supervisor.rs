//! Supervises a child so that it ends with the daemon, even if the daemon is killed.
//!
//! `brain-daemon child-supervisor <daemon's pid> <program> …` sets `PR_SET_PDEATHSIG` and then
//! replaces itself with the program, which keeps the setting. This avoids code between fork and
//! exec, which would have to be unsafe.
//!
//! To the kernel, the parent is the starting thread, so that thread must stay (`child.rs`).
//!
//! The signal does not reach descendants, and many agents are started by a script. So a second
//! process, `brain-daemon child-supervisor watch <group>`, joins the group. It reads a pipe that
//! the daemon holds and kills the group when the pipe closes.

use std::ffi::{OsStr, OsString};
use std::io::{Write, copy, sink, stderr, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{
    Signal, getpgrp, getppid, kill_current_process_group, set_parent_process_death_signal,
};

/// The subcommand that runs the supervisor.
pub const SUBCOMMAND: &str = "child-supervisor";
/// The argument that runs the group watcher.
const WATCH: &str = "watch";
/// The running executable, even if its file was replaced.
pub(super) const CURRENT_EXE: &str = "/proc/self/exe";
/// The exit code of a program that cannot be started, as in shells for a missing program.
const NOT_FOUND: u8 = 127;

/// Runs the supervisor or the group watcher, if `args` request one. The supervisor replaces this
/// process with the program that `args` name. Returns an exit code when the supervisor fails or the
/// watcher ends, and `None` if `args` request neither or are incomplete.
pub fn run_if_requested(args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.skip(1);
    if args.next()? != SUBCOMMAND {
        return None;
    }
    let first = args.next()?;
    let number = |text: &OsStr| text.to_str()?.parse::<i32>().ok();
    if first == WATCH {
        return Some(watch(number(&args.next()?)?));
    }
    let parent = number(&first)?;
    let mut command = Command::new(args.next()?);
    command.args(args).stdin(Stdio::null());
    let death_signal = set_parent_process_death_signal(Some(Signal::KILL));
    // The parent may have ended before the signal was set.
    let is_orphan = getppid().is_none_or(|pid| pid.as_raw_nonzero().get() != parent);
    if death_signal.is_err() || is_orphan {
        return Some(ExitCode::FAILURE);
    }
    let mut watch = Command::new(CURRENT_EXE);
    watch.args([SUBCOMMAND, WATCH, &std::process::id().to_string()]);
    // The watcher needs no environment, and must not see the token.
    watch.env_clear().stdout(Stdio::null()).stderr(Stdio::null());
    let error = match watch.spawn() {
        Ok(_) => command.exec(),
        Err(error) => error,
    };
    let _ = writeln!(stderr(), "{}: {error}", command.get_program().display());
    Some(ExitCode::from(NOT_FOUND))
}

/// Waits until the daemon is gone, then kills this process's own group.
fn watch(group: i32) -> ExitCode {
    // A call by hand would otherwise kill the caller's group.
    if getpgrp().as_raw_nonzero().get() != group {
        return ExitCode::FAILURE;
    }
    let _ = copy(&mut stdin(), &mut sink());
    let _ = kill_current_process_group(Signal::KILL);
    ExitCode::FAILURE
}
