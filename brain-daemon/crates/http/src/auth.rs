//! Who sends a request: a bearer token (RFC 6750). The owner in a browser is known by `session`.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use brain_protocol::{Fault, FaultCode};

use super::pulse::Pulse;
use super::{Desk, Refusal, Side, log, peer};
use brain_base::caller::{Caller, Scope};

/// The longest token that is looked at, in bytes.
const LONGEST: usize = 512;

/// What a token is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The service as a whole.
    Service,
    /// The tools.
    Mcp,
}

impl Resource {
    /// What stands behind the service's address in the name of this resource (RFC 9728 section 3.1).
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Service => "",
            Self::Mcp => "/mcp",
        }
    }
}

/// Why there is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoToken {
    /// Nobody said who they are.
    Absent,
    /// What is there is no bearer token.
    Malformed,
}

/// The bearer token in `headers` (RFC 6750 section 2.1). One in the query or the body is none.
///
/// # Errors
/// When there is none, more than one, or something else.
pub(super) fn token(headers: &HeaderMap) -> Result<&str, NoToken> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let field = fields.next().ok_or(NoToken::Absent)?;
    let text = field.to_str().ok().filter(|_| fields.next().is_none()).ok_or(NoToken::Malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or(NoToken::Malformed)?;
    let token = token.trim_matches(' ');
    let bare = token.trim_end_matches('=');
    let good = !bare.is_empty()
        && token.len() <= LONGEST
        && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b));
    if scheme.eq_ignore_ascii_case("bearer") && good { Ok(token) } else { Err(NoToken::Malformed) }
}

/// Who the bearer token in `headers` belongs to. The admin token is none on the public side: it administers, and there is nothing to
/// administer there.
///
/// # Errors
/// 401 with `WWW-Authenticate` (RFC 6750 section 3, RFC 9728 section 5.1).
pub(crate) fn bearer(
    desk: &Desk,
    headers: &HeaderMap,
    resource: Resource,
) -> Result<Caller, Refusal> {
    let caller = match token(headers) {
        // As any other that is none: nobody learns there that a guess was right.
        Ok(token) if desk.side == Side::Public && desk.brain.is_admin_token(token) => {
            let message = "the token is not known, has ended or was revoked";
            return Err(unauthorized(desk, resource, "error=\"invalid_token\", ", message));
        }
        Ok(token) => desk.brain.bearer(token).map_err(|fault| match fault.code {
            FaultCode::InvalidToken => {
                unauthorized(desk, resource, "error=\"invalid_token\", ", fault.message)
            }
            _ => fault.into(),
        })?,
        // Who said nothing is told no error (RFC 6750 section 3.1).
        Err(NoToken::Absent) => {
            let message = "this needs a token: send `Authorization: Bearer <token>`; \
                           the owner makes one with `brain token create`";
            return Err(unauthorized(desk, resource, "", message));
        }
        Err(NoToken::Malformed) => {
            let message = "the field Authorization is not `Bearer <token>`";
            return Err(unauthorized(desk, resource, "error=\"invalid_token\", ", message));
        }
    };
    log::called_by(&caller.name);
    Ok(caller)
}

/// The first characters of a token, by which wrong ones are counted: its kind, and enough of the rest
/// to tell two programs apart.
pub(super) fn beginning(token: &str) -> &str {
    token.get(..16).unwrap_or(token)
}

/// Who sends this. A wrong token that comes too often is told to wait; a missing one never is, because
/// the answer to it tells a client where to ask for one.
///
/// # Errors
/// As [`bearer`], and 429.
pub(crate) fn known(desk: &Desk, request: &Request, resource: Resource) -> Result<Caller, Refusal> {
    match (bearer(desk, request.headers(), resource), token(request.headers())) {
        (Ok(caller), _) => {
            if let Some(connection) = request.extensions().get::<Arc<Pulse>>() {
                connection.set_known(desk.room.limits.hash_of(&caller.name));
            }
            Ok(caller)
        }
        (Err(refusal), Ok(token)) if refusal.status() == StatusCode::UNAUTHORIZED => {
            let from = peer::address(desk, request);
            let limited = desk.room.limits.stranger(from, desk.side, token, desk.brain.now());
            Err(limited.err().unwrap_or(refusal))
        }
        (Err(refusal), _) => Err(refusal),
    }
}

/// 403 for somebody whose grant does not reach; `scope` is what this needs (RFC 6750 section 3.1).
pub(crate) fn insufficient(desk: &Desk, resource: Resource, fault: Fault, scope: Scope) -> Refusal {
    let scopes = if scope == Scope::Write && resource == Resource::Mcp {
        "read write"
    } else {
        scope.as_str()
    };
    let error = format!("error=\"insufficient_scope\", scope=\"{scopes}\", ");
    challenge(desk, resource, fault.into(), &error)
}

fn unauthorized(
    desk: &Desk,
    resource: Resource,
    error: &str,
    message: impl Into<String>,
) -> Refusal {
    let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "invalid_token", message);
    challenge(desk, resource, refusal, &format!("{error}scope=\"read write\", "))
}

/// Says how to be let in: where the metadata of this resource are (RFC 9728 section 5.1).
fn challenge(desk: &Desk, resource: Resource, refusal: Refusal, error: &str) -> Refusal {
    let issuer = desk.brain.issuer();
    let path = resource.path();
    let text = format!(
        "Bearer {error}resource_metadata=\"{issuer}/.well-known/oauth-protected-resource{path}\""
    );
    match HeaderValue::from_str(&text) {
        Ok(value) => refusal.with(header::WWW_AUTHENTICATE, value),
        Err(_) => refusal,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_shape() {
        let longest = format!("Bearer {}", "a".repeat(LONGEST));
        let too_long = format!("Bearer {}", "a".repeat(LONGEST + 1));
        for (field, expected) in [
            ("Bearer brain_pt_aA0-._~+/", Ok("brain_pt_aA0-._~+/")),
            ("bEARER abc==", Ok("abc==")),
            ("Bearer  abc ", Ok("abc")),
            (&longest, Ok(&longest[7..])),
            (&too_long, Err(NoToken::Malformed)),
            ("", Err(NoToken::Malformed)),
            ("Bearer", Err(NoToken::Malformed)),
            ("Bearer ", Err(NoToken::Malformed)),
            ("Bearer ==", Err(NoToken::Malformed)),
            ("Bearer a=b", Err(NoToken::Malformed)),
            ("Bearer a b", Err(NoToken::Malformed)),
            ("Bearer a,Bearer b", Err(NoToken::Malformed)),
            ("Bearer \"abc\"", Err(NoToken::Malformed)),
            ("Bearer\tabc", Err(NoToken::Malformed)),
            ("Basic abc", Err(NoToken::Malformed)),
            ("abc", Err(NoToken::Malformed)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(field).unwrap());
            assert_eq!(token(&headers), expected, "{field}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(token(&headers), Err(NoToken::Absent));
        headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        assert_eq!(token(&headers), Err(NoToken::Malformed));
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        assert_eq!(token(&headers), Err(NoToken::Malformed), "two of them");
    }
}
