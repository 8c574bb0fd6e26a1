//! `brain clients`, `brain token`, `brain jobs` and `brain audit`, as the owner sees them.

use std::io::{Read, Write};
use std::net::TcpStream;

use brain_base::clock::parse_instant;
use brain_tests::{Daemon, TestHome, texts};

use crate::terminal::on_a_terminal;

/// A home with a daemon that serves HTTP on a free port.
fn home() -> (TestHome, Daemon) {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_HTTP_LOCAL".into(), "127.0.0.1:0".into()));
    home.env.push(("BRAIN_HTTP_PUBLIC".into(), "off".into()));
    let daemon = home.daemon();
    (home, daemon)
}

/// Posts `body` to `path` with a bearer token. Returns the status and the body of the response.
fn post(home: &TestHome, path: &str, bearer: &str, body: &str) -> (u16, String) {
    let address = home.json(["status"])["http_local"].as_str().unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer \
         {bearer}\r\ncontent-type: text/plain\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

#[test]
fn clients_can_be_registered_changed_and_revoked() {
    let (home, _daemon) = home();
    let empty = home.brain(["clients"]).expect(0);
    assert!(
        empty.stdout.is_empty() && empty.stderr.contains("brain clients register NAME"),
        "{empty:?}"
    );

    let shown = home
        .brain(["clients", "register", "Phone", "--scope", "read write", "--token-ttl", "2h"])
        .expect(0);
    for part in [
        "registered Phone",
        "brain_cl_",
        "brain_cs_",
        "read write",
        "client_credentials",
        "lifetime 2h",
    ] {
        assert!(shown.stdout.contains(part), "{part} is not in {shown:?}");
    }
    assert!(
        shown.stderr.contains("only once") && shown.stderr.contains("POST /token"),
        "{shown:?}"
    );
    assert!(!shown.stderr.contains("brain_cs_"), "a secret is a result: {shown:?}");
    let secret =
        home.brain(["clients", "register", "Tablet", "--scope", "read", "--quiet"]).expect(0);
    assert!(
        secret.stdout.starts_with("brain_cs_")
            && secret.stdout.lines().count() == 1
            && secret.stderr.is_empty()
    );
    let public = home.json([
        "clients",
        "register",
        "App",
        "--scope",
        "read",
        "--public",
        "--grant",
        "authorization_code",
        "--redirect-uri",
        "https://app.example/cb",
        "--source",
        "default",
    ]);
    assert!(public["client_secret"].is_null(), "{public}");
    assert_eq!(public["redirect_uris"], serde_json::json!(["https://app.example/cb"]));
    assert_eq!(public["sources"], serde_json::json!(["default"]));

    let listed = home.json(["clients", "list"]);
    assert_eq!(texts(&listed["clients"], "client_name"), ["Phone", "Tablet", "App"]);
    assert!(!listed.to_string().contains("brain_cs_"), "no list has a secret: {listed}");
    let id = listed["clients"][0]["client_id"].as_str().unwrap().to_owned();

    let changed =
        home.json(["clients", "update", "Phone", "--scope", "read", "--source", "default"]);
    assert_eq!(
        (&changed["status"], &changed["client"]["scope"]),
        (&"updated".into(), &"read".into())
    );
    assert_eq!(changed["client"]["sources"][0], "default");
    let changed = home.json(["clients", "update", &id, "--all-sources", "--token-ttl", "90s"]);
    assert_eq!(changed["client"]["sources"], serde_json::json!([]));
    assert_eq!(
        (&changed["client"]["token_ttl"], &changed["client"]["scope"]),
        (&90.into(), &"read".into())
    );

    let refused = home.fault(["clients", "revoke", "Phone"], 5);
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("--yes")), "{refused}");
    assert_eq!(home.json(["clients", "revoke", "Phone", "--yes"])["status"], "revoked");
    assert_eq!(texts(&home.json(["clients"])["clients"], "client_name"), ["Tablet", "App"]);
    assert_eq!(home.json(["clients", "--all"])["clients"].as_array().map(Vec::len), Some(3));
    let all = home.brain(["clients", "list", "--all"]).expect(0).stdout;
    assert!(all.contains("REVOKED") && all.contains(&id), "{all}");
}

#[test]
fn tokens_can_be_created_used_and_revoked() {
    let (home, _daemon) = home();
    let made = home
        .brain(["token", "create", "shortcut", "--scope", "write", "--expires", "90d"])
        .expect(0);
    assert!(
        made.stdout.contains("created token shortcut") && made.stdout.contains("brain_pt_"),
        "{made:?}"
    );
    assert!(made.stderr.contains("only once") && made.stderr.contains("BRAIN_TOKEN"), "{made:?}");
    let other = ["token", "create", "other", "--scope", "read", "--quiet", "--expires", "never"];
    let quiet = home.brain(other).expect(0);
    assert!(
        quiet.stdout.starts_with("brain_pt_")
            && quiet.stdout.lines().count() == 1
            && quiet.stderr.is_empty()
    );
    let twice = home.fault(["token", "create", "other", "--scope", "read"], 1);
    assert!(
        twice["hint"].as_str().is_some_and(|hint| hint.contains("brain token revoke")),
        "{twice}"
    );

    let listed = home.json(["token", "list"]);
    assert_eq!(texts(&listed["tokens"], "name"), ["shortcut", "other"]);
    assert!(!listed.to_string().contains("brain_pt_"), "no list has a token: {listed}");
    assert!(
        listed["tokens"][0]["expires_at"].is_string()
            && listed["tokens"][1]["expires_at"].is_null()
    );
    let text = home.brain(["token"]).expect(0).stdout;
    assert!(text.contains("EXPIRES") && text.contains("never"), "{text}");

    let token = quiet.stdout.trim().to_owned();
    assert_eq!(
        post(&home, "/ingest", &token, "x").0,
        403,
        "the scope `read` does not permit a write"
    );
    let revoked = home.brain(["token", "revoke", "other"]).expect(0);
    assert!(revoked.stdout.contains("revoked other"), "{revoked:?}");
    assert_eq!(post(&home, "/ingest", &token, "x").0, 401);
    let id = listed["tokens"][1]["id"].as_str().unwrap();
    assert_eq!(home.json(["token", "revoke", id])["status"], "already_revoked");
    assert_eq!(texts(&home.json(["token"])["tokens"], "name"), ["shortcut"]);
    assert_eq!(home.json(["token", "--all"])["tokens"].as_array().map(Vec::len), Some(2));
    home.fault(["token", "revoke", "nobody"], 4);
}

#[test]
fn tokens_expire_unless_created_without_expiry() {
    let (home, _daemon) = home();
    // Creates a token, checks the message about its expiry, and returns its lifetime in days.
    let lifetime_days = |name: &str, more: &[&str]| {
        let args = ["token", "create", name, "--scope"].into_iter().chain(more.iter().copied());
        let made = home.brain(args).expect(0);
        let listed = home.json(["token", "list"]);
        let token = listed["tokens"].as_array().unwrap().iter().find(|token| token["name"] == name);
        let token = token.unwrap();
        let instant = |key: &str| token[key].as_str().map(|at| parse_instant(at).unwrap());
        let days =
            instant("expires_at").map(|end| (end - instant("created_at").unwrap()) / 86_400_000);
        let message = made
            .stderr
            .lines()
            .find(|line| line.contains("it expires on") || line.contains("never expires"));
        let day = token["expires_at"].as_str().map_or("never expires", |end| &end[..10]);
        assert!(message.is_some_and(|line| line.contains(day)), "{made:?}");
        days
    };
    assert_eq!(lifetime_days("phone", &["write"]), Some(90));
    assert_eq!(lifetime_days("boss", &["admin"]), Some(30));
    assert_eq!(lifetime_days("endless", &["read", "--expires", "never"]), None);
    assert_eq!(lifetime_days("year", &["read", "--days", "365"]), Some(365));
    assert_eq!(lifetime_days("soon", &["read", "--expires", "20d"]), Some(20));
    home.brain(["token", "create", "x", "--scope", "read", "--days", "0"]).expect(2);
    home.brain(["token", "create", "x", "--scope", "read", "--days", "1", "--expires", "1d"])
        .expect(2);
    let message = home.json(["doctor"])["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "clients")
        .unwrap()["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(message.contains("personal tokens: 5; without an end: endless"), "{message}");
}

#[test]
fn ingested_items_appear_in_queue_status_and_audit() {
    let (home, _daemon) = home();
    let token =
        home.brain(["token", "create", "hook", "--scope", "write", "--quiet"]).expect(0).stdout;
    let (status, answer) = post(&home, "/ingest", token.trim(), "A remark from afar");
    assert_eq!(status, 202, "{answer}");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let job = answer["job_id"].as_str().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let shown = loop {
        let shown = home.json(["jobs", "show", job]);
        if shown["status"] == "stored" {
            break shown;
        }
        assert!(std::time::Instant::now() < deadline, "{shown}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let slug = shown["slug"].as_str().unwrap();
    assert_eq!(home.get(slug)["body"], "A remark from afar");
    assert_eq!(home.brain(["jobs", "show", job, "--quiet"]).expect(0).stdout, format!("{slug}\n"));
    let listed = home.brain(["jobs"]).expect(0);
    assert!(listed.stdout.contains(job) && listed.stdout.contains(slug), "{listed:?}");
    assert!(listed.stderr.contains("0 in the queue, 0 failed, 1 stored"), "{listed:?}");
    assert_eq!(home.json(["jobs", "list", "--state", "failed"])["jobs"], serde_json::json!([]));
    assert_eq!(home.json(["jobs", "retry", "--all"])["retried"], 0);
    let fault = home.fault(["jobs", "retry", job], 1);
    assert!(fault["message"].as_str().is_some_and(|m| m.contains("stored")), "{fault}");
    home.fault(["jobs", "show", "job_999"], 4);

    let second = post(&home, "/ingest", token.trim(), "Another one");
    assert_eq!(second.0, 202);
    let page = home.brain(["jobs", "list", "--limit", "1"]).expect(0);
    let next = home.json(["jobs", "list", "--limit", "1"])["next"].as_str().unwrap().to_owned();
    assert!(page.stderr.contains(&format!("--after {next}")), "{page:?}");
    assert_eq!(home.json(["jobs", "list", "--after", &next])["jobs"][0]["job_id"], job);

    let status = home.brain(["status"]).expect(0).stdout;
    let address = home.json(["status"])["http_local"].as_str().unwrap().to_owned();
    assert!(status.contains(&format!("{address}; no public listener")), "{status}");
    assert!(status.contains("stored in the last day"), "{status}");

    assert_eq!(post(&home, "/ingest", "brain_pt_nonsense", "x").0, 401);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let failed = loop {
        let failed = home.json(["audit", "--failed"]);
        if failed["calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
            break failed;
        }
        assert!(std::time::Instant::now() < deadline, "{failed}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!(
        (&failed["calls"][0]["status"], &failed["calls"][0]["operation"]),
        (&401.into(), &"POST /ingest".into())
    );
    assert!(!failed.to_string().contains("nonsense"), "{failed}");
    let all = home.brain(["audit", "--client", "token:hook"]).expect(0).stdout;
    assert!(all.contains("POST /ingest") && all.contains("202") && !all.contains("401"), "{all}");
    let one = home.brain(["audit", "--limit", "1"]).expect(0);
    assert!(one.stderr.contains("more calls exist"), "{one:?}");
    assert_eq!(home.json(["audit", "--until", "2001-01-01"])["calls"], serde_json::json!([]));
}

#[test]
fn the_admin_token_is_shown_on_terminals_only() {
    let (home, _daemon) = home();
    let file = home.path().join("secrets/admin-token");
    let former_token = std::fs::read_to_string(&file).unwrap();
    let refused = home.brain(["token", "admin"]).expect(3);
    assert!(
        refused.stdout.is_empty() && refused.stderr.contains(file.to_str().unwrap()),
        "{refused:?}"
    );
    home.fault(["token", "admin", "--rotate"], 3);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        former_token,
        "a refused rotation does not change the file"
    );

    let Some((code, shown)) = on_a_terminal(&home, 60, &[], &["token", "admin", "--quiet"]) else {
        return;
    };
    assert_eq!((code, shown.trim()), (0, former_token.trim()));
    let Some((_, rotated)) = on_a_terminal(&home, 60, &[], &["token", "admin", "--rotate"]) else {
        return;
    };
    let token = std::fs::read_to_string(&file).unwrap();
    assert!(rotated.contains(token.trim()) && token != former_token, "{rotated:?}");
}

#[test]
fn usage_errors_name_the_remedy() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    for (args, remedy) in [
        (&["clients", "register", "Phone"][..], "--scope \"read write\""),
        (&["token", "create", "x"], "--scope admin"),
        (&["token", "create", "x", "--scope", "owner"], "--scope read"),
        (&["token", "create", "x", "--scope", "read", "--expires", "90"], "90d"),
        (&["token", "create", "x", "--scope", "read", "--expires", "soon"], "1h30m"),
        (&["token", "create"], "NAME"),
        (&["token", "create", "x", "--rotate"], "brain token --help"),
        (&["token", "list", "x"], "brain token --help"),
        (&["clients", "register"], "NAME"),
        (
            &["clients", "register", "x", "--scope", "read", "--grant", "password"],
            "client_credentials",
        ),
        (&["clients", "register", "x", "--scope", "read", "--source", "No Source"], "a-z, 0-9"),
        (&["clients", "register", "x", "--scope", "read", "--all-sources"], "brain clients update"),
        (&["clients", "update", "x"], "--token-ttl"),
        (&["clients", "update", "x", "--source", "a", "--all-sources"], "--all-sources"),
        (&["clients", "list", "x"], "brain clients list --all"),
        (&["clients", "revoke", "x", "--scope", "read"], "brain clients update"),
        (&["jobs", "retry"], "--all"),
        (&["jobs", "retry", "17"], "job_17"),
        (&["jobs", "retry", "job_1", "--all"], "--all cannot be combined"),
        (&["jobs", "show"], "JOB"),
        (&["jobs", "list", "--state", "broken"], "failed"),
        (&["jobs", "list", "--all"], "brain jobs retry"),
        (&["audit", "--limit", "0"], "between 1 and 1000"),
    ] {
        let fault = home.fault(args, 2);
        assert!(
            fault.to_string().replace("\\\"", "\"").contains(remedy),
            "{remedy} is not in {args:?}: {fault}"
        );
    }
    assert!(!home.path().exists(), "a usage error creates no home");
}
