//! `/token` and `/revoke`: what a client gets for its secret, for the owner's consent, for a refresh token (RFC 6749 sections 4 to
//! 6, RFC 7009), and what makes a stolen one worthless.
//!
//! **Refresh tokens** are good once. The tokens that come from one consent are a family: whoever shows a refresh token that was
//! exchanged before, or that was taken back, has it from a thief or is one, and the whole family is revoked. One exception: for ten
//! seconds from its first exchange the same token may be exchanged again. A reply gets lost on its way; several processes of one
//! client share a token and renew it at the same moment. Each of them gets a pair of its own, and all of these live: none of them is
//! thrown out for what another one did. The price: a thief who is as quick as that goes on unseen until the owner revokes the client.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{Fault, GrantType, Scopes, Secret};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::consent::wanted_scopes;
use crate::grant_table::{bounded, digest, is_live};
use crate::{Access, ChangeLock};
use crate::{Credentials, Issued, OAuthError, OAuthFault, Offer};
use brain_base::caller::{Caller, Visibility};
use brain_base::permission::{TOKEN_EXCHANGE, permit};
use brain_base::random;
use brain_store::{ClientRecord, GrantUpdate, Hash, TokenKind, TokenRecord};

/// How long a refresh token lives, in milliseconds: 30 days.
const REFRESH_TTL: i64 = 30 * 24 * 60 * 60 * 1000;
/// How long after its first exchange a refresh token may be exchanged again, in milliseconds.
const GRACE: i64 = 10_000;
/// The most tokens of one kind that a client has at once. Older ones are forgotten.
const MOST: usize = 1000;
/// What a client is compared with that has no secret, or does not exist: the digest of nothing that can be sent.
const NOBODY: Hash = [0; 32];

/// A client that has shown who it is, and what it wants the token for.
struct Party<'a> {
    id: &'a str,
    client: ClientRecord,
    target: Option<String>,
}

/// What is to be issued.
struct Grant {
    /// Of the access token.
    scopes: Scopes,
    /// Of the refresh token, when there is to be one.
    refresh: Option<Scopes>,
    resource: Option<String>,
    family: u64,
}

impl From<Fault> for OAuthFault {
    /// What went wrong inside is the owner's business, and in the log.
    fn from(fault: Fault) -> Self {
        tracing::warn!(%fault, "an OAuth request failed");
        Self::new(OAuthError::ServerError, "the service cannot do this at the moment")
    }
}

fn invalid_grant() -> OAuthFault {
    // Nobody learns what exactly was wrong.
    OAuthFault::new(
        OAuthError::InvalidGrant,
        "it is not known, not for this client, used, ended or revoked",
    )
}

impl Access {
    /// Issues tokens. May block.
    ///
    /// # Errors
    /// As RFC 6749 section 5.2 says.
    pub fn exchange(
        &self,
        who: &Credentials,
        offer: &Offer,
        resource: &[String],
    ) -> Result<Issued, OAuthFault> {
        let mut lock = self.lock();
        let client = self.authenticated(who)?;
        let caller = Caller::granted(&who.client_id, client.scopes, Visibility::All);
        permit(&caller, TOKEN_EXCHANGE)
            .map_err(|fault| OAuthFault::new(OAuthError::UnauthorizedClient, fault.message))?;
        let kind = match offer {
            Offer::ClientCredentials { .. } => GrantType::ClientCredentials,
            Offer::Code { .. } => GrantType::AuthorizationCode,
            Offer::Refresh { .. } => GrantType::RefreshToken,
        };
        if !client.grant_types.contains(&kind) {
            let why = "this client is not registered for this grant type";
            return Err(OAuthFault::new(OAuthError::UnauthorizedClient, why));
        }
        let party = Party { id: &who.client_id, client, target: self.named_resource(resource)? };
        match offer {
            Offer::ClientCredentials { scope } => {
                let scopes = wanted_scopes(scope.as_deref(), party.client.scopes)?;
                let family = random::number(&*self.random)?;
                let grant = Grant { scopes, refresh: None, resource: party.target.clone(), family };
                self.issue(&mut lock, GrantUpdate::default(), &party, &grant)
            }
            Offer::Code { code, redirect_uri, verifier } => self.exchange_code(
                &mut lock,
                &party,
                code,
                redirect_uri.as_deref(),
                verifier.as_ref(),
            ),
            Offer::Refresh { token, scope } => {
                self.refresh(&mut lock, &party, token, scope.as_deref())
            }
        }
    }

    /// Takes a token back for the client that has it (RFC 7009): with a refresh token goes its whole family. Unknown tokens are
    /// no error. May block.
    ///
    /// # Errors
    /// `invalid_client`.
    pub fn revoke(&self, who: &Credentials, token: &Secret) -> Result<(), OAuthFault> {
        let mut lock = self.lock();
        self.authenticated(who)?;
        let hash = digest(token.expose());
        let now = self.clock.now();
        let mut update = GrantUpdate::default();
        {
            let table = self.table();
            let Some((_, found)) = table.token(&hash) else { return Ok(()) };
            let record = &found.record;
            if record.client.as_deref() != Some(who.client_id.as_str()) {
                return Ok(());
            }
            if record.kind == TokenKind::Refresh {
                table.revoke(&mut update, now, |token| token.family == record.family);
            } else if record.revoked_at.is_none() {
                update
                    .tokens
                    .push((hash, Some(TokenRecord { revoked_at: Some(now), ..record.clone() })));
                update.only_reduces_access = true;
            }
        }
        Ok(self.apply(&mut lock, update)?)
    }

    /// The client, when it is the one that it says. Somebody unknown and a wrong secret cost the same and look the same.
    fn authenticated(&self, who: &Credentials) -> Result<ClientRecord, OAuthFault> {
        // Some libraries send an empty secret for a client that has none.
        let presented = who.secret.as_ref().map(Secret::expose).filter(|secret| !secret.is_empty());
        let hash = digest(presented.unwrap_or_default());
        let table = self.table();
        let client =
            table.client(&who.client_id).filter(|client| client.record.revoked_at.is_none());
        let kept = client.and_then(|client| client.record.secret);
        let same = bool::from(kept.unwrap_or(NOBODY).ct_eq(&hash));
        match client {
            Some(client) if same || (kept.is_none() && presented.is_none()) => {
                Ok(client.record.clone())
            }
            _ => Err(OAuthFault::new(OAuthError::InvalidClient, "unknown client, or wrong secret")),
        }
    }

    fn exchange_code(
        &self,
        lock: &mut ChangeLock,
        party: &Party<'_>,
        code: &Secret,
        redirect_uri: Option<&str>,
        verifier: Option<&Secret>,
    ) -> Result<Issued, OAuthFault> {
        let Party { id, client, target } = party;
        let hash = digest(code.expose());
        let code = lock
            .codes
            .get(&hash)
            .filter(|code| code.client == *id)
            .cloned()
            .ok_or_else(invalid_grant)?;
        if code.used {
            // RFC 6749 section 4.1.2: one of the two who had it is not the client.
            tracing::warn!(client = id, "a code came a second time: what it gave is revoked");
            self.revoke_family(lock, code.family)?;
            return Err(invalid_grant());
        }
        let same_place = match redirect_uri {
            Some(uri) => uri == code.redirect_uri,
            None => !code.redirect_named,
        };
        let Some(verifier) = verifier else {
            return Err(OAuthFault::new(OAuthError::InvalidRequest, "code_verifier is missing"));
        };
        if code.has_ended(self.clock.now())
            || !same_place
            || !verifies(verifier.expose(), &code.challenge)
        {
            return Err(invalid_grant());
        }
        self.is_still_ours(code.resource.as_deref())?;
        let scopes = bounded(client.scopes, code.scopes);
        let refresh = client.grant_types.contains(&GrantType::RefreshToken).then_some(scopes);
        let grant = Grant {
            scopes,
            refresh,
            resource: target.clone().or(code.resource),
            family: code.family,
        };
        let issued = self.issue(lock, GrantUpdate::default(), party, &grant)?;
        lock.codes.note_use(&hash);
        Ok(issued)
    }

    fn refresh(
        &self,
        lock: &mut ChangeLock,
        party: &Party<'_>,
        token: &Secret,
        scope: Option<&str>,
    ) -> Result<Issued, OAuthFault> {
        let Party { id, client, target } = party;
        let now = self.clock.now();
        let hash = digest(token.expose());
        let old = {
            let table = self.table();
            let found = table.token(&hash).map(|(_, token)| token.record.clone());
            found.filter(|t| t.kind == TokenKind::Refresh && t.client.as_deref() == Some(*id))
        };
        let old = old.ok_or_else(invalid_grant)?;
        if old.expires_at.is_some_and(|end| end <= now) {
            return Err(invalid_grant());
        }
        if !is_live(&old, now) && !is_shared(&old, now) {
            tracing::warn!(client = id, "a refresh token came again: its family is revoked");
            self.revoke_family(lock, old.family)?;
            return Err(invalid_grant());
        }
        self.is_still_ours(old.resource.as_deref())?;
        let kept = bounded(client.scopes, old.scopes);
        let scopes = wanted_scopes(scope, kept)?;
        // What a consent did not give, a refresh may not even ask for (RFC 6749 section 6).
        if scope.and_then(|scope| Scopes::parse(scope).ok()).is_some_and(|asked| !kept.cover(asked))
        {
            return Err(OAuthFault::new(
                OAuthError::InvalidScope,
                "more is asked for than was granted",
            ));
        }
        // The grace counts from the first exchange.
        let used_at = Some(old.used_at.unwrap_or(now));
        let tokens = vec![(hash, Some(TokenRecord { used_at, ..old.clone() }))];
        let update = GrantUpdate { tokens, ..GrantUpdate::default() };
        // A refresh token keeps what the owner agreed to, however little is asked for this time (RFC 6749 section 6).
        let grant = Grant {
            scopes,
            refresh: Some(old.scopes),
            resource: target.clone().or(old.resource),
            family: old.family,
        };
        self.issue(lock, update, party, &grant)
    }

    /// Refuses what was agreed to for an address that this service had once: its tokens would open nothing, and a client that is
    /// told so asks for consent again.
    fn is_still_ours(&self, resource: Option<&str>) -> Result<(), OAuthFault> {
        if resource.is_some_and(|resource| !self.is_our_resource(resource)) {
            return Err(invalid_grant());
        }
        Ok(())
    }

    fn revoke_family(&self, lock: &mut ChangeLock, family: u64) -> Result<(), Fault> {
        let mut update = GrantUpdate::default();
        self.table().revoke(&mut update, self.clock.now(), |token| token.family == family);
        self.apply(lock, update)
    }

    /// Makes the tokens of a grant; they are durable, together with `update`, before anybody sees them.
    fn issue(
        &self,
        lock: &mut ChangeLock,
        mut update: GrantUpdate,
        party: &Party<'_>,
        grant: &Grant,
    ) -> Result<Issued, OAuthFault> {
        let Party { id, client, .. } = party;
        let now = self.clock.now();
        let mut made =
            |kind: TokenKind, prefix: &str, scopes: Scopes, ttl: i64| -> Result<Secret, Fault> {
                let token = random::secret(&*self.random, prefix)?;
                self.table().trim(&mut update, id, kind, MOST, now);
                let record = TokenRecord {
                    kind,
                    client: Some((*id).into()),
                    name: String::new(),
                    scopes,
                    // Its client's, as they are at each call.
                    sources: Vec::new(),
                    resource: grant.resource.clone(),
                    family: grant.family,
                    created_at: now,
                    expires_at: Some(now + ttl),
                    used_at: None,
                    revoked_at: None,
                };
                update.tokens.push((digest(token.expose()), Some(record)));
                Ok(token)
            };
        let ttl = i64::from(client.token_ttl) * 1000;
        let access_token = made(TokenKind::Access, "brain_at_", grant.scopes, ttl)?;
        let refresh_token = match grant.refresh {
            Some(scopes) => Some(made(TokenKind::Refresh, "brain_rt_", scopes, REFRESH_TTL)?),
            None => None,
        };
        self.apply(lock, update)?;
        // Not before: anybody can say the id of a public client.
        if let Some(client) = self.table().client(id) {
            client.note_use(now);
        }
        let expires_in = u64::from(client.token_ttl);
        Ok(Issued { access_token, expires_in, scopes: grant.scopes, refresh_token })
    }
}

/// Whether a refresh token that was exchanged may be exchanged again: a moment after the first time, and not when it was taken back.
fn is_shared(token: &TokenRecord, now: i64) -> bool {
    // A clock may be set back a little.
    token.revoked_at.is_none() && token.used_at.is_some_and(|used| (now - used).abs() < GRACE)
}

/// Whether the challenge was made of this verifier (RFC 7636 sections 4.1 and 4.6).
fn verifies(verifier: &str, challenge: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    (43..=128).contains(&verifier.len())
        && verifier.bytes().all(plain)
        && bool::from(
            URL_SAFE_NO_PAD
                .encode(Sha256::digest(verifier.as_bytes()))
                .as_bytes()
                .ct_eq(challenge.as_bytes()),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_checked_as_the_example_of_rfc_7636_says() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(verifies(verifier, challenge));
        assert!(!verifies(challenge, challenge), "a plain challenge is none");
        assert!(!verifies(&verifier[..42], challenge));
        assert!(
            !verifies("", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"),
            "not even a right one of nothing"
        );
        assert!(!verifies(&format!("{verifier} "), challenge));
        let long = "a".repeat(129);
        assert!(!verifies(&long, &URL_SAFE_NO_PAD.encode(Sha256::digest(long.as_bytes()))));
    }
}
