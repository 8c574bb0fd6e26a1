//! Incomplete streams: the report, the posts that are left alone, and the next run, for every
//! platform fault.

use brain_protocol::{CollectorRun, RunProblem};
use brain_tests::platform::{APP_TOKEN, Fault, endpoint};
use serde_json::json;

use crate::collector_world::{Fixture, HOUR, MINUTE, files, lines_with};

/// Returns a fixture with a post in each stream. One own post was deleted after the first run.
fn fixture() -> (Fixture, String) {
    // Without names, because a refused expansion would cause a second request.
    let fixture = Fixture::with(&[("searches", r#"["owls", "birds"]"#), ("authors", "ids")]);
    let gone = fixture.platform.post(&fixture.ada, "gone soon");
    fixture.platform.post(&fixture.ada, "stays");
    fixture.platform.post(&fixture.bob, "hi @ada");
    fixture.platform.post(&fixture.bob, "owls");
    fixture.platform.post(&fixture.bob, "birds");
    fixture.collect();
    fixture.platform.delete(&gone);
    fixture.advance(30 * MINUTE);
    (fixture, gone)
}

/// Returns why a stream was skipped; `None` if it is complete.
fn skipped<'a>(run: &'a CollectorRun, stream: &str) -> Option<&'a str> {
    let found = run.streams.iter().find(|each| each.stream == stream).unwrap();
    found.skipped.as_ref().map(|skipped| skipped.reason.as_str())
}

/// Returns every fault and its name in the report.
fn faults_and_reasons() -> Vec<(Fault, &'static str)> {
    vec![
        (Fault::BadRequest, "invalid_request"),
        (Fault::Forbidden, "forbidden"),
        (Fault::ClientForbidden, "forbidden"),
        (Fault::UnsupportedAuthentication, "forbidden"),
        (Fault::SpendCap, "forbidden"),
        (Fault::NotFound, "not_found"),
        (Fault::NotFoundEmpty, "not_found"),
        (Fault::Conflict, "invalid_request"),
        (Fault::TooMany, "rate_limited"),
        (Fault::TooManyOlder, "rate_limited"),
        (Fault::TooManyWithRemaining, "rate_limited"),
        (Fault::TooManyWithoutFields, "rate_limited"),
        (Fault::UsageCapped, "usage_capped"),
        (Fault::TooManyConnections, "too_many_connections"),
        (Fault::Server(500), "server_error"),
        (Fault::ServerErrorHtml(502), "server_error"),
        (Fault::ServerEmpty(503), "server_error"),
        (Fault::Garbage, "unreadable"),
        (Fault::Truncated, "unreadable"),
        (Fault::HtmlBody, "unreadable"),
        (Fault::Empty, "unreadable"),
        (Fault::Null, "unreadable"),
        (Fault::EmptyObject, "unreadable"),
        (Fault::Exactly(r#"{"data": null}"#.into()), "unreadable"),
        (
            Fault::Exactly(r#"{"errors": [{"title": "Over capacity", "detail": "x"}]}"#.into()),
            "unreadable",
        ),
        (Fault::Silence, "unreachable"),
        (Fault::Close, "unreachable"),
        (Fault::Cut, "unreachable"),
    ]
}

#[test]
fn a_fault_skips_the_stream_without_deletions() {
    for (fault, reason) in faults_and_reasons() {
        let (fixture, gone) = fixture();
        let before = fixture.files();
        let former = fixture.former("own");
        fixture.platform.fault(endpoint::TIMELINE, fault.clone(), 1);
        fixture.lines();
        let run = fixture.run();
        let lines = fixture.lines();
        assert_eq!(run.status.as_str(), "complete", "{fault:?}: {run:?}");
        assert_eq!(skipped(&run, "own"), Some(reason), "{fault:?}: {run:?}");
        assert_eq!(
            (skipped(&run, "mentions"), skipped(&run, "searches")),
            (None, None),
            "{fault:?}"
        );
        let reported_lines = lines_with(&lines, "STREAM_SKIPPED:");
        assert_eq!(reported_lines.len(), 1, "{fault:?}: {lines:?}");
        let line = format!("STREAM_SKIPPED:own:{reason}");
        assert!(
            reported_lines[0] == line || reported_lines[0].starts_with(&format!("{line}:")),
            "{fault:?}: {reported_lines:?}"
        );
        if reason == "rate_limited" {
            let reset: i64 = reported_lines[0][line.len() + 1..].parse().unwrap();
            assert!(
                reset > fixture.now() / 1000 && reset <= fixture.now() / 1000 + 901,
                "{fault:?}: {reported_lines:?}"
            );
        }
        assert!(lines.last().unwrap().starts_with("RUN_COMPLETE:"), "{fault:?}: {lines:?}");
        assert!(
            lines_with(&lines, "DELETION").is_empty() && fixture.deletion(&gone).is_none(),
            "{fault:?}"
        );
        assert_eq!(fixture.platform.count(endpoint::LOOKUP), 0, "{fault:?}");
        assert_eq!(fixture.former("own"), former, "{fault:?}: the former ids are kept");
        let after = fixture.files();
        for (path, bytes) in &before {
            let is_unchanged = after.get(path) == Some(bytes);
            let should_stay = path.starts_with("tweets/own/") || path.starts_with("engagement/");
            assert!(is_unchanged || !should_stay, "{fault:?}: {path} changed");
            assert!(!is_unchanged || should_stay, "{fault:?}: {path} was not refreshed");
        }
        // After the fault, the deletion is found.
        fixture.advance(16 * MINUTE);
        let lines = fixture.collect();
        assert_eq!(lines_with(&lines, "DELETION_DETECTED:").len(), 1, "{fault:?}: {lines:?}");
        assert!(lines_with(&lines, "STREAM_SKIPPED").is_empty(), "{fault:?}: {lines:?}");
    }
}

#[test]
fn each_stream_is_skipped_independently() {
    for (at, stream) in [
        (endpoint::TIMELINE, "own"),
        (endpoint::MENTIONS, "mentions"),
        (endpoint::SEARCH, "searches"),
    ] {
        let (fixture, _) = fixture();
        fixture.platform.fault(at, Fault::Server(503), 1);
        let run = fixture.run();
        for each in ["own", "mentions", "searches"] {
            let expected = (each == stream).then_some("server_error");
            assert_eq!(skipped(&run, each), expected, "{stream}");
        }
        assert_eq!(run.deletions, u64::from(stream != "own"));
    }
}

#[test]
fn missing_token_or_credit_ends_the_run() {
    for (fault, reason) in [
        (Fault::Unauthorized, "unauthorized"),
        (Fault::CreditsDepleted, "payment_required"),
        (Fault::CreditsDepletedOlder, "payment_required"),
    ] {
        for (at, requests) in
            [(endpoint::TIMELINE, 1), (endpoint::MENTIONS, 2), (endpoint::SEARCH, 3)]
        {
            let (fixture, gone) = fixture();
            let former = fixture.former("own");
            drop(fixture.platform.take_log());
            fixture.platform.fault(at, fault.clone(), 1);
            fixture.lines();
            let run = fixture.run();
            let lines = fixture.lines();
            assert_eq!(
                (run.status.as_str(), run.reason.map(RunProblem::as_str)),
                ("failed", Some(reason)),
                "{run:?}"
            );
            assert!(run.message.is_some_and(|message| !message.is_empty()));
            assert_eq!(*lines.last().unwrap(), format!("RUN_FAILED:{}:{reason}", fixture.stamp()));
            assert!(
                lines_with(&lines, "RUN_COMPLETE").is_empty()
                    && lines_with(&lines, "DELETION").is_empty(),
                "{lines:?}"
            );
            assert_eq!(fixture.platform.requests(), requests, "no request follows the failed one");
            assert_eq!(
                fixture.former("own").contains(&gone),
                former.contains(&gone),
                "the post stays unverified if it was before"
            );
            let lines = fixture.collect();
            assert_eq!(lines_with(&lines, "DELETION_DETECTED:").len(), 1, "{lines:?}");
        }
    }
}

#[test]
fn partial_streams_prove_no_deletions() {
    let fixture = Fixture::with(&[("max_pages", "3")]);
    for i in 0..250 {
        fixture.platform.post_at(&fixture.ada, &format!("post {i}"), fixture.now() - 1000 + i);
    }
    fixture.collect();
    let former = fixture.former("own");
    assert_eq!(former.len(), 250);
    fixture.platform.delete(&former[5]);
    fixture.platform.fault_after(endpoint::TIMELINE, 1, Fault::Server(500), 1);
    fixture.advance(MINUTE);
    let run = fixture.run();
    assert_eq!(skipped(&run, "own"), Some("server_error"));
    assert_eq!(
        (fixture.platform.count(endpoint::LOOKUP), fixture.former("own")),
        (0, former.clone())
    );
    // The received posts are refreshed.
    assert_eq!(fixture.own(&former[0]).unwrap()["last_updated"], fixture.stamp());
    fixture.advance(MINUTE);
    assert_eq!(fixture.run().deletions, 1);
}

#[test]
fn endless_pages_are_given_up() {
    // A repeated token, and repeated pages. All pages have posts, so the stream seems to continue.
    for (good_pages, fault) in [
        (0, Fault::SameToken),
        (1, Fault::Ids((0..100).map(|i| (100 + i % 2).to_string()).collect())),
    ] {
        let fixture = Fixture::with(&[("max_pages", "20")]);
        for i in 0..400 {
            fixture.platform.post_at(&fixture.ada, &format!("post {i}"), fixture.now() - 1000 + i);
        }
        fixture.platform.fault_after(endpoint::TIMELINE, good_pages, fault.clone(), 20);
        let run = fixture.run();
        assert!(
            fixture.platform.count(endpoint::TIMELINE) <= 4,
            "{fault:?}: {}",
            fixture.platform.count(endpoint::TIMELINE)
        );
        assert!(
            ["paging", "invalid_request"].contains(&skipped(&run, "own").unwrap()),
            "{fault:?}: {run:?}"
        );
        assert_eq!(run.status.as_str(), "complete");
    }
    let fixture = Fixture::with(&[("max_pages", "5")]);
    fixture.platform.fault(endpoint::TIMELINE, Fault::EmptyPage, 50);
    fixture.run();
    assert!(fixture.platform.count(endpoint::TIMELINE) <= 5, "empty pages end at `max_pages`");
}

#[test]
fn repeated_posts_and_other_content_types_are_accepted() {
    for fault in [Fault::Twice, Fault::WrongContentType, Fault::Slow(0), Fault::WithoutFields] {
        let fixture = Fixture::new();
        let id = fixture.platform.post(&fixture.ada, "once");
        // Over a socket, a delay of zero is no fault; in process, it would be one.
        if fault != Fault::Slow(0) {
            fixture.platform.fault(endpoint::TIMELINE, fault.clone(), 1);
        }
        assert_eq!(fixture.collect()[1], "OWN_TWEETS:1 (1 new)", "{fault:?}");
        assert_eq!(fixture.snapshots(&id).len(), 1, "{fault:?}");
    }
}

#[test]
fn two_requests_per_window_are_reserved() {
    // The requests that the window allows, and how many of the three runs make one.
    for (limit, requests) in [(2, 1), (3, 1), (4, 2), (5, 3)] {
        let (fixture, _) = fixture();
        fixture.platform.limit(endpoint::MENTIONS, limit);
        let before = fixture.platform.count(endpoint::MENTIONS);
        // The previous window has ended.
        fixture.advance(HOUR);
        for _ in 0..3 {
            let run = fixture.run();
            assert_eq!(run.status.as_str(), "complete");
            assert_eq!(skipped(&run, "own"), None, "each endpoint has its own rate limit");
            fixture.advance(MINUTE);
        }
        assert_eq!(fixture.platform.count(endpoint::MENTIONS) - before, requests, "{limit}");
    }
}

#[test]
fn the_reserve_ends_with_its_window() {
    let fixture = Fixture::new();
    fixture.platform.limit(endpoint::MENTIONS, 3);
    fixture.run();
    let reset = fixture.platform.remaining(endpoint::MENTIONS).1;
    fixture.lines();
    let run = fixture.run();
    assert_eq!(skipped(&run, "mentions"), Some("rate_limited"));
    let reported_lines = fixture.lines();
    assert!(
        reported_lines.contains(&format!("STREAM_SKIPPED:mentions:rate_limited:{reset}")),
        "{reported_lines:?}"
    );
    // One second before the reset, and at the reset.
    fixture.advance((reset - 1) * 1000 - fixture.now());
    assert_eq!(skipped(&fixture.run(), "mentions"), Some("rate_limited"));
    fixture.advance(reset * 1000 + 200 - fixture.now());
    assert_eq!(skipped(&fixture.run(), "mentions"), None);
    assert_eq!(fixture.platform.count(endpoint::MENTIONS), 2);
}

#[test]
fn a_wrong_reset_time_delays_by_at_most_a_window() {
    for (seconds_ahead, is_held) in [(10 * 86_400, true), (-86_400, false)] {
        let fixture = Fixture::new();
        fixture.platform.fault(endpoint::TIMELINE, Fault::Rates("1".into(), seconds_ahead), 1);
        fixture.run();
        fixture.advance(MINUTE);
        assert_eq!(skipped(&fixture.run(), "own").is_some(), is_held, "{seconds_ahead}");
        fixture.advance(16 * MINUTE);
        assert_eq!(skipped(&fixture.run(), "own"), None, "{seconds_ahead}");
    }
    // An unreadable value does not replace the known one.
    let fixture = Fixture::new();
    fixture.run();
    fixture.platform.fault(endpoint::TIMELINE, Fault::Rates("few".into(), 0), 1);
    fixture.run();
    assert_eq!(fixture.state()["rate_limits"][endpoint::TIMELINE]["remaining"], 9999);
}

#[test]
fn all_searches_are_one_stream() {
    let (fixture, _) = fixture();
    let former = fixture.former("searches");
    assert_eq!(former.len(), 2);
    fixture.platform.fault_after(endpoint::SEARCH, 1, Fault::Server(500), 1);
    let run = fixture.run();
    assert_eq!(skipped(&run, "searches"), Some("server_error"));
    assert_eq!(fixture.former("searches"), former);
    // A rejected search is reported.
    let fixture = Fixture::with(&[("searches", r#"["-only", "owls"]"#)]);
    fixture.platform.post(&fixture.bob, "owls");
    let run = fixture.run();
    assert_eq!(run.status.as_str(), "complete");
    let words = format!("{:?} {:?}", run.warnings, run.streams);
    assert!(words.contains("-only") || words.contains("invalid_request"), "{words}");
}

#[test]
fn accounts_without_visible_posts_are_explained() {
    for (hidden, reason) in
        [("protected", "forbidden"), ("suspended", "forbidden"), ("gone", "not_found")]
    {
        let (fixture, _) = fixture();
        fixture.platform.change_account(&fixture.ada, |account| match hidden {
            "protected" => account.is_protected = true,
            "suspended" => account.is_suspended = true,
            _ => account.is_closed = true,
        });
        fixture.lines();
        let run = fixture.run();
        assert_eq!((run.status.as_str(), run.deletions), ("complete", 0), "{hidden}: {run:?}");
        assert_eq!(fixture.platform.count(endpoint::LOOKUP), 0, "{hidden}: no post was missing");
        assert_eq!(skipped(&run, "own"), Some(reason), "{hidden}: {run:?}");
    }
}

#[test]
fn no_output_and_no_file_has_the_token() {
    let (fixture, _) = fixture();
    // A platform may repeat the token in its message.
    let echo = json!({ "errors": [{ "title": "Denied", "detail": format!("to {APP_TOKEN}") }] });
    let echoed = (Fault::Exactly(echo.to_string()), "unreadable");
    let (mut faults, mut messages) = (faults_and_reasons(), String::new());
    faults.push(echoed);
    for (fault, reason) in faults {
        fixture.platform.fault(endpoint::TIMELINE, fault, 1);
        let run = fixture.run();
        // The platform answers the other streams, so it got the token.
        assert_eq!((skipped(&run, "own"), skipped(&run, "mentions")), (Some(reason), None));
        let output_text = format!("{run:?} {:?}", fixture.lines());
        assert!(!output_text.contains("FAKEAPPBEARER"), "{output_text}");
        messages += &output_text;
        fixture.advance(16 * MINUTE);
    }
    assert!(messages.contains("Denied: to …"), "the message is shown without the token");
    let files = files(fixture.outside());
    assert!(files.keys().any(|path| path.contains("tweets/own/")), "{:?}", files.keys());
    for (path, bytes) in files {
        assert!(!String::from_utf8_lossy(&bytes).contains("FAKEAPPBEARER"), "{path}");
    }
}
