//! Sessions of the owner's browsers, and their CSRF tokens. Knows no header and no cookie.
//!
//! The browser has a random session id; the store has its SHA-256, its purpose, and the admin
//! token it was opened with. So a new admin token ends every session. Sessions are in memory only.

use std::collections::HashMap;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{Fault, Secret};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use brain_base::random::{self, RandomSource, SystemRandom};

/// How long a session lasts, in milliseconds.
pub(crate) const SESSION_MS: i64 = 12 * 60 * 60 * 1000;
/// Maximum number of sessions. Opening another one ends the oldest.
const MAX_SESSIONS: usize = 64;

/// What a session permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Administration.
    Admin,
    /// Granting access on the consent page, and nothing else.
    Consent,
}

/// A session. Its key in the store is the SHA-256 of its id.
struct StoredSession {
    purpose: Purpose,
    /// Unix milliseconds.
    expires_at: i64,
    /// The admin token that opened it.
    token: Secret,
}

/// The sessions of one listener.
pub(crate) struct SessionStore {
    sessions: Mutex<HashMap<[u8; 32], StoredSession>>,
    random: Box<dyn RandomSource>,
    /// Signs CSRF tokens; created on first use.
    key: OnceLock<[u8; 32]>,
}

impl Default for SessionStore {
    fn default() -> Self {
        Self::new(Box::new(SystemRandom))
    }
}

impl SessionStore {
    fn new(random: Box<dyn RandomSource>) -> Self {
        Self { sessions: Mutex::default(), random, key: OnceLock::new() }
    }

    /// Returns 256 random bits in 43 characters.
    ///
    /// # Errors
    /// [`FaultCode::Internal`](brain_protocol::FaultCode) when the system has no random data.
    pub(crate) fn random_id(&self) -> Result<String, Fault> {
        Ok(random::text::<32>(&*self.random)?)
    }

    /// Opens a session for an owner with the admin token `token` at `now` (Unix milliseconds), and
    /// returns its id.
    ///
    /// # Errors
    /// As for [`SessionStore::random_id`].
    pub(crate) fn open(&self, purpose: Purpose, token: &Secret, now: i64) -> Result<String, Fault> {
        let id = self.random_id()?;
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| now < session.expires_at);
        if sessions.len() >= MAX_SESSIONS
            && let Some(oldest) =
                sessions.iter().min_by_key(|(_, session)| session.expires_at).map(|(key, _)| *key)
        {
            sessions.remove(&oldest);
        }
        sessions.insert(
            digest(&id),
            StoredSession { purpose, expires_at: now + SESSION_MS, token: token.clone() },
        );
        Ok(id)
    }

    /// Returns when the session `id` expires, in Unix milliseconds. `None` if it does not exist or
    /// does not permit `purpose`.
    ///
    /// `is_owner` checks whether an admin token is still valid.
    pub(crate) fn expires_at(
        &self,
        id: &str,
        purpose: Purpose,
        now: i64,
        is_owner: impl FnOnce(&str) -> bool,
    ) -> Option<i64> {
        let sessions = self.sessions.lock();
        // Found by digest, so the time of the look-up tells nothing about existing ids.
        let session = sessions.get(&digest(id))?;
        let is_valid = session.purpose == purpose
            && now < session.expires_at
            && is_owner(session.token.expose());
        is_valid.then_some(session.expires_at)
    }

    /// Ends a session.
    pub(crate) fn close(&self, id: &str) {
        self.sessions.lock().remove(&digest(id));
    }

    /// Returns a CSRF token that binds `action` to the browser with this session id. Only our own
    /// page, shown to that browser, can send it back.
    ///
    /// # Errors
    /// As for [`SessionStore::random_id`].
    pub(crate) fn csrf_token(&self, id: &str, action: &str) -> Result<String, Fault> {
        let key = match self.key.get() {
            Some(key) => key,
            None => {
                let mut key = [0; 32];
                self.random.fill(&mut key)?;
                // If another thread has set a key meanwhile, that key is used.
                self.key.get_or_init(|| key)
            }
        };
        // All parts have a fixed length, so no byte can move from one part to the next.
        let token = Sha256::new()
            .chain_update(key)
            .chain_update(digest(id))
            .chain_update(digest(action))
            .finalize();
        Ok(URL_SAFE_NO_PAD.encode(token))
    }

    /// Returns whether `given` is the CSRF token of `id` and `action`, compared in constant time.
    ///
    /// # Errors
    /// As for [`SessionStore::random_id`].
    pub(crate) fn is_csrf_token(&self, id: &str, action: &str, given: &str) -> Result<bool, Fault> {
        Ok(self.csrf_token(id, action)?.as_bytes().ct_eq(given.as_bytes()).into())
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::FaultCode;

    use super::*;

    struct NoRandom;

    impl RandomSource for NoRandom {
        fn fill(&self, _bytes: &mut [u8]) -> Result<(), brain_base::Error> {
            Err(brain_base::Error::NoRandomData("none".into()))
        }
    }

    fn owner() -> Secret {
        Secret::new("the owner's")
    }

    #[test]
    fn a_session_permits_its_purpose_until_it_expires() {
        let store = SessionStore::default();
        let id = store.open(Purpose::Consent, &owner(), 1000).unwrap();
        assert_eq!(id.len(), 43);
        let expires_at = |id: &str, purpose, now| {
            store.expires_at(id, purpose, now, |token| token == "the owner's")
        };
        assert_eq!(expires_at(&id, Purpose::Consent, 1000), Some(1000 + SESSION_MS));
        assert_eq!(expires_at(&id, Purpose::Admin, 1000), None, "the session permits consent only");
        assert_eq!(expires_at(&id, Purpose::Consent, 1000 + SESSION_MS), None, "12 hours");
        assert_eq!(expires_at("another", Purpose::Consent, 1000), None);
        assert_eq!(
            store.expires_at(&id, Purpose::Consent, 1000, |_| false),
            None,
            "there is a new admin token"
        );
        store.close(&id);
        assert_eq!(expires_at(&id, Purpose::Consent, 1000), None);
    }

    #[test]
    fn opening_too_many_sessions_ends_the_oldest() {
        let store = SessionStore::default();
        let ids: Vec<String> = (0..=MAX_SESSIONS)
            .map(|at| store.open(Purpose::Admin, &owner(), at as i64).unwrap())
            .collect();
        let is_open = |id: &String| store.expires_at(id, Purpose::Admin, 100, |_| true).is_some();
        assert!(!is_open(&ids[0]));
        assert!(ids[1..].iter().all(is_open));
        let next_day = store.open(Purpose::Admin, &owner(), 3 * SESSION_MS).unwrap();
        assert_eq!(store.sessions.lock().len(), 1, "expired sessions are removed");
        assert!(store.expires_at(&next_day, Purpose::Admin, 3 * SESSION_MS, |_| true).is_some());
    }

    #[test]
    fn a_csrf_token_is_valid_for_one_browser_and_one_action() {
        let (store, other) = (SessionStore::default(), SessionStore::default());
        let token = store.csrf_token("browser", "request").unwrap();
        assert!(store.is_csrf_token("browser", "request", &token).unwrap());
        for (id, action, given) in [
            ("other", "request", &*token),
            ("browser", "other", &*token),
            ("browserr", "equest", &*token),
        ] {
            assert!(!store.is_csrf_token(id, action, given).unwrap(), "{id} {action}");
        }
        assert!(!store.is_csrf_token("browser", "request", "").unwrap());
        assert!(
            !other.is_csrf_token("browser", "request", &token).unwrap(),
            "each store has its own key"
        );
    }

    #[test]
    fn without_randomness_no_session_opens() {
        let store = SessionStore::new(Box::new(NoRandom));
        assert_eq!(store.open(Purpose::Admin, &owner(), 0).unwrap_err().code, FaultCode::Internal);
        assert!(store.csrf_token("a", "b").is_err());
        assert!(store.is_csrf_token("a", "b", "").is_err());
    }
}
