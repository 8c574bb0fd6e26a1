//! `brain logs`: prints the daemon's log, from the systemd journal or from the log file.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use brain_protocol::{Fault, FaultCode};
use clap::Args;

use super::service;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    home::Home,
    output::{Outcome, clean},
};

/// Interval between two reads of a followed log file.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Arguments of `logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsCommand {
    /// Number of lines, counted from the end
    #[arg(short = 'n', long, value_name = "LINES", default_value_t = 50)]
    lines: usize,

    /// Print new lines as they are written, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
}

impl Verb for LogsCommand {
    const NAME: &'static str = "logs";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Show the log of the daemon";
    const EXAMPLES: &'static str = "Examples:
  brain logs
  brain logs -n 200 --follow";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if context.json {
            return Err(fail::usage("a log has no JSON form").hint("brain logs -n 200"));
        }
        if service::is_running() {
            return self.exec_journalctl();
        }
        let path = Home::find()?.log();
        let mut file = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let message = format!("there is no log at {}", path.display());
                return Err(Fault::new(FaultCode::NotFound, message).hint(
                    "only a daemon that `brain` started in the background writes a log file; \
                     `brain serve` and system services log to standard error",
                ));
            }
            opened => opened.map_err(|e| fail::file("read", &path, &e))?,
        };
        let unreadable = |e: io::Error| fail::file("read", &path, &e);
        let mut last_lines = VecDeque::new();
        let mut reader = BufReader::new(&mut file);
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line).map_err(unreadable)? {
            if last_lines.len() == self.lines {
                last_lines.pop_front();
            }
            if self.lines > 0 {
                last_lines.push_back(std::mem::take(&mut line));
            }
        }
        last_lines.iter().for_each(|line| print_line(line));
        if self.follow {
            follow(&path, file).map_err(unreadable)?;
        }
        Ok(Outcome::default())
    }
}

impl LogsCommand {
    /// Replaces this process with `journalctl`. Returns only after a failure.
    fn exec_journalctl(&self) -> Result<Outcome, Fault> {
        let mut command = Command::new("journalctl");
        command.args(["--user", "-u", "brain-daemon", "-n", &self.lines.to_string()]);
        command.args(self.follow.then_some("--follow"));
        let error = command.exec();
        let message = format!("cannot run journalctl: {}", fail::reason(&error));
        Err(Fault::new(FaultCode::Unreachable, message).hint("install systemd's journalctl"))
    }
}

/// Reads the next line into `line`. Returns `false` at the end of the file.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(reader.read_until(b'\n', line)? > 0)
}

/// Prints a line. The log can have text from outside, so control characters are replaced.
fn print_line(line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    // A write fails if the reader closed the pipe. Then nobody reads an error message either.
    let _ = writeln!(io::stdout(), "{}", clean(text.trim_end_matches('\n')));
}

/// Prints complete new lines of the log until an error. Continues with the new file after the log
/// is replaced.
fn follow(path: &Path, mut file: File) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    let mut unprinted = Vec::new();
    loop {
        file.read_to_end(&mut unprinted)?;
        while let Some(end) = unprinted.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unprinted.drain(..=end).collect();
            print_line(&line);
        }
        io::stdout().flush()?;
        thread::sleep(POLL_INTERVAL);
        let (open_file, file_at_path) = (file.metadata()?, fs::metadata(path));
        if file_at_path.is_ok_and(|found| found.ino() != open_file.ino()) {
            file = File::open(path)?;
        }
    }
}
