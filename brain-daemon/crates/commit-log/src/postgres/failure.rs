//! What a failure of the driver means, and whether a call is tried again.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::error::DbError;

use super::settings::Timeouts;
use crate::Error;

/// A failed try.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    next: Next,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The call fails.
    Fail,
    /// The server rolled back; the same call can succeed.
    Retry,
    /// The connection is gone. What was sent may be committed or not.
    Reconnect,
    /// The call fails: there was no answer in its time. What was sent may be committed or not.
    GiveUp,
}

impl Failure {
    pub(super) fn can_retry(&self) -> bool {
        matches!(self.next, Next::Retry | Next::Reconnect)
    }

    /// Returns whether there was no answer, so that an earlier failure says more.
    pub(super) fn is_without_answer(&self) -> bool {
        self.next == Next::GiveUp
    }

    /// A call without an answer in its time.
    pub(super) fn without_answer(error: Error) -> Self {
        Self { error, next: Next::GiveUp }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.next == Next::Reconnect
    }

    /// Classifies an error of the driver. `address` is the server's, without user and password.
    /// `phase` says what was running.
    pub(super) fn of(
        error: tokio_postgres::Error,
        address: &str,
        phase: &'static str,
        timeouts: &Timeouts,
    ) -> Self {
        if let Some(db) = error.as_db_error() {
            return of_server(db, address, phase, timeouts);
        }
        let (reason, cause) = innermost(&error);
        let address = address.to_owned();
        let (error, next) = match cause {
            Cause::ReadOnly => (Error::ReadOnly { address, reason }, Next::Fail),
            Cause::Tls => (Error::Tls { address, reason }, Next::Fail),
            Cause::Authentication => (Error::Denied { address, reason }, Next::Fail),
            Cause::Connection => {
                (Error::unavailable(&address, &reason, Some(Box::new(error))), Next::Reconnect)
            }
        };
        Self { error, next }
    }
}

impl From<Error> for Failure {
    /// A failure that is not tried again.
    fn from(error: Error) -> Self {
        Self { error, next: Next::Fail }
    }
}

/// Classifies what the server answered, by its SQLSTATE.
fn of_server(error: &DbError, address: &str, phase: &'static str, timeouts: &Timeouts) -> Failure {
    let (code, reason) = (error.code().code(), error.message().to_owned());
    let unavailable =
        |reason: &str| Error::unavailable(address, reason, Some(Box::new(error.clone())));
    let address = address.to_owned();
    let (error, next) = match code {
        // Serialization failure, deadlock, lock time-out.
        "40001" | "40P01" => (unavailable(&reason), Next::Retry),
        "55P03" => {
            let reason = format!("{phase}: another session holds a lock too long");
            (unavailable(&reason), Next::Retry)
        }
        // Shutdown, crash, start, and failed connections. 25P03 ends the session.
        "57P01" | "57P02" | "57P03" | "25P03" => (unavailable(&reason), Next::Reconnect),
        // pgbouncer has one code for all its errors.
        "08P01" if reason.ends_with("authentication failed") || reason.contains("no such user") => {
            (Error::Denied { address, reason }, Next::Fail)
        }
        "08P01" if reason.contains("no such database") => {
            (Error::NotCreated { address }, Next::Fail)
        }
        code if code.starts_with("08") => (unavailable(&reason), Next::Reconnect),
        "57014" => {
            let limit = timeouts.statement;
            (Error::Timeout { phase, limit, setting: "statement_timeout" }, Next::Fail)
        }
        "25006" => (Error::ReadOnly { address, reason }, Next::Fail),
        "28000" | "28P01" | "42501" => (Error::Denied { address, reason }, Next::Fail),
        "42P01" | "3F000" | "3D000" => (Error::NotCreated { address }, Next::Fail),
        "53100" => (Error::DiskFull { address }, Next::Fail),
        "23505" => {
            let text = format!("the server has a row that must not exist ({reason})");
            (Error::Corrupt(text), Next::Fail)
        }
        _ => (unavailable(&format!("{reason} ({code})")), Next::Fail),
    };
    Failure { error, next }
}

enum Cause {
    ReadOnly,
    Tls,
    Authentication,
    Connection,
}

/// Returns the message of the innermost cause, and what kind it is.
fn innermost(error: &tokio_postgres::Error) -> (String, Cause) {
    // The driver tells its kinds apart in its message only.
    let mut kind = match error.to_string().as_str() {
        "error performing TLS handshake" => Cause::Tls,
        "authentication error" | "invalid configuration" => Cause::Authentication,
        _ => Cause::Connection,
    };
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(at) = cause {
        reason = at.to_string();
        if let Some(io) = at.downcast_ref::<io::Error>() {
            let inner: Option<&(dyn StdError + 'static)> = match io.get_ref() {
                Some(inner) => Some(inner),
                None => None,
            };
            if inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some() {
                kind = Cause::Tls;
            } else if io.kind() == io::ErrorKind::PermissionDenied {
                kind = Cause::ReadOnly;
            } else if matches!(kind, Cause::Tls) {
                // The connection broke during the handshake.
                kind = Cause::Connection;
            }
        }
        cause = at.source();
    }
    (reason, kind)
}
