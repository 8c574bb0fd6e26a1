//! Visible and hidden pages, and the answers that a restricted caller gets.

use brain_tests::mcp::mcp;
use brain_tests::{TestHome, http};
use serde_json::{Value, json};

use super::put;

/// Writes the pages that the restricted caller sees.
pub(super) fn put_own_pages(home: &TestHome) {
    put(
        home,
        "mine",
        "people/ada",
        "---\ntitle: Ada Lovelace\ntype: person\ntags: [math]\naliases: [Ada]\n---\nShe founded \
         [[acme]] with [[people/bo]] and knows [[people/ghost]] and [[secret:plan]].\n\n## \
         Timeline\n\n- **2026-01-02** | met Bo\n",
    );
    put(
        home,
        "mine",
        "people/bo",
        "---\ntitle: Bo Brown\ntype: person\n---\nInvested in [Acme](acme). A vehicle owner.\n",
    );
    put(
        home,
        "mine",
        "acme",
        "---\ntitle: Acme\ntype: company\ntags: [math, boats]\n---\nAcme builds harbour cranes and \
            vessels.\n",
    );
    put(
        home,
        "mine",
        "notes/harbour",
        "The harbour of the old mill; an automobile stands there.\n",
    );
    put(home, "mine", "notes/mill", "The mill of the old harbour; a vessel lies there.\n");
    for n in 0..8 {
        put(
            home,
            "mine",
            &format!("notes/n{n}"),
            &format!("# Note {n}\n\nharbour boats {n} and bread\n"),
        );
    }
    home.brain(["delete", "notes/n7", "--source", "mine"]).expect(0);
}

/// Writes hidden pages with the same words, tags, types, titles, slugs and links, and a page in
/// another language.
pub(super) fn put_hidden_pages(home: &TestHome) {
    for source in ["default", "secret"] {
        put(
            home,
            source,
            "people/ada",
            "---\ntitle: Ada Lovelace\ntype: person\ntags: [math, hush]\n---\n[[mine:acme]] \
             [[mine:people/ada]] [[people/ghost]]\n\n\
             ## Timeline\n\n- **2026-01-03** | hid\n",
        );
        put(
            home,
            source,
            "people/ghost",
            "---\ntitle: Ghost\ntype: person\naliases: [Acme]\n---\nHarbour of \
                [[mine:acme|Acme]].\n",
        );
        put(
            home,
            source,
            "plan",
            "---\ntitle: Plan\ntags: [boats]\n---\nA takeover of Acme by the mill.\n",
        );
        put(
            home,
            source,
            "notes/deutsch",
            "Der alte Hafen ist nicht mehr in der Stadt, und die Boote sind weg.\n",
        );
        for n in 0..25 {
            let text = format!(
                "---\ntitle: Harbour {n}\n---\nharbour mill vessel automobile bread bo{n} ha{n}\n"
            );
            put(home, source, &format!("notes/n{n}"), &text);
        }
        put(home, source, "notes/n3", "changed: harbour, harbour, harbour\n");
        home.brain(["delete", "notes/n4", "--source", source]).expect(0);
        home.brain(["delete", "plan", "--source", source]).expect(0);
    }
    home.json(["capture", "harbour boats 1 and bread"]);
}

/// Calls the tools and routes that a token for `mine` can reach. Returns each request and its
/// answer, without times and ports.
pub(super) fn all_answers(home: &TestHome, token: &str, job: &str) -> Vec<(String, String)> {
    let client = mcp(home, token);
    let mut answers = Vec::new();
    let mut ask = |method: &str, params: Value| -> Value {
        let answer = client.ask(method, params.clone());
        // The status has the current time, which differs between calls.
        let now = answer["result"]["structuredContent"]["now"].as_str().unwrap_or("(no time)");
        answers.push((format!("{method} {params}"), answer.to_string().replace(now, "NOW")));
        answer
    };
    ask("tools/list", json!({}));
    ask("prompts/list", json!({}));
    ask("prompts/get", json!({ "name": "brief", "arguments": { "topic": "harbour" } }));
    ask("resources/templates/list", json!({}));
    ask("resources/list", json!({}));
    for uri in ["people/ada", "people/ghost", "secret:plan", "notes/n7", "default:people/ada"] {
        ask("resources/read", json!({ "uri": format!("brain://page/{uri}") }));
    }
    let template = json!({ "type": "ref/resource", "uri": "brain://page/{+slug}" });
    for typed in ["", "p", "people/", "secret:", "default:p", "mine:notes/"] {
        ask(
            "completion/complete",
            json!({ "ref": template, "argument": { "name": "slug", "value": typed } }),
        );
    }
    let person = json!({ "type": "ref/prompt", "name": "prep_meeting" });
    for typed in ["", "a", "g"] {
        ask(
            "completion/complete",
            json!({ "ref": person, "argument": { "name": "person", "value": typed } }),
        );
    }
    let mut tool = |name: &str, arguments: Value| -> Value {
        ask("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    for question in [
        "harbour",
        "harbour mill",
        "harbour boats bread",
        "h*",
        "bo*",
        "ha* mill",
        "\"old harbour\"",
        "title:harbour",
        "harbour -mill",
        "-h* vessel",
        "tag:math",
        "tag:hush",
        "type:person",
        "acme",
        "takeover",
        "absent",
        "who founded Acme",
        "people at Acme",
        "who knows Ghost",
        "source:secret harbour",
        "Hafen Boote",
        "vehicle",
        "ship",
        "loaf on the sill",
        "latest harbour",
    ] {
        for limit in [3, 50] {
            tool("query", json!({ "query": question, "limit": limit, "format": "detailed" }));
        }
        tool("search", json!({ "query": question }));
    }
    tool("query", json!({ "query": "harbour", "source_id": "mine" }));
    tool("query", json!({ "query": "harbour", "source_id": "secret" }));
    tool("query", json!({ "query": "harbour", "type": "person", "tags": ["math"] }));
    let mut cursor = Value::Null;
    for _ in 0..3 {
        let listed = tool("list_pages", json!({ "limit": 4, "cursor": cursor }));
        cursor = listed["result"]["structuredContent"]["next_cursor"].clone();
    }
    for arguments in [
        json!({ "sort": "slug", "limit": 4 }),
        json!({ "tag": "math" }),
        json!({ "tag": "hush" }),
        json!({ "type": "person" }),
        json!({ "prefix": "people/" }),
        json!({ "source_id": "secret" }),
    ] {
        tool("list_pages", arguments);
    }
    let include = json!(["links", "backlinks", "timeline", "frontmatter", "versions"]);
    for slug in [
        "people/ada",
        "acme",
        "people/ghost",
        "people/gohst",
        "notes/n7",
        "secret:plan",
        "secret:nothing",
        "default:people/ada",
        "none:a",
        "harbour",
    ] {
        tool("get_page", json!({ "slug": slug, "include": include }));
        tool("fetch", json!({ "id": slug }));
        for depth in [1, 3] {
            tool("get_links", json!({ "slug": slug, "depth": depth }));
        }
        tool("get_timeline", json!({ "slug": slug }));
    }
    tool("get_timeline", json!({}));
    tool("collector_digest", json!({}));
    tool("brain_status", json!({}));
    // Writes that change nothing or are refused.
    tool("capture", json!({ "content": "captured by me\n" }));
    tool("capture", json!({ "content": "x", "source_id": "secret" }));
    tool("put_page", json!({ "slug": "acme", "content": "x\n" }));
    tool("put_page", json!({ "slug": "secret:plan", "content": "x\n" }));
    tool("edit_page", json!({ "slug": "people/ghost", "operation": "append", "content": "x" }));
    tool(
        "edit_page",
        json!({ "slug": "acme", "operation": "append", "content": "x", "dry_run": true }),
    );
    tool(
        "add_timeline_entry",
        json!({ "slug": "people/ada", "date": "2026-01-02", "text": "met Bo" }),
    );
    tool("move_page", json!({ "slug": "people/ghost", "to": "people/moved" }));
    tool("move_page", json!({ "slug": "secret:plan", "to": "people/moved" }));
    tool("move_page", json!({ "slug": "acme", "to": "people/ada" }));
    tool("delete_page", json!({ "slug": "people/ghost" }));
    tool("delete_page", json!({ "slug": "secret:plan" }));
    tool("restore_page", json!({ "slug": "plan" }));
    tool("restore_page", json!({ "slug": "secret:plan" }));

    let bearer = format!("Bearer {token}");
    let mut call = |method: &str, path: &str, source: &str, body: &str| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "text/plain"),
            ("X-Brain-Source-Id", source),
        ];
        let headers = if source.is_empty() { &headers[..2] } else { &headers[..] };
        let answer = http::call(home.http_local(), method, path, headers, body.as_bytes());
        let request = format!("{method} {path} {source}");
        answers.push((request, format!("{} {}", answer.status, without_time(answer.text()))));
    };
    call("POST", "/ingest", "mine", "sent by me");
    call("POST", "/ingest", "", "sent by me");
    for source in ["secret", "default", "none"] {
        call("POST", "/ingest", source, "harbour");
    }
    call("GET", &format!("/ingest/{job}"), "", "");
    for path in [
        "/ingest/job_1",
        "/ingest/job_2",
        "/ingest/job_3",
        "/ingest/job_999",
        "/health",
        "/openapi.json",
        "/admin/api/status",
        "/admin/api/jobs",
        "/page/people/ghost",
        "/.well-known/oauth-protected-resource",
        "/nothing",
        "/pages/people/ada",
        "/pages/people/ada?format=md",
        "/pages/acme?version=1",
        "/pages/acme?version=2",
        "/pages/people/ghost",
        "/pages/people/gohst",
        "/pages/harbour",
        "/pages/secret:plan",
        "/pages/secret:nothing",
        "/pages/default:people/ada",
    ] {
        call("GET", path, "", "");
    }
    for question in [
        "harbour",
        "harbour+mill&limit=3",
        "harbour+boats+bread&format=md",
        "h*",
        "ha*+mill",
        "-h*+vessel",
        "type:person",
        "harbour&tags=hush",
        "harbour&source=mine",
        "harbour&source=secret",
        "source:secret+harbour",
        "who+founded+Acme",
        "vehicle",
        "absent",
    ] {
        call("GET", &format!("/search?q={question}"), "", "");
    }
    for page in ["people/ghost", "secret:plan", "none"] {
        call("POST", &format!("/pages/{page}/append"), "", "x");
    }
    // The daemon's port changes with each start.
    let here = home.http_local().to_string();
    answers.into_iter().map(|(request, answer)| (request, answer.replace(&here, "HERE"))).collect()
}

/// Returns an answer without the time that it took.
fn without_time(answer: &str) -> String {
    match serde_json::from_str::<Value>(answer) {
        Ok(mut value) if value.get("took_us").is_some() => {
            value["took_us"] = Value::Null;
            value.to_string()
        }
        _ => answer.to_owned(),
    }
}
