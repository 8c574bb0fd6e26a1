//! Operations of the owner: clients, tokens, the admin token.

use std::os::unix::fs::PermissionsExt;

use brain_protocol::{
    AdminToken, AdminTokenReply, ClientList, ClientRevoke, TokenInfo, TokenList, TokenRevoke,
};

use super::*;

fn refused(lab: &Lab, request: ClientRegister) -> FaultCode {
    let fault = lab.access().client_register(request).unwrap_err();
    assert!(fault.hint.is_some(), "{fault}");
    fault.code
}

#[test]
fn a_client_is_registered_as_requested() {
    let lab = Lab::new();
    let request = ClientRegister {
        sources: ids(&["work", "home", "work"]),
        grant_types: vec![GrantType::RefreshToken, GrantType::AuthorizationCode],
        redirect_uris: vec![CALLBACK.into()],
        token_ttl: Some(60),
        ..registration_request(" My phone ", "write")
    };
    let made = lab.access().client_register(request).unwrap();
    assert_eq!(
        (made.client_name.as_str(), made.scope.as_str(), made.token_ttl),
        ("My phone", "write", 60)
    );
    assert_eq!(made.sources, ["work", "home"]);
    assert_eq!(made.grant_types, ["authorization_code", "refresh_token"]);
    let secret = made.client_secret.unwrap();
    assert!(made.client_id.starts_with("brain_cl_") && secret.expose().starts_with("brain_cs_"));
    assert_eq!(secret.expose().len(), "brain_cs_".len() + 43);
    let listed = lab.access().client_list(&ClientList::default()).unwrap().clients;
    assert_eq!((listed.len(), listed[0].scope.as_str(), listed[0].public), (1, "write", false));
    assert_eq!(listed[0].last_used_at, None);
    let bytes = std::fs::read(lab.store_path()).unwrap();
    let found = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(found("My phone") && !found(secret.expose()), "the secret itself is not stored");
}

#[test]
fn an_invalid_registration_by_the_owner_is_refused() {
    let lab = Lab::new();
    let good = || registration_request("x", "read");
    let codes = vec![GrantType::AuthorizationCode];
    assert_eq!(refused(&lab, registration_request("", "read")), FaultCode::InvalidRequest);
    assert_eq!(
        refused(&lab, registration_request("a\u{202e}b", "read")),
        FaultCode::InvalidRequest
    );
    assert_eq!(
        refused(&lab, ClientRegister { sources: ids(&["nowhere"]), ..good() }),
        FaultCode::UnknownSource
    );
    for ttl in [0, 59, 2_592_001] {
        assert_eq!(
            refused(&lab, ClientRegister { token_ttl: Some(ttl), ..good() }),
            FaultCode::InvalidRequest
        );
    }
    let wrong = [
        ClientRegister { grant_types: codes.clone(), ..good() },
        ClientRegister { public: true, ..good() },
        ClientRegister {
            public: true,
            grant_types: GrantType::ALL.to_vec(),
            redirect_uris: vec![CALLBACK.into()],
            ..good()
        },
        ClientRegister { grant_types: vec![GrantType::RefreshToken], ..good() },
        ClientRegister { redirect_uris: vec![CALLBACK.into()], ..good() },
        ClientRegister {
            grant_types: codes.clone(),
            redirect_uris: vec!["http://a.example/".into()],
            ..good()
        },
        ClientRegister {
            grant_types: codes.clone(),
            redirect_uris: vec!["cursor://a/b".into()],
            ..good()
        },
        ClientRegister { grant_types: codes, redirect_uris: vec![CALLBACK.into(); 11], ..good() },
        ClientRegister { sources: ids(&["work"]), ..registration_request("x", "admin") },
    ];
    for request in wrong {
        assert_eq!(refused(&lab, request.clone()), FaultCode::InvalidRequest, "{request:?}");
    }
    assert!(lab.access().client_list(&ClientList { all: true }).unwrap().clients.is_empty());
}

#[test]
fn a_client_is_found_by_id_or_by_unique_name() {
    let lab = Lab::new();
    let (_, one) = lab.confidential_client("phone", "read", &[]);
    let (_, two) = lab.confidential_client("phone", "read", &[]);
    let revoke = |client: &str, yes| {
        lab.access()
            .client_revoke(&ClientRevoke { client: client.into(), yes })
            .map_err(|fault| fault.code)
    };
    assert_eq!(revoke("phone", true), Err(FaultCode::Conflict));
    assert_eq!(revoke("nobody", true), Err(FaultCode::UnknownClient));
    assert_eq!(revoke(&one.client_id, false), Err(FaultCode::ConfirmationNeeded));
    assert_eq!(revoke(&one.client_id, true).unwrap().status, "revoked");
    assert_eq!(lab.update(&one.client_id, Some("write"), None), Err(FaultCode::Conflict));
    assert_eq!(
        lab.update("phone", Some("write"), None).unwrap(),
        "updated",
        "one is left of this name"
    );
    assert_eq!(lab.update("phone", Some("admin"), Some(&["work"])), Err(FaultCode::InvalidRequest));
    assert_eq!(lab.update("phone", None, Some(&["nowhere"])), Err(FaultCode::UnknownSource));
    let listed = |all| lab.access().client_list(&ClientList { all }).unwrap().clients;
    assert_eq!((listed(false).len(), listed(true).len()), (1, 2));
    assert_eq!(
        (listed(false)[0].client_id.as_str(), listed(false)[0].scope.as_str()),
        (&*two.client_id, "write")
    );
}

#[test]
fn the_names_of_valid_personal_tokens_are_unique() {
    let lab = Lab::new();
    let first = lab.personal_token("laptop", "read write", Some(90 * 24 * 3600)).unwrap();
    assert!(first.expose().starts_with("brain_pt_"));
    assert_eq!(lab.personal_token(" laptop ", "read", None), Err(FaultCode::Conflict));
    assert_eq!(lab.personal_token("", "read", None), Err(FaultCode::InvalidRequest));
    for seconds in [1, 59, u64::MAX] {
        assert_eq!(lab.personal_token("x", "read", Some(seconds)), Err(FaultCode::InvalidRequest));
    }
    let unknown = TokenCreate {
        name: "x".into(),
        scopes: Scopes::READ_WRITE,
        sources: ids(&["nowhere"]),
        expires_in: None,
    };
    assert_eq!(lab.access().token_create(&unknown).unwrap_err().code, FaultCode::UnknownSource);
    let list =
        |all| -> Vec<TokenInfo> { lab.access().token_list(&TokenList { all }).unwrap().tokens };
    assert_eq!((list(false).len(), list(false)[0].scope.as_str()), (1, "read write"));
    assert!(!format!("{:?}", list(false)).contains(&first.expose()[9..]));

    let revoke = |name: &str| lab.access().token_revoke(&TokenRevoke { token: name.into() });
    let status = |name: &str| revoke(name).map(|done| done.status).map_err(|fault| fault.code);
    assert_eq!(status("nothing"), Err(FaultCode::UnknownToken));
    let typed = revoke(first.expose()).unwrap_err();
    assert!(
        typed.code == FaultCode::UnknownToken && !format!("{typed:?}").contains(first.expose())
    );
    assert_eq!(status("laptop").unwrap(), "revoked");
    assert!(!lab.is_accepted(&first));
    assert_eq!(status("laptop").unwrap(), "already_revoked");
    let second = lab.personal_token("laptop", "read", Some(60)).unwrap();
    assert_eq!((list(false).len(), list(true).len()), (1, 2));
    lab.advance(MINUTE);
    assert_eq!((list(false).len(), list(true).len()), (0, 2), "it has ended");
    assert!(!lab.is_accepted(&second));
    lab.personal_token("laptop", "read", None).unwrap();

    // A client's tokens are named by their ids.
    let (credentials, _) = lab.confidential_client("phone", "read", &["work"]);
    let access = lab.client_credentials(&credentials, None).unwrap().access_token;
    let shown = list(true).into_iter().find(|token| token.kind == "access").unwrap();
    assert_eq!(
        (shown.name.as_str(), shown.sources.as_slice()),
        ("phone", &["work".to_owned()][..])
    );
    assert_eq!(status(&shown.id).unwrap(), "revoked");
    assert!(!lab.is_accepted(&access));
}

fn admin(lab: &Lab, rotate: bool) -> Result<AdminTokenReply, Fault> {
    lab.access().admin_token(&AdminToken { rotate })
}

#[test]
fn the_admin_token_is_created_once_and_rotated_on_demand() {
    let mut lab = Lab::new();
    let path = lab.admin_token_path();
    let first = admin(&lab, false).unwrap();
    assert!(first.token.expose().starts_with("brain_ad_") && !first.rotated);
    assert_eq!(first.path, path.display().to_string());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    lab.reopen();
    assert_eq!(admin(&lab, false).unwrap().token, first.token);
    let second = admin(&lab, true).unwrap();
    assert!(second.rotated && lab.access().is_admin_token(second.token.expose()));
    assert!(!lab.access().is_admin_token(first.token.expose()));
    assert!(!lab.is_accepted(&first.token));
    lab.reopen();
    assert!(lab.access().is_admin_token(second.token.expose()));
}

#[test]
fn an_admin_token_from_outside_the_home_is_not_rotated() {
    let mut lab = Lab::new();
    let own = "a-token-that-the-owner-has-chosen";
    lab.admin_token_variable = Some(own.into());
    lab.reopen();
    assert!(lab.access().is_admin_token(own));
    let fault = admin(&lab, true).unwrap_err();
    assert!(
        fault.code == FaultCode::Conflict && fault.message.contains("BRAIN_ADMIN_TOKEN"),
        "{fault}"
    );
    assert!(!format!("{fault:?}").contains(own));
    lab.admin_token_variable = Some("weak".into());
    lab.reopen();
    assert!(!lab.access().is_admin_token("weak"));
    assert_eq!(admin(&lab, false).unwrap_err().code, FaultCode::InvalidConfig);
}

#[test]
fn an_admin_token_that_others_can_read_is_not_used() {
    let mut lab = Lab::new();
    let path = lab.admin_token_path();
    let mode =
        |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    let first = admin(&lab, false).unwrap().token;
    mode(0o644);
    lab.reopen();
    assert!(!lab.access().is_admin_token(first.expose()));
    assert!(admin(&lab, false).unwrap_err().hint.unwrap().contains("chmod 600"));
    assert!(lab.access().summary().admin_token_problem.is_some());
    mode(0o600);
    assert_eq!(admin(&lab, false).unwrap().token, first, "no start is needed once it is mended");
    assert!(lab.access().is_admin_token(first.expose()));
    mode(0o644);
    lab.reopen();
    let second = admin(&lab, true).unwrap().token;
    assert!(
        second != first && lab.access().is_admin_token(second.expose()),
        "a new one mends it, too"
    );
}

#[test]
fn the_summary_has_tokens_that_expire_within_14_days() {
    let lab = Lab::new();
    lab.confidential_client("phone", "read", &[]);
    lab.personal_token("for ever", "read", Some(0)).unwrap();
    lab.personal_token("laptop", "read", Some(15 * 24 * 3600)).unwrap();
    let end = lab.clock.now() + 15 * DAY;
    let summary = lab.access().summary();
    assert_eq!((summary.clients, summary.tokens), (1, 2));
    assert_eq!(
        (summary.expiring.as_slice(), summary.without_expiry.as_slice()),
        (&[][..], &["for ever".to_owned()][..])
    );
    assert!(summary.admin_token_problem.is_none());
    lab.advance(DAY);
    lab.personal_token("for a day", "read", Some(24 * 3600)).unwrap();
    assert_eq!(lab.access().summary().expiring, [("laptop".to_owned(), end)]);
    lab.advance(15 * DAY);
    assert!(lab.access().summary().expiring.is_empty(), "it has ended: nothing to do in time");
}

#[test]
fn tokens_expire_after_90_days_and_admin_ones_after_30() {
    let lab = Lab::new();
    let usual = lab.personal_token("laptop", "read write", None).unwrap();
    let admin = lab.personal_token("boss", "admin", None).unwrap();
    let endless = lab.personal_token("for ever", "admin", Some(0)).unwrap();
    let let_in = || [&usual, &admin, &endless].map(|token| lab.is_accepted(token));
    lab.advance(30 * DAY - 1);
    assert_eq!(let_in(), [true, true, true]);
    lab.advance(1);
    assert_eq!(let_in(), [true, false, true]);
    lab.advance(60 * DAY);
    assert_eq!(let_in(), [false, false, true]);
    lab.advance(4000 * DAY);
    assert_eq!(let_in(), [false, false, true]);
}
