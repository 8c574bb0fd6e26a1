//! The digest: facts about collected posts of a time span, for agents that enrich pages.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{
    Alert, CollectorDigest, Deletion, Digest, DigestAuthor, DigestPost, DigestTopic, Fault,
    FaultCode, Rating,
};
use serde_json::Value;

use super::collected_events::{CollectedEvents, CollectedFiles, NewPost, PostAuthor};
use super::name_index::NameIndex;
use super::quote::cut;
use super::topics::{TopicPost, WEEK_MS, recurring_topics};
use crate::service::CollectorService;
use crate::{COLLECTED_AT, PostId, Record, Stream, post_metrics};
use brain_base::caller::Caller;
use brain_base::clock::{day, instant_argument, rfc3339};
use brain_store::Reader;

/// A day, which is the default time span, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Maximum number of posts per answer.
const MAX_LIMIT: u32 = 1000;
/// Maximum length of a post, in characters, as on the platform.
const MAX_TEXT_CHARS: usize = 25_000;
/// Maximum length of other texts, in characters: deleted posts, alerts, text in images.
const MAX_OTHER_TEXT_CHARS: usize = 1_000;
/// Estimated size of an answer's posts, in bytes, after which no post is added.
const MAX_REPLY_BYTES: usize = 4_000_000;
/// Estimated size of a post's other fields than its texts, in bytes.
const OTHER_FIELDS_BYTES: usize = 500;
/// Maximum number of topics, deletions and alerts, each.
const MAX_ROWS: usize = 500;

impl CollectorService {
    /// Returns one answer of the digest. The first one also has topics, deletions and alerts.
    pub fn digest(&self, caller: &Caller, request: &CollectorDigest) -> Result<Digest, Fault> {
        let files = CollectedFiles::open(self, caller)?;
        let cursor = request.after.as_deref().map(Cursor::decode).transpose()?;
        let (since, until) = self.time_span(request, cursor.as_ref())?;
        let reader = self.store.read(caller.visibility())?;
        let names = NameIndex::read(&reader)?;
        // Reads at least a week, for the topics, and because a post is not new if another stream
        // had it before `since`.
        let from = since.min(until - WEEK_MS);
        let mut events = files.events_between(from, until)?;
        let mut digest = Digest {
            since: rfc3339(since),
            until: rfc3339(until),
            authors: Vec::new(),
            topics: Vec::new(),
            deletions: Vec::new(),
            alerts: Vec::new(),
            next: None,
        };
        if cursor.is_none() {
            digest.topics = topics(&files, &names, &events.posts, from);
            digest.deletions = deletions(&files, &events, since);
            digest.alerts = alerts(&events, since);
        }
        let is_after_cursor = |post: &NewPost| {
            cursor.as_ref().is_none_or(|cursor| (post.at, &post.id) < (cursor.at, &cursor.id))
        };
        events.posts.retain(|post| post.at >= since && is_after_cursor(post));
        events.posts.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let (mut authors, mut count, mut bytes) = (AuthorGroups::default(), 0, 0);
        let mut last: Option<&NewPost> = None;
        for post in &events.posts {
            if count == limit || bytes > MAX_REPLY_BYTES {
                let next =
                    last.map(|last| Cursor { since, until, at: last.at, id: last.id.clone() });
                digest.next = next.map(|next| next.encode());
                break;
            }
            last = Some(post);
            let Some((record, streams)) = files.post(&post.id) else { continue };
            let author = files.author(&record, post.author_id());
            let digest_post =
                describe_post(&files, &names, &record, author.as_ref(), &streams, post);
            bytes += digest_post.text.len()
                + digest_post.image_text.as_ref().map_or(0, String::len)
                + OTHER_FIELDS_BYTES;
            count += 1;
            authors.add(author, digest_post);
        }
        digest.authors = authors.finish(self, &reader, &names)?;
        Ok(digest)
    }

    /// Returns the time span of a digest, in Unix milliseconds. A cursor continues its own.
    fn time_span(
        &self,
        request: &CollectorDigest,
        cursor: Option<&Cursor>,
    ) -> Result<(i64, i64), Fault> {
        let requested_since = instant_argument(request.since.as_deref())?;
        let (since, until) = match cursor {
            None => {
                let now = self.env.clock.now();
                (requested_since.unwrap_or(now - DAY_MS), now)
            }
            Some(cursor) => (cursor.since, cursor.until),
        };
        if requested_since.is_some_and(|requested| requested != since) {
            return Err(Fault::new(FaultCode::Usage, "this cursor belongs to another `since`")
                .hint("use the same `since` as before, or omit `since` or the cursor"));
        }
        Ok((since, until))
    }
}

/// The position after which a digest continues.
struct Cursor {
    /// The time span of the first answer, in Unix milliseconds.
    since: i64,
    until: i64,
    /// Time and id of the last post that was read. Posts are sorted by both, newest first.
    at: i64,
    id: PostId,
}

impl Cursor {
    fn encode(&self) -> String {
        URL_SAFE_NO_PAD
            .encode(format!("digest {} {} {} {}", self.since, self.until, self.at, self.id))
    }

    fn decode(cursor: &str) -> Result<Self, Fault> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor.trim()).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        let parts: Vec<&str> = text.split(' ').collect();
        let number = |text: &str| text.parse::<i64>().ok();
        let cursor = match parts.as_slice() {
            ["digest", since, until, at, id] => (|| {
                let (since, until, at) = (number(since)?, number(until)?, number(at)?);
                Some(Self { since, until, at, id: PostId::parse(id)? })
            })(),
            _ => None,
        };
        cursor.ok_or_else(|| {
            Fault::new(FaultCode::Usage, "the cursor was not made by brain for a digest").hint(
                "use `next` of the previous answer unchanged, or omit the cursor to start over",
            )
        })
    }
}

/// Returns recurring topics of posts that were written at or after `from` (Unix milliseconds).
fn topics(
    files: &CollectedFiles,
    names: &NameIndex,
    posts: &[NewPost],
    from: i64,
) -> Vec<DigestTopic> {
    let (mut topic_posts, mut handles) = (Vec::new(), HashMap::new());
    for post in posts {
        let Some((record, _)) = files.post(&post.id) else { continue };
        let at = post.written_at(&record);
        let Some(author) = files.author(&record, post.author_id()).filter(|_| at >= from) else {
            continue;
        };
        let topics = files.subjects(&record, Some(&author), names).topics(names);
        topic_posts.push(TopicPost {
            author: author.id.clone(),
            post: post.id.to_string(),
            at,
            topics,
        });
        handles.extend(author.handle.map(|handle| (author.id, handle)));
    }
    let found = recurring_topics(&topic_posts).into_iter().take(MAX_ROWS);
    let topics = found.map(|found| DigestTopic {
        author: handles.get(&found.author).cloned(),
        author_id: found.author,
        topic: found.topic,
        count: found.posts.len() as u64,
        first: day(found.span.0),
        last: day(found.span.1),
        posts: found.posts,
    });
    topics.collect()
}

/// Returns the deletions recorded at or after `since`, newest first.
fn deletions(files: &CollectedFiles, events: &CollectedEvents, since: i64) -> Vec<Deletion> {
    let mut deletions: Vec<&(i64, PostId)> =
        events.deletions.iter().filter(|(at, _)| *at >= since).collect();
    deletions.sort_by(|a, b| b.cmp(a));
    deletions.dedup_by(|a, b| a.1 == b.1);
    let mut found: Vec<Deletion> =
        deletions.into_iter().filter_map(|(_, id)| deletion(files, id)).take(MAX_ROWS).collect();
    found.iter_mut().for_each(|deletion| deletion.text = cut(&deletion.text, MAX_OTHER_TEXT_CHARS));
    found
}

/// Returns the recorded deletion of a post; `None` if there is none, or its file is unreadable.
fn deletion(files: &CollectedFiles, id: &PostId) -> Option<Deletion> {
    files.data.deletion(id).unwrap_or_else(|fault| {
        tracing::warn!(%fault, "a recorded deletion cannot be read");
        None
    })
}

/// Returns the alerts recorded at or after `since`, newest first.
fn alerts(events: &CollectedEvents, since: i64) -> Vec<Alert> {
    let mut found: Vec<&(i64, Alert)> =
        events.alerts.iter().filter(|(at, _)| *at >= since).collect();
    found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let shortened = |(_, alert): &(i64, Alert)| Alert {
        message: cut(&alert.message, MAX_OTHER_TEXT_CHARS),
        ..alert.clone()
    };
    found.into_iter().take(MAX_ROWS).map(shortened).collect()
}

/// Describes a post with its subjects, rating, text in images and deletion.
fn describe_post(
    files: &CollectedFiles,
    names: &NameIndex,
    record: &Record,
    author: Option<&PostAuthor>,
    streams: &[Stream],
    post: &NewPost,
) -> DigestPost {
    let subjects = files.subjects(record, author, names);
    let attachment = |kind: &str| {
        files.data.attachment(kind, &post.id).unwrap_or_else(|fault| {
            tracing::warn!(%fault, "data about a post cannot be read");
            None
        })
    };
    // The platform accepts `i` in place of any handle.
    let handle = author.and_then(|author| author.handle.as_deref()).unwrap_or("i");
    let image_text = attachment("images")
        .and_then(|it| Some(cut(it.get("text")?.as_str()?, MAX_OTHER_TEXT_CHARS)));
    DigestPost {
        id: post.id.to_string(),
        streams: streams.iter().map(|stream| stream.as_str().to_owned()).collect(),
        created_at: record.str("created_at").map(str::to_owned),
        collected_at: record.str(COLLECTED_AT).map_or_else(|| rfc3339(post.at), str::to_owned),
        text: cut(record.text(), MAX_TEXT_CHARS),
        url: format!("https://x.com/{handle}/status/{}", post.id),
        metrics: post_metrics(record),
        pages: names.describe_pages(&subjects.pages),
        topics: subjects.explicit_topics,
        mentions: subjects.mentions,
        rating: attachment("ratings")
            .and_then(|it: Value| serde_json::from_value::<Rating>(it).ok()),
        image_text: image_text.filter(|text| !text.trim().is_empty()),
        deleted: deletion(files, &post.id).map(|deletion| deletion.detected_at),
    }
}

/// Posts by author.
#[derive(Default)]
struct AuthorGroups {
    /// Index in `authors` by author id.
    positions: HashMap<String, usize>,
    authors: Vec<(PostAuthor, Vec<DigestPost>)>,
}

impl AuthorGroups {
    fn add(&mut self, author: Option<PostAuthor>, post: DigestPost) {
        let author = author.unwrap_or_else(PostAuthor::unknown);
        let index = *self.positions.entry(author.id.clone()).or_insert(self.authors.len());
        match self.authors.get_mut(index) {
            Some((known, posts)) => {
                // The newest post comes first and has the current name, but some posts have none.
                known.handle = known.handle.take().or(author.handle);
                known.name = known.name.take().or(author.name);
                posts.push(post);
            }
            None => self.authors.push((author, vec![post])),
        }
    }

    /// Sorts authors by number of posts, and the posts of each author newest first. Adds the pages
    /// about each author.
    fn finish(
        mut self,
        service: &CollectorService,
        reader: &Reader,
        names: &NameIndex,
    ) -> Result<Vec<DigestAuthor>, Fault> {
        self.authors.sort_by_key(|(_, posts)| std::cmp::Reverse(posts.len()));
        let authors = self.authors.into_iter().map(|(author, mut posts)| {
            let newest_first = |post: &DigestPost| std::cmp::Reverse(PostId::parse(&post.id));
            posts.sort_by_cached_key(newest_first);
            let PostAuthor { id, handle, name, is_own, .. } = author;
            let pages = service.pages_of(reader, names, handle.as_deref(), name.as_deref())?;
            Ok(DigestAuthor { id, handle, name, own: is_own, pages, posts })
        });
        authors.collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn decode_accepts_only_valid_cursors() {
        let cursor =
            Cursor { since: 1, until: -2, at: 3, id: PostId::parse("9007199254740993").unwrap() };
        let read = Cursor::decode(&format!(" {} ", cursor.encode())).unwrap();
        assert_eq!((read.since, read.until, read.at, read.id), (1, -2, 3, cursor.id));
        let without_id = URL_SAFE_NO_PAD.encode("digest 1 2 3");
        let invalid_id = URL_SAFE_NO_PAD.encode("digest 1 2 3 ../4");
        for invalid in ["", "!", "digest 1 2 3 4", &without_id, &invalid_id] {
            assert!(Cursor::decode(invalid).is_err(), "{invalid}");
        }
    }
}
