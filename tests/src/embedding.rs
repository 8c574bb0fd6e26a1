//! A fake embedding endpoint on loopback. It speaks OpenAI's API and validates requests as strictly
//! as real endpoints. Words in one line of [`MEANINGS`] have the same vector, so tests can search
//! by meaning. Tests choose the behaviour of the endpoint and may change it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::ReceivedRequest;
use crate::tiny_model::MEANINGS;

/// Default length of vectors.
pub const DIMENSIONS: usize = 96;

/// The endpoint's response to valid requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// Returns the vectors in the order of the texts.
    Normal,
    /// Encodes the vectors as base64.
    Base64,
    /// Returns the vectors in the reverse order of the texts, with their indices.
    Unordered,
    /// Keeps the connection open without a response.
    Stall,
    /// Sends one byte of the body every half second, without end.
    Drip,
    /// Closes the connection in the middle of the response.
    Truncate,
    /// Responds with 429 and, if it is `Some`, `Retry-After` in seconds.
    RateLimit(Option<u64>),
    /// Responds with this status and an error that repeats the texts.
    Fail(u16),
    /// Responds with status 200 and this body.
    Body(String),
    /// Responds with 400 about the context length if all texts together exceed this many bytes.
    MaxBytes(usize),
}

/// A valid request.
#[derive(Debug, Clone)]
pub struct EmbeddingRequest {
    /// The model's name.
    pub model: String,
    /// The texts.
    pub texts: Vec<String>,
}

#[derive(Debug)]
struct State {
    behaviour: Behaviour,
    /// The required API key. `None` accepts any.
    key: Option<String>,
    /// The valid requests in order.
    requests: Vec<EmbeddingRequest>,
    /// The number of requests, including invalid ones.
    calls: usize,
    tokens: u64,
}

/// The fake endpoint.
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
    /// Starts an endpoint with [`Behaviour::Normal`]. It requires `key` if there is one.
    #[must_use]
    pub fn new(key: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let key = key.map(str::to_owned);
        let state =
            State { behaviour: Behaviour::Normal, key, requests: Vec::new(), calls: 0, tokens: 0 };
        let state = Arc::new(Mutex::new(state));
        let server_state = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&server_state);
                std::thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { address, state }
    }

    /// Returns the value of `embedding.base_url` for this endpoint.
    #[must_use]
    pub fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the environment variables of a daemon that uses the endpoint with this model.
    #[must_use]
    pub fn variables(&self, model: &str) -> [(String, String); 3] {
        [
            ("BRAIN_EMBEDDING_PROVIDER".into(), "openai".into()),
            ("BRAIN_EMBEDDING_BASE_URL".into(), self.base()),
            ("BRAIN_EMBEDDING_MODEL".into(), model.into()),
        ]
    }

    /// Changes the behaviour for later requests.
    pub fn set_behaviour(&self, behaviour: Behaviour) {
        self.state.lock().unwrap().behaviour = behaviour;
    }

    /// Returns the valid requests in order.
    #[must_use]
    pub fn requests(&self) -> Vec<EmbeddingRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Returns the texts of all valid requests.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.requests().into_iter().flat_map(|request| request.texts).collect()
    }

    /// Returns the number of requests, including invalid ones.
    #[must_use]
    pub fn call_count(&self) -> usize {
        self.state.lock().unwrap().calls
    }

    /// Returns the number of tokens of requests that got vectors. With [`Behaviour::MaxBytes`], it
    /// includes refused requests.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.state.lock().unwrap().tokens
    }
}

/// Returns the vector of a text. Each line of [`MEANINGS`] has its own dimension; each other word
/// of more than two bytes has one of the remaining dimensions. The model rotates the dimensions, so
/// vectors of two models are unrelated.
fn vector(model: &str, text: &str, length: usize) -> Vec<f32> {
    let rotation = model.bytes().map(usize::from).sum::<usize>();
    let mut vector = vec![0.0; length];
    // So a text without words does not have the length 0.
    vector[rotation % length] += 0.01;
    for word in
        text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2)
    {
        let line = MEANINGS.iter().position(|line| line.contains(&word));
        let (position, weight) = match line {
            Some(line) => (line, 3.0),
            None => {
                let sum = word
                    .bytes()
                    .fold(7_usize, |sum, b| sum.wrapping_mul(31).wrapping_add(usize::from(b)));
                (MEANINGS.len() + sum % (DIMENSIONS - MEANINGS.len()), 0.5)
            }
        };
        vector[(position + rotation) % length] += weight;
    }
    vector
}

/// Answers one request.
fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let Some(request) = ReceivedRequest::read(stream) else { return };
    let result = {
        let mut state = state.lock().unwrap();
        state.calls += 1;
        parse_request(&state, &request)
    };
    let (embedding, length) = match result {
        Ok(request) => request,
        Err((status, why)) => return write(stream, status, &error_body(&why), None),
    };
    let (behaviour, tokens) = {
        let mut state = state.lock().unwrap();
        // A token has about four bytes.
        let tokens = embedding.texts.iter().map(|text| text.len() as u64 / 4 + 1).sum::<u64>();
        state.requests.push(embedding.clone());
        let behaviour = state.behaviour.clone();
        if matches!(
            behaviour,
            Behaviour::Normal | Behaviour::Base64 | Behaviour::Unordered | Behaviour::MaxBytes(_)
        ) {
            state.tokens += tokens;
        }
        (behaviour, tokens)
    };
    let rows = embedding.texts.iter().enumerate().map(|(index, text)| {
        let numbers = vector(&embedding.model, text, length);
        let embedding = match behaviour {
            Behaviour::Base64 => base64_of(&numbers).into(),
            _ => json!(numbers),
        };
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    });
    let mut data: Vec<Value> = rows.collect();
    if behaviour == Behaviour::Unordered {
        data.reverse();
    }
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    let body = json!({ "object": "list", "model": embedding.model, "data": data, "usage": usage })
        .to_string();
    match behaviour {
        Behaviour::Normal | Behaviour::Base64 | Behaviour::Unordered => {
            write(stream, 200, &body, None);
        }
        Behaviour::MaxBytes(bytes)
            if embedding.texts.iter().map(String::len).sum::<usize>() <= bytes =>
        {
            write(stream, 200, &body, None);
        }
        Behaviour::MaxBytes(bytes) => {
            let why = format!("This model's maximum context length is {bytes} bytes");
            write(stream, 400, &error_body(&why), None);
        }
        Behaviour::Stall => wait_for_disconnect(stream),
        Behaviour::Drip => drip(stream),
        Behaviour::Truncate => {
            let mut stream = stream;
            let head = head(200, body.len(), None);
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body.as_bytes()[..body.len() / 2]);
        }
        Behaviour::RateLimit(retry_after) => {
            write(stream, 429, &error_body("Rate limit reached"), retry_after);
        }
        // Some real endpoints repeat the input.
        Behaviour::Fail(status) => {
            write(stream, status, &error_body(&embedding.texts.join(" ")), None);
        }
        Behaviour::Body(body) => write(stream, 200, &body, None),
    }
}

/// Validates a request. Returns its content and the length of its vectors.
///
/// # Errors
/// When the request is invalid: the status and the message of the response.
fn parse_request(
    state: &State,
    request: &ReceivedRequest,
) -> Result<(EmbeddingRequest, usize), (u16, String)> {
    let invalid = |why: &str| Err((400, why.to_owned()));
    if request.path != "/v1/embeddings" {
        return Err((404, format!("Unknown request URL: {}", request.path)));
    }
    if request.method != "POST" || request.header("content-type") != "application/json" {
        return invalid("we could not parse the JSON body of your request");
    }
    let sent_key = request.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
    if state.key.as_ref().is_some_and(|key| sent_key != key) {
        // Real endpoints repeat a part of the key in the message; this one repeats the whole key.
        return Err((401, format!("Incorrect API key provided: {sent_key}")));
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
    Ok((EmbeddingRequest { model: model.to_owned(), texts }, length))
}

fn error_body(why: &str) -> String {
    json!({ "error": { "message": why, "type": "invalid_request_error", "param": null,
        "code": null } })
    .to_string()
}

fn base64_of(numbers: &[f32]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let group = three.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for position in 0..4 {
            let sign = SIGNS[(group >> (18 - 6 * position) & 63) as usize];
            text.push(if position <= three.len() { char::from(sign) } else { '=' });
        }
    }
    text
}

/// Returns the head of a response. `retry_after` is in seconds.
fn head(status: u16, length: usize, retry_after: Option<u64>) -> String {
    let retry_field =
        retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n")).unwrap_or_default();
    format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: \
            application/json\r\n{retry_field}Content-Length: {length}\r\n\r\n"
    )
}

fn write(mut stream: &TcpStream, status: u16, body: &str, retry_after: Option<u64>) {
    let head = head(status, body.len(), retry_after);
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// Keeps the connection open until the client disconnects.
fn wait_for_disconnect(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

fn drip(mut stream: &TcpStream) {
    let _ = stream.write_all(head(200, 1_000_000, None).as_bytes());
    while stream.write_all(b" ").is_ok() {
        std::thread::sleep(Duration::from_millis(500));
    }
}
