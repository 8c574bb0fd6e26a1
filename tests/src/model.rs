//! A language model that is none, over loopback: both shapes of API, as strict as the real ones are
//! about what they take. What it says is up to the test.

mod speech;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use self::speech::{answer, write};
use crate::http::Heard;

/// What it was asked, as a model sees it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The model's name.
    pub model: String,
    /// What it is to do.
    pub system: String,
    /// What with.
    pub text: String,
    /// Addresses of pictures, or `data:` addresses of those that came along.
    pub images: Vec<String>,
    /// Whether it is to answer piece by piece.
    pub stream: bool,
    /// The most tokens that it may answer with.
    pub max_tokens: u64,
}

/// How it answers.
#[derive(Debug, Clone)]
pub enum Said {
    /// With this text.
    Text(String),
    /// With this text, cut at its length.
    Cut(String),
    /// It does not want to.
    Refused,
    /// With this status and body instead, and perhaps `Retry-After`.
    Fault(u16, String, Option<u64>),
    /// With this text, and then nothing for as long as somebody waits.
    Stalls(String),
    /// With this text, and then the connection is gone.
    Breaks(String),
    /// With this text, and then an error in the middle of the stream; without a stream, with status
    /// 500.
    GivesUp(String),
    /// With status 200 and something that is no answer.
    Nonsense,
}

/// What the service is like.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// The key that it wants; none when absent.
    pub key: Option<String>,
    /// Its models; any when empty.
    pub models: Vec<String>,
    /// It takes no temperature.
    pub no_temperature: bool,
    /// It takes `max_completion_tokens` only.
    pub new_max_tokens: bool,
    /// It takes pictures only along with the question.
    pub images_as_bytes: bool,
}

type Mind = Arc<dyn Fn(&Asked) -> Said + Send + Sync>;

/// The service.
pub struct FakeModel {
    address: SocketAddr,
    /// What it was asked and understood, in order.
    pub asked: Arc<Mutex<Vec<Asked>>>,
    /// How often somebody called, understood or not.
    pub calls: Arc<Mutex<usize>>,
}

/// A refusal: status, its type, what it says, which parameter.
struct Refusal(u16, &'static str, String, &'static str);

fn refuse<T>(
    status: u16,
    kind: &'static str,
    message: impl Into<String>,
    param: &'static str,
) -> Result<T, Refusal> {
    Err(Refusal(status, kind, message.into(), param))
}

fn invalid<T>(message: impl Into<String>, param: &'static str) -> Result<T, Refusal> {
    refuse(400, "invalid_request_error", message, param)
}

impl FakeModel {
    /// A service of this manner, with this mind.
    #[must_use]
    pub fn new(manner: Manner, mind: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, calls): (Arc<Mutex<Vec<Asked>>>, Arc<Mutex<usize>>) = Default::default();
        let (manner, mind): (_, Mind) = (Arc::new(manner), Arc::new(mind));
        let (noted, counted) = (Arc::clone(&asked), Arc::clone(&calls));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (manner, mind) = (Arc::clone(&manner), Arc::clone(&mind));
                let (noted, counted) = (Arc::clone(&noted), Arc::clone(&counted));
                std::thread::spawn(move || {
                    let Some(request) = Heard::read(&stream) else { return };
                    *counted.lock().unwrap() += 1;
                    let openai = request.path.ends_with("/chat/completions");
                    match understand(&manner, &request, openai) {
                        Ok(asked) => {
                            noted.lock().unwrap().push(asked.clone());
                            let said = mind(&asked);
                            answer(&stream, openai, &asked, said);
                        }
                        Err(refusal) => {
                            let (status, body, wait) = refused(openai, &refusal);
                            write(&stream, status, &body, wait);
                        }
                    }
                });
            }
        });
        Self { address, asked, calls }
    }

    /// Its address, as `llm.base_url` wants it for `openai`.
    #[must_use]
    pub fn openai(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its address, as `llm.base_url` wants it for `anthropic`.
    #[must_use]
    pub fn anthropic(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked until now.
    #[must_use]
    pub fn heard(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How often somebody called.
    #[must_use]
    pub fn called(&self) -> usize {
        *self.calls.lock().unwrap()
    }
}

/// The question, or why it is none.
fn understand(manner: &Manner, request: &Heard, openai: bool) -> Result<Asked, Refusal> {
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
    let given = match openai {
        true => request.header("authorization").strip_prefix("Bearer ").unwrap_or_default(),
        false => request.header("x-api-key"),
    };
    if let Some(key) = &manner.key
        && given != key
    {
        // The real ones repeat a part of it.
        return refuse(
            401,
            "authentication_error",
            format!("Incorrect API key provided: {given}"),
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
    let asked = if openai { completion(manner, &body)? } else { message(manner, &body)? };
    if !manner.models.is_empty() && !manner.models.contains(&asked.model) {
        let name = &asked.model;
        return refuse(
            404,
            "not_found_error",
            format!("The model `{name}` does not exist"),
            "model_not_found",
        );
    }
    Ok(asked)
}

fn known(body: &Value, names: &[&str]) -> Result<(), Refusal> {
    let unknown =
        body.as_object().into_iter().flatten().find(|(name, _)| !names.contains(&name.as_str()));
    unknown.map_or(Ok(()), |(name, _)| {
        invalid(format!("Unrecognized request argument supplied: {name}"), "")
    })
}

fn text_of(body: &Value, name: &'static str) -> Result<String, Refusal> {
    match body[name].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => invalid(format!("you must provide a {name} parameter"), name),
    }
}

fn temperature(manner: &Manner, body: &Value, most: f64) -> Result<(), Refusal> {
    let Some(temperature) = body.get("temperature") else { return Ok(()) };
    if manner.no_temperature {
        return invalid("`temperature` is deprecated for this model.", "temperature");
    }
    match temperature.as_f64() {
        Some(number) if (0.0..=most).contains(&number) => Ok(()),
        _ => invalid(format!("temperature: range: 0..{most}"), "temperature"),
    }
}

fn tokens(body: &Value, name: &'static str) -> Result<(), Refusal> {
    match body[name].as_u64() {
        Some(1..) => Ok(()),
        _ => invalid(format!("{name}: must be a whole number of at least 1"), name),
    }
}

fn streams(body: &Value) -> Result<bool, Refusal> {
    match body.get("stream").map(Value::as_bool) {
        None => Ok(false),
        Some(Some(stream)) => Ok(stream),
        Some(None) => invalid("stream: must be true or false", "stream"),
    }
}

/// A request of OpenAI's shape.
fn completion(manner: &Manner, body: &Value) -> Result<Asked, Refusal> {
    known(
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
    let stream = streams(body)?;
    if body.get("stream_options").is_some() && !stream {
        return invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        );
    }
    temperature(manner, body, 2.0)?;
    if manner.new_max_tokens && body.get("max_tokens").is_some() {
        let why = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        return invalid(why, "max_tokens");
    }
    match (body.get("max_tokens"), body.get("max_completion_tokens")) {
        (Some(_), Some(_)) => return invalid("max_tokens and max_completion_tokens", "max_tokens"),
        (Some(_), None) => tokens(body, "max_tokens")?,
        (None, Some(_)) => tokens(body, "max_completion_tokens")?,
        (None, None) => {}
    }
    let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
        return invalid("[] is too short - 'messages'", "messages");
    };
    let mut asked = Asked {
        model: text_of(body, "model")?,
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
        let place = match message["role"].as_str() {
            Some("system" | "developer") => &mut asked.system,
            Some("user" | "assistant") => &mut asked.text,
            _ => return invalid("messages: role is none of system, user, assistant", "messages"),
        };
        match &message["content"] {
            Value::String(text) => place.push_str(text),
            Value::Array(parts) if !parts.is_empty() => {
                for part in parts {
                    match (
                        part["type"].as_str(),
                        part["text"].as_str(),
                        part["image_url"]["url"].as_str(),
                    ) {
                        (Some("text"), Some(text), _) => place.push_str(text),
                        (Some("image_url"), _, Some(url)) => {
                            asked.images.push(picture(manner, url)?);
                        }
                        _ => return invalid("messages: content is of no known type", "messages"),
                    }
                }
            }
            _ => return invalid("messages: content must be text or a list of parts", "messages"),
        }
    }
    match body.get("response_format").map(|format| format["type"].as_str()) {
        None | Some(Some("text" | "json_schema")) => {}
        Some(Some("json_object"))
            if format!("{}{}", asked.system, asked.text).to_lowercase().contains("json") => {}
        Some(Some("json_object")) => {
            let why = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
            return invalid(why, "messages");
        }
        Some(_) => return invalid("response_format.type", "response_format"),
    }
    Ok(asked)
}

/// A request of Anthropic's shape.
fn message(manner: &Manner, body: &Value) -> Result<Asked, Refusal> {
    known(body, &["model", "messages", "max_tokens", "system", "temperature", "stream"])?;
    temperature(manner, body, 1.0)?;
    tokens(body, "max_tokens")?;
    let system = body["system"].as_str().unwrap_or_default().to_owned();
    let mut asked = Asked {
        model: text_of(body, "model")?,
        system,
        text: String::new(),
        images: Vec::new(),
        stream: streams(body)?,
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
                    Some(text) if !text.trim().is_empty() => asked.text.push_str(text),
                    _ => return invalid("messages: text content blocks must be non-empty", ""),
                },
                (Some("image"), Some("url")) => {
                    asked.images.push(picture(manner, source["url"].as_str().unwrap_or_default())?);
                }
                (Some("image"), Some("base64")) => {
                    let (kind, data) = (source["media_type"].as_str(), source["data"].as_str());
                    let url = format!(
                        "data:{};base64,{}",
                        kind.unwrap_or_default(),
                        data.unwrap_or_default()
                    );
                    asked.images.push(picture(manner, &url)?);
                }
                _ => return invalid("messages: content block of no known type", ""),
            }
        }
    }
    Ok(asked)
}

/// The address of a picture, if it is one.
fn picture(manner: &Manner, url: &str) -> Result<String, Refusal> {
    let data = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    let fits = match data {
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
            !manner.images_as_bytes
                && (url.starts_with("https://") || url.starts_with("http://127.0.0.1:"))
        }
    };
    if fits { Ok(url.to_owned()) } else { invalid("invalid image input", "") }
}

fn refused(
    openai: bool,
    Refusal(status, kind, message, param): &Refusal,
) -> (u16, String, Option<u64>) {
    let body = if openai {
        json!({ "error": { "message": message, "type": kind, "param": param, "code": param } })
    } else {
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
    };
    (*status, body.to_string(), None)
}
