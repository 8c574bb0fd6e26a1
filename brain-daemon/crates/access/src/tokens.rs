//! Operations of the owner on personal tokens: create, list and revoke.

use brain_protocol::{
    Command, Fault, FaultCode, GrantChange, Scope, TokenCreate, TokenCreateReply, TokenInfo,
    TokenKind, TokenList, TokenRevoke, TokenRevokeReply, Tokens, hint,
};

use crate::Access;
use crate::clients::{check_sources, validate_name};
use crate::grant_table::{GrantTable, digest, is_live};
use crate::validate::{invalid_request, printable};
use brain_base::clock::rfc3339;
use brain_base::random;
use brain_store::{GrantUpdate, Hash, TokenRecord};

const DAY_SECONDS: u64 = 24 * 60 * 60;
/// The default lifetime of a token, in seconds.
const DEFAULT_TTL: u64 = 90 * DAY_SECONDS;
/// The default lifetime of a token with the scope `admin`, in seconds.
const DEFAULT_ADMIN_TTL: u64 = 30 * DAY_SECONDS;
/// The allowed lifetimes, in seconds: one minute to ten years.
const ALLOWED_TTL: std::ops::RangeInclusive<u64> = 60..=10 * 366 * DAY_SECONDS;

impl Access {
    /// Creates a personal token, which is shown only now.
    ///
    /// # Errors
    /// [`FaultCode::InvalidRequest`] if a field is invalid; [`FaultCode::UnknownSource`] if a
    /// source is not registered; [`FaultCode::Conflict`] if a valid token has this name; the fault
    /// of the store or of the randomness.
    pub fn token_create(&self, request: &TokenCreate) -> Result<TokenCreateReply, Fault> {
        let name = validate_name(&request.name)?;
        let sources = self.granted_sources(&request.sources)?;
        check_sources(request.scopes, &sources)?;
        let default = if request.scopes.iter().any(|scope| scope == Scope::Admin) {
            DEFAULT_ADMIN_TTL
        } else {
            DEFAULT_TTL
        };
        // 0 means that the token never expires.
        let lifetime = Some(request.expires_in.unwrap_or(default)).filter(|&seconds| seconds != 0);
        if lifetime.is_some_and(|seconds| !ALLOWED_TTL.contains(&seconds)) {
            return Err(invalid_request(
                "the lifetime of a token is a minute to ten years",
                "for example 90d, or never",
            ));
        }
        let now = self.clock.now();
        let mut lock = self.lock();
        if live_token(&self.table(), &name, now).is_some() {
            return Err(Fault::new(
                FaultCode::Conflict,
                format!("there is a token called \"{name}\" already"),
            )
            .hint(hint!(
                "use another name, or revoke that token first: {}",
                Command::TokenRevoke { token: Some(name.to_string()) }
            )));
        }
        let token = random::secret(&*self.random, "brain_pt_")?;
        let hash = digest(token.expose());
        let record = TokenRecord {
            kind: TokenKind::Personal,
            client: None,
            name,
            scopes: request.scopes,
            sources,
            resource: None,
            family: random::number(&*self.random)?,
            created_at: now,
            expires_at: lifetime.map(|seconds| now + 1000 * seconds as i64),
            used_at: None,
            revoked_at: None,
        };
        let tokens = vec![(hash, Some(record.clone()))];
        self.apply(&mut lock, GrantUpdate { tokens, ..GrantUpdate::default() })?;
        let info = info(&self.table(), &hash, &record);
        tracing::info!(token = info.id, scopes = info.scope, "a token was created");
        Ok(TokenCreateReply { token, info })
    }

    /// Lists valid personal tokens, or all tokens on request; the oldest first.
    pub fn token_list(&self, request: &TokenList) -> Result<Tokens, Fault> {
        let now = self.clock.now();
        let table = self.table();
        let is_listed =
            |t: &TokenRecord| request.all || (t.kind == TokenKind::Personal && is_live(t, now));
        let mut tokens: Vec<_> = table.tokens().filter(|(_, token)| is_listed(token)).collect();
        tokens.sort_by_key(|(hash, token)| (token.created_at, *hash));
        Ok(Tokens {
            tokens: tokens.into_iter().map(|(hash, token)| info(&table, hash, token)).collect(),
        })
    }

    /// Revokes a token, and with a refresh token all tokens of its family.
    ///
    /// # Errors
    /// [`FaultCode::UnknownToken`] if there is no such token; the fault of the store.
    pub fn token_revoke(&self, request: &TokenRevoke) -> Result<TokenRevokeReply, Fault> {
        let now = self.clock.now();
        let mut lock = self.lock();
        let mut update = GrantUpdate::default();
        let (hash, is_newly_revoked) = {
            let table = self.table();
            let (hash, token) = find(&table, &request.token, now)?;
            let is_newly_revoked = token.revoked_at.is_none();
            if token.kind == TokenKind::Refresh {
                // Its holder may have exchanged it for other tokens.
                table.revoke(&mut update, now, |other| other.family == token.family);
            } else if is_newly_revoked {
                update.tokens.push((hash, Some(TokenRecord { revoked_at: Some(now), ..token })));
                update.only_reduces_access = true;
            }
            (hash, is_newly_revoked)
        };
        self.apply(&mut lock, update)?;
        let table = self.table();
        let (_, token) = table.token(&hash).ok_or_else(|| unknown_token(&request.token))?;
        let info = info(&table, &hash, &token.record);
        if is_newly_revoked {
            tracing::info!(token = info.id, "a token was revoked");
        }
        Ok(TokenRevokeReply {
            status: match is_newly_revoked {
                true => GrantChange::Revoked,
                false => GrantChange::AlreadyRevoked,
            },
            info,
        })
    }
}

/// Returns the valid personal token with this name.
fn live_token(table: &GrantTable, name: &str, now: i64) -> Option<(Hash, TokenRecord)> {
    let mut tokens = table.tokens();
    let has_name =
        |t: &TokenRecord| t.kind == TokenKind::Personal && t.name == name && is_live(t, now);
    tokens.find(|(_, token)| has_name(token)).map(|(hash, token)| (*hash, token.clone()))
}

/// Returns the valid personal token with this name, else any token with this id, else the newest
/// personal token with this name.
fn find(table: &GrantTable, text: &str, now: i64) -> Result<(Hash, TokenRecord), Fault> {
    let by_id = || table.tokens().find(|(hash, _)| id(hash) == text);
    let by_name = || {
        let has_name = |t: &TokenRecord| t.kind == TokenKind::Personal && t.name == text;
        table
            .tokens()
            .filter(|(_, token)| has_name(token))
            .max_by_key(|(hash, token)| (token.created_at, *hash))
    };
    if let Some(found) = live_token(table, text, now) {
        return Ok(found);
    }
    let found = by_id().or_else(by_name).map(|(hash, token)| (*hash, token.clone()));
    found.ok_or_else(|| unknown_token(text))
}

fn unknown_token(text: &str) -> Fault {
    // The text may be a token, which must not appear in an error.
    let name = if text.starts_with("brain_") {
        "of this name".into()
    } else {
        format!("\"{}\"", printable(text))
    };
    Fault::new(FaultCode::UnknownToken, format!("there is no token {name}")).hint(hint!(
        "{} shows names and ids; the token itself is not a name",
        Command::TokenListAll
    ))
}

/// Returns the id of a token: the first 8 bytes of its digest, in hexadecimal.
fn id(hash: &Hash) -> String {
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a token as the owner sees it.
fn info(table: &GrantTable, hash: &Hash, token: &TokenRecord) -> TokenInfo {
    let client =
        token.client.as_deref().and_then(|id| table.client(id)).map(|client| &client.record);
    TokenInfo {
        id: id(hash),
        kind: token.kind,
        name: client.map_or_else(|| token.name.clone(), |client| client.name.clone()),
        client_id: token.client.clone(),
        scope: token.scopes.to_string(),
        sources: client.map_or_else(|| token.sources.clone(), |client| client.sources.clone()),
        created_at: rfc3339(token.created_at),
        expires_at: token.expires_at.map(rfc3339),
        revoked_at: token.revoked_at.map(rfc3339),
    }
}
