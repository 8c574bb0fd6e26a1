//! Verifies that a request was signed by the telephony provider.
//!
//! The signature covers the public address, which comes from the configuration or the tunnel, never
//! from the request.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use brain_protocol::{Fault, Secret};

use super::super::{AppState, HttpError, body, client_address, dispatch};
use brain_core::TELEPHONE;
use brain_voice::signature::{Signature, is_valid};

/// The header that contains the signature.
const SIGNATURE: &str = "x-twilio-signature";
/// The header that says how the request was signed.
const SETTINGS: &str = "x-twilio-webhooks-signature-settings";

/// A request with a valid signature.
pub(super) struct SignedRequest {
    /// Its method, URI and headers.
    pub(super) parts: Parts,
    pub(super) body: Bytes,
    /// The public address of this service.
    pub(super) public_address: String,
    /// Its parameters: those of the form, then those of the query.
    parameters: Vec<(String, String)>,
}

impl SignedRequest {
    /// Returns the first value of a parameter; empty if it is absent.
    pub(super) fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// Reads a request and verifies its signature before anything else is done.
///
/// # Errors
/// 403 if the signature is missing or invalid, 429 after too many such requests, 413 or 400 if the
/// body is too large or incomplete, 503 if the configuration is incomplete.
pub(super) async fn verify(app: &AppState, request: Request) -> Result<SignedRequest, HttpError> {
    let from = client_address::of_request(app, &request);
    let (parts, body) = request.into_parts();
    let result = check(app, parts, body).await;
    result.map_err(|refusal| {
        if refusal.status() != StatusCode::FORBIDDEN {
            return refusal;
        }
        app.shared
            .limits
            .wrong_token(from, app.side, TELEPHONE, app.brain.now())
            .err()
            .unwrap_or(refusal)
    })
}

/// Verifies the signature, without a limit on failures.
async fn check(app: &AppState, parts: Parts, content: Body) -> Result<SignedRequest, HttpError> {
    let signature = single_header(&parts.headers, SIGNATURE)
        .and_then(|text| Signature::parse(text, single_header(&parts.headers, SETTINGS)))
        .ok_or_else(invalid_signature)?;
    let body = body::read(content)
        .await
        .map_err(|error| HttpError::new(error.status(), "bad_request", error.message()))?;
    let (token, public) =
        app.block(|brain| (brain.telephony_token(), brain.public_address())).await?;
    let (token, public_address) = require_setup(app, token, public)?;
    let is_form = body::media_type(&parts.headers)
        .is_some_and(|kind| kind == "application/x-www-form-urlencoded");
    let form = if is_form { pairs(&body) } else { Vec::new() };
    // The signature covers the parameters of a form, or the digest of another body.
    let signed_body = Some(&body[..]).filter(|body| !is_form && !body.is_empty());
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{public_address}{path}");
    let mut is_signed = is_valid(&token, &signature, &url, &form, signed_body);
    if parts.method == Method::GET {
        // The provider signs a WebSocket's URL with the scheme `ws` or `wss`.
        let url = url.replacen("http", "ws", 1);
        is_signed |= is_valid(&token, &signature, &url, &form, signed_body);
    }
    if !is_signed {
        app.shared.telephone.log_invalid(&public_address);
        return Err(invalid_signature());
    }
    dispatch::set_caller(TELEPHONE);
    let query = pairs(parts.uri.query().unwrap_or_default().as_bytes());
    let parameters = form.into_iter().chain(query).collect();
    Ok(SignedRequest { parts, body, public_address, parameters })
}

/// Returns the token and the public address that verify signatures.
///
/// # Errors
/// 503 if one of them is missing.
fn require_setup(
    app: &AppState,
    token: Result<Option<Secret>, Fault>,
    public: Option<String>,
) -> Result<(Secret, String), HttpError> {
    let problem = match (token, public) {
        (Ok(Some(token)), Some(public)) => return Ok((token, public)),
        (Err(fault), _) => fault.to_string(),
        (Ok(None), _) => "there is no token to verify the telephony provider's signatures: put \
            the account's auth token into secrets/telephony-auth-token in the brain's home, for \
            its owner only"
            .into(),
        (_, None) => "the address at which the telephony provider calls is not known: set \
            http.base_url or tunnel.domain, or start the tunnel with `brain tunnel start`"
            .into(),
    };
    app.shared.telephone.log_missing(&problem);
    let message = "the telephone is not set up; the log of the daemon says what is missing";
    Err(HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "not_set_up", message))
}

/// Returns the same error for every cause, so that it does not help an attacker.
fn invalid_signature() -> HttpError {
    let message = "the telephony provider did not sign this request for this address";
    HttpError::new(StatusCode::FORBIDDEN, "invalid_signature", message)
}

/// Returns the value of a header that occurs once.
fn single_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    value.to_str().ok()
}

/// Decodes the parameters of a form or a query.
fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(bytes).into_owned().collect()
}
