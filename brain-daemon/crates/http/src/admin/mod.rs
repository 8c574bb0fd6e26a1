//! Administration over HTTP, on the local listener only: clients, tokens, audit, queue, status.
//!
//! Each handler translates its input into an operation, so HTTP and the client `brain` run the same
//! code.

mod clients;
mod login;
mod queue;
mod string_list;
mod tokens;

use utoipa_axum::router::OpenApiRouter;

use super::AppState;
use super::http_error::ErrorBody;
use super::openapi::{self, JSON, error_responses};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    let owner = clients::routes().merge(tokens::routes()).merge(queue::routes());
    let routes = openapi::group("admin", Some("bearer"), owner);
    routes.merge(openapi::group("admin", None, login::routes()))
}

error_responses! {
    AdminErrors: ErrorBody, JSON => {
        "400": "Invalid request; the message names the field",
        "401": "No valid admin token and no session",
        "403": "The token lacks the scope, or the CSRF token is missing",
        "404": "Not found",
        "409": "Conflict with something that exists",
        "413": "The body is too large",
        "415": "The body is not JSON",
        "429": "Too many attempts",
        "500": "A defect, or the store failed",
        "503": "The disk is full, or the daemon is stopping",
        "504": "Timeout",
    }
}
