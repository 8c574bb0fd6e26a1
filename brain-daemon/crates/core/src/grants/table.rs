//! Clients and tokens in memory: a call is let in without touching the disk. The store has the same rows; both change together,
//! the store first.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use brain_protocol::{Fault, Scopes, SourceId};
use sha2::{Digest, Sha256};

use super::admin::Admin;
use super::codes::Codes;
use super::documents::Documents;
use crate::Brain;
use brain_base::caller::Visibility;
use brain_base::random::Random;
use brain_base::secrets::Secrets;
use brain_net::HttpClient;
use brain_store::{ClientRecord, GrantUpdate, Hash, Store, TokenKind, TokenRecord};

/// When a client was last let in is kept to the minute, in milliseconds.
const MINUTE: i64 = 60_000;

/// SHA-256 of a token or secret: what is kept of it. They are 256 random bits, so a slow hash would protect nothing.
pub(super) fn digest(text: &str) -> Hash {
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
pub(super) fn common(one: &Visibility, other: &Visibility) -> Visibility {
    match (one, other) {
        (Visibility::All, view) | (view, Visibility::All) => view.clone(),
        (Visibility::Only(sources), other) => Visibility::Only(
            sources.iter().filter(|id| other.shows(id.as_str())).cloned().collect(),
        ),
    }
}

/// `wanted`, but never more than `granted`.
pub(super) fn bounded(granted: Scopes, wanted: Scopes) -> Scopes {
    if granted.cover(wanted) { wanted } else { granted }
}

/// A client, with what is worked out beforehand.
pub(super) struct Client {
    /// As it is stored.
    pub(super) record: ClientRecord,
    /// What it may see.
    pub(super) view: Visibility,
    /// Let in last, Unix milliseconds, to the minute; 0 for never.
    used: AtomicI64,
}

impl Client {
    /// Notes that it was let in just now.
    pub(super) fn note_use(&self, now: i64) {
        let minute = now - now.rem_euclid(MINUTE);
        if self.used.load(Ordering::Relaxed) < minute {
            self.used.fetch_max(minute, Ordering::Relaxed);
        }
    }

    /// When it was let in last, Unix milliseconds.
    pub(super) fn last_used(&self) -> Option<i64> {
        Some(self.used.load(Ordering::Relaxed)).filter(|&at| at > 0)
    }
}

/// A token, with what is worked out beforehand.
pub(super) struct Token {
    /// As it is stored.
    pub(super) record: TokenRecord,
    /// What it may see, as far as its client may.
    pub(super) view: Visibility,
}

/// Whether a token is good at `now`: neither ended nor revoked, and a refresh token was not exchanged.
pub(super) fn is_live(token: &TokenRecord, now: i64) -> bool {
    token.revoked_at.is_none()
        && token.used_at.is_none()
        && token.expires_at.is_none_or(|end| end > now)
}

/// All clients and tokens.
#[derive(Default)]
pub(super) struct Table {
    clients: HashMap<String, Client>,
    tokens: HashMap<Hash, Token>,
}

impl Table {
    fn load(store: &Store) -> Result<Self, Fault> {
        let reader = store.read(Visibility::All)?;
        let clients =
            reader.clients()?.into_iter().map(|(id, client)| (id, Some(client))).collect();
        let tokens =
            reader.tokens()?.into_iter().map(|(hash, token)| (hash, Some(token))).collect();
        let mut table = Self::default();
        table.apply(GrantUpdate { clients, tokens, only_reduces_access: false });
        Ok(table)
    }

    fn apply(&mut self, change: GrantUpdate) {
        for (id, record) in change.clients {
            let before = self.clients.remove(&id).and_then(|client| client.last_used());
            if let Some(record) = record {
                let used = AtomicI64::new(before.max(record.last_used_at).unwrap_or(0));
                let view = view(&record.sources);
                self.clients.insert(id, Client { record, view, used });
            }
        }
        for (hash, record) in change.tokens {
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
    pub(super) fn client(&self, id: &str) -> Option<&Client> {
        self.clients.get(id)
    }

    /// Every client.
    pub(super) fn clients(&self) -> impl Iterator<Item = (&String, &Client)> {
        self.clients.iter()
    }

    /// The token with this digest, and the digest that it is kept under.
    pub(super) fn token(&self, hash: &Hash) -> Option<(&Hash, &Token)> {
        self.tokens.get_key_value(hash)
    }

    /// Every token.
    pub(super) fn tokens(&self) -> impl Iterator<Item = (&Hash, &TokenRecord)> {
        self.tokens.iter().map(|(hash, token)| (hash, &token.record))
    }

    /// Adds to `change` that all tokens which `which` picks are revoked; how many of them were good until now.
    pub(super) fn revoke(
        &self,
        change: &mut GrantUpdate,
        now: i64,
        which: impl Fn(&TokenRecord) -> bool,
    ) -> u64 {
        let mut live = 0;
        for (hash, token) in
            self.tokens().filter(|(_, token)| token.revoked_at.is_none() && which(token))
        {
            live += u64::from(is_live(token, now));
            change
                .tokens
                .push((*hash, Some(TokenRecord { revoked_at: Some(now), ..token.clone() })));
        }
        change.only_reduces_access = true;
        live
    }

    /// Adds to `change` that the tokens of a client and kind that are too many are forgotten, those first that are good for
    /// nothing, then the oldest: no client fills the memory by asking again and again.
    pub(super) fn trim(
        &self,
        change: &mut GrantUpdate,
        client: &str,
        kind: TokenKind,
        most: usize,
        now: i64,
    ) {
        let of_client = |t: &TokenRecord| t.kind == kind && t.client.as_deref() == Some(client);
        let mut rows: Vec<(bool, i64, Hash)> = self
            .tokens()
            .filter(|(hash, token)| {
                of_client(token) && !change.tokens.iter().any(|(h, _)| h == *hash)
            })
            .map(|(hash, token)| (is_live(token, now), token.created_at, *hash))
            .collect();
        if rows.len() < most {
            return;
        }
        rows.sort_unstable();
        let surplus = rows.len() + 1 - most;
        change.tokens.extend(rows.into_iter().take(surplus).map(|(_, _, hash)| (hash, None)));
    }
}

/// Everything that this room remembers.
pub(crate) struct Grants {
    table: RwLock<Table>,
    /// Held by whoever changes clients or tokens, from the look at the table to the change of it.
    turn: Mutex<Turn>,
    pub(super) admin: Admin,
    /// What clients say of themselves at addresses of their own.
    pub(super) documents: Documents,
    pub(crate) random: Arc<dyn Random>,
    /// What tokens may be for, once it is known where HTTP is served.
    pub(super) resources: OnceLock<HashSet<String>>,
}

/// The right to change clients and tokens, and the codes that are not exchanged yet.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) codes: Codes,
}

impl Grants {
    /// Reads clients and tokens, and finds or makes the owner's token.
    ///
    /// # Errors
    /// When the store cannot be read. Without the owner's token everything else goes on.
    pub(crate) fn open(
        store: &Store,
        secrets: Arc<Secrets>,
        admin_file: Option<PathBuf>,
        random: Arc<dyn Random>,
        net: Arc<dyn HttpClient>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            table: RwLock::new(Table::load(store)?),
            turn: Mutex::default(),
            admin: Admin::open(secrets, admin_file, &*random),
            documents: Documents::new(net),
            random,
            resources: OnceLock::new(),
        })
    }

    /// A look at clients and tokens. Keep it short, and never across a change.
    pub(super) fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the right to change clients and tokens.
    pub(super) fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Brain {
    /// Changes clients and tokens: durably in the store, then in memory. `_turn` is the right to do so.
    ///
    /// # Errors
    /// When the store fails; nothing is changed then.
    pub(super) fn change_grants(&self, _turn: &mut Turn, change: GrantUpdate) -> Result<(), Fault> {
        if change.is_empty() {
            return Ok(());
        }
        let change = Arc::new(change);
        let written = Arc::clone(&change);
        self.store.write(move |draft| draft.change_grants(&written))?;
        let change = Arc::try_unwrap(change).unwrap_or_else(|shared| (*shared).clone());
        self.grants.table.write().unwrap_or_else(PoisonError::into_inner).apply(change);
        Ok(())
    }
}
