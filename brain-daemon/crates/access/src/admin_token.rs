//! The owner's own token, for the admin API and the consent page.
//!
//! It is the secret `admin-token` (see [`brain_base::secrets`]), made at the first start. What is in force is what was read at the
//! start, or made since by `brain token admin --rotate`; a file that somebody edits counts from the next start on.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use brain_protocol::{AdminToken, AdminTokenReply, Fault, FaultCode, Secret};
use subtle::ConstantTimeEq;

use crate::Access;
use crate::grant_table::digest;
use brain_base::random::{self, Random};
use brain_base::secrets::{FoundSecret, Origin, Secrets};
use brain_store::Hash;

/// The secret's name.
const NAME: &str = "admin-token";
/// A token that somebody chose has no fewer characters.
const SHORTEST: usize = 24;

/// The owner's token, or why there is none.
pub(crate) struct AdminTokenHolder {
    secrets: Arc<Secrets>,
    configured: Option<PathBuf>,
    known: RwLock<Result<Known, Fault>>,
}

#[derive(Clone)]
struct Known {
    secret: Secret,
    hash: Hash,
    origin: Origin,
}

impl Known {
    fn new(found: FoundSecret) -> Result<Self, Fault> {
        let FoundSecret { secret, origin } = found;
        let text = secret.expose();
        if text.len() < SHORTEST || !text.bytes().all(|b| b.is_ascii_graphic()) {
            let message = format!(
                "the admin token in {origin} is too weak: it needs {SHORTEST} or more ASCII characters"
            );
            return Err(Fault::new(FaultCode::InvalidConfig, message)
                .hint("make a random one, for example with `openssl rand -hex 32`, and restart the daemon"));
        }
        Ok(Self { hash: digest(text), secret, origin })
    }
}

impl AdminTokenHolder {
    /// Finds the token, or makes it at the first start.
    pub(crate) fn open(
        secrets: Arc<Secrets>,
        configured: Option<PathBuf>,
        random: &dyn Random,
    ) -> Self {
        let mut admin = Self { secrets, configured, known: RwLock::new(Err(none())) };
        let known = admin.load(random);
        if let Err(fault) = &known {
            tracing::warn!(%fault, hint = fault.hint, "there is no admin token: nobody administrates over HTTP");
        }
        admin.known = RwLock::new(known);
        admin
    }

    fn load(&self, random: &dyn Random) -> Result<Known, Fault> {
        match self.secrets.find(NAME, self.configured.as_deref())? {
            Some(found) => Known::new(found),
            None => self.make(random),
        }
    }

    fn make(&self, random: &dyn Random) -> Result<Known, Fault> {
        let secret = random::secret(random, "brain_ad_")?;
        let path = self.secrets.keep(NAME, &secret)?;
        tracing::info!(path = %path.display(), "an admin token was made");
        Known::new(FoundSecret { secret, origin: Origin::Home(path) })
    }

    /// Whether this is the digest of the token, in a time that does not tell how near it is.
    pub(crate) fn is(&self, hash: &Hash) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().is_ok_and(|known| bool::from(known.hash.ct_eq(hash)))
    }

    /// Why there is no token.
    pub(crate) fn problem(&self) -> Option<Fault> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).as_ref().err().cloned()
    }

    fn show(&self, random: &dyn Random) -> Result<AdminTokenReply, Fault> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.is_err() {
            // What kept it from being read may be mended by now.
            *known = self.load(random);
        }
        known.clone().map(|known| reply(known, false))
    }

    fn rotate(&self, random: &dyn Random) -> Result<AdminTokenReply, Fault> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match self.secrets.find(NAME, self.configured.as_deref()) {
            Ok(Some(FoundSecret { origin, .. })) if !matches!(origin, Origin::Home(_)) => {
                let message =
                    format!("the admin token comes from {origin}, so it is not brain's to change");
                return Err(Fault::new(FaultCode::Conflict, message)
                    .hint("change it there, and restart the daemon"));
            }
            // Replacing a file in the home mends whatever is wrong with it.
            Err(fault) if self.configured.is_some() => return Err(fault),
            _ => {}
        }
        let made = self.make(random)?;
        *known = Ok(made.clone());
        Ok(reply(made, true))
    }
}

fn none() -> Fault {
    Fault::new(FaultCode::Internal, "the admin token was not looked for yet")
}

fn reply(known: Known, rotated: bool) -> AdminTokenReply {
    AdminTokenReply { token: known.secret, path: known.origin.to_string(), rotated }
}

impl Access {
    /// Whether this is the owner's own token for the admin API, compared in constant time.
    pub fn is_admin_token(&self, token: &str) -> bool {
        self.admin_token.is(&digest(token))
    }

    /// Returns the admin token, or replaces it on request.
    ///
    /// # Errors
    /// Why there is none; [`FaultCode::Conflict`] when its place is outside the home and it is to
    /// be replaced.
    pub fn admin_token(&self, request: &AdminToken) -> Result<AdminTokenReply, Fault> {
        let admin = &self.admin_token;
        if request.rotate { admin.rotate(&*self.random) } else { admin.show(&*self.random) }
    }
}
