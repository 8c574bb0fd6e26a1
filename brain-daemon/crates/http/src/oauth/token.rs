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

use super::answer::{OAuthErrorBody, Refused, uncached};
use super::form::{Form, credentials};
use crate::{AppState, client_address, dispatch};
use brain_access::{AuthorizationGrant, IssuedTokens, OAuthError, OAuthFault};

/// What is served.
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
    /// With spaces between them, always told.
    #[schema(example = "read write")]
    scope: String,
    /// Good once: the next one comes with the next access token.
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

/// What `/token` takes, of which `grant_type` says what is needed.
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
    /// Less than is granted; all of it when absent.
    #[schema(required = false, min_length = 1)]
    scope: String,
    /// For `authorization_code`.
    #[schema(required = false, min_length = 1)]
    code: String,
    /// For `authorization_code`: as it was at `/authorize`.
    #[schema(required = false, min_length = 1)]
    redirect_uri: String,
    /// For `authorization_code`: RFC 7636.
    #[schema(required = false, min_length = 1)]
    code_verifier: String,
    /// For `refresh_token`.
    #[schema(required = false, min_length = 1)]
    refresh_token: String,
    /// What the token is to be good for (RFC 8707); may be there several timeouts.
    #[schema(required = false)]
    resource: Vec<String>,
}

/// What `/revoke` takes.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is the schema of a form whose parameters are read one by one")]
struct RevokeForm {
    /// An access token, or a refresh token, with which goes everything that came of the same consent.
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

/// Tokens for a client's secret, for a code or for a refresh token.
///
/// After 50 failures of one address for one client in 15 minutes, or 500 for all clients, further
/// failures are answered with 429.
#[utoipa::path(
    post,
    path = "/token",
    tag = "oauth",
    security(("client" = []), ()),
    request_body(
        content = TokenForm,
        content_type = "application/x-www-form-urlencoded",
        description = "At most 64 KiB. Nothing may be there twice, and nothing in the address."
    ),
    responses(
        (status = 200, description = "Tokens", body = TokenAnswer),
        (status = 400, description = "RFC 6749 section 5.2", body = OAuthErrorBody),
        (status = 401, description = "`invalid_client`: unknown, or its secret is wrong", body = OAuthErrorBody,
         headers(("WWW-Authenticate" = String))),
        (status = 413, description = "The body is too large", body = OAuthErrorBody),
        (status = 415, description = "The body is not a form", body = OAuthErrorBody),
        (status = 429, description = "Too many failures", body = OAuthErrorBody, headers(("Retry-After" = u64))),
        (status = 500, description = "`server_error`", body = OAuthErrorBody)
    )
)]
async fn token(State(app): State<AppState>, request: Request) -> Result<Response, Refused> {
    let (from, headers) = (client_address::of_request(&app, &request), request.headers().clone());
    let form = Form::read(request).await?;
    let offer = offer(&form)?;
    let resource = form.resources();
    let who = credentials(&headers, &form)?;
    let client = who.client_id.clone();
    let issued = limited(&app, from, &client, async {
        let issued =
            app.block(move |brain| brain.access.exchange(&who, &offer, &resource)).await??;
        dispatch::set_caller(&client);
        Ok(issued)
    });
    Ok(uncached(StatusCode::OK, axum::Json(TokenAnswer::from(issued.await?))))
}

/// What a client offers.
fn offer(form: &Form) -> Result<AuthorizationGrant, OAuthFault> {
    let needed = |name: &str| {
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
            code: needed("code")?,
            redirect_uri: form.text("redirect_uri"),
            verifier: form.secret("code_verifier"),
        },
        Some(GrantType::RefreshToken) => AuthorizationGrant::Refresh {
            token: needed("refresh_token")?,
            scope: form.text("scope"),
        },
        None => {
            let known: Vec<&str> = GrantType::ALL.iter().map(|kind| kind.as_str()).collect();
            let description = format!("grant_type must be one of {}", known.join(", "));
            return Err(OAuthFault::new(OAuthError::UnsupportedGrantType, description));
        }
    })
}

/// Takes a token back.
///
/// Unknown tokens are no error: what was wanted is so already.
#[utoipa::path(
    post,
    path = "/revoke",
    tag = "oauth",
    security(("client" = []), ()),
    request_body(
        content = RevokeForm,
        content_type = "application/x-www-form-urlencoded",
        description = "At most 64 KiB. Nothing may be there twice, and nothing in the address."
    ),
    responses(
        (status = 200, description = "The token is worth nothing now"),
        (status = 400, description = "RFC 7009 section 2.2.1", body = OAuthErrorBody),
        (status = 401, description = "`invalid_client`: unknown, or its secret is wrong", body = OAuthErrorBody,
         headers(("WWW-Authenticate" = String))),
        (status = 413, description = "The body is too large", body = OAuthErrorBody),
        (status = 415, description = "The body is not a form", body = OAuthErrorBody),
        (status = 429, description = "Too many failures", body = OAuthErrorBody, headers(("Retry-After" = u64))),
        (status = 500, description = "`server_error`", body = OAuthErrorBody)
    )
)]
async fn revoke(State(app): State<AppState>, request: Request) -> Result<Response, Refused> {
    let (from, headers) = (client_address::of_request(&app, &request), request.headers().clone());
    let form = Form::read(request).await?;
    let token = form.secret("token").ok_or_else(|| Refused::invalid("token is missing"))?;
    let who = credentials(&headers, &form)?;
    let client = who.client_id.clone();
    let done = limited(&app, from, &client, async {
        app.block(move |brain| brain.access.revoke(&who, &token)).await??;
        dispatch::set_caller(&client);
        Ok(())
    });
    done.await?;
    Ok(uncached(StatusCode::OK, ()))
}

/// Does `work` for `client`, and counts it when it fails: clients, secrets, codes and refresh tokens
/// that are wrong. Too many of them are told to wait; what is right is never refused for them.
async fn limited<T>(
    app: &AppState,
    from: IpAddr,
    client: &str,
    work: impl Future<Output = Result<T, Refused>>,
) -> Result<T, Refused> {
    let result = work.await;
    if result.as_ref().is_err_and(Refused::is_a_wrong_guess) {
        let (failures, now) = (&app.failures, app.brain.now());
        failures.addresses.count(from, "", now).map_err(Refused::too_often)?;
        failures.tokens.count(from, client, now).map_err(Refused::too_often)?;
    }
    result
}
