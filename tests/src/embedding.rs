//! An embedding endpoint that is none, over loopback: the shape of OpenAI's, as strict as the real
//! ones are about what they take. Words of one line of [`MEANINGS`] have nearly the same vector, so
//! a test can look for what is meant and find what is written otherwise. Its mood is up to the
//! test, and may change.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::Heard;
use crate::tiny_model::MEANINGS;

/// Length of its vectors, when it is not told another.
pub const DIMENSIONS: usize = 96;

/// How it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Well,
    /// With the numbers as base64.
    Packed,
    /// With vectors in another order than the texts, by their index.
    Mixed,
    /// Not at all; it holds the connection.
    Stalls,
    /// A byte each half second, without an end.
    Drips,
    /// With half of an answer.
    Cuts,
    /// With 429, and perhaps `Retry-After`.
    Limits(Option<u64>),
    /// With this status and an error.
    Fails(u16),
    /// With status 200 and this.
    Says(String),
    /// Only when all texts together have at most so many bytes; else with 400 about the context
    /// length.
    Holds(usize),
}

/// What it was asked, and understood.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The model's name.
    pub model: String,
    /// The texts.
    pub texts: Vec<String>,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    key: Option<String>,
    asked: Vec<Asked>,
    calls: usize,
    tokens: u64,
}

/// The service.
pub struct FakeEmbedding {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Default for FakeEmbedding {
    fn default() -> Self {
        Self::new(None)
    }
}

impl FakeEmbedding {
    /// A service in a good mood, which wants this key.
    #[must_use]
    pub fn new(key: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let key = key.map(str::to_owned);
        let state = State { mood: Mood::Well, key, asked: Vec::new(), calls: 0, tokens: 0 };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { address, state }
    }

    /// Its address, as `embedding.base_url` wants it.
    #[must_use]
    pub fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The variables of a daemon that uses it, with this model.
    #[must_use]
    pub fn variables(&self, model: &str) -> [(String, String); 3] {
        [
            ("BRAIN_EMBEDDING_PROVIDER".into(), "openai".into()),
            ("BRAIN_EMBEDDING_BASE_URL".into(), self.base()),
            ("BRAIN_EMBEDDING_MODEL".into(), model.into()),
        ]
    }

    /// Changes its mood, for requests that begin from now on.
    pub fn becomes(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    /// What it was asked and understood, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    /// Every text that it was sent.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.asked().into_iter().flat_map(|asked| asked.texts).collect()
    }

    /// How often somebody called, understood or not.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.state.lock().unwrap().calls
    }

    /// The tokens that it counted.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.state.lock().unwrap().tokens
    }
}

/// What a text means to it: a direction a line of [`MEANINGS`], and one of the others for each
/// other word. Each model sees them from its own side, so vectors of two models have nothing to do
/// with each other.
fn vector(model: &str, text: &str, length: usize) -> Vec<f32> {
    let turn = model.bytes().map(usize::from).sum::<usize>();
    let mut vector = vec![0.0; length];
    // A text that says nothing points somewhere, too.
    vector[turn % length] += 0.01;
    for word in
        text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2)
    {
        let line = MEANINGS.iter().position(|line| line.contains(&word));
        let (place, weight) = match line {
            Some(line) => (line, 3.0),
            None => {
                let sum = word
                    .bytes()
                    .fold(7_usize, |sum, b| sum.wrapping_mul(31).wrapping_add(usize::from(b)));
                (MEANINGS.len() + sum % (DIMENSIONS - MEANINGS.len()), 0.5)
            }
        };
        vector[(place + turn) % length] += weight;
    }
    vector
}

fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let Some(request) = Heard::read(stream) else { return };
    let understood = {
        let mut state = state.lock().unwrap();
        state.calls += 1;
        understand(&state, &request)
    };
    let (asked, length) = match understood {
        Ok(understood) => understood,
        Err((status, why)) => return write(stream, status, &refusal(&why), None),
    };
    let (mood, tokens) = {
        let mut state = state.lock().unwrap();
        // A token is about four letters to it.
        let tokens = asked.texts.iter().map(|text| text.len() as u64 / 4 + 1).sum::<u64>();
        state.asked.push(asked.clone());
        let mood = state.mood.clone();
        if matches!(mood, Mood::Well | Mood::Packed | Mood::Mixed | Mood::Holds(_)) {
            state.tokens += tokens;
        }
        (mood, tokens)
    };
    let rows = asked.texts.iter().enumerate().map(|(index, text)| {
        let numbers = vector(&asked.model, text, length);
        let embedding = match mood {
            Mood::Packed => packed(&numbers).into(),
            _ => json!(numbers),
        };
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    });
    let mut data: Vec<Value> = rows.collect();
    if mood == Mood::Mixed {
        data.reverse();
    }
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    let body =
        json!({ "object": "list", "model": asked.model, "data": data, "usage": usage }).to_string();
    match mood {
        Mood::Well | Mood::Packed | Mood::Mixed => write(stream, 200, &body, None),
        Mood::Holds(bytes) if asked.texts.iter().map(String::len).sum::<usize>() <= bytes => {
            write(stream, 200, &body, None);
        }
        Mood::Holds(bytes) => {
            let why = format!("This model's maximum context length is {bytes} bytes");
            write(stream, 400, &refusal(&why), None);
        }
        Mood::Stalls => linger(stream),
        Mood::Drips => drip(stream),
        Mood::Cuts => {
            let mut stream = stream;
            let head = head(200, body.len(), None);
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body.as_bytes()[..body.len() / 2]);
        }
        Mood::Limits(wait) => write(stream, 429, &refusal("Rate limit reached"), wait),
        // Some repeat what they were sent.
        Mood::Fails(status) => write(stream, status, &refusal(&asked.texts.join(" ")), None),
        Mood::Says(what) => write(stream, 200, &what, None),
    }
}

/// What is asked, and how long its vectors are to be; or status and reason.
fn understand(state: &State, request: &Heard) -> Result<(Asked, usize), (u16, String)> {
    let invalid = |why: &str| Err((400, why.to_owned()));
    if request.path != "/v1/embeddings" {
        return Err((404, format!("Unknown request URL: {}", request.path)));
    }
    if request.method != "POST" || request.header("content-type") != "application/json" {
        return invalid("we could not parse the JSON body of your request");
    }
    let given = request.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
    if state.key.as_ref().is_some_and(|key| given != key) {
        // The real ones repeat a part of it.
        return Err((401, format!("Incorrect API key provided: {given}")));
    }
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&request.body) else {
        return invalid("we could not parse the JSON body of your request");
    };
    for name in body.keys() {
        if !["model", "input", "encoding_format", "dimensions", "user"].contains(&name.as_str()) {
            return invalid(&format!("Unrecognized request argument supplied: {name}"));
        }
    }
    let Some(model) = body.get("model").and_then(Value::as_str).filter(|model| !model.is_empty())
    else {
        return invalid("you must provide a model parameter");
    };
    if model == "missing" {
        return Err((404, "model \"missing\" not found, try pulling it first".into()));
    }
    let texts: Option<Vec<String>> = body.get("input").and_then(Value::as_array).and_then(|list| {
        list.iter()
            .map(|text| text.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
            .collect()
    });
    let Some(texts) = texts.filter(|texts| (1..=2048).contains(&texts.len())) else {
        return invalid("'$.input' is invalid");
    };
    let length = match body.get("dimensions") {
        None => DIMENSIONS,
        Some(length) => match length.as_u64() {
            Some(length @ 1..=96) => length as usize,
            _ => return invalid("'$.dimensions' is invalid"),
        },
    };
    Ok((Asked { model: model.to_owned(), texts }, length))
}

fn refusal(why: &str) -> String {
    json!({ "error": { "message": why, "type": "invalid_request_error", "param": null, "code": null } })
        .to_string()
}

fn packed(numbers: &[f32]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let group = three.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let sign = SIGNS[(group >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(sign) } else { '=' });
        }
    }
    text
}

fn head(status: u16, length: usize, wait: Option<u64>) -> String {
    let wait = wait.map(|seconds| format!("Retry-After: {seconds}\r\n")).unwrap_or_default();
    format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\n{wait}Content-Length: {length}\r\n\r\n"
    )
}

fn write(mut stream: &TcpStream, status: u16, body: &str, wait: Option<u64>) {
    let _ = stream.write_all(format!("{}{body}", head(status, body.len(), wait)).as_bytes());
}

/// Holds the connection until the other side is gone.
fn linger(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

fn drip(mut stream: &TcpStream) {
    let _ = stream.write_all(head(200, 1_000_000, None).as_bytes());
    while stream.write_all(b" ").is_ok() {
        std::thread::sleep(Duration::from_millis(500));
    }
}
