//! Operations of the owner on clients: register, list, change and revoke.

use brain_protocol::{
    Client, ClientList, ClientRegister, ClientRegisterReply, ClientReply, ClientRevoke,
    ClientUpdate, Clients, Command, Fault, FaultCode, GrantChange, GrantType, Scope, Scopes, hint,
};

use crate::Access;
use crate::grant_table::{ClientEntry, GrantTable, digest};
use crate::redirect_uri::{self, RedirectError};
use crate::validate::{self, invalid_request, printable};
use brain_base::clock::rfc3339;
use brain_base::random;
use brain_store::{ClientRecord, GrantUpdate};

/// The default lifetime of access tokens, in seconds.
pub(crate) const DEFAULT_TOKEN_TTL: u32 = 3600;
/// The allowed lifetimes of access tokens, in seconds.
const TOKEN_TTL: std::ops::RangeInclusive<u32> = 60..=30 * 24 * 60 * 60;
/// The maximum number of redirect addresses of one client.
pub(crate) const MAX_REDIRECT_URIS: usize = 10;
/// How a client became known (`registered_by`): the owner registered it.
pub(crate) const BY_OWNER: &str = "admin";

impl Access {
    /// Registers a client, and returns its secret, which is shown only now.
    ///
    /// # Errors
    /// [`FaultCode::InvalidRequest`] if a field is invalid; [`FaultCode::UnknownSource`] if a
    /// source is not registered; the fault of the store or of the randomness.
    pub fn client_register(&self, request: ClientRegister) -> Result<ClientRegisterReply, Fault> {
        let name = validate_name(&request.name)?;
        let grant_types = select_grant_types(&request)?;
        check_redirect_uris(&request.redirect_uris, &grant_types)?;
        let token_ttl = validate_ttl(request.token_ttl.unwrap_or(DEFAULT_TOKEN_TTL))?;
        let sources = self.granted_sources(&request.sources)?;
        check_sources(request.scopes, &sources)?;
        let id = format!("brain_cl_{}", random::text::<16>(&*self.random)?);
        let secret = match request.public {
            true => None,
            false => Some(random::secret(&*self.random, "brain_cs_")?),
        };
        let record = ClientRecord {
            name,
            secret: secret.as_ref().map(|secret| digest(secret.expose())),
            scopes: request.scopes,
            sources,
            grant_types,
            redirect_uris: request.redirect_uris,
            token_ttl,
            registered_by: BY_OWNER.into(),
            created_at: self.clock.now(),
            last_used_at: None,
            revoked_at: None,
        };
        let clients = vec![(id.clone(), Some(record.clone()))];
        self.apply(&mut self.lock(), GrantUpdate { clients, ..GrantUpdate::default() })?;
        tracing::info!(client = id, scopes = %record.scopes, "a client was registered");
        Ok(ClientRegisterReply {
            client_id: id,
            client_secret: secret,
            client_name: record.name,
            scope: record.scopes.to_string(),
            sources: record.sources,
            grant_types: grant_names(&record.grant_types),
            redirect_uris: record.redirect_uris,
            token_ttl,
        })
    }

    /// Lists clients, the oldest first. Lists revoked clients only on request.
    pub fn client_list(&self, request: &ClientList) -> Result<Clients, Fault> {
        let table = self.table();
        let is_listed = |client: &ClientEntry| request.all || client.is_active();
        let mut clients: Vec<_> = table.clients().filter(|(_, client)| is_listed(client)).collect();
        clients.sort_by_key(|(id, client)| (client.record.created_at, *id));
        Ok(Clients {
            clients: clients.into_iter().map(|(id, client)| client_info(id, client)).collect(),
        })
    }

    /// Changes scopes, sources or token lifetime of a client. Its existing tokens are limited at
    /// once.
    ///
    /// # Errors
    /// As [`Access::client_register`]. [`FaultCode::UnknownClient`] if there is no such client;
    /// [`FaultCode::Conflict`] if the client is revoked, or several clients have this name.
    pub fn client_update(&self, request: ClientUpdate) -> Result<ClientReply, Fault> {
        let ttl = request.token_ttl.map(validate_ttl).transpose()?;
        let sources = request.sources.map(|sources| self.granted_sources(&sources)).transpose()?;
        let mut lock = self.lock();
        let (id, before) = self.named_client(&request.client)?;
        if before.revoked_at.is_some() {
            return Err(Fault::new(
                FaultCode::Conflict,
                format!("the client \"{}\" is revoked", before.name),
            )
            .hint(hint!("register a new one: {}", Command::ClientsRegister)));
        }
        let after = ClientRecord {
            scopes: request.scopes.unwrap_or(before.scopes),
            sources: sources.unwrap_or_else(|| before.sources.clone()),
            token_ttl: ttl.unwrap_or(before.token_ttl),
            ..before.clone()
        };
        check_sources(after.scopes, &after.sources)?;
        let mut status = GrantChange::Unchanged;
        if after != before {
            status = GrantChange::Updated;
            tracing::info!(client = id, scopes = %after.scopes, "a client was changed");
            let clients = vec![(id.clone(), Some(after))];
            // Permits the change even if the disk is full, because it can reduce access.
            let only_reduces_access = true;
            self.apply(
                &mut lock,
                GrantUpdate { clients, only_reduces_access, ..GrantUpdate::default() },
            )?;
        }
        self.client_reply(&id, status, 0)
    }

    /// Revokes a client with all its tokens.
    ///
    /// # Errors
    /// [`FaultCode::UnknownClient`] if there is no such client; [`FaultCode::Conflict`] if several
    /// clients have this name; [`FaultCode::ConfirmationNeeded`] without `yes`; the fault of the
    /// store.
    pub fn client_revoke(&self, request: &ClientRevoke) -> Result<ClientReply, Fault> {
        let mut lock = self.lock();
        let (id, client) = self.named_client(&request.client)?;
        if client.revoked_at.is_some() {
            return self.client_reply(&id, GrantChange::Revoked, 0);
        }
        if !request.yes {
            let message = format!(
                "revoking \"{}\" ends its access at once and revokes all its tokens",
                client.name
            );
            return Err(Fault::new(FaultCode::ConfirmationNeeded, message).hint(hint!(
                "to do it: {}",
                Command::ClientsRevoke { client: Some(id.to_string()) }
            )));
        }
        let now = self.clock.now();
        let mut update = GrantUpdate::default();
        let tokens = self
            .table()
            .revoke(&mut update, now, |token| token.client.as_deref() == Some(id.as_str()));
        update.clients.push((id.clone(), Some(ClientRecord { revoked_at: Some(now), ..client })));
        self.apply(&mut lock, update)?;
        tracing::info!(client = id, tokens, "a client was revoked");
        self.client_reply(&id, GrantChange::Revoked, tokens)
    }

    fn client_reply(
        &self,
        id: &str,
        status: GrantChange,
        tokens_revoked: u64,
    ) -> Result<ClientReply, Fault> {
        let table = self.table();
        let client = table.client(id).ok_or_else(|| unknown_client(id))?;
        Ok(ClientReply { status, client: client_info(id, client), tokens_revoked })
    }

    fn named_client(&self, text: &str) -> Result<(String, ClientRecord), Fault> {
        find(&self.table(), text)
    }
}

/// Returns the client with this id, else the only one with this name. Revoked clients are
/// considered only if no other has the name.
fn find(table: &GrantTable, text: &str) -> Result<(String, ClientRecord), Fault> {
    if let Some(client) = table.client(text) {
        return Ok((text.to_owned(), client.record.clone()));
    }
    let matches: Vec<_> =
        table.clients().filter(|(_, client)| client.record.name == text).collect();
    let active: Vec<_> = matches.iter().copied().filter(|(_, c)| c.is_active()).collect();
    match if active.is_empty() { matches } else { active }.as_slice() {
        [] => Err(unknown_client(text)),
        [(id, client)] => Ok(((*id).clone(), client.record.clone())),
        several => {
            let mut ids: Vec<&str> = several.iter().map(|(id, _)| id.as_str()).collect();
            ids.sort_unstable();
            let message = format!("{} clients are called \"{}\"", ids.len(), printable(text));
            Err(Fault::new(FaultCode::Conflict, message)
                .hint(format!("name one by its id: {}", ids.join(", "))))
        }
    }
}

fn unknown_client(text: &str) -> Fault {
    Fault::new(FaultCode::UnknownClient, format!("there is no client \"{}\"", printable(text)))
        .hint(hint!("{} shows them all", Command::ClientsList))
}

/// Returns a client as the owner sees it.
pub(crate) fn client_info(id: &str, client: &ClientEntry) -> Client {
    let record = &client.record;
    Client {
        client_id: id.into(),
        client_name: record.name.clone(),
        scope: record.scopes.to_string(),
        sources: record.sources.clone(),
        grant_types: grant_names(&record.grant_types),
        redirect_uris: record.redirect_uris.clone(),
        token_ttl: record.token_ttl,
        public: record.secret.is_none(),
        registered_by: record.registered_by.clone(),
        created_at: rfc3339(record.created_at),
        last_used_at: client.last_used().map(rfc3339),
        revoked_at: record.revoked_at.map(rfc3339),
    }
}

fn grant_names(kinds: &[GrantType]) -> Vec<String> {
    kinds.iter().map(|kind| kind.as_str().to_owned()).collect()
}

/// Returns the valid name of a client or token.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] if the name is invalid.
pub(crate) fn validate_name(text: &str) -> Result<String, Fault> {
    validate::valid_name(text)
        .map_err(|reason| invalid_request(reason, "give a short name, for example \"my phone\""))
}

fn validate_ttl(seconds: u32) -> Result<u32, Fault> {
    if TOKEN_TTL.contains(&seconds) {
        return Ok(seconds);
    }
    Err(invalid_request(
        format!("token_ttl is {seconds} seconds"),
        "access tokens live 60 to 2,592,000 seconds (30 days)",
    ))
}

/// Returns the grant types of a new client, each once, in their usual order.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] if a client cannot have these grant types.
fn select_grant_types(request: &ClientRegister) -> Result<Vec<GrantType>, Fault> {
    let requested = match (request.grant_types.as_slice(), request.public) {
        ([], false) => &[GrantType::ClientCredentials][..],
        ([], true) => &[GrantType::AuthorizationCode, GrantType::RefreshToken][..],
        (requested, _) => requested,
    };
    let kinds: Vec<GrantType> =
        GrantType::ALL.into_iter().filter(|kind| requested.contains(kind)).collect();
    if request.public && kinds.contains(&GrantType::ClientCredentials) {
        return Err(invalid_request(
            "a public client has no secret, so it cannot use client_credentials",
            "leave out that grant type, or register the client with a secret",
        ));
    }
    if kinds == [GrantType::RefreshToken] {
        return Err(invalid_request(
            "refresh_token alone is not enough: a refresh token needs a consent",
            "add the grant type authorization_code",
        ));
    }
    Ok(kinds)
}

/// Checks the redirect addresses of a client with the grant types `kinds`.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] if an address is missing, superfluous or invalid.
fn check_redirect_uris(uris: &[String], kinds: &[GrantType]) -> Result<(), Fault> {
    let needs_consent = kinds.contains(&GrantType::AuthorizationCode);
    if needs_consent && uris.is_empty() {
        return Err(invalid_request(
            "a client that asks for consent needs a redirect address",
            "name at least one redirect_uri, https://… or http://localhost/…",
        ));
    }
    if !needs_consent && !uris.is_empty() {
        return Err(invalid_request(
            "redirect_uris are for clients that ask for consent",
            "add the grant type authorization_code, or leave out redirect_uris",
        ));
    }
    if uris.len() > MAX_REDIRECT_URIS {
        return Err(invalid_request(format!("{} redirect_uris", uris.len()), "name at most 10"));
    }
    for uri in uris {
        if let Err(error) = redirect_uri::check(uri) {
            let reason = match error {
                RedirectError::Invalid(reason) => reason,
                RedirectError::PrivateScheme => redirect_uri::ALLOWED,
            };
            return Err(invalid_request(
                format!("{reason}: \"{}\"", printable(uri)),
                "register the address exactly as it will be used",
            ));
        }
    }
    Ok(())
}

/// Refuses a list of sources together with the scope `admin`, which reaches every source.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] for this combination.
pub(crate) fn check_sources(scopes: Scopes, sources: &[String]) -> Result<(), Fault> {
    if scopes.highest() == Scope::Admin && !sources.is_empty() {
        return Err(invalid_request(
            "the scope admin reaches every source, so it cannot be limited to some",
            "leave out the sources, or grant read or write only",
        ));
    }
    Ok(())
}
