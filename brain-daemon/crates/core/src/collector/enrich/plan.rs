//! What belongs into which page: of whom there is a page, who gets one, and what their posts and deletions say. Reads; writes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use brain_protocol::{Fault, Slug, SourceId};

use super::super::super::{Brain, Caller};
use super::super::gate::Gate;
use super::super::named::{Names, SOMEBODY};
use super::super::noticed::{Author, Files, Noticed};
use super::super::topics::{self, WEEK_MS, recurring};
use super::super::words::{cut, plain, quote};
use super::newcomer::{Newcomers, profile};
use super::page_name;
use super::pattern::Pattern;
use super::work::{Dated, Work};
use brain_base::clock::day;
use brain_collector::{PostId, Record, Stream};
use brain_page::{TimelineEntry, escaped};

/// A post whose words are quoted: at most so many, and so many characters.
const WORDS: usize = 8;
const QUOTE: usize = 80;
/// The longest text of a deleted post, in characters: what the platform lets an ordinary account write.
const DELETED: usize = 280;
/// The longest topic in a line, in characters.
const TOPIC: usize = 80;
/// A note on a topic is about days at most this far back, and so is what the journal says of it.
const LOOK_BACK: i64 = 2 * WEEK_MS;
/// What a deletion is called whose post may still be there, for others to see.
const HIDDEN: &str = "not_authorized";

/// A page, and what belongs into it.
pub(super) struct Target {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    /// Whose page is to be made, when there is none.
    pub(super) created: Option<Author>,
    /// Where what is written comes from: the account's address.
    pub(super) uri: String,
    pub(super) work: Work,
}

impl Target {
    /// What journal keys call the page.
    pub(super) fn name(&self) -> String {
        page_name(&self.source, &self.slug)
    }
}

/// All that is to be done.
pub(super) struct Plan {
    pub(super) pages: Vec<Target>,
    /// Keys of what was done before.
    pub(super) done: HashSet<String>,
    /// How many people without a page did not pass the gate.
    pub(super) below_gate: u64,
    /// Pages that may be about somebody, and do not say whose they are; in words.
    pub(super) unclaimed: Vec<String>,
}

/// A post, as far as the rules need it.
pub(super) struct Brief {
    id: PostId,
    /// When it was written, Unix milliseconds.
    pub(super) written: i64,
    /// Whether it was collected in the span that was asked for.
    pub(super) asked: bool,
    /// Whether the gate counts it: it came by mentions or searches.
    pub(super) counts: bool,
    /// What it was about, for its line; not escaped. `None` for a post that was redacted.
    about: Option<String>,
    topics: Vec<String>,
}

/// A deleted post.
struct Gone {
    id: PostId,
    /// When it was noted, Unix milliseconds.
    at: i64,
    text: String,
}

/// What was collected, author by author.
#[derive(Default)]
struct Collected {
    authors: BTreeMap<String, Author>,
    /// Posts by the author's id, oldest first.
    briefs: HashMap<String, Vec<Brief>>,
    /// Deleted posts by the author's id.
    deleted: HashMap<String, Vec<Gone>>,
}

impl Collected {
    /// Whether something of this author came in the span that was asked for.
    fn is_asked(&self, author: &str) -> bool {
        self.deleted.contains_key(author)
            || self.briefs.get(author).is_some_and(|briefs| briefs.iter().any(|brief| brief.asked))
    }
}

impl Brain {
    /// What the rules would write of what was collected from `since` to `now`.
    pub(super) fn enrichment(
        &self,
        caller: &Caller,
        files: &Files,
        since: i64,
        now: i64,
    ) -> Result<Plan, Fault> {
        let reader = self.store.read(caller.view())?;
        let names = Names::read(&reader)?;
        let noticed = files.noticed(since.min(now - LOOK_BACK), now)?;
        let week = since.min(now - WEEK_MS);
        let collected = collect(files, &names, &noticed, since, week);
        let (source, _) = self.source(caller, &reader, None)?;
        let mut plan = Plan {
            pages: Vec::new(),
            done: noticed.enriched.into_iter().collect(),
            below_gate: 0,
            unclaimed: Vec::new(),
        };
        let pages = targets(&names, &collected, &mut plan.unclaimed);
        let mut patterns = patterns(&collected, week);
        let (followers, posts) = self.config.notability();
        let mut newcomers = Newcomers::new(Gate { followers, posts }, &reader, &source, files);
        for (id, author) in &collected.authors {
            let own: Vec<&Brief> =
                collected.briefs.get(id).map(Vec::as_slice).unwrap_or_default().iter().collect();
            let place = match pages.get(id) {
                // Perhaps it is no page of a person or a company.
                Some(page) => page
                    .map(|at| names.page(at))
                    .map(|it| (it.source.clone(), it.slug.clone(), None)),
                None => {
                    let slug = newcomers.slug(author, &own)?;
                    slug.map(|slug| (source.clone(), slug, Some(author.clone())))
                }
            };
            let Some((source, slug, created)) = place else { continue };
            let deleted = collected.deleted.get(id).map(Vec::as_slice).unwrap_or_default();
            let asked: Vec<&Brief> =
                own.into_iter().filter(|it| it.asked || created.is_some()).collect();
            let work = Work {
                dated: dated(author, &page_name(&source, &slug), &asked, deleted),
                patterns: patterns.remove(id).unwrap_or_default(),
            };
            if !work.is_empty() {
                plan.pages.push(Target { source, slug, created, uri: profile(author), work });
            }
        }
        plan.below_gate = newcomers.below;
        Ok(plan)
    }
}

/// Reads the posts and deletions; topics only of what was written at or after `week`.
fn collect(files: &Files, names: &Names, noticed: &Noticed, since: i64, week: i64) -> Collected {
    let mut collected = Collected::default();
    for post in &noticed.posts {
        let asked = post.at >= since;
        let Some((record, streams)) = files.post(&post.id) else { continue };
        let written = post.written(&record);
        let Some(author) =
            files.author(&record, post.author_id()).filter(|_| asked || written >= week)
        else {
            continue;
        };
        let about = files.about(&record, Some(&author), names);
        let topics = about.topics(names);
        collected.briefs.entry(author.id.clone()).or_default().push(Brief {
            id: post.id.clone(),
            written,
            asked,
            counts: streams.iter().any(|stream| *stream != Stream::Own),
            about: line_topic(&record, &topics),
            topics: if written >= week { topics } else { Vec::new() },
        });
        // Later posts have later names and numbers.
        collected.authors.insert(author.id.clone(), author);
    }
    for (at, id) in noticed.deletions.iter().filter(|(at, _)| *at >= since) {
        let deletion = files.data.deletion(id).ok().flatten();
        // Somebody who made the account private has deleted nothing; and what was redacted is not known any more.
        let told = deletion.filter(|it| it.reason != HIDDEN && !it.text.trim().is_empty());
        if let Some(deletion) = told
            && let Some((record, _)) = files.post(id)
            && let Some(author) = files.author(&record, None)
        {
            let gone = Gone { id: id.clone(), at: *at, text: deletion.text };
            collected.deleted.entry(author.id.clone()).or_default().push(gone);
            collected.authors.entry(author.id.clone()).or_insert(author);
        }
    }
    let age = |a: &Brief, b: &Brief| (a.written, &a.id).cmp(&(b.written, &b.id));
    collected.briefs.values_mut().for_each(|own| own.sort_by(age));
    collected
}

/// What a line says that a post was about: the first topic, or the post's own first words.
fn line_topic(record: &Record, topics: &[String]) -> Option<String> {
    if let Some(topic) = topics.first() {
        return Some(cut(topic, TOPIC));
    }
    record.str("text")?;
    let quote = quote(record.text(), WORDS, QUOTE);
    Some(if quote.is_empty() { "something without words".into() } else { format!("\"{quote}\"") })
}

/// The page of each author who has one; none for who has one that is no page of a person or company, or has the name of one that does
/// not say whose it is: whether it is theirs, only its owner can say.
fn targets(
    names: &Names,
    collected: &Collected,
    unclaimed: &mut Vec<String>,
) -> HashMap<String, Option<usize>> {
    let mut pages: HashMap<String, Option<usize>> = HashMap::new();
    for (id, author) in &collected.authors {
        let handle = author.handle.as_deref();
        if let Some(&at) = names.subjects(handle).first() {
            let fits = SOMEBODY.contains(&names.page(at).page_type.as_str());
            pages.insert(id.clone(), fits.then_some(at));
            continue;
        }
        let candidates = names.candidates(handle, author.name.as_deref());
        let Some(&at) = candidates.first() else { continue };
        pages.insert(id.clone(), None);
        if let Some(handle) = handle.filter(|_| collected.is_asked(id)) {
            unclaimed.push(format!(
                "{}: may be about @{handle}, of whom nothing was noted; if it is, write `x: {handle}` into its frontmatter",
                names.page(at).slug
            ));
        }
    }
    pages
}

/// Notes on topics that somebody came back to, by author.
fn patterns(collected: &Collected, week: i64) -> HashMap<String, Vec<Pattern>> {
    let all = collected
        .briefs
        .iter()
        .flat_map(|(author, own)| own.iter().map(move |brief| (author, brief)));
    let dated: Vec<topics::Dated> = all
        .filter(|(_, brief)| brief.written >= week)
        .map(|(author, brief)| topics::Dated {
            author: author.clone(),
            post: brief.id.to_string(),
            at: brief.written,
            topics: brief.topics.clone(),
        })
        .collect();
    let mut found: HashMap<String, Vec<Pattern>> = HashMap::new();
    for topic in recurring(&dated) {
        let Some(author) = collected.authors.get(&topic.author) else { continue };
        found.entry(topic.author).or_default().push(Pattern {
            topic: escaped(&cut(&topic.topic, TOPIC)),
            count: topic.posts.len(),
            first: day(topic.span.0),
            last: day(topic.span.1),
            whose: whose(author),
        });
    }
    found
}

/// The dated lines of one author.
fn dated(author: &Author, page: &str, posts: &[&Brief], deleted: &[Gone]) -> Vec<Dated> {
    let mut lines = Vec::new();
    for brief in posts {
        let Some(about) = &brief.about else { continue };
        let date = day(brief.written);
        lines.push(Dated {
            entry: TimelineEntry {
                text: format!("Tweeted about {}", escaped(about)),
                source: Some(format!("X, {}, {date}", whose(author))),
                date,
            },
            key: format!("tweet {page} {}", brief.id),
        });
    }
    for Gone { id, at, text } in deleted {
        let date = day(*at);
        lines.push(Dated {
            entry: TimelineEntry {
                text: format!("Deleted tweet: {}", escaped(&cut(&plain(text), DELETED))),
                source: Some(format!("X deletion, detected {date}")),
                date,
            },
            key: format!("deletion {page} {id}"),
        });
    }
    lines
}

/// An account in a source.
fn whose(author: &Author) -> String {
    author
        .handle
        .as_ref()
        .map_or_else(|| format!("account {}", author.id), |handle| format!("@{handle}"))
}
