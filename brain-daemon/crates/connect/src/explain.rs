//! Explains failed calls and unexpected answers, with the most common causes. No I/O.

use super::{StepFailure, Target};
use brain_net::{Error as NetError, HttpResponse, TlsError};
use brain_protocol::{Command, Hint, hint};

/// Returns remote text on one line, cut to `max_chars` characters and `…`. Replaces control and
/// invisible formatting characters by U+FFFD.
pub(super) fn clean_text(text: &str, max_chars: usize) -> String {
    let replace_harmful = |c: char| match c {
        _ if c.is_whitespace() => ' ',
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{FFFD}',
        _ if c.is_control() => '\u{FFFD}',
        _ => c,
    };
    let mut out: String = text.trim().chars().take(max_chars).map(replace_harmful).collect();
    if text.trim().chars().nth(max_chars).is_some() {
        out.push('…');
    }
    out
}

/// Replaces `secret` in an answer. Some servers echo requests, and users share reports.
pub(super) fn redact_secret(mut answer: HttpResponse, secret: &str) -> HttpResponse {
    const HIDDEN: &str = "[secret]";
    // A shorter value is not a secret and would match anywhere.
    if secret.len() < 8 {
        return answer;
    }
    for (_, value) in &mut answer.headers {
        if value.contains(secret) {
            *value = value.replace(secret, HIDDEN);
        }
    }
    let text = String::from_utf8_lossy(&answer.body);
    if text.contains(secret) {
        answer.body = text.replace(secret, HIDDEN).into_bytes();
    }
    answer
}

/// Explains a network error.
pub(super) fn explain_net_error(target: &Target<'_>, error: &NetError) -> StepFailure {
    let hint: Hint = match error {
        NetError::NameNotFound(_) => {
            "check the spelling; if it is right, the DNS record is missing, or the tunnel does not \
             run"
            .into()
        }
        NetError::ConnectionRefused if target.is_local() => {
            hint!(
                "{} shows where this brain serves HTTP; http.local and http.public set the ports",
                Command::Status
            )
        }
        NetError::ConnectionRefused => {
            "start the tunnel or server of that host, and check the port".into()
        }
        NetError::ConnectTimeout | NetError::Unreachable(_) => {
            "a firewall blocks it, or the host is down; hosted clients connect from the internet"
                .into()
        }
        NetError::Tls(TlsError::Absent | TlsError::Closed) => {
            "type http:// instead of https://, or let the tunnel serve https".into()
        }
        NetError::Tls(TlsError::Expired) => {
            "renew the certificate; if it is new, check this machine's clock".into()
        }
        NetError::Tls(TlsError::NotYetValid) => "check this machine's clock".into(),
        NetError::Tls(TlsError::WrongName) => {
            "type the name that the certificate is for, or get one for this name".into()
        }
        NetError::Tls(TlsError::UnknownIssuer) => {
            "clients trust public certificate authorities only: use a tunnel or a server with such \
             a certificate"
                .into()
        }
        NetError::Tls(TlsError::Other(_)) => {
            "let another server or tunnel do TLS, at least TLS 1.2".into()
        }
        NetError::NotPublic | NetError::InvalidAddress(_) => {
            "the endpoint names an address that is not public: behind a tunnel set http.base_url \
             to the public address"
                .into()
        }
        NetError::Timeout(_) => {
            "clients give up after 10 seconds: check the load of the host and of proxies in \
             front of it"
                .into()
        }
        NetError::TooLarge(_)
        | NetError::ConnectionBroken(_)
        | NetError::Status(_)
        | NetError::NotJson => {
            "another protocol is served there: check the port and the path".into()
        }
        NetError::Setup(_) => {
            "this machine cannot make the call: check its certificates (ca-certificates) and the \
             limit of open files"
                .into()
        }
    };
    StepFailure::new(error.to_string(), hint)
}

/// Explains an answer that does not come from an MCP endpoint: a redirect, a tunnel's error, or an
/// HTML page. `None` for other answers.
pub(super) fn explain_foreign_answer(
    target: &Target<'_>,
    answer: &HttpResponse,
) -> Option<StepFailure> {
    let status = answer.status;
    if (300..400).contains(&status) {
        let location = answer.header("location").unwrap_or_default();
        // Without the query, which may contain secrets.
        let location = clean_text(location.split(['?', '#']).next().unwrap_or_default(), 120);
        let is_login = ["login", "signin", "sign-in", "access.com", "oauth", "sso"]
            .iter()
            .any(|word| location.contains(word));
        let hint = if is_login {
            "a login page blocks all clients: let /mcp and /.well-known pass without it (in \
             Cloudflare Access, by a bypass policy); brain itself requires tokens"
        } else {
            "clients do not follow redirects: use the address that it redirects to"
        };
        return Some(StepFailure::new(
            format!("it answers {status} and redirects to {location}"),
            hint,
        ));
    }
    if let Some(code) = answer.header("ngrok-error-code") {
        let hint = "the answer is from the tunnel: start its agent, and let it forward to \
                    127.0.0.1:8765 (http.public)";
        let code = clean_text(code, 40);
        return Some(StepFailure::new(format!("the tunnel answers {status} with {code}"), hint));
    }
    if matches!(status, 502..=504 | 520..=530) {
        let hint = if target.is_local() {
            hint!(
                "the server at this port reaches no brain: {} shows where this brain serves HTTP",
                Command::Status
            )
        } else {
            "the tunnel reaches no brain: is the daemon up, and does the tunnel forward to \
             127.0.0.1:8765 (http.public)?"
                .into()
        };
        return Some(StepFailure::new(format!("it answers {status}{}", html_title(answer)), hint));
    }
    let is_html =
        answer.media_type() == "text/html" || answer.body.trim_ascii_start().starts_with(b"<");
    if is_html {
        let hint = "this is a web page of the tunnel or of another server: check that the tunnel \
                    forwards to 127.0.0.1:8765, and switch off its warning or login page";
        let title = html_title(answer);
        return Some(StepFailure::new(
            format!("it answers {status} with an HTML page{title}"),
            hint,
        ));
    }
    None
}

/// Describes an unexpected answer by its status and error text, with `hint` as the remedy.
pub(super) fn explain_unexpected_answer(
    answer: &HttpResponse,
    hint: impl Into<Hint>,
) -> StepFailure {
    let body = String::from_utf8_lossy(&answer.body);
    let detail = json_error_text(&body).unwrap_or_else(|| clean_text(&body, 120));
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    StepFailure::new(format!("it answers {}{detail}", answer.status), hint)
}

/// Returns code and message of a JSON error, cleaned, in one text.
pub(super) fn json_error_text(body: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    let error = &value["error"];
    let code = error.as_str().or(error["message"].as_str())?;
    let message =
        value["error_description"].as_str().or(value["message"].as_str()).unwrap_or_default();
    let text = if message.is_empty() { code.to_owned() } else { format!("{code}: {message}") };
    Some(clean_text(&text, 160))
}

/// Returns the code of a JSON error, or an empty text. The code is not cleaned.
pub(super) fn json_error_code(answer: &HttpResponse) -> String {
    let value: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    value["error"].as_str().unwrap_or_default().to_owned()
}

/// Returns the title of an HTML page in parentheses, or an empty text.
fn html_title(answer: &HttpResponse) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let lower = text.to_ascii_lowercase();
    let found = lower.find("<title").and_then(|at| {
        let begin = at + lower[at..].find('>')? + 1;
        let end = begin + lower[begin..].find("</title")?;
        text.get(begin..end)
    });
    let found = found.map(|title| clean_text(title, 60)).filter(|title| !title.is_empty());
    found.map_or_else(String::new, |title| format!(" (\"{title}\")"))
}

/// Returns a parameter of the Bearer challenge in `WWW-Authenticate` (RFC 9110 section 11.6.1).
/// `None` without such a challenge; empty without the parameter.
pub(super) fn challenge_parameter(answer: &HttpResponse, parameter: &str) -> Option<String> {
    let values = answer.headers.iter().filter(|(name, _)| name == "www-authenticate");
    values.filter_map(|(_, value)| bearer_parameter(value, parameter)).next()
}

/// Returns a parameter of the Bearer challenge in one value of the header.
fn bearer_parameter(value: &str, parameter: &str) -> Option<String> {
    // The challenge of another scheme may precede the Bearer challenge in the same value.
    let at = value.to_ascii_lowercase().match_indices("bearer").map(|(at, _)| at).find(|&at| {
        let before = value[..at].trim_end();
        let after = value[at + 6..].chars().next();
        (before.is_empty() || before.ends_with(',')) && after.is_none_or(|c| c == ' ' || c == ',')
    })?;
    let mut rest = value[at + 6..].trim_start();
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']);
        let (text, left) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => quoted_text(quoted),
            None => {
                let end = after.find([',', ' ']).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
        };
        if name.eq_ignore_ascii_case(parameter) {
            return Some(text);
        }
        rest = left;
    }
    Some(String::new())
}

/// Reads a quoted text from after its opening quote. Returns it without escapes, and the rest.
fn quoted_text(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (out, &text[at + 1..]),
            '\\' => out.extend(chars.next().map(|(_, c)| c)),
            c => out.push(c),
        }
    }
    (out, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_parameter_is_found_anywhere_in_the_value() {
        let found = |value: &str| bearer_parameter(value, "resource_metadata");
        let url = "https://b.example/.well-known/oauth-protected-resource/mcp";
        for value in [
            format!("Bearer resource_metadata=\"{url}\", scope=\"read write\""),
            format!(
                "bearer error=\"invalid_token\", error_description=\"a \\\"b\\\", c=d\", \
                    Resource_Metadata=\"{url}\""
            ),
            format!("Basic realm=\"x\", Bearer scope=read, resource_metadata={url}"),
        ] {
            assert_eq!(found(&value).as_deref(), Some(url), "{value}");
        }
        assert_eq!(found("Bearer").as_deref(), Some(""));
        assert_eq!(found("Bearer realm=\"x\"").as_deref(), Some(""));
        assert_eq!(found("Basic realm=\"Bearer resource_metadata=x\""), None);
        assert_eq!(found("BearerX a=b"), None);
    }

    #[test]
    fn echoed_secret_is_redacted() {
        let answer = |body: &[u8]| HttpResponse {
            status: 401,
            headers: vec![("www-authenticate".into(), "Bearer error=\"brain_pt_x\"".into())],
            body: body.to_vec(),
            server_address: None,
        };
        for body in [&b"no: brain_pt_x"[..], b"\xff brain_pt_x"] {
            let redacted = redact_secret(answer(body), "brain_pt_x");
            assert_eq!(redacted.headers[0].1, "Bearer error=\"[secret]\"");
            assert!(String::from_utf8_lossy(&redacted.body).ends_with(" [secret]"), "{redacted:?}");
        }
        assert_eq!(redact_secret(answer(b"plain"), "p").body, b"plain");
    }

    #[test]
    fn remote_text_is_cleaned() {
        assert_eq!(clean_text(" a\u{1b}[2J\nb\u{202e} ", 80), "a\u{FFFD}[2J b\u{FFFD}");
        assert_eq!(clean_text("12345", 3), "123…");
        let body = r#"{"error":"forbidden_host","message":"not\u001b here"}"#;
        assert_eq!(json_error_text(body).as_deref(), Some("forbidden_host: not\u{FFFD} here"));
        assert_eq!(json_error_text("<html>"), None);
        assert_eq!(
            json_error_text(r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}"#)
                .as_deref(),
            Some("no")
        );
    }
}
