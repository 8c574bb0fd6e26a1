//! HTTP: two listeners, one router. Turns requests into what the brain is asked, says who asks, and turns answers back.
//!
//! The local listener serves everything; the public one, which a tunnel forwards, serves no administration and no
//! metrics. Nothing here opens the store, and every answer that is not a page for people is JSON.

mod admin;
mod answers;
mod auth;
mod bodies;
mod body;
mod clip;
mod count;
mod crowd;
mod document;
mod escape;
mod fault;
mod guard;
mod head;
mod health;
mod ingest;
mod limits;
mod listeners;
mod log;
mod mcp;
mod metrics;
mod oauth;
mod openapi;
mod page_view;
mod peer;
mod porter;
mod pulse;
mod quota;
mod serve;
mod session;
mod tries;
mod voice;
mod wire;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use brain_protocol::{Reply, Request};
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;

use brain_base::caller::Caller;
use brain_core::{Brain, Silent};
use brain_mcp::HttpService;

pub(crate) use fault::Refusal;
pub use listeners::Listeners;

use answers::Answers;
use count::Counts;
use crowd::Crowd;
use guard::Guard;
use health::Health;
use limits::Limits;
use quota::Quota;

/// How much text is converted at once. HTML takes up to a hundred times its size meanwhile.
const CONVERSIONS: usize = 2;

/// Which listener a request came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// For this machine: everything.
    Local,
    /// For a tunnel.
    Public,
}

impl Side {
    /// Its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Public => "public",
        }
    }
}

/// What both listeners share.
pub(crate) struct Room {
    /// Names and origins.
    pub(crate) guard: Guard,
    /// How often who may call.
    pub(crate) limits: Limits,
    /// How much a client may write in a day.
    pub(crate) quota: Quota,
    /// Whether the store answers.
    pub(crate) health: Health,
    /// What was counted.
    pub(crate) counts: Counts,
    /// For text that has to be converted before it can be kept: so many at once.
    pub(crate) conversions: Semaphore,
    /// Large messages of MCP: so much at once, in KB.
    pub(crate) large: Semaphore,
    /// Answers of the writer on their way to requests.
    pub(crate) answers: Answers,
    /// What stands behind `/mcp`.
    pub(crate) tools: HttpService,
    /// What is remembered of the telephone.
    telephone: voice::Telephone,
    local: Arc<Crowd>,
    public: Arc<Crowd>,
}

impl Room {
    /// As it is configured. To be called in the runtime.
    pub(crate) fn new(brain: &Arc<Brain>, tools: HttpService) -> Self {
        let config = brain.config();
        Self {
            answers: Answers::begin(),
            tools,
            telephone: voice::Telephone::default(),
            conversions: Semaphore::new(CONVERSIONS),
            large: mcp::large(),
            guard: Guard::new(config),
            limits: Limits::new(config.ingest_rate()),
            quota: Quota::new(config.ingest_daily_pages(), config.ingest_daily_bytes()),
            health: Health::new(brain),
            counts: Counts::default(),
            local: Crowd::new(config.http_connections()),
            public: Crowd::new(config.http_connections()),
        }
    }

    /// The connections of one side.
    pub(crate) fn crowd(&self, side: Side) -> &Arc<Crowd> {
        match side {
            Side::Local => &self.local,
            Side::Public => &self.public,
        }
    }
}

/// What every handler has at hand. One counter for all of it: a copy is made for each request, on every core.
#[derive(Clone)]
pub(crate) struct Desk(Arc<AtHand>);

/// What lies on the desk.
pub(crate) struct AtHand {
    /// The brain.
    pub(crate) brain: Arc<Brain>,
    /// The listener.
    pub(crate) side: Side,
    /// Sessions of the owner, and who tried too often.
    pub(crate) porter: porter::Porter,
    /// What both listeners share.
    pub(crate) room: Arc<Room>,
}

impl std::ops::Deref for Desk {
    type Target = AtHand;

    fn deref(&self) -> &AtHand {
        &self.0
    }
}

impl Desk {
    /// Lets the brain answer on a thread that may block.
    pub(crate) async fn ask(&self, caller: Caller, request: Request) -> Result<Reply, Refusal> {
        self.block(move |brain| brain.answer(&caller, request, &Silent))
            .await?
            .map_err(Refusal::from)
    }

    /// Runs `work` on a thread that may block.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Brain>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let brain = Arc::clone(&self.brain);
        tokio::task::spawn_blocking(move || work(&brain)).await.map_err(|_| defect())
    }
}

/// The refusal that nobody should see.
fn defect() -> Refusal {
    let message = "a defect in brain ended this request; the log of the daemon has the place; please report it";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}

/// Everything that is served on one side.
fn routes(side: Side) -> OpenApiRouter<Desk> {
    let common =
        OpenApiRouter::new().merge(health::routes()).merge(ingest::routes()).merge(oauth::routes());
    match side {
        Side::Local => common.merge(admin::routes()).merge(metrics::routes()),
        Side::Public => common,
    }
}

/// Everything that is served on one side, and what is noted about it.
pub(crate) struct Site {
    desk: Desk,
    router: Router,
    /// The paths of the router, for those who count: what a request asks for is somebody's text.
    paths: matchit::Router<String>,
}

impl Site {
    /// What `side` serves.
    pub(crate) fn new(brain: Arc<Brain>, side: Side, room: Arc<Room>) -> Self {
        let (router, api) = routes(side).merge(voice::routes(&brain)).split_for_parts();
        let mut paths = matchit::Router::new();
        let served = api.paths.paths.keys().map(String::as_str).chain([openapi::PATH]);
        let people = if side == Side::Local { &[clip::PATH, page_view::PATH][..] } else { &[] };
        let below = voice::below(&brain);
        for path in served.chain([mcp::PATH]).chain(below).chain(people.iter().copied()) {
            // One that is not counted by its name is counted among the others.
            let _ = paths.insert(path, path.to_owned());
        }
        // Neither MCP, which describes itself, nor pages for people are in the document about the interface.
        let router = router.merge(mcp::routes());
        let router = match side {
            Side::Local => router.merge(clip::routes()).merge(page_view::routes()),
            Side::Public => router,
        };
        let desk = Desk(Arc::new(AtHand { brain, side, porter: porter::Porter::default(), room }));
        let router = openapi::serve(router, api).with_state(desk.clone());
        Self { desk, router, paths }
    }
}
