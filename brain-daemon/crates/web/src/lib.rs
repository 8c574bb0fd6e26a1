//! The web interface: searches, reads and writes pages, and administers the daemon.
//!
//! Like the other interfaces, it translates requests into operations with a `Caller`, and replies
//! into HTML. It does not access the store. Only the local listener serves it. Every screen works
//! without JavaScript; the modules in `assets/` make it faster to use. `docs/web.md` describes the
//! screens.
//!
//! `session` decides who is signed in: a handler receives a caller only from the extractors in
//! `extract`, and those for changes check the CSRF token and the origin. Text is escaped by its
//! type ([`Text`]).

mod ask;
mod assets;
mod attachments;
mod changes;
mod chart;
mod collector;
mod event_stream;
mod extract;
mod fields;
mod graph;
mod history;
mod import;
mod install;
mod layout;
mod live;
mod markdown;
mod mentions;
mod navigation;
mod neighbours;
mod operations;
mod origin;
mod page_path;
mod provenance;
mod reader;
mod results;
mod search;
mod search_query;
mod session;
mod share;
mod sign_in;
mod signed_out;
mod table;
mod text;
mod timeline;
mod why;
mod writer;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};
use brain_core::Door;

pub use session::{BrowserCaller, signed_in};
pub use text::{Name, Text};

/// The paths of `GET` requests. They change no page. Metrics and audit use these paths and
/// [`POST_PATHS`].
pub const GET_PATHS: &[&str] = &[
    "/",
    "/open/{code}",
    page_path::ROUTE,
    "/web/results",
    "/web/history/{*name}",
    "/web/diff/{*name}",
    why::ROUTE,
    "/web/deleted",
    attachments::FILE,
    "/web/new",
    "/web/edit/{*name}",
    "/web/complete",
    navigation::TIMELINE,
    navigation::GRAPH,
    graph::DATA,
    navigation::STATUS,
    "/web/queue",
    "/web/sources",
    "/web/access",
    "/web/audit",
    "/web/costs",
    "/web/backups",
    "/web/configuration",
    live::PATH,
    mentions::ROUTE,
    reader::links::ROUTE,
    install::MANIFEST,
    install::ICONS,
    share::SHARE,
    assets::ROUTE,
    navigation::COLLECTOR,
    collector::POST_PATH,
    import::PATH,
    import::FILE,
    import::REPORT,
    navigation::ASK,
    ask::IDEAS,
    ask::PAGE_TEXT,
];

/// The paths of `POST` requests. Each needs the session's CSRF token.
pub const POST_PATHS: &[&str] = &[
    "/web/capture",
    "/web/delete/{*name}",
    "/web/restore/{*name}",
    "/web/revert/{*name}",
    "/web/trust/{*name}",
    attachments::ATTACH,
    attachments::DETACH,
    "/web/save",
    "/web/preview",
    "/web/status/fix",
    "/web/queue/retry",
    "/web/sources/sync",
    "/web/access/token",
    "/web/access/revoke",
    "/web/access/browsers",
    "/web/today",
    "/web/fields",
    "/web/sign-out",
    collector::COLLECT,
    import::UPLOAD,
    import::RUN,
    import::DISCARD,
    import::UNDO,
    ask::ANSWER,
    ask::STREAM,
    ask::IDEAS_RUN,
    ask::IDEAS_STREAM,
    ask::PROMPTS,
];

/// Returns the routes for the local listener.
pub fn routes(brain: &Door) -> Router {
    Router::new()
        .route("/", get(search::home))
        .route("/open/{code}", get(sign_in::open))
        .route(page_path::ROUTE, get(reader::show))
        .route("/web/results", get(search::results))
        .route("/web/history/{*name}", get(history::list))
        .route("/web/diff/{*name}", get(history::diff))
        .route(why::ROUTE, get(why::show))
        .route("/web/deleted", get(history::deleted))
        .route("/web/capture", post(changes::capture))
        .route("/web/delete/{*name}", post(changes::delete))
        .route("/web/restore/{*name}", post(changes::restore))
        .route("/web/revert/{*name}", post(changes::revert))
        .route("/web/trust/{*name}", post(changes::trust))
        .route("/web/sign-out", post(sign_in::sign_out))
        .route(attachments::FILE, get(attachments::show))
        .route(attachments::DETACH, post(attachments::detach))
        .route("/web/new", get(writer::new))
        .route("/web/edit/{*name}", get(writer::edit))
        .route("/web/complete", get(search::complete))
        .route(navigation::TIMELINE, get(timeline::show))
        .route(navigation::GRAPH, get(graph::show))
        .route(graph::DATA, get(graph::data))
        .route("/web/save", post(writer::save))
        .route("/web/preview", post(writer::preview))
        .route(live::PATH, get(live::events))
        .route(mentions::ROUTE, get(mentions::show))
        .route(reader::links::ROUTE, get(reader::links::show))
        .route("/web/today", post(changes::today))
        .route("/web/fields", post(fields::apply))
        .route(share::SHARE, get(share::show))
        .merge(install::routes())
        .merge(operations::routes())
        .merge(collector::routes())
        .merge(ask::routes())
        .merge(import::routes())
        .route(assets::ROUTE, get(assets::serve))
        .layer(Extension(live::LiveStreams::new()))
        .layer(DefaultBodyLimit::max(extract::MAX_FORM))
        .route(
            attachments::ATTACH,
            post(attachments::attach).layer(DefaultBodyLimit::max(attachments::MAX_UPLOAD)),
        )
        .layer(from_fn_with_state(brain.clone(), session::authenticate))
        .with_state(brain.clone())
}
