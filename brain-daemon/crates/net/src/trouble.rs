//! What goes wrong on the way out, told apart for whoever has to mend it. No text here has an address's query or a secret in it.

use std::error::Error;
use std::io::{self, ErrorKind};

use rustls::CertificateError;

/// Why a call had no answer, or not the right one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The address is not one that may be called; what it must be.
    #[error("{0}")]
    Address(&'static str),
    /// The host's name has no address; what the resolver says.
    #[error("its host name is not found ({0})")]
    Name(String),
    /// The host has an address that is not public.
    #[error("its host has no public address")]
    NotPublic,
    /// Nobody listens there.
    #[error("the connection is refused: nobody listens there")]
    Refused,
    /// The network does not get there.
    #[error("there is no way to it ({0})")]
    Unreachable(String),
    /// Nobody accepted the connection in time.
    #[error("nobody accepts the connection within 5 seconds")]
    Silent,
    /// TLS went wrong.
    #[error("{0}")]
    Tls(Tls),
    /// The answer took too long.
    #[error("there is no answer within {0} seconds")]
    Slow(u64),
    /// The answer is too large.
    #[error("the answer is larger than {} KiB", .0 / 1024)]
    Large(usize),
    /// The answer has another status than 200.
    #[error("the answer has status {0}")]
    Status(u16),
    /// The answer is no JSON by its label.
    #[error("the answer is not application/json")]
    Kind,
    /// The connection ended, or what came is no HTTP.
    #[error("the connection broke ({0})")]
    Broken(String),
    /// The call could not be made at all.
    #[error("no call can be made ({0})")]
    Setup(String),
}

/// How TLS went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Tls {
    /// The other end speaks something else.
    #[error("the other end does not speak TLS")]
    Absent,
    /// The other end went away before there was TLS.
    #[error("the other end breaks off while TLS begins")]
    Cut,
    /// The certificate is over.
    #[error("the certificate has expired")]
    Expired,
    /// The certificate has not begun.
    #[error("the certificate is not valid yet")]
    Early,
    /// The certificate is for another host.
    #[error("the certificate is for another name")]
    Name,
    /// Nobody who is trusted here has signed the certificate.
    #[error("the certificate is signed by nobody who is trusted here")]
    Issuer,
    /// Anything else.
    #[error("TLS failed ({0})")]
    Other(String),
}

/// What an error of reqwest comes from.
pub(super) fn of_reqwest(error: reqwest::Error) -> Trouble {
    // The address may have a secret in its query.
    let error = error.without_url();
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    let (mut last, mut ended) = (error.to_string(), false);
    while let Some(at) = cause {
        if let Some(found) = known(at) {
            return found;
        }
        last = at.to_string();
        ended |= is_end(at);
        cause = at.source();
    }
    match error.is_connect() {
        true if error.is_timeout() => Trouble::Silent,
        // Connecting itself has no end to come to.
        true if ended => Trouble::Tls(Tls::Cut),
        true => Trouble::Unreachable(last),
        false => Trouble::Broken(last),
    }
}

/// Whether the connection ended before there was an answer. What is no HTTP is an answer.
pub(super) fn is_ended(error: &reqwest::Error) -> bool {
    // hyper's words for an end in place of an answer; it gives the error no type that can be named
    // here.
    const INCOMPLETE: &str = "connection closed before message completed";
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if is_end(at) || at.to_string() == INCOMPLETE {
            return true;
        }
        cause = at.source();
    }
    false
}

/// Whether the other end went away; one error of the system may be wrapped in another.
fn is_end(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
        ) || error.get_ref().is_some_and(|inner| is_end(inner))
    })
}

fn known(error: &(dyn Error + 'static)) -> Option<Trouble> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(Trouble::Tls(of_tls(tls)));
    }
    let error = error.downcast_ref::<io::Error>()?;
    // One may be wrapped in another, and `source` leaves out what is wrapped.
    if let Some(found) = error.get_ref().and_then(|inner| known(inner)) {
        return Some(found);
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => Some(Trouble::Refused),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            Some(Trouble::Unreachable(plain(error)))
        }
        _ => None,
    }
}

fn of_tls(error: &rustls::Error) -> Tls {
    match error {
        rustls::Error::InvalidCertificate(flaw) => match flaw {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Tls::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Tls::Early
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Tls::Name
            }
            CertificateError::UnknownIssuer => Tls::Issuer,
            other => Tls::Other(other.to_string()),
        },
        rustls::Error::InvalidMessage(_) => Tls::Absent,
        other => Tls::Other(other.to_string()),
    }
}

/// What the system says, without Rust's `(os error 2)`.
pub(super) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.rfind(" (os error ").map_or(text.as_str(), |at| &text[..at]).to_owned()
}
