//! A post of an archive of X.

use std::collections::HashMap;

use brain_convert_base::{literal_line, literal_text};
use jiff::Timestamp;
use jiff::fmt::strtime;
use serde_json::Value;

use super::api_post::{api_post, number};
use super::archive::inner;
use crate::embedded::web_link;
use crate::json::{list, text};
use crate::time::from_text;

/// How much of a post's text must be the beginning of its whole text, in characters.
const BEGINNING: usize = 40;

/// A post.
pub(super) struct Post {
    pub(super) id: String,
    pub(super) time: Option<Timestamp>,
    /// The text, in markdown.
    pub(super) text: String,
    /// How many pictures and videos it has.
    pub(super) media: usize,
    /// Whom it answers: the account and the id of the post.
    reply: Option<(String, String)>,
    /// Likes and reposts.
    counts: (u64, u64),
    /// The post as the platform's API returns it; `None` for a text that no post has.
    api: Option<Value>,
}

impl Post {
    /// Reads an entry of `tweets.js`. Its whole text is taken from `notes`. `account` is the id of
    /// the author.
    pub(super) fn read(value: &Value, notes: &mut Notes, account: &str) -> Option<Self> {
        let tweet = value.get("tweet").unwrap_or(value);
        let id =
            [text(tweet, "id_str"), text(tweet, "id")].into_iter().find(|it| !it.is_empty())?;
        let time = strtime::parse("%a %b %d %H:%M:%S %z %Y", text(tweet, "created_at"))
            .and_then(|it| it.to_timestamp())
            .ok();
        let short = [text(tweet, "full_text"), text(tweet, "text")];
        let short = short.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
        let mut urls: HashMap<&str, &str> = HashMap::new();
        for url in inner(tweet, "entities", "urls") {
            urls.insert(text(url, "url"), text(url, "expanded_url"));
        }
        let extended = inner(tweet, "extended_entities", "media");
        let media = if extended.is_empty() { inner(tweet, "entities", "media") } else { extended };
        // The address of media in the text leads to the post itself.
        urls.extend(media.iter().map(|it| (text(it, "url"), "")));
        let whole = notes.take(time, short);
        let api = api_post(tweet, id, time, whole.as_deref(), account);
        let words = whole.unwrap_or_else(|| expanded(short, &urls));
        let count = |key: &str| number(tweet.get(key)?);
        let reply = text(tweet, "in_reply_to_status_id_str");
        let name = text(tweet, "in_reply_to_screen_name");
        let counts = (
            count("favorite_count").unwrap_or_default(),
            count("retweet_count").unwrap_or_default(),
        );
        Some(Self {
            id: id.to_owned(),
            time,
            text: literal_text(decoded(&words).trim()),
            media: media.len(),
            reply: (!reply.is_empty() || !name.is_empty())
                .then(|| (name.to_owned(), reply.to_owned())),
            counts,
            api: Some(api),
        })
    }

    /// Takes the post as the platform's API returns it.
    pub(super) fn take_api(&mut self) -> Option<Value> {
        self.api.take()
    }

    /// Returns a line about the post that this one answers.
    pub(super) fn reply(&self) -> Option<String> {
        let (name, id) = self.reply.as_ref()?;
        let label = if name.is_empty() { format!("post {id}") } else { format!("@{name}") };
        Some(match id.as_str() {
            "" => format!("Reply to {}", literal_line(&label)),
            id => format!("Reply to {}", web_link(&label, &address(name, id))),
        })
    }

    /// Returns a line with the address of the post and its numbers.
    pub(super) fn about(&self, account: &str) -> String {
        let mut line = web_link(&format!("Post {}", self.id), &address(account, &self.id));
        for (count, one, many) in
            [(self.counts.0, "like", "likes"), (self.counts.1, "repost", "reposts")]
        {
            if count > 0 {
                line.push_str(&format!(", {count} {}", if count == 1 { one } else { many }));
            }
        }
        line
    }
}

/// Returns the address of a post. It works without the name of the account, too.
pub(super) fn address(account: &str, id: &str) -> String {
    let is_handle = account.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let account = if is_handle && !account.is_empty() { account } else { "i" };
    format!("https://x.com/{account}/status/{id}")
}

/// Returns a text without the three entities that the archive writes.
pub(super) fn decoded(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Returns a text with whole addresses for short ones.
fn expanded(text: &str, urls: &HashMap<&str, &str>) -> String {
    const SHORT: &str = "https://t.co/";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(SHORT) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let path = from.get(SHORT.len()..).unwrap_or_default();
        let length = path.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(path.len());
        let (short, after) = from.split_at(SHORT.len() + length);
        out.push_str(urls.get(short).copied().unwrap_or(short));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The whole texts of long posts. They have no id of a post; time and beginning tell which is
/// whose.
#[derive(Default)]
pub(super) struct Notes {
    by_second: HashMap<i64, Vec<(String, String)>>,
    /// Those without a time.
    undated: Vec<(String, String)>,
}

impl Notes {
    /// Adds an entry of `note-tweet.js`.
    pub(super) fn add(&mut self, value: &Value) {
        let note = value.get("noteTweet").unwrap_or(value);
        let Some(core) = note.get("core") else { return };
        let short =
            |it: &'_ Value| [text(it, "shortUrl").to_owned(), text(it, "expandedUrl").to_owned()];
        let urls: Vec<[String; 2]> = list(core, "urls").iter().map(short).collect();
        let urls = urls.iter().map(|[short, long]| (short.as_str(), long.as_str())).collect();
        let whole = (text(note, "noteTweetId").to_owned(), expanded(text(core, "text"), &urls));
        match from_text(text(note, "createdAt")) {
            Some(time) => self.by_second.entry(time.as_second()).or_default().push(whole),
            None => self.undated.push(whole),
        }
    }

    /// Takes the whole text of a post.
    fn take(&mut self, time: Option<Timestamp>, short: &str) -> Option<String> {
        let notes = self.by_second.get_mut(&time?.as_second())?;
        let beginning = |text: &str| {
            let text = decoded(text);
            // An address is short in one of the texts, and long in the other.
            let words = text.split("http").next().unwrap_or_default();
            words.chars().filter(|c| !c.is_whitespace()).take(BEGINNING).collect::<String>()
        };
        let start = beginning(short);
        let at = notes.iter().position(|(_, whole)| {
            let whole = beginning(whole);
            whole.starts_with(start.trim_end_matches('…')) || start.starts_with(&whole)
        })?;
        Some(notes.remove(at).1)
    }

    /// Returns the texts that no post has, as posts.
    pub(super) fn into_posts(self) -> Vec<Post> {
        let post = |time: Option<Timestamp>, (id, text): (String, String)| Post {
            id,
            time,
            text: literal_text(decoded(&text).trim()),
            media: 0,
            reply: None,
            counts: (0, 0),
            api: None,
        };
        let dated = self.by_second.into_iter().flat_map(|(second, notes)| {
            let time = Timestamp::from_second(second).ok();
            notes.into_iter().map(move |note| post(time, note))
        });
        dated.chain(self.undated.into_iter().map(|note| post(None, note))).collect()
    }
}
