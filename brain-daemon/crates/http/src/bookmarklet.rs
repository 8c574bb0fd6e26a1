//! `GET /clip`: the window that the bookmarklet of `docs/ingest.md` opens to save a web page.
//!
//! The content comes in the URL's fragment, which no server sees. Nothing is saved before the
//! owner confirms.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::AppState;

/// The path of the page.
pub(super) const PATH: &str = "/clip";

const PAGE: &str = include_str!("bookmarklet.html");

/// Allows only this page's own script and style, calls to this daemon, and no frames (Content
/// Security Policy Level 3).
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = |tag: &str| {
        let inner = PAGE
            .split_once(&format!("<{tag}>"))
            .and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")));
        STANDARD.encode(Sha256::digest(inner.map_or("", |(inner, _)| inner)))
    };
    format!(
        "default-src 'none'; connect-src 'self'; script-src 'sha256-{}'; style-src 'sha256-{}'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        digest("script"),
        digest("style")
    )
});

/// Returns the route. The OpenAPI document leaves out pages for browsers.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, get(clip))
}

async fn clip() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, PAGE).into_response()
}
