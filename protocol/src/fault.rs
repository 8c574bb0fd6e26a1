//! Errors as they reach people and programs: a stable code, what happened to what, and the way out.

use serde::{Deserialize, Serialize};

/// A failure, as every door reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// For programs. Stable.
    pub code: FaultCode,
    /// For people: what happened, and to what.
    pub message: String,
    /// For people: what to do about it.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a hint.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// The same fault with the way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
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

/// The way out where a limit on the size of files is met.
pub const SIZE_LIMIT_HINT: &str = "raise the limit in the shell that starts brain, `ulimit -f unlimited`, or \
    `LimitFSIZE=` in the unit of the service, and try again";

/// Exit status of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line or its input is wrong.
    Usage = 2,
    /// Refused: protected, or no permission.
    Refused = 3,
    /// What was named does not exist.
    NotFound = 4,
    /// The same command with `--yes` would do it.
    Confirm = 5,
    /// The daemon cannot be reached.
    Unreachable = 6,
}

macro_rules! fault_codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal => $exit:ident,)*) => {
        /// What went wrong, for programs. New codes are appended: the position is on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum FaultCode { $($(#[$doc])* $variant,)* }

        impl FaultCode {
            /// Every code, in the order of the wire.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as it stands in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The exit status a command ends with.
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
    /// There is nothing in the content.
    EmptyContent = "empty_content" => Usage,
    /// The content has a NUL byte or is not UTF-8.
    BinaryContent = "binary_content" => Failed,
    /// The content, or an answer, is over a limit.
    TooLarge = "too_large" => Failed,
    /// The frontmatter is not YAML, or its fields have the wrong shape.
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
    /// The page is soft-deleted already.
    AlreadySoftDeleted = "already_soft_deleted" => Failed,
    /// The page is not deleted.
    AlreadyActive = "already_active" => Failed,
    /// Something else is there already.
    Conflict = "conflict" => Failed,
    /// The caller may not do this.
    Forbidden = "forbidden" => Refused,
    /// The thing is protected.
    Protected = "protected" => Refused,
    /// `--yes` is needed.
    ConfirmationNeeded = "confirmation_needed" => Confirm,
    /// The daemon has too much to do.
    Busy = "busy" => Failed,
    /// It took too long.
    Timeout = "timeout" => Failed,
    /// The caller went away, or the daemon is stopping.
    Cancelled = "cancelled" => Failed,
    /// The daemon is draining and takes nothing new.
    Stopping = "stopping" => Unreachable,
    /// The disk is full.
    DiskFull = "disk_full" => Failed,
    /// The place cannot be written.
    ReadOnly = "read_only" => Failed,
    /// A file or directory cannot be read or written.
    Io = "io" => Failed,
    /// The store is damaged.
    StoreDamaged = "store_damaged" => Failed,
    /// The store was written by a newer program.
    StoreNewer = "store_newer" => Failed,
    /// Another daemon has the store.
    StoreLocked = "store_locked" => Failed,
    /// The configuration is wrong.
    InvalidConfig = "invalid_config" => Failed,
    /// The bytes on the socket are not the protocol.
    BadFrame = "bad_frame" => Failed,
    /// Client and daemon speak different protocols.
    ProtocolMismatch = "protocol_mismatch" => Unreachable,
    /// The daemon cannot be reached.
    Unreachable = "unreachable" => Unreachable,
    /// Some of the work failed; the reply has the list.
    Partial = "partial" => Failed,
    /// A defect in brain.
    Internal = "internal" => Failed,
    /// The media type is not one that can be taken in.
    UnsupportedContentType = "unsupported_content_type" => Failed,
    /// The body has no bytes, or white space only.
    EmptyBody = "empty_body" => Usage,
    /// The body is not in the encoding that it should have.
    InvalidEncoding = "invalid_encoding" => Failed,
    /// Too much waits already to be made pages.
    QueueFull = "queue_full" => Failed,
    /// Too many calls in a short time.
    RateLimited = "rate_limited" => Failed,
    /// The token is none of ours, or not any more.
    InvalidToken = "invalid_token" => Refused,
    /// Not a scope, or more than may be granted.
    InvalidScope = "invalid_scope" => Usage,
    /// A field of the request is missing or wrong.
    InvalidRequest = "invalid_request" => Usage,
    /// No such client.
    UnknownClient = "unknown_client" => NotFound,
    /// No such token.
    UnknownToken = "unknown_token" => NotFound,
    /// No such job, or it is somebody else's.
    UnknownJob = "unknown_job" => NotFound,
    /// Something has to be set up first.
    NotSetUp = "not_set_up" => Failed,
    /// A service that was asked for something refused, or did not answer.
    ServiceFailed = "service_failed" => Failed,
    /// No such post.
    UnknownPost = "unknown_post" => NotFound,
    /// It might cost more than it may.
    OverBudget = "over_budget" => Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `--json` prints and what `as_str` says are one name, and no two codes share it.
    #[test]
    fn codes_are_stable_names() {
        let mut names: Vec<&str> = FaultCode::ALL.iter().map(|c| c.as_str()).collect();
        for name in &names {
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FaultCode::ALL.len());
    }

    /// `docs/errors.md` has each code once, with the exit status that it ends with, its meaning and
    /// a way out.
    #[test]
    fn the_documentation_explains_every_code() {
        let docs = include_str!("../../docs/errors.md");
        let rows: Vec<Vec<&str>> = docs
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim()).collect())
            .collect();
        for row in &rows {
            assert_eq!(row.len(), 4, "{row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        }
        let written: Vec<(String, String)> = rows
            .iter()
            .map(|row| (row[0].trim_matches('`').to_owned(), row[1].to_owned()))
            .collect();
        let known: Vec<(String, String)> = FaultCode::ALL
            .iter()
            .map(|code| (code.as_str().to_owned(), (code.exit() as u8).to_string()))
            .collect();
        assert_eq!(written, known, "docs/errors.md and FaultCode, in the same order");
    }
}
