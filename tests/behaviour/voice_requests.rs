//! `/voice`: which requests are accepted, and which are refused before they have an effect.

use std::net::SocketAddr;

use brain_protocol::Secret;
use brain_tests::http::{self, Answer};
use brain_tests::telephony::{
    Call, KNOWN_NUMBER, PUBLIC_URL, TOKEN, UNKNOWN_NUMBER, VoiceResponse, form_body, post_signed,
    send, sign,
};
use brain_tests::{Daemon, TestHome};
use brain_voice::signature::{Signature, is_valid};
use serde_json::Value;

/// Requests that the provider's library signed, made by `sign_requests.py`.
const SIGNATURES: &str = include_str!("../fixtures/telephony/signatures.json");
const SID: &str = "CA0123456789abcdef0123456789abcdef";
const FORM: [(&str, &str); 3] = [("CallSid", SID), ("From", KNOWN_NUMBER), ("To", "+4930901820")];

/// Returns a home with a configured telephone.
pub(crate) fn home_with_phone() -> TestHome {
    let mut home = TestHome::new();
    for (name, value) in [
        ("BRAIN_HTTP_BASE_URL", PUBLIC_URL),
        ("BRAIN_HTTP_PUBLIC", "127.0.0.1:0"),
        ("BRAIN_VOICE_ENABLED", "true"),
        ("BRAIN_VOICE_CALLERS", "[\"+49 151 12345678\"]"),
        ("BRAIN_TELEPHONY_AUTH_TOKEN", TOKEN),
    ] {
        home.env.push((name.into(), value.into()));
    }
    home
}

/// Returns a home with a configured telephone, its daemon, and its public listener's address.
pub(crate) fn start_with_phone() -> (TestHome, Daemon, SocketAddr) {
    let home = home_with_phone();
    let daemon = home.daemon();
    let public = home.http_public();
    (home, daemon, public)
}

/// Returns the number of pages.
fn page_count(home: &TestHome) -> usize {
    home.json(["list"])["pages"].as_array().unwrap().len()
}

#[test]
fn every_test_vector_of_the_providers_library_passes() {
    let fixture: Value = serde_json::from_str(SIGNATURES).unwrap();
    let requests = fixture["requests"].as_array().unwrap();
    assert!(requests.len() >= 10);
    for request in requests {
        let text = |name: &str| request[name].as_str();
        let urls = |name: &str| -> Vec<&str> {
            request[name].as_array().unwrap().iter().filter_map(Value::as_str).collect()
        };
        let form = form_of(&request["params"]);
        let signature =
            Signature::parse(text("signature").unwrap(), text("settings_header")).unwrap();
        let (token, body) = (text("token").unwrap(), text("body").map(str::as_bytes));
        let is_signed = |token: &str, url: &str, form: &[(String, String)], body: Option<&[u8]>| {
            is_valid(&Secret::new(token), &signature, url, form, body)
        };
        for url in urls("accepted_urls") {
            assert!(is_signed(token, url, &form, body), "{url}: {request}");
            assert!(!is_signed("another token", url, &form, body), "{url}: {request}");
            let more_fields = [&form[..], &[("More".into(), "x".into())]].concat();
            assert!(!is_signed(token, url, &more_fields, body), "{url}: {request}");
            assert!(!is_signed(token, url, &form, Some(b"another body")), "{url}: {request}");
        }
        for url in urls("refused_urls") {
            assert!(!is_signed(token, url, &form, body), "{url}: {request}");
        }
    }
}

/// Returns the fields of a form in a JSON object. A list has the values of a repeated field.
fn form_of(params: &Value) -> Vec<(String, String)> {
    let mut form = Vec::new();
    for (name, value) in params.as_object().unwrap() {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        form.extend(values.iter().map(|it| (name.clone(), it.as_str().unwrap().to_owned())));
    }
    form
}

#[test]
fn a_signed_call_is_answered_on_both_listeners() {
    let (home, _daemon, public) = start_with_phone();
    for address in [public, home.http_local()] {
        let response = VoiceResponse::read(&send(address, "/voice", &FORM).expect(200));
        assert!(response.gather_action.is_some() && response.redirect.is_some(), "{response:?}");
        let path = format!("/voice?{}", form_body(&FORM));
        let signature = sign(TOKEN, &format!("{PUBLIC_URL}{path}"), &[]);
        let answer = http::call(address, "GET", &path, &[("X-Twilio-Signature", &signature)], b"");
        assert_eq!(VoiceResponse::read(&answer.expect(200)), response);
    }
    let with_port = sign(TOKEN, &format!("{PUBLIC_URL}:443/voice"), &FORM);
    assert_eq!(post_signed(public, "/voice", &FORM, &with_port).status, 200);
}

#[test]
fn an_unsigned_request_is_refused_without_effect() {
    let (home, _daemon, public) = start_with_phone();
    let good = sign(TOKEN, &format!("{PUBLIC_URL}/voice"), &FORM);
    let form = form_body(&FORM);
    let refusal = http::call(public, "POST", "/voice", &[], form.as_bytes()).text().to_owned();
    let assert_refused = |answer: Answer, case: &str| {
        assert_eq!((answer.status, answer.error().as_str()), (403, "invalid_signature"), "{case}");
        assert_eq!(answer.text(), refusal, "{case}: the answer does not reveal the reason");
    };
    for (signature, case) in [
        (sign("another token", &format!("{PUBLIC_URL}/voice"), &FORM), "another token"),
        (sign(TOKEN, &format!("{PUBLIC_URL}/voice/turn"), &FORM), "another path"),
        (sign(TOKEN, "https://evil.example/voice", &FORM), "another host"),
        (sign(TOKEN, "http://brain.example.org/voice", &FORM), "another scheme"),
        (sign(TOKEN, &format!("{PUBLIC_URL}/voice"), &FORM[..2]), "a part of the form"),
        (sign(TOKEN, &format!("http://{public}/voice"), &FORM), "the address behind the tunnel"),
        (good[..20].into(), "a part of the signature"),
        (String::new(), "an empty signature"),
        ("%%%".into(), "no base64"),
    ] {
        assert_refused(post_signed(public, "/voice", &FORM, &signature), case);
    }
    assert_refused(post_signed(public, "/voice?x=1", &FORM, &good), "another query");
    let other_form = [FORM[0], FORM[1], ("To", "+1")];
    assert_refused(post_signed(public, "/voice", &other_form, &good), "another value");
    assert_refused(http::call(public, "POST", "/voice", &[], form.as_bytes()), "no signature");
    let content_type = ("Content-Type", "application/x-www-form-urlencoded");
    let signature = ("X-Twilio-Signature", &good[..]);
    let twice = [content_type, signature, signature];
    assert_refused(http::call(public, "POST", "/voice", &twice, form.as_bytes()), "two signatures");
    // Headers that name another host are ignored.
    let evil = sign(TOKEN, "https://evil.example/voice", &FORM);
    let forwarded = [
        content_type,
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "https"),
        ("X-Original-Host", "evil.example"),
        ("X-Twilio-Signature", &evil),
    ];
    let answer = http::call(public, "POST", "/voice", &forwarded, form.as_bytes());
    assert_refused(answer, "X-Forwarded-Host");
    // A signature of the URL alone does not cover a body that is no form.
    let url_signature = sign(TOKEN, &format!("{PUBLIC_URL}/voice"), &[]);
    let json = [("Content-Type", "application/json"), ("X-Twilio-Signature", &url_signature[..])];
    assert_refused(http::call(public, "POST", "/voice", &json, b"{}"), "an unsigned body");
    let other_host = [content_type, ("Host", "evil.example"), ("X-Twilio-Signature", &evil[..])];
    let answer = http::call(public, "POST", "/voice", &other_host, form.as_bytes()).expect(403);
    assert_eq!(answer.error(), "forbidden_host");
    for path in ["/voice/turn", "/voice/recording", "/voice/transcription", "/voice/status"] {
        assert_refused(post_signed(public, path, &FORM, &good), path);
    }
    assert_eq!(page_count(&home), 0, "nothing was stored");
    // The log warns the owner, whose token or address may be wrong. It warns once, since anybody
    // can send such requests.
    let log = home.log();
    assert_eq!(
        log.matches("an address that begins with https://brain.example.org;").count(),
        1,
        "{log}"
    );
    assert!(!log.contains(TOKEN), "{log}");
    assert_eq!(post_signed(public, "/voice", &FORM, &good).status, 200);
}

#[test]
fn a_json_body_is_accepted_with_its_digest_in_the_signed_url() {
    let (_home, _daemon, public) = start_with_phone();
    let digest = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
    let path = format!("/voice/status?bodySHA256={digest}&CallSid={SID}&CallStatus=completed");
    let signature = sign(TOKEN, &format!("{PUBLIC_URL}{path}"), &[]);
    let headers = [("Content-Type", "application/json"), ("X-Twilio-Signature", &signature[..])];
    assert_eq!(http::call(public, "POST", &path, &headers, br#"{"a":1}"#).status, 200);
    assert_eq!(http::call(public, "POST", &path, &headers, br#"{"a":2}"#).status, 403);
}

#[test]
fn without_a_token_or_an_address_every_call_is_refused() {
    for (missing, remedy) in [
        ("BRAIN_TELEPHONY_AUTH_TOKEN", "secrets/telephony-auth-token"),
        ("BRAIN_HTTP_BASE_URL", "http.base_url"),
    ] {
        let mut home = home_with_phone();
        home.env.retain(|(name, _)| name != missing);
        let _daemon = home.daemon();
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        ];
        for _ in 0..3 {
            let refused = http::call(
                home.http_public(),
                "POST",
                "/voice",
                &headers,
                form_body(&FORM).as_bytes(),
            );
            assert_eq!(
                (refused.status, refused.error().as_str()),
                (503, "not_set_up"),
                "{missing}"
            );
            assert!(
                !refused.text().contains(remedy),
                "callers do not learn the hint for the owner: {}",
                refused.text()
            );
        }
        assert_eq!(home.log().matches(remedy).count(), 1, "{}", home.log());
        assert_eq!(page_count(&home), 0);
    }
}

#[test]
fn a_disabled_telephone_is_not_found() {
    let mut home = home_with_phone();
    home.env.retain(|(name, _)| name != "BRAIN_VOICE_ENABLED");
    let _daemon = home.daemon();
    assert_eq!(send(home.http_public(), "/voice", &FORM).expect(404).error(), "not_found");
}

#[test]
fn bodies_and_methods_have_limits() {
    let (home, _daemon, public) = start_with_phone();
    let long = "x".repeat(70_000);
    let answer = send(public, "/voice", &[("CallSid", SID), ("From", &long)]);
    assert_eq!(answer.status, 413);
    for (method, path) in [("PUT", "/voice"), ("GET", "/voice/turn"), ("DELETE", "/voice/status")] {
        let signature = sign(TOKEN, &format!("{PUBLIC_URL}{path}"), &[]);
        let answer = http::call(public, method, path, &[("X-Twilio-Signature", &signature)], b"");
        assert_eq!(answer.status, 405, "{method} {path}");
    }
    assert_eq!(page_count(&home), 0);
}

#[test]
fn callers_numbers_and_words_are_never_logged() {
    let mut home = home_with_phone();
    home.env.push(("BRAIN_DAEMON_LOG".into(), "debug".into()));
    let _daemon = home.daemon();
    let mut call = Call::from(home.http_public(), KNOWN_NUMBER, SID);
    call.speak("Note the secret word is xylophone");
    call.speak("What is the secret word");
    let mut other =
        Call::from(home.http_public(), UNKNOWN_NUMBER, "CAffffffffffffffffffffffffffffffff");
    other.send_recording("RE0123456789abcdef0123456789abcdef", "7");
    let audit = home.json(["audit"]).to_string();
    let log = home.log();
    for private in ["15112345678", "8005550123", "xylophone", TOKEN] {
        assert!(!log.contains(private), "{private} in the log");
        assert!(!audit.contains(private), "{private} in the audit");
    }
    assert!(log.contains("answered over HTTP"), "the log has the call: {log}");
    assert!(audit.contains("telephone") && audit.contains("POST /voice/turn"), "{audit}");
}
