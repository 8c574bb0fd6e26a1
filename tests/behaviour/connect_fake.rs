//! An MCP endpoint for `brain connect test` that is correct except for a test's change, and helpers
//! that read the report.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use brain_tests::TestHome;
use brain_tests::http::ReceivedRequest;
use serde_json::{Value, json};

pub(crate) const TOKEN: &str = "brain_at_of_the_fake";
pub(crate) const SECRET: &str = "hush hush/%";

/// A response of the endpoint.
#[derive(Clone)]
pub(crate) struct FakeResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl FakeResponse {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("Content-Type", "application/json".into())],
            body: body.to_string(),
        }
    }

    pub(crate) fn html(status: u16, body: &str) -> Self {
        Self { status, headers: vec![("Content-Type", "text/html".into())], body: body.into() }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// An MCP endpoint that is correct except for a test's change.
pub(crate) struct FakeEndpoint {
    address: SocketAddr,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl FakeEndpoint {
    pub(crate) fn new(
        change: impl Fn(&ReceivedRequest, &str) -> Option<FakeResponse> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, change) = (Arc::clone(&requests), Arc::new(change));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, change) = (Arc::clone(&log), Arc::clone(&change));
                std::thread::spawn(move || {
                    let Some(request) = ReceivedRequest::read(&stream) else { return };
                    log.lock().unwrap().push(format!("{} {}", request.method, request.path));
                    let origin = format!("http://{address}");
                    let response = change(&request, &origin)
                        .unwrap_or_else(|| correct_response(&request, &origin));
                    write(&stream, &response);
                });
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

/// Sends `response` on the stream.
pub(crate) fn write(mut stream: &TcpStream, response: &FakeResponse) {
    let mut text = format!(
        "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n",
        response.status,
        response.body.len()
    );
    for (name, value) in &response.headers {
        text += &format!("{name}: {value}\r\n");
    }
    let _ = stream.write_all(format!("{text}\r\n{}", response.body).as_bytes());
}

/// Returns the response to a request without a token.
pub(crate) fn challenge(origin: &str) -> FakeResponse {
    let bearer = format!(
        "Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\", \
            scope=\"read write\""
    );
    FakeResponse::json(401, &json!({ "error": "invalid_token" }))
        .with_header("WWW-Authenticate", &bearer)
}

/// Returns the metadata of the protected resource.
pub(crate) fn resource(origin: &str) -> Value {
    json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] })
}

/// Returns the metadata of the authorization server.
pub(crate) fn server(origin: &str) -> Value {
    json!({
        "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "code_challenge_methods_supported": ["S256"], "client_id_metadata_document_supported": true,
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "scopes_supported": ["read", "write"],
    })
}

/// Returns the response of a correct endpoint.
pub(crate) fn correct_response(request: &ReceivedRequest, origin: &str) -> FakeResponse {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/mcp") => FakeResponse::json(405, &json!({ "error": "method_not_allowed" })),
        ("GET", "/.well-known/oauth-protected-resource/mcp") => {
            FakeResponse::json(200, &resource(origin))
        }
        (
            "GET",
            "/.well-known/oauth-authorization-server"
            | "/.well-known/oauth-authorization-server/mcp",
        ) => FakeResponse::json(200, &server(origin)),
        ("POST", "/token") => {
            // `id:hush hush/%`, each part encoded as in a form.
            let is_known = request
                .headers
                .get("authorization")
                .is_some_and(|value| value == "Basic aWQ6aHVzaCtodXNoJTJGJTI1");
            match is_known
                && request.text().contains("grant_type=client_credentials")
                && request.text().contains("&resource=http%3A%2F%2F")
            {
                true => FakeResponse::json(
                    200,
                    &json!({ "access_token": TOKEN, "token_type": "bearer", "scope": "read" }),
                ),
                false => FakeResponse::json(
                    401,
                    &json!({ "error": "invalid_client", "error_description": "unknown" }),
                ),
            }
        }
        ("POST", "/mcp")
            if request
                .headers
                .get("authorization")
                .is_some_and(|v| *v == format!("Bearer {TOKEN}")) =>
        {
            let message: Value = serde_json::from_str(request.text()).unwrap();
            let name = message["params"]["name"].as_str();
            let is_modern = request.headers.contains_key("mcp-method");
            if is_modern {
                assert_eq!(
                    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
                    "2026-07-28"
                );
                assert_eq!(
                    request.headers.get("mcp-method").map(String::as_str),
                    message["method"].as_str()
                );
                assert_eq!(request.headers.get("mcp-name").map(String::as_str), name);
            }
            let info = json!({ "name": "fake\u{1b}[31m", "version": "7" });
            let result = match message["method"].as_str().unwrap() {
                "server/discover" => {
                    json!({ "supportedVersions": ["2026-07-28", "2025-11-25"], "serverInfo": info })
                }
                "initialize" => {
                    json!({ "protocolVersion": "2025-11-25", "serverInfo": info,
                        "capabilities": {} })
                }
                "notifications/initialized" => {
                    return FakeResponse { status: 202, headers: Vec::new(), body: String::new() };
                }
                "tools/list" if message["params"]["cursor"].is_null() => {
                    json!({ "tools": [tool("search", "query")], "nextCursor": "more" })
                }
                "tools/list" => json!({ "tools": [tool("fetch", "id")] }),
                "tools/call" => {
                    let found = json!({ "results": [{ "id": "a", "title": "A",
                        "url": "https://a.example/" }] });
                    json!({ "content": [{ "type": "text", "text": found.to_string() }],
                        "structuredContent": found })
                }
                other => panic!("unknown method {other}"),
            };
            FakeResponse::json(
                200,
                &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
            )
        }
        ("POST", "/mcp") => challenge(origin),
        _ => FakeResponse::json(
            404,
            &json!({ "error": "not_found", "message": "there is nothing here" }),
        ),
    }
}

/// Returns the description of a tool with one argument.
pub(crate) fn tool(name: &str, argument: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object",
        "properties": { argument: { "type": "string" } } } })
}

/// A home whose daemon has the fake's token.
pub(crate) fn tester_home() -> TestHome {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_TOKEN".into(), TOKEN.into()));
    home
}

/// Runs `brain connect test` for `url` and returns the report.
pub(crate) fn test_endpoint(home: &TestHome, url: &str, code: i32) -> Value {
    let run = home.brain(["--json", "connect", "test", url]).expect(code);
    assert!(!run.stdout.contains(TOKEN) && !run.stdout.contains("hush"), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains("\\u001b"), "{}", run.stdout);
    run.json()
}

/// Returns the names and states of the steps.
pub(crate) fn steps(report: &Value) -> Vec<String> {
    let steps = report["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| {
            format!("{} {}", step["name"].as_str().unwrap(), step["status"].as_str().unwrap())
        })
        .collect()
}

/// Tests a fake and asserts that `step` fails with `message` and `hint`.
pub(crate) fn assert_fails_at(
    home: &TestHome,
    step: &str,
    message: &str,
    hint: &str,
    change: impl Fn(&ReceivedRequest, &str) -> Option<FakeResponse> + Send + Sync + 'static,
) {
    let fake = FakeEndpoint::new(change);
    let report = test_endpoint(home, &fake.url(), 1);
    assert_failed_at(&report, step, message, hint);
}

/// Asserts that the test failed at `step` with `message` and `hint`.
pub(crate) fn assert_failed_at(report: &Value, step: &str, message: &str, hint: &str) {
    assert_eq!(report["status"], "failed", "{report:#}");
    let last = report["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (last["name"].as_str(), last["status"].as_str()),
        (Some(step), Some("failed")),
        "{report:#}"
    );
    let has = |field: &str, text: &str| last[field].as_str().unwrap().contains(text);
    assert!(
        has("message", message) && has("hint", hint),
        "expected \"{message}\" and \"{hint}\": {last:#}"
    );
}

/// Asserts that `step` warned with `hint`.
pub(crate) fn assert_warns(report: &Value, step: &str, hint: &str) {
    assert_eq!(report["status"], "passed", "{report:#}");
    let mut steps = report["steps"].as_array().unwrap().iter();
    let found = steps.find(|found| found["name"] == step).unwrap();
    assert_eq!(found["status"], "warned", "{report:#}");
    assert!(found["hint"].as_str().unwrap().contains(hint), "{found:#}");
}

/// Returns a response to a JSON-RPC message.
pub(crate) fn result(message: &Value, result: &Value) -> FakeResponse {
    FakeResponse::json(200, &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}
