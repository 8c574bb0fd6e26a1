//! Clients and tokens in memory, so that a call is authenticated without reading the disk.
//!
//! The store has the same rows. A change is written to the store first.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use brain_protocol::{Fault, Scopes, SourceId, TokenKind};
use sha2::{Digest, Sha256};

use brain_base::caller::Visibility;
use brain_store::{ClientRecord, GrantUpdate, Hash, Store, TokenRecord};

/// The resolution of a client's last use, in milliseconds.
const MINUTE_MS: i64 = 60_000;

/// Returns the SHA-256 of a token or secret. Only this digest is stored. Tokens have 256 random
/// bits, so a slow hash would protect nothing.
pub(crate) fn digest(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

/// Returns the visibility of a grant for these sources: all sources if the list is empty.
fn visibility(sources: &[String]) -> Visibility {
    if sources.is_empty() {
        return Visibility::All;
    }
    // A list of invalid names shows no source, rather than every source.
    Visibility::Only(sources.iter().filter_map(|id| SourceId::parse(id.as_str()).ok()).collect())
}

/// Returns the sources that both can see.
pub(crate) fn intersection(one: &Visibility, other: &Visibility) -> Visibility {
    match (one, other) {
        (Visibility::All, rest) | (rest, Visibility::All) => rest.clone(),
        (Visibility::Only(sources), other) => Visibility::Only(
            sources.iter().filter(|id| other.shows(id.as_str())).cloned().collect(),
        ),
    }
}

/// Returns `requested` if `granted` covers it, else `granted`.
pub(crate) fn cap_scopes(granted: Scopes, requested: Scopes) -> Scopes {
    if granted.cover(requested) { requested } else { granted }
}

/// A client in memory.
pub(crate) struct ClientEntry {
    /// The record in the store.
    pub(crate) record: ClientRecord,
    /// The sources that the client can see.
    pub(crate) visibility: Visibility,
    /// The last use in Unix milliseconds, rounded down to the minute; 0 for never.
    last_used: AtomicI64,
}

impl ClientEntry {
    /// Records that the client was authenticated at `now`.
    pub(crate) fn record_use(&self, now: i64) {
        let minute = now - now.rem_euclid(MINUTE_MS);
        if self.last_used.load(Ordering::Relaxed) < minute {
            self.last_used.fetch_max(minute, Ordering::Relaxed);
        }
    }

    /// Returns the last use in Unix milliseconds.
    pub(crate) fn last_used(&self) -> Option<i64> {
        Some(self.last_used.load(Ordering::Relaxed)).filter(|&at| at > 0)
    }

    /// Returns whether the client is not revoked.
    pub(crate) fn is_active(&self) -> bool {
        self.record.revoked_at.is_none()
    }
}

/// A token in memory.
pub(crate) struct TokenEntry {
    /// The record in the store.
    pub(crate) record: TokenRecord,
    /// The sources that the token can see, if its client can see them, too.
    pub(crate) visibility: Visibility,
}

/// Returns whether a token is valid at `now`: it is neither expired nor revoked nor, as a refresh
/// token, exchanged.
pub(crate) fn is_live(token: &TokenRecord, now: i64) -> bool {
    token.revoked_at.is_none()
        && token.used_at.is_none()
        && token.expires_at.is_none_or(|end| end > now)
}

/// All clients and tokens.
#[derive(Default)]
pub(crate) struct GrantTable {
    clients: HashMap<String, ClientEntry>,
    tokens: HashMap<Hash, TokenEntry>,
}

impl GrantTable {
    /// Reads clients and tokens from the store.
    pub(crate) fn load(store: &Store) -> Result<Self, Fault> {
        let reader = store.read(Visibility::All)?;
        let clients =
            reader.clients()?.into_iter().map(|(id, client)| (id, Some(client))).collect();
        let tokens =
            reader.tokens()?.into_iter().map(|(hash, token)| (hash, Some(token))).collect();
        let mut table = Self::default();
        table.apply(GrantUpdate { clients, tokens, only_reduces_access: false });
        Ok(table)
    }

    /// Reads clients and tokens again. Later uses of clients that are not stored yet stay.
    ///
    /// # Errors
    /// The fault of the store; then the table stays as it is.
    pub(crate) fn reload(&mut self, store: &Store) -> Result<(), Fault> {
        let table = Self::load(store)?;
        for (id, client) in &table.clients {
            if let Some(former) = self.clients.get(id) {
                client
                    .last_used
                    .fetch_max(former.last_used.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        *self = table;
        Ok(())
    }

    /// Returns the present rows of what an update changes.
    pub(crate) fn rows_of(&self, update: &GrantUpdate) -> GrantUpdate {
        let client = |id: &String| self.clients.get(id).map(|client| client.record.clone());
        let token = |hash: &Hash| self.tokens.get(hash).map(|token| token.record.clone());
        GrantUpdate {
            clients: update.clients.iter().map(|(id, _)| (id.clone(), client(id))).collect(),
            tokens: update.tokens.iter().map(|(hash, _)| (*hash, token(hash))).collect(),
            only_reduces_access: update.only_reduces_access,
        }
    }

    /// Applies an update that is in the store.
    pub(crate) fn apply(&mut self, update: GrantUpdate) {
        for (id, record) in update.clients {
            let before = self.clients.remove(&id).and_then(|client| client.last_used());
            if let Some(record) = record {
                let last_used = AtomicI64::new(before.max(record.last_used_at).unwrap_or(0));
                let visibility = visibility(&record.sources);
                self.clients.insert(id, ClientEntry { record, visibility, last_used });
            }
        }
        for (hash, record) in update.tokens {
            match record {
                Some(record) => {
                    let visibility = visibility(&record.sources);
                    self.tokens.insert(hash, TokenEntry { record, visibility });
                }
                None => drop(self.tokens.remove(&hash)),
            }
        }
    }

    /// Returns the client with this id, even if it is revoked.
    pub(crate) fn client(&self, id: &str) -> Option<&ClientEntry> {
        self.clients.get(id)
    }

    /// Returns the client with this id unless it is revoked.
    pub(crate) fn active_client(&self, id: &str) -> Option<&ClientEntry> {
        self.client(id).filter(|client| client.is_active())
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = (&String, &ClientEntry)> {
        self.clients.iter()
    }

    /// Returns the token with this digest, and its key in the table.
    pub(crate) fn token(&self, hash: &Hash) -> Option<(&Hash, &TokenEntry)> {
        self.tokens.get_key_value(hash)
    }

    pub(crate) fn tokens(&self) -> impl Iterator<Item = (&Hash, &TokenRecord)> {
        self.tokens.iter().map(|(hash, token)| (hash, &token.record))
    }

    /// Adds the revocation of all tokens that `is_affected` selects to `update`. Returns how many
    /// of them were valid.
    pub(crate) fn revoke(
        &self,
        update: &mut GrantUpdate,
        now: i64,
        is_affected: impl Fn(&TokenRecord) -> bool,
    ) -> u64 {
        let mut live = 0;
        for (hash, token) in
            self.tokens().filter(|(_, token)| token.revoked_at.is_none() && is_affected(token))
        {
            live += u64::from(is_live(token, now));
            update
                .tokens
                .push((*hash, Some(TokenRecord { revoked_at: Some(now), ..token.clone() })));
        }
        update.only_reduces_access = true;
        live
    }

    /// Adds the removal of a client's surplus tokens of one kind to `update`, so that fewer than
    /// `max` remain: invalid tokens first, then the oldest. This limits the memory that a client
    /// can use.
    pub(crate) fn trim(
        &self,
        update: &mut GrantUpdate,
        client: &str,
        kind: TokenKind,
        max: usize,
        now: i64,
    ) {
        let is_of_client = |t: &TokenRecord| t.kind == kind && t.client.as_deref() == Some(client);
        let mut rows: Vec<(bool, i64, Hash)> = self
            .tokens()
            .filter(|(hash, token)| {
                is_of_client(token) && !update.tokens.iter().any(|(h, _)| h == *hash)
            })
            .map(|(hash, token)| (is_live(token, now), token.created_at, *hash))
            .collect();
        if rows.len() < max {
            return;
        }
        rows.sort_unstable();
        let surplus = rows.len() + 1 - max;
        update.tokens.extend(rows.into_iter().take(surplus).map(|(_, _, hash)| (hash, None)));
    }
}
