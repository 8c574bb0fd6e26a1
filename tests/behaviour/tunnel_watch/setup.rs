//! `tunnel setup`: its steps and the token.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use brain_protocol::{FaultCode, Request, TunnelStatus};
use brain_tests::tunnel::healthy;
use serde_json::{Value, json};

use super::{Fixture, LOCAL_HEALTH, config_with_number, names_and_statuses};

#[test]
fn setup_runs_seven_steps_and_starts_the_watchdog() {
    let fixture = Fixture::new(&config_with_number("domain = \"brain.ngrok-free.app\""));
    fixture.set_tunnel_up("https://brain.ngrok-free.app");
    let setup = fixture.setup();
    assert_eq!(
        names_and_statuses(&setup.steps),
        [
            ("provider", "warned"),
            ("agent", "passed"),
            ("authtoken", "passed"),
            ("start", "passed"),
            ("reachable", "passed"),
            ("telephone", "passed"),
            ("heartbeat", "passed")
        ],
        "{setup:#?}"
    );
    assert_eq!(setup.status.as_str(), "passed");
    assert_eq!(fixture.number_voice_url(), "https://brain.ngrok-free.app/voice");
    let text =
        fs::read_to_string(fixture.dir.path().join("home/integrations/tunnel/heartbeat.jsonl"))
            .unwrap();
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(
        line,
        json!({"ts": "2026-11-21T10:00:00Z", "event": "setup_complete",
            "source_version": "0.7.0", "status": "ok",
            "details": {"domain": "brain.ngrok-free.app", "tier": "free"}})
    );
}

#[test]
fn an_unused_token_is_not_reported_as_valid() {
    let fixture = Fixture::new("[tunnel]\nprovider = \"cloudflared\"\n");
    fixture.check_and_advance();
    assert!(fixture.programs.variables().is_empty());
    let agent = "http://127.0.0.1:20241";
    fixture.net.answers.put(
        &format!("{agent}/ready"),
        200,
        &json!({"status": 200, "readyConnections": 4}),
    );
    fixture.net.answers.put(
        &format!("{agent}/quicktunnel"),
        200,
        &json!({"hostname": "a.trycloudflare.com"}),
    );
    fixture.net.answers.put("https://a.trycloudflare.com/health", 200, &healthy());
    let setup = fixture.setup();
    let step = setup.steps.iter().find(|step| step.name == "authtoken").unwrap();
    assert_eq!(step.status.as_str(), "warned", "{step:?}");
    assert!(step.message.contains("does not use the token"), "{step:?}");
    assert_eq!(setup.status.as_str(), "passed", "{setup:?}");
}

#[test]
fn setup_ends_at_the_failed_step_with_a_hint() {
    let fixture = Fixture::new("[tunnel]\nprovider = \"ngrok\"\n");
    fixture.programs.set_missing(true);
    let setup = fixture.setup();
    assert_eq!(names_and_statuses(&setup.steps).last(), Some(&("agent", "failed")));
    fixture.programs.set_missing(false);
    fixture.programs.exit_at_once(Some((
        "it ended with exit status 1",
        &["the token t0ken-of-tunnel is invalid: ERR_NGROK_107"],
    )));
    let setup = fixture.setup();
    assert_eq!(
        (setup.status.as_str(), names_and_statuses(&setup.steps).last()),
        ("failed", Some(&("authtoken", "failed")))
    );
    let step = setup.steps.last().unwrap();
    assert!(step.message.contains("ERR_NGROK_107") && step.hint.is_some(), "{step:?}");
    assert!(!format!("{setup:?}").contains("t0ken-of-tunnel"));
    fixture.programs.exit_at_once(Some(("it ended with exit status 1", &["ERR_NGROK_320"])));
    let setup = fixture.setup();
    assert_eq!(
        names_and_statuses(&setup.steps)[2..],
        [("authtoken", "warned"), ("start", "failed")]
    );
    assert!(setup.steps[2].message.contains("it is unknown whether"), "{:?}", setup.steps[2]);
    fixture.set_tunnel_up("https://a.ngrok.app");
    fixture.net.answers.put(LOCAL_HEALTH, 503, &json!({}));
    assert_eq!(names_and_statuses(&fixture.setup().steps).last(), Some(&("reachable", "failed")));
    assert!(!fixture.dir.path().join("home/integrations/tunnel/heartbeat.jsonl").exists());
    let off = Fixture::new("[http]\npublic = \"off\"\n[tunnel]\nprovider = \"ngrok\"\n");
    assert_eq!(names_and_statuses(&off.setup().steps), [("provider", "failed")]);
}

#[test]
fn a_token_that_others_can_read_is_not_used() {
    let fixture = Fixture::new("[tunnel]\nprovider = \"ngrok\"\n");
    let path = fixture.dir.path().join("home/secrets/tunnel-authtoken");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(fixture.check_and_advance(), 120_000);
    assert!(fixture.programs.started().is_empty());
    assert_eq!(fixture.ask(Request::TunnelStatus(TunnelStatus)).unwrap_err(), FaultCode::Forbidden);
}
