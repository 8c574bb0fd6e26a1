//! Who a bearer token belongs to (RFC 6750). On the way of every call over HTTP: a look into memory and nothing else.

use brain_protocol::{Fault, FaultCode};
use subtle::ConstantTimeEq;

use crate::Access;
use crate::grant_table::{bounded, common, digest, is_live};
use brain_base::caller::Visibility;
use brain_base::caller::{Caller, Scopes};
use brain_store::TokenKind;

impl Access {
    /// Who a bearer token belongs to. Answers from memory.
    ///
    /// # Errors
    /// [`FaultCode::InvalidToken`] when it is none of ours, has ended, was revoked, or is for another service.
    pub fn bearer(&self, token: &str) -> Result<Caller, Fault> {
        let hash = digest(token);
        if self.admin_token.is(&hash) {
            return Ok(Caller::granted("admin", Scopes::ADMIN, Visibility::All));
        }
        self.holder(&hash).ok_or_else(|| {
            // Nobody learns whether there ever was such a token.
            Fault::new(FaultCode::InvalidToken, "the token is not known, has ended or was revoked")
                .hint("ask the owner of this brain for a new one, or authorize again")
        })
    }

    fn holder(&self, hash: &brain_store::Hash) -> Option<Caller> {
        let now = self.clock.now();
        let table = self.table();
        let (key, token) = table.token(hash)?;
        let record = &token.record;
        let good = bool::from(key.ct_eq(hash))
            && record.kind != TokenKind::Refresh
            && is_live(record, now)
            && record.resource.as_deref().is_none_or(|resource| self.is_our_resource(resource));
        if !good {
            return None;
        }
        let Some(id) = &record.client else {
            return Some(Caller::granted(
                format!("token:{}", record.name),
                record.scopes,
                token.view.clone(),
            ));
        };
        let client = table.client(id).filter(|client| client.record.revoked_at.is_none())?;
        client.note_use(now);
        let scopes = bounded(client.record.scopes, record.scopes);
        Some(Caller::granted(id.as_str(), scopes, common(&token.view, &client.view)))
    }
}
