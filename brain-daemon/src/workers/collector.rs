//! Runs the collector by schedule, then processes the posts that it collected.
//!
//! A trigger only wakes a task; `Brain` decides whether a run is due. So a missed run is made up,
//! and runs never overlap.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::Fault;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::MinuteAllocator;
use super::cron_trigger::CronTrigger;
use brain_base::schedule::ScheduledTask;
use brain_core::Brain;

/// The names of the jobs, as in [`brain_config::Config::planned_jobs`].
const RUN: &str = "collector";
const RATINGS: &str = "collector.ratings";
/// The time until failed processing of posts is retried, unless new posts arrive earlier.
const RETRY: Duration = Duration::from_secs(5 * 60);
/// How long a run waits for its trigger before it checks by itself. Triggers stay silent after the
/// clock is set back, until it reaches the former time.
const FALLBACK: Duration = Duration::from_secs(30);
/// The same for ratings; equal to their schedule.
const RATINGS_FALLBACK: Duration = Duration::from_secs(30 * 60);

/// Runs until `stop` is cancelled. Returns at once when everything is disabled.
pub async fn collector(brain: Arc<Brain>, minutes: Arc<MinuteAllocator>, stop: CancellationToken) {
    let config = brain.config();
    let (runs, patterns) = (config.collector.enabled, config.collector.has_patterns());
    if !runs && !patterns {
        return;
    }
    let (run_event, rating_event) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let jobs = config.planned_jobs().into_iter();
    let event_of = |job: &ScheduledTask| if job.name == RUN { &run_event } else { &rating_event };
    let jobs: Vec<_> = jobs.map(|job| (job, Arc::clone(event_of(&job)))).collect();
    let task = |name, fallback, run: fn(&Brain) -> Result<bool, Fault>| {
        let brain = Arc::clone(&brain);
        let now = Arc::clone(&brain);
        Task {
            name,
            fallback,
            minutes: Arc::clone(&minutes),
            now: Arc::new(move || now.now()),
            run: Arc::new(move || run(&brain)),
            stop: stop.clone(),
        }
    };
    // Makes up for a missed run.
    run_event.notify_one();
    let running = async {
        if runs {
            let run = task(RUN, FALLBACK, |brain| Ok(brain.collector.collect_due()?.is_some()));
            run.run_on_trigger(&run_event).await;
        }
    };
    let rating = async {
        if patterns {
            let posts =
                task(RATINGS, RATINGS_FALLBACK, |brain| brain.collector.collector_patterns());
            tokio::join!(
                trigger_ratings(&posts, &rating_event, brain.collector.collected()),
                posts.run_until_idle(brain.collector.collected())
            );
        }
    };
    tokio::join!(running, rating, run_trigger(&brain, &jobs, &stop));
}

/// Runs the scheduler until `stop` is cancelled. It reads the clock several times a second, so it
/// starts only after a token is set up.
async fn run_trigger(
    brain: &Arc<Brain>,
    jobs: &[(ScheduledTask, Arc<Notify>)],
    stop: &CancellationToken,
) {
    while !has_token(brain).await {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(FALLBACK) => {}
        }
    }
    match CronTrigger::start(jobs).await {
        Ok(trigger) => {
            stop.cancelled().await;
            trigger.stop().await;
        }
        Err(error) => {
            tracing::error!(%error, "scheduler unavailable; polling every 30 s");
        }
    }
}

async fn has_token(brain: &Arc<Brain>) -> bool {
    let brain = Arc::clone(brain);
    tokio::task::spawn_blocking(move || brain.collector.collector_has_token())
        .await
        .unwrap_or(false)
}

/// Forwards the trigger of ratings to `event` in a free minute.
async fn trigger_ratings(task: &Task, trigger: &Notify, event: &Notify) {
    while task.wait_for_trigger_or_timeout(trigger).await && task.take_minute().await {
        event.notify_one();
    }
}

/// A task that runs when its trigger fires.
struct Task {
    name: &'static str,
    /// The time after which it runs without a trigger.
    fallback: Duration,
    minutes: Arc<MinuteAllocator>,
    now: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// The blocking work. The methods say what its result means.
    run: Arc<dyn Fn() -> Result<bool, Fault> + Send + Sync>,
    stop: CancellationToken,
}

impl Task {
    /// Runs at each trigger in a free minute. `run` returns whether it was due.
    async fn run_on_trigger(&self, trigger: &Notify) {
        while self.wait_for_trigger_or_timeout(trigger).await && self.take_minute().await {
            if let Some(Ok(false)) = self.run_once().await {
                self.minutes.release(self.name);
            }
        }
    }

    /// Runs now and at each trigger, repeatedly while `run` returns that there is more to do.
    async fn run_until_idle(&self, trigger: &Notify) {
        loop {
            let done = self.run_once().await;
            let failed = !matches!(done, Some(Ok(_)));
            let has_more = matches!(done, Some(Ok(true)));
            if self.stop.is_cancelled() {
                return;
            }
            if has_more {
                continue;
            }
            tokio::select! {
                triggered = self.wait_for_trigger(trigger) => if !triggered { return },
                () = sleep(RETRY), if failed => {}
            }
        }
    }

    /// Runs once, and logs a failure. Returns `None` after a panic.
    async fn run_once(&self) -> Option<Result<bool, Fault>> {
        let run = Arc::clone(&self.run);
        match tokio::task::spawn_blocking(move || run()).await {
            Ok(result) => {
                if let Err(fault) = &result {
                    let hint = fault.hint.as_deref().unwrap_or_default();
                    tracing::warn!(%fault, hint, job = self.name, "scheduled job failed");
                }
                Some(result)
            }
            Err(_) => {
                tracing::error!(job = self.name, "scheduled job panicked");
                None
            }
        }
    }

    /// Waits for the trigger. Returns `false` when the daemon stops.
    async fn wait_for_trigger(&self, trigger: &Notify) -> bool {
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = trigger.notified() => true,
        }
    }

    /// Waits for the trigger, or for the fallback time. Returns `false` when the daemon stops.
    async fn wait_for_trigger_or_timeout(&self, trigger: &Notify) -> bool {
        tokio::time::timeout(self.fallback, self.wait_for_trigger(trigger)).await.unwrap_or(true)
    }

    /// Waits for a free minute, and allocates it. Returns `false` when the daemon stops.
    async fn take_minute(&self) -> bool {
        while let Err(wait) = self.minutes.try_take(self.name, (self.now)()) {
            tokio::select! {
                () = self.stop.cancelled() => return false,
                () = sleep(wait) => {}
            }
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;
    use std::time::Instant;

    use brain_protocol::FaultCode;

    use super::*;
    use brain_base::clock::parse_instant;
    use brain_config::Config;

    /// A task with prepared results, and the times of its runs.
    struct Fixture {
        task: Task,
        begun: Arc<Mutex<Vec<i64>>>,
    }

    /// The clock begins at `time` and goes on as ours does.
    fn fixture(time: &str, turns: Vec<Result<bool, FaultCode>>) -> Fixture {
        let config =
            Config::load(std::path::Path::new("/nonexistent/config.toml"), |_| None).unwrap();
        let (start, begin) =
            (parse_instant(&format!("2026-11-21T{time}Z"), false).unwrap(), Instant::now());
        let now = Arc::new(move || start + i64::try_from(begin.elapsed().as_millis()).unwrap());
        let begun: Arc<Mutex<Vec<i64>>> = Arc::default();
        let (noted, clock) = (Arc::clone(&begun), Arc::clone(&now));
        let run = move || {
            let mut begun = noted.lock().unwrap();
            begun.push(clock());
            match turns.get(begun.len() - 1) {
                Some(Ok(answer)) => Ok(*answer),
                Some(Err(code)) => Err(Fault::new(*code, "it does not go")),
                None => Ok(false),
            }
        };
        let minutes = Arc::new(MinuteAllocator::from_config(&config));
        let stop = CancellationToken::new();
        let fallback = Duration::from_secs(3600);
        Fixture {
            task: Task { name: RUN, fallback, minutes, now, run: Arc::new(run), stop },
            begun,
        }
    }

    impl Fixture {
        fn count(&self) -> usize {
            self.begun.lock().unwrap().len()
        }

        /// Waits until so many turns have begun.
        async fn until(&self, turns: usize) {
            let patience = Instant::now() + Duration::from_secs(30);
            while self.count() < turns {
                assert!(Instant::now() < patience, "{} of {turns}", self.count());
                sleep(Duration::from_millis(1)).await;
            }
        }
    }

    #[tokio::test]
    async fn triggers_during_a_run_cause_one_more_run() {
        let mut fixture = fixture("10:07:00", vec![]);
        let trigger = Arc::new(Notify::new());
        trigger.notify_one();
        let (run, begun, rung) =
            (Arc::clone(&fixture.task.run), Arc::clone(&fixture.begun), Arc::clone(&trigger));
        fixture.task.run = Arc::new(move || {
            let result = run();
            if begun.lock().unwrap().len() == 1 {
                (0..5).for_each(|_| rung.notify_one());
            }
            result
        });
        let ringing = async {
            fixture.until(2).await;
            sleep(Duration::from_millis(50)).await;
            assert_eq!(fixture.count(), 2);
            fixture.task.stop.cancel();
        };
        tokio::join!(fixture.task.run_on_trigger(&trigger), ringing);
    }

    #[tokio::test]
    async fn a_task_runs_without_a_trigger_after_its_fallback_time() {
        let mut fixture = fixture("10:07:00", vec![]);
        fixture.task.fallback = Duration::from_millis(5);
        let looking = async {
            // It was not due, which gives the minute back.
            fixture.until(3).await;
            fixture.task.stop.cancel();
        };
        let trigger = Notify::new();
        tokio::join!(fixture.task.run_on_trigger(&trigger), looking);
    }

    #[tokio::test]
    async fn a_task_runs_again_after_a_failure_or_panic() {
        let mut fixture = fixture("10:07:59.900", vec![Err(FaultCode::Io), Ok(true)]);
        let (run, begun) = (Arc::clone(&fixture.task.run), Arc::clone(&fixture.begun));
        fixture.task.run = Arc::new(move || {
            let result = run();
            let turn = begun.lock().unwrap().len();
            assert_ne!(turn, 2, "a defect");
            result
        });
        // Each turn has a minute, so each minute is released.
        let trigger = Notify::new();
        let ringing = async {
            for turn in 1..=3 {
                trigger.notify_one();
                fixture.until(turn).await;
                fixture.task.minutes.release(RUN);
            }
            fixture.task.stop.cancel();
        };
        tokio::join!(fixture.task.run_on_trigger(&trigger), ringing);
    }

    #[tokio::test]
    async fn a_run_waits_for_a_free_minute() {
        let fixture = fixture("10:07:59.700", vec![Ok(true)]);
        fixture.task.minutes.try_take("backup", (fixture.task.now)()).unwrap();
        let trigger = Notify::new();
        trigger.notify_one();
        let ringing = async {
            fixture.until(1).await;
            fixture.task.stop.cancel();
        };
        tokio::join!(fixture.task.run_on_trigger(&trigger), ringing);
        let begun = fixture.begun.lock().unwrap()[0];
        assert!(begun >= parse_instant("2026-11-21T10:08:00Z", false).unwrap(), "{begun}");
        assert!(fixture.task.minutes.try_take("backup", begun).is_err(), "and has it");
    }

    #[tokio::test]
    async fn waiting_for_a_minute_ends_at_shutdown() {
        let fixture = fixture("10:07:00", vec![]);
        fixture.task.minutes.try_take("backup", (fixture.task.now)()).unwrap();
        let trigger = Notify::new();
        trigger.notify_one();
        let began = Instant::now();
        let stopping = async {
            sleep(Duration::from_millis(20)).await;
            fixture.task.stop.cancel();
        };
        tokio::join!(fixture.task.run_on_trigger(&trigger), stopping);
        assert!(began.elapsed() < Duration::from_secs(30), "the minute is longer");
        assert_eq!(fixture.count(), 0);
    }

    #[tokio::test]
    async fn pending_work_is_done_at_start_and_on_trigger() {
        let fixture = fixture("10:07:00", vec![Ok(true), Ok(true), Ok(false), Ok(true)]);
        let trigger = Notify::new();
        let ringing = async {
            // What waited before the start needs no trigger.
            fixture.until(3).await;
            sleep(Duration::from_millis(50)).await;
            assert_eq!(fixture.count(), 3);
            trigger.notify_one();
            fixture.until(5).await;
            fixture.task.stop.cancel();
        };
        tokio::join!(fixture.task.run_until_idle(&trigger), ringing);
        assert_eq!(fixture.count(), 5);
    }
}
