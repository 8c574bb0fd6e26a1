//! Dynamic client registration.

use brain_protocol::ClientList;

use super::*;
use crate::{RegistrationRequest, registration};

fn request_with(uris: &[&str]) -> RegistrationRequest {
    RegistrationRequest {
        redirect_uris: uris.iter().map(|&uri| uri.to_owned()).collect(),
        ..RegistrationRequest::default()
    }
}

#[test]
fn a_dynamic_client_has_no_secret_and_needs_consent() {
    let fixture = Fixture::new();
    let client = RegistrationRequest {
        client_name: Some("Cursor".into()),
        grant_types: vec!["authorization_code".into(), "refresh_token".into(), "urn:other".into()],
        token_endpoint_auth_method: Some("none".into()),
        ..request_with(&[CALLBACK, "cursor://anysphere.cursor-mcp/oauth/callback"])
    };
    let registered = fixture.access().register_dynamic_client(&client).unwrap();
    assert!(registered.public && registered.client_id.starts_with("brain_cl_"));
    assert_eq!(
        (registered.registered_by.as_str(), registered.scope.as_str()),
        ("dynamic", "read write")
    );
    assert_eq!(registered.grant_types, ["authorization_code", "refresh_token"]);
    assert_eq!(registered.redirect_uris, [CALLBACK], "the unsupported URI is omitted");
    let credentials = Credentials { client_id: registered.client_id, secret: None };
    assert_eq!(
        error(fixture.client_credentials(&credentials, None)),
        OAuthError::UnauthorizedClient
    );
    assert_eq!(
        error(fixture.redeem(&credentials, &Secret::new("brain_co_guess"))),
        OAuthError::InvalidGrant
    );
    assert!(fixture.is_accepted(&fixture.consent_and_redeem(&credentials).access_token));
    for method in ["client_secret_basic", "client_secret_post"] {
        let client = RegistrationRequest {
            token_endpoint_auth_method: Some(method.into()),
            ..request_with(&[CALLBACK])
        };
        assert!(
            fixture.access().register_dynamic_client(&client).unwrap().public,
            "{method} becomes none"
        );
    }
    let nameless = fixture.access().register_dynamic_client(&request_with(&[CALLBACK])).unwrap();
    assert_eq!(nameless.client_name, "app.example");
}

#[test]
fn an_invalid_dynamic_registration_is_refused() {
    let fixture = Fixture::new();
    let eleven = vec![CALLBACK; 11];
    let uris: [&[&str]; 12] = [
        &[],
        &[""],
        &["javascript:alert(1)"],
        &["data:text/html,x"],
        &["http://app.example/cb"],
        &["https://app.example/cb#x"],
        &["https://*.example/cb"],
        &["https://user@app.example/"],
        &["/cb"],
        &["cursor://a/b"],
        &[CALLBACK, "javascript:alert(1)"],
        &eleven,
    ];
    for uris in uris {
        let refused = fixture.access().register_dynamic_client(&request_with(uris));
        assert_eq!(error(refused), OAuthError::InvalidRedirectUri, "{uris:?}");
    }
    let refuse = |change: fn(&mut RegistrationRequest)| {
        let mut client = request_with(&[CALLBACK]);
        change(&mut client);
        error(fixture.access().register_dynamic_client(&client))
    };
    let metadata = OAuthError::InvalidClientMetadata;
    assert_eq!(refuse(|c| c.client_name = Some("Cl\u{202e}aude".into())), metadata);
    assert_eq!(refuse(|c| c.client_name = Some("x".repeat(121))), metadata);
    assert_eq!(refuse(|c| c.token_endpoint_auth_method = Some("private_key_jwt".into())), metadata);
    assert_eq!(refuse(|c| c.grant_types = vec!["client_credentials".into()]), metadata);
    assert_eq!(refuse(|c| c.scope = Some("read admin".into())), OAuthError::InvalidScope);
    assert!(fixture.access().client_list(&ClientList { all: true }).unwrap().clients.is_empty());
}

#[test]
fn at_the_limit_an_unused_dynamic_client_is_replaced() {
    let fixture = Fixture::new();
    let first = fixture.access().register_dynamic_client(&request_with(&[CALLBACK])).unwrap();
    let used = Credentials { client_id: first.client_id.clone(), secret: None };
    fixture.consent_and_redeem(&used);
    // With these clients, the number of clients is the maximum.
    let mut change = brain_store::GrantUpdate::default();
    let record = fixture.access().table().client(&first.client_id).unwrap().record.clone();
    for n in 1..registration::MAX_CLIENTS as i64 {
        let created_at = record.created_at + n;
        let record = brain_store::ClientRecord { created_at, last_used_at: None, ..record.clone() };
        change.clients.push((format!("brain_cl_{n}"), Some(record)));
    }
    fixture.access().apply(&mut fixture.access().lock(), change).unwrap();
    let clients = || fixture.access().client_list(&ClientList { all: true }).unwrap().clients;
    assert_eq!(
        error(fixture.access().register_dynamic_client(&request_with(&[CALLBACK]))),
        OAuthError::InvalidClientMetadata
    );
    // A failed request with the id of a client does not count as a use of the client.
    let idle = Credentials { client_id: "brain_cl_1".into(), secret: None };
    assert_eq!(
        error(fixture.redeem(&idle, &Secret::new("brain_co_guess"))),
        OAuthError::InvalidGrant
    );
    fixture.advance(HOUR + 1);
    fixture.access().register_dynamic_client(&request_with(&[CALLBACK])).unwrap();
    let ids: Vec<String> = clients().into_iter().map(|client| client.client_id).collect();
    assert_eq!(ids.len(), registration::MAX_CLIENTS);
    assert!(ids.contains(&first.client_id), "a used client is kept");
    assert!(!ids.contains(&"brain_cl_1".into()) && ids.contains(&"brain_cl_2".into()));
}
