//! Reads content from words, a file, or standard input.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, ErrorKind, IsTerminal, Read, Write},
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

use brain_protocol::{Fault, FaultCode, MAX_CONTENT, Origin, Secret};

use crossterm::{
    event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
    terminal,
};

use crate::{fail, output};

/// The end of a message about missing content: the possible inputs.
const INPUTS: &str = "give the content as words, with --file PATH, or with --stdin";

/// Maximum length of a secret in bytes.
const MAX_SECRET: u64 = 4096;

/// Content and its origin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// The bytes.
    pub(crate) content: Vec<u8>,
    /// Where the bytes came from.
    pub(crate) origin: Origin,
}

/// Reads the content for `capture`. The single word `-` means standard input.
///
/// # Errors
/// `usage` for two inputs; `empty_content` for none or a blank one; `io` for an unreadable file;
/// `too_large` above [`MAX_CONTENT`] bytes.
pub(crate) fn for_capture(
    words: Vec<OsString>,
    file: Option<&Path>,
    stdin: bool,
) -> Result<Input, Fault> {
    let stdin = stdin || is_dash(&words);
    let words = if is_dash(&words) { Vec::new() } else { words };
    let inputs = usize::from(!words.is_empty()) + usize::from(file.is_some()) + usize::from(stdin);
    if inputs > 1 {
        return Err(fail::usage("only one input is possible: words, --file PATH, or --stdin")
            .hint("use only one of them"));
    }
    let input = match file {
        _ if inputs == 0 => {
            let message = format!("nothing to capture: {INPUTS}");
            return Err(Fault::new(FaultCode::EmptyContent, message));
        }
        Some(path) => from_file(path)?,
        None if stdin => from_stdin()?,
        None => from_words(words)?,
    };
    if is_blank(&input.content) {
        let subject = match &input.origin {
            Origin::Argument => "the words are".to_owned(),
            Origin::File(path) => format!("{path} is"),
            _ => "standard input is".to_owned(),
        };
        return Err(Fault::new(FaultCode::EmptyContent, format!("{subject} empty: {INPUTS}")));
    }
    Ok(input)
}

/// Reads the text for `append` from words or a file. Without either, or for the single word `-`,
/// reads standard input. The daemon refuses an empty text.
///
/// # Errors
/// `io` for an unreadable file; `too_large` above [`MAX_CONTENT`] bytes.
pub(crate) fn for_append(words: Vec<OsString>, file: Option<&Path>) -> Result<Input, Fault> {
    match file {
        Some(path) => from_file(path),
        None if words.is_empty() || is_dash(&words) => from_stdin(),
        None => from_words(words),
    }
}

/// Reads the page for `put`. The daemon decides whether it can be empty.
///
/// # Errors
/// `io` for an unreadable file; `too_large` above [`MAX_CONTENT`] bytes.
pub(crate) fn for_put(file: Option<&Path>) -> Result<Input, Fault> {
    match file {
        Some(path) => from_file(path),
        None => from_stdin(),
    }
}

/// Reads a secret from a file, or from standard input for `-`, without surrounding white space.
///
/// # Errors
/// `io` for an unreadable file; `invalid_request` with `hint` if the text is empty, has several
/// lines, or has more than [`MAX_SECRET`] bytes.
pub(crate) fn read_secret(path: &Path, hint: &str) -> Result<Secret, Fault> {
    secret_from(path, "one secret in one line", hint, |text| text.trim().to_owned())
}

/// As [`read_secret`], but for words in several lines, perhaps with numbers before them: as
/// `brain machines init` shows them.
///
/// # Errors
/// As [`read_secret`], except for several lines.
pub(crate) fn read_secret_words(path: &Path, hint: &str) -> Result<Secret, Fault> {
    secret_from(path, "the words of a key", hint, without_numbers)
}

/// Returns the words of a text in one line, without numbers such as `1` or `1.`.
fn without_numbers(text: &str) -> String {
    let is_word = |word: &&str| word.contains(|c: char| !c.is_ascii_digit() && c != '.');
    text.split_whitespace().filter(is_word).collect::<Vec<_>>().join(" ")
}

/// Reads a secret from the text that a file must contain, as `content` describes it.
fn secret_from(
    path: &Path,
    content: &str,
    hint: &str,
    extract: fn(&str) -> String,
) -> Result<Secret, Fault> {
    let mut text = String::new();
    let (result, origin) = if path == Path::new("-") {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            output::notice(
                "reading the secret from standard input; \
                 typed characters are visible, Ctrl-D ends the input",
            );
        }
        (stdin.lock().take(MAX_SECRET + 1).read_to_string(&mut text), "standard input".to_owned())
    } else {
        let result =
            File::open(path).and_then(|file| file.take(MAX_SECRET + 1).read_to_string(&mut text));
        (result, path.display().to_string())
    };
    result.map_err(|e| fail::file("read", path, &e))?;
    let secret = extract(&text);
    if secret.is_empty() || text.len() as u64 > MAX_SECRET || secret.contains(['\n', '\r']) {
        let message = format!("{origin} must contain {content}, 1 to {MAX_SECRET} bytes");
        return Err(Fault::new(FaultCode::InvalidRequest, message).hint(hint));
    }
    Ok(Secret::new(secret))
}

/// Asks for a secret at the terminal, and shows nothing of what is typed. Returns `None` for an
/// empty line.
///
/// # Errors
/// `usage` if the terminal fails, or if the user ends the input with Ctrl-C or Ctrl-D.
pub(crate) fn ask_secret(question: &str) -> Result<Option<Secret>, Fault> {
    let failed =
        |e: io::Error| fail::usage(format!("the terminal cannot be used: {}", fail::reason(&e)));
    let mut err = io::stderr().lock();
    write!(err, "{question}").and_then(|()| err.flush()).map_err(failed)?;
    terminal::enable_raw_mode().map_err(failed)?;
    let typed = read_hidden_line();
    let restored = terminal::disable_raw_mode();
    let _ = writeln!(err);
    let typed = typed.and_then(|typed| restored.map(|()| typed)).map_err(failed)?;
    match typed {
        None => Err(fail::usage("the input was ended").hint("nothing was changed")),
        Some(text) if text.trim().is_empty() => Ok(None),
        Some(text) => Ok(Some(Secret::new(text.trim()))),
    }
}

/// Asks a question at the terminal. Returns whether the answer is yes, or `None` at the end of the
/// input.
///
/// # Errors
/// The error of the terminal.
pub(crate) fn confirm(question: &str) -> io::Result<Option<bool>> {
    let mut err = io::stderr().lock();
    write!(err, "{} [y/N] ", output::clean(question))?;
    err.flush()?;
    let mut answer = String::new();
    let length = io::stdin().lock().read_line(&mut answer)?;
    let is_yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    Ok((length > 0).then_some(is_yes))
}

/// Reads a line in raw mode. Returns `None` for Ctrl-C and Ctrl-D.
fn read_hidden_line() -> io::Result<Option<String>> {
    let mut text = String::new();
    loop {
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Enter => return Ok(Some(text)),
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Ok(None);
            }
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => text.clear(),
            KeyCode::Char(c) if (text.len() as u64) < MAX_SECRET => text.push(c),
            KeyCode::Backspace => drop(text.pop()),
            _ => {}
        }
    }
}

/// Returns whether the words are only `-`, which means standard input.
fn is_dash(words: &[OsString]) -> bool {
    matches!(words, [word] if word == "-")
}

fn from_words(words: Vec<OsString>) -> Result<Input, Fault> {
    let mut content = Vec::new();
    for (i, word) in words.into_iter().enumerate() {
        if i > 0 {
            content.push(b' ');
        }
        content.extend_from_slice(&word.into_vec());
    }
    check_length(content.len(), "the content")?;
    Ok(Input { content, origin: Origin::Argument })
}

fn from_stdin() -> Result<Input, Fault> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        output::notice(
            "reading the text from standard input; Ctrl-D on an empty line ends the input",
        );
    }
    let content = read_limited(&mut stdin.lock(), "standard input").map_err(|e| match e {
        ReadError::Io(e) => {
            Fault::new(FaultCode::Io, format!("cannot read standard input: {}", fail::reason(&e)))
        }
        ReadError::Fault(f) => f,
    })?;
    Ok(Input { content, origin: Origin::Stdin })
}

/// Reads a file, or standard input for `-`.
fn from_file(path: &Path) -> Result<Input, Fault> {
    if path == Path::new("-") {
        return from_stdin();
    }
    let label = path.display().to_string();
    let content = File::open(path)
        .map_err(ReadError::Io)
        .and_then(|mut file| read_limited(&mut file, &label))
        .map_err(|e| match e {
            ReadError::Io(e) => unreadable(path, &e),
            ReadError::Fault(f) => f,
        })?;
    Ok(Input { content, origin: Origin::File(absolute_path(path).to_string_lossy().into_owned()) })
}

/// Makes a path absolute, and resolves it if it contains `..`.
fn absolute_path(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if absolute.components().any(|c| c == Component::ParentDir) {
        return absolute.canonicalize().unwrap_or(absolute);
    }
    absolute
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    let fault = fail::file("read", path, error);
    match error.kind() {
        ErrorKind::IsADirectory => {
            fault.hint(format!("import a directory: brain import {}", path.display()))
        }
        _ => fault,
    }
}

enum ReadError {
    Io(io::Error),
    Fault(Fault),
}

/// Reads everything. Fails above [`MAX_CONTENT`] bytes.
fn read_limited(reader: &mut impl Read, label: &str) -> Result<Vec<u8>, ReadError> {
    let mut content = Vec::new();
    // The limit ends the reading of endless files such as /dev/zero. One byte more than the limit
    // detects content above it.
    reader.take(MAX_CONTENT as u64 + 1).read_to_end(&mut content).map_err(ReadError::Io)?;
    check_length(content.len(), label).map_err(ReadError::Fault)?;
    Ok(content)
}

fn check_length(length: usize, label: &str) -> Result<(), Fault> {
    if length <= MAX_CONTENT {
        return Ok(());
    }
    Err(Fault::new(
        FaultCode::TooLarge,
        format!("{label} is over the limit of {} MB", MAX_CONTENT / 1_000_000),
    )
    .hint("split it into several pages"))
}

/// Returns whether the content is only white space and byte order marks.
fn is_blank(content: &[u8]) -> bool {
    std::str::from_utf8(content)
        .is_ok_and(|text| text.chars().all(|c| c.is_whitespace() || c == '\u{FEFF}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn code(result: Result<Input, Fault>) -> Option<FaultCode> {
        result.err().map(|f| f.code)
    }

    #[test]
    fn words_are_joined_by_a_space_and_kept_byte_for_byte() {
        let input = for_capture(words(&["buy", "☕", "now"]), None, false);
        assert_eq!(input, Ok(Input { content: "buy ☕ now".into(), origin: Origin::Argument }));
        let raw = for_capture(vec![OsString::from_vec(vec![0xff, b'a'])], None, false);
        assert_eq!(raw.map(|i| i.content), Ok(vec![0xff, b'a']));
    }

    #[test]
    fn two_inputs_are_a_usage_error() {
        let path = Path::new("x.md");
        for result in [
            for_capture(words(&["a"]), Some(path), false),
            for_capture(words(&["a"]), None, true),
            for_capture(Vec::new(), Some(path), true),
            for_capture(words(&[""]), Some(path), false),
        ] {
            assert_eq!(code(result), Some(FaultCode::Usage));
        }
    }

    #[test]
    fn a_message_about_empty_content_names_all_inputs() {
        for input in
            [words(&[]), words(&[""]), words(&["  ", "\n\t"]), words(&["\u{FEFF}\u{3000}"])]
        {
            let Err(fault) = for_capture(input, None, false) else { panic!("accepted") };
            assert_eq!(fault.code, FaultCode::EmptyContent);
            assert_eq!(fault.code.exit() as u8, 2);
            for input in ["words", "--file PATH", "--stdin"] {
                assert!(fault.message.contains(input), "{}", fault.message);
            }
        }
    }

    #[test]
    fn a_missing_file_is_reported_with_enoent_and_path() {
        let Err(fault) = for_capture(Vec::new(), Some(Path::new("/no/such.md")), false) else {
            panic!("accepted")
        };
        assert_eq!(fault.code.exit() as u8, 1);
        assert!(
            fault.message.contains("ENOENT") && fault.message.contains("/no/such.md"),
            "{}",
            fault.message
        );
    }

    #[test]
    fn the_hint_for_a_directory_names_import() {
        let Err(fault) = for_put(Some(Path::new("/tmp"))) else { panic!("accepted") };
        assert_eq!(fault.code, FaultCode::Io);
        assert!(fault.hint.is_some_and(|h| h.to_string().contains("brain import /tmp")));
    }

    #[test]
    fn an_endless_file_is_refused_at_the_limit() {
        assert_eq!(code(for_put(Some(Path::new("/dev/zero")))), Some(FaultCode::TooLarge));
        assert!(check_length(MAX_CONTENT, "x").is_ok());
    }

    #[test]
    fn the_origin_of_a_file_is_absolute() {
        let Ok(input) = for_put(Some(Path::new("./Cargo.toml"))) else { panic!("refused") };
        let Origin::File(path) = input.origin else { panic!("no file") };
        assert!(
            path.starts_with('/') && path.ends_with("/Cargo.toml") && !path.contains("/./"),
            "{path}"
        );
    }

    #[test]
    fn a_secret_is_one_line_of_a_file() {
        let path = std::env::temp_dir().join(format!("brain-secret-{}", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&path, text).expect("write");
            read_secret(&path, "the hint").map_err(|fault| (fault.code, fault.hint))
        };
        assert_eq!(read(" two words/%\r\n"), Ok(Secret::new("two words/%")));
        let refused = Err((FaultCode::InvalidRequest, Some("the hint".into())));
        for text in ["", " \n", "one\ntwo", &"x".repeat(5000)] {
            assert_eq!(read(text), refused, "{}", text.len());
        }
        std::fs::write(&path, "   1 thumb   2. fix\n   3 height\n").expect("write");
        assert_eq!(read_secret_words(&path, ""), Ok(Secret::new("thumb fix height")));
        std::fs::remove_file(&path).expect("remove");
        assert_eq!(
            read_secret(Path::new("/no/such"), "").map_err(|fault| fault.code),
            Err(FaultCode::Io)
        );
    }
}
