//! Registers, lists, changes and revokes clients.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use brain_protocol::{
    ClientList, ClientRegister, ClientRegisterReply, ClientReply, ClientRevoke, ClientUpdate,
    Clients,
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AdminErrors;
use super::string_list::{self, GrantTypeList, ScopeList, SourceList, StringList};
use crate::body::{JsonObject, StrictQuery};
use crate::session::Owner;
use crate::{AppState, HttpError};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(register))
        .routes(routes!(list))
        .routes(routes!(update, revoke))
}

/// A client to register.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewClient {
    /// Its name for people, 1 to 120 characters.
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
    /// `client_credentials` if absent.
    #[schema(value_type = Option<GrantTypeList>)]
    grant_types: Option<StringList>,
    /// The redirect URIs, at most 2000 bytes each. Required for `authorization_code`.
    #[schema(max_items = 10)]
    redirect_uris: Option<Vec<String>>,
    /// The lifetime of its access tokens in seconds; an hour if absent.
    #[schema(minimum = 60, maximum = 2_592_000)]
    token_ttl: Option<u32>,
    /// Whether it has no secret, and uses only consent with PKCE.
    public: Option<bool>,
}

/// Changes to a client. Absent members change nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Changes {
    /// The granted scopes from now on.
    #[schema(value_type = Option<ScopeList>)]
    scope: Option<StringList>,
    /// Another name for `scope`.
    #[schema(value_type = Option<ScopeList>)]
    scopes: Option<StringList>,
    /// The sources that it can read and write from now on; `[]` for all.
    #[schema(value_type = Option<SourceList>)]
    sources: Option<StringList>,
    /// The lifetime of its access tokens in seconds.
    #[schema(minimum = 60, maximum = 2_592_000)]
    token_ttl: Option<u32>,
}

/// Selects clients.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ClientFilter {
    /// Also revoked ones.
    #[serde(default)]
    #[param(required = false)]
    all: bool,
}

/// Registers a client.
///
/// Only this answer contains the secret.
#[utoipa::path(
    post,
    path = "/admin/api/register-client",
    request_body(content = NewClient, description = "At most 64 KiB. Members that are null are \
        absent."),
    responses(
        (status = 201, description = "The client, with its secret", body = ClientRegisterReply),
        AdminErrors
    )
)]
async fn register(
    State(app): State<AppState>,
    Owner(caller): Owner,
    JsonObject(new): JsonObject<NewClient>,
) -> Result<(StatusCode, Json<ClientRegisterReply>), HttpError> {
    let scopes = string_list::required_scopes(new.scope.as_ref(), new.scopes.as_ref())?;
    let request = ClientRegister {
        name: new.name,
        scopes,
        sources: string_list::sources(new.sources)?.unwrap_or_default(),
        grant_types: string_list::grant_types(new.grant_types)?,
        redirect_uris: new.redirect_uris.unwrap_or_default(),
        token_ttl: new.token_ttl,
        public: new.public.unwrap_or_default(),
    };
    app.run(caller, request).await.map(|client| (StatusCode::CREATED, Json(client)))
}

/// Lists clients.
#[utoipa::path(
    get,
    path = "/admin/api/clients",
    params(ClientFilter),
    responses(
        (status = 200, description = "Clients, without their secrets", body = Clients),
        AdminErrors
    )
)]
async fn list(
    State(app): State<AppState>,
    Owner(caller): Owner,
    StrictQuery(filter): StrictQuery<ClientFilter>,
) -> Result<Json<Clients>, HttpError> {
    let request = ClientList { all: filter.all };
    app.run(caller, request).await.map(Json)
}

/// Changes the grant of a client.
///
/// The change applies to its existing tokens at once.
#[utoipa::path(
    patch,
    path = "/admin/api/clients/{id}",
    params(
        ("id" = String, Path, description = "The client's id, or its name if it is unique")
    ),
    request_body(content = Option<Changes>, description = "At most 64 KiB. Members that are null \
        are absent."),
    responses((status = 200, description = "The client now", body = ClientReply), AdminErrors)
)]
async fn update(
    State(app): State<AppState>,
    Owner(caller): Owner,
    Path(client): Path<String>,
    JsonObject(changes): JsonObject<Changes>,
) -> Result<Json<ClientReply>, HttpError> {
    let request = ClientUpdate {
        client,
        scopes: string_list::scopes(changes.scope.as_ref(), changes.scopes.as_ref())?,
        sources: string_list::sources(changes.sources)?,
        token_ttl: changes.token_ttl,
    };
    app.run(caller, request).await.map(Json)
}

/// Revokes a client, with every token it has.
#[utoipa::path(
    delete,
    path = "/admin/api/clients/{id}",
    params(
        ("id" = String, Path, description = "The client's id, or its name if it is unique")
    ),
    responses((status = 200, description = "The client now", body = ClientReply), AdminErrors)
)]
async fn revoke(
    State(app): State<AppState>,
    Owner(caller): Owner,
    Path(client): Path<String>,
) -> Result<Json<ClientReply>, HttpError> {
    // The caller of this API confirms by sending DELETE.
    let request = ClientRevoke { client, yes: true };
    app.run(caller, request).await.map(Json)
}
