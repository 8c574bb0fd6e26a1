//! Who may come in over the network: clients, tokens, the record of their calls. Questions and answers of `brain clients`,
//! `brain token` and `brain audit`, and of the admin API alike. Positional on the wire, as all of them.

use serde::{Deserialize, Serialize};

use crate::{GrantType, Scopes, Secret, SourceId};

/// `brain clients register`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRegister {
    /// What people call it, 1 to 120 characters.
    pub name: String,
    /// What it is granted, exactly.
    pub scopes: Scopes,
    /// The only sources it may see and write; all when empty.
    pub sources: Vec<SourceId>,
    /// How it may come to a token; `client_credentials` when empty.
    pub grant_types: Vec<GrantType>,
    /// Where a browser may be sent back to. Needed for `authorization_code`.
    pub redirect_uris: Vec<String>,
    /// How long its access tokens live, in seconds, 60 to 2,592,000; an hour when absent.
    pub token_ttl: Option<u32>,
    /// A public client: it has no secret, and comes by consent and PKCE only.
    pub public: bool,
}

/// `brain clients list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ClientList {
    /// Revoked ones, too.
    pub all: bool,
}

/// `brain clients update`: what is absent stays. Tokens that the client has follow at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientUpdate {
    /// The client's id, or its name when only one has it.
    pub client: String,
    /// What it is granted from now on.
    pub scopes: Option<Scopes>,
    /// The only sources it may see and write from now on; empty for all.
    pub sources: Option<Vec<SourceId>>,
    /// How long its access tokens live, in seconds.
    pub token_ttl: Option<u32>,
}

/// `brain clients revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRevoke {
    /// The client's id, or its name when only one has it.
    pub client: String,
    /// Whether the user has agreed.
    pub yes: bool,
}

/// `brain token create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCreate {
    /// What people call it, 1 to 120 characters; no other active token has the name.
    pub name: String,
    /// What it is granted, exactly.
    pub scopes: Scopes,
    /// The only sources it may see and write; all when empty.
    pub sources: Vec<SourceId>,
    /// How long it lives, in seconds; 0 until it is revoked. When absent 90 days, or 30 with the scope
    /// `admin`.
    pub expires_in: Option<u64>,
}

/// `brain token list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TokenList {
    /// Expired and revoked ones, and the tokens of clients, too.
    pub all: bool,
}

/// `brain token revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRevoke {
    /// The token's name or id.
    pub token: String,
}

/// `brain token admin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminToken {
    /// Make a new one; the former one is worth nothing from then on.
    pub rotate: bool,
}

/// `brain audit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct AuditList {
    /// Only calls at or after this day or instant (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// Only calls at or before this day or instant.
    pub until: Option<String>,
    /// Only calls of the client with this id.
    pub client: Option<String>,
    /// Only calls that failed (status 400 and above).
    pub failed: bool,
    /// How many calls, 1 to 1000, the newest first.
    pub limit: u32,
}

/// A client, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Client {
    /// Its id.
    pub client_id: String,
    /// What people call it.
    pub client_name: String,
    /// What it is granted, for example `read write`.
    pub scope: String,
    /// The only sources it may see and write; all when empty.
    pub sources: Vec<String>,
    /// How it may come to a token.
    pub grant_types: Vec<String>,
    /// Where a browser may be sent back to.
    pub redirect_uris: Vec<String>,
    /// How long its access tokens live, in seconds.
    pub token_ttl: u32,
    /// It has no secret.
    pub public: bool,
    /// `admin`, `dynamic` (RFC 7591) or `metadata` (a client id metadata document).
    pub registered_by: String,
    /// When it was registered.
    pub created_at: String,
    /// When it was last let in, to the minute; since the daemon was started or before.
    pub last_used_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

/// To `ClientRegister`: the only time that the secret is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ClientRegistered))]
pub struct ClientRegisterReply {
    /// Its id.
    pub client_id: String,
    /// Its secret; a public client has none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub client_secret: Option<Secret>,
    /// What people call it.
    pub client_name: String,
    /// What it is granted, exactly as it was asked for.
    pub scope: String,
    /// The only sources it may see and write; all when empty.
    pub sources: Vec<String>,
    /// How it may come to a token.
    pub grant_types: Vec<String>,
    /// Where a browser may be sent back to.
    pub redirect_uris: Vec<String>,
    /// How long its access tokens live, in seconds.
    pub token_ttl: u32,
}

/// To `ClientList`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Clients {
    /// Oldest first.
    pub clients: Vec<Client>,
}

/// To `ClientUpdate` and `ClientRevoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ClientChanged))]
pub struct ClientReply {
    /// `updated`, `unchanged` or `revoked`.
    pub status: String,
    /// The client now.
    pub client: Client,
    /// How many of its tokens are worth nothing any more.
    pub tokens_revoked: u64,
}

/// A token, without itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenInfo {
    /// Its id: names it, lets nobody in.
    pub id: String,
    /// `personal`, `access` or `refresh`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(personal|access|refresh)$"))]
    pub kind: String,
    /// What people call it; a client's tokens have the client's name.
    pub name: String,
    /// The client it belongs to; none for a personal one.
    pub client_id: Option<String>,
    /// What it is granted.
    pub scope: String,
    /// The only sources it may see and write; all when empty.
    pub sources: Vec<String>,
    /// When it was made.
    pub created_at: String,
    /// When it ends; never when absent.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

/// To `TokenCreate`: the only time that the token is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = TokenMade))]
pub struct TokenCreateReply {
    /// The token.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub token: Secret,
    /// What else there is to know of it.
    pub info: TokenInfo,
}

/// To `TokenList`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tokens {
    /// Oldest first.
    pub tokens: Vec<TokenInfo>,
}

/// To `TokenRevoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = TokenRevoked))]
pub struct TokenRevokeReply {
    /// `revoked` or `already_revoked`.
    pub status: String,
    /// The token now.
    pub info: TokenInfo,
}

/// To `AdminToken`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminTokenReply {
    /// The token.
    pub token: Secret,
    /// Where it is kept.
    pub path: String,
    /// Whether it was made just now.
    pub rotated: bool,
}

/// To `AuditList`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Audit {
    /// The newest first.
    pub calls: Vec<AuditCall>,
    /// Whether there are more than were asked for.
    pub truncated: bool,
}

/// A call that was made over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditCall {
    /// When.
    pub at: String,
    /// Who: a client's id, `token:<name>`, `admin`, or `-` for somebody unknown.
    pub client: String,
    /// What, for example `POST /ingest`.
    pub operation: String,
    /// How it ended: the HTTP status.
    pub status: u16,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// What came with it, by name and size in bytes; never a value.
    pub parameters: Vec<String>,
}
