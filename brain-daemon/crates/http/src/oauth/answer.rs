//! What OAuth endpoints answer with: JSON that no cache keeps, errors as RFC 6749 section 5.2 says them.

use axum::http::header::{CACHE_CONTROL, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::HttpError;
use crate::body::BodyError;
use brain_access::{OAuthError, OAuthFault};

/// The body of a refusal of an OAuth endpoint.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub(super) struct OAuthErrorBody {
    /// For programs.
    #[schema(example = "invalid_request")]
    error: String,
    /// For people: what happened, and the way out.
    error_description: String,
}

/// A refusal of an OAuth endpoint on its way out.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    error: &'static str,
    description: String,
    retry_after: Option<u64>,
}

impl Refused {
    /// A refusal with a status of its own.
    pub(super) fn new(
        status: StatusCode,
        error: &'static str,
        description: impl Into<String>,
    ) -> Self {
        Self { status, error, description: description.into(), retry_after: None }
    }

    /// 400 `invalid_request`.
    pub(super) fn invalid(description: impl Into<String>) -> Self {
        OAuthFault::new(OAuthError::InvalidRequest, description).into()
    }

    /// Whether it is one of those that a thousand tries could get past: no such client, secret, code or token.
    pub(super) fn is_a_wrong_guess(&self) -> bool {
        [OAuthError::InvalidClient, OAuthError::InvalidGrant]
            .iter()
            .any(|wrong| wrong.as_str() == self.error)
    }

    /// The same for a browser, which would ask for a password of its own at a 401.
    pub(super) fn for_a_person(mut self) -> Self {
        if self.status == StatusCode::UNAUTHORIZED {
            self.status = StatusCode::BAD_REQUEST;
        }
        self
    }

    /// The status.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The code.
    pub(super) fn error(&self) -> &'static str {
        self.error
    }

    /// For people.
    pub(super) fn description(&self) -> &str {
        &self.description
    }

    /// After how many seconds to try again.
    pub(super) fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// 429: there were too many failures.
    pub(super) fn too_often(seconds: u64) -> Self {
        let description =
            format!("too many failures from your address; try again in {seconds} seconds");
        Self {
            retry_after: Some(seconds),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", description)
        }
    }
}

/// The status of an error: RFC 6749 section 5.2.
fn status(error: OAuthError) -> StatusCode {
    match error {
        OAuthError::InvalidClient => StatusCode::UNAUTHORIZED,
        OAuthError::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl From<OAuthFault> for Refused {
    fn from(fault: OAuthFault) -> Self {
        Self::new(status(fault.error), fault.error.as_str(), fault.description)
    }
}

impl From<BodyError> for Refused {
    fn from(why: BodyError) -> Self {
        Self::new(why.status(), OAuthError::InvalidRequest.as_str(), why.message())
    }
}

impl From<HttpError> for Refused {
    fn from(_: HttpError) -> Self {
        let description =
            "a defect in brain ended this request; the log of the daemon has the place";
        OAuthFault::new(OAuthError::ServerError, description).into()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = OAuthErrorBody { error: self.error.into(), error_description: self.description };
        let mut response = uncached(self.status, axum::Json(body));
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 9110 section 15.5.2 wants one with every 401, whichever way the client took.
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

/// An answer that no cache keeps (RFC 6749 section 5.1).
pub(super) fn uncached(status: StatusCode, body: impl IntoResponse) -> Response {
    (status, [(CACHE_CONTROL, "no-store"), (PRAGMA, "no-cache")], body).into_response()
}
