//! Wire types of the digest of collected posts.

use serde::{Deserialize, Serialize};

use crate::{Alert, Deletion, Metrics, Slug, SourceId};

/// `brain collector digest`: summarises collected posts for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CollectorDigest {
    /// Only posts collected at or after this day or time (`YYYY-MM-DD` or RFC 3339); the last 24
    /// hours if absent.
    pub since: Option<String>,
    /// The maximum number of posts, 1 to 1000.
    pub limit: u32,
    /// The `next` of the previous reply.
    pub after: Option<String>,
}

/// Collected posts, from which an agent enriches pages. All text in it is untrusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// The start of the period.
    pub since: String,
    /// The end of the period.
    pub until: String,
    /// The authors with their posts, most posts first.
    pub authors: Vec<DigestAuthor>,
    /// Topics with at least three posts of one account within seven days.
    pub topics: Vec<DigestTopic>,
    /// Deletions confirmed in the period.
    pub deletions: Vec<Deletion>,
    /// Alerts of the period, without deletions.
    pub alerts: Vec<Alert>,
    /// The `after` of the next request, if there are more posts. Only the first reply has topics,
    /// deletions and alerts.
    pub next: Option<String>,
}

/// An account with its posts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestAuthor {
    /// Its id.
    pub id: String,
    /// Its handle, if known.
    pub handle: Option<String>,
    /// Its name, if known.
    pub name: Option<String>,
    /// Whether it is the collector's own account.
    pub own: bool,
    /// Pages that are about the account or mention it, best first.
    pub pages: Vec<NamedPage>,
    /// Its posts, newest first.
    pub posts: Vec<DigestPost>,
}

/// A page that is about a person or topic of a post, or mentions one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPage {
    /// Its source.
    pub source_id: SourceId,
    /// Its slug.
    pub slug: Slug,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// `subject` if the page states that it is about the account, `candidate` if it only has the
    /// account's name, `mention` if it mentions the account.
    pub relation: String,
}

/// A post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestPost {
    /// Its id.
    pub id: String,
    /// The streams that returned it.
    pub streams: Vec<String>,
    /// When it was written.
    pub created_at: Option<String>,
    /// When it was first collected.
    pub collected_at: String,
    /// Its whole text.
    pub text: String,
    /// Its address on the platform.
    pub url: String,
    /// Its last known counts.
    pub metrics: Option<Metrics>,
    /// Hashtags, cashtags and topics that the platform recognised.
    pub topics: Vec<String>,
    /// Mentioned accounts, without `@`.
    pub mentions: Vec<String>,
    /// Pages about people and topics that it mentions.
    pub pages: Vec<NamedPage>,
    /// Its rating, if ratings are on.
    pub rating: Option<Rating>,
    /// The text in its pictures, if reading pictures is on.
    pub image_text: Option<String>,
    /// When its deletion was found; `None` if it exists.
    pub deleted: Option<String>,
}

/// The rating of a post: 0 to 10 in each dimension except `sentiment`. A dimension that could not
/// be rated is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Rating {
    /// How many people it reaches.
    pub reach: Option<f32>,
    /// How closely it matches the owner's searches.
    pub relevance: Option<f32>,
    /// How friendly it is, from -10 (hostile) to 10 (warm).
    pub sentiment: Option<f32>,
    /// How new its content is.
    pub novelty: Option<f32>,
    /// How much it calls for action.
    pub actionability: Option<f32>,
    /// How likely it is to spread.
    pub virality: Option<f32>,
    /// When it was rated.
    pub rated_at: String,
    /// The first rating, if this is the second.
    pub before: Option<RatingBefore>,
}

/// The first rating of a post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RatingBefore {
    /// Its reach.
    pub reach: Option<f32>,
    /// Its virality.
    pub virality: Option<f32>,
    /// When it was rated.
    pub rated_at: String,
}

/// A repeated topic of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestTopic {
    /// The account's id.
    pub author_id: String,
    /// Its handle, if known.
    pub author: Option<String>,
    /// The topic.
    pub topic: String,
    /// The number of its posts in the seven days with the most posts.
    pub count: u64,
    /// The day of the first of these posts, `YYYY-MM-DD`.
    pub first: String,
    /// The day of the last of these posts.
    pub last: String,
    /// The ids of these posts.
    pub posts: Vec<String>,
}
