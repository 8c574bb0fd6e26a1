//! The files that a phone or a desktop needs to install the web interface, and the screen for
//! content from a share menu.
//!
//! A manifest and icons suffice; current browsers need no service worker.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use brain_core::Brain;
use maud::html;

use crate::layout::{Screen, csrf};
use crate::session::Session;

/// The path of the manifest.
pub(crate) const MANIFEST: &str = "/web/manifest.webmanifest";
/// The route of the icons.
pub(crate) const ICONS: &str = "/web/icons/{file}";
/// The path to which share menus send their content.
pub(crate) const SHARE: &str = "/web/share";

const MANIFEST_TEXT: &str = include_str!("../assets/manifest.webmanifest");
static ICON_FILES: [(&str, &[u8]); 2] = [
    ("icon-192.png", include_bytes!("../assets/icon-192.png")),
    ("icon-512.png", include_bytes!("../assets/icon-512.png")),
];

/// Returns the routes of this module.
pub(crate) fn routes() -> Router<Arc<Brain>> {
    Router::new().route(MANIFEST, get(manifest)).route(ICONS, get(icon)).route(SHARE, get(share))
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

/// The content that another app shares.
#[derive(Debug, Default, PartialEq, Eq)]
struct SharedContent {
    title: String,
    /// The text, and the URL if the text does not contain it.
    text: String,
}

impl SharedContent {
    fn parse(query: &str) -> Self {
        let field = |name: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            let found = pairs.find(|(known, _)| known == name);
            found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let (text, url) = (field("text"), field("url"));
        let parts = [text.as_str(), if text.contains(&url) { "" } else { &url }];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Self { title: field("title"), text: parts.join("\n\n") }
    }
}

/// `GET /web/share?title=…&text=…&url=…`: shows what was shared. Nothing is stored before the owner
/// confirms it.
async fn share(uri: Uri, session: Session) -> Response {
    let shared = SharedContent::parse(uri.query().unwrap_or_default());
    let body = html! {
        h1 { "Keep this?" }
        form method="post" action="/web/capture" {
            (csrf(&session))
            label for="share-title" { "Title" }
            // The form sends the fields back, so they are escaped, but not otherwise changed.
            input id="share-title" name="title" value=(shared.title) autocomplete="off" dir="auto";
            label for="share-text" { "Text" }
            textarea id="share-text" name="text" rows="10" required dir="auto" {
                "\n" (shared.text)
            }
            label for="share-tags" { "Tags" }
            input id="share-tags" name="tags" autocomplete="off" spellcheck="false";
            p class="row" { button { "Keep" } a href="/" { "Cancel" } }
        }
    };
    Screen::new(&session, "Share", body).respond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_in_the_shared_text_is_not_repeated() {
        let shared =
            SharedContent::parse("title=A+%3Cb%3E&text=Read+this&url=https%3A%2F%2Fe.example%2F");
        let text = "Read this\n\nhttps://e.example/".to_owned();
        assert_eq!(shared, SharedContent { title: "A <b>".into(), text });
        let shared =
            SharedContent::parse("text=see+https%3A%2F%2Fe.example%2F&url=https://e.example/");
        assert_eq!(shared.text, "see https://e.example/");
        assert_eq!(SharedContent::parse(""), SharedContent::default());
    }
}
