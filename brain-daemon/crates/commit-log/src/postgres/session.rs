//! Connections to the server. Each session runs one transaction at a time.

use std::ops::Deref;

use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::Failure;
use super::settings::Timeouts;
use super::tls::connector;
use super::url::ServerUrl;
use crate::Error;
use crate::error::Source;

/// A server or a pooler.
pub(super) struct Server {
    url: ServerUrl,
    tls: MakeRustlsConnect,
    timeouts: Timeouts,
}

/// What receives the notifications of a connection.
pub(super) type Notified = Box<dyn Fn(tokio_postgres::AsyncMessage) + Send>;

impl Server {
    /// Reads the certificates; does not connect.
    pub(super) fn new(url: &ServerUrl, timeouts: Timeouts) -> Result<Self, Error> {
        let mut url = url.clone();
        if url.config.get_connect_timeout().is_none() {
            url.config.connect_timeout(timeouts.connect);
        }
        let tls = connector(url.root_certificates.as_deref())?;
        Ok(Self { url, tls, timeouts })
    }

    pub(super) fn address(&self) -> &str {
        self.url.address()
    }

    pub(super) fn unavailable(&self, reason: &str, source: Option<Source>) -> Error {
        Error::Unavailable { address: self.address().to_owned(), reason: reason.to_owned(), source }
    }

    /// Connects to a server that accepts writes.
    pub(super) async fn connect(&self, notified: Option<Notified>) -> Result<Client, Failure> {
        self.connect_as(&self.url.config, notified).await
    }

    /// Connects to a server that may refuse writes, but is no standby: a standby may lag behind,
    /// so that an acknowledged batch seems to be lost.
    async fn connect_reader(&self) -> Result<Client, Failure> {
        let refused = match self.connect(None).await {
            Err(failure) if matches!(failure.error, Error::ReadOnly { .. }) => failure,
            result => return result,
        };
        let mut config = self.url.config.clone();
        config.target_session_attrs(TargetSessionAttrs::Any);
        let client = self.connect_as(&config, None).await?;
        let rows = client.query_typed("SELECT pg_is_in_recovery()", &[]).await;
        let rows = rows.map_err(|e| Failure::of(e, self, "connecting", &self.timeouts))?;
        match rows.first().and_then(|row| row.try_get(0).ok()) {
            Some(false) => Ok(client),
            _ => Err(refused),
        }
    }

    async fn connect_as(
        &self,
        config: &Config,
        notified: Option<Notified>,
    ) -> Result<Client, Failure> {
        let result = if config.get_ssl_mode() == SslMode::Disable {
            start(config, NoTls, notified).await
        } else {
            start(config, self.tls.clone(), notified).await
        };
        result.map_err(|e| Failure::of(e, self, "connecting", &self.timeouts))
    }
}

/// Connects and starts the task that moves the connection's bytes.
async fn start<T>(
    config: &Config,
    tls: T,
    notified: Option<Notified>,
) -> Result<Client, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut connection): (_, Connection<Socket, T::Stream>) = config.connect(tls).await?;
    tokio::spawn(async move {
        while let Some(message) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            match (message, &notified) {
                (Ok(message), Some(notified)) => notified(message),
                (Ok(_), None) => {}
                // Calls that wait for an answer get the error.
                (Err(_), _) => break,
            }
        }
    });
    Ok(client)
}

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Writes.
    Writer,
    /// Reads, and writes if the server accepts them.
    Reader,
}

/// One connection, which is made when it is needed.
pub(super) struct Session {
    role: Role,
    client: Mutex<Option<Client>>,
}

impl Session {
    pub(super) fn new(role: Role) -> Self {
        Self { role, client: Mutex::new(None) }
    }

    /// Waits for the session and connects it if necessary.
    pub(super) async fn client(&self, server: &Server) -> Result<SessionClient<'_>, Failure> {
        let mut slot = self.client.lock().await;
        let client = match slot.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None if self.role == Role::Reader => server.connect_reader().await?,
            None => server.connect(None).await?,
        };
        Ok(SessionClient { slot, client, is_reusable: true })
    }
}

/// The use of a session by one call. A call that is dropped before [`SessionClient::finish`]
/// closes the connection, because a transaction may be open on it.
pub(super) struct SessionClient<'a> {
    slot: MutexGuard<'a, Option<Client>>,
    client: Client,
    is_reusable: bool,
}

impl SessionClient<'_> {
    pub(super) fn discard(&mut self) {
        self.is_reusable = false;
    }

    pub(super) fn finish(mut self) {
        if self.is_reusable {
            *self.slot = Some(self.client);
        }
    }
}

impl Deref for SessionClient<'_> {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}
