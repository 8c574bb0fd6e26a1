//! Sets the voice webhook of a telephone number through the provider's API (2010-04-01).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::Secret;
use serde_json::Value;
use url::Url;

use super::Number;
use brain_net::{HttpClient, HttpRequest, HttpResponse, Reason};

/// Maximum length of a provider's message that an error shows, in characters.
const MAX_SHOWN_CHARS: usize = 300;

/// The result of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WebhookUpdate {
    /// The webhook had this address already.
    Unchanged,
    /// The webhook was changed, and the response confirms it.
    Changed {
        /// The former address; empty for none.
        from: String,
    },
}

/// Why the webhook could not be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct WebhookError {
    /// What failed. Never contains the token.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// Updates the number's voice webhook if it differs from `url`, and checks the response.
///
/// # Errors
/// [`WebhookError`] when an id or address is invalid, the number does not use its webhook, or the
/// provider does not answer, refuses, or does not confirm the change.
pub(crate) fn update_webhook(
    net: &dyn HttpClient,
    number: &Number,
    token: &Secret,
    url: &str,
) -> Result<WebhookUpdate, WebhookError> {
    let url_of_number = number_url(number)?;
    let credentials = STANDARD.encode(format!("{}:{}", number.account_sid, token.expose()));
    let authorization = Secret::new(format!("Basic {credentials}"));
    let current = send(net, &url_of_number, &authorization, None)?;
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    if let Some(target) = ["voice_application_sid", "trunk_sid"]
        .into_iter()
        .find(|name| !text(&current, name).is_empty())
    {
        let message = format!(
            "the number is set to {target} {}, so its webhook is not used",
            printable(&text(&current, target))
        );
        let hint = "remove that application or trunk from the number in the provider's console";
        return Err(WebhookError { message, hint: hint.into() });
    }
    let former = text(&current, "voice_url");
    let uses_post =
        current["voice_method"].as_str().is_none_or(|method| method.eq_ignore_ascii_case("POST"));
    if former == url && uses_post {
        return Ok(WebhookUpdate::Unchanged);
    }
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("VoiceUrl", url)
        .append_pair("VoiceMethod", "POST")
        .finish();
    let confirmed = text(&send(net, &url_of_number, &authorization, Some(&form))?, "voice_url");
    if confirmed != url {
        return Err(WebhookError {
            message: format!(
                "the provider accepted the change, but reports that the number leads to {}",
                printable(&confirmed)
            ),
            hint: "check the number in the provider's console".into(),
        });
    }
    Ok(WebhookUpdate::Changed { from: printable(&former) })
}

/// Returns the API address of the number.
fn number_url(number: &Number) -> Result<Url, WebhookError> {
    let is_sid = |text: &str, prefix: &str| {
        let rest = text.strip_prefix(prefix).unwrap_or_default();
        rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if !is_sid(&number.account_sid, "AC") || !is_sid(&number.number_sid, "PN") {
        return Err(WebhookError {
            message: "voice.account_sid or voice.number_sid is invalid: expected AC or PN and 32 \
                 letters or digits"
                .into(),
            hint: "copy both from the provider's console into config.toml, and restart the daemon"
                .into(),
        });
    }
    let text = format!(
        "{}/2010-04-01/Accounts/{}/IncomingPhoneNumbers/{}.json",
        number.api, number.account_sid, number.number_sid
    );
    let hint = || "remove voice.api, or correct it in config.toml, and restart the daemon".into();
    let url = Url::parse(&text).map_err(|error| WebhookError {
        message: format!("voice.api is not a valid address: {error}"),
        hint: hint(),
    })?;
    // The token is sent to this address, so https is required outside this machine.
    let is_local = match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if url.scheme() != "https" && !(is_local && url.scheme() == "http") {
        return Err(WebhookError {
            message: "voice.api must begin with https://".into(),
            hint: hint(),
        });
    }
    Ok(url)
}

/// Sends one request; returns the JSON of its response.
fn send(
    net: &dyn HttpClient,
    url: &Url,
    authorization: &Secret,
    form: Option<&str>,
) -> Result<Value, WebhookError> {
    let headers: &[(&str, &str)] = match form {
        Some(_) => &[("content-type", "application/x-www-form-urlencoded")],
        None => &[],
    };
    let call = HttpRequest {
        url,
        body: form.map(str::as_bytes),
        headers,
        authorization: Some(authorization),
        must_be_public: false,
        reason: &Reason::new("telephony"),
        is_complete: |_| false,
    };
    let host = url.host_str().unwrap_or_default();
    let answer = net.call(&call).map_err(|error| WebhookError {
        message: format!("{host} does not answer: {error}"),
        hint: "check the network and voice.api".into(),
    })?;
    if !(200..300).contains(&answer.status) {
        return Err(rejection(&answer));
    }
    serde_json::from_slice(&answer.body).map_err(|_| WebhookError {
        message: format!("the response of {host} is not JSON"),
        hint: "check voice.api".into(),
    })
}

/// Turns an error response into an error.
fn rejection(answer: &HttpResponse) -> WebhookError {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let words =
        body["message"].as_str().map(|words| format!(": {}", printable(words))).unwrap_or_default();
    let code = body["code"].as_u64().map(|code| format!(", code {code}")).unwrap_or_default();
    let hint = match answer.status {
        401 | 403 => {
            "check voice.account_sid and the account's auth token (secrets/telephony-auth-token)"
        }
        404 => {
            "check voice.number_sid: the number has to belong to the account of voice.account_sid"
        }
        429 => "the provider wants fewer requests: retry later",
        _ => "check the provider's status page",
    };
    WebhookError {
        message: format!(
            "the provider rejects the request (status {}{code}){words}",
            answer.status
        ),
        hint: hint.into(),
    }
}

/// Returns untrusted text without control characters, cut to the maximum length.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use brain_net::Error as NetError;

    const WEBHOOK: &str = "https://brain.example.org/voice";

    /// A fake of the provider's API for one number.
    struct Api {
        number: Mutex<Value>,
        /// Method, status and body of responses that replace the usual ones.
        overrides: Vec<(&'static str, u16, Value)>,
        /// Whether changes are confirmed but ignored.
        ignores_changes: bool,
        calls: Mutex<Vec<String>>,
    }

    impl Api {
        fn new(number: Value) -> Self {
            Self {
                number: Mutex::new(number),
                overrides: Vec::new(),
                ignores_changes: false,
                calls: Mutex::default(),
            }
        }

        fn update(&self) -> Result<WebhookUpdate, WebhookError> {
            let number = Number {
                api: "http://127.0.0.1:9".into(),
                account_sid: format!("AC{}", "a".repeat(32)),
                number_sid: format!("PN{}", "b".repeat(32)),
            };
            super::update_webhook(self, &number, &Secret::new("hunter2"), WEBHOOK)
        }
    }

    impl HttpClient for Api {
        fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
            let method = if call.body.is_some() { "POST" } else { "GET" };
            self.calls.lock().unwrap().push(method.into());
            let path = format!(
                "/2010-04-01/Accounts/AC{}/IncomingPhoneNumbers/PN{}.json",
                "a".repeat(32),
                "b".repeat(32)
            );
            assert_eq!(call.url.path(), path);
            let pair = call.authorization.unwrap().expose().strip_prefix("Basic ").unwrap();
            let pair = String::from_utf8(STANDARD.decode(pair).unwrap()).unwrap();
            assert_eq!(pair, format!("AC{}:hunter2", "a".repeat(32)));
            let mut number = self.number.lock().unwrap();
            for (name, value) in form_urlencoded::parse(call.body.unwrap_or_default())
                .filter(|_| !self.ignores_changes)
            {
                let name = if name == "VoiceUrl" { "voice_url" } else { "voice_method" };
                number[name] = json!(value);
            }
            let response = self.overrides.iter().find(|(to, ..)| *to == method);
            let (status, body) =
                response.map_or((200, number.clone()), |(_, status, body)| (*status, body.clone()));
            Ok(HttpResponse {
                status,
                headers: Vec::new(),
                body: body.to_string().into_bytes(),
                server_address: None,
            })
        }
    }

    fn number(url: &str) -> Value {
        json!({"sid": "PN", "phone_number": "+15005550006", "voice_url": url,
            "voice_method": "POST", "voice_application_sid": null, "trunk_sid": null})
    }

    #[test]
    fn a_webhook_is_written_only_when_it_differs() {
        let api = Api::new(number("https://old.ngrok.app/voice"));
        assert_eq!(
            api.update(),
            Ok(WebhookUpdate::Changed { from: "https://old.ngrok.app/voice".into() })
        );
        assert_eq!(api.number.lock().unwrap()["voice_url"], WEBHOOK);
        assert_eq!(api.update(), Ok(WebhookUpdate::Unchanged));
        assert_eq!(*api.calls.lock().unwrap(), ["GET", "POST", "GET"]);
        // The same address with another method is another webhook.
        api.number.lock().unwrap()["voice_method"] = json!("GET");
        assert!(matches!(api.update(), Ok(WebhookUpdate::Changed { .. })));
        let unchanging =
            Api { ignores_changes: true, ..Api::new(number("https://old.ngrok.app/voice")) };
        assert!(
            unchanging
                .update()
                .unwrap_err()
                .message
                .contains("leads to https://old.ngrok.app/voice")
        );
    }

    #[test]
    fn errors_have_a_hint_and_no_token() {
        let error_body = |status, code, message: &str| {
            json!({"code": code, "message": message,
            "more_info": "", "status": status})
        };
        for (method, status, body, message, hint) in [
            (
                "GET",
                401,
                error_body(401, 20003, "Authenticate"),
                "status 401, code 20003): Authenticate",
                "auth token",
            ),
            ("GET", 404, error_body(404, 20404, "not found"), "code 20404", "voice.number_sid"),
            ("POST", 500, json!(null), "status 500", "status page"),
            ("POST", 429, error_body(429, 20429, "Too Many Requests"), "Too Many", "fewer"),
        ] {
            let api = Api { overrides: vec![(method, status, body)], ..Api::new(number("")) };
            let error = api.update().unwrap_err();
            assert!(error.message.contains(message), "{error:?}");
            assert!(error.hint.to_string().contains(hint), "{error:?}");
            assert!(!format!("{error:?}").contains("hunter2"));
        }
        let mut taken = number("");
        taken["trunk_sid"] = json!("TK1");
        let api = Api::new(taken);
        assert!(api.update().unwrap_err().message.contains("trunk_sid TK1"));
        assert_eq!(api.calls.lock().unwrap().len(), 1, "nothing is written");
    }

    #[test]
    fn an_invalid_id_or_address_sends_nothing() {
        let api = Api::new(number(""));
        for (account, number) in [("AC1", "PN1"), ("../x", "PN"), ("", "")] {
            let number = Number {
                api: "http://127.0.0.1:9".into(),
                account_sid: account.into(),
                number_sid: number.into(),
            };
            assert!(super::update_webhook(&api, &number, &Secret::new("t"), WEBHOOK).is_err());
        }
        for api_url in
            ["http://api.example.com", "http://127.0.0.1.example.com", "ftp://127.0.0.1", "", "x"]
        {
            let number = Number {
                api: api_url.into(),
                account_sid: format!("AC{}", "a".repeat(32)),
                number_sid: format!("PN{}", "b".repeat(32)),
            };
            let error =
                super::update_webhook(&api, &number, &Secret::new("t"), WEBHOOK).unwrap_err();
            assert!(error.hint.to_string().contains("voice.api"), "{api_url}: {error:?}");
        }
        assert!(api.calls.lock().unwrap().is_empty());
    }
}
