//! `brain`, the command-line client: arguments in, one question to the daemon, one answer out.
//!
//! It decides nothing about pages and opens no store. It is synchronous and has no runtime, because
//! the whole of its life is shorter than a runtime's start. There is one way out: [`output::finish`].

#![cfg_attr(test, allow(clippy::expect_used))]

mod args;
mod connect;
mod context;
mod fail;
mod home;
mod input;
mod money;
mod output;
mod progress;
mod span;
mod start;
mod verbs;
mod xdg;

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use rustix::process::Signal;

fn main() -> ExitCode {
    // A write that meets a limit on the size of files (`ulimit -f`) fails, and says so. Without a
    // handler it would end the program; that is no reason not to begin.
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default());
    let args: Vec<OsString> = std::env::args_os().collect();
    // The version is asked for by scripts that time it: no command tree is built for it.
    if let [_, flag] = args.as_slice()
        && (flag == "--version" || flag == "-V")
    {
        return output::finish(&output::Outcome::text(args::version_line()), false);
    }
    match args::parse(&args) {
        args::Parsed::Done(outcome) => output::finish(&outcome, false),
        args::Parsed::Wrong { fault, json } => output::finish_fault(&fault, json),
        args::Parsed::Run { context, run } => match run(&context) {
            Ok(outcome) => output::finish(&outcome, context.quiet),
            Err(fault) => output::finish_fault(&fault, context.json),
        },
    }
}
