//! Consent: what the page shows, and where errors go.

use super::*;
use crate::RegistrationRequest;

const CLAUDE: &str = "https://claude.ai/oauth/mcp-oauth-client-metadata";
const CLAUDE_CODE: &str = "https://claude.ai/oauth/claude-code-client-metadata";

fn with(request: &AuthorizeRequest, change: impl Fn(&mut AuthorizeRequest)) -> AuthorizeRequest {
    let mut request = request.clone();
    change(&mut request);
    request
}

#[test]
fn the_consent_page_shows_client_scopes_and_sources() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read write");
    fixture.update(&app.client_id, None, Some(&["work"])).unwrap();
    let request = with(&authorize_request(&app.client_id), |r| {
        r.scope = Some("read".into());
        r.resource = vec!["https://brain.example/mcp".into()];
    });
    let consent = fixture.access().consent(&request).unwrap();
    assert_eq!((consent.client_name.as_str(), consent.registered_by.as_str()), ("app", "admin"));
    assert_eq!(
        (consent.redirect_uri.as_str(), consent.redirect_host.as_str()),
        (CALLBACK, "app.example")
    );
    assert_eq!((consent.scopes.to_string().as_str(), consent.loopback), ("read", false));
    assert_eq!(consent.sources, ["work"]);
    assert_eq!(consent.resource.as_deref(), Some("https://brain.example/mcp"));
}

#[test]
fn an_unregistered_address_is_never_redirected_to() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let good = authorize_request(&app.client_id);
    for client in
        [None, Some(""), Some("brain_cl_nobody"), Some("https://evil.example/client.json")]
    {
        let request = with(&good, |r| r.client_id = client.map(str::to_owned));
        let error = shown_error(fixture.access().consent(&request));
        assert!(
            matches!(error, OAuthError::InvalidClient | OAuthError::InvalidRequest),
            "{client:?}"
        );
    }
    for uri in [
        "https://app.example/cb?next=//evil.example",
        "https://app.example/cb#x",
        "https://user@app.example/cb",
        "https://app.example@evil.example/cb",
        "https://evil.example/cb",
        "https://evil.app.example/cb",
        "https://app.example.evil.example/cb",
        "http://app.example/cb",
        "https://app.example/cb/../evil",
        "https://APP.example/cb",
        "https://app.example:8443/cb",
        "javascript:alert(1)",
        "",
    ] {
        let request = with(&good, |r| r.redirect_uri = Some(uri.into()));
        assert_eq!(
            shown_error(fixture.access().consent(&request)),
            OAuthError::InvalidRequest,
            "{uri}"
        );
        assert_eq!(
            shown_error(fixture.access().approve(&request, Scopes::READ_WRITE)),
            OAuthError::InvalidRequest
        );
        assert_eq!(shown_error(fixture.access().deny(&request)), OAuthError::InvalidRequest);
        // Other invalid parameters do not change the error.
        let worse = with(&request, |r| r.response_type = Some("token".into()));
        assert_eq!(shown_error(fixture.access().consent(&worse)), OAuthError::InvalidRequest);
    }
    let (service, _) = fixture.confidential_client("service", "read", &[]);
    let request = authorize_request(&service.client_id);
    assert_eq!(
        shown_error(fixture.access().consent(&request)),
        OAuthError::InvalidRequest,
        "the client has no redirect URI"
    );
    fixture.revoke_client(&app.client_id);
    assert_eq!(shown_error(fixture.access().consent(&good)), OAuthError::InvalidClient);
}

#[test]
fn the_address_is_optional_if_the_client_has_one_only() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let request = with(&authorize_request(&app.client_id), |r| r.redirect_uri = None);
    assert_eq!(fixture.access().consent(&request).unwrap().redirect_uri, CALLBACK);
    let uris = vec![CALLBACK.into(), "https://app.example/other".into()];
    let two =
        ClientRegister { public: true, redirect_uris: uris, ..registration_request("two", "read") };
    let id = fixture.access().client_register(two).unwrap().client_id;
    let request = with(&authorize_request(&id), |r| r.redirect_uri = None);
    assert_eq!(shown_error(fixture.access().consent(&request)), OAuthError::InvalidRequest);
}

#[test]
fn errors_are_sent_to_the_address_of_a_trusted_client() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let good = authorize_request(&app.client_id);
    let error_after = |change: fn(&mut AuthorizeRequest)| {
        redirected_error(fixture.access().consent(&with(&good, change)))
    };
    assert_eq!(error_after(|r| r.response_type = None), "invalid_request");
    assert_eq!(
        error_after(|r| r.response_type = Some("token".into())),
        "unsupported_response_type"
    );
    assert_eq!(
        error_after(|r| r.response_type = Some("code token".into())),
        "unsupported_response_type"
    );
    assert_eq!(error_after(|r| r.code_challenge = None), "invalid_request");
    assert_eq!(error_after(|r| r.code_challenge = Some("short".into())), "invalid_request");
    assert_eq!(
        error_after(|r| r.code_challenge = Some(format!("{}=", "a".repeat(42)))),
        "invalid_request"
    );
    assert_eq!(error_after(|r| r.code_challenge_method = None), "invalid_request");
    assert_eq!(error_after(|r| r.code_challenge_method = Some("plain".into())), "invalid_request");
    assert_eq!(error_after(|r| r.scope = Some("write".into())), "invalid_scope");
    assert_eq!(error_after(|r| r.resource = vec!["https://evil.example".into()]), "invalid_target");
    let refused = fixture.access().deny(&good).unwrap();
    let answer = parameters(&refused);
    assert_eq!((answer["error"].as_str(), answer["state"].as_str()), ("access_denied", "st&te 1"));
    assert_eq!(answer["iss"], ISSUER);
    let without_state = with(&good, |r| r.state = None);
    assert!(!parameters(&fixture.access().deny(&without_state).unwrap()).contains_key("state"));
}

#[test]
fn errors_of_a_dynamic_client_are_shown_to_the_person() {
    let fixture = Fixture::new();
    let client = RegistrationRequest {
        redirect_uris: vec![CALLBACK.into()],
        ..RegistrationRequest::default()
    };
    let good =
        authorize_request(&fixture.access().register_dynamic_client(&client).unwrap().client_id);
    let error_after = |change: fn(&mut AuthorizeRequest)| {
        let request = with(&good, change);
        assert_eq!(
            shown_error(fixture.access().approve(&request, Scopes::READ_WRITE)),
            shown_error(fixture.access().deny(&request))
        );
        shown_error(fixture.access().consent(&request))
    };
    assert_eq!(
        error_after(|r| r.response_type = Some("token".into())),
        OAuthError::UnsupportedResponseType
    );
    assert_eq!(error_after(|r| r.code_challenge = None), OAuthError::InvalidRequest);
    assert_eq!(error_after(|r| r.scope = Some("admin".into())), OAuthError::InvalidScope);
    assert_eq!(
        error_after(|r| r.resource = vec!["https://evil.example".into()]),
        OAuthError::InvalidTarget
    );
    // The owner has seen the redirect address.
    assert!(fixture.access().deny(&good).unwrap().starts_with(CALLBACK));
}

#[test]
fn a_loopback_address_may_have_any_port() {
    let fixture = Fixture::new();
    let request_to =
        |uri: &str| with(&authorize_request(CLAUDE_CODE), |r| r.redirect_uri = Some(uri.into()));
    for uri in ["http://localhost:3118/callback", "http://127.0.0.1:50123/callback"] {
        let consent = fixture.access().consent(&request_to(uri)).unwrap();
        assert!(consent.loopback && consent.redirect_uri == uri, "{consent:?}");
        let redirect = fixture.access().approve(&request_to(uri), consent.scopes).unwrap();
        assert!(redirect.starts_with(&format!("{uri}?code=")), "{redirect}");
        // The token request must name the same port.
        let code = Secret::new(&*parameters(&redirect)["code"]);
        let credentials = Credentials { client_id: CLAUDE_CODE.into(), secret: None };
        let grant = |uri: &str| AuthorizationGrant::Code {
            code: code.clone(),
            redirect_uri: Some(uri.into()),
            verifier: Some(Secret::new(VERIFIER)),
        };
        let other = uri.replace(":3118", ":3119").replace(":50123", ":3119");
        assert_eq!(
            error(fixture.access().exchange(&credentials, &grant(&other), &[])),
            OAuthError::InvalidGrant
        );
        assert!(fixture.access().exchange(&credentials, &grant(uri), &[]).is_ok());
    }
    for uri in [
        "http://localhost:3118/other",
        "http://localhost.evil.example/callback",
        "https://localhost/callback",
    ] {
        assert_eq!(
            shown_error(fixture.access().consent(&request_to(uri))),
            OAuthError::InvalidRequest,
            "{uri}"
        );
    }
}

#[test]
fn a_known_client_is_registered_by_consent() {
    let mut fixture = Fixture::new();
    let claude = with(&authorize_request(CLAUDE), |r| {
        r.redirect_uri = Some("https://claude.ai/api/mcp/auth_callback".into());
    });
    let consent = fixture.access().consent(&claude).unwrap();
    assert_eq!(
        (consent.client_name.as_str(), consent.registered_by.as_str()),
        ("Claude", "metadata")
    );
    assert_eq!(consent.scopes, Scopes::READ_WRITE);
    fixture.access().deny(&claude).unwrap();
    let clients = |fixture: &Fixture| {
        fixture.access().client_list(&brain_protocol::ClientList { all: true }).unwrap().clients
    };
    assert!(clients(&fixture).is_empty());
    let admin = with(&claude, |r| r.scope = Some("admin".into()));
    assert!(matches!(fixture.access().consent(&admin), Err(AuthorizeError::Redirect(_))));

    let obtain_tokens = |fixture: &Fixture| {
        let grant = AuthorizationGrant::Code {
            code: fixture.code(&claude),
            redirect_uri: claude.redirect_uri.clone(),
            verifier: Some(Secret::new(VERIFIER)),
        };
        fixture
            .access()
            .exchange(&Credentials { client_id: CLAUDE.into(), secret: None }, &grant, &[])
            .unwrap()
    };
    let issued = obtain_tokens(&fixture);
    fixture.reopen();
    assert!(fixture.is_accepted(&issued.access_token));
    assert_eq!(clients(&fixture)[0].registered_by, "metadata");
    assert!(clients(&fixture)[0].public);
    // A revoked client with a document needs the owner's consent again.
    assert_eq!(fixture.revoke_client(CLAUDE), 2);
    assert!(!fixture.is_accepted(&issued.access_token));
    let again = obtain_tokens(&fixture);
    assert!(fixture.is_accepted(&again.access_token) && !fixture.is_accepted(&issued.access_token));
    let credentials = Credentials { client_id: CLAUDE.into(), secret: None };
    assert_eq!(
        error(fixture.refresh(&credentials, &issued.refresh_token, None)),
        OAuthError::InvalidGrant
    );
}
