//! Runs with a failing platform, and stopped runs.

use brain_protocol::RunProblem;
use serde_json::json;

use super::fake_platform::{
    EndpointResult, FakePlatform, HALF_HOUR, OWNER, RecordingListener, T0, post_id, status,
    three_posts,
};
use crate::fake::{FakeClient, answer};
use crate::{Endpoint, Stream, WINDOW_SECONDS};
use brain_base::clock::rfc3339;
use brain_net::Error as NetError;

fn problem(status: u16, kind: &str) -> EndpointResult {
    let body = json!({"title": "T", "detail": "D",
        "type": format!("https://api.x.com/2/problems/{kind}")});
    Ok(answer(status, &[], body.to_string()))
}

#[test]
fn a_failed_stream_is_skipped_and_not_compared() {
    let cases: [(EndpointResult, &str); 19] = [
        (status(500), "server_error"),
        (Ok(answer(503, &[], "<html>")), "server_error"),
        (status(403), "forbidden"),
        (problem(403, "credits"), "forbidden"),
        (status(404), "not_found"),
        (status(400), "invalid_request"),
        (problem(429, "usage-capped"), "usage_capped"),
        (problem(429, "streaming-connection"), "too_many_connections"),
        (status(429), "rate_limited:1795259701"),
        (Ok(answer(200, &[], "<html>")), "unreadable"),
        (Ok(answer(200, &[], "{\"data\":[{\"id\":\"1\"")), "unreadable"),
        (status(200), "unreadable"),
        (Ok(answer(200, &[], "{}")), "unreadable"),
        (Ok(answer(200, &[], r#"{"data":null}"#)), "unreadable"),
        (Ok(answer(200, &[], r#"{"data":null,"meta":null}"#)), "unreadable"),
        (Ok(answer(200, &[], r#"{"errors":[{"title":"Over capacity"}]}"#)), "unreadable"),
        (Ok(answer(200, &[], r#"{"meta":{"result_count":2}}"#)), "unreadable"),
        (Err(NetError::Timeout(30)), "unreachable"),
        (Err(NetError::ConnectionRefused), "unreachable"),
    ];
    for (failure, reason) in cases {
        for (endpoint, stream, post) in
            [("own", "own", 1), ("mentions", "mentions", 2), ("search", "searches", 3)]
        {
            let fixture = three_posts();
            fixture.delete(post);
            fixture.fail(endpoint, failure.clone());
            let (report, lines) = fixture.run();
            let skipped_lines: Vec<&String> =
                lines.iter().filter(|line| line.starts_with("STREAM_SKIPPED")).collect();
            assert_eq!(skipped_lines, [&format!("STREAM_SKIPPED:{stream}:{reason}")]);
            assert_eq!(
                (report.status.as_str(), report.deletions, report.tweets_stored),
                ("complete", 0, 2),
                "{reason}"
            );
            let skipped: Vec<_> =
                report.streams.iter().filter_map(|stream| stream.skipped.as_ref()).collect();
            assert!(
                skipped.len() == 1
                    && reason.starts_with(skipped[0].reason.as_str())
                    && !skipped[0].message.is_empty()
            );
            let parsed = Stream::parse(stream).unwrap();
            assert_eq!(fixture.previous_ids(parsed), [post], "{reason}: the earlier state stays");
            // The next run detects the deletion.
            fixture.clear_failures();
            fixture.advance(HALF_HOUR);
            assert_eq!(fixture.run().0.deletions, 1, "{stream} {reason}");
        }
    }
}

#[test]
fn a_partly_pulled_stream_is_stored_and_not_compared() {
    let fixture = three_posts();
    fixture.platform().page_size = 1;
    fixture.delete(1);
    fixture.post(10, OWNER, "new");
    fixture.post(11, OWNER, "newer");
    // One more request, then the reserve is reached.
    fixture.platform().rates.insert("own".into(), (3, (T0 + HALF_HOUR) / 1000 + 100));
    let (report, lines) = fixture.run();
    assert_eq!(lines[..2], ["OWN_TWEETS:1 (1 new)", "STREAM_SKIPPED:own:rate_limited:1795258900"]);
    assert_eq!((report.deletions, fixture.previous_ids(Stream::Own)), (0, vec![1]));
    assert!(fixture.stored(Stream::Own, 11).created_at().is_some());
    // The endpoint is blocked until its reset.
    fixture.advance(99_999);
    let from = fixture.http_client.requests().len();
    assert_eq!(fixture.run().1[0], "STREAM_SKIPPED:own:rate_limited:1795258900");
    assert!(
        !fixture.requested_paths(from).contains(&"/2/users/5/tweets".to_owned()),
        "no request was sent"
    );
    fixture.advance(1);
    fixture.platform().rates.clear();
    assert_eq!(fixture.run().0.deletions, 1);
}

#[test]
fn a_page_without_meta_is_stored_and_not_compared() {
    for (second, new, expected) in [
        (
            r#"{"data":[{"id":"10","author_id":"5"}],"errors":[{"title":"Sorry"}]}"#,
            2,
            "says: Sorry",
        ),
        (r#"{"errors":[{"title":"Sorry","detail":"half of it"}]}"#, 1, "says: Sorry: half of it"),
        ("{}", 1, "no `meta`"),
    ] {
        let mut fixture = three_posts();
        fixture.delete(1);
        fixture.http_client = FakeClient::new(move |request| {
            let first = r#"{"data":[{"id":"11","author_id":"5"}],"meta":{"next_token":"t"}}"#;
            let page = if request.target.contains("_token=t") { second } else { first };
            let own = request.target.contains("/tweets?");
            Ok(answer(if own { 200 } else { 503 }, &[], page))
        });
        let (report, lines) = fixture.run();
        assert_eq!(
            lines[..2],
            [format!("OWN_TWEETS:{new} ({new} new)"), "STREAM_SKIPPED:own:unreadable".into()]
        );
        let skipped = report.streams[0].skipped.as_ref().unwrap();
        assert!(skipped.message.contains(expected), "{}", skipped.message);
        assert_eq!((report.deletions, fixture.previous_ids(Stream::Own)), (0, vec![1]), "{second}");
        assert!(fixture.data.post(Stream::Own, &post_id(11)).unwrap().is_some());
    }
}

#[test]
fn an_account_refusal_of_any_request_ends_the_run() {
    for (failure, reason) in
        [(status(401), "unauthorized"), (problem(402, "credits"), "payment_required")]
    {
        for (endpoint, stored) in [("own", 0), ("mentions", 1), ("search", 2), ("lookup", 3)] {
            let fixture = three_posts();
            fixture.delete(1);
            fixture.post(21, OWNER, "new");
            fixture.post(22, "6", "new @owner");
            fixture.post(23, "7", "new text");
            let previous_ids =
                |fixture: &FakePlatform| Stream::ALL.map(|stream| fixture.previous_ids(stream));
            let before = previous_ids(&fixture);
            fixture.platform().rates.insert("own".into(), (17, (T0 + HALF_HOUR) / 1000 + 60));
            fixture.fail(endpoint, failure.clone());
            let listener = RecordingListener::default();
            let report = fixture.run_with(&listener).unwrap();
            let lines = listener.lines.into_inner();
            let at = rfc3339(T0 + HALF_HOUR);
            assert_eq!(lines.last().unwrap(), &format!("RUN_FAILED:{at}:{reason}"));
            assert!(
                !lines
                    .iter()
                    .any(|line| line.starts_with("RUN_COMPLETE")
                        || line.starts_with("STREAM_SKIPPED"))
            );
            assert_eq!(
                (report.status.as_str(), report.reason.map(RunProblem::as_str)),
                ("failed", Some(reason))
            );
            assert!(report.message.as_ref().unwrap().contains("; "), "{report:?}");
            assert_eq!(previous_ids(&fixture), before, "{endpoint}");
            let new_posts = [(Stream::Own, 21), (Stream::Mentions, 22), (Stream::Searches, 23)];
            let is_stored = |&(stream, id): &(Stream, u64)| {
                fixture.data.post(stream, &post_id(id)).unwrap().is_some()
            };
            let stored_posts = new_posts.into_iter().filter(is_stored);
            assert_eq!(stored_posts.count(), stored, "{endpoint}");
            let rates = fixture.state().rate_limits;
            let own_rate = rates.all().find(|(name, _)| *name == "/2/users/:id/tweets");
            assert_eq!(
                own_rate.map(|(_, rate)| rate.remaining),
                Some(16),
                "the rate limit is saved"
            );
            fixture.clear_failures();
            assert_eq!(fixture.run().0.deletions, 1);
        }
    }
}

#[test]
fn metrics_before_a_refusal_are_tracked() {
    let fixture = three_posts();
    fixture.like(1, 101);
    fixture.fail("search", status(401));
    let (report, lines) = fixture.run();
    assert_eq!(
        (report.velocity_alerts, report.reason.map(RunProblem::as_str)),
        (1, Some("unauthorized"))
    );
    assert!(lines.contains(&"VELOCITY_ALERT:1:likes:0->101:30min".to_owned()), "{lines:?}");
}

#[test]
fn a_run_without_any_answer_fails_and_the_next_catches_up() {
    for (failure, reason) in [
        (Err(NetError::ConnectionRefused), "unreachable"),
        (Err(NetError::Timeout(30)), "unreachable"),
        (status(503), "server_error"),
        (Ok(answer(200, &[], "{}")), "unreadable"),
    ] {
        let fixture = three_posts();
        fixture.delete(1);
        for endpoint in ["own", "mentions", "search"] {
            fixture.fail(endpoint, failure.clone());
        }
        let (report, lines) = fixture.run();
        let skipped = ["own", "mentions", "searches"]
            .map(|stream| format!("STREAM_SKIPPED:{stream}:{reason}"));
        assert_eq!(lines, skipped);
        assert_eq!(
            (report.status.as_str(), report.reason.map(RunProblem::as_str)),
            ("failed", Some(reason))
        );
        assert!(report.message.unwrap().starts_with("no stream had an answer: "));
        assert_eq!(Stream::ALL.map(|stream| fixture.previous_ids(stream)), [[1], [2], [3]]);
        fixture.clear_failures();
        assert_eq!(fixture.run().0.deletions, 1);
    }
    // Without searches there are two streams.
    let fixture = FakePlatform::new(&[]);
    fixture.fail("own", Err(NetError::ConnectionRefused));
    assert_eq!(fixture.run().0.status.as_str(), "complete", "one of two streams had an answer");
    fixture.fail("mentions", Err(NetError::ConnectionRefused));
    assert_eq!(fixture.run().0.reason.map(RunProblem::as_str), Some("unreachable"));
    // A refusal is an answer.
    for refusal in [429, 403] {
        fixture.fail("own", status(refusal));
        assert_eq!(fixture.run().0.status.as_str(), "complete", "{refusal}");
        fixture.advance(HALF_HOUR);
    }
}

#[test]
fn an_inconclusive_lookup_is_repeated() {
    for failure in [
        status(403),
        status(429),
        status(500),
        status(400),
        Ok(answer(200, &[], "<html>")),
        Ok(answer(200, &[], r#"{"data":{"id":"2"}}"#)),
        Ok(answer(200, &[], r#"{"errors":[{"title":"?","type":"about:blank","value":"1"}]}"#)),
        Err(NetError::Timeout(30)),
    ] {
        let fixture = three_posts();
        fixture.delete(1);
        fixture.fail("lookup", failure);
        let (report, lines) = fixture.run();
        assert_eq!(
            (report.deletions, report.unverified, report.status.as_str()),
            (0, 1, "complete")
        );
        assert!(
            !lines.iter().any(|line| line.starts_with("DELETION"))
                && !fixture.data.is_deleted(&post_id(1))
        );
        assert_eq!(fixture.previous_ids(Stream::Own), [1]);
        fixture.clear_failures();
        fixture.advance(HALF_HOUR);
        let (report, _) = fixture.run();
        assert_eq!((report.deletions, report.unverified), (1, 0));
    }
}

#[test]
fn lookups_have_their_own_reserve() {
    let fixture = FakePlatform::new(&[]);
    for id in 1..=9 {
        fixture.post(id, OWNER, "text");
    }
    fixture.run();
    for id in 1..=9 {
        fixture.delete(id);
    }
    let reset = T0 / 1000 + 600;
    fixture.platform().rates.insert("lookup".into(), (6, reset));
    let from = fixture.http_client.requests().len();
    let (report, _) = fixture.run();
    assert_eq!(
        fixture.requested_paths(from)[2..],
        ["/2/tweets/9", "/2/tweets/8", "/2/tweets/7", "/2/tweets/6"]
    );
    assert_eq!((report.deletions, report.unverified), (4, 5));
    assert!(
        report.warnings.iter().any(|warning| warning.contains("5 missing posts wait for a lookup")),
        "{:?}",
        report.warnings
    );
    assert_eq!(fixture.previous_ids(Stream::Own), [5, 4, 3, 2, 1]);
    assert_eq!(fixture.run().0.deletions, 0);
    fixture.advance(600_000);
    fixture.platform().rates.clear();
    assert_eq!((fixture.run().0.deletions, fixture.previous_ids(Stream::Own)), (5, vec![]));
}

#[test]
fn a_refused_search_does_not_stop_the_others() {
    let fixture = FakePlatform::new(&["one", "two", "three"]);
    fixture.post(1, "6", "one");
    fixture.post(3, "6", "three");
    fixture.fail("search two", problem(400, "invalid-request"));
    let (report, lines) = fixture.run();
    assert_eq!((report.streams[2].total, report.requests), (2, 5));
    assert_eq!(lines[2], "STREAM_SKIPPED:searches:invalid_request");
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.starts_with("the search `two` is refused: HTTP 400: T: D"))
    );
    // After a timeout, no further search is tried.
    fixture.fail("search", Err(NetError::Timeout(30)));
    assert_eq!(fixture.run().0.requests, 3);
}

#[test]
fn refused_expansions_are_omitted() {
    let refusal = r#"{"title":"Invalid Request","detail":"expansions [author_id] is not allowed"}"#;
    for status in [400, 403] {
        let mut fixture = FakePlatform::new(&["text"]);
        fixture.settings.request_authors = true;
        let page = r#"{"data":[{"id":"7","author_id":"6"}],"meta":{"result_count":1}}"#;
        fixture.http_client = FakeClient::new(move |request| {
            let refused = request.target.contains("expansions=");
            Ok(answer(
                if refused { status } else { 200 },
                &[],
                if refused { refusal } else { page },
            ))
        });
        let (report, lines) = fixture.run();
        assert_eq!(lines, ["OWN_TWEETS:1 (1 new)", "MENTIONS:1 (1 new)"]);
        assert_eq!(report.requests, 4, "later requests omit expansions");
        let warning = &report.warnings[0];
        assert!(
            warning.contains("expansions [author_id]") && warning.contains("collector.authors"),
            "{warning}"
        );
        assert_eq!(fixture.stored(Stream::Mentions, 7).author(), "6");
    }
    // If the request without expansions is refused, too, expansions are not the cause.
    let mut fixture = FakePlatform::new(&[]);
    fixture.settings.request_authors = true;
    fixture.fail("own", status(403));
    let (report, lines) = fixture.run();
    assert_eq!((lines[0].as_str(), report.requests), ("STREAM_SKIPPED:own:forbidden", 3));
}

#[test]
fn endless_pages_are_abandoned() {
    let page = |ids: &[u64], next: &str| {
        let posts: Vec<_> = ids.iter().map(|id| json!({"id": id.to_string()})).collect();
        Ok(answer(200, &[], json!({"data": posts, "meta": {"next_token": next}}).to_string()))
    };
    for (failure, requests) in [(page(&[8], "t"), 2), (page(&[], "t"), 2)] {
        let fixture = three_posts();
        fixture.delete(1);
        fixture.fail("own", failure);
        let (report, lines) = fixture.run();
        assert!(lines.contains(&"STREAM_SKIPPED:own:paging".to_owned()), "{lines:?}");
        assert_eq!((report.requests, report.deletions), (requests + 2, 0));
        assert_eq!(fixture.previous_ids(Stream::Own), [1]);
    }
    // The page limit ends the pull, whatever token its last page has.
    let mut fixture = three_posts();
    fixture.settings.max_pages = 1;
    fixture.delete(1);
    fixture.fail("own", page(&[8], "t"));
    let (report, _) = fixture.run();
    assert_eq!(
        (report.deletions, fixture.state().streams["own"].next_token.as_deref()),
        (1, Some("t"))
    );
}

#[test]
fn the_pull_continues_after_an_empty_page() {
    let fixture = FakePlatform::new(&[]);
    fixture.fail("own", Ok(answer(200, &[], r#"{"meta":{"result_count":0,"next_token":"t"}}"#)));
    let (report, lines) = fixture.run();
    // A repeated token ends the pull.
    assert_eq!((report.requests, lines[1].as_str()), (3, "STREAM_SKIPPED:own:paging"));
}

#[test]
fn repeated_posts_end_a_pull_and_empty_pages_do_not() {
    for (post, expected_line, requests) in
        [(Some("8"), "STREAM_SKIPPED:own:paging", 2), (None, "MENTIONS:0 (0 new)", 5)]
    {
        let mut fixture = FakePlatform::new(&[]);
        fixture.settings.max_pages = 5;
        // Each page has a new, longer token.
        fixture.http_client = FakeClient::new(move |request| {
            let posts: Vec<_> = post.iter().map(|id| json!({"id": id})).collect();
            let mut body =
                json!({"data": posts, "meta": {"next_token": "t".repeat(request.target.len())}});
            if request.target.contains("mentions") {
                body = json!({"meta": {"result_count": 0}});
            }
            Ok(answer(200, &[], body.to_string()))
        });
        let (report, lines) = fixture.run();
        assert_eq!((lines[1].as_str(), report.requests), (expected_line, requests + 1));
    }
}

#[test]
fn a_reset_far_ahead_blocks_for_one_window() {
    let fixture = FakePlatform::new(&[]);
    let mut state = fixture.state();
    let reset = (T0 / 1000 + 365 * 86_400).to_string();
    state.rate_limits.record(Endpoint::Timeline, Some("1"), Some(&reset));
    fixture.data.prepare().unwrap();
    state.save(&fixture.data).unwrap();
    let skipped = format!("STREAM_SKIPPED:own:rate_limited:{}", T0 / 1000 + WINDOW_SECONDS);
    assert_eq!(fixture.run().1[0], skipped);
    fixture.advance((WINDOW_SECONDS - 1) * 1000);
    assert_eq!(fixture.run().1[0], skipped);
    fixture.advance(1000);
    assert_eq!(fixture.run().1[0], "OWN_TWEETS:0 (0 new)");
}

#[test]
fn without_an_account_only_searches_are_pulled() {
    let mut fixture = three_posts();
    fixture.settings.user_id = None;
    let (report, lines) = fixture.run();
    assert_eq!(lines, ["STREAM_SKIPPED:own:no_user", "STREAM_SKIPPED:mentions:no_user"]);
    assert_eq!(
        (report.requests, report.tweets_stored, fixture.previous_ids(Stream::Own)),
        (1, 1, vec![1])
    );
}

#[test]
fn an_empty_own_timeline_is_a_warning() {
    let fixture = FakePlatform::new(&[]);
    assert!(fixture.run().0.warnings[0].contains("protected"));
}

#[test]
fn a_stopped_run_changes_no_stream() {
    let mut steps = 0;
    loop {
        steps += 1;
        let fixture = three_posts();
        fixture.delete(1);
        fixture.like(2, 500);
        let listener = RecordingListener { stop_at: Some(steps), ..RecordingListener::default() };
        let report = fixture.run_with(&listener).unwrap();
        if report.reason.is_none() {
            break;
        }
        assert_eq!(report.reason.map(RunProblem::as_str), Some("stopped"));
        assert!(listener.lines.into_inner().last().unwrap().ends_with(":stopped"));
        assert_eq!(Stream::ALL.map(|stream| fixture.previous_ids(stream)), [[1], [2], [3]]);
        let (report, _) = fixture.run();
        assert_eq!((report.deletions, report.velocity_alerts), (1, 1));
    }
    assert_eq!(steps, 5, "a run has four steps: own, mentions, search and lookup");
}
