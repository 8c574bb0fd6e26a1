//! The authorization endpoint: asks for the owner's consent (RFC 6749 section 4.1, RFC 7636, RFC
//! 8707, RFC 9207).
//!
//! Until client and address are verified to belong together, errors are shown to the user in the
//! browser. After that, they are sent to the client's address, with its `state` and this issuer.
//! Clients that registered themselves receive only the owner's decision at their address. Otherwise
//! anyone could create a link to this brain that redirects to any address (RFC 9700 section
//! 4.11.2).
//!
//! The id of a client can be the address of its metadata document, which is built in, cached or
//! fetched. If the document is unavailable, the record of the client's last consent is used.

use brain_protocol::{Fault, GrantType, Scopes};

use crate::client_documents::{self, DocumentMetadata};
use crate::clients::{BY_OWNER, DEFAULT_TOKEN_TTL};
use crate::codes::AuthorizationCode;
use crate::grant_table::digest;
use crate::{
    Access, AuthorizeError, AuthorizeRequest, Consent, OAuthError, OAuthFault, known_clients,
    redirect_uri,
};
use brain_base::random;
use brain_store::{ClientRecord, GrantUpdate};

/// How a client became known (`registered_by`): by its metadata document.
const BY_METADATA: &str = "metadata";

/// A validated request for the owner's consent.
struct ConsentRequest {
    id: String,
    client: ClientRecord,
    /// Whether the store has this record.
    is_stored: bool,
    redirect_uri: String,
    is_redirect_named: bool,
    scopes: Scopes,
    resource: Option<String>,
    challenge: String,
}

impl Access {
    /// Returns the question of the consent page. May block.
    ///
    /// # Errors
    /// [`AuthorizeError`] with the reason if the request is refused.
    pub fn consent(&self, request: &AuthorizeRequest) -> Result<Consent, AuthorizeError> {
        let valid = self.validate_request(request, self.client_metadata(request)?)?;
        let client_host =
            (valid.client.registered_by == BY_METADATA).then(|| redirect_uri::host(&valid.id));
        Ok(Consent {
            client_host,
            client_name: valid.client.name,
            registered_by: valid.client.registered_by,
            redirect_host: redirect_uri::host(&valid.redirect_uri),
            loopback: redirect_uri::is_loopback(&valid.redirect_uri),
            redirect_uri: valid.redirect_uri,
            client_id: valid.id,
            scopes: valid.scopes,
            sources: valid.client.sources,
            resource: valid.resource,
        })
    }

    /// Records the owner's consent to `scopes`, which must not exceed the requested ones. Returns
    /// the address to redirect the browser to, with an authorization code. May block.
    ///
    /// # Errors
    /// As [`Access::consent`]. Also [`AuthorizeError::Page`] if `scopes` exceed the requested ones,
    /// or if the store or the randomness fails.
    pub fn approve(
        &self,
        request: &AuthorizeRequest,
        scopes: Scopes,
    ) -> Result<String, AuthorizeError> {
        // A fetch may take seconds, so it precedes the lock.
        let metadata = self.client_metadata(request)?;
        let mut lock = self.lock();
        let valid = self.validate_request(request, metadata)?;
        if !valid.scopes.cover(scopes) {
            let fault = OAuthFault::new(
                OAuthError::InvalidScope,
                "the consent exceeds the requested scopes",
            );
            return Err(AuthorizeError::Page(fault));
        }
        let to_error = |fault: Fault| AuthorizeError::Page(fault.into());
        let random = &*self.random;
        let code = random::secret(random, "brain_co_").map_err(|e| to_error(e.into()))?;
        let family = random::number(random).map_err(|e| to_error(e.into()))?;
        if !valid.is_stored {
            let clients = vec![(valid.id.clone(), Some(valid.client))];
            self.apply(&mut lock, GrantUpdate { clients, ..GrantUpdate::default() })
                .map_err(to_error)?;
        }
        tracing::info!(client = valid.id, %scopes, "consent given");
        let address = redirect_uri::with_parameters(
            &valid.redirect_uri,
            &self.response_parameters(request, &[("code", code.expose())]),
        );
        lock.codes.put(
            digest(code.expose()),
            AuthorizationCode {
                client_id: valid.id,
                redirect_uri: valid.redirect_uri,
                is_redirect_named: valid.is_redirect_named,
                challenge: valid.challenge,
                scopes,
                resource: valid.resource,
                family,
                created_at: self.clock.now(),
                is_used: false,
            },
        );
        Ok(address)
    }

    /// Returns the address to redirect the browser to after the owner refused. May block.
    ///
    /// # Errors
    /// As [`Access::consent`].
    pub fn deny(&self, request: &AuthorizeRequest) -> Result<String, AuthorizeError> {
        let valid = self.validate_request(request, self.client_metadata(request)?)?;
        tracing::info!(client = valid.id, "consent refused");
        let fault = OAuthFault::new(OAuthError::AccessDenied, "the owner of this brain refused");
        Ok(self.error_redirect(request, &valid.redirect_uri, &fault))
    }

    /// Checks a request. `metadata` is the metadata of a client that a document describes.
    ///
    /// # Errors
    /// [`AuthorizeError::Redirect`] if the client is trusted and its redirect URI is valid, else
    /// [`AuthorizeError::Page`].
    fn validate_request(
        &self,
        request: &AuthorizeRequest,
        metadata: Option<DocumentMetadata>,
    ) -> Result<ConsentRequest, AuthorizeError> {
        let page_error = |error, why: &str| AuthorizeError::Page(OAuthFault::new(error, why));
        let id = request.client_id.as_deref().filter(|id| !id.is_empty());
        let id =
            id.ok_or_else(|| page_error(OAuthError::InvalidRequest, "client_id is missing"))?;
        let (client, is_stored) = self.consenting_client(id, metadata).ok_or_else(|| {
            page_error(OAuthError::InvalidClient, "this client is not registered, or was revoked")
        })?;
        let redirect_uri = match (&request.redirect_uri, client.redirect_uris.as_slice()) {
            (Some(uri), registered) if registered.iter().any(|r| redirect_uri::matches(r, uri)) => {
                uri.clone()
            }
            (None, [only]) => only.clone(),
            (None, _) => {
                return Err(page_error(OAuthError::InvalidRequest, "redirect_uri is missing"));
            }
            _ => {
                let why = "redirect_uri is not registered for this client";
                return Err(page_error(OAuthError::InvalidRequest, why));
            }
        };
        let is_trusted = client.registered_by == BY_OWNER || known_clients::metadata(id).is_some();
        let refuse = |fault: OAuthFault| match is_trusted {
            true => AuthorizeError::Redirect(self.error_redirect(request, &redirect_uri, &fault)),
            false => AuthorizeError::Page(fault),
        };
        let challenge = check_code_request(request).map_err(refuse)?;
        if !client.grant_types.contains(&GrantType::AuthorizationCode) {
            let why = "this client is not registered for consent";
            return Err(refuse(OAuthFault::new(OAuthError::UnauthorizedClient, why)));
        }
        let scopes = requested_scopes(request.scope.as_deref(), client.scopes).map_err(refuse)?;
        let resource = self.named_resource(&request.resource).map_err(refuse)?;
        Ok(ConsentRequest {
            id: id.into(),
            client,
            is_stored,
            is_redirect_named: request.redirect_uri.is_some(),
            redirect_uri,
            scopes,
            resource,
            challenge,
        })
    }

    /// Returns the metadata of a client whose id is the address of its document. May fetch the
    /// document. `None` if the record in the store must be used.
    ///
    /// # Errors
    /// The fault of an invalid request; or the reason why there is no metadata, if the store does
    /// not have the client either.
    fn client_metadata(
        &self,
        request: &AuthorizeRequest,
    ) -> Result<Option<DocumentMetadata>, AuthorizeError> {
        let page_error = AuthorizeError::Page;
        let Some(id) = request.client_id.as_deref() else { return Ok(None) };
        let stored = self.active_client(id);
        if !client_documents::is_address(id)
            || stored.as_ref().is_some_and(|client| client.registered_by != BY_METADATA)
        {
            return Ok(None);
        }
        if let Some(copy) = known_clients::metadata(id) {
            return Ok(Some(copy));
        }
        if !self.settings.fetch_client_documents {
            let why = "brain has no copy of this client's document, and fetching documents is \
                       switched off (http.client_documents)";
            return match stored {
                Some(_) => Ok(None),
                None => Err(page_error(OAuthFault::new(OAuthError::InvalidClient, why))),
            };
        }
        // An invalid request causes no fetch.
        check_code_request(request).map_err(page_error)?;
        match self.documents.metadata(id, self.clock.now()) {
            Ok(client) => Ok(Some(client)),
            // The document cannot be read now. The stored record was shown to the owner before.
            Err(_) if stored.is_some() => Ok(None),
            Err(fault) => Err(page_error(fault)),
        }
    }

    /// Returns the client with this id in the store, unless it is revoked.
    fn active_client(&self, id: &str) -> Option<ClientRecord> {
        self.table().active_client(id).map(|client| client.record.clone())
    }

    /// Returns the client that asks for consent, and whether the store has this record. A revoked
    /// client with a metadata document may ask again, because it cannot get another id.
    fn consenting_client(
        &self,
        id: &str,
        metadata: Option<DocumentMetadata>,
    ) -> Option<(ClientRecord, bool)> {
        let stored = self.active_client(id);
        let Some(metadata) = metadata else { return stored.map(|client| (client, true)) };
        let base = stored.clone().unwrap_or_else(|| ClientRecord {
            name: String::new(),
            secret: None,
            // The scopes that it may request; the owner decides at each consent.
            scopes: Scopes::READ_WRITE,
            sources: Vec::new(),
            grant_types: Vec::new(),
            redirect_uris: Vec::new(),
            token_ttl: DEFAULT_TOKEN_TTL,
            registered_by: BY_METADATA.into(),
            created_at: self.clock.now(),
            last_used_at: None,
            revoked_at: None,
        });
        let DocumentMetadata { name, redirect_uris, grant_types } = metadata;
        let client = ClientRecord { name, redirect_uris, grant_types, ..base };
        let is_stored = stored.as_ref() == Some(&client);
        Some((client, is_stored))
    }

    /// Returns the address that reports an error to the client (RFC 6749 section 4.1.2.1).
    fn error_redirect(&self, request: &AuthorizeRequest, uri: &str, fault: &OAuthFault) -> String {
        let error = [("error", fault.error.as_str()), ("error_description", &fault.description)];
        redirect_uri::with_parameters(uri, &self.response_parameters(request, &error))
    }

    /// Returns `result` with the client's state and this issuer (RFC 9207 section 2).
    fn response_parameters<'a>(
        &'a self,
        request: &'a AuthorizeRequest,
        result: &[(&'a str, &'a str)],
    ) -> Vec<(&'a str, String)> {
        let mut all: Vec<(&str, String)> =
            result.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        all.extend(request.state.clone().map(|state| ("state", state)));
        all.push(("iss", self.issuer()));
        all
    }
}

/// Checks that this is a request for a code with PKCE, and returns the challenge.
fn check_code_request(request: &AuthorizeRequest) -> Result<String, OAuthFault> {
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
    // The default, `plain` (RFC 7636 section 4.3), protects nothing.
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

/// Returns the requested scopes that are granted, or all granted ones if the request names none
/// that exists.
/// Clients request the scopes named in the `WWW-Authenticate` challenge, which can be more than
/// they are granted. The response names the granted scopes (RFC 6749 section 3.3).
///
/// # Errors
/// `invalid_scope` if none of the scopes that exist is granted.
pub(crate) fn requested_scopes(scope: Option<&str>, granted: Scopes) -> Result<Scopes, OAuthFault> {
    let Some(requested) = scope.and_then(Scopes::parse_known) else { return Ok(granted) };
    requested.within(granted).ok_or_else(|| {
        OAuthFault::new(OAuthError::InvalidScope, "none of the requested scopes is granted")
    })
}
