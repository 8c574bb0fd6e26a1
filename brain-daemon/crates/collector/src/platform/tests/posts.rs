//! Tests of reading posts and pages of posts.

use super::*;
use crate::{AUTHOR, COLLECTED_AT, MEDIA, Record, WHOLE_TEXT};

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
fn posts_have_authors_and_invalid_posts_are_skipped() {
    let http_client = always(200, &[], full_page().to_string());
    let page = with_platform(&http_client, |platform| {
        platform.timeline(&user(), Expansions::default(), None)
    })
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
fn a_repost_has_the_whole_text_of_its_original() {
    let long = "word ".repeat(60);
    let cut = format!("RT @ann: {}…", &long[..130]);
    for (list, original, kind) in [
        ("tweets", json!({"id": "9", "text": long}), "retweeted"),
        ("posts", json!({"id": "9", "text": "cut…", "note_tweet": {"text": long}}), "retweeted"),
    ] {
        let repost = |id: &str| json!([{"type": kind, "id": id}]);
        let body = json!({
            "data": [
                {"id": "17", "text": cut, "referenced_tweets": repost("9")},
                {"id": "18", "text": cut, "referenced_tweets": repost("8"), WHOLE_TEXT: "forged"},
                {"id": "19", "text": "mine", "referenced_tweets": [{"type": "quoted", "id": "9"}]}
            ],
            "includes": {list: [original]}, "meta": {}
        });
        let http_client = always(200, &[], body.to_string());
        let all = Expansions { authors: true, media: false };
        let page =
            with_platform(&http_client, |platform| platform.timeline(&user(), all, None)).unwrap();
        let texts: Vec<&str> = page.posts.iter().map(Record::text).collect();
        assert_eq!(texts, [format!("RT @ann: {long}"), cut.clone(), "mine".to_owned()]);
    }
}

#[test]
fn unusual_pages_are_read_and_malformed_ones_refused() {
    for (body, posts, next) in [
        (json!({"meta": {"result_count": 0}}), 0, None),
        (json!({"meta": {"result_count": 0}, "data": null}), 0, None),
        (json!({"meta": {}, "data": []}), 0, None),
        (json!({"meta": {"result_count": 0, "next_token": "t"}}), 0, Some("t")),
        (json!({"data": {"id": "17"}, "meta": {"next_token": ""}}), 1, None),
        (json!({"data": [{"id": "17"}], "includes": [], "meta": {}}), 1, None),
        (json!({"errors": [{"resource_id": "98", "section": "includes"}], "meta": {}}), 0, None),
    ] {
        let http_client = always(200, &[], body.to_string());
        let page = with_platform(&http_client, |platform| {
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
        let http_client = always(200, &[], body.to_string());
        let page = with_platform(&http_client, |platform| {
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
        let http_client = always(200, &[], body);
        let fault = with_platform(&http_client, |platform| {
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
        let http_client = always(200, &[], error(body.clone()));
        let fault = with_platform(&http_client, |platform| {
            platform.mentions(&user(), Expansions::default(), None)
        })
        .unwrap_err();
        assert_eq!(fault.reason, reason, "{body}");
        assert!(fault.message.starts_with("HTTP 200: ") && !fault.hint.is_empty());
    }
}

#[test]
fn a_lookup_returns_current_metrics_or_nothing() {
    let http_client = always(200, &[], r#"{"data":{"id":"17","public_metrics":{"like_count":3}}}"#);
    let post = with_platform(&http_client, |platform| platform.post(&id("17"))).unwrap().unwrap();
    assert_eq!(post.fields()["public_metrics"]["like_count"], json!(3));
    let requests = http_client.requests();
    let target = &requests[0].target;
    assert!(target.starts_with("/api/2/tweets/17?tweet.fields=created_at,"), "{target}");
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
