//! A program that ends with the daemon, even when the daemon is killed: `brain-daemon leash <daemon's pid> <program> …` asks the kernel to be
//! killed when its parent ends (prctl, `PR_SET_PDEATHSIG`), and becomes the program, which keeps that. So nothing of it happens between fork
//! and exec, where only unsafe code can be.
//!
//! To the kernel the parent is the thread that started it: that thread has to stay (`child.rs`).
//!
//! What the program has started is not ended so: many agents are installed with a script around them. So beside it, in its group, there is
//! `brain-daemon leash watch <group>`: it reads a pipe that the daemon holds, and ends the group when the pipe does.

use std::ffi::{OsStr, OsString};
use std::io::{Write, copy, sink, stderr, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{
    Signal, getpgrp, getppid, kill_current_process_group, set_parent_process_death_signal,
};

/// What makes the daemon's program a leash.
pub const WORD: &str = "leash";
/// What makes a leash the watch beside the program.
const WATCH: &str = "watch";
/// The running program itself, whatever became of its file.
pub(super) const OURSELVES: &str = "/proc/self/exe";
/// There is no such program, as shells say it.
const NOT_FOUND: u8 = 127;

/// Becomes the program that `args`, this program's own, name; `None` when they are not about that. An exit code says that it went wrong.
pub fn take(args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.skip(1);
    if args.next()? != WORD {
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
    let told = set_parent_process_death_signal(Some(Signal::KILL));
    // It may have ended before the kernel was told.
    let orphan = getppid().is_none_or(|pid| pid.as_raw_nonzero().get() != parent);
    if told.is_err() || orphan {
        return Some(ExitCode::FAILURE);
    }
    let mut watch = Command::new(OURSELVES);
    watch.args([WORD, WATCH, &std::process::id().to_string()]);
    // It needs nothing, the token least of all.
    watch.env_clear().stdout(Stdio::null()).stderr(Stdio::null());
    let error = match watch.spawn() {
        Ok(_) => command.exec(),
        Err(error) => error,
    };
    let _ = writeln!(stderr(), "{}: {error}", command.get_program().display());
    Some(ExitCode::from(NOT_FOUND))
}

/// Waits until the daemon is gone, and ends this group, which it is in.
fn watch(group: i32) -> ExitCode {
    // Called by hand it would end whoever called it.
    if getpgrp().as_raw_nonzero().get() != group {
        return ExitCode::FAILURE;
    }
    let _ = copy(&mut stdin(), &mut sink());
    let _ = kill_current_process_group(Signal::KILL);
    ExitCode::FAILURE
}
