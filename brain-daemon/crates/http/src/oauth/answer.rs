//! Responses of OAuth endpoints: JSON that is not cached, and errors (RFC 6749 section 5.2).

use axum::http::header::{CACHE_CONTROL, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::HttpError;
use crate::body::BodyError;
use crate::http_error::OAuthErrorBody;
use brain_access::{OAuthError, OAuthFault};

/// An error response of an OAuth endpoint.
#[derive(Debug)]
pub(super) struct OAuthErrorResponse {
    status: StatusCode,
    error: &'static str,
    description: String,
    /// Seconds.
    retry_after: Option<u64>,
}

impl OAuthErrorResponse {
    /// Creates an error with this status.
    pub(super) fn new(
        status: StatusCode,
        error: &'static str,
        description: impl Into<String>,
    ) -> Self {
        Self { status, error, description: description.into(), retry_after: None }
    }

    /// Creates the error 400 `invalid_request`.
    pub(super) fn invalid(description: impl Into<String>) -> Self {
        OAuthFault::new(OAuthError::InvalidRequest, description).into()
    }

    /// Returns whether the request may be a guess: it has a wrong client, secret, code or token.
    pub(super) fn is_failed_guess(&self) -> bool {
        [OAuthError::InvalidClient, OAuthError::InvalidGrant]
            .iter()
            .any(|error| error.as_str() == self.error)
    }

    /// Replaces status 401 with 400, because browsers ask for a password after 401.
    pub(super) fn for_browser(mut self) -> Self {
        if self.status == StatusCode::UNAUTHORIZED {
            self.status = StatusCode::BAD_REQUEST;
        }
        self
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the error code.
    pub(super) fn error(&self) -> &'static str {
        self.error
    }

    /// Returns the description for people.
    pub(super) fn description(&self) -> &str {
        &self.description
    }

    /// Returns the seconds to wait before the next attempt, if attempts are limited.
    pub(super) fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// Creates the error 429 after too many failures or registrations.
    pub(super) fn rate_limited(seconds: u64) -> Self {
        let description =
            format!("too many attempts from your address; try again in {seconds} seconds");
        Self {
            retry_after: Some(seconds),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", description)
        }
    }
}

/// Returns the status of an error (RFC 6749 section 5.2).
fn status_of(error: OAuthError) -> StatusCode {
    match error {
        OAuthError::InvalidClient => StatusCode::UNAUTHORIZED,
        OAuthError::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl From<OAuthFault> for OAuthErrorResponse {
    fn from(fault: OAuthFault) -> Self {
        Self::new(status_of(fault.error), fault.error.as_str(), fault.description)
    }
}

impl From<BodyError> for OAuthErrorResponse {
    fn from(error: BodyError) -> Self {
        Self::new(error.status(), OAuthError::InvalidRequest.as_str(), error.message())
    }
}

impl From<HttpError> for OAuthErrorResponse {
    fn from(_: HttpError) -> Self {
        let description =
            "a defect in brain ended this request; the log of the daemon has the details";
        OAuthFault::new(OAuthError::ServerError, description).into()
    }
}

impl IntoResponse for OAuthErrorResponse {
    fn into_response(self) -> Response {
        let body = OAuthErrorBody { error: self.error.into(), error_description: self.description };
        let mut response = no_store(self.status, axum::Json(body));
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 9110 section 15.5.2 requires this field in every 401 response.
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Basic realm="brain""#));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Creates a response that must not be cached (RFC 6749 section 5.1).
pub(super) fn no_store(status: StatusCode, body: impl IntoResponse) -> Response {
    (status, [(CACHE_CONTROL, "no-store"), (PRAGMA, "no-cache")], body).into_response()
}
