//! A fake language model on loopback. It speaks the APIs of OpenAI and Anthropic and validates
//! requests as strictly as the real services do. Tests choose its responses.

mod responses;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use self::responses::{answer, write};
use crate::http::ReceivedRequest;

/// A question to the model: the content of a valid request.
#[derive(Debug, Clone)]
pub struct Question {
    /// The model's name.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The texts of the user's and the assistant's messages, joined.
    pub text: String,
    /// URLs of images. Attached images have `data:` URLs.
    pub images: Vec<String>,
    /// Whether the response is to be streamed.
    pub stream: bool,
    /// The maximum number of output tokens, or 0 if the request has none.
    pub max_tokens: u64,
}

/// A response of the model.
#[derive(Debug, Clone)]
pub enum ModelResponse {
    /// This text.
    Text(String),
    /// This text, truncated at the token limit.
    Truncated(String),
    /// The model refuses to answer.
    Refusal,
    /// This status, this body and, if it is `Some`, `Retry-After` in seconds.
    Status(u16, String, Option<u64>),
    /// This text, then silence until the client disconnects. Without streaming, only silence.
    Stall(String),
    /// This text, then a broken connection.
    Disconnect(String),
    /// This text, then an error in the stream. Without streaming, status 500.
    StreamError(String),
    /// Status 200 with an HTML body.
    Garbage,
}

/// Restrictions of the service.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The required API key. `None` accepts any.
    pub key: Option<String>,
    /// The available models. An empty list allows any.
    pub models: Vec<String>,
    /// Whether the service rejects `temperature`.
    pub no_temperature: bool,
    /// Whether the API of OpenAI rejects `max_tokens` in favour of `max_completion_tokens`.
    pub new_max_tokens: bool,
    /// Whether the service rejects URLs of images and requires attached images.
    pub images_as_bytes: bool,
}

type Responder = Arc<dyn Fn(&Question) -> ModelResponse + Send + Sync>;

/// The fake service.
pub struct FakeModel {
    address: SocketAddr,
    /// The questions of valid requests, in order.
    pub questions: Arc<Mutex<Vec<Question>>>,
    /// The number of requests, including invalid ones.
    pub calls: Arc<Mutex<usize>>,
}

/// An error of the API.
struct ApiError {
    status: u16,
    kind: &'static str,
    message: String,
    /// Both `param` and `code` in errors of OpenAI's API.
    param: &'static str,
}

fn refuse<T>(
    status: u16,
    kind: &'static str,
    message: impl Into<String>,
    param: &'static str,
) -> Result<T, ApiError> {
    Err(ApiError { status, kind, message: message.into(), param })
}

/// Refuses an invalid request with status 400.
fn invalid<T>(message: impl Into<String>, param: &'static str) -> Result<T, ApiError> {
    refuse(400, "invalid_request_error", message, param)
}

impl FakeModel {
    /// Starts a service with these restrictions that answers with `respond`.
    #[must_use]
    pub fn new(
        options: ModelOptions,
        respond: impl Fn(&Question) -> ModelResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (questions, calls): (Arc<Mutex<Vec<Question>>>, Arc<Mutex<usize>>) = Default::default();
        let (options, respond): (_, Responder) = (Arc::new(options), Arc::new(respond));
        let (question_log, call_counter) = (Arc::clone(&questions), Arc::clone(&calls));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (options, respond) = (Arc::clone(&options), Arc::clone(&respond));
                let (question_log, call_counter) =
                    (Arc::clone(&question_log), Arc::clone(&call_counter));
                std::thread::spawn(move || {
                    let Some(request) = ReceivedRequest::read(&stream) else { return };
                    *call_counter.lock().unwrap() += 1;
                    let openai = request.path.ends_with("/chat/completions");
                    match parse_question(&options, &request, openai) {
                        Ok(question) => {
                            question_log.lock().unwrap().push(question.clone());
                            let response = respond(&question);
                            answer(&stream, openai, &question, response);
                        }
                        Err(error) => {
                            write(&stream, error.status, &error_body(openai, &error), None);
                        }
                    }
                });
            }
        });
        Self { address, questions, calls }
    }

    /// Returns the value of `llm.base_url` for the provider `openai`.
    #[must_use]
    pub fn openai(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the value of `llm.base_url` for the provider `anthropic`.
    #[must_use]
    pub fn anthropic(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the questions of the valid requests so far.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        self.questions.lock().unwrap().clone()
    }

    /// Returns the number of requests so far, including invalid ones.
    #[must_use]
    pub fn call_count(&self) -> usize {
        *self.calls.lock().unwrap()
    }
}

/// Validates a request and returns its question.
fn parse_question(
    options: &ModelOptions,
    request: &ReceivedRequest,
    openai: bool,
) -> Result<Question, ApiError> {
    if !openai && request.path != "/v1/messages" {
        return refuse(
            404,
            "not_found_error",
            format!("Unknown request URL: {}", request.path),
            "",
        );
    }
    if request.method != "POST" {
        return refuse(405, "invalid_request_error", "Not allowed", "");
    }
    let sent_key = match openai {
        true => request.header("authorization").strip_prefix("Bearer ").unwrap_or_default(),
        false => request.header("x-api-key"),
    };
    if let Some(key) = &options.key
        && sent_key != key
    {
        // Real services repeat a part of the key in the message; this one repeats the whole key.
        return refuse(
            401,
            "authentication_error",
            format!("Incorrect API key provided: {sent_key}"),
            "",
        );
    }
    if !openai && request.header("anthropic-version") != "2023-06-01" {
        return invalid("anthropic-version: header is required", "");
    }
    if request.header("content-type") != "application/json" {
        return invalid("we could not parse the JSON body of your request", "");
    }
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&request.body) else {
        return invalid("we could not parse the JSON body of your request", "");
    };
    let body = Value::Object(body);
    let question =
        if openai { parse_completion(options, &body)? } else { parse_message(options, &body)? };
    if !options.models.is_empty() && !options.models.contains(&question.model) {
        let name = &question.model;
        return refuse(
            404,
            "not_found_error",
            format!("The model `{name}` does not exist"),
            "model_not_found",
        );
    }
    Ok(question)
}

fn reject_unknown_fields(body: &Value, names: &[&str]) -> Result<(), ApiError> {
    let unknown =
        body.as_object().into_iter().flatten().find(|(name, _)| !names.contains(&name.as_str()));
    unknown.map_or(Ok(()), |(name, _)| {
        invalid(format!("Unrecognized request argument supplied: {name}"), "")
    })
}

fn required_text(body: &Value, name: &'static str) -> Result<String, ApiError> {
    match body[name].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => invalid(format!("you must provide a {name} parameter"), name),
    }
}

fn check_temperature(options: &ModelOptions, body: &Value, max: f64) -> Result<(), ApiError> {
    let Some(temperature) = body.get("temperature") else { return Ok(()) };
    if options.no_temperature {
        return invalid("`temperature` is deprecated for this model.", "temperature");
    }
    match temperature.as_f64() {
        Some(number) if (0.0..=max).contains(&number) => Ok(()),
        _ => invalid(format!("temperature: range: 0..{max}"), "temperature"),
    }
}

fn check_token_limit(body: &Value, name: &'static str) -> Result<(), ApiError> {
    match body[name].as_u64() {
        Some(1..) => Ok(()),
        _ => invalid(format!("{name}: must be a whole number of at least 1"), name),
    }
}

fn parse_stream(body: &Value) -> Result<bool, ApiError> {
    match body.get("stream").map(Value::as_bool) {
        None => Ok(false),
        Some(Some(stream)) => Ok(stream),
        Some(None) => invalid("stream: must be true or false", "stream"),
    }
}

/// Validates the body of a request of OpenAI's API and returns its question.
fn parse_completion(options: &ModelOptions, body: &Value) -> Result<Question, ApiError> {
    reject_unknown_fields(
        body,
        &[
            "model",
            "messages",
            "max_tokens",
            "max_completion_tokens",
            "temperature",
            "response_format",
            "stream",
            "stream_options",
        ],
    )?;
    let stream = parse_stream(body)?;
    if body.get("stream_options").is_some() && !stream {
        return invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        );
    }
    check_temperature(options, body, 2.0)?;
    if options.new_max_tokens && body.get("max_tokens").is_some() {
        let why = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
            'max_completion_tokens' instead.";
        return invalid(why, "max_tokens");
    }
    match (body.get("max_tokens"), body.get("max_completion_tokens")) {
        (Some(_), Some(_)) => return invalid("max_tokens and max_completion_tokens", "max_tokens"),
        (Some(_), None) => check_token_limit(body, "max_tokens")?,
        (None, Some(_)) => check_token_limit(body, "max_completion_tokens")?,
        (None, None) => {}
    }
    let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
        return invalid("[] is too short - 'messages'", "messages");
    };
    let mut question = Question {
        model: required_text(body, "model")?,
        system: String::new(),
        text: String::new(),
        images: Vec::new(),
        stream,
        max_tokens: body["max_tokens"]
            .as_u64()
            .or(body["max_completion_tokens"].as_u64())
            .unwrap_or(0),
    };
    for message in messages {
        let prompt = match message["role"].as_str() {
            Some("system" | "developer") => &mut question.system,
            Some("user" | "assistant") => &mut question.text,
            _ => return invalid("messages: role is none of system, user, assistant", "messages"),
        };
        match &message["content"] {
            Value::String(text) => prompt.push_str(text),
            Value::Array(parts) if !parts.is_empty() => {
                for part in parts {
                    match (
                        part["type"].as_str(),
                        part["text"].as_str(),
                        part["image_url"]["url"].as_str(),
                    ) {
                        (Some("text"), Some(text), _) => prompt.push_str(text),
                        (Some("image_url"), _, Some(url)) => {
                            question.images.push(checked_image(options, url)?);
                        }
                        _ => return invalid("messages: content has no known type", "messages"),
                    }
                }
            }
            _ => return invalid("messages: content must be text or a list of parts", "messages"),
        }
    }
    match body.get("response_format").map(|format| format["type"].as_str()) {
        None | Some(Some("text" | "json_schema")) => {}
        Some(Some("json_object"))
            if format!("{}{}", question.system, question.text).to_lowercase().contains("json") => {}
        Some(Some("json_object")) => {
            let why = "'messages' must contain the word 'json' in some form, to use \
                'response_format' of type 'json_object'.";
            return invalid(why, "messages");
        }
        Some(_) => return invalid("response_format.type", "response_format"),
    }
    Ok(question)
}

/// Validates the body of a request of Anthropic's API and returns its question.
fn parse_message(options: &ModelOptions, body: &Value) -> Result<Question, ApiError> {
    reject_unknown_fields(
        body,
        &["model", "messages", "max_tokens", "system", "temperature", "stream"],
    )?;
    check_temperature(options, body, 1.0)?;
    check_token_limit(body, "max_tokens")?;
    let system = body["system"].as_str().unwrap_or_default().to_owned();
    let mut question = Question {
        model: required_text(body, "model")?,
        system,
        text: String::new(),
        images: Vec::new(),
        stream: parse_stream(body)?,
        max_tokens: body["max_tokens"].as_u64().unwrap_or(0),
    };
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    if messages.last().is_none_or(|last| last["role"] != "user") {
        return invalid("messages: the last one must be the user's", "");
    }
    for message in messages {
        for block in message["content"].as_array().into_iter().flatten() {
            let source = &block["source"];
            match (block["type"].as_str(), source["type"].as_str()) {
                (Some("text"), _) => match block["text"].as_str() {
                    Some(text) if !text.trim().is_empty() => question.text.push_str(text),
                    _ => return invalid("messages: text content blocks must be non-empty", ""),
                },
                (Some("image"), Some("url")) => {
                    question
                        .images
                        .push(checked_image(options, source["url"].as_str().unwrap_or_default())?);
                }
                (Some("image"), Some("base64")) => {
                    let (kind, data) = (source["media_type"].as_str(), source["data"].as_str());
                    let url = format!(
                        "data:{};base64,{}",
                        kind.unwrap_or_default(),
                        data.unwrap_or_default()
                    );
                    question.images.push(checked_image(options, &url)?);
                }
                _ => return invalid("messages: content block of no known type", ""),
            }
        }
    }
    Ok(question)
}

/// Returns the URL of an image if it is valid.
fn checked_image(options: &ModelOptions, url: &str) -> Result<String, ApiError> {
    let data = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    let is_valid = match data {
        Some((kind, data)) => {
            ["jpeg", "png", "gif", "webp"].contains(&kind)
                && !data.is_empty()
                && data.len().is_multiple_of(4)
                && data
                    .trim_end_matches('=')
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"+/".contains(&b))
        }
        None => {
            !options.images_as_bytes
                && (url.starts_with("https://") || url.starts_with("http://127.0.0.1:"))
        }
    };
    if is_valid { Ok(url.to_owned()) } else { invalid("invalid image input", "") }
}

/// Returns the body of an error in the API's format.
fn error_body(openai: bool, ApiError { kind, message, param, .. }: &ApiError) -> String {
    let body = if openai {
        json!({ "error": { "message": message, "type": kind, "param": param, "code": param } })
    } else {
        json!({ "type": "error", "error": { "type": kind, "message": message },
            "request_id": "req_1" })
    };
    body.to_string()
}
