//! The owner in a browser: cookies, where a request comes from, and who may administer.
//!
//! There are two cookies, so that the one that a page of a client may be sent with (`Lax`) is good for nothing but agreeing.
//! Neither is ever enough to change something: a page of ours gives a seal with it, which no other page can read.
//!
//! Browsers send a cookie to every port of its host, so over plain HTTP any service on this machine may see them. No cookie agrees to
//! anything then, and none is exchanged for a seal.

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use brain_protocol::{Fault, FaultCode};

use super::auth::{self, Resource};
use super::porter::{Purpose, SESSION_MS};
use super::{Desk, Refusal, Side, log, peer};
use brain_base::caller::Visibility;
use brain_base::caller::{Caller, Scope, Scopes};

/// Carries the seal that [`admin_seal`] gave.
pub(super) const CSRF: HeaderName = HeaderName::from_static("x-brain-csrf");

/// What the seal of an admin session is made of, beside its cookie.
const ADMINISTER: &str = "administer";

/// Who may administer: the admin token or the token of a client with the scope `admin` as a bearer, or the owner's session.
pub(super) struct Owner(pub(super) Caller);

impl FromRequestParts<Desk> for Owner {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Refusal> {
        owner(desk, parts).map(Self)
    }
}

/// The owner, or whoever may do the same. A session changes something only with its seal, from a page of this very origin.
///
/// # Errors
/// 401 with `WWW-Authenticate`; 403 when the token is good for less, or the seal is missing; 429 after too many wrong tokens.
fn owner(desk: &Desk, parts: &Parts) -> Result<Caller, Refusal> {
    let (method, headers) = (&parts.method, &parts.headers);
    if headers.contains_key(AUTHORIZATION) {
        let caller = bearer(desk, parts)?;
        return match caller.require(Scope::Admin, "administration") {
            Ok(()) => Ok(caller),
            Err(fault) => Err(auth::insufficient(desk, Resource::Service, fault, Scope::Admin)),
        };
    }
    let Some((name, _)) = session(desk, headers, Purpose::Admin) else {
        let fault = Fault::new(FaultCode::InvalidToken, "administration needs the owner").hint(
            "send `Authorization: Bearer <admin token>`; `brain token admin` shows the token on a terminal",
        );
        let told = HeaderValue::from_static(r#"Bearer realm="brain admin""#);
        return Err(Refusal::from(fault).with(WWW_AUTHENTICATE, told));
    };
    if !matches!(*method, Method::GET | Method::HEAD) {
        let given = headers.get(CSRF).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !same_origin(desk, headers) || !desk.porter.fits(name, ADMINISTER, given)? {
            return Err(foreign(
                "send the `csrf_token` of the session in the header `X-Brain-Csrf`",
            ));
        }
    }
    Ok(administrator())
}

/// Who the bearer token belongs to. A wrong one is counted by its first characters: a program that
/// keeps sending its own does not change the answer to others.
fn bearer(desk: &Desk, parts: &Parts) -> Result<Caller, Refusal> {
    let caller = auth::bearer(desk, &parts.headers, Resource::Service);
    if caller.is_err()
        && let Ok(token) = auth::token(&parts.headers)
    {
        let from = peer::origin(desk, &parts.extensions, &parts.headers);
        desk.room.limits.stranger(from, desk.side, token, desk.brain.now())?;
    }
    caller
}

/// 429: there were too many wrong admin tokens.
pub(super) fn too_often(seconds: u64) -> Refusal {
    let message =
        format!("too many wrong admin tokens from your address; try again in {seconds} seconds");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
        .with(RETRY_AFTER, seconds.into())
}

/// The owner, when the request comes with their session. For what only shows something.
pub(super) fn reader(desk: &Desk, headers: &HeaderMap) -> Option<Caller> {
    session(desk, headers, Purpose::Admin).map(|_| administrator())
}

/// The owner, whom everything belongs to.
fn administrator() -> Caller {
    log::called_by("admin");
    Caller::granted("admin", Scopes::ADMIN, Visibility::All)
}

/// The seal that the admin session `name` changes things with.
///
/// # Errors
/// When the machine has no randomness.
pub(super) fn admin_seal(desk: &Desk, name: &str) -> Result<String, Fault> {
    desk.porter.seal(name, ADMINISTER)
}

/// "It looks as if another page had sent this."
pub(super) fn foreign(way_out: &str) -> Refusal {
    Refusal::new(
        StatusCode::FORBIDDEN,
        "csrf",
        format!("this did not come from a page of this brain; {way_out}"),
    )
}

/// The session for `purpose` that a request comes with: its name, and until when it lasts.
pub(super) fn session<'a>(
    desk: &Desk,
    headers: &'a HeaderMap,
    purpose: Purpose,
) -> Option<(&'a str, i64)> {
    if purpose == Purpose::Consent && !keeps_consent(desk) {
        return None;
    }
    let name = cookie(headers, cookie_name(desk, purpose))?;
    let until = desk
        .porter
        .until(name, purpose, desk.brain.now(), |token| desk.brain.is_admin_token(token))?;
    Some((name, until))
}

/// Whether whoever agreed once is known again: where nobody else sees the cookie.
pub(super) fn keeps_consent(desk: &Desk) -> bool {
    is_secure(desk)
}

/// The value of the cookie for `purpose`, whatever it is worth.
pub(super) fn cookie_of<'a>(
    desk: &Desk,
    headers: &'a HeaderMap,
    purpose: Purpose,
) -> Option<&'a str> {
    cookie(headers, cookie_name(desk, purpose))
}

/// A `Set-Cookie` that gives the browser `value` for `purpose`, for as long as a session lasts; an empty one takes it back.
pub(super) fn set_cookie(desk: &Desk, purpose: Purpose, value: &str) -> Option<HeaderValue> {
    // Back from a client's page the browser comes by a link of another site: `Strict` would not be sent then.
    let same_site = match purpose {
        Purpose::Admin => "Strict",
        Purpose::Consent => "Lax",
    };
    let age = if value.is_empty() { 0 } else { SESSION_MS / 1000 };
    let secure = if is_secure(desk) { "; Secure" } else { "" };
    let name = cookie_name(desk, purpose);
    let text =
        format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={age}{secure}");
    text.parse().ok()
}

/// The local listener is plain HTTP on this machine, whatever the tunnel makes of the public one.
fn is_secure(desk: &Desk) -> bool {
    desk.side == Side::Public && desk.brain.issuer().starts_with("https://")
}

fn cookie_name(desk: &Desk, purpose: Purpose) -> &'static str {
    // The prefix makes browsers refuse the cookie from any other host or path, and over plain HTTP (RFC 6265bis section 4.1.3.2).
    match (purpose, is_secure(desk)) {
        (Purpose::Admin, true) => "__Host-brain-admin",
        (Purpose::Admin, false) => "brain-admin",
        (Purpose::Consent, true) => "__Host-brain-consent",
        (Purpose::Consent, false) => "brain-consent",
    }
}

/// The value of a cookie; `None` when it is not there, or there more than once.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let (first, None) = (values.next()?, values.next()) else { return None };
    Some(first).filter(|value| !value.is_empty())
}

/// Whether a request that changes something may have come from a page of this origin: what the browser says of it (`Origin`,
/// RFC 6454 section 7; `Sec-Fetch-Site`) does not say otherwise. Programs send neither.
pub(super) fn same_origin(desk: &Desk, headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return false;
    }
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    origin == desk.brain.issuer() || authority.is_some_and(|authority| Some(authority) == host)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_and_once() {
        let with = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, line.parse().unwrap());
            }
            cookie(&headers, "brain-admin").map(str::to_owned)
        };
        assert_eq!(with(&["a=1; brain-admin=x=y; b=2"]).as_deref(), Some("x=y"));
        assert_eq!(with(&["a=1", "brain-admin=x"]).as_deref(), Some("x"));
        assert_eq!(with(&["xbrain-admin=x; brain-admins=y"]), None);
        assert_eq!(with(&["brain-admin=x; brain-admin=y"]), None, "one of them is somebody else's");
        assert_eq!(with(&["brain-admin="]), None);
        assert_eq!(with(&[]), None);
    }
}
