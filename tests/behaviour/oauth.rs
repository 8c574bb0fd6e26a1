//! The authorization server as clients and the owner's browser see it: metadata, tokens, consent,
//! refresh, revocation, dynamic registration.

use serde_json::json;

use crate::web::{Browser, CALLBACK, HttpRequest, Site, authorize, encoded, hidden_fields, text};

#[test]
fn both_listeners_serve_the_metadata() {
    let site = Site::new();
    let issuer = site.issuer();
    for path in
        ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"]
    {
        let server = site.local(&HttpRequest::get(path)).expect(200).json();
        assert_eq!(
            server,
            site.public(&HttpRequest::get(path)).expect(200).json(),
            "both listeners name the same issuer"
        );
        assert_eq!(server["issuer"], issuer);
        for (name, path) in [
            ("authorization_endpoint", "/authorize"),
            ("token_endpoint", "/token"),
            ("revocation_endpoint", "/revoke"),
        ] {
            assert_eq!(server[name], format!("{issuer}{path}"));
        }
        assert!(
            server.get("registration_endpoint").is_none(),
            "dynamic registration is off: {server}"
        );
        assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
        assert_eq!(server["response_types_supported"], json!(["code"]));
        assert_eq!(server["scopes_supported"], json!(["read", "write"]));
        let methods = json!(["none", "client_secret_basic", "client_secret_post"]);
        assert_eq!(server["token_endpoint_auth_methods_supported"], methods);
        assert_eq!(server["authorization_response_iss_parameter_supported"], true);
        assert_eq!(server["client_id_metadata_document_supported"], true);
    }
    for (path, resource) in [
        ("/.well-known/oauth-protected-resource", issuer.clone()),
        ("/.well-known/oauth-protected-resource/mcp", format!("{issuer}/mcp")),
    ] {
        let resource_metadata = site.public(&HttpRequest::get(path)).expect(200).json();
        assert_eq!(resource_metadata["resource"], resource);
        assert_eq!(resource_metadata["authorization_servers"], json!([issuer]));
        assert_eq!(resource_metadata["bearer_methods_supported"], json!(["header"]));
    }
    site.public(&HttpRequest::get("/.well-known/openid-configuration"))
        .expect_refusal(404, "not_found");
}

#[test]
fn the_public_address_is_the_issuer() {
    let site = Site::with(&[
        ("BRAIN_HTTP_BASE_URL", "https://brain.example.org"),
        ("BRAIN_HTTP_DYNAMIC_REGISTRATION", "true"),
    ]);
    let server = site
        .public(&HttpRequest::get("/.well-known/oauth-authorization-server"))
        .expect(200)
        .json();
    assert_eq!(server["issuer"], "https://brain.example.org");
    assert_eq!(server["registration_endpoint"], "https://brain.example.org/register");
    let resource_metadata = site
        .local(&HttpRequest::get("/.well-known/oauth-protected-resource/mcp"))
        .expect(200)
        .json();
    assert_eq!(resource_metadata["resource"], "https://brain.example.org/mcp");

    let client = site.register_public_client();
    let page = site
        .public(&HttpRequest::get(&authorize(&client, &[])).header("Host", "brain.example.org"))
        .expect(200);
    let cookie = page.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-brain-consent="), "{cookie}");
    for attribute in ["; Path=/", "; HttpOnly", "; SameSite=Lax", "; Secure", "; Max-Age=43200"] {
        assert!(cookie.contains(attribute), "{attribute} is not in {cookie}");
    }
    let page = site.local(&HttpRequest::get(&authorize(&client, &[]))).expect(200);
    let cookie = page.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("brain-consent=") && !cookie.contains("Secure"),
        "the local listener uses plain HTTP: {cookie}"
    );
}

#[test]
fn a_client_gets_a_token_for_its_secret() {
    let site = Site::new();
    let client =
        site.register(&json!({ "name": "A shortcut", "scope": "read write", "token_ttl": 600 }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    let grant = [("grant_type", "client_credentials")];

    let by_form =
        site.token(&[grant[0], ("client_id", &id), ("client_secret", &secret)]).expect(200);
    assert_eq!(by_form.header("cache-control"), Some("no-store"));
    assert_eq!(by_form.header("pragma"), Some("no-cache"));
    let tokens = by_form.json();
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(600)));
    assert_eq!(tokens["scope"], "read write");
    assert!(tokens.get("refresh_token").is_none(), "RFC 6749 section 4.4.3");
    assert_eq!(site.write_status(&text(&tokens, "access_token")), 202);

    // Libraries encode each part as in a form (RFC 6749 section 2.3.1).
    let escaped = |text: &str| text.bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    for joined in [format!("{id}:{secret}"), format!("{}:{}", escaped(&id), escaped(&secret))] {
        let answer =
            site.public(&HttpRequest::form("/token", &grant).basic(&joined)).expect(200).json();
        assert_eq!(site.write_status(&text(&answer, "access_token")), 202);
    }
    let narrower =
        site.token(&[grant[0], ("client_id", &id), ("client_secret", &secret), ("scope", "read")]);
    let narrower = narrower.expect(200).json();
    assert_eq!(narrower["scope"], "read");
    assert_eq!(site.write_status(&text(&narrower, "access_token")), 403);
}

#[test]
fn the_owner_agrees_in_a_browser_and_the_client_gets_a_token() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let resource = format!("{}/mcp", site.issuer());
    let page = browser
        .send(&site.local, HttpRequest::get(&authorize(&client, &[("resource", &resource)])))
        .expect(200);
    for expected in [
        "An app",
        "app.example",
        "registered by you",
        resource.as_str(),
        "write, change and delete pages",
    ] {
        assert!(page.body.contains(expected), "{expected} is not in {}", page.body);
    }
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));

    let wrong = [("decision", "approve"), ("admin_token", "brain_ad_wrong")];
    let retry_page = browser.submit(&site, &page, &wrong).expect(403);
    assert!(
        retry_page.body.contains("That is not the admin token")
            && retry_page.header("location").is_none()
    );
    let right = [("decision", "approve"), ("admin_token", site.admin.as_str())];
    let answer = browser.submit(&site, &retry_page, &right).expect(303);
    assert!(answer.header("location").unwrap().starts_with(&format!("{CALLBACK}?")), "{answer:?}");
    assert_eq!(answer.redirect_parameter("state").as_deref(), Some("a state & more"));
    assert_eq!(answer.redirect_parameter("iss"), Some(site.issuer()), "RFC 9207");
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));

    let tokens =
        site.exchange(&client, &answer.redirect_parameter("code").unwrap()).expect(200).json();
    assert_eq!(tokens["scope"], "read write");
    let (access, refresh) = (text(&tokens, "access_token"), text(&tokens, "refresh_token"));
    assert_eq!(site.write_status(&access), 202);
    let next = site.refresh(&client, &refresh).expect(200).json();
    assert_eq!(site.write_status(&text(&next, "access_token")), 202);

    let revocation = [("token", next["refresh_token"].as_str().unwrap()), ("client_id", &client)];
    let revoked = site.public(&HttpRequest::form("/revoke", &revocation)).expect(200);
    assert_eq!(revoked.body, "");
    assert_eq!(
        site.write_status(&text(&next, "access_token")),
        401,
        "the whole family of the token is revoked"
    );
    site.public(&HttpRequest::form("/revoke", &revocation)).expect(200);
    site.public(&HttpRequest::form(
        "/revoke",
        &[("token", "brain_at_none"), ("client_id", &client)],
    ))
    .expect(200);
}

#[test]
fn the_owner_may_grant_less_or_nothing() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let page = browser.consent_page(&site, &client, "read write").expect(200);
    let narrower =
        [("decision", "approve"), ("grant", "read"), ("admin_token", site.admin.as_str())];
    let code =
        browser.submit(&site, &page, &narrower).expect(303).redirect_parameter("code").unwrap();
    let tokens = site.exchange(&client, &code).expect(200).json();
    assert_eq!(tokens["scope"], "read");
    assert_eq!(site.write_status(&text(&tokens, "access_token")), 403);

    // Over plain HTTP any program on this machine could read the cookie, so the daemon ignores it.
    let page = browser.consent_page(&site, &client, "read write").expect(200);
    assert!(page.body.contains("type=\"password\""));
    browser.submit(&site, &page, &[("decision", "approve")]).expect(403);

    let page = browser.consent_page(&site, &client, "read write").expect(200);
    let answer = browser.submit(&site, &page, &[("decision", "deny")]).expect(303);
    assert_eq!(answer.redirect_parameter("error").as_deref(), Some("access_denied"));
    assert_eq!(answer.redirect_parameter("state").as_deref(), Some("a state & more"));
    assert!(answer.redirect_parameter("code").is_none());
}

#[test]
fn over_https_a_signed_in_owner_must_still_consent() {
    let site = Site::with(&[("BRAIN_HTTP_BASE_URL", "https://brain.example.org")]);
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    let open_consent_page = |browser: &mut Browser| {
        let request = HttpRequest::get(&authorize(&client, &[("scope", "read write")]));
        browser.send(&site.public, request.header("Host", "brain.example.org")).expect(200)
    };
    let submit = |browser: &mut Browser, page: &crate::web::HttpResponse, more: &[(&str, &str)]| {
        let fields = hidden_fields(&page.body);
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: Vec<(&str, &str)> = fields.chain(more.iter().copied()).collect();
        let request = HttpRequest::form("/authorize", &fields).header("Host", "brain.example.org");
        browser.send(&site.public, request.header("Origin", "https://brain.example.org"))
    };
    let page = open_consent_page(&mut browser);
    let token = [("decision", "approve"), ("admin_token", site.admin.as_str())];
    let answer = submit(&mut browser, &page, &token).expect(303);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-brain-consent=") && cookie.contains("; Secure"), "{cookie}");

    let page = open_consent_page(&mut browser);
    assert!(page.body.contains("You are signed in") && !page.body.contains("type=\"password\""));
    // The cookie alone is no consent.
    let approve = [("decision", "approve")];
    let bare = HttpRequest::form("/authorize", &approve).header("Host", "brain.example.org");
    browser.send(&site.public, bare).expect(403);
    let code =
        submit(&mut browser, &page, &approve).expect(303).redirect_parameter("code").unwrap();
    assert_eq!(site.exchange(&client, &code).expect(200).json()["scope"], "read write");

    let page = open_consent_page(&mut browser);
    let signed_out = submit(&mut browser, &page, &[("decision", "sign_out")]).expect(200);
    assert!(signed_out.body.contains("type=\"password\""));
    assert!(open_consent_page(&mut browser).body.contains("type=\"password\""));
}

#[test]
fn a_client_registers_itself_if_the_owner_allows_it() {
    let metadata = json!({
        "client_name": "Self-made", "redirect_uris": ["http://localhost:1/callback"],
        "application_type": "native",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token", "urn:x"],
    });
    let closed = Site::new();
    closed.public(&HttpRequest::json("/register", &metadata)).expect_refusal(403, "access_denied");

    let site = Site::with(&[("BRAIN_HTTP_DYNAMIC_REGISTRATION", "true")]);
    let answer = site.public(&HttpRequest::json("/register", &metadata)).expect(201);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let client = answer.json();
    assert!(client.get("client_secret").is_none(), "{client}");
    assert_eq!(client["token_endpoint_auth_method"], "none");
    assert_eq!(client["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert!(client["client_id_issued_at"].as_i64().unwrap() > 1_700_000_000);

    let (id, mut browser) = (text(&client, "client_id"), Browser::default());
    // A native program may use any port (RFC 8252 section 7.3).
    let native_callback = "http://localhost:54321/callback";
    let page = browser
        .send(&site.local, HttpRequest::get(&authorize(&id, &[("redirect_uri", native_callback)])))
        .expect(200);
    for expected in [
        "nobody has checked its name",
        "a program on this computer",
        "localhost, port 54321",
        "value=\"read\" checked",
        &format!("brain clients revoke {id}"),
    ] {
        assert!(page.body.contains(expected), "{expected} is not in {}", page.body);
    }
    let approval = [("decision", "approve"), ("admin_token", site.admin.as_str())];
    let answer = browser.submit(&site, &page, &approval).expect(303);
    assert!(answer.header("location").unwrap().starts_with(native_callback));
    let code = answer.redirect_parameter("code").unwrap();
    let tokens = site.token(&[
        ("grant_type", "authorization_code"),
        ("client_id", &id),
        ("code", &code),
        ("redirect_uri", native_callback),
        ("code_verifier", crate::web::VERIFIER),
    ]);
    assert_eq!(site.write_status(&text(&tokens.expect(200).json(), "access_token")), 202);

    for (metadata, error) in [
        (json!({ "redirect_uris": ["javascript:alert(1)"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["http://app.example/cb"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": "https://app.example/cb" }), "invalid_redirect_uri"),
        (json!({}), "invalid_redirect_uri"),
        (json!({ "redirect_uris": [CALLBACK], "scope": "admin" }), "invalid_scope"),
        (json!({ "redirect_uris": [CALLBACK], "client_name": 7 }), "invalid_client_metadata"),
        (json!([1]), "invalid_client_metadata"),
    ] {
        site.public(&HttpRequest::json("/register", &metadata)).expect_refusal(400, error);
    }
    site.public(&HttpRequest::new("POST", "/register").body("{}"))
        .expect_refusal(415, "invalid_client_metadata");
}

/// Browsers send `Origin: null` from a page that is served with `no-referrer`, and the daemon
/// refuses that origin. So the consent page, which has a form, must not use `no-referrer`. The
/// error page has no form and uses it.
#[test]
fn pages_have_strict_security_headers() {
    let site = Site::new();
    let page =
        site.public(&HttpRequest::get(&authorize(&site.register_public_client(), &[]))).expect(200);
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    let refused = site.public(&HttpRequest::get("/authorize?client_id=none")).expect(400);
    assert_eq!(refused.header("referrer-policy"), Some("no-referrer"));
    for page in [page, refused] {
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        let policy = page.header("content-security-policy").unwrap();
        for rule in [
            "default-src 'none'",
            "style-src 'sha256-",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(rule), "{rule} is not in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for element in ["<script", "src=", "<link", "@import", "url("] {
            assert!(!page.body.contains(element), "{element} in {}", page.body);
        }
        assert!(
            page.body.contains("width=device-width")
                && page.body.contains("color-scheme:light dark")
        );
    }
}

/// The state belongs to the client: it is returned unchanged, and it cannot inject other
/// parameters.
#[test]
fn the_state_is_returned_unchanged() {
    let site = Site::new();
    let (client, mut browser) = (site.register_public_client(), Browser::default());
    for state in [
        "\r\nSet-Cookie: a=b",
        "\"><script>alert(1)</script>",
        "ünï\u{202e}",
        "&code=x&iss=y#",
        "%0d%0a",
    ] {
        let page = browser
            .send(&site.local, HttpRequest::get(&authorize(&client, &[("state", state)])))
            .expect(200);
        assert!(!page.body.contains("<script"), "{state:?}");
        assert!(hidden_fields(&page.body).iter().any(|(name, _)| name == "seal"));
        let approval = [("decision", "approve"), ("admin_token", site.admin.as_str())];
        let answer = browser.submit(&site, &page, &approval).expect(303);
        assert_eq!(answer.redirect_parameter("state").as_deref(), Some(state));
        assert!(
            answer.header("location").unwrap().contains(&encoded(&[("iss", &site.issuer())])),
            "{answer:?}"
        );
    }
}
