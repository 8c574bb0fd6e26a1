//! Hostile and malformed messages to `/mcp` are refused, and answers reveal nothing hidden.

use brain_tests::mcp::mcp;
use brain_tests::{TestHome, http};
use serde_json::{Value, json};

/// Sends `body` as a message. The headers `more` replace usual headers of the same name.
fn send(home: &TestHome, token: &str, more: &[(&str, &str)], body: &str) -> http::Answer {
    let bearer = format!("Bearer {token}");
    let usual = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let is_replaced = |name: &str| more.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let others = usual.into_iter().filter(|(name, _)| !is_replaced(name));
    let headers: Vec<(&str, &str)> = more.iter().copied().chain(others).collect();
    http::call(home.http_local(), "POST", "/mcp", &headers, body.as_bytes())
}

/// Returns a call of a tool with these parameters, which need not be valid JSON.
fn call(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

fn code(answer: &http::Answer) -> i64 {
    answer.json()["error"]["code"].as_i64().unwrap()
}

#[test]
fn an_ambiguous_name_writes_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("reader", "read", &[]);
    let page = r#""arguments":{"slug":"evil","content":"x"}"#;
    for params in [
        format!(r#"{{"name":"search","name":"put_page",{page}}}"#),
        format!(r#"{{"name":"put_page","name":"search",{page}}}"#),
        format!(r#"{{"name":"search","n\u0061me":"put_page",{page}}}"#),
        format!(r#"{{"name":"search"}},"params":{{"name":"put_page",{page}}}"#),
        format!(r#"{{"name":"put_page",{page}}},"method":"tools/list""#),
    ] {
        let answer = send(&home, &token, &[], &call(&params)).expect(400);
        assert_eq!(code(&answer), -32600, "{params}");
    }
    for params in [
        format!(r#"{{"n\u0061me":"put\u005fpage",{page}}}"#),
        format!(r#"{{"name":"put_page",{page}}}"#),
    ] {
        let answer = send(&home, &token, &[("Mcp-Name", "search")], &call(&params)).expect(403);
        assert_eq!(answer.json()["error"]["data"]["error"], "insufficient_scope", "{params}");
    }
    // A name in another spelling is another name.
    for name in ["Put_Page", " put_page", "put_page\\u0000"] {
        let answer =
            send(&home, &token, &[], &call(&format!(r#"{{"name":"{name}",{page}}}"#))).expect(200);
        assert_eq!(code(&answer), -32602, "{name}");
    }
    assert!(home.json(["list"])["pages"].as_array().unwrap().is_empty());
}

#[test]
fn a_call_of_the_wrong_shape_is_refused_with_the_right_shape() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("reader", "read", &[]);
    for params in [
        r#"{"name":"search","arguments":"{}"}"#,
        r#"{"name":"search","arguments":[1]}"#,
        r#"{"arguments":{}}"#,
        "null",
    ] {
        let answer = send(&home, &token, &[], &call(params)).expect(200).json();
        let message = answer["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        assert!(
            message.contains("\"name\", a string") && message.contains("\"arguments\""),
            "{message}"
        );
    }
    // An array is valid JSON, but not a valid `params`.
    assert_eq!(code(&send(&home, &token, &[], &call(r#"["search",{}]"#)).expect(400)), -32600);
    assert_eq!(code(&send(&home, &token, &[], &call("{")).expect(400)), -32700);
    let unknown = mcp(&home, &token).ask("no/such\u{1b}", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(unknown["error"]["message"], "there is no method \"no/such \"");
}

#[test]
fn an_invalid_field_is_named_in_the_error() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("reader", "read", &[]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (field, status, expected) in [
        (("Accept", "text/event-stream"), 406, "Accept: application/json, text/event-stream"),
        (("Content-Type", "text/plain"), 415, "Content-Type: application/json"),
        (("MCP-Protocol-Version", "1999-01-01"), 400, "MCP-Protocol-Version"),
    ] {
        let answer = send(&home, &token, &[field], ping).expect(status).json();
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(message.contains(expected), "{message}");
    }
    // Clients that cannot read streams get the same JSON.
    let answer = send(&home, &token, &[("Accept", "application/json")], ping).expect(200);
    assert_eq!(answer.json()["id"], 1);
    let null_id = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
    let answer = send(&home, &token, &[], null_id).json();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)));
}

#[test]
fn a_slash_after_a_path_changes_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let bearer = format!("Bearer {}", home.token("writer", "read write", &[]));
    let call = |method: &str, path: &str, body: &str| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
        ];
        http::call(home.http_local(), method, path, &headers, body.as_bytes())
    };
    assert!(call("GET", "/health/", "").expect(200).json()["status"].is_string());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(call("POST", "/mcp/", ping).expect(200).json()["id"], 1);
    let text = http::call(
        home.http_local(),
        "POST",
        "/ingest/?x=1",
        &[("Authorization", bearer.as_str()), ("Content-Type", "text/plain")],
        b"A text.",
    );
    assert!(!text.expect(202).json()["job_id"].is_null());
    // Without a token, the refusal is that of the path.
    let refused = http::call(home.http_local(), "POST", "/mcp/", &[], ping.as_bytes());
    assert!(refused.expect(401).header("www-authenticate").is_some());
    assert_eq!(call("GET", "/nosuch/", "").expect(404).json()["error"], "not_found");
    assert_eq!(call("GET", "/health//", "").expect(404).json()["error"], "not_found");
}

#[test]
fn a_message_with_too_many_values_is_refused() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("reader", "read", &[]);
    let many = "[],".repeat(100_000);
    let answer = send(
        &home,
        &token,
        &[],
        &call(&format!(r#"{{"name":"search","arguments":{{"query":[{many}1]}}}}"#)),
    );
    let message = answer.expect(400).json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("too many values"), "{message}");
    // A string may contain any number of brackets.
    let text = call(&format!(r#"{{"name":"search","arguments":{{"query":"{many}\\\" {many}"}}}}"#));
    assert!(send(&home, &token, &[], &text).expect(200).json()["result"].is_object());
}

#[test]
fn a_long_name_is_not_repeated_in_answers_or_the_log() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let client = mcp(&home, &home.token("reader", "read", &[]));
    let long = "n".repeat(100_000);
    for (method, params) in [("tools/call", json!({ "name": long })), (long.as_str(), json!({}))] {
        let answer = client.ask(method, params);
        assert!(
            answer["error"].is_object() && answer.to_string().len() < 1000,
            "{}",
            answer.to_string().len()
        );
    }
    assert!(!home.log().contains(&long[..1000]));
}

#[test]
fn a_page_that_names_another_twice_is_one_neighbour() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("b", "# B\n");
    home.put("a", "[[b]] and [[default:b]] and [[gone]]\n");
    let client = mcp(&home, &home.token("reader", "read", &[]));
    let into = client.call("get_links", json!({ "slug": "b", "direction": "in" }));
    assert_eq!(into["links"].as_array().unwrap().len(), 1, "{into}");
    let out = client.call("get_links", json!({ "slug": "a", "direction": "out" }));
    assert_eq!(out["links"].as_array().unwrap().len(), 2, "{out}");
}
