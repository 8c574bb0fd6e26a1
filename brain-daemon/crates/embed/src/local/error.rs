//! Errors of a model's files.

use brain_protocol::{Command, hint};
use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::{EmbedError, EmbedErrorKind};

/// Returns the error for an unusable file: `the model's file {path} {problem}`.
pub(super) fn damaged(path: &Path, problem: impl Display) -> EmbedError {
    EmbedError {
        kind: EmbedErrorKind::Model,
        message: format!("the model's file {} {problem}", short_path(path)),
        hint: Some(hint!("install a model with {}", Command::ModelInstall { model: None })),
    }
}

/// Returns the last two parts of a path. Messages also reach callers who must not see the path of
/// the home.
fn short_path(path: &Path) -> String {
    let parts: Vec<_> =
        path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// Returns the error for a missing file.
pub(super) fn missing(path: &Path) -> EmbedError {
    damaged(path, "is missing")
}

/// Returns the error for a file that has changed: new vectors must not be mixed with earlier ones.
pub(super) fn changed(path: &Path) -> EmbedError {
    EmbedError {
        kind: EmbedErrorKind::Changed,
        message: format!(
            "the model's file {} is different from before: all vectors are computed again",
            short_path(path)
        ),
        hint: Some(hint!("{} shows the progress", Command::ModelList)),
    }
}

/// Returns the error for an unreadable file.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> EmbedError {
    match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        _ => damaged(path, format_args!("cannot be read: {error}")),
    }
}
