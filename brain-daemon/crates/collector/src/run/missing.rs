//! Posts that the run before had and this one has not: asking for those that may have been deleted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::pull::Pulled;
use super::{Stop, Work};
use crate::deletion::{Verdict, worth_asking};
use crate::{Line, Noted, PostId, Record, State, Stream, preview};

/// A post that is missing, and worth asking for.
struct Missing {
    record: Record,
    /// The streams that it is missing in.
    streams: Vec<Stream>,
    /// Whether it is older than all that came by them: it may only have been pushed out by newer ones.
    pushed_out: bool,
}

impl Work<'_> {
    /// Compares each stream that was pulled to its end with its last complete pull, asks for what is missing, and records what is gone.
    /// Those in doubt stay among what the next run compares with.
    pub(super) fn look_for_missing(
        &mut self,
        state: &State,
        pulled: &[Pulled],
    ) -> Result<(), Stop> {
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
                Err(fault) if fault.why.ends_the_run() => return Err(Stop::Refused(fault)),
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

    /// What is missing and worth asking for: youngest first, and last what may only have been pushed out.
    fn missing(&mut self, state: &State, pulled: &[Pulled]) -> Result<Vec<Missing>, Stop> {
        let mut absent: BTreeMap<PostId, (Vec<Stream>, bool)> = BTreeMap::new();
        for pulled in pulled.iter().filter(|pulled| pulled.is_complete()) {
            let oldest = pulled.ids.first();
            for id in state.former(pulled.stream) {
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
                    // A crash may have come between the record of the deletion and this.
                    let redacted = self.data.redact(&id);
                    self.readable(redacted.map(Some))?;
                }
                continue;
            }
            let stored = self.readable(self.data.anywhere(&id))?.map(|(record, _)| record);
            if let Some(record) = stored.filter(|record| worth_asking(Some(record), false, now)) {
                missing.push(Missing { record, streams, pushed_out });
            }
        }
        missing.sort_by_key(|missing| (missing.pushed_out, Reverse(missing.record.id().clone())));
        Ok(missing)
    }

    /// Tells of a deletion, then records it: after a crash between the two it is told again.
    fn deleted(&mut self, post: &Record, reason: &str) -> Result<(), Stop> {
        let now = self.clock.now();
        let id = post.id().to_string();
        self.journal.append(now, &[Noted::Deletion { id: id.clone() }])?;
        let shown = if self.settings.redact { String::new() } else { preview(post.text()) };
        self.sink.line(&Line::Deletion { id, author: post.author().to_owned(), preview: shown });
        self.data.put_deletion(post, now, reason, self.settings.redact)?;
        self.report.deletions += 1;
        Ok(())
    }
}
