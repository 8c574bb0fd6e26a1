//! The HTTP server: two listeners, authentication, and the routes.
//!
//! Handlers translate requests into operations of `Door` and replies into responses. The local
//! listener serves everything. The public listener, which a tunnel forwards to, serves no
//! administration, no metrics and no web interface (`brain_web`). Nothing here opens the store.
//! Responses are JSON, except pages for browsers.

mod admin;
mod auth;
mod body;
mod body_budget;
mod bookmarklet;
mod client_address;
mod client_stream;
mod completion_queue;
mod connection_limiter;
mod connection_state;
mod counters;
mod dispatch;
mod failure_limiter;
mod guard;
mod head;
mod health;
mod html;
mod http_error;
mod ingest;
mod item_body;
mod json_escape;
mod limits;
mod listeners;
mod mcp;
mod metrics;
mod oauth;
mod openapi;
mod page_api;
mod page_format;
mod quota;
mod request_body;
mod serve;
mod session;
mod session_store;
mod voice;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use brain_protocol::{Operation, Request};
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;

use brain_base::caller::Caller;
use brain_core::{Door, NoProgress};
use brain_mcp::HttpService;

pub(crate) use http_error::HttpError;
pub use listeners::Listeners;

use completion_queue::CompletionQueue;
use connection_limiter::ConnectionLimiter;
use counters::Counters;
use failure_limiter::FailureLimits;
use guard::Guard;
use health::HealthProbe;
use limits::RateLimits;
use quota::Quota;
use session_store::SessionStore;

/// Maximum number of concurrent conversions of text. Converting HTML uses up to a hundred times its
/// size in memory.
const MAX_CONVERSIONS: usize = 2;

/// One of the two listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The listener for this machine. It serves everything.
    Local,
    /// The listener that a tunnel forwards to.
    Public,
}

impl Side {
    /// Returns its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Public => "public",
        }
    }
}

/// The state that both listeners share.
pub struct HttpState {
    /// Checks the `Host` and `Origin` headers of requests.
    pub(crate) guard: Guard,
    /// Rate limits.
    pub(crate) limits: RateLimits,
    /// Daily quotas of clients.
    pub(crate) quota: Quota,
    /// The health of the store.
    pub(crate) health: HealthProbe,
    /// Counters for `/metrics`.
    pub(crate) counters: Counters,
    /// Permits for conversions of text.
    pub(crate) conversions: Semaphore,
    /// Memory for large MCP messages, in KB.
    pub(crate) large_messages: Semaphore,
    /// Delivers results of the store's writer to waiting requests.
    pub(crate) completions: CompletionQueue,
    /// The MCP service behind `/mcp`.
    pub(crate) tools: HttpService,
    /// The state of telephone calls.
    telephone: voice::Telephone,
    /// The connections of the local listener.
    local: Arc<ConnectionLimiter>,
    /// The connections of the public listener.
    public: Arc<ConnectionLimiter>,
}

impl HttpState {
    /// Creates the state from the configuration. Must be called in the runtime.
    pub(crate) fn new(brain: &Door, tools: HttpService) -> Self {
        let config = brain.config();
        Self {
            completions: CompletionQueue::start(),
            tools,
            telephone: voice::Telephone::default(),
            conversions: Semaphore::new(MAX_CONVERSIONS),
            large_messages: mcp::large_messages(),
            guard: Guard::new(config),
            limits: RateLimits::new(config.search.rate, config.ingest.rate),
            quota: Quota::new(config.ingest.daily_pages, config.ingest.daily_bytes),
            health: HealthProbe::new(brain),
            counters: Counters::default(),
            local: ConnectionLimiter::new(config.http.connections),
            public: ConnectionLimiter::new(config.http.connections),
        }
    }

    /// Returns the connection limiter of a listener.
    pub(crate) fn limiter(&self, side: Side) -> &Arc<ConnectionLimiter> {
        match side {
            Side::Local => &self.local,
            Side::Public => &self.public,
        }
    }
}

/// The state of every handler. One `Arc` holds all of it, because it is cloned for each request.
#[derive(Clone)]
pub(crate) struct AppState(Arc<AppStateInner>);

/// The content of [`AppState`].
pub(crate) struct AppStateInner {
    pub(crate) brain: Door,
    /// The listener.
    pub(crate) side: Side,
    /// Sessions of the owner's browsers.
    pub(crate) sessions: SessionStore,
    /// Limits on failed logins and tokens.
    pub(crate) failures: FailureLimits,
    /// The state that both listeners share.
    pub(crate) shared: Arc<HttpState>,
}

impl std::ops::Deref for AppState {
    type Target = AppStateInner;

    fn deref(&self) -> &AppStateInner {
        &self.0
    }
}

impl AppState {
    /// Runs an operation on a thread that may block, and returns its reply.
    ///
    /// # Errors
    /// The fault of the operation as an HTTP error.
    pub(crate) async fn run<O: Operation>(
        &self,
        caller: Caller,
        operation: O,
    ) -> Result<O::Reply, HttpError> {
        let request: Request = operation.into();
        let reply = self.block(move |brain| brain.answer(&caller, request, &NoProgress)).await??;
        Ok(O::read_reply(reply)?)
    }

    /// Runs `work` on a thread that may block.
    ///
    /// # Errors
    /// 500 if `work` panics.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Door) -> T + Send + 'static,
    ) -> Result<T, HttpError> {
        let brain = self.brain.clone();
        tokio::task::spawn_blocking(move || work(&brain)).await.map_err(|_| internal_error())
    }
}

/// Returns 500 for a panic, or for a reply of an unexpected type.
fn internal_error() -> HttpError {
    let message = "a defect in brain ended this request; the log of the daemon has the details; \
                   please report it";
    HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}

/// Returns the documented routes of a listener.
fn routes(side: Side) -> OpenApiRouter<AppState> {
    let common = OpenApiRouter::new()
        .merge(health::routes())
        .merge(ingest::routes())
        .merge(page_api::routes())
        .merge(oauth::routes());
    match side {
        Side::Local => common.merge(admin::routes()).merge(metrics::routes()),
        Side::Public => common,
    }
}

/// The routes of one listener with their state.
pub(crate) struct Application {
    app: AppState,
    router: Router,
    /// The paths of the router, by which requests are counted. The requested path itself is
    /// private.
    paths: matchit::Router<String>,
}

impl Application {
    /// Creates the application that `side` serves.
    pub(crate) fn new(brain: Door, side: Side, shared: Arc<HttpState>) -> Self {
        let (router, api) = routes(side).merge(voice::routes(&brain)).split_for_parts();
        let mut paths = matchit::Router::new();
        let served = api.paths.paths.keys().map(String::as_str).chain([openapi::PATH]);
        let pages: [&[&str]; 2] = match side {
            Side::Local => [brain_web::GET_PATHS, brain_web::POST_PATHS],
            Side::Public => [&[], &[]],
        };
        let clip = (side == Side::Local).then_some(bookmarklet::PATH);
        let subpaths = voice::subpaths(&brain).into_iter().chain(clip);
        let _ = paths.insert(page_api::PATH, page_api::DOCUMENTED_PATH.to_owned());
        for path in served.chain([mcp::PATH]).chain(subpaths).chain(pages.concat()) {
            // A path that cannot be inserted is counted as unmatched.
            let _ = paths.insert(path, path.to_owned());
        }
        // The OpenAPI document leaves out MCP, which describes itself, and pages for browsers.
        let router = router.merge(mcp::routes());
        let router = match side {
            Side::Local => router.merge(bookmarklet::routes()),
            Side::Public => router,
        };
        let web_interface = (side == Side::Local).then(|| brain_web::routes(&brain));
        let inner = AppStateInner {
            brain,
            side,
            sessions: SessionStore::default(),
            failures: FailureLimits::default(),
            shared,
        };
        let app = AppState(Arc::new(inner));
        let router = openapi::serve(router, api).with_state(app.clone());
        let browser =
            axum::middleware::from_fn_with_state(app.clone(), auth::use_browser_body_budget);
        let router = router.merge(web_interface.unwrap_or_default().layer(browser));
        Self { app, router, paths }
    }
}
