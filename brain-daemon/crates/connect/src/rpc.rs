//! Sends MCP requests over streamable HTTP, with and without a handshake.
//!
//! Revisions up to 2025-11-25 begin with a handshake. From 2026-07-28 on, each request is
//! self-contained.

use brain_protocol::{Command, hint};
use serde_json::{Value, json};

use super::authorize::BearerToken;
use super::discover::{client_info, initialization};
use super::explain::{
    challenge_parameter, clean_text, explain_foreign_answer, json_error_text, redact_secret,
};
use super::{StepFailure, Target};
use brain_net::{HttpRequest, HttpResponse};

/// The first revision without a handshake.
pub(super) const MODERN: &str = "2026-07-28";

/// An MCP session with the endpoint.
pub(super) struct McpSession<'a> {
    target: &'a Target<'a>,
    token: &'a BearerToken<'a>,
    /// The agreed revision, after a handshake.
    pub(super) revision: Option<String>,
    /// The server's session id.
    id: Option<String>,
    sent_requests: u64,
    /// What to do about a failure of unknown cause.
    pub(super) default_hint: &'static str,
}

impl<'a> McpSession<'a> {
    /// Creates a session without a handshake.
    pub(super) fn new(
        target: &'a Target<'a>,
        token: &'a BearerToken<'a>,
        default_hint: &'static str,
    ) -> Self {
        Self { target, token, revision: None, id: None, sent_requests: 0, default_hint }
    }

    /// Performs the handshake and returns the server's description.
    ///
    /// # Errors
    /// If a call fails, or the answer names no revision.
    pub(super) fn initialize(&mut self) -> Result<Value, StepFailure> {
        let description = self.request("initialize", initialization())?;
        let Some(revision) = description["protocolVersion"].as_str() else {
            return Err(StepFailure::new(
                "its greeting names no protocolVersion",
                self.default_hint,
            ));
        };
        // The revision becomes a header of later requests.
        self.revision = Some(clean_text(revision, 20));
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = self.post(&initialized, "notifications/initialized", None)?;
        match answer.status {
            200..=299 => Ok(description),
            status => {
                let message = format!("it answers {status} to the end of the handshake");
                Err(StepFailure::new(message, self.default_hint))
            }
        }
    }

    /// Sends a request and returns its result. Without a handshake, the request itself names its
    /// revision and client.
    ///
    /// # Errors
    /// If the call fails, or its answer is an error or no MCP message.
    pub(super) fn request(
        &mut self,
        method: &str,
        mut params: Value,
    ) -> Result<Value, StepFailure> {
        let is_modern = self.revision.is_none() && method != "initialize";
        if is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": client_info(),
            });
        }
        self.sent_requests += 1;
        let name = params["name"].as_str().filter(|_| is_modern).map(str::to_owned);
        let message = json!({ "jsonrpc": "2.0", "id": self.sent_requests, "method": method,
            "params": params });
        let answer = self.post(&message, method, name.as_deref())?;
        if method == "initialize" {
            self.id = answer.header("mcp-session-id").map(str::to_owned);
        }
        let Some(reply) = reply(&answer) else { return Err(self.explain_missing_reply(&answer)) };
        match reply.get("result") {
            Some(result) => Ok(result.clone()),
            None => {
                let code = clean_text(&reply["error"]["code"].to_string(), 20);
                let text = clean_text(reply["error"]["message"].as_str().unwrap_or_default(), 160);
                let message = format!("the answer to {method} is error {code}: {text}");
                Err(StepFailure::new(message, self.default_hint))
            }
        }
    }

    /// Posts a message of `method`. `name` is the value of the header `mcp-name`, sent without a
    /// handshake.
    fn post(
        &self,
        message: &Value,
        method: &str,
        name: Option<&str>,
    ) -> Result<HttpResponse, StepFailure> {
        let body = message.to_string();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        match &self.revision {
            Some(revision) => headers.push(("mcp-protocol-version", revision)),
            None if method != "initialize" => {
                headers.extend([("mcp-protocol-version", MODERN), ("mcp-method", method)]);
                headers.extend(name.map(|name| ("mcp-name", name)));
            }
            None => {}
        }
        headers.extend(self.id.as_deref().map(|id| ("mcp-session-id", id)));
        let answer = self.target.call(&HttpRequest {
            body: Some(body.as_bytes()),
            headers: &headers,
            authorization: Some(&self.token.header),
            is_complete: |answer| {
                answer.media_type() == "text/event-stream" && reply(answer).is_some()
            },
            ..self.target.get(&self.target.url)
        })?;
        let header = self.token.header.expose();
        Ok(redact_secret(answer, header.strip_prefix("Bearer ").unwrap_or(header)))
    }

    /// Explains an answer without an MCP message.
    fn explain_missing_reply(&self, answer: &HttpResponse) -> StepFailure {
        let status = answer.status;
        let detail = json_error_text(&String::from_utf8_lossy(&answer.body));
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        if status == 401 {
            return StepFailure::new(
                format!("the token is rejected{detail}"),
                self.token.rejection_hint.clone(),
            );
        }
        let error_code = challenge_parameter(answer, "error").unwrap_or_default();
        if status == 403 && error_code == "insufficient_scope" {
            let hint = hint!(
                "grant more: {}, or another token",
                Command::ClientsUpdate { client: None, scope: Some("read".into()) }
            );
            return StepFailure::new(format!("the scope of the token is not enough{detail}"), hint);
        }
        explain_foreign_answer(self.target, answer).unwrap_or_else(|| {
            let message = format!("it answers {status} without an MCP message{detail}");
            StepFailure::new(message, self.default_hint)
        })
    }
}

/// Returns the MCP response in an HTTP answer: its body, or the first response in its event stream.
fn reply(answer: &HttpResponse) -> Option<Value> {
    let body = std::str::from_utf8(&answer.body).ok()?;
    let is_reply = |value: &Value| value.get("result").is_some() || value["error"].is_object();
    if answer.media_type() != "text/event-stream" {
        return serde_json::from_str(body).ok().filter(is_reply);
    }
    let text = body.replace("\r\n", "\n");
    // Text after the last empty line is incomplete.
    let (complete, _) = text.rsplit_once("\n\n")?;
    complete.split("\n\n").find_map(|event| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let data: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        serde_json::from_str(&data.join("\n")).ok().filter(is_reply)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_found_in_a_body_and_in_a_stream() {
        let answer = |kind: &str, body: &str| HttpResponse {
            status: 200,
            headers: vec![("content-type".into(), kind.into())],
            body: body.into(),
            server_address: None,
        };
        let plain = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert!(reply(&answer("application/json", plain)).is_some());
        assert!(reply(&answer("application/json", r#"{"error":"invalid_token"}"#)).is_none());
        let stream = format!(
            "id: 0\ndata:\n\ndata: {{\"method\":\"x\"}}\n\nevent: message\r\ndata: {plain}\r\n\r\n"
        );
        assert_eq!(reply(&answer("text/event-stream; charset=utf-8", &stream)).unwrap()["id"], 1);
        let cut = &stream[..stream.len() - 2];
        assert!(reply(&answer("text/event-stream", cut)).is_none(), "the event is incomplete");
    }
}
