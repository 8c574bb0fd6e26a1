//! Fakes of a tunnel: what agents and the telephony provider answer, at a loopback port or behind
//! the daemon's own trait for what goes out; and programs that are started without there being any.

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

pub use programs::Programs;

/// What brain answers at `/health`.
#[must_use]
pub fn healthy() -> Value {
    json!({"status": "ok", "version": "0.0.0", "engine": "redb"})
}

/// What a program answers at `/health` that says it is brain.
#[must_use]
pub fn impostor() -> Value {
    json!({"status": "ok", "version": "6.6.6", "engine": "redb", "proof": "trust me"})
}

/// What ngrok's agent says at `/api/tunnels` when it has one, in the shape of the majors 2 and 3.
#[must_use]
pub fn ngrok_tunnel(url: &str, port: u16) -> Value {
    json!({"tunnels": [{"name": "command_line", "uri": "/api/tunnels/command_line", "public_url": url, "proto": "https",
        "config": {"addr": format!("http://localhost:{port}"), "inspect": true}, "metrics": {}}], "uri": "/api/tunnels"})
}

/// Answers by address, or by path where they are served. Whoever has a copy sees the same.
#[derive(Clone, Default)]
pub struct Answers(Arc<Mutex<HashMap<String, (u16, String)>>>);

impl Answers {
    /// From now on `place` answers so.
    pub fn put(&self, place: &str, status: u16, body: &Value) {
        self.0.lock().unwrap().insert(place.into(), (status, body.to_string()));
    }

    /// From now on nobody is there.
    pub fn gone(&self, place: &str) {
        self.0.lock().unwrap().remove(place);
    }

    fn at(&self, place: &str) -> Option<(u16, String)> {
        self.0.lock().unwrap().get(place).cloned()
    }
}

/// The telephony provider's one number.
#[derive(Clone)]
pub struct Number(Arc<Mutex<Line>>);

struct Line {
    voice_url: String,
    /// So many questions are refused.
    refusals: usize,
    changes: usize,
}

impl Number {
    /// One that leads there.
    #[must_use]
    pub fn leading_to(url: &str) -> Self {
        Self(Arc::new(Mutex::new(Line { voice_url: url.into(), refusals: 0, changes: 0 })))
    }

    /// Where it leads to.
    #[must_use]
    pub fn voice_url(&self) -> String {
        self.0.lock().unwrap().voice_url.clone()
    }

    /// Somebody lets it lead there, in the provider's console.
    pub fn lead(&self, url: &str) {
        self.0.lock().unwrap().voice_url = url.into();
    }

    /// How often it was changed.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.0.lock().unwrap().changes
    }

    /// The provider refuses the next questions.
    pub fn refuse(&self, times: usize) {
        self.0.lock().unwrap().refusals = times;
    }

    fn answer(&self, form: Option<&[u8]>) -> (u16, Value) {
        let mut line = self.0.lock().unwrap();
        if line.refusals > 0 {
            line.refusals -= 1;
            return (
                503,
                json!({"code": 20503, "message": "Service unavailable", "more_info": "", "status": 503}),
            );
        }
        if let Some(form) = form {
            let query = format!("http://x/?{}", String::from_utf8_lossy(form));
            let fields = Url::parse(&query).unwrap();
            let url = fields
                .query_pairs()
                .find(|(name, _)| name == "VoiceUrl")
                .map(|(_, url)| url.into_owned());
            line.voice_url = url.unwrap_or_default();
            line.changes += 1;
        }
        (
            200,
            json!({"sid": "PN", "phone_number": "+15005550006", "voice_url": line.voice_url, "voice_method": "POST",
            "voice_application_sid": "", "trunk_sid": null}),
        )
    }
}

/// Answers the watchdog's question for a host, as the public listener does.
pub type Listener = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// What goes out, to these and nowhere else.
#[derive(Clone)]
pub struct Net {
    /// By whole address.
    pub answers: Answers,
    /// At the provider's API.
    pub number: Number,
    /// Where public addresses lead to that have an answer.
    pub listener: Arc<Mutex<Option<Listener>>>,
}

impl Net {
    /// Without answers; its number leads there.
    #[must_use]
    pub fn new(number: Number) -> Self {
        Self { answers: Answers::default(), number, listener: Arc::default() }
    }

    /// The answer of the public listener, when the address has an answer at all and leads there.
    fn arrived(&self, call: &HttpRequest<'_>, body: &str) -> Option<String> {
        let question =
            call.headers.iter().find(|(name, _)| *name == PROBE_HEADER.0).map(|(_, text)| *text)?;
        let listener = self.listener.lock().unwrap().clone()?;
        let is_healthy = serde_json::from_str::<Value>(body).is_ok_and(|told| told == healthy());
        let leads_here = call.url.scheme() == "https" && is_healthy;
        let proof = leads_here.then(|| listener(call.url.host_str()?, question)).flatten()?;
        Some(json!({"status": "ok", "proof": proof}).to_string())
    }
}

impl HttpClient for Net {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        let (status, body) = if call.url.path().contains("/IncomingPhoneNumbers/") {
            assert!(call.authorization.is_some_and(|secret| secret.expose().starts_with("Basic ")));
            let (status, body) = self.number.answer(call.body);
            (status, body.to_string())
        } else {
            let (status, body) =
                self.answers.at(call.url.as_str()).ok_or(NetError::ConnectionRefused)?;
            let arrived = self.arrived(call, &body);
            (status, arrived.unwrap_or(body))
        };
        Ok(HttpResponse { status, headers: Vec::new(), body: body.into_bytes(), from: None })
    }
}

/// An agent's API at a loopback port; gone when this goes.
pub struct Served {
    /// By path.
    pub answers: Answers,
    /// Where it is.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Served {
    /// At a free port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (answers, stop) = (Answers::default(), Arc::new(AtomicBool::new(false)));
        let (known, stopped) = (answers.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                // Whoever goes away in the middle is no fault of the agent.
                let _ = stream.and_then(|stream| serve(&stream, &known));
            }
        });
        Self { answers, address, stop }
    }

    /// Where it is, as a base of addresses.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

/// One request, one answer.
fn serve(mut stream: &TcpStream, answers: &Answers) -> std::io::Result<()> {
    stream.set_read_timeout(Some(crate::PATIENCE))?;
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
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
