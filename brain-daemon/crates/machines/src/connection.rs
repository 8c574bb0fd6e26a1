//! The engine of a shared brain's log, and its server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_base::random::RandomSource;
use brain_commit_log::{
    BrainId, Delivery, Durability, Engine, Error, PostgresLog, PostgresSettings, ServerUrl,
    Timeouts,
};
use brain_protocol::Secret;

use crate::SCHEMA;

/// The longest time of an append, and of any other call that a writer waits for.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// The URLs of the server.
#[derive(Debug, Clone)]
pub struct ServerSecrets {
    /// The URL of the server, or of a pooler before it.
    pub url: Secret,
    /// The URL of the server itself, past a pooler: for notifications and to create tables.
    pub direct_url: Option<Secret>,
}

/// Returns the settings of a log in PostgreSQL with the time limits of a daemon. `listens` tells
/// whether notifications arrive through the main URL.
///
/// # Errors
/// [`Error::InvalidUrl`]; its message contains no part of a URL.
pub fn open_settings(
    secrets: &ServerSecrets,
    namespace: &str,
    listens: bool,
    random: Arc<dyn RandomSource>,
) -> Result<PostgresSettings, Error> {
    let url = ServerUrl::parse(&secrets.url)?;
    let direct_url = secrets.direct_url.as_ref().map(ServerUrl::parse).transpose()?;
    let direct_url = direct_url.or_else(|| listens.then(|| url.clone()));
    let mut settings = PostgresSettings::new(url, SCHEMA, random).with_namespace(namespace)?;
    settings.direct_url = direct_url;
    settings.timeouts = Timeouts {
        connect: Duration::from_secs(3),
        lock: Duration::from_millis(2_500),
        statement: Duration::from_secs(4),
        deadline: DEADLINE,
        poll: Duration::from_secs(1),
    };
    Ok(settings)
}

/// An engine, and its server if it has one.
#[derive(Clone)]
pub struct Connection {
    engine: Arc<dyn Engine>,
    postgres: Option<Arc<PostgresLog>>,
    uses_tls: bool,
}

impl Connection {
    /// Opens a log in PostgreSQL. Connects to the server at the first call.
    ///
    /// # Errors
    /// [`Error::File`] if certificates cannot be read.
    pub fn open(settings: PostgresSettings) -> Result<Self, Error> {
        let uses_tls = settings.url.uses_tls();
        Ok(Self::over(Arc::new(PostgresLog::open(settings)?), uses_tls))
    }

    /// Creates the tables of a log in PostgreSQL, and opens it.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if another brain uses the PostgreSQL schema; errors of the server.
    pub fn create(settings: PostgresSettings, brain: BrainId) -> Result<Self, Error> {
        let uses_tls = settings.url.uses_tls();
        Ok(Self::over(Arc::new(PostgresLog::create(settings, brain)?), uses_tls))
    }

    fn over(postgres: Arc<PostgresLog>, uses_tls: bool) -> Self {
        Self { engine: postgres.clone(), postgres: Some(postgres), uses_tls }
    }

    /// Uses another engine, for tests.
    #[must_use]
    pub fn of_engine(engine: Arc<dyn Engine>) -> Self {
        Self { engine, postgres: None, uses_tls: false }
    }

    /// Returns the log behind this connection.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// Returns host, port and database, without user and password.
    #[must_use]
    pub fn address(&self) -> &str {
        self.postgres.as_ref().map_or("this process", |log| log.address())
    }

    /// Returns whether the connection is encrypted.
    #[must_use]
    pub fn uses_tls(&self) -> bool {
        self.uses_tls
    }

    /// Returns how new batches are noticed at present.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.postgres.as_ref().map_or(Delivery::Polling, |log| log.delivery())
    }

    /// Waits until the server notifies, at most for `limit`. Returns whether it does.
    #[must_use]
    pub fn wait_until_notifying(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while self.delivery() == Delivery::Polling {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }

    /// Waits for a notification of a later batch, at most for `limit`. Returns whether one arrived.
    /// Returns false at once if the server does not notify.
    #[must_use]
    pub fn wait_for_notification(&self, after: u64, limit: Duration) -> bool {
        self.postgres.as_ref().is_some_and(|log| log.wait_for_notification(after, limit))
    }

    /// Returns the server's settings for durability; `None` without a server.
    pub fn durability(&self) -> Result<Option<Durability>, Error> {
        self.postgres.as_ref().map(|log| log.durability()).transpose()
    }

    /// Ends a wait for notifications at once.
    pub fn interrupt(&self) {
        if let Some(log) = &self.postgres {
            log.interrupt();
        }
    }

    /// Deletes the log of an interrupted setup, if nobody joined it and its machine was silent for
    /// this long.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if the log is in use; errors of the server.
    pub fn drop_abandoned(&self, brain: BrainId, silence: Duration) -> Result<(), Error> {
        match &self.postgres {
            Some(log) => log.drop_abandoned_tables(brain, silence),
            None => Ok(()),
        }
    }

    /// Deletes the log with all its batches, snapshots and keys.
    pub fn drop_log(&self, brain: BrainId) -> Result<(), Error> {
        match &self.postgres {
            Some(log) => log.drop_tables(brain),
            None => Ok(()),
        }
    }
}
