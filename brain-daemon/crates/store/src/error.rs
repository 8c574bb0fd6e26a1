//! Errors of the store, with hints for the user.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use brain_protocol::{Fault, FaultCode, SIZE_LIMIT_HINT};

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// The file would exceed a limit on file sizes.
    #[error("a limit on the size of files is in the way: {0}")]
    SizeLimit(String),
    /// The file or its directory cannot be written.
    #[error("cannot write {0}")]
    ReadOnly(String),
    /// The file's bytes are invalid.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Another process has locked the file.
    #[error("{0} is in use by another brain-daemon")]
    Locked(String),
    /// A newer program wrote the file.
    #[error("{path} has schema {found}, and this program knows schemas up to {known}")]
    Newer {
        /// The store file.
        path: String,
        /// The schema in the file.
        found: u64,
        /// The newest known one.
        known: u64,
    },
    /// Reading or writing failed for another reason.
    #[error("the store cannot be read or written: {0}")]
    Io(String),
    /// The writer has stopped: the daemon is stopping.
    #[error("the store is closing")]
    Closed,
    /// An operation refused the request.
    #[error("{0}")]
    Refused(Fault),
}

impl StoreError {
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// Whether the disk or the file failed, rather than the operation.
    pub(super) fn is_disk_error(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::SizeLimit(_) | Self::ReadOnly(_) | Self::Io(_))
    }

    /// Whether the error reports damaged bytes.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_) => true,
            Self::Refused(fault) => fault.code == FaultCode::StoreDamaged,
            _ => false,
        }
    }

    /// Converts an I/O error; `place` is the path in the message.
    #[must_use]
    pub fn from_io(error: &std::io::Error, place: &str) -> Self {
        use std::io::ErrorKind as K;
        match error.kind() {
            K::StorageFull | K::QuotaExceeded => Self::DiskFull(format!("{place}: {error}")),
            K::FileTooLarge => Self::SizeLimit(format!("{place}: {error}")),
            K::PermissionDenied | K::ReadOnlyFilesystem => {
                Self::ReadOnly(format!("{place}: {error}"))
            }
            K::InvalidData | K::UnexpectedEof => Self::Damaged(format!("{place}: {error}")),
            _ => Self::Io(format!("{place}: {error}")),
        }
    }

    /// Returns a copy for another task of the same batch.
    pub(super) fn duplicate(&self) -> Self {
        match self {
            Self::DiskFull(s) => Self::DiskFull(s.clone()),
            Self::SizeLimit(s) => Self::SizeLimit(s.clone()),
            Self::ReadOnly(s) => Self::ReadOnly(s.clone()),
            Self::Damaged(s) => Self::Damaged(s.clone()),
            Self::Locked(s) => Self::Locked(s.clone()),
            Self::Newer { path, found, known } => {
                Self::Newer { path: path.clone(), found: *found, known: *known }
            }
            Self::Io(s) => Self::Io(s.clone()),
            Self::Closed => Self::Closed,
            Self::Refused(f) => Self::Refused(f.clone()),
        }
    }
}

/// Returns `None` for damaged data and logs the damage, so that the caller can continue.
///
/// # Errors
/// All errors except damage.
pub fn unless_damaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(error) if error.is_damage() => {
            tracing::error!(%error, "damage");
            Ok(None)
        }
        other => other.map(Some),
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        Self::Refused(fault)
    }
}

/// Runs `work` and reports a panic as damage to the file at `path`: redb can panic over damaged
/// bytes.
///
/// # Errors
/// [`StoreError::Damaged`] with the file's name; errors of `work`.
pub(super) fn with_damage_report<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let what = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Err(StoreError::Damaged(what))) => what,
        Ok(result) => return result,
        Err(_) => "its inner structure cannot be followed".into(),
    };
    let place = path.display().to_string();
    Err(StoreError::Damaged(if what.contains(&place) { what } else { format!("{place}: {what}") }))
}

impl From<redb::StorageError> for StoreError {
    fn from(e: redb::StorageError) -> Self {
        match e {
            redb::StorageError::Io(e) => Self::from_io(&e, "store"),
            redb::StorageError::Corrupted(what) => Self::Damaged(what),
            e => Self::Io(e.to_string()),
        }
    }
}

macro_rules! via_storage {
    ($($type:ident),*) => {$(
        impl From<redb::$type> for StoreError {
            fn from(e: redb::$type) -> Self {
                match e {
                    redb::$type::Storage(e) => e.into(),
                    e => Self::Io(e.to_string()),
                }
            }
        }
    )*};
}

via_storage!(TableError, TransactionError, CommitError);

impl From<StoreError> for Fault {
    fn from(e: StoreError) -> Self {
        let message = e.to_string();
        match e {
            StoreError::DiskFull(_) => Fault::new(FaultCode::DiskFull, message)
                .hint("nothing that was stored is lost; make room on that disk and try again"),
            StoreError::SizeLimit(_) => Fault::new(FaultCode::DiskFull, message).hint(SIZE_LIMIT_HINT),
            StoreError::ReadOnly(_) => Fault::new(FaultCode::ReadOnly, message)
                .hint("check the owner and mode of the home directory, and whether its disk is mounted read-only: `mount -o remount,rw`; \
                 from such a disk reading goes on, and writes are taken as soon as it is writable"),
            StoreError::Damaged(_) => Fault::new(FaultCode::StoreDamaged, message).hint(
                "move brain.redb away, and brain.redb.spool if it is there, and restore a backup: `brain backup restore FILE`; the pages \
                 are also markdown files: with pages/ moved out of the home, `brain import` takes them in again",
            ),
            StoreError::Locked(_) => Fault::new(FaultCode::StoreLocked, message)
                .hint("one daemon serves one home; `brain status` shows the one that runs"),
            StoreError::Newer { .. } => Fault::new(FaultCode::StoreNewer, message)
                .hint("install the brain that wrote it, or newer; an older one would lose what it does not know"),
            StoreError::Io(_) => Fault::new(FaultCode::Io, message).hint("run `brain doctor`"),
            StoreError::Closed => {
                Fault::new(FaultCode::Stopping, message).hint("try again; the next command starts the daemon anew")
            }
            StoreError::Refused(fault) => fault,
        }
    }
}
