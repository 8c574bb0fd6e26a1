//! The program that converts a file, as a child process.
//!
//! It writes its pages as lines (`docs/import.md`). This module reads the lines, within limits of
//! length and time, and says how the program ended.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command as Program, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use brain_page::ConvertedLine;
use brain_protocol::{Fault, FaultCode, MAX_ATTACHMENT, MAX_CONTENT};

/// Maximum length of a line: a page in JSON, where a character can need six bytes, or a file.
const MAX_LINE: usize = 6 * MAX_CONTENT + MAX_ATTACHMENT / 3 * 4 + 4096;
/// How long the program may write no line. It reads a page in milliseconds, and a large export
/// twice.
const MAX_SILENCE: Duration = Duration::from_secs(120);
/// How often a waiting import checks whether it should end.
const POLL: Duration = Duration::from_millis(100);
/// Maximum length of the program's error message, in bytes.
const MAX_MESSAGE: u64 = 4096;
/// The program's exit code for an input in none of its formats.
const UNKNOWN_FORMAT: i32 = 3;
/// Its exit code for wrong arguments.
const USAGE: i32 = 2;
/// The beginning of its messages.
const MESSAGE_START: &str = "brain-convert: ";

/// How a conversion ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// All lines are there.
    Whole,
    /// The program does not know the format of the input.
    UnknownFormat,
    /// The program refuses its arguments, for this reason.
    Usage(String),
    /// The program failed, for this reason. Lines before that are whole.
    Failed(String),
}

/// Runs a program that converts `path`, and calls `accept` with each line. The first one has the
/// format.
///
/// # Errors
/// `cancelled` when `should_continue` is false; `io` if the program cannot be started, writes
/// wrong lines, or none for too long; the errors of `accept`.
pub(super) fn convert(
    program: &[String],
    path: &Path,
    should_continue: &dyn Fn() -> bool,
    accept: &mut dyn FnMut(ConvertedLine) -> Result<(), Fault>,
) -> Result<Ending, Fault> {
    let mut converter = Converter::start(program, path)?;
    let (mut has_format, mut pages, mut is_whole) = (false, 0, false);
    while let Some(line) = converter.next(should_continue)? {
        let line: ConvertedLine =
            serde_json::from_str(&line).map_err(|error| invalid(&error.to_string()))?;
        match line {
            ConvertedLine::Format { .. } if has_format => {
                return Err(invalid("it names two formats"));
            }
            ConvertedLine::Format { .. } => has_format = true,
            _ if !has_format => return Err(invalid("its first line names no format")),
            ConvertedLine::Page { .. } => pages += 1,
            ConvertedLine::End { pages: stated } => is_whole = stated == pages,
            ConvertedLine::File { .. } | ConvertedLine::Lost { .. } => {}
        }
        accept(line)?;
    }
    let (status, message) = converter.end()?;
    let said = message.trim().strip_prefix(MESSAGE_START);
    let first_line = |said: &str| said.lines().next().unwrap_or_default().to_owned();
    Ok(match (status.code(), said) {
        (Some(0), _) if is_whole => Ending::Whole,
        (Some(UNKNOWN_FORMAT), _) => Ending::UnknownFormat,
        (Some(USAGE), Some(said)) => Ending::Usage(first_line(said)),
        (_, Some(said)) => Ending::Failed(said.to_owned()),
        (_, None) => {
            let message = format!("the program that reads it ended with {status}: {message}");
            Ending::Failed(message.trim_end_matches([' ', ':', '\n']).to_owned())
        }
    })
}

/// The running program.
struct Converter {
    child: Child,
    lines: Receiver<io::Result<String>>,
    last_line: Instant,
}

impl Converter {
    fn start(program: &[String], path: &Path) -> Result<Self, Fault> {
        let (name, arguments) = program.split_first().ok_or_else(|| invalid("it has no name"))?;
        let started = Program::new(name)
            .args(arguments)
            .arg(path)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| {
            Fault::new(FaultCode::Io, format!("cannot start {name}: {error}"))
                .hint("brain-convert belongs beside brain-daemon; install it again")
        })?;
        let (send, lines) = sync_channel(4);
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut out = BufReader::new(out);
                while let Some(line) = read_line(&mut out).transpose() {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, lines, last_line: Instant::now() })
    }

    /// Returns the next line, or `None` at the end.
    fn next(&mut self, should_continue: &dyn Fn() -> bool) -> Result<Option<String>, Fault> {
        loop {
            if !should_continue() {
                return Err(Fault::new(FaultCode::Cancelled, "the import ended early")
                    .hint("imported pages stay; import it again to continue"));
            }
            match self.lines.recv_timeout(POLL) {
                Ok(line) => {
                    self.last_line = Instant::now();
                    return line.map(Some).map_err(|error| invalid(&error.to_string()));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.last_line.elapsed() > MAX_SILENCE => {
                    let seconds = MAX_SILENCE.as_secs();
                    return Err(invalid(&format!("it wrote nothing for {seconds} s")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits for the end of the program. Returns its status and the message on its standard error.
    fn end(mut self) -> Result<(ExitStatus, String), Fault> {
        let mut message = Vec::new();
        if let Some(errors) = self.child.stderr.take() {
            // What is missing of the message is not needed.
            let _ = errors.take(MAX_MESSAGE).read_to_end(&mut message);
        }
        let status = self.child.wait().map_err(|error| invalid(&error.to_string()))?;
        Ok((status, String::from_utf8_lossy(&message).into_owned()))
    }
}

impl Drop for Converter {
    fn drop(&mut self) {
        // It has ended already, or nobody needs it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a line without its end. Returns `None` at the end.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)?;
    if line.len() > MAX_LINE {
        return Err(io::Error::other(format!("a line has more than {MAX_LINE} bytes")));
    }
    if line.is_empty() {
        return Ok(None);
    }
    String::from_utf8(line).map(Some).map_err(io::Error::other)
}

/// The fault of a program that does not follow the rules of its lines.
pub(super) fn invalid(reason: &str) -> Fault {
    Fault::new(FaultCode::Io, format!("the program that reads it failed: {reason}"))
        .hint("please report this with the program of the export")
}
