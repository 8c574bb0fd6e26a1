//! Clients and tokens: who may come in over HTTP. They are few, so they are read whole at the start and written one by one.

use redb::ReadableTable;

use super::draft::read;
use super::error::unless_damaged;
use super::record::{ClientRecord, Hash, TokenRecord, to_bytes};
use super::{Draft, Reader, StoreError, tables as t};

/// What changes of clients and tokens together, or not at all. `None` forgets the row.
#[derive(Debug, Clone, Default)]
pub struct GrantChange {
    /// By client id.
    pub clients: Vec<(String, Option<ClientRecord>)>,
    /// By the token's SHA-256.
    pub tokens: Vec<(Hash, Option<TokenRecord>)>,
    /// Something is taken from somebody, or forgotten: a full disk is no reason to refuse that.
    pub takes_away: bool,
}

impl GrantChange {
    /// Whether nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.tokens.is_empty()
    }
}

impl Draft<'_> {
    /// Writes a change of clients and tokens.
    ///
    /// # Errors
    /// When the store fails.
    pub fn change_grants(&mut self, change: &GrantChange) -> Result<(), StoreError> {
        self.frees_room = change.takes_away;
        for (id, client) in &change.clients {
            self.dirty += 1;
            match client {
                Some(client) => {
                    drop(self.clients.insert(id.as_str(), to_bytes(client)?.as_slice())?)
                }
                None => drop(self.clients.remove(id.as_str())?),
            }
        }
        for (hash, token) in &change.tokens {
            self.dirty += 1;
            match token {
                Some(token) => drop(self.tokens.insert(hash, to_bytes(token)?.as_slice())?),
                None => drop(self.tokens.remove(hash)?),
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Every client with its id, revoked ones included.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn clients(&self) -> Result<Vec<(String, ClientRecord)>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::CLIENTS)?.iter()? {
            let (id, value) = row?;
            // One that is damaged is let in no more; the others are.
            let client = unless_damaged(read(Some(value.value())))?.flatten();
            out.extend(client.map(|client| (id.value().to_owned(), client)));
        }
        Ok(out)
    }

    /// Every token by its SHA-256, ended and revoked ones included.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn tokens(&self) -> Result<Vec<(Hash, TokenRecord)>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::TOKENS)?.iter()? {
            let (hash, value) = row?;
            let token = unless_damaged(read(Some(value.value())))?.flatten();
            out.extend(token.map(|token| (*hash.value(), token)));
        }
        Ok(out)
    }
}
