//! `client_credentials`: scopes, resources, and errors.

use super::*;

#[test]
fn the_requested_scopes_are_granted() {
    let fixture = Fixture::new();
    let (credentials, registered) = fixture.confidential_client("phone", "write, read", &[]);
    assert_eq!(registered.scope, "read write");
    for (requested, granted) in [
        (None, "read write"),
        (Some("read"), "read"),
        (Some("write"), "write"),
        (Some("write read"), "read write"),
        // Clients request the scopes that a `WWW-Authenticate` challenge names. The response names
        // the granted scopes.
        (Some("read admin"), "read"),
        // Many clients request scopes of other services.
        (Some("read offline_access"), "read"),
        (Some("openid profile"), "read write"),
        (Some("READ"), "read write"),
    ] {
        let issued = fixture.client_credentials(&credentials, requested).unwrap();
        assert_eq!(issued.scopes.to_string(), granted, "{requested:?}");
        assert!(issued.refresh_token.is_none());
        let caller = fixture.access().bearer(issued.access_token.expose()).unwrap();
        assert_eq!(caller.scopes().to_string(), granted);
    }
    for requested in ["admin", "admin openid"] {
        assert_eq!(
            error(fixture.client_credentials(&credentials, Some(requested))),
            OAuthError::InvalidScope,
            "{requested:?}"
        );
    }
}

#[test]
fn a_client_gets_only_its_current_scopes() {
    let fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "write", &[]);
    fixture.update("phone", Some("read"), None).unwrap();
    assert_eq!(fixture.client_credentials(&credentials, None).unwrap().scopes.to_string(), "read");
    assert_eq!(
        error(fixture.client_credentials(&credentials, Some("write"))),
        OAuthError::InvalidScope
    );
}

#[test]
fn only_this_service_can_be_the_resource() {
    let fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let issue_for = |resources: &[&str]| {
        let resources: Vec<String> = resources.iter().map(|&r| r.to_owned()).collect();
        fixture.access().exchange(
            &credentials,
            &AuthorizationGrant::ClientCredentials { scope: None },
            &resources,
        )
    };
    for own in [
        "https://brain.example",
        "https://brain.example/",
        "https://brain.example/mcp",
        "https://BRAIN.example:443/mcp",
        "http://127.0.0.1:3131/mcp",
        "http://localhost:3131",
        "http://[::1]:3131/mcp",
    ] {
        assert!(issue_for(&[own]).is_ok(), "{own}");
    }
    assert!(
        issue_for(&["https://brain.example/mcp", "https://brain.example/mcp"]).is_ok(),
        "ChatGPT sends the resource twice"
    );
    for other in [
        "https://evil.example",
        "http://brain.example/mcp",
        "https://brain.example.evil.example/mcp",
        "https://brain.example:8443/mcp",
        "https://user@brain.example/mcp",
        "https://brain.example/mcp?x",
        "https://brain.example/mcp#x",
        "https://brain.example/mcp/x",
        "http://localhost:3132/mcp",
        "brain.example",
        "/mcp",
        "",
    ] {
        assert_eq!(error(issue_for(&[other])), OAuthError::InvalidTarget, "{other:?}");
        assert_eq!(
            error(issue_for(&["https://brain.example/mcp", other])),
            OAuthError::InvalidTarget,
            "{other:?}"
        );
    }
}

#[test]
fn an_unknown_client_and_a_wrong_secret_get_the_same_error() {
    let fixture = Fixture::new();
    let (credentials, registered) = fixture.confidential_client("phone", "read", &[]);
    let (_, other) = fixture.confidential_client("other", "read", &[]);
    let app = fixture.public_client("read");
    let (gone, _) = fixture.confidential_client("gone", "read", &[]);
    fixture.revoke_client("gone");
    let mut errors = Vec::new();
    let mut refuse = |id: &str, secret: Option<&str>| {
        let credentials = Credentials { client_id: id.into(), secret: secret.map(Secret::new) };
        errors.push(fixture.client_credentials(&credentials, None).unwrap_err());
    };
    let secret = registered.client_secret.clone().unwrap();
    refuse("brain_cl_nobody", Some(secret.expose()));
    refuse("", Some(""));
    refuse(&credentials.client_id, None);
    refuse(&credentials.client_id, Some(""));
    refuse(&credentials.client_id, Some(&secret.expose()[1..]));
    refuse(&credentials.client_id, Some(other.client_secret.as_ref().unwrap().expose()));
    refuse(&app.client_id, Some("a secret of which nobody knows"));
    refuse("https://claude.ai/oauth/mcp-oauth-client-metadata", None);
    refuse(&gone.client_id, gone.secret.as_ref().map(Secret::expose));
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].error, OAuthError::InvalidClient);
    assert!(fixture.client_credentials(&credentials, None).is_ok());
}

#[test]
fn a_client_can_use_only_its_grant_types() {
    let fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let app = fixture.public_client("read");
    let empty = Credentials { secret: Some(Secret::new("")), ..app.clone() };
    assert_eq!(error(fixture.client_credentials(&app, None)), OAuthError::UnauthorizedClient);
    assert_eq!(error(fixture.client_credentials(&empty, None)), OAuthError::UnauthorizedClient);
    assert_eq!(
        error(fixture.redeem(&credentials, &Secret::new("brain_co_x"))),
        OAuthError::UnauthorizedClient
    );
    assert_eq!(
        error(fixture.refresh(&credentials, &Some(Secret::new("brain_rt_x")), None)),
        OAuthError::UnauthorizedClient
    );
}

#[test]
fn the_number_of_tokens_of_a_client_is_limited() {
    let fixture = Fixture::new();
    let (credentials, _) = fixture.confidential_client("phone", "read", &[]);
    let (other, _) = fixture.confidential_client("other", "read", &[]);
    let other_token = fixture.client_credentials(&other, None).unwrap().access_token;
    let first = fixture.client_credentials(&credentials, None).unwrap().access_token;
    // With these 998 tokens, the client has one fewer than the maximum of 1000.
    let mut change = brain_store::GrantUpdate::default();
    {
        let table = fixture.access().table();
        let hash = crate::grant_table::digest(first.expose());
        let record = table.token(&hash).unwrap().1.record.clone();
        for n in 0..998_u64 {
            let hash = crate::grant_table::digest(&n.to_string());
            let created_at = record.created_at + 1 + n as i64;
            change
                .tokens
                .push((hash, Some(brain_store::TokenRecord { created_at, ..record.clone() })));
        }
    }
    fixture.access().apply(&mut fixture.access().lock(), change).unwrap();
    fixture.advance(2000);
    let count = || {
        let all =
            fixture.access().token_list(&brain_protocol::TokenList { all: true }).unwrap().tokens;
        all.iter().filter(|t| t.client_id.as_deref() == Some(&credentials.client_id)).count()
    };
    fixture.client_credentials(&credentials, None).unwrap();
    assert_eq!((count(), fixture.is_accepted(&first)), (1000, true));
    let last = fixture.client_credentials(&credentials, None).unwrap().access_token;
    assert_eq!(
        (count(), fixture.is_accepted(&first)),
        (1000, false),
        "the oldest token is removed"
    );
    assert!(fixture.is_accepted(&last) && fixture.is_accepted(&other_token));
}
