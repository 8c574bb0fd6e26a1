//! Reads collected posts, deletions and alerts of a time span, for digest and enrichment.

use std::collections::HashMap;

use brain_protocol::{Alert, Fault, FaultCode};
use serde_json::Value;

use super::data_fault;
use super::name_index::NameIndex;
use super::quote::plain;
use super::topics::{explicit_topics, is_handle, mentioned_accounts};
use crate::service::CollectorService;
use crate::{
    AUTHOR, Data, Entry, Journal, JournalEvent, PostId, Record, RunSettings, State, Stream,
};
use brain_base::caller::Caller;
use brain_base::clock::parse_instant;

/// The collector's files and account.
pub(super) struct CollectedFiles {
    pub(super) data: Data,
    pub(super) journal: Journal,
    user_id: Option<String>,
    handle: Option<String>,
}

impl CollectedFiles {
    /// Opens the files. Only callers that see all sources may do so, because collected posts belong
    /// to no source.
    ///
    /// # Errors
    /// [`FaultCode::Forbidden`] for a caller that is limited to some sources.
    pub(super) fn open(service: &CollectorService, caller: &Caller) -> Result<Self, Fault> {
        if !caller.sees_all() {
            let message =
                "collected posts belong to no source, and this grant is limited to some sources";
            return Err(Fault::new(FaultCode::Forbidden, message)
                .hint("ask the owner of this brain for a grant without a list of sources"));
        }
        let settings = service.collector_settings();
        let (data, journal) = (Data::new(&settings.dir), Journal::new(&settings.dir));
        let state = State::peek(&data).map(|(state, _)| state).unwrap_or_default();
        let RunSettings { user_id, handle, .. } = CollectorService::with_account(settings, &state);
        Ok(Self { data, journal, user_id: user_id.map(|id| id.to_string()), handle })
    }

    /// Returns the events recorded from `from` to `until` (Unix milliseconds, both included).
    ///
    /// # Errors
    /// A fault with the path if the journal cannot be read.
    pub(super) fn events_between(&self, from: i64, until: i64) -> Result<CollectedEvents, Fault> {
        let mut events = CollectedEvents::default();
        let mut posts: HashMap<PostId, usize> = HashMap::new();
        for Entry { at, event } in self.journal.since(from).map_err(|fault| data_fault(&fault))? {
            let Some(time) = parse_instant(&at).filter(|time| *time <= until) else {
                continue;
            };
            match event {
                JournalEvent::Post { id, author_id, .. } => {
                    let Some(id) = PostId::parse(&id) else { continue };
                    let index = *posts.entry(id.clone()).or_insert(events.posts.len());
                    match events.posts.get_mut(index) {
                        // The post also came from another stream.
                        Some(post) => post.author_id = post.author_id.take().or(author_id),
                        None => events.posts.push(NewPost { id, at: time, author_id }),
                    }
                }
                JournalEvent::Deletion { id } => {
                    events.deletions.extend(PostId::parse(&id).map(|id| (time, id)));
                }
                JournalEvent::Alert { alert, id, author, message } => {
                    events.alerts.push((time, Alert { at, kind: alert, id, author, message }));
                }
                JournalEvent::Enriched { key } => events.enriched_keys.push(key),
            }
        }
        Ok(events)
    }

    /// Returns a post with its streams. `None` if its file is missing or unreadable; an unreadable
    /// file is logged.
    pub(super) fn post(&self, id: &PostId) -> Option<(Record, Vec<Stream>)> {
        self.data.find_post(id).unwrap_or_else(|fault| {
            tracing::warn!(%fault, "a collected post cannot be read");
            None
        })
    }

    /// Returns the author of a post, if known. `journal_id` is the author's id from the journal.
    pub(super) fn author(&self, post: &Record, journal_id: Option<&str>) -> Option<PostAuthor> {
        let author = post.fields().get(AUTHOR);
        let handle = post.author_handle().filter(|handle| is_handle(handle)).map(str::to_owned);
        let id = post.author_id().or(journal_id).map(str::to_owned).or_else(|| handle.clone())?;
        let name = post.author_name().map(plain).filter(|name| !name.is_empty());
        let follower_count =
            |value: &Value| value.get("public_metrics")?.get("followers_count")?.as_u64();
        let is_own = self.user_id.as_deref() == Some(id.as_str())
            || self
                .handle
                .as_ref()
                .zip(handle.as_ref())
                .is_some_and(|(own, of_author)| own.eq_ignore_ascii_case(of_author));
        Some(PostAuthor {
            id,
            handle,
            name,
            is_own,
            is_verified: author
                .and_then(|it| it.get("verified"))
                .and_then(Value::as_bool)
                .unwrap_or(false),
            followers: author.and_then(follower_count).unwrap_or(0),
        })
    }

    /// Returns topics, mentioned accounts and mentioned pages of a post. Excludes pages about its
    /// author and about the owner: they would match most posts.
    pub(super) fn subjects(
        &self,
        post: &Record,
        author: Option<&PostAuthor>,
        names: &NameIndex,
    ) -> PostSubjects {
        let mentions = mentioned_accounts(post);
        let mut pages = names.pages_mentioned_in(post.text(), &mentions);
        let pages_of = |handle: Option<&str>, name: Option<&str>| {
            [names.subjects(handle), names.candidates(handle, name)].concat()
        };
        let author_pages =
            author.map(|it| pages_of(it.handle.as_deref(), it.name.as_deref())).unwrap_or_default();
        let owner_pages = pages_of(self.handle.as_deref(), None);
        pages.retain(|page| !author_pages.contains(page) && !owner_pages.contains(page));
        PostSubjects { explicit_topics: explicit_topics(post), mentions, pages }
    }
}

/// The journal's events in a time span.
#[derive(Default)]
pub(super) struct CollectedEvents {
    /// Distinct new posts, in the order of the journal.
    pub(super) posts: Vec<NewPost>,
    /// Deletions, each with the time when it was recorded, in Unix milliseconds.
    pub(super) deletions: Vec<(i64, PostId)>,
    /// Alerts other than deletions, each with the time when it was recorded, in Unix milliseconds.
    pub(super) alerts: Vec<(i64, Alert)>,
    /// Keys of completed enrichments.
    pub(super) enriched_keys: Vec<String>,
}

/// A new post, as the journal recorded it.
pub(super) struct NewPost {
    pub(super) id: PostId,
    /// When the post was recorded, in Unix milliseconds.
    pub(super) at: i64,
    author_id: Option<String>,
}

impl NewPost {
    /// Returns the author's id from the journal.
    pub(super) fn author_id(&self) -> Option<&str> {
        self.author_id.as_deref()
    }

    /// Returns when the post was written, or recorded if that is unknown, in Unix milliseconds.
    pub(super) fn written_at(&self, record: &Record) -> i64 {
        record.created_at().unwrap_or(self.at)
    }
}

/// The account that wrote a post.
#[derive(Debug, Clone)]
pub(super) struct PostAuthor {
    /// The id; without an id, the handle; empty for an unknown author.
    pub(super) id: String,
    /// The handle.
    pub(super) handle: Option<String>,
    /// The name, on one line.
    pub(super) name: Option<String>,
    /// Whether it is the collected account.
    pub(super) is_own: bool,
    /// Whether the platform verified it.
    pub(super) is_verified: bool,
    /// Number of followers; 0 if unknown.
    pub(super) followers: u64,
}

impl PostAuthor {
    /// Returns the placeholder for an unknown author, such as that of a redacted post.
    pub(super) fn unknown() -> Self {
        let (handle, name) = (None, None);
        Self { id: String::new(), handle, name, is_own: false, is_verified: false, followers: 0 }
    }
}

/// The subjects of a post.
pub(super) struct PostSubjects {
    /// Annotations, hashtags and cashtags.
    pub(super) explicit_topics: Vec<String>,
    /// Mentioned accounts.
    pub(super) mentions: Vec<String>,
    /// Mentioned pages, as indexes into the [`NameIndex`].
    pub(super) pages: Vec<usize>,
}

impl PostSubjects {
    /// Returns the titles of the mentioned pages, then the explicit topics.
    pub(super) fn topics(&self, names: &NameIndex) -> Vec<String> {
        let titles = self.pages.iter().map(|&page| plain(&names.page(page).title));
        titles.chain(self.explicit_topics.iter().cloned()).collect()
    }
}
