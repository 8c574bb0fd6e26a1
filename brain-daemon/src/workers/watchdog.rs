//! Reports status and liveness to systemd (`STATUS=`, and `WATCHDOG=1` with `WatchdogSec=`).
//!
//! The daemon is alive if a status request is answered on one of the threads that serve requests.
//! A daemon that hangs sends nothing, and systemd restarts it. An error is an answer too, since a
//! restart does not repair a disk.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Fault, Status, StatusReply};
use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use brain_base::caller::Caller;
use brain_core::{Brain, Silent};

/// The interval of status updates without `WatchdogSec=`.
const STATUS_INTERVAL: Duration = Duration::from_secs(30);

/// Runs until `stop` is cancelled. Returns at once without a service manager.
pub async fn watchdog(brain: Arc<Brain>, stop: CancellationToken) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    let limit = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero());
    let me = Caller::local(rustix::process::geteuid().as_raw());
    let probe = move || brain.run(&me, Status, &Silent);
    let notify = |states: &[NotifyState<'_>]| {
        if let Err(error) = sd_notify::notify(states) {
            tracing::warn!(%error, "service manager not notified");
        }
    };
    run(limit, stop, Arc::new(probe), notify).await;
}

/// Probes twice within `limit`, as systemd recommends, and reports liveness and status changes.
async fn run(
    limit: Option<Duration>,
    stop: CancellationToken,
    probe: Arc<dyn Fn() -> Result<StatusReply, Fault> + Send + Sync>,
    mut notify: impl FnMut(&[NotifyState<'_>]),
) {
    let period = limit.map_or(STATUS_INTERVAL, |limit| (limit / 2).max(Duration::from_millis(1)));
    let mut tick = interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported = String::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let probe = Arc::clone(&probe);
        let mut probing = tokio::task::spawn_blocking(move || probe());
        let answer = loop {
            tokio::select! {
                () = stop.cancelled() => return,
                answer = &mut probing => break answer,
                () = sleep(period) => {
                    tracing::warn!(?period, "the store does not answer; systemd is not notified");
                }
            }
        };
        let Ok(answer) = answer else {
            tracing::error!("the probe of the store panicked; systemd is not notified");
            continue;
        };
        let line = status_line(answer);
        let mut states = Vec::new();
        if line != reported {
            states.push(NotifyState::Status(&line));
        }
        if limit.is_some() {
            states.push(NotifyState::Watchdog);
        }
        if !states.is_empty() {
            notify(&states);
        }
        reported = line;
    }
}

/// Returns the line for `systemctl status`.
fn status_line(answer: Result<StatusReply, Fault>) -> String {
    let text = match answer {
        Ok(status) => {
            let pages = if status.pages == 1 { "page" } else { "pages" };
            let degraded = status.degraded.iter().map(|why| format!("; {why}")).collect::<String>();
            format!("serving {} {pages} at {}{degraded}", status.pages, status.socket)
        }
        Err(fault) => format!("failing: {fault}"),
    };
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns how many pings arrive within `during`.
    async fn pings(count: &AtomicUsize, during: Duration) -> usize {
        let before = count.load(Ordering::SeqCst);
        sleep(during).await;
        count.load(Ordering::SeqCst) - before
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pings_stop_while_the_store_hangs_or_panics() {
        let (gate, count, stop) =
            (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let broken = Arc::new(AtomicUsize::new(0));
        let probe = {
            let (gate, broken) = (Arc::clone(&gate), Arc::clone(&broken));
            move || {
                drop(gate.lock().unwrap());
                assert_eq!(broken.load(Ordering::SeqCst), 0, "a defect");
                Err(Fault::new(brain_protocol::FaultCode::Io, "the disk is gone"))
            }
        };
        let pinged = Arc::clone(&count);
        let notify = move |states: &[NotifyState<'_>]| {
            if states.iter().any(|state| matches!(state, NotifyState::Watchdog)) {
                pinged.fetch_add(1, Ordering::SeqCst);
            }
        };
        let limit = Some(Duration::from_millis(10));
        let worker = tokio::spawn(run(limit, stop.clone(), Arc::new(probe), notify));
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
            assert!(std::time::Instant::now() < patience, "every probe panics");
        }
        assert_eq!(pings(&count, Duration::from_millis(100)).await, 0, "every probe panics");
        stop.cancel();
        worker.await.unwrap();
    }
}
