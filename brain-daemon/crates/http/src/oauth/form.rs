//! Parameters of OAuth endpoints, and the credentials of clients. No I/O.
//!
//! A parameter without a value is absent. No parameter may be repeated (RFC 6749 sections 3.1 and
//! 3.2), except `resource` (RFC 8707 section 2).

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::Secret;

use super::answer::OAuthErrorResponse;
use crate::body::{self, BodyError};
use brain_access::{Credentials, OAuthError, OAuthFault};

/// The maximum number of parameters. Each parameter is compared with those before it.
const MAX_PARAMETERS: usize = 64;
/// The parameter that may be repeated.
const REPEATABLE: &str = "resource";

/// The parameters of a form or a query.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// Parses the parameters of a form or a query.
    ///
    /// # Errors
    /// `invalid_request` if a parameter is repeated or not UTF-8, or if there are more than
    /// [`MAX_PARAMETERS`].
    pub(super) fn parse(encoded: &[u8]) -> Result<Self, OAuthFault> {
        let invalid = |message: String| OAuthFault::new(OAuthError::InvalidRequest, message);
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(encoded) {
            if pairs.len() == MAX_PARAMETERS {
                return Err(invalid(format!("there are more than {MAX_PARAMETERS} parameters")));
            }
            if name.contains('\u{FFFD}') || value.contains('\u{FFFD}') {
                return Err(invalid("the parameters are not UTF-8".into()));
            }
            if name != REPEATABLE && pairs.iter().any(|(known, _)| *known == name) {
                let shortened: String =
                    name.chars().take(40).flat_map(char::escape_default).collect();
                return Err(invalid(format!("the parameter \"{shortened}\" is repeated")));
            }
            pairs.push((name.into_owned(), value.into_owned()));
        }
        pairs.retain(|(_, value)| !value.is_empty());
        Ok(Self(pairs))
    }

    /// Reads the form in a request's body.
    ///
    /// # Errors
    /// `invalid_request`: 400 if the request has a query, or its form is incomplete or refused by
    /// [`Form::parse`]; 413 if the body is too large; 415 if it is not a form.
    pub(super) async fn read(request: axum::extract::Request) -> Result<Self, OAuthErrorResponse> {
        let (parts, body) = request.into_parts();
        if parts.uri.query().is_some_and(|query| !query.is_empty()) {
            return Err(OAuthErrorResponse::invalid(
                "send the parameters in the body: logs and browser histories keep parameters in \
                    the URL",
            ));
        }
        let media_type = body::media_type(&parts.headers);
        let bytes =
            body::read(body).await.map_err(|error: BodyError| OAuthErrorResponse::from(error))?;
        if media_type.as_deref() != Some("application/x-www-form-urlencoded") {
            return Err(OAuthErrorResponse::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                OAuthError::InvalidRequest.as_str(),
                "the body must be a form; send `Content-Type: application/x-www-form-urlencoded`",
            ));
        }
        Ok(Self::parse(&bytes)?)
    }

    /// Returns the value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns an owned copy of a value.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// Returns the value of a secret parameter.
    pub(super) fn secret(&self, name: &str) -> Option<Secret> {
        self.get(name).map(Secret::new)
    }

    /// Returns all values of `resource`.
    pub(super) fn resources(&self) -> Vec<String> {
        self.0
            .iter()
            .filter(|(name, _)| name == REPEATABLE)
            .map(|(_, value)| value.clone())
            .collect()
    }
}

/// Returns the client's credentials, from HTTP Basic or from the form (RFC 6749 section 2.3.1).
///
/// # Errors
/// `invalid_client` without a client id, or for an unsupported method; `invalid_request` if both
/// methods are used, or if they name different clients.
pub(super) fn credentials(headers: &HeaderMap, form: &Form) -> Result<Credentials, OAuthFault> {
    let invalid = |message: &str| OAuthFault::new(OAuthError::InvalidRequest, message);
    let invalid_client = |message: &str| OAuthFault::new(OAuthError::InvalidClient, message);
    if form.get("client_assertion").is_some() || form.get("client_assertion_type").is_some() {
        return Err(invalid_client(
            "clients authenticate with a secret, or are public; assertions are not supported",
        ));
    }
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let Some(field) = fields.next() else {
        let client_id = form
            .text("client_id")
            .ok_or_else(|| invalid_client("no client is named; send client_id"))?;
        return Ok(Credentials { client_id, secret: form.secret("client_secret") });
    };
    if fields.next().is_some() {
        return Err(invalid("there are two Authorization headers"));
    }
    let (client_id, secret) = parse_basic(field)
        .ok_or_else(|| invalid_client("the Authorization header is not HTTP Basic"))?;
    if form.get("client_secret").is_some() {
        return Err(invalid(
            "the client authenticates in two ways; send the secret in one of them",
        ));
    }
    if form.get("client_id").is_some_and(|form_id| form_id != client_id) {
        return Err(invalid(
            "client_id in the form differs from the one in the Authorization header",
        ));
    }
    Ok(Credentials { client_id, secret: Some(secret) })
}

/// Parses id and secret of `Authorization: Basic`. Clients encode each like a form value before
/// joining them (RFC 6749 section 2.3.1): `rw%2Dsecret` is `rw-secret`.
fn parse_basic(field: &HeaderValue) -> Option<(String, Secret)> {
    let (scheme, encoded) = field.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let joined = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = joined.split_once(':')?;
    let id = decode(id)?;
    (!id.is_empty()).then_some((id, Secret::new(decode(secret)?)))
}

/// Decodes one value of a form.
fn decode(text: &str) -> Option<String> {
    // Parsed as the value of a nameless parameter. A `&` would begin another parameter, so it must
    // be encoded.
    if text.contains('&') {
        return None;
    }
    let value = form_urlencoded::parse(format!("={text}").as_bytes()).next()?.1.into_owned();
    (!value.contains('\u{FFFD}')).then_some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        Form::parse(text.as_bytes()).unwrap()
    }

    fn parse_credentials(
        authorization: &[&str],
        text: &str,
    ) -> Result<(String, Option<String>), OAuthError> {
        let mut headers = HeaderMap::new();
        for field in authorization {
            headers.append(AUTHORIZATION, field.parse().unwrap());
        }
        match credentials(&headers, &form(text)) {
            Ok(found) => {
                Ok((found.client_id, found.secret.map(|secret| secret.expose().to_owned())))
            }
            Err(fault) => Err(fault.error),
        }
    }

    fn by_basic(joined: &str) -> Result<(String, Option<String>), OAuthError> {
        parse_credentials(&[&format!("Basic {}", STANDARD.encode(joined))], "")
    }

    #[test]
    fn only_the_resource_may_be_repeated() {
        let several = form("resource=https://a&resource=https://b&scope=&client_id=x+y%2Fz");
        assert_eq!(several.resources(), ["https://a", "https://b"]);
        assert_eq!(several.get("scope"), None, "a parameter without a value is an absent one");
        assert_eq!(several.get("client_id"), Some("x y/z"));
        for text in
            ["code=a&code=a", "code=&code=a", "x=1&x=2", "c%6Fde=a&code=b", "scope=%ff", "%c0=1"]
        {
            let fault = Form::parse(text.as_bytes()).err().unwrap();
            assert_eq!(fault.error, OAuthError::InvalidRequest, "{text}");
        }
    }

    #[test]
    fn more_than_64_parameters_are_refused() {
        let text =
            |count: usize| (0..count).map(|n| format!("p{n}=")).collect::<Vec<_>>().join("&");
        assert!(Form::parse(text(64).as_bytes()).is_ok());
        assert!(Form::parse("resource=x&".repeat(64).as_bytes()).is_ok());
        for many in [text(65), "resource=x&".repeat(65), text(20_000)] {
            let fault = Form::parse(many.as_bytes()).err().unwrap();
            assert_eq!(fault.error, OAuthError::InvalidRequest);
            assert!(fault.description.contains("64"), "{fault:?}");
        }
    }

    #[test]
    fn basic_credentials_are_form_encoded() {
        let pair = |id: &str, secret: &str| Ok((id.to_owned(), Some(secret.to_owned())));
        assert_eq!(by_basic("brain_cl_a%2Db:rw%2Dsecret"), pair("brain_cl_a-b", "rw-secret"));
        assert_eq!(
            by_basic("https%3A%2F%2Fa.example%2Fc:p+q%3A%25"),
            pair("https://a.example/c", "p q:%")
        );
        assert_eq!(by_basic("id:a:b"), pair("id", "a:b"));
        assert_eq!(by_basic("id:"), pair("id", ""));
        for joined in ["id", ":secret", "id:a&b", "id:%ff", ""] {
            assert_eq!(by_basic(joined), Err(OAuthError::InvalidClient), "{joined}");
        }
        for field in ["Basic", "Basic ???", "Bearer abc", "Basic aWQ", "basic\taWQ6eA=="] {
            assert_eq!(
                parse_credentials(&[field], "client_id=id"),
                Err(OAuthError::InvalidClient),
                "{field}"
            );
        }
        assert_eq!(parse_credentials(&["bAsIc aWQ6eA=="], ""), pair("id", "x"));
    }

    #[test]
    fn two_ways_of_authentication_are_refused() {
        let basic = "Basic aWQ6eA==";
        assert_eq!(
            parse_credentials(&[basic], "client_id=id"),
            Ok(("id".into(), Some("x".into())))
        );
        assert_eq!(parse_credentials(&[basic], "client_id=other"), Err(OAuthError::InvalidRequest));
        assert_eq!(parse_credentials(&[basic], "client_secret=x"), Err(OAuthError::InvalidRequest));
        assert_eq!(parse_credentials(&[basic, basic], ""), Err(OAuthError::InvalidRequest));
        assert_eq!(parse_credentials(&[], "client_id=id"), Ok(("id".into(), None)));
        assert_eq!(
            parse_credentials(&[], "client_id=id&client_secret=x"),
            Ok(("id".into(), Some("x".into())))
        );
        assert_eq!(parse_credentials(&[], "client_secret=x"), Err(OAuthError::InvalidClient));
        assert_eq!(
            parse_credentials(&[], "client_id=id&client_assertion=x"),
            Err(OAuthError::InvalidClient)
        );
    }
}
