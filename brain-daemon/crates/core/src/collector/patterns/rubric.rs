//! The rubric: how far a post reaches, how it spreads, how new it is and how much it has to do with the owner, by its numbers alone. What
//! numbers cannot say (whether it is warm or hostile, whether something should be done about it) is left to a model. Pure.

use std::collections::HashSet;

use brain_protocol::{Metrics, Rating, RatingBefore};
use serde_json::Value;

use super::super::named::stands_alone;
use brain_base::clock::{parse_instant, rfc3339};
use brain_collector::{AUTHOR, Record, compared};

/// A post is rated again when its first rating is this old, in milliseconds.
pub(super) const AGAIN_MS: i64 = 60 * 60 * 1000;
/// So many who may have seen a post are the most that a scale of 10 is for.
const CROWD: f64 = 10_000_000.0;
/// So many may have seen a post for each like, where the platform says nothing else.
const PER_LIKE: f64 = 100.0;
/// This share of those who saw a post, or liked it, passing it on is as much as it gets.
const MUCH_SEEN: f64 = 0.02;
const MUCH_LIKED: f64 = 0.5;
/// Taken as seen, or liked, without anybody passing the post on: of two likes nothing can be said.
const FEW_SEEN: f64 = 500.0;
const FEW_LIKED: f64 = 10.0;
/// Likes, reposts, replies and quotes an hour that are as fast as it gets.
const FAST: f64 = 10_000.0;
/// The shortest time that a speed is taken from, in hours.
const SHORTEST: f64 = 1.0 / 12.0;
/// Words of a post that is too short to be called new or old.
const WORDS: usize = 3;
/// The shortest word that counts, in characters, in scripts that have words.
const WORD: usize = 3;
const HOUR_MS: f64 = 3_600_000.0;
/// Where the platform puts numbers, of posts and of accounts.
const METRICS: &str = "public_metrics";

/// What the numbers of a post are taken from.
pub(super) struct Seen<'a> {
    /// The post.
    pub(super) post: &'a Record,
    /// Its numbers before the last ones, and when that was (Unix milliseconds).
    pub(super) before: Option<(i64, Metrics)>,
    /// When its last numbers were taken.
    pub(super) at: i64,
}

/// What makes a post matter to the owner, as far as it can be counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ties {
    /// It is the account's own, or mentions the account.
    pub(super) account: bool,
    /// How many of the searches found it.
    pub(super) searches: usize,
    /// How many pages of the brain it names.
    pub(super) pages: usize,
}

impl Seen<'_> {
    /// How many it reaches, from 0 to 10 by the logarithm: the larger of the author's followers and of how often it was shown; where
    /// the platform says neither, 100 for each like. 1,000 are 4.3; 100,000 are 7.1; 10 million and more are 10.
    pub(super) fn reach(&self) -> Option<f32> {
        let author = self.post.fields().get(AUTHOR).and_then(|author| author.get(METRICS));
        let followers = number(author, "followers_count");
        // `None` is less than any number.
        let known = if followers > self.impressions() { followers } else { self.impressions() };
        let crowd = known.or_else(|| {
            let likes = compared(self.post)?.like_count;
            Some(likes as f64 * PER_LIKE)
        })?;
        Some(scale((1.0 + crowd).log10() / CROWD.log10()))
    }

    /// How likely it is to spread, from 0 to 10. Up to 5 for the share of those who pass it on (reposts and quotes by views, 2 % are 5;
    /// by likes where there are no views, one in two is 5), up to 5 for its speed by the logarithm (likes, reposts, replies and quotes
    /// an hour since the former snapshot, or since it was written; 10,000 are 5).
    pub(super) fn virality(&self) -> Option<f32> {
        let now = compared(self.post)?;
        let passed_on = (now.retweet_count + now.quote_count) as f64;
        let share = match self.impressions().filter(|views| *views > 0.0) {
            Some(views) => passed_on / (views + FEW_SEEN) / MUCH_SEEN,
            None => passed_on / (now.like_count as f64 + FEW_LIKED) / MUCH_LIKED,
        };
        let (since, former) = match self.before {
            Some((at, metrics)) => (Some(at), all(&metrics)),
            None => (self.post.created_at(), 0.0),
        };
        let speed = since.map_or(0.0, |since| {
            let hours = ((self.at - since) as f64 / HOUR_MS).max(SHORTEST);
            let gain = (all(&now) - former).max(0.0);
            (1.0 + gain / hours).log10() / FAST.log10()
        });
        Some(scale(share.clamp(0.0, 1.0) / 2.0 + speed.clamp(0.0, 1.0) / 2.0))
    }

    fn impressions(&self) -> Option<f64> {
        number(self.post.fields().get(METRICS), "impression_count")
    }
}

impl Ties {
    /// How much the post has to do with the owner, from 0 to 10: 5 when it is the account's or mentions it; 3 for one search that found
    /// it and 1 for each further one, at most 5; 1 for each page that it names, at most 3.
    pub(super) fn relevance(self) -> f32 {
        let account = if self.account { 5 } else { 0 };
        let searches = if self.searches == 0 { 0 } else { (self.searches + 2).min(5) };
        scale((account + searches + self.pages.min(3)) as f64 / 10.0)
    }
}

/// How new what it says is, from 0 to 10: the share of its words that no post had before it within a week. `None` for a post with fewer
/// than three words, of which nothing can be said.
pub(super) fn novelty(words: &[u64], is_new: impl Fn(u64) -> bool) -> Option<f32> {
    let new = words.iter().filter(|word| is_new(**word)).count();
    (words.len() >= WORDS).then(|| scale(new as f64 / words.len() as f64))
}

/// The words of a text that count for novelty, each once: runs of letters and digits, in lower case, from three characters on, and each
/// letter of scripts without spaces. Addresses, accounts and the mark of a repost are left out.
pub(super) fn words(text: &str) -> HashSet<String> {
    let parts =
        text.split_whitespace().filter(|part| !part.contains("://") && !part.starts_with('@'));
    let mut found = HashSet::new();
    for run in parts.flat_map(|part| part.split(|c: char| !c.is_alphanumeric())) {
        found.extend(run.chars().filter(|c| stands_alone(*c)).map(String::from));
        let words = run.split(stands_alone).filter(|word| word.chars().count() >= WORD);
        found.extend(words.map(str::to_lowercase));
    }
    found
}

/// Whether a rating is to be made anew at `now`: it is the first one, and 60 minutes old or older.
pub(super) fn is_again_due(rating: &Rating, now: i64) -> bool {
    let rated = parse_instant(&rating.rated_at, false);
    rating.before.is_none() && rated.is_some_and(|rated| now - rated >= AGAIN_MS)
}

/// The second rating: the numbers anew, what the first ones were, and all else as it was.
pub(super) fn again(first: Rating, seen: &Seen<'_>, now: i64) -> Rating {
    let before =
        RatingBefore { reach: first.reach, virality: first.virality, rated_at: first.rated_at };
    Rating {
        reach: seen.reach(),
        virality: seen.virality(),
        rated_at: rfc3339(now),
        before: Some(before),
        ..first
    }
}

/// A share from 0 to 1 as a rating from 0 to 10, with one digit behind the point.
fn scale(share: f64) -> f32 {
    ((share.clamp(0.0, 1.0) * 100.0).round() / 10.0) as f32
}

/// One of the platform's numbers.
fn number(metrics: Option<&Value>, name: &str) -> Option<f64> {
    metrics?.get(name)?.as_u64().map(|number| number as f64)
}

fn all(metrics: &Metrics) -> f64 {
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

    fn seen(post: &Record) -> Seen<'_> {
        Seen { post, before: None, at: AT }
    }

    #[test]
    fn reach_is_the_larger_crowd_by_its_logarithm() {
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
            assert_eq!(seen(&post(&fields)).reach(), reach, "{followers:?} {views:?} {likes:?}");
        }
    }

    #[test]
    fn virality_is_half_the_share_that_passes_it_on_and_half_its_speed() {
        let metrics = |likes: u64, reposts: u64, views: u64| {
            json!({ "public_metrics": { "like_count": likes, "retweet_count": reposts, "reply_count": 0,
                "quote_count": 0, "impression_count": views } })
        };
        // Nobody passes it on, and nothing happens.
        assert_eq!(seen(&post(&metrics(0, 0, 0))).virality(), Some(0.0));
        // 2 % of (99,500 + 500) views, and 9,999 in the hour since it was written.
        assert_eq!(seen(&post(&metrics(7999, 2000, 99_500))).virality(), Some(10.0));
        assert_eq!(seen(&post(&metrics(8999, 1000, 99_500))).virality(), Some(7.5));
        // One like and one repost are no storm.
        assert!(seen(&post(&metrics(1, 1, 0))).virality().unwrap() < 2.0);
        // Since the former snapshot nothing came: only the share is left.
        let post = post(&metrics(7999, 2000, 99_500));
        let former = Metrics { like_count: 7999, retweet_count: 2000, ..Metrics::default() };
        let still = Seen { post: &post, before: Some((AT - 1_800_000, former)), at: AT };
        assert_eq!(still.virality(), Some(5.0));
        // Fewer than before is no speed, and no time at all no infinite one.
        let more = Metrics { like_count: 9000, ..former };
        assert_eq!(Seen { post: &post, before: Some((AT, more)), at: AT }.virality(), Some(5.0));
        assert_eq!(seen(&Record::new(json!({ "id": "1" })).unwrap()).virality(), None);
    }

    #[test]
    fn relevance_counts_ties() {
        let of = |account, searches, pages| Ties { account, searches, pages }.relevance();
        assert_eq!(of(false, 0, 0), 0.0);
        assert_eq!(of(true, 0, 0), 5.0);
        assert_eq!(
            (of(false, 1, 0), of(false, 2, 0), of(false, 3, 0), of(false, 9, 0)),
            (3.0, 4.0, 5.0, 5.0)
        );
        assert_eq!((of(false, 0, 1), of(false, 0, 3), of(false, 0, 9)), (1.0, 3.0, 3.0));
        assert_eq!(of(true, 9, 9), 10.0);
    }

    #[test]
    fn novelty_is_the_share_of_words_that_are_new() {
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
        assert!(!is_again_due(&first, AT + AGAIN_MS - 1));
        assert!(is_again_due(&first, AT + AGAIN_MS));
        assert!(!is_again_due(&first, AT - AGAIN_MS), "the clock was set back");
        let post = post(&json!({ "_author": { "public_metrics": { "followers_count": 999 } } }));
        let second = again(first, &Seen { post: &post, before: None, at: AT }, AT + AGAIN_MS);
        assert_eq!((second.reach, second.sentiment), (Some(4.3), Some(-3.0)));
        let before = second.before.clone().unwrap();
        assert_eq!((before.reach, before.rated_at), (Some(1.0), rfc3339(AT)));
        assert!(!is_again_due(&second, AT + 9 * AGAIN_MS), "twice is enough");
    }
}
