//! Explains failed calls and unexpected answers, with the most common causes. No I/O.

use super::{Failed, Target};
use brain_net::{Error as NetError, HttpResponse, TlsError};

/// Cuts remote text to `max` characters on one line, without control or bidirectional characters.
pub(super) fn shown(text: &str, most: usize) -> String {
    let harmless = |c: char| match c {
        _ if c.is_whitespace() => ' ',
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{FFFD}',
        _ if c.is_control() => '\u{FFFD}',
        _ => c,
    };
    let mut out: String = text.trim().chars().take(most).map(harmless).collect();
    if text.trim().chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

/// Removes the secret from an answer. Some servers echo requests, and reports are shared.
pub(super) fn without(mut answer: HttpResponse, secret: &str) -> HttpResponse {
    const HIDDEN: &str = "[secret]";
    // Shorter values are not secrets and would match anywhere.
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

/// Explains a call without an answer.
pub(super) fn troubled(target: &Target<'_>, trouble: &NetError) -> Failed {
    let hint = match trouble {
        NetError::NameNotFound(_) => {
            "look at the spelling; if it is right, the name's DNS record is missing, or the tunnel that makes it does not run"
        }
        NetError::ConnectionRefused if target.is_local() => {
            "`brain status` shows where this brain serves HTTP; a port of your own is set by http.local and http.public"
        }
        NetError::ConnectionRefused => {
            "start the tunnel, or what else serves that host; look at the port"
        }
        NetError::ConnectTimeout | NetError::Unreachable(_) => {
            "a firewall is on the way, or the host is down; hosted clients come from the internet, so it must be reachable from there"
        }
        NetError::Tls(TlsError::Absent | TlsError::Closed) => {
            "type http:// instead of https://, or let the tunnel serve https"
        }
        NetError::Tls(TlsError::Expired) => {
            "renew the certificate; if it is new, look at this machine's clock"
        }
        NetError::Tls(TlsError::NotYetValid) => "look at this machine's clock",
        NetError::Tls(TlsError::WrongName) => {
            "type the name that the certificate is for, or get one for this name"
        }
        NetError::Tls(TlsError::UnknownIssuer) => {
            "clients trust public certificate authorities only: use a tunnel or a server with such a certificate"
        }
        NetError::Tls(TlsError::Other(_)) => {
            "let another server or tunnel do TLS, at least TLS 1.2"
        }
        NetError::NotPublic | NetError::InvalidAddress(_) => {
            "the endpoint names an address that is not public: behind a tunnel set http.base_url to the public address"
        }
        NetError::Timeout(_) => {
            "clients give up after 10 seconds: look at the load of the host, and at what stands between"
        }
        NetError::TooLarge(_)
        | NetError::ConnectionBroken(_)
        | NetError::Status(_)
        | NetError::NotJson => {
            "something else than this protocol is served there: look at the port and the path"
        }
        NetError::Setup(_) => {
            "this machine cannot make the call: look at its certificates (ca-certificates) and its open files"
        }
    };
    Failed { message: trouble.to_string(), hint: hint.into() }
}

/// Explains an answer that does not come from a tool endpoint.
pub(super) fn foreign(target: &Target<'_>, answer: &HttpResponse) -> Option<Failed> {
    let says = |message: String, hint: String| Some(Failed { message, hint });
    let status = answer.status;
    if (300..400).contains(&status) {
        let to = answer.header("location").unwrap_or_default();
        // Without the query, which may contain secrets.
        let to = shown(to.split(['?', '#']).next().unwrap_or_default(), 120);
        let login = ["login", "signin", "sign-in", "access.com", "oauth", "sso"]
            .iter()
            .any(|word| to.contains(word));
        let hint = if login {
            "a login page stands before the endpoint, which no client can get through: let /mcp and /.well-known pass without it (at \
             Cloudflare Access a bypass policy); brain asks for tokens itself"
                .to_owned()
        } else {
            "clients do not follow: type the address that it leads to".to_owned()
        };
        return says(format!("it answers {status} and leads to {to}"), hint);
    }
    if let Some(code) = answer.header("ngrok-error-code") {
        let hint = "the tunnel answers itself: start its agent, and let it forward to 127.0.0.1:8765 (http.public)";
        return says(format!("the tunnel answers {status} with {}", shown(code, 40)), hint.into());
    }
    if matches!(status, 502..=504 | 520..=530) {
        let hint = if target.is_local() {
            "the server at this port has nobody behind it: `brain status` shows where this brain serves HTTP"
        } else {
            "the tunnel runs, and nobody is behind it: is the daemon up, and does the tunnel forward to 127.0.0.1:8765 (http.public)?"
        };
        return says(format!("it answers {status}{}", title(answer)), hint.into());
    }
    let html = answer.kind() == "text/html" || answer.body.trim_ascii_start().starts_with(b"<");
    if html {
        let hint = "that is a page for people, of the tunnel or of another server: look where the tunnel forwards to (127.0.0.1:8765), \
                    and switch its warning or login page off";
        return says(
            format!("it answers {status} with an HTML page{}", title(answer)),
            hint.into(),
        );
    }
    None
}

/// Explains any other unexpected answer.
pub(super) fn unexpected(answer: &HttpResponse, hint: &str) -> Failed {
    let body = String::from_utf8_lossy(&answer.body);
    let said = reason(&body).unwrap_or_else(|| shown(&body, 120));
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Failed { message: format!("it answers {}{said}", answer.status), hint: hint.into() }
}

/// Returns code and message of a JSON error.
pub(super) fn reason(body: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    let error = &value["error"];
    let code = error.as_str().or(error["message"].as_str())?;
    let words =
        value["error_description"].as_str().or(value["message"].as_str()).unwrap_or_default();
    let both = if words.is_empty() { code.to_owned() } else { format!("{code}: {words}") };
    Some(shown(&both, 160))
}

/// Returns the code of a JSON error.
pub(super) fn code(answer: &HttpResponse) -> String {
    let value: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    value["error"].as_str().unwrap_or_default().to_owned()
}

/// Returns the title of an HTML page.
fn title(answer: &HttpResponse) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let lower = text.to_ascii_lowercase();
    let found = lower.find("<title").and_then(|at| {
        let begin = at + lower[at..].find('>')? + 1;
        let end = begin + lower[begin..].find("</title")?;
        text.get(begin..end)
    });
    let found = found.map(|title| shown(title, 60)).filter(|title| !title.is_empty());
    found.map_or_else(String::new, |title| format!(" (\"{title}\")"))
}

/// Returns a parameter of the Bearer challenge in `WWW-Authenticate` (RFC 9110 section 11.6.1).
/// `None` without such a challenge; empty without the parameter.
pub(super) fn challenged(answer: &HttpResponse, parameter: &str) -> Option<String> {
    let values = answer.headers.iter().filter(|(name, _)| name == "www-authenticate");
    values.filter_map(|(_, value)| bearer(value, parameter)).next()
}

fn bearer(value: &str, parameter: &str) -> Option<String> {
    // Another scheme may precede it in the same value.
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

/// Splits a quoted text, after its first quote, from the rest.
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
    fn the_challenge_is_found_wherever_it_stands() {
        let found = |value: &str| bearer(value, "resource_metadata");
        let url = "https://b.example/.well-known/oauth-protected-resource/mcp";
        for value in [
            format!("Bearer resource_metadata=\"{url}\", scope=\"read write\""),
            format!(
                "bearer error=\"invalid_token\", error_description=\"a \\\"b\\\", c=d\", Resource_Metadata=\"{url}\""
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
    fn a_secret_that_comes_back_is_not_told() {
        let said = |body: &[u8]| HttpResponse {
            status: 401,
            headers: vec![("www-authenticate".into(), "Bearer error=\"brain_pt_x\"".into())],
            body: body.to_vec(),
            from: None,
        };
        for body in [&b"no: brain_pt_x"[..], b"\xff brain_pt_x"] {
            let told = without(said(body), "brain_pt_x");
            assert_eq!(told.headers[0].1, "Bearer error=\"[secret]\"");
            assert!(String::from_utf8_lossy(&told.body).ends_with(" [secret]"), "{told:?}");
        }
        assert_eq!(without(said(b"plain"), "p").body, b"plain");
    }

    #[test]
    fn text_of_the_other_side_obeys() {
        assert_eq!(shown(" a\u{1b}[2J\nb\u{202e} ", 80), "a\u{FFFD}[2J b\u{FFFD}");
        assert_eq!(shown("12345", 3), "123…");
        let body = r#"{"error":"forbidden_host","message":"not\u001b here"}"#;
        assert_eq!(reason(body).as_deref(), Some("forbidden_host: not\u{FFFD} here"));
        assert_eq!(reason("<html>"), None);
        assert_eq!(
            reason(r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}"#).as_deref(),
            Some("no")
        );
    }
}
