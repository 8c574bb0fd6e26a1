//! Codes of the owner's consent that a client exchanges for tokens (RFC 6749 section 4.1.2): good once, for 60 seconds. They are
//! in memory only; after a start of the daemon the client asks again.

use std::collections::HashMap;

use brain_protocol::Scopes;

use brain_store::Hash;

/// How long a code is good, in milliseconds.
const LIFETIME: i64 = 60 * 1000;
/// How long it is remembered, in milliseconds: one that comes a second time takes its tokens along.
const MEMORY: i64 = 10 * 60 * 1000;
/// The most codes that are remembered. Each one is a consent that the owner gave by hand.
const MOST: usize = 1000;

/// What the owner agreed to.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    /// Who may exchange it.
    pub(crate) client: String,
    /// Where the browser was sent.
    pub(crate) redirect_uri: String,
    /// Whether the client named that address, and has to name it again.
    pub(crate) redirect_named: bool,
    /// SHA-256 of the verifier, as base64url (RFC 7636 section 4.2).
    pub(crate) challenge: String,
    /// What was agreed to.
    pub(crate) scopes: Scopes,
    /// What the token will be good for.
    pub(crate) resource: Option<String>,
    /// Of the tokens that come from it.
    pub(crate) family: u64,
    /// Given, Unix milliseconds.
    pub(crate) made_at: i64,
    /// Exchanged.
    pub(crate) used: bool,
}

impl Code {
    /// Whether its 60 seconds are over.
    pub(crate) fn has_ended(&self, now: i64) -> bool {
        now - self.made_at >= LIFETIME
    }
}

/// The codes by their SHA-256.
#[derive(Default)]
pub(crate) struct Codes(HashMap<Hash, Code>);

impl Codes {
    /// Adds a code; what nobody will ask for any more goes.
    pub(crate) fn put(&mut self, hash: Hash, code: Code) {
        let now = code.made_at;
        self.0.retain(|_, code| now - code.made_at < MEMORY);
        if self.0.len() >= MOST
            && let Some(oldest) =
                self.0.iter().min_by_key(|(_, code)| code.made_at).map(|(hash, _)| *hash)
        {
            self.0.remove(&oldest);
        }
        self.0.insert(hash, code);
    }

    /// The code, used or ended or not.
    pub(crate) fn get(&self, hash: &Hash) -> Option<&Code> {
        self.0.get(hash)
    }

    /// Notes that a code was exchanged.
    pub(crate) fn note_use(&mut self, hash: &Hash) {
        if let Some(code) = self.0.get_mut(hash) {
            code.used = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(made_at: i64) -> Code {
        Code {
            client: "c".into(),
            redirect_uri: "https://a.example/cb".into(),
            redirect_named: true,
            challenge: String::new(),
            scopes: Scopes::READ_WRITE,
            resource: None,
            family: 1,
            made_at,
            used: false,
        }
    }

    #[test]
    fn codes_end_after_60_seconds_and_are_forgotten_after_ten_minutes() {
        let mut codes = Codes::default();
        codes.put([1; 32], code(0));
        assert!(!code(0).has_ended(59_999) && code(0).has_ended(60_000));
        codes.put([2; 32], code(MEMORY - 1));
        assert!(codes.get(&[1; 32]).is_some());
        codes.put([3; 32], code(MEMORY));
        assert!(codes.get(&[1; 32]).is_none() && codes.get(&[2; 32]).is_some());
    }

    #[test]
    fn the_number_of_codes_is_bounded_and_the_oldest_goes() {
        let mut codes = Codes::default();
        for n in 0..(MOST as i64 + 5) {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&n.to_le_bytes());
            codes.put(hash, code(n));
        }
        assert_eq!(codes.0.len(), MOST);
        assert_eq!(codes.0.values().map(|c| c.made_at).min(), Some(5));
    }
}
