//! What the door remembers between requests: sessions of the owner, and which addresses failed too often. In memory only, and
//! bounded. Knows no header and no cookie.
//!
//! A session is a random name in the owner's browser; here is its SHA-256, what it is good for, and the admin token it was
//! opened with, so that a new admin token ends every session.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{Fault, Secret};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::tries::Tries;
use brain_base::random::{self, Random, SystemRandom};

/// How long a session lasts, in milliseconds.
pub(crate) const SESSION_MS: i64 = 12 * 60 * 60 * 1000;
/// Sessions at once; one more ends the oldest.
const SESSIONS: usize = 64;
const MINUTE_MS: i64 = 60 * 1000;

/// What a session is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To administer.
    Admin,
    /// To agree on the consent page, and nothing else.
    Consent,
}

struct Session {
    purpose: Purpose,
    until: i64,
    token: Secret,
}

/// The memory of one listener.
pub(crate) struct Porter {
    sessions: Mutex<HashMap<[u8; 32], Session>>,
    random: Box<dyn Random>,
    key: OnceLock<[u8; 32]>,
    /// Wrong admin tokens that were typed, by address.
    pub(crate) logins: Tries,
    /// Secrets, codes and refresh tokens that were none, by address and client.
    pub(crate) tokens: Tries,
    /// The same by address alone: whoever guesses clients, too, speaks for another one each time. Several programs may share
    /// an address, so it takes more.
    pub(crate) addresses: Tries,
    /// Clients that registered themselves, or tried.
    pub(crate) registrations: Tries,
}

impl Default for Porter {
    fn default() -> Self {
        Self::new(Box::new(SystemRandom))
    }
}

impl Porter {
    /// An empty memory, with this source of randomness.
    fn new(random: Box<dyn Random>) -> Self {
        Self {
            sessions: Mutex::default(),
            random,
            key: OnceLock::new(),
            logins: Tries::new(10, MINUTE_MS),
            tokens: Tries::new(50, 15 * MINUTE_MS),
            addresses: Tries::new(500, 15 * MINUTE_MS),
            registrations: Tries::new(50, 60 * MINUTE_MS),
        }
    }

    /// A name that nobody guesses: 256 bits, in 43 characters.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub(crate) fn fresh(&self) -> Result<String, Fault> {
        random::text::<32>(&*self.random)
    }

    /// Opens a session for whoever gave the admin token `token`; the name it goes by.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub(crate) fn open(&self, purpose: Purpose, token: &Secret, now: i64) -> Result<String, Fault> {
        let name = self.fresh()?;
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| now < session.until);
        if sessions.len() >= SESSIONS
            && let Some(oldest) =
                sessions.iter().min_by_key(|(_, session)| session.until).map(|(key, _)| *key)
        {
            sessions.remove(&oldest);
        }
        sessions.insert(
            digest(&name),
            Session { purpose, until: now + SESSION_MS, token: token.clone() },
        );
        Ok(name)
    }

    /// Until when the session with this name is good for `purpose`, in Unix milliseconds; `None` when it is not. `is_owner`
    /// says whether an admin token is still the one.
    pub(crate) fn until(
        &self,
        name: &str,
        purpose: Purpose,
        now: i64,
        is_owner: impl FnOnce(&str) -> bool,
    ) -> Option<i64> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // Found by digest: how long it takes to find nothing tells nothing of the names there are.
        let session = sessions.get(&digest(name))?;
        let good =
            session.purpose == purpose && now < session.until && is_owner(session.token.expose());
        good.then_some(session.until)
    }

    /// Ends a session.
    pub(crate) fn close(&self, name: &str) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&digest(name));
    }

    /// Binds `what` to the browser that goes by `name`, so that only a page of ours, shown to that browser, can bring it back.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub(crate) fn seal(&self, name: &str, what: &str) -> Result<String, Fault> {
        let key = match self.key.get() {
            Some(key) => key,
            None => {
                let mut key = [0; 32];
                self.random.fill(&mut key)?;
                // Another thread may have been faster: its key is as good.
                self.key.get_or_init(|| key)
            }
        };
        // All parts have one length: nothing can be moved from one to the next.
        let seal = Sha256::new()
            .chain_update(key)
            .chain_update(digest(name))
            .chain_update(digest(what))
            .finalize();
        Ok(URL_SAFE_NO_PAD.encode(seal))
    }

    /// Whether `given` is the seal of these, compared in constant time.
    ///
    /// # Errors
    /// As [`Porter::seal`].
    pub(crate) fn fits(&self, name: &str, what: &str, given: &str) -> Result<bool, Fault> {
        Ok(self.seal(name, what)?.as_bytes().ct_eq(given.as_bytes()).into())
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

    impl Random for NoRandom {
        fn fill(&self, _bytes: &mut [u8]) -> Result<(), Fault> {
            Err(Fault::new(FaultCode::Internal, "none"))
        }
    }

    fn owner() -> Secret {
        Secret::new("the owner's")
    }

    #[test]
    fn a_session_is_good_for_its_purpose_until_it_ends() {
        let porter = Porter::default();
        let name = porter.open(Purpose::Consent, &owner(), 1000).unwrap();
        assert_eq!(name.len(), 43);
        let until = |name: &str, purpose, now| {
            porter.until(name, purpose, now, |token| token == "the owner's")
        };
        assert_eq!(until(&name, Purpose::Consent, 1000), Some(1000 + SESSION_MS));
        assert_eq!(until(&name, Purpose::Admin, 1000), None, "it only agrees");
        assert_eq!(until(&name, Purpose::Consent, 1000 + SESSION_MS), None, "12 hours");
        assert_eq!(until("another", Purpose::Consent, 1000), None);
        assert_eq!(
            porter.until(&name, Purpose::Consent, 1000, |_| false),
            None,
            "there is a new admin token"
        );
        porter.close(&name);
        assert_eq!(until(&name, Purpose::Consent, 1000), None);
    }

    #[test]
    fn sessions_are_bounded_and_the_oldest_gives_way() {
        let porter = Porter::default();
        let names: Vec<String> = (0..=SESSIONS)
            .map(|at| porter.open(Purpose::Admin, &owner(), at as i64).unwrap())
            .collect();
        let good = |name: &String| porter.until(name, Purpose::Admin, 100, |_| true).is_some();
        assert!(!good(&names[0]));
        assert!(names[1..].iter().all(good));
        let next_day = porter.open(Purpose::Admin, &owner(), 3 * SESSION_MS).unwrap();
        assert_eq!(porter.sessions.lock().unwrap().len(), 1, "what has ended is not kept");
        assert!(porter.until(&next_day, Purpose::Admin, 3 * SESSION_MS, |_| true).is_some());
    }

    #[test]
    fn a_seal_fits_one_browser_and_one_request() {
        let (porter, other) = (Porter::default(), Porter::default());
        let seal = porter.seal("browser", "request").unwrap();
        assert!(porter.fits("browser", "request", &seal).unwrap());
        for (name, what, given) in [
            ("other", "request", &*seal),
            ("browser", "other", &*seal),
            ("browserr", "equest", &*seal),
        ] {
            assert!(!porter.fits(name, what, given).unwrap(), "{name} {what}");
        }
        assert!(!porter.fits("browser", "request", "").unwrap());
        assert!(
            !other.fits("browser", "request", &seal).unwrap(),
            "every daemon has a key of its own"
        );
    }

    #[test]
    fn without_randomness_nothing_is_opened() {
        let porter = Porter::new(Box::new(NoRandom));
        assert_eq!(porter.open(Purpose::Admin, &owner(), 0).unwrap_err().code, FaultCode::Internal);
        assert!(porter.seal("a", "b").is_err());
        assert!(porter.fits("a", "b", "").is_err());
    }
}
