//! A post as the platform gives it and as it is kept: every field of the answer, known or not, and three of our own. Pure.

use std::fmt;

use serde_json::{Map, Value};

use brain_base::clock::parse_instant;

/// When the collector saw the post last.
pub const LAST_UPDATED: &str = "last_updated";
/// When the collector saw it first; never overwritten.
pub const COLLECTED_AT: &str = "_collected_at";
/// Who wrote it, as far as the platform said: an object with `username`, `name` and what was asked for besides.
pub const AUTHOR: &str = "_author";
/// Its pictures and videos, as far as the platform said: an array of media objects.
pub const MEDIA: &str = "_media";
/// The searches that found it.
pub const SEARCHES: &str = "_searches";

/// The most digits of an id: ids are below 2^63.
const LONGEST_ID: usize = 19;

/// The id of a post: 1 to 19 digits (`TweetId` of the platform's OpenAPI document). Larger than 2^53, so never a number in JSON. Fit to
/// be the name of a file. Ordered by age: longer is younger, then by digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PostId(String);

/// The id of a user, by the same rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserId(String);

fn is_id(text: &str) -> bool {
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// What both kinds of ids share.
macro_rules! digits {
    ($id:ident) => {
        impl $id {
            /// The id, if `text` is one.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                is_id(text).then(|| Self(text.to_owned()))
            }

            /// Its digits.
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

digits!(PostId);
digits!(UserId);

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

/// Where posts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// The account's own timeline.
    Own,
    /// Posts that mention the account.
    Mentions,
    /// What the searches find.
    Searches,
}

impl Stream {
    /// All of them, in the order of a run.
    pub const ALL: [Self; 3] = [Self::Own, Self::Mentions, Self::Searches];

    /// Its name, which is also its directory's.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Mentions => "mentions",
            Self::Searches => "searches",
        }
    }

    /// The stream of this name.
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
    /// The post in `value`: an object with an `id` that is a string of digits; `None` for anything else.
    #[must_use]
    pub fn new(value: Value) -> Option<Self> {
        let Value::Object(fields) = value else { return None };
        let id = PostId::parse(fields.get("id")?.as_str()?)?;
        Some(Self { id, fields })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &PostId {
        &self.id
    }

    /// All of its fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The same, to be written.
    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.fields
    }

    /// A field that is text.
    #[must_use]
    pub fn str(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    /// The instant in a field, Unix milliseconds; `None` where it is missing or none.
    #[must_use]
    pub fn instant(&self, name: &str) -> Option<i64> {
        parse_instant(self.str(name)?, false)
    }

    /// When it was written, Unix milliseconds.
    #[must_use]
    pub fn created_at(&self) -> Option<i64> {
        self.instant("created_at")
    }

    /// The whole text: `note_tweet` (or `note_post`) has it where `text` is cut.
    #[must_use]
    pub fn text(&self) -> &str {
        let long = ["note_tweet", "note_post"]
            .iter()
            .find_map(|name| self.fields.get(*name)?.get("text")?.as_str());
        long.or_else(|| self.str("text")).unwrap_or_default()
    }

    /// The id of its author, if the platform said it.
    #[must_use]
    pub fn author_id(&self) -> Option<&str> {
        self.str("author_id").filter(|id| is_id(id))
    }

    /// The handle of its author, if it is known.
    #[must_use]
    pub fn author_handle(&self) -> Option<&str> {
        self.fields.get(AUTHOR)?.get("username")?.as_str()
    }

    /// The display name of its author, if it is known.
    #[must_use]
    pub fn author_name(&self) -> Option<&str> {
        self.fields.get(AUTHOR)?.get("name")?.as_str()
    }

    /// The author as event lines name them: the handle, else the id, else nothing.
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
    fn a_record_needs_an_id_that_is_text_and_keeps_what_it_does_not_know() {
        for bad in [json!([]), json!({}), json!({"id": 17}), json!({"id": "x"}), json!(null)] {
            assert!(Record::new(bad.clone()).is_none(), "{bad}");
        }
        let post = json!({"id": "17", "text": "cut…", "note_tweet": {"text": "the whole text"}, "later": {"x": [1]},
            "author_id": "5", "created_at": "2026-11-21T10:00:00.000Z"});
        let record = Record::new(post.clone()).unwrap();
        assert_eq!((record.text(), record.author()), ("the whole text", "5"));
        assert_eq!(record.created_at(), Some(1_795_255_200_000));
        assert_eq!(Value::Object(record.fields().clone()), post);
    }
}
