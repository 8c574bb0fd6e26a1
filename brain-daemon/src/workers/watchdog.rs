//! Reports status and liveness to systemd (`STATUS=`, and `WATCHDOG=1` with `WatchdogSec=`).
//!
//! The daemon is alive if a status request is answered on one of the threads that serve requests.
//! A daemon that hangs sends nothing, and systemd restarts it. An error is an answer too, since a
//! restart does not repair a disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_protocol::{Fault, Status, StatusReply};
use sd_notify::NotifyState;
use tokio::runtime::Handle;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;

use super::runner::{Next, Worker};
use brain_base::caller::Caller;
use brain_core::{Brain, NoProgress};

/// The interval of status updates without `WatchdogSec=`.
const STATUS_INTERVAL: Duration = Duration::from_secs(30);

type Probe = dyn Fn() -> Result<StatusReply, Fault> + Send + Sync;
type Notify = dyn Fn(&[NotifyState<'_>]) + Send + Sync;

/// Probes twice within the time limit of systemd, as systemd recommends, and reports liveness and
/// status changes.
pub(super) struct SystemdWatchdog {
    /// The time from one probe to the next.
    period: Duration,
    /// Whether systemd expects reports of liveness.
    has_limit: bool,
    probe: Arc<Probe>,
    notify: Arc<Notify>,
    /// The status line that systemd has.
    reported: String,
}

impl SystemdWatchdog {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        let limit = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero());
        let caller = Caller::local(rustix::process::geteuid().as_raw());
        let probe = move || brain.run(&caller, Status, &NoProgress);
        let notify = |states: &[NotifyState<'_>]| {
            if let Err(error) = sd_notify::notify(states) {
                tracing::warn!(%error, "service manager not notified");
            }
        };
        Self::with(limit, Arc::new(probe), Arc::new(notify))
    }

    fn with(limit: Option<Duration>, probe: Arc<Probe>, notify: Arc<Notify>) -> Self {
        let period =
            limit.map_or(STATUS_INTERVAL, |limit| (limit / 2).max(Duration::from_millis(1)));
        Self { period, has_limit: limit.is_some(), probe, notify, reported: String::new() }
    }

    /// Asks for the status on one of the threads that serve requests. Logs a warning each period
    /// until the answer arrives.
    async fn probe_answer(&self) -> Result<Result<StatusReply, Fault>, JoinError> {
        let probe = Arc::clone(&self.probe);
        let mut probing = spawn_blocking(move || probe());
        loop {
            tokio::select! {
                answer = &mut probing => return answer,
                () = sleep(self.period) => {
                    tracing::warn!(
                        period = ?self.period,
                        "the store does not answer; systemd is not notified"
                    );
                }
            }
        }
    }
}

impl Worker for SystemdWatchdog {
    fn round(&mut self) -> Next {
        let began = Instant::now();
        let answer = match Handle::current().block_on(self.probe_answer()) {
            Ok(answer) => answer,
            // The next probe must come in time for systemd, so no restart delays it.
            Err(error) if error.is_panic() => {
                tracing::error!(%error, "the probe of the store panicked; systemd is not notified");
                return Next::After(self.period.saturating_sub(began.elapsed()));
            }
            Err(_) => return Next::Ended,
        };
        let line = status_line(answer);
        let mut states = Vec::new();
        if line != self.reported {
            states.push(NotifyState::Status(&line));
        }
        if self.has_limit {
            states.push(NotifyState::Watchdog);
        }
        if !states.is_empty() {
            (self.notify)(&states);
        }
        self.reported = line;
        Next::After(self.period.saturating_sub(began.elapsed()))
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

    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Returns how many pings arrive within `during`.
    async fn pings(count: &AtomicUsize, during: Duration) -> usize {
        let before = count.load(Ordering::SeqCst);
        sleep(during).await;
        count.load(Ordering::SeqCst) - before
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[allow(clippy::too_many_lines)]
    async fn pings_stop_while_the_store_hangs_or_panics() {
        let (gate, count) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
        let broken = Arc::new(AtomicUsize::new(0));
        let probe = {
            let (gate, broken) = (Arc::clone(&gate), Arc::clone(&broken));
            move || {
                drop(gate.lock().unwrap());
                assert_eq!(broken.load(Ordering::SeqCst), 0, "a defect");
                Err(Fault::new(brain_protocol::FaultCode::Io, "the disk is gone"))
            }
        };
        let ping_count = Arc::clone(&count);
        let notify = move |states: &[NotifyState<'_>]| {
            if states.iter().any(|state| matches!(state, NotifyState::Watchdog)) {
                ping_count.fetch_add(1, Ordering::SeqCst);
            }
        };
        let limit = Some(Duration::from_millis(10));
        let mut watchdog = SystemdWatchdog::with(limit, Arc::new(probe), Arc::new(notify));
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let running = spawn_blocking(move || {
            while !stopped.is_cancelled() {
                let Next::After(time) = watchdog.round() else { return };
                std::thread::sleep(time);
            }
        });
        let deadline = Instant::now() + Duration::from_secs(30);
        while count.load(Ordering::SeqCst) < 3 {
            assert!(Instant::now() < deadline, "no pings although the probe answers with an error");
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
                assert!(Instant::now() < deadline, "pings continue although the probe hangs");
            }
            assert_eq!(
                pings(&count, Duration::from_millis(100)).await,
                0,
                "a ping while the probe hangs"
            );
            drop(release);
            holder.join().unwrap();
        }
        while pings(&count, Duration::from_millis(20)).await == 0 {
            assert!(Instant::now() < deadline, "no ping after the probe answers again");
        }
        broken.store(1, Ordering::SeqCst);
        while pings(&count, Duration::from_millis(50)).await != 0 {
            assert!(Instant::now() < deadline, "pings continue although the probe panics");
        }
        broken.store(0, Ordering::SeqCst);
        while pings(&count, Duration::from_millis(20)).await == 0 {
            assert!(Instant::now() < deadline, "no ping after the panic ended");
        }
        stop.cancel();
        running.await.unwrap();
    }
}
