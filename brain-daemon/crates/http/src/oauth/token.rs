//! `POST /token` (RFC 6749 section 3.2) and `POST /revoke` (RFC 7009).

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use brain_protocol::{GrantType, Secret};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{OAuthErrorResponse, no_store};
use super::form::{Form, credentials};
use crate::http_error::OAuthErrorBody;
use crate::openapi::{FORM, JSON, error_responses};
use crate::{AppState, client_address, dispatch};
use brain_access::{AuthorizationGrant, IssuedTokens, OAuthError, OAuthFault};

/// Returns the routes of this module.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(token)).routes(routes!(revoke))
}

/// Tokens (RFC 6749 section 5.1).
#[derive(Serialize, ToSchema)]
struct TokenAnswer {
    #[schema(value_type = String)]
    access_token: Secret,
    #[schema(example = "Bearer")]
    token_type: &'static str,
    /// In seconds.
    expires_in: u64,
    /// Separated by spaces; always present.
    #[schema(example = "read write")]
    scope: String,
    /// Valid once: the next access token comes with a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    refresh_token: Option<Secret>,
}

impl From<IssuedTokens> for TokenAnswer {
    fn from(issued: IssuedTokens) -> Self {
        Self {
            access_token: issued.access_token,
            token_type: "Bearer",
            expires_in: issued.expires_in,
            scope: issued.scopes.to_string(),
            refresh_token: issued.refresh_token,
        }
    }
}

/// The form of `/token`. `grant_type` decides which parameters are required.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is the schema of a form whose parameters are read one by one")]
struct TokenForm {
    #[schema(
        example = "client_credentials",
        pattern = "^(client_credentials|authorization_code|refresh_token)$"
    )]
    grant_type: String,
    /// Unless it is in the `Authorization` header.
    #[schema(required = false, min_length = 1)]
    client_id: String,
    /// Of a confidential client, unless it is in the `Authorization` header.
    #[schema(required = false, min_length = 1)]
    client_secret: String,
    /// A part of the granted scopes; all of them if absent.
    #[schema(required = false, min_length = 1)]
    scope: String,
    /// For `authorization_code`.
    #[schema(required = false, min_length = 1)]
    code: String,
    /// For `authorization_code`: the same as at `/authorize`.
    #[schema(required = false, min_length = 1)]
    redirect_uri: String,
    /// For `authorization_code`: RFC 7636.
    #[schema(required = false, min_length = 1)]
    code_verifier: String,
    /// For `refresh_token`.
    #[schema(required = false, min_length = 1)]
    refresh_token: String,
    /// What the token is for (RFC 8707). May be repeated.
    #[schema(required = false)]
    resource: Vec<String>,
}

/// The form of `/revoke`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is the schema of a form whose parameters are read one by one")]
struct RevokeForm {
    /// An access token, or a refresh token; all tokens of the same consent are revoked with it.
    #[schema(min_length = 1)]
    token: String,
    /// Not needed.
    #[schema(required = false, min_length = 1)]
    token_type_hint: String,
    /// Unless it is in the `Authorization` header.
    #[schema(required = false, min_length = 1)]
    client_id: String,
    /// Of a confidential client, unless it is in the `Authorization` header.
    #[schema(required = false, min_length = 1)]
    client_secret: String,
}

/// What both forms have in common.
const FORM_LIMITS: &str =
    "At most 64 KiB. No parameter may be repeated, and none may be in the URL.";

error_responses! {
    TokenErrors: OAuthErrorBody, JSON => {
        "400": "RFC 6749 section 5.2",
        "401": "`invalid_client`: unknown client, or wrong secret",
        "413": "The body is too large",
        "415": "The body is not a form",
        "429": "Too many failures",
        "500": "`server_error`",
    }
    RevocationErrors: OAuthErrorBody, JSON => {
        "400": "RFC 7009 section 2.2.1",
        "401": "`invalid_client`: unknown client, or wrong secret",
        "413": "The body is too large",
        "415": "The body is not a form",
        "429": "Too many failures",
        "500": "`server_error`",
    }
}

/// Issues tokens for a client's secret, a code or a refresh token.
///
/// After 50 failures of one address for one client in 15 minutes, or 500 for all clients, further
/// failures are answered with 429.
#[utoipa::path(
    post,
    path = "/token",
    security(("client" = []), ()),
    request_body(content = TokenForm, content_type = FORM, description = FORM_LIMITS),
    responses(
        (status = 200, description = "Tokens", body = TokenAnswer),
        TokenErrors
    )
)]
async fn token(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, OAuthErrorResponse> {
    let (from, headers) = (client_address::of_request(&app, &request), request.headers().clone());
    let form = Form::read(request).await?;
    let grant = parse_grant(&form)?;
    let resource = form.resources();
    let credentials = credentials(&headers, &form)?;
    let client = credentials.client_id.clone();
    let issued = count_failures(&app, from, &client, async {
        let issued = app
            .block(move |brain| brain.access().exchange(&credentials, &grant, &resource))
            .await??;
        dispatch::set_caller(&client);
        Ok(issued)
    });
    Ok(no_store(StatusCode::OK, axum::Json(TokenAnswer::from(issued.await?))))
}

/// Parses the grant that a client presents.
fn parse_grant(form: &Form) -> Result<AuthorizationGrant, OAuthFault> {
    let required = |name: &str| {
        form.secret(name).ok_or_else(|| {
            OAuthFault::new(OAuthError::InvalidRequest, format!("{name} is missing"))
        })
    };
    let kind = form
        .get("grant_type")
        .ok_or_else(|| OAuthFault::new(OAuthError::InvalidRequest, "grant_type is missing"))?;
    Ok(match GrantType::parse(kind) {
        Some(GrantType::ClientCredentials) => {
            AuthorizationGrant::ClientCredentials { scope: form.text("scope") }
        }
        Some(GrantType::AuthorizationCode) => AuthorizationGrant::Code {
            code: required("code")?,
            redirect_uri: form.text("redirect_uri"),
            verifier: form.secret("code_verifier"),
        },
        Some(GrantType::RefreshToken) => AuthorizationGrant::Refresh {
            token: required("refresh_token")?,
            scope: form.text("scope"),
        },
        None => {
            let names: Vec<&str> = GrantType::ALL.iter().map(|kind| kind.as_str()).collect();
            let description = format!("grant_type must be one of {}", names.join(", "));
            return Err(OAuthFault::new(OAuthError::UnsupportedGrantType, description));
        }
    })
}

/// Revokes a token.
///
/// An unknown token is no error, because it is invalid already.
#[utoipa::path(
    post,
    path = "/revoke",
    security(("client" = []), ()),
    request_body(content = RevokeForm, content_type = FORM, description = FORM_LIMITS),
    responses(
        (status = 200, description = "The token is invalid now"),
        RevocationErrors
    )
)]
async fn revoke(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, OAuthErrorResponse> {
    let (from, headers) = (client_address::of_request(&app, &request), request.headers().clone());
    let form = Form::read(request).await?;
    let token =
        form.secret("token").ok_or_else(|| OAuthErrorResponse::invalid("token is missing"))?;
    let credentials = credentials(&headers, &form)?;
    let client = credentials.client_id.clone();
    let revoked = count_failures(&app, from, &client, async {
        app.block(move |brain| brain.access().revoke(&credentials, &token)).await??;
        dispatch::set_caller(&client);
        Ok(())
    });
    revoked.await?;
    Ok(no_store(StatusCode::OK, ()))
}

/// Runs `work`, and counts it as a failure of `client` if the client, secret, code or token is
/// wrong. After too many failures, further failures get 429. Correct requests never do.
async fn count_failures<T>(
    app: &AppState,
    from: IpAddr,
    client: &str,
    work: impl Future<Output = Result<T, OAuthErrorResponse>>,
) -> Result<T, OAuthErrorResponse> {
    let result = work.await;
    if result.as_ref().is_err_and(OAuthErrorResponse::is_failed_guess) {
        let (failures, now) = (&app.failures, app.brain.now());
        failures.addresses.count(from, "", now).map_err(OAuthErrorResponse::rate_limited)?;
        failures.tokens.count(from, client, now).map_err(OAuthErrorResponse::rate_limited)?;
    }
    result
}
