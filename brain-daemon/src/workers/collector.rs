//! Workers of the collector: scheduled runs, analysis of posts, and the persistent connection.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::Fault;

use super::runner::{Next, Worker};
use super::schedule::{Schedule, log_failure};
use brain_core::Brain;

/// The name of the job of runs, as in [`brain_config::Config::planned_tasks`].
const RUN: &str = "collector";
/// The name of the job of ratings.
const RATINGS: &str = "collector.ratings";
/// The time until failed processing of posts is retried, unless new posts arrive earlier.
const RETRY_DELAY: Duration = Duration::from_secs(5 * 60);
/// Maximum time between two rounds of analyses. It is the interval of the planned minutes.
const RATINGS_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Runs the collector in its planned minutes. `CollectorService::collect_due` decides whether a run
/// is due, so a missed run is made up, and runs never overlap.
pub(super) struct CollectorRuns {
    brain: Arc<Brain>,
    schedule: Arc<Schedule>,
}

impl CollectorRuns {
    pub(super) fn new(brain: Arc<Brain>, schedule: Arc<Schedule>) -> Self {
        Self { brain, schedule }
    }
}

impl Worker for CollectorRuns {
    fn round(&mut self) -> Next {
        start_if_ready(&self.brain, &self.schedule);
        let (brain, now) = (&self.brain, self.brain.now());
        self.schedule.run(RUN, now, || Ok(brain.collector.collect_due()?.is_some()))
    }

    async fn wakeup(&mut self) {
        self.schedule.planned_minute(RUN).await;
    }
}

/// Analyses posts: ratings, images, articles and videos. Runs when posts arrive, and in the
/// planned minute of ratings.
pub(super) struct PostAnalysis {
    brain: Arc<Brain>,
    schedule: Arc<Schedule>,
    /// Whether the next round begins only in a free minute.
    needs_minute: bool,
}

impl PostAnalysis {
    pub(super) fn new(brain: Arc<Brain>, schedule: Arc<Schedule>) -> Self {
        Self { brain, schedule, needs_minute: false }
    }
}

impl Worker for PostAnalysis {
    /// Ratings may cost money.
    const RESTART_DELAY: Duration = Duration::from_secs(5 * 60);

    fn round(&mut self) -> Next {
        start_if_ready(&self.brain, &self.schedule);
        if self.needs_minute
            && let Err(wait) = self.schedule.try_take(RATINGS, self.brain.now())
        {
            return Next::AfterOrWakeup(wait);
        }
        let has_more = self.brain.collector.run_analyses();
        self.needs_minute = matches!(has_more, Ok(false));
        next_processing(has_more)
    }

    async fn wakeup(&mut self) {
        tokio::select! {
            () = self.brain.collector.collected().notified() => self.needs_minute = false,
            () = self.schedule.planned_minute(RATINGS) => {}
        }
    }
}

/// Returns when to process posts again. `has_more`: whether more posts can be processed at once.
fn next_processing(has_more: Result<bool, Fault>) -> Next {
    match has_more {
        Ok(true) => Next::After(Duration::ZERO),
        Ok(false) => Next::AfterOrWakeup(RATINGS_INTERVAL),
        Err(fault) => {
            log_failure(RATINGS, &fault);
            Next::AfterOrWakeup(RETRY_DELAY)
        }
    }
}

/// Starts the scheduler if the collector has a token.
fn start_if_ready(brain: &Brain, schedule: &Schedule) {
    if brain.collector.has_token() {
        schedule.start_scheduler();
    }
}

/// Keeps the collector's persistent connection. One round lasts until the shutdown.
pub(super) struct CollectorStream(pub(super) Arc<Brain>);

impl Worker for CollectorStream {
    fn round(&mut self) -> Next {
        self.0.collector.stream();
        Next::Ended
    }
}

#[cfg(test)]
mod tests {
    use brain_protocol::FaultCode;

    use super::*;

    #[test]
    fn processing_continues_waits_or_retries() {
        let failure = Fault::new(FaultCode::Io, "the disk is gone");
        assert_eq!(next_processing(Ok(true)), Next::After(Duration::ZERO));
        assert_eq!(next_processing(Ok(false)), Next::AfterOrWakeup(RATINGS_INTERVAL));
        assert_eq!(next_processing(Err(failure)), Next::AfterOrWakeup(RETRY_DELAY));
    }
}
