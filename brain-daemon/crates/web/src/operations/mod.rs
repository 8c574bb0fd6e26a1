//! The administration screens: status, deleted pages, queue, sources, access and records.

mod access;
mod queue;
mod records;
mod sources;
mod status;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use brain_core::Door;
use brain_protocol::Fault;
use maud::{Markup, html};

use crate::layout::{self, Screen};
use crate::navigation::{ADMINISTRATION, STATUS};
use crate::session::Session;

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route(STATUS, get(status::show))
        .route("/web/status/fix", post(status::fix))
        .route("/web/queue", get(queue::show))
        .route("/web/queue/retry", post(queue::retry))
        .route("/web/sources", get(sources::show))
        .route("/web/sources/sync", post(sources::sync))
        .route("/web/access", get(access::show))
        .route("/web/access/token", post(access::create_token))
        .route("/web/access/revoke", post(access::revoke))
        .route("/web/access/browsers", post(access::sign_out_all))
        .route("/web/audit", get(records::audit))
        .route("/web/costs", get(records::costs))
        .route("/web/backups", get(records::backups))
        .route("/web/configuration", get(records::configuration))
}

/// Shows a screen, or the fault.
pub(crate) fn respond(session: &Session, path: &str, body: Result<Markup, Fault>) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(fault) => return layout::fault(session, &fault),
    };
    let title =
        ADMINISTRATION.iter().find(|(known, _)| *known == path).map_or("Status", |(_, name)| name);
    let framed = html! {
        nav class="tabs" aria-label="Operations" {
            @for (target, name) in ADMINISTRATION {
                a href=(target) aria-current=[(target == path).then_some("page")] { (name) }
            }
        }
        div class="full" { h1 { (title) } (body) }
    };
    Screen { path: STATUS, ..Screen::new(session, title, framed) }.respond()
}
