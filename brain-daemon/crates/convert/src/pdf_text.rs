//! The text of a PDF file, read by `pdftotext` of Poppler where it is installed.
//!
//! Poppler knows more fonts, and orders of columns and scripts, than the library that reads the rest
//! of the file. It must run before this process gives up the right to start programs, so the format
//! cannot start it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, absolute};

use crate::confine::ConfineError;
use crate::helper::Helper;

/// Where the program can be. Other directories may belong to a user.
const PROGRAMS: [&str; 2] = ["/usr/bin/pdftotext", "/usr/local/bin/pdftotext"];
/// Its tables of characters.
const DATA: [&str; 2] = ["/usr/share/poppler", "/usr/local/share/poppler"];
/// The first bytes of a PDF file.
const PDF: &[u8] = b"%PDF-";
/// The mark that the program writes before text from right to left.
const RIGHT_TO_LEFT: char = '\u{202b}';

/// Returns the text of `input` with a form feed after each page, or `None` if it is no PDF file or
/// the program cannot read it. Gives up the rights of this process that the program does not need.
///
/// # Errors
/// See [`ConfineError`].
pub fn pdf_text(input: &Path) -> Result<Option<String>, ConfineError> {
    let program = PROGRAMS.iter().map(Path::new).find(|path| path.is_file());
    // An option or an address is no absolute path.
    let (Some(program), Ok(path)) = (program, absolute(input)) else { return Ok(None) };
    if !is_pdf(input) {
        return Ok(None);
    }
    let helper = Helper { program, data: &DATA };
    if !helper.confine(input)? {
        return Ok(None);
    }
    let run = |options: &[&str]| {
        let mut arguments: Vec<OsString> = options.iter().map(OsString::from).collect();
        arguments.extend([path.clone().into_os_string(), "-".into()]);
        helper.run(&arguments)
    };
    let options = ["-raw", "-enc", "UTF-8", "-q"];
    // With `-raw`, the words of a line from right to left are in the order of the eye.
    Ok(match run(&options) {
        Some(text) if text.contains(RIGHT_TO_LEFT) => run(&options[1..]),
        text => text,
    })
}

fn is_pdf(path: &Path) -> bool {
    let mut head = [0; PDF.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == PDF
}
