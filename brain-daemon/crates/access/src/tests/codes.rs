//! The authorization code: PKCE, the address, once, for 60 seconds.

use super::*;

fn offer(code: &Secret, redirect_uri: Option<&str>, verifier: Option<&str>) -> AuthorizationGrant {
    AuthorizationGrant::Code {
        code: code.clone(),
        redirect_uri: redirect_uri.map(str::to_owned),
        verifier: verifier.map(Secret::new),
    }
}

#[test]
fn a_code_grants_what_the_owner_consented_to() {
    let lab = Lab::new();
    let app = lab.public_client("read write");
    let request =
        AuthorizeRequest { scope: Some("write read".into()), ..authorize_request(&app.client_id) };
    assert_eq!(lab.access().consent(&request).unwrap().scopes, Scopes::READ_WRITE);
    let to = lab.access().approve(&request, Scopes::parse("read").unwrap()).unwrap();
    assert!(to.starts_with(&format!("{CALLBACK}?code=brain_co_")), "{to}");
    let told = parameters(&to);
    assert_eq!((told["iss"].as_str(), told["state"].as_str()), (ISSUER, "st&te 1"));
    let issued = lab.redeem(&app, &Secret::new(&*told["code"])).unwrap();
    assert_eq!((issued.scopes.to_string().as_str(), issued.expires_in), ("read", 3600));
    assert!(issued.refresh_token.is_some());
    let caller = lab.access().bearer(issued.access_token.expose()).unwrap();
    assert_eq!(
        (caller.name.as_str(), caller.scopes()),
        (app.client_id.as_str(), brain_base::caller::Scope::Read.into())
    );
    // More than was asked for the owner cannot be made to give.
    let request = AuthorizeRequest { scope: Some("read".into()), ..request };
    assert_eq!(told_scope(&lab, &request), OAuthError::InvalidScope);
}

fn told_scope(lab: &Lab, request: &AuthorizeRequest) -> OAuthError {
    shown_error(lab.access().approve(request, Scopes::READ_WRITE))
}

#[test]
fn a_code_needs_its_verifier_address_and_client() {
    let lab = Lab::new();
    let (app, other) = (lab.public_client("read"), lab.public_client("read"));
    let code = lab.code(&authorize_request(&app.client_id));
    let access = lab.access();
    let uri = Some(CALLBACK);
    let try_it = |credentials: &Credentials, offer: AuthorizationGrant| {
        error(access.exchange(credentials, &offer, &[]))
    };
    assert_eq!(try_it(&app, offer(&code, uri, None)), OAuthError::InvalidRequest);
    for verifier in
        [&challenge(VERIFIER), "", &VERIFIER[1..], &VERIFIER.to_lowercase(), &"a".repeat(43)]
    {
        assert_eq!(
            try_it(&app, offer(&code, uri, Some(verifier))),
            OAuthError::InvalidGrant,
            "{verifier}"
        );
    }
    for uri in [None, Some("https://app.example/cb?x=1"), Some("https://app.example/cb/"), Some("")]
    {
        assert_eq!(
            try_it(&app, offer(&code, uri, Some(VERIFIER))),
            OAuthError::InvalidGrant,
            "{uri:?}"
        );
    }
    assert_eq!(try_it(&other, offer(&code, uri, Some(VERIFIER))), OAuthError::InvalidGrant);
    let wrong = Secret::new(format!("{}x", code.expose()));
    assert_eq!(try_it(&app, offer(&wrong, uri, Some(VERIFIER))), OAuthError::InvalidGrant);
    let elsewhere = ["https://evil.example/mcp".to_owned()];
    let refused = access.exchange(&app, &offer(&code, uri, Some(VERIFIER)), &elsewhere);
    assert_eq!(error(refused), OAuthError::InvalidTarget);
    assert!(lab.redeem(&app, &code).is_ok(), "what others tried has not used it up");
}

#[test]
fn a_code_needs_no_address_if_the_request_named_none() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let request = AuthorizeRequest { redirect_uri: None, ..authorize_request(&app.client_id) };
    let code = lab.code(&request);
    assert!(lab.access().exchange(&app, &offer(&code, None, Some(VERIFIER)), &[]).is_ok());
}

#[test]
fn a_code_is_valid_for_60_s() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let (early, late) = (
        lab.code(&authorize_request(&app.client_id)),
        lab.code(&authorize_request(&app.client_id)),
    );
    lab.advance(MINUTE - 1);
    assert!(lab.redeem(&app, &early).is_ok());
    lab.advance(1);
    assert_eq!(error(lab.redeem(&app, &late)), OAuthError::InvalidGrant);
}

#[test]
fn a_second_use_of_a_code_revokes_its_tokens() {
    let lab = Lab::new();
    let (app, other) = (lab.public_client("read"), lab.public_client("read"));
    let code = lab.code(&authorize_request(&app.client_id));
    let issued = lab.redeem(&app, &code).unwrap();
    let bystander = lab.consent_and_redeem(&app);
    assert_eq!(error(lab.redeem(&other, &code)), OAuthError::InvalidGrant);
    assert!(lab.is_accepted(&issued.access_token), "another client cannot take them away");
    lab.advance(2 * MINUTE);
    assert_eq!(error(lab.redeem(&app, &code)), OAuthError::InvalidGrant);
    assert!(!lab.is_accepted(&issued.access_token));
    assert_eq!(error(lab.refresh(&app, &issued.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(lab.is_accepted(&bystander.access_token), "another consent is another family");
}

#[test]
fn a_second_use_of_a_code_revokes_refreshed_tokens() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let code = lab.code(&authorize_request(&app.client_id));
    let first = lab.redeem(&app, &code).unwrap();
    lab.advance(1000);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    assert_eq!(error(lab.redeem(&app, &code)), OAuthError::InvalidGrant);
    assert!(!lab.is_accepted(&second.access_token));
}

#[test]
fn a_code_of_a_revoked_client_is_invalid() {
    let lab = Lab::new();
    let app = lab.public_client("read write");
    let code = lab.code(&authorize_request(&app.client_id));
    lab.revoke_client(&app.client_id);
    assert_eq!(error(lab.redeem(&app, &code)), OAuthError::InvalidClient);
    // Nor is it worth more than the client is granted by then.
    let app = lab.public_client("read write");
    let code = lab.code(&authorize_request(&app.client_id));
    lab.update(&app.client_id, Some("read"), None).unwrap();
    assert_eq!(lab.redeem(&app, &code).unwrap().scopes.to_string(), "read");
}
