//! What goes by itself: tokens that have ended, clients that were revoked or never came again. And what is written down later: when
//! a client was let in last.

use brain_protocol::Fault;

use super::register::DYNAMIC;
use super::table::{Client, is_live};
use crate::Brain;
use brain_store::{ClientRecord, GrantUpdate, TokenKind, TokenRecord};

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How long revoked clients and ended personal tokens are still shown, and clients that registered themselves wait, in milliseconds.
const MEMORY: i64 = 90 * DAY;
/// Personal tokens that end within this time are worth a word, in milliseconds.
const SOON: i64 = 14 * DAY;

/// What there is, for `brain doctor`.
pub(crate) struct GrantsStanding {
    /// Clients that are not revoked.
    pub(crate) clients: usize,
    /// Personal tokens that are good.
    pub(crate) tokens: usize,
    /// Those of them that end within 14 days: name and when, Unix milliseconds; the first one first.
    pub(crate) ending: Vec<(String, i64)>,
    /// Those of them that never end, by name.
    pub(crate) endless: Vec<String>,
    /// Why there is no admin token.
    pub(crate) problem: Option<Fault>,
}

impl Brain {
    pub(crate) fn grants_standing(&self) -> GrantsStanding {
        let now = self.clock.now();
        let table = self.grants.table();
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
        GrantsStanding {
            clients: table
                .clients()
                .filter(|(_, client)| client.record.revoked_at.is_none())
                .count(),
            tokens: tokens.len(),
            ending,
            endless,
            problem: self.grants.admin.problem(),
        }
    }

    /// Writes down when clients were let in last. Nothing is lost but minutes when this does not happen.
    ///
    /// # Errors
    /// When the store fails.
    pub fn write_uses(&self) -> Result<(), Fault> {
        let mut turn = self.grants.turn();
        let clients: Vec<(String, Option<ClientRecord>)> = {
            let table = self.grants.table();
            let changed = table
                .clients()
                .filter(|(_, client)| client.last_used() > client.record.last_used_at);
            let written = |client: &Client| ClientRecord {
                last_used_at: client.last_used(),
                ..client.record.clone()
            };
            changed.map(|(id, client)| (id.clone(), Some(written(client)))).collect()
        };
        self.change_grants(&mut turn, GrantUpdate { clients, ..GrantUpdate::default() })
    }

    /// Forgets what has ended. Returns how many clients and tokens are gone.
    ///
    /// # Errors
    /// When the store fails; nothing is forgotten then.
    pub fn purge_grants(&self) -> Result<usize, Fault> {
        let now = self.clock.now();
        let mut turn = self.grants.turn();
        let mut change = GrantUpdate { only_reduces_access: true, ..GrantUpdate::default() };
        {
            let table = self.grants.table();
            let gone = table.clients().filter(|(_, client)| client_is_over(client, now));
            change.clients = gone.map(|(id, _)| (id.clone(), None)).collect();
            let ownerless = |token: &TokenRecord| {
                token
                    .client
                    .as_ref()
                    .is_some_and(|id| change.clients.iter().any(|(gone, _)| gone == id))
            };
            let gone =
                table.tokens().filter(|(_, token)| token_is_over(token, now) || ownerless(token));
            change.tokens = gone.map(|(hash, _)| (*hash, None)).collect();
        }
        let count = change.clients.len() + change.tokens.len();
        self.change_grants(&mut turn, change)?;
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
