//! Prints results and faults, and returns the exit status.
//!
//! Standard output carries results, and faults as JSON; standard error carries everything else. A
//! command returns an [`Outcome`] for [`finish`]. Only `ask`, `collector collect`, `demo`, `doctor`,
//! `logs`, `mcp` and `setup` write to standard output while they run.

mod format;
mod json;
mod markup;
mod paint;
mod passage;
mod table;
mod text;

use std::{
    io::{self, ErrorKind, IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use brain_protocol::{Exit, Fault};
use serde::Serialize;

pub(crate) use format::{
    FormatOption, Listing, TableFormatOption, contradiction, json_records, show_list,
};
pub(crate) use json::line as json_line;
pub(crate) use paint::{Paint, clean, clean_lines};
pub(crate) use table::{Column, Table};
pub(crate) use text::{
    Text, count, cut_to_width, format_bytes, pad, page_name, stdout_width, width,
};

pub(crate) use crate::when::{format_to_day, format_to_minute, format_to_second};

use crate::fail;

/// The output of a command.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Bytes for standard output.
    pub(crate) out: Vec<u8>,
    /// Sources that are away, for standard error.
    pub(crate) away: Vec<String>,
    /// Partial failures, for standard error.
    pub(crate) failures: Vec<String>,
    /// Warnings, for standard error.
    pub(crate) warnings: Vec<String>,
    /// Notes, for standard error unless `--quiet`.
    pub(crate) notes: Vec<String>,
    /// The exit status.
    pub(crate) exit: Option<Exit>,
}

impl Outcome {
    /// Returns a success that prints `text`.
    pub(crate) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self { out: text.into(), ..Self::default() }
    }
}

/// A result that can be printed as text, as JSON, or for `--quiet`.
pub(crate) trait Show: Serialize {
    /// Adds the text for people to `t`.
    fn text(&self, t: &mut Text);

    /// Adds the essential result, for `--quiet`, to `t`.
    fn quiet(&self, t: &mut Text);

    /// Returns warnings.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Returns the sources that are away, with the way out.
    fn away(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns partial failures.
    fn failures(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns notes.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the exit status.
    fn exit(&self) -> Exit {
        Exit::Done
    }
}

/// Returns the outcome that prints `value` as JSON, as its essential result, or as text.
///
/// # Errors
/// `internal` if `value` cannot be converted to JSON.
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
        away: value.away(),
        failures: value.failures(),
        warnings: value.warnings().to_vec(),
        notes: value.notes(),
        exit,
    })
}

/// Returns the outcome that prints a help text, plain or as JSON.
///
/// # Errors
/// `internal` if it cannot be converted to JSON.
pub(crate) fn help(text: String, json: bool) -> Result<Outcome, Fault> {
    #[derive(Serialize)]
    struct Help {
        help: String,
    }
    if json { json::line(&Help { help: text }).map(Outcome::text) } else { Ok(Outcome::text(text)) }
}

/// Prints an outcome and returns its exit status.
pub(crate) fn finish(outcome: &Outcome, quiet: bool) -> ExitCode {
    for warning in &outcome.warnings {
        let label = paint::stderr().yellow("warning:");
        write_stderr(&format!("brain: {label} {}\n", clean_lines(warning)));
    }
    for source in &outcome.away {
        let label = paint::stderr().yellow("away:");
        write_stderr(&format!("brain: {label} {}\n", clean_lines(source)));
    }
    for failure in &outcome.failures {
        let label = paint::stderr().red("failed:");
        write_stderr(&format!("brain: {label} {}\n", clean_lines(failure)));
    }
    let mut exit = outcome.exit.unwrap_or(Exit::Done) as u8;
    match write_stdout(&outcome.out) {
        Ok(()) => {}
        // The reader closed the pipe.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
        Err(e) => {
            write_stderr(&fault_text(&fail::stdout(&e)));
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

/// Prints a fault and returns its exit status.
pub(crate) fn finish_fault(fault: &Fault, json: bool) -> ExitCode {
    let exit = ExitCode::from(fault.code.exit() as u8);
    if json {
        let written = json::fault(fault).and_then(|line| {
            write_stdout(&line).map_err(|e| {
                let write_fault = fail::stdout(&e);
                Fault { message: format!("{fault}; {write_fault}"), ..write_fault }
            })
        });
        match written {
            Ok(()) => return exit,
            Err(both_faults) => write_stderr(&fault_text(&both_faults)),
        }
    } else {
        write_stderr(&fault_text(fault));
    }
    exit
}

fn fault_text(fault: &Fault) -> String {
    let mut text =
        format!("brain: {} {}\n", paint::stderr().red("error:"), clean_lines(&fault.message));
    if let Some(hint) = &fault.hint {
        text.push_str(&format!(
            "  {} {}\n",
            paint::stderr().bold("hint:"),
            clean_lines(&hint.to_string())
        ));
    }
    text
}

/// Prints a line to standard error.
pub(crate) fn notice(message: &str) {
    write_stderr(&format!("brain: {}\n", clean_lines(message)));
}

/// Ends the line of a prompt, after which a signal arrived, so that a notice begins a new line.
pub(crate) fn end_line_at_terminal() {
    if io::stdout().is_terminal() {
        let _ = write_stdout(b"\n");
    }
}

/// Prints to standard error. A failure is ignored, because there is no place to report it.
fn write_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes all bytes to standard output, which may be in non-blocking mode because another process
/// shares it.
pub(crate) fn write_stdout(mut bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(e) => return Err(e),
        }
    }
    loop {
        match out.flush() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}
