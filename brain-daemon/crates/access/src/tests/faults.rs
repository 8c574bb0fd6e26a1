//! A full disk, and concurrent requests.

use brain_protocol::{ClientList, TokenRevoke};

use super::*;

#[test]
fn a_full_disk_prevents_grants_but_not_revocations() {
    let mut lab = Lab::new();
    let (credentials, _) = lab.confidential_client("phone", "read write", &[]);
    let app = lab.public_client("read");
    let (access, consented) = (
        lab.client_credentials(&credentials, None).unwrap().access_token,
        lab.consent_and_redeem(&app),
    );
    let personal = lab.personal_token("laptop", "read", None).unwrap();
    lab.fill_the_disk(true);
    let fault = lab.access().client_register(registration_request("late", "read")).unwrap_err();
    assert_eq!(fault.code, FaultCode::DiskFull);
    assert_eq!(lab.access().client_list(&ClientList { all: true }).unwrap().clients.len(), 2);
    assert_eq!(lab.personal_token("late", "read", None), Err(FaultCode::DiskFull));
    let refused = lab.client_credentials(&credentials, None).unwrap_err();
    assert_eq!(refused.error, OAuthError::ServerError);
    let home = lab.dir.path().display().to_string();
    assert!(!refused.description.contains(&home), "a client does not learn where the store is");
    let code = lab.code(&authorize_request(&app.client_id));
    assert_eq!(error(lab.redeem(&app, &code)), OAuthError::ServerError);
    assert_eq!(error(lab.redeem(&app, &code)), OAuthError::ServerError, "nor was the code used up");
    assert_eq!(error(lab.refresh(&app, &consented.refresh_token, None)), OAuthError::ServerError);
    assert!(
        lab.is_accepted(&access)
            && lab.is_accepted(&consented.access_token)
            && lab.is_accepted(&personal)
    );

    assert_eq!(lab.update("phone", Some("read"), None).unwrap(), "updated");
    assert_eq!(lab.revoke_client("phone"), 1);
    lab.access().token_revoke(&TokenRevoke { token: "laptop".into() }).unwrap();
    lab.fill_the_disk(false);
    assert!(!lab.is_accepted(&access) && !lab.is_accepted(&personal));
    assert!(lab.refresh(&app, &consented.refresh_token, None).is_ok(), "it was not used up");
}

#[test]
fn only_one_of_concurrent_exchanges_of_a_code_succeeds() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let code = lab.code(&authorize_request(&app.client_id));
    let issued: Vec<IssuedTokens> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| lab.redeem(&app, &code))).collect();
        tries.into_iter().filter_map(|one| one.join().unwrap().ok()).collect()
    });
    assert_eq!(issued.len(), 1);
    assert!(!lab.is_accepted(&issued[0].access_token), "the others were replays");
}

#[test]
fn a_token_issued_during_the_revocation_is_invalid() {
    for _ in 0..5 {
        let lab = Lab::new();
        let (credentials, _) = lab.confidential_client("phone", "read", &[]);
        let issued: Vec<IssuedTokens> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| lab.client_credentials(&credentials, None)))
                .collect();
            lab.revoke_client("phone");
            tries.into_iter().filter_map(|one| one.join().unwrap().ok()).collect()
        });
        assert!(issued.iter().all(|one| !lab.is_accepted(&one.access_token)));
        let live =
            lab.access().token_list(&brain_protocol::TokenList { all: true }).unwrap().tokens;
        assert!(live.iter().all(|token| token.revoked_at.is_some()), "{live:?}");
    }
}
