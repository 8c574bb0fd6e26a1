//! Guessed secrets and many requests: the limits on failed attempts.

use serde_json::json;

use crate::web::{HttpRequest, Site, text};

/// Starts a site behind a tunnel. The tunnel names the sender of each request in a header.
fn behind_a_tunnel() -> Site {
    Site::with(&[("BRAIN_HTTP_BASE_URL", "https://brain.example.org")])
}

#[test]
fn wrong_secrets_are_limited_and_the_right_one_is_not() {
    let site = behind_a_tunnel();
    let client = site.register(&json!({ "name": "machine", "scope": "read" }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    let grant = ("grant_type", "client_credentials");
    let right =
        HttpRequest::form("/token", &[grant, ("client_id", &id), ("client_secret", &secret)]);
    let wrong =
        HttpRequest::form("/token", &[grant, ("client_id", &id), ("client_secret", "guess")]);
    let other = site.register(&json!({ "name": "another", "scope": "read" }));
    let (other_id, other_secret) = (text(&other, "client_id"), text(&other, "client_secret"));
    let other = HttpRequest::form(
        "/token",
        &[grant, ("client_id", &other_id), ("client_secret", &other_secret)],
    );
    // Behind the tunnel, only the last hop of the header counts: the attacker controls the others.
    let send_from = |request: &HttpRequest, hop: &str| {
        site.public(&request.clone().header("X-Forwarded-For", hop))
    };
    for at in 0..50 {
        send_from(&right, "192.0.2.1").expect(200);
        send_from(&HttpRequest::form("/token", &[("grant_type", "x")]), "192.0.2.1")
            .expect_refusal(400, "unsupported_grant_type");
        send_from(&wrong, &format!("10.0.0.{at}, 192.0.2.1")).expect_refusal(401, "invalid_client");
    }
    let limited = send_from(&wrong, "10.0.0.99, 192.0.2.1").expect_refusal(429, "rate_limited");
    let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=900).contains(&wait), "{wait}");
    let revocation =
        |secret| [("token", "brain_rt_x"), ("client_id", id.as_str()), ("client_secret", secret)];
    send_from(&HttpRequest::form("/revoke", &revocation("guess")), "192.0.2.1")
        .expect_refusal(429, "rate_limited");
    send_from(&HttpRequest::form("/revoke", &revocation(&secret)), "192.0.2.1").expect(200);
    send_from(&right, "192.0.2.1").expect(200);
    send_from(&other, "192.0.2.1").expect(200);
    send_from(&wrong, "192.0.2.2").expect_refusal(401, "invalid_client");
    site.public(&wrong).expect_refusal(401, "invalid_client");
    // The local listener ignores the header.
    site.local(&wrong.header("X-Forwarded-For", "192.0.2.1")).expect_refusal(401, "invalid_client");
}

#[test]
fn guesses_at_many_clients_are_limited_to_five_hundred() {
    let site = behind_a_tunnel();
    let send_from = |client: &str, hop: &str| {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", client),
            ("client_secret", "guess"),
        ];
        site.public(&HttpRequest::form("/token", &form).header("X-Forwarded-For", hop))
    };
    for at in 0..500 {
        send_from(&format!("client-{at}"), "192.0.2.1").expect_refusal(401, "invalid_client");
    }
    send_from("client-500", "192.0.2.1").expect_refusal(429, "rate_limited");
    send_from("client-500", "192.0.2.2").expect_refusal(401, "invalid_client");
}

#[test]
fn without_a_tunnel_the_forwarding_header_is_ignored() {
    let site = Site::new();
    let form =
        [("grant_type", "client_credentials"), ("client_id", "x"), ("client_secret", "guess")];
    let send_from = |at: u8| {
        site.public(
            &HttpRequest::form("/token", &form).header("X-Forwarded-For", &format!("192.0.2.{at}")),
        )
    };
    for at in 0..50 {
        send_from(at).expect_refusal(401, "invalid_client");
    }
    send_from(50).expect_refusal(429, "rate_limited");
}

#[test]
fn many_concurrent_token_requests_succeed() {
    let site = Site::new();
    let client = site.register(&json!({ "name": "machine", "scope": "read" }));
    let (id, secret) = (text(&client, "client_id"), text(&client, "client_secret"));
    let form =
        [("grant_type", "client_credentials"), ("client_id", &id), ("client_secret", &secret)];
    let request = HttpRequest::form("/token", &form);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..150).map(|_| scope.spawn(|| site.public(&request))).collect();
        for thread in threads {
            thread.join().unwrap().expect(200);
        }
    });
}
