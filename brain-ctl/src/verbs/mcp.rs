//! `brain mcp`: relays MCP between standard input and output and the daemon.
//!
//! Standard output carries only messages. `relay` reads only the parts of messages that it needs to
//! check them and to continue after a restart of the daemon.

mod client_watch;
mod line;
mod message;
mod relay;

use std::{
    io::{self, BufReader, ErrorKind, IsTerminal, Read},
    time::Duration,
};

use brain_protocol::Fault;
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{self, Outcome},
};

use relay::{Relay, RelayError};

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpCommand {}

impl Verb for McpCommand {
    const NAME: &'static str = "mcp";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Serve MCP over standard input and output";
    const EXAMPLES: &'static str = "Examples:
  claude mcp add brain -- brain mcp
  brain mcp < messages.jsonl

Configure an AI client to run the command \"brain\"
with the argument \"mcp\".";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if io::stdin().is_terminal() {
            output::notice(
                "this command is for AI clients, which start it and use MCP; Ctrl-D ends it",
            );
        }
        let input = BufReader::with_capacity(64 * 1024, BlockingReader(io::stdin()));
        let connect = || context.call_mcp();
        let is_client_gone = client_watch::start();
        let relay = Relay::new(connect, output::write_stdout, output::notice);
        match relay.run(input, &is_client_gone) {
            Ok(()) => Ok(Outcome::default()),
            // The client closed the pipe.
            Err(RelayError::Output(e)) if e.kind() == ErrorKind::BrokenPipe => {
                Ok(Outcome::default())
            }
            Err(RelayError::Output(e)) => Ok(failed_outcome(&Fault::new(
                brain_protocol::FaultCode::Io,
                format!("cannot write to standard output: {}", fail::reason(&e)),
            ))),
            Err(RelayError::Fault(fault)) => Ok(failed_outcome(&fault)),
        }
    }
}

/// Returns an outcome that prints `fault` to standard error, even with `--json`: standard output
/// carries messages only.
fn failed_outcome(fault: &Fault) -> Outcome {
    let mut failures = vec![fault.message.clone()];
    failures.extend(fault.hint.iter().map(|hint| format!("hint: {hint}")));
    Outcome {
        failures: vec![failures.join("\n  ")],
        exit: Some(fault.code.exit()),
        ..Outcome::default()
    }
}

/// A reader that waits for input even if the inner reader is in non-blocking mode.
struct BlockingReader<R>(R);

impl<R: Read> Read for BlockingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                read => return read,
            }
        }
    }
}
