//! Discovery: from an endpoint to its authorization server.
//!
//! Connects, then reads the 401 challenge, the resource's metadata (RFC 9728) and the server's
//! metadata (RFC 8414).

use brain_protocol::{Command, hint};
use serde_json::{Value, json};
use url::Url;

use super::explain::{
    challenge_parameter, clean_text, explain_foreign_answer, explain_unexpected_answer,
    json_error_code,
};
use super::{StepFailure, StepResult, Target, fail, is_loopback, pass, warn};
use brain_net::{HttpRequest, HttpResponse};

/// The newest revision of MCP with a handshake.
const LEGACY: &str = "2025-11-25";

/// Returns the parameters of `initialize`.
pub(super) fn initialization() -> Value {
    json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client_info() })
}

/// Names this program to the endpoint.
pub(super) fn client_info() -> Value {
    json!({ "name": "brain connect test", "version": brain_protocol::VERSION })
}

/// The authorization server, as far as a client needs it.
pub(super) struct Issuer {
    /// The issuer.
    pub(super) issuer: String,
    /// The token endpoint.
    pub(super) token_endpoint: Url,
    /// Whether the server offers HTTP Basic for clients with a secret. A server without a list of
    /// methods offers it (RFC 8414 section 2).
    pub(super) supports_basic: bool,
    /// Whether the server lists the scope `read`.
    pub(super) lists_read_scope: bool,
}

/// Checks that the host answers. Warns if a remote host does not use TLS.
pub(super) fn reach(target: &Target<'_>) -> StepResult<()> {
    let answer = target.call(&HttpRequest {
        headers: &[("accept", "text/event-stream")],
        // Only the response head matters.
        is_complete: |_| true,
        ..target.get(&target.url)
    })?;
    let host = target.url.host_str().unwrap_or_default();
    let from = answer.server_address.map_or_else(String::new, |address| format!(" at {address}"));
    if target.url.scheme() == "https" {
        return pass((), format!("{host} answers{from}; its certificate is valid"));
    }
    let message = format!("{host} answers{from}, without encryption");
    match target.is_local() {
        true => pass((), message),
        false => warn(
            (),
            message,
            "others can read tokens in transit, and hosted clients accept https only: use a tunnel",
        ),
    }
}

/// Checks that a request without a token is challenged. Returns the URL of the resource metadata.
pub(super) fn challenge(target: &Target<'_>) -> StepResult<Url> {
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialization(),
    })
    .to_string();
    let answer = target.call(&HttpRequest {
        body: Some(initialize.as_bytes()),
        headers: &[
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ],
        is_complete: |answer| answer.media_type() == "text/event-stream",
        ..target.get(&target.url)
    })?;
    let origin = target.origin();
    if answer.status != 401 {
        return Err(explain_missing_challenge(target, &answer));
    }
    let Some(metadata) = challenge_parameter(&answer, "resource_metadata") else {
        return fail(
            "it answers 401 without `WWW-Authenticate: Bearer`",
            "this is not an MCP endpoint, or a proxy removes that header: check the tunnel's rules \
             for headers",
        );
    };
    if metadata.is_empty() {
        return fail(
            "its 401 does not say where its metadata are (no resource_metadata)",
            "a proxy changes WWW-Authenticate, or a login page of the tunnel answers: exempt \
             /mcp from the login",
        );
    }
    let url = match Url::parse(&metadata) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        _ => {
            return fail(
                format!(
                    "resource_metadata is not an absolute address: {}",
                    clean_text(&metadata, 120)
                ),
                "clients ignore it silently: it must begin with https://",
            );
        }
    };
    if is_loopback(&url) && !target.is_local() {
        return fail(
            format!("it directs clients to their own machine: {}", clean_text(url.as_str(), 120)),
            format!("set the public address: http.base_url = \"{origin}\""),
        );
    }
    let address = url.as_str().strip_prefix(&origin).unwrap_or(url.as_str());
    let message = format!("401, metadata at {}", clean_text(address, 160));
    pass(url, message)
}

/// Explains why a request without a token got a status other than 401.
fn explain_missing_challenge(target: &Target<'_>, answer: &HttpResponse) -> StepFailure {
    let origin = target.origin();
    if json_error_code(answer) == "forbidden_host" {
        let hint = format!(
            "set the public address: http.base_url = \"{origin}\" (or add the name to \
             http.allowed_hosts)"
        );
        return explain_unexpected_answer(answer, hint);
    }
    if let Some(failure) = explain_foreign_answer(target, answer) {
        return failure;
    }
    match answer.status {
        200..=299 => StepFailure::new(
            format!("it answers {} without a token", answer.status),
            "anyone has access: this is not brain, or a proxy adds a token to every request",
        ),
        404 | 405 => {
            let hint = match target.url.path() {
                "/mcp" => {
                    "there is nothing at /mcp: check where the tunnel forwards to, and the version \
                     of brain"
                        .into()
                }
                _ => format!("the path of brain's endpoint is /mcp: {origin}/mcp"),
            };
            explain_unexpected_answer(answer, hint)
        }
        403 => explain_unexpected_answer(
            answer,
            "a proxy refuses it: check the tunnel's access rules and http.allowed_origins",
        ),
        429 => explain_unexpected_answer(
            answer,
            "too many attempts from this address: wait 15 minutes",
        ),
        _ => explain_unexpected_answer(
            answer,
            "clients expect 401 here: check what the tunnel forwards, and where to",
        ),
    }
}

/// Checks the metadata of the resource. Returns the first authorization server that it names.
pub(super) fn resource(target: &Target<'_>, metadata: &Url) -> StepResult<String> {
    let found = read_json(target, metadata)?;
    let resource = found["resource"].as_str().unwrap_or_default();
    let Some(&issuer) = texts(&found["authorization_servers"]).first() else {
        return fail(
            "it names no authorization server (authorization_servers)",
            "without one, clients cannot get a token",
        );
    };
    if is_same_url(resource, &target.url_text) {
        return pass(issuer.to_owned(), format!("tokens come from {}", clean_text(issuer, 120)));
    }
    let message = format!(
        "it calls itself {}, not {}",
        clean_text(resource, 120),
        clean_text(&target.url_text, 120)
    );
    let is_this_brain =
        target.is_local() && Url::parse(resource).is_ok_and(|url| !target.must_be_public(&url));
    if is_this_brain {
        let warning = format!(
            "this address works with a token, but clients that ask for consent need {}",
            clean_text(resource, 120)
        );
        return warn(issuer.to_owned(), message, warning);
    }
    let hint = match Url::parse(resource) {
        Ok(url) if url.host() == target.url.host() => {
            format!("use exactly this address: {}", clean_text(resource, 120))
        }
        _ => format!(
            "set the public address: http.base_url = \"{}\"; or use its own address",
            target.origin()
        ),
    };
    fail(message, hint)
}

/// Reads the metadata of the authorization server. Returns its address, too.
fn read_server_metadata(target: &Target<'_>, issuer: &str) -> Result<(Url, Value), StepFailure> {
    let Some(url) = Url::parse(issuer).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
    else {
        return Err(StepFailure::new(
            format!("the authorization server is not a web address: {}", clean_text(issuer, 120)),
            "it must begin with https://",
        ));
    };
    let found = read_json(target, &well_known(&url, url.path()))?;
    let stated_issuer = found["issuer"].as_str().unwrap_or_default();
    if stated_issuer != issuer {
        return Err(StepFailure::new(
            format!(
                "it calls itself {}, not {}",
                clean_text(stated_issuer, 120),
                clean_text(issuer, 120)
            ),
            "clients compare each character, including the final slash: set http.base_url to the \
             public address",
        ));
    }
    Ok((url, found))
}

/// Checks the metadata of the authorization server.
pub(super) fn server(target: &Target<'_>, issuer: &str) -> StepResult<Issuer> {
    let (url, found) = read_server_metadata(target, issuer)?;
    let listed = |name: &str| texts(&found[name]);
    if !listed("code_challenge_methods_supported").contains(&"S256") {
        return fail(
            "it does not offer PKCE with S256 (code_challenge_methods_supported)",
            "clients refuse a server without it",
        );
    }
    endpoint(&found, "authorization_endpoint")?;
    let token_endpoint = endpoint(&found, "token_endpoint")?;
    let methods = listed("token_endpoint_auth_methods_supported");
    let server = Issuer {
        issuer: issuer.to_owned(),
        token_endpoint,
        supports_basic: methods.is_empty() || methods.contains(&"client_secret_basic"),
        lists_read_scope: listed("scopes_supported").contains(&"read"),
    };
    let accepts_documents = found["client_id_metadata_document_supported"] == Value::Bool(true);
    let offers_registration = found["registration_endpoint"].is_string();
    let mut registrations = Vec::new();
    registrations.extend(accepts_documents.then_some("by metadata document"));
    registrations.extend(offers_registration.then_some("by dynamic registration"));
    registrations.push("by the owner's registration");
    let registrations = registrations.join(", ");
    let message = format!("{} accepts clients {registrations}", clean_text(issuer, 120));
    if accepts_documents && !methods.contains(&"none") {
        return warn(
            server,
            message,
            "it does not list the method `none` for the token endpoint, so Claude cannot use its \
             metadata document",
        );
    }
    if !accepts_documents && !offers_registration {
        let warning = hint!(
            "apps cannot register: use {} for each, or set http.dynamic_registration",
            Command::ClientsRegister
        );
        return warn(server, message, warning);
    }
    // Clients of MCP revision 2025-03-26 read the metadata with the endpoint's path as suffix.
    let suffixed = well_known(&url, target.url.path());
    if url.path() == "/" && target.url.path() != "/" && read_json(target, &suffixed).is_err() {
        let warning = format!(
            "some clients read this metadata at {}: let the tunnel pass it",
            clean_text(suffixed.as_str(), 160)
        );
        return warn(server, message, warning);
    }
    pass(server, message)
}

/// Returns the metadata URL of a server: the well-known name precedes `path` (RFC 8414 section
/// 3.1).
fn well_known(issuer: &Url, path: &str) -> Url {
    let mut url = issuer.clone();
    url.set_path(&format!("/.well-known/oauth-authorization-server{}", path.trim_end_matches('/')));
    url.set_query(None);
    url
}

/// Returns an endpoint that the metadata names. Its URL must be `https`, or lead to this machine.
fn endpoint(found: &Value, name: &str) -> Result<Url, StepFailure> {
    let text = found[name].as_str().unwrap_or_default();
    let url = Url::parse(text)
        .ok()
        .filter(|url| url.scheme() == "https" || url.scheme() == "http" && is_loopback(url));
    url.ok_or_else(|| {
        StepFailure::new(
            format!("{name} is not an https address: \"{}\"", clean_text(text, 120)),
            "clients send secrets there: set http.base_url to the public https address",
        )
    })
}

/// Returns the texts of a list; none if `value` is no list.
fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Reads the JSON object at `url`.
fn read_json(target: &Target<'_>, url: &Url) -> Result<Value, StepFailure> {
    let address = clean_text(url.as_str(), 160);
    let read = || {
        let answer = target.call(&target.get(url))?;
        if let Some(failure) = explain_foreign_answer(target, &answer) {
            return Err(failure);
        }
        if answer.status != 200 {
            let hint = "let the tunnel pass everything below /.well-known to 127.0.0.1:8765";
            return Err(explain_unexpected_answer(&answer, hint));
        }
        let found = serde_json::from_slice(&answer.body).ok().filter(Value::is_object);
        let hint = "a JSON object is expected: check where the tunnel forwards to";
        found.ok_or_else(|| explain_unexpected_answer(&answer, hint))
    };
    read().map_err(|failure: StepFailure| failure.with_context(&address))
}

/// Returns whether two URLs are equal. URLs without a path may differ by a trailing slash.
fn is_same_url(first: &str, second: &str) -> bool {
    let is_bare_host = |text: &str| Url::parse(text).is_ok_and(|url| url.path() == "/");
    first == second
        || is_bare_host(first)
            && is_bare_host(second)
            && first.trim_end_matches('/') == second.trim_end_matches('/')
}
