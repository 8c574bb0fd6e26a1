//! Dynamic client registration (RFC 7591): clients that register themselves.
//!
//! Anyone can register a client if the owner has enabled it. A client that registered itself has no
//! secret, gets tokens only by the owner's consent, and never gets the scope `admin`. The number of
//! these clients is limited.

use brain_protocol::{Client, GrantType, Scope, Scopes};

use crate::clients::{DEFAULT_TOKEN_TTL, MAX_REDIRECT_URIS, client_info};
use crate::grant_table::GrantTable;
use crate::redirect_uri::{self, RedirectError};
use crate::{Access, OAuthError, OAuthFault, RegistrationRequest, validate};
use brain_base::random;
use brain_store::{ClientRecord, GrantUpdate};

/// The maximum number of clients that have registered themselves.
pub(crate) const MAX_CLIENTS: usize = 1000;
/// An unused client can be replaced by a new one after this time, in milliseconds.
const UNUSED_MS: i64 = 60 * 60 * 1000;
/// How a client became known (`registered_by`): it registered itself.
pub(crate) const DYNAMIC: &str = "dynamic";

impl Access {
    /// Registers a public client on its own request. The caller checks that the owner has enabled
    /// this. May block.
    ///
    /// # Errors
    /// `invalid_redirect_uri`, `invalid_scope` or `invalid_client_metadata` if that field cannot be
    /// registered. `invalid_client_metadata` if too many clients have registered themselves.
    /// `server_error` if the store or the randomness fails.
    pub fn register_dynamic_client(
        &self,
        request: &RegistrationRequest,
    ) -> Result<Client, OAuthFault> {
        let redirect_uris = usable_redirect_uris(&request.redirect_uris)?;
        let name = match &request.client_name {
            Some(name) => validate::valid_name(name)
                .map_err(|why| OAuthFault::new(OAuthError::InvalidClientMetadata, why))?,
            None => redirect_uris.first().map(|uri| redirect_uri::host(uri)).unwrap_or_default(),
        };
        // Many clients request a secret, the default of RFC 7591 section 2, but accept `none`.
        let method = request.token_endpoint_auth_method.as_deref();
        if !matches!(method, None | Some("none" | "client_secret_post" | "client_secret_basic")) {
            let why = "token_endpoint_auth_method must be none: clients that register \
                       themselves are public";
            return Err(OAuthFault::new(OAuthError::InvalidClientMetadata, why));
        }
        let grant_types = allowed_grant_types(&request.grant_types)?;
        let scopes = parse_scopes(request.scope.as_deref())?;
        let now = self.clock.now();
        let text = random::text::<16>(&*self.random).map_err(brain_protocol::Fault::from)?;
        let id = format!("brain_cl_{text}");
        let record = ClientRecord {
            name,
            secret: None,
            scopes,
            sources: Vec::new(),
            grant_types,
            redirect_uris,
            token_ttl: DEFAULT_TOKEN_TTL,
            registered_by: DYNAMIC.into(),
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        let mut lock = self.lock();
        let mut update = GrantUpdate::default();
        remove_surplus_client(&self.table(), &mut update, now)?;
        update.clients.push((id.clone(), Some(record)));
        self.apply(&mut lock, update)?;
        tracing::info!(client = id, "a client registered itself");
        let table = self.table();
        let client = table.client(&id).ok_or_else(|| {
            OAuthFault::new(OAuthError::ServerError, "the client was removed again")
        })?;
        Ok(client_info(&id, client))
    }
}

/// Adds the removal of the oldest unused client to `update` if the limit is reached.
///
/// # Errors
/// `invalid_client_metadata` if the limit is reached and no client can be removed.
fn remove_surplus_client(
    table: &GrantTable,
    update: &mut GrantUpdate,
    now: i64,
) -> Result<(), OAuthFault> {
    let dynamic = || table.clients().filter(|(_, client)| client.record.registered_by == DYNAMIC);
    if dynamic().count() < MAX_CLIENTS {
        return Ok(());
    }
    let oldest_unused = dynamic()
        .filter(|(_, client)| {
            client.last_used().is_none() && client.record.created_at + UNUSED_MS <= now
        })
        .min_by_key(|(_, client)| client.record.created_at);
    let (id, _) = oldest_unused.ok_or_else(|| {
        OAuthFault::new(
            OAuthError::InvalidClientMetadata,
            "too many clients have registered themselves; try again in an hour",
        )
    })?;
    update.clients.push((id.clone(), None));
    Ok(())
}

/// Returns the redirect addresses that can be registered. Addresses with a private scheme are
/// skipped if another address remains, because some clients list all addresses that they ever used.
fn usable_redirect_uris(uris: &[String]) -> Result<Vec<String>, OAuthFault> {
    let refuse = |why: &str| Err(OAuthFault::new(OAuthError::InvalidRedirectUri, why));
    if uris.is_empty() || uris.len() > MAX_REDIRECT_URIS {
        return refuse("name 1 to 10 redirect_uris");
    }
    let mut out = Vec::new();
    for uri in uris {
        match redirect_uri::check(uri) {
            Ok(()) => out.push(uri.clone()),
            Err(RedirectError::PrivateScheme) => {}
            Err(RedirectError::Invalid(reason)) => return refuse(reason),
        }
    }
    if out.is_empty() {
        return refuse(redirect_uri::ALLOWED);
    }
    Ok(out)
}

/// Returns the requested grant types that a client without a secret can have. If none is requested,
/// returns all that it can have.
fn allowed_grant_types(names: &[String]) -> Result<Vec<GrantType>, OAuthFault> {
    let allowed = [GrantType::AuthorizationCode, GrantType::RefreshToken];
    let is_requested =
        |kind: &GrantType| names.is_empty() || names.iter().any(|name| name == kind.as_str());
    let kinds: Vec<GrantType> = allowed.into_iter().filter(is_requested).collect();
    if !kinds.contains(&GrantType::AuthorizationCode) {
        return Err(OAuthFault::new(
            OAuthError::InvalidClientMetadata,
            "grant_types must contain authorization_code",
        ));
    }
    Ok(kinds)
}

/// Parses the requested scopes: `read` and `write` if none that exists is requested.
fn parse_scopes(scope: Option<&str>) -> Result<Scopes, OAuthFault> {
    let scopes = scope.and_then(Scopes::parse_known).unwrap_or(Scopes::READ_WRITE);
    if scopes.highest() == Scope::Admin {
        return Err(OAuthFault::new(
            OAuthError::InvalidScope,
            "a client that registers itself may ask for read and write only",
        ));
    }
    Ok(scopes)
}
