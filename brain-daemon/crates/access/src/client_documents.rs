//! Clients that name themselves by the address of a document about them (Client ID Metadata ClientDocuments,
//! draft-ietf-oauth-client-id-metadata-document), and of whose document brain has no copy: it is fetched.
//!
//! Anybody may send us to any address with that, without being let in. So the way there is narrow (`net`), what came is kept for a
//! while, also when it was wrong, and there is a limit for each host and one for all: nobody makes a hammer of us. What a document
//! says of its client is the client's own word; what identifies it is the host of its address.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brain_protocol::GrantType;
use lru::LruCache;
use serde::Deserialize;
use serde_json::Value;

use crate::{OAuthError, OAuthFault, redirect_uri, validate};
use brain_net::{self as net, Error as NetError, HttpClient};

/// ClientDocuments that are kept; beyond, the one that was not asked for longest is forgotten.
const KEPT: NonZeroUsize = NonZeroUsize::new(200).unwrap();
/// How long one is kept at most, and when it does not say, in milliseconds.
const LONGEST: i64 = 24 * 60 * 60 * 1000;
/// How long one is kept at least, whatever it says: the owner decides about what was shown.
const SHORTEST: i64 = 5 * 60 * 1000;
/// How long it is remembered that one could not be had.
const FAILED: i64 = 60 * 1000;
/// The span of time in which fetches are counted.
const SPAN: i64 = 60 * 1000;
/// Fetches from one host in that time.
const OF_ONE_HOST: usize = 5;
/// Fetches in all in that time.
const IN_ALL: usize = 20;
/// Redirect addresses that are looked at in one document.
const MOST_ADDRESSES: usize = 50;

/// What a client says of itself, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientMetadata {
    /// What it is called.
    pub(crate) name: String,
    /// Where a browser may be sent back to; at least one.
    pub(crate) redirect_uris: Vec<String>,
    /// How it may come to a token.
    pub(crate) grant_types: Vec<GrantType>,
}

/// Fetches documents, and keeps them for a while.
pub(crate) struct ClientDocuments {
    net: Arc<dyn HttpClient>,
    memory: Mutex<Memory>,
}

struct Memory {
    kept: LruCache<String, Kept>,
    /// When something was fetched in the last minute, and from which host.
    fetched: VecDeque<(i64, String)>,
}

/// What is known of a document.
struct Kept {
    until: i64,
    found: Result<ClientMetadata, &'static str>,
}

/// Whether an id is meant as the address of a document; ours are not.
pub(crate) fn is_address(id: &str) -> bool {
    id.starts_with("https://") || id.starts_with("http://")
}

/// Whether it could be one: it has a path, which is not just `/` (section 3 of the draft). All else is for `net` to say.
fn has_path(id: &str) -> bool {
    let rest = id.split_once("://").map_or("", |(_, rest)| rest);
    rest.split_once('/').is_some_and(|(_, path)| !path.is_empty())
}

impl ClientDocuments {
    /// Fetches by way of `net`.
    pub(crate) fn new(net: Arc<dyn HttpClient>) -> Self {
        let memory = Memory { kept: LruCache::new(KEPT), fetched: VecDeque::new() };
        Self { net, memory: Mutex::new(memory) }
    }

    /// What the client with this id says of itself. May block for as long as a fetch takes: never while others wait for a lock.
    ///
    /// # Errors
    /// `invalid_client` with what keeps it from being one. Nothing of what is inside of this network shows in it.
    pub(crate) fn introduced(&self, id: &str, now: i64) -> Result<ClientMetadata, OAuthFault> {
        let refuse = |why: &str| OAuthFault::new(OAuthError::InvalidClient, why);
        // Neither kept nor counted: nothing comes of it.
        if !has_path(id) || net::check_document_address(id).is_err() {
            return Err(refuse(ADDRESS));
        }
        {
            let mut memory = self.memory();
            if let Some(kept) = memory.kept.get(id).filter(|kept| now < kept.until) {
                return kept.found.clone().map_err(refuse);
            }
            memory.count(&redirect_uri::host(id), now).map_err(refuse)?;
        }
        let (found, lasts) = match self.net.document(id) {
            Ok(document) => match read(id, &document.body) {
                Ok(client) => {
                    let said = document.max_age.map_or(LONGEST, |fresh| {
                        i64::try_from(fresh.as_millis()).unwrap_or(LONGEST)
                    });
                    (Ok(client), said.clamp(SHORTEST, LONGEST))
                }
                Err(why) => (Err(why), FAILED),
            },
            Err(trouble) => (Err(unread(&trouble)), FAILED),
        };
        if let Err(why) = &found {
            tracing::info!(client = validate::shown(id), why, "a client's document is none");
        }
        self.memory().kept.put(id.to_owned(), Kept { until: now + lasts, found: found.clone() });
        found.map_err(refuse)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// Counts a fetch from this host.
    fn count(&mut self, host: &str, now: i64) -> Result<(), &'static str> {
        while self.fetched.front().is_some_and(|(at, _)| *at + SPAN <= now) {
            self.fetched.pop_front();
        }
        let of_host = self.fetched.iter().filter(|(_, other)| other == host).count();
        if of_host >= OF_ONE_HOST || self.fetched.len() >= IN_ALL {
            return Err("too many documents of clients were asked for; try again in a minute");
        }
        self.fetched.push_back((now, host.to_owned()));
        Ok(())
    }
}

/// What the person is told of an address that is not fetched.
const ADDRESS: &str = "the client names itself by an address that brain does not fetch: it must be a plain https:// address with a path \
                       at a public host, without a port";

/// What the person is told of a document that could not be had. A name that leads inside of this network looks like one that does
/// not exist.
fn unread(trouble: &NetError) -> &'static str {
    match trouble {
        NetError::InvalidAddress(_) => ADDRESS,
        NetError::NameNotFound(_) | NetError::NotPublic => {
            "the client's document cannot be fetched: its host has no public address"
        }
        NetError::Tls(_) => {
            "the client's document cannot be fetched: its host cannot be verified (TLS)"
        }
        NetError::TooLarge(_) => "the client's document is larger than 64 KiB",
        NetError::NotJson => "the client's document is not JSON (application/json)",
        NetError::Status(300..=399) => {
            "the client's document is elsewhere, and brain does not follow"
        }
        NetError::Status(_) => {
            "the client's document cannot be fetched: its host refuses it. Register the client yourself: brain clients register"
        }
        NetError::Timeout(_) | NetError::ConnectTimeout => {
            "the client's document cannot be fetched: its host does not answer within 5 seconds"
        }
        NetError::ConnectionRefused
        | NetError::Unreachable(_)
        | NetError::ConnectionBroken(_)
        | NetError::Setup(_) => {
            "the client's document cannot be fetched: its host cannot be reached"
        }
    }
}

/// A document as it is written (RFC 7591 section 2); what is not here does not matter. Values are looked at one by one: an odd one of a
/// field that brain can do without must not spoil the rest.
#[derive(Deserialize)]
struct Written {
    client_id: Option<Value>,
    client_name: Option<Value>,
    redirect_uris: Option<Value>,
    grant_types: Option<Value>,
    token_endpoint_auth_method: Option<Value>,
    token_endpoint_auth_methods_supported: Option<Value>,
    client_secret: Option<Value>,
}

/// What the document at `id` says.
///
/// # Errors
/// Why that is no client.
fn read(id: &str, body: &[u8]) -> Result<ClientMetadata, &'static str> {
    let written: Written =
        serde_json::from_slice(body).map_err(|_| "the client's document is not a JSON object")?;
    let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    if text(&written.client_id).as_deref() != Some(id) {
        return Err(
            "the client's document is about another client: its client_id is not its own address",
        );
    }
    if written.client_secret.is_some_and(|secret| !secret.is_null()) {
        return Err("the client's document has a client_secret, which everybody can read");
    }
    let name = text(&written.client_name).ok_or("the client's document has no client_name")?;
    let name = validate::name(&name).map_err(
        |_| "the client_name in the client's document is not 1 to 120 visible characters",
    )?;
    let redirect_uris: Vec<String> = texts(&written.redirect_uris)
        .into_iter()
        .take(MOST_ADDRESSES)
        .filter(|uri| redirect_uri::check(uri).is_ok())
        .collect();
    if redirect_uris.is_empty() {
        return Err(
            "no redirect address in the client's document can be used: it needs one with https://, or with http:// and \
                    this machine's name",
        );
    }
    let mut methods = texts(&written.token_endpoint_auth_method);
    methods.extend(texts(&written.token_endpoint_auth_methods_supported));
    methods.sort();
    methods.dedup();
    if methods == ["private_key_jwt"] {
        return Err(
            "the client wants to show who it is by a key of its own (private_key_jwt), which brain does not support. \
                    Register it yourself: brain clients register",
        );
    }
    let named = texts(&written.grant_types);
    let open = [GrantType::AuthorizationCode, GrantType::RefreshToken];
    let wanted =
        |kind: &GrantType| named.is_empty() || named.iter().any(|name| name == kind.as_str());
    let grant_types: Vec<GrantType> = open.into_iter().filter(wanted).collect();
    if !grant_types.contains(&GrantType::AuthorizationCode) {
        return Err("the client's document does not name the grant type authorization_code");
    }
    Ok(ClientMetadata { name, redirect_uris, grant_types })
}

/// The texts of a list, or the one text; anything else is left out.
fn texts(value: &Option<Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(all)) => {
            all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "https://app.example/client.json";

    fn document() -> Value {
        json!({
            "client_id": ID, "client_name": "An app", "redirect_uris": ["https://app.example/cb"],
            "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"], "client_uri": "https://app.example", "logo_uri": 7,
        })
    }

    fn with(name: &str, value: Value) -> Result<ClientMetadata, &'static str> {
        let mut document = document();
        document[name] = value;
        read(ID, document.to_string().as_bytes())
    }

    #[test]
    fn a_document_says_who_its_client_is() {
        let client = read(ID, document().to_string().as_bytes()).unwrap();
        assert_eq!(
            (client.name.as_str(), client.redirect_uris.as_slice()),
            ("An app", &["https://app.example/cb".into()][..])
        );
        assert_eq!(client.grant_types, [GrantType::AuthorizationCode, GrantType::RefreshToken]);
        for method in
            [json!(null), json!("client_secret_post"), json!(["private_key_jwt", "none"]), json!(7)]
        {
            assert!(with("token_endpoint_auth_method", method.clone()).is_ok(), "{method}");
        }
        let more = json!(["urn:ietf:params:oauth:grant-type:jwt-bearer", "authorization_code", 7]);
        assert_eq!(with("grant_types", more).unwrap().grant_types, [GrantType::AuthorizationCode]);
        assert_eq!(with("grant_types", json!(null)).unwrap().grant_types.len(), 2);
    }

    #[test]
    fn one_odd_redirect_address_does_not_spoil_the_rest() {
        let odd = json!([
            "cursor://x/cb",
            "javascript:alert(1)",
            "http://evil.example/",
            7,
            "https://a.example/#x",
            "http://127.0.0.1/cb"
        ]);
        assert_eq!(with("redirect_uris", odd).unwrap().redirect_uris, ["http://127.0.0.1/cb"]);
        for none in [json!([]), json!(["cursor://x/cb"]), json!(7), json!(null), json!({})] {
            assert!(
                with("redirect_uris", none.clone()).unwrap_err().contains("redirect"),
                "{none}"
            );
        }
    }

    #[test]
    fn a_document_of_something_else_is_refused() {
        for id in [
            json!("https://app.example/client.json/"),
            json!("https://APP.example/client.json"),
            json!(null),
            json!(7),
        ] {
            assert!(with("client_id", id.clone()).unwrap_err().contains("another client"), "{id}");
        }
        let long = "x".repeat(121);
        for name in [
            json!(""),
            json!("a\u{202e}b"),
            json!("a\nb"),
            json!("\u{1b}[2J"),
            json!(long),
            json!(null),
            json!(["a"]),
        ] {
            assert!(
                with("client_name", name.clone()).unwrap_err().contains("client_name"),
                "{name}"
            );
        }
        let key = with("token_endpoint_auth_method", json!("private_key_jwt")).unwrap_err();
        assert!(key.contains("private_key_jwt") && key.contains("not support"), "{key}");
        assert!(with("client_secret", json!("hush")).is_err());
        assert!(with("grant_types", json!(["client_credentials"])).is_err());
        let twice =
            format!("{{\"client_id\":\"https://evil.example/c\",{}", &document().to_string()[1..]);
        for body in ["", "[]", "\"x\"", "<html>", "{", "null", twice.as_str()] {
            assert!(read(ID, body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn an_address_has_a_path() {
        assert!(is_address(ID) && has_path(ID) && !is_address("brain_cl_x"));
        for id in ["https://app.example", "https://app.example/", "https://"] {
            assert!(is_address(id) && !has_path(id), "{id}");
        }
    }
}
