//! Reads collected posts, deletions and alerts of a time span, for digest and enrichment.

use std::collections::HashMap;

use brain_protocol::{Alert, Fault, FaultCode};
use serde_json::Value;

use super::data_fault;
use super::name_index::NameIndex;
use super::quote::plain;
use super::topics::{is_handle, marked, mentioned};
use crate::{Caller, CollectorService};
use brain_base::clock::parse_instant;
use brain_collector::{
    AUTHOR, Data, Entry, Journal, JournalEvent, PostId, Record, Settings, State, Stream,
};

/// The collector's files and account.
pub(super) struct CollectedFiles {
    pub(super) data: Data,
    pub(super) journal: Journal,
    user_id: Option<String>,
    handle: Option<String>,
}

impl CollectedFiles {
    /// Opens the files for a caller who may see all sources, because collected posts belong to
    /// none.
    ///
    /// # Errors
    /// [`FaultCode::Forbidden`] for restricted callers.
    pub(super) fn of(brain: &CollectorService, caller: &Caller) -> Result<Self, Fault> {
        if !caller.sees_all() {
            let message = "what the collector has belongs to no source, and this grant is for some sources only";
            return Err(Fault::new(FaultCode::Forbidden, message)
                .hint("ask the owner of this brain for a grant without a list of sources"));
        }
        let settings = brain.collector_settings();
        let (data, journal) = (Data::new(&settings.dir), Journal::new(&settings.dir));
        let state = State::peek(&data).map(|(state, _)| state).unwrap_or_default();
        let Settings { user_id, handle, .. } = CollectorService::with_account(settings, &state);
        Ok(Self { data, journal, user_id: user_id.map(|id| id.to_string()), handle })
    }

    /// Returns what was recorded from `from` to `until` (Unix milliseconds).
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(super) fn noticed(&self, from: i64, until: i64) -> Result<CollectedEvents, Fault> {
        let mut noticed = CollectedEvents::default();
        let mut posts: HashMap<PostId, usize> = HashMap::new();
        for Entry { at, noted } in self.journal.since(from).map_err(|fault| data_fault(&fault))? {
            let Some(when) = parse_instant(&at, false).filter(|when| *when <= until) else {
                continue;
            };
            match noted {
                JournalEvent::Post { id, author_id, .. } => {
                    let Some(id) = PostId::parse(&id) else { continue };
                    let index = *posts.entry(id.clone()).or_insert(noticed.posts.len());
                    match noticed.posts.get_mut(index) {
                        // The post also came from another stream.
                        Some(post) => post.author_id = post.author_id.take().or(author_id),
                        None => noticed.posts.push(NewPost { id, at: when, author_id }),
                    }
                }
                JournalEvent::Deletion { id } => {
                    noticed.deletions.extend(PostId::parse(&id).map(|id| (when, id)));
                }
                JournalEvent::Alert { alert, id, author, message } => {
                    noticed.alerts.push((when, Alert { at, kind: alert, id, author, message }));
                }
                JournalEvent::Enriched { key } => noticed.enriched.push(key),
            }
        }
        Ok(noticed)
    }

    /// Returns a post with its streams. `None` if its file is missing or unreadable, which is
    /// logged.
    pub(super) fn post(&self, id: &PostId) -> Option<(Record, Vec<Stream>)> {
        self.data.find_post(id).unwrap_or_else(|fault| {
            tracing::warn!(%fault, "a collected post cannot be read");
            None
        })
    }

    /// Returns the author of a post, if known. `noted` is the author id in the journal.
    pub(super) fn author(&self, post: &Record, noted: Option<&str>) -> Option<Author> {
        let known = post.fields().get(AUTHOR);
        let handle = post.author_handle().filter(|handle| is_handle(handle)).map(str::to_owned);
        let id = post.author_id().or(noted).map(str::to_owned).or_else(|| handle.clone())?;
        let name = post.author_name().map(plain).filter(|name| !name.is_empty());
        let number = |value: &Value| value.get("public_metrics")?.get("followers_count")?.as_u64();
        let own = self.user_id.as_deref() == Some(id.as_str())
            || self
                .handle
                .as_ref()
                .zip(handle.as_ref())
                .is_some_and(|(own, it)| own.eq_ignore_ascii_case(it));
        Some(Author {
            id,
            handle,
            name,
            own,
            verified: known
                .and_then(|it| it.get("verified"))
                .and_then(Value::as_bool)
                .unwrap_or(false),
            followers: known.and_then(number).unwrap_or(0),
        })
    }

    /// Returns topics, accounts and mentioned pages of a post. Pages about its author and about the
    /// owner are excluded, because every post concerns them.
    pub(super) fn about(&self, post: &Record, author: Option<&Author>, names: &NameIndex) -> About {
        let mentions = mentioned(post);
        let mut pages = names.named_in(post.text(), &mentions);
        let of = |handle: Option<&str>, name: Option<&str>| {
            [names.subjects(handle), names.candidates(handle, name)].concat()
        };
        let author =
            author.map(|it| of(it.handle.as_deref(), it.name.as_deref())).unwrap_or_default();
        let own = of(self.handle.as_deref(), None);
        pages.retain(|page| !author.contains(page) && !own.contains(page));
        About { marked: marked(post), mentions, pages }
    }
}

/// The journal's events in a time span.
#[derive(Default)]
pub(super) struct CollectedEvents {
    /// Distinct new posts, oldest first.
    pub(super) posts: Vec<NewPost>,
    /// Deletions and when they were recorded.
    pub(super) deletions: Vec<(i64, PostId)>,
    /// Other alerts.
    pub(super) alerts: Vec<(i64, Alert)>,
    /// Keys of completed enrichments.
    pub(super) enriched: Vec<String>,
}

/// A new post.
pub(super) struct NewPost {
    pub(super) id: PostId,
    /// When it was recorded, in Unix milliseconds.
    pub(super) at: i64,
    author_id: Option<String>,
}

impl NewPost {
    /// Returns the author's id from the journal.
    pub(super) fn author_id(&self) -> Option<&str> {
        self.author_id.as_deref()
    }

    /// Returns the time of writing, as far as known.
    pub(super) fn written(&self, record: &Record) -> i64 {
        record.created_at().unwrap_or(self.at)
    }
}

/// An account.
#[derive(Debug, Clone)]
pub(super) struct Author {
    /// The id, else the handle.
    pub(super) id: String,
    /// The handle.
    pub(super) handle: Option<String>,
    /// The name, on one line.
    pub(super) name: Option<String>,
    /// Whether it is the collected account.
    pub(super) own: bool,
    /// Whether the platform verified it.
    pub(super) verified: bool,
    /// Number of followers; 0 if unknown.
    pub(super) followers: u64,
}

impl Author {
    /// Returns an unknown author, as of a redacted post.
    pub(super) fn unknown() -> Self {
        let (handle, name) = (None, None);
        Self { id: String::new(), handle, name, own: false, verified: false, followers: 0 }
    }
}

/// The subjects of a post.
pub(super) struct About {
    /// Marked topics.
    pub(super) marked: Vec<String>,
    /// Mentioned accounts.
    pub(super) mentions: Vec<String>,
    /// Mentioned pages, by index in the names.
    pub(super) pages: Vec<usize>,
}

impl About {
    /// Returns all topics, pages first.
    pub(super) fn topics(&self, names: &NameIndex) -> Vec<String> {
        let titles = self.pages.iter().map(|&page| plain(&names.page(page).title));
        titles.chain(self.marked.iter().cloned()).collect()
    }
}
