//! Gets a token for the test: the caller's, one for a client's secret, or a temporary one.
//!
//! A temporary token is revoked after the test. If that fails, it expires after ten minutes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::{Command, Credentials, Hint, Scope, Secret, TokenCreate, TokenRevoke, hint};
use serde_json::Value;
use url::Url;

use super::discover::Issuer;
use super::explain::{
    clean_text, explain_foreign_answer, explain_unexpected_answer, json_error_code, redact_secret,
};
use super::{StepFailure, StepResult, Target, fail, pass};
use crate::ConnectService;
use brain_access::Access;
use brain_base::random;
use brain_net::{HttpRequest, HttpResponse};

/// Lifetime of a temporary token in seconds, in case it cannot be revoked.
const LIFETIME_SECONDS: u64 = 10 * 60;

/// A token for the endpoint.
pub(super) struct BearerToken<'a> {
    /// The value of the header `Authorization`.
    pub(super) header: Secret,
    /// What to do if the endpoint rejects it.
    pub(super) rejection_hint: Hint,
    /// Revokes a temporary token when dropped.
    _temporary: Option<TemporaryToken<'a>>,
}

impl BearerToken<'_> {
    fn new(token: &str, rejection_hint: impl Into<Hint>) -> Self {
        let header = Secret::new(format!("Bearer {token}"));
        Self { header, rejection_hint: rejection_hint.into(), _temporary: None }
    }
}

/// A temporary token; revoked when dropped.
struct TemporaryToken<'a> {
    access: &'a Access,
    id: String,
}

impl Drop for TemporaryToken<'_> {
    fn drop(&mut self) {
        if let Err(fault) = self.access.token_revoke(&TokenRevoke { token: self.id.clone() }) {
            tracing::warn!(%fault, token = self.id, "cannot revoke the token of a connect test; it \
                                        expires in ten minutes");
        }
    }
}

impl ConnectService {
    /// Gets a token for the endpoint by the caller's credentials.
    pub(super) fn authorize(
        &self,
        target: &Target<'_>,
        server: &Issuer,
        credentials: &Credentials,
    ) -> StepResult<BearerToken<'_>> {
        match credentials {
            Credentials::Token(token) => {
                let hint = hint!(
                    "it has expired, was revoked, or is for another brain: {}",
                    Command::TokenCreate { name: None, scope: Some("read".into()) }
                );
                pass(BearerToken::new(token.expose(), hint), "with the given token")
            }
            Credentials::Client { id, secret } => request_token(target, server, id, secret),
            Credentials::Own => self.create_token(target, server),
        }
    }

    /// Creates a temporary token with the scope `read`. Fails unless endpoint and authorization
    /// server are this brain's own, because no other server may see the token.
    fn create_token(&self, target: &Target<'_>, server: &Issuer) -> StepResult<BearerToken<'_>> {
        if server.issuer != target.issuer || !self.access.is_our_resource(target.url.as_str()) {
            return fail(
                "this endpoint is not this brain's own, so no token is created for it",
                "give a token in the variable BRAIN_TOKEN, or a client: --client-id ID \
                 --secret-file FILE",
            );
        }
        let store_failure = |message: String| {
            StepFailure::new(message, hint!("check the store with {}", Command::Doctor))
        };
        let suffix =
            random::text::<6>(&*self.random).map_err(|error| store_failure(error.to_string()))?;
        let request = TokenCreate {
            name: format!("connect-test {suffix}"),
            scopes: Scope::Read.into(),
            sources: Vec::new(),
            expires_in: Some(LIFETIME_SECONDS),
        };
        let created =
            self.access.token_create(&request).map_err(|fault| store_failure(fault.message))?;
        let temporary = TemporaryToken { access: &self.access, id: created.info.id };
        let hint = "this brain rejects its own new token: does the address lead to another brain?";
        let token = BearerToken {
            _temporary: Some(temporary),
            ..BearerToken::new(created.token.expose(), hint)
        };
        pass(token, "with a read token for this test, which is revoked afterwards")
    }
}

/// Requests a token with a client's secret (RFC 6749 section 4.4), for this resource (RFC 8707).
fn request_token<'a>(
    target: &Target<'_>,
    server: &Issuer,
    id: &str,
    secret: &Secret,
) -> StepResult<BearerToken<'a>> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials").append_pair("resource", &target.url_text);
    if server.lists_read_scope {
        form.append_pair("scope", "read");
    }
    let basic = if server.supports_basic {
        // Each part is form-encoded (RFC 6749 section 2.3.1).
        let encoded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let joined = format!("{}:{}", encoded(id), encoded(secret.expose()));
        Some(Secret::new(format!("Basic {}", STANDARD.encode(joined))))
    } else {
        form.append_pair("client_id", id).append_pair("client_secret", secret.expose());
        None
    };
    let form = form.finish();
    let answer = target.call(&HttpRequest {
        body: Some(form.as_bytes()),
        headers: &[
            ("content-type", "application/x-www-form-urlencoded"),
            ("accept", "application/json"),
        ],
        authorization: basic.as_ref(),
        ..target.get(&server.token_endpoint)
    })?;
    if answer.status != 200 {
        let answer = redact_secret(answer, secret.expose());
        return Err(explain_refusal(target, &server.token_endpoint, &answer));
    }
    let reply: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let token_type = reply["token_type"].as_str().unwrap_or_default();
    let Some(token) =
        reply["access_token"].as_str().filter(|_| token_type.eq_ignore_ascii_case("bearer"))
    else {
        return fail(
            "the token endpoint answers 200 without a bearer token",
            "clients need access_token, and token_type Bearer: check the server at this address",
        );
    };
    let scope = reply["scope"]
        .as_str()
        .map_or_else(String::new, |scope| format!(", for {}", clean_text(scope, 60)));
    let hint = "the endpoint rejects a token of its authorization server: do both belong to the \
                same brain?";
    pass(BearerToken::new(token, hint), format!("with the client's secret{scope}"))
}

/// Explains why the token endpoint at `url` gave no token.
fn explain_refusal(target: &Target<'_>, url: &Url, answer: &HttpResponse) -> StepFailure {
    let hint: Hint = match json_error_code(answer).as_str() {
        "invalid_client" => {
            hint!("id or secret is wrong, or the client was revoked: {}", Command::ClientsListAll)
        }
        "invalid_target" => {
            "the server does not accept this address as its own: set http.base_url to it".into()
        }
        "unauthorized_client" | "unsupported_grant_type" => {
            "this client needs the owner's consent: give a token, or register a client with a \
             secret"
                .into()
        }
        "invalid_scope" => {
            hint!(
                "the client is not granted `read`: {}",
                Command::ClientsUpdate { client: None, scope: Some("read".into()) }
            )
        }
        "forbidden_host" => "set http.base_url to the public address".into(),
        _ => match explain_foreign_answer(target, answer) {
            Some(failure) => return failure,
            None => "check the proxies in front of the server, and the daemon's log".into(),
        },
    };
    explain_unexpected_answer(answer, hint).with_context(&clean_text(url.as_str(), 120))
}
