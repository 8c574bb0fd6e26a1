//! The rubric: reach, virality, novelty and relevance computed from a post's metrics. No I/O.
//!
//! Only a model rates sentiment and actionability.

use std::collections::HashSet;

use brain_protocol::{Metrics, Rating, RatingBefore};
use serde_json::Value;

use super::super::name_index::is_unspaced_letter;
use crate::{AUTHOR, Record, post_metrics};
use brain_base::clock::{parse_instant, rfc3339};

/// Age of the first rating at which a post is rated again, in milliseconds.
pub(super) const SECOND_RATING_AGE_MS: i64 = 60 * 60 * 1000;
/// Audience with a reach of 10.
const MAX_AUDIENCE: f64 = 10_000_000.0;
/// Assumed audience per like, if the platform reports nothing else.
const VIEWS_PER_LIKE: f64 = 100.0;
/// Shares per view that give the maximum.
const MAX_SHARE_OF_VIEWS: f64 = 0.02;
/// Shares per like that give the maximum.
const MAX_SHARE_OF_LIKES: f64 = 0.5;
/// Added to the views, so that small numbers give no high share.
const EXTRA_VIEWS: f64 = 500.0;
/// Added to the likes, so that small numbers give no high share.
const EXTRA_LIKES: f64 = 10.0;
/// New interactions per hour that give the maximum.
const MAX_SPEED: f64 = 10_000.0;
/// Minimum time for computing a speed, in hours: shorter times count as this.
const MIN_HOURS: f64 = 1.0 / 12.0;
/// Minimum number of words for a novelty.
const MIN_WORDS: usize = 3;
/// Minimum length of a counted word, in characters, in scripts with spaces.
const MIN_WORD_CHARS: usize = 3;
const HOUR_MS: f64 = 3_600_000.0;
/// The field with the metrics of posts and accounts.
const METRICS: &str = "public_metrics";

/// The metrics of a post at two times.
pub(super) struct PostMetrics<'a> {
    /// The post with its latest metrics.
    pub(super) post: &'a Record,
    /// Earlier metrics and their time, in Unix milliseconds.
    pub(super) before: Option<(i64, Metrics)>,
    /// The time of the latest metrics, in Unix milliseconds.
    pub(super) at: i64,
}

/// The relations of a post to the owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OwnerRelations {
    /// Whether the post is from the account's timeline or mentions, or mentions the account.
    pub(super) concerns_account: bool,
    /// Number of searches that found the post.
    pub(super) searches: usize,
    /// Number of the brain's pages that the post mentions.
    pub(super) pages: usize,
}

impl PostMetrics<'_> {
    /// Returns the reach, 0 to 10, on a logarithmic scale of the audience.
    ///
    /// The audience is the larger of the author's followers and the impressions, or 100 per like
    /// without either. 1,000 is 4.3, 100,000 is 7.1, and 10 million or more is 10.
    pub(super) fn reach(&self) -> Option<f32> {
        let author = self.post.fields().get(AUTHOR).and_then(|author| author.get(METRICS));
        let followers = number(author, "followers_count");
        let reported = if followers > self.impressions() { followers } else { self.impressions() };
        let audience = reported.or_else(|| {
            let likes = post_metrics(self.post)?.like_count;
            Some(likes as f64 * VIEWS_PER_LIKE)
        })?;
        Some(scale((1.0 + audience).log10() / MAX_AUDIENCE.log10()))
    }

    /// Returns the virality, 0 to 10: up to 5 for shares, and up to 5 for speed.
    ///
    /// Shares are reposts and quotes per view (2 % is 5), or per like without views (one in two is
    /// 5), after [`EXTRA_VIEWS`] or [`EXTRA_LIKES`] is added. Speed is new interactions per hour
    /// since the earlier metrics, or since the post was written, on a logarithmic scale (10,000 is
    /// 5).
    pub(super) fn virality(&self) -> Option<f32> {
        let now = post_metrics(self.post)?;
        let shares = (now.retweet_count + now.quote_count) as f64;
        let share = match self.impressions().filter(|views| *views > 0.0) {
            Some(views) => shares / (views + EXTRA_VIEWS) / MAX_SHARE_OF_VIEWS,
            None => shares / (now.like_count as f64 + EXTRA_LIKES) / MAX_SHARE_OF_LIKES,
        };
        let (since, earlier) = match self.before {
            Some((at, metrics)) => (Some(at), interactions(&metrics)),
            None => (self.post.created_at(), 0.0),
        };
        let speed = since.map_or(0.0, |since| {
            let hours = ((self.at - since) as f64 / HOUR_MS).max(MIN_HOURS);
            let gain = (interactions(&now) - earlier).max(0.0);
            (1.0 + gain / hours).log10() / MAX_SPEED.log10()
        });
        Some(scale(share.clamp(0.0, 1.0) / 2.0 + speed.clamp(0.0, 1.0) / 2.0))
    }

    fn impressions(&self) -> Option<f64> {
        number(self.post.fields().get(METRICS), "impression_count")
    }
}

impl OwnerRelations {
    /// Returns the relevance, 10 at most: 5 for own posts or mentions; 3 for one search and 1 for
    /// each further search, at most 5; 1 per mentioned page, at most 3.
    pub(super) fn relevance(self) -> f32 {
        let account = if self.concerns_account { 5 } else { 0 };
        let searches = if self.searches == 0 { 0 } else { (self.searches + 2).min(5) };
        scale((account + searches + self.pages.min(3)) as f64 / 10.0)
    }
}

/// Returns the novelty, 0 to 10: the share of `words` for which `is_new` holds. `None` for fewer
/// than three words.
pub(super) fn novelty(words: &[u64], is_new: impl Fn(u64) -> bool) -> Option<f32> {
    let new = words.iter().filter(|word| is_new(**word)).count();
    (words.len() >= MIN_WORDS).then(|| scale(new as f64 / words.len() as f64))
}

/// Returns the distinct words that count for novelty, in lower case: runs of at least three letters
/// or digits, and single letters of scripts without spaces. Skips URLs, accounts and repost marks.
pub(super) fn words(text: &str) -> HashSet<String> {
    let parts =
        text.split_whitespace().filter(|part| !part.contains("://") && !part.starts_with('@'));
    let mut found = HashSet::new();
    for run in parts.flat_map(|part| part.split(|c: char| !c.is_alphanumeric())) {
        found.extend(run.chars().filter(|c| is_unspaced_letter(*c)).map(String::from));
        let words =
            run.split(is_unspaced_letter).filter(|word| word.chars().count() >= MIN_WORD_CHARS);
        found.extend(words.map(str::to_lowercase));
    }
    found
}

/// Returns whether a second rating is due at `now` (Unix milliseconds): the stored rating is the
/// first one and at least 60 minutes old.
pub(super) fn is_second_rating_due(rating: &Rating, now: i64) -> bool {
    let rated = parse_instant(&rating.rated_at);
    rating.before.is_none() && rated.is_some_and(|rated| now - rated >= SECOND_RATING_AGE_MS)
}

/// Returns the second rating: new reach and virality, the first ones in `before`, the rest
/// unchanged.
pub(super) fn second_rating(first: Rating, metrics: &PostMetrics<'_>, now: i64) -> Rating {
    let before =
        RatingBefore { reach: first.reach, virality: first.virality, rated_at: first.rated_at };
    Rating {
        reach: metrics.reach(),
        virality: metrics.virality(),
        rated_at: rfc3339(now),
        before: Some(before),
        ..first
    }
}

/// Converts a share, 0 to 1, to a rating, 0 to 10, with one decimal.
fn scale(share: f64) -> f32 {
    ((share.clamp(0.0, 1.0) * 100.0).round() / 10.0) as f32
}

/// Returns a metric by the platform's name.
fn number(metrics: Option<&Value>, name: &str) -> Option<f64> {
    metrics?.get(name)?.as_u64().map(|number| number as f64)
}

fn interactions(metrics: &Metrics) -> f64 {
    [metrics.like_count, metrics.retweet_count, metrics.reply_count, metrics.quote_count]
        .into_iter()
        .map(|count| count as f64)
        .sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: i64 = 1_795_257_045_000;

    fn post(fields: &Value) -> Record {
        let mut post = json!({ "id": "1", "text": "x", "created_at": rfc3339(AT - 3_600_000) });
        for (name, value) in fields.as_object().unwrap() {
            post[name] = value.clone();
        }
        Record::new(post).unwrap()
    }

    fn metrics_of(post: &Record) -> PostMetrics<'_> {
        PostMetrics { post, before: None, at: AT }
    }

    #[test]
    fn reach_is_the_logarithm_of_the_larger_audience() {
        for (followers, views, likes, reach) in [
            (Some(0), None, None, Some(0.0)),
            (Some(999), None, None, Some(4.3)),
            (Some(100), Some(999), None, Some(4.3)),
            (Some(100_000), Some(10), None, Some(7.1)),
            (Some(10_000_000), None, None, Some(10.0)),
            (Some(u64::MAX), None, None, Some(10.0)),
            (None, None, Some(10), Some(4.3)),
            (None, None, Some(0), Some(0.0)),
            (None, None, None, None),
        ] {
            let mut fields = json!({});
            if let Some(followers) = followers {
                fields["_author"] = json!({ "public_metrics": { "followers_count": followers } });
            }
            if let Some(views) = views {
                fields["public_metrics"]["impression_count"] = json!(views);
            }
            if let Some(likes) = likes {
                fields["public_metrics"]["like_count"] = json!(likes);
            }
            assert_eq!(
                metrics_of(&post(&fields)).reach(),
                reach,
                "{followers:?} {views:?} {likes:?}"
            );
        }
    }

    #[test]
    fn virality_is_half_shares_and_half_speed() {
        let metrics = |likes: u64, reposts: u64, views: u64| {
            json!({ "public_metrics": { "like_count": likes, "retweet_count": reposts,
                "reply_count": 0,
                "quote_count": 0, "impression_count": views } })
        };
        // No shares and no interactions.
        assert_eq!(metrics_of(&post(&metrics(0, 0, 0))).virality(), Some(0.0));
        // 2 % of (99,500 + 500) views, and 9,999 in the hour since it was written.
        assert_eq!(metrics_of(&post(&metrics(7999, 2000, 99_500))).virality(), Some(10.0));
        assert_eq!(metrics_of(&post(&metrics(8999, 1000, 99_500))).virality(), Some(7.5));
        // One like and one repost give a low virality.
        assert!(metrics_of(&post(&metrics(1, 1, 0))).virality().unwrap() < 2.0);
        // No change since the earlier snapshot: only the share counts.
        let post = post(&metrics(7999, 2000, 99_500));
        let unchanged = Metrics { like_count: 7999, retweet_count: 2000, ..Metrics::default() };
        let without_growth =
            PostMetrics { post: &post, before: Some((AT - 1_800_000, unchanged)), at: AT };
        assert_eq!(without_growth.virality(), Some(5.0));
        // A decrease gives no speed, even if no time has passed.
        let more = Metrics { like_count: 9000, ..unchanged };
        assert_eq!(
            PostMetrics { post: &post, before: Some((AT, more)), at: AT }.virality(),
            Some(5.0)
        );
        assert_eq!(metrics_of(&Record::new(json!({ "id": "1" })).unwrap()).virality(), None);
    }

    #[test]
    fn relevance_counts_relations() {
        let relevance_of = |concerns_account, searches, pages| {
            OwnerRelations { concerns_account, searches, pages }.relevance()
        };
        assert_eq!(relevance_of(false, 0, 0), 0.0);
        assert_eq!(relevance_of(true, 0, 0), 5.0);
        assert_eq!(
            [1, 2, 3, 9].map(|searches| relevance_of(false, searches, 0)),
            [3.0, 4.0, 5.0, 5.0]
        );
        assert_eq!([1, 3, 9].map(|pages| relevance_of(false, 0, pages)), [1.0, 3.0, 3.0]);
        assert_eq!(relevance_of(true, 9, 9), 10.0);
    }

    #[test]
    fn novelty_is_the_share_of_new_words() {
        assert_eq!(novelty(&[1, 2], |_| true), None);
        assert_eq!(novelty(&[1, 2, 3], |_| true), Some(10.0));
        assert_eq!(novelty(&[1, 2, 3, 4], |word| word == 4), Some(2.5));
        assert_eq!(novelty(&[1, 2, 3], |_| false), Some(0.0));
        let mut found: Vec<String> =
            words("RT @ann: The DOG, the dog! is at https://t.co/x 東京").into_iter().collect();
        found.sort();
        assert_eq!(found, ["dog", "the", "京", "東"]);
    }

    #[test]
    fn a_post_is_rated_again_once_after_sixty_minutes() {
        let first = Rating {
            reach: Some(1.0),
            sentiment: Some(-3.0),
            rated_at: rfc3339(AT),
            ..Rating::default()
        };
        assert!(!is_second_rating_due(&first, AT + SECOND_RATING_AGE_MS - 1));
        assert!(is_second_rating_due(&first, AT + SECOND_RATING_AGE_MS));
        assert!(!is_second_rating_due(&first, AT - SECOND_RATING_AGE_MS), "the clock was set back");
        let post = post(&json!({ "_author": { "public_metrics": { "followers_count": 999 } } }));
        let second = second_rating(
            first,
            &PostMetrics { post: &post, before: None, at: AT },
            AT + SECOND_RATING_AGE_MS,
        );
        assert_eq!((second.reach, second.sentiment), (Some(4.3), Some(-3.0)));
        let before = second.before.clone().unwrap();
        assert_eq!((before.reach, before.rated_at), (Some(1.0), rfc3339(AT)));
        assert!(
            !is_second_rating_due(&second, AT + 9 * SECOND_RATING_AGE_MS),
            "there is no third rating"
        );
    }
}
