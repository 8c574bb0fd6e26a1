//! `brain collector setup`: its steps, tokens and settings.

use std::fs;

use brain_tests::platform::{APP_TOKEN, Fault, USER_TOKEN, endpoint};
use serde_json::{Value, json};

use super::{Fixture, steps};

/// Asserts that the setup stopped at the step `name`, and returns the step's message and hint.
fn failed_step<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str) {
    assert_eq!(report["status"], "failed", "{report:#}");
    let last = report["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (last["name"].as_str(), last["status"].as_str()),
        (Some(name), Some("failed")),
        "{report:#}"
    );
    (last["message"].as_str().unwrap(), last["hint"].as_str().unwrap())
}

const STEPS: [&str; 7] =
    ["token", "user", "directories", "collect", "enrichment", "schedule", "heartbeat"];

#[test]
fn setup_has_seven_steps_and_can_be_repeated() {
    let fixture = Fixture::new("searches = [\"latency\"]");
    let _daemon = fixture.home.daemon();
    let first = fixture.setup(APP_TOKEN, &["--handle", "@Ada"]).expect(0);
    let report = first.json();
    assert_eq!(steps(&report), STEPS.map(|name| format!("{name} passed")), "{report:#}");
    assert_eq!((&report["status"], &report["user_id"]), (&json!("passed"), &json!(fixture.ada)));
    let message = report["steps"][0]["message"].as_str().unwrap();
    assert!(message.contains("lookup of @Ada was the check"), "{message}");
    assert_eq!(fs::read_dir(fixture.own_posts_dir()).unwrap().count(), 2);
    for dir in ["tweets/mentions", "tweets/searches", "deletions", "engagement"] {
        assert!(fixture.home.path().join("collector/data").join(dir).is_dir(), "{dir}");
    }
    let beats = fixture.heartbeats();
    let events: Vec<&Value> = beats.iter().map(|beat| &beat["event"]).collect();
    assert_eq!(events, ["collect", "setup_complete"], "{beats:#?}");
    assert_eq!(beats[1]["source_version"], "0.8.1");
    assert_eq!(
        (&beats[1]["status"], &beats[1]["details"]),
        (&json!("ok"), &json!({ "user_id": fixture.ada }))
    );

    // Everything is stored now, so the second setup needs no input.
    let second = fixture.home.brain(["collector", "setup"]).expect(0);
    for name in STEPS {
        assert!(
            second.stdout.lines().any(|line| line.starts_with(&format!("ok   {name} "))),
            "{}",
            second.stdout
        );
    }
    assert!(second.stdout.ends_with("\npassed: the collector is set up\n"), "{}", second.stdout);
    assert_eq!(fixture.home.brain(["collector", "setup", "--quiet"]).expect(0).stdout, "passed\n");
    fixture.assert_no_token(&[&first.stdout, &first.stderr, &second.stdout]);
}

#[test]
fn only_accepted_tokens_are_stored() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::with_setup("");
    assert_eq!(fs::read_to_string(fixture.token_file()).unwrap().trim(), APP_TOKEN);
    assert_eq!(fs::metadata(fixture.token_file()).unwrap().permissions().mode() & 0o777, 0o600);
    let wrong = fixture.setup("AAAAwrong-token", &[]).expect(1);
    let report = wrong.json();
    let (message, hint) = failed_step(&report, "token");
    assert!(
        message.contains("does not take the token") && hint.contains("--token-file FILE"),
        "{report:#}"
    );
    assert!(!wrong.stdout.contains("AAAAwrong") && !fixture.home.log().contains("AAAAwrong"));
    assert_eq!(fs::read_to_string(fixture.token_file()).unwrap().trim(), APP_TOKEN);
    fixture.home.brain(["collector", "collect"]).expect(0);
    // A user token identifies its account.
    let report = fixture.setup(USER_TOKEN, &[]).expect(0).json();
    assert!(
        report["steps"][0]["message"].as_str().unwrap().contains("acts for @ada"),
        "{report:#}"
    );
    assert_eq!(fs::read_to_string(fixture.token_file()).unwrap().trim(), USER_TOKEN);
    // If the platform does not answer, the stored token is kept.
    fixture.platform.fault(endpoint::ME, Fault::Server(503), 1);
    failed_step(&fixture.setup(APP_TOKEN, &[]).expect(1).json(), "token");
    assert_eq!(fs::read_to_string(fixture.token_file()).unwrap().trim(), USER_TOKEN);
}

#[test]
fn setup_reports_which_token_is_used() {
    let mut fixture = Fixture::new("");
    fixture.home.env.push(("BRAIN_PLATFORM_BEARER_TOKEN".into(), "AAAA-of-the-variable".into()));
    let report = fixture.setup(APP_TOKEN, &["--handle", "ada"]).expect(0).json();
    assert_eq!(report["steps"][0]["status"], "warned");
    assert!(
        report["steps"][0]["hint"].as_str().unwrap().contains("BRAIN_PLATFORM_BEARER_TOKEN"),
        "{report:#}"
    );
    assert!(!report.to_string().contains("AAAA-of"));
}

#[test]
fn setup_reports_missing_and_wrong_settings() {
    let fixture = Fixture::new("");
    let failed_setup = |more: &[&str]| {
        fixture.home.brain(["--json", "collector", "setup"].iter().chain(more)).expect(1).json()
    };
    let report = failed_setup(&["--handle", "ada"]);
    let (message, hint) = failed_step(&report, "token");
    for place in [
        "$BRAIN_PLATFORM_BEARER_TOKEN",
        "collector.token_file",
        "secrets/platform-bearer-token",
        "credential",
    ] {
        assert!(message.contains(place), "{place}: {message}");
    }
    assert!(hint.contains("brain collector setup --token-file FILE"), "{hint}");

    let report = fixture.setup(APP_TOKEN, &[]).expect(1).json();
    assert!(failed_step(&report, "token").1.contains("--handle NAME"), "{report:#}");
    assert!(!fixture.token_file().exists(), "an unverified token is not saved");
    let report = fixture.setup(APP_TOKEN, &["--handle", "nobody"]).expect(1).json();
    assert!(failed_step(&report, "user").0.contains("@nobody"), "{report:#}");

    assert_eq!(
        fixture.home.fault(["collector", "setup", "--handle", "no/slash"], 2)["code"],
        "usage"
    );
    fixture.home.fault(["collector", "setup", "--token-file", "/no/such"], 1);
    assert_eq!(
        fixture.home.fault_with(["collector", "setup", "--token-file", "-"], b" \n", 2)["code"],
        "invalid_request"
    );
    // There is no option for a token, because every user of the machine can read command lines.
    fixture.home.fault(["collector", "setup", "--token", "x"], 2);
    fixture.home.fault(["collector", "setup", "x"], 2);
}

#[test]
fn setup_diagnoses_accounts_without_visible_posts() {
    let fixture = Fixture::new("");
    fixture.platform.change_account(&fixture.ada, |account| account.is_protected = true);
    let report = fixture.setup(APP_TOKEN, &["--handle", "ada"]).expect(1).json();
    let (message, hint) = failed_step(&report, "collect");
    assert!(message.contains("no posts of the own timeline"), "{message}");
    for cause in [fixture.ada.as_str(), "numeric id", "token valid", "protected"] {
        assert!(hint.contains(cause), "{cause}: {hint}");
    }
    assert!(fixture.heartbeats().iter().all(|beat| beat["event"] == "collect"));
    // After the account is repaired, setup succeeds.
    fixture.platform.change_account(&fixture.ada, |account| account.is_protected = false);
    fixture.home.brain(["collector", "setup"]).expect(0);
}

#[test]
fn configuration_and_command_must_name_one_account() {
    let fixture = Fixture::new("handle = \"eve\"");
    let report = fixture.setup(APP_TOKEN, &["--handle", "ada"]).expect(1).json();
    assert!(failed_step(&report, "user").1.contains("collector.handle"), "{report:#}");
    let fixture = Fixture::new("handle = \"ada\"\nuser_id = \"17\"");
    let report = fixture.setup(APP_TOKEN, &[]).expect(1).json();
    let (message, _) = failed_step(&report, "user");
    assert!(message.contains(&fixture.ada) && message.contains("17"), "{message}");
}

#[test]
fn setup_continues_if_the_platform_rejects_expansions() {
    let fixture = Fixture::new("");
    fixture.platform.fault(endpoint::TIMELINE, Fault::BadRequest, 1);
    let report = fixture.setup(APP_TOKEN, &["--handle", "ada"]).expect(0).json();
    let step =
        report["steps"].as_array().unwrap().iter().find(|step| step["name"] == "collect").unwrap();
    assert_eq!(step["status"], "warned", "{step}");
    let hint = step["hint"].as_str().unwrap();
    assert!(
        hint.contains("`expansions`") && hint.contains("collector.authors = \"ids\""),
        "{hint}"
    );
    assert_eq!(fs::read_dir(fixture.own_posts_dir()).unwrap().count(), 2);
}
