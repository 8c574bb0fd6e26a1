//! Authorization codes (RFC 6749 section 4.1.2): valid once, for 60 seconds.
//!
//! They are in memory only. After a restart of the daemon, clients ask for consent again.

use std::collections::HashMap;

use brain_protocol::Scopes;

use brain_store::Hash;

/// How long a code is valid, in milliseconds.
const LIFETIME_MS: i64 = 60 * 1000;
/// How long a code is remembered, in milliseconds, so that a second use is recognised.
const RETENTION_MS: i64 = 10 * 60 * 1000;
/// The maximum number of remembered codes. The owner consents to each of them by hand.
const MAX_CODES: usize = 1000;

/// A code, and the owner's consent.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizationCode {
    /// The id of the client that can exchange the code.
    pub(crate) client_id: String,
    /// The address to which the browser was redirected.
    pub(crate) redirect_uri: String,
    /// Whether the client named that address, and so must name it again.
    pub(crate) is_redirect_named: bool,
    /// SHA-256 of the verifier, as base64url (RFC 7636 section 4.2).
    pub(crate) challenge: String,
    /// The granted scopes.
    pub(crate) scopes: Scopes,
    /// The resource of the tokens.
    pub(crate) resource: Option<String>,
    /// The family of the tokens.
    pub(crate) family: u64,
    /// The time of the consent, in Unix milliseconds.
    pub(crate) created_at: i64,
    /// Whether the code was exchanged.
    pub(crate) is_used: bool,
}

impl AuthorizationCode {
    /// Returns whether the code has expired at `now`, in Unix milliseconds.
    pub(crate) fn has_expired(&self, now: i64) -> bool {
        now - self.created_at >= LIFETIME_MS
    }
}

/// Codes by their SHA-256.
#[derive(Default)]
pub(crate) struct CodeStore(HashMap<Hash, AuthorizationCode>);

impl CodeStore {
    /// Adds a code. Removes codes older than 10 minutes, and the oldest code at the limit.
    pub(crate) fn put(&mut self, hash: Hash, code: AuthorizationCode) {
        let now = code.created_at;
        self.0.retain(|_, code| now - code.created_at < RETENTION_MS);
        if self.0.len() >= MAX_CODES
            && let Some(oldest) =
                self.0.iter().min_by_key(|(_, code)| code.created_at).map(|(hash, _)| *hash)
        {
            self.0.remove(&oldest);
        }
        self.0.insert(hash, code);
    }

    /// Returns a code, even if it was used or has expired.
    pub(crate) fn get(&self, hash: &Hash) -> Option<&AuthorizationCode> {
        self.0.get(hash)
    }

    /// Records that a code was exchanged.
    pub(crate) fn mark_used(&mut self, hash: &Hash) {
        if let Some(code) = self.0.get_mut(hash) {
            code.is_used = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(created_at: i64) -> AuthorizationCode {
        AuthorizationCode {
            client_id: "c".into(),
            redirect_uri: "https://a.example/cb".into(),
            is_redirect_named: true,
            challenge: String::new(),
            scopes: Scopes::READ_WRITE,
            resource: None,
            family: 1,
            created_at,
            is_used: false,
        }
    }

    #[test]
    fn codes_expire_after_60_s_and_are_removed_after_10_min() {
        let mut codes = CodeStore::default();
        codes.put([1; 32], code(0));
        assert!(!code(0).has_expired(59_999) && code(0).has_expired(60_000));
        codes.put([2; 32], code(RETENTION_MS - 1));
        assert!(codes.get(&[1; 32]).is_some());
        codes.put([3; 32], code(RETENTION_MS));
        assert!(codes.get(&[1; 32]).is_none() && codes.get(&[2; 32]).is_some());
    }

    #[test]
    fn the_oldest_code_is_removed_at_the_limit() {
        let mut codes = CodeStore::default();
        for n in 0..(MAX_CODES as i64 + 5) {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&n.to_le_bytes());
            codes.put(hash, code(n));
        }
        assert_eq!(codes.0.len(), MAX_CODES);
        assert_eq!(codes.0.values().map(|c| c.created_at).min(), Some(5));
    }
}
