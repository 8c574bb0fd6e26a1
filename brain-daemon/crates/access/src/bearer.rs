//! Authenticates bearer tokens (RFC 6750). Runs at each HTTP call, so it reads only memory.

use brain_protocol::{Fault, FaultCode, TokenKind};
use subtle::ConstantTimeEq;

use crate::Access;
use crate::grant_table::{cap_scopes, digest, intersection, is_live};
use brain_base::caller::{Caller, Scopes, Visibility};
use brain_store::Hash;

impl Access {
    /// Returns the caller that a bearer token authenticates. Does not block.
    ///
    /// # Errors
    /// [`FaultCode::InvalidToken`] if the token is unknown, is a refresh token, has expired, was
    /// revoked, or is for another service, or if its client was revoked.
    pub fn bearer(&self, token: &str) -> Result<Caller, Fault> {
        let hash = digest(token);
        if self.admin_token.matches(&hash) {
            return Ok(Caller::granted("admin", Scopes::ADMIN, Visibility::All));
        }
        self.authenticate(&hash).ok_or_else(|| {
            // The answer does not reveal whether the token ever existed.
            Fault::new(FaultCode::InvalidToken, "the token is unknown, expired or revoked")
                .hint("ask the owner of this brain for a new one, or authorize again")
        })
    }

    fn authenticate(&self, hash: &Hash) -> Option<Caller> {
        let now = self.clock.now();
        let table = self.table();
        let (key, token) = table.token(hash)?;
        let record = &token.record;
        let is_valid = bool::from(key.ct_eq(hash))
            && record.kind != TokenKind::Refresh
            && is_live(record, now)
            && record.resource.as_deref().is_none_or(|resource| self.is_our_resource(resource));
        if !is_valid {
            return None;
        }
        let Some(id) = &record.client else {
            let (name, visibility) = (format!("token:{}", record.name), token.visibility.clone());
            return Some(Caller::granted(name, record.scopes, visibility));
        };
        let client = table.active_client(id)?;
        client.record_use(now);
        let scopes = cap_scopes(client.record.scopes, record.scopes);
        let visibility = intersection(&token.visibility, &client.visibility);
        Some(Caller::granted(id.as_str(), scopes, visibility))
    }
}
