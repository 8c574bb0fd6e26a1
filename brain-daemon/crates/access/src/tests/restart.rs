//! What a restart keeps, and what expires.

use brain_protocol::{ClientList, TokenList, TokenRevoke};

use super::*;
use crate::RegistrationRequest;

fn clients(lab: &Lab) -> Vec<brain_protocol::Client> {
    lab.access().client_list(&ClientList { all: true }).unwrap().clients
}

fn tokens(lab: &Lab) -> usize {
    lab.access().token_list(&TokenList { all: true }).unwrap().tokens.len()
}

#[test]
fn a_restart_keeps_every_grant() {
    let mut lab = Lab::new();
    let (credentials, _) = lab.confidential_client("phone", "read write", &["work"]);
    let app = lab.public_client("read");
    let (access, consented) =
        (lab.client_credentials(&credentials, Some("read")).unwrap(), lab.consent_and_redeem(&app));
    let personal = lab.personal_token("laptop", "write", None).unwrap();
    let gone = lab.personal_token("gone", "write", None).unwrap();
    lab.access().token_revoke(&TokenRevoke { token: "gone".into() }).unwrap();
    let code = lab.code(&authorize_request(&app.client_id));
    let before = (clients(&lab), tokens(&lab));
    let caller = lab.access().bearer(access.access_token.expose()).unwrap();
    lab.access().write_last_use().unwrap();
    lab.reopen();
    let listed = |clients: &[brain_protocol::Client]| -> Vec<_> {
        clients
            .iter()
            .map(|c| {
                (c.client_id.clone(), c.scope.clone(), c.sources.clone(), c.created_at.clone())
            })
            .collect()
    };
    assert_eq!((listed(&clients(&lab)), tokens(&lab)), (listed(&before.0), before.1));
    let again = lab.access().bearer(access.access_token.expose()).unwrap();
    assert_eq!(
        (again.name.as_str(), again.scopes(), again.visibility()),
        (&*caller.name, caller.scopes(), caller.visibility())
    );
    assert!(
        lab.is_accepted(&personal)
            && lab.is_accepted(&consented.access_token)
            && !lab.is_accepted(&gone)
    );
    assert!(lab.refresh(&app, &consented.refresh_token, None).is_ok());
    assert_eq!(
        error(lab.redeem(&app, &code)),
        OAuthError::InvalidGrant,
        "codes are in memory only"
    );
}

#[test]
fn a_restored_store_has_only_personal_tokens() {
    let mut lab = Lab::new();
    let (credentials, _) = lab.confidential_client("phone", "read", &[]);
    let app = lab.public_client("read");
    let (access, consented) =
        (lab.client_credentials(&credentials, None).unwrap(), lab.consent_and_redeem(&app));
    let personal = lab.personal_token("laptop", "write", None).unwrap();
    let file = lab.dir.path().join("then.redb");
    lab.access().store.back_up(&file, lab.clock.now(), &|_, _| true).unwrap();
    // Revoked afterwards, which the backup does not know.
    lab.access().revoke(&app, consented.refresh_token.as_ref().unwrap()).unwrap();
    lab.access = None;
    std::fs::remove_file(lab.store_path()).unwrap();
    let options = lab.store_options();
    brain_store::restore(&file, &lab.store_path(), &options, &mut |_, _, _| false, &|_, _| true)
        .unwrap();
    lab.reopen();
    for issued in [&access, &consented] {
        assert!(!lab.is_accepted(&issued.access_token));
    }
    assert_eq!(error(lab.refresh(&app, &consented.refresh_token, None)), OAuthError::InvalidGrant);
    assert!(lab.is_accepted(&personal), "the owner is told to look through these");
    assert!(lab.is_accepted(&lab.client_credentials(&credentials, None).unwrap().access_token));
}

#[test]
fn the_last_use_of_a_client_is_saved_on_demand() {
    let mut lab = Lab::new();
    let (credentials, _) = lab.confidential_client("phone", "read", &[]);
    let token = lab.client_credentials(&credentials, None).unwrap().access_token;
    lab.advance(3 * MINUTE);
    let guess = Credentials { secret: Some(Secret::new("guess")), ..credentials };
    assert_eq!(error(lab.client_credentials(&guess, None)), OAuthError::InvalidClient);
    assert!(
        clients(&lab)[0].last_used_at.as_deref() < Some("2026-11-21T10:33"),
        "it was not let in"
    );
    assert!(lab.is_accepted(&token));
    // 2026-11-21T10:33:45, to the minute.
    let last = Some("2026-11-21T10:33:00.000Z".to_owned());
    assert_eq!(clients(&lab)[0].last_used_at, last, "it shows at once");
    lab.access().write_last_use().unwrap();
    lab.advance(10 * MINUTE);
    assert!(lab.is_accepted(&token));
    lab.reopen();
    assert_eq!(clients(&lab)[0].last_used_at, last, "what was not written down is forgotten");
    lab.advance(MINUTE);
    assert!(lab.is_accepted(&token));
    lab.access().write_last_use().unwrap();
    lab.reopen();
    assert_eq!(clients(&lab)[0].last_used_at.as_deref(), Some("2026-11-21T10:44:00.000Z"));
}

#[test]
fn expired_tokens_are_purged_after_their_retention() {
    let mut lab = Lab::new();
    let (credentials, _) = lab.confidential_client("phone", "read", &[]);
    let app = lab.public_client("read");
    lab.client_credentials(&credentials, None).unwrap();
    let first = lab.consent_and_redeem(&app);
    lab.advance(1000);
    let second = lab.refresh(&app, &first.refresh_token, None).unwrap();
    lab.personal_token("short", "read", Some(60)).unwrap();
    lab.personal_token("long", "read", Some(0)).unwrap();
    assert_eq!(tokens(&lab), 7);
    assert_eq!(lab.access().purge().unwrap(), 0, "nothing has ended");
    lab.advance(HOUR + DAY);
    assert_eq!(lab.access().purge().unwrap(), 3, "access tokens go after a day");
    lab.advance(28 * DAY);
    assert_eq!(lab.access().purge().unwrap(), 0);
    assert_eq!(
        error(lab.refresh(&app, &first.refresh_token, None)),
        OAuthError::InvalidGrant,
        "reuse still shows"
    );
    assert_eq!(error(lab.refresh(&app, &second.refresh_token, None)), OAuthError::InvalidGrant);
    lab.advance(DAY);
    assert_eq!(lab.access().purge().unwrap(), 2, "refresh tokens go when they end");
    lab.advance(60 * DAY);
    assert_eq!(lab.access().purge().unwrap(), 1, "a personal one 90 days after its end");
    lab.reopen();
    assert_eq!((tokens(&lab), clients(&lab).len()), (1, 2), "the rest stays");
}

#[test]
fn revoked_and_idle_dynamic_clients_are_purged_after_90_days() {
    let mut lab = Lab::new();
    let client = RegistrationRequest {
        redirect_uris: vec![CALLBACK.into()],
        ..RegistrationRequest::default()
    };
    let (_, gone) = lab.confidential_client("gone", "read", &[]);
    let (_, kept) = lab.confidential_client("kept", "read", &[]);
    let idle = lab.access().register_dynamic_client(&client).unwrap();
    let busy = lab.access().register_dynamic_client(&client).unwrap();
    lab.revoke_client("gone");
    lab.advance(90 * DAY - 1);
    let credentials = Credentials { client_id: busy.client_id.clone(), secret: None };
    let issued = lab.consent_and_redeem(&credentials);
    assert_eq!(lab.access().purge().unwrap(), 0);
    lab.advance(1);
    assert_eq!(lab.access().purge().unwrap(), 2);
    lab.access().write_last_use().unwrap();
    lab.reopen();
    let left: Vec<String> = clients(&lab).into_iter().map(|client| client.client_id).collect();
    assert!(left.contains(&kept.client_id) && left.contains(&busy.client_id), "{left:?}");
    assert!(!left.contains(&gone.client_id) && !left.contains(&idle.client_id), "{left:?}");
    assert!(lab.is_accepted(&issued.access_token));
}
