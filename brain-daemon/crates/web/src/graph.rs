//! The graph: all pages, or those around one, as a drawing and as a table.

mod numbers;
mod selection;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use brain_base::clock::rfc3339;
use brain_core::Door;
use brain_protocol::{GraphLayout, GraphLayoutReply, LayoutNode, SourceId, TrustLevel};
use maud::{Markup, html};

use crate::layout::{self, Screen};
use crate::navigation::GRAPH;
use crate::page_path::page_path;
use crate::results::day;
use crate::session::Session;
use crate::text::Text;
use selection::Selection;

/// The path of the binary data for the drawing.
pub(crate) const DATA: &str = "/web/graph/data";
/// Maximum number of rows of the table on one screen.
const ROWS: u32 = 50;
/// Number of marks: pairs of a colour and a shape. If there are more types, all types after the
/// first seven share the last mark.
const MARKS: usize = 8;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns the path of the graph around the page `name`.
pub(crate) fn path_around(name: &str) -> String {
    Selection::around(name).path(GRAPH, 1)
}

/// `GET /web/graph?page=…&depth=N&source=…&type=…&tag=…&until=…&part=N`
pub(crate) async fn show(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let selection = Selection::parse(uri.query().unwrap_or_default());
    let work = async {
        let request = selection.request()?;
        let skip = (selection.part - 1) * ROWS;
        session.run(&brain, GraphLayout { limit: Some(ROWS), skip, ..request }).await
    };
    match work.await {
        Ok(reply) => {
            let body = screen(&selection, &reply);
            Screen { path: GRAPH, ..Screen::new(&session, "Graph", body) }.respond()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// `GET /web/graph/data` with the query of [`show`]: the pages and links as binary data, for
/// `assets/graph.js`.
pub(crate) async fn data(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let selection = Selection::parse(uri.query().unwrap_or_default());
    let work = async { session.run(&brain, selection.request()?).await };
    match work.await {
        Ok(reply) => layout::binary(numbers::encode(&reply)),
        Err(fault) => layout::fault(&session, &fault),
    }
}

fn screen(selection: &Selection, reply: &GraphLayoutReply) -> Markup {
    html! {
        div class="full graph" {
            h1 { "Graph" }
            @if !selection.page.is_empty() { (centre(selection)) }
            (filters(selection, reply))
            p class="count" {
                (reply.total) @if reply.total == 1 { " page" } @else { " pages" }
                @if reply.truncated { ", and more that are not shown" }
            }
            @if reply.total > 0 {
                div class="beside" {
                    (drawing(selection, reply))
                    div {
                        h2 id="pages-title" { "Most linked pages" }
                        (table(selection, reply))
                        (parts(selection, reply))
                    }
                }
            }
        }
    }
}

/// Shows the page in the centre of the graph, and links to other depths.
fn centre(selection: &Selection) -> Markup {
    html! {
        p class="row" {
            span { "Around " a href=(Text(&page_path(&selection.page))) {
                bdi { (Text(&selection.page)) } }
            }
            @for depth in 1..=3 {
                @let other = Selection { depth, ..selection.clone() };
                a class="chip" href=(Text(&other.path(GRAPH, 1)))
                    aria-current=[(depth == selection.depth).then_some("true")] {
                    @if depth == 1 { "1 step" } @else { (depth) " steps" }
                }
            }
            a href=(GRAPH) { "All pages" }
        }
    }
}

fn filters(selection: &Selection, reply: &GraphLayoutReply) -> Markup {
    let sources: Vec<&str> = reply.sources.iter().map(SourceId::as_str).collect();
    let types: Vec<&str> = reply.types.iter().map(String::as_str).collect();
    html! {
        form class="row filters" action=(GRAPH) {
            @if !selection.page.is_empty() {
                input type="hidden" name="page" value=(selection.page);
                input type="hidden" name="depth" value=(selection.depth);
            }
            (choice("Source", "source", &selection.source, &sources))
            (choice("Type", "type", &selection.page_type, &types))
            label { "Tag " input name="tag" value=(selection.tag) autocomplete="off"; }
            label { "Created until " input type="date" name="until" value=(selection.until); }
            button { "Show" }
        }
    }
}

fn choice(label: &str, name: &str, chosen: &str, values: &[&str]) -> Markup {
    html! {
        label {
            (label) " "
            select name=(name) {
                option value="" { "All" }
                @for value in values {
                    option value=(value) selected[*value == chosen] { (Text(value)) }
                }
                @if !chosen.is_empty() && !values.contains(&chosen) {
                    option value=(chosen) selected { (Text(chosen)) }
                }
            }
        }
    }
}

/// The section of the drawing. It is hidden until `assets/graph.js` fills and shows it.
fn drawing(selection: &Selection, reply: &GraphLayoutReply) -> Markup {
    html! {
        section id="graph" aria-labelledby="drawing-title" hidden
            data-from=(Text(&selection.path(DATA, 1)))
            data-centre=[Some(&selection.page).filter(|page| !page.is_empty())] {
            h2 id="drawing-title" class="hidden" { "Drawing" }
            div class="row" {
                label class="hidden" for="graph-find" { "Find in the drawing" }
                input id="graph-find" type="search" placeholder="Find in the drawing"
                    autocomplete="off" spellcheck="false";
                span class="row" {
                    button type="button" class="button" id="graph-in" aria-label="Zoom in" { "+" }
                    button type="button" class="button" id="graph-out" aria-label="Zoom out" {
                        "−"
                    }
                    button type="button" class="button" id="graph-fit" { "Show all" }
                }
            }
            div class="view" {
                canvas {}
                canvas id="graph-canvas" tabindex="0" role="application"
                    aria-label="Drawing of the graph. Arrows move it, plus and minus zoom, 0 shows \
                    all. The table has the same pages." {}
            }
            p id="graph-info" class="facts" { "Loading the drawing …" }
            p id="graph-found" class="hidden" role="status" {}
            div class="row" id="graph-time" {
                label for="graph-day" { "Created until" }
                input id="graph-day" type="range";
                output for="graph-day" {}
                button type="button" class="button" id="graph-play" { "Play" }
            }
            (legend(reply))
        }
    }
}

/// The marks of the types. Each is a button that hides and shows its type.
fn legend(reply: &GraphLayoutReply) -> Markup {
    let own = if reply.types.len() > MARKS { MARKS - 1 } else { reply.types.len() };
    let names = reply.types[..own].iter().map(String::as_str);
    let others = (own < reply.types.len()).then_some("other types");
    html! {
        ul class="legend" aria-label="Types" {
            @for (at, name) in names.chain(others).enumerate() {
                li {
                    button type="button" class="chip" aria-pressed="true" data-mark=(at) {
                        svg class={ "mark mark" (at) } viewBox="-8 -8 16 16" aria-hidden="true" {
                            path d=(SHAPES[at.min(MARKS - 1)]) {}
                        }
                        bdi { (Text(name)) } " " span class="number" {}
                    }
                }
            }
        }
    }
}

/// The shapes of the marks, as `assets/graph-view.js` draws them.
const SHAPES: [&str; MARKS] = [
    "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z",
    "M-5 -5h10v10h-10z",
    "M0 -7l7 7l-7 7l-7 -7z",
    "M0 -6l6.5 11h-13z",
    "M0 6l6.5 -11h-13z",
    "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
    "M-3 -6h6l3.5 6l-3.5 6h-6l-3.5 -6z",
    "M-6 -3h12v6h-12z",
];

fn table(selection: &Selection, reply: &GraphLayoutReply) -> Markup {
    html! {
        div class="wide" tabindex="0" role="region" aria-labelledby="pages-title" {
            table {
                thead { tr { th { "Links" } th { "Page" } th { "Type" } th { "Created" } } }
                tbody { @for node in &reply.nodes { (row(selection, reply, node)) } }
            }
        }
    }
}

fn row(selection: &Selection, reply: &GraphLayoutReply, node: &LayoutNode) -> Markup {
    let source = reply.sources.get(node.source as usize).map_or("", |source| source.as_str());
    let page_type = reply.types.get(node.page_type as usize).map_or("", String::as_str);
    let name = format!("{source}:{}", node.slug);
    html! {
        tr {
            td class="links" { (node.links) }
            td {
                a href=(Text(&page_path(&name))) { bdi { (Text(&node.title)) } }
                @if node.trust == TrustLevel::Outside {
                    " " span class="facts outside" { "from outside" }
                }
                @if name != selection.page {
                    " " a class="facts" href=(Text(&path_around(&name))) {
                        "around" span class="hidden" { " " (Text(&node.title)) }
                    }
                }
            }
            td { bdi { (Text(page_type)) } }
            td { (day(&rfc3339(i64::from(node.created_day) * DAY_MS))) }
        }
    }
}

/// Links to the other parts of the table, which is sorted by numbers of links.
fn parts(selection: &Selection, reply: &GraphLayoutReply) -> Markup {
    let shown = u64::from(selection.part) * u64::from(ROWS);
    html! {
        p class="row" {
            @if selection.part > 1 {
                a href=(Text(&selection.path(GRAPH, selection.part - 1))) { "More links" }
            }
            @if shown < reply.total {
                a href=(Text(&selection.path(GRAPH, selection.part + 1))) { "Fewer links" }
            }
        }
    }
}
