//! Plans the enrichment: which pages get which lines, and which people get a page. Writes nothing.

use std::collections::{HashMap, HashSet};

use brain_protocol::{Fault, Slug, SourceId};

use super::super::collected_events::{CollectedFiles, PostAuthor};
use super::super::name_index::{NameIndex, PROFILE_TYPES};
use super::super::notability::NotabilityGate;
use super::super::quote::{cut, plain};
use super::super::topics::{self, WEEK_MS, recurring_topics};
use super::page_creator::{PageCreator, profile_url};
use super::page_edit::{DatedLine, PageEdit};
use super::page_name;
use super::pattern::Pattern;
use super::posts_by_author::{DeletedPost, MAX_TOPIC_CHARS, PostSummary, PostsByAuthor, collect};
use crate::service::CollectorService;
use brain_base::caller::Caller;
use brain_base::clock::day;
use brain_page::{TimelineEntry, escape_inline};

/// Maximum length of a deleted post, in characters: that of a short post on the platform.
const MAX_DELETED_CHARS: usize = 280;
/// How far back posts and journal keys are read for pattern notes, in milliseconds. A note covers
/// at most a week, and so does the note that it replaces.
const PATTERN_NOTE_WINDOW_MS: i64 = 2 * WEEK_MS;

/// A page and its new lines.
pub(super) struct PlannedPage {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    /// The person that the page is about, if enrichment must create it.
    pub(super) new_page_author: Option<PostAuthor>,
    /// The provenance of the lines: the account's URL.
    pub(super) uri: String,
    pub(super) edit: PageEdit,
}

impl PlannedPage {
    /// Returns the page's name in journal keys.
    pub(super) fn name(&self) -> String {
        page_name(&self.source, &self.slug)
    }
}

/// The planned enrichment.
pub(super) struct EnrichmentPlan {
    pub(super) pages: Vec<PlannedPage>,
    /// Journal keys of earlier enrichments.
    pub(super) done_keys: HashSet<String>,
    /// Number of people without a page who have no handle or are below the notability threshold.
    pub(super) people_below_threshold: u64,
    /// Messages about pages that have the name of an author but not the account.
    pub(super) pages_without_account: Vec<String>,
}

impl CollectorService {
    /// Plans the enrichment for posts collected from `since` to `now` (Unix milliseconds).
    pub(super) fn plan_enrichment(
        &self,
        caller: &Caller,
        files: &CollectedFiles,
        since: i64,
        now: i64,
    ) -> Result<EnrichmentPlan, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let names = NameIndex::read(&reader)?;
        let events = files.events_between(since.min(now - PATTERN_NOTE_WINDOW_MS), now)?;
        let topics_since = since.min(now - WEEK_MS);
        let collected = collect(files, &names, &events, since, topics_since);
        let (source, _) = brain_pages::sources::resolve(caller, &reader, None)?;
        let mut plan = EnrichmentPlan {
            pages: Vec::new(),
            done_keys: events.enriched_keys.into_iter().collect(),
            people_below_threshold: 0,
            pages_without_account: Vec::new(),
        };
        let pages = targets(&names, &collected, &mut plan.pages_without_account);
        let mut patterns = patterns(&collected, topics_since);
        let config = &self.env.config;
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
                plan.pages.push(PlannedPage { source, slug, new_page_author, uri, edit });
            }
        }
        plan.people_below_threshold = page_creator.rejected_count;
        Ok(plan)
    }
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
    author: &PostAuthor,
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
fn account_name(author: &PostAuthor) -> String {
    author
        .handle
        .as_ref()
        .map_or_else(|| format!("account {}", author.id), |handle| format!("@{handle}"))
}
