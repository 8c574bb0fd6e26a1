//! `/authorize`: shows the consent page (GET) and handles the owner's decision (POST).
//!
//! RFC 6749 section 4.1, RFC 7636, RFC 8707, RFC 9207, RFC 9700.
//!
//! The browser is redirected only after the client and its redirect URI were verified. A grant
//! needs the owner: the admin token on the page, or a session that the token opened. Sessions exist
//! only over HTTPS. A CSRF token binds the page to the browser and the request.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use brain_protocol::{Scopes, Secret};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::OAuthErrorResponse;
use super::consent_page::{self, ConsentPage};
use super::form::Form;
use crate::http_error::OAuthErrorBody;
use crate::openapi::{FORM, PAGE_OR_JSON, error_responses};
use crate::session_store::Purpose;
use crate::{AppState, HttpError, client_address, dispatch, session};
use brain_access::{AuthorizeError, AuthorizeRequest, Consent, OAuthError, OAuthFault};
use brain_base::permission::{CONSENT, permit};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(ask, decide))
}

/// The form of the consent page.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is the schema of a form whose parameters are read one by one")]
struct Decision {
    /// The client's request, as the page contains it.
    request: String,
    /// The CSRF token of the page.
    seal: String,
    /// `approve`, `deny` or `sign_out`.
    #[schema(example = "approve", pattern = "^(approve|deny|sign_out)$")]
    decision: String,
    /// `all` requested scopes, or fewer: `write`, `read`.
    #[schema(required = false, pattern = "^(all|write|read)$")]
    grant: String,
    /// Required without a session. Sessions exist only over HTTPS.
    #[schema(required = false)]
    admin_token: String,
}

error_responses! {
    ConsentErrors: OAuthErrorBody, PAGE_OR_JSON => {
        "400": "Invalid client or redirect URI: no redirect",
        "500": "`server_error`",
    }
    DecisionErrors: OAuthErrorBody, PAGE_OR_JSON => {
        "400": "Invalid client, address or form",
        "403": "Wrong admin token, or not from the page",
        "413": "The body is too large",
        "415": "The body is not a form",
        "429": "Too many wrong admin tokens",
        "500": "`server_error`",
    }
}

/// Shows the consent page.
///
/// For browsers: the answer is a page, unless `Accept` requests JSON.
#[utoipa::path(
    get,
    path = "/authorize",
    params(
        ("response_type" = String, Query, pattern = "^code$", description = "`code`"),
        ("client_id" = String, Query, description = "The client's id"),
        ("redirect_uri" = String, Query, description = "The address to redirect to"),
        (
            "code_challenge" = String,
            Query,
            pattern = "^[A-Za-z0-9_-]{43}$",
            description = "RFC 7636"
        ),
        ("code_challenge_method" = String, Query, pattern = "^S256$", description = "`S256`"),
        ("scope" = inline(Option<String>), Query, description = "The requested scopes"),
        ("state" = inline(Option<String>), Query, description = "Returned unchanged"),
        ("resource" = inline(Option<String>), Query, description = "RFC 8707")
    ),
    responses(
        (
            status = 200,
            description = "The page on which the owner decides",
            body = String,
            content_type = "text/html"
        ),
        (
            status = 303,
            description = "Back to the client, with an error",
            headers(("Location" = String))
        ),
        ConsentErrors
    )
)]
async fn ask(State(app): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let as_json = wants_json(&parts.headers);
    let query = parts.uri.query().unwrap_or_default();
    let answer = async {
        let authorize = parse_request(&Form::parse(query.as_bytes())?);
        let consent = consent(&app, authorize.clone()).await?;
        let browser = Browser::of(&app, &parts.headers)?;
        browser.show(&app, StatusCode::OK, &authorize, &consent, None)
    };
    answer.await.unwrap_or_else(|refusal| refusal.into_response(as_json))
}

/// Carries out the owner's decision.
///
/// Only for the page that `GET` shows. After 10 wrong admin tokens from one address in a minute,
/// further wrong ones are answered with 429.
#[utoipa::path(
    post,
    path = "/authorize",
    request_body(content = Decision, content_type = FORM, description = "At most 64 KiB."),
    responses(
        (
            status = 303,
            description = "Back to the client, with a code or an error",
            headers(("Location" = String))
        ),
        DecisionErrors
    )
)]
async fn decide(State(app): State<AppState>, request: Request) -> Response {
    let (headers, from) = (request.headers().clone(), client_address::of_request(&app, &request));
    let as_json = wants_json(&headers);
    let answer = async {
        let form = Form::read(request).await?;
        let encoded = form.get("request").unwrap_or_default();
        let browser = Browser::of(&app, &headers)?;
        let is_from_page = app.sessions.is_csrf_token(
            &browser.cookie,
            encoded,
            form.get("seal").unwrap_or_default(),
        );
        if !session::is_same_origin(&app, &headers) || !is_from_page.map_err(HttpError::from)? {
            return Err(AuthorizeRefusal::Page(OAuthErrorResponse::new(
                StatusCode::FORBIDDEN,
                OAuthError::AccessDenied.as_str(),
                "this did not come from the consent page in this browser; begin again at the \
                    client, and let the browser keep cookies",
            )));
        }
        let authorize = parse_request(&Form::parse(encoded.as_bytes())?);
        match form.get("decision") {
            Some("deny") => {
                let address = app.block(move |brain| brain.access().deny(&authorize)).await??;
                Ok(see_other(&address)?)
            }
            Some("sign_out") => {
                app.sessions.close(&browser.cookie);
                let consent = consent(&app, authorize.clone()).await?;
                Browser::new(&app)?.show(&app, StatusCode::OK, &authorize, &consent, None)
            }
            Some("approve") => sign_in_and_approve(&app, &form, &browser, authorize, from).await,
            _ => {
                Err(OAuthErrorResponse::invalid("decision must be approve, deny or sign_out")
                    .into())
            }
        }
    };
    answer.await.unwrap_or_else(|refusal: AuthorizeRefusal| refusal.into_response(as_json))
}

/// Grants the scopes that the owner chose, if the browser is signed in or the form has the admin
/// token. The token also signs the browser in. Wrong tokens are counted by the address `from`.
async fn sign_in_and_approve(
    app: &AppState,
    form: &Form,
    browser: &Browser,
    authorize: AuthorizeRequest,
    from: IpAddr,
) -> Result<Response, AuthorizeRefusal> {
    let consent = consent(app, authorize.clone()).await?;
    let scopes =
        consent_page::chosen_scopes(consent.scopes, form.get("grant")).ok_or_else(|| {
            OAuthErrorResponse::invalid("the grant exceeds the requested scopes, or is not a scope")
        })?;
    if browser.is_signed_in {
        return approve(app, authorize, scopes).await;
    }
    let token = form.secret("admin_token").unwrap_or(Secret::new(""));
    if !app.brain.access().is_admin_token(token.expose()) {
        let now = app.brain.now();
        app.failures.logins.count(from, "", now).map_err(OAuthErrorResponse::rate_limited)?;
        let problem = "That is not the admin token of this brain. Nothing was granted.";
        return browser.show(app, StatusCode::FORBIDDEN, &authorize, &consent, Some(problem));
    }
    let mut response = approve(app, authorize, scopes).await?;
    if session::uses_consent_cookies(app) {
        let session_id = app
            .sessions
            .open(Purpose::Consent, &token, app.brain.now())
            .map_err(HttpError::from)?;
        set_consent_cookie(app, &mut response, &session_id);
    }
    Ok(response)
}

/// The response to a request that fails.
enum AuthorizeRefusal {
    /// A page for the person; no redirect.
    Page(OAuthErrorResponse),
    /// A redirect to the client, to this URI.
    Redirect(String),
}

impl AuthorizeRefusal {
    fn into_response(self, as_json: bool) -> Response {
        match self {
            Self::Page(refused) if as_json => refused.into_response(),
            Self::Page(refused) => {
                let mut response = consent_page::refusal_page(
                    refused.status(),
                    refused.error(),
                    refused.description(),
                );
                if let Some(seconds) = refused.retry_after() {
                    response.headers_mut().insert(RETRY_AFTER, seconds.into());
                }
                response
            }
            Self::Redirect(address) => see_other(&address)
                .unwrap_or_else(|refused| Self::Page(refused).into_response(as_json)),
        }
    }
}

impl From<OAuthErrorResponse> for AuthorizeRefusal {
    fn from(refused: OAuthErrorResponse) -> Self {
        Self::Page(refused.for_browser())
    }
}

impl From<OAuthFault> for AuthorizeRefusal {
    fn from(fault: OAuthFault) -> Self {
        OAuthErrorResponse::from(fault).into()
    }
}

impl From<HttpError> for AuthorizeRefusal {
    fn from(refusal: HttpError) -> Self {
        OAuthErrorResponse::from(refusal).into()
    }
}

impl From<AuthorizeError> for AuthorizeRefusal {
    fn from(error: AuthorizeError) -> Self {
        match error {
            AuthorizeError::Page(fault) => fault.into(),
            AuthorizeError::Redirect(uri) => Self::Redirect(uri),
        }
    }
}

/// A browser that may be the owner's.
struct Browser {
    /// The value of the consent cookie.
    cookie: String,
    /// Whether the cookie is a session of the owner.
    is_signed_in: bool,
}

impl Browser {
    /// Returns the browser that sent a request.
    fn of(app: &AppState, headers: &HeaderMap) -> Result<Self, AuthorizeRefusal> {
        if let Some((id, _)) = session::session(app, headers, Purpose::Consent) {
            return Ok(Self { cookie: id.to_owned(), is_signed_in: true });
        }
        match session::cookie_of(app, headers, Purpose::Consent) {
            // Not a session, but as long as a random id: sufficient to recognize the browser.
            Some(id) if id.len() == 43 => Ok(Self { cookie: id.to_owned(), is_signed_in: false }),
            _ => Self::new(app),
        }
    }

    /// Returns a new browser.
    fn new(app: &AppState) -> Result<Self, AuthorizeRefusal> {
        Ok(Self { cookie: app.sessions.random_id().map_err(HttpError::from)?, is_signed_in: false })
    }

    /// Returns the consent page for this browser.
    fn show(
        &self,
        app: &AppState,
        status: StatusCode,
        authorize: &AuthorizeRequest,
        consent: &Consent,
        problem: Option<&str>,
    ) -> Result<Response, AuthorizeRefusal> {
        let request = encode_request(authorize);
        let csrf_token =
            app.sessions.csrf_token(&self.cookie, &request).map_err(HttpError::from)?;
        let is_signed_in = self.is_signed_in;
        let page = ConsentPage {
            request: &request,
            consent,
            csrf_token: &csrf_token,
            is_signed_in,
            problem,
        };
        let mut response = consent_page::consent(status, &page);
        if !self.is_signed_in {
            set_consent_cookie(app, &mut response, &self.cookie);
        }
        Ok(response)
    }
}

fn set_consent_cookie(app: &AppState, response: &mut Response, value: &str) {
    if let Some(cookie) = session::set_cookie(app, Purpose::Consent, value) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// Checks the client's request and returns what the owner decides about.
async fn consent(app: &AppState, authorize: AuthorizeRequest) -> Result<Consent, AuthorizeRefusal> {
    Ok(app.block(move |brain| brain.access().consent(&authorize)).await??)
}

/// Grants `scopes` and redirects to the client with a code.
async fn approve(
    app: &AppState,
    authorize: AuthorizeRequest,
    scopes: Scopes,
) -> Result<Response, AuthorizeRefusal> {
    permit(&session::owner_caller(), CONSENT).map_err(HttpError::from)?;
    let address = app.block(move |brain| brain.access().approve(&authorize, scopes)).await??;
    dispatch::set_caller("admin");
    Ok(see_other(&address)?)
}

/// Redirects to the client. After 303, the browser does not send the form to the client (RFC 9700
/// section 4.12).
fn see_other(address: &str) -> Result<Response, OAuthErrorResponse> {
    let location = HeaderValue::from_str(address).map_err(|_| {
        OAuthErrorResponse::from(OAuthFault::new(
            OAuthError::ServerError,
            "the redirect address is not a valid header value",
        ))
    })?;
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// Returns whether the client accepts JSON and not HTML, as programs do.
fn wants_json(headers: &HeaderMap) -> bool {
    let accepts = |kind| {
        headers
            .get_all(ACCEPT)
            .iter()
            .any(|line| line.to_str().is_ok_and(|line| line.contains(kind)))
    };
    accepts("application/json") && !accepts("text/html")
}

fn parse_request(form: &Form) -> AuthorizeRequest {
    AuthorizeRequest {
        response_type: form.text("response_type"),
        client_id: form.text("client_id"),
        redirect_uri: form.text("redirect_uri"),
        scope: form.text("scope"),
        state: form.text("state"),
        code_challenge: form.text("code_challenge"),
        code_challenge_method: form.text("code_challenge_method"),
        resource: form.resources(),
    }
}

/// Encodes the request as one ASCII text, which no browser changes in a form.
fn encode_request(request: &AuthorizeRequest) -> String {
    let single = [
        ("response_type", &request.response_type),
        ("client_id", &request.client_id),
        ("redirect_uri", &request.redirect_uri),
        ("scope", &request.scope),
        ("state", &request.state),
        ("code_challenge", &request.code_challenge),
        ("code_challenge_method", &request.code_challenge_method),
    ];
    let mut text = form_urlencoded::Serializer::new(String::new());
    for (name, value) in single {
        if let Some(value) = value {
            text.append_pair(name, value);
        }
    }
    for value in &request.resource {
        text.append_pair("resource", value);
    }
    text.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_request_parses_to_itself() {
        let query = "response_type=code&client_id=a%20b&state=%0d%0a%E2%80%AE%22%3C\
                     &resource=x&resource=y&scope=&extra=1";
        let request = parse_request(&Form::parse(query.as_bytes()).unwrap());
        assert_eq!(request.state.as_deref(), Some("\r\n\u{202E}\"<"));
        assert_eq!((request.resource.len(), request.scope.as_deref()), (2, None));
        let text = encode_request(&request);
        assert!(text.is_ascii() && !text.contains(['\r', '\n', '"', '<']), "{text}");
        assert_eq!(parse_request(&Form::parse(text.as_bytes()).unwrap()), request);
    }

    #[test]
    fn only_programs_get_json() {
        let gets_json = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            wants_json(&headers)
        };
        assert!(gets_json("application/json"));
        assert!(!gets_json("text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8"));
        assert!(!gets_json("*/*"));
        assert!(!wants_json(&HeaderMap::new()));
    }
}
