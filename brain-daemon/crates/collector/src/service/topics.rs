//! Topics of posts, and recurring topics of an account. No I/O.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::quote::{cut, plain};
use crate::Record;
use brain_page::normalize_name;

/// Minimum posts within [`WEEK_MS`] for a recurring topic.
const MIN_POSTS: usize = 3;
/// A week in milliseconds. Times that are exactly this far apart are within one week.
pub(super) const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Maximum number of topics, and of mentioned accounts, per post.
const MAX_TOPICS: usize = 50;
/// Maximum length of a topic, in characters.
const MAX_TOPIC_CHARS: usize = 80;

/// Returns the distinct explicit topics of a post: the platform's annotations, then hashtags
/// without `#` and cashtags with `$`. Each is one line, not escaped.
pub(super) fn explicit_topics(post: &Record) -> Vec<String> {
    let mut topics = Topics::default();
    let sets = entities(post);
    for set in &sets {
        for_each_text(set, "annotations", "normalized_text", |text| topics.add(text));
    }
    let contexts = post.fields().get("context_annotations").and_then(Value::as_array);
    for context in contexts.into_iter().flatten() {
        if let Some(name) =
            context.get("entity").and_then(|entity| entity.get("name")).and_then(Value::as_str)
        {
            topics.add(name);
        }
    }
    for set in &sets {
        for_each_text(set, "hashtags", "tag", |tag| {
            topics.add(tag.trim_start_matches(['#', '＃']));
        });
        for_each_text(set, "cashtags", "tag", |tag| {
            topics.add(&format!("${}", tag.trim_start_matches('$')));
        });
    }
    if sets.is_empty() {
        tags_in_text(post.text(), |tag| topics.add(tag));
    }
    topics.found
}

/// Returns the distinct accounts that a post mentions, without `@`, in order.
pub(super) fn mentioned_accounts(post: &Record) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if is_handle(name)
            && found.len() < MAX_TOPICS
            && !found.iter().any(|it| it.eq_ignore_ascii_case(name))
        {
            found.push(name.to_owned());
        }
    };
    let sets = entities(post);
    for set in &sets {
        for_each_text(set, "mentions", "username", &mut add);
    }
    if sets.is_empty() {
        for (at, _) in post.text().match_indices('@') {
            let (before, rest) = (&post.text()[..at], &post.text()[at + 1..]);
            let end =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            if !before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                add(&rest[..end]);
            }
        }
    }
    found
}

/// Returns whether `text` is a valid handle.
pub(super) fn is_handle(text: &str) -> bool {
    (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the entities of a post's text and long text.
fn entities(post: &Record) -> Vec<&Value> {
    let fields = post.fields();
    let long = ["note_tweet", "note_post"]
        .into_iter()
        .filter_map(|name| fields.get(name)?.get("entities"));
    fields.get("entities").into_iter().chain(long).filter(|it| it.is_object()).collect()
}

/// Calls `add` with `field` of each entity of one kind.
fn for_each_text(set: &Value, kind: &str, field: &str, mut add: impl FnMut(&str)) {
    for item in set.get(kind).and_then(Value::as_array).into_iter().flatten() {
        if let Some(text) = item.get(field).and_then(Value::as_str) {
            add(text);
        }
    }
}

/// Calls `add` with each tag in a text, for posts without entities.
fn tags_in_text(text: &str, mut add: impl FnMut(&str)) {
    for word in text.split_whitespace() {
        let end = |word: &str| {
            word.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(word.len())
        };
        let has_letter = |word: &str| word.contains(char::is_alphabetic);
        if let Some(tag) =
            word.strip_prefix('#').map(|it| &it[..end(it)]).filter(|tag| has_letter(tag))
        {
            add(tag);
        } else if let Some(tag) =
            word.strip_prefix('$').map(|it| &it[..end(it)]).filter(|tag| has_letter(tag))
        {
            add(&format!("${tag}"));
        }
    }
}

/// Distinct topics by [`key`], in their first spelling.
#[derive(Default)]
struct Topics {
    found: Vec<String>,
    keys: HashSet<String>,
}

impl Topics {
    fn add(&mut self, text: &str) {
        let topic = cut(&plain(text), MAX_TOPIC_CHARS);
        let key = key(&topic);
        if !key.is_empty() && self.found.len() < MAX_TOPICS && self.keys.insert(key) {
            self.found.push(topic);
        }
    }
}

/// Returns the comparison key of a topic. Ignores case, and takes `-`, `_` and white space as one
/// space. Empty without letters or digits.
pub(super) fn key(topic: &str) -> String {
    let key = normalize_name(topic);
    if key.contains(char::is_alphanumeric) { key } else { String::new() }
}

/// A post with its topics, for finding recurring ones.
#[derive(Debug, Clone)]
pub(super) struct TopicPost {
    /// The author's id.
    pub(super) author: String,
    /// The id of the post.
    pub(super) post: String,
    /// Time of writing, in Unix milliseconds.
    pub(super) at: i64,
    /// The topics.
    pub(super) topics: Vec<String>,
}

/// A recurring topic of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecurringTopic {
    /// The account's id.
    pub(super) author: String,
    /// The topic, in its first spelling.
    pub(super) topic: String,
    /// Times of the first and last post, in Unix milliseconds, at most [`WEEK_MS`] apart.
    pub(super) span: (i64, i64),
    /// The ids of the posts, oldest first.
    pub(super) posts: Vec<String>,
}

/// An account's posts on a topic.
struct TopicPosts<'a> {
    /// The topic, in its first spelling.
    topic: &'a str,
    /// Time and id of each post.
    posts: Vec<(i64, &'a str)>,
}

/// Returns topics with at least [`MIN_POSTS`] posts of one account within [`WEEK_MS`], those with
/// the most posts first. Each account and topic has one result: its week with the most posts, and
/// among equal weeks the latest.
pub(super) fn recurring_topics(posts: &[TopicPost]) -> Vec<RecurringTopic> {
    let mut by_topic: BTreeMap<(&str, String), TopicPosts<'_>> = BTreeMap::new();
    for post in posts {
        let mut distinct_keys = HashSet::new();
        for topic in &post.topics {
            let key = key(topic);
            if !key.is_empty() && distinct_keys.insert(key.clone()) {
                let topic_posts = by_topic
                    .entry((&post.author, key))
                    .or_insert(TopicPosts { topic, posts: Vec::new() });
                topic_posts.posts.push((post.at, &post.post));
            }
        }
    }
    let mut found = Vec::new();
    for ((author, _), TopicPosts { topic, mut posts }) in by_topic {
        posts.sort_unstable();
        let mut distinct_posts = HashSet::new();
        posts.retain(|(_, post)| distinct_posts.insert(*post));
        if let Some(week) = busiest_week(&posts)
            && let (Some(first), Some(last)) = (week.first(), week.last())
        {
            found.push(RecurringTopic {
                author: author.to_owned(),
                topic: topic.to_owned(),
                span: (first.0, last.0),
                posts: week.iter().map(|(_, post)| (*post).to_owned()).collect(),
            });
        }
    }
    found.sort_by(|a, b| b.posts.len().cmp(&a.posts.len()).then_with(|| b.span.1.cmp(&a.span.1)));
    found
}

/// Returns the posts of the week with the most posts; `None` if it has fewer than [`MIN_POSTS`].
/// Among equal weeks, returns the latest. `posts` must be sorted by time.
fn busiest_week<'a, 'b>(posts: &'b [(i64, &'a str)]) -> Option<&'b [(i64, &'a str)]> {
    let mut best: Option<&[(i64, &str)]> = None;
    let mut start = 0;
    for end in 0..posts.len() {
        while posts[end].0.saturating_sub(posts[start].0) > WEEK_MS {
            start += 1;
        }
        let week = &posts[start..=end];
        if week.len() >= MIN_POSTS && best.is_none_or(|best| week.len() >= best.len()) {
            best = Some(week);
        }
    }
    best
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn record(fields: Value) -> Record {
        let mut fields = fields;
        fields["id"] = json!("1");
        Record::new(fields).unwrap()
    }

    #[test]
    fn explicit_topics_are_distinct() {
        let post = record(json!({
            "text": "#Rust and $TSLA",
            "entities": {
                "hashtags": [{"tag": "Rust"}, {"tag": "rust"}, {"tag": "日本語"}, {"tag": 5}, {}],
                "cashtags": [{"tag": "TSLA"}],
                "annotations": [{"normalized_text": "Rust Foundation", "type": "Organization"}],
            },
            "note_tweet": {"entities": {"hashtags": [{"tag": "later"}]}},
            "context_annotations": [{"domain": {"name": "x"},
                "entity": {"id": "1", "name": "Program\nming"}}],
        }));
        assert_eq!(
            explicit_topics(&post),
            ["Rust Foundation", "Program ming", "Rust", "日本語", "$TSLA", "later"]
        );
        let bare = record(json!({"text": "a #tag, $AB. $5 #1 x#y @ann and mail@x.org"}));
        assert_eq!(explicit_topics(&bare), ["tag", "$AB"]);
        assert_eq!(mentioned_accounts(&bare), ["ann"]);
        let odd = json!({"entities": {"hashtags": "x",
            "mentions": [{"username": "a b"}, {"username": "Ann"}]}});
        assert_eq!(explicit_topics(&record(odd.clone())), Vec::<String>::new());
        assert_eq!(mentioned_accounts(&record(odd)), ["Ann"]);
    }

    fn post_at(post: u32, at: i64, topics: &[&str]) -> TopicPost {
        let topics = topics.iter().map(|&it| it.to_owned()).collect();
        TopicPost { author: "1".into(), post: post.to_string(), at, topics }
    }

    #[test]
    fn a_week_is_exactly_seven_days() {
        let posts =
            |last: i64| [post_at(1, 0, &["a"]), post_at(2, 5, &["A"]), post_at(3, last, &["a"])];
        let within = recurring_topics(&posts(WEEK_MS));
        assert_eq!(within.len(), 1);
        assert_eq!((within[0].topic.as_str(), within[0].span), ("a", (0, WEEK_MS)));
        assert_eq!(within[0].posts, ["1", "2", "3"]);
        assert_eq!(recurring_topics(&posts(WEEK_MS + 1)), []);
    }

    #[test]
    fn a_recurring_topic_needs_three_posts() {
        let twice = [post_at(1, 0, &["a", "A"]), post_at(2, 1, &["a"]), post_at(2, 1, &["a"])];
        assert_eq!(recurring_topics(&twice), []);
        let two_authors = [
            post_at(1, 0, &["a"]),
            post_at(2, 1, &["a"]),
            TopicPost { author: "2".into(), ..post_at(3, 2, &["a"]) },
        ];
        assert_eq!(recurring_topics(&two_authors), []);
    }

    #[test]
    fn the_latest_of_the_busiest_weeks_is_returned() {
        let day = WEEK_MS / 7;
        let times = [
            0,
            day,
            2 * day,
            20 * day,
            21 * day,
            22 * day,
            23 * day,
            40 * day,
            41 * day,
            42 * day,
            43 * day,
        ];
        let posts: Vec<TopicPost> =
            (0..).zip(times).map(|(n, at)| post_at(n, at, &["a"])).collect();
        let found = recurring_topics(&posts);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].posts.len(), found[0].span), (4, (40 * day, 43 * day)));
    }

    proptest! {
        #[test]
        fn recurring_topics_agree_with_a_model(times in prop::collection::vec(0_i64..40, 0..12)) {
            let day = WEEK_MS / 7;
            let posts: Vec<TopicPost> =
                (0..).zip(&times).map(|(n, at)| post_at(n, at * day, &["a"])).collect();
            let max_posts = times.iter().map(|from| times.iter()
                .filter(|at| (*from..=from + 7).contains(*at)).count()).max();
            let expected = max_posts.filter(|count| *count >= MIN_POSTS);
            let found = recurring_topics(&posts);
            prop_assert_eq!(found.first().map(|it| it.posts.len()), expected);
            if let Some(found) = found.first() {
                prop_assert!(found.span.1 - found.span.0 <= WEEK_MS);
            }
        }
    }
}
