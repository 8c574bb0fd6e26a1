//! `POST /register`: clients register themselves (RFC 7591), if the owner allows it.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use brain_protocol::Client;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{OAuthErrorResponse, no_store};
use crate::http_error::OAuthErrorBody;
use crate::openapi::{JSON, error_responses};
use crate::{AppState, body, client_address};
use brain_access::{OAuthError, OAuthFault, RegistrationRequest};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(register))
}

/// The metadata of a client (RFC 7591 section 2). Other members are ignored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is the schema of a body whose members are read one by one")]
struct ClientMetadata {
    /// With `https`, or with `http` on this machine; at most 2000 bytes each.
    #[schema(min_items = 1, max_items = 10)]
    redirect_uris: Vec<String>,
    #[schema(max_length = 120)]
    client_name: Option<String>,
    /// The scopes that it can request, separated by spaces.
    scope: Option<String>,
    grant_types: Option<Vec<String>>,
    /// `client_secret_post` and `client_secret_basic` are accepted, but the client always gets
    /// `none`.
    token_endpoint_auth_method: Option<String>,
}

/// The client (RFC 7591 section 3.2.1). It has no secret.
#[derive(Serialize, ToSchema)]
struct ClientInformation {
    client_id: String,
    /// Unix seconds.
    client_id_issued_at: i64,
    client_name: String,
    redirect_uris: Vec<String>,
    grant_types: Vec<String>,
    response_types: Vec<&'static str>,
    token_endpoint_auth_method: &'static str,
    scope: String,
}

impl ClientInformation {
    fn new(client: Client, now: i64) -> Self {
        Self {
            client_id: client.client_id,
            client_id_issued_at: now / 1000,
            client_name: client.client_name,
            redirect_uris: client.redirect_uris,
            grant_types: client.grant_types,
            response_types: vec!["code"],
            token_endpoint_auth_method: "none",
            scope: client.scope,
        }
    }
}

error_responses! {
    RegistrationErrors: OAuthErrorBody, JSON => {
        "400": "RFC 7591 section 3.2.2",
        "403": "Dynamic registration is off",
        "413": "The body is too large",
        "415": "The body is not JSON",
        "429": "Too many registrations",
        "500": "`server_error`",
    }
}

/// Registers a client at its own request.
///
/// Off unless `http.dynamic_registration` is `true`. Such a client is public, and can only ask the
/// owner for consent. At most 50 registrations an hour from one address are accepted.
#[utoipa::path(
    post,
    path = "/register",
    request_body(content = ClientMetadata, description = "At most 64 KiB."),
    responses(
        (status = 201, description = "The client", body = ClientInformation),
        RegistrationErrors
    )
)]
async fn register(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, OAuthErrorResponse> {
    if !app.brain.config().http.dynamic_registration {
        let description = "clients cannot register themselves here; ask the owner of this brain to \
            register this client with `brain clients register`, or to set \
            http.dynamic_registration to true";
        return Err(OAuthErrorResponse::new(
            StatusCode::FORBIDDEN,
            OAuthError::AccessDenied.as_str(),
            description,
        ));
    }
    let from = client_address::of_request(&app, &request);
    let (parts, body) = request.into_parts();
    let media_type = body::media_type(&parts.headers);
    let bytes = body::read(body).await?;
    if media_type.as_deref() != Some("application/json") {
        let description = "the body must be JSON; send `Content-Type: application/json`";
        let error = OAuthError::InvalidClientMetadata.as_str();
        return Err(OAuthErrorResponse::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            error,
            description,
        ));
    }
    let client = body::object(&bytes)
        .map_err(|error| invalid(error.to_string()))
        .and_then(|members| parse_metadata(&members))?;
    let now = app.brain.now();
    app.failures.registrations.count(from, "", now).map_err(OAuthErrorResponse::rate_limited)?;
    let client = app.block(move |brain| brain.access().register_dynamic_client(&client)).await??;
    Ok(no_store(StatusCode::CREATED, axum::Json(ClientInformation::new(client, now))))
}

/// Reads the known members. Unknown members are ignored (RFC 7591 section 2); known members of the
/// wrong type are errors.
fn parse_metadata(members: &Map<String, Value>) -> Result<RegistrationRequest, OAuthFault> {
    let text = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(format!("{name} must be a string"))),
    };
    let texts = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            let texts = values
                .iter()
                .map(|value| value.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>();
            texts.ok_or_else(|| invalid(format!("{name} must be an array of strings")))
        }
        Some(_) => Err(invalid(format!("{name} must be an array of strings"))),
    };
    let redirect_uris = texts("redirect_uris")
        .map_err(|fault| OAuthFault::new(OAuthError::InvalidRedirectUri, fault.description))?;
    Ok(RegistrationRequest {
        client_name: text("client_name")?,
        redirect_uris,
        scope: text("scope")?,
        grant_types: texts("grant_types")?,
        token_endpoint_auth_method: text("token_endpoint_auth_method")?,
    })
}

fn invalid(description: impl Into<String>) -> OAuthFault {
    OAuthFault::new(OAuthError::InvalidClientMetadata, description)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RegistrationRequest, OAuthError> {
        parse_metadata(&body::object(text.as_bytes()).unwrap()).map_err(|fault| fault.error)
    }

    #[test]
    fn unknown_members_are_ignored() {
        let client = parse(
            r#"{"redirect_uris":["https://a.example/c"],"client_name":"A","scope":null,
                "application_type":"web","jwks":{"keys":[]},
                "grant_types":["authorization_code","urn:x"],"contacts":[1]}"#,
        )
        .unwrap();
        assert_eq!(client.redirect_uris, ["https://a.example/c"]);
        assert_eq!((client.client_name.as_deref(), client.scope), (Some("A"), None));
        assert_eq!(client.grant_types, ["authorization_code", "urn:x"]);
        assert_eq!(parse("{}").unwrap(), RegistrationRequest::default());
    }

    #[test]
    fn known_members_must_have_their_types() {
        for (text, error) in [
            (r#"{"redirect_uris":"https://a.example/c"}"#, OAuthError::InvalidRedirectUri),
            (r#"{"redirect_uris":[null]}"#, OAuthError::InvalidRedirectUri),
            (r#"{"client_name":["a"]}"#, OAuthError::InvalidClientMetadata),
            (r#"{"scope":["read"]}"#, OAuthError::InvalidClientMetadata),
            (r#"{"grant_types":"authorization_code"}"#, OAuthError::InvalidClientMetadata),
            (r#"{"token_endpoint_auth_method":1}"#, OAuthError::InvalidClientMetadata),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
