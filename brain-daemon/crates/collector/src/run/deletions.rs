//! Looks up posts that are missing since the previous run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use brain_protocol::DeletionReason;

use super::pull::StreamPull;
use super::{RunInProgress, StopCause};
use crate::deletion::{Verdict, should_look_up};
use crate::{JournalEvent, Line, PostId, Record, State, Stream, preview};

/// A missing post that should be looked up.
struct MissingPost {
    record: Record,
    /// The streams that lack it.
    streams: Vec<Stream>,
    /// Whether the post is older than all pulled posts of these streams. Then newer posts may have
    /// pushed it off the last page.
    is_past_end: bool,
}

impl RunInProgress<'_> {
    /// Compares each complete stream with its previous pull, looks up missing posts and records
    /// deletions. Posts without a clear answer are looked up again in the next run.
    pub(super) fn find_deletions(
        &mut self,
        state: &State,
        pulled: &[StreamPull],
    ) -> Result<(), StopCause> {
        let missing_posts = self.missing_posts(state, pulled)?;
        self.total += missing_posts.len() as u64;
        let mut undecided_posts = Vec::new();
        let mut failure = None;
        for post in missing_posts {
            if failure.is_some() {
                undecided_posts.push(post);
                continue;
            }
            self.step()?;
            match self.platform.lookup(post.record.id()) {
                Ok(Verdict::Alive) => {}
                Ok(Verdict::Deleted(reason)) => self.record_deletion(&post.record, reason)?,
                Ok(Verdict::Unknown) => undecided_posts.push(post),
                Err(fault) if fault.reason.ends_the_run() => return Err(StopCause::Refused(fault)),
                Err(fault) => {
                    failure = Some(fault);
                    undecided_posts.push(post);
                }
            }
        }
        self.report.unverified = undecided_posts.len() as u64;
        if let Some(fault) = failure {
            let (count, message, hint) = (undecided_posts.len(), fault.message, fault.hint);
            self.report
                .warnings
                .push(format!("{count} missing posts wait for a lookup: {message}; {hint}"));
        }
        let now = self.clock.now();
        for pulled in pulled.iter().filter(|pulled| pulled.is_complete()) {
            let of_stream =
                undecided_posts.iter().filter(|post| post.streams.contains(&pulled.stream));
            let ids: Vec<PostId> = of_stream.map(|post| post.record.id().clone()).collect();
            self.streams.insert(pulled.stream.as_str().to_owned(), pulled.state(&ids, now));
        }
        Ok(())
    }

    /// Returns the missing posts to look up: newest first, those past the last page at the end.
    fn missing_posts(
        &mut self,
        state: &State,
        pulled: &[StreamPull],
    ) -> Result<Vec<MissingPost>, StopCause> {
        let mut absent: BTreeMap<PostId, (Vec<Stream>, bool)> = BTreeMap::new();
        for pulled in pulled.iter().filter(|pulled| pulled.is_complete()) {
            let oldest = pulled.ids.first();
            for id in state.previous_ids(pulled.stream) {
                if !self.present_ids.contains(&id) {
                    let is_past_end = oldest.is_some_and(|oldest| id < *oldest);
                    let (streams, in_all) = absent.entry(id).or_insert((Vec::new(), true));
                    streams.push(pulled.stream);
                    *in_all &= is_past_end;
                }
            }
        }
        let now = self.clock.now();
        let mut missing = Vec::new();
        for (id, (streams, is_past_end)) in absent {
            if self.data.is_deleted(&id) {
                if self.settings.redact {
                    // A crash may have happened between recording the deletion and this step.
                    let redacted = self.data.redact(&id);
                    self.warn_if_damaged(redacted.map(Some))?;
                }
                continue;
            }
            let stored = self.warn_if_damaged(self.data.find_post(&id))?.map(|(record, _)| record);
            if let Some(record) = stored.filter(|record| should_look_up(Some(record), false, now)) {
                missing.push(MissingPost { record, streams, is_past_end });
            }
        }
        missing.sort_by_key(|missing| (missing.is_past_end, Reverse(missing.record.id().clone())));
        Ok(missing)
    }

    /// Reports a deletion, then records it. A crash in between repeats the report.
    fn record_deletion(&mut self, post: &Record, reason: DeletionReason) -> Result<(), StopCause> {
        let now = self.clock.now();
        let id = post.id().to_string();
        self.journal.append(now, &[JournalEvent::Deletion { id: id.clone() }])?;
        let preview = if self.settings.redact { String::new() } else { preview(post.text()) };
        self.listener.line(&Line::Deletion { id, author: post.author().to_owned(), preview });
        self.data.put_deletion(post, now, reason, self.settings.redact)?;
        self.report.deletions += 1;
        Ok(())
    }
}
