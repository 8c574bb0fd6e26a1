//! The templates of `/page/{name}`.

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use brain_protocol::{MarkedLines, Page, TrustLevel};
use maud::{Markup, html};

use super::markdown;
use crate::html::{self, Style, Text};

/// Forms lead only to this daemon.
static STYLE: LazyLock<Style> =
    LazyLock::new(|| Style::new(include_str!("style.css"), "; form-action 'self'"));

/// Shows a page of the brain. `link` returns the URL of the page that a link names.
pub(super) fn page(page: &Page, link: impl Fn(&str) -> Option<String>) -> Response {
    let body = html! {
        article dir="auto" {
            h1 { bdi { (Text(&page.title)) } }
            @if page.trust == TrustLevel::Outside {
                p class="notice" role="note" {
                    "This text came from outside: from the web, a message or a program. "
                    "You did not write it. Check its claims and links before you rely on them."
                }
            }
            dl {
                @for (term, value) in facts(page) { dt { (term) } dd { (value) } }
            }
            (markdown::render(without_title(&page.body, &page.title), link))
        }
        (changes_by_others(page))
    };
    respond(StatusCode::OK, &page.title, html! {}, body, "no-referrer")
}

/// Lists the lines that somebody other than the page's author wrote.
fn changes_by_others(page: &Page) -> Markup {
    let text = |mark: &MarkedLines| {
        let count = (mark.last - mark.first.min(mark.last)) as usize + 1;
        let lines = page.content.lines().skip(mark.first.saturating_sub(1) as usize).take(count);
        lines.collect::<Vec<_>>().join("\n")
    };
    html! {
        @if !page.outside_lines.is_empty() {
            section dir="auto" aria-labelledby="others" {
                h2 id="others" { "Lines by others" }
                p {
                    "Others changed these lines. Check them before you rely on them. "
                    code { "brain trust " (Text(page.slug.as_str())) }
                    " makes them yours."
                }
                @for mark in &page.outside_lines {
                    p {
                        @if mark.first == mark.last { "Line " (mark.first) }
                        @else { "Lines " (mark.first) "–" (mark.last) }
                        ": " bdi { (Text(&mark.source_uri)) } ", "
                        (Text(&mark.source_kind)) ", " (Text(&mark.written_at))
                    }
                    pre { (Text(&text(mark))) }
                }
            }
        }
    }
}

/// Returns the properties of a page: term and value.
fn facts(page: &Page) -> Vec<(&'static str, Markup)> {
    let text = |text: &str| html! { (Text(text)) };
    let mut facts = vec![
        ("Page", html! { code { (Text(page.slug.as_str())) } }),
        ("Source", text(page.source_id.as_str())),
        ("Type", text(&page.page_type)),
    ];
    if !page.tags.is_empty() {
        let tags = html! { @for tag in &page.tags { bdi { "#" (Text(tag)) } " " } };
        facts.push(("Tags", tags));
    }
    facts.push(("Changed", text(&page.updated_at)));
    if let Some(kind) = &page.source_kind {
        facts.push(("Received by", text(kind)));
    }
    if let Some(uri) = &page.source_uri {
        let link = url::Url::parse(uri).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let from = html! {
            @match link {
                Some(link) => a href=(Text(link.as_str())) rel="noopener noreferrer nofollow" {
                    bdi { (Text(uri)) }
                }
                None => bdi { (Text(uri)) }
            }
        };
        facts.push(("From", from));
    }
    facts
}

/// Returns the text without a first heading that repeats the title.
fn without_title<'a>(body: &'a str, title: &str) -> &'a str {
    let text = body.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let heading = first.strip_prefix("# ").map(str::trim);
    if heading == Some(title.trim()) { rest } else { body }
}

/// Shows the form for clients without a session. It leads back to the page at `url`.
pub(super) fn sign_in(status: StatusCode, url: &str, problem: Option<&str>) -> Response {
    let body = html! {
        h1 { "Your brain" }
        @if let Some(problem) = problem { p class="notice" role="alert" { (Text(problem)) } }
        p { "Sign in to read this page." }
        form method="post" action=(Text(url)) autocomplete="off" {
            label for="token" { "Admin token" }
            input id="token" type="password" name="admin_token" required
                autocomplete="current-password" aria-describedby="how";
            p id="how" {
                "On the machine where your brain is, " code { "brain token admin" } " shows it."
            }
            button { "Sign in" }
        }
    };
    // The form must send its origin, which browsers leave out with `no-referrer`.
    respond(status, "Sign in", html! {}, body, "same-origin")
}

/// Makes the browser load `url` again, from this daemon.
pub(super) fn reload(url: &str) -> Response {
    let head = html! { meta http-equiv="refresh" content={ "0; url=" (Text(url)) }; };
    let body = html! { p { a href=(Text(url)) { "Go on to the page" } } };
    respond(StatusCode::OK, "One moment", head, body, "same-origin")
}

/// Says that there is no such page. `suggestions` are URLs and names of others.
pub(super) fn missing(
    status: StatusCode,
    message: &str,
    suggestions: &[(String, String)],
) -> Response {
    let body = html! {
        h1 { "No such page" }
        p class="notice" role="alert" { bdi { (Text(message)) } }
        @if !suggestions.is_empty() {
            p { "Perhaps one of these:" }
            ul {
                @for (url, name) in suggestions {
                    li { a href=(Text(url)) { bdi { (Text(name)) } } }
                }
            }
        }
    };
    respond(status, "No such page", html! {}, body, "no-referrer")
}

fn respond(
    status: StatusCode,
    title: &str,
    head: Markup,
    body: Markup,
    referrer: &'static str,
) -> Response {
    html::Page { status, style: &STYLE, title, head, body, referrer }.into_response()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::html::text_of;
    use brain_protocol::{Slug, SourceId};

    const EVIL: &str = "\"><script>alert('1')</script>";

    async fn assert_escaped(response: Response) {
        let shown = text_of(response).await;
        assert!(!shown.contains("<script") && !shown.contains("\"><s"), "{shown}");
        let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;";
        assert!(shown.contains(escaped), "{shown}");
    }

    #[tokio::test]
    async fn hostile_values_are_escaped_everywhere() {
        let whole = Page {
            slug: Slug::parse("a").unwrap(),
            source_id: SourceId::default(),
            title: EVIL.into(),
            page_type: EVIL.into(),
            tags: vec![EVIL.into()],
            body: EVIL.into(),
            source_kind: Some(EVIL.into()),
            source_uri: Some(format!("https://evil.example/{EVIL}")),
            aliases: Vec::new(),
            frontmatter: String::new(),
            content: EVIL.into(),
            content_hash: String::new(),
            chunks: 0,
            created_at: String::new(),
            updated_at: EVIL.into(),
            source_path: None,
            ingested_via: None,
            ingested_at: None,
            version: 1,
            trust: TrustLevel::Mixed,
            outside_lines: vec![MarkedLines {
                first: 1,
                last: 1,
                source_kind: EVIL.into(),
                source_uri: EVIL.into(),
                written_at: EVIL.into(),
            }],
        };
        assert_escaped(page(&whole, |_| Some(EVIL.into()))).await;
        assert_escaped(sign_in(StatusCode::OK, EVIL, None)).await;
        assert_escaped(sign_in(StatusCode::OK, "/", Some(EVIL))).await;
        assert_escaped(reload(EVIL)).await;
        assert_escaped(missing(StatusCode::OK, EVIL, &[])).await;
        let near = (EVIL.to_owned(), EVIL.to_owned());
        assert_escaped(missing(StatusCode::OK, "", &[near])).await;
    }

    #[test]
    fn a_heading_that_repeats_the_title_is_left_out() {
        assert_eq!(without_title("\n# Ada \ntext", "Ada"), "text");
        assert_eq!(without_title("# Ada", "Ada"), "");
        assert_eq!(without_title("# Ada L\ntext", "Ada"), "# Ada L\ntext");
        assert_eq!(without_title("## Ada\n", "Ada"), "## Ada\n");
    }
}
