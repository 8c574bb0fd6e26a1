//! Authenticates requests by bearer token (RFC 6750). Browser sessions are in `session`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use brain_protocol::{Fault, FaultCode, OperationInfo};

use super::connection_state::ConnectionState;
use super::{AppState, HttpError, Side, client_address, dispatch};
use brain_base::caller::{Caller, Scope};
use brain_base::permission;

/// Longer tokens are refused without a look-up.
const MAX_TOKEN_BYTES: usize = 512;

/// A protected resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The service as a whole.
    Service,
    /// The MCP endpoint.
    Mcp,
}

impl Resource {
    /// Returns the path of this resource below the service's URL (RFC 9728 section 3.1).
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Service => "",
            Self::Mcp => "/mcp",
        }
    }
}

/// Why a request has no usable token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenError {
    /// There is no `Authorization` field.
    Absent,
    /// The field is repeated, or is not a bearer token.
    Malformed,
}

/// Returns the bearer token in `headers` (RFC 6750 section 2.1). Tokens in queries and bodies are
/// not accepted.
///
/// # Errors
/// [`TokenError::Absent`] without the field; [`TokenError::Malformed`] if it is repeated, or is not
/// a bearer token.
pub(super) fn parse_bearer_token(headers: &HeaderMap) -> Result<&str, TokenError> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let field = fields.next().ok_or(TokenError::Absent)?;
    let text =
        field.to_str().ok().filter(|_| fields.next().is_none()).ok_or(TokenError::Malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or(TokenError::Malformed)?;
    let token = token.trim_matches(' ');
    let unpadded = token.trim_end_matches('=');
    let is_valid = !unpadded.is_empty()
        && token.len() <= MAX_TOKEN_BYTES
        && unpadded.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b));
    if scheme.eq_ignore_ascii_case("bearer") && is_valid {
        Ok(token)
    } else {
        Err(TokenError::Malformed)
    }
}

/// Returns the caller of the bearer token in `headers`.
///
/// The public listener treats the admin token as unknown, since it serves no administration.
///
/// # Errors
/// 401 with `WWW-Authenticate` when there is no valid token (RFC 6750 section 3, RFC 9728 section
/// 5.1); the status of the fault when the token cannot be checked.
pub(crate) fn authenticate_bearer(
    app: &AppState,
    headers: &HeaderMap,
    resource: Resource,
) -> Result<Caller, HttpError> {
    let caller = match parse_bearer_token(headers) {
        // The same response as for an unknown token, so that it does not confirm a guess.
        Ok(token) if app.side == Side::Public && app.brain.access().is_admin_token(token) => {
            let message = "the token is unknown, expired or revoked";
            return Err(unauthorized(app, resource, "error=\"invalid_token\", ", message));
        }
        Ok(token) => app.brain.access().bearer(token).map_err(|fault| match fault.code {
            FaultCode::InvalidToken => {
                unauthorized(app, resource, "error=\"invalid_token\", ", fault.message)
            }
            _ => fault.into(),
        })?,
        // A request without a token gets no error code (RFC 6750 section 3.1).
        Err(TokenError::Absent) => {
            let message = "the request has no token: send `Authorization: Bearer <token>`; \
                           the owner makes one with `brain token create`";
            return Err(unauthorized(app, resource, "", message));
        }
        Err(TokenError::Malformed) => {
            let message = "the field Authorization is not `Bearer <token>`";
            return Err(unauthorized(app, resource, "error=\"invalid_token\", ", message));
        }
    };
    dispatch::set_caller(&caller.name);
    // Another machine may have revoked the token. A loopback listener serves this machine only.
    match app.brain.check_token_age() {
        Err(fault) if is_remote(app) => Err(fault.into()),
        _ => Ok(caller),
    }
}

/// Returns whether other machines can call the listener.
fn is_remote(app: &AppState) -> bool {
    let local = app.brain.access().http_addresses().local;
    app.side == Side::Public
        || local.is_none_or(|address| !address.ip().to_canonical().is_loopback())
}

/// Returns the first 16 bytes of a token: wrong tokens are counted by this prefix. Each program's
/// token has its own prefix, so failures of one program do not limit another.
pub(super) fn token_prefix(token: &str) -> &str {
    token.get(..16).unwrap_or(token)
}

/// Returns the caller of a request, and limits the use of wrong tokens.
///
/// Requests without a token are not limited: the response tells clients where to get one.
///
/// # Errors
/// As for [`authenticate_bearer`]; 429 if a wrong token is used too often.
pub(crate) fn authenticate(
    app: &AppState,
    request: &Request,
    resource: Resource,
) -> Result<Caller, HttpError> {
    match (
        authenticate_bearer(app, request.headers(), resource),
        parse_bearer_token(request.headers()),
    ) {
        (Ok(caller), _) => {
            if let Some(connection) = request.extensions().get::<Arc<ConnectionState>>() {
                connection.set_authenticated(app.shared.limits.hash_of(&caller.name));
            }
            Ok(caller)
        }
        (Err(refusal), Ok(token)) if refusal.status() == StatusCode::UNAUTHORIZED => {
            let from = client_address::of_request(app, request);
            let limited = app.shared.limits.wrong_token(from, app.side, token, app.brain.now());
            Err(limited.err().unwrap_or(refusal))
        }
        (Err(refusal), _) => Err(refusal),
    }
}

/// Middleware. Charges request bodies of signed-in browsers to the budget of authenticated clients,
/// so that the owner can attach large files. Authorizes nothing; the web interface does.
pub(crate) async fn use_browser_body_budget(
    State(app): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(brain_web::BrowserCaller(name)) =
        brain_web::signed_in(&app.brain, request.headers())
        && let Some(connection) = request.extensions().get::<Arc<ConnectionState>>()
    {
        connection.set_authenticated(app.shared.limits.hash_of(&name));
    }
    next.run(request).await
}

/// Checks that `caller` may run `operation`.
///
/// # Errors
/// 403 with `WWW-Authenticate` when it may not.
pub(crate) fn permit(
    app: &AppState,
    caller: &Caller,
    operation: OperationInfo,
    resource: Resource,
) -> Result<(), HttpError> {
    permission::permit(caller, operation)
        .map_err(|fault| insufficient_scope(app, resource, fault, operation.scope))
}

/// Returns 403 for a caller that lacks `scope` (RFC 6750 section 3.1).
pub(crate) fn insufficient_scope(
    app: &AppState,
    resource: Resource,
    fault: Fault,
    scope: Scope,
) -> HttpError {
    let scopes = if scope == Scope::Write && resource == Resource::Mcp {
        "read write"
    } else {
        scope.as_str()
    };
    let error = format!("error=\"insufficient_scope\", scope=\"{scopes}\", ");
    challenge(app, resource, fault.into(), &error)
}

/// Returns 401 with the parameters `error` in `WWW-Authenticate`.
fn unauthorized(
    app: &AppState,
    resource: Resource,
    error: &str,
    message: impl Into<String>,
) -> HttpError {
    let refusal = HttpError::new(StatusCode::UNAUTHORIZED, "invalid_token", message);
    challenge(app, resource, refusal, &format!("{error}scope=\"read write\", "))
}

/// Adds `WWW-Authenticate` with the parameters `error` and the URL of the resource's metadata (RFC
/// 9728 section 5.1).
fn challenge(app: &AppState, resource: Resource, refusal: HttpError, error: &str) -> HttpError {
    let issuer = app.brain.access().issuer();
    let path = resource.path();
    let text = format!(
        "Bearer {error}resource_metadata=\"{issuer}/.well-known/oauth-protected-resource{path}\""
    );
    match HeaderValue::from_str(&text) {
        Ok(value) => refusal.with_header(header::WWW_AUTHENTICATE, value),
        Err(_) => refusal,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_bearer_tokens_are_accepted() {
        let longest = format!("Bearer {}", "a".repeat(MAX_TOKEN_BYTES));
        let too_long = format!("Bearer {}", "a".repeat(MAX_TOKEN_BYTES + 1));
        for (field, expected) in [
            ("Bearer brain_pt_aA0-._~+/", Ok("brain_pt_aA0-._~+/")),
            ("bEARER abc==", Ok("abc==")),
            ("Bearer  abc ", Ok("abc")),
            (&longest, Ok(&longest[7..])),
            (&too_long, Err(TokenError::Malformed)),
            ("", Err(TokenError::Malformed)),
            ("Bearer", Err(TokenError::Malformed)),
            ("Bearer ", Err(TokenError::Malformed)),
            ("Bearer ==", Err(TokenError::Malformed)),
            ("Bearer a=b", Err(TokenError::Malformed)),
            ("Bearer a b", Err(TokenError::Malformed)),
            ("Bearer a,Bearer b", Err(TokenError::Malformed)),
            ("Bearer \"abc\"", Err(TokenError::Malformed)),
            ("Bearer\tabc", Err(TokenError::Malformed)),
            ("Basic abc", Err(TokenError::Malformed)),
            ("abc", Err(TokenError::Malformed)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(field).unwrap());
            assert_eq!(parse_bearer_token(&headers), expected, "{field}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(parse_bearer_token(&headers), Err(TokenError::Absent));
        headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        assert_eq!(parse_bearer_token(&headers), Err(TokenError::Malformed));
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        assert_eq!(parse_bearer_token(&headers), Err(TokenError::Malformed), "a repeated field");
    }
}
