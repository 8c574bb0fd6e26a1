//! Gets a token for the test: the given one, one for a client's secret, or a temporary one.
//!
//! A temporary token is always revoked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::{Credentials, Scope, Secret, TokenCreate, TokenRevoke};
use serde_json::Value;
use url::Url;

use super::answer::{code, foreign, shown, troubled, unexpected, without};
use super::discover::Server;
use super::{Ended, Failed, Target, failed, passed};
use crate::ConnectService;
use brain_access::Access;
use brain_base::random;
use brain_net::{HttpRequest, HttpResponse};

/// Lifetime of a temporary token, in seconds, if it cannot be revoked.
const LIFE: u64 = 10 * 60;

/// Access to the endpoint.
pub(super) struct Pass<'a> {
    /// The value of `Authorization`.
    pub(super) bearer: Secret,
    /// What to do if it is rejected.
    pub(super) hint: &'static str,
    /// Revokes a temporary token when dropped.
    _loan: Option<Loan<'a>>,
}

impl Pass<'_> {
    fn of(token: &str, hint: &'static str) -> Self {
        Self { bearer: Secret::new(format!("Bearer {token}")), hint, _loan: None }
    }
}

/// A temporary token; revoked when dropped.
struct Loan<'a> {
    access: &'a Access,
    id: String,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if let Err(fault) = self.access.token_revoke(&TokenRevoke { token: self.id.clone() }) {
            tracing::warn!(%fault, token = self.id, "the token of a connect test lives on for ten minutes");
        }
    }
}

impl ConnectService {
    /// Gets access to the endpoint.
    pub(super) fn enter(
        &self,
        target: &Target<'_>,
        server: &Server,
        credentials: &Credentials,
    ) -> Ended<Pass<'_>> {
        match credentials {
            Credentials::Token(token) => {
                let hint = "it has expired, was revoked, or is for another brain: brain token create NAME --scope read";
                passed(Pass::of(token.expose(), hint), "by the token that was given")
            }
            Credentials::Client { id, secret } => by_secret(target, server, id, secret),
            Credentials::Own => self.lend(target, server),
        }
    }

    /// Creates a token with scope `read` if endpoint and authorization server are this brain's own.
    /// No other server may see it.
    fn lend(&self, target: &Target<'_>, server: &Server) -> Ended<Pass<'_>> {
        if server.issuer != target.issuer || !self.access.is_our_resource(target.url.as_str()) {
            return failed(
                "this endpoint is not this brain's own, so it makes no token for it",
                "give a token in the variable BRAIN_TOKEN, or a client: --client-id ID --secret-file FILE",
            );
        }
        let denied = |why: String| Failed {
            message: why,
            hint: "`brain doctor` looks after the store".into(),
        };
        let suffix =
            random::text::<6>(&*self.env.random).map_err(|error| denied(error.to_string()))?;
        let wish = TokenCreate {
            name: format!("connect-test {suffix}"),
            scopes: Scope::Read.into(),
            sources: Vec::new(),
            expires_in: Some(LIFE),
        };
        let made = self.access.token_create(&wish).map_err(|fault| denied(fault.message))?;
        let loan = Loan { access: &self.access, id: made.info.id };
        let hint = "this brain refuses a token that it has just made: is another brain behind this address?";
        let pass = Pass { _loan: Some(loan), ..Pass::of(made.token.expose(), hint) };
        passed(pass, "by a token for reading, made for this test and taken back after it")
    }
}

/// Requests a token with a client's secret (RFC 6749 section 4.4), for this resource (RFC 8707).
fn by_secret<'a>(
    target: &Target<'_>,
    server: &Server,
    id: &str,
    secret: &Secret,
) -> Ended<Pass<'a>> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials").append_pair("resource", &target.typed);
    if server.reads {
        form.append_pair("scope", "read");
    }
    let basic = if server.basic {
        // Each part is form-encoded (RFC 6749 section 2.3.1).
        let part =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let joined = format!("{}:{}", part(id), part(secret.expose()));
        Some(Secret::new(format!("Basic {}", STANDARD.encode(joined))))
    } else {
        form.append_pair("client_id", id).append_pair("client_secret", secret.expose());
        None
    };
    let form = form.finish();
    let answer = target.net.call(&HttpRequest {
        url: &server.token,
        body: Some(form.as_bytes()),
        headers: &[
            ("content-type", "application/x-www-form-urlencoded"),
            ("accept", "application/json"),
        ],
        authorization: basic.as_ref(),
        public: target.is_strange(&server.token),
        is_complete: |_| false,
    });
    let answer = answer.map_err(|trouble| troubled(target, &trouble))?;
    if answer.status != 200 {
        return Err(refused(target, &server.token, &without(answer, secret.expose())));
    }
    let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let kind = found["token_type"].as_str().unwrap_or_default();
    let Some(token) =
        found["access_token"].as_str().filter(|_| kind.eq_ignore_ascii_case("bearer"))
    else {
        return failed(
            "the token endpoint answers 200 without a bearer token",
            "clients need access_token, and token_type Bearer: look at who answers there",
        );
    };
    let scope = found["scope"]
        .as_str()
        .map_or_else(String::new, |scope| format!(", for {}", shown(scope, 60)));
    let hint = "the endpoint refuses what its authorization server gives out: do both belong to the same brain?";
    passed(Pass::of(token, hint), format!("by the client's secret{scope}"))
}

fn refused(target: &Target<'_>, url: &Url, answer: &HttpResponse) -> Failed {
    let hint = match code(answer).as_str() {
        "invalid_client" => {
            "id or secret is wrong, or the client was revoked: brain clients list --all"
        }
        "invalid_target" => {
            "the server does not know this address as its own: set http.base_url to it"
        }
        "unauthorized_client" | "unsupported_grant_type" => {
            "this client comes by consent only: give a token, or register one with a secret"
        }
        "invalid_scope" => {
            "the client is not granted `read`: brain clients update NAME --scope read"
        }
        "forbidden_host" => "tell brain its public address: http.base_url",
        _ => match foreign(target, answer) {
            Some(failed) => return failed,
            None => "look at what stands between, and at the log of the daemon",
        },
    };
    let failed = unexpected(answer, hint);
    Failed { message: format!("{}: {}", shown(url.as_str(), 120), failed.message), ..failed }
}
