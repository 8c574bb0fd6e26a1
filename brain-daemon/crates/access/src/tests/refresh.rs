//! Refresh tokens: rotation, reuse, the grace period, and revocation (RFC 7009).

use brain_protocol::TokenRevoke;

use super::*;

#[test]
fn a_refresh_token_is_exchanged_for_a_new_pair() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read write");
    let mut issued = fixture.consent_and_redeem(&app);
    for _ in 0..5 {
        fixture.advance(20 * DAY);
        let next = fixture.refresh(&app, &issued.refresh_token, None).unwrap();
        assert_ne!(next.refresh_token, issued.refresh_token);
        assert!(fixture.is_accepted(&next.access_token));
        issued = next;
    }
    fixture.advance(30 * DAY - 1);
    let last = fixture.refresh(&app, &issued.refresh_token, None).unwrap();
    fixture.advance(30 * DAY);
    assert_eq!(
        error(fixture.refresh(&app, &last.refresh_token, None)),
        OAuthError::InvalidGrant,
        "30 days are over"
    );
}

#[test]
fn reuse_of_a_refresh_token_revokes_its_family() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let other_consent = fixture.consent_and_redeem(&app);
    let first = fixture.consent_and_redeem(&app);
    fixture.advance(HOUR / 2);
    let second = fixture.refresh(&app, &first.refresh_token, None).unwrap();
    fixture.advance(10_000);
    assert_eq!(error(fixture.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    for token in [&first.access_token, &second.access_token] {
        assert!(!fixture.is_accepted(token));
    }
    assert_eq!(error(fixture.refresh(&app, &second.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(fixture.is_accepted(&other_consent.access_token));
    assert!(fixture.refresh(&app, &other_consent.refresh_token, None).is_ok());
}

#[test]
fn processes_can_renew_a_shared_refresh_token_within_10_s() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let original = fixture.consent_and_redeem(&app);
    fixture.advance(HOUR);
    let one = fixture.refresh(&app, &original.refresh_token, None).unwrap();
    fixture.advance(9_999);
    let other = fixture.refresh(&app, &original.refresh_token, None).unwrap();
    assert!(one.refresh_token != other.refresh_token && one.access_token != other.access_token);
    assert!(fixture.is_accepted(&one.access_token) && fixture.is_accepted(&other.access_token));
    // Both can be refreshed independently.
    fixture.advance(MINUTE);
    let next = fixture.refresh(&app, &one.refresh_token, None).unwrap();
    fixture.advance(MINUTE);
    let other_next = fixture.refresh(&app, &other.refresh_token, None).unwrap();
    assert!(
        fixture.is_accepted(&next.access_token) && fixture.is_accepted(&other_next.access_token)
    );
    // All these tokens are one family.
    assert_eq!(error(fixture.refresh(&app, &one.refresh_token, None)), OAuthError::InvalidGrant);
    for issued in [&one, &other, &next, &other_next] {
        assert!(!fixture.is_accepted(&issued.access_token));
        assert_eq!(
            error(fixture.refresh(&app, &issued.refresh_token, None)),
            OAuthError::InvalidGrant
        );
    }
}

#[test]
fn a_shared_token_can_be_renewed_after_its_successor_was_used() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let original = fixture.consent_and_redeem(&app);
    fixture.advance(1000);
    let successor = fixture.refresh(&app, &original.refresh_token, None).unwrap();
    let last = fixture.refresh(&app, &successor.refresh_token, None).unwrap();
    fixture.advance(5000);
    let second = fixture.refresh(&app, &original.refresh_token, None).unwrap();
    assert!(fixture.is_accepted(&last.access_token) && fixture.is_accepted(&second.access_token));
}

#[test]
fn the_grace_period_begins_with_the_first_exchange() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let first = fixture.consent_and_redeem(&app);
    fixture.advance(1000);
    fixture.refresh(&app, &first.refresh_token, None).unwrap();
    fixture.advance(6_000);
    let again = fixture.refresh(&app, &first.refresh_token, None).unwrap();
    fixture.advance(6_000);
    assert_eq!(error(fixture.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(!fixture.is_accepted(&again.access_token));
}

#[test]
fn a_revoked_family_cannot_be_renewed_in_the_grace_period() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let first = fixture.consent_and_redeem(&app);
    fixture.advance(1000);
    let second = fixture.refresh(&app, &first.refresh_token, None).unwrap();
    fixture.access().revoke(&app, second.refresh_token.as_ref().unwrap()).unwrap();
    assert_eq!(error(fixture.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
}

#[test]
fn tokens_for_a_former_address_cannot_be_refreshed() {
    let mut fixture = Fixture::new();
    let app = fixture.public_client("read");
    let request = AuthorizeRequest {
        resource: vec![format!("{ISSUER}/mcp")],
        ..authorize_request(&app.client_id)
    };
    let code = fixture.code(&request);
    let issued = fixture.redeem(&app, &code).unwrap();
    fixture.advance(1000);
    fixture.settings.base_url = Some("https://other.example".into());
    fixture.reopen();
    assert!(!fixture.is_accepted(&issued.access_token));
    assert_eq!(error(fixture.refresh(&app, &issued.refresh_token, None)), OAuthError::InvalidGrant);
    fixture.settings.base_url = Some(ISSUER.into());
    fixture.reopen();
    assert!(
        fixture.refresh(&app, &issued.refresh_token, None).is_ok(),
        "the refused request did not use the token up"
    );
}

#[test]
fn reuse_is_detected_after_a_restart() {
    let mut fixture = Fixture::new();
    let app = fixture.public_client("read");
    let first = fixture.consent_and_redeem(&app);
    fixture.advance(1000);
    let second = fixture.refresh(&app, &first.refresh_token, None).unwrap();
    fixture.advance(MINUTE);
    fixture.reopen();
    assert!(fixture.is_accepted(&second.access_token));
    assert_eq!(error(fixture.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    fixture.reopen();
    assert!(!fixture.is_accepted(&second.access_token));
}

#[test]
fn a_refresh_token_works_only_for_its_client() {
    let fixture = Fixture::new();
    let (app, other) = (fixture.public_client("read"), fixture.public_client("read"));
    let issued = fixture.consent_and_redeem(&app);
    for _ in 0..2 {
        assert_eq!(
            error(fixture.refresh(&other, &issued.refresh_token, None)),
            OAuthError::InvalidGrant
        );
    }
    let access = Some(issued.access_token.clone());
    assert_eq!(
        error(fixture.refresh(&app, &access, None)),
        OAuthError::InvalidGrant,
        "an access token is not a refresh token"
    );
    assert!(
        fixture.refresh(&app, &issued.refresh_token, None).is_ok(),
        "a request of another client does not use it up"
    );
}

#[test]
fn a_refresh_with_fewer_scopes_keeps_the_granted_ones() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read write");
    let issued = fixture.consent_and_redeem(&app);
    fixture.advance(1000);
    let less = fixture.refresh(&app, &issued.refresh_token, Some("read")).unwrap();
    assert_eq!(less.scopes.to_string(), "read");
    let caller = fixture.access().bearer(less.access_token.expose()).unwrap();
    assert_eq!(caller.scopes().to_string(), "read");
    assert_eq!(
        error(fixture.refresh(&app, &less.refresh_token, Some("admin"))),
        OAuthError::InvalidScope
    );
    fixture.advance(1000);
    let all = fixture.refresh(&app, &less.refresh_token, None).unwrap();
    assert_eq!(all.scopes, Scopes::READ_WRITE);
    // The consent limits the scopes, even if the client has more scopes now.
    let request =
        AuthorizeRequest { scope: Some("read".into()), ..authorize_request(&app.client_id) };
    let code = fixture.code(&request);
    let small = fixture.redeem(&app, &code).unwrap();
    assert_eq!(
        error(fixture.refresh(&app, &small.refresh_token, Some("write"))),
        OAuthError::InvalidScope
    );
}

#[test]
fn a_client_without_the_grant_gets_no_refresh_token() {
    let fixture = Fixture::new();
    let request = ClientRegister {
        grant_types: vec![GrantType::AuthorizationCode],
        redirect_uris: vec![CALLBACK.into()],
        ..registration_request("once", "read")
    };
    let registered = fixture.access().client_register(request).unwrap();
    let credentials =
        Credentials { client_id: registered.client_id, secret: registered.client_secret };
    assert!(fixture.consent_and_redeem(&credentials).refresh_token.is_none());
    let unproven = Credentials { secret: None, ..credentials.clone() };
    let code = fixture.code(&authorize_request(&credentials.client_id));
    assert_eq!(
        error(fixture.redeem(&unproven, &code)),
        OAuthError::InvalidClient,
        "a client with a secret must send it"
    );
}

#[test]
fn a_client_can_revoke_only_its_own_tokens() {
    let fixture = Fixture::new();
    let (app, other) = (fixture.public_client("read"), fixture.public_client("read"));
    let (one, two) = (fixture.consent_and_redeem(&app), fixture.consent_and_redeem(&app));
    let revoke =
        |credentials: &Credentials, token: &Secret| fixture.access().revoke(credentials, token);
    revoke(&other, &one.access_token).unwrap();
    revoke(&other, one.refresh_token.as_ref().unwrap()).unwrap();
    assert!(fixture.is_accepted(&one.access_token), "a revocation by another client has no effect");
    let stranger = Credentials { client_id: "brain_cl_nobody".into(), secret: None };
    assert_eq!(error(revoke(&stranger, &one.access_token)), OAuthError::InvalidClient);

    revoke(&app, &one.access_token).unwrap();
    assert!(!fixture.is_accepted(&one.access_token));
    let again = fixture.refresh(&app, &one.refresh_token, None).unwrap();
    revoke(&app, again.refresh_token.as_ref().unwrap()).unwrap();
    assert!(
        !fixture.is_accepted(&again.access_token),
        "revoking the refresh token revokes its family"
    );
    for token in [again.refresh_token.as_ref().unwrap(), &one.access_token, &Secret::new("unknown")]
    {
        revoke(&app, token).unwrap();
    }
    assert!(fixture.is_accepted(&two.access_token));

    let personal = fixture.personal_token("laptop", "read", None).unwrap();
    revoke(&app, &personal).unwrap();
    assert!(fixture.is_accepted(&personal), "a client cannot revoke a personal token");
    fixture.access().token_revoke(&TokenRevoke { token: "laptop".into() }).unwrap();
    assert!(!fixture.is_accepted(&personal));
}
