//! Creates, lists and revokes tokens of the owner.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use brain_protocol::{
    Fault, FaultCode, TokenCreate, TokenCreateReply, TokenList, TokenRevoke, TokenRevokeReply,
    Tokens,
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AdminErrors;
use super::string_list::{self, ScopeList, SourceList, StringList};
use crate::body::{JsonObject, StrictQuery};
use crate::session::Owner;
use crate::{AppState, HttpError};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(revoke))
}

/// A token to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewToken {
    /// Its name for people, 1 to 120 characters. No two active tokens have the same name.
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    /// The granted scopes: `read`, `write`, `admin`.
    #[schema(value_type = Option<ScopeList>, example = "read write")]
    scope: Option<StringList>,
    /// Another name for `scope`.
    #[schema(value_type = Option<ScopeList>)]
    scopes: Option<StringList>,
    /// The sources that it can read and write; all if absent.
    #[schema(value_type = Option<SourceList>)]
    sources: Option<StringList>,
    /// The lifetime in seconds. If absent: 90 days, or 30 with the scope `admin`.
    #[schema(minimum = 60, maximum = 316_224_000)]
    expires_in: Option<u64>,
    /// Whether it is valid until it is revoked. Not together with `expires_in`.
    never_expires: Option<bool>,
}

/// Selects tokens.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct TokenFilter {
    /// Also expired and revoked ones, and the tokens of clients.
    #[serde(default)]
    #[param(required = false)]
    all: bool,
}

/// Creates a token for a program that sends only a bearer token.
///
/// Only this answer contains the token.
#[utoipa::path(
    post,
    path = "/admin/api/tokens",
    request_body(content = NewToken, description = "At most 64 KiB. Members that are null are \
        absent."),
    responses((status = 201, description = "The token", body = TokenCreateReply), AdminErrors)
)]
async fn create(
    State(app): State<AppState>,
    Owner(caller): Owner,
    JsonObject(new): JsonObject<NewToken>,
) -> Result<(StatusCode, Json<TokenCreateReply>), HttpError> {
    let scopes = string_list::required_scopes(new.scope.as_ref(), new.scopes.as_ref())?;
    let request = TokenCreate {
        name: new.name,
        scopes,
        sources: string_list::sources(new.sources)?.unwrap_or_default(),
        expires_in: lifetime(new.expires_in, new.never_expires == Some(true))?,
    };
    app.run(caller, request).await.map(|token| (StatusCode::CREATED, Json(token)))
}

/// Returns the lifetime in seconds; 0 for a token that never expires.
fn lifetime(seconds: Option<u64>, never: bool) -> Result<Option<u64>, Fault> {
    let invalid = |message| Fault::new(FaultCode::InvalidRequest, message);
    match (seconds, never) {
        (Some(_), true) => Err(invalid("\"expires_in\" and \"never_expires\" exclude each other")),
        (Some(0), false) => Err(invalid("\"expires_in\" is 0; it must be a minute to ten years")),
        (None, true) => Ok(Some(0)),
        (seconds, false) => Ok(seconds),
    }
}

/// Lists tokens, without their secrets.
#[utoipa::path(
    get,
    path = "/admin/api/tokens",
    params(TokenFilter),
    responses((status = 200, description = "Tokens by name and id", body = Tokens), AdminErrors)
)]
async fn list(
    State(app): State<AppState>,
    Owner(caller): Owner,
    StrictQuery(filter): StrictQuery<TokenFilter>,
) -> Result<Json<Tokens>, HttpError> {
    let request = TokenList { all: filter.all };
    app.run(caller, request).await.map(Json)
}

/// Revokes a token.
#[utoipa::path(
    delete,
    path = "/admin/api/tokens/{id}",
    params(("id" = String, Path, description = "The token's id, or its name")),
    responses((status = 200, description = "The token now", body = TokenRevokeReply), AdminErrors)
)]
async fn revoke(
    State(app): State<AppState>,
    Owner(caller): Owner,
    Path(token): Path<String>,
) -> Result<Json<TokenRevokeReply>, HttpError> {
    let request = TokenRevoke { token };
    app.run(caller, request).await.map(Json)
}
