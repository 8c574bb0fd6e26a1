//! Tells the service manager how the daemon is: a line for `systemctl status`, and, where the unit has `WatchdogSec=`,
//! that it is alive.
//!
//! It is alive when the brain has answered a question about the store, on one of the threads that requests use too. A
//! daemon that hangs, or whose threads are all stuck, says nothing and is restarted. One that answers with a failure
//! is alive: restarting does not mend a disk.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Fault, Reply, Request};
use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use brain_base::caller::Caller;
use brain_core::{Brain, Silent};

/// How often the line is looked at when nobody watches.
const UNWATCHED: Duration = Duration::from_secs(30);

/// Runs until `stop` is cancelled; ends at once where there is no service manager.
pub async fn watchdog(brain: Arc<Brain>, stop: CancellationToken) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    let limit = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero());
    let me = Caller::local(rustix::process::geteuid().as_raw());
    let look = move || brain.answer(&me, Request::Status, &Silent);
    let tell = |news: &[NotifyState<'_>]| {
        if let Err(error) = sd_notify::notify(news) {
            tracing::warn!(%error, "the service manager was not told");
        }
    };
    beat(limit, stop, Arc::new(look), tell).await;
}

/// Looks twice within `limit`, as systemd advises, and tells what is new.
async fn beat(
    limit: Option<Duration>,
    stop: CancellationToken,
    look: Arc<dyn Fn() -> Result<Reply, Fault> + Send + Sync>,
    mut tell: impl FnMut(&[NotifyState<'_>]),
) {
    let period = limit.map_or(UNWATCHED, |limit| (limit / 2).max(Duration::from_millis(1)));
    let mut tick = interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = String::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let look = Arc::clone(&look);
        let mut looking = tokio::task::spawn_blocking(move || look());
        let answer = loop {
            tokio::select! {
                () = stop.cancelled() => return,
                answer = &mut looking => break answer,
                () = sleep(period) => tracing::warn!(?period, "the store does not answer; the watchdog hears nothing"),
            }
        };
        let Ok(answer) = answer else {
            tracing::error!("looking at the store ended in a defect; the watchdog hears nothing");
            continue;
        };
        let line = line(answer);
        let mut news = Vec::new();
        if line != told {
            news.push(NotifyState::Status(&line));
        }
        if limit.is_some() {
            news.push(NotifyState::Watchdog);
        }
        if !news.is_empty() {
            tell(&news);
        }
        told = line;
    }
}

/// The line for `systemctl status`.
fn line(answer: Result<Reply, Fault>) -> String {
    let text = match answer {
        Ok(Reply::Status(status)) => {
            let pages = if status.pages == 1 { "page" } else { "pages" };
            let degraded = status.degraded.iter().map(|why| format!("; {why}")).collect::<String>();
            format!("serving {} {pages} at {}{degraded}", status.pages, status.socket)
        }
        Ok(_) => "serving".to_owned(),
        Err(fault) => format!("in trouble: {fault}"),
    };
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// How many pings came while `during` took place.
    async fn pings(count: &AtomicUsize, during: Duration) -> usize {
        let before = count.load(Ordering::SeqCst);
        sleep(during).await;
        count.load(Ordering::SeqCst) - before
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_store_that_hangs_or_panics_gets_no_ping_and_one_that_answers_again_does() {
        let (gate, count, stop) =
            (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let broken = Arc::new(AtomicUsize::new(0));
        let look = {
            let (gate, broken) = (Arc::clone(&gate), Arc::clone(&broken));
            move || {
                drop(gate.lock().unwrap());
                assert_eq!(broken.load(Ordering::SeqCst), 0, "a defect");
                Err(Fault::new(brain_protocol::FaultCode::Io, "the disk is gone"))
            }
        };
        let told = Arc::clone(&count);
        let tell = move |news: &[NotifyState<'_>]| {
            if news.iter().any(|state| matches!(state, NotifyState::Watchdog)) {
                told.fetch_add(1, Ordering::SeqCst);
            }
        };
        let limit = Some(Duration::from_millis(10));
        let worker = tokio::spawn(beat(limit, stop.clone(), Arc::new(look), tell));
        let patience = std::time::Instant::now() + Duration::from_secs(30);
        while count.load(Ordering::SeqCst) < 3 {
            assert!(std::time::Instant::now() < patience, "a failure is an answer");
            sleep(Duration::from_millis(1)).await;
        }
        {
            let stuck = Arc::clone(&gate);
            let (begun, holding) = std::sync::mpsc::channel();
            let (release, released) = std::sync::mpsc::channel::<()>();
            let holder = std::thread::spawn(move || {
                let _held = stuck.lock().unwrap();
                begun.send(()).unwrap();
                let _ = released.recv();
            });
            holding.recv().unwrap();
            // One answer may still be on its way.
            while pings(&count, Duration::from_millis(50)).await != 0 {
                assert!(std::time::Instant::now() < patience, "it hangs");
            }
            assert_eq!(pings(&count, Duration::from_millis(100)).await, 0, "it hangs");
            drop(release);
            holder.join().unwrap();
        }
        while pings(&count, Duration::from_millis(20)).await == 0 {
            assert!(std::time::Instant::now() < patience, "it answers again");
        }
        broken.store(1, Ordering::SeqCst);
        while pings(&count, Duration::from_millis(50)).await != 0 {
            assert!(std::time::Instant::now() < patience, "every look is a defect");
        }
        assert_eq!(pings(&count, Duration::from_millis(100)).await, 0, "every look is a defect");
        stop.cancel();
        worker.await.unwrap();
    }
}
