//! Tests of the watchdog in virtual time.

use brain_protocol::{Secret, TunnelState};
use serde_json::{Value, json};

use super::diagnosis::{CHECK_AFTER_START_MS, CHECK_INTERVAL_MS};
use super::fakes::{FakeNet, FakeStarter};
use super::watchdog::TunnelCheck;
use super::{AgentProvider, Settings, Watchdog, WatchdogEnvironment};

const API: &str = "http://127.0.0.1:4040/api/tunnels";
/// The API of a second agent on this machine.
const SECOND_API: &str = "http://127.0.0.1:4041/api/tunnels";
const LOCAL: &str = "http://127.0.0.1:8765/health";
const URL: &str = "https://b.ngrok.app";

/// A watchdog of an ngrok tunnel with a clock that the test sets.
struct WatchdogTest {
    watchdog: Watchdog,
    net: FakeNet,
    starter: FakeStarter,
    token: Option<Secret>,
    now: i64,
}

impl WatchdogTest {
    fn new(domain: Option<&str>) -> Self {
        let settings = Settings {
            provider: AgentProvider::Ngrok,
            domain: domain.map(str::to_owned),
            binary: None,
            api: "http://127.0.0.1:4040".into(),
            api_is_default: true,
            local_port: 8765,
        };
        let net = FakeNet::default();
        net.set_answer(LOCAL, 200, &health());
        let starter = FakeStarter::with_output("ngrok version 3.22.1");
        Self {
            watchdog: Watchdog::new(settings),
            net,
            starter,
            token: Some(Secret::new("t0ken")),
            now: 1_795_257_045_000,
        }
    }

    /// Runs a check of a tunnel that should run.
    fn check(&mut self) -> TunnelCheck {
        self.check_if(true)
    }

    fn check_if(&mut self, should_run: bool) -> TunnelCheck {
        let prove = |url: &str| super::check_health(&self.net, url);
        let environment = WatchdogEnvironment {
            net: &self.net,
            starter: &self.starter,
            prove: &prove,
            token: self.token.as_ref(),
            now: self.now,
        };
        self.watchdog.check(environment, should_run)
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
        let tunnel = json!({"public_url": url, "proto": "https",
            "config": {"addr": "http://localhost:8765"}});
        self.net.set_answer(API, 200, &json!({"tunnels": [tunnel]}));
        self.net.set_answer(&format!("{url}/health"), 200, &health());
    }

    /// Makes the agent report no tunnel.
    fn not_connected(&self) {
        self.net.set_answer(API, 200, &json!({"tunnels": []}));
    }

    /// Ends the agent with this reason and these last lines of output.
    fn child_ends(&self, reason: &str, lines: &[&str]) {
        let mut programs = self.starter.programs();
        programs.ended = Some(reason.into());
        programs.lines = lines.iter().map(|line| (*line).to_owned()).collect();
    }
}

fn health() -> Value {
    json!({"status": "ok", "version": "0.1.0", "engine": "redb"})
}

#[test]
fn stopped_agent_is_started_and_checked_again() {
    let mut test = WatchdogTest::new(Some("b.ngrok.app"));
    let first = test.check();
    assert_eq!(
        (first.diagnosis.state, first.has_started_agent, first.next_ms),
        (TunnelState::AgentDown, true, CHECK_AFTER_START_MS)
    );
    let launch = test.starter.programs().started[0].clone();
    assert_eq!(
        launch.command.join(" "),
        "ngrok http 8765 --url https://b.ngrok.app --log stdout --log-format logfmt"
    );
    assert_eq!(launch.variables, [("NGROK_AUTHTOKEN".to_owned(), Secret::new("t0ken"))]);
    test.up(URL);
    let second = test.next(&first);
    assert_eq!(
        (second.diagnosis.state, second.diagnosis.url.as_deref()),
        (TunnelState::Up, Some(URL))
    );
    assert_eq!(
        (second.is_foreign, second.up_since, second.next_ms),
        (false, Some(test.now), CHECK_INTERVAL_MS)
    );
    let since = second.up_since;
    let third = test.next(&second);
    assert_eq!((third.up_since, third.next_ms, test.starts()), (since, CHECK_INTERVAL_MS, 1));
}

#[test]
fn backoff_grows_until_a_start_succeeds() {
    let mut test = WatchdogTest::new(None);
    let start = test.now;
    let mut starts = Vec::new();
    let mut last = test.check();
    while test.now - start < 45 * 60 * 1000 {
        if last.has_started_agent {
            starts.push((test.now - start) / 1000);
            test.child_ends("it ended with exit status 1", &["some words"]);
        }
        last = test.next(&last);
    }
    assert_eq!(starts, [0, 5, 15, 35, 75, 155, 315, 635, 1235, 1835, 2435]);
    assert!(
        last.diagnosis.message.contains("exit status 1; its last output: some words"),
        "{last:?}"
    );
    assert!(last.next_ms <= CHECK_INTERVAL_MS, "the checks continue at their interval");
    // After a stable connection, the backoff starts at its minimum again.
    while !last.has_started_agent {
        last = test.next(&last);
    }
    test.up(URL);
    for _ in 0..3 {
        last = test.next(&last);
        assert_eq!(last.diagnosis.state, TunnelState::Up);
    }
    test.net.remove_answer(API);
    test.child_ends("it was ended by signal 9", &[]);
    assert!(test.next(&last).has_started_agent);
}

#[test]
fn short_success_does_not_reset_the_backoff() {
    let mut test = WatchdogTest::new(None);
    let start = test.now;
    let mut starts = Vec::new();
    let mut last = test.check();
    while test.now - start < 10 * 60 * 1000 {
        if last.has_started_agent {
            starts.push((test.now - start) / 1000);
            test.up(URL);
            test.now += CHECK_AFTER_START_MS;
            assert_eq!(test.check().diagnosis.state, TunnelState::Up);
            test.net.remove_answer(API);
            test.child_ends("it ended with exit status 2", &[]);
            last = test.check();
        } else {
            last = test.next(&last);
        }
    }
    assert!(starts.len() < 10, "{starts:?}");
}

#[test]
fn running_agent_gets_time_to_connect() {
    let mut test = WatchdogTest::new(None);
    let start = test.now;
    let mut last = test.check();
    test.not_connected();
    let mut check_times = Vec::new();
    while test.starts() == 1 {
        // A reset of the backoff does not shorten the time to connect.
        test.watchdog.reset_backoff();
        last = test.next(&last);
        check_times.push((test.now - start) / 1000);
    }
    assert_eq!(check_times, [5, 10, 15, 20, 25, 30]);
    assert_eq!((last.diagnosis.state, last.has_started_agent), (TunnelState::NotConnected, true));
    assert_eq!(test.starter.programs().stopped, 1, "the former child is ended");
}

#[test]
fn foreign_agent_is_adopted_and_never_stopped() {
    let mut test = WatchdogTest::new(Some("b.ngrok.app"));
    test.up(URL);
    let mut last = test.check();
    assert_eq!(
        (last.diagnosis.state, last.is_foreign, last.has_started_agent),
        (TunnelState::Up, true, false)
    );
    // A foreign agent is left alone in every failing state.
    test.not_connected();
    last = test.next(&last);
    assert_eq!((last.diagnosis.state, last.is_foreign), (TunnelState::NotConnected, true));
    test.up("https://other.ngrok.app");
    last = test.next(&last);
    assert_eq!((last.diagnosis.state, last.is_foreign), (TunnelState::WrongDomain, true));
    assert!(last.diagnosis.message.contains("https://other.ngrok.app"), "{last:?}");
    test.up(URL);
    test.net.remove_answer(LOCAL);
    last = test.next(&last);
    assert_eq!(last.diagnosis.state, TunnelState::ServiceDown);
    assert!(!test.watchdog.stop());
    assert_eq!((test.starts(), test.starter.programs().stopped), (0, 0));
    // Once the foreign agent is gone, the watchdog starts its own.
    test.net.remove_answer(API);
    assert!(test.next(&last).has_started_agent);
}

#[test]
fn own_agent_starts_beside_one_for_another_port() {
    let mut test = WatchdogTest::new(None);
    let tunnel = json!({"public_url": "https://x.ngrok.app", "proto": "https",
        "config": {"addr": "http://localhost:3000"}});
    test.net.set_answer(API, 200, &json!({"tunnels": [tunnel]}));
    let first = test.check();
    assert_eq!(
        (first.diagnosis.state, first.has_started_agent, first.is_foreign),
        (TunnelState::NotConnected, true, false)
    );
    let own_tunnel =
        json!({"public_url": URL, "proto": "https", "config": {"addr": "http://localhost:8765"}});
    test.net.set_answer(SECOND_API, 200, &json!({"tunnels": [own_tunnel]}));
    test.net.set_answer("https://b.ngrok.app/health", 200, &health());
    let last = test.next(&first);
    assert_eq!((last.diagnosis.state, last.is_foreign, test.starts()), (TunnelState::Up, false, 1));
}

#[test]
fn local_and_public_failures_are_distinguished() {
    let mut test = WatchdogTest::new(None);
    test.up(URL);
    let first = test.check();
    assert_eq!(
        (first.diagnosis.state, first.diagnosis.message.as_str()),
        (TunnelState::Up, "https://b.ngrok.app/health answers")
    );
    test.net.set_answer("https://b.ngrok.app/health", 404, &json!({}));
    let last = test.next(&first);
    assert_eq!(last.diagnosis.state, TunnelState::Unreachable);
    assert!(last.diagnosis.message.ends_with("it answers with status 404"), "{last:?}");
    test.net.set_answer("https://b.ngrok.app/health", 200, &json!({"hello": "world"}));
    assert!(test.check().diagnosis.message.ends_with("something else answers there"));
    test.net.set_answer(LOCAL, 503, &json!({"status": "failing"}));
    let last = test.check();
    assert_eq!(
        (last.diagnosis.state, last.diagnosis.url.as_deref()),
        (TunnelState::ServiceDown, Some(URL))
    );
    assert_eq!(test.starts(), 0);
}

/// An agent that lost its connection reconnects by itself, at the same address.
#[test]
fn agent_restarts_only_after_a_long_disconnect() {
    let mut test = WatchdogTest::new(None);
    let mut last = test.check();
    test.up(URL);
    for _ in 0..3 {
        last = test.next(&last);
    }
    test.not_connected();
    last = test.next(&last);
    let lost_at = test.now;
    assert_eq!(
        (last.diagnosis.state, last.has_started_agent, last.next_ms),
        (TunnelState::NotConnected, false, CHECK_AFTER_START_MS),
        "it was up two minutes ago"
    );
    test.up(URL);
    last = test.next(&last);
    assert_eq!((last.diagnosis.state, test.starts()), (TunnelState::Up, 1));
    // After a suspend the deadline has passed, but the agent still gets its time.
    test.not_connected();
    test.now += 9 * 60 * 60 * 1000;
    last = test.check();
    assert!(!last.has_started_agent && test.now > lost_at);
    let resumed_at = test.now;
    while !last.has_started_agent {
        last = test.next(&last);
    }
    assert_eq!((test.now - resumed_at, test.starts()), (30_000, 2));
}

#[test]
fn old_errors_do_not_explain_a_new_failure() {
    let mut test = WatchdogTest::new(None);
    let first = test.check();
    test.starter.programs().lines = vec!["ERR_NGROK_108".into()];
    let last = test.next(&first);
    assert_eq!(last.diagnosis.state, TunnelState::Refused);
    test.up(URL);
    let last = test.next(&last);
    assert_eq!(last.diagnosis.state, TunnelState::Up);
    test.not_connected();
    assert_eq!(test.next(&last).diagnosis.state, TunnelState::NotConnected);
    // The exit of a former child must not explain a foreign agent that is gone.
    test.child_ends("it ended with exit status 1", &[]);
    test.up(URL);
    let last = test.check();
    test.net.remove_answer(API);
    assert_eq!(test.next(&last).diagnosis.message, "ngrok does not run");
}

/// Beside a foreign agent, only the own tunnel is reported and only the own agent is stopped.
#[test]
fn own_tunnel_is_reported_beside_a_foreign_one() {
    let mut test = WatchdogTest::new(Some("b.ngrok.app"));
    let first = test.check();
    test.up("https://theirs.ngrok.app");
    let own_tunnel = json!({"public_url": URL, "config": {"addr": "http://localhost:8765"}});
    test.net.set_answer(SECOND_API, 200, &json!({"tunnels": [own_tunnel]}));
    test.net.set_answer("https://b.ngrok.app/health", 200, &health());
    let last = test.next(&first);
    assert_eq!((last.diagnosis.state, last.diagnosis.url.as_deref()), (TunnelState::Up, Some(URL)));
    assert_eq!((test.starts(), test.starter.programs().stopped), (1, 0));
    // If only the foreign tunnel remains, it is left alone, although its domain is wrong.
    assert!(test.watchdog.stop());
    test.net.remove_answer(SECOND_API);
    let last = test.check();
    assert_eq!(
        (last.diagnosis.state, last.is_foreign, last.has_started_agent),
        (TunnelState::WrongDomain, true, false)
    );
    assert_eq!(test.starter.programs().stopped, 1);
}

#[test]
fn known_address_is_kept_among_several() {
    let mut test = WatchdogTest::new(None);
    let tunnel = |name: &str| {
        json!({"public_url": format!("https://{name}.ngrok.app"),
        "config": {"addr": "8765"}})
    };
    let first = test.check();
    test.net.set_answer(API, 200, &json!({"tunnels": [tunnel("a"), tunnel("b")]}));
    let last = test.next(&first);
    assert_eq!(last.diagnosis.url.as_deref(), Some("https://a.ngrok.app"));
    test.net.set_answer(API, 200, &json!({"tunnels": [tunnel("b"), tunnel("a")]}));
    let since = last.up_since;
    let last = test.next(&last);
    assert_eq!(
        (last.diagnosis.url.as_deref(), last.up_since),
        (Some("https://a.ngrok.app"), since)
    );
}

#[test]
fn missing_program_is_started_once_installed() {
    let mut test = WatchdogTest::new(None);
    test.starter.programs().missing = true;
    let first = test.check();
    assert_eq!(
        (first.diagnosis.state, first.has_started_agent, first.next_ms),
        (TunnelState::AgentMissing, false, CHECK_INTERVAL_MS)
    );
    test.starter.programs().missing = false;
    assert!(test.next(&first).has_started_agent);
}

#[test]
fn permanent_rejection_waits_for_a_new_token() {
    let mut test = WatchdogTest::new(None);
    let first = test.check();
    let words = "authentication failed: The authtoken you specified is not valid. Your authtoken: \
        t0ken. ERR_NGROK_107";
    test.child_ends("it ended with exit status 1", &["lvl=info starting", words, ""]);
    let mut last = test.next(&first);
    assert_eq!((last.diagnosis.state, last.is_token_refused), (TunnelState::Refused, true));
    assert!(last.diagnosis.message.contains("ERR_NGROK_107"), "{last:?}");
    for _ in 0..100 {
        last = test.next(&last);
        assert_eq!((last.diagnosis.state, last.has_started_agent), (TunnelState::Refused, false));
    }
    assert!(!format!("{last:?}").contains("t0ken"));
    test.token = Some(Secret::new("another"));
    let last = test.next(&last);
    assert!(last.has_started_agent, "{last:?}");
    // A manual start retries at once.
    test.child_ends("it ended with exit status 1", &[words]);
    assert_eq!(test.next(&last).diagnosis.state, TunnelState::Refused);
    test.watchdog.reset_backoff();
    assert!(test.check().has_started_agent);
}

#[test]
fn transient_rejection_is_retried_with_backoff() {
    let mut test = WatchdogTest::new(None);
    let mut last = test.check();
    let (mut starts, start) = (0, test.now);
    while test.now - start < 10 * 60 * 1000 {
        if last.has_started_agent {
            starts += 1;
            test.child_ends("it ended with exit status 1", &["ERR_NGROK_108"]);
        }
        last = test.next(&last);
        assert_eq!(last.diagnosis.state, TunnelState::Refused);
    }
    assert!((5..=8).contains(&starts), "{starts}");
}

#[test]
fn exit_message_has_no_token() {
    let mut test = WatchdogTest::new(None);
    let first = test.check();
    test.child_ends("it ended with exit status 1", &["no such thing as t0ken here"]);
    let last = test.next(&first);
    assert!(last.diagnosis.message.contains("no such thing as (the token) here"), "{last:?}");
    // A token of the agent's own configuration is not in the message either.
    let own = "2fKcO8qJx7yQ0Zt1Ew3RbVn5Ls_4Gd6Hm9Pa8Uk1Yi2Xo7Tz";
    test.child_ends(
        "it ended with exit status 1",
        &[&format!("Your authtoken: {own}, at https://ngrok.com")],
    );
    let last = test.next(&last);
    assert!(
        last.diagnosis.message.ends_with("output: Your authtoken: (…), at https://ngrok.com"),
        "{last:?}"
    );
}

#[test]
fn stopped_tunnel_reports_a_foreign_agent() {
    let mut test = WatchdogTest::new(None);
    let last = test.check_if(false);
    assert_eq!((last.diagnosis.state, last.has_started_agent), (TunnelState::Stopped, false));
    test.up(URL);
    let last = test.check_if(false);
    assert_eq!((last.diagnosis.state, last.is_foreign), (TunnelState::Up, true));
    assert_eq!(test.starts(), 0);
}

#[test]
fn clock_set_back_does_not_block_a_start() {
    let mut test = WatchdogTest::new(None);
    let first = test.check();
    assert!(first.has_started_agent);
    test.child_ends("it ended with exit status 1", &[]);
    test.now -= 24 * 60 * 60 * 1000;
    assert!(test.check().has_started_agent);
}
