//! Connections to the server. Each session runs one transaction at a time.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use brain_base::outgoing::OutgoingLog;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use tokio_postgres::config::{Host, SslMode, SslNegotiation, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::counting::{CountingTls, PlainStream, RecordedConnection};
use super::failure::{CONNECTING, Failure, unavailable_log};
use super::settings::{PostgresSettings, Timeouts};
use super::tls::connector;
use super::url::{DEFAULT_PORT, ServerUrl, UrlHost};
use crate::Error;
use crate::error::Source;

/// A server or a pooler.
pub(super) struct Server {
    url: ServerUrl,
    tls: MakeRustlsConnect,
    timeouts: Timeouts,
    outgoing: Arc<dyn OutgoingLog>,
}

/// A client, and the task that moves its bytes. The task ends with the link.
pub(super) struct ClientLink {
    client: Client,
    task: AbortHandle,
    /// `None` for a connection within this machine through a file.
    _record: Option<RecordedConnection>,
}

impl Deref for ClientLink {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for ClientLink {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What receives the notifications of a connection.
pub(super) type Notified = Box<dyn Fn(tokio_postgres::AsyncMessage) + Send>;

impl Server {
    /// Reads the certificates; does not connect.
    pub(super) fn new(url: &ServerUrl, settings: &PostgresSettings) -> Result<Self, Error> {
        let (timeouts, outgoing) = (settings.timeouts, settings.outgoing.clone());
        let mut url = url.clone();
        url.limit_connect(timeouts.connect);
        let tls = connector(url.root_certificates.as_deref())?;
        Ok(Self { url, tls, timeouts, outgoing })
    }

    pub(super) fn address(&self) -> &str {
        self.url.address()
    }

    pub(super) fn unavailable(&self, reason: &str, source: Option<Source>) -> Error {
        unavailable_log(self.address(), reason, source)
    }

    /// Connects to the first host that accepts writes.
    pub(super) async fn connect(&self, notified: Option<Notified>) -> Result<ClientLink, Failure> {
        self.connect_to(TargetSessionAttrs::ReadWrite, notified).await
    }

    /// Connects to a host that may refuse writes, but is no standby: a standby may lag behind,
    /// so that an acknowledged batch seems to be lost.
    async fn connect_reader(&self) -> Result<ClientLink, Failure> {
        let refused = match self.connect(None).await {
            Err(failure) if matches!(failure.error, Error::ReadOnly { .. }) => failure,
            result => return result,
        };
        self.connect_to(TargetSessionAttrs::Any, None).await.map_err(|_| refused)
    }

    /// Tries the hosts one after the other, and all addresses of each. The driver would return the
    /// error of the last one; the one that explains most is returned here.
    async fn connect_to(
        &self,
        attributes: TargetSessionAttrs,
        mut notified: Option<Notified>,
    ) -> Result<ClientLink, Failure> {
        let mut found: Option<Failure> = None;
        let mut keep = |failure: Failure| {
            if found.as_ref().is_none_or(|former| failure.weight() > former.weight()) {
                found = Some(failure);
            }
        };
        let targets = self.url.targets();
        for (index, target) in targets.iter().enumerate() {
            let configs = match self.resolve(target).await {
                Ok(configs) => configs,
                Err(failure) => {
                    keep(failure);
                    continue;
                }
            };
            let last = configs.len().saturating_sub(1);
            for (number, mut config) in configs.into_iter().enumerate() {
                config.target_session_attrs(attributes);
                let attempt = self.connect_once(&config, &target.address, &mut notified);
                // A host that accepts connections and says nothing must not take the time of the
                // next one.
                let has_next = number < last || index + 1 < targets.len();
                let result = match config.get_connect_timeout().filter(|_| has_next) {
                    None => attempt.await,
                    Some(limit) => match tokio::time::timeout(*limit, attempt).await {
                        Ok(result) => result,
                        Err(_) => {
                            let reason = format!("no answer within {} ms", limit.as_millis());
                            Err(Failure::lost(unavailable_log(&target.address, &reason, None)))
                        }
                    },
                };
                match result {
                    Ok(link) => return Ok(link),
                    Err(failure) => keep(failure),
                }
            }
        }
        Err(found.unwrap_or_else(|| Failure::lost(self.unavailable("it has no address", None))))
    }

    /// Returns the settings for each address of a host.
    async fn resolve(&self, target: &UrlHost) -> Result<Vec<Config>, Failure> {
        let Some(name) = target.name() else { return Ok(vec![target.config.clone()]) };
        let found = tokio::net::lookup_host(name).await.map_err(|error| {
            let reason = error.to_string();
            Failure::lost(unavailable_log(&target.address, &reason, Some(Box::new(error))))
        })?;
        let with_address = |address: SocketAddr| {
            let mut config = target.config.clone();
            config.hostaddr(address.ip());
            config
        };
        Ok(found.map(with_address).collect())
    }

    /// Records that a connection is about to be made. `None` for one through a file.
    fn record(
        &self,
        config: &Config,
        address: &str,
    ) -> Result<Option<RecordedConnection>, Failure> {
        let [Host::Tcp(host)] = config.get_hosts() else { return Ok(None) };
        let port = config.get_ports().first().copied().unwrap_or(DEFAULT_PORT);
        let record = RecordedConnection::begin(&self.outgoing, host, port).map_err(|error| {
            let reason = format!("the connection cannot be recorded: {error}");
            Failure::lost(unavailable_log(address, &reason, Some(Box::new(error))))
        })?;
        Ok(Some(record))
    }

    /// Connects to one address. Without the demand that it accepts writes, a standby is refused.
    async fn connect_once(
        &self,
        config: &Config,
        address: &str,
        notified: &mut Option<Notified>,
    ) -> Result<ClientLink, Failure> {
        let failed = |error| Failure::of(error, address, CONNECTING, &self.timeouts);
        let link = match self.record(config, address)? {
            None => start(config, NoTls, notified, None).await,
            Some(record) => {
                let counts = record.counts();
                if config.get_ssl_mode() == SslMode::Disable {
                    // The driver then gives the connection to `PlainStream`, which counts.
                    let mut config = config.clone();
                    config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
                    let tls = CountingTls { tls: PlainStream, counts };
                    start(&config, tls, notified, Some(record)).await
                } else {
                    let tls = CountingTls { tls: self.tls.clone(), counts };
                    start(config, tls, notified, Some(record)).await
                }
            }
        };
        let link = link.map_err(failed)?;
        if config.get_target_session_attrs() == TargetSessionAttrs::Any {
            let rows = link.query_typed("SELECT pg_is_in_recovery()", &[]).await.map_err(failed)?;
            if rows.first().and_then(|row| row.try_get(0).ok()) != Some(false) {
                let (address, reason) = (address.to_owned(), "it is a standby".to_owned());
                return Err(Error::ReadOnly { address, reason }.into());
            }
        }
        Ok(link)
    }
}

/// Connects and starts the task that moves the connection's bytes.
async fn start<T>(
    config: &Config,
    tls: T,
    notified: &mut Option<Notified>,
    record: Option<RecordedConnection>,
) -> Result<ClientLink, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut connection): (_, Connection<Socket, T::Stream>) = config.connect(tls).await?;
    let notified = notified.take();
    let task = tokio::spawn(async move {
        while let Some(message) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            match (message, &notified) {
                (Ok(message), Some(notified)) => notified(message),
                (Ok(_), None) => {}
                // Calls that wait for an answer get the error.
                (Err(_), _) => break,
            }
        }
    });
    Ok(ClientLink { client, task: task.abort_handle(), _record: record })
}

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Writes.
    Writer,
    /// Reads, and writes if the server accepts them.
    Reader,
}

/// How much longer than its limit a call may take: the server's own limits end first, and its
/// answer says whether a batch was appended.
const GRACE: Duration = Duration::from_millis(500);

/// One connection, which is made when it is needed.
///
/// The calling thread itself moves the connection's bytes while it waits: a second thread would
/// cost two changes of threads for each round trip.
pub(super) struct PostgresSession {
    role: Role,
    slot: Mutex<LinkSlot>,
}

struct LinkSlot {
    runtime: Option<Runtime>,
    link: Option<ClientLink>,
}

impl PostgresSession {
    pub(super) fn new(role: Role) -> Result<Self, Error> {
        let slot = LinkSlot { runtime: Some(runtime()?), link: None };
        Ok(Self { role, slot: Mutex::new(slot) })
    }

    /// Waits for the session, connects it if necessary, and runs work on it. A connection on which
    /// a transaction may be open is closed.
    pub(super) fn use_once<T>(
        &self,
        server: &Server,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let busy = || server.unavailable("other calls take too long", None);
        let mut slot = self.slot.try_lock_for(limit).ok_or_else(busy)?;
        let LinkSlot { runtime, link: stored } = &mut *slot;
        let ending = || server.unavailable("the program is ending", None);
        let runtime = runtime.as_ref().ok_or_else(ending)?;
        runtime.block_on(async {
            let attempt = async {
                // The end of an idle connection is noticed before a batch is sent on it.
                run_tasks().await;
                let link = match stored.take().filter(|link| !link.is_closed()) {
                    Some(link) => link,
                    None if self.role == Role::Reader => server.connect_reader().await?,
                    None => server.connect(None).await?,
                };
                let result = work(&link).await;
                if result.as_ref().err().is_none_or(|failure| !failure.is_lost()) {
                    *stored = Some(link);
                }
                result
            };
            let result = match tokio::time::timeout(limit + GRACE, attempt).await {
                Ok(result) => result,
                Err(_) => {
                    let reason = format!("no answer within {} ms", limit.as_millis());
                    Err(Failure::without_answer(server.unavailable(&reason, None)))
                }
            };
            if result.is_err() {
                // A connection that was given up is closed now, with its transaction.
                run_tasks().await;
            }
            result
        })
    }
}

impl Drop for LinkSlot {
    fn drop(&mut self) {
        // Dropping a runtime waits, which is an error on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lets the tasks of connections run, and the runtime look for data.
async fn run_tasks() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// Sends `BEGIN`, the body's statements and `COMMIT` without waiting in between: one round trip.
///
/// The body must send all its statements when it is polled first. The transaction is committed
/// only if all statements succeed.
pub(super) async fn pipelined<T>(
    client: &Client,
    begin: &str,
    body: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    let (begun, result, committed) = tokio::join!(
        biased;
        client.batch_execute(begin),
        body,
        client.batch_execute("COMMIT")
    );
    begun?;
    let value = result?;
    committed?;
    Ok(value)
}

/// Returns a runtime without threads of its own.
pub(super) fn runtime() -> Result<Runtime, Error> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    runtime.map_err(|source| Error::File { path: "runtime".into(), source })
}
