//! What is wrong with a model's file, and the way out. Whatever it is, trying again does not help.

use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::{EmbedFault, EmbedWhy};

/// A file that cannot be used as it is: `the model's file {path} {what}`.
pub(super) fn damaged(path: &Path, what: impl Display) -> EmbedFault {
    EmbedFault {
        why: EmbedWhy::Model,
        message: format!("the model's file {} {what}", shown(path)),
        hint: Some("install a model with `brain model install`".into()),
    }
}

/// The end of a path: what is wrong is also told to those who should not see where somebody's home is.
fn shown(path: &Path) -> String {
    let parts: Vec<_> =
        path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// A file that a model must have.
pub(super) fn missing(path: &Path) -> EmbedFault {
    damaged(path, "is not there")
}

/// A file that is another than before: whoever has vectors of the former one must not mix them with its own.
pub(super) fn changed(path: &Path) -> EmbedFault {
    EmbedFault {
        why: EmbedWhy::Changed,
        message: format!(
            "the model's file {} is another than before: vectors are made anew",
            shown(path)
        ),
        hint: Some("`brain model list` shows how far that is".into()),
    }
}

/// A file that the system does not give.
pub(super) fn unread(path: &Path, error: &io::Error) -> EmbedFault {
    match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        _ => damaged(path, format_args!("cannot be read: {error}")),
    }
}
