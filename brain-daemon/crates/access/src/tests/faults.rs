//! A full disk, and concurrent requests.

use brain_protocol::{ClientList, TokenRevoke};

use super::*;

#[test]
fn a_full_disk_prevents_grants_but_not_revocations() {
    let mut fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read write", &[]);
    let app = fixture.public_client("read");
    let (access, app_tokens) = (
        fixture.client_credentials(&credentials, None).unwrap().access_token,
        fixture.consent_and_redeem(&app),
    );
    let personal = fixture.personal_token("laptop", "read", None).unwrap();
    fixture.fill_the_disk(true);
    let fault = fixture.access().client_register(registration_request("late", "read")).unwrap_err();
    assert_eq!(fault.code, FaultCode::DiskFull);
    assert_eq!(fixture.access().client_list(&ClientList { all: true }).unwrap().clients.len(), 2);
    assert_eq!(fixture.personal_token("late", "read", None), Err(FaultCode::DiskFull));
    let oauth_fault = fixture.client_credentials(&credentials, None).unwrap_err();
    assert_eq!(oauth_fault.error, OAuthError::ServerError);
    let home = fixture.dir.path().display().to_string();
    assert!(!oauth_fault.description.contains(&home), "a client does not learn where the store is");
    let code = fixture.code(&authorize_request(&app.client_id));
    assert_eq!(error(fixture.redeem(&app, &code)), OAuthError::ServerError);
    assert_eq!(
        error(fixture.redeem(&app, &code)),
        OAuthError::ServerError,
        "the code was not used up"
    );
    assert_eq!(
        error(fixture.refresh(&app, &app_tokens.refresh_token, None)),
        OAuthError::ServerError
    );
    assert!(
        fixture.is_accepted(&access)
            && fixture.is_accepted(&app_tokens.access_token)
            && fixture.is_accepted(&personal)
    );

    assert_eq!(fixture.update("phone", Some("read"), None).unwrap(), "updated");
    assert_eq!(fixture.revoke_client("phone"), 1);
    fixture.access().token_revoke(&TokenRevoke { token: "laptop".into() }).unwrap();
    fixture.fill_the_disk(false);
    assert!(!fixture.is_accepted(&access) && !fixture.is_accepted(&personal));
    assert!(
        fixture.refresh(&app, &app_tokens.refresh_token, None).is_ok(),
        "the refresh token was not used up"
    );
}

#[test]
fn only_one_of_concurrent_exchanges_of_a_code_succeeds() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let code = fixture.code(&authorize_request(&app.client_id));
    let issued: Vec<IssuedTokens> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| fixture.redeem(&app, &code))).collect();
        tries.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect()
    });
    assert_eq!(issued.len(), 1);
    assert!(
        !fixture.is_accepted(&issued[0].access_token),
        "the other attempts were replays, which revoke the token"
    );
}

#[test]
fn a_token_issued_during_the_revocation_is_invalid() {
    for _ in 0..5 {
        let fixture = Fixture::new();
        let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
        let issued: Vec<IssuedTokens> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| fixture.client_credentials(&credentials, None)))
                .collect();
            fixture.revoke_client("phone");
            tries.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect()
        });
        assert!(issued.iter().all(|tokens| !fixture.is_accepted(&tokens.access_token)));
        let all_tokens =
            fixture.access().token_list(&brain_protocol::TokenList { all: true }).unwrap().tokens;
        assert!(all_tokens.iter().all(|token| token.revoked_at.is_some()), "{all_tokens:?}");
    }
}
