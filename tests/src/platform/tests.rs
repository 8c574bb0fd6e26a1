use std::time::Duration;

use serde_json::{Value, json};

use super::*;

/// 11:00:45.123 UTC on 21 November 2026, in Unix milliseconds.
const NOW: i64 = 1_795_258_845_123;

/// Sends a `GET` request with the app's token.
fn get(platform: &Platform, path: &str, query: &str) -> Response {
    let bearer = format!("Bearer {APP_TOKEN}");
    platform.answer(&Request {
        method: "GET",
        path,
        query,
        authorization: Some(&bearer),
        body: b"",
    })
}

/// Returns the ids of a response's `data`.
fn ids(answer: &Response) -> Vec<String> {
    crate::texts(&answer.json()["data"], "id")
}

/// Returns a platform, and the ids of its accounts `me` and `other`.
fn platform() -> (Platform, String, String) {
    let platform = Platform::new(Time::at(NOW));
    let (me, other) = (platform.create_account("me"), platform.create_account("other"));
    (platform, me, other)
}

#[test]
fn invalid_tokens_and_parameters_are_rejected() {
    let (platform, me, _) = platform();
    let status_and_remaining = |token: Option<&str>, path: &str| {
        let answer = platform.answer(&Request {
            method: "GET",
            path,
            authorization: token,
            ..Request::default()
        });
        (answer.status, answer.header("x-rate-limit-remaining").map(str::to_owned))
    };
    let (app, user) = (format!("Bearer {APP_TOKEN}"), format!("Bearer {USER_TOKEN}"));
    assert_eq!(status_and_remaining(None, "/2/users/me"), (401, None));
    assert_eq!(status_and_remaining(Some("Bearer nonsense"), "/2/users/me"), (401, None));
    assert_eq!(
        status_and_remaining(Some(APP_TOKEN), "/2/users/me"),
        (401, None),
        "the scheme is missing"
    );
    assert_eq!(status_and_remaining(Some(&app), "/2/users/me").0, 403);
    assert_eq!(status_and_remaining(Some(&user), "/2/users/me").0, 200);
    assert_eq!(status_and_remaining(Some(&user), "/2/tweets/search/stream/rules").0, 403);
    assert_eq!(status_and_remaining(Some(&app), "/2/nothing").0, 404);
    let timeline = format!("/2/users/{me}/tweets");
    assert_eq!(status_and_remaining(Some(&app), &timeline), (200, Some("9999".into())));
    for (path, query) in [
        (timeline.as_str(), "max_results=4"),
        (&timeline, "max_results=101"),
        (&timeline, "max_results=ten"),
        (&timeline, "color=red"),
        (&timeline, "exclude=everything"),
        (&timeline, "since_id=x"),
        (&timeline, "since_id=1&start_time=2026-11-20T00:00:00Z"),
        (&timeline, "pagination_token=nonsense"),
        ("/2/users/x/tweets", ""),
        ("/2/users/by/username/much_too_long_a_name", ""),
        ("/2/tweets/search/recent", ""),
        ("/2/tweets/search/recent", "query=x&max_results=9"),
        ("/2/tweets/search/recent", "query=x&since_id=1"),
        ("/2/tweets/search/recent", "query=-x"),
        ("/2/tweets/search/recent", "query=near:here"),
        ("/2/tweets/search/recent", "query=%28x"),
        ("/2/tweets", ""),
        ("/2/tweets/17a", ""),
    ] {
        let refused = get(&platform, path, query);
        assert_eq!(refused.status, 400, "{path}?{query}");
        assert_eq!(refused.json()["title"], "Invalid Request");
    }
    assert_eq!(platform.requests(), 8 + 18, "all requests count");
}

#[test]
fn parameters_match_the_document() {
    for endpoint in [
        endpoint::ME,
        endpoint::BY_USERNAME,
        endpoint::TIMELINE,
        endpoint::MENTIONS,
        endpoint::SEARCH,
        endpoint::LOOKUP,
        endpoint::LOOKUPS,
        endpoint::RULES,
        endpoint::CHANGE_RULES,
        endpoint::STREAM,
    ] {
        let names = Schema::shared().query_parameters(endpoint);
        assert!(names.iter().all(|name| params::accepts(endpoint, name)), "{endpoint}: {names:?}");
        let accepted_names = params::accepted(endpoint)
            .iter()
            .chain(&params::FIELDS)
            .filter(|name| params::accepts(endpoint, name));
        assert!(
            accepted_names.clone().all(|name| names.iter().any(|known| known == name)),
            "{endpoint}: {names:?}"
        );
    }
}

#[test]
fn timelines_mentions_and_searches_return_matching_posts() {
    let (platform, me, other) = platform();
    let mine: Vec<String> =
        (0..12).map(|i| platform.post_at(&me, &format!("post {i}"), NOW - 1000 + i)).collect();
    let hello = platform.post(&other, "hello @Me, how is #rust?");
    let quiet = platform.post(&other, "nothing for you");
    let timeline = format!("/2/users/{me}/tweets");
    let first = get(&platform, &timeline, "max_results=5");
    let newest: Vec<String> = mine.iter().rev().cloned().collect();
    assert_eq!(ids(&first), newest[..5]);
    let meta = &first.json()["meta"];
    assert_eq!((&meta["result_count"], &meta["newest_id"]), (&json!(5), &json!(newest[0])));
    let token = meta["next_token"].as_str().unwrap();
    let second = get(&platform, &timeline, &format!("max_results=10&pagination_token={token}"));
    assert_eq!(ids(&second), newest[5..]);
    assert_eq!(second.json()["meta"].get("next_token"), None);
    let other_list =
        get(&platform, &format!("/2/users/{me}/mentions"), &format!("pagination_token={token}"));
    assert_eq!(other_list.status, 400, "a token is valid for one list only");

    assert_eq!(ids(&get(&platform, &format!("/2/users/{me}/mentions"), "")), [hello.as_str()]);
    let search = |query: &str| {
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let answer = get(&platform, "/2/tweets/search/recent", &format!("query={query}"));
        assert_eq!(answer.status, 200, "{query}");
        if answer.json().get("data").is_none() { Vec::new() } else { ids(&answer) }
    };
    assert_eq!(search("hello"), [hello.as_str()]);
    assert_eq!(search("#rust -from:me"), [hello.as_str()]);
    assert_eq!(search("\"nothing for\" OR #Rust"), [quiet.as_str(), hello.as_str()]);
    assert_eq!(search("from:other -@me"), [quiet.as_str()]);
    assert_eq!(search("(hello OR nothing) -\"for you\""), [hello.as_str()]);
    assert_eq!(search("hell"), Vec::<String>::new());
    platform.time().advance(7 * 86_400_000 + 1);
    assert_eq!(search("hello"), Vec::<String>::new(), "seven days are over");
    let empty = get(&platform, "/2/tweets/search/recent", "query=hello").json();
    assert_eq!(empty, json!({"meta": {"result_count": 0}}));
}

#[test]
fn requested_fields_are_returned_in_both_vocabularies() {
    let (platform, me, other) = platform();
    let quoted = platform.post(&other, "an earlier thing");
    let long = "long ".repeat(80);
    let id = platform.post(&me, &format!("see @other https://example.org/x #tag $ABC {long}"));
    platform.change_post(&id, |post| {
        post.quotes = quoted.parse().ok();
        post.media.push(Media {
            key: "3_17".into(),
            kind: "photo".into(),
            url: "https://example.org/p.jpg".into(),
            alt: None,
        });
        post.is_withheld = true;
    });
    let plain = get(&platform, &format!("/2/tweets/{id}"), "").json();
    let keys: Vec<&str> = plain["data"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["edit_history_tweet_ids", "id", "text"]);
    let fields = "created_at,author_id,public_metrics,conversation_id,referenced_tweets,entities,\
                  attachments,lang,note_tweet,withheld,edit_controls,made_up";
    let other_params = "expansions=author_id,referenced_tweets.id,attachments.media_keys&\
                user.fields=public_metrics,description&media.fields=url,alt_text";
    let full = get(
        &platform,
        &format!("/2/tweets/{id}"),
        &format!("tweet.fields={fields}&{other_params}"),
    )
    .json();
    assert_eq!(full["data"]["public_metrics"]["retweet_count"], 0);
    assert!(full["data"]["note_tweet"]["text"].as_str().unwrap().len() > 400);
    assert_eq!(full["includes"]["tweets"][0]["id"], json!(quoted));
    assert_eq!(full["includes"]["users"][0]["public_metrics"]["followers_count"], 100);
    assert_eq!(full["data"]["entities"]["mentions"][0]["username"], "other");
    let newer =
        get(&platform, &format!("/2/tweets/{id}"), &format!("post.fields={fields}&{other_params}"))
            .json();
    assert_eq!(newer["data"]["public_metrics"]["repost_count"], 0);
    assert!(
        newer["data"]["edit_history_post_ids"].is_array() && newer["includes"]["posts"].is_array()
    );
    platform.delete(&quoted);
    let partial = get(
        &platform,
        &format!("/2/tweets/{id}"),
        &format!("tweet.fields={fields}&{other_params}"),
    )
    .json();
    assert_eq!(partial["errors"][0]["title"], "Not Found Error");
    assert_eq!(
        partial["data"]["id"],
        json!(id),
        "a response with data and errors has the status 200"
    );
}

#[test]
fn hidden_posts_and_accounts_return_errors() {
    let (platform, me, other) = platform();
    let (first, theirs) = (platform.post(&me, "first"), platform.post(&other, "theirs"));
    let text_or_error = |id: &str| {
        let answer = get(&platform, &format!("/2/tweets/{id}"), "");
        assert_eq!(answer.status, 200);
        let title = answer.json()["errors"][0]["title"].as_str().map(str::to_owned);
        title.unwrap_or_else(|| answer.json()["data"]["text"].as_str().unwrap().to_owned())
    };
    platform.time().advance(1000);
    let second = platform.edit(&first, "second");
    assert_eq!(
        (text_or_error(&first).as_str(), text_or_error(&second).as_str()),
        ("first", "second")
    );
    assert_eq!(ids(&get(&platform, &format!("/2/users/{me}/tweets"), "")), [second.as_str()]);
    platform.delete(&second);
    assert_eq!(
        (text_or_error(&first).as_str(), text_or_error("17").as_str()),
        ("Not Found Error", "Not Found Error")
    );
    platform.change_account(&other, |account| account.is_protected = true);
    assert_eq!(text_or_error(&theirs), "Authorization Error");
    let both = get(&platform, "/2/tweets", &format!("ids={theirs},17")).json();
    assert_eq!(both["errors"].as_array().map(Vec::len), Some(2));
    let timeline_error = |id: &str| {
        get(&platform, &format!("/2/users/{id}/tweets"), "").json()["errors"][0]["title"].clone()
    };
    assert_eq!(
        (timeline_error(&other), timeline_error("17")),
        (json!("Authorization Error"), json!("Not Found Error"))
    );
    platform.change_account(&other, |account| account.is_suspended = true);
    assert_eq!(timeline_error(&other), "Forbidden");
}

#[test]
fn rate_limit_windows_last_fifteen_minutes() {
    let (platform, me, _) = platform();
    let path = format!("/2/users/{me}/mentions");
    platform.limit(endpoint::MENTIONS, 2);
    let statuses: Vec<u16> = (0..3).map(|_| get(&platform, &path, "").status).collect();
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(
        get(&platform, &format!("/2/users/{me}/tweets"), "").status,
        200,
        "each endpoint has its own window"
    );
    let refused = get(&platform, &path, "");
    let reset: i64 = refused.header("x-rate-limit-reset").unwrap().parse().unwrap();
    assert_eq!((refused.header("x-rate-limit-remaining"), reset), (Some("0"), NOW / 1000 + 900));
    platform.time().advance(899_999);
    assert_eq!(get(&platform, &path, "").status, 429);
    platform.time().advance(1);
    assert_eq!(get(&platform, &path, "").header("x-rate-limit-remaining"), Some("1"));
}

#[test]
fn planned_faults_occur_in_order() {
    let (platform, me, _) = platform();
    platform.post(&me, "something");
    let path = format!("/2/users/{me}/tweets");
    platform.fault_after(endpoint::TIMELINE, 1, Fault::Server(503), 2);
    platform.fault(endpoint::TIMELINE, Fault::NumericIds, 1);
    let statuses: Vec<u16> = (0..3).map(|_| get(&platform, &path, "").status).collect();
    assert_eq!(statuses, [200, 503, 503]);
    assert!(get(&platform, &path, "").json()["data"][0]["id"].is_u64());
    assert_eq!(get(&platform, &path, "").status, 200);
    platform.fault(endpoint::TIMELINE, Fault::Truncated, 1);
    assert!(serde_json::from_slice::<Value>(&get(&platform, &path, "").body).is_err());
    // Errors must match the document, too.
    let schema = Schema::shared();
    for fault in [
        Fault::BadRequest,
        Fault::Unauthorized,
        Fault::Forbidden,
        Fault::ClientForbidden,
        Fault::UnsupportedAuthentication,
        Fault::NotFound,
        Fault::Conflict,
        Fault::TooMany,
        Fault::UsageCapped,
        Fault::TooManyConnections,
        Fault::Server(500),
    ] {
        platform.fault(endpoint::TIMELINE, fault.clone(), 1);
        let answer = get(&platform, &path, "");
        assert!(answer.status >= 400, "{fault:?}");
        schema.validate_problem(&answer.json()).unwrap_or_else(|why| panic!("{fault:?}: {why}"));
    }
}

#[test]
fn responses_that_do_not_match_the_document_are_found() {
    let schema = Schema::shared();
    let validate =
        |value: &Value| schema.validate(endpoint::LOOKUP, 200, value.to_string().as_bytes());
    let post = json!({"data": {"id": "17", "text": "x", "edit_history_tweet_ids": ["17"]}});
    validate(&post).unwrap();
    for (name, wrong) in [
        ("id", json!(17)),
        ("id", json!("12345678901234567890")),
        ("edit_history_tweet_ids", json!([])),
        ("created_at", json!("yesterday")),
        ("public_metrics", json!({"like_count": 1})),
        ("like_count", json!(1)),
    ] {
        let mut changed = post.clone();
        changed["data"][name] = wrong;
        assert!(validate(&changed).is_err(), "{changed}");
    }
    assert!(validate(&json!({"data": null})).is_err());
    assert!(
        validate(&json!({"errors": [{"title": "x",
        "type": "https://api.twitter.com/2/problems/resource-not-found"}]}))
        .is_err()
    );
    assert!(validate(&json!({"errors": [{"title": "x", "type": "https://example.org"}]})).is_err());
    assert!(schema.validate_problem(&json!({"title": "x"})).is_err());
    // Dropping a platform with a mismatch panics.
    let (platform, me, _) = platform();
    platform.change_account(&me, |account| account.username = "not a handle".into());
    let bearer = format!("Bearer {USER_TOKEN}");
    drop(platform.answer(&Request {
        method: "GET",
        path: "/2/users/me",
        authorization: Some(&bearer),
        ..Request::default()
    }));
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(platform)));
    assert!(dropped.is_err(), "dropping the platform reports the mismatch");
}

#[test]
fn matching_posts_are_streamed() {
    let (platform, _, other) = platform();
    let bearer = format!("Bearer {APP_TOKEN}");
    let change = |body: Value| {
        let body = body.to_string();
        platform.answer(&Request {
            method: "POST",
            path: "/2/tweets/search/stream/rules",
            authorization: Some(&bearer),
            body: body.as_bytes(),
            ..Request::default()
        })
    };
    let connect = || get(&platform, "/2/tweets/search/stream", "tweet.fields=author_id");
    assert_eq!(connect().status, 409, "there are no rules");
    let created = change(json!({"add": [{"value": "cat", "tag": "cats"}, {"value": "cat"},
            {"value": "has:images"}]}));
    assert_eq!(
        (created.status, created.json()["meta"]["summary"]["created"].as_u64()),
        (201, Some(1))
    );
    assert_eq!(created.json()["errors"][0]["title"], "DuplicateRule");
    assert_eq!(platform.rules(), ["cat"]);
    let mut response = connect();
    let subscription = response.stream.take().unwrap();
    assert_eq!(connect().status, 429, "only one connection is allowed");
    let id = platform.post(&other, "a cat");
    platform.post(&other, "a dog");
    let StreamItem::Bytes(line) = subscription.next(Duration::ZERO) else {
        panic!("no line was sent")
    };
    assert!(line.ends_with(b"\r\n"));
    let line: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(
        (&line["data"]["id"], &line["matching_rules"][0]["tag"]),
        (&json!(id), &json!("cats"))
    );
    assert_eq!(platform.sent().unwrap().len(), 1);
    assert_eq!(subscription.next(Duration::ZERO), StreamItem::Nothing);
    platform.keep_alive(Some(Duration::from_millis(1)));
    assert_eq!(subscription.next(Duration::from_secs(60)), StreamItem::Bytes(b"\r\n".to_vec()));
    platform.keep_alive(None);
    platform.disconnect();
    assert!(matches!(subscription.next(Duration::ZERO),
            StreamItem::Bytes(line) if line.starts_with(b"{\"errors\"")));
    assert_eq!(subscription.next(Duration::ZERO), StreamItem::End);
    drop(subscription);
    assert_eq!(platform.listeners(), 0);
    platform.cut_streams(true);
    assert_eq!(connect().status, 429, "the broken connection still counts");
    platform.free_stale();
    assert_eq!(connect().status, 200);
    let deleted = change(json!({"delete": {"values": ["cat", "dog"]}}));
    assert_eq!(deleted.json()["meta"]["summary"], json!({"deleted": 1, "not_deleted": 1}));
}
