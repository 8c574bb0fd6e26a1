//! Tests of the reasons, messages and hints of refused requests.

use brain_net::Error as NetError;

use super::*;
use crate::WINDOW_SECONDS;

#[test]
#[allow(clippy::too_many_lines)]
fn every_refusal_has_a_reason_and_a_hint() {
    let limited = FaultReason::RateLimited(NOW + WINDOW_SECONDS);
    let blank = |status: u16, title: &str| {
        json!({"title": title, "detail": title, "type": "about:blank", "status": status})
            .to_string()
    };
    let problem = |kind: &str, fields: Value| {
        let mut body = json!({"type": format!("https://api.x.com/2/problems/{kind}")});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body.to_string()
    };
    for (status, body, reason, message, hint) in [
        (
            400,
            json!({
                "errors": [{"parameters": {"query": ["x"]}, "message": "missing an operator"}],
                "title": "Invalid Request",
                "detail": "One or more parameters to your request was invalid.",
                "type": "https://api.twitter.com/2/problems/invalid-request",
            })
            .to_string(),
            FaultReason::InvalidRequest,
            "Invalid Request: missing an operator",
            "collector.searches",
        ),
        (
            401,
            blank(401, "Unauthorized"),
            FaultReason::Unauthorized,
            "HTTP 401: Unauthorized",
            "collector setup",
        ),
        (
            402,
            problem(
                "credits-depleted",
                json!({
                    "detail": "credits depleted",
                    "status": 402,
                    "title": "Payment Required",
                }),
            ),
            FaultReason::PaymentRequired,
            "Payment Required: credits depleted",
            "add credits",
        ),
        (
            402,
            problem(
                "credits",
                json!({
                    "account_id": 1_900_000_000_000_000_001_u64,
                    "title": "CreditsDepleted",
                    "detail": concat!(
                        "Your enrolled account [1900000000000000001] ",
                        "does not have any credits"
                    ),
                }),
            ),
            FaultReason::PaymentRequired,
            "[1900000000000000001]",
            "add credits",
        ),
        (
            402,
            String::new(),
            FaultReason::PaymentRequired,
            "HTTP 402: no reason given",
            "add credits",
        ),
        (
            403,
            problem(
                "unsupported-authentication",
                json!({
                    "title": "Unsupported Authentication",
                    "detail": "Application-Only is forbidden",
                }),
            ),
            FaultReason::Forbidden,
            "Application-Only",
            "user context",
        ),
        (
            403,
            problem(
                "client-forbidden",
                json!({
                    "title": "Client Forbidden",
                    "reason": "client-not-enrolled",
                    "registration_url": "https://developer.x.com/apps",
                }),
            ),
            FaultReason::Forbidden,
            "Client Forbidden",
            "https://developer.x.com/apps",
        ),
        (
            403,
            problem("credits", json!({"title": "SpendCapReached", "reset_date": "2026-12-01"})),
            FaultReason::Forbidden,
            "SpendCapReached",
            "until 2026-12-01",
        ),
        (
            403,
            blank(403, "Forbidden"),
            FaultReason::Forbidden,
            "HTTP 403: Forbidden",
            "access level",
        ),
        (404, String::new(), FaultReason::NotFound, "HTTP 404", "collector.user_id"),
        (
            409,
            problem("conflict", json!({"title": "x"})),
            FaultReason::InvalidRequest,
            "HTTP 409: x",
            "check",
        ),
        (429, blank(429, "Too Many Requests"), limited, "Too Many Requests", "60m"),
        (
            429,
            json!({"errors": [{"code": 88, "message": "Rate limit exceeded"}]}).to_string(),
            limited,
            "Rate limit exceeded",
            "60m",
        ),
        (429, String::new(), limited, "HTTP 429", "60m"),
        (
            429,
            problem(
                "usage-capped",
                json!({"title": "UsageCapExceeded", "period": "Monthly", "scope": "Product"}),
            ),
            FaultReason::UsageCapped,
            "UsageCapExceeded",
            "(Monthly)",
        ),
        (
            429,
            problem(
                "streaming-connection",
                json!({"title": "ConnectionException", "connection_issue": "TooManyConnections"}),
            ),
            FaultReason::TooManyConnections,
            "ConnectionException",
            "another connection",
        ),
        (
            500,
            blank(500, "Internal Server Error"),
            FaultReason::ServerError,
            "Internal Server Error",
            "next run",
        ),
        (
            503,
            "<html>\u{1b}[2J over capacity</html>".into(),
            FaultReason::ServerError,
            "HTTP 503: no reason given",
            "next run",
        ),
        (301, String::new(), FaultReason::Unreadable, "HTTP 301", "redirects"),
    ] {
        let http_client = always(status, &[], body.clone());
        let fault = with_platform(&http_client, |platform| {
            platform.timeline(&user(), Expansions::default(), None)
        })
        .unwrap_err();
        assert_eq!(fault.reason, reason, "{status} {body}");
        assert!(fault.message.contains(message), "{status}: {}", fault.message);
        assert!(fault.hint.to_string().contains(hint), "{status} {message}: {}", fault.hint);
        assert_eq!(fault.reason.ends_the_run(), status == 401 || status == 402);
    }
}

#[test]
fn messages_are_one_short_line_without_the_token() {
    let long = format!("one\r\ntwo\u{2028}three {TOKEN} \u{1b}[2J{}", "x".repeat(5000));
    let body =
        json!({"title": long, "detail": long, "type": "about:blank", "registration_url": long})
            .to_string();
    for status in [400, 401, 403, 429, 500] {
        let fault = with_platform(&always(status, &[], body.clone()), me).unwrap_err();
        let text = format!("{} {} {}", fault.message, fault.hint, fault.problem);
        assert!(
            text.chars().count() < 800 && !text.contains(TOKEN) && !text.contains(char::is_control),
            "{text}"
        );
    }
    let http_client = FakeClient::new(|_| Err(NetError::ConnectionRefused));
    let fault = with_platform(&http_client, me).unwrap_err();
    assert_eq!(fault.reason, FaultReason::Unreachable);
    assert!(
        fault.message.starts_with("platform.test: ")
            && fault.hint.to_string().contains("collector.platform_api")
    );
    assert_eq!(
        with_platform(&FakeClient::new(|_| Err(NetError::TooLarge(9))), me).unwrap_err().reason,
        FaultReason::Unreadable
    );
}
