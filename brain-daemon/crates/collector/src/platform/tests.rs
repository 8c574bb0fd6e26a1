//! Tests of requests and accounts, and what all tests of the platform share.

mod limits;
mod posts;
mod refusals;

use serde_json::json;

use super::*;
use crate::fake::{FakeClient, answer};

const NOW: i64 = 1_795_257_045;
const TOKEN: &str = "AAAA-secret-token";
/// An empty list.
const EMPTY: &str = r#"{"meta":{"result_count":0}}"#;

/// Runs `work` with a platform behind this HTTP client.
fn with_platform<T>(http_client: &FakeClient, work: impl FnOnce(&mut Platform<'_>) -> T) -> T {
    let (base, token) = (Url::parse("http://platform.test/api/").unwrap(), Secret::new(TOKEN));
    let now = || NOW * 1000;
    work(&mut Platform::new(http_client, &base, &token, Rates::default(), &now))
}

/// Returns an HTTP client with a constant answer.
fn always(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: impl Into<Vec<u8>>,
) -> FakeClient {
    let body = body.into();
    FakeClient::new(move |_| Ok(answer(status, headers, body.clone())))
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
    let http_client = always(200, &[], EMPTY);
    let (bare, all) = (Expansions::default(), Expansions { authors: true, media: true });
    with_platform(&http_client, |platform| {
        platform.timeline(&user(), bare, None).unwrap();
        platform.mentions(&user(), all, Some("t+/k&")).unwrap();
        platform.search("(\"a b\" OR c,d) -from:me #ü+", bare, Some(&id("17")), Some("t")).unwrap();
        platform.lookup(&id("17")).unwrap();
        let _ = platform.me();
        let _ = platform.by_username("al/ice?");
    });
    let requests = http_client.requests();
    let targets: Vec<&str> = requests.iter().map(|request| request.target.as_str()).collect();
    let fields = format!("max_results=100&tweet.fields={POST_FIELDS}");
    assert!(!POST_FIELDS.contains(char::is_whitespace));
    assert_eq!(
        targets,
        [
            format!("/api/2/users/5/tweets?{fields}"),
            format!(
                "/api/2/users/5/mentions?{fields}&expansions=author_id,referenced_tweets.id,\
                 attachments.media_keys&user.fields={USER_FIELDS}&media.fields={MEDIA_FIELDS}&\
                 pagination_token=t%2B%2Fk%26"
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

#[test]
fn accounts_are_found_by_token_and_by_handle() {
    let http_client =
        always(200, &[], r#"{"data":{"id":"9007199254740993","username":"alice","name":"A"}}"#);
    let account = Account { id: "9007199254740993".into(), username: "alice".into() };
    assert_eq!(with_platform(&http_client, me).unwrap(), account);
    assert_eq!(
        with_platform(&http_client, |platform| platform.by_username("alice")).unwrap(),
        account
    );
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
fn a_body_is_sent_by_post_and_201_is_accepted() {
    let http_client = always(201, &[], r#"{"meta":{"sent":"x"}}"#);
    with_platform(&http_client, |platform| {
        let path = ["tweets", "search", "stream", "rules"];
        let body =
            platform.request(Endpoint::ChangeRules, &path, &[], Some(&json!({"add": []}))).unwrap();
        assert_eq!(body["meta"]["sent"], json!("x"));
        assert_eq!(
            platform.request(Endpoint::Rules, &path, &[], None).unwrap_err().reason,
            FaultReason::Unreadable
        );
    });
    assert_eq!(http_client.requests()[0].body.as_deref(), Some(&br#"{"add":[]}"#[..]));
}
