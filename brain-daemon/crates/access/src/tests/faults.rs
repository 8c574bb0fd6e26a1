//! A full disk, and several who come at the same moment.

use brain_protocol::{ClientList, TokenRevoke};

use super::*;

#[test]
fn what_cannot_be_stored_is_not_granted_and_what_is_taken_back_is() {
    let mut lab = Lab::new();
    let (who, _) = lab.service("phone", "read write", &[]);
    let app = lab.app("read");
    let (access, consented) =
        (lab.credentials(&who, None).unwrap().access_token, lab.consented(&app));
    let personal = lab.personal("laptop", "read", None).unwrap();
    lab.fill_the_disk(true);
    let fault = lab.access().client_register(wish("late", "read")).unwrap_err();
    assert_eq!(fault.code, FaultCode::DiskFull);
    assert_eq!(lab.access().client_list(&ClientList { all: true }).unwrap().clients.len(), 2);
    assert_eq!(lab.personal("late", "read", None), Err(FaultCode::DiskFull));
    let refused = lab.credentials(&who, None).unwrap_err();
    assert_eq!(refused.error, OAuthError::ServerError);
    let home = lab.dir.path().display().to_string();
    assert!(!refused.description.contains(&home), "a client does not learn where the store is");
    let code = lab.code(&ask(&app.client_id));
    assert_eq!(error(lab.redeem(&app, &code)), OAuthError::ServerError);
    assert_eq!(error(lab.redeem(&app, &code)), OAuthError::ServerError, "nor was the code used up");
    assert_eq!(error(lab.refresh(&app, &consented.refresh_token, None)), OAuthError::ServerError);
    assert!(
        lab.is_let_in(&access)
            && lab.is_let_in(&consented.access_token)
            && lab.is_let_in(&personal)
    );

    assert_eq!(lab.update("phone", Some("read"), None).unwrap(), "updated");
    assert_eq!(lab.revoke_client("phone"), 1);
    lab.access().token_revoke(&TokenRevoke { token: "laptop".into() }).unwrap();
    lab.fill_the_disk(false);
    assert!(!lab.is_let_in(&access) && !lab.is_let_in(&personal));
    assert!(lab.refresh(&app, &consented.refresh_token, None).is_ok(), "it was not used up");
}

#[test]
fn of_those_who_bring_a_code_at_the_same_moment_one_is_the_first() {
    let lab = Lab::new();
    let app = lab.app("read");
    let code = lab.code(&ask(&app.client_id));
    let issued: Vec<IssuedTokens> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| lab.redeem(&app, &code))).collect();
        tries.into_iter().filter_map(|one| one.join().unwrap().ok()).collect()
    });
    assert_eq!(issued.len(), 1);
    assert!(!lab.is_let_in(&issued[0].access_token), "the others were replays");
}

#[test]
fn a_token_that_is_issued_while_its_client_is_revoked_is_worth_nothing() {
    for _ in 0..5 {
        let lab = Lab::new();
        let (who, _) = lab.service("phone", "read", &[]);
        let issued: Vec<IssuedTokens> = std::thread::scope(|scope| {
            let tries: Vec<_> =
                (0..4).map(|_| scope.spawn(|| lab.credentials(&who, None))).collect();
            lab.revoke_client("phone");
            tries.into_iter().filter_map(|one| one.join().unwrap().ok()).collect()
        });
        assert!(issued.iter().all(|one| !lab.is_let_in(&one.access_token)));
        let live =
            lab.access().token_list(&brain_protocol::TokenList { all: true }).unwrap().tokens;
        assert!(live.iter().all(|token| token.revoked_at.is_some()), "{live:?}");
    }
}
