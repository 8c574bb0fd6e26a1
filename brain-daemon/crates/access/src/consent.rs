//! The owner's consent: what a browser brings to `/authorize`, and where it is sent afterwards (RFC 6749 section 4.1, RFC 7636,
//! RFC 8707, RFC 9207).
//!
//! As long as client and address are not known to belong together nobody is sent anywhere: the person is told. After that the
//! client is told, at its address, with its `state` and our name; one that introduced itself only after the owner has decided, or
//! anybody could make a link to this brain that leads wherever they like (RFC 9700 section 4.11.2).
//!
//! A client whose id is the address of a document about it is what that document says each time; the store has what the owner
//! agreed to last, for when the document cannot be had.

use brain_protocol::{Fault, GrantType, Scopes};

use crate::Access;
use crate::client_documents::{self, ClientMetadata};
use crate::clients::TOKEN_TTL;
use crate::codes::Code;
use crate::grant_table::digest;
use crate::{
    AuthorizeFault, AuthorizeRequest, Consent, OAuthError, OAuthFault, known_clients, redirect_uri,
};
use brain_base::random;
use brain_store::{ClientRecord, GrantUpdate};

/// How a client with a document of its own became one.
const METADATA: &str = "metadata";

/// A request that the owner can be asked about.
struct Asked {
    id: String,
    client: ClientRecord,
    /// It is in the store, as it is here.
    registered: bool,
    redirect_uri: String,
    redirect_named: bool,
    scopes: Scopes,
    resource: Option<String>,
    challenge: String,
}

impl Access {
    /// What the owner is to be asked. May block.
    ///
    /// # Errors
    /// Why nobody is asked.
    pub fn consent(&self, request: &AuthorizeRequest) -> Result<Consent, AuthorizeFault> {
        let asked = self.asked(request, self.introduced(request)?)?;
        let client_host =
            (asked.client.registered_by == METADATA).then(|| redirect_uri::host(&asked.id));
        Ok(Consent {
            client_host,
            client_name: asked.client.name,
            registered_by: asked.client.registered_by,
            redirect_host: redirect_uri::host(&asked.redirect_uri),
            loopback: redirect_uri::is_loopback(&asked.redirect_uri),
            redirect_uri: asked.redirect_uri,
            client_id: asked.id,
            scopes: asked.scopes,
            sources: asked.client.sources,
            resource: asked.resource,
        })
    }

    /// The owner agreed to `scopes`, which are no more than was asked for: the whole address to send the browser to, with a code
    /// that is good once and for 60 seconds. May block.
    ///
    /// # Errors
    /// As [`Access::consent`].
    pub fn approve(
        &self,
        request: &AuthorizeRequest,
        scopes: Scopes,
    ) -> Result<String, AuthorizeFault> {
        // Before it is our turn: it may take seconds.
        let introduced = self.introduced(request)?;
        let mut lock = self.lock();
        let asked = self.asked(request, introduced)?;
        if !asked.scopes.cover(scopes) {
            let fault =
                OAuthFault::new(OAuthError::InvalidScope, "more was agreed to than was asked for");
            return Err(AuthorizeFault::Shown(fault));
        }
        let failed = |fault: Fault| AuthorizeFault::Shown(fault.into());
        let code = random::secret(&*self.random, "brain_co_").map_err(failed)?;
        let family = random::number(&*self.random).map_err(failed)?;
        if !asked.registered {
            let clients = vec![(asked.id.clone(), Some(asked.client))];
            self.apply(&mut lock, GrantUpdate { clients, ..GrantUpdate::default() })
                .map_err(failed)?;
        }
        tracing::info!(client = asked.id, %scopes, "the owner agreed");
        let to = redirect_uri::with(
            &asked.redirect_uri,
            &self.parameters(request, &[("code", code.expose())]),
        );
        lock.codes.put(
            digest(code.expose()),
            Code {
                client: asked.id,
                redirect_uri: asked.redirect_uri,
                redirect_named: asked.redirect_named,
                challenge: asked.challenge,
                scopes,
                resource: asked.resource,
                family,
                made_at: self.clock.now(),
                used: false,
            },
        );
        Ok(to)
    }

    /// The owner said no: the whole address to send the browser to. May block.
    ///
    /// # Errors
    /// As [`Access::consent`].
    pub fn deny(&self, request: &AuthorizeRequest) -> Result<String, AuthorizeFault> {
        let asked = self.asked(request, self.introduced(request)?)?;
        tracing::info!(client = asked.id, "the owner refused");
        let fault = OAuthFault::new(OAuthError::AccessDenied, "the owner of this brain said no");
        Ok(self.sent_back(request, &asked.redirect_uri, &fault))
    }

    fn asked(
        &self,
        request: &AuthorizeRequest,
        introduced: Option<ClientMetadata>,
    ) -> Result<Asked, AuthorizeFault> {
        let shown = |error, why: &str| AuthorizeFault::Shown(OAuthFault::new(error, why));
        let id = request.client_id.as_deref().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| shown(OAuthError::InvalidRequest, "client_id is missing"))?;
        let (client, registered) = self.consenting(id, introduced).ok_or_else(|| {
            shown(OAuthError::InvalidClient, "this client is not registered, or was revoked")
        })?;
        let redirect_uri = match (&request.redirect_uri, client.redirect_uris.as_slice()) {
            (Some(uri), registered) if registered.iter().any(|r| redirect_uri::matches(r, uri)) => {
                uri.clone()
            }
            (None, [only]) => only.clone(),
            (None, _) => return Err(shown(OAuthError::InvalidRequest, "redirect_uri is missing")),
            _ => {
                let why = "redirect_uri is not registered for this client";
                return Err(shown(OAuthError::InvalidRequest, why));
            }
        };
        let vouched = client.registered_by == "admin" || known_clients::introduced(id).is_some();
        let back = |fault: OAuthFault| match vouched {
            true => AuthorizeFault::SentBack(self.sent_back(request, &redirect_uri, &fault)),
            false => AuthorizeFault::Shown(fault),
        };
        let challenge = check_kind(request).map_err(back)?;
        if !client.grant_types.contains(&GrantType::AuthorizationCode) {
            let why = "this client may not ask for consent";
            return Err(back(OAuthFault::new(OAuthError::UnauthorizedClient, why)));
        }
        let scopes = wanted_scopes(request.scope.as_deref(), client.scopes).map_err(back)?;
        let resource = self.named_resource(&request.resource).map_err(back)?;
        Ok(Asked {
            id: id.into(),
            client,
            registered,
            redirect_named: request.redirect_uri.is_some(),
            redirect_uri,
            scopes,
            resource,
            challenge,
        })
    }

    /// What the client says of itself in its document, when its id is the address of one. May block for as long as a fetch takes.
    ///
    /// # Errors
    /// Why its document is none, when nothing else is known of it.
    fn introduced(
        &self,
        request: &AuthorizeRequest,
    ) -> Result<Option<ClientMetadata>, AuthorizeFault> {
        let shown = AuthorizeFault::Shown;
        let Some(id) = request.client_id.as_deref() else { return Ok(None) };
        let stored = self.active_client(id);
        if !client_documents::is_address(id)
            || stored.as_ref().is_some_and(|client| client.registered_by != METADATA)
        {
            return Ok(None);
        }
        if let Some(copy) = known_clients::introduced(id) {
            return Ok(Some(copy));
        }
        if !self.settings.fetch_client_documents {
            let why = "this client has a document of its own, of which brain has no copy, and fetching it is switched off \
                       (http.client_documents)";
            return match stored {
                Some(_) => Ok(None),
                None => Err(shown(OAuthFault::new(OAuthError::InvalidClient, why))),
            };
        }
        // Nothing is fetched for a request that could not be granted anyhow.
        check_kind(request).map_err(shown)?;
        match self.documents.introduced(id, self.clock.now()) {
            Ok(client) => Ok(Some(client)),
            // The owner agreed to it once, as it was then.
            Err(_) if stored.is_some() => Ok(None),
            Err(fault) => Err(shown(fault)),
        }
    }

    /// The client of this id in the store, unless it was revoked.
    fn active_client(&self, id: &str) -> Option<ClientRecord> {
        let table = self.table();
        table
            .client(id)
            .filter(|client| client.record.revoked_at.is_none())
            .map(|c| c.record.clone())
    }

    /// The client that asks for consent, and whether it is in the store as it is. One with a document of its own may ask again after it
    /// was revoked: its id is the same for ever, and only the owner can let it in.
    fn consenting(
        &self,
        id: &str,
        introduced: Option<ClientMetadata>,
    ) -> Option<(ClientRecord, bool)> {
        let stored = self.active_client(id);
        let Some(said) = introduced else { return stored.map(|client| (client, true)) };
        let former = stored.clone().unwrap_or_else(|| ClientRecord {
            name: String::new(),
            secret: None,
            // What it may ask for. What it gets, the owner says each time.
            scopes: Scopes::READ_WRITE,
            sources: Vec::new(),
            grant_types: Vec::new(),
            redirect_uris: Vec::new(),
            token_ttl: TOKEN_TTL,
            registered_by: METADATA.into(),
            created_at: self.clock.now(),
            last_used_at: None,
            revoked_at: None,
        });
        let ClientMetadata { name, redirect_uris, grant_types } = said;
        let client = ClientRecord { name, redirect_uris, grant_types, ..former };
        let registered = stored.as_ref() == Some(&client);
        Some((client, registered))
    }

    /// The address to send the browser to with a refusal (RFC 6749 section 4.1.2.1).
    fn sent_back(&self, request: &AuthorizeRequest, uri: &str, fault: &OAuthFault) -> String {
        let told =
            [("error", fault.error.as_str()), ("error_description", fault.description.as_str())];
        redirect_uri::with(uri, &self.parameters(request, &told))
    }

    /// What goes to the client: `told`, its state, and who we are (RFC 9207 section 2).
    fn parameters<'a>(
        &'a self,
        request: &'a AuthorizeRequest,
        told: &[(&'a str, &'a str)],
    ) -> Vec<(&'a str, String)> {
        let mut all: Vec<(&str, String)> =
            told.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        all.extend(request.state.clone().map(|state| ("state", state)));
        all.push(("iss", self.issuer()));
        all
    }
}

/// Refuses what is no request for a code with PKCE; the challenge.
fn check_kind(request: &AuthorizeRequest) -> Result<String, OAuthFault> {
    let refuse = |error, why: &str| Err(OAuthFault::new(error, why));
    match request.response_type.as_deref() {
        Some("code") => {}
        None => return refuse(OAuthError::InvalidRequest, "response_type is missing"),
        Some(_) => {
            return refuse(OAuthError::UnsupportedResponseType, "response_type must be code");
        }
    }
    let Some(challenge) = &request.code_challenge else {
        return refuse(OAuthError::InvalidRequest, "PKCE is needed: code_challenge is missing");
    };
    // Absent means plain (RFC 7636 section 4.3), which protects nothing.
    if request.code_challenge_method.as_deref() != Some("S256") {
        return refuse(OAuthError::InvalidRequest, "code_challenge_method must be S256");
    }
    // 32 bytes as base64url.
    if challenge.len() != 43
        || !challenge.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    {
        return refuse(OAuthError::InvalidRequest, "code_challenge must be a SHA-256 as base64url");
    }
    Ok(challenge.clone())
}

/// The scopes that are asked for, as far as they are granted; all that are granted when none are asked for. Clients ask for what a
/// challenge names, whoever they are; the answer says what they got (RFC 6749 section 3.3).
///
/// # Errors
/// `invalid_scope` when one does not exist, or none of them is granted.
pub(crate) fn wanted_scopes(scope: Option<&str>, granted: Scopes) -> Result<Scopes, OAuthFault> {
    let Some(text) = scope.filter(|text| !text.trim().is_empty()) else { return Ok(granted) };
    let refuse = |why: &str| OAuthFault::new(OAuthError::InvalidScope, why);
    let wanted =
        Scopes::parse(text).map_err(|_| refuse("there are the scopes read, write and admin"))?;
    wanted.within(granted).ok_or_else(|| refuse("nothing of what is asked for is granted"))
}
