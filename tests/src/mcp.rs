//! A client of `/mcp` that sends one message per request, without a handshake.
// Tests pass `json!` literals.
#![allow(clippy::needless_pass_by_value)]

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::{TestHome, http};

/// A client of `/mcp` with one token.
#[derive(Debug, Clone)]
pub struct Mcp {
    address: SocketAddr,
    bearer: String,
}

/// Returns a client of the daemon in `home` that uses `token`.
#[must_use]
pub fn mcp(home: &TestHome, token: &str) -> Mcp {
    Mcp { address: home.http_local(), bearer: format!("Bearer {token}") }
}

impl Mcp {
    /// Posts one message and returns the HTTP response.
    #[must_use]
    pub fn post(&self, message: &Value) -> http::Answer {
        let headers = [
            ("Authorization", self.bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        http::call(self.address, "POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    /// Sends a request and returns the JSON-RPC response, which has a `result` or an `error`.
    #[must_use]
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post(&message).expect(200).json()
    }

    /// Sends a request, expects success, and returns the `result` of its response.
    #[must_use]
    pub fn result(&self, method: &str, params: Value) -> Value {
        let response = self.ask(method, params);
        assert!(response["result"].is_object(), "{method}: {response}");
        response["result"].clone()
    }

    /// Calls a tool and returns the result of `tools/call`, which may have `isError`.
    #[must_use]
    pub fn call_unchecked(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool, expects success, and returns its structured content. Asserts that the text
    /// content is the same: JSON, and in a second block the text of a page.
    #[must_use]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call_unchecked(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let block = |at: usize| result["content"][at]["text"].as_str();
        let fields = block(0).unwrap_or_else(|| panic!("{tool}: {result}"));
        let mut fields: Value = serde_json::from_str(fields).expect("the first block is JSON");
        let page_text = match tool {
            "get_page" => Some("text"),
            "diff_page" => Some("diff"),
            _ => None,
        };
        if let Some(name) = page_text {
            fields[name] = block(1).unwrap_or_default().into();
        }
        assert_eq!(fields, result["structuredContent"], "{tool}");
        fields
    }

    /// Calls a tool, expects an error, and returns its text: `code: message. Next: …`.
    #[must_use]
    pub fn expect_refusal(&self, tool: &str, arguments: Value) -> String {
        let result = self.call_unchecked(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().expect("an error is text").to_owned()
    }
}
