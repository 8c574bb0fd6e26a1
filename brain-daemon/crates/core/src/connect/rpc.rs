//! MCP over streamable HTTP, as clients of both kinds speak it.
//!
//! Revisions up to 2025-11-25 begin with a handshake; 2026-07-28 has everything in each request.

use serde_json::{Value, json};

use super::Target;
use super::answer::{challenged, foreign, reason, shown, troubled, without};
use super::enter::Pass;
use brain_net::{HttpRequest, HttpResponse};

/// The newest revision with a handshake.
pub(super) const LEGACY: &str = "2025-11-25";
/// The first revision without a handshake.
pub(super) const MODERN: &str = "2026-07-28";

/// A session.
pub(super) struct Session<'a> {
    target: &'a Target<'a>,
    pass: &'a Pass<'a>,
    /// The agreed revision, after a handshake.
    pub(super) agreed: Option<String>,
    /// The server's session id.
    id: Option<String>,
    sent: u64,
}

/// A request without a result.
pub(super) struct Snag {
    /// The actual answer.
    pub(super) message: String,
    /// What to do about it, if known.
    pub(super) hint: Option<String>,
}

impl<'a> Session<'a> {
    /// Creates a session without a handshake.
    pub(super) fn new(target: &'a Target<'a>, pass: &'a Pass<'a>) -> Self {
        Self { target, pass, agreed: None, id: None, sent: 0 }
    }

    /// Performs the handshake and returns the server's description.
    pub(super) fn initialize(&mut self) -> Result<Value, Snag> {
        let hello =
            json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": ourselves() });
        let said = self.ask("initialize", hello)?;
        let Some(revision) = said["protocolVersion"].as_str() else {
            return Err(Snag {
                message: "its greeting names no protocolVersion".into(),
                hint: None,
            });
        };
        // It becomes part of the header of later requests.
        self.agreed = Some(shown(revision, 20));
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = self.post(&ready, "notifications/initialized", None)?;
        match answer.status {
            200..=299 => Ok(said),
            status => Err(Snag {
                message: format!("it answers {status} to the end of the handshake"),
                hint: None,
            }),
        }
    }

    /// Sends a request, with or without a handshake.
    pub(super) fn ask(&mut self, method: &str, mut params: Value) -> Result<Value, Snag> {
        let modern = self.agreed.is_none() && method != "initialize";
        if modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": ourselves(),
            });
        }
        self.sent += 1;
        let name = params["name"].as_str().filter(|_| modern).map(str::to_owned);
        let message =
            json!({ "jsonrpc": "2.0", "id": self.sent, "method": method, "params": params });
        let answer = self.post(&message, method, name.as_deref())?;
        if method == "initialize" {
            self.id = answer.header("mcp-session-id").map(str::to_owned);
        }
        let Some(reply) = reply(&answer) else { return Err(self.unanswered(&answer)) };
        match reply.get("result") {
            Some(result) => Ok(result.clone()),
            None => {
                let code = shown(&reply["error"]["code"].to_string(), 20);
                let words = shown(reply["error"]["message"].as_str().unwrap_or_default(), 160);
                Err(Snag {
                    message: format!("{method} is answered by error {code}: {words}"),
                    hint: None,
                })
            }
        }
    }

    fn post(
        &self,
        message: &Value,
        method: &str,
        name: Option<&str>,
    ) -> Result<HttpResponse, Snag> {
        let body = message.to_string();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        match &self.agreed {
            Some(revision) => headers.push(("mcp-protocol-version", revision)),
            None if method != "initialize" => {
                headers.extend([("mcp-protocol-version", MODERN), ("mcp-method", method)]);
                headers.extend(name.map(|name| ("mcp-name", name)));
            }
            None => {}
        }
        headers.extend(self.id.as_deref().map(|id| ("mcp-session-id", id)));
        let call = HttpRequest {
            url: &self.target.url,
            body: Some(body.as_bytes()),
            headers: &headers,
            authorization: Some(&self.pass.bearer),
            public: false,
            is_complete: |answer| answer.kind() == "text/event-stream" && reply(answer).is_some(),
        };
        let answer = self.target.net.call(&call).map_err(|trouble| {
            let failed = troubled(self.target, &trouble);
            Snag { message: failed.message, hint: Some(failed.hint) }
        })?;
        let token = self.pass.bearer.expose();
        Ok(without(answer, token.strip_prefix("Bearer ").unwrap_or(token)))
    }

    /// Explains an answer without a message.
    fn unanswered(&self, answer: &HttpResponse) -> Snag {
        let status = answer.status;
        let said = reason(&String::from_utf8_lossy(&answer.body));
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        if status == 401 {
            return Snag {
                message: format!("the token is refused{said}"),
                hint: Some(self.pass.hint.into()),
            };
        }
        let error = challenged(answer, "error").unwrap_or_default();
        if status == 403 && error == "insufficient_scope" {
            let hint = "grant more: brain clients update NAME --scope read, or another token";
            return Snag {
                message: format!("the token is good for too little{said}"),
                hint: Some(hint.into()),
            };
        }
        match foreign(self.target, answer) {
            Some(failed) => Snag { message: failed.message, hint: Some(failed.hint) },
            None => Snag {
                message: format!("it answers {status} without a message of MCP{said}"),
                hint: None,
            },
        }
    }
}

fn ourselves() -> Value {
    json!({ "name": "brain connect test", "version": brain_protocol::VERSION })
}

/// Returns the response in an answer: its body or an event of its stream.
fn reply(answer: &HttpResponse) -> Option<Value> {
    let body = std::str::from_utf8(&answer.body).ok()?;
    let is_reply = |value: &Value| value.get("result").is_some() || value["error"].is_object();
    if answer.kind() != "text/event-stream" {
        return serde_json::from_str(body).ok().filter(is_reply);
    }
    let text = body.replace("\r\n", "\n");
    // Text after the last empty line is incomplete.
    let (whole, _) = text.rsplit_once("\n\n")?;
    whole.split("\n\n").find_map(|event| {
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
            from: None,
        };
        let plain = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert!(reply(&answer("application/json", plain)).is_some());
        assert!(reply(&answer("application/json", r#"{"error":"invalid_token"}"#)).is_none());
        let stream = format!(
            "id: 0\ndata:\n\ndata: {{\"method\":\"x\"}}\n\nevent: message\r\ndata: {plain}\r\n\r\n"
        );
        assert_eq!(reply(&answer("text/event-stream; charset=utf-8", &stream)).unwrap()["id"], 1);
        let half = &stream[..stream.len() - 2];
        assert!(reply(&answer("text/event-stream", half)).is_none(), "it has not come whole");
    }
}
