//! Refresh tokens: rotation, reuse, the grace period, and revocation (RFC 7009).

use brain_protocol::TokenRevoke;

use super::*;

#[test]
fn a_refresh_token_is_exchanged_for_a_new_pair() {
    let lab = Lab::new();
    let app = lab.public_client("read write");
    let mut issued = lab.consent_and_redeem(&app);
    for _ in 0..5 {
        lab.advance(20 * DAY);
        let next = lab.refresh(&app, &issued.refresh_token, None).unwrap();
        assert_ne!(next.refresh_token, issued.refresh_token);
        assert!(lab.is_accepted(&next.access_token));
        issued = next;
    }
    lab.advance(30 * DAY - 1);
    let last = lab.refresh(&app, &issued.refresh_token, None).unwrap();
    lab.advance(30 * DAY);
    assert_eq!(
        error(lab.refresh(&app, &last.refresh_token, None)),
        OAuthError::InvalidGrant,
        "30 days are over"
    );
}

#[test]
fn reuse_of_a_refresh_token_revokes_its_family() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let bystander = lab.consent_and_redeem(&app);
    let first = lab.consent_and_redeem(&app);
    lab.advance(HOUR / 2);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(10_000);
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    for token in [&first.access_token, &second.access_token] {
        assert!(!lab.is_accepted(token));
    }
    assert_eq!(error(lab.refresh(&app, &second.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(lab.is_accepted(&bystander.access_token));
    assert!(lab.refresh(&app, &bystander.refresh_token, None).is_ok());
}

#[test]
fn processes_can_renew_a_shared_refresh_token_within_10_s() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let shared = lab.consent_and_redeem(&app);
    lab.advance(HOUR);
    let one = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    lab.advance(9_999);
    let other = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    assert!(one.refresh_token != other.refresh_token && one.access_token != other.access_token);
    assert!(lab.is_accepted(&one.access_token) && lab.is_accepted(&other.access_token));
    // Each of them goes on by itself.
    lab.advance(MINUTE);
    let next = lab.refresh(&app, &one.refresh_token, None).unwrap();
    lab.advance(MINUTE);
    let others = lab.refresh(&app, &other.refresh_token, None).unwrap();
    assert!(lab.is_accepted(&next.access_token) && lab.is_accepted(&others.access_token));
    // They are one family still.
    assert_eq!(error(lab.refresh(&app, &one.refresh_token, None)), OAuthError::InvalidGrant);
    for issued in [&one, &other, &next, &others] {
        assert!(!lab.is_accepted(&issued.access_token));
        assert_eq!(error(lab.refresh(&app, &issued.refresh_token, None)), OAuthError::InvalidGrant);
    }
}

#[test]
fn a_shared_token_can_be_renewed_after_its_successor_was_used() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let shared = lab.consent_and_redeem(&app);
    lab.advance(1000);
    let quick = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    let quicker = lab.refresh(&app, &quick.refresh_token, None).unwrap();
    lab.advance(5000);
    let slow = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    assert!(lab.is_accepted(&quicker.access_token) && lab.is_accepted(&slow.access_token));
}

#[test]
fn the_grace_period_begins_with_the_first_exchange() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let first = lab.consent_and_redeem(&app);
    lab.advance(1000);
    lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(6_000);
    let again = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(6_000);
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(!lab.is_accepted(&again.access_token));
}

#[test]
fn a_revoked_family_cannot_be_renewed_in_the_grace_period() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let first = lab.consent_and_redeem(&app);
    lab.advance(1000);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.access().revoke(&app, second.refresh_token.as_ref().unwrap()).unwrap();
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
}

#[test]
fn tokens_for_a_former_address_cannot_be_refreshed() {
    let mut lab = Lab::new();
    let app = lab.public_client("read");
    let request = AuthorizeRequest {
        resource: vec![format!("{ISSUER}/mcp")],
        ..authorize_request(&app.client_id)
    };
    let code = lab.code(&request);
    let issued = lab.redeem(&app, &code).unwrap();
    lab.advance(1000);
    lab.settings.base_url = Some("https://other.example".into());
    lab.reopen();
    assert!(!lab.is_accepted(&issued.access_token));
    assert_eq!(error(lab.refresh(&app, &issued.refresh_token, None)), OAuthError::InvalidGrant);
    lab.settings.base_url = Some(ISSUER.into());
    lab.reopen();
    assert!(lab.refresh(&app, &issued.refresh_token, None).is_ok(), "nothing was used up");
}

#[test]
fn reuse_is_detected_after_a_restart() {
    let mut lab = Lab::new();
    let app = lab.public_client("read");
    let first = lab.consent_and_redeem(&app);
    lab.advance(1000);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(MINUTE);
    lab.reopen();
    assert!(lab.is_accepted(&second.access_token));
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    lab.reopen();
    assert!(!lab.is_accepted(&second.access_token));
}

#[test]
fn a_refresh_token_works_only_for_its_client() {
    let lab = Lab::new();
    let (app, other) = (lab.public_client("read"), lab.public_client("read"));
    let issued = lab.consent_and_redeem(&app);
    for _ in 0..2 {
        assert_eq!(
            error(lab.refresh(&other, &issued.refresh_token, None)),
            OAuthError::InvalidGrant
        );
    }
    let access = Some(issued.access_token.clone());
    assert_eq!(
        error(lab.refresh(&app, &access, None)),
        OAuthError::InvalidGrant,
        "an access token is none"
    );
    assert!(lab.refresh(&app, &issued.refresh_token, None).is_ok(), "a stranger cannot use it up");
}

#[test]
fn a_refresh_with_fewer_scopes_keeps_the_granted_ones() {
    let lab = Lab::new();
    let app = lab.public_client("read write");
    let issued = lab.consent_and_redeem(&app);
    lab.advance(1000);
    let less = lab.refresh(&app, &issued.refresh_token, Some("read")).unwrap();
    assert_eq!(less.scopes.to_string(), "read");
    let caller = lab.access().bearer(less.access_token.expose()).unwrap();
    assert_eq!(caller.scopes().to_string(), "read");
    assert_eq!(
        error(lab.refresh(&app, &less.refresh_token, Some("admin"))),
        OAuthError::InvalidScope
    );
    lab.advance(1000);
    let all = lab.refresh(&app, &less.refresh_token, None).unwrap();
    assert_eq!(all.scopes, Scopes::READ_WRITE);
    // What was agreed to bounds it, whatever the client may ask for by now.
    let request =
        AuthorizeRequest { scope: Some("read".into()), ..authorize_request(&app.client_id) };
    let code = lab.code(&request);
    let small = lab.redeem(&app, &code).unwrap();
    assert_eq!(
        error(lab.refresh(&app, &small.refresh_token, Some("write"))),
        OAuthError::InvalidScope
    );
}

#[test]
fn a_client_without_the_grant_gets_no_refresh_token() {
    let lab = Lab::new();
    let request = ClientRegister {
        grant_types: vec![GrantType::AuthorizationCode],
        redirect_uris: vec![CALLBACK.into()],
        ..registration_request("once", "read")
    };
    let made = lab.access().client_register(request).unwrap();
    let credentials = Credentials { client_id: made.client_id, secret: made.client_secret };
    assert!(lab.consent_and_redeem(&credentials).refresh_token.is_none());
    let unproven = Credentials { secret: None, ..credentials.clone() };
    let code = lab.code(&authorize_request(&credentials.client_id));
    assert_eq!(
        error(lab.redeem(&unproven, &code)),
        OAuthError::InvalidClient,
        "it has a secret to show"
    );
}

#[test]
fn a_client_can_revoke_only_its_own_tokens() {
    let lab = Lab::new();
    let (app, other) = (lab.public_client("read"), lab.public_client("read"));
    let (one, two) = (lab.consent_and_redeem(&app), lab.consent_and_redeem(&app));
    let back = |credentials: &Credentials, token: &Secret| lab.access().revoke(credentials, token);
    back(&other, &one.access_token).unwrap();
    back(&other, one.refresh_token.as_ref().unwrap()).unwrap();
    assert!(lab.is_accepted(&one.access_token), "a stranger's word is no error, and does nothing");
    let stranger = Credentials { client_id: "brain_cl_nobody".into(), secret: None };
    assert_eq!(error(back(&stranger, &one.access_token)), OAuthError::InvalidClient);

    back(&app, &one.access_token).unwrap();
    assert!(!lab.is_accepted(&one.access_token));
    let again = lab.refresh(&app, &one.refresh_token, None).unwrap();
    back(&app, again.refresh_token.as_ref().unwrap()).unwrap();
    assert!(!lab.is_accepted(&again.access_token), "with the refresh token goes the family");
    for token in [again.refresh_token.as_ref().unwrap(), &one.access_token, &Secret::new("unknown")]
    {
        back(&app, token).unwrap();
    }
    assert!(lab.is_accepted(&two.access_token));

    let personal = lab.personal_token("laptop", "read", None).unwrap();
    back(&app, &personal).unwrap();
    assert!(lab.is_accepted(&personal), "that one is the owner's");
    lab.access().token_revoke(&TokenRevoke { token: "laptop".into() }).unwrap();
    assert!(!lab.is_accepted(&personal));
}
