//! Bearer tokens: which caller they authenticate.

use super::*;
use brain_base::caller::{Caller, Scope};

fn sees(caller: &Caller, source: &str) -> bool {
    caller.may_use(&SourceId::parse(source).unwrap())
}

#[test]
fn a_token_authenticates_its_holder_with_its_scopes() {
    let fixture = Fixture::new();
    let (credentials, client) = fixture.confidential_client("phone", "read", &["work"]);
    let token = fixture.client_credentials(&credentials, None).unwrap().access_token;
    let caller = fixture.access().bearer(token.expose()).unwrap();
    assert_eq!(
        (caller.name.as_str(), caller.scopes()),
        (client.client_id.as_str(), Scope::Read.into())
    );
    assert!(sees(&caller, "work") && !sees(&caller, "default"));

    let personal = fixture.personal_token("laptop", "write", None).unwrap();
    let caller = fixture.access().bearer(personal.expose()).unwrap();
    assert_eq!((caller.name.as_str(), caller.scopes()), ("token:laptop", Scope::Write.into()));
    assert!(sees(&caller, "work") && sees(&caller, "default"));

    let admin = std::fs::read_to_string(fixture.admin_token_path()).unwrap();
    let caller = fixture.access().bearer(admin.trim()).unwrap();
    assert_eq!((caller.name.as_str(), caller.scopes()), ("admin", Scopes::ADMIN));
    assert!(fixture.access().is_admin_token(admin.trim()));
    assert!(
        !fixture.access().is_admin_token(personal.expose()) && !fixture.access().is_admin_token("")
    );
}

#[test]
fn all_invalid_tokens_get_the_same_error() {
    let fixture = Fixture::new();
    let app = fixture.public_client("read");
    let issued = fixture.consent_and_redeem(&app);
    let expired = fixture.personal_token("short", "read", Some(60)).unwrap();
    let revoked = fixture.personal_token("gone", "read", None).unwrap();
    fixture.access().token_revoke(&brain_protocol::TokenRevoke { token: "gone".into() }).unwrap();
    fixture.advance(MINUTE);
    let refresh = issued.refresh_token.unwrap();
    let mut errors = Vec::new();
    let shortened = &issued.access_token.expose()[..20];
    for token in [
        expired.expose(),
        revoked.expose(),
        refresh.expose(),
        shortened,
        "",
        "brain_at_x",
        "ä\u{0}",
        &"x".repeat(9000),
    ] {
        errors.push(fixture.access().bearer(token).unwrap_err());
    }
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(fixture.is_accepted(&issued.access_token));
}

#[test]
fn a_token_expires_to_the_millisecond() {
    let fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let issued = fixture.client_credentials(&credentials, None).unwrap();
    assert_eq!(issued.expires_in, 3600);
    fixture.advance(HOUR - 1);
    assert!(fixture.is_accepted(&issued.access_token));
    fixture.advance(1);
    assert!(!fixture.is_accepted(&issued.access_token));
}

#[test]
fn a_change_of_a_client_applies_to_issued_tokens() {
    let fixture = Fixture::new();
    let (credentials, client) =
        fixture.confidential_client("phone", "read write", &["work", "home"]);
    let token = fixture.client_credentials(&credentials, None).unwrap().access_token;
    assert_eq!(
        fixture.update(&client.client_id, Some("read"), Some(&["home"])).unwrap(),
        "updated"
    );
    let caller = fixture.access().bearer(token.expose()).unwrap();
    assert_eq!(caller.scopes(), Scope::Read.into());
    assert!(sees(&caller, "home") && !sees(&caller, "work"));
    // A token never gets more than it was issued for.
    fixture.update("phone", Some("admin"), Some(&[])).unwrap();
    let caller = fixture.access().bearer(token.expose()).unwrap();
    assert_eq!(caller.scopes(), Scopes::READ_WRITE);
    assert!(sees(&caller, "work") && sees(&caller, "default"));
    assert_eq!(fixture.update("phone", Some("admin"), None).unwrap(), "unchanged");
}

#[test]
fn a_revoked_client_is_rejected_at_once_and_after_a_restart() {
    let mut fixture = Fixture::new();
    let (credentials, client) = fixture.confidential_client("phone", "read write", &[]);
    let (other, _) = fixture.confidential_client("other", "read", &[]);
    let tokens = [
        fixture.client_credentials(&credentials, None).unwrap(),
        fixture.client_credentials(&credentials, Some("read")).unwrap(),
    ];
    let other_token = fixture.client_credentials(&other, None).unwrap().access_token;
    assert_eq!(fixture.revoke_client("phone"), 2);
    for _ in 0..2 {
        assert!(tokens.iter().all(|issued| !fixture.is_accepted(&issued.access_token)));
        assert_eq!(
            error(fixture.client_credentials(&credentials, None)),
            OAuthError::InvalidClient
        );
        assert!(fixture.is_accepted(&other_token));
        fixture.reopen();
    }
    assert_eq!(fixture.revoke_client(&client.client_id), 0, "the client is already revoked");
}

#[test]
fn a_token_for_another_service_is_rejected() {
    let mut fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let grant = AuthorizationGrant::ClientCredentials { scope: None };
    let public = fixture
        .access()
        .exchange(&credentials, &grant, &[format!("{ISSUER}/mcp")])
        .unwrap()
        .access_token;
    let local = fixture
        .access()
        .exchange(&credentials, &grant, &["http://localhost:3131/mcp".into()])
        .unwrap()
        .access_token;
    assert!(fixture.is_accepted(&public) && fixture.is_accepted(&local));
    fixture.settings.base_url = Some("https://moved.example".into());
    fixture.reopen();
    assert!(!fixture.is_accepted(&public), "the token is for the former base URL");
    assert!(fixture.is_accepted(&local));
}
