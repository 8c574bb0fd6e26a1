//! What the social collector has: who wrote what, for an agent that enriches pages.

use brain_protocol::{
    Alert, CollectorDigest as Asked, Deletion, Digest, DigestAuthor, DigestPost, DigestTopic,
    Fault, NamedPage, Reply, Request,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::twenty;
use crate::answer::{LONGEST, short, weight};
use crate::tool::{Call, Effect};
use crate::trust::Trust;
use crate::{Desk, defect};
use brain_base::caller::Scope;

/// How many characters of a post are shown, of a text beside it, and of a name or topic.
const TEXT: usize = 2_000;
const BESIDE: usize = 200;
const NAME: usize = 80;
/// How many topics, and deletions and alerts each, are shown. With the longest texts they leave room for a post.
const TOPICS: usize = 30;
const EVENTS: usize = 20;
/// How many pages are shown of one post or author.
const PAGES: usize = 10;

/// What was collected in a span of time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectorDigest {
    /// Default: 24 hours ago
    since: Option<String>,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "twenty")]
    limit: u32,
    cursor: Option<String>,
}

/// What was collected.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Collected {
    trust: Trust,
    posts: Vec<Post>,
    authors: Vec<Author>,
    events: Vec<Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A post.
#[derive(Serialize, JsonSchema)]
struct Post {
    author: String,
    date: String,
    text: String,
    url: String,
    topics: Vec<String>,
    /// What it names.
    pages: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_text: Option<String>,
    /// When that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
}

/// Somebody who wrote one of the posts.
#[derive(Serialize, JsonSchema)]
struct Author {
    author: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// About it.
    pages: Vec<String>,
    /// That only have its name, or name it.
    mentioned_in: Vec<String>,
}

/// A topic that somebody came back to, a deletion, or an alert.
#[derive(Serialize, JsonSchema)]
struct Event {
    author: String,
    date: String,
    kind: String,
    text: String,
}

impl Call for CollectorDigest {
    const NAME: &'static str = "collector_digest";
    const TITLE: &'static str = "Collected posts";
    const DESCRIPTION: &'static str = "New social posts, with pages about their authors. Events: topics that came 3 times in a week, \
deletions, alerts. All texts are strangers'.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Collected;

    fn call(self, desk: &Desk) -> Result<Collected, Fault> {
        let mut limit = self.limit;
        loop {
            let asked = Asked { since: self.since.clone(), limit, after: self.cursor.clone() };
            let Reply::CollectorDigest(digest) = desk.ask(Request::CollectorDigest(asked))? else {
                return Err(defect());
            };
            let collected = Collected::of(desk, digest)?;
            if limit == 1 || weight(&collected) <= LONGEST {
                return Ok(collected);
            }
            limit /= 2;
        }
    }
}

impl Collected {
    fn of(desk: &Desk, digest: Digest) -> Result<Self, Fault> {
        let left = [
            ("topics", digest.topics.len(), TOPICS),
            ("deletions", digest.deletions.len(), EVENTS),
            ("alerts", digest.alerts.len(), EVENTS),
        ];
        let left = left.iter().filter(|(_, all, shown)| all > shown);
        let left: Vec<String> =
            left.map(|(name, all, shown)| format!("{shown} of {all} {name}")).collect();
        let note =
            format!("only the first {} are shown; a later since shows fewer", left.join(", "));
        let (mut posts, mut authors) = (Vec::new(), Vec::new());
        for DigestAuthor { id, handle, name, pages, posts: own, .. } in digest.authors {
            let author = handle.map_or(id, |handle| format!("@{handle}"));
            for post in own {
                posts.push(Post::of(desk, &author, post)?);
            }
            let (about, only): (Vec<_>, Vec<_>) =
                pages.into_iter().partition(|it| it.relation == "subject");
            authors.push(Author {
                author,
                name: name.map(|name| short(&name, NAME)),
                pages: named(desk, &about)?,
                mentioned_in: named(desk, &only)?,
            });
        }
        let topics = digest.topics.into_iter().take(TOPICS).map(Event::from);
        let deletions = digest.deletions.into_iter().take(EVENTS).map(Event::from);
        let alerts = digest.alerts.into_iter().take(EVENTS).map(Event::from);
        Ok(Self {
            trust: Trust::Outside,
            posts,
            authors,
            events: topics.chain(deletions).chain(alerts).collect(),
            next_cursor: digest.next,
            note: (!left.is_empty()).then_some(note),
        })
    }
}

impl Post {
    fn of(desk: &Desk, author: &str, post: DigestPost) -> Result<Self, Fault> {
        Ok(Self {
            author: author.to_owned(),
            date: post.created_at.unwrap_or(post.collected_at),
            text: short(&post.text, TEXT),
            url: post.url,
            topics: post.topics.iter().take(PAGES).map(|topic| short(topic, NAME)).collect(),
            pages: named(desk, &post.pages)?,
            image_text: post.image_text.map(|text| short(&text, BESIDE)),
            deleted: post.deleted,
        })
    }
}

/// Pages as other tools take them.
fn named(desk: &Desk, pages: &[NamedPage]) -> Result<Vec<String>, Fault> {
    pages.iter().take(PAGES).map(|page| desk.name(&page.source_id, &page.slug)).collect()
}

/// An account as it is shown.
fn whose(author: &str) -> String {
    let is_id = author.bytes().all(|b| b.is_ascii_digit());
    short(&if is_id { author.to_owned() } else { format!("@{author}") }, NAME)
}

impl From<DigestTopic> for Event {
    fn from(found: DigestTopic) -> Self {
        let DigestTopic { author_id, author, topic, count, first, last, .. } = found;
        Self {
            author: author.map_or(author_id, |handle| format!("@{handle}")),
            text: format!("{}: {count} posts from {first} to {last}", short(&topic, NAME)),
            date: last,
            kind: "topic".into(),
        }
    }
}

impl From<Deletion> for Event {
    fn from(deletion: Deletion) -> Self {
        Self {
            author: whose(&deletion.author),
            date: deletion.detected_at,
            kind: "deletion".into(),
            text: short(&deletion.text, BESIDE),
        }
    }
}

impl From<Alert> for Event {
    fn from(alert: Alert) -> Self {
        Self {
            author: whose(&alert.author),
            date: alert.at,
            kind: alert.kind,
            text: short(&alert.message, BESIDE),
        }
    }
}
