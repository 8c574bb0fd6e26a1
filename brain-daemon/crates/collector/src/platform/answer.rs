//! Parses posts from answers, in both vocabularies of the platform. No I/O.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::PostPage;
use crate::record::{AUTHOR, COLLECTED_AT, LAST_UPDATED, MEDIA, SEARCHES, WHOLE_TEXT};
use crate::{Account, Record};

/// Parses an object; `None` for anything else.
pub(super) fn object(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

/// Parses a page; `None` if `data` has the wrong type. Skips invalid posts.
pub(super) fn page(mut body: Map<String, Value>) -> Option<PostPage> {
    let data = match body.remove("data") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(posts)) => posts,
        Some(post @ Value::Object(_)) => vec![post],
        Some(_) => return None,
    };
    let related = RelatedObjects::take_from(&mut body);
    let posts = data.into_iter().filter_map(Record::new).map(|post| related.add_to(post)).collect();
    let next = body
        .get("meta")
        .and_then(|meta| meta.get("next_token")?.as_str())
        .filter(|token| !token.is_empty());
    Some(PostPage { posts, next: next.map(str::to_owned), incomplete: None })
}

/// Parses an account; `None` without a valid id and a name.
pub(super) fn account(body: &Map<String, Value>) -> Option<Account> {
    let data = body.get("data")?;
    let text = |name: &str| Some(data.get(name)?.as_str()?.to_owned());
    let id = text("id").filter(|id| crate::UserId::parse(id).is_some())?;
    Some(Account { id, username: text("username")? })
}

/// Objects included with the posts: authors, media, and posts that they repeat.
struct RelatedObjects {
    users: HashMap<String, Value>,
    media: HashMap<String, Value>,
    posts: HashMap<String, Value>,
}

impl RelatedObjects {
    fn take_from(body: &mut Map<String, Value>) -> Self {
        let mut includes = body.remove("includes").unwrap_or_default();
        let mut objects = |kind: &str, key: &str| {
            let all = includes.get_mut(kind).map(Value::take);
            let Some(Value::Array(all)) = all else { return HashMap::new() };
            let keyed = |value: Value| Some((value.get(key)?.as_str()?.to_owned(), value));
            all.into_iter().filter_map(keyed).collect()
        };
        let mut posts = objects("tweets", "id");
        posts.extend(objects("posts", "id"));
        Self { users: objects("users", "id"), media: objects("media", "media_key"), posts }
    }

    /// Adds author, media and the text of a repost to the post. First removes fields that have the
    /// names of the collector's own fields.
    fn add_to(&self, mut post: Record) -> Record {
        let author = post.author_id().and_then(|id| self.users.get(id)).cloned();
        let keys = post
            .fields()
            .get("attachments")
            .and_then(|attached| attached.get("media_keys")?.as_array());
        let key = |key: &Value| self.media.get(key.as_str()?).cloned();
        let media: Vec<Value> = keys.into_iter().flatten().filter_map(key).collect();
        let reposted = post.reposted_id().and_then(|id| self.posts.get(id)).cloned();
        let whole_text = reposted.and_then(Record::new).map(|original| repost(&post, &original));
        let fields = post.fields_mut();
        for name in [AUTHOR, MEDIA, SEARCHES, WHOLE_TEXT, COLLECTED_AT, LAST_UPDATED] {
            fields.remove(name);
        }
        if let Some(author) = author {
            fields.insert(AUTHOR.into(), author);
        }
        if !media.is_empty() {
            fields.insert(MEDIA.into(), Value::Array(media));
        }
        if let Some(text) = whole_text {
            fields.insert(WHOLE_TEXT.into(), text.into());
        }
        post
    }
}

/// Returns the whole text of a repost: `RT @name: ` as the platform writes it, and the text of the
/// original.
fn repost(post: &Record, original: &Record) -> String {
    let cut = post.str("text").unwrap_or_default();
    let head = match cut.split_once(": ") {
        Some((head, _)) if head.starts_with("RT @") => format!("{head}: "),
        _ => String::new(),
    };
    format!("{head}{}", original.text())
}
