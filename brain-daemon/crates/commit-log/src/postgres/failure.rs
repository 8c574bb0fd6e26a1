//! Classifies failures of the driver, and decides whether a call is retried.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::error::DbError;

use super::settings::Timeouts;
use crate::Error;

/// A failed attempt of a call.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    next: NextStep,
}

/// How a call continues after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStep {
    /// The call fails.
    Fail,
    /// The server rolled back; the same call can succeed.
    Retry,
    /// The connection is gone. What was sent may be committed or not.
    Reconnect,
    /// The call fails: there was no answer in time. What was sent may be committed or not.
    GiveUp,
}

impl Failure {
    pub(super) fn can_retry(&self) -> bool {
        matches!(self.next, NextStep::Retry | NextStep::Reconnect)
    }

    /// Returns whether the attempt got no answer. An earlier failure then explains more.
    pub(super) fn is_without_answer(&self) -> bool {
        self.next == NextStep::GiveUp
    }

    /// Returns the failure of an attempt that got no answer in time.
    pub(super) fn without_answer(error: Error) -> Self {
        Self { error, next: NextStep::GiveUp }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.next == NextStep::Reconnect
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
            Cause::ReadOnly => (Error::ReadOnly { address, reason }, NextStep::Fail),
            Cause::Tls => (Error::Tls { address, reason }, NextStep::Fail),
            Cause::Authentication => (Error::Denied { address, reason }, NextStep::Fail),
            Cause::Connection => {
                (Error::unavailable(&address, &reason, Some(Box::new(error))), NextStep::Reconnect)
            }
        };
        Self { error, next }
    }
}

impl From<Error> for Failure {
    /// Returns a failure after which the call is not retried.
    fn from(error: Error) -> Self {
        Self { error, next: NextStep::Fail }
    }
}

/// Classifies an error of the server by its SQLSTATE.
fn of_server(error: &DbError, address: &str, phase: &'static str, timeouts: &Timeouts) -> Failure {
    let (code, reason) = (error.code().code(), error.message().to_owned());
    let unavailable =
        |reason: &str| Error::unavailable(address, reason, Some(Box::new(error.clone())));
    let address = address.to_owned();
    let (error, next) = match code {
        // Serialization failure, deadlock, lock time-out.
        "40001" | "40P01" => (unavailable(&reason), NextStep::Retry),
        "55P03" => {
            let reason = format!("{phase}: another session holds a lock too long");
            (unavailable(&reason), NextStep::Retry)
        }
        // Shutdown, crash and start of the server, and a transaction that was idle for too long.
        "57P01" | "57P02" | "57P03" | "25P03" => (unavailable(&reason), NextStep::Reconnect),
        // pgbouncer has one code for all its errors.
        "08P01" if reason.ends_with("authentication failed") || reason.contains("no such user") => {
            (Error::Denied { address, reason }, NextStep::Fail)
        }
        "08P01" if reason.contains("no such database") => {
            (Error::NotCreated { address }, NextStep::Fail)
        }
        code if code.starts_with("08") => (unavailable(&reason), NextStep::Reconnect),
        "57014" => {
            let limit = timeouts.statement;
            (Error::Timeout { phase, limit, setting: "statement_timeout" }, NextStep::Fail)
        }
        "25006" => (Error::ReadOnly { address, reason }, NextStep::Fail),
        "28000" | "28P01" | "42501" => (Error::Denied { address, reason }, NextStep::Fail),
        "42P01" | "3F000" | "3D000" => (Error::NotCreated { address }, NextStep::Fail),
        "53100" => (Error::DiskFull { address }, NextStep::Fail),
        "23505" => {
            let text = format!("the server has a row that must not exist ({reason})");
            (Error::Corrupt(text), NextStep::Fail)
        }
        _ => (unavailable(&format!("{reason} ({code})")), NextStep::Fail),
    };
    Failure { error, next }
}

enum Cause {
    ReadOnly,
    Tls,
    Authentication,
    Connection,
}

/// Returns the message of the innermost cause, and its kind.
fn innermost(error: &tokio_postgres::Error) -> (String, Cause) {
    // The driver shows the kind of an error only in the message.
    let mut kind = match error.to_string().as_str() {
        "error performing TLS handshake" => Cause::Tls,
        "authentication error" | "invalid configuration" => Cause::Authentication,
        _ => Cause::Connection,
    };
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        reason = source.to_string();
        if let Some(io) = source.downcast_ref::<io::Error>() {
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
        cause = source.source();
    }
    (reason, kind)
}
