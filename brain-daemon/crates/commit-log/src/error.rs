//! Errors of the commit log. Messages contain no password and no content of a batch. People read
//! them, so they call a batch a change, as `docs/machines.md` does.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{BatchId, Batches, IdError, Position};

/// The cause of an error, from a library.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a call to the log failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another machine appended first. Nothing was appended. The first batches after the expected
    /// head come with the answer, so that the refused machine needs no further round trip; there
    /// are none if `read` would fail.
    #[error(
        "the log moved to change {}; apply the new changes and try again",
        .0.head.position.number
    )]
    Moved(Box<Batches>),
    /// The lease of the batch has a newer holder or number. Nothing was appended.
    #[error("this machine no longer holds the lease \"{lease}\"; stop the task and take it again")]
    Fenced {
        /// The name of the lease.
        lease: String,
    },
    /// The machine is not in the registry.
    #[error("the machine \"{machine}\" was removed from this brain; join it again")]
    NotRegistered {
        /// The machine's name.
        machine: String,
    },
    /// Another machine has this name.
    #[error("another machine of this brain is called \"{machine}\"; choose another name")]
    NameTaken {
        /// The name.
        machine: String,
    },
    /// The log cannot be reached or refuses work for now. Nothing was changed.
    #[error("the log at {address} is unavailable: {reason}; check the server and the network")]
    Unavailable {
        /// Host, port and database. Never a password.
        address: String,
        /// What failed.
        reason: String,
        /// The cause.
        #[source]
        source: Option<Source>,
    },
    /// The connection failed while a batch was being committed.
    #[error("change {batch} may be in the log or not; append it again with the same id")]
    OutcomeUnknown {
        /// The batch.
        batch: BatchId,
        /// What failed.
        #[source]
        source: Box<Error>,
    },
    /// The server cancelled a statement.
    #[error(
        "the server ended {phase} after {} ms; raise {setting} or make the change smaller",
        limit.as_millis()
    )]
    Timeout {
        /// What was running.
        phase: &'static str,
        /// The limit.
        limit: Duration,
        /// The setting that has the limit.
        setting: &'static str,
    },
    /// The server accepts no writes.
    #[error(
        "the log at {address} is read-only: {reason}; connect to the primary server or allow writes"
    )]
    ReadOnly {
        /// Host, port and database.
        address: String,
        /// What the server said.
        reason: String,
    },
    /// The server refuses the user.
    #[error("the log at {address} denies access: {reason}; check the user, password and rights")]
    Denied {
        /// Host, port and database.
        address: String,
        /// What the server said.
        reason: String,
    },
    /// The server or the pooler has no such database. Nothing was changed.
    #[error("the database \"{database}\" does not exist on {host}; {advice}")]
    NoDatabase {
        /// Host and port.
        host: String,
        /// The name of the database.
        database: String,
        /// What to do.
        advice: &'static str,
    },
    /// A setting of the pooler or the server, or an option of the URL, makes it unusable.
    #[error("{address} cannot be used: {reason}; {advice}")]
    Unsuitable {
        /// Host, port and database.
        address: String,
        /// What the server said.
        reason: String,
        /// What to change.
        advice: String,
    },
    /// The disk of the server is full. Nothing was changed.
    #[error("the disk of the log at {address} is full; free space on it")]
    DiskFull {
        /// Host, port and database.
        address: String,
    },
    /// A newer program wrote the log.
    #[error(
        "the log has schema {schema} and needs at least {min_reader} to be read; \
         this program knows {supported}: update it"
    )]
    TooNew {
        /// The schema of the log.
        schema: u32,
        /// The oldest schema that can read the log.
        min_reader: u32,
        /// The schema of this program.
        supported: u32,
    },
    /// The log's history does not contain the replica's position: the server was restored from a
    /// backup, or it failed over and lost batches.
    #[error(
        "change {} here is {}, and the log has change {} {}: the server lost or replaced changes; \
         rebuild this replica from the last common change",
        replica.number, replica.id, log.number, log.id
    )]
    Diverged {
        /// The position of the replica.
        replica: Position,
        /// What the log has instead.
        log: Position,
    },
    /// Compaction deleted batches that the replica does not have.
    #[error(
        "this replica ends at change {replica}, and the log begins after change {compacted}; \
         join again from a snapshot"
    )]
    Compacted {
        /// The last batch of the replica.
        replica: u64,
        /// The last batch that was deleted.
        compacted: u64,
    },
    /// The log has damaged or contradictory data.
    #[error("the log is damaged: {0}; restore it from a backup, or start it again from a replica")]
    Corrupt(String),
    /// A batch, a chunk or a name is too large.
    #[error("{subject} has {size} bytes, more than {max}; split it")]
    TooLarge {
        /// What is too large.
        subject: &'static str,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// The snapshot or chunk does not exist.
    #[error("the log has no {0}")]
    NotFound(String),
    /// Without this snapshot no machine could join.
    #[error("this snapshot replaces deleted changes; write a newer one before you delete it")]
    SnapshotNeeded,
    /// The place has no log.
    #[error("{address} has no log of a brain; initialize it first")]
    NotCreated {
        /// Host, port and database.
        address: String,
    },
    /// The place has a log of another brain.
    #[error("{address} has a log already; join it, or use another database or directory")]
    AlreadyCreated {
        /// Host, port and database.
        address: String,
    },
    /// Another machine replaced the keys.
    #[error("another machine replaced the keys; read them again")]
    KeysChanged,
    /// The root key does not open the keys.
    #[error("the key does not open this brain; check its words, or ask for the new key")]
    WrongKey,
    /// The words are not a key.
    #[error("the words are not a key: {0}")]
    InvalidWords(String),
    /// A batch or chunk does not open with the keys of this brain, or was moved or changed.
    #[error(
        "{0} was changed outside of brain or belongs to another place; it was not used. \
         Restore the server from a backup"
    )]
    Forged(String),
    /// A batch has a key that this machine does not know.
    #[error("{0} was encrypted with a newer key; read the keys again")]
    UnknownKey(String),
    /// The server's certificate is not accepted, or the server has no TLS.
    #[error(
        "no secure connection to {address}: {reason}; name the authority of the server's \
         certificate with sslrootcert=FILE in the URL, or correct the server's TLS settings"
    )]
    Tls {
        /// Host, port and database.
        address: String,
        /// What failed.
        reason: String,
    },
    /// The server's version lacks what the log needs.
    #[error("the server at {address} is PostgreSQL {version}; update it to 14 or newer")]
    ServerTooOld {
        /// Host, port and database.
        address: String,
        /// Its version.
        version: String,
    },
    /// The address of the server is not usable.
    #[error("the server's URL is invalid: {0}")]
    InvalidUrl(String),
    /// A file cannot be used, for example a certificate; or no thread can be started.
    #[error("{} cannot be used: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program lacks the engine: it was built without the feature `machines`.
    #[error("this program was built without support for several machines")]
    NotBuilt,
    /// The system has no random data.
    #[error(transparent)]
    Random(#[from] brain_base::Error),
}

impl From<IdError> for Error {
    /// Ids come from the log, so an invalid one is damage.
    fn from(error: IdError) -> Self {
        Self::Corrupt(error.to_string())
    }
}

impl Error {
    /// Returns whether the same call can succeed later without a change by a person.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Moved(_)
                | Self::Unavailable { .. }
                | Self::OutcomeUnknown { .. }
                | Self::DiskFull { .. }
        )
    }
}
