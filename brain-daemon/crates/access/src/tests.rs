//! The rules of access as clients and the owner see them, on a real store.

mod bearer;
mod browser;
mod codes;
mod consent;
mod credentials;
mod documents;
mod faults;
mod owner;
mod refresh;
mod register;
mod restart;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::{
    ClientRegister, ClientRegisterReply, ClientRevoke, ClientUpdate, Fault, FaultCode, GrantType,
    Scopes, Secret, SourceId, TokenCreate,
};
use sha2::{Digest, Sha256};
use url::Url;

use crate::{
    Access, AccessSettings, AuthorizationGrant, AuthorizeError, AuthorizeRequest, Credentials,
    HttpAddresses, IssuedTokens, OAuthError, OAuthFault,
};
use brain_base::clock::Clock;
use brain_base::random::RandomSource;
use brain_base::secrets::Secrets;
use brain_net::{Error as NetError, FetchedDocument, HttpClient, HttpRequest, HttpResponse};
use brain_store::{SourceRecord, Store, StoreOptions};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const ISSUER: &str = "https://brain.example";
const CALLBACK: &str = "https://app.example/cb";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

#[derive(Clone)]
struct MockClock(Arc<AtomicI64>);

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Random bytes that differ at each call, and are the same in every run.
struct CountingRandom(AtomicU64);

impl RandomSource for CountingRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), brain_base::Error> {
        let digest = Sha256::digest(self.0.fetch_add(1, Ordering::SeqCst).to_le_bytes());
        bytes.copy_from_slice(&digest[..bytes.len()]);
        Ok(())
    }
}

/// A network that has the given documents and records the addresses of all fetches.
#[derive(Default)]
struct FakeNetwork {
    documents: Mutex<HashMap<String, Result<FetchedDocument, NetError>>>,
    fetched: Mutex<Vec<String>>,
}

impl HttpClient for FakeNetwork {
    fn document(&self, url: &str) -> Result<FetchedDocument, NetError> {
        self.fetched.lock().unwrap().push(url.into());
        let found = self.documents.lock().unwrap().get(url).cloned();
        found.unwrap_or_else(|| Err(NetError::NameNotFound("there is none".into())))
    }

    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        panic!("nothing here calls {}", call.url)
    }
}

/// The service on a temporary store, with a mock clock, predictable randomness and a fake network.
struct Fixture {
    dir: tempfile::TempDir,
    network: Arc<FakeNetwork>,
    clock: MockClock,
    random: Arc<CountingRandom>,
    settings: AccessSettings,
    admin_token_variable: Option<String>,
    min_free_bytes: u64,
    access: Option<Access>,
}

impl Fixture {
    fn new() -> Self {
        let settings = AccessSettings {
            base_url: Some(ISSUER.into()),
            fetch_client_documents: true,
            ..AccessSettings::default()
        };
        let mut fixture = Self {
            dir: tempfile::tempdir().unwrap(),
            network: Arc::default(),
            clock: MockClock(Arc::new(AtomicI64::new(1_795_257_045_123))),
            random: Arc::new(CountingRandom(AtomicU64::new(1))),
            settings,
            admin_token_variable: None,
            min_free_bytes: 0,
            access: None,
        };
        fixture.reopen();
        fixture
            .access()
            .store
            .write(|transaction| {
                transaction
                    .put_source(&SourceId::parse("work").unwrap(), &SourceRecord::new(None, 0))?;
                transaction
                    .put_source(&SourceId::parse("home").unwrap(), &SourceRecord::new(None, 0))
            })
            .unwrap();
        fixture
    }

    /// Makes the disk count as full if `full`, otherwise as empty, and opens the service again.
    fn fill_the_disk(&mut self, full: bool) {
        self.min_free_bytes = if full { u64::MAX / 2 } else { 0 };
        self.reopen();
    }

    fn store_path(&self) -> PathBuf {
        self.dir.path().join("brain.redb")
    }

    fn admin_token_path(&self) -> PathBuf {
        self.dir.path().join("secrets/admin-token")
    }

    fn store_options(&self) -> StoreOptions {
        let (min_free_bytes, now) = (self.min_free_bytes, self.clock.now());
        StoreOptions {
            cache_bytes: 4 << 20,
            min_free_bytes,
            now,
            new_store_id: 7,
            min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
        }
    }

    /// Drops the service and opens it again.
    fn reopen(&mut self) {
        self.access = None;
        let store =
            Store::open(&self.store_path(), &self.store_options(), Box::new(|_| {})).unwrap();
        let token = self.admin_token_variable.clone();
        let variables = move |name: &str| token.clone().filter(|_| name == "BRAIN_ADMIN_TOKEN");
        let secrets = Secrets::new(self.dir.path().join("secrets"), Box::new(variables));
        let access = Access::open(
            Arc::new(store),
            Arc::new(self.clock.clone()),
            self.random.clone(),
            Arc::new(secrets),
            self.network.clone(),
            self.settings.clone(),
        )
        .unwrap();
        access.set_http_addresses(HttpAddresses {
            local: Some("127.0.0.1:3131".parse().unwrap()),
            ..HttpAddresses::default()
        });
        self.access = Some(access);
    }

    fn access(&self) -> &Access {
        self.access.as_ref().unwrap()
    }

    /// Moves the clock forward.
    fn advance(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Registers a client with a secret.
    fn confidential_client(
        &self,
        name: &str,
        scopes: &str,
        sources: &[&str],
    ) -> (Credentials, ClientRegisterReply) {
        let request =
            ClientRegister { sources: ids(sources), ..registration_request(name, scopes) };
        let registered = self.access().client_register(request).unwrap();
        (
            Credentials {
                client_id: registered.client_id.clone(),
                secret: registered.client_secret.clone(),
            },
            registered,
        )
    }

    /// Registers a public client, which asks for consent.
    fn public_client(&self, scopes: &str) -> Credentials {
        let request = ClientRegister {
            public: true,
            redirect_uris: vec![CALLBACK.into()],
            ..registration_request("app", scopes)
        };
        let registered = self.access().client_register(request).unwrap();
        assert!(registered.client_secret.is_none());
        Credentials { client_id: registered.client_id, secret: None }
    }

    fn client_credentials(
        &self,
        credentials: &Credentials,
        scope: Option<&str>,
    ) -> Result<IssuedTokens, OAuthFault> {
        let scope = scope.map(str::to_owned);
        self.access().exchange(credentials, &AuthorizationGrant::ClientCredentials { scope }, &[])
    }

    /// Consents to all requested scopes and returns the code.
    fn code(&self, request: &AuthorizeRequest) -> Secret {
        let scopes = self.access().consent(request).unwrap().scopes;
        let redirect = self.access().approve(request, scopes).unwrap();
        Secret::new(parameters(&redirect).remove("code").unwrap())
    }

    fn redeem(&self, credentials: &Credentials, code: &Secret) -> Result<IssuedTokens, OAuthFault> {
        let grant = AuthorizationGrant::Code {
            code: code.clone(),
            redirect_uri: Some(CALLBACK.into()),
            verifier: Some(Secret::new(VERIFIER)),
        };
        self.access().exchange(credentials, &grant, &[])
    }

    /// Consents and exchanges the code.
    fn consent_and_redeem(&self, credentials: &Credentials) -> IssuedTokens {
        let code = self.code(&authorize_request(&credentials.client_id));
        self.redeem(credentials, &code).unwrap()
    }

    fn refresh(
        &self,
        credentials: &Credentials,
        token: &Option<Secret>,
        scope: Option<&str>,
    ) -> Result<IssuedTokens, OAuthFault> {
        let (token, scope) = (token.clone().unwrap(), scope.map(str::to_owned));
        self.access().exchange(credentials, &AuthorizationGrant::Refresh { token, scope }, &[])
    }

    fn personal_token(
        &self,
        name: &str,
        scopes: &str,
        expires_in: Option<u64>,
    ) -> Result<Secret, FaultCode> {
        let scopes = Scopes::parse(scopes).unwrap();
        let request = TokenCreate { name: name.into(), scopes, sources: Vec::new(), expires_in };
        self.access()
            .token_create(&request)
            .map(|created| created.token)
            .map_err(|fault| fault.code)
    }

    fn update(
        &self,
        client: &str,
        scopes: Option<&str>,
        sources: Option<&[&str]>,
    ) -> Result<&'static str, FaultCode> {
        let request = ClientUpdate {
            client: client.into(),
            scopes: scopes.map(|text| Scopes::parse(text).unwrap()),
            sources: sources.map(ids),
            token_ttl: None,
        };
        self.access()
            .client_update(request)
            .map(|changed| changed.status.as_str())
            .map_err(|fault| fault.code)
    }

    fn revoke_client(&self, client: &str) -> u64 {
        self.access()
            .client_revoke(&ClientRevoke { client: client.into(), yes: true })
            .unwrap()
            .tokens_revoked
    }

    fn is_accepted(&self, token: &Secret) -> bool {
        match self.access().bearer(token.expose()) {
            Ok(_) => true,
            Err(fault) => {
                assert_eq!(fault.code, FaultCode::InvalidToken);
                assert!(!fault.message.contains(token.expose()));
                false
            }
        }
    }
}

fn ids(names: &[&str]) -> Vec<SourceId> {
    names.iter().map(|&name| SourceId::parse(name).unwrap()).collect()
}

fn registration_request(name: &str, scopes: &str) -> ClientRegister {
    ClientRegister {
        name: name.into(),
        scopes: Scopes::parse(scopes).unwrap(),
        sources: Vec::new(),
        grant_types: Vec::new(),
        redirect_uris: Vec::new(),
        token_ttl: None,
        public: false,
    }
}

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// A valid request for consent.
fn authorize_request(client: &str) -> AuthorizeRequest {
    AuthorizeRequest {
        response_type: Some("code".into()),
        client_id: Some(client.into()),
        redirect_uri: Some(CALLBACK.into()),
        scope: None,
        state: Some("st&te 1".into()),
        code_challenge: Some(challenge(VERIFIER)),
        code_challenge_method: Some("S256".into()),
        resource: Vec::new(),
    }
}

fn parameters(address: &str) -> HashMap<String, String> {
    Url::parse(address).unwrap().query_pairs().into_owned().collect()
}

fn error<T: std::fmt::Debug>(result: Result<T, OAuthFault>) -> OAuthError {
    result.unwrap_err().error
}

/// Returns the error that is shown to the user in the browser.
fn shown_error<T: std::fmt::Debug>(result: Result<T, AuthorizeError>) -> OAuthError {
    match result.unwrap_err() {
        AuthorizeError::Page(fault) => fault.error,
        AuthorizeError::Redirect(address) => panic!("sent to {address}"),
    }
}

/// Returns the error that is sent to the client's address.
fn redirected_error<T: std::fmt::Debug>(result: Result<T, AuthorizeError>) -> String {
    match result.unwrap_err() {
        AuthorizeError::Page(fault) => panic!("shown: {fault:?}"),
        AuthorizeError::Redirect(address) => {
            assert!(address.starts_with(&format!("{CALLBACK}?")), "{address}");
            let mut all = parameters(&address);
            assert_eq!((all["iss"].as_str(), all["state"].as_str()), (ISSUER, "st&te 1"));
            assert!(!all.contains_key("code"));
            all.remove("error").unwrap()
        }
    }
}
