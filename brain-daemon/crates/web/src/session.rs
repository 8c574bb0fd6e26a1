//! Decides who is signed in, and which changes come from our own pages.
//!
//! The session's cookie is named after the listener's port, because browsers send cookies to every
//! port of a host. It is `Strict`, so browsers do not send it when a link of another site is
//! opened. A change also needs the CSRF token, which only our pages have, and the origin of this
//! listener.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use brain_base::caller::Caller;
use brain_core::{Brain, NoProgress, Progress};
use brain_protocol::{Fault, FaultCode, MAX_CONTENT, Operation, Secret};
use subtle::ConstantTimeEq as _;

use crate::{layout, sign_in};

/// The largest form, in bytes: a page of maximum size, each byte of which can become three, and
/// 64 KiB for the other fields.
pub(crate) const MAX_FORM: usize = 3 * MAX_CONTENT + 64 * 1024;
/// The field of forms with the CSRF token.
pub(crate) const CSRF_FIELD: &str = "csrf";
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The lifetime of the cookie.
const COOKIE_SECONDS: u32 = 12 * 60 * 60;

/// An extension of responses to signed-in browsers: the name of the caller, for the audit.
#[derive(Debug, Clone)]
pub struct BrowserCaller(pub String);

/// The session of the browser that sent a request. As an extractor, only for requests that change
/// nothing.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) caller: Caller,
    pub(crate) csrf_token: Secret,
    /// The id, which the cookie has.
    pub(crate) id: Secret,
    /// The number of changes before the request; see [`brain_core::ChangeFeed`].
    pub(crate) change_count: u64,
}

impl Session {
    /// Runs an operation for this browser on a thread that may block.
    ///
    /// # Errors
    /// The fault of the operation; `internal` if it panics.
    pub(crate) async fn run<O: Operation + Send + 'static>(
        &self,
        brain: &Arc<Brain>,
        operation: O,
    ) -> Result<O::Reply, Fault>
    where
        O::Reply: Send + 'static,
    {
        self.run_with_progress(brain, operation, NoProgress).await
    }

    /// Runs an operation as [`Self::run`] does, and reports its progress.
    ///
    /// # Errors
    /// The same as for [`Self::run`].
    pub(crate) async fn run_with_progress<O: Operation + Send + 'static>(
        &self,
        brain: &Arc<Brain>,
        operation: O,
        progress: impl Progress + Send + 'static,
    ) -> Result<O::Reply, Fault>
    where
        O::Reply: Send + 'static,
    {
        let caller = self.caller.clone();
        block(brain, move |brain| brain.run(&caller, operation, &progress)).await?
    }
}

/// Runs `work` on a thread that may block.
///
/// # Errors
/// `internal` if it panics.
pub(crate) async fn block<T: Send + 'static>(
    brain: &Arc<Brain>,
    work: impl FnOnce(&Arc<Brain>) -> T + Send + 'static,
) -> Result<T, Fault> {
    let brain = Arc::clone(brain);
    tokio::task::spawn_blocking(move || work(&brain)).await.map_err(|_| {
        Fault::new(FaultCode::Internal, "a defect in brain ended this request")
            .hint("the log of the daemon has the details; please report it")
    })
}

/// Finds the session of a request for the extractors, and adds its caller to the response for the
/// audit.
pub(crate) async fn authenticate(
    State(brain): State<Arc<Brain>>,
    mut request: Request,
    next: Next,
) -> Response {
    let found = session_of(&brain, request.headers());
    let caller = found.as_ref().map(|session| BrowserCaller(session.caller.name.clone()));
    if let Some(session) = found {
        request.extensions_mut().insert(session);
    }
    let mut response = next.run(request).await;
    if let Some(caller) = caller {
        response.extensions_mut().insert(caller);
    }
    response
}

/// Returns the session of a request with these headers.
fn session_of(brain: &Brain, headers: &HeaderMap) -> Option<Session> {
    let id = cookie(headers, &cookie_name(brain))?;
    let session = brain.access.browser_session(id)?;
    let (csrf_token, id) = (session.csrf_token, Secret::new(id));
    Some(Session {
        caller: Caller::browser(),
        csrf_token,
        id,
        change_count: brain.changes.current(),
    })
}

/// Returns the caller if a browser that is signed in sent a request with these headers. Such a
/// request may have a large body.
#[must_use]
pub fn signed_in(brain: &Brain, headers: &HeaderMap) -> Option<BrowserCaller> {
    session_of(brain, headers).map(|session| BrowserCaller(session.caller.name))
}

impl FromRequestParts<Arc<Brain>> for Session {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Brain>) -> Result<Self, Response> {
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(refused("this request needs a form of this page"));
        }
        let session = parts.extensions.get::<Self>().cloned();
        session.ok_or_else(|| sign_in::signed_out(&parts.headers, &parts.uri))
    }
}

/// A form that one of our own pages posted.
#[derive(Debug)]
pub(crate) struct FormPost {
    pub(crate) session: Session,
    fields: Vec<(String, String)>,
}

impl FormPost {
    /// Returns the first field with this name; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.optional_field(name).unwrap_or_default()
    }

    /// Returns the first field with this name.
    pub(crate) fn optional_field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl FromRequest<Arc<Brain>> for FormPost {
    type Rejection = Response;

    async fn from_request(request: Request, brain: &Arc<Brain>) -> Result<Self, Response> {
        let session = own_session(&request).map_err(|refusal| *refusal)?;
        if !is_form(&request, b"application/x-www-form-urlencoded") {
            return Err(refused("this is not a form"));
        }
        let bytes = Bytes::from_request(request, brain).await.map_err(|error| {
            layout::problem(
                &session,
                error.status(),
                "The form could not be read",
                &error.body_text(),
            )
        })?;
        let fields: Vec<(String, String)> = form_urlencoded::parse(&bytes).into_owned().collect();
        let form_post = Self { session, fields };
        check_token(&form_post.session, form_post.field(CSRF_FIELD)).map_err(|refusal| *refusal)?;
        Ok(form_post)
    }
}

/// A file that a form of our own pages sent.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) session: Session,
    pub(crate) headers: HeaderMap,
    /// The file's name and bytes; `None` if the form has no file.
    pub(crate) file: Option<(String, Vec<u8>)>,
}

impl FromRequest<Arc<Brain>> for Upload {
    type Rejection = Response;

    async fn from_request(request: Request, brain: &Arc<Brain>) -> Result<Self, Response> {
        let headers = request.headers().clone();
        if !is_form(&request, b"multipart/form-data") {
            let session = FormPost::from_request(request, brain).await?.session;
            return Ok(Self { session, headers, file: None });
        }
        let session = own_session(&request).map_err(|refusal| *refusal)?;
        let problem = |error: MultipartError| {
            let (status, message) = (error.status(), error.body_text());
            layout::problem(&session, status, "The file could not be read", &message)
        };
        let mut form = Multipart::from_request(request, brain)
            .await
            .map_err(|error| refused(&error.body_text()))?;
        let (mut has_token, mut file) = (false, None);
        while let Some(field) = form.next_field().await.map_err(problem)? {
            let (name, file_name) = (field.name().map(str::to_owned), field.file_name());
            match (name.as_deref(), file_name.map(str::to_owned)) {
                (Some(CSRF_FIELD), _) => {
                    check_token(&session, &field.text().await.map_err(problem)?)
                        .map_err(|refusal| *refusal)?;
                    has_token = true;
                }
                // The token comes first, so nothing of a foreign form is kept.
                (Some("file"), Some(name)) if has_token => {
                    file = Some((name, field.bytes().await.map_err(problem)?.into()));
                }
                _ => break,
            }
        }
        match has_token {
            true => Ok(Self { session, headers, file }),
            false => Err(refused("the form is not of this session; load the page again")),
        }
    }
}

/// Returns the session of a change, if the change comes from a page of this origin.
fn own_session(request: &Request) -> Result<Session, Box<Response>> {
    if !is_same_origin(request.headers()) {
        return Err(Box::new(refused("this did not come from a page of this brain")));
    }
    let session = request.extensions().get::<Session>().cloned();
    session.ok_or_else(|| Box::new(sign_in::signed_out(request.headers(), request.uri())))
}

fn is_form(request: &Request, media_type: &[u8]) -> bool {
    let kind = request.headers().get("content-type");
    kind.is_some_and(|kind| kind.as_bytes().starts_with(media_type))
}

/// Refuses a form that is not of this session.
fn check_token(session: &Session, token: &str) -> Result<(), Box<Response>> {
    match bool::from(session.csrf_token.expose().as_bytes().ct_eq(token.as_bytes())) {
        true => Ok(()),
        false => Err(Box::new(refused("the form is not of this session; load the page again"))),
    }
}

/// Returns 403 with a message, for example for a change that a foreign page may have sent.
fn refused(message: &str) -> Response {
    layout::plain(StatusCode::FORBIDDEN, "Refused", message)
}

/// Returns whether a change comes from a page of this origin, by `Sec-Fetch-Site` (Fetch Metadata)
/// and `Origin` (RFC 6454 section 7). A request with neither field passes; the CSRF token protects
/// it.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin")) {
        return false;
    }
    let text = |name: &HeaderName| headers.get(name).map(HeaderValue::as_bytes);
    match (text(&ORIGIN), text(&HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => {
            [&b"http://"[..], b"https://"].iter().any(|it| origin.strip_prefix(*it) == Some(host))
        }
        (Some(_), None) => false,
    }
}

/// Returns the `Set-Cookie` value that keeps the session `id`. An empty id deletes the cookie.
pub(crate) fn set_cookie(brain: &Brain, id: &str) -> Option<HeaderValue> {
    let seconds = if id.is_empty() { 0 } else { COOKIE_SECONDS };
    let name = cookie_name(brain);
    format!("{name}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}").parse().ok()
}

fn cookie_name(brain: &Brain) -> String {
    let port = brain.access.http_addresses().local.map_or(0, |address| address.port());
    format!("brain-page-{port}")
}

/// Returns the value of a cookie. `None` if it is missing, empty or repeated.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|it| it.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let (first, None) = (values.next()?, values.next()) else { return None };
    Some(first).filter(|value| !value.is_empty())
}

/// Returns whether a page of another origin caused the request. If that origin is another site,
/// browsers omit the cookie.
pub(crate) fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    matches!(site, Some(b"cross-site" | b"same-site"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_the_same_origin_may_change_something() {
        let host = ("host", "127.0.0.1:3131");
        for (expected, more) in [
            (true, vec![]),
            (true, vec![("origin", "http://127.0.0.1:3131")]),
            (true, vec![("sec-fetch-site", "same-origin")]),
            (false, vec![("sec-fetch-site", "same-site")]),
            (false, vec![("sec-fetch-site", "cross-site")]),
            (false, vec![("sec-fetch-site", "none")]),
            (false, vec![("origin", "null")]),
            (false, vec![("origin", "http://127.0.0.1:3132")]),
            (false, vec![("origin", "http://evil.example")]),
            (false, vec![("origin", "http://127.0.0.1:3131.evil.example")]),
        ] {
            let all: Vec<_> = std::iter::once(host).chain(more).collect();
            assert_eq!(is_same_origin(&headers(&all)), expected, "{all:?}");
        }
    }

    #[test]
    fn a_repeated_or_empty_cookie_is_ignored() {
        let read = |lines: &[&'static str]| {
            let lines: Vec<_> = lines.iter().map(|line| ("cookie", *line)).collect();
            cookie(&headers(&lines), "brain-page-3131").map(str::to_owned)
        };
        assert_eq!(read(&["a=1; brain-page-3131=x; b=2"]).as_deref(), Some("x"));
        assert_eq!(read(&["brain-page-3132=x"]), None);
        assert_eq!(read(&["brain-page-3131=x; brain-page-3131=x"]), None);
        assert_eq!(read(&["brain-page-3131="]), None);
    }
}
