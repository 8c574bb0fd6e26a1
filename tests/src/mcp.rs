//! A client of `/mcp` that sends what a test wants: one message a request, without a handshake.
// A test writes its arguments with `json!` where it calls.
#![allow(clippy::needless_pass_by_value)]

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::{TestHome, http};

/// Who calls the tools of a daemon.
#[derive(Debug, Clone)]
pub struct Mcp {
    address: SocketAddr,
    bearer: String,
}

/// The tools of the daemon that runs in `home`, for whoever has `token`.
#[must_use]
pub fn mcp(home: &TestHome, token: &str) -> Mcp {
    Mcp { address: home.http_local(), bearer: format!("Bearer {token}") }
}

impl Mcp {
    /// What HTTP answers to one message.
    #[must_use]
    pub fn post(&self, message: &Value) -> http::Answer {
        let headers = [
            ("Authorization", self.bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        http::call(self.address, "POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    /// The answer to a request, as JSON-RPC has it: with a `result` or an `error`.
    #[must_use]
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post(&message).expect(200).json()
    }

    /// The result of a request.
    #[must_use]
    pub fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// What `tools/call` answers, be it good or bad.
    #[must_use]
    pub fn called(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// What a tool answers; the text that goes with it must say the same.
    #[must_use]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.called(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let text =
            result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {result}"));
        let told: Value = serde_json::from_str(text).expect("the text is JSON");
        assert_eq!(told, result["structuredContent"], "{tool}");
        told
    }

    /// What a tool says when it refuses: `code: message. Next: …`.
    #[must_use]
    pub fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.called(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().expect("a refusal is text").to_owned()
    }
}
