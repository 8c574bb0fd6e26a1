//! Tests of the watchdog in virtual time.

use brain_protocol::Secret;
use serde_json::{Value, json};

use super::diagnosis::{CHECK_AFTER_START_MS, CHECK_INTERVAL_MS};
use super::fakes::{FakeNet, FakeStarter};
use super::watchdog::TunnelCheck;
use super::{Environment, Kind, Settings, Watchdog};

const API: &str = "http://127.0.0.1:4040/api/tunnels";
const LOCAL: &str = "http://127.0.0.1:8765/health";
const URL: &str = "https://b.ngrok.app";

/// A watchdog of an ngrok tunnel with a clock that the test sets.
struct Lab {
    watchdog: Watchdog,
    net: FakeNet,
    starter: FakeStarter,
    token: Option<Secret>,
    now: i64,
}

impl Lab {
    fn new(domain: Option<&str>) -> Self {
        let settings = Settings {
            provider: Kind::Ngrok,
            domain: domain.map(str::to_owned),
            binary: None,
            api: "http://127.0.0.1:4040".into(),
            api_is_default: true,
            forward: 8765,
        };
        let net = FakeNet::default();
        net.put(LOCAL, 200, &health());
        let starter = FakeStarter::answering("ngrok version 3.22.1");
        Self {
            watchdog: Watchdog::new(settings),
            net,
            starter,
            token: Some(Secret::new("t0ken")),
            now: 1_795_257_045_000,
        }
    }

    fn check(&mut self) -> TunnelCheck {
        self.check_wanted(true)
    }

    fn check_wanted(&mut self, wanted: bool) -> TunnelCheck {
        let prove = |url: &str| super::is_healthy(&self.net, url);
        let environment = Environment {
            net: &self.net,
            starter: &self.starter,
            prove: &prove,
            token: self.token.as_ref(),
            now: self.now,
        };
        self.watchdog.check(environment, wanted)
    }

    /// Advances to the next check and runs it.
    fn next(&mut self, last: &TunnelCheck) -> TunnelCheck {
        self.now += last.next_ms;
        self.check()
    }

    fn starts(&self) -> usize {
        self.starter.programs().started.len()
    }

    /// Makes the agent report a working tunnel at this address.
    fn up(&self, url: &str) {
        let tunnel = json!({"public_url": url, "proto": "https", "config": {"addr": "http://localhost:8765"}});
        self.net.put(API, 200, &json!({"tunnels": [tunnel]}));
        self.net.put(&format!("{url}/health"), 200, &health());
    }

    fn not_connected(&self) {
        self.net.put(API, 200, &json!({"tunnels": []}));
    }

    fn child_ends(&self, how: &str, lines: &[&str]) {
        let mut programs = self.starter.programs();
        programs.ended = Some(how.into());
        programs.lines = lines.iter().map(|line| (*line).to_owned()).collect();
    }
}

fn health() -> Value {
    json!({"status": "ok", "version": "0.1.0", "engine": "redb"})
}

#[test]
fn stopped_agent_is_started_and_checked_again() {
    let mut lab = Lab::new(Some("b.ngrok.app"));
    let first = lab.check();
    assert_eq!(
        (first.diagnosis.state, first.started, first.next_ms),
        ("agent_down", true, CHECK_AFTER_START_MS)
    );
    let launch = lab.starter.programs().started[0].clone();
    assert_eq!(
        launch.command.join(" "),
        "ngrok http 8765 --url https://b.ngrok.app --log stdout --log-format logfmt"
    );
    assert_eq!(launch.variables, [("NGROK_AUTHTOKEN".to_owned(), Secret::new("t0ken"))]);
    lab.up(URL);
    let second = lab.next(&first);
    assert_eq!((second.diagnosis.state, second.diagnosis.url.as_deref()), ("up", Some(URL)));
    assert_eq!(
        (second.adopted, second.up_since, second.next_ms),
        (false, Some(lab.now), CHECK_INTERVAL_MS)
    );
    let since = second.up_since;
    let third = lab.next(&second);
    assert_eq!((third.up_since, third.next_ms, lab.starts()), (since, CHECK_INTERVAL_MS, 1));
}

#[test]
fn backoff_grows_until_a_start_succeeds() {
    let mut lab = Lab::new(None);
    let began = lab.now;
    let mut starts = Vec::new();
    let mut last = lab.check();
    while lab.now - began < 45 * 60 * 1000 {
        if last.started {
            starts.push((lab.now - began) / 1000);
            lab.child_ends("it ended with exit status 1", &["some words"]);
        }
        last = lab.next(&last);
    }
    assert_eq!(starts, [0, 5, 15, 35, 75, 155, 315, 635, 1235, 1835, 2435]);
    assert!(
        last.diagnosis.message.contains("exit status 1; its last words: some words"),
        "{last:?}"
    );
    assert!(last.next_ms <= CHECK_INTERVAL_MS, "it is looked at all the same");
    // After a stable connection, the backoff starts at its minimum again.
    while !last.started {
        last = lab.next(&last);
    }
    lab.up(URL);
    for _ in 0..3 {
        last = lab.next(&last);
        assert_eq!(last.diagnosis.state, "up");
    }
    lab.net.gone(API);
    lab.child_ends("it was ended by signal 9", &[]);
    assert!(lab.next(&last).started);
}

#[test]
fn short_success_does_not_reset_the_backoff() {
    let mut lab = Lab::new(None);
    let began = lab.now;
    let mut starts = Vec::new();
    let mut last = lab.check();
    while lab.now - began < 10 * 60 * 1000 {
        if last.started {
            starts.push((lab.now - began) / 1000);
            lab.up(URL);
            lab.now += CHECK_AFTER_START_MS;
            assert_eq!(lab.check().diagnosis.state, "up");
            lab.net.gone(API);
            lab.child_ends("it ended with exit status 2", &[]);
            last = lab.check();
        } else {
            last = lab.next(&last);
        }
    }
    assert!(starts.len() < 10, "{starts:?}");
}

#[test]
fn running_agent_gets_time_to_connect() {
    let mut lab = Lab::new(None);
    let began = lab.now;
    let mut last = lab.check();
    lab.not_connected();
    let mut looks = Vec::new();
    while lab.starts() == 1 {
        // A reset does not shorten the time to connect.
        lab.watchdog.reset_backoff();
        last = lab.next(&last);
        looks.push((lab.now - began) / 1000);
    }
    assert_eq!(looks, [5, 10, 15, 20, 25, 30]);
    assert_eq!((last.diagnosis.state, last.started), ("not_connected", true));
    assert_eq!(lab.starter.programs().stopped, 1, "the former child is ended");
}

#[test]
fn foreign_agent_is_adopted_and_never_stopped() {
    let mut lab = Lab::new(Some("b.ngrok.app"));
    lab.up(URL);
    let mut last = lab.check();
    assert_eq!((last.diagnosis.state, last.adopted, last.started), ("up", true, false));
    // A foreign agent is left alone in every failing state.
    lab.not_connected();
    last = lab.next(&last);
    assert_eq!((last.diagnosis.state, last.adopted), ("not_connected", true));
    lab.up("https://other.ngrok.app");
    last = lab.next(&last);
    assert_eq!((last.diagnosis.state, last.adopted), ("wrong_domain", true));
    assert!(last.diagnosis.message.contains("https://other.ngrok.app"), "{last:?}");
    lab.up(URL);
    lab.net.gone(LOCAL);
    last = lab.next(&last);
    assert_eq!(last.diagnosis.state, "service_down");
    assert!(!lab.watchdog.stop());
    assert_eq!((lab.starts(), lab.starter.programs().stopped), (0, 0));
    // Once the foreign agent is gone, the watchdog starts its own.
    lab.net.gone(API);
    assert!(lab.next(&last).started);
}

#[test]
fn own_agent_starts_beside_one_for_another_target() {
    let mut lab = Lab::new(None);
    let tunnel = json!({"public_url": "https://x.ngrok.app", "proto": "https", "config": {"addr": "http://localhost:3000"}});
    lab.net.put(API, 200, &json!({"tunnels": [tunnel]}));
    let first = lab.check();
    assert_eq!(
        (first.diagnosis.state, first.started, first.adopted),
        ("not_connected", true, false)
    );
    let ours =
        json!({"public_url": URL, "proto": "https", "config": {"addr": "http://localhost:8765"}});
    lab.net.put("http://127.0.0.1:4041/api/tunnels", 200, &json!({"tunnels": [ours]}));
    lab.net.put("https://b.ngrok.app/health", 200, &health());
    let last = lab.next(&first);
    assert_eq!((last.diagnosis.state, last.adopted, lab.starts()), ("up", false, 1));
}

#[test]
fn local_and_public_failures_are_told_apart() {
    let mut lab = Lab::new(None);
    lab.up(URL);
    let first = lab.check();
    assert_eq!(
        (first.diagnosis.state, first.diagnosis.message.as_str()),
        ("up", "https://b.ngrok.app/health answers")
    );
    lab.net.put("https://b.ngrok.app/health", 404, &json!({}));
    let last = lab.next(&first);
    assert_eq!(last.diagnosis.state, "unreachable");
    assert!(last.diagnosis.message.ends_with("it answers with status 404"), "{last:?}");
    lab.net.put("https://b.ngrok.app/health", 200, &json!({"hello": "world"}));
    assert!(lab.check().diagnosis.message.ends_with("something else answers there"));
    lab.net.put(LOCAL, 503, &json!({"status": "failing"}));
    let last = lab.check();
    assert_eq!((last.diagnosis.state, last.diagnosis.url.as_deref()), ("service_down", Some(URL)));
    assert_eq!(lab.starts(), 0);
}

/// An agent that lost its connection reconnects by itself, at the same address.
#[test]
fn agent_restarts_only_after_a_long_disconnect() {
    let mut lab = Lab::new(None);
    let mut last = lab.check();
    lab.up(URL);
    for _ in 0..3 {
        last = lab.next(&last);
    }
    lab.not_connected();
    last = lab.next(&last);
    let lost = lab.now;
    assert_eq!(
        (last.diagnosis.state, last.started, last.next_ms),
        ("not_connected", false, CHECK_AFTER_START_MS),
        "it was up two minutes ago"
    );
    lab.up(URL);
    last = lab.next(&last);
    assert_eq!((last.diagnosis.state, lab.starts()), ("up", 1));
    // After a suspend the deadline has passed, but the agent still gets its time.
    lab.not_connected();
    lab.now += 9 * 60 * 60 * 1000;
    last = lab.check();
    assert!(!last.started && lab.now > lost);
    let woken = lab.now;
    while !last.started {
        last = lab.next(&last);
    }
    assert_eq!((lab.now - woken, lab.starts()), (30_000, 2));
}

#[test]
fn old_errors_do_not_explain_a_new_failure() {
    let mut lab = Lab::new(None);
    let first = lab.check();
    lab.starter.programs().lines = vec!["ERR_NGROK_108".into()];
    let last = lab.next(&first);
    assert_eq!(last.diagnosis.state, "refused");
    lab.up(URL);
    let last = lab.next(&last);
    assert_eq!(last.diagnosis.state, "up");
    lab.not_connected();
    assert_eq!(lab.next(&last).diagnosis.state, "not_connected");
    // The exit of a former child must not explain a foreign agent that is gone.
    lab.child_ends("it ended with exit status 1", &[]);
    lab.up(URL);
    let last = lab.check();
    lab.net.gone(API);
    assert_eq!(lab.next(&last).diagnosis.message, "ngrok does not run");
}

/// With a foreign agent beside ours, our tunnel is reported and only ours is stopped.
#[test]
fn own_tunnel_is_reported_beside_a_foreign_one() {
    let mut lab = Lab::new(Some("b.ngrok.app"));
    let first = lab.check();
    lab.up("https://theirs.ngrok.app");
    let ours = json!({"public_url": URL, "config": {"addr": "http://localhost:8765"}});
    lab.net.put("http://127.0.0.1:4041/api/tunnels", 200, &json!({"tunnels": [ours]}));
    lab.net.put("https://b.ngrok.app/health", 200, &health());
    let last = lab.next(&first);
    assert_eq!((last.diagnosis.state, last.diagnosis.url.as_deref()), ("up", Some(URL)));
    assert_eq!((lab.starts(), lab.starter.programs().stopped), (1, 0));
    // If only the foreign tunnel remains, it is left alone under any name.
    assert!(lab.watchdog.stop());
    lab.net.gone("http://127.0.0.1:4041/api/tunnels");
    let last = lab.check();
    assert_eq!((last.diagnosis.state, last.adopted, last.started), ("wrong_domain", true, false));
    assert_eq!(lab.starter.programs().stopped, 1);
}

#[test]
fn known_address_is_kept_among_several() {
    let mut lab = Lab::new(None);
    let tunnel = |name: &str| json!({"public_url": format!("https://{name}.ngrok.app"), "config": {"addr": "8765"}});
    let first = lab.check();
    lab.net.put(API, 200, &json!({"tunnels": [tunnel("a"), tunnel("b")]}));
    let last = lab.next(&first);
    assert_eq!(last.diagnosis.url.as_deref(), Some("https://a.ngrok.app"));
    lab.net.put(API, 200, &json!({"tunnels": [tunnel("b"), tunnel("a")]}));
    let since = last.up_since;
    let last = lab.next(&last);
    assert_eq!(
        (last.diagnosis.url.as_deref(), last.up_since),
        (Some("https://a.ngrok.app"), since)
    );
}

#[test]
fn missing_program_is_started_once_installed() {
    let mut lab = Lab::new(None);
    lab.starter.programs().missing = true;
    let first = lab.check();
    assert_eq!(
        (first.diagnosis.state, first.started, first.next_ms),
        ("agent_missing", false, CHECK_INTERVAL_MS)
    );
    lab.starter.programs().missing = false;
    assert!(lab.next(&first).started);
}

#[test]
fn permanent_rejection_waits_for_a_new_token() {
    let mut lab = Lab::new(None);
    let first = lab.check();
    let words = "authentication failed: The authtoken you specified is not valid. Your authtoken: t0ken. ERR_NGROK_107";
    lab.child_ends("it ended with exit status 1", &["lvl=info starting", words, ""]);
    let mut last = lab.next(&first);
    assert_eq!((last.diagnosis.state, last.token_refused), ("refused", true));
    assert!(last.diagnosis.message.contains("ERR_NGROK_107"), "{last:?}");
    for _ in 0..100 {
        last = lab.next(&last);
        assert_eq!((last.diagnosis.state, last.started), ("refused", false));
    }
    assert!(!format!("{last:?}").contains("t0ken"));
    lab.token = Some(Secret::new("another"));
    let last = lab.next(&last);
    assert!(last.started, "{last:?}");
    // A manual start retries at once.
    lab.child_ends("it ended with exit status 1", &[words]);
    assert_eq!(lab.next(&last).diagnosis.state, "refused");
    lab.watchdog.reset_backoff();
    assert!(lab.check().started);
}

#[test]
fn transient_rejection_is_retried_with_backoff() {
    let mut lab = Lab::new(None);
    let mut last = lab.check();
    let (mut starts, began) = (0, lab.now);
    while lab.now - began < 10 * 60 * 1000 {
        if last.started {
            starts += 1;
            lab.child_ends("it ended with exit status 1", &["ERR_NGROK_108"]);
        }
        last = lab.next(&last);
        assert_eq!(last.diagnosis.state, "refused");
    }
    assert!((5..=8).contains(&starts), "{starts}");
}

#[test]
fn exit_message_has_no_token() {
    let mut lab = Lab::new(None);
    let first = lab.check();
    lab.child_ends("it ended with exit status 1", &["no such thing as t0ken here"]);
    let last = lab.next(&first);
    assert!(last.diagnosis.message.contains("no such thing as (the token) here"), "{last:?}");
    // The same holds for a token of the agent's own configuration.
    let own = "2fKcO8qJx7yQ0Zt1Ew3RbVn5Ls_4Gd6Hm9Pa8Uk1Yi2Xo7Tz";
    lab.child_ends(
        "it ended with exit status 1",
        &[&format!("Your authtoken: {own}, at https://ngrok.com")],
    );
    let last = lab.next(&last);
    assert!(
        last.diagnosis.message.ends_with("words: Your authtoken: (…), at https://ngrok.com"),
        "{last:?}"
    );
}

#[test]
fn stopped_tunnel_reports_a_foreign_agent() {
    let mut lab = Lab::new(None);
    let last = lab.check_wanted(false);
    assert_eq!((last.diagnosis.state, last.started), ("stopped", false));
    lab.up(URL);
    let last = lab.check_wanted(false);
    assert_eq!((last.diagnosis.state, last.adopted), ("up", true));
    assert_eq!(lab.starts(), 0);
}

#[test]
fn clock_set_back_does_not_block_a_start() {
    let mut lab = Lab::new(None);
    let first = lab.check();
    assert!(first.started);
    lab.child_ends("it ended with exit status 1", &[]);
    lab.now -= 24 * 60 * 60 * 1000;
    assert!(lab.check().started);
}
