//! The pages themselves. Values in, HTML out: whatever is somebody's text is escaped here.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::Page;
use sha2::{Digest as _, Sha256};

use super::markdown;
use crate::document::{self, Style};
use crate::escape;
use brain_core::is_from_outside;

const STYLE: &str = include_str!("style.css");

/// Only this style acts, nothing is loaded, forms lead here only, and nobody may frame the page (Content Security Policy Level 3).
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    let text = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&text)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
});

/// A page of the brain. `link` knows the address of the page that a link means.
pub(super) fn page(page: &Page, link: impl Fn(&str) -> Option<String>) -> Response {
    let title = escape::text(&page.title);
    let mut html = format!("<article dir=\"auto\">\n<h1><bdi>{title}</bdi></h1>\n");
    if is_from_outside(page.source_kind.as_deref()) {
        html.push_str(
            "<p class=\"told\" role=\"note\">This text came from outside: from the web, a message or a program. You did not write \
             it; weigh what it says and where its links lead.</p>\n",
        );
    }
    html.push_str("<dl>\n");
    for (term, what) in facts(page) {
        let _ = writeln!(html, "<dt>{term}</dt><dd>{what}</dd>");
    }
    html.push_str("</dl>\n");
    html.push_str(&markdown::render(without_title(&page.body, &page.title), link));
    html.push_str("</article>\n");
    document(StatusCode::OK, &title, "", &html, "no-referrer")
}

/// What is told of a page, escaped.
fn facts(page: &Page) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Page", format!("<code>{}</code>", escape::text(page.slug.as_str())))];
    facts.push(("Source", escape::text(page.source_id.as_str())));
    facts.push(("Type", escape::text(&page.page_type)));
    if !page.tags.is_empty() {
        let tags: Vec<String> =
            page.tags.iter().map(|tag| format!("<bdi>#{}</bdi>", escape::text(tag))).collect();
        facts.push(("Tags", tags.join(" ")));
    }
    facts.push(("Changed", escape::text(&page.updated_at)));
    if let Some(kind) = &page.source_kind {
        facts.push(("Came by", escape::text(kind)));
    }
    if let Some(from) = &page.source_uri {
        let link =
            url::Url::parse(from).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let text = format!("<bdi>{}</bdi>", escape::text(from));
        facts.push((
            "From",
            match link {
                Some(url) => format!(
                    "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">{text}</a>",
                    escape::text(url.as_str())
                ),
                None => text,
            },
        ));
    }
    facts
}

/// The text without a first heading that says the title again.
fn without_title<'a>(body: &'a str, title: &str) -> &'a str {
    let text = body.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let heading = first.strip_prefix("# ").map(str::trim);
    if heading == Some(title.trim()) { rest } else { body }
}

/// The page for whoever is not known, with the form that leads back to `address`.
pub(super) fn sign_in(status: StatusCode, address: &str, problem: Option<&str>) -> Response {
    let mut html = String::from("<h1>Your brain</h1>\n");
    if let Some(problem) = problem {
        let _ = writeln!(html, "<p class=\"told\" role=\"alert\">{}</p>", escape::text(problem));
    }
    let _ = writeln!(
        html,
        "<p>Sign in to read this page.</p>\n<form method=\"post\" action=\"{}\" autocomplete=\"off\">\n<label for=\"token\">Admin \
         token</label>\n<input id=\"token\" type=\"password\" name=\"admin_token\" required \
         autocomplete=\"current-password\" aria-describedby=\"how\">\n<p id=\"how\">On the machine where your brain is, \
         <code>brain token admin</code> shows it.</p>\n<button>Sign in</button>\n</form>",
        escape::text(address)
    );
    // The form must say where it comes from, which `no-referrer` would have browsers leave out; nobody else is told.
    document(status, "Sign in", "", &html, "same-origin")
}

/// Asks for `address` once more, from here.
pub(super) fn again(address: &str) -> Response {
    let address = escape::text(address);
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url={address}\">\n");
    let html = format!("<p><a href=\"{address}\">Go on to the page</a></p>\n");
    document(StatusCode::OK, "One moment", &head, &html, "same-origin")
}

/// The page that says that there is none; `near` are addresses and names of others.
pub(super) fn missing(status: StatusCode, message: &str, near: &[(String, String)]) -> Response {
    let mut html = format!(
        "<h1>No such page</h1>\n<p class=\"told\" role=\"alert\"><bdi>{}</bdi></p>\n",
        escape::text(message)
    );
    if !near.is_empty() {
        html.push_str("<p>Perhaps one of these:</p>\n<ul>\n");
        for (address, name) in near {
            let _ = writeln!(
                html,
                "<li><a href=\"{}\"><bdi>{}</bdi></a></li>",
                escape::text(address),
                escape::text(name)
            );
        }
        html.push_str("</ul>\n");
    }
    document(status, "No such page", "", &html, "no-referrer")
}

fn document(
    status: StatusCode,
    title: &str,
    head: &str,
    inner: &str,
    referrer: &'static str,
) -> Response {
    let looks = Style { style: STYLE, policy: POLICY.clone() };
    document::document(status, looks, title, head, inner, referrer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_that_is_the_title_is_not_shown_twice() {
        assert_eq!(without_title("\n# Ada \ntext", "Ada"), "text");
        assert_eq!(without_title("# Ada", "Ada"), "");
        assert_eq!(without_title("# Ada L\ntext", "Ada"), "# Ada L\ntext");
        assert_eq!(without_title("## Ada\n", "Ada"), "## Ada\n");
    }
}
