//! `brain-convert PATH`: writes the pages of another program's export as lines of JSON.
//!
//! The daemon starts it for `brain import`. `docs/import.md` describes the lines and the exit
//! codes.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use brain_convert::{confine, formats, pdf_text};
use brain_convert_base::{Format, convert_with, recognise};
use brain_page::ConvertedLine;

const HELP: &str = "\
Reads what another program exported, and writes pages as lines of JSON.

Usage: brain-convert [--as FORMAT] PATH

PATH is a file or directory. Without --as, its content tells the format.
The daemon of brain starts this program for an import, and stores the pages.

Formats:
";

/// Exit code: an error, which is on standard error.
const FAILED: u8 = 1;
/// Exit code: the arguments are wrong.
const USAGE: u8 = 2;
/// Exit code: the input is in none of the formats.
const UNKNOWN_FORMAT: u8 = 3;

/// The name of the format whose text another program can read.
const PDF: &str = "pdf";

/// What to do.
enum Task {
    Help,
    Version,
    Convert { path: PathBuf, format: Option<&'static Format> },
}

fn main() -> ExitCode {
    let task = match parse(std::env::args_os().skip(1)) {
        Ok(task) => task,
        Err(message) => {
            report(&format!("{message}\nTry: brain-convert --help"));
            return ExitCode::from(USAGE);
        }
    };
    let done = match task {
        Task::Help => help().map(|()| ExitCode::SUCCESS),
        Task::Version => version().map(|()| ExitCode::SUCCESS),
        Task::Convert { path, format } => run(&path, format),
    };
    done.unwrap_or_else(|error| {
        report(&error.to_string());
        ExitCode::from(FAILED)
    })
}

/// Prints an error. Nobody can be told if that fails.
fn report(message: &str) {
    let _ = writeln!(io::stderr(), "brain-convert: {message}");
}

fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Task, String> {
    let (mut path, mut format) = (None, None);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--help" | "-h") => return Ok(Task::Help),
            Some("--version" | "-V") => return Ok(Task::Version),
            Some("--as") => {
                let name = args.next().ok_or("--as needs the name of a format")?;
                let known = formats().find(|format| name == format.name);
                let message = || format!("{} is no format", name.display());
                format = Some(known.ok_or_else(message)?);
            }
            Some(option) if option.starts_with('-') => {
                return Err(format!("{option} is no option"));
            }
            _ if path.is_some() => return Err("only one PATH can be converted at a time".into()),
            _ => path = Some(PathBuf::from(arg)),
        }
    }
    Ok(Task::Convert { path: path.ok_or("PATH is missing")?, format })
}

fn help() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    out.write_all(HELP.as_bytes())?;
    for format in formats() {
        writeln!(out, "  {:<16} {}", format.name, format.title)?;
    }
    Ok(())
}

fn version() -> Result<(), Box<dyn std::error::Error>> {
    writeln!(io::stdout(), "brain-convert {}", brain_protocol::VERSION)?;
    Ok(())
}

fn run(
    path: &Path,
    format: Option<&'static Format>,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    // A pipe or a device could block for ever.
    if std::fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Err(format!("{} is neither a file nor a directory", path.display()).into());
    }
    let may_be_pdf = format.is_none_or(|format| format.name == PDF);
    let other_text = if may_be_pdf { pdf_text(path)? } else { None };
    confine(path)?;
    let format = match format {
        Some(format) => Some(format),
        None => recognise(formats(), path)?,
    };
    let Some(format) = format else { return Ok(ExitCode::from(UNKNOWN_FORMAT)) };
    let mut out = BufWriter::new(io::stdout().lock());
    let head =
        ConvertedLine::Format { name: format.name.to_owned(), title: format.title.to_owned() };
    serde_json::to_writer(&mut out, &head)?;
    out.write_all(b"\n")?;
    // What was converted before an error stays.
    let converted = convert_with(format, path, other_text, &mut out);
    out.flush()?;
    converted?;
    Ok(ExitCode::SUCCESS)
}
