//! The OpenAPI document compared with the server: both accept and refuse the same requests.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::web::{Browser, HttpRequest, Site};

fn document(address: &str) -> Value {
    Browser::default().send(address, HttpRequest::get("/openapi.json")).expect(200).json()
}

/// Returns whether `value` is valid for `schema`, whose references lead into the document.
fn allows(document: &Value, schema: &Value, value: &Value) -> bool {
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    jsonschema::validator_for(&whole).unwrap_or_else(|e| panic!("{e}: {schema}")).is_valid(value)
}

#[test]
fn bodies_are_as_strict_in_the_document_as_in_the_server() {
    let site = Site::new();
    let document = document(&site.local);
    let (clients, tokens) = ("/admin/api/register-client", "/admin/api/tokens");
    for (path, body, is_allowed) in [
        (tokens, json!({ "name": "a", "scope": "read" }), true),
        (tokens, json!({ "name": "b", "scopes": ["read", "write"], "sources": "default" }), true),
        (
            tokens,
            json!({ "name": "c", "scope": "read, write", "expires_in": 60, "sources": [] }),
            true,
        ),
        (tokens, json!({ "name": "d", "scope": "admin", "never_expires": true }), true),
        (tokens, json!({ "name": "", "scope": "read" }), false),
        (tokens, json!({ "name": "n".repeat(121), "scope": "read" }), false),
        (tokens, json!({ "name": "e", "scope": "everything" }), false),
        (tokens, json!({ "name": "f", "scope": "" }), false),
        (tokens, json!({ "name": "g", "scope": ["read write"] }), false),
        (tokens, json!({ "name": "h", "scope": "read", "sources": "No Source" }), false),
        (tokens, json!({ "name": "i", "scope": "read", "expires_in": 59 }), false),
        (tokens, json!({ "name": "j", "scope": "read", "expires_in": 316_224_001 }), false),
        (tokens, json!({ "name": "k", "scope": "read", "expires_in": "90d" }), false),
        (tokens, json!({ "name": "l", "scope": "read", "expires": 90 }), false),
        (
            clients,
            json!({ "name": "a", "scope": "read", "grant_types": "client_credentials" }),
            true,
        ),
        (clients, json!({ "name": "b", "scope": "read", "token_ttl": 60 }), true),
        (clients, json!({ "name": "", "scope": "read" }), false),
        (clients, json!({ "name": "c", "scope": "reading" }), false),
        (clients, json!({ "name": "d", "scope": "read", "grant_types": ["password"] }), false),
        (clients, json!({ "name": "e", "scope": "read", "token_ttl": 59 }), false),
        (
            clients,
            json!({ "name": "f", "scope": "read",
                "redirect_uris": vec!["https://a.example/"; 11] }),
            false,
        ),
        ("/admin/login", json!({ "token": site.admin }), true),
        ("/admin/login", json!({ "token": "short" }), false),
        ("/admin/api/jobs/retry", json!({ "job_id": "17" }), false),
    ] {
        let operation = &document["paths"][path]["post"];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{path}: {operation}");
        assert_eq!(allows(&document, schema, &body), is_allowed, "the document, {path}: {body}");
        let answer = site.local(&HttpRequest::json(path, &body).bearer(&site.admin));
        assert_eq!(
            (200..300).contains(&answer.status),
            is_allowed,
            "the server, {path}: {body}: {answer:?}"
        );
    }
}

#[test]
fn parameters_are_as_strict_in_the_document_as_in_the_server() {
    let site = Site::new();
    let document = document(&site.local);
    for (method, path, name, value, is_allowed) in [
        ("get", "/admin/api/audit", "since", "2026-11-22", true),
        ("get", "/admin/api/audit", "since", "yesterday", false),
        ("get", "/admin/api/audit", "until", "2026-11-22T10:00:00Z", true),
        ("get", "/admin/api/audit", "until", "22.11.2026", false),
        ("get", "/admin/api/jobs", "state", "failed", true),
        ("get", "/admin/api/jobs", "state", "lost", false),
        ("get", "/admin/api/jobs", "after", "17", false),
        ("post", "/ingest", "X-Brain-Source-Id", "default", true),
        ("post", "/ingest", "X-Brain-Source-Id", "No Source", false),
        ("post", "/ingest", "X-Brain-Title", &"t".repeat(1025), false),
        ("post", "/ingest", "X-Brain-Slug", &"s".repeat(1025), false),
    ] {
        let parameters = document["paths"][path][method]["parameters"].as_array().unwrap();
        let parameter = parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
        let allowed = allows(&document, &parameter["schema"], &json!(value));
        assert_eq!(allowed, is_allowed, "the document, {path}: {name} = {value}: {parameter}");
        let request = if parameter["in"] == "query" {
            HttpRequest::get(&format!("{path}?{name}={value}"))
        } else {
            HttpRequest::new("POST", path)
                .header("Content-Type", "text/plain")
                .header(name, value)
                .body("text")
        };
        let answer = site.local(&request.bearer(&site.admin));
        assert_eq!(
            (200..300).contains(&answer.status),
            is_allowed,
            "the server, {path}: {name}: {answer:?}"
        );
    }
    let authorize = document["paths"]["/authorize"]["get"]["parameters"].as_array().unwrap();
    for (name, wrong) in [
        ("response_type", "token"),
        ("code_challenge_method", "plain"),
        ("code_challenge", "too-short"),
    ] {
        let parameter = authorize.iter().find(|parameter| parameter["name"] == name).unwrap();
        assert!(!allows(&document, &parameter["schema"], &json!(wrong)), "{parameter}");
    }
}

#[test]
fn the_schemas_of_forms_list_the_allowed_values() {
    let site = Site::new();
    let document = document(&site.local);
    let property_schema = |schema: &str, field: &str| {
        document["components"]["schemas"][schema]["properties"][field].clone()
    };
    for (schema, field, right, wrong) in [
        ("TokenForm", "grant_type", "refresh_token", "password"),
        ("Decision", "decision", "approve", "yes"),
        ("Decision", "grant", "all", "admin"),
    ] {
        let property = property_schema(schema, field);
        assert!(property.is_object(), "{schema}.{field}");
        assert!(allows(&document, &property, &json!(right)), "{schema}.{field}: {right}");
        assert!(!allows(&document, &property, &json!(wrong)), "{schema}.{field}: {wrong}");
    }
}

#[test]
fn an_answer_is_valid_for_the_document_and_wrong_values_not() {
    let site = Site::new();
    let document = document(&site.local);
    let answer = site.local(
        &HttpRequest::new("POST", "/ingest")
            .header("Content-Type", "text/plain")
            .body("text")
            .bearer(&site.admin),
    );
    let answer = answer.expect(202).json();
    let schema = json!({ "$ref": "#/components/schemas/IngestReceipt" });
    assert!(allows(&document, &schema, &answer), "{answer}");
    for (field, wrong) in [("status", "taken"), ("content_hash", "abc"), ("job_id", "17")] {
        let mut other = answer.clone();
        other[field] = json!(wrong);
        assert!(!allows(&document, &schema, &other), "{field} = {wrong}");
    }
}

#[test]
fn the_telephone_is_in_the_document_of_its_listener() {
    let off = Site::new();
    assert!(document(&off.local)["paths"]["/voice"].is_null(), "voice is off");
    let voice_site = Site::with(&[("BRAIN_VOICE_ENABLED", "true")]);
    let upstream = ("BRAIN_VOICE_UPSTREAM", "http://127.0.0.1:1");
    let upstream_site = Site::with(&[("BRAIN_VOICE_ENABLED", "true"), upstream]);
    for (site, has_turns) in [(&voice_site, true), (&upstream_site, false)] {
        for address in [&site.local, &site.public] {
            let document = document(address);
            let operation = &document["paths"]["/voice"]["post"];
            assert_eq!(operation["parameters"][0]["name"], "X-Twilio-Signature", "{operation}");
            assert_eq!(document["paths"]["/voice/turn"]["post"].is_object(), has_turns);
            let answer = Browser::default().send(address, HttpRequest::new("POST", "/voice"));
            assert!(operation["responses"][answer.status.to_string()].is_object(), "{answer:?}");
        }
    }
}

#[test]
fn the_document_about_access_lists_the_public_paths() {
    let site = Site::with(&[("BRAIN_VOICE_ENABLED", "true")]);
    let document = document(&site.public);
    let first = |path: &str| format!("/{}", path.split('/').nth(1).unwrap_or_default());
    let paths = document["paths"].as_object().unwrap().keys().map(String::as_str);
    // The document of the server leaves out MCP, and itself.
    let served: BTreeSet<String> = paths.chain(["/mcp", "/openapi.json"]).map(first).collect();
    let row = include_str!("../../docs/access.md")
        .lines()
        .find(|line| line.starts_with("| public (`http.public`)"))
        .unwrap();
    let listed: BTreeSet<String> =
        row.split('`').filter(|word| word.starts_with('/')).map(str::to_owned).collect();
    assert_eq!(listed, served);
}

#[test]
fn malformed_json_is_reported_as_such() {
    let site = Site::new();
    let send = |path: &str, body: &str| {
        let request =
            HttpRequest::new("POST", path).header("Content-Type", "application/json").body(body);
        site.local(&request.bearer(&site.admin))
    };
    for path in [
        "/ingest",
        "/admin/login",
        "/admin/api/tokens",
        "/admin/api/register-client",
        "/admin/api/jobs/retry",
    ] {
        for body in ["{", "{\"name\": }", "nothing", "{\"a\":1}}"] {
            let refused = send(path, body).expect_refusal(400, "invalid_json");
            assert!(refused.body.contains("line 1"), "{path}: {}", refused.body);
        }
    }
    send("/admin/api/tokens", "[]").expect_refusal(400, "invalid_request");
    send("/ingest", "[]").expect_refusal(400, "empty_body");
    send("/ingest", " ").expect_refusal(400, "empty_body");
}

#[test]
fn at_the_largest_limit_no_hint_advises_to_raise_it() {
    let message = |limit: &str, bytes: usize| {
        let site = Site::with(&[("BRAIN_INGEST_MAX_BYTES", limit)]);
        let request = HttpRequest::new("POST", "/ingest")
            .header("Content-Type", "text/plain")
            .body(&"a".repeat(bytes));
        site.local(&request.bearer(&site.admin)).expect_refusal(413, "too_large").body
    };
    assert!(message("100", 101).contains("raise ingest.max_bytes"));
    let refusal = message("5000000", 5_000_001);
    assert!(refusal.contains("in parts") && !refusal.contains("raise ingest"), "{refusal}");
}
