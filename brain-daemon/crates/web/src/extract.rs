//! Extractors: the session of a request that changes nothing, and the forms of our own pages.
//!
//! A change needs the CSRF token, which only our pages have, and the origin of this listener.

use axum::body::Bytes;
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use brain_core::Door;
use brain_protocol::MAX_CONTENT;
use subtle::ConstantTimeEq as _;

use crate::layout;
use crate::origin::is_same_origin;
use crate::session::{CSRF_FIELD, Session};
use crate::signed_out::signed_out;

/// The largest form, in bytes: a page of maximum size, each byte of which can become three, and
/// 64 KiB for the other fields.
pub(crate) const MAX_FORM: usize = 3 * MAX_CONTENT + 64 * 1024;

/// Maximum number of fields before a file.
const MAX_FIELDS: usize = 8;

impl FromRequestParts<Door> for Session {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Door) -> Result<Self, Response> {
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(refused("this request needs a form of this page"));
        }
        let session = parts.extensions.get::<Self>().cloned();
        session.ok_or_else(|| signed_out(&parts.headers, &parts.uri))
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

impl FromRequest<Door> for FormPost {
    type Rejection = Response;

    async fn from_request(request: Request, brain: &Door) -> Result<Self, Response> {
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
    /// The fields before the file.
    fields: Vec<(String, String)>,
    /// The file's name and bytes; `None` if the form has no file.
    pub(crate) file: Option<(String, Vec<u8>)>,
}

impl Upload {
    /// Returns the first field with this name before the file; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

impl FromRequest<Door> for Upload {
    type Rejection = Response;

    async fn from_request(request: Request, brain: &Door) -> Result<Self, Response> {
        let headers = request.headers().clone();
        if !is_form(&request, b"multipart/form-data") {
            let session = FormPost::from_request(request, brain).await?.session;
            return Ok(Self { session, headers, fields: Vec::new(), file: None });
        }
        let session = own_session(&request).map_err(|refusal| *refusal)?;
        let problem = |error: MultipartError| {
            let (status, message) = (error.status(), error.body_text());
            layout::problem(&session, status, "The file could not be read", &message)
        };
        let mut form = Multipart::from_request(request, brain)
            .await
            .map_err(|error| refused(&error.body_text()))?;
        let (mut has_token, mut fields, mut file) = (false, Vec::new(), None);
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
                (Some(name), None) if has_token && fields.len() < MAX_FIELDS => {
                    fields.push((name.to_owned(), field.text().await.map_err(problem)?));
                }
                _ => break,
            }
        }
        match has_token {
            true => Ok(Self { session, headers, fields, file }),
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
    session.ok_or_else(|| Box::new(signed_out(request.headers(), request.uri())))
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
