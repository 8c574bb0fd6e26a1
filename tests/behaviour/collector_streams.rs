//! Streams that cannot be pulled to their end: what the run says, what it leaves alone, how it goes
//! on. Every fault of the catalogue.

use brain_protocol::CollectorRun;
use brain_tests::platform::{Fault, endpoint};

use crate::collector_world::{HOUR, Lab, MINUTE, files, with};

/// A lab with a post in each stream, one of the own ones of which is gone since the first run.
fn lab() -> (Lab, String) {
    // Without names: a refusal of these would be asked about once more.
    let lab = Lab::with(&[("searches", r#"["owls", "birds"]"#), ("authors", "ids")]);
    let gone = lab.platform.post(&lab.ada, "gone soon");
    lab.platform.post(&lab.ada, "stays");
    lab.platform.post(&lab.bob, "hi @ada");
    lab.platform.post(&lab.bob, "owls");
    lab.platform.post(&lab.bob, "birds");
    lab.collect();
    lab.platform.delete(&gone);
    lab.pass(30 * MINUTE);
    (lab, gone)
}

fn skipped<'a>(run: &'a CollectorRun, stream: &str) -> Option<&'a str> {
    let found = run.streams.iter().find(|each| each.stream == stream).unwrap();
    found.skipped.as_ref().map(|skipped| skipped.reason.as_str())
}

/// What a fault of a stream is called.
fn catalogue() -> Vec<(Fault, &'static str)> {
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
        (Fault::ServerPage(502), "server_error"),
        (Fault::ServerEmpty(503), "server_error"),
        (Fault::Garbage, "unreadable"),
        (Fault::Truncated, "unreadable"),
        (Fault::Page, "unreadable"),
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
fn each_fault_of_a_stream_skips_it_and_nothing_is_concluded() {
    for (fault, reason) in catalogue() {
        let (lab, gone) = lab();
        let before = lab.files();
        let former = lab.former("own");
        lab.platform.fault(endpoint::TIMELINE, fault.clone(), 1);
        lab.lines();
        let run = lab.run();
        let lines = lab.lines();
        assert_eq!(run.status, "complete", "{fault:?}: {run:?}");
        assert_eq!(skipped(&run, "own"), Some(reason), "{fault:?}: {run:?}");
        assert_eq!(
            (skipped(&run, "mentions"), skipped(&run, "searches")),
            (None, None),
            "{fault:?}"
        );
        let told = with(&lines, "STREAM_SKIPPED:");
        assert_eq!(told.len(), 1, "{fault:?}: {lines:?}");
        let line = format!("STREAM_SKIPPED:own:{reason}");
        assert!(told[0] == line || told[0].starts_with(&format!("{line}:")), "{fault:?}: {told:?}");
        if reason == "rate_limited" {
            let reset: i64 = told[0][line.len() + 1..].parse().unwrap();
            assert!(
                reset > lab.now() / 1000 && reset <= lab.now() / 1000 + 901,
                "{fault:?}: {told:?}"
            );
        }
        assert!(lines.last().unwrap().starts_with("RUN_COMPLETE:"), "{fault:?}: {lines:?}");
        assert!(with(&lines, "DELETION").is_empty() && lab.deletion(&gone).is_none(), "{fault:?}");
        assert_eq!(lab.platform.count(endpoint::LOOKUP), 0, "{fault:?}");
        assert_eq!(lab.former("own"), former, "{fault:?}: the former ids are kept");
        let after = lab.files();
        for (path, bytes) in &before {
            let same = after.get(path) == Some(bytes);
            let kept = path.starts_with("tweets/own/") || path.starts_with("engagement/");
            assert!(same || !kept, "{fault:?}: {path} changed");
            assert!(!same || kept, "{fault:?}: {path} was not refreshed");
        }
        // Once it is over, nothing was missed.
        lab.pass(16 * MINUTE);
        let lines = lab.collect();
        assert_eq!(with(&lines, "DELETION_DETECTED:").len(), 1, "{fault:?}: {lines:?}");
        assert!(with(&lines, "STREAM_SKIPPED").is_empty(), "{fault:?}: {lines:?}");
    }
}

#[test]
fn each_stream_is_skipped_by_itself() {
    for (at, stream) in [
        (endpoint::TIMELINE, "own"),
        (endpoint::MENTIONS, "mentions"),
        (endpoint::SEARCH, "searches"),
    ] {
        let (lab, _) = lab();
        lab.platform.fault(at, Fault::Server(503), 1);
        let run = lab.run();
        for each in ["own", "mentions", "searches"] {
            let expected = (each == stream).then_some("server_error");
            assert_eq!(skipped(&run, each), expected, "{stream}");
        }
        assert_eq!(run.deletions, u64::from(stream != "own"));
    }
}

#[test]
fn token_and_credit_end_the_run() {
    for (fault, reason) in [
        (Fault::Unauthorized, "unauthorized"),
        (Fault::CreditsDepleted, "payment_required"),
        (Fault::CreditsDepletedOlder, "payment_required"),
    ] {
        for (at, requests) in
            [(endpoint::TIMELINE, 1), (endpoint::MENTIONS, 2), (endpoint::SEARCH, 3)]
        {
            let (lab, gone) = lab();
            let former = lab.former("own");
            drop(lab.platform.take_log());
            lab.platform.fault(at, fault.clone(), 1);
            lab.lines();
            let run = lab.run();
            let lines = lab.lines();
            assert_eq!(
                (run.status.as_str(), run.reason.as_deref()),
                ("failed", Some(reason)),
                "{run:?}"
            );
            assert!(run.message.is_some_and(|message| !message.is_empty()));
            assert_eq!(*lines.last().unwrap(), format!("RUN_FAILED:{}:{reason}", lab.stamp()));
            assert!(
                with(&lines, "RUN_COMPLETE").is_empty() && with(&lines, "DELETION").is_empty(),
                "{lines:?}"
            );
            assert_eq!(lab.platform.requests(), requests, "nothing is asked after that");
            assert_eq!(
                lab.former("own").contains(&gone),
                former.contains(&gone),
                "it is still to be asked about"
            );
            let lines = lab.collect();
            assert_eq!(with(&lines, "DELETION_DETECTED:").len(), 1, "{lines:?}");
        }
    }
}

#[test]
fn a_stream_that_stops_half_way_is_not_compared() {
    let lab = Lab::with(&[("max_pages", "3")]);
    for i in 0..250 {
        lab.platform.post_at(&lab.ada, &format!("post {i}"), lab.now() - 1000 + i);
    }
    lab.collect();
    let former = lab.former("own");
    assert_eq!(former.len(), 250);
    lab.platform.delete(&former[5]);
    lab.platform.fault_after(endpoint::TIMELINE, 1, Fault::Server(500), 1);
    lab.pass(MINUTE);
    let run = lab.run();
    assert_eq!(skipped(&run, "own"), Some("server_error"));
    assert_eq!((lab.platform.count(endpoint::LOOKUP), lab.former("own")), (0, former.clone()));
    // What did come is refreshed all the same.
    assert_eq!(lab.own(&former[0]).unwrap()["last_updated"], lab.stamp());
    lab.pass(MINUTE);
    assert_eq!(lab.run().deletions, 1);
}

#[test]
fn pages_that_lead_nowhere_are_given_up() {
    // The same token each time; pages that bring the same posts; both have posts, so neither is the
    // end.
    for (good, fault) in [
        (0, Fault::SameToken),
        (1, Fault::Ids((0..100).map(|i| (100 + i % 2).to_string()).collect())),
    ] {
        let lab = Lab::with(&[("max_pages", "20")]);
        for i in 0..400 {
            lab.platform.post_at(&lab.ada, &format!("post {i}"), lab.now() - 1000 + i);
        }
        lab.platform.fault_after(endpoint::TIMELINE, good, fault.clone(), 20);
        let run = lab.run();
        assert!(
            lab.platform.count(endpoint::TIMELINE) <= 4,
            "{fault:?}: {}",
            lab.platform.count(endpoint::TIMELINE)
        );
        assert!(
            ["paging", "invalid_request"].contains(&skipped(&run, "own").unwrap()),
            "{fault:?}: {run:?}"
        );
        assert_eq!(run.status, "complete");
    }
    let lab = Lab::with(&[("max_pages", "5")]);
    lab.platform.fault(endpoint::TIMELINE, Fault::EmptyPage, 50);
    lab.run();
    assert!(lab.platform.count(endpoint::TIMELINE) <= 5, "empty pages end at the cap");
}

#[test]
fn a_page_may_have_a_post_twice_and_be_of_another_kind() {
    for fault in [Fault::Twice, Fault::WrongKind, Fault::Slow(0), Fault::WithoutFields] {
        let lab = Lab::new();
        let id = lab.platform.post(&lab.ada, "once");
        // A delay of nothing is none for a socket; in this process it would be one.
        if fault != Fault::Slow(0) {
            lab.platform.fault(endpoint::TIMELINE, fault.clone(), 1);
        }
        assert_eq!(lab.collect()[1], "OWN_TWEETS:1 (1 new)", "{fault:?}");
        assert_eq!(lab.snapshots(&id).len(), 1, "{fault:?}");
    }
}

#[test]
fn an_endpoint_is_left_alone_while_two_requests_or_fewer_are_left() {
    // Requests that the window allows, and how many of the three runs in it ask.
    for (limit, asked) in [(2, 1), (3, 1), (4, 2), (5, 3)] {
        let (lab, _) = lab();
        lab.platform.limit(endpoint::MENTIONS, limit);
        let before = lab.platform.count(endpoint::MENTIONS);
        // What is known of the former window is over.
        lab.pass(HOUR);
        for _ in 0..3 {
            let run = lab.run();
            assert_eq!(run.status, "complete");
            assert_eq!(skipped(&run, "own"), None, "each endpoint by itself");
            lab.pass(MINUTE);
        }
        assert_eq!(lab.platform.count(endpoint::MENTIONS) - before, asked, "{limit}");
    }
}

#[test]
fn the_reserve_ends_with_its_window() {
    let lab = Lab::new();
    lab.platform.limit(endpoint::MENTIONS, 3);
    lab.run();
    let reset = lab.platform.left(endpoint::MENTIONS).1;
    lab.lines();
    let run = lab.run();
    assert_eq!(skipped(&run, "mentions"), Some("rate_limited"));
    let told = lab.lines();
    assert!(told.contains(&format!("STREAM_SKIPPED:mentions:rate_limited:{reset}")), "{told:?}");
    // The second before its reset, and the reset itself.
    lab.pass((reset - 1) * 1000 - lab.now());
    assert_eq!(skipped(&lab.run(), "mentions"), Some("rate_limited"));
    lab.pass(reset * 1000 + 200 - lab.now());
    assert_eq!(skipped(&lab.run(), "mentions"), None);
    assert_eq!(lab.platform.count(endpoint::MENTIONS), 2);
}

#[test]
fn a_reset_of_a_wrong_clock_holds_no_longer_than_a_window() {
    for (ahead, held) in [(10 * 86_400, true), (-86_400, false)] {
        let lab = Lab::new();
        lab.platform.fault(endpoint::TIMELINE, Fault::Rates("1".into(), ahead), 1);
        lab.run();
        lab.pass(MINUTE);
        assert_eq!(skipped(&lab.run(), "own").is_some(), held, "{ahead}");
        lab.pass(16 * MINUTE);
        assert_eq!(skipped(&lab.run(), "own"), None, "{ahead}");
    }
    // What cannot be read leaves what is known.
    let lab = Lab::new();
    lab.run();
    lab.platform.fault(endpoint::TIMELINE, Fault::Rates("few".into(), 0), 1);
    lab.run();
    assert_eq!(lab.state()["rate_limits"][endpoint::TIMELINE]["remaining"], 9999);
}

#[test]
fn all_searches_are_one_stream() {
    let (lab, _) = lab();
    let former = lab.former("searches");
    assert_eq!(former.len(), 2);
    lab.platform.fault_after(endpoint::SEARCH, 1, Fault::Server(500), 1);
    let run = lab.run();
    assert_eq!(skipped(&run, "searches"), Some("server_error"));
    assert_eq!(lab.former("searches"), former);
    // A search that the platform refuses is told.
    let lab = Lab::with(&[("searches", r#"["-only", "owls"]"#)]);
    lab.platform.post(&lab.bob, "owls");
    let run = lab.run();
    assert_eq!(run.status, "complete");
    let words = format!("{:?} {:?}", run.warnings, run.streams);
    assert!(words.contains("-only") || words.contains("invalid_request"), "{words}");
}

#[test]
fn an_account_that_shows_nothing_says_why() {
    for hidden in ["protected", "suspended", "gone"] {
        let (lab, _) = lab();
        lab.platform.change_account(&lab.ada, |account| match hidden {
            "protected" => account.protected = true,
            "suspended" => account.suspended = true,
            _ => account.gone = true,
        });
        lab.lines();
        let run = lab.run();
        assert_eq!((run.status.as_str(), run.deletions), ("complete", 0), "{hidden}: {run:?}");
        assert_eq!(lab.platform.count(endpoint::LOOKUP), 0, "{hidden}: nobody deleted anything");
        let own = run.streams.iter().find(|each| each.stream == "own").unwrap();
        let words =
            own.skipped.as_ref().map(|skipped| skipped.message.to_lowercase()).unwrap_or_default();
        assert!(!words.is_empty(), "{hidden}: {run:?}");
    }
}

#[test]
fn the_token_goes_to_the_platform_and_nowhere_else() {
    let (lab, _) = lab();
    for (fault, _) in catalogue() {
        lab.platform.fault(endpoint::TIMELINE, fault, 1);
        let said = format!("{:?} {:?}", lab.run(), lab.lines());
        assert!(!said.contains("FAKEAPPBEARER"), "{said}");
        lab.pass(16 * MINUTE);
    }
    for (path, bytes) in files(lab.outside()) {
        assert!(!String::from_utf8_lossy(&bytes).contains("FAKEAPPBEARER"), "{path}");
    }
}
