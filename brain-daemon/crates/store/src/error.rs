//! Errors of the store. A message is complete: it contains the text of its cause, which `source()`
//! returns. `fault.rs` converts the errors to the wire's `Fault`.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_protocol::{Fault, FaultCode, SourceId};

use super::damaged_page::DamagedPage;

/// Why a store operation failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk is full: {0}")]
    DiskFull(#[source] StoreFailure),
    /// The file would exceed a limit on file sizes.
    #[error("a limit on file sizes is exceeded: {0}")]
    SizeLimit(#[source] StoreFailure),
    /// The file or its directory cannot be written.
    #[error("cannot write {0}")]
    ReadOnly(#[source] StoreFailure),
    /// The permissions of the file do not allow reading.
    #[error("cannot read {0}")]
    Unreadable(#[source] StoreFailure),
    /// Reading or writing failed for another reason.
    #[error("the store cannot be read or written: {0}")]
    Io(#[source] StoreFailure),
    /// The file's bytes are invalid.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The parts of the file do not belong together.
    #[error("{0} is torn: it was copied while a daemon wrote it, or its disk lost writes")]
    Torn(String),
    /// A page, or one of its former versions, is damaged.
    #[error("{0}")]
    DamagedPage(Box<DamagedPage>),
    /// The text of a page is damaged; found while the page was written.
    #[error("the page of {path} is damaged in the store: {problem}")]
    DamagedText {
        /// The page's file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The file of an attachment is missing or has other bytes.
    #[error("the file of the attachment, {}, cannot be used: {problem}", path.display())]
    DamagedAttachment {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A job in the spool is damaged.
    #[error("{path}: {source}")]
    DamagedSpool {
        /// The spool.
        path: String,
        /// What is wrong.
        source: Box<StoreError>,
    },
    /// The spool lacks jobs that were acknowledged.
    #[error("{path} was changed by another program: it lacks jobs {first} to {last}")]
    LostJobs {
        /// The spool.
        path: String,
        /// The first lost job.
        first: u64,
        /// The last lost job.
        last: u64,
    },
    /// A copy does not have the rows of its original.
    #[error("{0}: the copy does not have the rows that were written to it")]
    UnequalCopy(String),
    /// Another process has locked the file.
    #[error("{0} is in use by another brain-daemon")]
    Locked(String),
    /// The server of a brain on several machines does not answer.
    #[error("the server of this shared brain does not answer: {0}")]
    Away(String),
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
    /// The store has a table that a copy would lack.
    #[error("the store has a table \"{0}\" that a backup does not know")]
    UnknownTable(String),
    /// A backup failed because of the store that it copies.
    #[error(transparent)]
    BackupSource(Box<StoreError>),
    /// The target of a copy exists.
    #[error("{} already exists", .0.display())]
    TargetExists(PathBuf),
    /// The target of a copy has no file name.
    #[error("\"{0}\" does not name a file")]
    NoFileName(String),
    /// The directory of a target does not exist.
    #[error("{path}: there is no directory {dir}")]
    NoDirectory {
        /// The target.
        path: String,
        /// The directory.
        dir: String,
    },
    /// The caller cancelled the work on this file.
    #[error("{}: cancelled", .0.display())]
    Cancelled(PathBuf),
    /// The source is not registered.
    #[error("source \"{0}\" is not registered any more")]
    UnknownSource(SourceId),
    /// The write queue is full: it holds this many writes.
    #[error("the write queue is full ({0} writes wait); nothing was stored")]
    QueueFull(usize),
    /// A task of the writer panicked.
    #[error("a defect in brain stopped this write; nothing was changed")]
    Defect,
    /// The writer has stopped: the daemon is stopping.
    #[error("the store is closing")]
    Closed,
    /// The operation that queued the write refused it. The store's own code never creates this
    /// error.
    #[error("{0}")]
    Refused(#[from] Fault),
}

/// A failure: its message, and the error of the system or of redb that caused it, if any.
#[derive(Debug, Clone)]
pub struct StoreFailure {
    text: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl StoreFailure {
    fn new(text: String, source: impl Error + Send + Sync + 'static) -> Self {
        Self { text, source: Some(Arc::new(source)) }
    }

    pub(super) fn map_text(self, change: impl FnOnce(String) -> String) -> Self {
        Self { text: change(self.text), ..self }
    }
}

impl<T: Into<String>> From<T> for StoreFailure {
    fn from(text: T) -> Self {
        Self { text: text.into(), source: None }
    }
}

impl std::fmt::Display for StoreFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for StoreFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn Error + 'static))
    }
}

impl StoreError {
    /// Returns a [`StoreError::Damaged`] that says what is wrong.
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// Returns a [`StoreError::Io`] about the file `name`.
    pub(super) fn other(name: &str, source: impl Error + Send + Sync + 'static) -> Self {
        Self::Io(StoreFailure::new(format!("{name}: {source}"), source))
    }

    /// Whether the disk or the file prevented the operation.
    pub(super) fn is_disk_error(&self) -> bool {
        matches!(
            self,
            Self::DiskFull(_)
                | Self::SizeLimit(_)
                | Self::ReadOnly(_)
                | Self::Unreadable(_)
                | Self::Io(_)
        )
    }

    /// Whether the error concerns the whole store, rather than one page or one write.
    #[must_use]
    pub fn is_store_wide(&self) -> bool {
        match self {
            Self::Locked(_) | Self::Newer { .. } | Self::Closed | Self::Away(_) => true,
            Self::Refused(fault) => {
                matches!(fault.code, FaultCode::OutcomeUnknown | FaultCode::MachineStopped)
            }
            _ => self.is_disk_error(),
        }
    }

    /// Whether the error reports damaged bytes.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_)
            | Self::Torn(_)
            | Self::DamagedPage(_)
            | Self::DamagedText { .. }
            | Self::DamagedSpool { .. }
            | Self::LostJobs { .. }
            | Self::UnequalCopy(_) => true,
            Self::BackupSource(error) => error.is_damage(),
            Self::Refused(fault) => fault.code == FaultCode::StoreDamaged,
            _ => false,
        }
    }

    /// Converts an I/O error of a call that only reads; `name` is the path in the message.
    #[must_use]
    pub fn from_read(error: &std::io::Error, name: &str) -> Self {
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                Self::Unreadable(StoreFailure::new(format!("{name}: {error}"), copy_of(error)))
            }
            _ => Self::from_io(error, name),
        }
    }

    /// Converts an I/O error; `name` is the path in the message. A missing permission is one to
    /// write.
    #[must_use]
    pub fn from_io(error: &std::io::Error, name: &str) -> Self {
        use std::io::ErrorKind as K;
        let failure = || StoreFailure::new(format!("{name}: {error}"), copy_of(error));
        match error.kind() {
            K::StorageFull | K::QuotaExceeded => Self::DiskFull(failure()),
            K::FileTooLarge => Self::SizeLimit(failure()),
            K::PermissionDenied | K::ReadOnlyFilesystem => Self::ReadOnly(failure()),
            K::InvalidData | K::UnexpectedEof => Self::Damaged(format!("{name}: {error}")),
            _ => Self::Io(failure()),
        }
    }
}

/// Returns an equal error: [`std::io::Error`] is not `Clone`.
fn copy_of(error: &std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => std::io::Error::new(error.kind(), error.to_string()),
    }
}

/// Returns `None` for damaged data and logs the damage, so that the caller can continue.
///
/// # Errors
/// All errors except damage.
pub fn unless_damaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(error) if error.is_damage() => {
            tracing::error!(%error, "damaged data skipped");
            Ok(None)
        }
        other => other.map(Some),
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
        Err(_) => "its internal structure is invalid".into(),
    };
    let name = path.display().to_string();
    Err(StoreError::Damaged(if what.contains(&name) { what } else { format!("{name}: {what}") }))
}

impl From<redb::StorageError> for StoreError {
    fn from(e: redb::StorageError) -> Self {
        match e {
            redb::StorageError::Io(e) => Self::from_io(&e, "store"),
            redb::StorageError::Corrupted(what) => Self::Damaged(what),
            e => Self::Io(StoreFailure::new(e.to_string(), e)),
        }
    }
}

macro_rules! via_storage {
    ($($type:ident),*) => {$(
        impl From<redb::$type> for StoreError {
            fn from(e: redb::$type) -> Self {
                match e {
                    redb::$type::Storage(e) => e.into(),
                    e => Self::Io(StoreFailure::new(e.to_string(), e)),
                }
            }
        }
    )*};
}

via_storage!(TableError, TransactionError, CommitError);
