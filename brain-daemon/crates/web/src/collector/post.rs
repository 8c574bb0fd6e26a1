//! `GET /web/collector/post/{id}`: a post with its counts over time, its alerts and its deletion.

use axum::extract::{Path, State};
use axum::response::Response;
use brain_core::{Door, NoProgress};
use brain_protocol::{
    Alert, AlertKind, CollectorAlerts, CollectorCurve, CollectorDeletions, CollectorPeriod,
    CollectorStatus, Curve, Deletion, Fault,
};
use maud::{Markup, html};

use super::{alert_words, posts};
use crate::chart::{CurveMark, curves};
use crate::layout::{self, Screen};
use crate::navigation::COLLECTOR;
use crate::session::{Session, block};
use crate::table::text;
use crate::text::Text;

/// The number of the newest alerts, and of deletions, among which the post's are searched.
const EVENTS: u32 = 1000;

/// A post and its events.
struct Post {
    curve: Curve,
    /// Oldest first.
    alerts: Vec<Alert>,
    deletion: Option<Deletion>,
    /// Whether the collected account wrote it.
    is_own: bool,
}

/// `GET /web/collector/post/{id}`
pub(super) async fn show(
    State(brain): State<Door>,
    Path(id): Path<String>,
    session: Session,
) -> Response {
    let reader = session.clone();
    let read = block(&brain, move |brain| read(brain, &reader, id)).await;
    match read.and_then(|read| read) {
        Ok(post) => {
            let title = format!("Post {}", post.curve.id);
            Screen { path: COLLECTOR, ..Screen::new(&session, &title, screen(&post)) }.respond()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// Reads the post and its events. Blocks.
fn read(brain: &Door, session: &Session, id: String) -> Result<Post, Fault> {
    let caller = &session.caller;
    let curve = brain.run(caller, CollectorCurve { id }, &NoProgress)?;
    let period = CollectorPeriod { since: None, limit: EVENTS };
    let alerts = CollectorAlerts { period: period.clone() };
    let mut alerts = brain.run(caller, alerts, &NoProgress)?.alerts;
    alerts.retain(|alert| alert.id == curve.id);
    alerts.reverse();
    let deletions = brain.run(caller, CollectorDeletions { period }, &NoProgress)?.deletions;
    let deletion = deletions.into_iter().find(|deletion| deletion.id == curve.id);
    let handle = brain.run(caller, CollectorStatus, &NoProgress)?.handle;
    let is_own = handle.is_some_and(|handle| handle.eq_ignore_ascii_case(&curve.author));
    Ok(Post { curve, alerts, deletion, is_own })
}

fn screen(post: &Post) -> Markup {
    let Post { curve, alerts, deletion, is_own } = post;
    let marks: Vec<CurveMark> = alerts
        .iter()
        .map(|alert| CurveMark {
            at: alert.at.clone(),
            label: alert_words(alert.kind, &alert.message),
            is_deletion: alert.kind == AlertKind::Deletion,
        })
        .collect();
    html! {
        div class="full" {
            p { a href=(COLLECTOR) { "Collector" } }
            h1 {
                "Post"
                @if !curve.author.is_empty() { " of @" (text(&curve.author)) }
            }
            p class="facts" { "id " (Text(&curve.id)) }
            @if let Some(it) = deletion {
                div class="notice bad" role="note" {
                    p { strong { "This post was deleted on the platform." } }
                    (posts::deletion(it))
                }
            } @else if !curve.preview.is_empty() {
                blockquote class="post" dir="auto" { (Text(&curve.preview)) }
                p class="facts" {
                    "The beginning of its text"
                    @if !is_own { " · " span class="outside" { "from outside" } }
                }
            }
            h2 { "Counts over time" }
            (curves(&curve.snapshots, &marks))
        }
    }
}
