//! Requests, replies and errors of the OAuth endpoints.

use brain_protocol::{Fault, Scopes, Secret};

/// An error code of OAuth: RFC 6749 sections 4.1.2.1 and 5.2, RFC 8707 section 2, RFC 7591 section
/// 3.2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthError {
    /// A parameter is missing, repeated or malformed.
    InvalidRequest,
    /// The client is unknown or the secret is wrong. The response does not reveal the cause.
    InvalidClient,
    /// The code or refresh token is unknown, expired, revoked, used, or of another client.
    InvalidGrant,
    /// The client is not registered for this grant type.
    UnauthorizedClient,
    /// The grant type is not supported.
    UnsupportedGrantType,
    /// The response type is not `code`.
    UnsupportedResponseType,
    /// The scope does not exist or is not granted.
    InvalidScope,
    /// The resource is not this service.
    InvalidTarget,
    /// The owner refused.
    AccessDenied,
    /// A redirect address cannot be registered.
    InvalidRedirectUri,
    /// Another field of a client cannot be registered.
    InvalidClientMetadata,
    /// The service failed.
    ServerError,
}

impl OAuthError {
    /// Returns the code as it is written in the parameter `error`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::AccessDenied => "access_denied",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::ServerError => "server_error",
        }
    }
}

/// An error response of an OAuth endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthFault {
    /// The code, for programs.
    pub error: OAuthError,
    /// The description, for people. Contains no secrets and no values of the request.
    pub description: String,
}

impl OAuthFault {
    /// Creates an error response.
    pub fn new(error: OAuthError, description: impl Into<String>) -> Self {
        Self { error, description: description.into() }
    }
}

impl From<Fault> for OAuthFault {
    /// Hides the reason of a fault from the client. It is logged.
    fn from(fault: Fault) -> Self {
        tracing::warn!(%fault, "OAuth request failed");
        Self::new(OAuthError::ServerError, "the service cannot do this at the moment")
    }
}

/// The credentials of a client at `/token` or `/revoke`.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// `client_id`.
    pub client_id: String,
    /// `client_secret`. Public clients have none.
    pub secret: Option<Secret>,
}

/// An authorization grant: what a client exchanges for an access token.
#[derive(Debug, Clone)]
pub enum AuthorizationGrant {
    /// The client's own credentials (RFC 6749 section 4.4).
    ClientCredentials {
        /// The requested scopes; all granted ones if absent.
        scope: Option<String>,
    },
    /// An authorization code (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
    Code {
        /// The value that the browser brought to the redirect address.
        code: Secret,
        /// The redirect address of the authorization request.
        redirect_uri: Option<String>,
        /// The verifier from which the challenge was made.
        verifier: Option<Secret>,
    },
    /// A refresh token (RFC 6749 section 6), which is replaced by a new one.
    Refresh {
        /// The refresh token of the former answer.
        token: Secret,
        /// The requested scopes; all granted ones if absent.
        scope: Option<String>,
    },
}

/// Tokens that were issued.
#[derive(Debug, Clone)]
pub struct IssuedTokens {
    /// Sent as a bearer token with each request.
    pub access_token: Secret,
    /// The lifetime of the access token, in seconds.
    pub expires_in: u64,
    /// The scopes of the access token.
    pub scopes: Scopes,
    /// The refresh token. None for client credentials.
    pub refresh_token: Option<Secret>,
}

/// The parameters of `/authorize` (RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section
/// 2.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizeRequest {
    /// Must be `code`.
    pub response_type: Option<String>,
    /// The id of the client.
    pub client_id: Option<String>,
    /// The address to redirect the browser to. Optional if the client has only one.
    pub redirect_uri: Option<String>,
    /// The requested scopes; all granted ones if absent.
    pub scope: Option<String>,
    /// Returned to the client unchanged.
    pub state: Option<String>,
    /// The PKCE challenge. Required.
    pub code_challenge: Option<String>,
    /// Must be `S256`.
    pub code_challenge_method: Option<String>,
    /// The resources for which the token is requested.
    pub resource: Vec<String>,
}

/// The question of the consent page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The id of the client.
    pub client_id: String,
    /// The host of the client's metadata document, if a document describes the client. The host
    /// identifies the client.
    pub client_host: Option<String>,
    /// The name of the client. Untrusted, unless the owner registered the client.
    pub client_name: String,
    /// How the client became known: `admin`, `dynamic`, `metadata`.
    pub registered_by: String,
    /// The validated address to redirect the browser to.
    pub redirect_uri: String,
    /// The host of that address.
    pub redirect_host: String,
    /// Whether that address is on this machine, where any program may listen.
    pub loopback: bool,
    /// The scopes that can be granted.
    pub scopes: Scopes,
    /// The sources to which the client is limited; all if empty.
    pub sources: Vec<String>,
    /// The resource of the token.
    pub resource: Option<String>,
}

/// Why `/authorize` does not ask the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorizeError {
    /// Shown to the user in the browser: the client or the address is not trusted, so the browser
    /// is not redirected (RFC 6749 section 4.1.2.1).
    Page(OAuthFault),
    /// Sent to the client: the address to redirect the browser to.
    Redirect(String),
}

/// A dynamic registration request (RFC 7591 section 2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistrationRequest {
    /// A name for display. Untrusted.
    pub client_name: Option<String>,
    /// The addresses to which a browser may be redirected.
    pub redirect_uris: Vec<String>,
    /// The scopes that the client may request.
    pub scope: Option<String>,
    /// The grant types. Unknown ones are ignored.
    pub grant_types: Vec<String>,
    /// How the client wants to authenticate. The client is registered with `none`.
    pub token_endpoint_auth_method: Option<String>,
}
