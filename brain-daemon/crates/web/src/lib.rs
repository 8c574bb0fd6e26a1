//! The page in the owner's browser: search, read, write, and look after the brain.
//!
//! A door like the others: it translates requests of a browser into operations with a `Caller`, and
//! replies into HTML. It knows no store. Only the local listener serves it. Every screen works
//! without JavaScript; the modules in `assets/` make it faster. `docs/page.md` describes it.
//!
//! `session` decides who is signed in: a handler gets a caller only from its extractors, and those
//! for changes check the CSRF token and the origin. Text is escaped by its type ([`Text`]).

mod assets;
mod attachments;
mod changes;
mod history;
mod layout;
mod markdown;
mod operations;
mod page_path;
mod provenance;
mod reader;
mod results;
mod search;
mod session;
mod sign_in;
mod text;
mod timeline;
mod writer;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use brain_core::Brain;

pub use session::{SignedIn, signed_in};
pub use text::{Name, Text};

/// The paths that only read. With [`CHANGES`], requests are counted and audited by them.
pub const SCREENS: &[&str] = &[
    "/",
    "/open/{code}",
    page_path::ROUTE,
    "/web/results",
    "/web/history/{*name}",
    "/web/diff/{*name}",
    "/web/deleted",
    attachments::FILE,
    "/web/new",
    "/web/edit/{*name}",
    "/web/complete",
    timeline::PATH,
    "/web/status",
    "/web/queue",
    "/web/sources",
    "/web/access",
    "/web/audit",
    "/web/costs",
    "/web/backups",
    "/web/configuration",
    assets::ROUTE,
];

/// The paths that change something. Each needs the session's CSRF token.
pub const CHANGES: &[&str] = &[
    "/web/capture",
    "/web/delete/{*name}",
    "/web/restore/{*name}",
    "/web/revert/{*name}",
    "/web/trust/{*name}",
    attachments::ATTACH,
    "/web/save",
    "/web/preview",
    "/web/status/fix",
    "/web/queue/retry",
    "/web/sources/sync",
    "/web/access/token",
    "/web/access/revoke",
    "/web/access/browsers",
    "/web/sign-out",
];

/// Returns the routes for the local listener.
pub fn routes(brain: &Arc<Brain>) -> Router {
    Router::new()
        .route("/", get(search::home))
        .route("/open/{code}", get(sign_in::open))
        .route(page_path::ROUTE, get(reader::show))
        .route("/web/results", get(search::results))
        .route("/web/history/{*name}", get(history::list))
        .route("/web/diff/{*name}", get(history::diff))
        .route("/web/deleted", get(history::deleted))
        .route("/web/capture", post(changes::capture))
        .route("/web/delete/{*name}", post(changes::delete))
        .route("/web/restore/{*name}", post(changes::restore))
        .route("/web/revert/{*name}", post(changes::revert))
        .route("/web/trust/{*name}", post(changes::trust))
        .route("/web/sign-out", post(sign_in::sign_out))
        .route(attachments::FILE, get(attachments::show))
        .route("/web/new", get(writer::new))
        .route("/web/edit/{*name}", get(writer::edit))
        .route("/web/complete", get(search::complete))
        .route(timeline::PATH, get(timeline::show))
        .route("/web/save", post(writer::save))
        .route("/web/preview", post(writer::preview))
        .merge(operations::routes())
        .route(assets::ROUTE, get(assets::serve))
        .layer(DefaultBodyLimit::max(session::MAX_FORM))
        .route(
            attachments::ATTACH,
            post(attachments::attach).layer(DefaultBodyLimit::max(attachments::MAX_UPLOAD)),
        )
        .layer(from_fn_with_state(Arc::clone(brain), session::authenticate))
        .with_state(Arc::clone(brain))
}
