//! Plans the enrichment: which pages get which lines, and which people get a page. Writes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use brain_protocol::{Fault, Slug, SourceId};

use super::super::collected_events::{Author, CollectedEvents, CollectedFiles};
use super::super::name_index::{NameIndex, PROFILE_TYPES};
use super::super::notability::NotabilityGate;
use super::super::quote::{cut, plain, quote};
use super::super::topics::{self, WEEK_MS, recurring_topics};
use super::page_creator::{PageCreator, profile_url};
use super::page_edit::{DatedLine, PageEdit};
use super::page_name;
use super::pattern::Pattern;
use crate::{Caller, CollectorService};
use brain_base::clock::day;
use brain_collector::{PostId, Record, Stream};
use brain_page::{TimelineEntry, escape_inline};

/// Maximum words of a quoted post.
const MAX_QUOTE_WORDS: usize = 8;
/// Maximum characters of a quoted post.
const MAX_QUOTE_CHARS: usize = 80;
/// Maximum length of a deleted post, in characters: that of a short post on the platform.
const MAX_DELETED_CHARS: usize = 280;
/// Maximum length of a topic, in characters.
const MAX_TOPIC_CHARS: usize = 80;
/// How far back posts and journal keys are read for pattern notes, in milliseconds. A note covers
/// at most a week, and so does the note that it replaces.
const PATTERN_NOTE_WINDOW_MS: i64 = 2 * WEEK_MS;
/// The reason of a recorded deletion whose post may only be hidden from the collector.
const HIDDEN: &str = "not_authorized";

/// A page and its new lines.
pub(super) struct Target {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    /// The person that the page is about, if enrichment must create it.
    pub(super) new_page_author: Option<Author>,
    /// The provenance of the lines: the account's URL.
    pub(super) uri: String,
    pub(super) edit: PageEdit,
}

impl Target {
    /// Returns the page's name in journal keys.
    pub(super) fn name(&self) -> String {
        page_name(&self.source, &self.slug)
    }
}

/// The planned enrichment.
pub(super) struct Plan {
    pub(super) pages: Vec<Target>,
    /// Journal keys of earlier enrichments.
    pub(super) done_keys: HashSet<String>,
    /// Number of people without a page who have no handle or are below the notability threshold.
    pub(super) people_below_threshold: u64,
    /// Messages about pages that have the name of an author but not the account.
    pub(super) pages_without_account: Vec<String>,
}

/// The parts of a post that the rules need.
pub(super) struct PostSummary {
    id: PostId,
    /// Time of writing, in Unix milliseconds.
    pub(super) written_at: i64,
    /// Whether the post was collected in the requested span.
    pub(super) is_in_span: bool,
    /// Whether the post counts for the notability gate: it came from mentions or searches.
    pub(super) counts_for_gate: bool,
    /// The topic for the post's line, not escaped. `None` for a redacted post.
    line_topic: Option<String>,
    /// All topics; empty if the post is too old for a pattern note.
    topics: Vec<String>,
}

/// A deleted post.
struct DeletedPost {
    id: PostId,
    /// When the deletion was recorded, in Unix milliseconds.
    at: i64,
    text: String,
}

/// Collected posts by author.
#[derive(Default)]
struct PostsByAuthor {
    authors: BTreeMap<String, Author>,
    /// Posts by author id, oldest first.
    posts: HashMap<String, Vec<PostSummary>>,
    /// Deleted posts by author id.
    deleted: HashMap<String, Vec<DeletedPost>>,
}

impl PostsByAuthor {
    /// Returns whether the author has posts or deletions in the requested span.
    fn is_in_span(&self, author: &str) -> bool {
        self.deleted.contains_key(author)
            || self.posts.get(author).is_some_and(|posts| posts.iter().any(|post| post.is_in_span))
    }
}

impl CollectorService {
    /// Plans the enrichment for posts collected from `since` to `now` (Unix milliseconds).
    pub(super) fn plan_enrichment(
        &self,
        caller: &Caller,
        files: &CollectedFiles,
        since: i64,
        now: i64,
    ) -> Result<Plan, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let names = NameIndex::read(&reader)?;
        let events = files.events_between(since.min(now - PATTERN_NOTE_WINDOW_MS), now)?;
        let topics_since = since.min(now - WEEK_MS);
        let collected = collect(files, &names, &events, since, topics_since);
        let (source, _) = crate::sources::resolve(caller, &reader, None)?;
        let mut plan = Plan {
            pages: Vec::new(),
            done_keys: events.enriched_keys.into_iter().collect(),
            people_below_threshold: 0,
            pages_without_account: Vec::new(),
        };
        let pages = targets(&names, &collected, &mut plan.pages_without_account);
        let mut patterns = patterns(&collected, topics_since);
        let config = &self.env.config.collector;
        let gate = NotabilityGate {
            min_followers: config.notable_followers,
            min_posts: config.notable_posts,
        };
        let mut page_creator = PageCreator::new(gate, &reader, &source, files);
        for (id, author) in &collected.authors {
            let author_posts: Vec<&PostSummary> =
                collected.posts.get(id).map(Vec::as_slice).unwrap_or_default().iter().collect();
            let page = match pages.get(id) {
                // `None` if the page is not about a person or company.
                Some(page) => page
                    .map(|at| names.page(at))
                    .map(|it| (it.source.clone(), it.slug.clone(), None)),
                None => {
                    let slug = page_creator.slug(author, &author_posts)?;
                    slug.map(|slug| (source.clone(), slug, Some(author.clone())))
                }
            };
            let Some((source, slug, new_page_author)) = page else { continue };
            let is_new = new_page_author.is_some();
            let deleted = collected.deleted.get(id).map(Vec::as_slice).unwrap_or_default();
            let posts: Vec<&PostSummary> =
                author_posts.into_iter().filter(|it| it.is_in_span || is_new).collect();
            let edit = PageEdit {
                dated_lines: dated_lines(author, &page_name(&source, &slug), &posts, deleted),
                patterns: patterns.remove(id).unwrap_or_default(),
            };
            if !edit.is_empty() {
                let uri = profile_url(author);
                plan.pages.push(Target { source, slug, new_page_author, uri, edit });
            }
        }
        plan.people_below_threshold = page_creator.rejected_count;
        Ok(plan)
    }
}

/// Reads posts collected at or after `since` or written at or after `topics_since`, and deletions
/// recorded at or after `since` (Unix milliseconds). Only posts written at or after `topics_since`
/// get topics.
fn collect(
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
        let known_deletion =
            deletion.filter(|it| it.reason != HIDDEN && !it.text.trim().is_empty());
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

/// Returns the index of each author's page. Authors without a page are absent.
///
/// The index is `None` if the page is not about a person or company, or only has the same name:
/// then no line is written, and the owner must decide.
fn targets(
    names: &NameIndex,
    collected: &PostsByAuthor,
    pages_without_account: &mut Vec<String>,
) -> HashMap<String, Option<usize>> {
    let mut pages: HashMap<String, Option<usize>> = HashMap::new();
    for (id, author) in &collected.authors {
        let handle = author.handle.as_deref();
        if let Some(&at) = names.subjects(handle).first() {
            let is_profile = PROFILE_TYPES.contains(&names.page(at).page_type.as_str());
            pages.insert(id.clone(), is_profile.then_some(at));
            continue;
        }
        let candidates = names.candidates(handle, author.name.as_deref());
        let Some(&at) = candidates.first() else { continue };
        pages.insert(id.clone(), None);
        if let Some(handle) = handle.filter(|_| collected.is_in_span(id)) {
            pages_without_account.push(format!(
                "{}: may be about @{handle}, who has no page yet; if it is, write `x: {handle}` \
                    into its frontmatter",
                names.page(at).slug
            ));
        }
    }
    pages
}

/// Returns pattern notes by author id, for posts written at or after `topics_since`.
fn patterns(collected: &PostsByAuthor, topics_since: i64) -> HashMap<String, Vec<Pattern>> {
    let all =
        collected.posts.iter().flat_map(|(author, posts)| posts.iter().map(move |p| (author, p)));
    let topic_posts: Vec<topics::TopicPost> = all
        .filter(|(_, post)| post.written_at >= topics_since)
        .map(|(author, post)| topics::TopicPost {
            author: author.clone(),
            post: post.id.to_string(),
            at: post.written_at,
            topics: post.topics.clone(),
        })
        .collect();
    let mut found: HashMap<String, Vec<Pattern>> = HashMap::new();
    for topic in recurring_topics(&topic_posts) {
        let Some(author) = collected.authors.get(&topic.author) else { continue };
        found.entry(topic.author).or_default().push(Pattern {
            topic: escape_inline(&cut(&topic.topic, MAX_TOPIC_CHARS)),
            count: topic.posts.len(),
            first: day(topic.span.0),
            last: day(topic.span.1),
            account: account_name(author),
        });
    }
    found
}

/// Returns the dated lines for an author's posts and deletions in `page`.
fn dated_lines(
    author: &Author,
    page: &str,
    posts: &[&PostSummary],
    deleted: &[DeletedPost],
) -> Vec<DatedLine> {
    let mut lines = Vec::new();
    for post in posts {
        let Some(topic) = &post.line_topic else { continue };
        let date = day(post.written_at);
        lines.push(DatedLine {
            entry: TimelineEntry {
                text: format!("Tweeted about {}", escape_inline(topic)),
                source: Some(format!("X, {}, {date}", account_name(author))),
                date,
            },
            key: format!("tweet {page} {}", post.id),
        });
    }
    for DeletedPost { id, at, text } in deleted {
        let date = day(*at);
        lines.push(DatedLine {
            entry: TimelineEntry {
                text: format!(
                    "Deleted tweet: {}",
                    escape_inline(&cut(&plain(text), MAX_DELETED_CHARS))
                ),
                source: Some(format!("X deletion, detected {date}")),
                date,
            },
            key: format!("deletion {page} {id}"),
        });
    }
    lines
}

/// Formats an account for the source of a line.
fn account_name(author: &Author) -> String {
    author
        .handle
        .as_ref()
        .map_or_else(|| format!("account {}", author.id), |handle| format!("@{handle}"))
}
