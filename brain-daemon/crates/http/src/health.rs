//! `GET /health`: whether the daemon can answer. The store is asked at most once a second, however many ask.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use brain_protocol::{Request, VERSION};
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Desk;
use brain_base::caller::Caller;
use brain_core::{Brain, Silent};

/// How long an answer of the store is good for.
const FRESH: Duration = Duration::from_secs(1);
/// A store that takes longer does not answer.
const PATIENCE: Duration = Duration::from_secs(3);
const ENGINE: &str = "redb";

/// All is well.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Healthy {
    /// `ok`.
    #[schema(example = "ok", pattern = "^ok$")]
    status: &'static str,
    /// The version of brain.
    version: &'static str,
    /// What keeps the data.
    #[schema(example = "redb")]
    engine: &'static str,
}

/// All is not well.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Unhealthy {
    /// `failing`.
    #[schema(example = "failing", pattern = "^failing$")]
    status: &'static str,
    /// The part that fails.
    #[schema(example = "store")]
    failing: &'static str,
    /// For programs.
    #[schema(example = "unavailable")]
    error: &'static str,
    /// For people.
    message: String,
    /// The version of brain.
    version: &'static str,
    /// What keeps the data.
    #[schema(example = "redb")]
    engine: &'static str,
}

static WELL: LazyLock<Bytes> = LazyLock::new(|| {
    let well = Healthy { status: "ok", version: VERSION, engine: ENGINE };
    serde_json::to_vec(&well).unwrap_or_default().into()
});

type Found = Result<(), String>;
type Look = Arc<dyn Fn() -> Found + Send + Sync>;

/// What is known of the store.
pub(crate) struct Health {
    look: Look,
    patience: Duration,
    began: Instant,
    /// When the store answered last, in milliseconds since `began`, and one more; 0 while it does not. All who ask read it, and none
    /// waits for another.
    well: AtomicU64,
    last: Mutex<Option<(Instant, Found)>>,
    /// The look that is under way. One that hangs is waited for, and no other one begun.
    looking: tokio::sync::Mutex<Option<JoinHandle<Found>>>,
}

impl Health {
    /// The health of `brain`.
    pub(crate) fn new(brain: &Arc<Brain>) -> Self {
        let (brain, me) = (Arc::clone(brain), Caller::local(rustix::process::geteuid().as_raw()));
        let look = move || {
            let answer = brain.answer(&me, Request::Status, &Silent);
            answer.map(drop).map_err(|fault| format!("the store failed: {}", fault.code.as_str()))
        };
        Self::with(Arc::new(look), PATIENCE)
    }

    fn with(look: Look, patience: Duration) -> Self {
        Self {
            look,
            patience,
            began: Instant::now(),
            well: AtomicU64::new(0),
            last: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// Whether the store answers.
    async fn check(&self) -> Found {
        if let Some(known) = self.known() {
            return known;
        }
        let Ok(mut looking) = timeout(self.patience, self.looking.lock()).await else {
            return self.hangs();
        };
        // Somebody else may have looked meanwhile.
        if let Some(known) = self.known() {
            return known;
        }
        let look = looking.get_or_insert_with(|| {
            let look = Arc::clone(&self.look);
            tokio::task::spawn_blocking(move || look())
        });
        let found = match timeout(self.patience, look).await {
            Ok(found) => {
                *looking = None;
                found.unwrap_or_else(|_| Err("looking at the store ended in a defect".into()))
            }
            Err(_) => self.hangs(),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), found.clone()));
        self.well.store(if found.is_ok() { self.now() + 1 } else { 0 }, Ordering::Relaxed);
        found
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn known(&self) -> Option<Found> {
        let well = self.well.load(Ordering::Relaxed);
        if well > 0 && self.now() < well + FRESH.as_millis() as u64 {
            return Some(Ok(()));
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, found)| found.clone())
    }

    fn hangs(&self) -> Found {
        Err(format!("the store did not answer within {:?}", self.patience))
    }
}

/// What is served.
pub(super) fn routes() -> OpenApiRouter<Desk> {
    OpenApiRouter::new().routes(routes!(health))
}

/// Whether this brain can answer.
#[utoipa::path(
    get,
    path = "/health",
    tag = "health",
    responses(
        (status = 200, description = "It can", body = Healthy),
        (status = 503, description = "It cannot: `failing` names the part", body = Unhealthy),
    )
)]
async fn health(State(desk): State<Desk>) -> Response {
    match desk.room.health.check().await {
        Ok(()) => ([(header::CONTENT_TYPE, "application/json")], WELL.clone()).into_response(),
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
    fn well_is_said_in_three_words() {
        let expected = format!(r#"{{"status":"ok","version":"{VERSION}","engine":"redb"}}"#);
        assert_eq!(*WELL, expected.as_bytes());
    }

    #[tokio::test]
    async fn many_who_ask_are_one_look() {
        let looks = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&looks);
        let look = move || {
            seen.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let health = Arc::new(Health::with(Arc::new(look), Duration::from_secs(10)));
        let asking: Vec<_> = (0..50)
            .map(|_| {
                let health = Arc::clone(&health);
                tokio::spawn(async move { health.check().await })
            })
            .collect();
        for asked in asking {
            assert_eq!(asked.await.unwrap(), Ok(()));
        }
        assert_eq!(looks.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_store_that_hangs_is_said_and_not_asked_again() {
        let looks = Arc::new(AtomicUsize::new(0));
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (seen, released) = (Arc::clone(&looks), Mutex::new(released));
        let look = move || {
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = released.lock().unwrap().recv();
            Ok(())
        };
        let health = Health::with(Arc::new(look), Duration::from_millis(30));
        assert!(health.check().await.unwrap_err().contains("did not answer"));
        // What is known goes stale.
        *health.last.lock().unwrap() = None;
        assert!(health.check().await.is_err());
        assert_eq!(looks.load(Ordering::SeqCst), 1, "one thread hangs, not one a second");
        drop(release);
        *health.last.lock().unwrap() = None;
        assert_eq!(health.check().await, Ok(()), "it answers again");
    }

    #[tokio::test]
    async fn a_look_that_is_a_defect_is_said() {
        let health = Health::with(Arc::new(|| panic!("a defect")), PATIENCE);
        assert!(health.check().await.unwrap_err().contains("defect"));
    }
}
