//! The files that a phone or a desktop needs to install the web interface.
//!
//! A manifest and icons suffice; current browsers need no service worker.

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use brain_core::Door;

/// The path of the manifest.
pub(crate) const MANIFEST: &str = "/web/manifest.webmanifest";
/// The route of the icons.
pub(crate) const ICONS: &str = "/web/icons/{file}";

const MANIFEST_TEXT: &str = include_str!("../assets/manifest.webmanifest");
static ICON_FILES: [(&str, &[u8]); 2] = [
    ("icon-192.png", include_bytes!("../assets/icon-192.png")),
    ("icon-512.png", include_bytes!("../assets/icon-512.png")),
];

pub(crate) fn routes() -> Router<Door> {
    Router::new().route(MANIFEST, get(manifest)).route(ICONS, get(icon))
}

/// `GET /web/manifest.webmanifest`: needs no session, as browsers fetch it without one.
async fn manifest() -> Response {
    let headers = [(CONTENT_TYPE, "application/manifest+json"), (CACHE_CONTROL, "no-cache")];
    (headers, MANIFEST_TEXT).into_response()
}

/// `GET /web/icons/{file}`: needs no session, as for the manifest.
async fn icon(Path(name): Path<String>) -> Response {
    match ICON_FILES.iter().find(|(file, _)| *file == name) {
        Some((_, bytes)) => {
            let headers = [(CONTENT_TYPE, "image/png"), (CACHE_CONTROL, "max-age=86400")];
            (headers, *bytes).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
