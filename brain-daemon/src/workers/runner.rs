//! Runs the background workers: rounds, restarts after failures, and the end.
//!
//! If a worker panics or ends by itself, the runner logs the failure at once. It restarts the
//! worker after a pause that doubles with each failure. Each worker's state is in
//! [`WorkerStates`].

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::WorkerState;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use brain_base::backoff::Backoff;
use brain_base::clock::Clock;
use brain_base::workers::WorkerStates;

/// The usual pause before the first restart. It doubles with each failure.
const MIN_RESTART_DELAY: Duration = Duration::from_secs(1);
/// The longest pause before a restart, unless [`Worker::RESTART_DELAY`] is longer.
const MAX_RESTART_DELAY: Duration = Duration::from_secs(60);
/// A worker that has run this long without a failure is healthy again.
const HEALTHY_AFTER: Duration = Duration::from_secs(5 * 60);

/// Background work in rounds.
pub(super) trait Worker: Send + 'static {
    /// The pause before the first restart. It is longer for work that costs money or calls other
    /// services.
    const RESTART_DELAY: Duration = MIN_RESTART_DELAY;

    /// Does one round on a thread for blocking work. Returns when to begin the next one.
    fn round(&mut self) -> Next;

    /// Completes when the next round should begin early. May be dropped at any time.
    fn wakeup(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// When the next round of a worker begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// After this time; at once if it is zero.
    After(Duration),
    /// After this time, or when [`Worker::wakeup`] completes.
    AfterOrWakeup(Duration),
    /// Never. Before the shutdown, this is a failure.
    Ended,
}

/// Starts workers, and restarts them after failures.
pub struct Runner {
    /// The tasks of the workers.
    pub tracker: TaskTracker,
    /// Ends all workers after their current round.
    pub stop: CancellationToken,
    /// The state of each worker.
    pub states: Arc<WorkerStates>,
    /// The clock for the times of failures.
    pub clock: Arc<dyn Clock>,
}

impl Runner {
    /// Starts the worker that `make` returns, or only records that it is not configured.
    pub(super) fn start<W: Worker>(
        &self,
        name: &'static str,
        is_configured: bool,
        make: impl Fn() -> W + Send + Sync + 'static,
    ) {
        if !is_configured {
            return self.states.set(name, WorkerState::NotConfigured);
        }
        self.states.set(name, WorkerState::Waiting);
        let supervisor = Supervisor {
            name,
            make: Arc::new(make),
            stop: self.stop.clone(),
            states: Arc::clone(&self.states),
            clock: Arc::clone(&self.clock),
        };
        self.tracker.spawn(supervisor.run());
    }
}

/// Keeps one worker alive.
struct Supervisor<F> {
    name: &'static str,
    make: Arc<F>,
    stop: CancellationToken,
    states: Arc<WorkerStates>,
    clock: Arc<dyn Clock>,
}

impl<W: Worker, F: Fn() -> W + Send + Sync + 'static> Supervisor<F> {
    /// Runs the worker until the shutdown.
    async fn run(self) {
        let backoff = Backoff::new(W::RESTART_DELAY, MAX_RESTART_DELAY.max(W::RESTART_DELAY));
        let mut failures = 0;
        loop {
            let (make, stop) = (Arc::clone(&self.make), self.stop.clone());
            let (name, states) = (self.name, Arc::clone(&self.states));
            let mut rounds =
                tokio::spawn(async move { run_rounds(make(), name, &states, &stop).await });
            let ended = tokio::select! {
                ended = &mut rounds => ended,
                () = sleep(HEALTHY_AFTER) => {
                    failures = 0;
                    self.states.clear_failure(self.name);
                    rounds.await
                }
            };
            let failure = match ended {
                Ok(()) if self.stop.is_cancelled() => return,
                Ok(()) => "it ended by itself".to_owned(),
                Err(error) => failure_message(error),
            };
            let delay = backoff.pause(failures);
            tracing::error!(worker = self.name, failure, restart_in = ?delay, "worker failed");
            self.states.record_failure(self.name, failure, self.clock.now());
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(delay) => {}
            }
            failures += 1;
        }
    }
}

/// Runs rounds until the shutdown, or until the worker ends by itself. Panics as a round does.
async fn run_rounds<W: Worker>(
    mut worker: W,
    name: &str,
    states: &WorkerStates,
    stop: &CancellationToken,
) {
    while !stop.is_cancelled() {
        states.set(name, WorkerState::Running);
        let round = spawn_blocking(move || {
            let next = worker.round();
            (worker, next)
        });
        let Some((returned, next)) = value_of(round.await) else { return };
        worker = returned;
        states.set(name, WorkerState::Waiting);
        let (time, can_wake) = match next {
            Next::After(time) => (time, false),
            Next::AfterOrWakeup(time) => (time, true),
            Next::Ended => return,
        };
        if time.is_zero() {
            continue;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(time) => {}
            () = worker.wakeup(), if can_wake => {}
        }
    }
}

/// Returns the value of a finished task, or `None` if the runtime ended before it. Panics as the
/// task did.
fn value_of<T>(joined: Result<T, JoinError>) -> Option<T> {
    match joined.map_err(JoinError::try_into_panic) {
        Ok(value) => Some(value),
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => None,
    }
}

/// Returns the message of a task that did not finish.
fn failure_message(error: JoinError) -> String {
    let panic_message = |panic: Box<dyn Any + Send>| match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast::<&str>().map_or_else(
            |_| "it panicked without a message".to_owned(),
            |message| (*message).to_owned(),
        ),
    };
    error.try_into_panic().map_or_else(|error| error.to_string(), panic_message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use brain_protocol::WorkerStatus;
    use tokio::sync::Notify;

    use super::*;
    use brain_base::clock::SystemClock;

    /// A worker that does what a test says in each round, counted over all restarts.
    struct ScriptedWorker {
        rounds: Arc<AtomicUsize>,
        script: fn(usize) -> Next,
        event: Arc<Notify>,
    }

    impl Worker for ScriptedWorker {
        fn round(&mut self) -> Next {
            (self.script)(self.rounds.fetch_add(1, Ordering::SeqCst) + 1)
        }

        async fn wakeup(&mut self) {
            self.event.notified().await;
        }
    }

    /// A runner with one worker, in paused time.
    struct Fixture {
        runner: Runner,
        rounds: Arc<AtomicUsize>,
        event: Arc<Notify>,
    }

    impl Fixture {
        fn new(script: fn(usize) -> Next) -> Self {
            let fixture = Self {
                runner: Runner {
                    tracker: TaskTracker::new(),
                    stop: CancellationToken::new(),
                    states: Arc::default(),
                    clock: Arc::new(SystemClock),
                },
                rounds: Arc::default(),
                event: Arc::default(),
            };
            let (rounds, event) = (Arc::clone(&fixture.rounds), Arc::clone(&fixture.event));
            fixture.runner.start("scripted", true, move || ScriptedWorker {
                rounds: Arc::clone(&rounds),
                script,
                event: Arc::clone(&event),
            });
            fixture
        }

        fn rounds(&self) -> usize {
            self.rounds.load(Ordering::SeqCst)
        }

        fn status(&self) -> WorkerStatus {
            self.runner.states.list().remove(0)
        }

        fn failure(&self) -> Option<String> {
            self.status().failure.map(|failure| failure.message)
        }

        /// Lets time pass. The clock moves only while no worker has anything to do.
        async fn pass(&self, time: Duration) {
            sleep(time).await;
        }

        /// Stops the worker, which must end at once.
        async fn stop(self) {
            self.runner.stop.cancel();
            self.runner.tracker.close();
            let ended = tokio::time::timeout(Duration::from_millis(1), self.runner.tracker.wait());
            ended.await.unwrap();
        }
    }

    const SECOND: Duration = Duration::from_secs(1);
    const LONG_WAIT: Next = Next::AfterOrWakeup(Duration::from_secs(3600));

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_panics_is_shown_and_restarted() {
        let fixture =
            Fixture::new(|round| if round == 1 { panic!("defect {round}") } else { LONG_WAIT });
        fixture.pass(SECOND / 10).await;
        assert_eq!(fixture.status().state, WorkerState::Restarting);
        assert_eq!(fixture.failure().as_deref(), Some("defect 1"));
        fixture.pass(SECOND).await;
        assert_eq!((fixture.rounds(), fixture.status().state), (2, WorkerState::Waiting));
        assert_eq!(
            fixture.failure().as_deref(),
            Some("defect 1"),
            "a recent failure is still shown"
        );
        fixture.pass(HEALTHY_AFTER).await;
        assert_eq!((fixture.failure(), fixture.status().restarts), (None, 1));
        fixture.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_ends_by_itself_is_restarted() {
        let fixture = Fixture::new(|round| if round == 2 { Next::Ended } else { LONG_WAIT });
        fixture.pass(SECOND / 10).await;
        assert_eq!((fixture.rounds(), fixture.failure()), (1, None));
        fixture.event.notify_one();
        fixture.pass(SECOND / 10).await;
        assert_eq!(fixture.failure().as_deref(), Some("it ended by itself"));
        fixture.pass(SECOND).await;
        assert_eq!((fixture.rounds(), fixture.status().state), (3, WorkerState::Waiting));
        fixture.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn restart_delays_grow_until_the_worker_is_healthy() {
        let fixture = Fixture::new(|round| match round {
            // Healthy for a while, once.
            12 => Next::After(HEALTHY_AFTER * 2),
            _ => panic!("a defect"),
        });
        let mut delay = MIN_RESTART_DELAY;
        fixture.pass(SECOND / 10).await;
        for round in 1..=11 {
            assert_eq!(fixture.rounds(), round);
            fixture.pass(delay - SECOND / 2).await;
            assert_eq!(fixture.rounds(), round, "not before {delay:?}");
            fixture.pass(SECOND / 2).await;
            delay = (delay * 2).min(Duration::from_secs(60));
        }
        assert_eq!((fixture.rounds(), fixture.status().restarts), (12, 11));
        fixture.pass(HEALTHY_AFTER * 2).await;
        assert_eq!((fixture.rounds(), fixture.status().state), (13, WorkerState::Restarting));
        fixture.pass(MIN_RESTART_DELAY).await;
        assert_eq!(fixture.rounds(), 14, "the delay is short again");
        fixture.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_follow_the_time_or_a_wakeup() {
        let fixture = Fixture::new(|round| match round {
            1 => Next::After(Duration::ZERO),
            2 => Next::AfterOrWakeup(SECOND * 30),
            3 => Next::After(SECOND * 30),
            _ => LONG_WAIT,
        });
        fixture.pass(SECOND).await;
        assert_eq!(fixture.rounds(), 2);
        fixture.pass(SECOND * 30).await;
        assert_eq!(fixture.rounds(), 3, "without a wake-up");
        fixture.event.notify_one();
        fixture.event.notify_one();
        fixture.pass(SECOND).await;
        assert_eq!(fixture.rounds(), 3, "this pause cannot be shortened");
        fixture.pass(SECOND * 30).await;
        assert_eq!(fixture.rounds(), 5, "two events during the pause are one wake-up");
        fixture.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_stops_a_worker_before_its_restart() {
        let fixture = Fixture::new(|_| panic!("a defect"));
        fixture.pass(SECOND / 10).await;
        assert_eq!(fixture.status().state, WorkerState::Restarting);
        fixture.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_is_not_configured_does_not_run() {
        let fixture = Fixture::new(|_| LONG_WAIT);
        let make = || -> ScriptedWorker { panic!("it is not configured") };
        fixture.runner.start("other", false, make);
        fixture.pass(SECOND).await;
        let other = fixture.runner.states.list().remove(1);
        assert_eq!((other.state, other.restarts), (WorkerState::NotConfigured, 0));
        fixture.stop().await;
    }
}
