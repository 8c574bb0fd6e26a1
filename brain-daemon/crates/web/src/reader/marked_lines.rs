//! Lists the lines of a page that others than the owner wrote.

use brain_protocol::{MarkedLines, Page};
use maud::{Markup, html};

use super::parts::PageView;
use crate::layout::csrf;
use crate::page_path::encoded_path;
use crate::session::Session;
use crate::text::Text;

/// Maximum number of shown places; a place has consecutive lines.
const MAX_MARKS: usize = 200;
/// Maximum length of the text of a place, in bytes.
const MAX_TEXT: usize = 10_000;

/// Shows the lines with a button that marks them as the owner's. In a page of several parts, the
/// lines are at the end of the last part, and the other parts link to them.
pub(super) fn section(
    session: &Session,
    name: &str,
    page: &Page,
    view: PageView,
    parts: usize,
) -> Markup {
    if page.outside_lines.is_empty() {
        return html! {};
    }
    if view.part < parts {
        let path = PageView { part: parts, ..view }.path(name);
        return html! {
            p class="notice" role="note" {
                "Others changed lines of this page. "
                a href={ (Text(&path)) "#others" } { "Show them" }
                " at the end of the last part."
            }
        };
    }
    let lines: Vec<&str> = page.content.lines().collect();
    let more = page.outside_lines.len().saturating_sub(MAX_MARKS);
    html! {
        section dir="auto" aria-labelledby="others" {
            h2 id="others" { "Lines by others" }
            p { "Others changed these lines. Check them before you rely on them." }
            @for mark in page.outside_lines.iter().take(MAX_MARKS) { (place(mark, &lines)) }
            @if more > 0 { p { (more) " more places are not listed." } }
            form method="post" action=(Text(&encoded_path("/web/trust/", name))) {
                (csrf(session))
                input type="hidden" name="version" value=(page.version);
                button { "I checked them: make them mine" }
            }
        }
    }
}

/// Shows the lines below the editor, which cannot mark them in the text itself. `text` is the text
/// of the version that is edited.
pub(crate) fn beside_editor(marks: &[MarkedLines], text: &str) -> Markup {
    if marks.is_empty() {
        return html! {};
    }
    let lines: Vec<&str> = text.lines().collect();
    let more = marks.len().saturating_sub(MAX_MARKS);
    html! {
        section dir="auto" aria-labelledby="others" {
            h2 id="others" { "Lines by others" }
            p {
                "You did not write these lines. They stay marked when you save, also if you change "
                "them. A button on the page makes them yours."
            }
            @for mark in marks.iter().take(MAX_MARKS) { (place(mark, &lines)) }
            @if more > 0 { p { (more) " more places are not listed." } }
        }
    }
}

/// Shows the lines of a place. `lines` are the lines of the whole page.
fn place(mark: &MarkedLines, lines: &[&str]) -> Markup {
    let first = (mark.first.saturating_sub(1) as usize).min(lines.len());
    let last = (mark.last as usize).clamp(first, lines.len());
    let text = lines.get(first..last).unwrap_or_default().join("\n");
    let shown = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
    html! {
        p {
            @if mark.first == mark.last { "Line " (mark.first) }
            @else { "Lines " (mark.first) "–" (mark.last) }
            ": " bdi { (Text(&mark.source_uri)) } ", "
            (Text(&mark.source_kind)) ", " (Text(&mark.written_at))
        }
        pre { (Text(shown)) @if shown.len() < text.len() { "…" } }
    }
}
