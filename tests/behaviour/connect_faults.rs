//! `brain connect test` against faulty endpoints: the failing step and its message.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};

use brain_tests::http::ReceivedRequest;

use crate::connect_fake::{
    FakeEndpoint, FakeResponse, TOKEN, assert_failed_at, assert_fails_at, assert_warns, challenge,
    result, server, test_endpoint, tester_home, tool,
};

/// Starts a server that sends these bytes to every client and reads nothing.
fn server_sending(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(bytes);
            std::thread::spawn(move || stream.read(&mut [0; 64 * 1024]));
        }
    });
    address
}

#[test]
fn network_errors_are_distinguished() {
    let mut home = tester_home();
    // The environment's proxy settings are ignored.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"] {
        home.env.push((name.into(), "http://127.0.0.1:9".into()));
    }
    let _daemon = home.daemon();
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_failed_at(
        &test_endpoint(&home, &format!("http://{unused}/mcp"), 1),
        "reach",
        "refused",
        "brain status",
    );
    assert_failed_at(
        &test_endpoint(&home, "https://brain.invalid/mcp", 1),
        "reach",
        "name not found",
        "DNS",
    );
    let plain = FakeEndpoint::new(|_, _| None);
    let url = plain.url().replace("http://", "https://");
    assert_failed_at(
        &test_endpoint(&home, &url, 1),
        "reach",
        "closed the connection during the TLS handshake",
        "http://",
    );
    let plain = server_sending(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    assert_failed_at(
        &test_endpoint(&home, &format!("https://{plain}/mcp"), 1),
        "reach",
        "does not speak TLS",
        "http://",
    );
    let ssh = server_sending(b"SSH-2.0-OpenSSH_9.6\r\n");
    assert_failed_at(
        &test_endpoint(&home, &format!("http://{ssh}/mcp"), 1),
        "reach",
        "connection lost",
        "port",
    );
    for bad in [
        "brain.example.org/mcp",
        "ftp://brain.example.org/mcp",
        "https://a:b@brain.example.org/mcp",
        "https://b.example/mcp?token=x",
    ] {
        let fault = home.brain(["--json", "connect", "test", bad]);
        assert_ne!(fault.code, 0);
        assert!(
            fault.json()["error"]["hint"].as_str().unwrap().contains("enter it as in a client"),
            "{bad}"
        );
    }
}

/// Returns a change that answers every `POST /mcp` with `response`.
fn on_mcp(response: FakeResponse) -> impl Fn(&ReceivedRequest, &str) -> Option<FakeResponse> {
    move |request, _| (request.method == "POST" && request.path == "/mcp").then(|| response.clone())
}

#[test]
fn intermediaries_before_the_endpoint_are_named() {
    let home = tester_home();
    let _daemon = home.daemon();
    let forbidden = FakeResponse::json(
        403,
        &json!({ "error": "forbidden_host", "message": "not\u{1b}[31m here" }),
    );
    assert_fails_at(
        &home,
        "challenge",
        "forbidden_host",
        "http.base_url = \"http://127.0.0.1",
        on_mcp(forbidden),
    );
    let missing = FakeResponse::json(404, &json!({ "error": "not_found" }));
    assert_fails_at(&home, "challenge", "404", "where the tunnel forwards", on_mcp(missing));
    assert_fails_at(
        &home,
        "challenge",
        "HTML page (\"Just a moment...\")",
        "web page",
        on_mcp(FakeResponse::html(403, "<html><title>Just a moment...</title>")),
    );
    assert_fails_at(
        &home,
        "challenge",
        "ERR_NGROK_6024",
        "127.0.0.1:8765",
        on_mcp(
            FakeResponse::html(200, "<!doctype html>")
                .with_header("Ngrok-Error-Code", "ERR_NGROK_6024"),
        ),
    );
    assert_fails_at(
        &home,
        "challenge",
        "530",
        "brain status",
        on_mcp(FakeResponse::html(530, "<title>Tunnel error</title>")),
    );
    let login = FakeResponse::html(302, "").with_header(
        "Location",
        "https://me.cloudflareaccess.com/cdn-cgi/access/login/x?kid=secret",
    );
    assert_fails_at(
        &home,
        "challenge",
        "redirects to https://me.cloudflareaccess.com/cdn-cgi/access/login/x",
        "login page",
        on_mcp(login),
    );
    assert_fails_at(
        &home,
        "challenge",
        "308",
        "use the address",
        on_mcp(FakeResponse::html(308, "").with_header("Location", "https://b.example/mcp")),
    );
    assert_fails_at(
        &home,
        "challenge",
        "without a token",
        "anyone has access",
        on_mcp(FakeResponse::json(200, &json!({}))),
    );
    let wrong_path = FakeEndpoint::new(|_, _| None);
    let url = wrong_path.url().replace("/mcp", "/sse");
    assert_failed_at(
        &test_endpoint(&home, &url, 1),
        "challenge",
        "404",
        &format!("the path of brain's endpoint is /mcp: {}", wrong_path.url()),
    );
}

#[test]
fn unusable_challenges_are_reported() {
    let home = tester_home();
    let _daemon = home.daemon();
    let with_challenge =
        |value: &str| FakeResponse::json(401, &json!({})).with_header("WWW-Authenticate", value);
    assert_fails_at(
        &home,
        "challenge",
        "without `WWW-Authenticate: Bearer`",
        "headers",
        on_mcp(FakeResponse::json(401, &json!({}))),
    );
    assert_fails_at(
        &home,
        "challenge",
        "without `WWW-Authenticate: Bearer`",
        "",
        on_mcp(with_challenge("Basic realm=\"tunnel\"")),
    );
    assert_fails_at(
        &home,
        "challenge",
        "no resource_metadata",
        "WWW-Authenticate",
        on_mcp(with_challenge("Bearer realm=\"x\"")),
    );
    let relative =
        with_challenge("Bearer resource_metadata=\"/.well-known/oauth-protected-resource/mcp\"");
    assert_fails_at(
        &home,
        "challenge",
        "not an absolute address",
        "ignore it silently",
        on_mcp(relative),
    );
    // A server's answer cannot redirect requests into the local network.
    let inside =
        with_challenge("Bearer resource_metadata=\"http://169.254.169.254/latest/meta-data\"");
    assert_fails_at(&home, "resource", "must begin with https://", "", on_mcp(inside));
}

#[test]
fn invalid_metadata_documents_are_reported() {
    let home = tester_home();
    let _daemon = home.daemon();
    let on_path = |path: &'static str, make: fn(&str) -> FakeResponse| {
        move |request: &ReceivedRequest, origin: &str| (request.path == path).then(|| make(origin))
    };
    const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
    const SERVER: &str = "/.well-known/oauth-authorization-server";
    assert_fails_at(
        &home,
        "resource",
        "404",
        "let the tunnel pass",
        on_path(RESOURCE, |_| FakeResponse::json(404, &json!({ "error": "not_found" }))),
    );
    assert_fails_at(
        &home,
        "resource",
        "HTML page",
        "web page",
        on_path(RESOURCE, |_| FakeResponse::html(200, "<html>")),
    );
    assert_fails_at(
        &home,
        "resource",
        "it answers 200",
        "JSON object",
        on_path(RESOURCE, |_| FakeResponse::json(200, &json!([]))),
    );
    assert_fails_at(
        &home,
        "resource",
        "no authorization server",
        "",
        on_path(RESOURCE, |origin| {
            let resource = format!("{origin}/mcp");
            FakeResponse::json(200, &json!({ "resource": resource, "authorization_servers": [] }))
        }),
    );
    assert_fails_at(
        &home,
        "resource",
        "it calls itself https://other.example/mcp",
        "http.base_url",
        on_path(RESOURCE, |origin| {
            FakeResponse::json(
                200,
                &json!({ "resource": "https://other.example/mcp",
                    "authorization_servers": [origin] }),
            )
        }),
    );
    assert_fails_at(
        &home,
        "server",
        "not an https address",
        "http.base_url",
        on_path(SERVER, |origin| {
            let mut server = server(origin);
            server["token_endpoint"] = "http://b.example/token".into();
            FakeResponse::json(200, &server)
        }),
    );
    assert_fails_at(
        &home,
        "server",
        "it calls itself",
        "final slash",
        on_path(SERVER, |origin| {
            let mut server = server(origin);
            server["issuer"] = format!("{origin}/").into();
            FakeResponse::json(200, &server)
        }),
    );
    assert_fails_at(
        &home,
        "server",
        "S256",
        "refuse",
        on_path(SERVER, |origin| {
            let mut server = server(origin);
            server["code_challenge_methods_supported"] = json!(["plain"]);
            FakeResponse::json(200, &server)
        }),
    );
    // Tests an endpoint whose server metadata has this change.
    let report_with = |change: fn(&mut Value)| {
        let fake = FakeEndpoint::new(move |request, origin| {
            let mut server = server(origin);
            change(&mut server);
            (request.path == SERVER).then(|| FakeResponse::json(200, &server))
        });
        test_endpoint(&home, &fake.url(), 0)
    };
    let no_documents = report_with(|server| {
        server["client_id_metadata_document_supported"] = false.into();
    });
    assert_warns(&no_documents, "server", "http.dynamic_registration");
    let no_public = report_with(|server| {
        server["token_endpoint_auth_methods_supported"] = json!(["client_secret_basic"]);
    });
    assert_warns(&no_public, "server", "Claude");
    let no_suffix = FakeEndpoint::new(|request, _| {
        (request.path == format!("{SERVER}/mcp")).then(|| FakeResponse::json(404, &json!({})))
    });
    assert_warns(
        &test_endpoint(&home, &no_suffix.url(), 0),
        "server",
        "/.well-known/oauth-authorization-server/mcp",
    );
    // The typed path differs from the resource's own.
    let fake = FakeEndpoint::new(|request, origin| {
        let has_slash_and_no_token = request.method == "POST"
            && request.path == "/mcp/"
            && !request.headers.contains_key("authorization");
        has_slash_and_no_token.then(|| challenge(origin))
    });
    let report = home.brain(["--json", "connect", "test", &format!("{}/", fake.url())]).json();
    let step = &report["steps"][2];
    assert_eq!(
        (step["name"].as_str(), step["status"].as_str()),
        (Some("resource"), Some("warned")),
        "{report:#}"
    );
}

/// Returns a change that answers calls of `method` with a token.
fn rpc(
    method: &'static str,
    answer: fn(&Value) -> FakeResponse,
) -> impl Fn(&ReceivedRequest, &str) -> Option<FakeResponse> {
    move |request, _| {
        let message: Value = serde_json::from_str(request.text()).unwrap_or_default();
        let is_call = request.headers.contains_key("authorization") && message["method"] == method;
        is_call.then(|| answer(&message))
    }
}

#[test]
fn token_and_tool_failures_are_reported() {
    let mut home = tester_home();
    let _daemon = home.daemon();
    assert_fails_at(
        &home,
        "tools",
        "but no search",
        "ChatGPT",
        rpc("tools/list", |m| result(m, &json!({ "tools": [tool("fetch", "id")] }))),
    );
    assert_fails_at(
        &home,
        "tools",
        "but no fetch",
        "ChatGPT",
        rpc("tools/list", |m| {
            result(m, &json!({ "tools": [tool("search", "query"), tool("fetch", "slug")] }))
        }),
    );
    assert_fails_at(
        &home,
        "tools",
        "error -32603: it broke",
        "log",
        rpc("tools/list", |m| {
            FakeResponse::json(
                200,
                &json!({ "jsonrpc": "2.0", "id": m["id"],
                    "error": { "code": -32603, "message": "it broke" } }),
            )
        }),
    );
    assert_fails_at(
        &home,
        "search",
        "the search fails: no index",
        "brain doctor",
        rpc("tools/call", |m| {
            result(
                m,
                &json!({ "isError": true, "content": [{ "type": "text", "text": "no index" }] }),
            )
        }),
    );
    assert_fails_at(
        &home,
        "search",
        "no results in its text",
        "ChatGPT",
        rpc("tools/call", |m| {
            result(m, &json!({ "content": [{ "type": "text", "text": "two pages" }] }))
        }),
    );
    let scope = rpc("tools/list", |_| {
        FakeResponse::json(403, &json!({ "error": "insufficient_scope", "message": "no" }))
            .with_header("WWW-Authenticate", "Bearer error=\"insufficient_scope\"")
    });
    assert_fails_at(
        &home,
        "tools",
        "scope of the token is not enough",
        "brain clients update",
        scope,
    );

    let old = FakeEndpoint::new(rpc("server/discover", |m| {
        FakeResponse::json(
            404,
            &json!({ "jsonrpc": "2.0", "id": m["id"],
                "error": { "code": -32601, "message": "unknown" } }),
        )
    }));
    let report = test_endpoint(&home, &old.url(), 0);
    assert!(
        report["steps"][5]["message"]
            .as_str()
            .unwrap()
            .contains("speaks 2025-11-25 by handshake, and not"),
        "{report:#}"
    );
    let new = FakeEndpoint::new(rpc("initialize", |m| {
        FakeResponse::json(
            400,
            &json!({ "jsonrpc": "2.0", "id": m["id"],
                "error": { "code": -32022, "message": "too old" } }),
        )
    }));
    assert_warns(&test_endpoint(&home, &new.url(), 0), "greet", "initialize");
    let stream = FakeEndpoint::new(rpc("tools/call", |m| {
        let text = json!({ "results": [{ "id": "a", "title": "", "url": "" }] }).to_string();
        let reply = json!({ "jsonrpc": "2.0", "id": m["id"],
            "result": { "content": [{ "type": "text", "text": text }] } });
        let body = format!("event: message\ndata: {reply}\n\n");
        FakeResponse {
            status: 200,
            headers: vec![("Content-Type", "text/event-stream".into())],
            body,
        }
    }));
    assert_warns(&test_endpoint(&home, &stream.url(), 0), "search", "id, title or url");

    home.env.retain(|(name, _)| name != "BRAIN_TOKEN");
    home.env.push(("BRAIN_TOKEN".into(), "brain_pt_wrong".into()));
    assert_fails_at(&home, "greet", "the token is rejected", "brain token create", |_, _| None);
}

#[test]
fn remote_text_is_cut_and_repeats_no_token() {
    let home = tester_home();
    let _daemon = home.daemon();
    let long = FakeEndpoint::new(rpc("tools/list", |m| {
        let error = json!({ "code": "9\u{9b}".repeat(100_000), "message": "x" });
        FakeResponse::json(200, &json!({ "jsonrpc": "2.0", "id": m["id"], "error": error }))
    }));
    let report = test_endpoint(&home, &long.url(), 1);
    assert_failed_at(&report, "tools", "is error", "log");
    assert!(report.to_string().len() < 4000 && !report.to_string().contains('\u{9b}'));
    // `test_endpoint` asserts that no output contains the token.
    assert_fails_at(
        &home,
        "tools",
        "the token is rejected: no [secret]",
        "revoked",
        rpc("tools/list", |_| FakeResponse::json(401, &json!({ "error": format!("no {TOKEN}") }))),
    );
}
