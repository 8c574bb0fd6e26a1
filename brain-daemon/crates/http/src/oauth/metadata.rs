//! Metadata of the authorization server and the protected resource (RFC 8414, RFC 9728).
//!
//! Both listeners return the same, for every host name: there is one issuer.

use axum::Json;
use axum::extract::State;
use brain_protocol::{GrantType, Scope};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::AppState;

/// The scopes that clients are offered. The owner grants `admin` only to clients that are
/// registered for it.
const OFFERED_SCOPES: [Scope; 2] = [Scope::Read, Scope::Write];

/// How clients authenticate at the token endpoint.
const AUTHENTICATION_METHODS: [&str; 3] = ["none", "client_secret_basic", "client_secret_post"];

/// Descriptions of the two documents.
const SERVER: &str = "The endpoints and the supported features (RFC 8414)";
const RESOURCE: &str = "The authorization server of this service (RFC 9728)";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(server))
        .routes(routes!(server_for_mcp))
        .routes(routes!(resource))
        .routes(routes!(resource_for_mcp))
}

/// The authorization server (RFC 8414 section 2).
#[derive(Serialize, ToSchema)]
struct ServerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    /// Only if clients can register themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    registration_endpoint: Option<String>,
    revocation_endpoint: String,
    scopes_supported: Vec<&'static str>,
    response_types_supported: Vec<&'static str>,
    response_modes_supported: Vec<&'static str>,
    grant_types_supported: Vec<&'static str>,
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    code_challenge_methods_supported: Vec<&'static str>,
    /// RFC 9207.
    authorization_response_iss_parameter_supported: bool,
    /// True even if documents are not fetched, because the common ones are built in.
    client_id_metadata_document_supported: bool,
}

/// The protected resource (RFC 9728 section 2).
#[derive(Serialize, ToSchema)]
struct ResourceMetadata {
    resource: String,
    resource_name: &'static str,
    authorization_servers: Vec<String>,
    scopes_supported: Vec<&'static str>,
    bearer_methods_supported: Vec<&'static str>,
}

fn offered_scopes() -> Vec<&'static str> {
    OFFERED_SCOPES.iter().map(|scope| scope.as_str()).collect()
}

fn server_metadata(app: &AppState) -> Json<ServerMetadata> {
    let issuer = app.brain.access().issuer();
    let url_of = |path: &str| format!("{issuer}{path}");
    let allows_registration = app.brain.config().http.dynamic_registration;
    Json(ServerMetadata {
        authorization_endpoint: url_of("/authorize"),
        token_endpoint: url_of("/token"),
        registration_endpoint: allows_registration.then(|| url_of("/register")),
        revocation_endpoint: url_of("/revoke"),
        scopes_supported: offered_scopes(),
        response_types_supported: vec!["code"],
        response_modes_supported: vec!["query"],
        grant_types_supported: GrantType::ALL.iter().map(|kind| kind.as_str()).collect(),
        token_endpoint_auth_methods_supported: AUTHENTICATION_METHODS.to_vec(),
        revocation_endpoint_auth_methods_supported: AUTHENTICATION_METHODS.to_vec(),
        code_challenge_methods_supported: vec!["S256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        issuer,
    })
}

fn resource_metadata(app: &AppState, path: &str) -> Json<ResourceMetadata> {
    let issuer = app.brain.access().issuer();
    Json(ResourceMetadata {
        resource: format!("{issuer}{path}"),
        resource_name: "brain",
        authorization_servers: vec![issuer],
        scopes_supported: offered_scopes(),
        bearer_methods_supported: vec!["header"],
    })
}

/// Returns the metadata of the authorization server.
#[utoipa::path(
    get,
    path = "/.well-known/oauth-authorization-server",
    responses((status = 200, description = SERVER, body = ServerMetadata))
)]
async fn server(State(app): State<AppState>) -> Json<ServerMetadata> {
    server_metadata(&app)
}

/// Returns the same metadata at the path where clients of `/mcp` look for it.
#[utoipa::path(
    get,
    path = "/.well-known/oauth-authorization-server/mcp",
    responses((status = 200, description = SERVER, body = ServerMetadata))
)]
async fn server_for_mcp(State(app): State<AppState>) -> Json<ServerMetadata> {
    server_metadata(&app)
}

/// Returns the metadata of this service as a protected resource.
#[utoipa::path(
    get,
    path = "/.well-known/oauth-protected-resource",
    responses((status = 200, description = RESOURCE, body = ResourceMetadata))
)]
async fn resource(State(app): State<AppState>) -> Json<ResourceMetadata> {
    resource_metadata(&app, "")
}

/// Returns the metadata of `/mcp` as a protected resource.
#[utoipa::path(
    get,
    path = "/.well-known/oauth-protected-resource/mcp",
    responses((status = 200, description = RESOURCE, body = ResourceMetadata))
)]
async fn resource_for_mcp(State(app): State<AppState>) -> Json<ResourceMetadata> {
    resource_metadata(&app, "/mcp")
}
