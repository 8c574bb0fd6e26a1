//! Clients that register themselves (RFC 7591): anybody may, where the owner has switched it on. So such a client has no secret, can
//! do nothing without the owner's consent, may never ask for `admin`, and their number is bounded.

use brain_protocol::{Client as Shown, GrantType, Scope, Scopes};

use crate::Access;
use crate::clients::{MOST_ADDRESSES, TOKEN_TTL, client_shown};
use crate::grant_table::GrantTable;
use crate::redirect_uri::{self, RedirectError};
use crate::{DynamicClient, OAuthError, OAuthFault, validate};
use brain_base::random;
use brain_store::{ClientRecord, GrantUpdate};

/// The most clients that have registered themselves.
pub(crate) const MOST: usize = 1000;
/// One that was never let in makes room for others after this time, in milliseconds.
const PATIENCE: i64 = 60 * 60 * 1000;
/// How such a client became one.
pub(crate) const DYNAMIC: &str = "dynamic";

fn unfit(error: OAuthError, why: &str) -> OAuthFault {
    OAuthFault::new(error, why)
}

impl Access {
    /// Registers a client that asks for itself (RFC 7591): public, by consent only. The caller has checked that this is wanted. May
    /// block.
    ///
    /// # Errors
    /// `invalid_redirect_uri`, `invalid_client_metadata`, `invalid_scope`.
    pub fn register_itself(&self, client: &DynamicClient) -> Result<Shown, OAuthFault> {
        let redirect_uris = checked_addresses(&client.redirect_uris)?;
        let name = match &client.client_name {
            Some(name) => {
                validate::name(name).map_err(|why| unfit(OAuthError::InvalidClientMetadata, why))?
            }
            None => redirect_uris.first().map(|uri| redirect_uri::host(uri)).unwrap_or_default(),
        };
        // Many ask for a secret because that is the default (RFC 7591 section 2), and do without one when they are told so.
        let method = client.token_endpoint_auth_method.as_deref();
        if !matches!(method, None | Some("none" | "client_secret_post" | "client_secret_basic")) {
            let why = "token_endpoint_auth_method must be none: clients that register themselves are public";
            return Err(unfit(OAuthError::InvalidClientMetadata, why));
        }
        let grant_types = checked_grants(&client.grant_types)?;
        let scopes = checked_scopes(client.scope.as_deref())?;
        let now = self.clock.now();
        let id = format!("brain_cl_{}", random::text::<16>(&*self.random)?);
        let record = ClientRecord {
            name,
            secret: None,
            scopes,
            sources: Vec::new(),
            grant_types,
            redirect_uris,
            token_ttl: TOKEN_TTL,
            registered_by: DYNAMIC.into(),
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        let mut lock = self.lock();
        let mut update = GrantUpdate::default();
        make_room(&self.table(), &mut update, now)?;
        update.clients.push((id.clone(), Some(record)));
        self.apply(&mut lock, update)?;
        tracing::info!(client = id, "a client registered itself");
        let table = self.table();
        let client =
            table.client(&id).ok_or_else(|| unfit(OAuthError::ServerError, "it is gone again"))?;
        Ok(client_shown(&id, client))
    }
}

/// Adds to `update` that one which nobody ever consented to is forgotten, when there are too many.
fn make_room(table: &GrantTable, update: &mut GrantUpdate, now: i64) -> Result<(), OAuthFault> {
    let dynamic = || table.clients().filter(|(_, client)| client.record.registered_by == DYNAMIC);
    if dynamic().count() < MOST {
        return Ok(());
    }
    let idle = dynamic()
        .filter(|(_, client)| {
            client.last_used().is_none() && client.record.created_at + PATIENCE <= now
        })
        .min_by_key(|(_, client)| client.record.created_at);
    let (id, _) = idle.ok_or_else(|| {
        unfit(
            OAuthError::InvalidClientMetadata,
            "too many clients have registered themselves; try again in an hour",
        )
    })?;
    update.clients.push((id.clone(), None));
    Ok(())
}

/// The addresses that can be registered. One that belongs to a program of its own is left out, as long as another one remains: some
/// clients name every address that they have ever used.
fn checked_addresses(uris: &[String]) -> Result<Vec<String>, OAuthFault> {
    let refuse = |why: &str| Err(unfit(OAuthError::InvalidRedirectUri, why));
    if uris.is_empty() || uris.len() > MOST_ADDRESSES {
        return refuse("name 1 to 10 redirect_uris");
    }
    let mut out = Vec::new();
    for uri in uris {
        match redirect_uri::check(uri) {
            Ok(()) => out.push(uri.clone()),
            Err(RedirectError::PrivateScheme) => {}
            Err(RedirectError::Refused(why)) => return refuse(why),
        }
    }
    if out.is_empty() {
        return refuse(
            "a redirect address begins with https://, or http:// and this machine's name",
        );
    }
    Ok(out)
}

/// Of the ways that it names, those that are open to it; both of them when it names none.
fn checked_grants(names: &[String]) -> Result<Vec<GrantType>, OAuthFault> {
    let open = [GrantType::AuthorizationCode, GrantType::RefreshToken];
    let named =
        |kind: &GrantType| names.is_empty() || names.iter().any(|name| name == kind.as_str());
    let kinds: Vec<GrantType> = open.into_iter().filter(named).collect();
    if !kinds.contains(&GrantType::AuthorizationCode) {
        return Err(unfit(
            OAuthError::InvalidClientMetadata,
            "grant_types must have authorization_code",
        ));
    }
    Ok(kinds)
}

fn checked_scopes(scope: Option<&str>) -> Result<Scopes, OAuthFault> {
    let Some(text) = scope.filter(|text| !text.trim().is_empty()) else {
        return Ok(Scopes::READ_WRITE);
    };
    let refuse = |why: &str| unfit(OAuthError::InvalidScope, why);
    let scopes = Scopes::parse(text).map_err(|_| refuse("there are the scopes read and write"))?;
    if scopes.highest() == Scope::Admin {
        return Err(refuse("a client that registers itself may ask for read and write only"));
    }
    Ok(scopes)
}
