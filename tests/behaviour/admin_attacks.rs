//! Attacks on administration: cross-site requests, stolen sessions, the public listener, and
//! guessed tokens.

use std::time::Instant;

use brain_tests::TEST_TIMEOUT;
use serde_json::json;

use crate::web::{Browser, HttpRequest, Site, text};

#[test]
fn cross_site_requests_cannot_administer() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let login = HttpRequest::json("/admin/login", &json!({ "token": site.admin }));
    browser.send(&site.local, login.clone().header("Origin", "https://evil.example")).expect(403);
    browser
        .send(&site.local, login.clone().header("Sec-Fetch-Site", "cross-site"))
        .expect_refusal(403, "csrf");
    assert_eq!(browser.cookies, []);
    let answer = browser.send(&site.local, login).expect(200);
    let csrf_token = text(&answer.json(), "csrf_token");
    let cookies = answer.headers("set-cookie");
    assert!(
        matches!(*cookies, [one] if one.contains("SameSite=Strict") && one.contains("HttpOnly")),
        "{cookies:?}"
    );

    let new = json!({ "name": "made in a browser", "scope": "read" });
    let register = HttpRequest::json("/admin/api/register-client", &new);
    browser.send(&site.local, HttpRequest::get("/admin/api/clients")).expect(200);
    browser.send(&site.local, register.clone()).expect_refusal(403, "csrf");
    browser
        .send(&site.local, register.clone().header("X-Brain-Csrf", ""))
        .expect_refusal(403, "csrf");
    let other = Browser::default()
        .send(&site.local, HttpRequest::json("/admin/login", &json!({ "token": site.admin })));
    let other_token = text(&other.json(), "csrf_token");
    let with_other_token = register.clone().header("X-Brain-Csrf", &other_token);
    browser.send(&site.local, with_other_token).expect_refusal(403, "csrf");
    let with_token = register.header("X-Brain-Csrf", &csrf_token);
    browser
        .send(&site.local, with_token.clone().header("Sec-Fetch-Site", "cross-site"))
        .expect_refusal(403, "csrf");
    browser.send(&site.local, with_token.clone().header("Origin", &site.issuer())).expect(201);
    let delete = HttpRequest::new("DELETE", &format!("/admin/api/clients/{client}"));
    browser.send(&site.local, delete).expect_refusal(403, "csrf");

    // The consent session does not authorize administration.
    let mut consenting_browser = Browser::default();
    consenting_browser.consent(&site, &client, "read");
    let mut cookies = consenting_browser.cookies.iter();
    let consent = cookies.find(|(name, _)| name == "brain-consent").unwrap().1.clone();
    let mut consent_only_browser = Browser { cookies: vec![("brain-admin".into(), consent)] };
    consent_only_browser
        .send(&site.local, HttpRequest::get("/admin/api/clients"))
        .expect_refusal(401, "invalid_token");

    // Another service on this machine receives the cookie but not the matching CSRF token.
    let session = browser.send(&site.local, HttpRequest::get("/admin/api/session")).expect(200);
    assert!(
        !session.body.contains(&csrf_token) && session.json().get("csrf_token").is_none(),
        "{session:?}"
    );
    let former_cookies = browser.cookies.clone();
    browser
        .send(&site.local, HttpRequest::new("POST", "/admin/logout"))
        .expect_refusal(403, "csrf");
    let logout = HttpRequest::new("POST", "/admin/logout").header("X-Brain-Csrf", &csrf_token);
    browser.send(&site.local, logout).expect(204);
    assert_eq!(browser.cookies, []);
    Browser { cookies: former_cookies }
        .send(&site.local, HttpRequest::get("/admin/api/clients"))
        .expect_refusal(401, "invalid_token");
}

#[test]
fn a_new_admin_token_ends_every_session() {
    let site = Site::new();
    let mut browser = Browser::default();
    let login = HttpRequest::json("/admin/login", &json!({ "token": site.admin }));
    browser.send(&site.local, login.clone()).expect(200);
    browser.send(&site.local, HttpRequest::get("/admin/api/status")).expect(200);
    let rotate = brain_protocol::Request::AdminToken(brain_protocol::AdminToken { rotate: true });
    site.home.connect().unwrap().ask(&rotate).unwrap();
    browser
        .send(&site.local, HttpRequest::get("/admin/api/status"))
        .expect_refusal(401, "invalid_token");
    browser.send(&site.local, login).expect_refusal(401, "invalid_token");
    site.local(&HttpRequest::get("/admin/api/status").bearer(&site.admin))
        .expect_refusal(401, "invalid_token");
    let token = std::fs::read_to_string(site.home.path().join("secrets/admin-token")).unwrap();
    site.local(&HttpRequest::get("/admin/api/status").bearer(token.trim())).expect(200);
}

#[test]
fn the_public_listener_has_no_administration() {
    let site = Site::new();
    for (method, path) in [
        ("POST", "/admin/api/register-client"),
        ("GET", "/admin/api/clients"),
        ("DELETE", "/admin/api/clients/x"),
        ("GET", "/admin/api/tokens"),
        ("GET", "/admin/api/audit"),
        ("GET", "/admin/api/jobs"),
        ("POST", "/admin/api/jobs/retry"),
        ("GET", "/admin/api/status"),
        ("GET", "/admin/api/session"),
        ("POST", "/admin/login"),
        ("POST", "/admin/logout"),
        ("GET", "/admin"),
        ("GET", "//admin/api/clients"),
        ("GET", "/health/../admin/api/clients"),
        ("GET", "/%61dmin/api/clients"),
    ] {
        let request = HttpRequest::new(method, path)
            .bearer(&site.admin)
            .header("Content-Type", "application/json")
            .body("{}");
        site.public(&request).expect_refusal(404, "not_found");
    }
    site.local(&HttpRequest::new("GET", "/admin/api/clients").bearer(&site.admin)).expect(200);
}

#[test]
fn only_wrong_admin_tokens_are_rate_limited() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let login = |token: &str| HttpRequest::json("/admin/login", &json!({ "token": token }));
    let page = browser.consent_page(&site, &client, "read").expect(200);
    for attempt in 0..10 {
        if attempt % 2 == 0 {
            let answer = site.local(&login("guess")).expect_refusal(401, "invalid_token");
            assert!(
                answer.header("www-authenticate").is_some()
                    && answer.header("set-cookie").is_none()
            );
        } else {
            browser
                .submit(&site, &page, &[("decision", "approve"), ("admin_token", "guess")])
                .expect(403);
        }
    }
    for _ in 0..20 {
        site.local(&login("guess"));
    }
    let limited = site.local(&login("guess")).expect_refusal(429, "rate_limited");
    assert!((1..=60).contains(&limited.header("retry-after").unwrap().parse::<u64>().unwrap()));
    let wrong = [("decision", "approve"), ("admin_token", "guess")];
    let limited = browser.submit(&site, &page, &wrong).expect(429);
    assert!(limited.header("location").is_none() && limited.header("retry-after").is_some());
    // Wrong guesses do not lock the owner out.
    site.local(&login(&site.admin)).expect(200);
    site.local(&HttpRequest::get("/admin/api/status").bearer(&site.admin)).expect(200);
    let right = [("decision", "approve"), ("admin_token", site.admin.as_str())];
    assert!(browser.submit(&site, &page, &right).expect(303).header("location").is_some());
}

#[test]
fn only_wrong_bearer_tokens_are_rate_limited() {
    let site = Site::new();
    let status = |token: &str| site.local(&HttpRequest::get("/admin/api/status").bearer(token));
    for _ in 0..10 {
        status(&site.admin).expect(200);
        site.local(&HttpRequest::get("/admin/api/status").basic("admin:guess"))
            .expect_refusal(401, "invalid_token");
        status("brain_ad_guess").expect_refusal(401, "invalid_token");
    }
    let deadline = Instant::now() + TEST_TIMEOUT;
    while status("brain_ad_guess").status != 429 {
        assert!(Instant::now() < deadline, "the failures are never limited");
    }
    let limited = status("brain_ad_guess").expect_refusal(429, "rate_limited");
    assert!((1..=60).contains(&limited.header("retry-after").unwrap().parse::<u64>().unwrap()));
    status("brain_ad_another").expect_refusal(401, "invalid_token");
    status(&site.admin).expect(200);
    site.local(&HttpRequest::json("/admin/login", &json!({ "token": site.admin }))).expect(200);
}

#[test]
fn the_public_listener_rejects_the_admin_token() {
    let site = Site::new();
    let write =
        HttpRequest::new("POST", "/ingest").header("Content-Type", "text/plain").body("a thought");
    let unknown =
        site.public(&write.clone().bearer("brain_ad_guess")).expect_refusal(401, "invalid_token");
    let refused =
        site.public(&write.clone().bearer(&site.admin)).expect_refusal(401, "invalid_token");
    assert_eq!(
        refused.json()["message"],
        unknown.json()["message"],
        "the answer does not reveal that the token is valid"
    );
    site.local(&write.bearer(&site.admin)).expect(202);
}
