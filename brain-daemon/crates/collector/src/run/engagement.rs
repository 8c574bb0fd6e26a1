//! Tracks the metrics of pulled posts.

use brain_protocol::AlertKind;

use super::{ObservedPost, RunInProgress, StopCause};
use crate::{JournalEvent, Line, is_velocity_alert, parse_metrics};
use brain_base::clock::parse_instant;

impl RunInProgress<'_> {
    /// Compares metrics with the last snapshot, reports velocity alerts and stores changes. The
    /// alert comes first, because the new snapshot prevents its repetition.
    pub(super) fn track_metrics(&mut self) -> Result<(), StopCause> {
        for observed in std::mem::take(&mut self.observed_posts) {
            self.track_post(&observed)?;
        }
        Ok(())
    }

    fn track_post(&mut self, observed: &ObservedPost) -> Result<(), StopCause> {
        let ObservedPost { id, author, metrics } = observed;
        let Some(new) = parse_metrics(metrics) else { return Ok(()) };
        let last = self.warn_if_damaged(self.data.last_snapshot(id))?;
        if last.as_ref().is_some_and(|last| last.metrics == new) {
            return Ok(());
        }
        let now = self.clock.now();
        if let Some(last) = last
            && is_velocity_alert(last.metrics.like_count, new.like_count)
        {
            let elapsed_ms =
                parse_instant(&last.timestamp).map_or(0, |at| now.saturating_sub(at).max(0));
            let line = Line::Velocity {
                id: id.to_string(),
                old: last.metrics.like_count,
                new: new.like_count,
                minutes: elapsed_ms / 60_000,
            };
            let alert = JournalEvent::Alert {
                alert: AlertKind::Velocity,
                id: id.to_string(),
                author: author.clone(),
                message: line.to_string(),
            };
            self.journal.append(now, &[alert])?;
            self.listener.line(&line);
            self.report.velocity_alerts += 1;
        }
        match self.data.add_snapshot(id, now, metrics) {
            // The file was damaged before its last snapshot and was moved aside, so a new curve
            // begins.
            Err(fault) if fault.is_damage() => {
                self.report.warnings.push(fault.to_string());
                Ok(self.data.add_snapshot(id, now, metrics)?)
            }
            added => Ok(added?),
        }
    }
}
