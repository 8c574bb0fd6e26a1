//! HTTP clients and tokens.
//!
//! There are few rows, so the daemon reads all of them when it starts, and writes each change.

use redb::ReadableTable;

use super::error::unless_damaged;
use super::record::{ClientRecord, Hash, TokenRecord, read, to_bytes};
use super::{Reader, StoreError, Transaction, tables as t};

/// Changes of clients and tokens, applied together. `None` removes a row.
#[derive(Debug, Clone, Default)]
pub struct GrantUpdate {
    /// By client id.
    pub clients: Vec<(String, Option<ClientRecord>)>,
    /// By the token's SHA-256.
    pub tokens: Vec<(Hash, Option<TokenRecord>)>,
    /// Whether the change only reduces access: then it is made even if the disk is full.
    pub only_reduces_access: bool,
}

impl GrantUpdate {
    /// Whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.tokens.is_empty()
    }
}

impl Transaction<'_> {
    /// Returns whether clients and tokens are as expected. Another machine may have changed them.
    pub fn grants_are(&self, expected: &GrantUpdate) -> Result<bool, StoreError> {
        for (id, client) in &expected.clients {
            let stored = self.clients.get(id.as_str())?;
            let stored =
                unless_damaged(read(stored.as_ref().map(redb::AccessGuard::value)))?.flatten();
            if stored != *client {
                return Ok(false);
            }
        }
        for (hash, token) in &expected.tokens {
            let stored = self.tokens.get(hash)?;
            let stored =
                unless_damaged(read(stored.as_ref().map(redb::AccessGuard::value)))?.flatten();
            if stored != *token {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes changes of clients and tokens.
    pub fn change_grants(&mut self, change: &GrantUpdate) -> Result<(), StoreError> {
        self.task.frees_space = change.only_reduces_access;
        for (id, client) in &change.clients {
            self.write_count += 1;
            match client {
                Some(client) => {
                    drop(self.clients.insert(id.as_str(), to_bytes(client)?.as_slice())?);
                }
                None => drop(self.clients.remove(id.as_str())?),
            }
        }
        for (hash, token) in &change.tokens {
            self.write_count += 1;
            match token {
                Some(token) => drop(self.tokens.insert(hash, to_bytes(token)?.as_slice())?),
                None => drop(self.tokens.remove(hash)?),
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Returns all clients with their ids, revoked ones included. Leaves out damaged rows.
    pub fn clients(&self) -> Result<Vec<(String, ClientRecord)>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::CLIENTS)?.iter()? {
            let (id, value) = row?;
            // A damaged client loses access; the others keep theirs.
            let client = unless_damaged(read(Some(value.value())))?.flatten();
            out.extend(client.map(|client| (id.value().to_owned(), client)));
        }
        Ok(out)
    }

    /// Returns all tokens by SHA-256, expired and revoked ones included. Leaves out damaged rows.
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
