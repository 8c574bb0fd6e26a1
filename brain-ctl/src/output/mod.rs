//! Everything that leaves the process, and the one way out of it.
//!
//! Standard output carries results, standard error everything that is said about them. A verb hands an
//! [`Outcome`] to [`finish`]; nothing else writes to standard output, but `mcp`, whose messages are its results, and `collector collect`,
//! whose lines are worth most when they come.

mod json;
mod paint;
mod table;
mod text;

use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
    time::Duration,
};

use brain_protocol::{Exit, Fault};
use serde::Serialize;

pub(crate) use paint::{Paint, clean, clean_lines};
pub(crate) use table::{Column, Table};
pub(crate) use text::{Text, bytes, count, day, fit, minute, pad, stdout_width, width};

use crate::fail;

/// What a command leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// For standard output, as it is.
    pub(crate) out: Vec<u8>,
    /// What failed although the rest was done; for standard error.
    pub(crate) failures: Vec<String>,
    /// What the user should know; for standard error.
    pub(crate) warnings: Vec<String>,
    /// What the user may like to know; for standard error, unless `--quiet`.
    pub(crate) notes: Vec<String>,
    /// The exit status.
    pub(crate) exit: Option<Exit>,
}

impl Outcome {
    /// A success that prints `text`.
    pub(crate) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self { out: text.into(), ..Self::default() }
    }
}

/// An answer that can be shown in every way that a command offers.
pub(crate) trait Show: Serialize {
    /// For people.
    fn text(&self, t: &mut Text);

    /// The essential, for `--quiet`.
    fn quiet(&self, t: &mut Text);

    /// What the user should know.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// What failed although the rest was done.
    fn failures(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the user may like to know.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The exit status this answer stands for.
    fn exit(&self) -> Exit {
        Exit::Done
    }
}

/// `value` as JSON, as the essential, or as text.
///
/// # Errors
/// `internal`, when `value` cannot be put into JSON.
pub(crate) fn show(value: &impl Show, json: bool, quiet: bool) -> Result<Outcome, Fault> {
    let exit = Some(value.exit());
    if json {
        return Ok(Outcome { out: json::line(value)?, exit, ..Outcome::default() });
    }
    let mut text = Text::for_stdout();
    if quiet {
        value.quiet(&mut text);
    } else {
        value.text(&mut text);
    }
    Ok(Outcome {
        out: text.into_bytes(),
        failures: value.failures(),
        warnings: value.warnings().to_vec(),
        notes: value.notes(),
        exit,
    })
}

/// A help text, as it is or as JSON.
///
/// # Errors
/// `internal`, when it cannot be put into JSON.
pub(crate) fn help(text: String, json: bool) -> Result<Outcome, Fault> {
    #[derive(Serialize)]
    struct Help {
        help: String,
    }
    if json { json::line(&Help { help: text }).map(Outcome::text) } else { Ok(Outcome::text(text)) }
}

/// Prints an outcome and gives its exit status. The one way out after a success.
pub(crate) fn finish(outcome: &Outcome, quiet: bool) -> ExitCode {
    for warning in &outcome.warnings {
        say(&format!("brain: {} {}\n", paint::stderr().yellow("warning:"), clean_lines(warning)));
    }
    for failure in &outcome.failures {
        say(&format!("brain: {} {}\n", paint::stderr().red("failed:"), clean_lines(failure)));
    }
    let mut exit = outcome.exit.unwrap_or(Exit::Done) as u8;
    match write_stdout(&outcome.out) {
        Ok(()) => {}
        // Whoever read has read enough.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
        Err(e) => {
            say(&fault_text(&fail::stdout(&e)));
            exit = exit.max(Exit::Failed as u8);
        }
    }
    if !quiet {
        for note in &outcome.notes {
            notice(note);
        }
    }
    ExitCode::from(exit)
}

/// Prints a fault and gives its exit status. The one way out after a failure.
pub(crate) fn finish_fault(fault: &Fault, json: bool) -> ExitCode {
    let exit = ExitCode::from(fault.code.exit() as u8);
    if json {
        let written = json::fault(fault).and_then(|line| {
            write_stdout(&line).map_err(|e| {
                let second = fail::stdout(&e);
                Fault { message: format!("{fault}; {second}"), ..second }
            })
        });
        match written {
            Ok(()) => return exit,
            Err(second) => say(&fault_text(&second)),
        }
    } else {
        say(&fault_text(fault));
    }
    exit
}

fn fault_text(fault: &Fault) -> String {
    let mut text =
        format!("brain: {} {}\n", paint::stderr().red("error:"), clean_lines(&fault.message));
    if let Some(hint) = &fault.hint {
        text.push_str(&format!("  {} {}\n", paint::stderr().bold("hint:"), clean_lines(hint)));
    }
    text
}

/// One line about what is going on, on standard error.
pub(crate) fn notice(message: &str) {
    say(&format!("brain: {}\n", clean_lines(message)));
}

/// Standard error is where failures are told: when it fails itself, nobody is left to tell.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// All of `bytes`, on a standard output that may be in non-blocking mode (somebody else's choice, which
/// every process that shares it has to live with).
pub(crate) fn write_stdout(mut bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1))
            }
            Err(e) => return Err(e),
        }
    }
    loop {
        match out.flush() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1))
            }
            done => return done,
        }
    }
}
