//! `GET /clip`: the window that the bookmarklet of `docs/ingest.md` opens to save a web page.
//!
//! The content comes in the URL's fragment, which no server sees. Nothing is saved before the
//! owner confirms.

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::AppState;
use super::html::{policy, respond, source_hash};

/// The path of the page.
pub(super) const PATH: &str = "/clip";

const STYLE: &str = include_str!("bookmarklet.css");
const SCRIPT: &str = include_str!("bookmarklet.js");

/// Returns the route. The OpenAPI document leaves out pages for browsers.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, get(clip))
}

async fn clip() -> Response {
    // Allows only this page's own script and style, and calls to this daemon.
    let policy = policy(&format!(
        "connect-src 'self'; script-src {}; style-src {}; form-action 'none'",
        source_hash(SCRIPT),
        source_hash(STYLE)
    ));
    respond(StatusCode::OK, policy, "no-referrer", page())
}

fn page() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Keep in brain" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    form id="form" {
                        h1 id="title" {}
                        p id="url" {}
                        label { "What to keep" textarea id="text" rows="4" {} }
                        label id="ask" {
                            "Token, from " code { "brain token create browser --scope write" }
                            input id="token" type="password" autocomplete="off" spellcheck="false";
                        }
                        button id="keep" { "Keep" } " " span id="status" role="status" {}
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::html::body_text;

    #[tokio::test]
    async fn the_policy_allows_the_script_and_style_of_the_page() {
        let response = clip().await;
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        let page = body_text(response).await;
        for tag in ["script", "style"] {
            let (_, rest) = page.split_once(&format!("<{tag}>")).unwrap();
            let (inner, _) = rest.split_once(&format!("</{tag}>")).unwrap();
            assert!(policy.contains(&format!("{tag}-src {}", source_hash(inner))), "{policy}");
        }
    }
}
