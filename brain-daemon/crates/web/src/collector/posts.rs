//! Lists of posts, topics, alerts and deletions.

use std::collections::HashMap;

use brain_protocol::{
    Alert, CollectorAlertsReply, CollectorDeletionsReply, Curve, Deletion, DeletionReason, Digest,
    DigestAuthor, DigestPost, DigestTopic, Metrics, NamedPage, Snapshot,
};
use maud::{Markup, html};

use super::{alert_words, post_path};
use crate::chart::sparkline;
use crate::navigation::COLLECTOR;
use crate::page_path::page_path;
use crate::search_query::PERIODS;
use crate::table::{table, text, time};
use crate::text::{Text, with_noun};

/// Shows the posts whose likes grow fastest.
pub(super) fn fastest_growing(movers: &[Curve]) -> Markup {
    let likes = |snapshot: Option<&Snapshot>| snapshot.map_or(0, |it| it.metrics.like_count);
    html! {
        @if !movers.is_empty() {
            h2 { "Growing fastest" }
            ol class="hits posts" {
                @for curve in movers {
                    @let (first, last) = (curve.snapshots.first(), curve.snapshots.last());
                    li {
                        a href=(Text(&post_path(&curve.id))) {
                            (sparkline(&curve.snapshots))
                            "Likes " (likes(first)) " → " (likes(last))
                        }
                        " " span class="facts" { (author(&curve.author)) }
                        p class="snippet" dir="auto" { (Text(&curve.preview)) }
                    }
                }
            }
        }
    }
}

fn author(name: &str) -> Markup {
    html! { @if !name.is_empty() { "@" (text(name)) } }
}

/// Shows the posts of the digest by author.
pub(super) fn posts(
    period: &str,
    digest: &Digest,
    curves: &HashMap<String, Vec<Snapshot>>,
) -> Markup {
    html! {
        h2 id="posts" { "Posts" }
        p class="chips" aria-label="Period" {
            @for (value, name, _) in &PERIODS {
                a class={ "chip" @if *value == period { " on" } }
                    aria-current=[(*value == period).then_some("true")]
                    href={ (COLLECTOR) "?when=" (value) "#posts" } { (name) }
            }
        }
        p class="facts" {
            "Collected from " (time(&digest.since)) " to " (time(&digest.until))
            " (UTC). Check the texts of others before you rely on them."
        }
        @if digest.authors.is_empty() { p { "No posts." } }
        @for author in &digest.authors { (author_posts(author, curves)) }
        @if let Some(next) = &digest.next {
            @let mut query = form_urlencoded::Serializer::new(String::new());
            @let query = query.append_pair("when", period).append_pair("after", next).finish();
            p { a href={ (COLLECTOR) "?" (Text(&query)) "#posts" } { "More posts" } }
        }
    }
}

fn author_posts(author: &DigestAuthor, curves: &HashMap<String, Vec<Snapshot>>) -> Markup {
    html! {
        section {
            h3 {
                @match &author.handle {
                    Some(handle) => { "@" (text(handle)) }
                    None => { "id " (Text(&author.id)) }
                }
                @if let Some(name) = &author.name { " " span class="facts" { (text(name)) } }
                @if author.own { " " span class="facts" { "you" } }
            }
            @if !author.pages.is_empty() { p class="facts" { (pages(&author.pages)) } }
            ol class="hits posts" {
                @for post in &author.posts {
                    li { (post_row(post, author.own, curves.get(&post.id))) }
                }
            }
        }
    }
}

fn post_row(post: &DigestPost, is_own: bool, snapshots: Option<&Vec<Snapshot>>) -> Markup {
    let at = post.created_at.as_deref().unwrap_or(&post.collected_at);
    let curve = snapshots.map(|snapshots| sparkline(snapshots));
    html! {
        p class="post" dir="auto" { (Text(&post.text)) }
        p class="facts" {
            a href=(Text(&post_path(&post.id))) {
                @if let Some(curve) = curve { (curve) }
                @match post.metrics {
                    Some(Metrics { like_count, retweet_count, reply_count, .. }) => {
                        (with_noun(like_count, "like", "likes")) ", "
                        (with_noun(retweet_count, "repost", "reposts")) ", "
                        (with_noun(reply_count, "reply", "replies"))
                    }
                    None => "Counts",
                }
                span class="hidden" { " of the post of " (at) }
            }
            " · " (time(at)) " · " (Text(&post.streams.join(", ")))
            @if !is_own { " · " span class="outside" { "from outside" } }
            @if let Some(at) = &post.deleted {
                " · " span class="state bad" { "deleted" } ", detected at " (time(at))
            }
            @for topic in &post.topics { " " bdi { (Text(topic)) } }
            @if let Some(url) = web_url(&post.url) {
                " · " a href=(Text(&url)) rel="noopener noreferrer nofollow" { "on the platform" }
            }
        }
        @if !post.pages.is_empty() { p class="facts" { "About " (pages(&post.pages)) } }
        @if let Some(picture) = post.image_text.as_deref().filter(|text| !text.is_empty()) {
            p class="facts" { "In the picture: " (text(picture)) }
        }
    }
}

/// Returns the URL in `text` if its scheme is HTTP or HTTPS. Other URLs are not linked.
fn web_url(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

fn pages(pages: &[NamedPage]) -> Markup {
    html! {
        @for (at, page) in pages.iter().enumerate() {
            @if at > 0 { ", " }
            @match page.relation.as_str() {
                "candidate" => "perhaps ",
                "mention" => "named in ",
                _ => "",
            }
            a href=(Text(&page_path(&format!("{}:{}", page.source_id, page.slug)))) {
                bdi { (Text(&page.title)) }
            }
        }
    }
}

/// Shows repeated topics of accounts.
pub(super) fn topics(topics: &[DigestTopic]) -> Markup {
    let row = |topic: &DigestTopic| {
        vec![
            text(&topic.topic),
            match &topic.author {
                Some(handle) => author(handle),
                None => html! { "id " (Text(&topic.author_id)) },
            },
            html! { (topic.count) },
            html! { (Text(&topic.first)) " to " (Text(&topic.last)) },
            html! {
                @for (at, id) in topic.posts.iter().enumerate() {
                    @if at > 0 { " " }
                    a href=(Text(&post_path(id))) { (Text(id)) }
                }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = topics.iter().map(row).collect();
    let headings = ["Topic", "Account", "Posts in a week", "Days", "Posts"];
    html! {
        h2 id="topics" { "Topics" }
        (table(
            "Topics",
            &headings,
            &rows,
            "No account has written three posts about a topic within a week.",
        ))
    }
}

/// Shows alerts, newest first.
pub(super) fn alerts(reply: &CollectorAlertsReply) -> Markup {
    let row = |alert: &Alert| {
        vec![
            time(&alert.at),
            html! { (alert.kind.as_str().replace('_', " ")) },
            html! { a href=(Text(&post_path(&alert.id))) { (Text(&alert.id)) } },
            author(&alert.author),
            text(&alert_words(alert.kind, &alert.message)),
        ]
    };
    let rows: Vec<Vec<Markup>> = reply.alerts.iter().map(row).collect();
    html! {
        h2 id="alerts" { "Alerts" }
        (table(
            "Alerts",
            &["Time (UTC)", "Kind", "Post", "Account", "What happened"],
            &rows,
            "No alerts.",
        ))
        @if reply.truncated {
            p class="note" { "There are more: " code { "brain collector alerts" } }
        }
    }
}

/// Shows deleted posts with their texts, newest first.
pub(super) fn deletions(reply: &CollectorDeletionsReply) -> Markup {
    html! {
        h2 id="deletions" { "Deletions" }
        @if reply.deletions.is_empty() { p { "No post is known to be deleted." } }
        @else {
            ol class="hits posts" { @for it in &reply.deletions { li { (deletion(it)) } } }
        }
        @if reply.truncated {
            p class="note" { "There are more: " code { "brain collector deletions" } }
        }
    }
}

/// Shows a deleted post.
pub(super) fn deletion(it: &Deletion) -> Markup {
    html! {
        @if it.text.is_empty() {
            p { "Its text is not kept (" code { "collector.deleted_posts" } ")." }
        } @else { p class="post" dir="auto" { (Text(&it.text)) } }
        p class="facts" {
            a href=(Text(&post_path(&it.id))) { "Post " (Text(&it.id)) }
            @if !it.author.is_empty() { " · " (author(&it.author)) }
            @if let Some(at) = &it.created_at { " · written " (time(at)) }
            " · deletion found " (time(&it.detected_at)) " · " (reason(&it.reason))
            " · " span class="outside" { "from outside" }
        }
    }
}

fn reason(reason: &str) -> Markup {
    html! {
        @match DeletionReason::parse(reason) {
            Some(DeletionReason::NotFound404 | DeletionReason::NotFound) => {
                "the platform no longer has it"
            }
            Some(DeletionReason::NotAuthorized) => "the account is private or suspended",
            Some(DeletionReason::NoData) => "the platform returns nothing for it",
            None => (text(reason)),
        }
    }
}
