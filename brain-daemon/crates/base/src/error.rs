//! Errors of the environment, and their conversion to the wire's [`Fault`].
//!
//! The conversion is here, and not in `core`, because Rust allows `impl From` only beside one of
//! its two types.

use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::instead_of_chmod;
use brain_protocol::{Fault, FaultCode, Hint, Scope};

/// An error of the environment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller lacks a scope.
    #[error("{operation} needs the scope \"{}\"", scope.as_str())]
    MissingScope {
        /// The operation.
        operation: String,
        /// The required scope.
        scope: Scope,
    },
    /// The system has no random data, so no secret can be created.
    #[error("the system has no random data: {0}")]
    NoRandomData(String),
    /// The configured interval of this task is not a number of whole minutes that divides a day.
    #[error("{0}.every does not divide a day into whole minutes")]
    UnevenInterval(&'static str),
    /// The configured file of a secret does not exist.
    #[error("{} does not exist", .0.display())]
    MissingFile(PathBuf),
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path of a secret is not a file.
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    /// Other users can read the file of a secret.
    #[error(
        "{} has mode {mode:04o}: others can read the secret, so it is not used",
        path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// The file's permissions.
        mode: u32,
    },
    /// The file of a secret is not UTF-8.
    #[error("{} is not text", .0.display())]
    NotText(PathBuf),
    /// The file of a secret is empty, too long, or has several lines.
    #[error("{} does not hold one line of text", .0.display())]
    NotOneLine(PathBuf),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self {
            code: code_of(&error),
            message: error.to_string(),
            hint: hint_for(&error).map(Hint::from),
        }
    }
}

fn code_of(error: &Error) -> FaultCode {
    match error {
        Error::MissingScope { .. } | Error::Exposed { .. } => FaultCode::Forbidden,
        Error::NoRandomData(_) => FaultCode::Internal,
        Error::UnevenInterval(_) => FaultCode::InvalidConfig,
        Error::Unwritable { source, .. } => write_code(source),
        Error::MissingFile(_)
        | Error::Unreadable { .. }
        | Error::NotAFile(_)
        | Error::NotText(_)
        | Error::NotOneLine(_) => FaultCode::Io,
    }
}

/// Returns the code for an error of the system while a file was written.
#[must_use]
pub fn write_code(error: &io::Error) -> FaultCode {
    use io::ErrorKind as K;
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => FaultCode::DiskFull,
        K::PermissionDenied | K::ReadOnlyFilesystem => FaultCode::ReadOnly,
        _ => FaultCode::Io,
    }
}

/// Returns the fault of a file that cannot be written.
#[must_use]
pub fn write_fault(path: &Path, source: io::Error) -> Fault {
    Error::Unwritable { path: path.to_owned(), source }.into()
}

/// Returns the fault of a file that cannot be read.
#[must_use]
pub fn read_fault(path: &Path, source: io::Error) -> Fault {
    Error::Unreadable { path: path.to_owned(), source }.into()
}

fn hint_for(error: &Error) -> Option<String> {
    let hint = match error {
        Error::MissingScope { scope, .. } => {
            format!("ask the owner of this brain for a grant with \"{}\"", scope.as_str())
        }
        Error::NoRandomData(_) => return None,
        Error::UnevenInterval(_) => {
            "use 5m, 10m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 24h".into()
        }
        Error::MissingFile(_) => "create the file, or remove its key from the configuration".into(),
        Error::Unreadable { path, .. } | Error::NotAFile(path) => {
            format!("check the path: `ls -l {}`", path.display())
        }
        Error::Unwritable { .. } => {
            "make the directory writable, or free space on its disk, and retry".into()
        }
        Error::Exposed { path, .. } => {
            let way =
                instead_of_chmod(path).unwrap_or_else(|| format!("`chmod 600 {}`", path.display()));
            format!("{way}; if others may have read it, replace the secret")
        }
        Error::NotText(_) => "a secret is one line of text".into(),
        Error::NotOneLine(_) => {
            "a secret is one line of at most 4,096 bytes; remove the file to do without".into()
        }
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_write_has_the_code_of_its_reason() {
        use io::ErrorKind as Kind;
        for (kind, code) in [
            (Kind::StorageFull, FaultCode::DiskFull),
            (Kind::QuotaExceeded, FaultCode::DiskFull),
            (Kind::PermissionDenied, FaultCode::ReadOnly),
            (Kind::ReadOnlyFilesystem, FaultCode::ReadOnly),
            (Kind::NotFound, FaultCode::Io),
        ] {
            assert_eq!(write_fault(Path::new("/a"), kind.into()).code, code, "{kind}");
        }
        assert_eq!(read_fault(Path::new("/a"), Kind::PermissionDenied.into()).code, FaultCode::Io);
    }
}
