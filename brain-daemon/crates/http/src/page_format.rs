//! The form of answers about pages: JSON or markdown.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use brain_protocol::{Hit, Hits, TrustLevel};
use serde::Deserialize;
use utoipa::ToSchema;

/// The media type of pages.
const MARKDOWN: &str = "text/markdown";

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    /// An object.
    Json,
    /// Text.
    Md,
}

/// Returns the form that a request asks for: its parameter decides, else the first known media type
/// of `Accept`. JSON without either.
pub(super) fn format(parameter: Option<Format>, headers: &HeaderMap) -> Format {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format_of = |range: &str| match range.split(';').next().unwrap_or_default().trim() {
        MARKDOWN => Some(Format::Md),
        "application/json" => Some(Format::Json),
        _ => None,
    };
    parameter
        .or_else(|| accept.and_then(|ranges| ranges.split(',').find_map(format_of)))
        .unwrap_or(Format::Json)
}

pub(super) fn markdown(text: String) -> Response {
    let kind = HeaderValue::from_static("text/markdown; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// Returns search results as a markdown list. Text of pages is escaped, and text from outside is
/// marked.
pub(super) fn list(found: &Hits) -> String {
    let item = |hit: &Hit| {
        let outside = match hit.trust {
            TrustLevel::Outside => " (from outside)",
            TrustLevel::Owner | TrustLevel::Mixed => "",
        };
        let (title, passage) = (escape(&hit.title), escape(&hit.snippet));
        format!("- **{title}** `{}:{}`{outside}\n  {passage}\n", hit.source_id, hit.slug)
    };
    let mut text: String = found.hits.iter().map(item).collect();
    if text.is_empty() {
        text.push_str("No pages found.\n");
    }
    for line in [&found.note, &found.degraded].into_iter().flatten() {
        text.push_str(&format!("\n{}\n", escape(line)));
    }
    text
}

/// Escapes text for markdown, on one line.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' => escaped.extend(['\\', char]),
            char if char.is_control() => escaped.push(' '),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_or_else_accept_decides_the_format() {
        for (parameter, accept, expected) in [
            (None, "*/*", Format::Json),
            (None, "text/markdown", Format::Md),
            (None, "text/html, text/markdown;q=0.9, */*", Format::Md),
            (None, "application/json, text/markdown", Format::Json),
            (Some(Format::Json), "text/markdown", Format::Json),
            (Some(Format::Md), "application/json", Format::Md),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]);
            assert_eq!(format(parameter, &headers), expected, "{parameter:?} {accept}");
        }
        assert_eq!(format(None, &HeaderMap::new()), Format::Json);
    }

    #[test]
    fn markdown_of_pages_is_escaped_in_a_list() {
        assert_eq!(escape("a *b* <img>\n[x](y)"), "a \\*b\\* \\<img\\> \\[x\\](y)");
    }
}
