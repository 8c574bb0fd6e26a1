//! `brain connect test` against endpoints that are wrong in each of the ways that people meet:
//! which step fails, and what is said.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};

use brain_tests::http::Heard;

use crate::connect_fake::{
    Fake, Said, TOKEN, challenge, result, server, stuck, stuck_at, tool, walk, walker, warns,
};

/// A server that says these bytes to everybody, and listens to nobody.
fn saying(bytes: &'static [u8]) -> SocketAddr {
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
fn the_way_to_the_host_is_told_apart() {
    let mut home = walker();
    // Nothing goes by a proxy, whatever the environment says.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"] {
        home.env.push((name.into(), "http://127.0.0.1:9".into()));
    }
    let _daemon = home.daemon();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    stuck_at(&walk(&home, &format!("http://{nobody}/mcp"), 1), "reach", "refused", "brain status");
    stuck_at(&walk(&home, "https://brain.invalid/mcp", 1), "reach", "name not found", "DNS");
    let plain = Fake::new(|_, _| None);
    let url = plain.url().replace("http://", "https://");
    stuck_at(
        &walk(&home, &url, 1),
        "reach",
        "closed the connection during the TLS handshake",
        "http://",
    );
    let plain = saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    stuck_at(
        &walk(&home, &format!("https://{plain}/mcp"), 1),
        "reach",
        "does not speak TLS",
        "http://",
    );
    let ssh = saying(b"SSH-2.0-OpenSSH_9.6\r\n");
    stuck_at(&walk(&home, &format!("http://{ssh}/mcp"), 1), "reach", "connection lost", "port");
    for bad in [
        "brain.example.org/mcp",
        "ftp://brain.example.org/mcp",
        "https://a:b@brain.example.org/mcp",
        "https://b.example/mcp?token=x",
    ] {
        let fault = home.brain(["--json", "connect", "test", bad]);
        assert_ne!(fault.code, 0);
        assert!(
            fault.json()["error"]["hint"].as_str().unwrap().contains("type it as into a client"),
            "{bad}"
        );
    }
}

fn on_mcp(said: Said) -> impl Fn(&Heard, &str) -> Option<Said> {
    move |heard, _| (heard.method == "POST" && heard.path == "/mcp").then(|| said.clone())
}

#[test]
fn whoever_stands_before_the_endpoint_is_named() {
    let home = walker();
    let _daemon = home.daemon();
    let forbidden =
        Said::json(403, &json!({ "error": "forbidden_host", "message": "not\u{1b}[31m here" }));
    stuck(
        &home,
        "challenge",
        "forbidden_host",
        "http.base_url = \"http://127.0.0.1",
        on_mcp(forbidden),
    );
    let missing = Said::json(404, &json!({ "error": "not_found" }));
    stuck(&home, "challenge", "404", "where the tunnel forwards", on_mcp(missing));
    stuck(
        &home,
        "challenge",
        "HTML page (\"Just a moment...\")",
        "page for people",
        on_mcp(Said::html(403, "<html><title>Just a moment...</title>")),
    );
    stuck(
        &home,
        "challenge",
        "ERR_NGROK_6024",
        "127.0.0.1:8765",
        on_mcp(Said::html(200, "<!doctype html>").with("Ngrok-Error-Code", "ERR_NGROK_6024")),
    );
    stuck(
        &home,
        "challenge",
        "530",
        "brain status",
        on_mcp(Said::html(530, "<title>Tunnel error</title>")),
    );
    let login = Said::html(302, "")
        .with("Location", "https://me.cloudflareaccess.com/cdn-cgi/access/login/x?kid=secret");
    stuck(
        &home,
        "challenge",
        "leads to https://me.cloudflareaccess.com/cdn-cgi/access/login/x",
        "login page",
        on_mcp(login),
    );
    stuck(
        &home,
        "challenge",
        "308",
        "type the address",
        on_mcp(Said::html(308, "").with("Location", "https://b.example/mcp")),
    );
    stuck(
        &home,
        "challenge",
        "without a token",
        "everybody may come in",
        on_mcp(Said::json(200, &json!({}))),
    );
    let wrong_path = Fake::new(|_, _| None);
    let url = wrong_path.url().replace("/mcp", "/sse");
    stuck_at(
        &walk(&home, &url, 1),
        "challenge",
        "404",
        &format!("the path of brain's endpoint is /mcp: {}", wrong_path.url()),
    );
}

#[test]
fn a_challenge_that_clients_drop_is_shown() {
    let home = walker();
    let _daemon = home.daemon();
    let with = |value: &str| Said::json(401, &json!({})).with("WWW-Authenticate", value);
    stuck(
        &home,
        "challenge",
        "without `WWW-Authenticate: Bearer`",
        "headers",
        on_mcp(Said::json(401, &json!({}))),
    );
    stuck(
        &home,
        "challenge",
        "without `WWW-Authenticate: Bearer`",
        "",
        on_mcp(with("Basic realm=\"tunnel\"")),
    );
    stuck(
        &home,
        "challenge",
        "no resource_metadata",
        "WWW-Authenticate",
        on_mcp(with("Bearer realm=\"x\"")),
    );
    let relative = with("Bearer resource_metadata=\"/.well-known/oauth-protected-resource/mcp\"");
    stuck(&home, "challenge", "not an absolute address", "drop such a one", on_mcp(relative));
    // Nobody is sent inside by what the other side says.
    let inside = with("Bearer resource_metadata=\"http://169.254.169.254/latest/meta-data\"");
    stuck(&home, "resource", "must begin with https://", "", on_mcp(inside));
}

#[test]
fn documents_that_clients_refuse_are_shown() {
    let home = walker();
    let _daemon = home.daemon();
    let about = |path: &'static str, make: fn(&str) -> Said| {
        move |heard: &Heard, origin: &str| (heard.path == path).then(|| make(origin))
    };
    const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
    const SERVER: &str = "/.well-known/oauth-authorization-server";
    stuck(
        &home,
        "resource",
        "404",
        "let the tunnel pass",
        about(RESOURCE, |_| Said::json(404, &json!({ "error": "not_found" }))),
    );
    stuck(
        &home,
        "resource",
        "HTML page",
        "page for people",
        about(RESOURCE, |_| Said::html(200, "<html>")),
    );
    stuck(
        &home,
        "resource",
        "it answers 200",
        "JSON object",
        about(RESOURCE, |_| Said::json(200, &json!([]))),
    );
    stuck(
        &home,
        "resource",
        "no authorization server",
        "",
        about(RESOURCE, |origin| {
            let resource = format!("{origin}/mcp");
            Said::json(200, &json!({ "resource": resource, "authorization_servers": [] }))
        }),
    );
    stuck(
        &home,
        "resource",
        "it calls itself https://other.example/mcp",
        "http.base_url",
        about(RESOURCE, |origin| {
            Said::json(
                200,
                &json!({ "resource": "https://other.example/mcp", "authorization_servers": [origin] }),
            )
        }),
    );
    stuck(
        &home,
        "server",
        "not an https address",
        "http.base_url",
        about(SERVER, |origin| {
            let mut server = server(origin);
            server["token_endpoint"] = "http://b.example/token".into();
            Said::json(200, &server)
        }),
    );
    stuck(
        &home,
        "server",
        "it calls itself",
        "slash at the end",
        about(SERVER, |origin| {
            let mut server = server(origin);
            server["issuer"] = format!("{origin}/").into();
            Said::json(200, &server)
        }),
    );
    stuck(
        &home,
        "server",
        "S256",
        "refuse",
        about(SERVER, |origin| {
            let mut server = server(origin);
            server["code_challenge_methods_supported"] = json!(["plain"]);
            Said::json(200, &server)
        }),
    );
    let changed = |change: fn(&mut Value)| {
        let fake = Fake::new(move |heard, origin| {
            let mut server = server(origin);
            change(&mut server);
            (heard.path == SERVER).then(|| Said::json(200, &server))
        });
        walk(&home, &fake.url(), 0)
    };
    let silent = changed(|server| server["client_id_metadata_document_supported"] = false.into());
    warns(&silent, "server", "http.dynamic_registration");
    let no_public = changed(|server| {
        server["token_endpoint_auth_methods_supported"] = json!(["client_secret_basic"]);
    });
    warns(&no_public, "server", "Claude");
    let slash = Fake::new(|heard, _| {
        (heard.path == format!("{SERVER}/mcp")).then(|| Said::json(404, &json!({})))
    });
    warns(&walk(&home, &slash.url(), 0), "server", "/.well-known/oauth-authorization-server/mcp");
    // With the path typed otherwise than the resource calls itself.
    let fake = Fake::new(|heard, origin| {
        let slashed = heard.method == "POST"
            && heard.path == "/mcp/"
            && !heard.headers.contains_key("authorization");
        slashed.then(|| challenge(origin))
    });
    let report = home.brain(["--json", "connect", "test", &format!("{}/", fake.url())]).json();
    let step = &report["steps"][2];
    assert_eq!(
        (step["name"].as_str(), step["status"].as_str()),
        (Some("resource"), Some("warned")),
        "{report:#}"
    );
}

fn rpc(method: &'static str, answer: fn(&Value) -> Said) -> impl Fn(&Heard, &str) -> Option<Said> {
    move |heard, _| {
        let message: Value = serde_json::from_str(heard.text()).unwrap_or_default();
        let asked = heard.headers.contains_key("authorization") && message["method"] == method;
        asked.then(|| answer(&message))
    }
}

#[test]
fn a_token_and_tools_that_do_not_work_are_shown() {
    let mut home = walker();
    let _daemon = home.daemon();
    stuck(
        &home,
        "tools",
        "none is search",
        "ChatGPT",
        rpc("tools/list", |m| result(m, &json!({ "tools": [tool("fetch", "id")] }))),
    );
    stuck(
        &home,
        "tools",
        "none is fetch",
        "ChatGPT",
        rpc("tools/list", |m| {
            result(m, &json!({ "tools": [tool("search", "query"), tool("fetch", "slug")] }))
        }),
    );
    stuck(
        &home,
        "tools",
        "error -32603: it broke",
        "log",
        rpc("tools/list", |m| {
            Said::json(
                200,
                &json!({ "jsonrpc": "2.0", "id": m["id"], "error": { "code": -32603, "message": "it broke" } }),
            )
        }),
    );
    stuck(
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
    stuck(
        &home,
        "search",
        "no results in its text",
        "ChatGPT",
        rpc("tools/call", |m| {
            result(m, &json!({ "content": [{ "type": "text", "text": "two pages" }] }))
        }),
    );
    let scope = rpc("tools/list", |_| {
        Said::json(403, &json!({ "error": "insufficient_scope", "message": "no" }))
            .with("WWW-Authenticate", "Bearer error=\"insufficient_scope\"")
    });
    stuck(&home, "tools", "good for too little", "brain clients update", scope);

    let old = Fake::new(rpc("server/discover", |m| {
        Said::json(
            404,
            &json!({ "jsonrpc": "2.0", "id": m["id"], "error": { "code": -32601, "message": "unknown" } }),
        )
    }));
    let report = walk(&home, &old.url(), 0);
    assert!(
        report["steps"][5]["message"]
            .as_str()
            .unwrap()
            .contains("speaks 2025-11-25 by handshake, and not"),
        "{report:#}"
    );
    let new = Fake::new(rpc("initialize", |m| {
        Said::json(
            400,
            &json!({ "jsonrpc": "2.0", "id": m["id"], "error": { "code": -32022, "message": "too old" } }),
        )
    }));
    warns(&walk(&home, &new.url(), 0), "greet", "initialize");
    let stream = Fake::new(rpc("tools/call", |m| {
        let text = json!({ "results": [{ "id": "a", "title": "", "url": "" }] }).to_string();
        let reply = json!({ "jsonrpc": "2.0", "id": m["id"], "result": { "content": [{ "type": "text", "text": text }] } });
        let body = format!("event: message\ndata: {reply}\n\n");
        Said { status: 200, headers: vec![("Content-Type", "text/event-stream".into())], body }
    }));
    warns(&walk(&home, &stream.url(), 0), "search", "id, title or url");

    home.env.retain(|(name, _)| name != "BRAIN_TOKEN");
    home.env.push(("BRAIN_TOKEN".into(), "brain_pt_wrong".into()));
    stuck(&home, "greet", "the token is refused", "brain token create", |_, _| None);
}

#[test]
fn what_the_other_side_says_is_cut_and_repeats_no_token() {
    let home = walker();
    let _daemon = home.daemon();
    let long = Fake::new(rpc("tools/list", |m| {
        let error = json!({ "code": "9\u{9b}".repeat(100_000), "message": "x" });
        Said::json(200, &json!({ "jsonrpc": "2.0", "id": m["id"], "error": error }))
    }));
    let report = walk(&home, &long.url(), 1);
    stuck_at(&report, "tools", "is answered by error", "log");
    assert!(report.to_string().len() < 4000 && !report.to_string().contains('\u{9b}'));
    // `walk` looks for the token in all that is printed.
    stuck(
        &home,
        "tools",
        "the token is refused: no [secret]",
        "revoked",
        rpc("tools/list", |_| Said::json(401, &json!({ "error": format!("no {TOKEN}") }))),
    );
}
