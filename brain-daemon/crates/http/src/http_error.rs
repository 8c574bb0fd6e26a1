//! Error responses: a status, and `{"error", "message"}` in JSON.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use brain_protocol::{Fault, FaultCode};
use serde::Serialize;

/// The body of an error response.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub(crate) struct ErrorBody {
    /// A stable code, for programs.
    #[schema(example = "empty_body")]
    pub(crate) error: String,
    /// What failed, and what to do, for people.
    pub(crate) message: String,
}

/// The body of an error response of an OAuth endpoint.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub(crate) struct OAuthErrorBody {
    /// The code, for programs.
    #[schema(example = "invalid_request")]
    pub(crate) error: String,
    /// The description, for people.
    pub(crate) error_description: String,
}

/// An error response.
#[derive(Debug)]
pub(crate) struct HttpError {
    /// Boxed to keep results small.
    inner: Box<ErrorParts>,
}

#[derive(Debug)]
struct ErrorParts {
    status: StatusCode,
    body: ErrorBody,
    headers: Vec<(header::HeaderName, HeaderValue)>,
}

impl HttpError {
    /// Creates an error with a status, a code and a message.
    pub(crate) fn new(status: StatusCode, error: &str, message: impl Into<String>) -> Self {
        let body = ErrorBody { error: error.into(), message: message.into() };
        Self { inner: Box::new(ErrorParts { status, body, headers: Vec::new() }) }
    }

    /// Returns the stable code.
    pub(crate) fn code(&self) -> &str {
        &self.inner.body.error
    }

    /// Returns the message for people.
    pub(crate) fn message(&self) -> &str {
        &self.inner.body.message
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.inner.status
    }

    /// Adds a header field.
    #[must_use]
    pub(crate) fn with_header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.inner.headers.push((name, value));
        self
    }
}

/// Returns the HTTP status of a fault (RFC 9110 section 15).
fn status_of(code: FaultCode) -> StatusCode {
    use FaultCode as F;
    match code {
        F::InvalidToken => StatusCode::UNAUTHORIZED,
        F::Forbidden | F::Protected | F::OverBudget => StatusCode::FORBIDDEN,
        F::NotFound
        | F::Purged
        | F::AmbiguousSlug
        | F::UnknownVersion
        | F::UnknownClient
        | F::UnknownToken
        | F::UnknownJob
        | F::UnknownPost => StatusCode::NOT_FOUND,
        F::AlreadySoftDeleted
        | F::AlreadyActive
        | F::Conflict
        | F::ConfirmationNeeded
        | F::NotReplayable => StatusCode::CONFLICT,
        F::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        F::UnsupportedContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        F::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        F::Timeout => StatusCode::GATEWAY_TIMEOUT,
        F::ServiceFailed => StatusCode::BAD_GATEWAY,
        F::Busy
        | F::QueueFull
        | F::Stopping
        | F::DiskFull
        | F::ReadOnly
        | F::Cancelled
        | F::ServerAway
        | F::OutcomeUnknown
        | F::MachineStopped => StatusCode::SERVICE_UNAVAILABLE,
        F::Usage
        | F::EmptyContent
        | F::EmptyBody
        | F::BinaryContent
        | F::InvalidEncoding
        | F::InvalidFrontmatter
        | F::InvalidSlug
        | F::InvalidSource
        | F::UnknownSource
        | F::InvalidScope
        | F::InvalidRequest => StatusCode::BAD_REQUEST,
        F::Io
        | F::StoreDamaged
        | F::AttachmentDamaged
        | F::StoreNewer
        | F::StoreLocked
        | F::InvalidConfig
        | F::BadFrame
        | F::ProtocolMismatch
        | F::Unreachable
        | F::Partial
        | F::NotSetUp
        | F::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns the error code of a fault in HTTP responses.
fn code_of(code: FaultCode) -> &'static str {
    match code {
        FaultCode::Forbidden => "insufficient_scope",
        FaultCode::UnknownSource => "invalid_source",
        FaultCode::EmptyContent => "empty_body",
        FaultCode::BinaryContent => "invalid_encoding",
        other => other.as_str(),
    }
}

/// The seconds after which a client should repeat a request that got 429 or 503 for a fault.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

impl From<Fault> for HttpError {
    fn from(fault: Fault) -> Self {
        let (status, code) = (status_of(fault.code), code_of(fault.code));
        let message = match fault.code {
            // Paths and causes are private; the owner finds them in the log.
            _ if status == StatusCode::INTERNAL_SERVER_ERROR => {
                tracing::error!(code, fault.message, "HTTP request failed");
                "brain failed to answer; the log of the daemon says why".into()
            }
            FaultCode::DiskFull | FaultCode::ReadOnly => {
                tracing::error!(code, fault.message, "HTTP request failed");
                "brain cannot write at the moment; the log of the daemon says why".into()
            }
            // The hint names all sources, also those that the client cannot see.
            FaultCode::UnknownSource => fault.message,
            _ => match fault.hint {
                Some(hint) => format!("{}; {hint}", fault.message),
                None => fault.message,
            },
        };
        let refusal = Self::new(status, code, message);
        match status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                refusal.with_header(header::RETRY_AFTER, RETRY_AFTER)
            }
            _ => refusal,
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let ErrorParts { status, body, headers } = *self.inner;
        let mut response = (status, axum::Json(body)).into_response();
        response.headers_mut().extend(headers);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_map_to_http_status_and_code() {
        for (fault, expected, error) in [
            (FaultCode::InvalidToken, 401, "invalid_token"),
            (FaultCode::Forbidden, 403, "insufficient_scope"),
            (FaultCode::EmptyBody, 400, "empty_body"),
            (FaultCode::EmptyContent, 400, "empty_body"),
            (FaultCode::InvalidEncoding, 400, "invalid_encoding"),
            (FaultCode::UnknownSource, 400, "invalid_source"),
            (FaultCode::InvalidSlug, 400, "invalid_slug"),
            (FaultCode::TooLarge, 413, "too_large"),
            (FaultCode::UnsupportedContentType, 415, "unsupported_content_type"),
            (FaultCode::RateLimited, 429, "rate_limited"),
            (FaultCode::QueueFull, 503, "queue_full"),
            (FaultCode::UnknownJob, 404, "unknown_job"),
            (FaultCode::Internal, 500, "internal"),
        ] {
            let refusal = HttpError::from(Fault::new(fault, "x"));
            assert_eq!((refusal.status().as_u16(), refusal.code()), (expected, error));
            let waits = refusal.into_response().headers().contains_key(header::RETRY_AFTER);
            assert_eq!(waits, matches!(expected, 429 | 503), "{error}");
        }
    }

    #[test]
    fn internal_errors_hide_paths_and_hints() {
        for code in
            [FaultCode::Io, FaultCode::StoreDamaged, FaultCode::DiskFull, FaultCode::ReadOnly]
        {
            let refusal = HttpError::from(
                Fault::new(code, "cannot write /home/ann/.brain/x").hint("look there"),
            );
            assert!(
                !refusal.inner.body.message.contains("/home"),
                "{}",
                refusal.inner.body.message
            );
        }
        let fault = Fault::new(FaultCode::UnknownSource, "source \"x\" is not registered")
            .hint("registered: secret");
        assert_eq!(HttpError::from(fault).inner.body.message, "source \"x\" is not registered");
    }
}
