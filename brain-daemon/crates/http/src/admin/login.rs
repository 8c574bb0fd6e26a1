//! Signs in with the admin token, and signs out.

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::{SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use brain_protocol::{Command, Fault, FaultCode, Secret, hint};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AdminErrors;
use crate::body::JsonObject;
use crate::session_store::{Purpose, SESSION_MS};
use crate::{AppState, HttpError, client_address, dispatch, session};
use brain_base::clock::rfc3339;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(login))
        .routes(routes!(logout))
        .routes(routes!(show_session))
}

/// The admin token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Login {
    /// As `brain token admin` shows it.
    #[schema(value_type = String, format = Password, min_length = 24)]
    token: Secret,
}

/// A new session. Its cookie comes with the response.
#[derive(Serialize, ToSchema)]
struct SessionInfo {
    /// The value of `X-Brain-Csrf` for requests that change something. It is returned only here.
    csrf_token: String,
    /// When it expires.
    expires_at: String,
}

/// An existing session.
#[derive(Serialize, ToSchema)]
struct SessionState {
    /// When it expires.
    expires_at: String,
}

/// Signs in, in a browser.
///
/// Sets a cookie for 12 hours. After 10 wrong tokens from one address in a minute, further wrong
/// tokens get 429.
#[utoipa::path(
    post,
    path = "/admin/login",
    request_body(content = Login, description = "At most 64 KiB."),
    responses(
        (
            status = 200,
            description = "A session",
            body = SessionInfo,
            headers(("Set-Cookie" = String))
        ),
        AdminErrors
    )
)]
async fn login(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let from = client_address::of_request(&app, &request);
    if !session::is_same_origin(&app, request.headers()) {
        return Err(session::csrf_error("sign in on its own page"));
    }
    let JsonObject(Login { token }) = JsonObject::from_request(request, &app).await?;
    let now = app.brain.now();
    if !app.brain.access().is_admin_token(token.expose()) {
        app.failures.logins.count(from, "", now).map_err(session::too_many_tokens)?;
        let fault =
            Fault::new(FaultCode::InvalidToken, "this is not the admin token of this brain")
                .hint(hint!("{} shows it on a terminal", Command::TokenAdmin));
        let challenge =
            HeaderValue::from_static(r#"Bearer realm="brain admin", error="invalid_token""#);
        return Err(HttpError::from(fault).with_header(WWW_AUTHENTICATE, challenge));
    }
    dispatch::set_caller("admin");
    let id = app.sessions.open(Purpose::Admin, &token, now)?;
    let info = SessionInfo {
        csrf_token: session::admin_csrf_token(&app, &id)?,
        expires_at: rfc3339(now + SESSION_MS),
    };
    let mut response = Json(info).into_response();
    set_session_cookie(&app, &mut response, &id);
    Ok(response)
}

/// Shows the session of this browser.
///
/// The answer has no `csrf_token`: a service on another port of this host also gets the cookie, and
/// could ask for the token.
#[utoipa::path(
    get,
    path = "/admin/api/session",
    security(("session" = [])),
    responses((status = 200, description = "The session", body = SessionState), AdminErrors)
)]
async fn show_session(
    State(app): State<AppState>,
    headers: HeaderMap,
) -> Result<Json<SessionState>, HttpError> {
    let Some((_, expires_at)) = session::session(&app, &headers, Purpose::Admin) else {
        let fault = Fault::new(FaultCode::InvalidToken, "there is no session")
            .hint("sign in at /admin/login");
        let challenge = HeaderValue::from_static(r#"Bearer realm="brain admin""#);
        return Err(HttpError::from(fault).with_header(WWW_AUTHENTICATE, challenge));
    };
    Ok(Json(SessionState { expires_at: rfc3339(expires_at) }))
}

/// Signs out: ends the session of this browser.
#[utoipa::path(
    post,
    path = "/admin/logout",
    security(("session" = [])),
    responses((status = 204, description = "Signed out"), AdminErrors)
)]
async fn logout(
    State(app): State<AppState>,
    session::Owner(_): session::Owner,
    headers: HeaderMap,
) -> Response {
    if let Some(id) = session::cookie_of(&app, &headers, Purpose::Admin) {
        app.sessions.close(id);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    set_session_cookie(&app, &mut response, "");
    response
}

fn set_session_cookie(app: &AppState, response: &mut Response, id: &str) {
    if let Some(cookie) = session::set_cookie(app, Purpose::Admin, id) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}
