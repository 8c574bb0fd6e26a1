//! Attacks on the authorization server (RFC 9700): stolen codes and tokens, redirect URIs that
//! almost match, scopes that were not granted, cross-site requests, guessed secrets.

mod limits;

use serde_json::json;

use crate::web::{
    Browser, CALLBACK, HttpRequest, Site, VERIFIER, authorize, encoded, hidden_fields, text,
};

const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn a_code_works_once_and_its_replay_revokes_the_tokens() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let code = browser.consent(&site, &client, "read write");
    let tokens = site.exchange(&client, &code).expect(200).json();
    assert_eq!(site.write_status(&text(&tokens, "access_token")), 202);
    site.exchange(&client, &code).expect_refusal(400, "invalid_grant");
    assert_eq!(site.write_status(&text(&tokens, "access_token")), 401);
    site.refresh(&client, &text(&tokens, "refresh_token")).expect_refusal(400, "invalid_grant");
}

#[test]
fn a_code_is_bound_to_client_redirect_uri_and_verifier() {
    let site = Site::new();
    let (client, other, mut browser) =
        (site.register_public_client(), site.register_public_client(), Browser::default());
    let right = [
        ("grant_type", "authorization_code"),
        ("client_id", client.as_str()),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    for (name, value) in [
        ("client_id", other.as_str()),
        ("redirect_uri", "https://app.example/cb/"),
        ("redirect_uri", ""),
        ("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXx"),
        ("code_verifier", ""),
    ] {
        let code = browser.consent(&site, &client, "read");
        let mut form: Vec<_> = right.iter().copied().filter(|(known, _)| *known != name).collect();
        form.extend([(name, value), ("code", &code)]);
        let answer = site.token(&form).expect(400);
        let error = text(&answer.json(), "error");
        assert!(matches!(&*error, "invalid_grant" | "invalid_request"), "{name}={value}: {error}");
    }
}

#[test]
fn a_reused_refresh_token_revokes_its_family() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let code = browser.consent(&site, &client, "read write");
    let first = text(&site.exchange(&client, &code).expect(200).json(), "refresh_token");
    let second = text(&site.refresh(&client, &first).expect(200).json(), "refresh_token");
    let third = site.refresh(&client, &second).expect(200).json();
    assert_eq!(site.write_status(&text(&third, "access_token")), 202);
    // The grace period for a repeated refresh does not apply to a revoked token.
    let revocation = [("token", text(&third, "refresh_token")), ("client_id", client.clone())];
    let revocation: Vec<(&str, &str)> =
        revocation.iter().map(|(name, value)| (*name, value.as_str())).collect();
    site.public(&HttpRequest::form("/revoke", &revocation)).expect(200);
    assert_eq!(site.write_status(&text(&third, "access_token")), 401);
    for token in [&first, &second, &text(&third, "refresh_token")] {
        site.refresh(&client, token).expect_refusal(400, "invalid_grant");
    }
}

#[test]
fn processes_of_one_client_can_refresh_one_token_at_once() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let code = browser.consent(&site, &client, "read write");
    let shared = text(&site.exchange(&client, &code).expect(200).json(), "refresh_token");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let renew = || site.refresh(&client, &shared).expect(200).json();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(renew)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for tokens in &answers {
        assert_eq!(site.write_status(&text(tokens, "access_token")), 202);
        site.refresh(&client, &text(tokens, "refresh_token")).expect(200);
    }
}

#[test]
fn a_redirect_uri_that_almost_matches_is_refused() {
    let site = Site::new();
    let client = site.register_public_client();
    let refused = |pairs: &[(&str, &str)]| {
        let request = HttpRequest::get(&authorize(&client, pairs));
        let page = site.public(&request).expect(400);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(
            page.header("location").is_none() && page.body.contains("You were not redirected"),
            "{pairs:?}"
        );
        let plain = site.public(&request.header("Accept", "application/json")).expect(400);
        assert!(plain.header("location").is_none());
        plain.json()
    };
    for address in [
        "https://app.example/cb/",
        "https://app.example/cb?x=1",
        "https://app.example/cb#x",
        "https://app.example/",
        "https://app.example/cb/../evil",
        "https://app.example:444/cb",
        "https://APP.example/cb",
        "https://app.example.evil.example/cb",
        "https://app.example@evil.example/cb",
        "https://evil.example/cb",
        "http://app.example/cb",
        "//app.example/cb",
        "javascript:alert(1)",
        "https://app.example/c%62",
        "https://app.example/cb\r\nX: y",
    ] {
        assert_eq!(refused(&[("redirect_uri", address)])["error"], "invalid_request", "{address}");
    }
    assert_eq!(refused(&[("client_id", "brain_cl_none")])["error"], "invalid_client");
    assert_eq!(
        refused(&[("client_id", "https://evil.example/client.json")])["error"],
        "invalid_client"
    );
    assert_eq!(refused(&[("client_id", "")])["error"], "invalid_request");
    let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example%2Fcb", authorize(&client, &[]));
    assert!(
        site.public(&HttpRequest::get(&twice)).expect(400).header("location").is_none(),
        "a request with two redirect URIs was redirected"
    );
    site.public(&HttpRequest::get("/authorize").header("Accept", "application/json"))
        .expect_refusal(400, "invalid_request");
}

#[test]
fn errors_with_a_valid_redirect_uri_go_to_the_client() {
    let site = Site::new();
    let client = site.register_public_client();
    for (name, value, error) in [
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "", "invalid_request"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("scope", "admin", "invalid_scope"),
        ("resource", "https://evil.example/mcp", "invalid_target"),
    ] {
        let answer =
            site.public(&HttpRequest::get(&authorize(&client, &[(name, value)]))).expect(303);
        assert!(answer.header("location").unwrap().starts_with(CALLBACK), "{answer:?}");
        assert_eq!(answer.redirect_parameter("error").as_deref(), Some(error), "{name}={value}");
        assert_eq!(answer.redirect_parameter("iss"), Some(site.issuer()));
        assert_eq!(answer.redirect_parameter("state").as_deref(), Some("a state & more"));
    }
}

#[test]
fn no_client_gets_more_than_was_granted() {
    let site = Site::new();
    let machine = site.register(&json!({ "name": "reader", "scope": "read" }));
    let (id, secret) = (text(&machine, "client_id"), text(&machine, "client_secret"));
    let request_token = |scope: &str| {
        let grant = [
            ("grant_type", "client_credentials"),
            ("client_id", &id),
            ("client_secret", &secret),
            ("scope", scope),
        ];
        site.token(&grant)
    };
    for scope in ["write", "admin", "write admin", "write openid"] {
        request_token(scope).expect_refusal(400, "invalid_scope");
    }
    // A client that requests the scopes of a challenge, or of other services, gets its allowed
    // scopes, and the answer names them.
    for scope in ["read write", "read admin", "read offline_access", "openid profile", "mcp"] {
        assert_eq!(text(&request_token(scope).expect(200).json(), "scope"), "read", "{scope}");
    }
    site.token(&[("grant_type", "password"), ("client_id", &id), ("client_secret", &secret)])
        .expect_refusal(400, "unsupported_grant_type");
    site.token(&[
        ("grant_type", "refresh_token"),
        ("refresh_token", "x"),
        ("client_id", &id),
        ("client_secret", &secret),
    ])
    .expect_refusal(400, "unauthorized_client");

    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let page = browser.consent_page(&site, &client, "read").expect(200);
    for grant in ["write", "admin", "owner", "read write", "read"] {
        let more =
            [("decision", "approve"), ("grant", grant), ("admin_token", site.admin.as_str())];
        let answer = browser.submit(&site, &page, &more).expect(400);
        assert!(answer.header("location").is_none(), "{grant}");
    }
    let code = browser.consent(&site, &client, "read");
    let tokens = site.exchange(&client, &code).expect(200).json();
    let refresh = text(&tokens, "refresh_token");
    let more = [
        ("grant_type", "refresh_token"),
        ("client_id", &client),
        ("refresh_token", &refresh),
        ("scope", "write"),
    ];
    site.token(&more).expect_refusal(400, "invalid_scope");
    let public = [("grant_type", "client_credentials"), ("client_id", client.as_str())];
    site.token(&public).expect_refusal(400, "unauthorized_client");
}

#[test]
fn consent_cannot_be_given_by_another_page() {
    let site = Site::new();
    let (client, mut owner) = (site.register_public_client(), Browser::default());
    let page = owner.consent_page(&site, &client, "read write").expect(200);
    let field = |name: &str| {
        hidden_fields(&page.body).into_iter().find(|(known, _)| known == name).unwrap().1
    };
    let (request, seal) = (field("request"), field("seal"));
    let approve = |request: &str, seal: &str| {
        let fields = [
            ("request", request),
            ("seal", seal),
            ("decision", "approve"),
            ("admin_token", &site.admin),
        ];
        HttpRequest::form("/authorize", &fields)
    };

    // An attacker's page knows the fields of a request, but it has no seal, or only the seal of its
    // own browser.
    let mut attacker = Browser::default();
    let attackers_page = attacker.consent_page(&site, &client, "read write").expect(200);
    let their_seal =
        hidden_fields(&attackers_page.body).into_iter().find(|(name, _)| name == "seal").unwrap().1;
    for (request, seal) in [
        (&request, ""),
        (&request, their_seal.as_str()),
        (&request.replace("read+write", "read"), &seal),
        (&String::new(), &seal),
    ] {
        let answer = owner.send(&site.local, approve(request, seal)).expect(403);
        assert!(answer.header("location").is_none(), "{answer:?}");
    }
    attacker.send(&site.local, approve(&request, &seal)).expect(403);
    let other = authorize(&client, &[("redirect_uri", "https://evil.example/cb")]);
    let swapped =
        owner.send(&site.local, approve(other.split_once('?').unwrap().1, &seal)).expect(403);
    assert!(swapped.header("location").is_none());

    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        owner.send(&site.local, approve(&request, &seal).header(name, value)).expect(403);
    }
    // A GET request is never a consent.
    let clicked =
        format!("{}&decision=approve&admin_token={}", authorize(&client, &[]), site.admin);
    assert!(
        owner
            .send(&site.local, HttpRequest::get(&clicked))
            .expect(200)
            .header("location")
            .is_none()
    );
    let sent = approve(&request, &seal)
        .header("Accept", "application/json")
        .header("Sec-Fetch-Site", "cross-site");
    owner.send(&site.local, sent).expect_refusal(403, "access_denied");
    // The genuine page can still consent.
    owner.send(&site.local, approve(&request, &seal).header("Origin", &site.issuer())).expect(303);
}

#[test]
fn parameters_must_be_sent_once_in_a_form_body() {
    let site = Site::new();
    let client = site.register(&json!({ "name": "machine", "scope": "read" }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let body = encoded(&form);
    let post = |path: &str, content_type: &str, body: &str| {
        site.public(&HttpRequest::new("POST", path).header("Content-Type", content_type).body(body))
    };

    post("/token", FORM, &body).expect(200);
    post("/token", "Application/X-WWW-Form-URLencoded; charset=UTF-8", &body).expect(200);
    for twice in
        ["grant_type=client_credentials", "client_id=x", "scope=read&scope=read", "x=1&x=1"]
    {
        post("/token", FORM, &format!("{body}&{twice}")).expect_refusal(400, "invalid_request");
    }
    for query in ["client_secret=x", "code=x", "access_token=x", "x"] {
        post(&format!("/token?{query}"), FORM, &body).expect_refusal(400, "invalid_request");
        post(&format!("/revoke?{query}"), FORM, &format!("{body}&token=x"))
            .expect_refusal(400, "invalid_request");
    }
    post(&format!("/token?{body}"), FORM, "").expect_refusal(400, "invalid_request");
    let as_json =
        json!({ "grant_type": "client_credentials", "client_id": id, "client_secret": secret })
            .to_string();
    post("/token", "application/json", &as_json).expect_refusal(415, "invalid_request");
    post("/token", "multipart/form-data; boundary=x", &body).expect_refusal(415, "invalid_request");
    post("/token", "text/plain", &body).expect_refusal(415, "invalid_request");
    site.public(&HttpRequest::new("POST", "/token").body(&body))
        .expect_refusal(415, "invalid_request");
    post("/token", FORM, "").expect_refusal(400, "invalid_request");
    post("/token", FORM, &format!("{body}&scope=%ff")).expect_refusal(400, "invalid_request");
    let many: String = (0..65).map(|at| format!("&p{at}=x")).collect();
    post("/token", FORM, &format!("{body}{many}")).expect_refusal(400, "invalid_request");
    post("/token", FORM, &"x".repeat(70_000)).expect_refusal(413, "invalid_request");
    post("/authorize", FORM, &"x".repeat(70_000)).expect(413);
    for method in ["GET", "PUT", "DELETE"] {
        let answer = site
            .public(&HttpRequest::new(method, "/token"))
            .expect_refusal(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some("POST"));
    }

    // Two authentication methods at once, and unknown methods.
    let basic = HttpRequest::form("/token", &form).basic(&format!("{id}:{secret}"));
    site.public(&basic).expect_refusal(400, "invalid_request");
    let mixed = HttpRequest::form("/token", &[form[0], ("client_id", "other")])
        .basic(&format!("{id}:{secret}"));
    site.public(&mixed).expect_refusal(400, "invalid_request");
    site.public(&HttpRequest::form("/token", &form).bearer("x"))
        .expect_refusal(401, "invalid_client");
    site.public(&HttpRequest::form("/token", &[form[0], form[1], ("client_assertion", "x")]))
        .expect_refusal(401, "invalid_client");
}

#[test]
fn unknown_clients_and_wrong_secrets_get_the_same_answer() {
    let site = Site::new();
    let client = site.register(&json!({ "name": "machine", "scope": "read" }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    let grant = ("grant_type", "client_credentials");
    let wrong = format!("{}x", &secret[..secret.len() - 1]);
    let answers = [
        site.token(&[grant, ("client_id", &id), ("client_secret", &wrong)]),
        site.token(&[grant, ("client_id", "brain_cl_none"), ("client_secret", &secret)]),
        site.local(&HttpRequest::form("/token", &[grant]).basic(&format!("{id}:{wrong}"))),
        site.local(&HttpRequest::form("/token", &[grant]).basic(&format!("none:{secret}"))),
        site.token(&[grant, ("client_id", &id)]),
    ];
    let bodies: Vec<String> = answers
        .into_iter()
        .map(|answer| {
            let answer = answer.expect_refusal(401, "invalid_client");
            assert!(answer.header("www-authenticate").unwrap().starts_with("Basic "), "{answer:?}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            assert!(!answer.body.contains(&wrong) && !answer.body.contains(&id), "{answer:?}");
            answer.body
        })
        .collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    site.token(&[grant, ("client_id", &id), ("client_secret", &secret)]).expect(200);
}

#[test]
fn names_of_clients_are_shown_as_text() {
    let site = Site::with(&[("BRAIN_HTTP_DYNAMIC_REGISTRATION", "true")]);
    for name in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</title><h1>",
        "&lt;b&gt;",
        "' autofocus '",
    ] {
        let client = site.public(&HttpRequest::json(
            "/register",
            &json!({ "client_name": name, "redirect_uris": [CALLBACK] }),
        ));
        let page = site
            .public(&HttpRequest::get(&authorize(
                &text(&client.expect(201).json(), "client_id"),
                &[],
            )))
            .expect(200);
        for markup in ["<script", "<img", "<h1></", "<b>", "onerror=alert(1)>", "' autofocus"] {
            assert!(!page.body.contains(markup), "{name} is {markup} in {}", page.body);
        }
        let escaped_name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let escaped_name = escaped_name.replace('"', "&quot;").replace('\'', "&#39;");
        assert!(page.body.contains(&format!("<bdi>{escaped_name}</bdi>")), "{}", page.body);
    }
    let spoofed = json!({ "client_name": "a\u{202e}b", "redirect_uris": [CALLBACK] });
    site.public(&HttpRequest::json("/register", &spoofed))
        .expect_refusal(400, "invalid_client_metadata");
}

#[test]
fn errors_of_unapproved_clients_do_not_redirect() {
    let site = Site::with(&[("BRAIN_HTTP_DYNAMIC_REGISTRATION", "true")]);
    let registration = site.public(&HttpRequest::json(
        "/register",
        &json!({ "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post" }),
    ));
    let registration = registration.expect(201).json();
    assert_eq!(registration["token_endpoint_auth_method"], "none");
    let client = text(&registration, "client_id");
    for wrong in [("response_type", "token"), ("scope", "admin"), ("code_challenge", "")] {
        let page = site.public(&HttpRequest::get(&authorize(&client, &[wrong]))).expect(400);
        assert!(
            page.header("location").is_none() && page.body.contains("You were not redirected"),
            "{page:?}"
        );
    }
    let mut browser = Browser::default();
    let page = browser.consent_page(&site, &client, "read").expect(200);
    let answer = browser.submit(&site, &page, &[("decision", "deny")]).expect(303);
    assert_eq!(answer.redirect_parameter("error").as_deref(), Some("access_denied"));
}
