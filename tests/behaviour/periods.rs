//! Times as people write them, with the same options on every listing command.

use brain_base::clock::{Clock, SystemClock, day, parse_instant, rfc3339};
use brain_tests::{TestHome, run, slugs};
use serde_json::Value;

const DAY_MS: i64 = 86_400_000;

/// Returns the date of the day `days` before today, in UTC.
fn days_ago(days: i64) -> String {
    day(SystemClock.now() - days * DAY_MS)
}

#[test]
fn listings_accept_the_same_periods() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let lines: String =
        [0, 3, 400].iter().map(|&n| format!("- {} | {n} days old\n", days_ago(n))).collect();
    home.put("log", &format!("walrus\n\n{lines}"));
    for (since, until, is_found) in [
        ("7d", "now", true),
        ("yesterday", "today", true),
        ("last 2 months", "tomorrow", true),
        ("2025-03", "2999", true),
        ("1 hour ago", "this year", true),
        ("2025-03", "yesterday", false),
        ("2025", "last month", false),
        ("tomorrow", "2999-12", false),
    ] {
        let period = ["--since", since, "--until", until];
        let found = |args: &[&str]| -> Value { home.json([args, &period].concat()) };
        let expected: &[&str] = if is_found { &["log"] } else { &[] };
        assert_eq!(slugs(&found(&["list"])["pages"]), expected, "{since} to {until}");
        assert_eq!(slugs(&found(&["search", "walrus"])["hits"]), expected, "{since} to {until}");
        for listing in ["timeline", "audit", "costs"] {
            assert!(found(&[listing]).is_object(), "{listing} {since} {until}");
        }
    }
    let entries = |since: &str, until: &str| {
        let answer = home.json(["timeline", "--since", since, "--until", until]);
        answer["entries"].as_array().unwrap().len()
    };
    assert_eq!((entries("today", "today"), entries("7d", "today")), (1, 2));
    assert_eq!((entries("2y", "today"), entries("2y", "3 weeks ago")), (3, 1));
}

#[test]
fn an_invalid_time_is_refused_with_the_valid_forms() {
    let home = TestHome::new();
    for command in ["list", "timeline", "audit", "costs"] {
        let fault = home.fault([command, "--since", "soon"], 2);
        let message = fault["message"].as_str().unwrap();
        assert_eq!(fault["code"], "usage");
        assert!(message.contains("soon") && message.contains("yesterday"), "{message}");
    }
}

#[test]
fn times_are_local() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let in_zone = |zone: &str, args: &[&str]| {
        let mut command = home.command("brain");
        command.env("TZ", zone).args(args);
        run(command, b"").expect(0).stdout
    };
    home.put("a", "x\n");
    let written = home.json(["get", "a"])["updated_at"].as_str().unwrap().to_owned();
    let utc = parse_instant(&written).unwrap();
    for (zone, hours) in [("UTC", 0), ("XST-14", 14), ("YST12", -12)] {
        let local = rfc3339(utc + hours * 3_600_000);
        let second = local[..19].replace('T', " ");
        let (date, time) = second.split_once(' ').unwrap();
        assert!(in_zone(zone, &["history", "a"]).contains(&second[..16]), "{zone}");
        assert!(in_zone(zone, &["list"]).contains(date), "{zone}");
        for (until, is_found) in [(second.as_str(), true), (date, true), ("2 days ago", false)] {
            let found = in_zone(zone, &["list", "-q", "--until", until]);
            assert_eq!(found.trim() == "a", is_found, "{zone} {until}: {found}");
        }
        assert_eq!(in_zone(zone, &["list", "-q", "--since", &second]).trim(), "a", "{time}");
        // The past: a day is that of the reader, and the instant has the reader's offset.
        let past: Value =
            serde_json::from_str(&in_zone(zone, &["list", "--as-of", date, "--json"])).unwrap();
        assert_eq!(slugs(&past["pages"]), ["a"], "{zone}");
        let at = past["as_of"]["at"].as_str().unwrap();
        let sign = if hours < 0 { '-' } else { '+' };
        assert!(at.ends_with(&format!("{sign}{:02}:00", hours.abs())), "{zone}: {at}");
        assert_eq!(parse_instant(at).map(|at| at >= utc), Some(true), "{zone}: {at}");
        let changes: Value =
            serde_json::from_str(&in_zone(zone, &["diff", "--since", date, "--json"])).unwrap();
        assert_eq!(changes["since"].as_str().unwrap()[..19], format!("{date}T00:00:00"), "{zone}");
        assert_eq!(slugs(&changes["pages"]), ["a"], "{zone}");
    }
}
