//! Authenticates the owner's browser: cookies, CSRF tokens, and the origin of requests.
//!
//! There are two cookies. Browsers send the consent cookie with requests from a client's page, too
//! (`Lax`), so it permits consent only. Every change also needs a CSRF token, which only pages of
//! brain can read.
//!
//! Browsers send a cookie to every port of its host. Over plain HTTP, any service on this machine
//! may see it, so consent cookies open no session there.

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use brain_protocol::{Command, Fault, FaultCode, hint};

use super::auth::{self, Resource};
use super::session_store::{Purpose, SESSION_MS};
use super::{AppState, HttpError, Side, client_address, dispatch};
use brain_base::caller::{Caller, Scopes, Visibility};
use brain_base::permission::ADMINISTRATION;

/// The header field that has the CSRF token of [`admin_csrf_token`].
pub(super) const CSRF: HeaderName = HeaderName::from_static("x-brain-csrf");

/// The action that the CSRF token of an admin session is bound to.
const ADMINISTER: &str = "administer";

/// A caller who may administer: by the admin token, a token with the scope `admin`, or a session.
pub(super) struct Owner(pub(super) Caller);

impl FromRequestParts<AppState> for Owner {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, HttpError> {
        authenticate_owner(app, parts).map(Self)
    }
}

/// Authenticates an administrator. Changes by a session need its CSRF token and the same origin.
///
/// # Errors
/// 401 with `WWW-Authenticate` without a valid token or session; 403 for a token without the scope,
/// or a change without the CSRF token; 429 after too many wrong tokens.
fn authenticate_owner(app: &AppState, parts: &Parts) -> Result<Caller, HttpError> {
    let (method, headers) = (&parts.method, &parts.headers);
    if headers.contains_key(AUTHORIZATION) {
        let caller = bearer_caller(app, parts)?;
        auth::permit(app, &caller, ADMINISTRATION, Resource::Service)?;
        return Ok(caller);
    }
    let Some((id, _)) = session(app, headers, Purpose::Admin) else {
        let fault =
            Fault::new(FaultCode::InvalidToken, "administration needs the owner").hint(hint!(
                "send `Authorization: Bearer <admin token>`; {} shows the token on a terminal",
                Command::TokenAdmin
            ));
        let challenge = HeaderValue::from_static(r#"Bearer realm="brain admin""#);
        return Err(HttpError::from(fault).with_header(WWW_AUTHENTICATE, challenge));
    };
    if !matches!(*method, Method::GET | Method::HEAD) {
        let csrf_token =
            headers.get(CSRF).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !is_same_origin(app, headers)
            || !app.sessions.is_csrf_token(id, ADMINISTER, csrf_token)?
        {
            return Err(csrf_error(
                "send the `csrf_token` of the session in the header `X-Brain-Csrf`",
            ));
        }
    }
    let caller = record_owner();
    auth::permit(app, &caller, ADMINISTRATION, Resource::Service)?;
    Ok(caller)
}

/// Returns the caller of the bearer token.
///
/// Wrong tokens are counted by [`auth::token_prefix`], so one program's wrong token does not affect
/// other programs.
fn bearer_caller(app: &AppState, parts: &Parts) -> Result<Caller, HttpError> {
    let caller = auth::authenticate_bearer(app, &parts.headers, Resource::Service);
    if caller.is_err()
        && let Ok(token) = auth::parse_bearer_token(&parts.headers)
    {
        let from = client_address::of_headers(app, &parts.extensions, &parts.headers);
        app.shared.limits.wrong_token(from, app.side, token, app.brain.now())?;
    }
    caller
}

/// Returns 429 after too many wrong admin tokens.
pub(super) fn too_many_tokens(seconds: u64) -> HttpError {
    let message =
        format!("too many wrong admin tokens from your address; try again in {seconds} seconds");
    HttpError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
        .with_header(RETRY_AFTER, seconds.into())
}

/// Returns the owner as the caller, and records the owner in the audit.
fn record_owner() -> Caller {
    dispatch::set_caller("admin");
    owner_caller()
}

pub(crate) fn owner_caller() -> Caller {
    Caller::granted("admin", Scopes::ADMIN, Visibility::All)
}

/// Returns the CSRF token of the admin session `id`.
///
/// # Errors
/// [`FaultCode::Internal`] when the system has no random data.
pub(super) fn admin_csrf_token(app: &AppState, id: &str) -> Result<String, Fault> {
    app.sessions.csrf_token(id, ADMINISTER)
}

/// Returns 403 for a request that a foreign page may have sent.
pub(super) fn csrf_error(hint: &str) -> HttpError {
    HttpError::new(
        StatusCode::FORBIDDEN,
        "csrf",
        format!("this did not come from a page of this brain; {hint}"),
    )
}

/// Returns the session for `purpose` that a request has: its id, and when it expires, in Unix
/// milliseconds.
pub(super) fn session<'a>(
    app: &AppState,
    headers: &'a HeaderMap,
    purpose: Purpose,
) -> Option<(&'a str, i64)> {
    if purpose == Purpose::Consent && !uses_consent_cookies(app) {
        return None;
    }
    let id = cookie(headers, cookie_name(app, purpose))?;
    let expires_at = app.sessions.expires_at(id, purpose, app.brain.now(), |token| {
        app.brain.access().is_admin_token(token)
    })?;
    Some((id, expires_at))
}

/// Returns whether consent cookies can be sessions: only where no other service can see them.
pub(super) fn uses_consent_cookies(app: &AppState) -> bool {
    is_secure(app)
}

/// Returns the value of the cookie for `purpose`, unverified.
pub(super) fn cookie_of<'a>(
    app: &AppState,
    headers: &'a HeaderMap,
    purpose: Purpose,
) -> Option<&'a str> {
    cookie(headers, cookie_name(app, purpose))
}

/// Returns a `Set-Cookie` value for `purpose` that lasts as long as a session. An empty `value`
/// deletes the cookie.
pub(super) fn set_cookie(app: &AppState, purpose: Purpose, value: &str) -> Option<HeaderValue> {
    // A client's page links to the consent page; browsers do not send `Strict` cookies then.
    let same_site = match purpose {
        Purpose::Admin => "Strict",
        Purpose::Consent => "Lax",
    };
    let age = if value.is_empty() { 0 } else { SESSION_MS / 1000 };
    let secure = if is_secure(app) { "; Secure" } else { "" };
    let name = cookie_name(app, purpose);
    let text =
        format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={age}{secure}");
    text.parse().ok()
}

/// Returns whether requests arrive over HTTPS. The local listener is always plain HTTP.
fn is_secure(app: &AppState) -> bool {
    app.side == Side::Public && app.brain.access().issuer().starts_with("https://")
}

fn cookie_name(app: &AppState, purpose: Purpose) -> &'static str {
    // With this prefix, browsers refuse the cookie from other hosts or paths, and over plain HTTP
    // (RFC 6265bis section 4.1.3.2).
    match (purpose, is_secure(app)) {
        (Purpose::Admin, true) => "__Host-brain-admin",
        (Purpose::Admin, false) => "brain-admin",
        (Purpose::Consent, true) => "__Host-brain-consent",
        (Purpose::Consent, false) => "brain-consent",
    }
}

/// Returns the value of a cookie. `None` if it is missing or repeated.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let (first, None) = (values.next()?, values.next()) else { return None };
    Some(first).filter(|value| !value.is_empty())
}

/// Returns whether a change may come from a page of this origin, by `Sec-Fetch-Site` (Fetch
/// Metadata) and `Origin` (RFC 6454 section 7). Programs send neither field.
pub(super) fn is_same_origin(app: &AppState, headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return false;
    }
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    origin == app.brain.access().issuer()
        || authority.is_some_and(|authority| Some(authority) == host)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_unless_repeated() {
        let value_of = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, line.parse().unwrap());
            }
            cookie(&headers, "brain-admin").map(str::to_owned)
        };
        assert_eq!(value_of(&["a=1; brain-admin=x=y; b=2"]).as_deref(), Some("x=y"));
        assert_eq!(value_of(&["a=1", "brain-admin=x"]).as_deref(), Some("x"));
        assert_eq!(value_of(&["xbrain-admin=x; brain-admins=y"]), None);
        assert_eq!(value_of(&["brain-admin=x; brain-admin=y"]), None, "one of them may be forged");
        assert_eq!(value_of(&["brain-admin="]), None);
        assert_eq!(value_of(&[]), None);
    }
}
