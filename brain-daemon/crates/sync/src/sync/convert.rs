//! Converts exports of other programs to a directory of markdown files, which is then imported.
//!
//! The program `brain-convert` reads the export. It may read nothing else and write no file; it
//! sends its pages as lines (`docs/import.md`). This module checks each line and writes the
//! files.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command as Program, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_base::home::create_private_dir;
use brain_page::{ConvertedLine, attachment_name};
use brain_protocol::{Fault, FaultCode, ImportFailure, MAX_ATTACHMENT, MAX_CONTENT};
use brain_service::Progress;
use parking_lot::MutexGuard;

use super::SyncService;
use super::import_attachments::export_dir;

/// Maximum length of a line: a page in JSON, where a character can need six bytes, or a file.
const MAX_LINE: usize = 6 * MAX_CONTENT + MAX_ATTACHMENT / 3 * 4 + 4096;
/// How long the program may write no line. It reads a page in milliseconds, and a large export
/// twice.
const MAX_SILENCE: Duration = Duration::from_secs(120);
/// How often a waiting import checks whether it should end.
const POLL: Duration = Duration::from_millis(100);
/// Maximum length of the program's error message, in bytes.
const MAX_MESSAGE: u64 = 4096;
/// Maximum number of lost things that are named.
const MAX_LOST: usize = 10_000;
/// The program's exit code for an input in none of its formats.
const UNKNOWN_FORMAT: i32 = 3;
/// Its exit code for wrong arguments.
const USAGE: i32 = 2;
/// The beginning of its messages.
const MESSAGE_START: &str = "brain-convert: ";

/// A directory that is removed with this value. Only one exists at a time.
struct ScratchDir<'a> {
    path: PathBuf,
    _turn: MutexGuard<'a, ()>,
}

impl Drop for ScratchDir<'_> {
    fn drop(&mut self) {
        // What stays is removed before the next conversion.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A converted export.
pub(super) struct ConvertedExport<'a> {
    /// The directory with a markdown file for each page.
    dir: ScratchDir<'a>,
    /// What the export is, for people.
    pub(super) format: String,
    /// The things that are in no page, or only in part.
    pub(super) lost: Vec<ImportFailure>,
    /// The number of all such things.
    pub(super) lost_total: u64,
    /// Why the conversion ended early. The pages before that are there.
    pub(super) problem: Option<String>,
    /// The entry of the export for each path below `dir`.
    origins: HashMap<String, String>,
    /// Whether the last line was read, and the number of pages is right.
    is_whole: bool,
}

impl<'a> ConvertedExport<'a> {
    fn new(dir: ScratchDir<'a>, format: String) -> Self {
        Self {
            dir,
            format,
            lost: Vec::new(),
            lost_total: 0,
            problem: None,
            origins: HashMap::new(),
            is_whole: false,
        }
    }
}

impl ConvertedExport<'_> {
    /// Returns the directory with a markdown file for each page.
    pub(super) fn dir(&self) -> &Path {
        &self.dir.path
    }

    /// Returns the entry of the export from which the file at `path` was made.
    pub(super) fn origin<'a>(&'a self, path: &'a str) -> &'a str {
        self.origins.get(path).map_or(path, String::as_str)
    }

    /// Writes the file of a line, or records what was lost.
    fn accept(&mut self, line: ConvertedLine) -> Result<(), Fault> {
        match line {
            ConvertedLine::Page { from, path, markdown } => {
                let file_path = format!("{path}.md");
                if !is_plain(&file_path) || self.origins.contains_key(&file_path) {
                    return Err(invalid(&format!("a page has the path {path:?}")));
                }
                write(&self.dir().join(&file_path), markdown.as_bytes())?;
                self.origins.insert(file_path, from);
            }
            ConvertedLine::File { page, name, base64 } => {
                let page_path = format!("{page}.md");
                if !self.origins.contains_key(&page_path) || attachment_name(&name).is_err() {
                    return Err(invalid(&format!("a file has the name {name:?}")));
                }
                let bytes = STANDARD.decode(base64).map_err(|error| invalid(&error.to_string()))?;
                write(&self.dir().join(export_dir(Path::new(&page_path))).join(name), &bytes)?;
            }
            ConvertedLine::Lost { from, reason } => {
                self.lost_total += 1;
                if self.lost.len() < MAX_LOST {
                    self.lost.push(ImportFailure { path: from, reason });
                }
            }
            ConvertedLine::End { pages } => self.is_whole = pages == self.origins.len() as u64,
            ConvertedLine::Format { .. } => return Err(invalid("it names two formats")),
        }
        Ok(())
    }
}

impl SyncService {
    /// Converts the export at `path`. Returns `None` if it is none: a directory of markdown, or an
    /// unknown file. `format` is the name of its format, if the user gave one.
    ///
    /// # Errors
    /// `usage` for an unknown name of a format, `busy` while another export is converted,
    /// `cancelled`, or `io`.
    pub(super) fn convert<'a>(
        &'a self,
        path: &Path,
        format: Option<&str>,
        progress: &dyn Progress,
    ) -> Result<Option<ConvertedExport<'a>>, Fault> {
        let mut export: Option<ConvertedExport<'a>> = None;
        let mut converter = Converter::start(&self.env.converter, path, format)?;
        while let Some(line) = converter.next(|| {
            let pages = export.as_ref().map_or(0, |export| export.origins.len() as u64);
            progress.at(0, pages) && !self.env.stop.is_cancelled()
        })? {
            let line = serde_json::from_str(&line).map_err(|error| invalid(&error.to_string()))?;
            match (&mut export, line) {
                // A directory of markdown needs no turn.
                (None, ConvertedLine::Format { title, .. }) => {
                    export = Some(ConvertedExport::new(self.scratch_dir()?, title));
                }
                (Some(export), line) => export.accept(line)?,
                (None, _) => return Err(invalid("its first line names no format")),
            }
        }
        let (status, message) = converter.end()?;
        let is_whole = export.as_ref().is_some_and(|export| export.is_whole);
        match status.code() {
            Some(0) if is_whole => return Ok(export),
            Some(UNKNOWN_FORMAT) => return Ok(None),
            _ => {}
        }
        let said = message.trim().strip_prefix(MESSAGE_START);
        if let (Some(USAGE), Some(said)) = (status.code(), said) {
            return Err(Fault::new(FaultCode::Usage, said.lines().next().unwrap_or_default())
                .hint("markdown is one; the others: brain-convert --help"));
        }
        let message = said.map_or_else(
            || format!("the program that reads it ended with {status}: {}", message.trim()),
            str::to_owned,
        );
        let Some(export) = export.filter(|export| !export.origins.is_empty()) else {
            return Err(Fault::new(FaultCode::Io, format!("cannot import {message}"))
                .hint("nothing was imported; export the notes again"));
        };
        Ok(Some(ConvertedExport { problem: Some(message), ..export }))
    }

    /// Makes the empty directory for a conversion.
    fn scratch_dir(&self) -> Result<ScratchDir<'_>, Fault> {
        let Some(turn) = self.converting.try_lock() else {
            return Err(Fault::new(FaultCode::Busy, "another import reads an export now")
                .hint("try again when it has ended"));
        };
        let dir = ScratchDir { path: self.env.home.run().join("converted"), _turn: turn };
        match fs::remove_dir_all(&dir.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file_fault(&dir.path, &error));
            }
            _ => create_private_dir(&dir.path).map_err(|error| file_fault(&dir.path, &error))?,
        }
        Ok(dir)
    }
}

/// The running program.
struct Converter {
    child: Child,
    lines: Receiver<io::Result<String>>,
    last_line: Instant,
}

impl Converter {
    fn start(program: &Path, path: &Path, format: Option<&str>) -> Result<Self, Fault> {
        let mut command = Program::new(program);
        if let Some(format) = format {
            command.args(["--as", format]);
        }
        let started = command
            .arg(path)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| {
            Fault::new(FaultCode::Io, format!("cannot start {}: {error}", program.display()))
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
    fn next(&mut self, should_continue: impl Fn() -> bool) -> Result<Option<String>, Fault> {
        loop {
            if !should_continue() {
                return Err(Fault::new(FaultCode::Cancelled, "the import ended early")
                    .hint("nothing was imported; import it again"));
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

/// Returns whether a path stays below its directory and names a file that is not hidden.
fn is_plain(path: &str) -> bool {
    let is_name = |part| matches!(part, Component::Normal(_));
    !path.contains('\0')
        && Path::new(path).components().all(is_name)
        && path.split('/').all(|name| !name.is_empty() && !name.starts_with('.'))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let parent = path.parent().unwrap_or(path);
    create_private_dir(parent)
        .and_then(|()| fs::write(path, bytes))
        .map_err(|error| file_fault(path, &error))
}

fn file_fault(path: &Path, error: &io::Error) -> Fault {
    Fault::new(FaultCode::Io, format!("cannot write {}: {error}", path.display()))
        .hint("nothing was imported; free space or mend the permissions, then import it again")
}

fn invalid(reason: &str) -> Fault {
    let message = format!("the program that reads exports failed: {reason}; nothing was imported");
    Fault::new(FaultCode::Io, message).hint("please report this with the program of the export")
}
