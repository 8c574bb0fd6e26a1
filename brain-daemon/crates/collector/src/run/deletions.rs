//! Looks up posts that are missing since the previous run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::pull::PulledStream;
use super::{RunState, StopCause};
use crate::deletion::{Verdict, should_look_up};
use crate::{JournalEvent, Line, PostId, Record, State, Stream, preview};

/// A missing post that should be looked up.
struct Missing {
    record: Record,
    /// The streams that lack it.
    streams: Vec<Stream>,
    /// Whether it is older than all posts of these streams, so newer ones may have displaced it.
    pushed_out: bool,
}

impl RunState<'_> {
    /// Compares each complete stream with its previous pull, looks up missing posts and records
    /// deletions. Undecided posts stay for the next run.
    pub(super) fn find_deletions(
        &mut self,
        state: &State,
        pulled: &[PulledStream],
    ) -> Result<(), StopCause> {
        let missing = self.missing(state, pulled)?;
        self.total += missing.len() as u64;
        let mut in_doubt = Vec::new();
        let mut refused = None;
        for missing in missing {
            if refused.is_some() {
                in_doubt.push(missing);
                continue;
            }
            self.step()?;
            match self.platform.lookup(missing.record.id()) {
                Ok(Verdict::Alive) => {}
                Ok(Verdict::Deleted(reason)) => self.deleted(&missing.record, reason)?,
                Ok(Verdict::Unknown) => in_doubt.push(missing),
                Err(fault) if fault.why.ends_the_run() => return Err(StopCause::Refused(fault)),
                Err(fault) => {
                    refused = Some(fault);
                    in_doubt.push(missing);
                }
            }
        }
        self.report.unverified = in_doubt.len() as u64;
        if let Some(fault) = refused {
            let (count, message, hint) = (in_doubt.len(), fault.message, fault.hint);
            self.report
                .warnings
                .push(format!("{count} missing posts wait to be asked for: {message}; {hint}"));
        }
        let now = self.clock.now();
        for pulled in pulled.iter().filter(|pulled| pulled.is_complete()) {
            let here = in_doubt.iter().filter(|missing| missing.streams.contains(&pulled.stream));
            let ids: Vec<PostId> = here.map(|missing| missing.record.id().clone()).collect();
            self.streams.insert(pulled.stream.as_str().to_owned(), pulled.state(&ids, now));
        }
        Ok(())
    }

    /// Returns the missing posts to look up: newest first, possibly displaced ones last.
    fn missing(
        &mut self,
        state: &State,
        pulled: &[PulledStream],
    ) -> Result<Vec<Missing>, StopCause> {
        let mut absent: BTreeMap<PostId, (Vec<Stream>, bool)> = BTreeMap::new();
        for pulled in pulled.iter().filter(|pulled| pulled.is_complete()) {
            let oldest = pulled.ids.first();
            for id in state.previous_ids(pulled.stream) {
                if !self.present.contains(&id) {
                    let pushed_out = oldest.is_some_and(|oldest| id < *oldest);
                    let (streams, all) = absent.entry(id).or_insert((Vec::new(), true));
                    streams.push(pulled.stream);
                    *all &= pushed_out;
                }
            }
        }
        let now = self.clock.now();
        let mut missing = Vec::new();
        for (id, (streams, pushed_out)) in absent {
            if self.data.is_deleted(&id) {
                if self.settings.redact {
                    // A crash may have happened between recording the deletion and this step.
                    let redacted = self.data.redact(&id);
                    self.readable(redacted.map(Some))?;
                }
                continue;
            }
            let stored = self.readable(self.data.find_post(&id))?.map(|(record, _)| record);
            if let Some(record) = stored.filter(|record| should_look_up(Some(record), false, now)) {
                missing.push(Missing { record, streams, pushed_out });
            }
        }
        missing.sort_by_key(|missing| (missing.pushed_out, Reverse(missing.record.id().clone())));
        Ok(missing)
    }

    /// Reports a deletion, then records it. A crash in between repeats the report.
    fn deleted(&mut self, post: &Record, reason: &str) -> Result<(), StopCause> {
        let now = self.clock.now();
        let id = post.id().to_string();
        self.journal.append(now, &[JournalEvent::Deletion { id: id.clone() }])?;
        let shown = if self.settings.redact { String::new() } else { preview(post.text()) };
        self.sink.line(&Line::Deletion { id, author: post.author().to_owned(), preview: shown });
        self.data.put_deletion(post, now, reason, self.settings.redact)?;
        self.report.deletions += 1;
        Ok(())
    }
}
