//! Grants after a restart and after a restore, and the purge of expired grants.

use brain_protocol::{ClientList, TokenList, TokenRevoke};

use super::*;
use crate::RegistrationRequest;

fn clients(fixture: &Fixture) -> Vec<brain_protocol::Client> {
    fixture.access().client_list(&ClientList { all: true }).unwrap().clients
}

fn token_count(fixture: &Fixture) -> usize {
    fixture.access().token_list(&TokenList { all: true }).unwrap().tokens.len()
}

#[test]
fn a_restart_keeps_every_grant() {
    let mut fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read write", &["work"]);
    let app = fixture.public_client("read");
    let (phone_tokens, app_tokens) = (
        fixture.client_credentials(&credentials, Some("read")).unwrap(),
        fixture.consent_and_redeem(&app),
    );
    let personal = fixture.personal_token("laptop", "write", None).unwrap();
    let revoked = fixture.personal_token("gone", "write", None).unwrap();
    fixture.access().token_revoke(&TokenRevoke { token: "gone".into() }).unwrap();
    let code = fixture.code(&authorize_request(&app.client_id));
    let before = (clients(&fixture), token_count(&fixture));
    let caller = fixture.access().bearer(phone_tokens.access_token.expose()).unwrap();
    fixture.access().write_last_use().unwrap();
    fixture.reopen();
    let listed = |clients: &[brain_protocol::Client]| -> Vec<_> {
        clients
            .iter()
            .map(|c| {
                (c.client_id.clone(), c.scope.clone(), c.sources.clone(), c.created_at.clone())
            })
            .collect()
    };
    assert_eq!((listed(&clients(&fixture)), token_count(&fixture)), (listed(&before.0), before.1));
    let again = fixture.access().bearer(phone_tokens.access_token.expose()).unwrap();
    assert_eq!(
        (again.name.as_str(), again.scopes(), again.visibility()),
        (&*caller.name, caller.scopes(), caller.visibility())
    );
    assert!(
        fixture.is_accepted(&personal)
            && fixture.is_accepted(&app_tokens.access_token)
            && !fixture.is_accepted(&revoked)
    );
    assert!(fixture.refresh(&app, &app_tokens.refresh_token, None).is_ok());
    assert_eq!(
        error(fixture.redeem(&app, &code)),
        OAuthError::InvalidGrant,
        "codes are in memory only"
    );
}

#[test]
fn a_restored_store_has_only_personal_tokens() {
    let mut fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let app = fixture.public_client("read");
    let (phone_tokens, app_tokens) =
        (fixture.client_credentials(&credentials, None).unwrap(), fixture.consent_and_redeem(&app));
    let personal = fixture.personal_token("laptop", "write", None).unwrap();
    let file = fixture.dir.path().join("backup.redb");
    fixture.access().store.back_up(&file, fixture.clock.now(), &|_, _| true).unwrap();
    // The app revokes its grant after the backup.
    fixture.access().revoke(&app, app_tokens.refresh_token.as_ref().unwrap()).unwrap();
    fixture.access = None;
    std::fs::remove_file(fixture.store_path()).unwrap();
    let options = fixture.store_options();
    brain_store::restore(&file, &fixture.store_path(), &options, &mut |_, _, _| false, &|_, _| {
        true
    })
    .unwrap();
    fixture.reopen();
    for issued in [&phone_tokens, &app_tokens] {
        assert!(!fixture.is_accepted(&issued.access_token));
    }
    assert_eq!(
        error(fixture.refresh(&app, &app_tokens.refresh_token, None)),
        OAuthError::InvalidGrant
    );
    assert!(fixture.is_accepted(&personal), "personal tokens stay valid; a warning names them");
    assert!(
        fixture.is_accepted(&fixture.client_credentials(&credentials, None).unwrap().access_token)
    );
}

#[test]
fn the_last_use_of_a_client_is_saved_on_demand() {
    let mut fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let token = fixture.client_credentials(&credentials, None).unwrap().access_token;
    fixture.advance(3 * MINUTE);
    let guess = Credentials { secret: Some(Secret::new("guess")), ..credentials };
    assert_eq!(error(fixture.client_credentials(&guess, None)), OAuthError::InvalidClient);
    assert!(
        clients(&fixture)[0].last_used_at.as_deref() < Some("2026-11-21T10:33"),
        "a refused attempt does not count as a use"
    );
    assert!(fixture.is_accepted(&token));
    // 2026-11-21T10:33:45, to the minute.
    let last = Some("2026-11-21T10:33:00.000Z".to_owned());
    assert_eq!(clients(&fixture)[0].last_used_at, last, "the use is visible before it is saved");
    fixture.access().write_last_use().unwrap();
    fixture.advance(10 * MINUTE);
    assert!(fixture.is_accepted(&token));
    fixture.reopen();
    assert_eq!(clients(&fixture)[0].last_used_at, last, "a use that was not saved is forgotten");
    fixture.advance(MINUTE);
    assert!(fixture.is_accepted(&token));
    fixture.access().write_last_use().unwrap();
    fixture.reopen();
    assert_eq!(clients(&fixture)[0].last_used_at.as_deref(), Some("2026-11-21T10:44:00.000Z"));
}

#[test]
fn expired_tokens_are_purged_after_their_retention() {
    let mut fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let app = fixture.public_client("read");
    fixture.client_credentials(&credentials, None).unwrap();
    let first = fixture.consent_and_redeem(&app);
    fixture.advance(1000);
    let second = fixture.refresh(&app, &first.refresh_token, None).unwrap();
    fixture.personal_token("short", "read", Some(60)).unwrap();
    fixture.personal_token("long", "read", Some(0)).unwrap();
    assert_eq!(token_count(&fixture), 7);
    assert_eq!(fixture.access().purge().unwrap(), 0, "nothing has expired");
    fixture.advance(HOUR + DAY);
    assert_eq!(
        fixture.access().purge().unwrap(),
        3,
        "access tokens are purged a day after their end"
    );
    fixture.advance(28 * DAY);
    assert_eq!(fixture.access().purge().unwrap(), 0);
    assert_eq!(
        error(fixture.refresh(&app, &first.refresh_token, None)),
        OAuthError::InvalidGrant,
        "reuse is still detected"
    );
    assert_eq!(error(fixture.refresh(&app, &second.refresh_token, None)), OAuthError::InvalidGrant);
    fixture.advance(DAY);
    assert_eq!(fixture.access().purge().unwrap(), 2, "refresh tokens are purged when they expire");
    fixture.advance(60 * DAY);
    assert_eq!(
        fixture.access().purge().unwrap(),
        1,
        "a personal token is purged 90 days after its end"
    );
    fixture.reopen();
    assert_eq!(
        (token_count(&fixture), clients(&fixture).len()),
        (1, 2),
        "the other token and the clients stay"
    );
}

#[test]
fn revoked_and_idle_dynamic_clients_are_purged_after_90_days() {
    let mut fixture = Fixture::new();
    let client = RegistrationRequest {
        redirect_uris: vec![CALLBACK.into()],
        ..RegistrationRequest::default()
    };
    let (_, revoked) = fixture.confidential_client("gone", "read", &[]);
    let (_, kept) = fixture.confidential_client("kept", "read", &[]);
    let idle = fixture.access().register_dynamic_client(&client).unwrap();
    let busy = fixture.access().register_dynamic_client(&client).unwrap();
    fixture.revoke_client("gone");
    fixture.advance(90 * DAY - 1);
    let credentials = Credentials { client_id: busy.client_id.clone(), secret: None };
    let issued = fixture.consent_and_redeem(&credentials);
    assert_eq!(fixture.access().purge().unwrap(), 0);
    fixture.advance(1);
    assert_eq!(fixture.access().purge().unwrap(), 2);
    fixture.access().write_last_use().unwrap();
    fixture.reopen();
    let remaining: Vec<String> =
        clients(&fixture).into_iter().map(|client| client.client_id).collect();
    assert!(
        remaining.contains(&kept.client_id) && remaining.contains(&busy.client_id),
        "{remaining:?}"
    );
    assert!(
        !remaining.contains(&revoked.client_id) && !remaining.contains(&idle.client_id),
        "{remaining:?}"
    );
    assert!(fixture.is_accepted(&issued.access_token));
}
