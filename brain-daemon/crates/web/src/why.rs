//! Where a page comes from: its life, and who wrote each paragraph.

use axum::extract::{Path, State};
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{Doer, LifeEvent, LifeStep, LineOrigin, PageRef, Why, WhyReply};
use maud::{Markup, html};

use crate::layout::{self, Screen};
use crate::page_path::{encoded_path, page_path, parse_page};
use crate::results::day;
use crate::session::Session;
use crate::text::Text;

/// The route of the screen.
pub(crate) const ROUTE: &str = "/web/why/{*name}";

/// `GET /web/why/{name}`: the page's life and the origin of its paragraphs.
pub(crate) async fn show(
    State(brain): State<Door>,
    Path(name): Path<String>,
    session: Session,
) -> Response {
    let work = async { session.run(&brain, Why { page: parse_page(&name)?, line: None }).await };
    match work.await {
        Ok(reply) => Screen::new(&session, "Where it comes from", screen(&reply)).respond(),
        Err(fault) => layout::fault(&session, &fault),
    }
}

fn screen(reply: &WhyReply) -> Markup {
    let name = PageRef::new(&reply.source_id, &reply.slug).to_string();
    html! {
        h1 { "Where " a href=(Text(&page_path(&name))) { (Text(reply.slug.as_str())) } " comes from" }
        @if reply.deleted { p { "The page is deleted. This is kept until it is purged." } }
        h2 { "Its life" }
        ul class="hits" { @for step in reply.steps.iter().rev() { (life(&name, step)) } }
        @if !reply.made.is_empty() {
            h2 { "Made from it" }
            ul { @for page in &reply.made { li { (link(&page.to_string())) } } }
        }
        h2 { "Who wrote which paragraph" }
        @let paragraphs = paragraphs(&reply.lines);
        @for (number, paragraph) in paragraphs.iter().enumerate() {
            @let former = number.checked_sub(1).and_then(|former| paragraphs[former].first());
            (with_origin(paragraph, former.map(|line| line.version)))
        }
    }
}

fn link(name: &str) -> Markup {
    html! { a href=(Text(&page_path(name))) { bdi { (Text(name)) } } }
}

fn life(name: &str, step: &LifeStep) -> Markup {
    let what = match step.event {
        LifeEvent::Moved => format!("moved to {}", step.slug),
        LifeEvent::TextKept => "another text was kept as a version".to_owned(),
        LifeEvent::FileReplaced => "its file was replaced".to_owned(),
        event => event.as_str().to_owned(),
    };
    html! {
        li {
            (when(&step.by)) " " bdi { (Text(&what)) } " by " bdi { (Text(&step.by.name())) } " "
            a href={ (Text(&encoded_path("/web/diff/", name))) "?to=" (step.version) } {
                "version " (step.version)
            }
            @if let (Some(added), Some(removed)) = (step.added, step.removed) {
                " " span class="added" { "+" (added) } " " span class="removed" { "−" (removed) }
            }
            @if !step.made_from.is_empty() {
                p class="facts" { "made from " bdi { (Text(&step.made_from.join(", "))) } }
            }
        }
    }
}

fn when(by: &Doer) -> Markup {
    html! {
        span class="facts" { (day(&by.at)) " " (Text(by.at.get(11..16).unwrap_or_default())) }
    }
}

/// Splits lines at empty ones, and where another change wrote them.
fn paragraphs(lines: &[LineOrigin]) -> Vec<&[LineOrigin]> {
    let is_one = |a: &LineOrigin, b: &LineOrigin| {
        a.version == b.version && !a.text.is_empty() && !b.text.is_empty()
    };
    let all = lines.chunk_by(is_one);
    all.filter(|lines| lines.iter().any(|line| !line.text.trim().is_empty())).collect()
}

/// One origin stands beside all paragraphs that follow each other and have it.
fn with_origin(lines: &[LineOrigin], former: Option<u32>) -> Markup {
    let first = lines.first();
    let is_same = first.map(|line| line.version) == former;
    html! {
        div class=(if is_same { "entry same" } else { "entry" }) {
            div class="date" {
                @if let (Some(LineOrigin { by, .. }), false) = (first, is_same) {
                    (when(by)) br; bdi { (Text(&by.name())) }
                }
            }
            p {
                @for (number, line) in lines.iter().enumerate() {
                    @if number > 0 { br; }
                    bdi { (Text(&line.text)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_ends_at_an_empty_line_and_at_another_author() {
        let line = |line, text: &str, version| LineOrigin {
            line,
            text: text.into(),
            version,
            by: Doer::default(),
        };
        let lines =
            [line(1, "a", 1), line(2, "b", 2), line(3, "c", 2), line(4, "", 2), line(5, "d", 2)];
        let found: Vec<Vec<&str>> = paragraphs(&lines)
            .into_iter()
            .map(|lines| lines.iter().map(|line| line.text.as_str()).collect())
            .collect();
        assert_eq!(found, [vec!["a"], vec!["b", "c"], vec!["d"]]);
    }
}
