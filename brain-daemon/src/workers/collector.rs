//! The collector by itself: a run when its time has come, then what is switched on for the posts that came. Bells ring; whether there
//! is something to do is the brain's to say, so a run that was missed is made up, and one that takes long is never overlapped.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::Fault;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Minutes;
use super::bell::Bells;
use brain_base::schedule::ScheduledTask;
use brain_core::Brain;

/// What the jobs are called, as in [`brain_core::config::Config::planned_jobs`].
const RUN: &str = "collector";
const RATINGS: &str = "collector.ratings";
/// After a failure, what waits is tried again this much later, or when new posts come.
const RETRY: Duration = Duration::from_secs(5 * 60);
/// Whether a run is due is looked at this often, bell or not: when the clock is set back, bells are silent until it is where it was.
const LOOK: Duration = Duration::from_secs(30);
/// The same for ratings, as often as their bell rings.
const LOOK_AT_RATINGS: Duration = Duration::from_secs(30 * 60);

/// Runs until `stop` is cancelled; ends at once when nothing of it is switched on.
pub async fn collector(brain: Arc<Brain>, minutes: Arc<Minutes>, stop: CancellationToken) {
    let (config, on) = (brain.config(), brain.config().collector_switches());
    let (runs, patterns) =
        (config.collector_enabled(), on.ratings || on.images || on.articles || on.videos);
    if !runs && !patterns {
        return;
    }
    let (run, rate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let jobs = config.planned_jobs().unwrap_or_default().into_iter();
    let jobs: Vec<_> =
        jobs.map(|job| (job, Arc::clone(if job.name == RUN { &run } else { &rate }))).collect();
    let work = |name, look, what: fn(&Brain) -> Result<bool, Fault>| {
        let brain = Arc::clone(&brain);
        let now = Arc::clone(&brain);
        Work {
            name,
            look,
            minutes: Arc::clone(&minutes),
            now: Arc::new(move || now.now()),
            what: Arc::new(move || what(&brain)),
            stop: stop.clone(),
        }
    };
    // One that was missed is made up now.
    run.notify_one();
    let running = async {
        if runs {
            work(RUN, LOOK, |brain| Ok(brain.collect_due()?.is_some())).on_the_bell(&run).await;
        }
    };
    let rating = async {
        if patterns {
            let posts = work(RATINGS, LOOK_AT_RATINGS, Brain::collector_patterns);
            tokio::join!(
                ring_in_turn(&posts, &rate, brain.collected()),
                posts.while_more(brain.collected())
            );
        }
    };
    tokio::join!(running, rating, ring(&brain, &jobs, &stop));
}

/// Lets bells ring until `stop` is cancelled. They cost looks at the clock, several a second: nobody pays for them before there is a token.
async fn ring(brain: &Arc<Brain>, jobs: &[(ScheduledTask, Arc<Notify>)], stop: &CancellationToken) {
    while !has_token(brain).await {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(LOOK) => {}
        }
    }
    match Bells::hang(jobs).await {
        Ok(bells) => {
            stop.cancelled().await;
            bells.take_down().await;
        }
        Err(error) => {
            tracing::error!(%error, "no bell rings; what is due is looked at every half minute")
        }
    }
}

async fn has_token(brain: &Arc<Brain>) -> bool {
    let brain = Arc::clone(brain);
    tokio::task::spawn_blocking(move || brain.collector_has_token()).await.unwrap_or(false)
}

/// Posts are rated again: the bell is passed on in a minute that is free.
async fn ring_in_turn(work: &Work, bell: &Notify, on: &Notify) {
    while work.heard_or_looks(bell).await && work.turn().await {
        on.notify_one();
    }
}

/// Something that is done when a bell rings.
struct Work {
    name: &'static str,
    /// Whoever hears no bell for so long looks all the same.
    look: Duration,
    minutes: Arc<Minutes>,
    now: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// Does it, and blocks; what `true` means is said where it is called.
    what: Arc<dyn Fn() -> Result<bool, Fault> + Send + Sync>,
    stop: CancellationToken,
}

impl Work {
    /// Does it whenever `bell` rings, in a minute that is free. It gives whether it was due.
    async fn on_the_bell(&self, bell: &Notify) {
        while self.heard_or_looks(bell).await && self.turn().await {
            if let Some(Ok(false)) = self.once().await {
                self.minutes.give_back(self.name);
            }
        }
    }

    /// Does it whenever `bell` rings, and at first, as long as it gives that there is more to do.
    async fn while_more(&self, bell: &Notify) {
        loop {
            let done = self.once().await;
            let failed = !matches!(done, Some(Ok(_)));
            let go_on = matches!(done, Some(Ok(true)));
            if self.stop.is_cancelled() {
                return;
            }
            if go_on {
                continue;
            }
            tokio::select! {
                heard = self.heard(bell) => if !heard { return },
                () = sleep(RETRY), if failed => {}
            }
        }
    }

    /// Once. Its failure is in the log.
    async fn once(&self) -> Option<Result<bool, Fault>> {
        let what = Arc::clone(&self.what);
        match tokio::task::spawn_blocking(move || what()).await {
            Ok(result) => {
                if let Err(fault) = &result {
                    let hint = fault.hint.as_deref().unwrap_or_default();
                    tracing::warn!(%fault, hint, job = self.name, "a job by schedule failed");
                }
                Some(result)
            }
            Err(_) => {
                tracing::error!(job = self.name, "a job by schedule ended in a defect");
                None
            }
        }
    }

    /// Waits for the bell; `false` when the daemon ends.
    async fn heard(&self, bell: &Notify) -> bool {
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = bell.notified() => true,
        }
    }

    /// Waits for the bell, or until it is time to look all the same; `false` when the daemon ends.
    async fn heard_or_looks(&self, bell: &Notify) -> bool {
        tokio::time::timeout(self.look, self.heard(bell)).await.unwrap_or(true)
    }

    /// Waits for a minute that is free, and takes it; `false` when the daemon ends.
    async fn turn(&self) -> bool {
        while let Err(wait) = self.minutes.take(self.name, (self.now)()) {
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
    use brain_core::config::Config;

    /// Work that does what it is told in turn, then nothing; and when each turn began.
    struct Lab {
        work: Work,
        begun: Arc<Mutex<Vec<i64>>>,
    }

    /// The clock begins at `time` and goes on as ours does.
    fn lab(time: &str, turns: Vec<Result<bool, FaultCode>>) -> Lab {
        let config =
            Config::load(std::path::Path::new("/nonexistent/config.toml"), |_| None).unwrap();
        let (start, begin) =
            (parse_instant(&format!("2026-11-21T{time}Z"), false).unwrap(), Instant::now());
        let now = Arc::new(move || start + i64::try_from(begin.elapsed().as_millis()).unwrap());
        let begun: Arc<Mutex<Vec<i64>>> = Arc::default();
        let (noted, clock) = (Arc::clone(&begun), Arc::clone(&now));
        let what = move || {
            let mut begun = noted.lock().unwrap();
            begun.push(clock());
            match turns.get(begun.len() - 1) {
                Some(Ok(answer)) => Ok(*answer),
                Some(Err(code)) => Err(Fault::new(*code, "it does not go")),
                None => Ok(false),
            }
        };
        let minutes = Arc::new(Minutes::of(&config).unwrap());
        let stop = CancellationToken::new();
        let look = Duration::from_secs(3600);
        Lab { work: Work { name: RUN, look, minutes, now, what: Arc::new(what), stop }, begun }
    }

    impl Lab {
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
    async fn bells_that_ring_during_a_turn_are_one_more_turn() {
        let mut lab = lab("10:07:00", vec![]);
        let bell = Arc::new(Notify::new());
        bell.notify_one();
        let (what, begun, rung) =
            (Arc::clone(&lab.work.what), Arc::clone(&lab.begun), Arc::clone(&bell));
        lab.work.what = Arc::new(move || {
            let result = what();
            if begun.lock().unwrap().len() == 1 {
                (0..5).for_each(|_| rung.notify_one());
            }
            result
        });
        let ringing = async {
            lab.until(2).await;
            sleep(Duration::from_millis(50)).await;
            assert_eq!(lab.count(), 2);
            lab.work.stop.cancel();
        };
        tokio::join!(lab.work.on_the_bell(&bell), ringing);
    }

    #[tokio::test]
    async fn a_bell_that_never_rings_is_not_waited_for() {
        let mut lab = lab("10:07:00", vec![]);
        lab.work.look = Duration::from_millis(5);
        let looking = async {
            // It was not due, which gives the minute back.
            lab.until(3).await;
            lab.work.stop.cancel();
        };
        let bell = Notify::new();
        tokio::join!(lab.work.on_the_bell(&bell), looking);
    }

    #[tokio::test]
    async fn a_failure_and_a_defect_are_not_the_last_turn() {
        let mut lab = lab("10:07:59.900", vec![Err(FaultCode::Io), Ok(true)]);
        let (what, begun) = (Arc::clone(&lab.work.what), Arc::clone(&lab.begun));
        lab.work.what = Arc::new(move || {
            let result = what();
            let turn = begun.lock().unwrap().len();
            assert_ne!(turn, 2, "a defect");
            result
        });
        // Each turn has a minute, so the clock is given back what it takes.
        let bell = Notify::new();
        let ringing = async {
            for turn in 1..=3 {
                bell.notify_one();
                lab.until(turn).await;
                lab.work.minutes.give_back(RUN);
            }
            lab.work.stop.cancel();
        };
        tokio::join!(lab.work.on_the_bell(&bell), ringing);
    }

    #[tokio::test]
    async fn a_run_waits_for_a_minute_in_which_nothing_else_has_begun() {
        let lab = lab("10:07:59.700", vec![Ok(true)]);
        lab.work.minutes.take("backup", (lab.work.now)()).unwrap();
        let bell = Notify::new();
        bell.notify_one();
        let ringing = async {
            lab.until(1).await;
            lab.work.stop.cancel();
        };
        tokio::join!(lab.work.on_the_bell(&bell), ringing);
        let begun = lab.begun.lock().unwrap()[0];
        assert!(begun >= parse_instant("2026-11-21T10:08:00Z", false).unwrap(), "{begun}");
        assert!(lab.work.minutes.take("backup", begun).is_err(), "and has it");
    }

    #[tokio::test]
    async fn whoever_waits_for_a_minute_hears_a_stop() {
        let lab = lab("10:07:00", vec![]);
        lab.work.minutes.take("backup", (lab.work.now)()).unwrap();
        let bell = Notify::new();
        bell.notify_one();
        let began = Instant::now();
        let stopping = async {
            sleep(Duration::from_millis(20)).await;
            lab.work.stop.cancel();
        };
        tokio::join!(lab.work.on_the_bell(&bell), stopping);
        assert!(began.elapsed() < Duration::from_secs(30), "the minute is longer");
        assert_eq!(lab.count(), 0);
    }

    #[tokio::test]
    async fn what_waits_is_worked_off_to_the_end_and_again_when_more_comes() {
        let lab = lab("10:07:00", vec![Ok(true), Ok(true), Ok(false), Ok(true)]);
        let bell = Notify::new();
        let ringing = async {
            // What waited before the start needs no bell.
            lab.until(3).await;
            sleep(Duration::from_millis(50)).await;
            assert_eq!(lab.count(), 3);
            bell.notify_one();
            lab.until(5).await;
            lab.work.stop.cancel();
        };
        tokio::join!(lab.work.while_more(&bell), ringing);
        assert_eq!(lab.count(), 5);
    }
}
