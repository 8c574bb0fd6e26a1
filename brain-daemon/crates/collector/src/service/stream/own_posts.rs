//! Checks own posts during their first minute, also between two connections.

use serde_json::{Map, Value, json};

use super::super::name_index::NameIndex;
use super::StreamConnection;
use crate::outbound;
use crate::outbound::Watch;
use crate::service::CollectorService;
use crate::{Data, Journal, JournalEvent, Record, post_metrics};
use brain_base::caller::Caller;

/// Maximum age of an own post at which watching can start, in milliseconds.
const MAX_WATCH_AGE_MS: i64 = 120_000;

impl StreamConnection<'_> {
    /// Starts watching `post` if it is a recent own post and `collector.outbound` is on.
    pub(super) fn watch_own_post(&mut self, post: &Record) {
        let now = self.service.env.clock.now();
        let is_own =
            self.settings.user_id.as_ref().is_some_and(|id| post.author_id() == Some(id.as_str()));
        let is_recent = post.created_at().is_none_or(|at| now - at <= MAX_WATCH_AGE_MS);
        let is_watched = self.watches.iter().any(|watch| watch.id == *post.id());
        if self.service.env.config.outbound && is_own && is_recent && !is_watched {
            // The first minute of a post begins when it was written, not when it arrived.
            let written_at = post.created_at().map_or(now, |at| at.min(now));
            self.watches.push(Watch::new(post.id().clone(), mentions(post), written_at));
        }
    }

    /// Checks watched posts that are due, and stores alerts and results.
    pub(super) fn check_watches(&mut self) {
        let now = self.service.env.clock.now();
        let (mut due, others) =
            std::mem::take(self.watches).into_iter().partition::<Vec<_>, _>(|w| w.is_due(now));
        *self.watches = others;
        for watch in &mut due {
            let lookup = self.platform.post(&watch.id);
            let metrics = match &lookup {
                Ok(post) => post.as_ref().and_then(post_metrics),
                Err(fault) => {
                    tracing::debug!(why = fault.message, id = %watch.id, "own post not checked");
                    None
                }
            };
            let author = self.settings.handle.clone().unwrap_or_default();
            let alerts =
                watch.record_check(now, metrics).into_iter().map(|alert| JournalEvent::Alert {
                    alert: alert.kind,
                    id: watch.id.to_string(),
                    author: author.clone(),
                    message: alert.message,
                });
            let alerts: Vec<JournalEvent> = alerts.collect();
            let accounts = match watch.is_over() {
                true => self.service.pages_by_handle(&watch.mentions),
                false => Value::Null,
            };
            let written = Journal::new(&self.settings.dir).append(now, &alerts).and_then(|()| {
                Data::new(&self.settings.dir).put_attachment(
                    outbound::KIND,
                    &watch.id,
                    &watch.result(&accounts),
                )
            });
            if let Err(fault) = written {
                tracing::warn!(%fault, id = %watch.id, "checks of an own post not saved");
            }
        }
        self.watches.extend(due.into_iter().filter(|watch| !watch.is_over()));
    }
}

impl CollectorService {
    /// Returns the pages about each account, by handle, as JSON. `null` if pages cannot be read.
    fn pages_by_handle(&self, handles: &[String]) -> Value {
        if handles.is_empty() {
            return json!({});
        }
        let caller = Caller::local(rustix::process::geteuid().as_raw());
        let found = self.store.read(caller.visibility()).map_err(Into::into).and_then(|reader| {
            let names = NameIndex::read(&reader)?;
            let mut all = Map::new();
            for handle in handles {
                let pages = names.describe_pages(&names.subjects(Some(handle)));
                all.insert(handle.clone(), json!(pages));
            }
            Ok::<_, brain_protocol::Fault>(Value::Object(all))
        });
        found.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "pages of mentioned accounts not found");
            Value::Null
        })
    }
}

/// Returns the distinct handles that a post mentions.
fn mentions(post: &Record) -> Vec<String> {
    let all =
        post.fields().get("entities").and_then(|entities| entities.get("mentions")?.as_array());
    let mut handles = Vec::new();
    for mention in all.into_iter().flatten() {
        if let Some(handle) = mention.get("username").and_then(Value::as_str)
            && !handles.iter().any(|known: &String| known.eq_ignore_ascii_case(handle))
        {
            handles.push(handle.to_owned());
        }
    }
    handles
}
