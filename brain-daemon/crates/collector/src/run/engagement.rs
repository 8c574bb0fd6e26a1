//! Following the numbers of the posts that came.

use super::{Observed, Stop, Work};
use crate::{Line, Noted, counts, gains};
use brain_base::clock::parse_instant;

impl Work<'_> {
    /// Compares the numbers of each post with its last snapshot, tells of those that grow fast, and keeps what changed. An alert is
    /// told before the snapshot is written that keeps it from being told again.
    pub(super) fn follow_numbers(&mut self) -> Result<(), Stop> {
        for observed in std::mem::take(&mut self.observed) {
            self.follow(&observed)?;
        }
        Ok(())
    }

    fn follow(&mut self, observed: &Observed) -> Result<(), Stop> {
        let Observed { id, author, metrics } = observed;
        let Some(new) = counts(metrics) else { return Ok(()) };
        let last = self.readable(self.data.last_snapshot(id))?;
        if last.as_ref().is_some_and(|last| last.metrics == new) {
            return Ok(());
        }
        let now = self.clock.now();
        if let Some(last) = last
            && gains(last.metrics.like_count, new.like_count)
        {
            let since =
                parse_instant(&last.timestamp, false).map_or(0, |at| now.saturating_sub(at).max(0));
            let line = Line::Velocity {
                id: id.to_string(),
                old: last.metrics.like_count,
                new: new.like_count,
                minutes: since / 60_000,
            };
            let alert = Noted::Alert {
                alert: "velocity".into(),
                id: id.to_string(),
                author: author.clone(),
                message: line.to_string(),
            };
            self.journal.append(now, &[alert])?;
            self.sink.line(&line);
            self.report.velocity_alerts += 1;
        }
        match self.data.add_snapshot(id, now, metrics) {
            // Its end could be read, and the rest cannot: it was moved aside, and a new curve begins.
            Err(fault) if fault.is_damage() => {
                self.report.warnings.push(fault.to_string());
                Ok(self.data.add_snapshot(id, now, metrics)?)
            }
            added => Ok(added?),
        }
    }
}
