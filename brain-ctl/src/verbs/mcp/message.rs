//! Parses the parts of JSON-RPC 2.0 messages that the relay needs.

use std::borrow::Cow;

use brain_protocol::{Fault, MAX_MESSAGE};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};

/// Invalid JSON (JSON-RPC 2.0 section 5.1).
const PARSE_ERROR: i32 = -32700;
/// Not a valid JSON-RPC message.
const INVALID_REQUEST: i32 = -32600;
/// Internal error.
const INTERNAL_ERROR: i32 = -32603;

/// A parsed message.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// A request.
    Request {
        /// The id.
        id: Value,
        /// Whether it initialises a session (MCP before 2026-07-28).
        is_initialize: bool,
    },
    /// The notification that the session is initialised.
    Initialized,
    /// The notification that a request is cancelled.
    Cancelled(Value),
    /// Another notification.
    Notification,
    /// An answer.
    Answer {
        /// The id of the request, or `None` if the answer names none.
        id: Option<Value>,
        /// Whether the request succeeded.
        success: bool,
    },
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default)]
    jsonrpc: Cow<'a, str>,
    /// `None` if there is none, in contrast to `null`.
    #[serde(default, deserialize_with = "read_id")]
    id: Option<Value>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

fn read_id<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[derive(Deserialize)]
struct CancelledParams {
    #[serde(rename = "requestId")]
    request_id: Value,
}

/// Parses a line.
///
/// # Errors
/// Returns the error answer to an invalid message, as a line.
pub(super) fn parse(line: &[u8]) -> Result<Message, Vec<u8>> {
    let mut raw: Raw<'_> = match serde_json::from_slice(line) {
        Ok(raw) => raw,
        Err(e) if !e.is_data() => return Err(error(None, PARSE_ERROR, "the message is not JSON")),
        Err(_) if line.trim_ascii_start().first() == Some(&b'[') => {
            return Err(error(
                None,
                INVALID_REQUEST,
                "batches are not supported: send one message on each line",
            ));
        }
        Err(_) => return Err(invalid_message(None)),
    };
    // An error answer to a message without a readable id has a null id.
    if raw.method.is_none() && raw.id == Some(Value::Null) {
        raw.id = None;
    }
    // MCP permits only integers and strings. The daemon could not answer with another id.
    if raw.jsonrpc != "2.0" || raw.id.as_ref().is_some_and(|id| !id.is_string() && !id.is_i64()) {
        return Err(invalid_message(raw.id.filter(|id| id.is_string() || id.is_number()).as_ref()));
    }
    Ok(match (raw.method.as_deref(), raw.id) {
        (Some(method), Some(id)) => Message::Request { id, is_initialize: method == "initialize" },
        (Some("notifications/initialized"), None) => Message::Initialized,
        (Some("notifications/cancelled"), None) => {
            let params = raw.params.and_then(|params| serde_json::from_str(params.get()).ok());
            params.map_or(Message::Notification, |params: CancelledParams| {
                Message::Cancelled(params.request_id)
            })
        }
        (Some(_), None) => Message::Notification,
        (None, id) if raw.result.is_some() || raw.error.is_some() => {
            Message::Answer { id, success: raw.error.is_none() }
        }
        (None, id) => return Err(invalid_message(id.as_ref())),
    })
}

fn invalid_message(id: Option<&Value>) -> Vec<u8> {
    error(
        id,
        INVALID_REQUEST,
        "the message is not JSON-RPC 2.0: jsonrpc must be \"2.0\", id an integer or a string",
    )
}

/// Returns the error answer to a request that is too long.
pub(super) fn too_long(id: Option<&Value>) -> Vec<u8> {
    let message = format!("a message has at most {} bytes; write the page in parts", MAX_MESSAGE);
    error(id, INVALID_REQUEST, &message)
}

/// Returns the error answer to a request that has the id of an unanswered request.
pub(super) fn duplicate_id(id: &Value) -> Vec<u8> {
    error(Some(id), INVALID_REQUEST, "an unanswered request has the same id: use different ids")
}

/// Returns the error answer to a request if the daemon's answer is too long.
pub(super) fn answer_too_long(id: &Value) -> Vec<u8> {
    let message = format!("the answer has more than {} bytes; request a part of it", MAX_MESSAGE);
    error(Some(id), INTERNAL_ERROR, &message)
}

/// Returns the error answer to a request if the daemon ended before it answered.
pub(super) fn unanswered(id: &Value) -> Vec<u8> {
    let message = "the daemon was restarted or stopped before it answered; \
                   check whether the call took effect before you repeat it";
    error(Some(id), INTERNAL_ERROR, message)
}

/// Returns the error answer to a request if connecting to the daemon failed with `fault`.
pub(super) fn unreachable(id: &Value, fault: &Fault) -> Vec<u8> {
    let mut message = fault.message.clone();
    if let Some(hint) = &fault.hint {
        message.push_str(&format!("; {hint}"));
    }
    error(Some(id), INTERNAL_ERROR, &message)
}

/// Formats an error answer as a line.
fn error(id: Option<&Value>, code: i32, message: &str) -> Vec<u8> {
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
    format!("{body}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> (Value, Value) {
        let answer = parse(line.as_bytes()).expect_err(line);
        let mut answer: Value = serde_json::from_slice(&answer).expect("json");
        (answer["error"]["code"].take(), answer["id"].take())
    }

    #[test]
    fn messages_are_classified() {
        let parse = |line: &str| parse(line.as_bytes()).expect(line);
        let request = |id: Value, is_initialize| Message::Request { id, is_initialize };
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#),
            request(json!(1), true)
        );
        assert_eq!(
            parse(r#"{"method":"tools/call","params":{"id":2},"jsonrpc":"2.0","id":"a"}"#),
            request(json!("a"), false)
        );
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            Message::Initialized
        );
        assert_eq!(
            parse(
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#
            ),
            Message::Cancelled(json!(5))
        );
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#),
            Message::Notification
        );
        let answer = |success| Message::Answer { id: Some(json!(3)), success };
        assert_eq!(parse(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#), answer(true));
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":""}}"#),
            answer(false)
        );
    }

    #[test]
    fn invalid_messages_get_a_json_rpc_error() {
        assert_eq!(code("{"), (json!(-32700), Value::Null));
        assert_eq!(code("{} {}"), (json!(-32700), Value::Null));
        assert_eq!(code("\"\u{0}\""), (json!(-32700), Value::Null));
        assert!(super::parse(b"\xff").is_err());
        assert_eq!(code("[]"), (json!(-32600), Value::Null));
        assert_eq!(code("1"), (json!(-32600), Value::Null));
        assert_eq!(code("{}"), (json!(-32600), Value::Null));
        assert_eq!(code(r#"{"jsonrpc":"1.0","id":4,"method":"a"}"#), (json!(-32600), json!(4)));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#), (json!(-32600), Value::Null));
        let null_id = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert_eq!(code(null_id), (json!(-32600), Value::Null));
        let answer = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}"#;
        assert_eq!(super::parse(answer), Ok(Message::Answer { id: None, success: false }));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#), (json!(-32600), json!(1.5)));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":4}"#), (json!(-32600), json!(4)));
    }
}
