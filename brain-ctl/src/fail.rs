//! Parses slugs and source ids, and creates the client's faults.

use std::{fmt::Display, io, path::Path};

pub(crate) use brain_protocol::io_reason as reason;
use brain_protocol::{Fault, FaultCode, NameError, SIZE_LIMIT_HINT, Slug, SourceId};

/// Returns the fault of a failed file operation: `disk_full`, `read_only` or `io`. `verb` names the
/// operation, for example `read`.
pub(crate) fn file(verb: &str, path: &Path, error: &io::Error) -> Fault {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => FaultCode::DiskFull,
        io::ErrorKind::ReadOnlyFilesystem => FaultCode::ReadOnly,
        _ => FaultCode::Io,
    };
    let fault = Fault::new(code, format!("cannot {verb} {}: {}", path.display(), reason(error)));
    match error.kind() {
        io::ErrorKind::NotFound => {
            fault.hint("check the path; a relative path starts at the current directory")
        }
        io::ErrorKind::FileTooLarge => fault.hint(SIZE_LIMIT_HINT),
        _ => fault,
    }
}

/// Returns the fault of a program that cannot be run.
pub(crate) fn run(program: impl Display, error: &io::Error) -> Fault {
    Fault::new(FaultCode::Io, format!("cannot run {program}: {}", reason(error)))
}

/// Returns a path as the text of a request.
///
/// # Errors
/// `io` with `hint` if the path is not UTF-8.
pub(crate) fn path_text(path: &Path, hint: &str) -> Result<String, Fault> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Fault::new(FaultCode::Io, format!("the path {} is not UTF-8", path.display())).hint(hint)
    })
}

/// Returns the fault of a failed write to standard output.
pub(crate) fn stdout(error: &io::Error) -> Fault {
    let fault =
        Fault::new(FaultCode::Io, format!("cannot write to standard output: {}", reason(error)));
    match error.kind() {
        io::ErrorKind::FileTooLarge => fault.hint(SIZE_LIMIT_HINT),
        _ => fault,
    }
}

/// Returns the fault of wrong arguments that clap does not detect.
pub(crate) fn usage(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::Usage, message)
}

/// Returns the fault of wrong arguments that clap detects. The first paragraph of its error is the
/// message, its tips are the hint. `command` is the name of the command, if there is one.
pub(crate) fn arguments(error: &clap::Error, command: Option<&str>) -> Fault {
    let help =
        command.map_or_else(|| "brain --help".to_owned(), |name| format!("brain {name} --help"));
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first_paragraph = paragraphs.next().unwrap_or_default();
    let message: Vec<&str> =
        first_paragraph.trim_start_matches("error: ").lines().map(str::trim).collect();
    let mut hints: Vec<String> = Vec::new();
    for line in paragraphs.flat_map(str::lines).map(str::trim) {
        if line.starts_with("tip: to pass '") {
            // clap's tip shows only the first letters of the word, so it is replaced.
            hints.push(match command {
                Some("capture") => {
                    "put `--` before words that begin with a dash: brain capture -- \"- buy milk\""
                        .to_owned()
                }
                Some(name @ ("append" | "add")) => format!(
                    "put `--` before text that begins with a dash: brain {name} SLUG -- \"- buy \
                        milk\""
                ),
                _ => {
                    format!("see its options: {help}; put `--` before words that begin with a dash")
                }
            });
        } else if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.replace("subcommand", "command"));
        } else if let Some(usage) = line.strip_prefix("Usage: ")
            && hints.is_empty()
        {
            hints.push(format!("usage: {usage}"));
        }
    }
    let message = plain_words(&message.join(" "));
    let fault = Fault::new(FaultCode::Usage, message);
    match hints.is_empty() {
        true => fault.hint(format!("see: {help}")),
        false => fault.hint(hints.join("; ")),
    }
}

/// Replaces terms of the libraries that parse arguments with plain words.
fn plain_words(message: &str) -> String {
    let message = message
        .replace("unrecognized subcommand", "there is no command")
        .replace("invalid digit found in string", "expects a number");
    match message.rsplit_once(" is not in ") {
        Some((start, range)) => match range.split_once("..=") {
            Some((first, last)) => format!("{start} is not between {first} and {last}"),
            None => message,
        },
        None => message,
    }
}

/// Parses a slug.
///
/// # Errors
/// `invalid_slug` if `text` is not a slug; the hint suggests a valid one, which may have no page.
pub(crate) fn parse_slug(text: &str) -> Result<Slug, Fault> {
    Slug::parse(text).map_err(|e| name_fault(FaultCode::InvalidSlug, e))
}

/// Parses a source id, if one is given.
///
/// # Errors
/// `invalid_source` if `text` is not a source id.
pub(crate) fn parse_source(text: Option<&str>) -> Result<Option<SourceId>, Fault> {
    text.map(SourceId::parse).transpose().map_err(|e| name_fault(FaultCode::InvalidSource, e))
}

fn name_fault(code: FaultCode, error: NameError) -> Fault {
    let fault = Fault::new(code, error.message);
    match error.suggestion {
        Some(s) => fault.hint(format!("as a slug it is \"{s}\"")),
        None => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_error_has_the_errno_name() {
        let fault = file("read", Path::new("/no/such"), &io::Error::from_raw_os_error(2));
        assert_eq!(fault.message, "cannot read /no/such: ENOENT: no such file or directory");
        assert_eq!(fault.code, FaultCode::Io);
        assert!(fault.hint.is_some_and(|hint| hint.to_string().starts_with("check the path")));
        assert_eq!(
            file("write", Path::new("x"), &io::Error::from_raw_os_error(28)).code,
            FaultCode::DiskFull
        );
    }

    #[test]
    fn ranges_and_commands_are_named_in_plain_words() {
        for (clap, plain) in [
            (
                "invalid value '0': 0 is not in 1..=1000",
                "invalid value '0': 0 is not between 1 and 1000",
            ),
            ("unrecognized subcommand 'serch'", "there is no command 'serch'"),
            ("'b' is not in a list", "'b' is not in a list"),
        ] {
            assert_eq!(plain_words(clap), plain);
        }
    }

    #[test]
    fn a_bad_slug_gets_the_nearest_valid_one() {
        let fault = parse_slug("Notes/My Page").map(|_| ()).map_err(|f| (f.code, f.hint));
        assert_eq!(
            fault,
            Err((FaultCode::InvalidSlug, Some("as a slug it is \"notes/my-page\"".into())))
        );
    }
}
