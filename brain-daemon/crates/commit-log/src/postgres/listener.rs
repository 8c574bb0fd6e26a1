//! Notifications of new batches, on a connection past the pooler.
//!
//! A pooler accepts `LISTEN` and delivers nothing. So a notification is sent through the main URL
//! first, and only if it arrives, new batches count as notified.

use std::sync::Arc;
use std::time::Duration;

use brain_base::backoff::Backoff;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::AsyncMessage;
use tokio_postgres::types::Type;

use super::failure::Failure;
use super::session::{Server, runtime};
use super::settings::PostgresSettings;
use crate::{Delivery, Error};

/// How long the first notification may take.
const PROBE: Duration = Duration::from_secs(2);
/// The pauses between tries to listen.
const RECONNECT: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(60));

/// What ended a wait.
pub(super) enum WaitEnd {
    /// The newest number that was notified.
    Notified(u64),
    Interrupted,
    TimedOut,
}

/// Receives notifications on a thread of its own until it is dropped.
pub(super) struct NotificationListener {
    shared: Arc<Shared>,
    /// Closed when the listener is dropped; then the thread ends.
    _stop: oneshot::Sender<()>,
}

struct Shared {
    state: Mutex<Signals>,
    changed: Condvar,
}

struct Signals {
    /// The newest number that was notified.
    newest: u64,
    delivery: Delivery,
    /// How often waits were ended.
    interruptions: u64,
}

impl NotificationListener {
    pub(super) fn start(
        direct: Server,
        main: Arc<Server>,
        settings: Arc<PostgresSettings>,
    ) -> Result<Self, Error> {
        let state =
            Mutex::new(Signals { newest: 0, delivery: Delivery::Polling, interruptions: 0 });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let (stop, stopped) = oneshot::channel::<()>();
        let (runtime, of_thread) = (runtime()?, shared.clone());
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = of_thread.listen_always(&direct, &main, &settings) => {}
                    _ = stopped => {}
                }
            });
        };
        std::thread::Builder::new()
            .name("commit-log".into())
            .spawn(work)
            .map_err(|source| Error::File { path: "thread".into(), source })?;
        Ok(Self { shared, _stop: stop })
    }

    pub(super) fn delivery(&self) -> Delivery {
        self.shared.state.lock().delivery
    }

    /// Waits until a number after this one was notified, or until an interruption.
    pub(super) fn wait(&self, after: u64, limit: Duration) -> WaitEnd {
        let mut state = self.shared.state.lock();
        let former = state.interruptions;
        let should_wait =
            |state: &mut Signals| state.newest <= after && state.interruptions == former;
        let is_over = self.shared.changed.wait_while_for(&mut state, should_wait, limit);
        match (state.newest > after, is_over.timed_out()) {
            (true, _) => WaitEnd::Notified(state.newest),
            (false, true) => WaitEnd::TimedOut,
            (false, false) => WaitEnd::Interrupted,
        }
    }

    /// Ends the present wait.
    pub(super) fn interrupt(&self) {
        self.shared.state.lock().interruptions += 1;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// Listens, and connects again after failures, with growing pauses.
    async fn listen_always(&self, direct: &Server, main: &Server, settings: &PostgresSettings) {
        let mut failures = 0;
        loop {
            let result = listen(direct, main, settings, self).await;
            let former = std::mem::replace(&mut self.state.lock().delivery, Delivery::Polling);
            if let Err(failure) = result {
                let error = failure.error;
                tracing::info!(%error, "no notifications of new batches; polling");
            }
            failures = match former {
                Delivery::Notified => 0,
                Delivery::Polling => failures + 1,
            };
            tokio::time::sleep(RECONNECT.pause(failures)).await;
        }
    }

    fn notified(&self, number: u64) {
        let mut state = self.state.lock();
        state.newest = state.newest.max(number);
        self.changed.notify_all();
    }
}

/// Listens until the connection fails.
async fn listen(
    direct: &Server,
    main: &Server,
    settings: &PostgresSettings,
    shared: &Shared,
) -> Result<(), Failure> {
    let failed = |error| Failure::of(error, direct.address(), "listening", &settings.timeouts);
    let (sender, mut payloads) = mpsc::unbounded_channel();
    let receive = move |message| {
        if let AsyncMessage::Notification(notification) = message {
            // The receiver ends first when the log is dropped.
            let _ = sender.send(notification.payload().to_owned());
        }
    };
    let client = direct.connect(Some(Box::new(receive))).await?;
    let channel = settings.channel();
    client.batch_execute(&format!("LISTEN \"{channel}\"")).await.map_err(failed)?;

    let probe =
        format!("probe {}", brain_base::random::text::<9>(&*settings.random).map_err(Error::from)?);
    notify(main, settings, &channel, &probe).await?;
    let arrived = async {
        while let Some(payload) = payloads.recv().await {
            if payload == probe {
                return true;
            }
        }
        false
    };
    if tokio::time::timeout(PROBE, arrived).await != Ok(true) {
        let _ = client.batch_execute("UNLISTEN *").await;
        let reason = "a notification did not arrive; the direct URL may lead to a pooler";
        return Err(direct.unavailable(reason, None).into());
    }
    shared.state.lock().delivery = Delivery::Notified;
    // The channel closes when the connection ends.
    while let Some(payload) = payloads.recv().await {
        if let Ok(number) = payload.parse() {
            shared.notified(number);
        }
    }
    drop(client);
    Ok(())
}

/// Sends a notification through the main URL.
async fn notify(
    main: &Server,
    settings: &PostgresSettings,
    channel: &str,
    payload: &str,
) -> Result<(), Failure> {
    let client = main.connect(None).await?;
    client
        .query_typed("SELECT pg_notify($1, $2)", &[(&channel, Type::TEXT), (&payload, Type::TEXT)])
        .await
        .map_err(|error| Failure::of(error, main.address(), "notifying", &settings.timeouts))?;
    Ok(())
}
