//! The owner's consent: what a browser brings to `/authorize`, and where it is sent afterwards (RFC 6749 section 4.1, RFC 7636,
//! RFC 8707, RFC 9207).
//!
//! As long as client and address are not known to belong together nobody is sent anywhere: the person is told. After that the
//! client is told, at its address, with its `state` and our name; one that registered itself only after the owner has decided, or
//! anybody could make a link to this brain that leads wherever they like (RFC 9700 section 4.11.2).

use brain_protocol::{Fault, GrantType, Scopes};

use super::codes::Code;
use super::register::DYNAMIC;
use super::table::digest;
use super::{AuthorizeFault, AuthorizeRequest, Consent, OAuthError, OAuthFault, known, redirect};
use crate::brain::Brain;
use crate::random;
use crate::store::{ClientRecord, GrantChange};

/// A request that the owner can be asked about.
struct Asked {
    id: String,
    client: ClientRecord,
    /// It is in the store.
    registered: bool,
    redirect_uri: String,
    redirect_named: bool,
    scopes: Scopes,
    resource: Option<String>,
    challenge: String,
}

impl Brain {
    /// What the owner is to be asked. May block.
    ///
    /// # Errors
    /// Why nobody is asked.
    pub fn consent(&self, request: &AuthorizeRequest) -> Result<Consent, AuthorizeFault> {
        let asked = self.asked(request)?;
        Ok(Consent {
            client_name: asked.client.name,
            registered_by: asked.client.registered_by,
            redirect_host: redirect::host(&asked.redirect_uri),
            loopback: redirect::is_loopback(&asked.redirect_uri),
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
    /// As [`Brain::consent`].
    pub fn approve(&self, request: &AuthorizeRequest, scopes: Scopes) -> Result<String, AuthorizeFault> {
        let mut turn = self.grants.turn();
        let asked = self.asked(request)?;
        if !asked.scopes.cover(scopes) {
            let fault = OAuthFault::new(OAuthError::InvalidScope, "more was agreed to than was asked for");
            return Err(AuthorizeFault::Shown(fault));
        }
        let failed = |fault: Fault| AuthorizeFault::Shown(fault.into());
        let code = random::secret(&*self.grants.random, "brain_co_").map_err(failed)?;
        let family = random::number(&*self.grants.random).map_err(failed)?;
        if !asked.registered {
            let clients = vec![(asked.id.clone(), Some(asked.client))];
            self.change_grants(&mut turn, GrantChange { clients, ..GrantChange::default() })
                .map_err(failed)?;
        }
        tracing::info!(client = asked.id, %scopes, "the owner agreed");
        let to = redirect::with(&asked.redirect_uri, &self.parameters(request, &[("code", code.expose())]));
        turn.codes.put(
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
    /// As [`Brain::consent`].
    pub fn deny(&self, request: &AuthorizeRequest) -> Result<String, AuthorizeFault> {
        let asked = self.asked(request)?;
        tracing::info!(client = asked.id, "the owner refused");
        let fault = OAuthFault::new(OAuthError::AccessDenied, "the owner of this brain said no");
        Ok(self.sent_back(request, &asked.redirect_uri, &fault))
    }

    fn asked(&self, request: &AuthorizeRequest) -> Result<Asked, AuthorizeFault> {
        let shown = |error, why: &str| AuthorizeFault::Shown(OAuthFault::new(error, why));
        let id = request.client_id.as_deref().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| shown(OAuthError::InvalidRequest, "client_id is missing"))?;
        let (client, registered) = self.consenting(id).ok_or_else(|| {
            shown(OAuthError::InvalidClient, "this client is not registered, or was revoked")
        })?;
        let redirect_uri = match (&request.redirect_uri, client.redirect_uris.as_slice()) {
            (Some(uri), registered) if registered.iter().any(|r| redirect::matches(r, uri)) => uri.clone(),
            (None, [only]) => only.clone(),
            (None, _) => return Err(shown(OAuthError::InvalidRequest, "redirect_uri is missing")),
            _ => {
                let why = "redirect_uri is not registered for this client";
                return Err(shown(OAuthError::InvalidRequest, why));
            }
        };
        let back = |fault: OAuthFault| match client.registered_by.as_str() {
            DYNAMIC => AuthorizeFault::Shown(fault),
            _ => AuthorizeFault::SentBack(self.sent_back(request, &redirect_uri, &fault)),
        };
        let challenge = check_kind(request, &client).map_err(back)?;
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

    /// The client that asks for consent, and whether it is in the store. One with a document of its own may ask again after it was
    /// revoked: its id is the same for ever, and only the owner can let it in.
    fn consenting(&self, id: &str) -> Option<(ClientRecord, bool)> {
        let active = {
            let table = self.grants.table();
            table.client(id).filter(|client| client.record.revoked_at.is_none()).map(|c| c.record.clone())
        };
        match active {
            Some(client) => Some((client, true)),
            None => known::client(id, self.clock.now()).map(|client| (client, false)),
        }
    }

    /// The address to send the browser to with a refusal (RFC 6749 section 4.1.2.1).
    fn sent_back(&self, request: &AuthorizeRequest, uri: &str, fault: &OAuthFault) -> String {
        let told = [("error", fault.error.as_str()), ("error_description", fault.description.as_str())];
        redirect::with(uri, &self.parameters(request, &told))
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
fn check_kind(request: &AuthorizeRequest, client: &ClientRecord) -> Result<String, OAuthFault> {
    let refuse = |error, why: &str| Err(OAuthFault::new(error, why));
    match request.response_type.as_deref() {
        Some("code") => {}
        None => return refuse(OAuthError::InvalidRequest, "response_type is missing"),
        Some(_) => return refuse(OAuthError::UnsupportedResponseType, "response_type must be code"),
    }
    if !client.grant_types.contains(&GrantType::AuthorizationCode) {
        return refuse(OAuthError::UnauthorizedClient, "this client may not ask for consent");
    }
    let Some(challenge) = &request.code_challenge else {
        return refuse(OAuthError::InvalidRequest, "PKCE is needed: code_challenge is missing");
    };
    // Absent means plain (RFC 7636 section 4.3), which protects nothing.
    if request.code_challenge_method.as_deref() != Some("S256") {
        return refuse(OAuthError::InvalidRequest, "code_challenge_method must be S256");
    }
    // 32 bytes as base64url.
    if challenge.len() != 43 || !challenge.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)) {
        return refuse(OAuthError::InvalidRequest, "code_challenge must be a SHA-256 as base64url");
    }
    Ok(challenge.clone())
}

/// The scopes that are asked for, exactly; all that are granted when none are.
///
/// # Errors
/// `invalid_scope` when one does not exist, or is more than is granted.
pub(super) fn wanted_scopes(scope: Option<&str>, granted: Scopes) -> Result<Scopes, OAuthFault> {
    let Some(text) = scope.filter(|text| !text.trim().is_empty()) else { return Ok(granted) };
    let refuse = |why: &str| OAuthFault::new(OAuthError::InvalidScope, why);
    let wanted = Scopes::parse(text).map_err(|_| refuse("there are the scopes read, write and admin"))?;
    if !granted.cover(wanted) {
        return Err(refuse("more is asked for than is granted"));
    }
    Ok(wanted)
}
