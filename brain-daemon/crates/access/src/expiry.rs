//! Removes expired grants, saves the last use of clients, and counts grants for `brain doctor`.

use brain_protocol::{Fault, TokenKind};

use crate::Access;
use crate::grant_table::{ClientEntry, is_live};
use crate::registration::DYNAMIC;
use brain_store::{ClientRecord, GrantUpdate, TokenRecord};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How long these are kept, in milliseconds: revoked clients, expired or revoked personal tokens,
/// and unused clients that registered themselves.
const RETENTION_MS: i64 = 90 * DAY_MS;
/// Personal tokens that expire within this time are reported, in milliseconds. Tokens with a
/// shorter lifetime are reported during its last quarter.
const EXPIRY_WARNING_MS: i64 = 14 * DAY_MS;

/// The clients and tokens, for `brain doctor`.
#[derive(Debug, Clone)]
pub struct AccessSummary {
    /// The number of active clients.
    pub clients: usize,
    /// The number of valid personal tokens.
    pub tokens: usize,
    /// Valid personal tokens that expire within 14 days and are in the last quarter of their
    /// lifetime: name and time in Unix milliseconds, the earliest first.
    pub expiring: Vec<(String, i64)>,
    /// Names of valid personal tokens that never expire.
    pub without_expiry: Vec<String>,
    /// The reason if there is no admin token.
    pub admin_token_problem: Option<Fault>,
}

impl Access {
    /// Summarises clients and tokens.
    #[must_use]
    pub fn summary(&self) -> AccessSummary {
        let now = self.clock.now();
        let table = self.table();
        let is_valid = |t: &&TokenRecord| t.kind == TokenKind::Personal && is_live(t, now);
        let tokens: Vec<&TokenRecord> =
            table.tokens().map(|(_, token)| token).filter(is_valid).collect();
        let mut expiring: Vec<(String, i64)> = tokens
            .iter()
            .filter_map(|token| {
                let is_soon = |end: &i64| *end - now <= warning_time(token.created_at, *end);
                Some((token.name.clone(), token.expires_at.filter(is_soon)?))
            })
            .collect();
        expiring.sort_by_key(|(_, end)| *end);
        let mut without_expiry: Vec<String> = tokens
            .iter()
            .filter(|token| token.expires_at.is_none())
            .map(|token| token.name.clone())
            .collect();
        without_expiry.sort();
        AccessSummary {
            clients: table.clients().filter(|(_, client)| client.is_active()).count(),
            tokens: tokens.len(),
            expiring,
            without_expiry,
            admin_token_problem: self.admin_token.problem(),
        }
    }

    /// Saves the last use of clients. Without it, a restart forgets the uses since the last save.
    pub fn write_last_use(&self) -> Result<(), Fault> {
        let mut lock = self.lock();
        let clients: Vec<(String, Option<ClientRecord>)> = {
            let table = self.table();
            let changed = table
                .clients()
                .filter(|(_, client)| client.last_used() > client.record.last_used_at);
            let updated = |client: &ClientEntry| ClientRecord {
                last_used_at: client.last_used(),
                ..client.record.clone()
            };
            changed.map(|(id, client)| (id.clone(), Some(updated(client)))).collect()
        };
        self.apply(&mut lock, GrantUpdate { clients, ..GrantUpdate::default() })
    }

    /// Removes clients and tokens whose retention is over, and the tokens of these clients. Returns
    /// their number.
    ///
    /// # Errors
    /// The fault of the store; then nothing is removed.
    pub fn purge(&self) -> Result<usize, Fault> {
        let now = self.clock.now();
        let mut lock = self.lock();
        let mut update = GrantUpdate { only_reduces_access: true, ..GrantUpdate::default() };
        {
            let table = self.table();
            let expired = table.clients().filter(|(_, client)| is_client_removable(client, now));
            update.clients = expired.map(|(id, _)| (id.clone(), None)).collect();
            let is_orphan = |token: &TokenRecord| {
                token
                    .client
                    .as_ref()
                    .is_some_and(|id| update.clients.iter().any(|(client, _)| client == id))
            };
            let expired = table
                .tokens()
                .filter(|(_, token)| is_token_removable(token, now) || is_orphan(token));
            update.tokens = expired.map(|(hash, _)| (*hash, None)).collect();
        }
        let count = update.clients.len() + update.tokens.len();
        self.apply(&mut lock, update)?;
        if count > 0 {
            tracing::debug!(count, "expired clients and tokens removed");
        }
        Ok(count)
    }
}

/// Returns how long before its end a token is reported. All times are milliseconds.
fn warning_time(created_at: i64, end: i64) -> i64 {
    ((end - created_at) / 4).min(EXPIRY_WARNING_MS)
}

/// Returns whether the retention of a client is over at `now`.
fn is_client_removable(client: &ClientEntry, now: i64) -> bool {
    let record = &client.record;
    let last_active = || client.last_used().unwrap_or(record.created_at);
    match record.revoked_at {
        Some(at) => at + RETENTION_MS <= now,
        None => record.registered_by == DYNAMIC && last_active() + RETENTION_MS <= now,
    }
}

/// Returns whether the retention of a token is over at `now`.
fn is_token_removable(token: &TokenRecord, now: i64) -> bool {
    let ended = match (token.revoked_at, token.expires_at) {
        (Some(revoked), Some(end)) => Some(revoked.min(end)),
        (revoked, end) => revoked.or(end),
    };
    match token.kind {
        TokenKind::Personal => ended.is_some_and(|at| at + RETENTION_MS <= now),
        TokenKind::Access => ended.is_some_and(|at| at + DAY_MS <= now),
        // An exchanged or revoked token is kept until its expiry, so that its reuse is recognised.
        TokenKind::Refresh => token.expires_at.is_some_and(|end| end <= now),
    }
}
