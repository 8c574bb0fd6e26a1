//! Tests of rate limits, and of the end of a run of lookups.

use brain_net::Error as NetError;

use super::*;

#[test]
fn the_reserve_is_checked_before_each_request() {
    const HEAD: &[(&str, &str)] =
        &[("x-rate-limit-remaining", "2"), ("x-rate-limit-reset", "1795257345")];
    let http_client = always(200, HEAD, EMPTY);
    with_platform(&http_client, |platform| {
        platform.timeline(&user(), Expansions::default(), None).unwrap();
        let fault = platform.timeline(&user(), Expansions::default(), Some("t")).unwrap_err();
        assert_eq!(fault.reason, FaultReason::RateLimited(NOW + 300));
        platform.search("one", Expansions::default(), None, None).unwrap();
        platform.search("two", Expansions::default(), None, None).unwrap_err();
        platform.lookup(&id("17")).unwrap();
        assert_eq!(
            platform.lookup(&id("18")).unwrap_err().reason,
            FaultReason::RateLimited(NOW + 300)
        );
        assert_eq!(platform.requests, 3, "nothing is sent to blocked endpoints");
    });
    assert_eq!(http_client.requests().len(), 3);
}

#[test]
fn a_429_blocks_its_endpoint_unless_it_is_a_usage_cap() {
    const HEAD: &[(&str, &str)] =
        &[("x-rate-limit-remaining", "39999"), ("x-rate-limit-reset", "1795257345")];
    with_platform(&always(429, HEAD, "{}"), |platform| {
        let fault = platform.timeline(&user(), Expansions::default(), None).unwrap_err();
        assert_eq!(fault.reason, FaultReason::RateLimited(NOW + 300));
        assert_eq!(
            platform.timeline(&user(), Expansions::default(), None).unwrap_err().reason,
            FaultReason::RateLimited(NOW + 300)
        );
        assert_eq!(platform.requests, 1);
    });
    with_platform(&always(429, HEAD, r#"{"title":"UsageCapExceeded"}"#), |platform| {
        for _ in 0..2 {
            let fault = platform.timeline(&user(), Expansions::default(), None).unwrap_err();
            assert_eq!(fault.reason, FaultReason::UsageCapped);
        }
        assert_eq!(platform.requests, 2);
    });
}

#[test]
fn lookups_end_only_if_no_other_can_succeed() {
    let problem =
        |kind: &str| json!({"type": format!("https://api.x.com/2/problems/{kind}")}).to_string();
    for (status, body, ends) in [
        (400, String::new(), false),
        (401, String::new(), true),
        (402, problem("credits"), true),
        (403, problem("client-forbidden"), true),
        (403, problem("credits"), true),
        (403, json!({"type": "about:blank"}).to_string(), false),
        (429, String::new(), true),
        (429, problem("usage-capped"), true),
        (500, String::new(), false),
        (200, "<html>".into(), false),
    ] {
        let verdict = with_platform(&always(status, &[], body.clone()), |platform| {
            platform.lookup(&id("17"))
        });
        assert_eq!(verdict.is_err(), ends, "{status} {body}");
        assert!(verdict.is_err() || verdict == Ok(Verdict::Unknown), "{status} {body}");
    }
    with_platform(&FakeClient::new(|_| Err(NetError::Timeout(30))), |platform| {
        assert_eq!(platform.lookup(&id("1")), Ok(Verdict::Unknown));
        assert_eq!(platform.lookup(&id("2")), Ok(Verdict::Unknown));
        assert_eq!(platform.lookup(&id("3")).unwrap_err().reason, FaultReason::Unreachable);
    });
    // Answers in between reset the count of timeouts.
    let sometimes_answering = FakeClient::new(|request| match request.target.ends_with('0') {
        true => Ok(answer(500, &[], "")),
        false => Err(NetError::Timeout(30)),
    });
    with_platform(&sometimes_answering, |platform| {
        for post in ["1", "2", "10", "3", "4", "20", "5", "6"] {
            assert_eq!(platform.lookup(&id(post)), Ok(Verdict::Unknown), "{post}");
        }
    });
}
