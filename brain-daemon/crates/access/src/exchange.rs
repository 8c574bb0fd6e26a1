//! The token endpoint: issues and revokes tokens (RFC 6749 sections 4 to 6, RFC 7009).
//!
//! **Refresh tokens** are valid once. All tokens that derive from one consent are a family. If a
//! refresh token is used after it was exchanged or revoked, it was probably stolen, so the whole
//! family is revoked. One exception: for ten seconds after its first exchange, a refresh token can
//! be exchanged again, and each exchange returns a valid pair of tokens. A response can get lost,
//! and several processes of a client can share a token and renew it at the same moment. The price:
//! a thief who uses the token within these ten seconds is not detected.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{Fault, GrantType, Scopes, Secret, TokenKind};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::consent::requested_scopes;
use crate::grant_table::{cap_scopes, digest, is_live};
use crate::{
    Access, AuthorizationGrant, ChangeLock, Credentials, IssuedTokens, OAuthError, OAuthFault,
};
use brain_base::caller::{Caller, Visibility};
use brain_base::permission::{TOKEN_EXCHANGE, permit};
use brain_base::random;
use brain_store::{ClientRecord, GrantUpdate, Hash, TokenRecord};

/// The lifetime of a refresh token in milliseconds: 30 days.
const REFRESH_TTL_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// How long after its first exchange a refresh token can be exchanged again, in milliseconds.
const GRACE_MS: i64 = 10_000;
/// The maximum number of a client's tokens of one kind. Older ones are removed.
const MAX_TOKENS: usize = 1000;
/// The digest that stands for a missing secret. No known text has this digest.
const NO_SECRET: Hash = [0; 32];

/// An authenticated client, and the resource that it requested.
struct AuthenticatedClient<'a> {
    id: &'a str,
    record: ClientRecord,
    resource: Option<String>,
}

/// The tokens to issue.
struct TokenSpec {
    /// Scopes of the access token.
    scopes: Scopes,
    /// Scopes of the refresh token, if there is one.
    refresh: Option<Scopes>,
    resource: Option<String>,
    family: u64,
}

fn invalid_grant() -> OAuthFault {
    // The description does not reveal the reason.
    OAuthFault::new(
        OAuthError::InvalidGrant,
        "the grant is unknown, for another client, used, expired or revoked",
    )
}

impl Access {
    /// Issues tokens. May block.
    ///
    /// # Errors
    /// `invalid_client`, `unauthorized_client`, `invalid_request`, `invalid_grant` and
    /// `invalid_scope` as in RFC 6749 section 5.2. `invalid_target` if the resource is not this
    /// service. `server_error` if the store or the randomness fails.
    pub fn exchange(
        &self,
        credentials: &Credentials,
        grant: &AuthorizationGrant,
        resource: &[String],
    ) -> Result<IssuedTokens, OAuthFault> {
        let mut lock = self.lock();
        let record = self.authenticate_client(credentials)?;
        let caller = Caller::granted(&credentials.client_id, record.scopes, Visibility::All);
        permit(&caller, TOKEN_EXCHANGE)
            .map_err(|fault| OAuthFault::new(OAuthError::UnauthorizedClient, fault.message))?;
        let kind = match grant {
            AuthorizationGrant::ClientCredentials { .. } => GrantType::ClientCredentials,
            AuthorizationGrant::Code { .. } => GrantType::AuthorizationCode,
            AuthorizationGrant::Refresh { .. } => GrantType::RefreshToken,
        };
        if !record.grant_types.contains(&kind) {
            let why = "this client is not registered for this grant type";
            return Err(OAuthFault::new(OAuthError::UnauthorizedClient, why));
        }
        let resource = self.named_resource(resource)?;
        let client = AuthenticatedClient { id: &credentials.client_id, record, resource };
        match grant {
            AuthorizationGrant::ClientCredentials { scope } => {
                let scopes = requested_scopes(scope.as_deref(), client.record.scopes)?;
                let family = random::number(&*self.random).map_err(Fault::from)?;
                let resource = client.resource.clone();
                let tokens = TokenSpec { scopes, refresh: None, resource, family };
                self.issue(&mut lock, GrantUpdate::default(), &client, &tokens)
            }
            AuthorizationGrant::Code { code, redirect_uri, verifier } => self.exchange_code(
                &mut lock,
                &client,
                code,
                redirect_uri.as_deref(),
                verifier.as_ref(),
            ),
            AuthorizationGrant::Refresh { token, scope } => {
                self.refresh(&mut lock, &client, token, scope.as_deref())
            }
        }
    }

    /// Revokes a token of a client (RFC 7009); a refresh token with its whole family. Unknown
    /// tokens and tokens of other clients are ignored. May block.
    ///
    /// # Errors
    /// `invalid_client` if the credentials are wrong, and `server_error` if the store fails.
    pub fn revoke(&self, credentials: &Credentials, token: &Secret) -> Result<(), OAuthFault> {
        let mut lock = self.lock();
        self.authenticate_client(credentials)?;
        let hash = digest(token.expose());
        let now = self.clock.now();
        let mut update = GrantUpdate::default();
        {
            let table = self.table();
            let Some((_, found)) = table.token(&hash) else { return Ok(()) };
            let record = &found.record;
            if record.client.as_deref() != Some(credentials.client_id.as_str()) {
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

    /// Returns the record of the client with these credentials. An unknown client and a wrong
    /// secret take the same time and return the same error.
    fn authenticate_client(&self, credentials: &Credentials) -> Result<ClientRecord, OAuthFault> {
        // Some libraries send an empty secret for a public client.
        let presented_secret =
            credentials.secret.as_ref().map(Secret::expose).filter(|secret| !secret.is_empty());
        let hash = digest(presented_secret.unwrap_or_default());
        let table = self.table();
        let client = table.active_client(&credentials.client_id);
        let stored_hash = client.and_then(|client| client.record.secret);
        let is_same = bool::from(stored_hash.unwrap_or(NO_SECRET).ct_eq(&hash));
        match client {
            Some(client) if is_same || (stored_hash.is_none() && presented_secret.is_none()) => {
                Ok(client.record.clone())
            }
            _ => Err(OAuthFault::new(OAuthError::InvalidClient, "unknown client, or wrong secret")),
        }
    }

    /// Exchanges an authorization code. Revokes the code's tokens if it was used before.
    fn exchange_code(
        &self,
        lock: &mut ChangeLock,
        client: &AuthenticatedClient<'_>,
        code: &Secret,
        redirect_uri: Option<&str>,
        verifier: Option<&Secret>,
    ) -> Result<IssuedTokens, OAuthFault> {
        let hash = digest(code.expose());
        let code = lock
            .codes
            .get(&hash)
            .filter(|code| code.client_id == client.id)
            .cloned()
            .ok_or_else(invalid_grant)?;
        if code.is_used {
            // One of the two uses was not the client's (RFC 6749 section 4.1.2).
            tracing::warn!(client = client.id, "authorization code used twice; tokens revoked");
            self.revoke_family(lock, code.family)?;
            return Err(invalid_grant());
        }
        let is_same_address = match redirect_uri {
            Some(uri) => uri == code.redirect_uri,
            None => !code.is_redirect_named,
        };
        let Some(verifier) = verifier else {
            return Err(OAuthFault::new(OAuthError::InvalidRequest, "code_verifier is missing"));
        };
        if code.has_expired(self.clock.now())
            || !is_same_address
            || !matches_challenge(verifier.expose(), &code.challenge)
        {
            return Err(invalid_grant());
        }
        self.check_resource(code.resource.as_deref())?;
        let scopes = cap_scopes(client.record.scopes, code.scopes);
        let can_refresh = client.record.grant_types.contains(&GrantType::RefreshToken);
        let tokens = TokenSpec {
            scopes,
            refresh: can_refresh.then_some(scopes),
            resource: client.resource.clone().or(code.resource),
            family: code.family,
        };
        let issued = self.issue(lock, GrantUpdate::default(), client, &tokens)?;
        lock.codes.mark_used(&hash);
        Ok(issued)
    }

    /// Exchanges a refresh token. Revokes its family if it is no longer valid.
    fn refresh(
        &self,
        lock: &mut ChangeLock,
        client: &AuthenticatedClient<'_>,
        token: &Secret,
        scope: Option<&str>,
    ) -> Result<IssuedTokens, OAuthFault> {
        let now = self.clock.now();
        let hash = digest(token.expose());
        let old = {
            let table = self.table();
            let found = table.token(&hash).map(|(_, token)| token.record.clone());
            found.filter(|t| t.kind == TokenKind::Refresh && t.client.as_deref() == Some(client.id))
        };
        let old = old.ok_or_else(invalid_grant)?;
        if old.expires_at.is_some_and(|end| end <= now) {
            return Err(invalid_grant());
        }
        if !is_live(&old, now) && !is_in_grace_period(&old, now) {
            tracing::warn!(client = client.id, "refresh token reused; its family is revoked");
            self.revoke_family(lock, old.family)?;
            return Err(invalid_grant());
        }
        self.check_resource(old.resource.as_deref())?;
        let granted = cap_scopes(client.record.scopes, old.scopes);
        let scopes = requested_scopes(scope, granted)?;
        // Scopes beyond the consent are an error here, not ignored (RFC 6749 section 6).
        let requested = scope.and_then(Scopes::parse_known);
        if requested.is_some_and(|requested| !granted.cover(requested)) {
            return Err(OAuthFault::new(
                OAuthError::InvalidScope,
                "the request exceeds the granted scopes",
            ));
        }
        // The grace period begins with the first exchange.
        let used_at = Some(old.used_at.unwrap_or(now));
        let tokens = vec![(hash, Some(TokenRecord { used_at, ..old.clone() }))];
        let update = GrantUpdate { tokens, ..GrantUpdate::default() };
        // The new refresh token keeps all scopes of the consent (RFC 6749 section 6).
        let tokens = TokenSpec {
            scopes,
            refresh: Some(old.scopes),
            resource: client.resource.clone().or(old.resource),
            family: old.family,
        };
        self.issue(lock, update, client, &tokens)
    }

    /// Refuses a grant for a former address of this service. Its tokens would be invalid; after
    /// this error, clients ask for consent again.
    fn check_resource(&self, resource: Option<&str>) -> Result<(), OAuthFault> {
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

    /// Creates tokens. Stores them durably, together with `update`, before it returns them.
    fn issue(
        &self,
        lock: &mut ChangeLock,
        mut update: GrantUpdate,
        client: &AuthenticatedClient<'_>,
        tokens: &TokenSpec,
    ) -> Result<IssuedTokens, OAuthFault> {
        let now = self.clock.now();
        let mut create =
            |kind: TokenKind, prefix: &str, scopes: Scopes, ttl: i64| -> Result<Secret, Fault> {
                let token = random::secret(&*self.random, prefix)?;
                self.table().trim(&mut update, client.id, kind, MAX_TOKENS, now);
                let record = TokenRecord {
                    kind,
                    client: Some(client.id.into()),
                    name: String::new(),
                    scopes,
                    // Each call uses the client's current sources.
                    sources: Vec::new(),
                    resource: tokens.resource.clone(),
                    family: tokens.family,
                    created_at: now,
                    expires_at: Some(now + ttl),
                    used_at: None,
                    revoked_at: None,
                };
                update.tokens.push((digest(token.expose()), Some(record)));
                Ok(token)
            };
        let ttl = i64::from(client.record.token_ttl) * 1000;
        let access_token = create(TokenKind::Access, "brain_at_", tokens.scopes, ttl)?;
        let refresh_token = match tokens.refresh {
            Some(scopes) => Some(create(TokenKind::Refresh, "brain_rt_", scopes, REFRESH_TTL_MS)?),
            None => None,
        };
        self.apply(lock, update)?;
        // Only a successful exchange is a use: anyone can send the id of a public client.
        if let Some(entry) = self.table().client(client.id) {
            entry.record_use(now);
        }
        let expires_in = u64::from(client.record.token_ttl);
        Ok(IssuedTokens { access_token, expires_in, scopes: tokens.scopes, refresh_token })
    }
}

/// Returns whether an exchanged refresh token can be exchanged again: it is not revoked, and its
/// first exchange was less than ten seconds ago.
fn is_in_grace_period(token: &TokenRecord, now: i64) -> bool {
    // The clock may have been set back.
    token.revoked_at.is_none() && token.used_at.is_some_and(|used| (now - used).abs() < GRACE_MS)
}

/// Returns whether the challenge was made from this verifier (RFC 7636 sections 4.1 and 4.6).
fn matches_challenge(verifier: &str, challenge: &str) -> bool {
    let is_unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    (43..=128).contains(&verifier.len())
        && verifier.bytes().all(is_unreserved)
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
        assert!(matches_challenge(verifier, challenge));
        assert!(!matches_challenge(challenge, challenge), "a plain challenge is refused");
        assert!(!matches_challenge(&verifier[..42], challenge));
        assert!(
            !matches_challenge("", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"),
            "an empty verifier is refused"
        );
        assert!(!matches_challenge(&format!("{verifier} "), challenge));
        let long = "a".repeat(129);
        assert!(!matches_challenge(
            &long,
            &URL_SAFE_NO_PAD.encode(Sha256::digest(long.as_bytes()))
        ));
    }
}
