//! HTML pages outside of the web interface: the frame of a page, and its headers.
//!
//! Pages are templates of maud, which escapes every value. [`Text`] and [`Name`] also make
//! characters visible that could deceive the reader.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

pub(crate) use brain_web::{Name, Text};

/// A style sheet, and the content security policy of pages that use it.
pub(crate) struct Style {
    css: &'static str,
    policy: HeaderValue,
}

impl Style {
    /// Creates the policy that allows this style sheet and what `directives` allow. `directives` is
    /// empty or begins with `;`.
    pub(crate) fn new(css: &'static str, directives: &str) -> Self {
        let policy = policy(&format!("style-src {}{directives}", source_hash(css)));
        Self { css, policy }
    }
}

/// Returns a policy that loads nothing, allows no frame around the page, and has these
/// `directives` (Content Security Policy Level 3).
pub(crate) fn policy(directives: &str) -> HeaderValue {
    let text = format!("default-src 'none'; {directives}; base-uri 'none'; frame-ancestors 'none'");
    HeaderValue::from_str(&text)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
}

/// Returns the source expression that allows one inline script or style sheet.
pub(crate) fn source_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// A page for a browser.
pub(crate) struct HtmlPage<'a> {
    pub(crate) status: StatusCode,
    pub(crate) style: &'a Style,
    /// The title, without the name of the program.
    pub(crate) title: &'a str,
    /// Further elements of the head.
    pub(crate) head: Markup,
    pub(crate) body: Markup,
    /// The referrer policy.
    pub(crate) referrer: &'static str,
}

impl IntoResponse for HtmlPage<'_> {
    fn into_response(self) -> Response {
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    (self.head)
                    title { (Text(self.title)) " · brain" }
                    style { (PreEscaped(self.style.css)) }
                }
                body { main { (self.body) } }
            }
        };
        respond(self.status, self.style.policy.clone(), self.referrer, document)
    }
}

/// Returns the response with a whole document.
pub(crate) fn respond(
    status: StatusCode,
    policy: HeaderValue,
    referrer: &'static str,
    document: Markup,
) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static(referrer)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, document.into_string()).into_response()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) async fn body_text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hostile_title_stays_text() {
        let style = Style::new("p{margin:0}", "");
        let page = HtmlPage {
            status: StatusCode::OK,
            style: &style,
            title: "</title><script>alert('1')</script>",
            head: html! {},
            body: html! { p { "text" } },
            referrer: "no-referrer",
        };
        let html = body_text(page.into_response()).await;
        let title = "<title>&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; · brain";
        assert!(html.contains(title) && !html.contains("<script"), "{html}");
    }
}
