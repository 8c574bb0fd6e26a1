//! Requests, replies and errors of the OAuth endpoints.

use brain_protocol::{Scopes, Secret};

/// What an OAuth endpoint refuses with: RFC 6749 sections 4.1.2.1 and 5.2, RFC 8707 section 2, RFC 7591 section 3.2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthError {
    /// A parameter is missing, twice there, or malformed.
    InvalidRequest,
    /// Unknown client or wrong secret: nobody is told which.
    InvalidClient,
    /// The code or refresh token is none of this client's, or not any more.
    InvalidGrant,
    /// The client may not come this way.
    UnauthorizedClient,
    /// There is no such way.
    UnsupportedGrantType,
    /// Only `code` is answered.
    UnsupportedResponseType,
    /// No such scope, or more than is granted.
    InvalidScope,
    /// The resource is not this service.
    InvalidTarget,
    /// The owner said no.
    AccessDenied,
    /// A redirect URI that cannot be registered.
    InvalidRedirectUri,
    /// Something else that cannot be registered.
    InvalidClientMetadata,
    /// The store failed.
    ServerError,
}

impl OAuthError {
    /// The code as it stands in `error`.
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

/// A refusal of an OAuth endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthFault {
    /// For programs.
    pub error: OAuthError,
    /// For people; no secret, no value that was sent.
    pub description: String,
}

impl OAuthFault {
    /// A refusal.
    pub fn new(error: OAuthError, description: impl Into<String>) -> Self {
        Self { error, description: description.into() }
    }
}

/// Who calls `/token` or `/revoke`.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// `client_id`.
    pub client_id: String,
    /// `client_secret`; a public client has none.
    pub secret: Option<Secret>,
}

/// What somebody offers for an access token.
#[derive(Debug, Clone)]
pub enum Offer {
    /// Its own secret (RFC 6749 section 4.4).
    ClientCredentials {
        /// What it wants; all that it is granted when absent.
        scope: Option<String>,
    },
    /// What the owner's consent gave it (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
    Code {
        /// The code.
        code: Secret,
        /// The same as it was asked with.
        redirect_uri: Option<String>,
        /// What the challenge was made of.
        verifier: Option<Secret>,
    },
    /// A refresh token (RFC 6749 section 6): rotated; one that was exchanged before revokes its family.
    Refresh {
        /// The token.
        token: Secret,
        /// Less than it was granted; all of it when absent.
        scope: Option<String>,
    },
}

/// Tokens that were issued.
#[derive(Debug, Clone)]
pub struct Issued {
    /// For the next requests.
    pub access_token: Secret,
    /// How long it lives, in seconds.
    pub expires_in: u64,
    /// What it is good for.
    pub scopes: Scopes,
    /// For the next access token; not with client credentials.
    pub refresh_token: Option<Secret>,
}

/// What a browser brings to `/authorize` (RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizeRequest {
    /// Must be `code`.
    pub response_type: Option<String>,
    /// Who asks.
    pub client_id: Option<String>,
    /// Where the browser goes afterwards; may be left away when the client has one only.
    pub redirect_uri: Option<String>,
    /// What is asked for; what the client is granted when absent.
    pub scope: Option<String>,
    /// Comes back as it is.
    pub state: Option<String>,
    /// Needed.
    pub code_challenge: Option<String>,
    /// Must be `S256`.
    pub code_challenge_method: Option<String>,
    /// What the token is to be good for; may be named several times.
    pub resource: Vec<String>,
}

/// What the owner is to agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// Who asks.
    pub client_id: String,
    /// The host that a client with a document of its own is known by: nobody else can have a document there.
    pub client_host: Option<String>,
    /// What people call it. From outside, unless the owner registered it.
    pub client_name: String,
    /// How it became a client: `admin`, `dynamic`, `metadata`.
    pub registered_by: String,
    /// Where the browser goes afterwards, checked.
    pub redirect_uri: String,
    /// The host of that address.
    pub redirect_host: String,
    /// Whether that is this very machine: any program on it could be the one that listens there.
    pub loopback: bool,
    /// What is asked for, and may be granted.
    pub scopes: Scopes,
    /// The only sources it would see; all when empty.
    pub sources: Vec<String>,
    /// What the token will be good for.
    pub resource: Option<String>,
}

/// Why `/authorize` does not ask the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorizeFault {
    /// Told to the person: client or address are not to be trusted, so nobody is sent there (RFC 6749 section 4.1.2.1).
    Shown(OAuthFault),
    /// Told to the client, at this whole address.
    SentBack(String),
}

/// What a client says of itself (RFC 7591 section 2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DynamicClient {
    /// What people are to call it.
    pub client_name: Option<String>,
    /// Where a browser may be sent back to.
    pub redirect_uris: Vec<String>,
    /// What it may ask for.
    pub scope: Option<String>,
    /// How it wants to come; unknown ones are left out.
    pub grant_types: Vec<String>,
    /// How it would show who it is: by a secret, or `none`. It gets `none`, and is told so.
    pub token_endpoint_auth_method: Option<String>,
}
