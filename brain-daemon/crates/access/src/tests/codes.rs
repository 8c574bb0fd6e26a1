//! Authorization codes: PKCE, redirect URI, single use, and expiry after 60 seconds.

use super::*;

fn grant(code: &Secret, redirect_uri: Option<&str>, verifier: Option<&str>) -> AuthorizationGrant {
    AuthorizationGrant::Code {
        code: code.clone(),
        redirect_uri: redirect_uri.map(str::to_owned),
        verifier: verifier.map(Secret::new),
    }
}

#[test]
fn a_code_grants_what_the_owner_consented_to() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read write");
    let request =
        AuthorizeRequest { scope: Some("write read".into()), ..authorize_request(&app.client_id) };
    assert_eq!(fixture.access().consent(&request).unwrap().scopes, Scopes::READ_WRITE);
    let redirect = fixture.access().approve(&request, Scopes::parse("read").unwrap()).unwrap();
    assert!(redirect.starts_with(&format!("{CALLBACK}?code=brain_co_")), "{redirect}");
    let answer = parameters(&redirect);
    assert_eq!((answer["iss"].as_str(), answer["state"].as_str()), (ISSUER, "st&te 1"));
    let issued = fixture.redeem(&app, &Secret::new(&*answer["code"])).unwrap();
    assert_eq!((issued.scopes.to_string().as_str(), issued.expires_in), ("read", 3600));
    assert!(issued.refresh_token.is_some());
    let caller = fixture.access().bearer(issued.access_token.expose()).unwrap();
    assert_eq!(
        (caller.name.as_str(), caller.scopes()),
        (app.client_id.as_str(), brain_base::caller::Scope::Read.into())
    );
    // The owner cannot grant more than the requested scopes.
    let request = AuthorizeRequest { scope: Some("read".into()), ..request };
    assert_eq!(approval_error(&fixture, &request), OAuthError::InvalidScope);
}

fn approval_error(fixture: &Fixture, request: &AuthorizeRequest) -> OAuthError {
    shown_error(fixture.access().approve(request, Scopes::READ_WRITE))
}

#[test]
fn a_code_needs_its_verifier_address_and_client() {
    let fixture = Fixture::new();
    let (app, other) = (fixture.public_client("read"), fixture.public_client("read"));
    let code = fixture.code(&authorize_request(&app.client_id));
    let access = fixture.access();
    let uri = Some(CALLBACK);
    let exchange_error = |credentials: &Credentials, grant: AuthorizationGrant| {
        error(access.exchange(credentials, &grant, &[]))
    };
    assert_eq!(exchange_error(&app, grant(&code, uri, None)), OAuthError::InvalidRequest);
    for verifier in
        [&challenge(VERIFIER), "", &VERIFIER[1..], &VERIFIER.to_lowercase(), &"a".repeat(43)]
    {
        assert_eq!(
            exchange_error(&app, grant(&code, uri, Some(verifier))),
            OAuthError::InvalidGrant,
            "{verifier}"
        );
    }
    for uri in [None, Some("https://app.example/cb?x=1"), Some("https://app.example/cb/"), Some("")]
    {
        assert_eq!(
            exchange_error(&app, grant(&code, uri, Some(VERIFIER))),
            OAuthError::InvalidGrant,
            "{uri:?}"
        );
    }
    assert_eq!(exchange_error(&other, grant(&code, uri, Some(VERIFIER))), OAuthError::InvalidGrant);
    let wrong = Secret::new(format!("{}x", code.expose()));
    assert_eq!(exchange_error(&app, grant(&wrong, uri, Some(VERIFIER))), OAuthError::InvalidGrant);
    let other_resource = ["https://evil.example/mcp".to_owned()];
    let refused = access.exchange(&app, &grant(&code, uri, Some(VERIFIER)), &other_resource);
    assert_eq!(error(refused), OAuthError::InvalidTarget);
    assert!(fixture.redeem(&app, &code).is_ok(), "failed attempts do not use the code up");
}

#[test]
fn a_code_needs_no_address_if_the_request_named_none() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let request = AuthorizeRequest { redirect_uri: None, ..authorize_request(&app.client_id) };
    let code = fixture.code(&request);
    assert!(fixture.access().exchange(&app, &grant(&code, None, Some(VERIFIER)), &[]).is_ok());
}

#[test]
fn a_code_is_valid_for_60_s() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let (early, late) = (
        fixture.code(&authorize_request(&app.client_id)),
        fixture.code(&authorize_request(&app.client_id)),
    );
    fixture.advance(MINUTE - 1);
    assert!(fixture.redeem(&app, &early).is_ok());
    fixture.advance(1);
    assert_eq!(error(fixture.redeem(&app, &late)), OAuthError::InvalidGrant);
}

#[test]
fn a_second_use_of_a_code_revokes_its_tokens() {
    let fixture = Fixture::new();
    let (app, other) = (fixture.public_client("read"), fixture.public_client("read"));
    let code = fixture.code(&authorize_request(&app.client_id));
    let issued = fixture.redeem(&app, &code).unwrap();
    let other_consent = fixture.consent_and_redeem(&app);
    assert_eq!(error(fixture.redeem(&other, &code)), OAuthError::InvalidGrant);
    assert!(
        fixture.is_accepted(&issued.access_token),
        "a replay by another client does not revoke the tokens"
    );
    fixture.advance(2 * MINUTE);
    assert_eq!(error(fixture.redeem(&app, &code)), OAuthError::InvalidGrant);
    assert!(!fixture.is_accepted(&issued.access_token));
    assert_eq!(error(fixture.refresh(&app, &issued.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(fixture.is_accepted(&other_consent.access_token), "another consent is another family");
}

#[test]
fn a_second_use_of_a_code_revokes_refreshed_tokens() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let code = fixture.code(&authorize_request(&app.client_id));
    let first = fixture.redeem(&app, &code).unwrap();
    fixture.advance(1000);
    let second = fixture.refresh(&app, &first.refresh_token, None).unwrap();
    assert_eq!(error(fixture.redeem(&app, &code)), OAuthError::InvalidGrant);
    assert!(!fixture.is_accepted(&second.access_token));
}

#[test]
fn a_code_of_a_revoked_client_is_invalid() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read write");
    let code = fixture.code(&authorize_request(&app.client_id));
    fixture.revoke_client(&app.client_id);
    assert_eq!(error(fixture.redeem(&app, &code)), OAuthError::InvalidClient);
    // A code grants no more than the client has when the code is exchanged.
    let app = fixture.public_client("read write");
    let code = fixture.code(&authorize_request(&app.client_id));
    fixture.update(&app.client_id, Some("read"), None).unwrap();
    assert_eq!(fixture.redeem(&app, &code).unwrap().scopes.to_string(), "read");
}
