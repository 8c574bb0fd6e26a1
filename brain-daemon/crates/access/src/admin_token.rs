//! The admin token: the owner's token for the admin API and the consent page.
//!
//! The token is the secret `admin-token` (see [`brain_base::secrets`]). The first start creates it,
//! each start reads it, and `brain token admin --rotate` replaces it. Edits of its file take effect
//! at the next start.

use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{AdminToken, AdminTokenReply, Fault, FaultCode, Secret};
use parking_lot::RwLock;
use subtle::ConstantTimeEq;

use crate::Access;
use crate::grant_table::digest;
use brain_base::random::{self, RandomSource};
use brain_base::secrets::{FoundSecret, SecretOrigin, Secrets};
use brain_store::Hash;

const SECRET_NAME: &str = "admin-token";
/// The minimum length of the token, in characters.
const MIN_LENGTH: usize = 24;

/// Holds the admin token, or the reason why there is none.
pub(crate) struct AdminTokenHolder {
    secrets: Arc<Secrets>,
    /// The file that the configuration names.
    configured: Option<PathBuf>,
    loaded: RwLock<Result<LoadedToken, Fault>>,
}

#[derive(Clone)]
struct LoadedToken {
    secret: Secret,
    hash: Hash,
    origin: SecretOrigin,
}

impl LoadedToken {
    fn new(found: FoundSecret) -> Result<Self, Fault> {
        let FoundSecret { secret, origin } = found;
        let text = secret.expose();
        if text.len() < MIN_LENGTH || !text.bytes().all(|b| b.is_ascii_graphic()) {
            let message = format!(
                "the admin token in {origin} is too weak: it needs {MIN_LENGTH} or more ASCII \
                 characters"
            );
            let hint = "create a random one, for example with `openssl rand -hex 32`, and restart \
                        the daemon";
            return Err(Fault::new(FaultCode::InvalidConfig, message).hint(hint));
        }
        Ok(Self { hash: digest(text), secret, origin })
    }

    fn into_reply(self, rotated: bool) -> AdminTokenReply {
        AdminTokenReply { token: self.secret, path: self.origin.to_string(), rotated }
    }
}

impl AdminTokenHolder {
    /// Reads the token, or creates it at the first start. Logs a failure; then there is no token.
    pub(crate) fn open(
        secrets: Arc<Secrets>,
        configured: Option<PathBuf>,
        random: &dyn RandomSource,
    ) -> Self {
        let mut holder = Self { secrets, configured, loaded: RwLock::new(Err(not_loaded())) };
        let loaded = holder.load(random);
        if let Err(fault) = &loaded {
            let hint = fault.hint.as_ref().map(tracing::field::display);
            tracing::warn!(%fault, hint, "no admin token; HTTP administration is off");
        }
        holder.loaded = RwLock::new(loaded);
        holder
    }

    fn load(&self, random: &dyn RandomSource) -> Result<LoadedToken, Fault> {
        match self.secrets.find(SECRET_NAME, self.configured.as_deref())? {
            Some(found) => LoadedToken::new(found),
            None => self.create(random),
        }
    }

    fn create(&self, random: &dyn RandomSource) -> Result<LoadedToken, Fault> {
        let secret = random::secret(random, "brain_ad_")?;
        let path = self.secrets.store(SECRET_NAME, &secret)?;
        tracing::info!(path = %path.display(), "admin token created");
        LoadedToken::new(FoundSecret { secret, origin: SecretOrigin::Home(path) })
    }

    /// Returns whether `hash` is the digest of the admin token. Compares in constant time.
    pub(crate) fn matches(&self, hash: &Hash) -> bool {
        let loaded = self.loaded.read();
        loaded.as_ref().is_ok_and(|loaded| bool::from(loaded.hash.ct_eq(hash)))
    }

    /// Returns why there is no token.
    pub(crate) fn problem(&self) -> Option<Fault> {
        self.loaded.read().as_ref().err().cloned()
    }

    fn show(&self, random: &dyn RandomSource) -> Result<AdminTokenReply, Fault> {
        let mut loaded = self.loaded.write();
        if loaded.is_err() {
            // The owner may have repaired the file since.
            *loaded = self.load(random);
        }
        loaded.clone().map(|loaded| loaded.into_reply(false))
    }

    fn rotate(&self, random: &dyn RandomSource) -> Result<AdminTokenReply, Fault> {
        let mut loaded = self.loaded.write();
        match self.secrets.find(SECRET_NAME, self.configured.as_deref()) {
            Ok(Some(FoundSecret { origin, .. })) if !matches!(origin, SecretOrigin::Home(_)) => {
                let message =
                    format!("the admin token comes from {origin}, so brain does not change it");
                return Err(Fault::new(FaultCode::Conflict, message)
                    .hint("change it there, and restart the daemon"));
            }
            // An unreadable file in the home is replaced. A configured file belongs to the owner.
            Err(error) if self.configured.is_some() => return Err(error.into()),
            _ => {}
        }
        let created = self.create(random)?;
        *loaded = Ok(created.clone());
        Ok(created.into_reply(true))
    }
}

fn not_loaded() -> Fault {
    Fault::new(FaultCode::Internal, "the admin token is not loaded yet")
}

impl Access {
    /// Returns whether this is the admin token. Compares in constant time.
    #[must_use]
    pub fn is_admin_token(&self, token: &str) -> bool {
        self.admin_token.matches(&digest(token))
    }

    /// Returns the admin token, or replaces it on request.
    ///
    /// # Errors
    /// The reason why there is no token. [`FaultCode::Conflict`] if the token must be replaced but
    /// comes from outside the home. The fault of the secrets if the token cannot be stored.
    pub fn admin_token(&self, request: &AdminToken) -> Result<AdminTokenReply, Fault> {
        if request.rotate {
            let reply = self.admin_token.rotate(&*self.random)?;
            self.browsers.close_all();
            Ok(reply)
        } else {
            self.admin_token.show(&*self.random)
        }
    }
}
