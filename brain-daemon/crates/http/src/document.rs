//! A page for people, around what is in it.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// The looks of a page, and the policy that lets a browser take them and nothing else.
pub(super) struct Looks {
    pub(super) style: &'static str,
    pub(super) policy: HeaderValue,
}

/// A page with this title; `head` and `inner` are HTML, escaped.
pub(super) fn document(
    status: StatusCode,
    looks: Looks,
    title: &str,
    head: &str,
    inner: &str,
    referrer: &'static str,
) -> Response {
    let Looks { style, policy } = looks;
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n{head}<title>{title} · brain</title>\n<style>{style}</style>\n\
         </head>\n<body>\n<main>\n{inner}</main>\n</body>\n</html>\n"
    );
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static(referrer)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, html).into_response()
}
