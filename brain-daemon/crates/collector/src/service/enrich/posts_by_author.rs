//! The collected posts and deletions of each author, and what the rules need of them.

use std::collections::{BTreeMap, HashMap};

use brain_protocol::DeletionReason;

use super::super::collected_events::{CollectedEvents, CollectedFiles, PostAuthor};
use super::super::name_index::NameIndex;
use super::super::quote::{cut, quote};
use crate::{PostId, Record, Stream};

/// Maximum words of a quoted post.
const MAX_QUOTE_WORDS: usize = 8;
/// Maximum characters of a quoted post.
const MAX_QUOTE_CHARS: usize = 80;
/// Maximum length of a topic, in characters.
pub(super) const MAX_TOPIC_CHARS: usize = 80;

/// Collected posts by author.
#[derive(Default)]
pub(super) struct PostsByAuthor {
    pub(super) authors: BTreeMap<String, PostAuthor>,
    /// Posts by author id, oldest first.
    pub(super) posts: HashMap<String, Vec<PostSummary>>,
    /// Deleted posts by author id.
    pub(super) deleted: HashMap<String, Vec<DeletedPost>>,
}

impl PostsByAuthor {
    /// Returns whether the author has posts or deletions in the requested span.
    pub(super) fn is_in_span(&self, author: &str) -> bool {
        self.deleted.contains_key(author)
            || self.posts.get(author).is_some_and(|posts| posts.iter().any(|post| post.is_in_span))
    }
}

/// The parts of a post that the rules need.
pub(super) struct PostSummary {
    pub(super) id: PostId,
    /// Time of writing, in Unix milliseconds.
    pub(super) written_at: i64,
    /// Whether the post was collected in the requested span.
    pub(super) is_in_span: bool,
    /// Whether the post counts for the notability gate: it came from mentions or searches.
    pub(super) counts_for_gate: bool,
    /// The topic for the post's line, not escaped. `None` for a redacted post.
    pub(super) line_topic: Option<String>,
    /// All topics; empty if the post is too old for a pattern note.
    pub(super) topics: Vec<String>,
}

/// A deleted post.
pub(super) struct DeletedPost {
    pub(super) id: PostId,
    /// When the deletion was recorded, in Unix milliseconds.
    pub(super) at: i64,
    pub(super) text: String,
}

/// Reads posts collected at or after `since` or written at or after `topics_since`, and deletions
/// recorded at or after `since` (Unix milliseconds). Only posts written at or after `topics_since`
/// get topics.
pub(super) fn collect(
    files: &CollectedFiles,
    names: &NameIndex,
    events: &CollectedEvents,
    since: i64,
    topics_since: i64,
) -> PostsByAuthor {
    let mut collected = PostsByAuthor::default();
    for post in &events.posts {
        let is_in_span = post.at >= since;
        let Some((record, streams)) = files.post(&post.id) else { continue };
        let written_at = post.written_at(&record);
        let is_needed = is_in_span || written_at >= topics_since;
        let Some(author) = files.author(&record, post.author_id()).filter(|_| is_needed) else {
            continue;
        };
        let subjects = files.subjects(&record, Some(&author), names);
        let topics = subjects.topics(names);
        collected.posts.entry(author.id.clone()).or_default().push(PostSummary {
            id: post.id.clone(),
            written_at,
            is_in_span,
            counts_for_gate: streams.iter().any(|stream| *stream != Stream::Own),
            line_topic: line_topic(&record, &topics),
            topics: if written_at >= topics_since { topics } else { Vec::new() },
        });
        // Later posts have the current name and number of followers.
        collected.authors.insert(author.id.clone(), author);
    }
    for (at, id) in events.deletions.iter().filter(|(at, _)| *at >= since) {
        let deletion = files.data.deletion(id).ok().flatten();
        // A post that is only hidden was not deleted, and the text of a redacted post is unknown.
        let known_deletion = deletion.filter(|it| {
            it.reason != DeletionReason::NotAuthorized.as_str() && !it.text.trim().is_empty()
        });
        if let Some(deletion) = known_deletion
            && let Some((record, _)) = files.post(id)
            && let Some(author) = files.author(&record, None)
        {
            let deleted_post = DeletedPost { id: id.clone(), at: *at, text: deletion.text };
            collected.deleted.entry(author.id.clone()).or_default().push(deleted_post);
            collected.authors.entry(author.id.clone()).or_insert(author);
        }
    }
    let by_time =
        |a: &PostSummary, b: &PostSummary| (a.written_at, &a.id).cmp(&(b.written_at, &b.id));
    collected.posts.values_mut().for_each(|posts| posts.sort_by(by_time));
    collected
}

/// Returns the topic for a post's line: its first topic, or its first words. `None` for a redacted
/// post.
fn line_topic(record: &Record, topics: &[String]) -> Option<String> {
    if let Some(topic) = topics.first() {
        return Some(cut(topic, MAX_TOPIC_CHARS));
    }
    record.str("text")?;
    let quote = quote(record.text(), MAX_QUOTE_WORDS, MAX_QUOTE_CHARS);
    Some(if quote.is_empty() { "something without words".into() } else { format!("\"{quote}\"") })
}
