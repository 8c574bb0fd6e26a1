//! Stores the posts of a page.

use serde_json::{Map, Value, json};

use super::pull::PulledStream;
use super::{Observed, RunState, StopCause};
use crate::{
    AUTHOR, COLLECTED_AT, JournalEvent, LAST_UPDATED, PostId, Record, SEARCHES, Settings, Stream,
    parse_metrics,
};
use brain_base::clock::rfc3339;

impl RunState<'_> {
    /// Stores the posts of a page. New posts enter the journal first; a crash in between repeats
    /// the entry.
    pub(super) fn keep(
        &mut self,
        posts: Vec<Record>,
        search: Option<&str>,
        pulled: &mut PulledStream,
    ) -> Result<(), StopCause> {
        let now = self.clock.now();
        let stream = pulled.stream;
        let mut noted = Vec::new();
        let mut ready = Vec::new();
        for mut post in posts {
            if !pulled.ids.insert(post.id().clone()) {
                self.found_again(stream, post.id(), search)?;
                continue;
            }
            let stored = self.readable(self.data.post(stream, post.id()))?;
            fill(&mut post, stored.as_ref(), search, now);
            name_own(&mut post, stream, self.settings);
            if self.present.insert(post.id().clone()) {
                self.observe(&post);
            }
            if stored.is_none() {
                noted.push(JournalEvent::Post {
                    id: post.id().to_string(),
                    stream: stream.as_str().to_owned(),
                    author_id: post.author_id().map(str::to_owned),
                });
            }
            ready.push((post, stored.is_none()));
        }
        pulled.new += noted.len() as u64;
        // Not `now`: a reader of the journal up to some time must not find an earlier entry later.
        self.journal.append(self.clock.now(), &noted)?;
        self.data.put_posts(stream, ready.iter().map(|(post, _)| post))?;
        for (post, _) in ready.iter().filter(|(_, is_new)| *is_new) {
            self.sink.new_post(stream, post);
        }
        Ok(())
    }

    /// Handles a post that appeared before in this pull, and adds the search that found it too.
    fn found_again(
        &mut self,
        stream: Stream,
        id: &PostId,
        search: Option<&str>,
    ) -> Result<(), StopCause> {
        let Some(search) = search else { return Ok(()) };
        // A post that is twice in one page is not stored yet.
        let Some(mut stored) = self.readable(self.data.post(stream, id))? else { return Ok(()) };
        if add_search(stored.fields_mut(), search) {
            self.data.put_post(stream, &stored)?;
        }
        Ok(())
    }

    fn observe(&mut self, post: &Record) {
        let metrics = post.fields().get("public_metrics").and_then(Value::as_object);
        if let Some(metrics) = metrics.filter(|metrics| parse_metrics(metrics).is_some()) {
            let (id, author) = (post.id().clone(), post.author().to_owned());
            self.observed.push(Observed { id, author, metrics: metrics.clone() });
        }
    }
}

/// Adds our own fields: first and last seen, searches, and data from earlier answers.
fn fill(post: &mut Record, stored: Option<&Record>, search: Option<&str>, now: i64) {
    let known = stored.map(Record::fields);
    let fields = post.fields_mut();
    for (name, value) in known.into_iter().flatten().filter(|(name, _)| name.starts_with('_')) {
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
    let known = found_by.as_array().is_some_and(|all| all.iter().any(|known| known == search));
    match found_by {
        Value::Array(all) if !known => all.push(json!(search)),
        Value::Array(_) => {}
        other => *other = json!([search]),
    }
    !known
}

/// The handle of the own account is known from the settings.
fn name_own(post: &mut Record, stream: Stream, settings: &Settings) {
    let own = settings.user_id.as_ref().is_some_and(|id| post.author_id() == Some(id.as_str()));
    let own = own || (stream == Stream::Own && post.author_id().is_none());
    if let Some(handle) = settings.handle.as_ref().filter(|_| own && post.author_handle().is_none())
    {
        post.fields_mut().insert(AUTHOR.into(), json!({"username": handle}));
    }
}
