//! Administration over HTTP: clients, tokens, audit, queue, status, and the OpenAPI document.

use std::time::Instant;

use brain_tests::TEST_TIMEOUT;
use serde_json::{Value, json};

use crate::web::{CALLBACK, HttpRequest, Site, text};

const REGISTER: &str = "/admin/api/register-client";

#[test]
fn the_granted_scope_equals_the_requested_scope() {
    let site = Site::new();
    let register =
        |client: &Value| site.local(&HttpRequest::json(REGISTER, client).bearer(&site.admin));
    for (name, value, granted) in [
        ("scope", json!("read"), "read"),
        ("scope", json!("write"), "write"),
        ("scope", json!("read write"), "read write"),
        ("scope", json!("write,read"), "read write"),
        ("scope", json!(["read", "write"]), "read write"),
        ("scopes", json!("read write"), "read write"),
        ("scopes", json!("read, write"), "read write"),
        ("scopes", json!(["write"]), "write"),
        ("scopes", json!(["admin"]), "admin"),
    ] {
        let client = register(&json!({ "name": "c", name: value })).expect(201).json();
        assert_eq!(client["scope"], granted, "{name}: {value}");
        assert!(text(&client, "client_secret").starts_with("brain_cs_"));
        let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
        let tokens = site.token(&[
            ("grant_type", "client_credentials"),
            ("client_id", &id),
            ("client_secret", &secret),
        ]);
        assert_eq!(tokens.expect(200).json()["scope"], granted);
    }
    let same = json!({ "name": "c", "scope": "read write", "scopes": ["write", "read"] });
    assert_eq!(register(&same).expect(201).json()["scope"], "read write");

    for (client, error, expected) in [
        (
            json!({ "name": "c", "scope": "read", "scopes": "write" }),
            "invalid_request",
            "\"scopes\" is \"write\"",
        ),
        (json!({ "name": "c" }), "invalid_scope", "\"scope\" is missing"),
        (json!({ "name": "c", "scope": null }), "invalid_scope", "\"scope\" is missing"),
        (json!({ "name": "c", "scope": "" }), "invalid_scope", "no scope"),
        (json!({ "name": "c", "scope": "owner" }), "invalid_scope", "owner"),
        (json!({ "name": "c", "scope": ["read write"] }), "invalid_scope", "read write"),
        (json!({ "name": "c", "scope": 7 }), "invalid_request", "\"scope\""),
        (json!({ "name": "c", "scope": "read", "sources": ["none"] }), "invalid_source", "none"),
        (json!({ "name": "c", "scope": "read", "sources": ["../x"] }), "invalid_source", "sources"),
        (
            json!({ "name": "c", "scope": "read", "grant_types": "password" }),
            "invalid_request",
            "password",
        ),
        (json!({ "name": "c", "scope": "read", "token_ttl": 5 }), "invalid_request", "token_ttl"),
        (
            json!({ "name": "c", "scope": "read", "token_ttl": "3600" }),
            "invalid_request",
            "\"token_ttl\"",
        ),
        (
            json!({ "name": "c", "scope": "read", "token_ttl": -1 }),
            "invalid_request",
            "\"token_ttl\"",
        ),
        (json!({ "name": "c", "scope": "read", "colour": "red" }), "invalid_request", "`colour`"),
        (json!({ "scope": "read" }), "invalid_request", "`name`"),
        (json!({ "name": "", "scope": "read" }), "invalid_request", "name"),
        (json!({ "name": "a\nb", "scope": "read" }), "invalid_request", "name"),
        (json!({ "name": ["c"], "scope": "read" }), "invalid_request", "\"name\""),
        (
            json!({ "name": "c", "scope": "read", "grant_types": ["authorization_code"],
                "redirect_uris": ["http://a.example/"] }),
            "invalid_request",
            "redirect",
        ),
    ] {
        let refused = register(&client).expect_refusal(400, error);
        assert!(text(&refused.json(), "message").contains(expected), "{client} → {}", refused.body);
    }
    let known =
        site.local(&HttpRequest::get("/admin/api/clients").bearer(&site.admin)).expect(200).json();
    assert_eq!(
        known["clients"].as_array().unwrap().len(),
        10,
        "refused clients are not registered"
    );
}

#[test]
fn absent_fields_may_be_null() {
    let site = Site::new();
    let client = site.register(&json!({
        "name": "c", "scope": "read", "scopes": null, "sources": null, "grant_types": null,
        "redirect_uris": null,
        "token_ttl": null, "public": null,
    }));
    assert_eq!(client["grant_types"], json!(["client_credentials"]));
    assert_eq!((&client["sources"], &client["token_ttl"]), (&json!([]), &json!(3600)));
}

#[test]
fn clients_can_be_listed_changed_and_revoked() {
    let site = Site::new();
    let client = site.register(&json!({ "name": "machine", "scope": "read write" }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    let grant = [
        ("grant_type", "client_credentials"),
        ("client_id", id.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let token = text(&site.token(&grant).expect(200).json(), "access_token");
    assert_eq!(site.write_status(&token), 202);

    let list =
        || site.local(&HttpRequest::get("/admin/api/clients").bearer(&site.admin)).expect(200);
    assert!(!list().body.contains(&secret));
    assert_eq!(list().json()["clients"][0]["client_name"], "machine");

    let path = format!("/admin/api/clients/{id}");
    let patch = |value: &Value| {
        site.local(&HttpRequest::json(&path, value).method("PATCH").bearer(&site.admin))
    };
    let changed = patch(&json!({ "scope": "read", "token_ttl": 120 })).expect(200).json();
    assert_eq!(
        (&changed["status"], &changed["client"]["scope"]),
        (&json!("updated"), &json!("read"))
    );
    assert_eq!(site.write_status(&token), 403, "the change applies to issued tokens immediately");
    assert_eq!(patch(&json!({ "scopes": null })).expect(200).json()["status"], "unchanged");
    patch(&json!({ "name": "other" })).expect_refusal(400, "invalid_request");
    patch(&json!({ "scope": "owner" })).expect_refusal(400, "invalid_scope");
    patch(&json!({ "token_ttl": 1 })).expect_refusal(400, "invalid_request");
    patch(&json!({ "sources": ["default"], "scope": "read write" })).expect(200);
    assert_eq!(site.write_status(&token), 202);

    let delete = HttpRequest::new("DELETE", &path).bearer(&site.admin);
    let revoked = site.local(&delete).expect(200).json();
    assert_eq!((&revoked["status"], &revoked["tokens_revoked"]), (&json!("revoked"), &json!(1)));
    assert_eq!(site.write_status(&token), 401);
    site.token(&grant).expect_refusal(401, "invalid_client");
    assert_eq!(list().json()["clients"], json!([]));
    let all = site
        .local(&HttpRequest::get("/admin/api/clients?all=true").bearer(&site.admin))
        .expect(200)
        .json();
    assert_eq!(all["clients"].as_array().unwrap().len(), 1);
    patch(&json!({ "scope": "write" })).expect_refusal(409, "conflict");
    let unknown = HttpRequest::new("DELETE", "/admin/api/clients/none%2f%20").bearer(&site.admin);
    site.local(&unknown).expect_refusal(404, "unknown_client");
}

#[test]
fn tokens_can_be_created_listed_and_revoked() {
    let site = Site::new();
    let new = json!({ "name": "phone", "scope": ["read", "write"], "expires_in": 3600 });
    let create =
        |new: &Value| site.local(&HttpRequest::json("/admin/api/tokens", new).bearer(&site.admin));
    let made = create(&new).expect(201).json();
    let token = text(&made, "token");
    assert!(token.starts_with("brain_pt_"));
    assert_eq!(made["info"]["scope"], "read write");
    assert_eq!(site.write_status(&token), 202);
    create(&new).expect_refusal(409, "conflict");
    create(&json!({ "name": "x", "scope": "read", "expires_in": 1 }))
        .expect_refusal(400, "invalid_request");
    create(&json!({ "name": "x", "scope": "read", "expires": "90d" }))
        .expect_refusal(400, "invalid_request");

    let list = site.local(&HttpRequest::get("/admin/api/tokens").bearer(&site.admin)).expect(200);
    assert!(!list.body.contains(&token));
    let id = text(&list.json()["tokens"][0], "id");
    let revoke = HttpRequest::new("DELETE", &format!("/admin/api/tokens/{id}")).bearer(&site.admin);
    assert_eq!(site.local(&revoke).expect(200).json()["status"], "revoked");
    assert_eq!(site.local(&revoke).expect(200).json()["status"], "already_revoked");
    assert_eq!(site.write_status(&token), 401);
    let unknown = HttpRequest::new("DELETE", "/admin/api/tokens/none").bearer(&site.admin);
    site.local(&unknown).expect_refusal(404, "unknown_token");
}

#[test]
fn administration_needs_the_scope_admin() {
    let site = Site::new();
    // Returns an access token of a new client.
    let client_token = |scope: &str| {
        let client = site.register(&json!({ "name": scope, "scope": scope }));
        let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
        let grant = [
            ("grant_type", "client_credentials"),
            ("client_id", &*id),
            ("client_secret", &*secret),
        ];
        text(&site.token(&grant).expect(200).json(), "access_token")
    };
    let (writer, admin) = (client_token("read write"), client_token("admin"));
    for (method, path) in [
        ("POST", REGISTER),
        ("GET", "/admin/api/clients"),
        ("PATCH", "/admin/api/clients/x"),
        ("DELETE", "/admin/api/clients/x"),
        ("POST", "/admin/api/tokens"),
        ("GET", "/admin/api/tokens"),
        ("DELETE", "/admin/api/tokens/x"),
        ("GET", "/admin/api/audit"),
        ("GET", "/admin/api/jobs"),
        ("GET", "/admin/api/jobs/job_1"),
        ("POST", "/admin/api/jobs/retry"),
        ("GET", "/admin/api/status"),
    ] {
        let request = HttpRequest::new(method, path);
        let answer = site.local(&request).expect_refusal(401, "invalid_token");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{answer:?}");
        let answer =
            site.local(&request.clone().bearer(&writer)).expect_refusal(403, "insufficient_scope");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("scope=\"admin\""), "{answer:?}");
        site.local(&request.clone().basic(&format!("admin:{}", site.admin)))
            .expect_refusal(401, "invalid_token");
        let answer = site.local(&request.bearer(&admin));
        assert!(![401, 403, 405, 500].contains(&answer.status), "{method} {path}: {answer:?}");
    }
    let wrong = site.local(&HttpRequest::get("/admin/api/status").bearer("brain_ad_wrong"));
    let wrong = wrong.expect_refusal(401, "invalid_token");
    assert!(wrong.header("www-authenticate").unwrap().contains("invalid_token"));
    site.local(&HttpRequest::get(&format!("/admin/api/status?access_token={}", site.admin)))
        .expect_refusal(401, "invalid_token");
}

#[test]
fn invalid_bodies_and_queries_are_rejected() {
    let site = Site::new();
    let post = |media_type: Option<&str>, body: &str| {
        let mut request = HttpRequest::new("POST", REGISTER).bearer(&site.admin).body(body);
        if let Some(media_type) = media_type {
            request = request.header("Content-Type", media_type);
        }
        site.local(&request)
    };
    let good = r#"{"name":"c","scope":"read"}"#;
    let json_type = Some("application/json");
    post(Some("application/json; charset=utf-8"), good).expect(201);
    for bad in ["[]", "null", "7", "\"x\"", "{}"] {
        post(json_type, bad).expect_refusal(400, "invalid_request");
    }
    for bad in [
        "",
        "{",
        "{\"name\":\"c\",}",
        "\u{feff}{}",
        "{\"name\":\"\\ud800\",\"scope\":\"read\"}",
        &format!("{{\"name\":{}", "[".repeat(20_000)),
    ] {
        post(json_type, bad).expect_refusal(400, "invalid_json");
    }
    post(json_type, &format!(r#"{{"name":"{}","scope":"read"}}"#, "x".repeat(70_000)))
        .expect_refusal(413, "too_large");
    for other in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("json")]
    {
        post(other, good).expect_refusal(415, "unsupported_content_type");
    }
    let get = |path: &str| site.local(&HttpRequest::get(path).bearer(&site.admin));
    for query in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=",
        "limit=1&limit=2",
        "since=yesterday",
        "colour=red",
        "failed=maybe",
    ] {
        get(&format!("/admin/api/audit?{query}")).expect_refusal(400, "invalid_request");
    }
    for query in ["state=gone", "after=17", "limit=-1", "all=true"] {
        get(&format!("/admin/api/jobs?{query}")).expect_refusal(400, "invalid_request");
    }
    get("/admin/api/clients?all=1").expect_refusal(400, "invalid_request");
    get("/admin/api/jobs/17").expect_refusal(400, "invalid_request");
    get("/admin/api/jobs/%ff").expect_refusal(400, "bad_request");
}

#[test]
fn queue_and_status_are_readable() {
    let site = Site::new();
    let made = site.local(
        &HttpRequest::json("/admin/api/tokens", &json!({ "name": "t", "scope": "write" }))
            .bearer(&site.admin),
    );
    assert_eq!(site.write_status(&text(&made.expect(201).json(), "token")), 202);
    let get = |path: &str| site.local(&HttpRequest::get(path).bearer(&site.admin));
    let deadline = Instant::now() + TEST_TIMEOUT;
    let job = loop {
        let job = get("/admin/api/jobs?limit=10").expect(200).json()["jobs"][0].clone();
        if job["status"] == "stored" {
            break job;
        }
        assert!(Instant::now() < deadline, "{job}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let id = text(&job, "job_id");
    assert_eq!(get(&format!("/admin/api/jobs/{id}")).expect(200).json(), job);
    assert_eq!(get("/admin/api/jobs?state=failed").expect(200).json()["jobs"], json!([]));
    get("/admin/api/jobs/job_999").expect_refusal(404, "unknown_job");
    let retry = |body: &Value| {
        site.local(&HttpRequest::json("/admin/api/jobs/retry", body).bearer(&site.admin))
    };
    assert_eq!(retry(&json!({})).expect(200).json()["retried"], 0);
    let bare = HttpRequest::new("POST", "/admin/api/jobs/retry").bearer(&site.admin);
    assert_eq!(site.local(&bare).expect(200).json()["retried"], 0);
    retry(&json!({ "job_id": "17" })).expect_refusal(400, "invalid_request");
    retry(&json!({ "job_id": "job_999" })).expect_refusal(404, "unknown_job");
    let status = get("/admin/api/status").expect(200).json();
    assert_eq!((&status["pages"], &status["jobs"]["stored"]), (&json!(1), &json!(1)));
}

#[test]
fn the_audit_lists_calls_without_their_content() {
    let site = Site::new();
    let client = site.register(&json!({ "name": "machine", "scope": "read" }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    site.token(&[
        ("grant_type", "client_credentials"),
        ("client_id", &id),
        ("client_secret", &secret),
    ])
    .expect(200);
    site.token(&[
        ("grant_type", "client_credentials"),
        ("client_id", &id),
        ("client_secret", "guess"),
    ])
    .expect(401);
    site.local(&HttpRequest::get("/authorize?client_id=private-words&state=secret-state"))
        .expect(400);
    site.local(&HttpRequest::json("/admin/login", &json!({ "token": "guessed-token" })))
        .expect(401);
    let get = |query: &str| {
        site.local(&HttpRequest::get(&format!("/admin/api/audit{query}")).bearer(&site.admin))
            .expect(200)
    };
    let deadline = Instant::now() + TEST_TIMEOUT;
    let record = loop {
        let record = get("");
        if record.body.contains("POST /admin/login") {
            break record;
        }
        assert!(Instant::now() < deadline, "{record:?}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let calls = record.json()["calls"].as_array().unwrap().clone();
    let found = |operation: &str, status: u16| {
        let call =
            calls.iter().find(|call| call["operation"] == operation && call["status"] == status);
        call.unwrap_or_else(|| panic!("no {operation} {status} in {}", record.body)).clone()
    };
    assert_eq!(found("POST /token", 200)["client"], id.as_str());
    assert_eq!(found("POST /token", 401)["client"], "-", "a failed authentication names no client");
    assert_eq!(found("POST /admin/api/register-client", 201)["client"], "admin");
    let unknown = found("GET /authorize", 400);
    assert_eq!(
        unknown["parameters"].as_array().map(Vec::len),
        Some(0),
        "parameters of unknown callers are not recorded"
    );
    for secret in
        [&*secret, &*site.admin, "guess", "private-words", "secret-state", "guessed-token"]
    {
        assert!(!record.body.contains(secret), "{secret} in {}", record.body);
        assert!(!site.home.log().contains(secret), "{secret} in the log");
    }
    let of_client = get(&format!("?client={id}")).json();
    let found = of_client["calls"].as_array().unwrap();
    assert!(
        !found.is_empty() && found.iter().all(|call| call["client"] == id.as_str()),
        "{of_client}"
    );
    let failed = get("?failed=true&limit=1").json();
    assert_eq!(
        (failed["calls"].as_array().unwrap().len(), &failed["truncated"]),
        (1, &json!(true))
    );
}

#[test]
fn the_openapi_document_matches_the_served_paths() {
    let site = Site::new();
    for (address, is_local) in [(&site.local, true), (&site.public, false)] {
        let document = crate::web::Browser::default()
            .send(address, HttpRequest::get("/openapi.json"))
            .expect(200)
            .json();
        assert!(text(&document, "openapi").starts_with("3.1"));
        assert_eq!(document["info"]["version"], brain_protocol::VERSION);
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(paths.contains_key(REGISTER), is_local);
        assert_eq!(paths.contains_key("/metrics"), is_local);
        for path in [
            "/health",
            "/ingest",
            "/search",
            "/pages/{slug}",
            "/pages/{slug}/append",
            "/token",
            "/revoke",
            "/authorize",
            "/register",
            "/openapi.json",
        ] {
            assert!(paths.contains_key(path), "{path}");
        }
        for scheme in ["bearer", "client", "session"] {
            assert!(document["components"]["securitySchemes"][scheme].is_object(), "{scheme}");
        }
        // Every reference resolves, and every documented path is served with a documented status.
        let mut names = Vec::new();
        references(&document, &mut names);
        assert!(names.len() > 50);
        for name in names {
            let pointer = name.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{name} does not resolve");
        }
        for (path, item) in paths {
            for (method, operation) in
                item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters")
            {
                let path = path.replace(['{', '}'], "");
                let request = HttpRequest::new(&method.to_uppercase(), &path);
                let answer = crate::web::Browser::default().send(address, request);
                let known = &operation["responses"][answer.status.to_string()];
                assert!(known.is_object(), "{method} {path} answers {answer:?}");
                if answer.status >= 400 {
                    assert!(
                        known["content"]["application/json"]["schema"].is_object(),
                        "{method} {path}: {known}"
                    );
                }
            }
        }
    }
}

/// Adds the targets of all `$ref` in `value` to `names`.
fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            names.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| references(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

/// Clients that the owner registers can ask for consent, too.
#[test]
fn a_confidential_client_may_ask_for_consent() {
    let site = Site::new();
    let client = site.register(&json!({
        "name": "server", "scope": "read", "grant_types": "authorization_code,refresh_token",
        "redirect_uris": [CALLBACK],
    }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    let code = crate::web::Browser::default().consent(&site, &id, "read");
    site.exchange(&id, &code).expect_refusal(401, "invalid_client");
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", crate::web::VERIFIER),
    ];
    let tokens = site
        .public(&HttpRequest::form("/token", &form).basic(&format!("{id}:{secret}")))
        .expect(200)
        .json();
    assert_eq!(tokens["scope"], "read");
}
