//! `brain mcp`: an AI client on this machine speaks MCP over standard input and output with the daemon behind the socket.
//!
//! Standard output carries messages and nothing else. What the messages say is between the client and the daemon; here is known
//! only what it takes to go on when the daemon is another one (`relay`).

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
    args::{Group, Verb},
    context::Context,
    fail,
    output::{self, Outcome},
};

use relay::{End, Relay};

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {}

impl Verb for Mcp {
    const NAME: &'static str = "mcp";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Serve an AI client over stdin and stdout";
    const EXAMPLES: &'static str = "Examples:
  claude mcp add brain -- brain mcp
  brain mcp < messages.jsonl

A client starts it: give it the command \"brain\" with
the argument \"mcp\".";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if io::stdin().is_terminal() {
            output::notice(
                "this is for AI clients, which start \"brain mcp\" themselves and speak MCP with it; Ctrl-D ends it",
            );
        }
        let input = BufReader::with_capacity(64 * 1024, Patient(io::stdin()));
        let connect = || context.call_mcp();
        match Relay::new(connect, output::write_stdout, output::notice).run(input) {
            Ok(()) => Ok(Outcome::default()),
            // Whoever read has read enough.
            Err(End::Output(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(Outcome::default()),
            Err(End::Output(e)) => Ok(failed(&Fault::new(
                brain_protocol::FaultCode::Io,
                format!("cannot write to standard output: {}", fail::reason(&e)),
            ))),
            Err(End::Fault(fault)) => Ok(failed(&fault)),
        }
    }
}

/// A failure that is told on standard error even with `--json`: standard output belongs to the client.
fn failed(fault: &Fault) -> Outcome {
    let mut failures = vec![fault.message.clone()];
    failures.extend(fault.hint.iter().map(|hint| format!("hint: {hint}")));
    Outcome {
        failures: vec![failures.join("\n  ")],
        exit: Some(fault.code.exit()),
        ..Outcome::default()
    }
}

/// A standard input that may be in non-blocking mode, somebody else's choice.
struct Patient<R>(R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(5))
                }
                read => return read,
            }
        }
    }
}
