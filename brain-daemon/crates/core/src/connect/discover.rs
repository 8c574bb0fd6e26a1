//! Discovery: from an endpoint to its authorization server.
//!
//! Connects, reads the 401 challenge, the resource metadata (RFC 9728) and the server metadata (RFC
//! 8414).

use serde_json::{Value, json};
use url::Url;

use super::answer::{challenged, code, foreign, shown, troubled, unexpected};
use super::{Ended, Failed, Target, failed, is_loopback, passed, warned};
use brain_net::{HttpRequest, HttpResponse};

/// The authorization server, as far as a client needs it.
pub(super) struct Server {
    /// The issuer.
    pub(super) issuer: String,
    /// The token endpoint.
    pub(super) token: Url,
    /// Whether it offers HTTP Basic for clients with a secret. Without a list, it does (RFC 8414
    /// section 2).
    pub(super) basic: bool,
    /// Whether it lists the scope `read`.
    pub(super) reads: bool,
}

/// Checks that the host answers.
pub(super) fn reach(target: &Target<'_>) -> Ended<()> {
    let answer = target.net.call(&HttpRequest {
        url: &target.url,
        body: None,
        headers: &[("accept", "text/event-stream")],
        authorization: None,
        public: false,
        // Only the response head matters.
        is_complete: |_| true,
    });
    let answer = answer.map_err(|trouble| troubled(target, &trouble))?;
    let host = target.url.host_str().unwrap_or_default();
    let from = answer.from.map_or_else(String::new, |address| format!(" at {address}"));
    if target.url.scheme() == "https" {
        return passed((), format!("{host} answers{from}; its certificate is valid"));
    }
    let message = format!("{host} answers{from}, without encryption");
    match target.is_local() {
        true => passed((), message),
        false => warned(
            (),
            message,
            "tokens can be read on the way, and hosted clients take https only: use a tunnel",
        ),
    }
}

/// Checks the challenge of a request without a token. Returns the URL of the resource metadata.
pub(super) fn challenge(target: &Target<'_>) -> Ended<Url> {
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "brain connect test", "version": "1" } },
    })
    .to_string();
    let answer = target.net.call(&HttpRequest {
        url: &target.url,
        body: Some(hello.as_bytes()),
        headers: &[
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ],
        authorization: None,
        public: false,
        is_complete: |answer| answer.kind() == "text/event-stream",
    });
    let answer = answer.map_err(|trouble| troubled(target, &trouble))?;
    let origin = target.origin();
    if answer.status != 401 {
        return Err(unchallenged(target, &answer));
    }
    let Some(found) = challenged(&answer, "resource_metadata") else {
        return failed(
            "it answers 401 without `WWW-Authenticate: Bearer`",
            "this is no tool endpoint, or something on the way takes that field away: look at the tunnel's rules for headers",
        );
    };
    if found.is_empty() {
        return failed(
            "its 401 does not say where its metadata are (no resource_metadata)",
            "something on the way changes WWW-Authenticate, or a login of the tunnel answers: let /mcp pass without it",
        );
    }
    let url = match Url::parse(&found) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        _ => {
            return failed(
                format!("resource_metadata is not an absolute address: {}", shown(&found, 120)),
                "clients drop such a one silently: it must begin with https://",
            );
        }
    };
    if is_loopback(&url) && !target.is_local() {
        return failed(
            format!("it sends clients to their own machine: {}", shown(url.as_str(), 120)),
            format!("tell brain its public address: http.base_url = \"{origin}\""),
        );
    }
    let place = url.as_str().strip_prefix(&origin).unwrap_or(url.as_str());
    let message = format!("401, metadata at {}", shown(place, 160));
    passed(url, message)
}

fn unchallenged(target: &Target<'_>, answer: &HttpResponse) -> Failed {
    let origin = target.origin();
    if code(answer) == "forbidden_host" {
        let hint = format!(
            "tell brain its public address: http.base_url = \"{origin}\" (or add the name to http.allowed_hosts)"
        );
        return unexpected(answer, &hint);
    }
    if let Some(failed) = foreign(target, answer) {
        return failed;
    }
    match answer.status {
        200..=299 => Failed {
            message: format!("it answers {} to somebody without a token", answer.status),
            hint:
                "everybody may come in: it is no brain, or something on the way adds a token to every request"
                    .into(),
        },
        404 | 405 => {
            let hint = match target.url.path() {
                "/mcp" => {
                    "nothing is at /mcp there: look where the tunnel forwards to, and at the version of brain"
                        .into()
                }
                _ => format!("the path of brain's endpoint is /mcp: {origin}/mcp"),
            };
            unexpected(answer, &hint)
        }
        403 => unexpected(
            answer,
            "something before brain refuses: look at the tunnel's access rules, and at http.allowed_origins",
        ),
        429 => unexpected(answer, "too many tries from here; wait a quarter of an hour"),
        _ => unexpected(answer, "a client expects 401 here: look at what the tunnel forwards, and to whom"),
    }
}

/// Reads the resource metadata. Returns the issuer.
pub(super) fn resource(target: &Target<'_>, metadata: &Url) -> Ended<String> {
    let found = document(target, metadata)?;
    let resource = found["resource"].as_str().unwrap_or_default();
    let named: Vec<&str> = found["authorization_servers"]
        .as_array()
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(issuer) = named.first().copied() else {
        return failed(
            "it names no authorization server (authorization_servers)",
            "clients cannot ask anybody for a token",
        );
    };
    if same(resource, &target.typed) {
        return passed(
            issuer.to_owned(),
            format!("tokens are given out by {}", shown(issuer, 120)),
        );
    }
    let message =
        format!("it calls itself {}, not {}", shown(resource, 120), shown(&target.typed, 120));
    let here = target.is_local() && Url::parse(resource).is_ok_and(|url| !target.is_strange(&url));
    if here {
        let warning = format!(
            "with a token of your own this address works; clients that ask for consent want {}",
            shown(resource, 120)
        );
        return warned(issuer.to_owned(), message, warning);
    }
    let hint = match Url::parse(resource) {
        Ok(url) if url.host() == target.url.host() => {
            format!("type it exactly so: {}", shown(resource, 120))
        }
        _ => format!(
            "tell brain its public address: http.base_url = \"{}\"; or type the one it has",
            target.origin()
        ),
    };
    failed(message, hint)
}

/// Reads the metadata of the authorization server.
pub(super) fn server(target: &Target<'_>, issuer: &str) -> Ended<Server> {
    let Some(url) = Url::parse(issuer).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
    else {
        return failed(
            format!("the authorization server has no address: {}", shown(issuer, 120)),
            "it must begin with https://",
        );
    };
    let found = document(target, &well_known(&url, url.path()))?;
    let said = found["issuer"].as_str().unwrap_or_default();
    if said != issuer {
        return failed(
            format!("it calls itself {}, not {}", shown(said, 120), shown(issuer, 120)),
            "clients compare to the letter, also the slash at the end: set http.base_url to the one public address",
        );
    }
    let listed = |name: &str| -> Vec<&str> {
        found[name]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    };
    if !listed("code_challenge_methods_supported").contains(&"S256") {
        return failed(
            "it does not offer PKCE with S256 (code_challenge_methods_supported)",
            "clients refuse a server without it",
        );
    }
    endpoint(&found, "authorization_endpoint")?;
    let token = endpoint(&found, "token_endpoint")?;
    let methods = listed("token_endpoint_auth_methods_supported");
    let server = Server {
        issuer: issuer.to_owned(),
        token,
        basic: methods.is_empty() || methods.contains(&"client_secret_basic"),
        reads: listed("scopes_supported").contains(&"read"),
    };
    let documents = found["client_id_metadata_document_supported"] == Value::Bool(true);
    let open = found["registration_endpoint"].is_string();
    let mut ways = Vec::new();
    ways.extend(documents.then_some("by a document of their own"));
    ways.extend(open.then_some("by registering themselves"));
    ways.push("registered by the owner");
    let message = format!("{} takes clients {}", shown(issuer, 120), ways.join(", "));
    if documents && !methods.contains(&"none") {
        return warned(
            server,
            message,
            "it does not list the method `none` for the token endpoint: Claude does not come by its document then",
        );
    }
    if !documents && !open {
        let warning = "apps cannot introduce themselves: register each with `brain clients register`, or set http.dynamic_registration";
        return warned(server, message, warning);
    }
    // Clients of revision 2025-03-26 look here.
    let suffixed = well_known(&url, target.url.path());
    if url.path() == "/" && target.url.path() != "/" && document(target, &suffixed).is_err() {
        let warning = format!(
            "some clients look for the same at {}: let the tunnel pass it",
            shown(suffixed.as_str(), 160)
        );
        return warned(server, message, warning);
    }
    passed(server, message)
}

/// Returns the metadata URL of a server: the well-known name precedes its path (RFC 8414 section
/// 3.1).
fn well_known(issuer: &Url, path: &str) -> Url {
    let mut url = issuer.clone();
    url.set_path(&format!("/.well-known/oauth-authorization-server{}", path.trim_end_matches('/')));
    url.set_query(None);
    url
}

/// Returns an endpoint of the metadata. It must be `https` or local.
fn endpoint(found: &Value, name: &str) -> Result<Url, Failed> {
    let text = found[name].as_str().unwrap_or_default();
    let url = Url::parse(text)
        .ok()
        .filter(|url| url.scheme() == "https" || url.scheme() == "http" && is_loopback(url));
    url.ok_or_else(|| Failed {
        message: format!("{name} is not an https address: \"{}\"", shown(text, 120)),
        hint: "clients send secrets there: set http.base_url to the public https address".into(),
    })
}

/// Reads the JSON object at `url`.
fn document(target: &Target<'_>, url: &Url) -> Result<Value, Failed> {
    let place = shown(url.as_str(), 160);
    let at = |failed: Failed| Failed { message: format!("{place}: {}", failed.message), ..failed };
    let answer = target.get(url).map_err(|trouble| at(troubled(target, &trouble)))?;
    if let Some(failed) = foreign(target, &answer) {
        return Err(at(failed));
    }
    if answer.status != 200 {
        return Err(at(unexpected(
            &answer,
            "let the tunnel pass everything below /.well-known to 127.0.0.1:8765",
        )));
    }
    let found: Option<Value> = serde_json::from_slice(&answer.body).ok().filter(Value::is_object);
    found.ok_or_else(|| {
        at(unexpected(
            &answer,
            "a JSON object is expected there: look where the tunnel forwards to",
        ))
    })
}

/// Compares two URLs. A bare host may have a trailing slash.
fn same(one: &str, other: &str) -> bool {
    let alone = |text: &str| Url::parse(text).is_ok_and(|url| url.path() == "/");
    one == other
        || alone(one) && alone(other) && one.trim_end_matches('/') == other.trim_end_matches('/')
}
