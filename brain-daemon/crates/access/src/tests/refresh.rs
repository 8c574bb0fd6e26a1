//! Refresh tokens: rotation, reuse, the reply that got lost, and taking tokens back (RFC 7009).

use brain_protocol::TokenRevoke;

use super::*;

#[test]
fn each_refresh_token_is_exchanged_for_the_next_one() {
    let lab = Lab::new();
    let app = lab.app("read write");
    let mut issued = lab.consented(&app);
    for _ in 0..5 {
        lab.advance(20 * DAY);
        let next = lab.refresh(&app, &issued.refresh_token, None).unwrap();
        assert_ne!(next.refresh_token, issued.refresh_token);
        assert!(lab.is_let_in(&next.access_token));
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
fn a_refresh_token_that_comes_again_revokes_its_family() {
    let lab = Lab::new();
    let app = lab.app("read");
    let bystander = lab.consented(&app);
    let first = lab.consented(&app);
    lab.advance(HOUR / 2);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(10_000);
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    for token in [&first.access_token, &second.access_token] {
        assert!(!lab.is_let_in(token));
    }
    assert_eq!(error(lab.refresh(&app, &second.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(lab.is_let_in(&bystander.access_token));
    assert!(lab.refresh(&app, &bystander.refresh_token, None).is_ok());
}

#[test]
fn processes_that_share_a_refresh_token_renew_it_side_by_side() {
    let lab = Lab::new();
    let app = lab.app("read");
    let shared = lab.consented(&app);
    lab.advance(HOUR);
    let one = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    lab.advance(9_999);
    let other = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    assert!(one.refresh_token != other.refresh_token && one.access_token != other.access_token);
    assert!(lab.is_let_in(&one.access_token) && lab.is_let_in(&other.access_token));
    // Each of them goes on by itself.
    lab.advance(MINUTE);
    let next = lab.refresh(&app, &one.refresh_token, None).unwrap();
    lab.advance(MINUTE);
    let others = lab.refresh(&app, &other.refresh_token, None).unwrap();
    assert!(lab.is_let_in(&next.access_token) && lab.is_let_in(&others.access_token));
    // They are one family still.
    assert_eq!(error(lab.refresh(&app, &one.refresh_token, None)), OAuthError::InvalidGrant);
    for issued in [&one, &other, &next, &others] {
        assert!(!lab.is_let_in(&issued.access_token));
        assert_eq!(error(lab.refresh(&app, &issued.refresh_token, None)), OAuthError::InvalidGrant);
    }
}

#[test]
fn one_may_be_slower_than_the_other_goes_on() {
    let lab = Lab::new();
    let app = lab.app("read");
    let shared = lab.consented(&app);
    lab.advance(1000);
    let quick = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    let quicker = lab.refresh(&app, &quick.refresh_token, None).unwrap();
    lab.advance(5000);
    let slow = lab.refresh(&app, &shared.refresh_token, None).unwrap();
    assert!(lab.is_let_in(&quicker.access_token) && lab.is_let_in(&slow.access_token));
}

#[test]
fn the_ten_seconds_count_from_the_first_exchange() {
    let lab = Lab::new();
    let app = lab.app("read");
    let first = lab.consented(&app);
    lab.advance(1000);
    lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(6_000);
    let again = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(6_000);
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(!lab.is_let_in(&again.access_token));
}

#[test]
fn what_was_taken_back_is_not_given_anew() {
    let lab = Lab::new();
    let app = lab.app("read");
    let first = lab.consented(&app);
    lab.advance(1000);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.access().revoke(&app, second.refresh_token.as_ref().unwrap()).unwrap();
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
}

#[test]
fn under_another_address_the_client_asks_again() {
    let mut lab = Lab::new();
    let app = lab.app("read");
    let request =
        AuthorizeRequest { resource: vec![format!("{ISSUER}/mcp")], ..ask(&app.client_id) };
    let code = lab.code(&request);
    let issued = lab.redeem(&app, &code).unwrap();
    lab.advance(1000);
    lab.settings.base_url = Some("https://other.example".into());
    lab.reopen();
    assert!(!lab.is_let_in(&issued.access_token));
    assert_eq!(error(lab.refresh(&app, &issued.refresh_token, None)), OAuthError::InvalidGrant);
    lab.settings.base_url = Some(ISSUER.into());
    lab.reopen();
    assert!(lab.refresh(&app, &issued.refresh_token, None).is_ok(), "nothing was used up");
}

#[test]
fn reuse_is_found_out_after_a_start_too() {
    let mut lab = Lab::new();
    let app = lab.app("read");
    let first = lab.consented(&app);
    lab.advance(1000);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.advance(MINUTE);
    lab.reopen();
    assert!(lab.is_let_in(&second.access_token));
    assert_eq!(error(lab.refresh(&app, &first.refresh_token, None)), OAuthError::InvalidGrant);
    lab.reopen();
    assert!(!lab.is_let_in(&second.access_token));
}

#[test]
fn a_refresh_token_belongs_to_its_client() {
    let lab = Lab::new();
    let (app, other) = (lab.app("read"), lab.app("read"));
    let issued = lab.consented(&app);
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
fn less_may_be_asked_for_and_the_rest_is_not_lost() {
    let lab = Lab::new();
    let app = lab.app("read write");
    let issued = lab.consented(&app);
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
    let request = AuthorizeRequest { scope: Some("read".into()), ..ask(&app.client_id) };
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
        ..wish("once", "read")
    };
    let made = lab.access().client_register(request).unwrap();
    let who = Credentials { client_id: made.client_id, secret: made.client_secret };
    assert!(lab.consented(&who).refresh_token.is_none());
    let unproven = Credentials { secret: None, ..who.clone() };
    let code = lab.code(&ask(&who.client_id));
    assert_eq!(
        error(lab.redeem(&unproven, &code)),
        OAuthError::InvalidClient,
        "it has a secret to show"
    );
}

#[test]
fn a_client_takes_its_own_tokens_back() {
    let lab = Lab::new();
    let (app, other) = (lab.app("read"), lab.app("read"));
    let (one, two) = (lab.consented(&app), lab.consented(&app));
    let back = |who: &Credentials, token: &Secret| lab.access().revoke(who, token);
    back(&other, &one.access_token).unwrap();
    back(&other, one.refresh_token.as_ref().unwrap()).unwrap();
    assert!(lab.is_let_in(&one.access_token), "a stranger's word is no error, and does nothing");
    let stranger = Credentials { client_id: "brain_cl_nobody".into(), secret: None };
    assert_eq!(error(back(&stranger, &one.access_token)), OAuthError::InvalidClient);

    back(&app, &one.access_token).unwrap();
    assert!(!lab.is_let_in(&one.access_token));
    let again = lab.refresh(&app, &one.refresh_token, None).unwrap();
    back(&app, again.refresh_token.as_ref().unwrap()).unwrap();
    assert!(!lab.is_let_in(&again.access_token), "with the refresh token goes the family");
    for token in [again.refresh_token.as_ref().unwrap(), &one.access_token, &Secret::new("unknown")]
    {
        back(&app, token).unwrap();
    }
    assert!(lab.is_let_in(&two.access_token));

    let personal = lab.personal("laptop", "read", None).unwrap();
    back(&app, &personal).unwrap();
    assert!(lab.is_let_in(&personal), "that one is the owner's");
    lab.access().token_revoke(&TokenRevoke { token: "laptop".into() }).unwrap();
    assert!(!lab.is_let_in(&personal));
}
