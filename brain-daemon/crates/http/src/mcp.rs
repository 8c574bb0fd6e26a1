//! `/mcp`: who may call which tool, and what is no message of MCP at all, before a message comes to the tools.
//!
//! The tools answer HTTP by themselves (MCP 2026-07-28, "Streamable HTTP"); here stands what they leave to others: the bearer token,
//! the scope that a tool needs as HTTP says it (RFC 6750 section 3.1), and JSON-RPC's own words for what cannot be read.

use std::borrow::Cow;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use brain_protocol::{MAX_MESSAGE, Mcp, Operation as _};
use http_body_util::Full;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, SemaphorePermit};
use tower::ServiceExt as _;

use super::auth::{self, Resource};
use super::body::media_type;
use super::{AppState, HttpError, defect, dispatch};
use brain_base::caller::Scope;
use brain_mcp as mcp;

/// Where the tools are.
pub(super) const PATH: &str = Resource::Mcp.path();
/// A message up to this size, in bytes, needs no room of its own.
const SMALL: usize = 64 * 1024;
/// What the large ones that are on their way may have together, in KB.
const ROOM: usize = 64 * 1024;
/// The most values in a message. Each takes some ten times its bytes once it is read, so a body of nothing else would fill the memory.
const PARTS: usize = 20_000;
/// What clients must take (MCP 2026-07-28, "Sending Messages").
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The code of a refusal by HTTP's means, of those that JSON-RPC leaves to servers (section 5.1).
const REFUSED: i32 = -32000;
const NO_MESSAGE: &str = "this is no message of MCP: an object with jsonrpc \"2.0\", a method, and for a request an id that is a number or a string";

/// What is served.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, axum::routing::any(message))
}

/// Checks one request, and hands it on.
async fn message(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let caller = auth::authenticate(&app, &request, Resource::Mcp)?;
    app.shared.limits.check_client(&caller.name)?;
    auth::permit(&app, &caller, Mcp::INFO, Resource::Mcp)?;
    let (mut parts, body) = request.into_parts();
    let (mut bytes, mut _room) = (Bytes::new(), None);
    if parts.method == Method::POST {
        bytes = read(body).await?;
        // Taken when the message is whole, so one that never ends takes no room; kept until the answer is there.
        _room = room(&app, bytes.len()).await?;
        let called = match Called::of(&bytes) {
            Ok(called) => called,
            Err((code, message)) => return Ok(refused(code, message)),
        };
        if let Some(tool) = called.tool() {
            dispatch::set_tool(tool);
            let operation = mcp::tool_operation(tool);
            let permit = |operation| auth::permit(&app, &caller, operation, Resource::Mcp);
            if let Some(Err(refusal)) = operation.map(permit) {
                return Ok(called.refused(refusal));
            }
            if operation.is_some_and(|operation| operation.scope == Scope::Write)
                && let Err(refusal) =
                    app.shared.quota.charge(&caller.name, bytes.len(), app.brain.now())
            {
                return Ok(called.refused(refusal));
            }
        }
        take_any(&mut parts.headers);
    }
    let json = media_type(&parts.headers).is_some_and(|kind| kind == "application/json");
    parts.extensions.insert(caller);
    let answer =
        app.shared.tools.clone().oneshot(Request::from_parts(parts, Full::new(bytes))).await;
    match answer {
        // The tools call JSON that is no message of theirs a wrong media type.
        Ok(response) if json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Ok(refused(-32600, NO_MESSAGE))
        }
        Ok(response) => Ok(in_words(response)),
        Err(never) => match never {},
    }
}

/// Where large messages have room.
pub(super) fn large() -> Semaphore {
    Semaphore::new(ROOM)
}

/// Waits until there is room for a message of so many bytes: clients that each send a large one do not fill the memory together.
async fn room(app: &AppState, bytes: usize) -> Result<Option<SemaphorePermit<'_>>, HttpError> {
    if bytes <= SMALL {
        return Ok(None);
    }
    let taken = app.shared.large.acquire_many((bytes / 1024) as u32).await;
    taken.map(Some).map_err(|_| defect())
}

async fn read(body: Body) -> Result<Bytes, HttpError> {
    axum::body::to_bytes(body, MAX_MESSAGE).await.map_err(|error| {
        let source = std::error::Error::source(&error);
        if source.is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>) {
            let message =
                format!("a message has at most {MAX_MESSAGE} bytes; write the page in parts");
            HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
        } else {
            HttpError::new(
                StatusCode::BAD_REQUEST,
                "bad_request",
                "the body ended before it was whole",
            )
        }
    })
}

/// A client that takes anything takes both kinds of answer.
fn take_any(headers: &mut HeaderMap) {
    let anything = |value: &HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        text.split(',').any(|range| range.split(';').next().unwrap_or_default().trim() == "*/*")
    };
    if headers.get(header::ACCEPT).is_none_or(anything) {
        headers.insert(header::ACCEPT, BOTH);
    }
}

/// What is looked at of a message before the tools see it (JSON-RPC 2.0 section 4).
#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}

impl<'a> Called<'a> {
    /// Reads it; for what cannot be read, JSON-RPC's code and words.
    fn of(bytes: &'a Bytes) -> Result<Self, (i32, &'static str)> {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') && serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
            return Err((-32600, "batches are not taken: send one message a request"));
        }
        if parts(bytes) > PARTS {
            return Err((
                -32600,
                "the message has too many parts: a tool takes texts and short lists",
            ));
        }
        // Of JSON in another shape than wanted serde says now this, now that.
        serde_json::from_slice(bytes).map_err(|_| {
            match serde_json::from_slice::<IgnoredAny>(bytes) {
                Ok(_) => (-32600, NO_MESSAGE),
                Err(_) => (-32700, "this is no JSON"),
            }
        })
    }

    /// A refusal with its status and headers, in JSON-RPC's words: clients that look for nothing else show its message.
    fn refused(&self, refusal: HttpError) -> Response {
        let (error, message) = (refusal.error().to_owned(), refusal.message().to_owned());
        let (mut parts, _) = refusal.into_response().into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        let error =
            serde_json::json!({ "code": REFUSED, "message": message, "data": { "error": error } });
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
        Response::from_parts(parts, Body::from(body.to_string()))
    }

    /// The tool that it calls.
    fn tool(&self) -> Option<&str> {
        let name = self.params.as_ref().and_then(|params| params.name.as_deref());
        name.filter(|_| self.method.as_deref() == Some("tools/call"))
    }
}

/// What the tools refuse by a status alone, in words that say what to send instead.
fn in_words(response: Response) -> Response {
    let message = match response.status() {
        _ if media_type(response.headers()).is_some_and(|kind| kind != "text/plain") => {
            return response;
        }
        StatusCode::NOT_ACCEPTABLE => {
            "send the field `Accept: application/json, text/event-stream`"
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "send the field `Content-Type: application/json`",
        StatusCode::BAD_REQUEST => {
            "the field MCP-Protocol-Version names no revision that is spoken here: send `initialize` without it, and then the one that the \
             answer names"
        }
        _ => return response,
    };
    refusal(response.status(), REFUSED, message)
}

/// How many values JSON has at the most, without reading it: what may stand before one is counted outside of texts.
fn parts(json: &[u8]) -> usize {
    let (mut count, mut text, mut escaped) = (0, false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = text,
            b'"' => text = !text,
            b',' | b'[' | b'{' if !text => count += 1,
            _ => {}
        }
    }
    count
}

/// A refusal as JSON-RPC has it (section 5.1); nobody knows which request it is about.
fn refused(code: i32, message: &str) -> Response {
    refusal(StatusCode::BAD_REQUEST, code, message)
}

/// The same with another status.
fn refusal(status: StatusCode, code: i32, message: &str) -> Response {
    let body = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    (status, axum::Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        assert_eq!(parts(br#"{"a":[1,2,{"b":[]}],"c":"x"}"#), 7);
        assert_eq!(parts(br#""a,[{\\\",[{\\\\""#), 0);
        assert_eq!(parts(br#"["\\\\",1]"#), 2);
        assert_eq!(parts(b""), 0);
    }
}
