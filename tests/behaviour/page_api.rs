//! `GET /search`, `GET /pages/{slug}` and `POST /pages/{slug}/append`, for scripts and phones, and
//! the start page.

use brain_tests::TestHome;
use brain_tests::http::{Answer, call, get};

/// Sends `GET` with a token.
fn read(home: &TestHome, token: &str, path: &str, accept: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    call(home.http_local(), "GET", path, &[("Authorization", &bearer), ("Accept", accept)], b"")
}

#[test]
fn a_script_finds_and_reads_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = "---\ntags: [math]\n---\n# Ada Lovelace\n\nWrote the first program.\n";
    home.put("people/ada", text);
    home.put("people/charles", "# Charles Babbage\n\nBuilt the machine for the first program.\n");
    let token = home.token("script", "read", &[]);

    let found = read(&home, &token, "/search?q=first+program&limit=5", "*/*").expect(200).json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 2, "{found}");
    let tagged = read(&home, &token, "/search?q=program&tags=math", "*/*").expect(200).json();
    assert_eq!(tagged["hits"][0]["slug"], "people/ada");
    assert_eq!(tagged["hits"].as_array().unwrap().len(), 1, "{tagged}");
    for (path, accept) in
        [("/search?q=babbage&format=md", "*/*"), ("/search?q=babbage", "text/markdown")]
    {
        let list = read(&home, &token, path, accept).expect(200);
        assert_eq!(list.header("content-type"), Some("text/markdown; charset=utf-8"));
        assert!(list.text().starts_with("- **Charles Babbage** `default:people/charles`\n"));
    }
    let none = read(&home, &token, "/search?q=zeppelin&format=md", "*/*").expect(200);
    assert_eq!(none.text(), "No pages found.\n");

    for path in ["/pages/people/ada", "/pages/people%2Fada", "/pages/default:people/ada"] {
        let page = read(&home, &token, path, "application/json").expect(200).json();
        assert_eq!(page, home.get("people/ada"), "{path} is what `brain get --json` prints");
    }
    for (path, accept) in
        [("/pages/people/ada?format=md", "*/*"), ("/pages/people/ada", "text/markdown, */*")]
    {
        let page = read(&home, &token, path, accept).expect(200);
        assert_eq!(page.header("content-type"), Some("text/markdown; charset=utf-8"));
        assert_eq!(page.text(), home.get("people/ada")["content"].as_str().unwrap(), "{path}");
    }
    home.put("people/ada", "# Ada\n\nNew text.\n");
    let former = read(&home, &token, "/pages/people/ada?version=1&format=md", "*/*").expect(200);
    assert!(former.text().contains("first program"));
}

#[test]
fn a_token_reads_only_its_sources_and_scopes() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_HTTP_PUBLIC".into(), "127.0.0.1:0".into()));
    let _daemon = home.daemon();
    let notes = home.outside().join("work");
    std::fs::create_dir_all(&notes).unwrap();
    std::fs::write(notes.join("plan.md"), "# Plan\n\nA zeppelin for the office.\n").unwrap();
    home.brain(["sources", "add", "work", "--path", notes.to_str().unwrap()]).expect(0);
    home.brain(["sync", "--all"]).expect(0);
    let file = home.json(["get", "plan", "--source", "work"]);
    assert!(file["source_uri"].as_str().unwrap().starts_with("file:"), "{file}");
    home.put("secret", "# Secret\n\nA zeppelin in the garden.\n");

    let work = home.token("work", "read", &["work"]);
    let found = read(&home, &work, "/search?q=zeppelin", "*/*").expect(200).json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["hits"][0]["slug"], "plan");
    let plan = read(&home, &work, "/pages/work:plan", "*/*").expect(200);
    assert!(!plan.text().contains(notes.to_str().unwrap()), "no path on this machine: {plan:?}");
    for hidden in ["/pages/default:secret", "/pages/secret"] {
        let refused = read(&home, &work, hidden, "*/*");
        assert!(matches!(refused.status, 400 | 403 | 404), "{refused:?}");
        assert!(!String::from_utf8_lossy(&refused.body).contains("garden"), "{refused:?}");
    }

    let writer = home.token("writer", "write", &["default"]);
    let reader = home.token("reader", "read", &[]);
    let _ = read(&home, &reader, "/pages/none", "*/*").expect(404);
    for path in ["/search?q=a", "/pages/plan"] {
        assert_eq!(read(&home, "brain_pt_wrong", path, "*/*").expect(401).error(), "invalid_token");
        assert_eq!(get(home.http_local(), path).expect(401).error(), "invalid_token");
        // The public listener serves the same.
        let bearer = format!("Bearer {reader}");
        let fields = [("Authorization", bearer.as_str())];
        assert!(matches!(call(home.http_public(), "GET", path, &fields, b"").status, 200 | 404));
    }
    // The scope `write` includes `read`.
    let _ = read(&home, &writer, "/pages/secret", "*/*").expect(200);
    for (path, error) in [
        ("/search", "invalid_request"),
        ("/search?q=", "usage"),
        ("/search?q=a&limit=0", "invalid_request"),
        ("/search?q=a&limit=201", "invalid_request"),
        ("/search?q=a&lang=de", "invalid_request"),
        ("/search?q=a&format=xml", "invalid_request"),
        ("/search?q=a&source=No%20Source", "invalid_source"),
        ("/pages/../etc", "invalid_slug"),
        ("/pages/a?version=x", "invalid_request"),
    ] {
        assert_eq!(read(&home, &reader, path, "*/*").expect(400).error(), error, "{path}");
    }
}

#[test]
fn json_escapes_direction_controls() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let evil = "safe \u{202e}gpj.exe\u{2069} \u{200f}1 \u{7f} שלום\n";
    home.put("evil", evil);
    let token = home.token("reader", "read", &[]);
    for path in ["/pages/evil", "/search?q=safe"] {
        let answer = read(&home, &token, path, "application/json").expect(200);
        let text = answer.text();
        assert!(!text.contains(['\u{202e}', '\u{2069}', '\u{200f}', '\u{7f}']), "{text:?}");
        assert!(text.contains(r"\u202e") && text.contains(r"\u200f"), "{text}");
        assert!(text.contains("שלום"), "letters stay: {text}");
    }
    let page = read(&home, &token, "/pages/evil", "application/json").expect(200).json();
    assert_eq!(page["body"], evil);
    // The output of the client escapes them, too.
    let printed = home.brain(["get", "evil", "--json"]).expect(0);
    assert!(!printed.stdout.contains(['\u{202e}', '\u{200f}']), "{printed:?}");
    assert_eq!(printed.json()["body"], evil);
}

#[test]
fn a_page_and_its_append_have_methods_of_their_own() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("append", "# About the word\n");
    home.put("notes/append", "# About more words\n");
    let token = home.token("script", "write", &[]);
    let bearer = format!("Bearer {token}");
    let fields = [("Authorization", bearer.as_str()), ("Content-Type", "text/plain")];
    for (method, path, allow) in [
        ("GET", "/pages/notes/append", "POST"),
        ("DELETE", "/pages/notes/append", "POST"),
        ("POST", "/pages/append", "GET,HEAD"),
        ("PUT", "/pages/notes", "GET,HEAD"),
    ] {
        let refused = call(home.http_local(), method, path, &fields, b"x").expect(405);
        assert_eq!(refused.error(), "method_not_allowed", "{method} {path}");
        assert_eq!(refused.header("allow"), Some(allow), "{method} {path}");
    }
    // Pages whose slugs end in `append` can be read.
    for (path, slug) in [("/pages/append", "append"), ("/pages/notes%2Fappend", "notes/append")] {
        assert_eq!(read(&home, &token, path, "*/*").expect(200).json()["slug"], slug, "{path}");
    }
}

#[test]
fn reading_has_the_rate_limit_of_the_client() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_SEARCH_RATE".into(), "2/1h".into()));
    let _daemon = home.daemon();
    let token = home.token("script", "read", &[]);
    let _ = read(&home, &token, "/search?q=a", "*/*").expect(200);
    let _ = read(&home, &token, "/pages/none", "*/*").expect(404);
    for path in ["/search?q=a", "/pages/none"] {
        let refused = read(&home, &token, path, "*/*").expect(429);
        assert_eq!(refused.error(), "rate_limited");
        assert!(refused.header("retry-after").is_some());
    }
    let audit = home.json(["audit"]).to_string();
    assert!(audit.contains("GET /pages/{slug}") && audit.contains("GET /search"), "{audit}");
    assert!(!audit.contains("none"), "the audit has no content: {audit}");
}

#[test]
fn the_start_page_is_served_on_the_local_listener_only() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_HTTP_PUBLIC".into(), "127.0.0.1:0".into()));
    let _daemon = home.daemon();
    home.put("secret", "# Secret\n");
    let page = get(home.http_local(), "/").expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let html = page.text();
    for expected in
        ["/openapi.json", "/mcp", "/clip", "GET /search", "POST /ingest", "brain --help"]
    {
        assert!(html.contains(expected), "{expected} is not in {html}");
    }
    assert!(!html.to_lowercase().contains("secret"), "{html}");
    let _ = get(home.http_public(), "/").expect(404);
}

/// Sends `POST` with a token.
fn post(home: &TestHome, token: &str, path: &str, content_type: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let fields = [("Authorization", bearer.as_str()), ("Content-Type", content_type)];
    call(home.http_local(), "POST", path, &fields, body.as_bytes())
}

#[test]
fn a_program_appends_lines_to_a_page() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_INGEST_DAILY_PAGES".into(), "4".into()));
    let _daemon = home.daemon();
    home.put("lists/shopping", "# Shopping\n\n## Today\n\n- bread\n\n## Later\n\n- paint\n");
    home.put("lists/week", "## Mon\n### Log\n## Tue\n### Log\n");
    let phone = home.token("phone", "write", &["default"]);
    let path = "/pages/lists/shopping/append";
    let body = || home.get("lists/shopping")["body"].as_str().unwrap().to_owned();

    let added = post(&home, &phone, path, "text/plain", "- brushes").expect(200).json();
    assert_eq!((&added["slug"], &added["version"]), (&"lists/shopping".into(), &2.into()));
    assert!(added.get("path").is_none(), "no path on this machine: {added}");
    assert!(body().ends_with("- paint\n- brushes\n"), "{}", body());
    let encoded = "/pages/lists%2Fshopping/append?section=Today";
    let json = "application/json; charset=utf-8";
    let _ = post(&home, &phone, encoded, json, r#"{"text": "- milk"}"#).expect(200);
    assert!(body().contains("- bread\n- milk\n"), "{}", body());
    // Text of a program is text from outside.
    let found = read(&home, &phone, "/search?q=brushes&format=md", "*/*").expect(200);
    assert!(found.text().contains("(from outside)"), "{}", found.text());

    for (path, kind, body, status, error) in [
        ("/pages/none/append", "text/plain", "x", 404, "not_found"),
        ("/pages/lists/shopping/append?section=Never", "text/plain", "x", 404, "not_found"),
        ("/pages/lists/week/append?section=Log", "text/plain", "x", 400, "invalid_request"),
        ("/pages/lists/shopping/append?at=1", "text/plain", "x", 400, "invalid_request"),
        (path, "text/plain", " ", 400, "empty_body"),
        (path, "application/json", "{", 400, "invalid_json"),
        (path, "application/json", r#"{"txt": "x"}"#, 400, "invalid_request"),
        (path, "text/html", "<p>x", 415, "unsupported_content_type"),
        ("/pages/lists/shopping", "text/plain", "x", 405, "method_not_allowed"),
    ] {
        let refused = post(&home, &phone, path, kind, body).expect(status);
        assert_eq!(refused.error(), error, "{path} {kind} {body}");
    }
    let reader = home.token("reader", "read", &[]);
    let refused = post(&home, &reader, path, "text/plain", "x").expect(403);
    assert_eq!(refused.error(), "insufficient_scope");
    assert!(!body().contains('x'), "a refused text was stored: {}", body());

    // Only added text counts for the quota.
    for n in 3..=4 {
        let _ = post(&home, &phone, path, "text/plain", &format!("- item {n}")).expect(200);
    }
    let refused = post(&home, &phone, path, "text/plain", "- one more").expect(429);
    assert_eq!(refused.error(), "quota_exceeded");
}
