//! What of the collector's files digest and enrichment go by: which posts, deletions and alerts were noted in a span of time, who wrote
//! a post, and whom it is about. Reads; knows nothing of what is made of it.

use std::collections::HashMap;

use brain_protocol::{Alert, Fault, FaultCode};
use serde_json::Value;

use super::super::{Brain, Caller};
use super::data_fault;
use super::named::Names;
use super::topics::{is_handle, marked, mentioned};
use super::words::plain;
use brain_base::clock::parse_instant;
use brain_collector::{
    AUTHOR, Data, Entry, Journal, Noted, PostId, Record, Settings, State, Stream,
};

/// The collector's files, and whose they are.
pub(super) struct Files {
    pub(super) data: Data,
    pub(super) journal: Journal,
    user_id: Option<String>,
    handle: Option<String>,
}

impl Files {
    /// Those of this brain, for who may see all that is collected: it belongs to no source.
    ///
    /// # Errors
    /// [`FaultCode::Forbidden`] for who does not see every source.
    pub(super) fn of(brain: &Brain, caller: &Caller) -> Result<Self, Fault> {
        if !caller.sees_all() {
            let message = "what the collector has belongs to no source, and this grant is for some sources only";
            return Err(Fault::new(FaultCode::Forbidden, message)
                .hint("ask the owner of this brain for a grant without a list of sources"));
        }
        let settings = brain.collector_settings();
        let (data, journal) = (Data::new(&settings.dir), Journal::new(&settings.dir));
        let state = State::look(&data).map(|(state, _)| state).unwrap_or_default();
        let Settings { user_id, handle, .. } = Brain::with_account(settings, &state);
        Ok(Self { data, journal, user_id: user_id.map(|id| id.to_string()), handle })
    }

    /// What was noted from `from` to `until` (Unix milliseconds).
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) fn noticed(&self, from: i64, until: i64) -> Result<Noticed, Fault> {
        let mut noticed = Noticed::default();
        let mut posts: HashMap<PostId, usize> = HashMap::new();
        for Entry { at, noted } in self.journal.since(from).map_err(|fault| data_fault(&fault))? {
            let Some(when) = parse_instant(&at, false).filter(|when| *when <= until) else {
                continue;
            };
            match noted {
                Noted::Post { id, author_id, .. } => {
                    let Some(id) = PostId::parse(&id) else { continue };
                    let index = *posts.entry(id.clone()).or_insert(noticed.posts.len());
                    match noticed.posts.get_mut(index) {
                        // It came by another stream, too.
                        Some(post) => post.author_id = post.author_id.take().or(author_id),
                        None => noticed.posts.push(NewPost { id, at: when, author_id }),
                    }
                }
                Noted::Deletion { id } => {
                    noticed.deletions.extend(PostId::parse(&id).map(|id| (when, id)))
                }
                Noted::Alert { alert, id, author, message } => {
                    noticed.alerts.push((when, Alert { at, kind: alert, id, author, message }));
                }
                Noted::Enriched { key } => noticed.enriched.push(key),
            }
        }
        Ok(noticed)
    }

    /// The post with the streams it came by; `None` when its file is not there (yet), or cannot be read, which is logged.
    pub(super) fn post(&self, id: &PostId) -> Option<(Record, Vec<Stream>)> {
        self.data.anywhere(id).unwrap_or_else(|fault| {
            tracing::warn!(%fault, "a collected post cannot be read");
            None
        })
    }

    /// Who wrote a post; `None` when nothing is known of it. `noted` is the author's id in the journal.
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

    /// What a post is about: marked topics, accounts, and pages that it names. The pages about its author and about the owner of the
    /// account are left out: everybody writes from and to them.
    pub(super) fn about(&self, post: &Record, author: Option<&Author>, names: &Names) -> About {
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

/// What was noted in a span of time.
#[derive(Default)]
pub(super) struct Noticed {
    /// New posts, each once, oldest first.
    pub(super) posts: Vec<NewPost>,
    /// Deletions and when they were noted.
    pub(super) deletions: Vec<(i64, PostId)>,
    /// Alerts that are none of a deletion.
    pub(super) alerts: Vec<(i64, Alert)>,
    /// Keys of enrichment rules that were carried out.
    pub(super) enriched: Vec<String>,
}

/// A new post.
pub(super) struct NewPost {
    pub(super) id: PostId,
    /// When it was noted, Unix milliseconds.
    pub(super) at: i64,
    author_id: Option<String>,
}

impl NewPost {
    /// The id of its author, as it was noted.
    pub(super) fn author_id(&self) -> Option<&str> {
        self.author_id.as_deref()
    }

    /// When it was written, as far as that is known.
    pub(super) fn written(&self, record: &Record) -> i64 {
        record.created_at().unwrap_or(self.at)
    }
}

/// An account.
#[derive(Debug, Clone)]
pub(super) struct Author {
    /// Its id, else its handle.
    pub(super) id: String,
    /// Its handle.
    pub(super) handle: Option<String>,
    /// Its name, on one line.
    pub(super) name: Option<String>,
    /// Whether it is the collector's own.
    pub(super) own: bool,
    /// Whether the platform has verified it.
    pub(super) verified: bool,
    /// How many follow it; 0 when that is not known.
    pub(super) followers: u64,
}

impl Author {
    /// Nobody that is known: a post of which only id and times were kept.
    pub(super) fn unknown() -> Self {
        let (handle, name) = (None, None);
        Self { id: String::new(), handle, name, own: false, verified: false, followers: 0 }
    }
}

/// What a post is about.
pub(super) struct About {
    /// Topics that were marked.
    pub(super) marked: Vec<String>,
    /// Accounts that it mentions.
    pub(super) mentions: Vec<String>,
    /// Pages that it names, by their number in the names.
    pub(super) pages: Vec<usize>,
}

impl About {
    /// All that counts as a topic, pages first.
    pub(super) fn topics(&self, names: &Names) -> Vec<String> {
        let titles = self.pages.iter().map(|&page| plain(&names.page(page).title));
        titles.chain(self.marked.iter().cloned()).collect()
    }
}
