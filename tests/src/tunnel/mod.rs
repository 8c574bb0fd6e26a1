//! Fakes for tunnels: an agent's API on a loopback port; an [`HttpClient`] that reaches agents and
//! the telephony provider; and a process starter that starts nothing.

mod programs;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use brain_net::{Error as NetError, HttpClient, HttpRequest, HttpResponse};
use brain_tunnel::PROBE_HEADER;
use serde_json::{Value, json};
use url::Url;

pub use programs::FakePrograms;

/// Returns brain's answer at `/health`.
#[must_use]
pub fn healthy() -> Value {
    json!({"status": "ok", "version": "0.0.0", "engine": "redb"})
}

/// Returns the answer at `/health` of a program that pretends to be brain.
#[must_use]
pub fn impostor() -> Value {
    json!({"status": "ok", "version": "6.6.6", "engine": "redb", "proof": "trust me"})
}

/// Returns the answer of ngrok's agent (versions 2 and 3) at `/api/tunnels` with one tunnel.
#[must_use]
pub fn ngrok_tunnel(url: &str, port: u16) -> Value {
    json!({"tunnels": [{"name": "command_line", "uri": "/api/tunnels/command_line",
        "public_url": url, "proto": "https",
        "config": {"addr": format!("http://localhost:{port}"), "inspect": true}, "metrics": {}}],
        "uri": "/api/tunnels"})
}

/// Status and body of each answer, by URL, or by path in a [`FakeAgent`]. Clones share one state.
#[derive(Clone, Default)]
pub struct Answers(Arc<Mutex<HashMap<String, (u16, String)>>>);

impl Answers {
    /// Sets the answer at `url`, which is a path in a [`FakeAgent`].
    pub fn put(&self, url: &str, status: u16, body: &Value) {
        self.0.lock().unwrap().insert(url.into(), (status, body.to_string()));
    }

    /// Removes the answer at `url`.
    pub fn remove(&self, url: &str) {
        self.0.lock().unwrap().remove(url);
    }

    fn at(&self, url: &str) -> Option<(u16, String)> {
        self.0.lock().unwrap().get(url).cloned()
    }
}

/// A phone number at the fake telephony provider.
#[derive(Clone)]
pub struct PhoneNumber(Arc<Mutex<NumberState>>);

struct NumberState {
    voice_url: String,
    /// The number of requests that are still to be refused.
    refusals: usize,
    /// The number of changes by brain.
    changes: usize,
}

impl PhoneNumber {
    /// Creates a number with this voice webhook.
    #[must_use]
    pub fn with_voice_url(url: &str) -> Self {
        Self(Arc::new(Mutex::new(NumberState { voice_url: url.into(), refusals: 0, changes: 0 })))
    }

    /// Returns the voice webhook.
    #[must_use]
    pub fn voice_url(&self) -> String {
        self.0.lock().unwrap().voice_url.clone()
    }

    /// Sets the voice webhook as a user does in the provider's console.
    pub fn set_voice_url(&self, url: &str) {
        self.0.lock().unwrap().voice_url = url.into();
    }

    /// Returns the number of changes by brain.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.0.lock().unwrap().changes
    }

    /// Refuses the next `times` requests.
    pub fn refuse(&self, times: usize) {
        self.0.lock().unwrap().refusals = times;
    }

    /// Answers a request for the number, or one that changes it if there is a form.
    fn answer(&self, form: Option<&[u8]>) -> (u16, Value) {
        let mut number = self.0.lock().unwrap();
        if number.refusals > 0 {
            number.refusals -= 1;
            return (
                503,
                json!({"code": 20503, "message": "Service unavailable", "more_info": "",
                    "status": 503}),
            );
        }
        if let Some(form) = form {
            let query = format!("http://x/?{}", String::from_utf8_lossy(form));
            let fields = Url::parse(&query).unwrap();
            let url = fields
                .query_pairs()
                .find(|(name, _)| name == "VoiceUrl")
                .map(|(_, url)| url.into_owned());
            number.voice_url = url.unwrap_or_default();
            number.changes += 1;
        }
        (
            200,
            json!({"sid": "PN", "phone_number": "+15005550006", "voice_url": number.voice_url,
                "voice_method": "POST",
            "voice_application_sid": "", "trunk_sid": null}),
        )
    }
}

/// Computes the proof of the public listener for a host name and a challenge.
pub type ProofFn = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// A fake network that reaches only `answers` and `number`.
#[derive(Clone)]
pub struct FakeNetwork {
    /// Answers by full URL.
    pub answers: Answers,
    /// The number at the provider's API.
    pub number: PhoneNumber,
    /// The listener to which all healthy `https` URLs in `answers` lead, if any.
    pub prover: Arc<Mutex<Option<ProofFn>>>,
}

impl FakeNetwork {
    /// Creates a network that reaches only `number`.
    #[must_use]
    pub fn new(number: PhoneNumber) -> Self {
        Self { answers: Answers::default(), number, prover: Arc::default() }
    }

    /// Returns the `/health` body with the listener's proof, if this URL leads to the listener and
    /// the request asks for a proof.
    fn proof_answer(&self, call: &HttpRequest<'_>, body: &str) -> Option<String> {
        let challenge =
            call.headers.iter().find(|(name, _)| *name == PROBE_HEADER.0).map(|(_, text)| *text)?;
        let prover = self.prover.lock().unwrap().clone()?;
        let is_healthy =
            serde_json::from_str::<Value>(body).is_ok_and(|health| health == healthy());
        let leads_to_listener = call.url.scheme() == "https" && is_healthy;
        let proof = leads_to_listener.then(|| prover(call.url.host_str()?, challenge)).flatten()?;
        Some(json!({"status": "ok", "proof": proof}).to_string())
    }
}

impl HttpClient for FakeNetwork {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        let (status, body) = if call.url.path().contains("/IncomingPhoneNumbers/") {
            assert!(call.authorization.is_some_and(|secret| secret.expose().starts_with("Basic ")));
            let (status, body) = self.number.answer(call.body);
            (status, body.to_string())
        } else {
            let (status, body) =
                self.answers.at(call.url.as_str()).ok_or(NetError::ConnectionRefused)?;
            let proof_answer = self.proof_answer(call, &body);
            (status, proof_answer.unwrap_or(body))
        };
        Ok(HttpResponse {
            status,
            headers: Vec::new(),
            body: body.into_bytes(),
            server_address: None,
        })
    }
}

/// An agent's API on a loopback port. Dropping it closes the port.
pub struct FakeAgent {
    /// Answers by path.
    pub answers: Answers,
    /// The address of the API.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl FakeAgent {
    /// Starts an agent on a free port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (answers, stop) = (Answers::default(), Arc::new(AtomicBool::new(false)));
        let (known_answers, stop_flag) = (answers.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop_flag.load(Ordering::SeqCst) {
                    return;
                }
                // A client that disconnects is no error.
                let _ = stream.and_then(|stream| serve(&stream, &known_answers));
            }
        });
        Self { answers, address, stop }
    }

    /// Returns the base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for FakeAgent {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

/// Answers one request.
fn serve(mut stream: &TcpStream, answers: &Answers) -> std::io::Result<()> {
    stream.set_read_timeout(Some(crate::TEST_TIMEOUT))?;
    let mut lines = BufReader::new(stream.take(64 * 1024));
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let mut line = String::new();
    while lines.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (status, body) =
        answers.at(path).unwrap_or((404, r#"{"error_code":100,"status_code":404}"#.into()));
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: \
            {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
