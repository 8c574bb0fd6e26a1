use serde_json::json;

use super::*;
use crate::fake::{FakeLink, answer};
use crate::{AUTHOR, COLLECTED_AT, MEDIA, WINDOW_S};
use brain_net::Error as NetError;

const NOW: i64 = 1_795_257_045;
const TOKEN: &str = "AAAA-secret-token";
/// An empty list.
const EMPTY: &str = r#"{"meta":{"result_count":0}}"#;

/// Runs `act` with a platform behind this link.
fn with_platform<T>(link: &FakeLink, act: impl FnOnce(&mut Platform<'_>) -> T) -> T {
    let (base, token) = (Url::parse("http://platform.test/api/").unwrap(), Secret::new(TOKEN));
    let now = || NOW * 1000;
    act(&mut Platform::new(link, &base, &token, Rates::default(), &now))
}

/// A link with a constant answer.
fn always(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: impl Into<Vec<u8>>,
) -> FakeLink {
    let body = body.into();
    FakeLink::new(move |_| Ok(answer(status, headers, body.clone())))
}

fn me(platform: &mut Platform<'_>) -> Result<Account, PlatformFault> {
    platform.me()
}

fn user() -> UserId {
    UserId::parse("5").unwrap()
}

fn id(id: &str) -> PostId {
    PostId::parse(id).unwrap()
}

#[test]
fn requests_are_as_the_platform_documents_them() {
    let link = always(200, &[], EMPTY);
    let (bare, all) = (Expansions::default(), Expansions { authors: true, media: true });
    with_platform(&link, |platform| {
        platform.timeline(&user(), bare, None).unwrap();
        platform.mentions(&user(), all, Some("t+/k&")).unwrap();
        platform.search("(\"a b\" OR c,d) -from:me #ü+", bare, Some(&id("17")), Some("t")).unwrap();
        platform.lookup(&id("17")).unwrap();
        let _ = platform.me();
        let _ = platform.by_username("al/ice?");
    });
    let requests = link.requests();
    let targets: Vec<&str> = requests.iter().map(|request| request.target.as_str()).collect();
    let fields = format!("max_results=100&tweet.fields={POST_FIELDS}");
    assert!(!POST_FIELDS.contains(char::is_whitespace));
    assert_eq!(
        targets,
        [
            format!("/api/2/users/5/tweets?{fields}"),
            format!(
                "/api/2/users/5/mentions?{fields}&expansions=author_id,attachments.media_keys&\
                 user.fields={USER_FIELDS}&media.fields={MEDIA_FIELDS}&pagination_token=t%2B%2Fk%26"
            ),
            format!(
                "/api/2/tweets/search/recent?query=%28%22a%20b%22%20OR%20c,\
                 d%29%20-from%3Ame%20%23%C3%BC%2B&{fields}&since_id=17&next_token=t"
            ),
            "/api/2/tweets/17".to_owned(),
            "/api/2/users/me".to_owned(),
            "/api/2/users/by/username/al%2Fice%3F".to_owned(),
        ]
    );
    assert!(requests.iter().all(
        |request| request.authorization == format!("Bearer {TOKEN}") && request.body.is_none()
    ));
}

/// A page with one post, related objects and invalid posts.
fn full_page() -> Value {
    json!({
        "data": [
            {"id": "17", "author_id": "5", "text": "t",
                "attachments": {"media_keys": ["3_1", "3_2"]}, "note_post": {"text": "tt"},
                AUTHOR: "forged", COLLECTED_AT: "forged", "public_metrics": {"repost_count": 3}},
            {"id": 18}, {"id": "x/../y"}, {"text": "none"}, null, "19",
            {"id": "20", "author_id": "6"}
        ],
        "includes": {"users": [{"id": "5", "username": "alice", "name": "Alice"}, {"id": 6}],
            "posts": [{"id": "99"}],
            "media": [{"media_key": "3_1", "url": "https://x"}]},
        "errors": [{"resource_id": "98", "section": "includes",
            "type": "https://api.x.com/2/problems/resource-not-found"}],
        "meta": {"result_count": 7, "next_token": "more"},
        "later": 1
    })
}

#[test]
fn posts_have_authors_and_pictures_and_invalid_ones_are_skipped() {
    let link = always(200, &[], full_page().to_string());
    let page =
        with_platform(&link, |platform| platform.timeline(&user(), Expansions::default(), None))
            .unwrap();
    assert_eq!(page.next.as_deref(), Some("more"));
    let ids: Vec<&str> = page.posts.iter().map(|post| post.id().as_str()).collect();
    assert_eq!(ids, ["17", "20"]);
    let (post, bare) = (&page.posts[0], &page.posts[1]);
    assert_eq!((post.author_handle(), post.text()), (Some("alice"), "tt"));
    assert_eq!(post.fields()[MEDIA], json!([{"media_key": "3_1", "url": "https://x"}]));
    assert!(!post.fields().contains_key(COLLECTED_AT), "a field of the collector");
    assert_eq!(bare.fields().len(), 2);
}

#[test]
fn pages_in_other_shapes() {
    for (body, posts, next) in [
        (json!({"meta": {"result_count": 0}}), 0, None),
        (json!({"meta": {"result_count": 0}, "data": null}), 0, None),
        (json!({"meta": {}, "data": []}), 0, None),
        (json!({"meta": {"result_count": 0, "next_token": "t"}}), 0, Some("t")),
        (json!({"data": {"id": "17"}, "meta": {"next_token": ""}}), 1, None),
        (json!({"data": [{"id": "17"}], "includes": [], "meta": {}}), 1, None),
        (json!({"errors": [{"resource_id": "98", "section": "includes"}], "meta": {}}), 0, None),
    ] {
        let link = always(200, &[], body.to_string());
        let page = with_platform(&link, |platform| {
            platform.timeline(&user(), Expansions::default(), None)
        })
        .unwrap();
        assert_eq!((page.posts.len(), page.next.as_deref()), (posts, next), "{body}");
        assert_eq!(page.incomplete, None, "{body}");
    }
    // The page has posts, but its `meta` is missing.
    for meta in [json!(null), json!([]), json!("x")] {
        let body = json!({"data": [{"id": "17"}], "meta": meta,
            "errors": [{"title": "Sorry", "detail": "no more"}]});
        let link = always(200, &[], body.to_string());
        let page = with_platform(&link, |platform| {
            platform.timeline(&user(), Expansions::default(), None)
        })
        .unwrap();
        let fault = page.incomplete.unwrap();
        assert_eq!((page.posts.len(), fault.reason), (1, FaultReason::Unreadable));
        assert!(
            fault.message.contains("`meta`; the platform says: Sorry: no more"),
            "{}",
            fault.message
        );
    }
    let garbage = [
        "{}",
        "{\"data\":null}",
        "{\"data\":null,\"meta\":null}",
        "{\"meta\":{\"result_count\":3}}",
        "{\"errors\":[{\"resource_id\":\"98\",\"section\":\"includes\"}]}",
        "",
        "<html>",
        "[]",
        "null",
        "{\"data\":\"x\"}",
        "{\"data\":[{\"id\":\"1",
        "{\"status\":503,\"title\":\"x\"}",
    ];
    for body in garbage {
        let link = always(200, &[], body);
        let fault = with_platform(&link, |platform| {
            platform.search("q", Expansions::default(), None, None)
        })
        .unwrap_err();
        assert_eq!(fault.reason, FaultReason::Unreadable, "{body}");
    }
}

#[test]
fn an_unreadable_timeline_is_a_fault() {
    let error = |value: Value| json!({"errors": [value]}).to_string();
    let not_found = json!({"value": "5", "parameter": "id", "resource_id": "5",
        "resource_type": "user", "title": "Not Found Error",
        "detail": "Could not find user with id: [5].",
        "type": "https://api.twitter.com/2/problems/resource-not-found"});
    let suspended = json!({"value": "5", "parameter": "id", "resource_id": "5",
        "resource_type": "user", "title": "Forbidden",
        "detail": "User has been suspended: [5].",
        "type": "https://api.twitter.com/2/problems/resource-not-found"});
    let protected = json!({"resource_id": "5", "title": "Authorization Error",
        "type": "https://api.x.com/2/problems/not-authorized-for-resource"});
    for (body, reason) in [
        (not_found, FaultReason::NotFound),
        (suspended, FaultReason::Forbidden),
        (protected, FaultReason::Forbidden),
    ] {
        let link = always(200, &[], error(body.clone()));
        let fault = with_platform(&link, |platform| {
            platform.mentions(&user(), Expansions::default(), None)
        })
        .unwrap_err();
        assert_eq!(fault.reason, reason, "{body}");
        assert!(fault.message.starts_with("HTTP 200: ") && !fault.hint.is_empty());
    }
}

#[test]
fn accounts_are_found_by_token_and_by_handle() {
    let link =
        always(200, &[], r#"{"data":{"id":"9007199254740993","username":"alice","name":"A"}}"#);
    let account = Account { id: "9007199254740993".into(), username: "alice".into() };
    assert_eq!(with_platform(&link, me).unwrap(), account);
    assert_eq!(with_platform(&link, |platform| platform.by_username("alice")).unwrap(), account);
    let missing = r#"{"errors":[{"value":"alice","resource_id":"alice","title":"Not Found Error",
        "type":"https://api.x.com/2/problems/resource-not-found",
        "detail":"Could not find user with username: [alice]."}]}"#;
    let fault = with_platform(&always(200, &[], missing), |platform| platform.by_username("alice"))
        .unwrap_err();
    assert_eq!(
        (fault.reason, fault.problem.as_str()),
        (FaultReason::NotFound, "resource-not-found")
    );
    let unrelated = r#"{"errors":[{"title":"Asleep","detail":"come back"}]}"#;
    let fault =
        with_platform(&always(200, &[], unrelated), |platform| platform.by_username("alice"))
            .unwrap_err();
    assert_eq!(fault.reason, FaultReason::Unreadable);
    assert!(
        fault.message.contains("no account; the platform says: Asleep: come back"),
        "{}",
        fault.message
    );
    for body in [
        r#"{"data":{"id":17,"username":"alice"}}"#,
        r#"{"data":{"id":"x","username":"a"}}"#,
        "{}",
        "<html>",
    ] {
        assert_eq!(
            with_platform(&always(200, &[], body), me).unwrap_err().reason,
            FaultReason::Unreadable,
            "{body}"
        );
    }
}

#[test]
fn every_refusal_has_a_reason_and_a_hint() {
    let limited = FaultReason::RateLimited(NOW + WINDOW_S);
    let blank = |status: u16, title: &str| {
        json!({"title": title, "detail": title, "type": "about:blank", "status": status})
            .to_string()
    };
    let of = |kind: &str, more: Value| {
        let mut body = json!({"type": format!("https://api.x.com/2/problems/{kind}")});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body.to_string()
    };
    for (status, body, reason, message, hint) in [
        (
            400,
            json!({"errors": [{"parameters": {"query": ["x"]}, "message": "missing an operator"}],
            "title": "Invalid Request",
            "detail": "One or more parameters to your request was invalid.",
            "type": "https://api.twitter.com/2/problems/invalid-request"})
            .to_string(),
            FaultReason::InvalidRequest,
            "Invalid Request: missing an operator",
            "collector.searches",
        ),
        (
            401,
            blank(401, "Unauthorized"),
            FaultReason::Unauthorized,
            "HTTP 401: Unauthorized",
            "collector setup",
        ),
        (
            402,
            of(
                "credits-depleted",
                json!({"detail": "credits depleted", "status": 402,
            "title": "Payment Required"}),
            ),
            FaultReason::PaymentRequired,
            "Payment Required: credits depleted",
            "add credits",
        ),
        (
            402,
            of(
                "credits",
                json!({"account_id": 1_900_000_000_000_000_001_u64,
            "title": "CreditsDepleted",
            "detail": "Your enrolled account [1900000000000000001] does not have any credits"}),
            ),
            FaultReason::PaymentRequired,
            "[1900000000000000001]",
            "add credits",
        ),
        (
            402,
            String::new(),
            FaultReason::PaymentRequired,
            "HTTP 402: no reason given",
            "add credits",
        ),
        (
            403,
            of(
                "unsupported-authentication",
                json!({"title": "Unsupported Authentication",
                "detail": "Application-Only is forbidden"}),
            ),
            FaultReason::Forbidden,
            "Application-Only",
            "user context",
        ),
        (
            403,
            of(
                "client-forbidden",
                json!({"title": "Client Forbidden",
            "reason": "client-not-enrolled",
            "registration_url": "https://developer.x.com/apps"}),
            ),
            FaultReason::Forbidden,
            "Client Forbidden",
            "https://developer.x.com/apps",
        ),
        (
            403,
            of("credits", json!({"title": "SpendCapReached", "reset_date": "2026-12-01"})),
            FaultReason::Forbidden,
            "SpendCapReached",
            "until 2026-12-01",
        ),
        (
            403,
            blank(403, "Forbidden"),
            FaultReason::Forbidden,
            "HTTP 403: Forbidden",
            "access level",
        ),
        (404, String::new(), FaultReason::NotFound, "HTTP 404", "collector.user_id"),
        (
            409,
            of("conflict", json!({"title": "x"})),
            FaultReason::InvalidRequest,
            "HTTP 409: x",
            "check",
        ),
        (429, blank(429, "Too Many Requests"), limited, "Too Many Requests", "60m"),
        (
            429,
            json!({"errors": [{"code": 88, "message": "Rate limit exceeded"}]}).to_string(),
            limited,
            "Rate limit exceeded",
            "60m",
        ),
        (429, String::new(), limited, "HTTP 429", "60m"),
        (
            429,
            of(
                "usage-capped",
                json!({"title": "UsageCapExceeded", "period": "Monthly",
            "scope": "Product"}),
            ),
            FaultReason::UsageCapped,
            "UsageCapExceeded",
            "(Monthly)",
        ),
        (
            429,
            of(
                "streaming-connection",
                json!({"title": "ConnectionException", "connection_issue": "TooManyConnections"}),
            ),
            FaultReason::TooManyConnections,
            "ConnectionException",
            "another connection",
        ),
        (
            500,
            blank(500, "Internal Server Error"),
            FaultReason::ServerError,
            "Internal Server Error",
            "next run",
        ),
        (
            503,
            "<html>\u{1b}[2J over capacity</html>".into(),
            FaultReason::ServerError,
            "HTTP 503: no reason given",
            "next run",
        ),
        (301, String::new(), FaultReason::Unreadable, "HTTP 301", "redirects"),
    ] {
        let link = always(status, &[], body.clone());
        let fault = with_platform(&link, |platform| {
            platform.timeline(&user(), Expansions::default(), None)
        })
        .unwrap_err();
        assert_eq!(fault.reason, reason, "{status} {body}");
        assert!(fault.message.contains(message), "{status}: {}", fault.message);
        assert!(fault.hint.contains(hint), "{status} {message}: {}", fault.hint);
        assert_eq!(fault.reason.ends_the_run(), status == 401 || status == 402);
    }
}

#[test]
fn messages_are_one_short_line_without_the_token() {
    let long = format!("one\r\ntwo\u{2028}three {TOKEN} \u{1b}[2J{}", "x".repeat(5000));
    let body =
        json!({"title": long, "detail": long, "type": "about:blank", "registration_url": long})
            .to_string();
    for status in [400, 401, 403, 429, 500] {
        let fault = with_platform(&always(status, &[], body.clone()), me).unwrap_err();
        let text = format!("{} {} {}", fault.message, fault.hint, fault.problem);
        assert!(
            text.chars().count() < 800 && !text.contains(TOKEN) && !text.contains(char::is_control),
            "{text}"
        );
    }
    let link = FakeLink::new(|_| Err(NetError::ConnectionRefused));
    let fault = with_platform(&link, me).unwrap_err();
    assert_eq!(fault.reason, FaultReason::Unreachable);
    assert!(
        fault.message.starts_with("platform.test: ")
            && fault.hint.contains("collector.platform_api")
    );
    assert_eq!(
        with_platform(&FakeLink::new(|_| Err(NetError::TooLarge(9))), me).unwrap_err().reason,
        FaultReason::Unreadable
    );
}

#[test]
fn the_reserve_is_checked_before_each_request() {
    const HEAD: &[(&str, &str)] =
        &[("x-rate-limit-remaining", "2"), ("x-rate-limit-reset", "1795257345")];
    let link = always(200, HEAD, EMPTY);
    with_platform(&link, |platform| {
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
    assert_eq!(link.requests().len(), 3);
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
    let of =
        |kind: &str| json!({"type": format!("https://api.x.com/2/problems/{kind}")}).to_string();
    for (status, body, ends) in [
        (400, String::new(), false),
        (401, String::new(), true),
        (402, of("credits"), true),
        (403, of("client-forbidden"), true),
        (403, of("credits"), true),
        (403, json!({"type": "about:blank"}).to_string(), false),
        (429, String::new(), true),
        (429, of("usage-capped"), true),
        (500, String::new(), false),
        (200, "<html>".into(), false),
    ] {
        let verdict = with_platform(&always(status, &[], body.clone()), |platform| {
            platform.lookup(&id("17"))
        });
        assert_eq!(verdict.is_err(), ends, "{status} {body}");
        assert!(verdict.is_err() || verdict == Ok(Verdict::Unknown), "{status} {body}");
    }
    with_platform(&FakeLink::new(|_| Err(NetError::Timeout(30))), |platform| {
        assert_eq!(platform.lookup(&id("1")), Ok(Verdict::Unknown));
        assert_eq!(platform.lookup(&id("2")), Ok(Verdict::Unknown));
        assert_eq!(platform.lookup(&id("3")).unwrap_err().reason, FaultReason::Unreachable);
    });
    // Answers in between reset the count.
    let sometimes_answering = FakeLink::new(|request| match request.target.ends_with('0') {
        true => Ok(answer(500, &[], "")),
        false => Err(NetError::Timeout(30)),
    });
    with_platform(&sometimes_answering, |platform| {
        for post in ["1", "2", "10", "3", "4", "20", "5", "6"] {
            assert_eq!(platform.lookup(&id(post)), Ok(Verdict::Unknown), "{post}");
        }
    });
}

#[test]
fn a_lookup_returns_current_metrics_or_nothing() {
    let platform = always(200, &[], r#"{"data":{"id":"17","public_metrics":{"like_count":3}}}"#);
    let post = with_platform(&platform, |platform| platform.post(&id("17"))).unwrap().unwrap();
    assert_eq!(post.fields()["public_metrics"]["like_count"], json!(3));
    assert!(platform.requests()[0].target.starts_with("/api/2/tweets/17?tweet.fields=created_at,"));
    for (status, body) in [(404, ""), (200, "{}")] {
        assert_eq!(
            with_platform(&always(status, &[], body), |platform| platform.post(&id("17"))),
            Ok(None)
        );
    }
    for (status, body, reason) in [
        (200, r#"{"data":{"id":"18"}}"#, FaultReason::Unreadable),
        (200, r#"{"errors":[{"type":"about:blank","title":"?"}]}"#, FaultReason::Unreadable),
        (200, "<html>", FaultReason::Unreadable),
        (500, "", FaultReason::ServerError),
        (401, "", FaultReason::Unauthorized),
    ] {
        assert_eq!(
            with_platform(&always(status, &[], body), |platform| platform.post(&id("17")))
                .unwrap_err()
                .reason,
            reason
        );
    }
}

#[test]
fn a_body_is_sent_by_post_and_201_is_accepted() {
    let link = always(201, &[], r#"{"meta":{"sent":"x"}}"#);
    with_platform(&link, |platform| {
        let path = ["tweets", "search", "stream", "rules"];
        let body =
            platform.ask(Endpoint::ChangeRules, &path, &[], Some(&json!({"add": []}))).unwrap();
        assert_eq!(body["meta"]["sent"], json!("x"));
        assert_eq!(
            platform.ask(Endpoint::Rules, &path, &[], None).unwrap_err().reason,
            FaultReason::Unreadable
        );
    });
    assert_eq!(link.requests()[0].body.as_deref(), Some(&br#"{"add":[]}"#[..]));
}
