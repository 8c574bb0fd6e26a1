//! Classifies failures of the driver, and decides whether a call is retried.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::error::{DbError, Severity};

use super::settings::Timeouts;
use crate::Error;
use crate::error::Source;

/// The phase of errors before a connection is usable.
pub(super) const CONNECTING: &str = "connecting";

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

    /// Returns the failure of a connection that could not be made. The call is tried again.
    pub(super) fn lost(error: Error) -> Self {
        Self { error, next: NextStep::Reconnect }
    }

    /// Returns how much the error explains, to choose among those of several hosts: what a server
    /// says about the user, TLS, and the server's state explain more than a missing answer.
    pub(super) fn weight(&self) -> u8 {
        match &self.error {
            Error::Denied { .. } | Error::NoDatabase { .. } | Error::Unsuitable { .. } => 4,
            Error::Tls { .. } => 3,
            Error::ReadOnly { .. } => 2,
            Error::Unavailable { source: Some(source), .. } if source.is::<DbError>() => 1,
            _ => 0,
        }
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
            PostgresCause::ReadOnly => (Error::ReadOnly { address, reason }, NextStep::Fail),
            PostgresCause::Tls => (Error::Tls { address, reason }, NextStep::Fail),
            PostgresCause::Authentication => (Error::Denied { address, reason }, NextStep::Fail),
            PostgresCause::Connection => {
                (unavailable_log(&address, &reason, Some(Box::new(error))), NextStep::Reconnect)
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

/// How many connections a machine needs, for servers and poolers that have no further one.
const CONNECTIONS: &str = "each machine needs up to four connections; raise the limit";

/// Returns the error of a log that cannot be reached, or refuses work for now.
pub(super) fn unavailable_log(address: &str, reason: &str, source: Option<Source>) -> Error {
    Error::Unavailable { address: address.to_owned(), reason: reason.to_owned(), source }
}

/// Classifies an error of the server by its SQLSTATE.
fn of_server(error: &DbError, address: &str, phase: &'static str, timeouts: &Timeouts) -> Failure {
    let (code, reason) = (error.code().code(), error.message().to_owned());
    let unavailable =
        |reason: &str| unavailable_log(address, reason, Some(Box::new(error.clone())));
    // The session ends after such an error, also if it is the answer of a statement.
    let is_fatal = match error.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        None => ["FATAL", "PANIC"].contains(&error.severity()),
    };
    let own = address.to_owned();
    let (error, next) = match code {
        // Serialization failure, deadlock, lock time-out.
        "40001" | "40P01" => (unavailable(&reason), NextStep::Retry),
        "55P03" => {
            let reason = format!("{phase}: another session holds a lock too long");
            (unavailable(&reason), NextStep::Retry)
        }
        "53300" => (unavailable(&format!("{reason}; {CONNECTIONS}")), NextStep::Reconnect),
        // Poolers have few codes for all their errors.
        "08P01" => of_pooler(reason, address, &unavailable),
        code if code.starts_with("08") => (unavailable(&reason), NextStep::Reconnect),
        "57014" => {
            let limit = timeouts.statement;
            (Error::Timeout { phase, limit, setting: "statement_timeout" }, NextStep::Fail)
        }
        "25006" => (Error::ReadOnly { address: own, reason }, NextStep::Fail),
        // The line of pg_hba.conf that fits demands TLS.
        "28000" if reason.ends_with("no encryption") => {
            let reason = format!("{reason}; {ADD_TLS}");
            (Error::Tls { address: own, reason }, NextStep::Fail)
        }
        "28000" | "28P01" | "42501" => (Error::Denied { address: own, reason }, NextStep::Fail),
        "3D000" => {
            let advice = "create it there (createdb --owner USER NAME), or correct the URL";
            (no_database(address, advice), NextStep::Fail)
        }
        "42P01" | "3F000" => (Error::NotCreated { address: own }, NextStep::Fail),
        "53100" => (Error::DiskFull { address: own }, NextStep::Fail),
        "23505" => {
            let text = format!("the server has a row that must not exist ({reason})");
            (Error::Corrupt(text), NextStep::Fail)
        }
        // An option of the URL that the server does not know, or does not permit.
        code if phase == CONNECTING && (code.starts_with("42") || code.starts_with("22")) => {
            let advice = "correct the options in the URL".to_owned();
            (Error::Unsuitable { address: own, reason, advice }, NextStep::Fail)
        }
        // Shutdown, crash and start of the server, and sessions or transactions that were idle for
        // too long.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "25P04" => {
            (unavailable(&reason), NextStep::Reconnect)
        }
        _ if is_fatal => (unavailable(&format!("{reason} ({code})")), NextStep::Reconnect),
        _ => (unavailable(&format!("{reason} ({code})")), NextStep::Fail),
    };
    Failure { error, next }
}

/// Returns the error of a database that the server or the pooler at `address` does not have.
fn no_database(address: &str, advice: &'static str) -> Error {
    let (host, database) = address.rsplit_once('/').unwrap_or((address, ""));
    Error::NoDatabase { host: host.to_owned(), database: database.to_owned(), advice }
}

/// The way out if a server demands TLS and the connection has none.
const ADD_TLS: &str = "add sslmode=verify-full to the URL";

/// Classifies an error of pgbouncer, which has one code for nearly all.
fn of_pooler(
    reason: String,
    address: &str,
    unavailable: &dyn Fn(&str) -> Error,
) -> (Error, NextStep) {
    let says = |texts: &[&str]| texts.iter().any(|text| reason.contains(text));
    let address = address.to_owned();
    if says(&["authentication failed", "no such user", "login rejected", "certificate required"]) {
        return (Error::Denied { address, reason }, NextStep::Fail);
    }
    if says(&["no such database"]) {
        let advice = "add it to the pooler's databases, or correct the URL";
        return (no_database(&address, advice), NextStep::Fail);
    }
    if says(&["SSL required", "TLS connection required"]) {
        let reason = format!("{reason}; {ADD_TLS}");
        return (Error::Tls { address, reason }, NextStep::Fail);
    }
    if says(&["statement pooling"]) {
        let advice = "set pool_mode = transaction or session in the pooler".to_owned();
        return (Error::Unsuitable { address, reason, advice }, NextStep::Fail);
    }
    if let Some((_, name)) = reason.split_once("unsupported startup parameter: ") {
        let name = name.split('=').next().unwrap_or(name);
        let advice = format!(
            "remove {name} from the URL, or add it to ignore_startup_parameters in the pooler"
        );
        let reason = format!("unsupported startup parameter {name}");
        return (Error::Unsuitable { address, reason, advice }, NextStep::Fail);
    }
    if says(&["no more connections", "too many"]) {
        return (unavailable(&format!("{reason}; {CONNECTIONS}")), NextStep::Reconnect);
    }
    (unavailable(&reason), NextStep::Reconnect)
}

enum PostgresCause {
    ReadOnly,
    Tls,
    Authentication,
    Connection,
}

/// Returns the message of the innermost cause, and its kind.
fn innermost(error: &tokio_postgres::Error) -> (String, PostgresCause) {
    // The driver shows the kind of an error only in the message.
    let mut kind = match error.to_string().as_str() {
        "error performing TLS handshake" => PostgresCause::Tls,
        "authentication error" | "invalid configuration" => PostgresCause::Authentication,
        _ => PostgresCause::Connection,
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
                kind = PostgresCause::Tls;
            } else if io.kind() == io::ErrorKind::PermissionDenied && io.raw_os_error().is_none() {
                // The driver's own error; the system's is about a socket.
                kind = PostgresCause::ReadOnly;
            } else if matches!(kind, PostgresCause::Tls) {
                // The connection broke during the handshake.
                kind = PostgresCause::Connection;
            }
        }
        cause = source.source();
    }
    (reason, kind)
}
