//! The navigation: the screens with their paths, as links and as a list to choose from.

use maud::{Markup, html};

/// The path of the graph.
pub(crate) const GRAPH: &str = "/web/graph";
/// The path of the timeline.
pub(crate) const TIMELINE: &str = "/web/timeline";
/// The path of the form for questions.
pub(crate) const ASK: &str = "/web/ask";
/// The path of the collector's screen.
pub(crate) const COLLECTOR: &str = "/web/collector";
/// The path of the first administration screen.
pub(crate) const STATUS: &str = "/web/status";

/// The screens in the navigation: path and name.
const NAVIGATION: [(&str, &str); 7] = [
    ("/", "Search"),
    ("/web/new", "New"),
    (GRAPH, "Graph"),
    (TIMELINE, "Timeline"),
    (ASK, "Ask"),
    (COLLECTOR, "Collector"),
    (STATUS, "Status"),
];

/// The administration screens: path and name.
pub(crate) const ADMINISTRATION: [(&str, &str); 10] = [
    (STATUS, "Status"),
    ("/web/deleted", "Deleted"),
    ("/web/queue", "Queue"),
    ("/web/sources", "Sources"),
    ("/web/import", "Import"),
    ("/web/access", "Access"),
    ("/web/audit", "Audit"),
    ("/web/costs", "Costs"),
    ("/web/backups", "Backups"),
    ("/web/configuration", "Configuration"),
];

/// The links to the screens. In a narrow window, the button "Menu" shows them.
pub(crate) fn links(path: &str) -> Markup {
    html! {
        nav id="menu" popover aria-label="Screens" {
            @for (target, name) in NAVIGATION {
                a href=(target) id=[(target == "/web/new").then_some("new")]
                    aria-current=[(target == path).then_some("page")] {
                    (name)
                }
            }
        }
    }
}

/// The list of pages and actions, which `assets/palette.js` opens and fills.
pub(crate) fn palette() -> Markup {
    let screens = NAVIGATION.into_iter().chain(ADMINISTRATION);
    let mut screens: Vec<(&str, &str)> = screens.collect();
    let mut paths = std::collections::HashSet::new();
    screens.retain(|(path, _)| paths.insert(*path));
    html! {
        dialog id="palette" aria-label="Go to a page or an action" {
            input id="palette-text" type="text" role="combobox" aria-expanded="true"
                aria-controls="palette-list" aria-autocomplete="list" autocomplete="off"
                spellcheck="false" aria-label="Page or action" placeholder="Page or action";
            ul id="palette-list" role="listbox" aria-label="Pages and actions" {
                @for (path, name) in screens {
                    li role="option" data-href=(path) { (name) }
                }
                li role="option" data-action="capture" { "Capture a thought" }
                li role="option" data-action="today" { "Today’s note" }
                li role="option" data-action="edit" { "Edit this page" }
                li role="option" data-action="history" { "Versions of this page" }
                li role="option" data-action="keys" { "Keys" }
                li role="option" data-action="sign-out" { "Sign out" }
            }
            p id="palette-count" class="hidden" role="status" {}
        }
    }
}
