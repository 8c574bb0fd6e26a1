//! Who is let in with a bearer token, and as whom.

use super::*;
use brain_base::caller::{Caller, Scope};

fn sees(caller: &Caller, source: &str) -> bool {
    caller.may_use(&SourceId::parse(source).unwrap())
}

#[test]
fn everybody_comes_under_their_own_name_with_what_they_are_granted() {
    let lab = Lab::new();
    let (who, made) = lab.service("phone", "read", &["work"]);
    let token = lab.credentials(&who, None).unwrap().access_token;
    let caller = lab.access().bearer(token.expose()).unwrap();
    assert_eq!(
        (caller.name.as_str(), caller.scopes()),
        (made.client_id.as_str(), Scope::Read.into())
    );
    assert!(sees(&caller, "work") && !sees(&caller, "default"));

    let personal = lab.personal("laptop", "write", None).unwrap();
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
fn whatever_is_wrong_with_a_token_nobody_is_told_which() {
    let lab = Lab::new();
    let app = lab.app("read");
    let issued = lab.consented(&app);
    let ended = lab.personal("short", "read", Some(60)).unwrap();
    let revoked = lab.personal("gone", "read", None).unwrap();
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
    assert!(lab.is_let_in(&issued.access_token));
}

#[test]
fn a_token_ends_to_the_millisecond() {
    let lab = Lab::new();
    let (who, _) = lab.service("phone", "read", &[]);
    let issued = lab.credentials(&who, None).unwrap();
    assert_eq!(issued.expires_in, 3600);
    lab.advance(HOUR - 1);
    assert!(lab.is_let_in(&issued.access_token));
    lab.advance(1);
    assert!(!lab.is_let_in(&issued.access_token));
}

#[test]
fn what_the_owner_changes_counts_for_tokens_that_are_out_already() {
    let lab = Lab::new();
    let (who, made) = lab.service("phone", "read write", &["work", "home"]);
    let token = lab.credentials(&who, None).unwrap().access_token;
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
fn a_client_that_is_revoked_is_out_at_once_and_stays_out() {
    let mut lab = Lab::new();
    let (who, made) = lab.service("phone", "read write", &[]);
    let (other, _) = lab.service("other", "read", &[]);
    let tokens =
        [lab.credentials(&who, None).unwrap(), lab.credentials(&who, Some("read")).unwrap()];
    let kept = lab.credentials(&other, None).unwrap().access_token;
    assert_eq!(lab.revoke_client("phone"), 2);
    for _ in 0..2 {
        assert!(tokens.iter().all(|issued| !lab.is_let_in(&issued.access_token)));
        assert_eq!(error(lab.credentials(&who, None)), OAuthError::InvalidClient);
        assert!(lab.is_let_in(&kept));
        lab.reopen();
    }
    assert_eq!(lab.revoke_client(&made.client_id), 0, "once is enough");
}

#[test]
fn a_token_for_another_service_is_none_of_ours() {
    let mut lab = Lab::new();
    let (who, _) = lab.service("phone", "read", &[]);
    let offer = AuthorizationGrant::ClientCredentials { scope: None };
    let public =
        lab.access().exchange(&who, &offer, &[format!("{ISSUER}/mcp")]).unwrap().access_token;
    let local = lab
        .access()
        .exchange(&who, &offer, &["http://localhost:3131/mcp".into()])
        .unwrap()
        .access_token;
    assert!(lab.is_let_in(&public) && lab.is_let_in(&local));
    lab.settings.base_url = Some("https://moved.example".into());
    lab.reopen();
    assert!(!lab.is_let_in(&public), "the service has another name now");
    assert!(lab.is_let_in(&local));
}
