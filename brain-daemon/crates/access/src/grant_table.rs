//! Clients and tokens in memory: a call is let in without touching the disk. The store has the same rows; both change together,
//! the store first.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use brain_protocol::{Fault, Scopes, SourceId};
use sha2::{Digest, Sha256};

use brain_base::caller::Visibility;
use brain_store::{ClientRecord, GrantUpdate, Hash, Store, TokenKind, TokenRecord};

/// When a client was last let in is kept to the minute, in milliseconds.
const MINUTE: i64 = 60_000;

/// SHA-256 of a token or secret: what is kept of it. They are 256 random bits, so a slow hash would protect nothing.
pub(crate) fn digest(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

/// What a list of sources lets somebody see: all when it is empty.
fn view(sources: &[String]) -> Visibility {
    if sources.is_empty() {
        return Visibility::All;
    }
    // A name that is none shows nothing, rather than everything.
    Visibility::Only(sources.iter().filter_map(|id| SourceId::parse(id.as_str()).ok()).collect())
}

/// What both show.
pub(crate) fn common(one: &Visibility, other: &Visibility) -> Visibility {
    match (one, other) {
        (Visibility::All, view) | (view, Visibility::All) => view.clone(),
        (Visibility::Only(sources), other) => Visibility::Only(
            sources.iter().filter(|id| other.shows(id.as_str())).cloned().collect(),
        ),
    }
}

/// `wanted`, but never more than `granted`.
pub(crate) fn bounded(granted: Scopes, wanted: Scopes) -> Scopes {
    if granted.cover(wanted) { wanted } else { granted }
}

/// A client, with what is worked out beforehand.
pub(crate) struct Client {
    /// As it is stored.
    pub(crate) record: ClientRecord,
    /// What it may see.
    pub(crate) view: Visibility,
    /// Let in last, Unix milliseconds, to the minute; 0 for never.
    used: AtomicI64,
}

impl Client {
    /// Notes that it was let in just now.
    pub(crate) fn note_use(&self, now: i64) {
        let minute = now - now.rem_euclid(MINUTE);
        if self.used.load(Ordering::Relaxed) < minute {
            self.used.fetch_max(minute, Ordering::Relaxed);
        }
    }

    /// When it was let in last, Unix milliseconds.
    pub(crate) fn last_used(&self) -> Option<i64> {
        Some(self.used.load(Ordering::Relaxed)).filter(|&at| at > 0)
    }
}

/// A token, with what is worked out beforehand.
pub(crate) struct Token {
    /// As it is stored.
    pub(crate) record: TokenRecord,
    /// What it may see, as far as its client may.
    pub(crate) view: Visibility,
}

/// Whether a token is good at `now`: neither ended nor revoked, and a refresh token was not exchanged.
pub(crate) fn is_live(token: &TokenRecord, now: i64) -> bool {
    token.revoked_at.is_none()
        && token.used_at.is_none()
        && token.expires_at.is_none_or(|end| end > now)
}

/// All clients and tokens.
#[derive(Default)]
pub(crate) struct GrantTable {
    clients: HashMap<String, Client>,
    tokens: HashMap<Hash, Token>,
}

impl GrantTable {
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

    pub(crate) fn apply(&mut self, update: GrantUpdate) {
        for (id, record) in update.clients {
            let before = self.clients.remove(&id).and_then(|client| client.last_used());
            if let Some(record) = record {
                let used = AtomicI64::new(before.max(record.last_used_at).unwrap_or(0));
                let view = view(&record.sources);
                self.clients.insert(id, Client { record, view, used });
            }
        }
        for (hash, record) in update.tokens {
            match record {
                Some(record) => {
                    let view = view(&record.sources);
                    self.tokens.insert(hash, Token { record, view });
                }
                None => drop(self.tokens.remove(&hash)),
            }
        }
    }

    /// The client with this id, revoked or not.
    pub(crate) fn client(&self, id: &str) -> Option<&Client> {
        self.clients.get(id)
    }

    /// Every client.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (&String, &Client)> {
        self.clients.iter()
    }

    /// The token with this digest, and the digest that it is kept under.
    pub(crate) fn token(&self, hash: &Hash) -> Option<(&Hash, &Token)> {
        self.tokens.get_key_value(hash)
    }

    /// Every token.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = (&Hash, &TokenRecord)> {
        self.tokens.iter().map(|(hash, token)| (hash, &token.record))
    }

    /// Adds to `update` that all tokens which `which` picks are revoked; how many of them were good until now.
    pub(crate) fn revoke(
        &self,
        update: &mut GrantUpdate,
        now: i64,
        which: impl Fn(&TokenRecord) -> bool,
    ) -> u64 {
        let mut live = 0;
        for (hash, token) in
            self.tokens().filter(|(_, token)| token.revoked_at.is_none() && which(token))
        {
            live += u64::from(is_live(token, now));
            update
                .tokens
                .push((*hash, Some(TokenRecord { revoked_at: Some(now), ..token.clone() })));
        }
        update.only_reduces_access = true;
        live
    }

    /// Adds to `update` that the tokens of a client and kind that are too many are forgotten, those first that are good for
    /// nothing, then the oldest: no client fills the memory by asking again and again.
    pub(crate) fn trim(
        &self,
        update: &mut GrantUpdate,
        client: &str,
        kind: TokenKind,
        most: usize,
        now: i64,
    ) {
        let of_client = |t: &TokenRecord| t.kind == kind && t.client.as_deref() == Some(client);
        let mut rows: Vec<(bool, i64, Hash)> = self
            .tokens()
            .filter(|(hash, token)| {
                of_client(token) && !update.tokens.iter().any(|(h, _)| h == *hash)
            })
            .map(|(hash, token)| (is_live(token, now), token.created_at, *hash))
            .collect();
        if rows.len() < most {
            return;
        }
        rows.sort_unstable();
        let surplus = rows.len() + 1 - most;
        update.tokens.extend(rows.into_iter().take(surplus).map(|(_, _, hash)| (hash, None)));
    }
}
