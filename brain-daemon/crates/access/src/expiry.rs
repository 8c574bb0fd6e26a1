//! What goes by itself: tokens that have ended, clients that were revoked or never came again. And what is written down later: when
//! a client was let in last.

use brain_protocol::Fault;

use crate::Access;
use crate::grant_table::{Client, is_live};
use crate::registration::DYNAMIC;
use brain_store::{ClientRecord, GrantUpdate, TokenKind, TokenRecord};

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How long revoked clients and ended personal tokens are still shown, and clients that registered themselves wait, in milliseconds.
const MEMORY: i64 = 90 * DAY;
/// Personal tokens that end within this time are worth a word, in milliseconds.
const SOON: i64 = 14 * DAY;

/// What there is, for `brain doctor`.
pub struct AccessSummary {
    /// Clients that are not revoked.
    pub clients: usize,
    /// Personal tokens that are good.
    pub tokens: usize,
    /// Those of them that end within 14 days: name and when, Unix milliseconds; the first one first.
    pub ending: Vec<(String, i64)>,
    /// Those of them that never end, by name.
    pub endless: Vec<String>,
    /// Why there is no admin token.
    pub problem: Option<Fault>,
}

impl Access {
    /// Counts clients and tokens.
    #[must_use]
    pub fn summary(&self) -> AccessSummary {
        let now = self.clock.now();
        let table = self.table();
        let personal = |t: &&TokenRecord| t.kind == TokenKind::Personal && is_live(t, now);
        let tokens: Vec<&TokenRecord> =
            table.tokens().map(|(_, token)| token).filter(personal).collect();
        let mut ending: Vec<(String, i64)> = tokens
            .iter()
            .filter_map(|token| {
                // One that was made for a few days ends as it was meant to.
                let soon = |end: &i64| *end <= now + SOON && token.created_at + SOON < *end;
                Some((token.name.clone(), token.expires_at.filter(soon)?))
            })
            .collect();
        ending.sort_by_key(|(_, end)| *end);
        let mut endless: Vec<String> = tokens
            .iter()
            .filter(|token| token.expires_at.is_none())
            .map(|token| token.name.clone())
            .collect();
        endless.sort();
        AccessSummary {
            clients: table
                .clients()
                .filter(|(_, client)| client.record.revoked_at.is_none())
                .count(),
            tokens: tokens.len(),
            ending,
            endless,
            problem: self.admin_token.problem(),
        }
    }

    /// Writes down when clients were let in last. Nothing is lost but minutes when this does not happen.
    ///
    /// # Errors
    /// When the store fails.
    pub fn write_uses(&self) -> Result<(), Fault> {
        let mut lock = self.lock();
        let clients: Vec<(String, Option<ClientRecord>)> = {
            let table = self.table();
            let changed = table
                .clients()
                .filter(|(_, client)| client.last_used() > client.record.last_used_at);
            let written = |client: &Client| ClientRecord {
                last_used_at: client.last_used(),
                ..client.record.clone()
            };
            changed.map(|(id, client)| (id.clone(), Some(written(client)))).collect()
        };
        self.apply(&mut lock, GrantUpdate { clients, ..GrantUpdate::default() })
    }

    /// Forgets what has ended. Returns how many clients and tokens are gone.
    ///
    /// # Errors
    /// When the store fails; nothing is forgotten then.
    pub fn purge(&self) -> Result<usize, Fault> {
        let now = self.clock.now();
        let mut lock = self.lock();
        let mut update = GrantUpdate { only_reduces_access: true, ..GrantUpdate::default() };
        {
            let table = self.table();
            let gone = table.clients().filter(|(_, client)| client_is_over(client, now));
            update.clients = gone.map(|(id, _)| (id.clone(), None)).collect();
            let ownerless = |token: &TokenRecord| {
                token
                    .client
                    .as_ref()
                    .is_some_and(|id| update.clients.iter().any(|(gone, _)| gone == id))
            };
            let gone =
                table.tokens().filter(|(_, token)| token_is_over(token, now) || ownerless(token));
            update.tokens = gone.map(|(hash, _)| (*hash, None)).collect();
        }
        let count = update.clients.len() + update.tokens.len();
        self.apply(&mut lock, update)?;
        if count > 0 {
            tracing::debug!(count, "clients and tokens forgotten");
        }
        Ok(count)
    }
}

fn client_is_over(client: &Client, now: i64) -> bool {
    let record = &client.record;
    let idle = || client.last_used().unwrap_or(record.created_at);
    match record.revoked_at {
        Some(at) => at + MEMORY <= now,
        None => record.registered_by == DYNAMIC && idle() + MEMORY <= now,
    }
}

fn token_is_over(token: &TokenRecord, now: i64) -> bool {
    let ended = match (token.revoked_at, token.expires_at) {
        (Some(revoked), Some(end)) => Some(revoked.min(end)),
        (revoked, end) => revoked.or(end),
    };
    match token.kind {
        TokenKind::Personal => ended.is_some_and(|at| at + MEMORY <= now),
        TokenKind::Access => ended.is_some_and(|at| at + DAY <= now),
        // One that was exchanged or revoked is known until it would have ended anyway: who shows it has it from a thief.
        TokenKind::Refresh => token.expires_at.is_some_and(|end| end <= now),
    }
}
