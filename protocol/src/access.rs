//! Wire types of access over the network: clients, tokens, and the audit of their calls.
//!
//! The admin API uses the same types as `brain clients`, `brain token` and `brain audit`.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{GrantType, Scopes, Secret, SourceId};

/// `brain clients register`: registers an OAuth client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRegister {
    /// Its display name, 1 to 120 characters.
    pub name: String,
    /// The granted scopes.
    pub scopes: Scopes,
    /// The only sources that it can see and write; all if empty.
    pub sources: Vec<SourceId>,
    /// The permitted grant types; `client_credentials` if empty.
    pub grant_types: Vec<GrantType>,
    /// The permitted redirect URIs. Required for `authorization_code`.
    pub redirect_uris: Vec<String>,
    /// The lifetime of its access tokens in seconds, 60 to 2,592,000; an hour if absent.
    pub token_ttl: Option<u32>,
    /// Whether it is a public client, which has no secret and uses consent with PKCE only.
    pub public: bool,
}

/// `brain clients list`: lists the registered clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ClientList {
    /// Whether to include revoked clients.
    pub all: bool,
}

/// `brain clients update`: changes a client and its existing tokens. Absent fields stay the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientUpdate {
    /// The client's id, or its name if unique.
    pub client: String,
    /// The new scopes, which replace the former ones.
    pub scopes: Option<Scopes>,
    /// The only sources that it can see and write; all if empty.
    pub sources: Option<Vec<SourceId>>,
    /// The lifetime of its access tokens in seconds, 60 to 2,592,000.
    pub token_ttl: Option<u32>,
}

/// `brain clients revoke`: revokes a client and its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRevoke {
    /// The client's id, or its name if unique.
    pub client: String,
    /// Whether the user confirmed.
    pub yes: bool,
}

/// `brain token create`: creates a personal token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCreate {
    /// Its display name, 1 to 120 characters, unique among active tokens.
    pub name: String,
    /// The granted scopes.
    pub scopes: Scopes,
    /// The only sources that it can see and write; all if empty.
    pub sources: Vec<SourceId>,
    /// Its lifetime in seconds; 0 if it never expires. If absent, 90 days; with the scope `admin`
    /// 30 days.
    pub expires_in: Option<u64>,
}

/// `brain token list`: lists tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TokenList {
    /// Whether to include expired and revoked tokens, and those of clients.
    pub all: bool,
}

/// `brain token revoke`: revokes a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRevoke {
    /// The token's name or id.
    pub token: String,
}

/// `brain token admin`: shows the owner's admin token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminToken {
    /// Whether to replace the token. The former one becomes invalid.
    pub rotate: bool,
}

/// `brain audit`: lists calls over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct AuditList {
    /// Only calls at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// Only calls at or before this day or time.
    pub until: Option<String>,
    /// Only calls of this caller, as in [`AuditCall::client`].
    pub client: Option<String>,
    /// Only calls that failed (status 400 and above).
    pub failed: bool,
    /// The maximum number of calls, newest first, 1 to 1000.
    pub limit: u32,
    /// The number of calls before the first one of the reply.
    pub skip: u32,
}

/// A client, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Client {
    /// Its id.
    pub client_id: String,
    /// Its display name.
    pub client_name: String,
    /// The granted scopes, for example `read write`.
    pub scope: String,
    /// The only sources that it can see and write; all if empty.
    pub sources: Vec<String>,
    /// The permitted grant types.
    pub grant_types: Vec<String>,
    /// The permitted redirect URIs.
    pub redirect_uris: Vec<String>,
    /// The lifetime of its access tokens in seconds.
    pub token_ttl: u32,
    /// Whether it is a public client, which has no secret.
    pub public: bool,
    /// `admin`, `dynamic` (RFC 7591) or `metadata` (a client ID metadata document).
    pub registered_by: String,
    /// When it was registered.
    pub created_at: String,
    /// When it was last used, to the minute.
    pub last_used_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

/// A registered client with its secret, which is not shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ClientRegistered))]
pub struct ClientRegisterReply {
    /// Its id.
    pub client_id: String,
    /// Its secret; `None` for a public client.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub client_secret: Option<Secret>,
    /// Its display name.
    pub client_name: String,
    /// The granted scopes, as requested.
    pub scope: String,
    /// The only sources that it can see and write; all if empty.
    pub sources: Vec<String>,
    /// The permitted grant types.
    pub grant_types: Vec<String>,
    /// The permitted redirect URIs.
    pub redirect_uris: Vec<String>,
    /// The lifetime of its access tokens in seconds.
    pub token_ttl: u32,
}

/// The registered clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Clients {
    /// Oldest first.
    pub clients: Vec<Client>,
}

words! {
    /// The effect of a change of a client or a token.
    GrantChange {
        Updated = "updated", Unchanged = "unchanged", Revoked = "revoked",
        AlreadyRevoked = "already_revoked",
    }

    /// What a token is for.
    TokenKind {
        /// Created by the owner for a client that only sends a bearer token.
        Personal = "personal",
        /// Access token, valid for the client's `token_ttl`.
        Access = "access",
        /// Exchanged once for the next access token.
        Refresh = "refresh",
    }
}

/// The result of a change of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ClientChanged))]
pub struct ClientReply {
    /// `updated`, `unchanged` or `revoked`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: GrantChange,
    /// The client after the change.
    pub client: Client,
    /// The number of its tokens that became invalid.
    pub tokens_revoked: u64,
}

/// A token without its secret value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenInfo {
    /// Its id, which gives no access.
    pub id: String,
    /// `personal`, `access` or `refresh`.
    #[cfg_attr(
        feature = "openapi",
        schema(value_type = String, pattern = "^(personal|access|refresh)$")
    )]
    pub kind: TokenKind,
    /// Its display name; for a client's token the client's name.
    pub name: String,
    /// The client it belongs to; `None` for a personal token.
    pub client_id: Option<String>,
    /// The granted scopes.
    pub scope: String,
    /// The only sources that it can see and write; all if empty.
    pub sources: Vec<String>,
    /// When it was created.
    pub created_at: String,
    /// When it expires; never if absent.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

/// A new token with its secret value, which is not shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = TokenMade))]
pub struct TokenCreateReply {
    /// The secret value.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub token: Secret,
    /// The token without its secret value.
    pub info: TokenInfo,
}

/// The tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tokens {
    /// Oldest first.
    pub tokens: Vec<TokenInfo>,
}

/// The result of `brain token revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = TokenRevoked))]
pub struct TokenRevokeReply {
    /// `revoked` or `already_revoked`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: GrantChange,
    /// The token after the change.
    pub info: TokenInfo,
}

/// The owner's admin token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminTokenReply {
    /// The token.
    pub token: Secret,
    /// The file or environment variable that contains it.
    pub path: String,
    /// Whether this request replaced the former token.
    pub rotated: bool,
}

/// Calls over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Audit {
    /// Newest first.
    pub calls: Vec<AuditCall>,
    /// Whether more calls match than the limit allows.
    pub truncated: bool,
}

/// A call over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditCall {
    /// The time.
    pub at: String,
    /// The caller: a client's id, `token:<name>`, `admin`, or `-` if unknown.
    pub client: String,
    /// The operation, for example `POST /ingest`.
    pub operation: String,
    /// The HTTP status.
    pub status: u16,
    /// Its duration in microseconds.
    pub took_us: u64,
    /// Its parameters, as names and sizes in bytes; never values.
    pub parameters: Vec<String>,
}
