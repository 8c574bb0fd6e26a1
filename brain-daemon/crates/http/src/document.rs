//! The HTML frame and the headers of pages for browsers.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// The style sheet of a page, and the content security policy that allows it.
pub(super) struct Style {
    pub(super) style: &'static str,
    pub(super) policy: HeaderValue,
}

/// Returns a page with this title; `head` and `inner` are HTML, already escaped.
pub(super) fn document(
    status: StatusCode,
    style_sheet: Style,
    title: &str,
    head: &str,
    inner: &str,
    referrer: &'static str,
) -> Response {
    let Style { style, policy } = style_sheet;
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         {head}<title>{title} · brain</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n\
         {inner}</main>\n</body>\n</html>\n"
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
