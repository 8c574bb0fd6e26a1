//! The pages linked with a page, as a small drawing.

use std::collections::HashMap;

use brain_core::{FirstOf, LinkedPage};
use maud::{Markup, html};

use crate::graph;
use crate::page_path::page_path;
use crate::text::Text;

/// Maximum number of drawn neighbours.
const MAX_DRAWN: usize = 12;
/// The width of the drawing.
const WIDTH: usize = 320;
/// The height of a row.
const ROW: usize = 22;
/// Positions of the page and of its neighbours, from the left.
const PAGE_X: usize = 14;
const NEIGHBOUR_X: usize = 66;
/// Maximum width of a title, in narrow characters; a wide character counts as two.
const MAX_TITLE_WIDTH: usize = 30;

/// A page that links to the shown page or is linked from it.
struct NeighbourPage<'a> {
    path: String,
    title: &'a str,
    /// Whether the page links to the neighbour.
    is_linked: bool,
    /// Whether the neighbour links to the page.
    links_here: bool,
}

impl NeighbourPage<'_> {
    fn relation(&self) -> &'static str {
        match (self.is_linked, self.links_here) {
            (true, true) => "linked both ways",
            (true, false) => "this page links to it",
            (false, _) => "links to this page",
        }
    }
}

/// Draws the neighbours of the page `name`; nothing if it has none.
pub(crate) fn drawing(
    name: &str,
    linked: &FirstOf<LinkedPage>,
    backlinks: &FirstOf<LinkedPage>,
) -> Markup {
    let all = neighbours(name, &linked.items, &backlinks.items);
    let has_more = linked.has_more || backlinks.has_more;
    let drawn = &all[..all.len().min(MAX_DRAWN)];
    let height = drawn.len() * ROW + 4;
    let around = graph::path_around(name);
    html! {
        @if !all.is_empty() {
            section aria-labelledby="neighbours" {
                h2 id="neighbours" { "Neighbours" }
                svg class="neighbours" viewBox={ "0 0 " (WIDTH) " " (height) } {
                    @for (at, _) in drawn.iter().enumerate() { (line(at, height)) }
                    circle class="centre" cx=(PAGE_X) cy=(height / 2) r="7" {}
                    @for (at, neighbour) in drawn.iter().enumerate() {
                        (node(neighbour, at * ROW + ROW / 2 + 2))
                    }
                }
                p class="facts" {
                    span aria-hidden="true" { "● this page links to it · ○ it links here. " }
                    @if has_more { "More are not drawn. " }
                    @else if all.len() > drawn.len() { (all.len() - drawn.len()) " more. " }
                    a href=(Text(&around)) { "Larger graph" }
                }
            }
        }
    }
}

/// Returns the linked pages, each once; first those that are linked both ways.
fn neighbours<'a>(
    name: &str,
    linked: &'a [LinkedPage],
    backlinks: &'a [LinkedPage],
) -> Vec<NeighbourPage<'a>> {
    let own = page_path(name);
    let (mut all, mut position) = (Vec::<NeighbourPage<'a>>::new(), HashMap::new());
    let rows = linked.iter().map(|row| (row, true)).chain(backlinks.iter().map(|row| (row, false)));
    for (row, is_linked) in rows {
        let path = page_path(&row.page.to_string());
        if path == own {
            continue;
        }
        let at = *position.entry(path.clone()).or_insert_with(|| {
            let title = &row.title;
            all.push(NeighbourPage { path, title, is_linked: false, links_here: false });
            all.len() - 1
        });
        all[at].is_linked |= is_linked;
        all[at].links_here |= !is_linked;
    }
    all.sort_by_key(|neighbour| !(neighbour.is_linked && neighbour.links_here));
    all
}

/// Draws the line to the neighbour of a row.
fn line(row: usize, height: usize) -> Markup {
    let (from, to, bend) = (height / 2, row * ROW + ROW / 2 + 2, (PAGE_X + NEIGHBOUR_X) / 2);
    let path = format!("M{PAGE_X} {from}C{bend} {from} {bend} {to} {NEIGHBOUR_X} {to}");
    html! { path class="line" d=(path) {} }
}

/// Draws a neighbour: a circle and the title, as a link.
fn node(neighbour: &NeighbourPage<'_>, y: usize) -> Markup {
    let kind = if neighbour.is_linked { "linked" } else { "linking" };
    let label = format!("{} ({})", neighbour.title, neighbour.relation());
    let shown = shortened(neighbour.title);
    html! {
        a href=(Text(&neighbour.path)) aria-label=(Text(&label)) {
            circle class=(kind) cx=(NEIGHBOUR_X) cy=(y) r="4.5" {}
            text x=(NEIGHBOUR_X + 10) y=(y + 4) {
                (Text(&shown))
                @if shown.len() < neighbour.title.len() { tspan aria-hidden="true" { "…" } }
            }
        }
    }
}

fn shortened(title: &str) -> String {
    let mut width = 0;
    let mut out = String::new();
    for char in title.chars() {
        width += if char > '\u{2E7F}' { 2 } else { 1 };
        if width > MAX_TITLE_WIDTH {
            return out.trim_end().to_owned();
        }
        out.push(char);
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{PageRef, Slug, SourceId};

    use super::*;

    fn row(slug: &str, title: &str) -> LinkedPage {
        LinkedPage {
            page: PageRef::new(&SourceId::default(), &Slug::parse(slug).unwrap()),
            title: title.to_owned(),
            kind: "mentions".to_owned(),
            sentence: None,
        }
    }

    fn all(rows: &[LinkedPage]) -> FirstOf<LinkedPage> {
        FirstOf { items: rows.to_vec(), has_more: false }
    }

    #[test]
    fn each_neighbour_is_drawn_once_and_escaped() {
        let linked = [row("b", "B"), row("a", "Self"), row("c", "<script>&"), row("b", "B")];
        let backlinks = [row("c", "<script>&"), row("d", "D")];
        let shown = drawing("default:a", &all(&linked), &all(&backlinks)).0;
        assert_eq!(shown.matches("<a href=\"/page/").count(), 3, "{shown}");
        let (first, _) = shown.split_once("/page/default:b").unwrap_or_default();
        assert!(first.contains("/page/default:c"), "linked both ways, so first: {shown}");
        assert!(shown.contains("&lt;script&gt;&amp; (linked both ways)"), "{shown}");
        assert!(!shown.contains("<script") && !shown.contains("Self"), "{shown}");
        assert_eq!(drawing("default:a", &all(&linked[1..2]), &all(&[])).0, "");
    }

    #[test]
    fn many_neighbours_are_counted() {
        let linked: Vec<LinkedPage> = (0..30).map(|at| row(&format!("p{at}"), "A title")).collect();
        let shown = drawing("default:a", &all(&linked), &all(&[])).0;
        assert_eq!(shown.matches("<circle class=\"linked\"").count(), MAX_DRAWN, "{shown}");
        assert!(shown.contains("18 more. "), "{shown}");
        let first = FirstOf { items: linked, has_more: true };
        assert!(drawing("default:a", &first, &all(&[])).0.contains("More are not drawn. "));
        assert_eq!(shortened(&"日本".repeat(20)).chars().count(), 15);
        assert_eq!(shortened("A short title"), "A short title");
    }
}
