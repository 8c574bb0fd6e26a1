//! Whether a request is the provider's: its signature, checked against the address that the owner configured or the tunnel has. What
//! a request says itself about how it came here counts for nothing.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use brain_protocol::{Fault, Secret};

use super::super::{AppState, HttpError, body, client_address, dispatch};
use brain_core::TELEPHONE;
use brain_voice::signature::{Signature, is_valid};

const SIGNATURE: &str = "x-twilio-signature";
const SETTINGS: &str = "x-twilio-webhooks-signature-settings";

/// A request whose signature holds.
pub(super) struct Signed {
    /// Its head.
    pub(super) parts: Parts,
    /// Its body.
    pub(super) body: Bytes,
    /// The address at which this service is reached from outside.
    pub(super) public: String,
    /// Its parameters: those of the form, else of the query.
    form: Vec<(String, String)>,
}

impl Signed {
    /// The first value of a parameter; empty when there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// Reads a request and checks its signature; before that nothing of it is looked at, and nothing done.
///
/// # Errors
/// 403 when it is not the provider's, 413 when it is too large, 503 when nothing is there to check it with.
pub(super) async fn signed(app: &AppState, request: Request) -> Result<Signed, HttpError> {
    let from = client_address::of_request(app, &request);
    let (parts, sent) = request.into_parts();
    let checked = check(app, parts, sent).await;
    checked.map_err(|refusal| {
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

async fn check(app: &AppState, parts: Parts, sent: Body) -> Result<Signed, HttpError> {
    let signature = one(&parts.headers, SIGNATURE)
        .and_then(|text| Signature::read(text, one(&parts.headers, SETTINGS)))
        .ok_or_else(unsigned)?;
    let body = body::read(sent)
        .await
        .map_err(|why| HttpError::new(why.status(), "bad_request", why.message()))?;
    let (token, public) =
        app.block(|brain| (brain.voice.telephony_token(), brain.tunnel.public_address())).await?;
    let (token, public) = ready(app, token, public)?;
    let is_form = body::media_type(&parts.headers)
        .is_some_and(|kind| kind == "application/x-www-form-urlencoded");
    let posted = if is_form { pairs(&body) } else { Vec::new() };
    // Only a form is signed as it is; any other body by its digest.
    let other = Some(&body[..]).filter(|body| !is_form && !body.is_empty());
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{public}{path}");
    let mut held = is_valid(&token, &signature, &url, &posted, other);
    if parts.method == Method::GET {
        // A WebSocket is called by its own scheme.
        held |= is_valid(&token, &signature, &url.replacen("http", "ws", 1), &posted, other);
    }
    if !held {
        app.shared.telephone.doubt(&public);
        return Err(unsigned());
    }
    dispatch::set_caller(TELEPHONE);
    let asked = pairs(parts.uri.query().unwrap_or_default().as_bytes());
    let form = if is_form { posted.into_iter().chain(asked).collect() } else { asked };
    Ok(Signed { parts, body, public, form })
}

/// What a signature is checked with; without it nobody is let in.
fn ready(
    app: &AppState,
    token: Result<Option<Secret>, Fault>,
    public: Option<String>,
) -> Result<(Secret, String), HttpError> {
    let missing = match (token, public) {
        (Ok(Some(token)), Some(public)) => return Ok((token, public)),
        (Err(fault), _) => fault.to_string(),
        (Ok(None), _) => "there is no token to check the telephony provider's signatures with: put the account's auth token \
                          into secrets/telephony-auth-token in the brain's home, for its owner only"
            .into(),
        (_, None) => "the address at which the telephony provider calls is not known: set http.base_url or tunnel.domain, \
                      or start the tunnel with `brain tunnel start`"
            .into(),
    };
    app.shared.telephone.complain(&missing);
    let message = "the telephone is not set up; the log of the daemon says what is missing";
    Err(HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "not_set_up", message))
}

/// The same for whatever is wrong: nobody learns how near they came.
fn unsigned() -> HttpError {
    let message = "this is no request that the telephony provider signed for this address";
    HttpError::new(StatusCode::FORBIDDEN, "invalid_signature", message)
}

/// The value of a field that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    value.to_str().ok()
}

fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(bytes).into_owned().collect()
}
