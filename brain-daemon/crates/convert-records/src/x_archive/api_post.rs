//! A post of an archive in the form of the platform's API (version 2), as the collector keeps it.
//!
//! The archive has the form of version 1.1. Fields that it does not have are left out: the
//! conversation, quotes, replies and impressions, and which post a repost repeats.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::archive::inner;
use crate::json::{list, text};

/// Names of fields in the archive, each with the name in the API.
type Names<'a> = &'a [(&'a str, &'a str)];

/// Returns a post. `whole` is the whole text of a long one, and `account` the id of its author.
pub(super) fn api_post(
    tweet: &Value,
    id: &str,
    time: Option<Timestamp>,
    whole: Option<&str>,
    account: &str,
) -> Value {
    let mut post = Map::new();
    let mut put = |name: &str, value: Value| {
        let is_nothing = matches!(&value, Value::String(text) if text.is_empty())
            || matches!(&value, Value::Array(all) if all.is_empty())
            || matches!(&value, Value::Object(all) if all.is_empty())
            || value.is_null();
        if !is_nothing {
            post.insert(name.to_owned(), value);
        }
    };
    put("id", json!(id));
    put("text", json!(first(tweet, &["full_text", "text"])));
    put("created_at", json!(time.map(|it| it.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string())));
    put("author_id", json!(account));
    put("lang", json!(text(tweet, "lang")));
    put("in_reply_to_user_id", json!(text(tweet, "in_reply_to_user_id_str")));
    let replied = text(tweet, "in_reply_to_status_id_str");
    if !replied.is_empty() {
        put("referenced_tweets", json!([{"type": "replied_to", "id": replied}]));
    }
    put("entities", Value::Object(entities(tweet)));
    put("edit_history_tweet_ids", json!(versions(tweet)));
    put("public_metrics", Value::Object(metrics(tweet)));
    if let Some(whole) = whole {
        put("note_tweet", json!({"text": whole}));
    }
    Value::Object(post)
}

/// Returns the first of these fields that is not empty.
fn first<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    let texts = keys.iter().map(|key| text(value, key));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Returns the numbers that the archive has.
fn metrics(tweet: &Value) -> Map<String, Value> {
    let names = [("favorite_count", "like_count"), ("retweet_count", "retweet_count")];
    let metric =
        |(theirs, ours): (&str, &str)| Some((ours.to_owned(), json!(number(tweet.get(theirs)?)?)));
    names.into_iter().filter_map(metric).collect()
}

/// Returns a number, which the archive writes as a text.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns the ids of all versions of an edited post.
fn versions(tweet: &Value) -> Vec<&str> {
    let ids = inner(tweet.get("edit_info").unwrap_or(&Value::Null), "initial", "editTweetIds");
    ids.iter().filter_map(Value::as_str).collect()
}

/// Returns the links, hashtags, cashtags and mentions.
fn entities(tweet: &Value) -> Map<String, Value> {
    let kinds: [(&str, &str, Names<'_>); 4] = [
        (
            "urls",
            "urls",
            &[("url", "url"), ("expanded_url", "expanded_url"), ("display_url", "display_url")],
        ),
        ("hashtags", "hashtags", &[("text", "tag")]),
        ("symbols", "cashtags", &[("text", "tag")]),
        ("user_mentions", "mentions", &[("screen_name", "username"), ("id_str", "id")]),
    ];
    let mut all = Map::new();
    for (theirs, ours, names) in kinds {
        let found = inner(tweet, "entities", theirs).iter().map(|it| entity(it, names));
        let found: Vec<Value> = found.collect();
        if !found.is_empty() {
            all.insert(ours.to_owned(), Value::Array(found));
        }
    }
    all
}

/// Returns a part of the text, with its place and the fields `names`.
fn entity(value: &Value, names: Names<'_>) -> Value {
    let mut fields = Map::new();
    for (place, name) in list(value, "indices").iter().zip(["start", "end"]) {
        if let Some(place) = number(place) {
            fields.insert(name.to_owned(), json!(place));
        }
    }
    for (theirs, ours) in names {
        fields.insert((*ours).to_owned(), json!(text(value, theirs)));
    }
    Value::Object(fields)
}
