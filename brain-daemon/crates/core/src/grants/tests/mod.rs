//! The rules of this room, as clients and the owner meet them, on a real brain with a clock and a randomness of our own.

mod bearer;
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

use super::{
    AuthorizeFault, AuthorizeRequest, Credentials, HttpAddresses, Issued, OAuthError, OAuthFault,
    Offer,
};
use crate::{Brain, Outside};
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_base::random::Random;
use brain_config::Config;
use brain_net::{Document, Error as NetError, HttpClient, HttpRequest, HttpResponse};
use brain_store::SourceRecord;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const ISSUER: &str = "https://brain.example";
const CALLBACK: &str = "https://app.example/cb";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

#[derive(Clone)]
struct Hands(Arc<AtomicI64>);

impl Clock for Hands {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Every fill is another one, and the same in every run.
struct Counted(AtomicU64);

impl Random for Counted {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Fault> {
        let digest = Sha256::digest(self.0.fetch_add(1, Ordering::SeqCst).to_le_bytes());
        bytes.copy_from_slice(&digest[..bytes.len()]);
        Ok(())
    }
}

/// A network in which documents are, and in which every fetch is counted.
#[derive(Default)]
struct Shelf {
    documents: Mutex<HashMap<String, Result<Document, NetError>>>,
    fetched: Mutex<Vec<String>>,
}

impl HttpClient for Shelf {
    fn document(&self, url: &str) -> Result<Document, NetError> {
        self.fetched.lock().unwrap().push(url.into());
        let found = self.documents.lock().unwrap().get(url).cloned();
        found.unwrap_or_else(|| Err(NetError::NameNotFound("there is none".into())))
    }

    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        panic!("nothing here calls {}", call.url)
    }
}

struct Lab {
    dir: tempfile::TempDir,
    shelf: Arc<Shelf>,
    hands: Hands,
    random: Arc<Counted>,
    issuer: String,
    variables: HashMap<String, String>,
    brain: Option<Arc<Brain>>,
}

impl Lab {
    fn new() -> Self {
        let mut lab = Self {
            dir: tempfile::tempdir().unwrap(),
            shelf: Arc::default(),
            hands: Hands(Arc::new(AtomicI64::new(1_795_257_045_123))),
            random: Arc::new(Counted(AtomicU64::new(1))),
            issuer: ISSUER.into(),
            variables: HashMap::new(),
            brain: None,
        };
        lab.reopen();
        lab.brain()
            .store
            .write(|draft| {
                draft.put_source(&SourceId::parse("work").unwrap(), &SourceRecord::new(None, 0))?;
                draft.put_source(&SourceId::parse("home").unwrap(), &SourceRecord::new(None, 0))
            })
            .unwrap();
        lab
    }

    /// From now on the disk counts as full; or not any more.
    fn fill_the_disk(&mut self, full: bool) {
        let least = if full { "1000000" } else { "1" };
        self.variables.insert("BRAIN_STORE_MIN_FREE_MB".into(), least.into());
        self.reopen();
    }

    /// Ends the brain without a word, and starts it again.
    fn reopen(&mut self) {
        self.brain = None;
        let home = Home::at(self.dir.path().join("home"));
        let base = self.issuer.clone();
        let given = self.variables.clone();
        let env = |name: &str| match name {
            "BRAIN_HTTP_BASE_URL" => Some(base.clone()),
            _ => given.get(name).cloned(),
        };
        let config = Config::load(&home.config(), env).unwrap();
        let outside = Outside {
            random: self.random.clone(),
            variables: Box::new(move |name| given.get(name).cloned()),
            net: self.shelf.clone(),
            lines: Arc::new(crate::StandardOutput::default()),
        };
        let brain =
            Brain::open_with(home, config, Arc::new(self.hands.clone()), 7, outside).unwrap();
        brain.set_http_addresses(HttpAddresses {
            local: Some("127.0.0.1:3131".parse().unwrap()),
            ..HttpAddresses::default()
        });
        self.brain = Some(Arc::new(brain));
    }

    fn brain(&self) -> &Arc<Brain> {
        self.brain.as_ref().unwrap()
    }

    fn turn(&self, ms: i64) {
        self.hands.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// A client with a secret, which comes with it.
    fn service(
        &self,
        name: &str,
        scopes: &str,
        sources: &[&str],
    ) -> (Credentials, ClientRegisterReply) {
        let request = ClientRegister { sources: ids(sources), ..wish(name, scopes) };
        let made = self.brain().client_register(request).unwrap();
        (
            Credentials { client_id: made.client_id.clone(), secret: made.client_secret.clone() },
            made,
        )
    }

    /// A client without a secret, which asks for consent.
    fn app(&self, scopes: &str) -> Credentials {
        let request = ClientRegister {
            public: true,
            redirect_uris: vec![CALLBACK.into()],
            ..wish("app", scopes)
        };
        let made = self.brain().client_register(request).unwrap();
        assert!(made.client_secret.is_none());
        Credentials { client_id: made.client_id, secret: None }
    }

    fn credentials(&self, who: &Credentials, scope: Option<&str>) -> Result<Issued, OAuthFault> {
        let scope = scope.map(str::to_owned);
        self.brain().exchange(who, &Offer::ClientCredentials { scope }, &[])
    }

    /// The owner agrees to all that is asked for; the code.
    fn code(&self, request: &AuthorizeRequest) -> Secret {
        let scopes = self.brain().consent(request).unwrap().scopes;
        let to = self.brain().approve(request, scopes).unwrap();
        Secret::new(parameters(&to).remove("code").unwrap())
    }

    fn redeem(&self, who: &Credentials, code: &Secret) -> Result<Issued, OAuthFault> {
        let offer = Offer::Code {
            code: code.clone(),
            redirect_uri: Some(CALLBACK.into()),
            verifier: Some(Secret::new(VERIFIER)),
        };
        self.brain().exchange(who, &offer, &[])
    }

    /// Consent and exchange in one.
    fn consented(&self, who: &Credentials) -> Issued {
        let code = self.code(&ask(&who.client_id));
        self.redeem(who, &code).unwrap()
    }

    fn refresh(
        &self,
        who: &Credentials,
        token: &Option<Secret>,
        scope: Option<&str>,
    ) -> Result<Issued, OAuthFault> {
        let (token, scope) = (token.clone().unwrap(), scope.map(str::to_owned));
        self.brain().exchange(who, &Offer::Refresh { token, scope }, &[])
    }

    fn personal(
        &self,
        name: &str,
        scopes: &str,
        expires_in: Option<u64>,
    ) -> Result<Secret, FaultCode> {
        let scopes = Scopes::parse(scopes).unwrap();
        let request = TokenCreate { name: name.into(), scopes, sources: Vec::new(), expires_in };
        self.brain().token_create(&request).map(|made| made.token).map_err(|fault| fault.code)
    }

    fn update(
        &self,
        client: &str,
        scopes: Option<&str>,
        sources: Option<&[&str]>,
    ) -> Result<String, FaultCode> {
        let request = ClientUpdate {
            client: client.into(),
            scopes: scopes.map(|text| Scopes::parse(text).unwrap()),
            sources: sources.map(ids),
            token_ttl: None,
        };
        self.brain()
            .client_update(request)
            .map(|changed| changed.status)
            .map_err(|fault| fault.code)
    }

    fn revoke_client(&self, client: &str) -> u64 {
        self.brain()
            .client_revoke(&ClientRevoke { client: client.into(), yes: true })
            .unwrap()
            .tokens_revoked
    }

    fn is_let_in(&self, token: &Secret) -> bool {
        match self.brain().bearer(token.expose()) {
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

fn wish(name: &str, scopes: &str) -> ClientRegister {
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

/// A good request for consent.
fn ask(client: &str) -> AuthorizeRequest {
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

/// What the person is told.
fn told<T: std::fmt::Debug>(result: Result<T, AuthorizeFault>) -> OAuthError {
    match result.unwrap_err() {
        AuthorizeFault::Shown(fault) => fault.error,
        AuthorizeFault::SentBack(address) => panic!("sent to {address}"),
    }
}

/// What the client is told, at its own address.
fn sent_back<T: std::fmt::Debug>(result: Result<T, AuthorizeFault>) -> String {
    match result.unwrap_err() {
        AuthorizeFault::Shown(fault) => panic!("shown: {fault:?}"),
        AuthorizeFault::SentBack(address) => {
            assert!(address.starts_with(&format!("{CALLBACK}?")), "{address}");
            let mut all = parameters(&address);
            assert_eq!((all["iss"].as_str(), all["state"].as_str()), (ISSUER, "st&te 1"));
            assert!(!all.contains_key("code"));
            all.remove("error").unwrap()
        }
    }
}
