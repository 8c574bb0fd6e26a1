//! The JSON of posts and accounts: the requested fields, in the requested vocabulary.

use std::collections::BTreeSet;

use brain_base::clock::rfc3339;
use serde_json::{Map, Value, json};

use super::params::{NEWER_FIELDS, Params};
use super::query::names_after;
use super::world::{Account, Media, Post, World};

/// Maximum length of a post's `text` in characters. `note_tweet` has the full text of longer posts.
const MAX_TEXT_CHARS: usize = 280;

/// The requested fields and expansions.
pub(super) struct FieldSelection {
    post_fields: BTreeSet<String>,
    user_fields: BTreeSet<String>,
    media_fields: BTreeSet<String>,
    expansions: BTreeSet<String>,
}

impl FieldSelection {
    /// Reads the requested fields, in either vocabulary. Unknown names have no effect, as on the
    /// real platform.
    pub(super) fn from_params(params: &Params) -> Self {
        let list = |name: &str| -> BTreeSet<String> {
            params
                .get(name)
                .map(|value| value.split(',').map(str::to_owned).collect())
                .unwrap_or_default()
        };
        let older_name = |name: String| match name.as_str() {
            "referenced_posts" => "referenced_tweets".into(),
            "note_post" => "note_tweet".into(),
            _ => name,
        };
        let post_fields = list("tweet.fields")
            .into_iter()
            .chain(list(NEWER_FIELDS).into_iter().map(older_name))
            .collect();
        let expansions = list("expansions")
            .into_iter()
            .map(|name| name.replace("referenced_posts", "referenced_tweets"));
        Self {
            post_fields,
            user_fields: list("user.fields"),
            media_fields: list("media.fields"),
            expansions: expansions.collect(),
        }
    }

    fn has_post_field(&self, name: &str) -> bool {
        self.post_fields.contains(name)
    }

    /// Returns the JSON of a post with the older field names.
    pub(super) fn tweet(&self, world: &World, post: &Post) -> Value {
        let mut object = Map::new();
        let is_long = post.text.chars().count() > MAX_TEXT_CHARS;
        let text = if is_long {
            post.text.chars().take(MAX_TEXT_CHARS - 1).chain(['…']).collect()
        } else {
            post.text.clone()
        };
        object.insert("id".into(), json!(post.id.to_string()));
        object.insert("text".into(), json!(text));
        let version_ids: Vec<String> = post.version_ids.iter().map(u64::to_string).collect();
        object.insert("edit_history_tweet_ids".into(), json!(version_ids));
        let mut put = |name: &str, value: Value| {
            if self.has_post_field(name) && !value.is_null() {
                object.insert(name.into(), value);
            }
        };
        put("created_at", json!(post.created()));
        put("author_id", json!(post.author.to_string()));
        put("conversation_id", json!(post.reply_to.unwrap_or(post.id).to_string()));
        put("lang", json!(post.lang));
        put("possibly_sensitive", json!(false));
        put("reply_settings", json!("everyone"));
        let parent = post.reply_to.and_then(|id| world.posts.get(&id));
        put("in_reply_to_user_id", parent.map_or(Value::Null, |to| json!(to.author.to_string())));
        put(
            "public_metrics",
            post.counts.map_or(Value::Null, |counts| {
                json!({"retweet_count": counts.reposts, "reply_count": counts.replies,
                "like_count": counts.likes,
                "quote_count": counts.quotes, "bookmark_count": counts.bookmarks,
                "impression_count": counts.impressions})
            }),
        );
        let referenced: Vec<Value> =
            [("retweeted", post.reposts), ("quoted", post.quotes), ("replied_to", post.reply_to)]
                .into_iter()
                .filter_map(|(kind, id)| Some(json!({"type": kind, "id": id?.to_string()})))
                .collect();
        put(
            "referenced_tweets",
            if referenced.is_empty() { Value::Null } else { Value::Array(referenced) },
        );
        put("note_tweet", if is_long { json!({"text": post.text}) } else { Value::Null });
        put("entities", entities(world, &text));
        let keys: Vec<&str> = post.media.iter().map(|media| media.key.as_str()).collect();
        put("attachments", if keys.is_empty() { Value::Null } else { json!({"media_keys": keys}) });
        put(
            "withheld",
            if post.is_withheld {
                json!({"copyright": false, "country_codes": ["DE"]})
            } else {
                Value::Null
            },
        );
        let editable_until = rfc3339(post.created_at + 3_600_000);
        let edits_remaining = 5_usize.saturating_sub(post.version_ids.len() - 1);
        put(
            "edit_controls",
            json!({"is_edit_eligible": true, "editable_until": editable_until,
                "edits_remaining": edits_remaining}),
        );
        Value::Object(object)
    }

    /// Returns the JSON of an account.
    pub(super) fn user(&self, account: &Account) -> Value {
        let mut object = Map::new();
        object.insert("id".into(), json!(account.id.to_string()));
        object.insert("name".into(), json!(account.name));
        object.insert("username".into(), json!(account.username));
        let fields = [
            ("created_at", json!(rfc3339(account.created_at))),
            ("description", json!(account.description)),
            ("protected", json!(account.is_protected)),
            ("verified", json!(account.verified)),
            (
                "public_metrics",
                json!({"followers_count": account.followers, "following_count": 10,
                    "tweet_count": 1, "listed_count": 0}),
            ),
        ];
        for (name, value) in fields {
            if self.user_fields.contains(name) {
                object.insert(name.into(), value);
            }
        }
        Value::Object(object)
    }

    fn media_object(&self, media: &Media) -> Value {
        let mut object = Map::new();
        object.insert("media_key".into(), json!(media.key));
        object.insert("type".into(), json!(media.kind));
        let field = if media.kind == "photo" { "url" } else { "preview_image_url" };
        if self.media_fields.contains(field) {
            object.insert(field.into(), json!(media.url));
        }
        if let Some(alt) = media.alt.as_ref().filter(|_| self.media_fields.contains("alt_text")) {
            object.insert("alt_text".into(), json!(alt));
        }
        Value::Object(object)
    }

    /// Returns the objects that these posts name and the expansions request, and errors for named
    /// posts that are missing or hidden. `is_app` says whether the request has an app's token.
    pub(super) fn includes(
        &self,
        world: &World,
        is_app: bool,
        posts: &[&Post],
    ) -> (Option<Value>, Vec<Value>) {
        let (mut users, mut tweets, mut media, mut errors) =
            (BTreeSet::new(), BTreeSet::new(), Vec::new(), Vec::new());
        for post in posts {
            if self.expansions.contains("author_id") {
                users.insert(post.author);
            }
            if self.expansions.contains("entities.mentions.username") {
                let mentions = names_after(&post.text, '@');
                users.extend(
                    mentions.iter().filter_map(|(_, name)| Some(world.by_username(name)?.id)),
                );
            }
            let referenced_ids = [post.reposts, post.quotes, post.reply_to].into_iter().flatten();
            for id in referenced_ids.filter(|_| self.expansions.contains("referenced_tweets.id")) {
                match world.posts.get(&id).filter(|other| world.can_see(is_app, other)) {
                    Some(_) => drop(tweets.insert(id)),
                    None => errors.push(json!({"value": id.to_string(),
                        "resource_id": id.to_string(),
                        "parameter": "referenced_tweets.id", "resource_type": "tweet",
                        "title": "Not Found Error",
                        "detail": format!(
                            "Could not find tweet with referenced_tweets.id: [{id}]."),
                        "type": super::problems::kind("resource-not-found")})),
                }
            }
            if self.expansions.contains("attachments.media_keys") {
                media.extend(post.media.iter().map(|medium| self.media_object(medium)));
            }
        }
        let mut includes = Map::new();
        let mut put = |name: &str, list: Vec<Value>| {
            if !list.is_empty() {
                includes.insert(name.into(), Value::Array(list));
            }
        };
        put("users", users.iter().map(|id| self.user(&world.accounts[id])).collect());
        put("tweets", tweets.iter().map(|id| self.tweet(world, &world.posts[id])).collect());
        put("media", media);
        ((!includes.is_empty()).then_some(Value::Object(includes)), errors)
    }
}

/// Returns the entities of a text. Their `start` and `end` are in characters.
fn entities(world: &World, text: &str) -> Value {
    let mut entities = Map::new();
    let mut put = |name: &str, list: Vec<Value>| {
        if !list.is_empty() {
            entities.insert(name.into(), Value::Array(list));
        }
    };
    let end = |at: usize, name: &str| at + 1 + name.chars().count();
    put(
        "mentions",
        names_after(text, '@')
            .iter()
            .filter(|(_, name)| super::query::is_handle(name))
            .map(|(at, name)| {
                let mut entity = json!({"start": at, "end": end(*at, name), "username": name});
                if let Some(account) = world.by_username(name) {
                    entity["id"] = json!(account.id.to_string());
                }
                entity
            })
            .collect(),
    );
    for (sign, key) in [('#', "hashtags"), ('$', "cashtags")] {
        let names = names_after(text, sign);
        put(
            key,
            names
                .iter()
                .map(|(at, tag)| json!({"start": at, "end": end(*at, tag), "tag": tag}))
                .collect(),
        );
    }
    let mut urls = Vec::new();
    let mut position = 0;
    while let Some(offset) = text[position..].find("https://") {
        let begin = position + offset;
        let length = text[begin..].find(char::is_whitespace).unwrap_or(text.len() - begin);
        let url = &text[begin..begin + length];
        let start = text[..begin].chars().count();
        urls.push(json!({"start": start, "end": start + url.chars().count(), "url": url,
                "expanded_url": url,
            "display_url": url.trim_start_matches("https://")}));
        position = begin + length;
    }
    put("urls", urls);
    if entities.is_empty() { Value::Null } else { Value::Object(entities) }
}

/// Replaces field names by the newer names, in all nested objects.
pub(super) fn use_newer_names(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(use_newer_names),
        Value::Object(object) => {
            for (old, new) in [
                ("edit_history_tweet_ids", "edit_history_post_ids"),
                ("referenced_tweets", "referenced_posts"),
                ("note_tweet", "note_post"),
                ("retweet_count", "repost_count"),
                ("tweets", "posts"),
            ] {
                if let Some(inner) = object.remove(old) {
                    object.insert(new.into(), inner);
                }
            }
            object.values_mut().for_each(use_newer_names);
        }
        _ => {}
    }
}
