//! Fetches client metadata documents (Client ID Metadata Documents,
//! draft-ietf-oauth-client-id-metadata-document).
//!
//! The id of a client can be the address of a document that describes the client. Anyone can cause
//! a fetch without authentication, so addresses are restricted (`net`), results and failures are
//! cached, and fetches are limited by host and in total. The content of a document is untrusted;
//! only the host of its address identifies the client.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use brain_protocol::{Command, GrantType};
use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::Value;

use crate::{OAuthError, OAuthFault, redirect_uri, validate};
use brain_net::{self as net, Error as NetError, HttpClient};

/// The number of cached documents. The least recently used one is removed.
const MAX_CACHED: NonZeroUsize = NonZeroUsize::new(200).unwrap();
/// The maximum and default cache time, in milliseconds.
const MAX_AGE_MS: i64 = 24 * 60 * 60 * 1000;
/// The minimum cache time in milliseconds, so that a document does not change between the consent
/// page and the decision.
const MIN_AGE_MS: i64 = 5 * 60 * 1000;
/// The cache time of a failure, in milliseconds.
const FAILURE_AGE_MS: i64 = 60 * 1000;
/// The window in which fetches are counted, in milliseconds.
const WINDOW_MS: i64 = 60 * 1000;
/// Maximum number of fetches from one host in the window.
const MAX_FETCHES_PER_HOST: usize = 5;
/// Maximum number of fetches from all hosts in the window.
const MAX_FETCHES: usize = 20;
/// Maximum number of redirect addresses that are read from one document.
const MAX_REDIRECT_URIS: usize = 50;

/// The validated content of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentMetadata {
    pub(crate) name: String,
    /// The addresses to which a browser may be redirected; at least one.
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) grant_types: Vec<GrantType>,
}

/// Fetches and caches documents.
pub(crate) struct DocumentFetcher {
    net: Arc<dyn HttpClient>,
    cache: Mutex<Cache>,
}

struct Cache {
    documents: LruCache<String, CachedDocument>,
    /// Time and host of the fetches in the window.
    fetches: VecDeque<(i64, String)>,
}

/// A document, or the reason why there is none.
struct CachedDocument {
    expires_at: i64,
    result: Result<DocumentMetadata, String>,
}

/// Returns whether a client id is an address. Ids that brain assigns are not.
pub(crate) fn is_address(id: &str) -> bool {
    id.starts_with("https://") || id.starts_with("http://")
}

/// Returns whether an address has a path other than `/` (section 3 of the draft). `net` checks the
/// rest.
fn has_path(id: &str) -> bool {
    let rest = id.split_once("://").map_or("", |(_, rest)| rest);
    rest.split_once('/').is_some_and(|(_, path)| !path.is_empty())
}

impl DocumentFetcher {
    /// Creates an empty cache that fetches with `net`.
    pub(crate) fn new(net: Arc<dyn HttpClient>) -> Self {
        let cache = Cache { documents: LruCache::new(MAX_CACHED), fetches: VecDeque::new() };
        Self { net, cache: Mutex::new(cache) }
    }

    /// Returns the metadata of the client with this id. Blocks during a fetch, so no lock may be
    /// held.
    ///
    /// # Errors
    /// `invalid_client` with the reason, which reveals nothing about the local network.
    pub(crate) fn metadata(&self, id: &str, now: i64) -> Result<DocumentMetadata, OAuthFault> {
        let refuse = |reason: String| OAuthFault::new(OAuthError::InvalidClient, reason);
        // An invalid address is neither cached nor counted, because nothing is fetched.
        if !has_path(id) || net::check_document_address(id).is_err() {
            return Err(refuse(INVALID_ADDRESS.into()));
        }
        {
            let mut cache = self.cache();
            if let Some(cached) = cache.documents.get(id).filter(|cached| now < cached.expires_at) {
                return cached.result.clone().map_err(refuse);
            }
            cache.count_fetch(&redirect_uri::host(id), now).map_err(refuse)?;
        }
        let (result, max_age) = match self.fetch(id) {
            Ok((metadata, max_age)) => (Ok(metadata), max_age),
            Err(reason) => (Err(reason), FAILURE_AGE_MS),
        };
        if let Err(reason) = &result {
            tracing::info!(client = validate::printable(id), reason, "client document refused");
        }
        let cached = CachedDocument { expires_at: now + max_age, result: result.clone() };
        self.cache().documents.put(id.to_owned(), cached);
        result.map_err(refuse)
    }

    /// Fetches a document. Returns its content, and its cache time in milliseconds.
    fn fetch(&self, id: &str) -> Result<(DocumentMetadata, i64), String> {
        let document = self.net.document(id).map_err(|error| fetch_error(&error))?;
        let metadata = parse(id, &document.body)?;
        let max_age = document
            .max_age
            .map_or(MAX_AGE_MS, |age| i64::try_from(age.as_millis()).unwrap_or(MAX_AGE_MS));
        Ok((metadata, max_age.clamp(MIN_AGE_MS, MAX_AGE_MS)))
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock()
    }
}

impl Cache {
    /// Counts a fetch from this host.
    ///
    /// # Errors
    /// The message for the user when a limit is reached.
    fn count_fetch(&mut self, host: &str, now: i64) -> Result<(), String> {
        while self.fetches.front().is_some_and(|(at, _)| *at + WINDOW_MS <= now) {
            self.fetches.pop_front();
        }
        let from_host = self.fetches.iter().filter(|(_, other)| other == host).count();
        if from_host >= MAX_FETCHES_PER_HOST || self.fetches.len() >= MAX_FETCHES {
            return Err("too many client documents were requested; try again in a minute".into());
        }
        self.fetches.push_back((now, host.to_owned()));
        Ok(())
    }
}

/// The message for an address that is not fetched.
const INVALID_ADDRESS: &str = "the client's id is an address that brain does not fetch: it \
                               must be a plain https:// address with a path at a public host, \
                               without a port";

/// Returns the message for a failed fetch. A host in the local network looks like one that does not
/// exist.
fn fetch_error(error: &NetError) -> String {
    match error {
        NetError::InvalidAddress(_) => INVALID_ADDRESS.into(),
        NetError::NameNotFound(_) | NetError::NotPublic => {
            "the client's document cannot be fetched: its host has no public address".into()
        }
        NetError::Tls(_) => {
            "the client's document cannot be fetched: its host cannot be verified (TLS)".into()
        }
        NetError::TooLarge(_) => "the client's document is larger than 64 KiB".into(),
        NetError::NotJson => "the client's document is not JSON (application/json)".into(),
        NetError::Status(300..=399) => {
            "the client's document has moved, and brain does not follow redirects".into()
        }
        NetError::Status(_) => {
            format!(
                "the client's document cannot be fetched: its host refuses it. Register the client \
                 yourself: {}",
                Command::ClientsRegister
            )
        }
        NetError::Timeout(_) | NetError::ConnectTimeout => {
            "the client's document cannot be fetched: its host does not answer within 5 seconds"
                .into()
        }
        NetError::ConnectionRefused
        | NetError::Unreachable(_)
        | NetError::ConnectionBroken(_)
        | NetError::Setup(_) => {
            "the client's document cannot be fetched: its host cannot be reached".into()
        }
    }
}

/// The fields of a document that are read (RFC 7591 section 2). Values of any type are accepted, so
/// that a malformed optional field does not invalidate the document.
#[derive(Deserialize)]
struct RawDocument {
    client_id: Option<Value>,
    client_name: Option<Value>,
    redirect_uris: Option<Value>,
    grant_types: Option<Value>,
    token_endpoint_auth_method: Option<Value>,
    token_endpoint_auth_methods_supported: Option<Value>,
    client_secret: Option<Value>,
}

/// Parses the document at `id`.
///
/// # Errors
/// The message for the user if the document does not describe a client that brain can use.
fn parse(id: &str, body: &[u8]) -> Result<DocumentMetadata, String> {
    let raw: RawDocument =
        serde_json::from_slice(body).map_err(|_| "the client's document is not a JSON object")?;
    let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    if text(&raw.client_id).as_deref() != Some(id) {
        return Err(
            "the client's document is about another client: its client_id is not its own address"
                .into(),
        );
    }
    if raw.client_secret.is_some_and(|secret| !secret.is_null()) {
        return Err("the client's document has a client_secret, which everybody can read".into());
    }
    let name = text(&raw.client_name).ok_or("the client's document has no client_name")?;
    let name = validate::valid_name(&name).map_err(
        |_| "the client_name in the client's document is not 1 to 120 visible characters",
    )?;
    let redirect_uris: Vec<String> = texts(&raw.redirect_uris)
        .into_iter()
        .take(MAX_REDIRECT_URIS)
        .filter(|uri| redirect_uri::check(uri).is_ok())
        .collect();
    if redirect_uris.is_empty() {
        return Err(
            "no redirect address in the client's document can be used: it needs one with https://, \
             or with http:// and localhost, 127.0.0.1 or [::1]"
                .into(),
        );
    }
    let mut methods = texts(&raw.token_endpoint_auth_method);
    methods.extend(texts(&raw.token_endpoint_auth_methods_supported));
    methods.sort();
    methods.dedup();
    if methods == ["private_key_jwt"] {
        return Err(format!(
            "the client authenticates with its own key (private_key_jwt), which brain does not \
             support. Register it yourself: {}",
            Command::ClientsRegister
        ));
    }
    let names = texts(&raw.grant_types);
    let allowed = [GrantType::AuthorizationCode, GrantType::RefreshToken];
    let is_named =
        |kind: &GrantType| names.is_empty() || names.iter().any(|name| name == kind.as_str());
    let grant_types: Vec<GrantType> = allowed.into_iter().filter(is_named).collect();
    if !grant_types.contains(&GrantType::AuthorizationCode) {
        return Err("the client's document does not name the grant type authorization_code".into());
    }
    Ok(DocumentMetadata { name, redirect_uris, grant_types })
}

/// Returns the strings of a list, or a single string. Ignores other values.
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
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"], "client_uri": "https://app.example", "logo_uri": 7,
        })
    }

    fn with(name: &str, value: Value) -> Result<DocumentMetadata, String> {
        let mut document = document();
        document[name] = value;
        parse(ID, document.to_string().as_bytes())
    }

    #[test]
    fn a_valid_document_is_parsed() {
        let client = parse(ID, document().to_string().as_bytes()).unwrap();
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
    fn invalid_redirect_addresses_are_ignored() {
        let uris = json!([
            "cursor://x/cb",
            "javascript:alert(1)",
            "http://evil.example/",
            7,
            "https://a.example/#x",
            "http://127.0.0.1/cb"
        ]);
        assert_eq!(with("redirect_uris", uris).unwrap().redirect_uris, ["http://127.0.0.1/cb"]);
        for unusable in [json!([]), json!(["cursor://x/cb"]), json!(7), json!(null), json!({})] {
            assert!(
                with("redirect_uris", unusable.clone()).unwrap_err().contains("redirect"),
                "{unusable}"
            );
        }
    }

    #[test]
    fn an_invalid_document_is_refused() {
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
            assert!(parse(ID, body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_document_address_has_a_path() {
        assert!(is_address(ID) && has_path(ID) && !is_address("brain_cl_x"));
        for id in ["https://app.example", "https://app.example/", "https://"] {
            assert!(is_address(id) && !has_path(id), "{id}");
        }
    }
}
