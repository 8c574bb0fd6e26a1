//! `GET /health`: whether the daemon can answer. The result of a probe holds for a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use brain_protocol::{Status, VERSION};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AppState;
use brain_base::caller::Caller;
use brain_core::{Door, NoProgress};

/// How long the result of a probe is reused.
const MAX_AGE: Duration = Duration::from_secs(1);
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// The storage engine.
const ENGINE: &str = "redb";

/// The response of a daemon that can answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Healthy {
    /// `ok`.
    #[schema(example = "ok", pattern = "^ok$")]
    status: &'static str,
    /// The version of brain.
    version: &'static str,
    /// The storage engine.
    #[schema(example = "redb")]
    engine: &'static str,
}

/// The response of a daemon that cannot answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Unhealthy {
    /// `failing`.
    #[schema(example = "failing", pattern = "^failing$")]
    status: &'static str,
    /// The failing part.
    #[schema(example = "store")]
    failing: &'static str,
    /// A code for programs.
    #[schema(example = "unavailable")]
    error: &'static str,
    /// A message for people.
    message: String,
    /// The version of brain.
    version: &'static str,
    /// The storage engine.
    #[schema(example = "redb")]
    engine: &'static str,
}

static HEALTHY: LazyLock<Bytes> = LazyLock::new(|| {
    let healthy = Healthy { status: "ok", version: VERSION, engine: ENGINE };
    serde_json::to_vec(&healthy).unwrap_or_default().into()
});

type ProbeResult = Result<(), String>;
type Probe = Arc<dyn Fn() -> ProbeResult + Send + Sync>;

/// Probes the store, and stores the last result.
pub(crate) struct HealthProbe {
    probe: Probe,
    /// The timeout of a probe.
    timeout_after: Duration,
    began: Instant,
    /// One more than the time of the last success, in milliseconds since `began`; 0 while the
    /// store fails. Requests read it without a lock.
    healthy_at: AtomicU64,
    /// When the last probe ended, and its result.
    last: Mutex<Option<(Instant, ProbeResult)>>,
    /// The probe in progress. While it hangs, no other probe starts.
    running: tokio::sync::Mutex<Option<JoinHandle<ProbeResult>>>,
}

impl HealthProbe {
    /// Creates a health check of `brain`.
    pub(crate) fn new(brain: &Door) -> Self {
        let (brain, owner) = (brain.clone(), Caller::local(rustix::process::geteuid().as_raw()));
        let probe = move || {
            let answer = brain.run(&owner, Status, &NoProgress);
            answer.map(drop).map_err(|fault| format!("the store failed: {}", fault.code.as_str()))
        };
        Self::with_probe(Arc::new(probe), PROBE_TIMEOUT)
    }

    fn with_probe(probe: Probe, timeout_after: Duration) -> Self {
        Self {
            probe,
            timeout_after,
            began: Instant::now(),
            healthy_at: AtomicU64::new(0),
            last: Mutex::default(),
            running: tokio::sync::Mutex::default(),
        }
    }

    /// Returns whether the store answers, and probes it if the last result is too old.
    async fn check(&self) -> ProbeResult {
        if let Some(result) = self.cached() {
            return result;
        }
        let Ok(mut running) = timeout(self.timeout_after, self.running.lock()).await else {
            return self.timeout_error();
        };
        // Another request may have finished a probe meanwhile.
        if let Some(result) = self.cached() {
            return result;
        }
        let probe = running.get_or_insert_with(|| {
            let probe = Arc::clone(&self.probe);
            tokio::task::spawn_blocking(move || probe())
        });
        let result = match timeout(self.timeout_after, probe).await {
            Ok(result) => {
                *running = None;
                result.unwrap_or_else(|_| Err("the probe of the store panicked".into()))
            }
            Err(_) => self.timeout_error(),
        };
        let mut last = self.last.lock();
        *last = Some((Instant::now(), result.clone()));
        self.healthy_at.store(if result.is_ok() { self.now() + 1 } else { 0 }, Ordering::Relaxed);
        result
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn cached(&self) -> Option<ProbeResult> {
        let healthy_at = self.healthy_at.load(Ordering::Relaxed);
        if healthy_at > 0 && self.now() < healthy_at + MAX_AGE.as_millis() as u64 {
            return Some(Ok(()));
        }
        let last = self.last.lock();
        last.as_ref().filter(|(at, _)| at.elapsed() < MAX_AGE).map(|(_, result)| result.clone())
    }

    fn timeout_error(&self) -> ProbeResult {
        Err(format!("the store did not answer within {:?}", self.timeout_after))
    }
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(health))
}

/// Reports whether the daemon can answer.
#[utoipa::path(
    get,
    path = "/health",
    tag = "health",
    responses(
        (status = 200, description = "The daemon can answer", body = Healthy),
        (
            status = 503,
            description = "The daemon cannot answer; `failing` names the failing part",
            body = Unhealthy
        ),
    )
)]
async fn health(State(app): State<AppState>) -> Response {
    match app.shared.health.check().await {
        Ok(()) => ([(header::CONTENT_TYPE, "application/json")], HEALTHY.clone()).into_response(),
        Err(message) => {
            let body = Unhealthy {
                status: "failing",
                failing: "store",
                error: "unavailable",
                message,
                version: VERSION,
                engine: ENGINE,
            };
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")], Json(body))
                .into_response()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn the_healthy_response_has_three_members() {
        let expected = format!(r#"{{"status":"ok","version":"{VERSION}","engine":"redb"}}"#);
        assert_eq!(*HEALTHY, expected.as_bytes());
    }

    #[tokio::test]
    async fn concurrent_checks_share_one_probe() {
        let probes = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&probes);
        let probe = move || {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let health = Arc::new(HealthProbe::with_probe(Arc::new(probe), Duration::from_secs(10)));
        let checks: Vec<_> = (0..50)
            .map(|_| {
                let health = Arc::clone(&health);
                tokio::spawn(async move { health.check().await })
            })
            .collect();
        for check in checks {
            assert_eq!(check.await.unwrap(), Ok(()));
        }
        assert_eq!(probes.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_hanging_store_is_reported_and_probed_once() {
        let probes = Arc::new(AtomicUsize::new(0));
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (counter, released) = (Arc::clone(&probes), Mutex::new(released));
        let probe = move || {
            counter.fetch_add(1, Ordering::SeqCst);
            let _ = released.lock().recv();
            Ok(())
        };
        let health = HealthProbe::with_probe(Arc::new(probe), Duration::from_millis(30));
        assert!(health.check().await.unwrap_err().contains("did not answer"));
        // Expires the last result.
        *health.last.lock() = None;
        assert!(health.check().await.is_err());
        assert_eq!(probes.load(Ordering::SeqCst), 1, "no second probe starts while one hangs");
        drop(release);
        // On a busy machine, the probe may need longer than the limit.
        for _ in 0..100 {
            *health.last.lock() = None;
            if health.check().await.is_ok() {
                return;
            }
        }
        panic!("the store does not answer again");
    }

    #[tokio::test]
    async fn a_panicking_probe_is_reported() {
        let health = HealthProbe::with_probe(Arc::new(|| panic!("a defect")), PROBE_TIMEOUT);
        assert!(health.check().await.unwrap_err().contains("panicked"));
    }
}
