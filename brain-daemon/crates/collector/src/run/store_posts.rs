//! Stores a page of posts, as the platform returns them.

use serde_json::{Map, Value, json};

use super::pull::StreamPull;
use super::{ObservedPost, RunInProgress, StopCause};
use crate::{
    AUTHOR, COLLECTED_AT, JournalEvent, LAST_UPDATED, PostId, Record, RunSettings, SEARCHES,
    Stream, parse_metrics,
};
use brain_base::clock::rfc3339;

impl RunInProgress<'_> {
    /// Stores a page of posts. Writes new posts to the journal first, so a crash in between can
    /// repeat a journal entry, but not lose it.
    pub(super) fn store_page(
        &mut self,
        posts: Vec<Record>,
        search: Option<&str>,
        pull: &mut StreamPull,
    ) -> Result<(), StopCause> {
        let now = self.clock.now();
        let stream = pull.stream;
        let mut new_events = Vec::new();
        let mut ready = Vec::new();
        for mut post in posts {
            if !pull.ids.insert(post.id().clone()) {
                self.add_search_to_stored(stream, post.id(), search)?;
                continue;
            }
            let stored = self.warn_if_damaged(self.data.post(stream, post.id()))?;
            add_collector_fields(&mut post, stored.as_ref(), search, now);
            set_own_handle(&mut post, stream, self.settings);
            if self.present_ids.insert(post.id().clone()) {
                self.observe(&post);
            }
            if stored.is_none() {
                new_events.push(JournalEvent::Post {
                    id: post.id().to_string(),
                    stream: stream.as_str().to_owned(),
                    author_id: post.author_id().map(str::to_owned),
                });
            }
            ready.push((post, stored.is_none()));
        }
        pull.new += new_events.len() as u64;
        // Not `now`: a reader that has read up to a later time would miss these entries.
        self.journal.append(self.clock.now(), &new_events)?;
        self.data.put_posts(stream, ready.iter().map(|(post, _)| post))?;
        for (post, _) in ready.iter().filter(|(_, is_new)| *is_new) {
            self.listener.new_post(stream, post);
        }
        Ok(())
    }

    /// Adds a search to a post that another search of this pull has already found.
    fn add_search_to_stored(
        &mut self,
        stream: Stream,
        id: &PostId,
        search: Option<&str>,
    ) -> Result<(), StopCause> {
        let Some(search) = search else { return Ok(()) };
        // The post may be in the same page twice, and not stored yet.
        let Some(mut stored) = self.warn_if_damaged(self.data.post(stream, id))? else {
            return Ok(());
        };
        if add_search(stored.fields_mut(), search) {
            self.data.put_post(stream, &stored)?;
        }
        Ok(())
    }

    /// Remembers the metrics of a post, if they are valid.
    fn observe(&mut self, post: &Record) {
        let metrics = post.fields().get("public_metrics").and_then(Value::as_object);
        if let Some(metrics) = metrics.filter(|metrics| parse_metrics(metrics).is_some()) {
            let (id, author) = (post.id().clone(), post.author().to_owned());
            self.observed_posts.push(ObservedPost { id, author, metrics: metrics.clone() });
        }
    }
}

/// Adds the collector's fields: the times of the first and this pull, the searches, and fields of
/// the stored post that begin with `_`.
fn add_collector_fields(
    post: &mut Record,
    stored: Option<&Record>,
    search: Option<&str>,
    now: i64,
) {
    let stored_fields = stored.map(Record::fields);
    let fields = post.fields_mut();
    for (name, value) in
        stored_fields.into_iter().flatten().filter(|(name, _)| name.starts_with('_'))
    {
        if !fields.contains_key(name) {
            fields.insert(name.clone(), value.clone());
        }
    }
    let now = json!(rfc3339(now));
    fields.entry(COLLECTED_AT).or_insert_with(|| now.clone());
    fields.insert(LAST_UPDATED.into(), now);
    if let Some(search) = search {
        add_search(fields, search);
    }
}

/// Adds a search to those that found a post. Returns whether it was new.
fn add_search(fields: &mut Map<String, Value>, search: &str) -> bool {
    let found_by = fields.entry(SEARCHES).or_insert_with(|| json!([]));
    let is_known = found_by.as_array().is_some_and(|all| all.iter().any(|one| one == search));
    match found_by {
        Value::Array(all) if !is_known => all.push(json!(search)),
        Value::Array(_) => {}
        other => *other = json!([search]),
    }
    !is_known
}

/// Adds the configured handle to a post of the collected account, if the post has none.
fn set_own_handle(post: &mut Record, stream: Stream, settings: &RunSettings) {
    let is_own = settings.user_id.as_ref().is_some_and(|id| post.author_id() == Some(id.as_str()));
    let is_own = is_own || (stream == Stream::Own && post.author_id().is_none());
    let needs_handle = is_own && post.author_handle().is_none();
    if let Some(handle) = settings.handle.as_ref().filter(|_| needs_handle) {
        post.fields_mut().insert(AUTHOR.into(), json!({"username": handle}));
    }
}
