//! The collector: runs, rate limits, posts with their curves, topics, alerts and deletions.
//!
//! Names of accounts and texts of posts are from outside. They are escaped, and never rendered as
//! markdown.

mod post;
mod posts;
mod state;

use std::collections::HashMap;

use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{get, post};
use brain_base::clock::rfc3339;
use brain_core::{Door, NoProgress};
use brain_protocol::{
    AlertKind, CollectorAlerts, CollectorAlertsReply, CollectorCollect, CollectorCurve,
    CollectorDeletions, CollectorDeletionsReply, CollectorDigest, CollectorPeriod, CollectorRun,
    CollectorStatus, CollectorStatusReply, Digest, Fault, Snapshot,
};
use maud::{Markup, html};

use crate::extract::FormPost;
use crate::layout::{self, Screen};
use crate::navigation::COLLECTOR;
use crate::search_query::PERIODS;
use crate::session::{Session, block};

/// The route of a post with its curve.
pub(crate) const POST_PATH: &str = "/web/collector/post/{id}";
/// The path of the button that starts a run.
pub(crate) const COLLECT: &str = "/web/collector/collect";

/// Maximum number of posts on one screen.
const POSTS: u32 = 40;
/// Maximum numbers of alerts and of deletions on the screen.
const EVENTS: u32 = 20;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route(COLLECTOR, get(show))
        .route(POST_PATH, get(post::show))
        .route(COLLECT, post(collect))
}

/// The data that the screen shows.
struct ScreenData {
    status: CollectorStatusReply,
    digest: Digest,
    /// The snapshots of the digest's posts, by id.
    curves: HashMap<String, Vec<Snapshot>>,
    alerts: CollectorAlertsReply,
    deletions: CollectorDeletionsReply,
}

/// The posts that a URL selects.
struct PostSelection {
    /// A value of [`PERIODS`].
    period: &'static str,
    /// The length of the period.
    days: i64,
    /// The `next` of the previous part of the digest; `None` for the first part.
    after: Option<String>,
}

impl PostSelection {
    fn parse(query: &str) -> Self {
        let field = |name: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        let when = field("when").unwrap_or_default();
        let known = PERIODS.iter().find(|(value, _, _)| *value == when);
        let (period, _, days) = *known.unwrap_or(&PERIODS[1]);
        let after = field("after").filter(|after| !after.is_empty());
        Self { period, days, after }
    }
}

/// `GET /web/collector?when=week&after=…`
async fn show(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let selection = PostSelection::parse(uri.query().unwrap_or_default());
    respond(&brain, &session, &selection, None).await
}

/// `POST /web/collector/collect`: runs the collector once, and shows what it did.
async fn collect(State(brain): State<Door>, form_post: FormPost) -> Response {
    match form_post.session.run(&brain, CollectorCollect).await {
        Ok(run) => respond(&brain, &form_post.session, &PostSelection::parse(""), Some(&run)).await,
        Err(fault) => layout::fault(&form_post.session, &fault),
    }
}

async fn respond(
    brain: &Door,
    session: &Session,
    selection: &PostSelection,
    run: Option<&CollectorRun>,
) -> Response {
    let (reader, days, after) = (session.clone(), selection.days, selection.after.clone());
    let read = block(brain, move |brain| read(brain, &reader, days, after)).await;
    match read.and_then(|read| read) {
        Ok(data) => {
            let body = screen(session, selection, &data, run, brain.now());
            Screen { path: COLLECTOR, ..Screen::new(session, "Collector", body) }.respond()
        }
        Err(fault) => layout::fault(session, &fault),
    }
}

/// Reads everything that the screen shows. Blocks.
fn read(
    brain: &Door,
    session: &Session,
    days: i64,
    after: Option<String>,
) -> Result<ScreenData, Fault> {
    let caller = &session.caller;
    let status = brain.run(caller, CollectorStatus, &NoProgress)?;
    let since = Some(rfc3339(brain.now() - days * DAY_MS));
    let digest = CollectorDigest { since, limit: POSTS, after };
    let digest = brain.run(caller, digest, &NoProgress)?;
    let period = CollectorPeriod { since: None, limit: EVENTS };
    let alerts = CollectorAlerts { period: period.clone() };
    let alerts = brain.run(caller, alerts, &NoProgress)?;
    let deletions = brain.run(caller, CollectorDeletions { period }, &NoProgress)?;
    let mut curves = HashMap::new();
    for post in digest.authors.iter().flat_map(|author| &author.posts) {
        // A curve that cannot be read is omitted.
        if let Ok(curve) = brain.run(caller, CollectorCurve { id: post.id.clone() }, &NoProgress) {
            curves.insert(curve.id, curve.snapshots);
        }
    }
    Ok(ScreenData { status, digest, curves, alerts, deletions })
}

fn screen(
    session: &Session,
    selection: &PostSelection,
    data: &ScreenData,
    run: Option<&CollectorRun>,
    now: i64,
) -> Markup {
    let ScreenData { status, digest, curves, alerts, deletions } = data;
    let stored = status.stored.own + status.stored.mentions + status.stored.searches;
    html! {
        div class="full" {
            h1 { "Collector" }
            @if let Some(run) = run { (state::run_result(run)) }
            (state::state(session, status))
            @if stored > 0 || status.last_run.is_some() {
                nav class="chips" aria-label="On this screen" {
                    @for (id, name) in [
                        ("runs", "Runs"), ("posts", "Posts"), ("topics", "Topics"),
                        ("alerts", "Alerts"), ("deletions", "Deletions"),
                    ] { a class="chip" href={ "#" (id) } { (name) } }
                }
                (state::runs(status, now))
                (posts::fastest_growing(&status.movers))
                (posts::posts(selection.period, digest, curves))
                (posts::topics(&digest.topics))
                (posts::alerts(alerts))
                (posts::deletions(deletions))
            }
        }
    }
}

/// Returns the path of the screen of a post.
fn post_path(id: &str) -> String {
    let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    POST_PATH.replace("{id}", &id)
}

fn alert_words(kind: AlertKind, message: &str) -> String {
    if kind == AlertKind::Velocity
        && let [_, _, count, change, span] = message.splitn(5, ':').collect::<Vec<_>>()[..]
    {
        let (change, span) = (change.replace("->", " → "), span.replace("min", " minutes"));
        return format!("{count} {change} within {span}");
    }
    match kind {
        AlertKind::Deletion => "deleted on the platform".into(),
        _ => message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_described() {
        let line = "VELOCITY_ALERT:17:likes:60->500:30min";
        assert_eq!(alert_words(AlertKind::Velocity, line), "likes 60 → 500 within 30 minutes");
        assert_eq!(alert_words(AlertKind::Velocity, "odd"), "odd");
        assert_eq!(alert_words(AlertKind::Deletion, "DELETION:17"), "deleted on the platform");
        assert_eq!(alert_words(AlertKind::ReplyRatio, "many replies"), "many replies");
    }

    #[test]
    fn a_url_selects_a_period_and_a_part() {
        let selection = PostSelection::parse("when=day&after=17");
        assert_eq!(
            (selection.period, selection.days, selection.after.as_deref()),
            ("day", 1, Some("17"))
        );
        let selection = PostSelection::parse("when=%3Cb%3E&after=");
        assert_eq!((selection.period, selection.days, selection.after), ("week", 7, None));
        assert_eq!(post_path("1/../2"), "/web/collector/post/1%2F..%2F2");
    }
}
