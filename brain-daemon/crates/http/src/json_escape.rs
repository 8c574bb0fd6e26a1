//! Escapes characters in JSON answers that could deceive a reader, for example in a terminal.

use std::borrow::Cow;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use brain_protocol::escape_json;

use super::internal_error;

/// Escapes control characters and direction controls in a JSON body as `\u…`. The JSON value stays
/// the same. Other bodies, and streams, stay as they are.
pub(crate) async fn escape(response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !is_json || response.body().size_hint().exact().is_none() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // No limit: the body is in memory already.
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return internal_error().into_response();
    };
    let bytes = match std::str::from_utf8(&bytes).map(escape_json) {
        Ok(Cow::Owned(text)) => {
            // The length of the new body is added when it is sent.
            parts.headers.remove(CONTENT_LENGTH);
            Bytes::from(text)
        }
        _ => bytes,
    };
    Response::from_parts(parts, Body::from(bytes))
}
