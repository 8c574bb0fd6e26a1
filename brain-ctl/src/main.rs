//! `brain`, the command-line client: sends a request to the daemon and prints the answer.
//!
//! It makes no decisions about pages and never opens the store. It is synchronous, because starting
//! an async runtime would take longer than most commands. Module [`output`] prints the results.

#![cfg_attr(test, allow(clippy::expect_used))]

mod ai_clients;
mod args;
mod as_of;
mod command;
mod completion;
mod connect;
mod context;
mod daemon_program;
mod demo;
mod duration;
mod editor;
mod end_signals;
mod fail;
mod home;
mod input;
mod isolate;
mod list_options;
mod money;
mod output;
mod picker;
mod progress;
mod replace_file;
mod start;
mod stop;
mod torture;
mod unknown_label;
mod verbs;
mod when;
mod xdg;

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use rustix::process::Signal;

fn main() -> ExitCode {
    // With a handler, a write beyond `ulimit -f` returns an error instead of ending the program.
    // The program can run without the handler.
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default());
    let args: Vec<OsString> = std::env::args_os().collect();
    // The fast path for `--version` builds no command tree.
    if let [_, flag] = args.as_slice()
        && (flag == "--version" || flag == "-V")
    {
        return output::finish(&output::Outcome::text(args::version_line()), false);
    }
    if let Some(shell) = std::env::var_os(completion::SHELL_VARIABLE) {
        return output::finish(
            &completion::complete(&shell.to_string_lossy(), &args, verbs::ALL),
            true,
        );
    }
    match args::parse(&args, verbs::ALL, verbs::summary::run) {
        args::CommandLine::Print(outcome) => output::finish(&outcome, false),
        args::CommandLine::Invalid { fault, json } => output::finish_fault(&fault, json),
        args::CommandLine::Run { context, run } => match run(&context) {
            Ok(outcome) => output::finish(&outcome, context.quiet),
            Err(fault) => output::finish_fault(&fault, context.json),
        },
    }
}
