//! Describes operating system errors for people.

use std::io;

/// Returns the errno name of the common errors of files.
fn errno_name(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind;
    Some(match error.kind() {
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::IsADirectory => "EISDIR",
        ErrorKind::NotADirectory => "ENOTDIR",
        ErrorKind::StorageFull => "ENOSPC",
        ErrorKind::FileTooLarge => "EFBIG",
        ErrorKind::ReadOnlyFilesystem => "EROFS",
        _ => return None,
    })
}

/// Describes an error without Rust's `(os error 2)`.
#[must_use]
pub fn io_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let plain = match text.rfind(" (os error ") {
        Some(at) => &text[..at],
        None => &text,
    };
    match errno_name(error) {
        Some(name) => format!("{name}: {}", lower_first(plain)),
        None => plain.to_owned(),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(c) => c.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
