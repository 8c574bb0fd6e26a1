//! `brain connect test` against a correct endpoint, with a client's secret, and against the brain
//! that runs the test.

use brain_tests::TestHome;
use serde_json::json;

use crate::connect_fake::{
    FakeEndpoint, FakeResponse, SECRET, TOKEN, assert_failed_at, assert_warns, steps,
    test_endpoint, tester_home,
};
use crate::web::Site;

#[test]
fn all_steps_pass_for_a_correct_endpoint() {
    let home = tester_home();
    let _daemon = home.daemon();
    let fake = FakeEndpoint::new(|_, _| None);
    let report = test_endpoint(&home, &fake.url(), 0);
    let names =
        ["reach", "challenge", "resource", "server", "authorize", "greet", "tools", "search"];
    assert_eq!(steps(&report), names.map(|name| format!("{name} passed")), "{report:#}");
    assert_eq!(report["url"], fake.url());
    let messages: Vec<&str> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["message"].as_str().unwrap())
        .collect();
    assert!(messages[5].contains("2026-07-28, 2025-11-25"), "{messages:?}");
    assert!(
        messages[6].starts_with("2 tools") && messages[7].starts_with("1 result"),
        "{messages:?}"
    );

    let output = home.brain(["connect", "test", &fake.url()]).expect(0);
    for name in names {
        assert!(
            output.stdout.lines().any(|line| line.starts_with(&format!("ok   {name} "))),
            "{}",
            output.stdout
        );
    }
    assert!(output.stdout.ends_with("\npassed\n"), "{}", output.stdout);
    assert_eq!(
        home.brain(["connect", "test", &fake.url(), "--quiet"]).expect(0).stdout,
        "passed\n"
    );
}

#[test]
fn the_client_secret_comes_from_a_file_and_stays_secret() {
    let home = tester_home();
    let _daemon = home.daemon();
    let file = home.outside().join("secret");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    let test_with_secret = |url: &str, file: &std::path::Path| {
        home.brain([
            "--json",
            "connect",
            "test",
            url,
            "--client-id",
            "id",
            "--secret-file",
            file.to_str().unwrap(),
        ])
    };
    let fake = FakeEndpoint::new(|_, _| None);
    let report = test_with_secret(&fake.url(), &file).expect(0);
    assert!(
        !report.stdout.contains("hush")
            && report.stdout.contains("with the client's secret, for read"),
        "{}",
        report.stdout
    );
    std::fs::write(&file, "hush wrong").unwrap();
    let report = test_with_secret(&fake.url(), &file).expect(1);
    assert!(!report.stdout.contains("hush"), "{}", report.stdout);
    assert_failed_at(&report.json(), "authorize", "invalid_client", "id or secret is wrong");
    let echoing_endpoint = FakeEndpoint::new(|request, _| {
        let error = json!({ "error": "invalid_client", "error_description": "not hush wrong" });
        (request.path == "/token").then(|| FakeResponse::json(400, &error))
    });
    let report = test_with_secret(&echoing_endpoint.url(), &file).expect(1);
    assert!(
        report.stdout.contains("not [secret]") && !report.stdout.contains("hush"),
        "{}",
        report.stdout
    );
    let refusing_endpoint = FakeEndpoint::new(|request, _| {
        (request.path == "/token")
            .then(|| FakeResponse::json(400, &json!({ "error": "invalid_target" })))
    });
    assert_failed_at(
        &test_with_secret(&refusing_endpoint.url(), &file).expect(1).json(),
        "authorize",
        "invalid_target",
        "http.base_url",
    );
    home.fault(["connect", "test", &fake.url(), "--client-id", "id"], 2);
    home.fault(
        ["connect", "test", &fake.url(), "--client-id", "id", "--secret-file", "/no/such"],
        1,
    );
    assert!(!home.log().contains("hush") && !home.log().contains(TOKEN));
}

#[test]
fn own_tokens_are_not_sent_to_other_servers() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let issuer = format!("http://{}", home.http_local());
    // The endpoint names this brain as its authorization server.
    let fake = FakeEndpoint::new(move |request, origin| {
        let resource =
            json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [issuer] });
        request.path.contains("protected-resource").then(|| FakeResponse::json(200, &resource))
    });
    assert_failed_at(
        &test_endpoint(&home, &fake.url(), 1),
        "authorize",
        "not this brain's own",
        "BRAIN_TOKEN",
    );
    let other = FakeEndpoint::new(|_, _| None);
    assert_failed_at(
        &test_endpoint(&home, &other.url(), 1),
        "authorize",
        "not this brain's own",
        "--client-id",
    );
    assert_eq!(home.json(["token", "list", "--all"])["tokens"], json!([]), "no token was created");
    assert!(!fake.requests.lock().unwrap().is_empty());
}

#[test]
fn the_brain_tests_itself_and_revokes_its_token() {
    let site = Site::new();
    site.home.put("notes/brain", "# Brain\n\nA brain in a brain.\n");
    let report = test_endpoint(&site.home, &format!("http://{}/mcp", site.local), 0);
    assert!(steps(&report).iter().all(|step| step.ends_with(" passed")), "{report:#}");
    let message = report["steps"][7]["message"].as_str().unwrap();
    assert!(message.starts_with("1 result"), "{message}");
    // The metadata names the local address, so clients that ask for consent cannot use this one.
    assert_warns(
        &test_endpoint(&site.home, &format!("http://{}/mcp", site.public), 0),
        "resource",
        &site.local,
    );
    assert_eq!(site.home.json(["token", "list"])["tokens"], json!([]), "the test leaves no token");
    let tokens = site.home.json(["token", "list", "--all"]);
    for token in tokens["tokens"].as_array().unwrap() {
        assert!(token["name"].as_str().unwrap().starts_with("connect-test "), "{token}");
        assert_eq!(
            (token["scope"].as_str(), token["revoked_at"].is_string()),
            (Some("read"), true),
            "{token}"
        );
    }
    assert_eq!(tokens["tokens"].as_array().map(Vec::len), Some(2));
}
