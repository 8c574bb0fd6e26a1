//! Sentences about the origin of a page.

use brain_protocol::Page;
use maud::{Markup, html};

use crate::results::day;
use crate::text::Text;

/// Returns the sentences about a page's provenance.
pub(crate) fn sentences(page: &Page) -> Vec<Markup> {
    let mut sentences = vec![arrival(page)];
    if let Some(path) = &page.source_path {
        sentences.push(html! {
            "Its file is " code { (Text(path)) } " in the source " (Text(page.source_id.as_str()))
            "."
        });
    }
    sentences.push(html! {
        "Made on " (day(&page.created_at)) ", changed on " (day(&page.updated_at))
        ", version " (page.version) "."
    });
    sentences
}

/// Describes how and when the text of a page arrived.
fn arrival(page: &Page) -> Markup {
    let uri = page.source_uri.as_deref().unwrap_or_default();
    let kind = page.source_kind.as_deref().unwrap_or_default();
    let verb = match kind {
        "capture-cli" => "Captured",
        "put_page" => "Written",
        "sync" => "Read from a file",
        "import" | "import:others" => "Imported",
        "webhook" => "Received over HTTP",
        "mcp:put_page" => "Written by an AI client",
        "collector" => "Collected from X",
        "voice" => "Dictated on the telephone",
        "brainstorm" | "lsd" | "answer" => "Written by a language model",
        "" => "Stored",
        _ => "Received",
    };
    html! {
        (verb)
        @if let Some(at) = &page.ingested_at { " on " (day(at)) }
        (origin(kind, uri)) "."
    }
}

/// Describes where a text came from.
fn origin(kind: &str, uri: &str) -> Markup {
    let web = url::Url::parse(uri).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    if let Some(url) = web {
        return html! {
            ", from " a href=(Text(url.as_str())) rel="noopener noreferrer nofollow" {
                bdi { (Text(uri)) }
            }
        };
    }
    match uri {
        "" => html! {},
        "cli:argument" => html! { " on the command line" },
        "cli:stdin" => html! { " from standard input" },
        "cli:editor" => html! { " in an editor" },
        "cli:browser" => html! { " in the browser" },
        _ => match (uri.split_once(':'), kind) {
            (Some(("file", path)), _) => {
                html! { ", from " code { (Text(path.trim_start_matches("//"))) } }
            }
            (Some(("mcp", client)), _) => html! { ": " bdi { (Text(client)) } },
            (Some(("webhook", caller)), _) => {
                let name = caller.strip_prefix("token:").unwrap_or(caller);
                html! { ", with the token of " bdi { (Text(name)) } }
            }
            _ => html! { ", from " bdi { (Text(uri)) } },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_described() {
        assert_eq!(origin("put_page", "cli:browser").0, " in the browser");
        assert_eq!(
            origin("webhook", "webhook:token:phone").0,
            ", with the token of <bdi>phone</bdi>"
        );
        assert_eq!(origin("import", "file:///a/<b>.md").0, ", from <code>/a/&lt;b&gt;.md</code>");
        let script = origin("webhook", "javascript:alert(1)").0;
        assert_eq!(script, ", from <bdi>javascript:alert(1)</bdi>");
        assert!(origin("webhook", "https://e.example/<x>").0.contains("href=\"https://e.example/"));
    }
}
