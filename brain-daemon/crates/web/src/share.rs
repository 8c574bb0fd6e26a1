//! The screen that the share menu of a phone or a desktop opens.

use axum::http::Uri;
use axum::response::Response;
use maud::html;

use crate::layout::{Screen, csrf};
use crate::session::Session;

/// The path to which share menus send their content.
pub(crate) const SHARE: &str = "/web/share";
/// The field of a form with text that another app shared: somebody other than the owner may have
/// written it.
pub(crate) const SHARED_FIELD: &str = "shared";

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
pub(crate) async fn show(uri: Uri, session: Session) -> Response {
    let shared = SharedContent::parse(uri.query().unwrap_or_default());
    let body = html! {
        h1 { "Keep this?" }
        form method="post" action="/web/capture" {
            (csrf(&session))
            input type="hidden" name=(SHARED_FIELD) value="1";
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
