//! The page for browsers that are not signed in.

use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use brain_protocol::VERSION;
use maud::{Markup, html};

use crate::layout;
use crate::origin::is_cross_site;
use crate::share::SHARE;
use crate::text::Text;

/// The query that marks a reloaded URL, so that it is reloaded only once.
const RELOADED: &str = "again";

/// Returns the page for browsers that are not signed in. It reveals nothing about the content.
///
/// Browsers omit the cookie if another site caused the request. Then a page of this origin reloads
/// the URL once.
pub(crate) fn signed_out(headers: &HeaderMap, uri: &Uri) -> Response {
    if is_cross_site(headers) {
        match uri.query() {
            None => return refresh_to(&format!("{}?{RELOADED}", uri.path())),
            // The query contains what another app shares.
            Some(query) if uri.path() == SHARE && !query.ends_with(RELOADED) => {
                return refresh_to(&format!("{}?{query}&{RELOADED}", uri.path()));
            }
            Some(_) => {}
        }
    }
    // Everyone on this machine may load the start page.
    let status = match uri.path() {
        "/" => StatusCode::OK,
        _ => StatusCode::UNAUTHORIZED,
    };
    layout::bare(status, "Your brain", &html! {}, &welcome())
}

/// Makes the browser load `path` from a page of this origin.
pub(crate) fn refresh_to(path: &str) -> Response {
    let head = html! { meta http-equiv="refresh" content={ "0; url=" (Text(path)) }; };
    let body = html! { p { a href=(Text(path)) { "Go on" } } };
    layout::bare(StatusCode::OK, "One moment", &head, &body)
}

fn welcome() -> Markup {
    html! {
        h1 { "Your brain" }
        p class="lead" { "This browser is not signed in. In a terminal on this machine, run:" }
        pre { code { "brain open" } }
        p { code { "brain --help" } " lists all commands." }
        p {
            code { "brain open --print" } " prints an address instead, for a browser at the other "
            "end of " code { "ssh -L 3131:127.0.0.1:3131" } "."
        }
        h2 { "For scripts and phones" }
        ul {
            li { code { "GET /search?q=WORDS" } " finds pages" }
            li { code { "GET /pages/SLUG" } " reads a page, as JSON or markdown" }
            li { code { "POST /pages/SLUG/append" } " adds text to a page" }
            li { code { "POST /ingest" } " adds a page" }
            li { a href="/clip" { code { "/clip" } } " is the window of the bookmarklet" }
        }
        p {
            "Each call needs a token: " code { "brain token create NAME --scope read" } ". "
            a href="/openapi.json" { code { "/openapi.json" } } " describes every endpoint."
        }
        h2 { "For AI clients" }
        p {
            code { "/mcp" } " speaks MCP. "
            code { "claude mcp add brain -- brain mcp" } " connects Claude Code."
        }
        h2 { "State" }
        p {
            "brain " (VERSION) ". "
            a href="/health" { code { "/health" } } " says whether the daemon can answer, "
            a href="/metrics" { code { "/metrics" } } " has its counters."
        }
    }
}
