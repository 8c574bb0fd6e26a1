//! The keeper in virtual time.

use brain_protocol::Secret;
use serde_json::{Value, json};

use super::fakes::{FakeNet, FakeStarter};
use super::keeper::Looked;
use super::watch::{AFTER_START_MS, EVERY_MS};
use super::{Keeper, Kind, Settings, World};

const API: &str = "http://127.0.0.1:4040/api/tunnels";
const LOCAL: &str = "http://127.0.0.1:8765/health";
const URL: &str = "https://b.ngrok.app";

/// A keeper of an ngrok tunnel, at an hour that the test turns.
struct Lab {
    keeper: Keeper,
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
            keeper: Keeper::new(settings),
            net,
            starter,
            token: Some(Secret::new("t0ken")),
            now: 1_795_257_045_000,
        }
    }

    fn look(&mut self) -> Looked {
        self.look_as(true)
    }

    fn look_as(&mut self, wanted: bool) -> Looked {
        let prove = |url: &str| super::is_healthy(&self.net, url);
        let world = World {
            net: &self.net,
            starter: &self.starter,
            prove: &prove,
            token: self.token.as_ref(),
            now: self.now,
        };
        self.keeper.look(world, wanted)
    }

    /// Looks when it is due, and gives what was seen.
    fn next(&mut self, last: &Looked) -> Looked {
        self.now += last.next_ms;
        self.look()
    }

    fn starts(&self) -> usize {
        self.starter.programs().started.len()
    }

    /// The agent has a tunnel at this address, and it works.
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
fn an_agent_that_does_not_run_is_started_and_looked_at_after_five_seconds_then_every_two_minutes() {
    let mut lab = Lab::new(Some("b.ngrok.app"));
    let first = lab.look();
    assert_eq!(
        (first.verdict.state, first.started, first.next_ms),
        ("agent_down", true, AFTER_START_MS)
    );
    let launch = lab.starter.programs().started[0].clone();
    assert_eq!(
        launch.command.join(" "),
        "ngrok http 8765 --url https://b.ngrok.app --log stdout --log-format logfmt"
    );
    assert_eq!(launch.variables, [("NGROK_AUTHTOKEN".to_owned(), Secret::new("t0ken"))]);
    lab.up(URL);
    let second = lab.next(&first);
    assert_eq!((second.verdict.state, second.verdict.url.as_deref()), ("up", Some(URL)));
    assert_eq!((second.adopted, second.up_since, second.next_ms), (false, Some(lab.now), EVERY_MS));
    let since = second.up_since;
    let third = lab.next(&second);
    assert_eq!((third.up_since, third.next_ms, lab.starts()), (since, EVERY_MS, 1));
}

#[test]
fn pauses_grow_between_starts_that_lead_to_nothing_and_begin_anew_after_success() {
    let mut lab = Lab::new(None);
    let began = lab.now;
    let mut starts = Vec::new();
    let mut last = lab.look();
    while lab.now - began < 45 * 60 * 1000 {
        if last.started {
            starts.push((lab.now - began) / 1000);
            lab.child_ends("it ended with exit status 1", &["some words"]);
        }
        last = lab.next(&last);
    }
    assert_eq!(starts, [0, 5, 15, 35, 75, 155, 315, 635, 1235, 1835, 2435]);
    assert!(last.verdict.message.contains("exit status 1; its last words: some words"), "{last:?}");
    assert!(last.next_ms <= EVERY_MS, "it is looked at all the same");
    // It comes up, stays, and goes: the first pause is short again.
    while !last.started {
        last = lab.next(&last);
    }
    lab.up(URL);
    for _ in 0..3 {
        last = lab.next(&last);
        assert_eq!(last.verdict.state, "up");
    }
    lab.net.gone(API);
    lab.child_ends("it was ended by signal 9", &[]);
    assert!(lab.next(&last).started);
}

#[test]
fn one_that_comes_up_and_goes_at_once_does_not_begin_anew() {
    let mut lab = Lab::new(None);
    let began = lab.now;
    let mut starts = Vec::new();
    let mut last = lab.look();
    while lab.now - began < 10 * 60 * 1000 {
        if last.started {
            starts.push((lab.now - began) / 1000);
            lab.up(URL);
            lab.now += AFTER_START_MS;
            assert_eq!(lab.look().verdict.state, "up");
            lab.net.gone(API);
            lab.child_ends("it ended with exit status 2", &[]);
            last = lab.look();
        } else {
            last = lab.next(&last);
        }
    }
    assert!(starts.len() < 10, "{starts:?}");
}

#[test]
fn an_agent_that_runs_gets_time_to_connect_and_is_looked_at_meanwhile() {
    let mut lab = Lab::new(None);
    let began = lab.now;
    let mut last = lab.look();
    lab.not_connected();
    let mut looks = Vec::new();
    while lab.starts() == 1 {
        // Whoever is impatient does not take that from it.
        lab.keeper.forget();
        last = lab.next(&last);
        looks.push((lab.now - began) / 1000);
    }
    assert_eq!(looks, [5, 10, 15, 20, 25, 30]);
    assert_eq!((last.verdict.state, last.started), ("not_connected", true));
    assert_eq!(lab.starter.programs().stopped, 1, "the former child is ended");
}

#[test]
fn an_agent_of_somebody_else_is_adopted_and_never_ended() {
    let mut lab = Lab::new(Some("b.ngrok.app"));
    lab.up(URL);
    let mut last = lab.look();
    assert_eq!((last.verdict.state, last.adopted, last.started), ("up", true, false));
    // Not connected, at a wrong name, service down, not reached: none of it makes us touch it.
    lab.not_connected();
    last = lab.next(&last);
    assert_eq!((last.verdict.state, last.adopted), ("not_connected", true));
    lab.up("https://other.ngrok.app");
    last = lab.next(&last);
    assert_eq!((last.verdict.state, last.adopted), ("wrong_domain", true));
    assert!(last.verdict.message.contains("https://other.ngrok.app"), "{last:?}");
    lab.up(URL);
    lab.net.gone(LOCAL);
    last = lab.next(&last);
    assert_eq!(last.verdict.state, "service_down");
    assert!(!lab.keeper.stop());
    assert_eq!((lab.starts(), lab.starter.programs().stopped), (0, 0));
    // Once it is gone, brain has one of its own.
    lab.net.gone(API);
    assert!(lab.next(&last).started);
}

#[test]
fn beside_an_agent_that_serves_something_else_one_of_ours_is_started() {
    let mut lab = Lab::new(None);
    let tunnel = json!({"public_url": "https://x.ngrok.app", "proto": "https", "config": {"addr": "http://localhost:3000"}});
    lab.net.put(API, 200, &json!({"tunnels": [tunnel]}));
    let first = lab.look();
    assert_eq!((first.verdict.state, first.started, first.adopted), ("not_connected", true, false));
    let ours =
        json!({"public_url": URL, "proto": "https", "config": {"addr": "http://localhost:8765"}});
    lab.net.put("http://127.0.0.1:4041/api/tunnels", 200, &json!({"tunnels": [ours]}));
    lab.net.put("https://b.ngrok.app/health", 200, &health());
    let last = lab.next(&first);
    assert_eq!((last.verdict.state, last.adopted, lab.starts()), ("up", false, 1));
}

#[test]
fn what_of_the_way_is_broken_is_told_apart() {
    let mut lab = Lab::new(None);
    lab.up(URL);
    let first = lab.look();
    assert_eq!(
        (first.verdict.state, first.verdict.message.as_str()),
        ("up", "https://b.ngrok.app/health answers")
    );
    lab.net.put("https://b.ngrok.app/health", 404, &json!({}));
    let last = lab.next(&first);
    assert_eq!(last.verdict.state, "unreachable");
    assert!(last.verdict.message.ends_with("it answers with status 404"), "{last:?}");
    lab.net.put("https://b.ngrok.app/health", 200, &json!({"hello": "world"}));
    assert!(lab.look().verdict.message.ends_with("something else answers there"));
    lab.net.put(LOCAL, 503, &json!({"status": "failing"}));
    let last = lab.look();
    assert_eq!((last.verdict.state, last.verdict.url.as_deref()), ("service_down", Some(URL)));
    assert_eq!(lab.starts(), 0);
}

/// An agent that has lost its connection finds it again by itself, at the address that it had.
#[test]
fn a_short_loss_of_the_network_costs_no_address_and_a_long_one_is_a_new_start() {
    let mut lab = Lab::new(None);
    let mut last = lab.look();
    lab.up(URL);
    for _ in 0..3 {
        last = lab.next(&last);
    }
    lab.not_connected();
    last = lab.next(&last);
    let lost = lab.now;
    assert_eq!(
        (last.verdict.state, last.started, last.next_ms),
        ("not_connected", false, AFTER_START_MS),
        "it was up two minutes ago"
    );
    lab.up(URL);
    last = lab.next(&last);
    assert_eq!((last.verdict.state, lab.starts()), ("up", 1));
    // A night with the lid closed: the time has passed, and the agent gets its own all the same.
    lab.not_connected();
    lab.now += 9 * 60 * 60 * 1000;
    last = lab.look();
    assert!(!last.started && lab.now > lost);
    let woken = lab.now;
    while !last.started {
        last = lab.next(&last);
    }
    assert_eq!((lab.now - woken, lab.starts()), (30_000, 2));
}

#[test]
fn what_an_agent_said_before_it_was_up_is_not_why_it_is_down_later() {
    let mut lab = Lab::new(None);
    let first = lab.look();
    lab.starter.programs().lines = vec!["ERR_NGROK_108".into()];
    let last = lab.next(&first);
    assert_eq!(last.verdict.state, "refused");
    lab.up(URL);
    let last = lab.next(&last);
    assert_eq!(last.verdict.state, "up");
    lab.not_connected();
    assert_eq!(lab.next(&last).verdict.state, "not_connected");
    // Nor is how a former one ended, once another's is up and gone.
    lab.child_ends("it ended with exit status 1", &[]);
    lab.up(URL);
    let last = lab.look();
    lab.net.gone(API);
    assert_eq!(lab.next(&last).verdict.message, "ngrok does not run");
}

/// Ours and somebody else's at once: what ours has is seen, and only ours is ever ended.
#[test]
fn beside_somebody_elses_tunnel_by_another_name_ours_is_seen() {
    let mut lab = Lab::new(Some("b.ngrok.app"));
    let first = lab.look();
    lab.up("https://theirs.ngrok.app");
    let ours = json!({"public_url": URL, "config": {"addr": "http://localhost:8765"}});
    lab.net.put("http://127.0.0.1:4041/api/tunnels", 200, &json!({"tunnels": [ours]}));
    lab.net.put("https://b.ngrok.app/health", 200, &health());
    let last = lab.next(&first);
    assert_eq!((last.verdict.state, last.verdict.url.as_deref()), ("up", Some(URL)));
    assert_eq!((lab.starts(), lab.starter.programs().stopped), (1, 0));
    // Without ours theirs is all there is: left alone, whatever it is called.
    assert!(lab.keeper.stop());
    lab.net.gone("http://127.0.0.1:4041/api/tunnels");
    let last = lab.look();
    assert_eq!((last.verdict.state, last.adopted, last.started), ("wrong_domain", true, false));
    assert_eq!(lab.starter.programs().stopped, 1);
}

#[test]
fn of_several_addresses_the_known_one_stays() {
    let mut lab = Lab::new(None);
    let tunnel = |name: &str| json!({"public_url": format!("https://{name}.ngrok.app"), "config": {"addr": "8765"}});
    let first = lab.look();
    lab.net.put(API, 200, &json!({"tunnels": [tunnel("a"), tunnel("b")]}));
    let last = lab.next(&first);
    assert_eq!(last.verdict.url.as_deref(), Some("https://a.ngrok.app"));
    lab.net.put(API, 200, &json!({"tunnels": [tunnel("b"), tunnel("a")]}));
    let since = last.up_since;
    let last = lab.next(&last);
    assert_eq!((last.verdict.url.as_deref(), last.up_since), (Some("https://a.ngrok.app"), since));
}

#[test]
fn a_program_that_is_missing_is_not_started_until_it_is_there() {
    let mut lab = Lab::new(None);
    lab.starter.programs().missing = true;
    let first = lab.look();
    assert_eq!(
        (first.verdict.state, first.started, first.next_ms),
        ("agent_missing", false, EVERY_MS)
    );
    lab.starter.programs().missing = false;
    assert!(lab.next(&first).started);
}

#[test]
fn a_refusal_that_lasts_ends_the_tries_until_the_token_is_another() {
    let mut lab = Lab::new(None);
    let first = lab.look();
    let words = "authentication failed: The authtoken you specified is not valid. Your authtoken: t0ken. ERR_NGROK_107";
    lab.child_ends("it ended with exit status 1", &["lvl=info starting", words, ""]);
    let mut last = lab.next(&first);
    assert_eq!((last.verdict.state, last.token_refused), ("refused", true));
    assert!(last.verdict.message.contains("ERR_NGROK_107"), "{last:?}");
    for _ in 0..100 {
        last = lab.next(&last);
        assert_eq!((last.verdict.state, last.started), ("refused", false));
    }
    assert!(!format!("{last:?}").contains("t0ken"));
    lab.token = Some(Secret::new("another"));
    let last = lab.next(&last);
    assert!(last.started, "{last:?}");
    // Or somebody asks for it.
    lab.child_ends("it ended with exit status 1", &[words]);
    assert_eq!(lab.next(&last).verdict.state, "refused");
    lab.keeper.forget();
    assert!(lab.look().started);
}

#[test]
fn a_refusal_that_may_pass_is_tried_again_with_pauses() {
    let mut lab = Lab::new(None);
    let mut last = lab.look();
    let (mut starts, began) = (0, lab.now);
    while lab.now - began < 10 * 60 * 1000 {
        if last.started {
            starts += 1;
            lab.child_ends("it ended with exit status 1", &["ERR_NGROK_108"]);
        }
        last = lab.next(&last);
        assert_eq!(last.verdict.state, "refused");
    }
    assert!((5..=8).contains(&starts), "{starts}");
}

#[test]
fn the_last_words_of_an_agent_are_told_without_the_token() {
    let mut lab = Lab::new(None);
    let first = lab.look();
    lab.child_ends("it ended with exit status 1", &["no such thing as t0ken here"]);
    let last = lab.next(&first);
    assert!(last.verdict.message.contains("no such thing as (the token) here"), "{last:?}");
    // Nor with one of the agent's own configuration.
    let own = "2fKcO8qJx7yQ0Zt1Ew3RbVn5Ls_4Gd6Hm9Pa8Uk1Yi2Xo7Tz";
    lab.child_ends(
        "it ended with exit status 1",
        &[&format!("Your authtoken: {own}, at https://ngrok.com")],
    );
    let last = lab.next(&last);
    assert!(
        last.verdict.message.ends_with("words: Your authtoken: (…), at https://ngrok.com"),
        "{last:?}"
    );
}

#[test]
fn what_is_not_wanted_is_not_started_and_what_somebody_else_has_is_told() {
    let mut lab = Lab::new(None);
    let last = lab.look_as(false);
    assert_eq!((last.verdict.state, last.started), ("stopped", false));
    lab.up(URL);
    let last = lab.look_as(false);
    assert_eq!((last.verdict.state, last.adopted), ("up", true));
    assert_eq!(lab.starts(), 0);
}

#[test]
fn a_clock_that_was_ahead_keeps_nothing_down() {
    let mut lab = Lab::new(None);
    let first = lab.look();
    assert!(first.started);
    lab.child_ends("it ended with exit status 1", &[]);
    lab.now -= 24 * 60 * 60 * 1000;
    assert!(lab.look().started);
}
