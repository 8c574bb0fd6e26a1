//! `brain lsp`: serves an editor over standard input and output. The crate `brain-lsp` has all of it
//! but the way to the daemon.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use brain_lsp::Daemon;
use brain_protocol::Fault;
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    output::{self, Outcome},
    when::today,
};

/// Arguments of `lsp`.
#[derive(Debug, Args)]
pub(crate) struct LspCommand {
    /// Ignored; some editors add it
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Verb for LspCommand {
    const NAME: &'static str = "lsp";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Serve an editor over standard input and output";
    const EXAMPLES: &'static str = "Examples:
  brain lsp
  brain lsp --no-start

Configure an editor to run the command \"brain\" with the
argument \"lsp\" for markdown files.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if io::stdin().is_terminal() {
            output::notice(
                "this command is for editors, which start it and use the Language Server Protocol; \
                 Ctrl-D ends it",
            );
        }
        let context = Context { quiet: true, ..*context };
        let is_orderly = brain_lsp::serve(&Daemon {
            call: Arc::new(move |request| context.send_request(&request, !context.no_start)),
            call_running: Arc::new(move |request| context.send_request(&request, false)),
            today,
        });
        // The thread that writes may still hold standard output. The protocol names the statuses.
        std::process::exit(i32::from(!is_orderly))
    }
}
