//! Access over HTTP: clients, tokens and the owner's consent (`docs/access.md`).
//!
//! [`Access`] authenticates bearer tokens, and is the authorization server (RFC 6749, RFC 7009,
//! RFC 7591, RFC 7636, RFC 8707, RFC 9207). It knows nothing of HTTP: the HTTP server turns forms,
//! headers and redirects into the types of `oauth` and back. Secrets and tokens are 256 random bits
//! with a prefix for their kind. They are shown once and stored as SHA-256.
//!
//! `grant_table` keeps clients and tokens in memory. `bearer` authenticates a call, `exchange`
//! issues and revokes tokens, and `consent` asks the owner. `redirect_uri` checks addresses,
//! `known_clients` and `client_documents` describe clients that are identified by a document,
//! `codes` keeps authorization codes, and `registration` serves clients that register themselves.
//! `browser` signs the owner's browsers in. `clients`, `tokens` and `admin_token` are the owner's
//! operations, and `expiry` removes grants that have ended.

mod admin_token;
mod bearer;
mod browser;
mod client_documents;
mod clients;
mod codes;
mod consent;
mod exchange;
mod expiry;
mod grant_table;
mod http_addresses;
mod known_clients;
mod oauth;
mod redirect_uri;
mod registration;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod tokens;
mod validate;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{Fault, FaultCode};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};

use brain_base::clock::Clock;
use brain_base::random::RandomSource;
use brain_base::secrets::Secrets;
use brain_net::HttpClient;
use brain_store::{GrantUpdate, Store};

pub use browser::BrowserSession;
pub use expiry::AccessSummary;
pub use http_addresses::HttpAddresses;
pub use oauth::{
    AuthorizationGrant, AuthorizeError, AuthorizeRequest, Consent, Credentials, IssuedTokens,
    OAuthError, OAuthFault, RegistrationRequest,
};

use admin_token::AdminTokenHolder;
use client_documents::DocumentFetcher;
use codes::CodeStore;
use grant_table::GrantTable;
use http_addresses::ListenerState;

/// The configuration of [`Access`].
#[derive(Debug, Clone, Default)]
pub struct AccessSettings {
    /// The file with the admin token, if it is not a secret of the home.
    pub admin_token_file: Option<PathBuf>,
    /// The URL that clients use, without a trailing slash: the OAuth issuer.
    pub base_url: Option<String>,
    /// The configured address of the local listener.
    pub local: Option<SocketAddr>,
    /// Whether to fetch the documents that identify clients.
    pub fetch_client_documents: bool,
}

/// The service that authenticates callers over HTTP and grants them access.
pub struct Access {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    settings: AccessSettings,
    admin_token: AdminTokenHolder,
    documents: DocumentFetcher,
    browsers: browser::BrowserSessions,
    table: RwLock<GrantTable>,
    /// Held while the table is read and then changed.
    lock: Mutex<ChangeLock>,
    /// Set when the HTTP listeners are open.
    listeners: RwLock<Option<ListenerState>>,
}

/// The permission to change clients and tokens. Holds the authorization codes.
#[derive(Default)]
struct ChangeLock {
    codes: CodeStore,
}

impl Access {
    /// Reads clients and tokens, and finds or creates the admin token. Without an admin token,
    /// everything else works.
    pub fn open(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn RandomSource>,
        secrets: Arc<Secrets>,
        net: Arc<dyn HttpClient>,
        settings: AccessSettings,
    ) -> Result<Self, Fault> {
        let admin_token_file = settings.admin_token_file.clone();
        Ok(Self {
            table: RwLock::new(GrantTable::load(&store)?),
            lock: Mutex::default(),
            admin_token: AdminTokenHolder::open(secrets, admin_token_file, &*random),
            documents: DocumentFetcher::new(net),
            browsers: browser::BrowserSessions::default(),
            listeners: RwLock::default(),
            store,
            clock,
            random,
            settings,
        })
    }

    /// Locks clients and tokens for reading. Hold the lock briefly, and never during a change.
    fn table(&self) -> RwLockReadGuard<'_, GrantTable> {
        self.table.read()
    }

    /// Waits for the permission to change clients and tokens.
    fn lock(&self) -> MutexGuard<'_, ChangeLock> {
        self.lock.lock()
    }

    /// Reads clients and tokens again, after another machine changed them.
    ///
    /// # Errors
    /// The fault of the store; then nothing is changed.
    pub fn reload(&self) -> Result<(), Fault> {
        let _lock = self.lock();
        self.table.write().reload(&self.store)
    }

    /// Changes clients and tokens: durably in the store, then in memory. `_lock` proves that no
    /// other thread changes them.
    ///
    /// # Errors
    /// The fault of the store; `conflict` if another machine changed the same clients or tokens.
    /// Nothing is changed after an error.
    fn apply(&self, _lock: &mut ChangeLock, update: GrantUpdate) -> Result<(), Fault> {
        if update.is_empty() {
            return Ok(());
        }
        let expected = self.table().rows_of(&update);
        let update = Arc::new(update);
        let stored = Arc::clone(&update);
        let is_written = self.store.write(move |transaction| {
            if !transaction.grants_are(&expected)? {
                return Ok(false);
            }
            transaction.change_grants(&stored)?;
            Ok(true)
        })?;
        if !is_written {
            self.table.write().reload(&self.store)?;
            return Err(Fault::new(
                FaultCode::Conflict,
                "another machine changed the same clients or tokens at the same time",
            )
            .hint("list clients and tokens, and try again"));
        }
        let update = Arc::unwrap_or_clone(update);
        self.table.write().apply(update);
        Ok(())
    }
}
