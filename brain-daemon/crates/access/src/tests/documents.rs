//! Metadata documents of clients: fetches, cache and limits.

use std::time::Duration;

use serde_json::json;

use super::*;

const APP: &str = "https://app.example/client.json";

/// A document at this address, as an honest client publishes it.
fn document(id: &str, uris: &[&str]) -> FetchedDocument {
    let text = json!({ "client_id": id, "client_name": "An app", "redirect_uris": uris });
    FetchedDocument { body: text.to_string().into_bytes(), max_age: None }
}

impl Fixture {
    fn put(&self, id: &str, answer: Result<FetchedDocument, NetError>) {
        self.network.documents.lock().unwrap().insert(id.into(), answer);
    }

    fn fetches(&self) -> usize {
        self.network.fetched.lock().unwrap().len()
    }
}

fn refusal(fixture: &Fixture, request: &AuthorizeRequest) -> String {
    match fixture.access().consent(request).unwrap_err() {
        AuthorizeError::Page(fault) => {
            assert_eq!(fault.error, OAuthError::InvalidClient);
            fault.description
        }
        AuthorizeError::Redirect(address) => panic!("sent to {address}"),
    }
}

#[test]
fn a_client_is_registered_by_its_document() {
    let fixture = Fixture::new();
    fixture.put(APP, Ok(document(APP, &[CALLBACK, "cursor://x/cb"])));
    let consent = fixture.access().consent(&authorize_request(APP)).unwrap();
    assert_eq!(
        (consent.client_name.as_str(), consent.registered_by.as_str()),
        ("An app", "metadata")
    );
    assert_eq!(consent.client_host.as_deref(), Some("app.example"));
    assert_eq!(consent.scopes, Scopes::READ_WRITE);
    let credentials = Credentials { client_id: APP.into(), secret: None };
    let issued = fixture.consent_and_redeem(&credentials);
    assert!(fixture.is_accepted(&issued.access_token));
    assert_eq!(fixture.fetches(), 1, "consent page, decision and exchange need one fetch");
    assert!(fixture.refresh(&credentials, &issued.refresh_token, None).is_ok());

    fixture.revoke_client(APP);
    assert!(!fixture.is_accepted(&issued.access_token));
    assert!(
        fixture.is_accepted(&fixture.consent_and_redeem(&credentials).access_token),
        "a revoked client may ask for consent again"
    );
}

#[test]
fn a_client_follows_its_document() {
    let fixture = Fixture::new();
    fixture.put(APP, Ok(document(APP, &[CALLBACK])));
    let credentials = Credentials { client_id: APP.into(), secret: None };
    fixture.consent_and_redeem(&credentials);
    fixture.put(APP, Ok(document(APP, &["https://app.example/new"])));
    assert!(
        fixture.access().consent(&authorize_request(APP)).is_ok(),
        "the former document is cached for a day"
    );
    fixture.advance(DAY);
    assert_eq!(
        shown_error(fixture.access().consent(&authorize_request(APP))),
        OAuthError::InvalidRequest,
        "the new document does not have the redirect URI"
    );
    let moved = AuthorizeRequest {
        redirect_uri: Some("https://app.example/new".into()),
        ..authorize_request(APP)
    };
    fixture.access().approve(&moved, Scopes::READ_WRITE).unwrap();
    // While the document is unavailable, the record of the last consent applies.
    fixture.put(APP, Err(NetError::ConnectionRefused));
    fixture.advance(DAY);
    assert!(fixture.access().consent(&moved).is_ok());
    assert_eq!(
        shown_error(fixture.access().consent(&authorize_request(APP))),
        OAuthError::InvalidRequest
    );
}

#[test]
fn a_document_is_cached_for_its_max_age_within_limits() {
    for (max_age, lifetime) in [
        (None, DAY),
        (Some(2 * 24 * 3600), DAY),
        (Some(3600), HOUR),
        (Some(0), 5 * MINUTE),
        (Some(u64::MAX), DAY),
    ] {
        let fixture = Fixture::new();
        let max_age = max_age.map(Duration::from_secs);
        fixture.put(APP, Ok(FetchedDocument { max_age, ..document(APP, &[CALLBACK]) }));
        for (elapsed, fetches) in [(0, 1), (lifetime - 1, 1), (1, 2)] {
            fixture.advance(elapsed);
            fixture.access().consent(&authorize_request(APP)).unwrap();
            assert_eq!(fixture.fetches(), fetches, "{max_age:?} {elapsed}");
        }
    }
}

#[test]
fn a_failed_fetch_is_explained_and_cached_for_a_minute() {
    let fixture = Fixture::new();
    let other = document("https://other.example/client.json", &[CALLBACK]);
    for (n, (answer, expected)) in [
        (Err(NetError::NotPublic), "no public address"),
        (Err(NetError::NameNotFound("x".into())), "no public address"),
        (Err(NetError::Status(403)), "brain clients register"),
        (Err(NetError::Status(302)), "does not follow"),
        (Err(NetError::Timeout(5)), "5 seconds"),
        (Ok(other), "another client"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("https://app{n}.example/client.json");
        fixture.put(&id, answer);
        assert!(refusal(&fixture, &authorize_request(&id)).contains(expected), "{expected}");
        fixture.put(&id, Ok(document(&id, &[CALLBACK])));
        assert!(refusal(&fixture, &authorize_request(&id)).contains(expected), "{expected}, again");
        assert_eq!(fixture.fetches(), n + 1);
    }
    fixture.advance(MINUTE);
    assert!(
        fixture.access().consent(&authorize_request("https://app0.example/client.json")).is_ok()
    );
}

#[test]
fn fetches_are_limited_by_host_and_in_total() {
    let fixture = Fixture::new();
    let client_id = |host: usize, n: usize| format!("https://host{host}.example/{n}");
    for n in 0..40 {
        let text = refusal(&fixture, &authorize_request(&client_id(0, n)));
        assert_eq!(text.contains("try again in a minute"), n >= 5, "{n}: {text}");
    }
    assert_eq!(fixture.fetches(), 5, "at most 5 fetches per host");
    for host in 1..40 {
        refusal(&fixture, &authorize_request(&client_id(host, 0)));
    }
    assert_eq!(fixture.fetches(), 20, "at most 20 fetches in total");
    // Built-in copies and cached documents need no fetch.
    let claude = "https://claude.ai/oauth/claude-code-client-metadata";
    let local = AuthorizeRequest {
        redirect_uri: Some("http://localhost:1234/callback".into()),
        ..authorize_request(claude)
    };
    assert!(fixture.access().consent(&local).is_ok());
    fixture.advance(MINUTE);
    refusal(&fixture, &authorize_request(&client_id(99, 0)));
    assert_eq!(fixture.fetches(), 21);
}

#[test]
fn an_invalid_request_causes_no_fetch() {
    let fixture = Fixture::new();
    for id in
        ["https://app.example", "https://app.example/", "brain_cl_nobody", "ftp://app.example/x"]
    {
        assert_eq!(
            shown_error(fixture.access().consent(&authorize_request(id))),
            OAuthError::InvalidClient,
            "{id}"
        );
    }
    let plain =
        AuthorizeRequest { code_challenge_method: Some("plain".into()), ..authorize_request(APP) };
    assert_eq!(shown_error(fixture.access().consent(&plain)), OAuthError::InvalidRequest);
    assert_eq!(fixture.fetches(), 0);
}

#[test]
fn errors_are_not_sent_to_an_address_from_a_document() {
    let fixture = Fixture::new();
    fixture.put(APP, Ok(document(APP, &[CALLBACK])));
    let wrong = AuthorizeRequest { scope: Some("admin".into()), ..authorize_request(APP) };
    assert_eq!(shown_error(fixture.access().consent(&wrong)), OAuthError::InvalidScope);
    fixture.consent_and_redeem(&Credentials { client_id: APP.into(), secret: None });
    assert_eq!(
        shown_error(fixture.access().consent(&wrong)),
        OAuthError::InvalidScope,
        "a consent does not make the client trusted"
    );
}

#[test]
fn fetching_can_be_disabled() {
    let mut fixture = Fixture::new();
    fixture.put(APP, Ok(document(APP, &[CALLBACK])));
    fixture.consent_and_redeem(&Credentials { client_id: APP.into(), secret: None });
    fixture.settings.fetch_client_documents = false;
    fixture.reopen();
    let fetches = fixture.fetches();
    let other = "https://other.example/client.json";
    fixture.put(other, Ok(document(other, &[CALLBACK])));
    assert!(refusal(&fixture, &authorize_request(other)).contains("http.client_documents"));
    assert!(
        fixture.access().consent(&authorize_request(APP)).is_ok(),
        "a client with a consent needs no document"
    );
    let claude = "https://claude.ai/oauth/mcp-oauth-client-metadata";
    let callback = "https://claude.ai/api/mcp/auth_callback";
    let built_in =
        AuthorizeRequest { redirect_uri: Some(callback.into()), ..authorize_request(claude) };
    assert_eq!(
        fixture.access().consent(&built_in).unwrap().client_host.as_deref(),
        Some("claude.ai")
    );
    assert_eq!(fixture.fetches(), fetches);
}
