//! The program that converts a file, as a child process.
//!
//! It writes its pages as lines (`docs/import.md`). This module reads the lines, within limits of
//! length and time, and says how the program ended.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command as Program, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use brain_page::ConvertedLine;
use brain_protocol::{Fault, FaultCode, MAX_ATTACHMENT, MAX_CONTENT};
use rustix::process::{Pid, Signal, kill_process_group};

/// What a pipe of Linux holds, in bytes.
const PIPE: usize = 64 * 1024;
/// Maximum length of a line: a page in JSON, where a character can need six bytes, or a file.
const MAX_LINE: usize = 6 * MAX_CONTENT + MAX_ATTACHMENT / 3 * 4 + 4096;
/// How long the program may write no line. It reads a page in milliseconds, and a large export
/// twice.
const MAX_SILENCE: Duration = Duration::from_secs(120);
/// How often a waiting import checks whether it should end.
const POLL: Duration = Duration::from_millis(100);
/// How long the program may run after its last line, without an end.
const MAX_END: Duration = Duration::from_secs(10);
/// Maximum length of the program's error message, in bytes. The end of a longer one counts.
const MAX_MESSAGE: usize = 4096;
/// The program's exit code for an input in none of its formats.
const UNKNOWN_FORMAT: i32 = 3;
/// Its exit code for wrong arguments.
const USAGE: i32 = 2;
/// The beginning of its messages.
const MESSAGE_START: &str = "brain-convert: ";

/// How a conversion ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
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
pub fn convert(
    program: &[String],
    path: &Path,
    should_continue: &dyn Fn() -> bool,
    accept: &mut dyn FnMut(ConvertedLine) -> Result<(), Fault>,
) -> Result<Ending, Fault> {
    Converter::start(program, path)?.run(should_continue, accept)
}

impl Converter {
    /// Calls `accept` with each line of the program.
    ///
    /// # Errors
    /// `cancelled` when `should_continue` is false; `io` if the program writes wrong lines, or none
    /// for too long; the errors of `accept`.
    pub fn run(
        mut self,
        should_continue: &dyn Fn() -> bool,
        accept: &mut dyn FnMut(ConvertedLine) -> Result<(), Fault>,
    ) -> Result<Ending, Fault> {
        let (mut has_format, mut pages, mut is_whole) = (false, 0, false);
        while let Some(line) = self.next(should_continue)? {
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
                ConvertedLine::File { .. }
                | ConvertedLine::Post { .. }
                | ConvertedLine::Lost { .. } => {}
            }
            accept(line)?;
        }
        let (status, message) = self.end(should_continue)?;
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
}

/// The running program, with all processes that it starts.
pub struct Converter {
    child: Child,
    lines: Receiver<io::Result<String>>,
    /// What it wrote to its standard error, once that is closed.
    message: Receiver<String>,
    last_line: Instant,
}

impl Converter {
    /// Starts a program that converts `path`.
    ///
    /// # Errors
    /// `io` if it cannot be started.
    pub fn start(program: &[String], path: &Path) -> Result<Self, Fault> {
        let (name, arguments) = program.split_first().ok_or_else(|| invalid("it has no name"))?;
        let started = Program::new(name)
            .args(arguments)
            .arg(path)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that its children end with it.
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|error| {
            Fault::new(FaultCode::Io, format!("cannot start {name}: {error}")).hint(
                "brain-convert belongs beside brain-daemon: install it again; another program must \
                 be as import.processors names it",
            )
        })?;
        // A line can have many megabytes.
        let (send, lines) = sync_channel(1);
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut out = BufReader::with_capacity(PIPE, out);
                while let Some(line) = read_line(&mut out).transpose() {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let (send, message) = sync_channel(1);
        if let Some(errors) = child.stderr.take() {
            std::thread::spawn(move || {
                // Nobody may wait for it any more.
                let _ = send.send(last_bytes(errors));
            });
        }
        Ok(Self { child, lines, message, last_line: Instant::now() })
    }

    /// Returns the next line, or `None` at the end.
    fn next(&mut self, should_continue: &dyn Fn() -> bool) -> Result<Option<String>, Fault> {
        loop {
            if !should_continue() {
                return Err(cancelled());
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
    fn end(mut self, should_continue: &dyn Fn() -> bool) -> Result<(ExitStatus, String), Fault> {
        let until = Instant::now() + MAX_END;
        let status = loop {
            let status = self.child.try_wait().map_err(|error| invalid(&error.to_string()))?;
            match status {
                Some(status) => break status,
                None if !should_continue() => return Err(cancelled()),
                None if Instant::now() > until => {
                    let seconds = MAX_END.as_secs();
                    return Err(invalid(&format!("it did not end within {seconds} s")));
                }
                None => std::thread::sleep(POLL / 10),
            }
        };
        // A process that it started could keep its standard error open.
        self.kill_group();
        let message = self.message.recv_timeout(POLL * 10).unwrap_or_default();
        Ok((status, message))
    }

    fn kill_group(&self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // All of them may have ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Converter {
    fn drop(&mut self) {
        self.kill_group();
        let _ = self.child.wait();
    }
}

fn cancelled() -> Fault {
    Fault::new(FaultCode::Cancelled, "the import ended early")
        .hint("imported pages stay; import it again to continue")
}

/// Reads to the end. Returns the last bytes as text.
fn last_bytes(mut input: impl Read) -> String {
    let (mut last, mut buffer) = (Vec::new(), [0; MAX_MESSAGE]);
    while let Ok(count @ 1..) = input.read(&mut buffer) {
        last.extend_from_slice(&buffer[..count]);
        let surplus = last.len().saturating_sub(MAX_MESSAGE);
        last.drain(..surplus);
    }
    String::from_utf8_lossy(&last).into_owned()
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
pub fn invalid(reason: &str) -> Fault {
    Fault::new(FaultCode::Io, format!("the program that reads it failed: {reason}"))
        .hint("please report this with the program of the export")
}
