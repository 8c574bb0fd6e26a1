//! A log in PostgreSQL 14 or newer, also behind a transaction pooler.
//!
//! An append is one round trip: `BEGIN` with its time limits, the call of a function that moves
//! the head row and inserts the batch if the head is the expected one, and `COMMIT` are sent
//! together. Only unnamed statements and `SET LOCAL` are used, so no state stays in a
//! session. A second, optional URL leads past the pooler, for notifications and for creating the
//! tables.
//!
//! Numbers come from the head row, not from a sequence: sequences commit out of order. After a
//! lost connection an append is repeated with the same batch id, and finds its batch if the first
//! try was committed.

mod administration;
mod append;
mod counting;
mod engine;
mod failure;
mod leases;
mod listener;
mod read;
mod rows;
mod session;
mod settings;
mod snapshots;
mod tables;
mod tls;
mod url;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use brain_base::backoff::Backoff;
use tokio_postgres::Client;

pub use settings::{PostgresSettings, Timeouts};
pub use url::ServerUrl;

use self::failure::Failure;
use self::listener::NotificationListener;
use self::session::{PostgresSession, Role, Server};
use crate::{BrainId, Delivery, Error};

/// The pauses before a call is tried again.
const RETRY: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));

/// A log in PostgreSQL. It keeps up to four connections: for appends, for reads and leases, for
/// snapshots, and for notifications.
pub struct PostgresLog {
    settings: Arc<PostgresSettings>,
    server: Arc<Server>,
    writer: PostgresSession,
    reader: PostgresSession,
    bulk: PostgresSession,
    listener: Option<NotificationListener>,
    /// How many appends in a row found that the head had moved.
    refusals: AtomicU32,
}

impl PostgresLog {
    /// Prepares the use of a log. It connects at the first call, so that it can be made while the
    /// server is away.
    ///
    /// # Errors
    /// [`Error::File`] if the certificates cannot be read, or no thread can be started.
    pub fn open(settings: PostgresSettings) -> Result<Self, Error> {
        let settings = Arc::new(settings);
        let server = Arc::new(Server::new(&settings.url, &settings)?);
        let listener = match &settings.direct_url {
            Some(url) => {
                let direct = Server::new(url, &settings)?;
                Some(NotificationListener::start(direct, server.clone(), settings.clone())?)
            }
            None => None,
        };
        Ok(Self {
            settings,
            server,
            writer: PostgresSession::new(Role::Writer)?,
            reader: PostgresSession::new(Role::Reader)?,
            bulk: PostgresSession::new(Role::Writer)?,
            listener,
            refusals: AtomicU32::new(0),
        })
    }

    /// Creates the tables of a log, and opens it. Creating the log of the same brain again changes
    /// nothing.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if the tables are another brain's, [`Error::Denied`] without the
    /// right to create tables, [`Error::ServerTooOld`].
    pub fn create(settings: PostgresSettings, brain: BrainId) -> Result<Self, Error> {
        let log = Self::open(settings)?;
        log.create_tables(brain)?;
        Ok(log)
    }

    /// Puts the namespace before each table: `@head` is the table of the head.
    fn sql(&self, text: &str) -> String {
        text.replace('@', &format!("\"{}\".", self.settings.namespace))
    }

    /// Runs work on a session, and again after failures that pass, until the deadline.
    ///
    /// The work gets the time that is left. `is_unknown` is set while the work may have changed
    /// the log without an answer.
    fn run<T>(
        &self,
        session: &PostgresSession,
        limit: Duration,
        is_unknown: &Cell<bool>,
        work: &impl AsyncFn(&Client, Duration) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let deadline = Instant::now() + limit;
        let mut failures = 0;
        let mut former = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let result = session.use_once(&self.server, left, async |client| {
                let was_unknown = is_unknown.replace(true);
                let result = work(client, left).await;
                if result.as_ref().err().is_none_or(|failure| !failure.is_lost()) {
                    is_unknown.set(was_unknown);
                }
                result
            });
            let failure = match result {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let pause = RETRY.random_pause(failures, &*self.settings.random);
            if !failure.can_retry() || Instant::now() + pause >= deadline {
                // The last try may have had too little time for an answer.
                let earlier = former.filter(|_| failure.is_without_answer());
                return Err(earlier.unwrap_or(failure.error));
            }
            tracing::debug!(error = %failure.error, "commit log failed; trying again");
            former = Some(failure.error);
            std::thread::sleep(pause);
            failures += 1;
        }
    }

    /// Runs work whose repetition is harmless.
    fn call<T>(
        &self,
        session: &PostgresSession,
        work: impl AsyncFn(&Client) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let limit = self.settings.timeouts.deadline;
        let work = async move |client: &Client, _| work(client).await;
        self.run(session, limit, &Cell::new(false), &work)
    }

    /// Classifies an error of the main server.
    fn failed(&self, phase: &'static str) -> impl Fn(tokio_postgres::Error) -> Failure + use<'_> {
        move |error| Failure::of(error, self.server.address(), phase, &self.settings.timeouts)
    }
}
