//! Bearer tokens: which caller they authenticate.

use super::*;
use brain_base::caller::{Caller, Scope};

fn sees(caller: &Caller, source: &str) -> bool {
    caller.may_use(&SourceId::parse(source).unwrap())
}

#[test]
fn a_token_authenticates_its_holder_with_its_scopes() {
    let lab = Lab::new();
    let (credentials, made) = lab.confidential_client("phone", "read", &["work"]);
    let token = lab.client_credentials(&credentials, None).unwrap().access_token;
    let caller = lab.access().bearer(token.expose()).unwrap();
    assert_eq!(
        (caller.name.as_str(), caller.scopes()),
        (made.client_id.as_str(), Scope::Read.into())
    );
    assert!(sees(&caller, "work") && !sees(&caller, "default"));

    let personal = lab.personal_token("laptop", "write", None).unwrap();
    let caller = lab.access().bearer(personal.expose()).unwrap();
    assert_eq!((caller.name.as_str(), caller.scopes()), ("token:laptop", Scope::Write.into()));
    assert!(sees(&caller, "work") && sees(&caller, "default"));

    let admin = std::fs::read_to_string(lab.admin_token_path()).unwrap();
    let caller = lab.access().bearer(admin.trim()).unwrap();
    assert_eq!((caller.name.as_str(), caller.scopes()), ("admin", Scopes::ADMIN));
    assert!(lab.access().is_admin_token(admin.trim()));
    assert!(!lab.access().is_admin_token(personal.expose()) && !lab.access().is_admin_token(""));
}

#[test]
fn all_invalid_tokens_get_the_same_error() {
    let lab = Lab::new();
    let app = lab.public_client("read");
    let issued = lab.consent_and_redeem(&app);
    let ended = lab.personal_token("short", "read", Some(60)).unwrap();
    let revoked = lab.personal_token("gone", "read", None).unwrap();
    lab.access().token_revoke(&brain_protocol::TokenRevoke { token: "gone".into() }).unwrap();
    lab.advance(MINUTE);
    let refresh = issued.refresh_token.unwrap();
    let mut said = Vec::new();
    let cut = &issued.access_token.expose()[..20];
    for token in [
        ended.expose(),
        revoked.expose(),
        refresh.expose(),
        cut,
        "",
        "brain_at_x",
        "ä\u{0}",
        &"x".repeat(9000),
    ] {
        said.push(lab.access().bearer(token).unwrap_err());
    }
    said.dedup();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(lab.is_accepted(&issued.access_token));
}

#[test]
fn a_token_expires_to_the_millisecond() {
    let lab = Lab::new();
    let (credentials, _) = lab.confidential_client("phone", "read", &[]);
    let issued = lab.client_credentials(&credentials, None).unwrap();
    assert_eq!(issued.expires_in, 3600);
    lab.advance(HOUR - 1);
    assert!(lab.is_accepted(&issued.access_token));
    lab.advance(1);
    assert!(!lab.is_accepted(&issued.access_token));
}

#[test]
fn a_change_of_a_client_applies_to_issued_tokens() {
    let lab = Lab::new();
    let (credentials, made) = lab.confidential_client("phone", "read write", &["work", "home"]);
    let token = lab.client_credentials(&credentials, None).unwrap().access_token;
    assert_eq!(lab.update(&made.client_id, Some("read"), Some(&["home"])).unwrap(), "updated");
    let caller = lab.access().bearer(token.expose()).unwrap();
    assert_eq!(caller.scopes(), Scope::Read.into());
    assert!(sees(&caller, "home") && !sees(&caller, "work"));
    // More than it was issued for it never gets.
    lab.update("phone", Some("admin"), Some(&[])).unwrap();
    let caller = lab.access().bearer(token.expose()).unwrap();
    assert_eq!(caller.scopes(), Scopes::READ_WRITE);
    assert!(sees(&caller, "work") && sees(&caller, "default"));
    assert_eq!(lab.update("phone", Some("admin"), None).unwrap(), "unchanged");
}

#[test]
fn a_revoked_client_is_rejected_at_once_and_after_a_restart() {
    let mut lab = Lab::new();
    let (credentials, made) = lab.confidential_client("phone", "read write", &[]);
    let (other, _) = lab.confidential_client("other", "read", &[]);
    let tokens = [
        lab.client_credentials(&credentials, None).unwrap(),
        lab.client_credentials(&credentials, Some("read")).unwrap(),
    ];
    let kept = lab.client_credentials(&other, None).unwrap().access_token;
    assert_eq!(lab.revoke_client("phone"), 2);
    for _ in 0..2 {
        assert!(tokens.iter().all(|issued| !lab.is_accepted(&issued.access_token)));
        assert_eq!(error(lab.client_credentials(&credentials, None)), OAuthError::InvalidClient);
        assert!(lab.is_accepted(&kept));
        lab.reopen();
    }
    assert_eq!(lab.revoke_client(&made.client_id), 0, "once is enough");
}

#[test]
fn a_token_for_another_service_is_rejected() {
    let mut lab = Lab::new();
    let (credentials, _) = lab.confidential_client("phone", "read", &[]);
    let offer = AuthorizationGrant::ClientCredentials { scope: None };
    let public = lab
        .access()
        .exchange(&credentials, &offer, &[format!("{ISSUER}/mcp")])
        .unwrap()
        .access_token;
    let local = lab
        .access()
        .exchange(&credentials, &offer, &["http://localhost:3131/mcp".into()])
        .unwrap()
        .access_token;
    assert!(lab.is_accepted(&public) && lab.is_accepted(&local));
    lab.settings.base_url = Some("https://moved.example".into());
    lab.reopen();
    assert!(!lab.is_accepted(&public), "the service has another name now");
    assert!(lab.is_accepted(&local));
}
