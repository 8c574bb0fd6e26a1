//! Errors of outgoing HTTP requests. Messages never contain query strings or secrets.
//!
//! An error holds its cause as text. reqwest's error is not its source, because that error names
//! the whole address. [`crate::DownloadError`] is a separate type, so that only callers that write
//! a file handle errors of the disk.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};

use rustls::CertificateError;

/// Why a request had no usable response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The address may not be called. The text says what it must be.
    #[error("{0}")]
    InvalidAddress(&'static str),
    /// The host name has no address. Holds the resolver's message.
    #[error("host name not found ({0})")]
    NameNotFound(String),
    /// At least one address of the host is not public.
    #[error("the host has an address that is not public")]
    NotPublic,
    /// The host refused the connection.
    #[error("connection refused: no program listens there")]
    ConnectionRefused,
    /// The network has no route to the host.
    #[error("host unreachable ({0})")]
    Unreachable(String),
    /// The connection was not accepted in time.
    #[error("connection timed out after 5 seconds")]
    ConnectTimeout,
    /// The TLS handshake failed.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The response took longer than this many seconds.
    #[error("no response within {0} seconds")]
    Timeout(u64),
    /// The response is larger than this many bytes.
    #[error("the response is larger than {} KiB", .0 / 1024)]
    TooLarge(usize),
    /// The response has another status than 200.
    #[error("the response has status {0}")]
    Status(u16),
    /// The media type of the response is not JSON.
    #[error("the response is not application/json")]
    NotJson,
    /// The connection ended early, or the response is not HTTP.
    #[error("connection lost ({0})")]
    ConnectionBroken(String),
    /// The request could not be built or started.
    #[error("the request cannot be sent ({0})")]
    Setup(String),
}

/// Why a TLS handshake failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The server does not speak TLS.
    #[error("the server does not speak TLS")]
    Absent,
    /// The server closed the connection during the handshake.
    #[error("the server closed the connection during the TLS handshake")]
    Closed,
    /// The certificate has expired.
    #[error("the certificate has expired")]
    Expired,
    /// The certificate is not valid yet.
    #[error("the certificate is not valid yet")]
    NotYetValid,
    /// The certificate is for another host.
    #[error("the certificate is for another host name")]
    WrongName,
    /// No trusted authority signed the certificate.
    #[error("the certificate is not signed by a trusted authority")]
    UnknownIssuer,
    /// Any other failure.
    #[error("TLS failed ({0})")]
    Other(String),
}

/// Returns the first known cause of a reqwest error. Without one, the innermost cause becomes text.
pub(super) fn from_reqwest(error: reqwest::Error) -> Error {
    // The address may have a secret in its query.
    let error = error.without_url();
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
    let (mut last, mut is_closed) = (error.to_string(), false);
    while let Some(current) = cause {
        if let Some(found) = known_cause(current) {
            return found;
        }
        last = current.to_string();
        is_closed |= is_end_of_stream(current);
        cause = current.source();
    }
    match error.is_connect() {
        true if error.is_timeout() => Error::ConnectTimeout,
        // A plain TCP connect cannot meet an end of stream, so the handshake did.
        true if is_closed => Error::Tls(TlsError::Closed),
        true => Error::Unreachable(last),
        false => Error::ConnectionBroken(last),
    }
}

/// Returns whether the connection ended before a response. Bytes that are not HTTP count as a
/// response.
pub(super) fn is_closed(error: &reqwest::Error) -> bool {
    // hyper has no public type for this error, so its message is compared.
    const INCOMPLETE: &str = "connection closed before message completed";
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(current) = cause {
        if is_end_of_stream(current) || current.to_string() == INCOMPLETE {
            return true;
        }
        cause = current.source();
    }
    false
}

/// Returns whether an error says that the peer closed the connection. One `io::Error` may wrap
/// another.
fn is_end_of_stream(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
        ) || error.get_ref().is_some_and(|inner| is_end_of_stream(inner))
    })
}

fn known_cause(error: &(dyn StdError + 'static)) -> Option<Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(Error::Tls(from_rustls(tls)));
    }
    let error = error.downcast_ref::<io::Error>()?;
    // `source` skips an error that an `io::Error` wraps.
    if let Some(found) = error.get_ref().and_then(|inner| known_cause(inner)) {
        return Some(found);
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => Some(Error::ConnectionRefused),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            Some(Error::Unreachable(system_message(error)))
        }
        _ => None,
    }
}

fn from_rustls(error: &rustls::Error) -> TlsError {
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                TlsError::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsError::NotYetValid
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsError::WrongName
            }
            CertificateError::UnknownIssuer => TlsError::UnknownIssuer,
            other => TlsError::Other(other.to_string()),
        },
        rustls::Error::InvalidMessage(_) => TlsError::Absent,
        other => TlsError::Other(other.to_string()),
    }
}

/// Returns the message of a system error without Rust's suffix `(os error 2)`.
pub(super) fn system_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.rfind(" (os error ").map_or(text.as_str(), |at| &text[..at]).to_owned()
}
