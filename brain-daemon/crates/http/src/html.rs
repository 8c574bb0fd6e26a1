//! HTML pages for browsers: text that escapes itself, the frame of a page, and its headers.
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
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use sha2::{Digest as _, Sha256};

/// Text in a page, escaped for an element or a quoted attribute.
///
/// Characters that change the text direction become visible. Joiners stay, since languages need
/// them.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

/// A name that the reader has to trust. All invisible characters become visible, so that no name
/// looks like another one.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl Render for Text<'_> {
    fn render_to(&self, out: &mut String) {
        out.reserve(self.0.len());
        self.0.chars().for_each(|char| push_escaped(out, char));
    }
}

impl Render for Name<'_> {
    fn render_to(&self, out: &mut String) {
        let is_invisible = |c: char| {
            c.is_control()
                || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}')
                || matches!(c, '\u{61C}' | '\u{FEFF}')
        };
        for char in self.0.chars() {
            push_escaped(out, if is_invisible(char) { '\u{FFFD}' } else { char });
        }
    }
}

fn push_escaped(out: &mut String, char: char) {
    match char {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => out.push('\u{FFFD}'),
        '\n' | '\t' => out.push(char),
        char if char.is_control() => out.push('\u{FFFD}'),
        char => out.push(char),
    }
}

/// A style sheet, and the content security policy of pages that use it.
pub(crate) struct Style {
    css: &'static str,
    policy: HeaderValue,
}

impl Style {
    /// Creates the policy that allows this style sheet, and what `directives` allow.
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
pub(crate) struct Page<'a> {
    pub(crate) status: StatusCode,
    pub(crate) style: &'a Style,
    pub(crate) title: &'a str,
    /// Further elements of the head.
    pub(crate) head: Markup,
    pub(crate) body: Markup,
    /// The referrer policy.
    pub(crate) referrer: &'static str,
}

impl IntoResponse for Page<'_> {
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

/// Returns the HTML of a page's response.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) async fn text_of(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_names_hide_nothing() {
        let given = "<a b='c' d=\"e\">&\u{202e}\u{0}\n👩\u{200d}💻";
        let begins = "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\u{fffd}\u{fffd}";
        assert_eq!(Text(given).render().0, format!("{begins}\n👩\u{200d}💻"));
        assert_eq!(Name(given).render().0, format!("{begins}\u{fffd}👩\u{fffd}💻"));
        assert_eq!(Name("a\u{202E}b\u{200B}c").render().0, "a\u{FFFD}b\u{FFFD}c");
        assert_eq!(Name("Ünïcode 日本").render().0, "Ünïcode 日本");
    }

    #[test]
    fn templates_escape_every_value() {
        let evil = "\"><script>alert(1)</script>";
        let shown = html! { p title=(evil) { (evil) } p title=(Text(evil)) { (Name(evil)) } }.0;
        assert!(!shown.contains("<script"), "{shown}");
        assert_eq!(shown.matches("&lt;script&gt;").count(), 4, "{shown}");
        assert_eq!(shown.matches("title=\"&quot;&gt;").count(), 2, "{shown}");
    }

    #[tokio::test]
    async fn a_hostile_title_stays_text() {
        let style = Style::new("p{margin:0}", "");
        let page = Page {
            status: StatusCode::OK,
            style: &style,
            title: "</title><script>alert('1')</script>",
            head: html! {},
            body: html! { p { "text" } },
            referrer: "no-referrer",
        };
        let shown = text_of(page.into_response()).await;
        let title = "<title>&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; · brain";
        assert!(shown.contains(title) && !shown.contains("<script"), "{shown}");
    }
}
