//! An answer as HTML: its text with citations, what is not known, sources and costs.

use brain_protocol::{AskReply, Citation, SourceId, usd};
use maud::{Markup, html};

use super::{PAGE_TEXT, cost_view};
use crate::page_path::{encoded_path, page_path};
use crate::results::hit_row;
use crate::text::Text;

/// Shows what a question can cost at most.
pub(super) fn estimate_view(reply: &AskReply, limit: Option<u64>) -> Markup {
    let pages = reply.passages.len();
    let highest = reply.cost.estimated;
    html! {
        @match &reply.model {
            Some(model) => {
                p class="estimate" {
                    bdi { (Text(model)) } " reads " (pages)
                    @if pages == 1 { " page" } @else { " pages" }
                    @if highest == 0 { ". No price is configured." }
                    @else { ". The answer costs at most $" (usd(highest)) "." }
                    @if let Some(limit) = limit {
                        " The budget is $" (usd(limit)) "."
                        @if highest > limit { " " strong { "That is not enough." } }
                    }
                }
            }
            None => {
                p class="estimate" {
                    "It costs nothing."
                    @if let Some(hint) = &reply.hint { " " bdi { (Text(&hint.to_string())) } "." }
                }
            }
        }
    }
}

/// Shows an answer; without a language model, the passages.
pub(super) fn answer_view(reply: &AskReply) -> Markup {
    html! {
        section aria-labelledby="answer-title" {
            h2 id="answer-title" tabindex="-1" {
                @if reply.answer.is_some() { "Answer" } @else { "Passages" }
            }
            @if let Some(hint) = &reply.hint {
                p class={ "notice" @if reply.partial { " bad" } } role="note" {
                    bdi { (Text(&hint.to_string())) }
                }
            }
            @if let Some(reason) = &reply.degraded { p class="notice" { (Text(reason)) } }
            @if let Some(text) = &reply.answer { (prose(text, &reply.citations)) }
            @if let Some(unknown) = &reply.unknown {
                p { strong { "Not known: " } bdi { (Text(unknown)) } }
            }
            @if reply.cost.calls > 0 {
                p class="facts" {
                    "Written by " bdi { (Text(reply.model.as_deref().unwrap_or("a model"))) }
                    " from your pages: check what matters. "
                    (cost_view(
                        reply.cost.actual,
                        reply.cost.estimated,
                        reply.cost.tokens_in.saturating_add(reply.cost.tokens_out),
                    ))
                    "."
                }
            }
            (sources(&reply.citations))
            (passages(reply))
        }
    }
}

/// Shows text in paragraphs, with links at its citations.
fn prose(text: &str, citations: &[Citation]) -> Markup {
    html! {
        div class="prose" dir="auto" {
            @for paragraph in text.split("\n\n").filter(|text| !text.trim().is_empty()) {
                p { (link_citations(paragraph, citations)) }
            }
        }
    }
}

/// Links the numbers in marks like `[1]` and `[2, 5]`.
fn link_citations(text: &str, citations: &[Citation]) -> Markup {
    let mut parts: Vec<Markup> = Vec::new();
    let mut rest = text;
    while let Some((before, mark, after)) = next_mark(rest) {
        parts.push(html! { (Text(before)) });
        parts.push(link_numbers(mark, citations));
        rest = after;
    }
    html! { @for part in &parts { (part) } (Text(rest)) }
}

/// Splits the text at its first mark: the text before, the mark, the text after.
fn next_mark(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find('[')?;
        let end = start + text.get(start..)?.find(']')? + 1;
        let inside = text.get(start + 1..end - 1)?;
        let is_mark = inside.starts_with(|c: char| c.is_ascii_digit())
            && inside.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | ' ' | '-' | '–'));
        if is_mark {
            return Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?));
        }
        from = start + 1;
    }
}

/// Shows a mark with its numbers as links.
fn link_numbers(mark: &str, citations: &[Citation]) -> Markup {
    let mut parts: Vec<Markup> = Vec::new();
    let mut rest = mark;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        let parsed = number.parse().ok();
        let citation = citations.iter().find(|citation| Some(citation.number) == parsed);
        parts.push(html! {
            (Text(before))
            @match citation {
                Some(citation) => (link(citation, &html! { (number) })),
                None => (Text(number)),
            }
        });
        rest = after;
    }
    html! { @for part in &parts { (part) } (Text(rest)) }
}

fn link(citation: &Citation, content: &Markup) -> Markup {
    let name = format!("{}:{}", citation.source_id, citation.slug);
    let part = encoded_path(PAGE_TEXT.trim_end_matches("{*name}"), &name);
    html! {
        a href=(Text(&page_path(&name))) data-part=(Text(&part)) title=(Text(&citation.title)) {
            (content)
        }
    }
}

fn sources(citations: &[Citation]) -> Markup {
    html! {
        @if !citations.is_empty() {
            h3 { "Sources" }
            ol class="sources" {
                @for citation in citations {
                    li value=(citation.number) {
                        (link(citation, &html! { bdi { (Text(&citation.title)) } }))
                        " " span class="facts" {
                            (Text(citation.slug.as_str())) ", line " (citation.line)
                        }
                    }
                }
            }
        }
    }
}

fn passages(reply: &AskReply) -> Markup {
    let default = SourceId::default();
    let list = html! {
        ol class="hits" { @for hit in &reply.passages { (hit_row(default.as_str(), hit)) } }
    };
    html! {
        @if reply.passages.is_empty() {}
        @else if reply.answer.is_none() { (list) }
        @else {
            details {
                summary { "What was read (" (reply.passages.len()) ")" }
                (list)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::Slug;

    use super::*;

    fn citation(number: u32) -> Citation {
        Citation {
            number,
            slug: Slug::parse("people/ada").unwrap(),
            source_id: SourceId::default(),
            title: "\"><script>".into(),
            line: 3,
        }
    }

    #[test]
    fn citations_are_links_and_other_brackets_are_text() {
        let shown =
            link_citations("Ada [1], [2, 5] and [x] <b> [ [1-2]", &[citation(1), citation(5)]).0;
        assert_eq!(shown.matches("<a href=\"/page/default:people/ada\"").count(), 3, "{shown}");
        assert!(shown.contains("data-part=\"/web/part/default:people/ada\""), "{shown}");
        assert!(
            shown.contains("[2, <a ") && shown.contains(" and [x] &lt;b&gt; [ [<a "),
            "{shown}"
        );
        assert!(shown.ends_with(">1</a>-2]") && !shown.contains("<script"), "{shown}");
        assert_eq!(link_citations("no [marks", &[]).0, "no [marks");
        assert_eq!(link_citations("[é] [1", &[citation(1)]).0, "[é] [1");
    }
}
