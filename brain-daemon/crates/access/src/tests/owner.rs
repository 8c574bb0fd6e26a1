//! Operations of the owner: clients, tokens, the admin token.

use std::os::unix::fs::PermissionsExt;

use brain_protocol::{
    AdminToken, AdminTokenReply, ClientList, ClientRevoke, TokenInfo, TokenList, TokenRevoke,
};

use super::*;

fn refusal_code(fixture: &Fixture, request: ClientRegister) -> FaultCode {
    let fault = fixture.access().client_register(request).unwrap_err();
    assert!(fault.hint.is_some(), "{fault}");
    fault.code
}

#[test]
fn a_client_is_registered_as_requested() {
    let fixture = Fixture::new();
    let request = ClientRegister {
        sources: ids(&["work", "home", "work"]),
        grant_types: vec![GrantType::RefreshToken, GrantType::AuthorizationCode],
        redirect_uris: vec![CALLBACK.into()],
        token_ttl: Some(60),
        ..registration_request(" My phone ", "write")
    };
    let registered = fixture.access().client_register(request).unwrap();
    assert_eq!(
        (registered.client_name.as_str(), registered.scope.as_str(), registered.token_ttl),
        ("My phone", "write", 60)
    );
    assert_eq!(registered.sources, ["work", "home"]);
    assert_eq!(registered.grant_types, ["authorization_code", "refresh_token"]);
    let secret = registered.client_secret.unwrap();
    assert!(
        registered.client_id.starts_with("brain_cl_") && secret.expose().starts_with("brain_cs_")
    );
    assert_eq!(secret.expose().len(), "brain_cs_".len() + 43);
    let listed = fixture.access().client_list(&ClientList::default()).unwrap().clients;
    assert_eq!((listed.len(), listed[0].scope.as_str(), listed[0].public), (1, "write", false));
    assert_eq!(listed[0].last_used_at, None);
    let bytes = std::fs::read(fixture.store_path()).unwrap();
    let found = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(found("My phone") && !found(secret.expose()), "the secret itself is not stored");
}

#[test]
fn an_invalid_registration_by_the_owner_is_refused() {
    let fixture = Fixture::new();
    let good = || registration_request("x", "read");
    let code_grant = vec![GrantType::AuthorizationCode];
    assert_eq!(refusal_code(&fixture, registration_request("", "read")), FaultCode::InvalidRequest);
    assert_eq!(
        refusal_code(&fixture, registration_request("a\u{202e}b", "read")),
        FaultCode::InvalidRequest
    );
    assert_eq!(
        refusal_code(&fixture, ClientRegister { sources: ids(&["nowhere"]), ..good() }),
        FaultCode::UnknownSource
    );
    for ttl in [0, 59, 2_592_001] {
        assert_eq!(
            refusal_code(&fixture, ClientRegister { token_ttl: Some(ttl), ..good() }),
            FaultCode::InvalidRequest
        );
    }
    let invalid = [
        ClientRegister { grant_types: code_grant.clone(), ..good() },
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
            grant_types: code_grant.clone(),
            redirect_uris: vec!["http://a.example/".into()],
            ..good()
        },
        ClientRegister {
            grant_types: code_grant.clone(),
            redirect_uris: vec!["cursor://a/b".into()],
            ..good()
        },
        ClientRegister {
            grant_types: code_grant,
            redirect_uris: vec![CALLBACK.into(); 11],
            ..good()
        },
        ClientRegister { sources: ids(&["work"]), ..registration_request("x", "admin") },
    ];
    for request in invalid {
        assert_eq!(
            refusal_code(&fixture, request.clone()),
            FaultCode::InvalidRequest,
            "{request:?}"
        );
    }
    assert!(fixture.access().client_list(&ClientList { all: true }).unwrap().clients.is_empty());
}

#[test]
fn a_client_is_found_by_id_or_by_unique_name() {
    let fixture = Fixture::new();
    let (_, one) = fixture.confidential_client("phone", "read", &[]);
    let (_, two) = fixture.confidential_client("phone", "read", &[]);
    let revoke = |client: &str, yes| {
        fixture
            .access()
            .client_revoke(&ClientRevoke { client: client.into(), yes })
            .map_err(|fault| fault.code)
    };
    assert_eq!(revoke("phone", true), Err(FaultCode::Conflict));
    assert_eq!(revoke("nobody", true), Err(FaultCode::UnknownClient));
    assert_eq!(revoke(&one.client_id, false), Err(FaultCode::ConfirmationNeeded));
    assert_eq!(revoke(&one.client_id, true).unwrap().status.as_str(), "revoked");
    assert_eq!(fixture.update(&one.client_id, Some("write"), None), Err(FaultCode::Conflict));
    assert_eq!(
        fixture.update("phone", Some("write"), None).unwrap(),
        "updated",
        "only one client has this name now"
    );
    assert_eq!(
        fixture.update("phone", Some("admin"), Some(&["work"])),
        Err(FaultCode::InvalidRequest)
    );
    assert_eq!(fixture.update("phone", None, Some(&["nowhere"])), Err(FaultCode::UnknownSource));
    let listed = |all| fixture.access().client_list(&ClientList { all }).unwrap().clients;
    assert_eq!((listed(false).len(), listed(true).len()), (1, 2));
    assert_eq!(
        (listed(false)[0].client_id.as_str(), listed(false)[0].scope.as_str()),
        (&*two.client_id, "write")
    );
}

#[test]
fn the_names_of_valid_personal_tokens_are_unique() {
    let fixture = Fixture::new();
    let first = fixture.personal_token("laptop", "read write", Some(90 * 24 * 3600)).unwrap();
    assert!(first.expose().starts_with("brain_pt_"));
    assert_eq!(fixture.personal_token(" laptop ", "read", None), Err(FaultCode::Conflict));
    assert_eq!(fixture.personal_token("", "read", None), Err(FaultCode::InvalidRequest));
    for seconds in [1, 59, u64::MAX] {
        assert_eq!(
            fixture.personal_token("x", "read", Some(seconds)),
            Err(FaultCode::InvalidRequest)
        );
    }
    let unknown = TokenCreate {
        name: "x".into(),
        scopes: Scopes::READ_WRITE,
        sources: ids(&["nowhere"]),
        expires_in: None,
    };
    assert_eq!(fixture.access().token_create(&unknown).unwrap_err().code, FaultCode::UnknownSource);
    let list =
        |all| -> Vec<TokenInfo> { fixture.access().token_list(&TokenList { all }).unwrap().tokens };
    assert_eq!((list(false).len(), list(false)[0].scope.as_str()), (1, "read write"));
    assert!(!format!("{:?}", list(false)).contains(&first.expose()[9..]));

    let revoke = |name: &str| fixture.access().token_revoke(&TokenRevoke { token: name.into() });
    let status =
        |name: &str| revoke(name).map(|reply| reply.status.as_str()).map_err(|fault| fault.code);
    assert_eq!(status("nothing"), Err(FaultCode::UnknownToken));
    let fault = revoke(first.expose()).unwrap_err();
    assert!(
        fault.code == FaultCode::UnknownToken && !format!("{fault:?}").contains(first.expose())
    );
    assert_eq!(status("laptop").unwrap(), "revoked");
    assert!(!fixture.is_accepted(&first));
    assert_eq!(status("laptop").unwrap(), "already_revoked");
    let second = fixture.personal_token("laptop", "read", Some(60)).unwrap();
    assert_eq!((list(false).len(), list(true).len()), (1, 2));
    fixture.advance(MINUTE);
    assert_eq!((list(false).len(), list(true).len()), (0, 2), "the second token has expired");
    assert!(!fixture.is_accepted(&second));
    fixture.personal_token("laptop", "read", None).unwrap();

    // A client's tokens are named by their ids.
    let (credentials, _) = fixture.confidential_client("phone", "read", &["work"]);
    let access = fixture.client_credentials(&credentials, None).unwrap().access_token;
    let shown = list(true).into_iter().find(|token| token.kind.as_str() == "access").unwrap();
    assert_eq!(
        (shown.name.as_str(), shown.sources.as_slice()),
        ("phone", &["work".to_owned()][..])
    );
    assert_eq!(status(&shown.id).unwrap(), "revoked");
    assert!(!fixture.is_accepted(&access));
}

fn admin(fixture: &Fixture, rotate: bool) -> Result<AdminTokenReply, Fault> {
    fixture.access().admin_token(&AdminToken { rotate })
}

#[test]
fn the_admin_token_is_created_once_and_rotated_on_demand() {
    let mut fixture = Fixture::new();
    let path = fixture.admin_token_path();
    let first = admin(&fixture, false).unwrap();
    assert!(first.token.expose().starts_with("brain_ad_") && !first.rotated);
    assert_eq!(first.path, path.display().to_string());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fixture.reopen();
    assert_eq!(admin(&fixture, false).unwrap().token, first.token);
    let second = admin(&fixture, true).unwrap();
    assert!(second.rotated && fixture.access().is_admin_token(second.token.expose()));
    assert!(!fixture.access().is_admin_token(first.token.expose()));
    assert!(!fixture.is_accepted(&first.token));
    fixture.reopen();
    assert!(fixture.access().is_admin_token(second.token.expose()));
}

#[test]
fn an_admin_token_from_outside_the_home_is_not_rotated() {
    let mut fixture = Fixture::new();
    let own = "a-token-that-the-owner-has-chosen";
    fixture.admin_token_variable = Some(own.into());
    fixture.reopen();
    assert!(fixture.access().is_admin_token(own));
    let fault = admin(&fixture, true).unwrap_err();
    assert!(
        fault.code == FaultCode::Conflict && fault.message.contains("BRAIN_ADMIN_TOKEN"),
        "{fault}"
    );
    assert!(!format!("{fault:?}").contains(own));
    fixture.admin_token_variable = Some("weak".into());
    fixture.reopen();
    assert!(!fixture.access().is_admin_token("weak"));
    assert_eq!(admin(&fixture, false).unwrap_err().code, FaultCode::InvalidConfig);
}

#[test]
fn an_admin_token_that_others_can_read_is_not_used() {
    let mut fixture = Fixture::new();
    let path = fixture.admin_token_path();
    let set_mode =
        |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    let first = admin(&fixture, false).unwrap().token;
    set_mode(0o644);
    fixture.reopen();
    assert!(!fixture.access().is_admin_token(first.expose()));
    assert!(admin(&fixture, false).unwrap_err().hint.unwrap().to_string().contains("chmod 600"));
    assert!(fixture.access().summary().admin_token_problem.is_some());
    set_mode(0o600);
    assert_eq!(
        admin(&fixture, false).unwrap().token,
        first,
        "a repaired file is read without a restart"
    );
    assert!(fixture.access().is_admin_token(first.expose()));
    set_mode(0o644);
    fixture.reopen();
    let second = admin(&fixture, true).unwrap().token;
    assert!(
        second != first && fixture.access().is_admin_token(second.expose()),
        "a rotation also repairs the file"
    );
}

#[test]
fn the_summary_has_tokens_that_expire_within_14_days() {
    let fixture = Fixture::new();
    fixture.confidential_client("phone", "read", &[]);
    fixture.personal_token("for ever", "read", Some(0)).unwrap();
    fixture.personal_token("laptop", "read", None).unwrap();
    let end = fixture.clock.now() + 90 * DAY;
    let summary = fixture.access().summary();
    assert_eq!((summary.clients, summary.tokens), (1, 2));
    assert_eq!(
        (summary.expiring.as_slice(), summary.without_expiry.as_slice()),
        (&[][..], &["for ever".to_owned()][..])
    );
    assert!(summary.admin_token_problem.is_none());
    fixture.advance(76 * DAY);
    fixture.personal_token("for a day", "read", Some(24 * 3600)).unwrap();
    assert_eq!(fixture.access().summary().expiring, [("laptop".to_owned(), end)]);
    fixture.advance(15 * DAY);
    assert!(
        fixture.access().summary().expiring.is_empty(),
        "an expired token is not listed as expiring"
    );
}

#[test]
fn short_lived_tokens_are_listed_in_their_last_quarter() {
    let fixture = Fixture::new();
    for (name, days) in [("for a day", 1), ("for 8 days", 8), ("for two weeks", 14)] {
        fixture.personal_token(name, "read", Some(days * 24 * 3600)).unwrap();
    }
    let expiring = || {
        let names = fixture.access().summary().expiring.into_iter().map(|(name, _)| name);
        names.collect::<Vec<_>>()
    };
    assert!(expiring().is_empty(), "a new token is not about to expire");
    fixture.advance(DAY * 3 / 4);
    assert_eq!(expiring(), ["for a day"]);
    fixture.advance(DAY / 4);
    assert!(expiring().is_empty(), "the token has expired");
    fixture.advance(5 * DAY - 1);
    assert!(expiring().is_empty());
    fixture.advance(1);
    assert_eq!(expiring(), ["for 8 days"]);
    fixture.advance(5 * DAY);
    assert_eq!(expiring(), ["for two weeks"]);
}

#[test]
fn tokens_expire_after_90_days_and_admin_ones_after_30() {
    let fixture = Fixture::new();
    let usual = fixture.personal_token("laptop", "read write", None).unwrap();
    let admin = fixture.personal_token("boss", "admin", None).unwrap();
    let endless = fixture.personal_token("for ever", "admin", Some(0)).unwrap();
    let accepted = || [&usual, &admin, &endless].map(|token| fixture.is_accepted(token));
    fixture.advance(30 * DAY - 1);
    assert_eq!(accepted(), [true, true, true]);
    fixture.advance(1);
    assert_eq!(accepted(), [true, false, true]);
    fixture.advance(60 * DAY);
    assert_eq!(accepted(), [false, false, true]);
    fixture.advance(4000 * DAY);
    assert_eq!(accepted(), [false, false, true]);
}
