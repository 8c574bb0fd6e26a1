//! Errors on the wire: a stable code, a message, and a hint.

use serde::{Deserialize, Serialize};

use crate::Hint;
use crate::words::words;

/// A failure, as all interfaces report it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The stable code, for programs.
    pub code: FaultCode,
    /// What failed, for people.
    pub message: String,
    /// What to do, for people.
    pub hint: Option<Hint>,
}

impl Fault {
    /// Creates a fault without a hint.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// The hint for errors of the file size limit.
pub const SIZE_LIMIT_HINT: &str = "raise the limit with `ulimit -f unlimited` in the shell that \
    starts brain, or with `LimitFSIZE=` in the unit of the service, and try again";

/// The exit status of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// Failure.
    Failed = 1,
    /// Wrong arguments or input.
    Usage = 2,
    /// Refused: protected, or no permission.
    Refused = 3,
    /// The named thing does not exist.
    NotFound = 4,
    /// The command needs `--yes`.
    Confirm = 5,
    /// The daemon cannot be reached.
    Unreachable = 6,
}

macro_rules! fault_codes {
    ($($(#[$doc:meta])* $variant:ident = $text:tt => $exit:ident,)*) => {
        words! {
            /// The code of a failure. New codes are appended: the position is on the wire.
            FaultCode { $($(#[$doc])* $variant = $text,)* }
        }

        impl FaultCode {
            /// Returns the exit status of a command that fails with this code.
            #[must_use]
            pub fn exit(self) -> Exit {
                match self { $(Self::$variant => Exit::$exit,)* }
            }
        }
    };
}

fault_codes! {
    /// The command line is wrong.
    Usage = "usage" => Usage,
    /// The content is empty.
    EmptyContent = "empty_content" => Usage,
    /// The content has a NUL byte or is not UTF-8.
    BinaryContent = "binary_content" => Failed,
    /// The content or a response exceeds a limit.
    TooLarge = "too_large" => Failed,
    /// The frontmatter is neither YAML nor TOML, or a field has the wrong shape.
    InvalidFrontmatter = "invalid_frontmatter" => Failed,
    /// Not a slug.
    InvalidSlug = "invalid_slug" => Usage,
    /// Not a source id.
    InvalidSource = "invalid_source" => Usage,
    /// No such page.
    NotFound = "not_found" => NotFound,
    /// No such source.
    UnknownSource = "unknown_source" => NotFound,
    /// No such version of the page.
    UnknownVersion = "unknown_version" => NotFound,
    /// The page was purged.
    Purged = "purged" => NotFound,
    /// The page is already soft-deleted.
    AlreadySoftDeleted = "already_soft_deleted" => Failed,
    /// The page is not deleted.
    AlreadyActive = "already_active" => Failed,
    /// The object exists, or has another version or state than the request expects.
    Conflict = "conflict" => Failed,
    /// The caller has no permission for the operation.
    Forbidden = "forbidden" => Refused,
    /// The object is protected.
    Protected = "protected" => Refused,
    /// `--yes` is needed.
    ConfirmationNeeded = "confirmation_needed" => Confirm,
    /// The daemon is overloaded.
    Busy = "busy" => Failed,
    /// A time limit was exceeded.
    Timeout = "timeout" => Failed,
    /// The caller disconnected, or the daemon is stopping.
    Cancelled = "cancelled" => Failed,
    /// The daemon is stopping and accepts no new requests.
    Stopping = "stopping" => Unreachable,
    /// The disk is full.
    DiskFull = "disk_full" => Failed,
    /// The path is not writable.
    ReadOnly = "read_only" => Failed,
    /// A file or directory cannot be read or written.
    Io = "io" => Failed,
    /// The store is damaged.
    StoreDamaged = "store_damaged" => Failed,
    /// The store was written by a newer program.
    StoreNewer = "store_newer" => Failed,
    /// Another daemon has locked the store.
    StoreLocked = "store_locked" => Failed,
    /// The configuration is wrong.
    InvalidConfig = "invalid_config" => Failed,
    /// The bytes on the socket violate the protocol.
    BadFrame = "bad_frame" => Failed,
    /// Client and daemon speak different protocols.
    ProtocolMismatch = "protocol_mismatch" => Unreachable,
    /// The daemon cannot be reached.
    Unreachable = "unreachable" => Unreachable,
    /// A part of the work failed; the reply has a list.
    Partial = "partial" => Failed,
    /// A bug in brain.
    Internal = "internal" => Failed,
    /// The media type is not supported.
    UnsupportedContentType = "unsupported_content_type" => Failed,
    /// The body is empty or only white space.
    EmptyBody = "empty_body" => Usage,
    /// The body has an invalid encoding.
    InvalidEncoding = "invalid_encoding" => Failed,
    /// The ingest queue is full.
    QueueFull = "queue_full" => Failed,
    /// Too many requests.
    RateLimited = "rate_limited" => Failed,
    /// The token is unknown, expired or revoked.
    InvalidToken = "invalid_token" => Refused,
    /// Not a scope, or more than the grant allows.
    InvalidScope = "invalid_scope" => Usage,
    /// A field of the request is missing or wrong.
    InvalidRequest = "invalid_request" => Usage,
    /// No such client.
    UnknownClient = "unknown_client" => NotFound,
    /// No such token.
    UnknownToken = "unknown_token" => NotFound,
    /// No such job, or it belongs to another client.
    UnknownJob = "unknown_job" => NotFound,
    /// A feature is not set up.
    NotSetUp = "not_set_up" => Failed,
    /// An external service failed or did not answer.
    ServiceFailed = "service_failed" => Failed,
    /// No such post.
    UnknownPost = "unknown_post" => NotFound,
    /// The cost might exceed the budget.
    OverBudget = "over_budget" => Refused,
    /// Several pages have this slug, or their slugs begin with it.
    AmbiguousSlug = "ambiguous_slug" => NotFound,
    /// The file of an attachment is missing or damaged.
    AttachmentDamaged = "attachment_damaged" => Failed,
    /// The server of a brain on several machines does not answer.
    ServerAway = "server_away" => Failed,
    /// A write was sent to that server, and its answer was lost: the write may be there or not.
    OutcomeUnknown = "outcome_unknown" => Failed,
    /// This machine cannot follow the others before its owner acts.
    MachineStopped = "machine_stopped" => Failed,
    /// A recorded answer cannot be rendered again.
    NotReplayable = "not_replayable" => Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_snake_case() {
        let mut names: Vec<&str> = FaultCode::ALL.iter().map(|c| c.as_str()).collect();
        for name in &names {
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FaultCode::ALL.len());
    }

    /// `docs/errors.md` lists each code once, with exit status, meaning and remedy.
    #[test]
    fn the_documentation_has_a_row_for_each_code() {
        let docs = include_str!("../../docs/errors.md");
        let rows: Vec<Vec<&str>> = docs
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
            .collect();
        for row in &rows {
            assert_eq!(row.len(), 4, "{row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        }
        let documented: Vec<(String, String)> = rows
            .iter()
            .map(|row| (row[0].trim_matches('`').to_owned(), row[1].to_owned()))
            .collect();
        let declared: Vec<(String, String)> = FaultCode::ALL
            .iter()
            .map(|code| (code.as_str().to_owned(), (code.exit() as u8).to_string()))
            .collect();
        assert_eq!(documented, declared, "docs/errors.md and FaultCode, in the same order");
    }
}
