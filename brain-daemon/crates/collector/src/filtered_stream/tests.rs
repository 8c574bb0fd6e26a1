//! Tests of the rules, lines and delays of the filtered stream.

use std::sync::Mutex;

use brain_protocol::Secret;
use serde_json::json;
use url::Url;

use super::super::fake::{FakeClient, answer};
use super::*;
use crate::{PostId, Rates};

const NOW: i64 = 1_795_255_200;

fn settings(handle: Option<&str>, searches: &[&str]) -> RunSettings {
    RunSettings {
        platform_api: "http://platform.test".into(),
        dir: "/home/collector".into(),
        handle: handle.map(str::to_owned),
        user_id: None,
        searches: searches.iter().map(|&search| search.to_owned()).collect(),
        max_pages: 3,
        request_authors: false,
        request_media: false,
        redact: false,
    }
}

fn platform_rules(all: &[(&str, &str, &str)]) -> Vec<PlatformRule> {
    let rule = |&(id, value, tag): &(&str, &str, &str)| PlatformRule {
        id: id.into(),
        value: value.into(),
        tag: tag.into(),
    };
    all.iter().map(rule).collect()
}

#[test]
fn the_rules_follow_the_configuration() {
    let rules = configured_rules(&settings(Some("me"), &["\"a b\" -from:me", "#c"]));
    let shown: Vec<(&str, &str)> =
        rules.iter().map(|rule| (rule.tag.as_str(), rule.value.as_str())).collect();
    let expected = [
        ("brain:own", "from:me"),
        ("brain:mentions", "@me"),
        ("brain:search:0", "\"a b\" -from:me"),
        ("brain:search:1", "#c"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(rules[0].destination(), (Stream::Own, None));
    assert_eq!(rules[3].destination(), (Stream::Searches, Some("#c".into())));
    assert_eq!(configured_rules(&settings(None, &["#c"])).len(), 1);
}

#[test]
fn our_stale_rules_are_deleted_and_foreign_ones_stay() {
    let rules = configured_rules(&settings(Some("me"), &["#a", "#b"]));
    let existing = platform_rules(&[
        ("1", "from:me", "brain:own"),
        ("2", "@former", "brain:mentions"),
        ("3", "#b", "brain:search:0"),
        ("4", "#gone", "brain:search:7"),
        // Foreign rules, although they look alike.
        ("5", "cats", "cats"),
        ("6", "dogs", ""),
        ("7", "birds", "brain:other"),
        ("8", "fish", "brainy:own"),
    ]);
    let changes = plan_changes(&rules, &existing);
    assert_eq!(changes.delete, ["2", "3", "4"]);
    assert_eq!(changes.add, [1, 2, 3]);
    assert_eq!(
        plan_changes(&rules, &platform_rules(&[])),
        RuleChanges { delete: vec![], add: vec![0, 1, 2, 3] }
    );
    // A foreign rule with the same value is used.
    let existing = platform_rules(&[
        ("1", "from:me", "mine"),
        ("2", "@me", ""),
        ("3", "#a", "brain:search:0"),
        ("4", "#b", "x"),
    ]);
    assert_eq!(plan_changes(&rules, &existing), RuleChanges::default());
}

#[test]
fn a_value_configured_twice_is_one_rule_for_both_streams() {
    let rules = configured_rules(&settings(Some("me"), &["from:me", "#a"]));
    assert_eq!(plan_changes(&rules, &platform_rules(&[])).add, [0, 1, 3]);
    assert_eq!(
        plan_changes(
            &rules,
            &platform_rules(&[("1", "from:me", "brain:own"), ("2", "@me", "x"), ("3", "#a", "x")])
        ),
        RuleChanges::default()
    );
    // The existing rule has the tag of the second rule and the value of the first.
    let changed = plan_changes(
        &rules,
        &platform_rules(&[("1", "from:me", "brain:search:0"), ("2", "@me", "x"), ("3", "#a", "x")]),
    );
    assert_eq!(changed, RuleChanges { delete: vec!["1".into()], add: vec![0] });
    let mut rules = StreamRules { configured_rules: rules, ..StreamRules::default() };
    rules.record_ids(&platform_rules(&[("1", "from:me", "brain:own")]));
    let both = [(Stream::Own, None), (Stream::Searches, Some("from:me".to_owned()))];
    assert_eq!(rules.destinations(&[("1".into(), "brain:own".into())]), both);
}

#[test]
fn rules_are_synchronized_and_rejections_listed() {
    let bodies: &'static Mutex<Vec<Value>> = Box::leak(Box::default());
    let http_client = FakeClient::new(move |request| {
        let Some(body) = &request.body else {
            let first = json!({"data": [{"id": "9007199254740993", "value": "@old",
                "tag": "brain:mentions"}],
                "meta": {"sent": "now", "next_token": "more"}});
            let second = json!({"data": [{"id": "2", "value": "#a", "tag": "others"}],
                "meta": {"sent": "now"}});
            let page =
                if request.target.contains("pagination_token=more") { second } else { first };
            return Ok(answer(200, &[], page.to_string()));
        };
        let body: Value = serde_json::from_slice(body).unwrap();
        bodies.lock().unwrap().push(body.clone());
        let response = match body.get("add") {
            Some(_) => json!({"data": [{"id": "3", "value": "from:me", "tag": "brain:own"}],
                "meta": {"summary": {"created": 1, "not_created": 2}},
                "errors": [{"title": "DuplicateRule", "value": "@me", "id": "4",
                    "type": "x/duplicate-rules"},
                    {"title": "UnprocessableEntity", "value": "((",
                        "details": ["no viable\nalternative"], "type": "x/invalid-rules"}]}),
            None => json!({"meta": {"summary": {"deleted": 1}}}),
        };
        Ok(answer(201, &[], response.to_string()))
    });
    let (base, token, now) =
        (Url::parse("https://api.example").unwrap(), Secret::new("t"), || NOW * 1000);
    let mut platform = Platform::new(&http_client, &base, &token, Rates::default(), &now);
    let rules = StreamRules::synchronize(
        &mut platform,
        configured_rules(&settings(Some("me"), &["#a", "(("])),
    )
    .unwrap();
    let bodies = bodies.lock().unwrap();
    assert_eq!(bodies[0], json!({"delete": {"ids": ["9007199254740993"]}}), "deleted before added");
    let added: Vec<&str> = bodies[1]["add"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["value"].as_str().unwrap())
        .collect();
    assert_eq!(added, ["from:me", "@me", "(("]);
    assert_eq!(rules.rejections, ["`@me`: DuplicateRule", "`((`: no viable alternative"]);
    let destinations = |id: &str, tag: &str| rules.destinations(&[(id.to_owned(), tag.to_owned())]);
    assert_eq!(destinations("3", ""), [(Stream::Own, None)]);
    assert_eq!(destinations("2", "others"), [(Stream::Searches, Some("#a".into()))]);
    assert_eq!(
        destinations("77", "brain:mentions"),
        [(Stream::Mentions, None)],
        "an unknown id, a known tag"
    );
    assert_eq!(destinations("77", "others"), []);
    let twice = [("3".to_owned(), String::new()), ("77".to_owned(), "brain:own".to_owned())];
    assert_eq!(rules.destinations(&twice), [(Stream::Own, None)]);
}

#[test]
fn invalid_lines_are_unknown_messages() {
    assert_eq!(parse_message(b"\r\n"), StreamMessage::Alive);
    assert_eq!(parse_message(b""), StreamMessage::Alive);
    for line in [
        "{",
        "[]",
        "null",
        "<html>",
        "{\"data\":{}}",
        "{\"later\":{\"x\":1}}",
        "{\"data\":{\"id\":17}}",
    ] {
        assert_eq!(parse_message(line.as_bytes()), StreamMessage::Unknown, "{line}");
    }
    let line = json!({
        "data": {"id": "17", "text": "hi", "author_id": "5"},
        "includes": {"users": [{"id": "5", "username": "ann", "name": "Ann"}]},
        "matching_rules": [{"id": "9007199254740993", "tag": "brain:own"}, {"id": 4},
            {"tag": "none"}],
        // About an object that the post refers to.
        "errors": [{"title": "Not Found Error", "resource_id": "3", "section": "includes"}],
    });
    let StreamMessage::Post(post, rules) = parse_message(line.to_string().as_bytes()) else {
        panic!()
    };
    assert_eq!((post.id(), post.author_handle()), (&PostId::parse("17").unwrap(), Some("ann")));
    assert_eq!(
        rules,
        [("9007199254740993".into(), "brain:own".into()), ("4".into(), String::new())]
    );
    let ending = json!({"errors": [{"title": "operational-disconnect",
        "disconnect_type": "UpstreamOperationalDisconnect",
        "detail": "This stream has been disconnected\nfor operational reasons.",
        "type": "x/operational-disconnect"}]});
    let expected = "This stream has been disconnected for operational reasons.";
    assert_eq!(parse_message(ending.to_string().as_bytes()), StreamMessage::End(expected.into()));
}

#[test]
fn lines_do_not_depend_on_chunk_sizes() {
    let text = b"one\r\n\r\ntwo\nthr".as_slice();
    for size in 1..text.len() {
        let mut lines = LineSplitter::default();
        let found: Vec<Vec<u8>> = text.chunks(size).flat_map(|part| lines.split(part)).collect();
        assert_eq!(found, [b"one\r\n".to_vec(), b"\r\n".to_vec(), b"two\n".to_vec()], "{size}");
        assert_eq!(lines.split(b"ee\n"), [b"three\n".to_vec()]);
    }
}

#[test]
fn an_endless_line_is_dropped() {
    let mut lines = LineSplitter::default();
    let part = vec![b'x'; MAX_LINE_BYTES / 2 + 1];
    for _ in 0..5 {
        assert!(lines.split(&part).is_empty());
        assert!(lines.partial.len() <= MAX_LINE_BYTES);
    }
    assert_eq!(lines.split(b"end\nnext\n"), [b"next\n".to_vec()]);
}

/// Returns the delays after repeated failures of one kind, in milliseconds.
fn delays(end: ConnectionEnd, times: usize) -> Vec<u128> {
    let mut backoff = ReconnectDelay::default();
    (0..times).map(|_| backoff.after(end, Duration::ZERO, NOW).as_millis()).collect()
}

#[test]
fn delays_are_as_documented_by_the_platform() {
    let network = delays(ConnectionEnd::Network, 66);
    assert_eq!(network[..4], [250, 500, 750, 1000]);
    assert_eq!(network[62..], [15_750, 16_000, 16_000, 16_000]);
    assert_eq!(delays(ConnectionEnd::Refused(FaultReason::Unreachable), 2), [250, 500]);
    let http = [5000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 320_000];
    for reason in [
        FaultReason::ServerError,
        FaultReason::InvalidRequest,
        FaultReason::NotFound,
        FaultReason::Unreadable,
    ] {
        assert_eq!(delays(ConnectionEnd::Refused(reason), 8), http, "{reason:?}");
    }
    let limited = [60_000, 120_000, 240_000, 480_000, 960_000, 960_000];
    assert_eq!(delays(ConnectionEnd::Refused(FaultReason::TooManyConnections), 6), limited);
    assert_eq!(delays(ConnectionEnd::Refused(FaultReason::RateLimited(NOW - 5)), 6), limited);
    // The platform's own delay is respected; a wrong clock does not block forever.
    assert_eq!(delays(ConnectionEnd::Refused(FaultReason::RateLimited(NOW + 700)), 1), [700_000]);
    assert_eq!(
        delays(ConnectionEnd::Refused(FaultReason::RateLimited(NOW + 7_000_000)), 1),
        [960_000]
    );
    for reason in [
        FaultReason::Unauthorized,
        FaultReason::PaymentRequired,
        FaultReason::Forbidden,
        FaultReason::UsageCapped,
    ] {
        assert_eq!(delays(ConnectionEnd::Refused(reason), 2), [3_600_000, 3_600_000], "{reason:?}");
    }
}

#[test]
fn a_connection_of_20_s_resets_the_delays() {
    let mut backoff = ReconnectDelay::default();
    let long_enough = Duration::from_secs(20);
    for _ in 0..9 {
        backoff.after(ConnectionEnd::Network, Duration::ZERO, NOW);
        backoff.after(ConnectionEnd::Refused(FaultReason::ServerError), Duration::ZERO, NOW);
    }
    // A connection that ends at once does not reset the backoff.
    assert_eq!(
        backoff.after(ConnectionEnd::Network, long_enough - Duration::from_millis(1), NOW),
        Duration::from_millis(2500)
    );
    assert_eq!(backoff.after(ConnectionEnd::Network, long_enough, NOW), Duration::ZERO);
    assert_eq!(
        backoff.after(ConnectionEnd::Network, Duration::ZERO, NOW),
        Duration::from_millis(250)
    );
    assert_eq!(
        backoff.after(ConnectionEnd::Refused(FaultReason::ServerError), Duration::ZERO, NOW),
        Duration::from_secs(5)
    );
}
