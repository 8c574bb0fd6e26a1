//! A stored post: all fields of the platform's answer and the collector's own. No I/O.

use std::fmt;

use serde_json::{Map, Value};

use brain_base::clock::parse_instant;

/// When the collector last saw the post.
pub const LAST_UPDATED: &str = "last_updated";
/// When the collector first saw the post; never overwritten.
pub const COLLECTED_AT: &str = "_collected_at";
/// The author, as far as known: an object with `username`, `name` and other requested fields.
pub const AUTHOR: &str = "_author";
/// Pictures and videos, as far as known: an array of media objects.
pub const MEDIA: &str = "_media";
/// The whole text of a repost, as far as known.
pub const WHOLE_TEXT: &str = "_text";
/// Whether the post is from an archive of the account: then it was no event when it was added.
pub const ARCHIVED: &str = "_archive";
/// The searches that found the post.
pub const SEARCHES: &str = "_searches";

/// Maximum number of digits of an id. The platform's ids are below 2^63, which has 19 digits.
const MAX_ID_DIGITS: usize = 19;

/// A post id: 1 to 19 digits (`TweetId` of the platform's OpenAPI document). May exceed 2^53, so it
/// is never a JSON number. Valid as a file name. Ordered by age: by length, then by digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PostId(String);

/// A user id: 1 to 19 digits, like a [`PostId`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserId(String);

fn is_id(text: &str) -> bool {
    (1..=MAX_ID_DIGITS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// Implements parsing and printing of an id.
macro_rules! digit_id {
    ($id:ident) => {
        impl $id {
            /// Parses an id.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                is_id(text).then(|| Self(text.to_owned()))
            }

            /// Returns the digits.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

digit_id!(PostId);
digit_id!(UserId);

impl Ord for PostId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0.len(), &self.0).cmp(&(other.0.len(), &other.0))
    }
}

impl PartialOrd for PostId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The origin of posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// The account's own timeline.
    Own,
    /// Mentions of the account.
    Mentions,
    /// Results of the searches.
    Searches,
}

impl Stream {
    /// All streams, in the order of a run.
    pub const ALL: [Self; 3] = [Self::Own, Self::Mentions, Self::Searches];

    /// Returns the name, which is also the directory.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Mentions => "mentions",
            Self::Searches => "searches",
        }
    }

    /// Parses a stream's name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.as_str() == name)
    }
}

/// A post.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    id: PostId,
    fields: Map<String, Value>,
}

impl Record {
    /// Parses a post: an object whose `id` is a string of digits.
    #[must_use]
    pub fn new(value: Value) -> Option<Self> {
        let Value::Object(fields) = value else { return None };
        let id = PostId::parse(fields.get("id")?.as_str()?)?;
        Some(Self { id, fields })
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &PostId {
        &self.id
    }

    /// Returns all fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns all fields for modification.
    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.fields
    }

    /// Returns a text field.
    #[must_use]
    pub fn str(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    /// Returns a time field in Unix milliseconds; `None` if it is missing or invalid.
    #[must_use]
    pub fn instant(&self, name: &str) -> Option<i64> {
        parse_instant(self.str(name)?)
    }

    /// Returns the creation time, in Unix milliseconds.
    #[must_use]
    pub fn created_at(&self) -> Option<i64> {
        self.instant("created_at")
    }

    /// Returns the full text: of a long post from `note_tweet` or `note_post`, of a repost from
    /// [`WHOLE_TEXT`], because `text` is cut.
    #[must_use]
    pub fn text(&self) -> &str {
        let long = ["note_tweet", "note_post"]
            .iter()
            .find_map(|name| self.fields.get(*name)?.get("text")?.as_str());
        let whole = || self.str(WHOLE_TEXT);
        long.or_else(whole).or_else(|| self.str("text")).unwrap_or_default()
    }

    /// Returns the id of the post that this one reposts.
    #[must_use]
    pub fn reposted_id(&self) -> Option<&str> {
        let references = ["referenced_tweets", "referenced_posts"];
        let all = references.iter().find_map(|name| self.fields.get(*name)?.as_array())?;
        let is_repost = |post: &&Value| {
            matches!(post.get("type").and_then(Value::as_str), Some("retweeted" | "reposted"))
        };
        all.iter().find(is_repost)?.get("id")?.as_str()
    }

    /// Returns the author's id, if known.
    #[must_use]
    pub fn author_id(&self) -> Option<&str> {
        self.str("author_id").filter(|id| is_id(id))
    }

    /// Returns the author's handle, if known.
    #[must_use]
    pub fn author_handle(&self) -> Option<&str> {
        self.fields.get(AUTHOR)?.get("username")?.as_str()
    }

    /// Returns the author's display name, if known.
    #[must_use]
    pub fn author_name(&self) -> Option<&str> {
        self.fields.get(AUTHOR)?.get("name")?.as_str()
    }

    /// Returns the author for event lines: the handle, else the id, else an empty text.
    #[must_use]
    pub fn author(&self) -> &str {
        self.author_handle().or_else(|| self.author_id()).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_digits_and_ordered_by_age() {
        for good in ["1", "9007199254740993", "1234567890123456789"] {
            assert_eq!(PostId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "12345678901234567890", "../1", "1a", "-1", " 1", "1\n", "١"] {
            assert!(PostId::parse(bad).is_none(), "{bad:?}");
        }
        assert!(PostId::parse("9").unwrap() < PostId::parse("10").unwrap());
        assert!(
            PostId::parse("9007199254740993").unwrap() > PostId::parse("9007199254740992").unwrap()
        );
    }

    #[test]
    fn a_record_needs_a_text_id_and_keeps_unknown_fields() {
        for bad in [json!([]), json!({}), json!({"id": 17}), json!({"id": "x"}), json!(null)] {
            assert!(Record::new(bad.clone()).is_none(), "{bad}");
        }
        let post = json!({"id": "17", "text": "cut…", "note_tweet": {"text": "the whole text"},
            "later": {"x": [1]},
            "author_id": "5", "created_at": "2026-11-21T10:00:00.000Z"});
        let record = Record::new(post.clone()).unwrap();
        assert_eq!((record.text(), record.author()), ("the whole text", "5"));
        assert_eq!(record.created_at(), Some(1_795_255_200_000));
        assert_eq!(Value::Object(record.fields().clone()), post);
    }
}
