//! Notifications of new batches, on a connection past the pooler.
//!
//! A pooler accepts `LISTEN` and delivers nothing. So a notification is sent through the main URL
//! first, and only if it arrives, new batches count as notified.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client};

use super::failure::Failure;
use super::session::Server;
use super::settings::PostgresSettings;
use crate::Error;

/// How long the first notification may take.
const PROBE: Duration = Duration::from_secs(2);
/// The pause before the next try after a failure; it doubles up to the last one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// How new batches are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The server notifies at once.
    Notified,
    /// The head is looked at each second.
    Polling,
}

/// Receives notifications in the background until the log is dropped.
pub(super) struct Listener {
    newest: watch::Receiver<u64>,
    delivery: Arc<Mutex<Delivery>>,
}

impl Listener {
    pub(super) fn start(
        runtime: &Runtime,
        direct: Arc<Server>,
        main: Arc<Server>,
        settings: Arc<PostgresSettings>,
    ) -> Self {
        let (sender, newest) = watch::channel(0);
        let delivery = Arc::new(Mutex::new(Delivery::Polling));
        let state = delivery.clone();
        runtime.spawn(async move {
            let mut pause = FIRST_PAUSE;
            loop {
                let result = listen(&direct, &main, &settings, &sender, &state).await;
                let was_notified =
                    std::mem::replace(&mut *state.lock(), Delivery::Polling) == Delivery::Notified;
                if let Err(failure) = result {
                    let error = failure.error;
                    tracing::info!(%error, "no notifications of new batches; polling");
                }
                if sender.is_closed() {
                    return;
                }
                pause = if was_notified { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
                tokio::time::sleep(pause).await;
            }
        });
        Self { newest, delivery }
    }

    pub(super) fn delivery(&self) -> Delivery {
        *self.delivery.lock()
    }

    /// Returns a receiver of the newest number that was notified.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.clone()
    }
}

/// Listens until the connection fails.
async fn listen(
    direct: &Server,
    main: &Server,
    settings: &PostgresSettings,
    newest: &watch::Sender<u64>,
    delivery: &Mutex<Delivery>,
) -> Result<(), Failure> {
    let failed = |error| Failure::of(error, direct, "listening", &settings.timeouts);
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
    *delivery.lock() = Delivery::Notified;
    wait_for_end(&client, &mut payloads, newest).await;
    Ok(())
}

async fn wait_for_end(
    client: &Client,
    payloads: &mut mpsc::UnboundedReceiver<String>,
    newest: &watch::Sender<u64>,
) {
    // The channel closes when the connection's task ends; `client` keeps the connection open.
    while let Some(payload) = payloads.recv().await {
        if let Ok(number) = payload.parse::<u64>() {
            newest.send_if_modified(|stored| {
                let is_newer = number > *stored;
                *stored = number.max(*stored);
                is_newer
            });
        }
    }
    tracing::debug!(closed = client.is_closed(), "the connection for notifications ended");
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
        .map_err(|error| Failure::of(error, main, "notifying", &settings.timeouts))?;
    Ok(())
}
