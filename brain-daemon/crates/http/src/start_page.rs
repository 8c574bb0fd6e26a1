//! `GET /` on the local listener: what this daemon serves, for a browser.
//!
//! The page needs no sign-in, so it tells nothing about the brain's content.

use std::sync::LazyLock;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use brain_protocol::VERSION;
use maud::{Markup, html};

use super::html::{Page, Style};
use super::{AppState, bookmarklet, mcp, openapi};

/// The path.
pub(super) const PATH: &str = "/";

static STYLE: LazyLock<Style> =
    LazyLock::new(|| Style::new(include_str!("page_view/style.css"), "; form-action 'none'"));

/// Returns the route. The OpenAPI document leaves out pages for browsers.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, get(start_page))
}

async fn start_page() -> Response {
    Page {
        status: StatusCode::OK,
        style: &STYLE,
        title: "Your brain",
        head: html! {},
        body: body(),
        referrer: "no-referrer",
    }
    .into_response()
}

fn body() -> Markup {
    html! {
        h1 { "Your brain" }
        p {
            "brain " (VERSION) " runs on this machine. In a terminal, " code {
                "brain search WORDS" }
            " finds pages, and " code { "brain --help" } " lists all commands."
        }
        h2 { "In the browser" }
        ul {
            li { code { "/page/SLUG" } " shows a page, after you sign in with the admin token" }
            li { a href=(bookmarklet::PATH) { code { (bookmarklet::PATH) } } " keeps a text" }
        }
        h2 { "For scripts and phones" }
        ul {
            li { code { "GET /search?q=WORDS" } " finds pages" }
            li { code { "GET /pages/SLUG" } " reads a page, as JSON or markdown" }
            li { code { "POST /pages/SLUG/append" } " adds text to a page" }
            li { code { "POST /ingest" } " adds a page" }
        }
        p {
            "Each call needs a token: " code { "brain token create NAME --scope read" } ". "
            a href=(openapi::PATH) { code { (openapi::PATH) } } " describes every endpoint."
        }
        h2 { "For AI clients" }
        p {
            code { (mcp::PATH) } " speaks MCP. "
            code { "claude mcp add brain -- brain mcp" } " connects Claude Code."
        }
        h2 { "State" }
        p {
            a href="/health" { code { "/health" } } " says whether the daemon can answer, "
            a href="/metrics" { code { "/metrics" } } " has its counters, and "
            code { "brain status" } " shows the whole state."
        }
    }
}
