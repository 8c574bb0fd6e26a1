//! `/mcp`: authentication, scopes and limits in front of the MCP server.
//!
//! The crate `mcp` speaks MCP over HTTP (MCP 2026-07-28, "Streamable HTTP"). This module checks the
//! bearer token and the scope of a tool (RFC 6750 section 3.1), and answers unreadable messages
//! with JSON-RPC errors.

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
use super::{AppState, HttpError, dispatch, internal_error};
use brain_base::caller::Scope;
use brain_mcp as mcp;

/// The path of the MCP server.
pub(super) const PATH: &str = Resource::Mcp.path();
/// Messages up to this size, in bytes, need no permit.
const MAX_SMALL_MESSAGE: usize = 64 * 1024;
/// The maximum total size of larger messages in progress, in KB.
const MAX_LARGE_KB: usize = 64 * 1024;
/// The maximum number of values in a message, as [`count_values`] counts them. A parsed value
/// takes about ten times its bytes.
const MAX_VALUES: usize = 20_000;
/// The media types that clients must accept (MCP 2026-07-28, "Sending Messages").
const ACCEPT_BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The code of errors that have an HTTP status, from the range for servers (JSON-RPC 2.0 section
/// 5.1).
const ERROR_CODE: i32 = -32000;
/// The code for a message that is not a valid request (JSON-RPC 2.0 section 5.1).
const INVALID_REQUEST: i32 = -32600;
/// The code for a message that is not JSON (JSON-RPC 2.0 section 5.1).
const PARSE_ERROR: i32 = -32700;
/// The message for JSON that is not an MCP message.
const INVALID_MESSAGE: &str = "the message is not an MCP message, which is an object with \
    jsonrpc \"2.0\", a method, and for a request an id that is a number or a string";

pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, axum::routing::any(message))
}

/// Checks a request and passes it to the MCP server.
async fn message(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let caller = auth::authenticate(&app, &request, Resource::Mcp)?;
    app.shared.limits.check_client(&caller.name, Scope::Read)?;
    auth::permit(&app, &caller, Mcp::INFO, Resource::Mcp)?;
    let (mut parts, body) = request.into_parts();
    let (mut bytes, mut _permit) = (Bytes::new(), None);
    if parts.method == Method::POST {
        bytes = read_message(body).await?;
        // Acquired when the message is complete, so that an unfinished message uses no budget.
        _permit = large_permit(&app, bytes.len()).await?;
        let head = match MessageHead::of(&bytes) {
            Ok(head) => head,
            Err((code, message)) => return Ok(bad_message(code, message)),
        };
        if let Some(tool) = head.tool() {
            dispatch::set_tool(tool);
            let operation = mcp::tool_operation(tool);
            let permit = |operation| auth::permit(&app, &caller, operation, Resource::Mcp);
            if let Some(Err(refusal)) = operation.map(permit) {
                return Ok(head.to_error(refusal));
            }
            if operation.is_some_and(|operation| operation.scope == Scope::Write) {
                app.shared.limits.check_client(&caller.name, Scope::Write)?;
                let charged = app.shared.quota.charge(&caller.name, bytes.len(), app.brain.now());
                if let Err(refusal) = charged {
                    return Ok(head.to_error(refusal));
                }
            }
        }
        widen_accept(&mut parts.headers);
    }
    let is_json = media_type(&parts.headers).is_some_and(|kind| kind == "application/json");
    parts.extensions.insert(caller);
    let answer =
        app.shared.tools.clone().oneshot(Request::from_parts(parts, Full::new(bytes))).await;
    match answer {
        // The MCP server reports JSON that is not an MCP message as a wrong media type.
        Ok(response) if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Ok(bad_message(INVALID_REQUEST, INVALID_MESSAGE))
        }
        Ok(response) => Ok(explain_status(response)),
        Err(never) => match never {},
    }
}

/// Creates the budget for large messages.
pub(super) fn large_messages() -> Semaphore {
    Semaphore::new(MAX_LARGE_KB)
}

/// Waits until the budget admits a message of `bytes` bytes.
async fn large_permit(
    app: &AppState,
    bytes: usize,
) -> Result<Option<SemaphorePermit<'_>>, HttpError> {
    if bytes <= MAX_SMALL_MESSAGE {
        return Ok(None);
    }
    let permit = app.shared.large_messages.acquire_many((bytes / 1024) as u32).await;
    permit.map(Some).map_err(|_| internal_error())
}

/// Reads a message of at most [`MAX_MESSAGE`] bytes.
///
/// # Errors
/// 413 if it is longer, 400 if its end does not arrive.
async fn read_message(body: Body) -> Result<Bytes, HttpError> {
    axum::body::to_bytes(body, MAX_MESSAGE).await.map_err(|error| {
        let source = std::error::Error::source(&error);
        if source.is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>) {
            let message =
                format!("a message has at most {MAX_MESSAGE} bytes; write the page in parts");
            HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
        } else {
            HttpError::new(StatusCode::BAD_REQUEST, "bad_request", "the body is incomplete")
        }
    })
}

/// Replaces an `Accept` that is absent or admits JSON with the media types that the MCP server
/// requires: every answer is JSON.
fn widen_accept(headers: &mut HeaderMap) {
    let ranges = headers.get_all(header::ACCEPT);
    let mut texts = ranges.iter().filter_map(|value| value.to_str().ok()).peekable();
    if texts.peek().is_none() || texts.any(|text| text.split(',').any(admits_json)) {
        headers.insert(header::ACCEPT, ACCEPT_BOTH);
    }
}

/// Returns whether a media range admits JSON (RFC 9110 section 12.5.1).
fn admits_json(range: &str) -> bool {
    let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
    let kind = parts.next().unwrap_or_default();
    let is_refused = |part: String| {
        part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0))
    };
    ["*/*", "application/*", "application/json"].contains(&kind.as_str()) && !parts.any(is_refused)
}

/// The members of a message that are checked before the MCP server reads it (JSON-RPC 2.0 section
/// 4).
#[derive(Deserialize)]
struct MessageHead<'a> {
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

impl<'a> MessageHead<'a> {
    /// Parses a message.
    ///
    /// # Errors
    /// The code and message of a JSON-RPC error.
    fn of(bytes: &'a Bytes) -> Result<Self, (i32, &'static str)> {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') && serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
            let message = "batches are not supported: send one message in each request";
            return Err((INVALID_REQUEST, message));
        }
        if count_values(bytes) > MAX_VALUES {
            return Err((
                INVALID_REQUEST,
                "the message has too many values: a tool takes texts and short lists",
            ));
        }
        // serde's error does not reliably distinguish syntax from structure.
        serde_json::from_slice(bytes).map_err(|_| {
            match serde_json::from_slice::<IgnoredAny>(bytes) {
                Ok(_) => (INVALID_REQUEST, INVALID_MESSAGE),
                Err(_) => (PARSE_ERROR, "the message is not JSON"),
            }
        })
    }

    /// Returns an HTTP error with a JSON-RPC error as its body, because some clients show only the
    /// message of that.
    fn to_error(&self, refusal: HttpError) -> Response {
        let (error, message) = (refusal.code().to_owned(), refusal.message().to_owned());
        let (mut parts, _) = refusal.into_response().into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        let error = serde_json::json!({
            "code": ERROR_CODE, "message": message, "data": { "error": error },
        });
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
        Response::from_parts(parts, Body::from(body.to_string()))
    }

    /// Returns the tool that the message calls.
    fn tool(&self) -> Option<&str> {
        let name = self.params.as_ref().and_then(|params| params.name.as_deref());
        name.filter(|_| self.method.as_deref() == Some("tools/call"))
    }
}

/// Adds a message to errors that the MCP server reports by a status without a JSON body.
fn explain_status(response: Response) -> Response {
    let message = match response.status() {
        _ if media_type(response.headers()).is_some_and(|kind| kind != "text/plain") => {
            return response;
        }
        StatusCode::NOT_ACCEPTABLE => {
            "send the field `Accept: application/json, text/event-stream`"
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "send the field `Content-Type: application/json`",
        StatusCode::BAD_REQUEST => {
            "the field MCP-Protocol-Version names an unsupported revision: send `initialize` \
                without the field, and then use the revision in the answer"
        }
        _ => return response,
    };
    json_rpc_error(response.status(), ERROR_CODE, message)
}

/// Returns the approximate number of values in JSON text: the commas and opening brackets outside
/// of strings.
fn count_values(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut is_escaped) = (0, false, false);
    for &byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

/// Returns status 400 with a JSON-RPC error (section 5.1), without the id of a request.
fn bad_message(code: i32, message: &str) -> Response {
    json_rpc_error(StatusCode::BAD_REQUEST, code, message)
}

fn json_rpc_error(status: StatusCode, code: i32, message: &str) -> Response {
    let error = serde_json::json!({ "code": code, "message": message });
    let body = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error });
    (status, axum::Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_range_that_admits_json_suffices() {
        for (accept, suffices) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("text/html, application/*;q=0.5", true),
            ("*/*", true),
            ("text/event-stream", false),
            ("application/json;q=0", false),
            ("application/json; q=0.0, text/html", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            widen_accept(&mut headers);
            assert_eq!(headers[header::ACCEPT] == ACCEPT_BOTH, suffices, "{accept}");
        }
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        assert_eq!(count_values(br#"{"a":[1,2,{"b":[]}],"c":"x"}"#), 7);
        assert_eq!(count_values(br#""a,[{\\\",[{\\\\""#), 0);
        assert_eq!(count_values(br#"["\\\\",1]"#), 2);
        assert_eq!(count_values(b""), 0);
    }
}
