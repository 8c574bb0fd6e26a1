//! Where a number leads to: `IncomingPhoneNumbers/{PN…}.json` of the provider's API (2010-04-01).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::Secret;
use serde_json::Value;
use url::Url;

use super::Number;
use brain_net::{Answer, Call, Outgoing};

/// The longest text of somebody else's that is told, in characters.
const SHOWN: usize = 300;

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Led {
    /// It led there already.
    Already,
    /// It leads there now; the answer said so.
    Changed {
        /// Where it led to before; empty for nowhere.
        from: String,
    },
}

/// Why the number does not lead there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unled {
    /// What the provider said, in words; never the token.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Lets the number's voice webhook be `url`, when it is another one. What is answered is checked.
///
/// # Errors
/// What the provider said, with the way out; never the token.
pub fn lead(net: &dyn Outgoing, number: &Number, token: &Secret, url: &str) -> Result<Led, Unled> {
    let place = place(number)?;
    let pair = STANDARD.encode(format!("{}:{}", number.account_sid, token.expose()));
    let basic = Secret::new(format!("Basic {pair}"));
    let known = ask(net, &place, &basic, None)?;
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    if let Some(over) = ["voice_application_sid", "trunk_sid"]
        .into_iter()
        .find(|name| !text(&known, name).is_empty())
    {
        let message = format!(
            "the number is set to {over} {}, so its webhook is not used",
            shown(&text(&known, over))
        );
        let hint = "take that application or trunk off the number in the provider's console";
        return Err(Unled { message, hint: hint.into() });
    }
    let from = text(&known, "voice_url");
    let by_post =
        known["voice_method"].as_str().is_none_or(|method| method.eq_ignore_ascii_case("POST"));
    if from == url && by_post {
        return Ok(Led::Already);
    }
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("VoiceUrl", url)
        .append_pair("VoiceMethod", "POST")
        .finish();
    let said = text(&ask(net, &place, &basic, Some(&form))?, "voice_url");
    if said != url {
        return Err(Unled {
            message: format!(
                "the provider took the change, and says that the number leads to {}",
                shown(&said)
            ),
            hint: "look at the number in the provider's console".into(),
        });
    }
    Ok(Led::Changed { from: shown(&from) })
}

/// The number's address.
fn place(number: &Number) -> Result<Url, Unled> {
    let sid = |text: &str, kind: &str| {
        let rest = text.strip_prefix(kind).unwrap_or_default();
        rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if !sid(&number.account_sid, "AC") || !sid(&number.number_sid, "PN") {
        return Err(Unled {
            message:
                "voice.account_sid or voice.number_sid is no id: AC or PN and 32 letters and digits"
                    .into(),
            hint: "copy both from the provider's console into config.toml, and restart the daemon"
                .into(),
        });
    }
    let text = format!(
        "{}/2010-04-01/Accounts/{}/IncomingPhoneNumbers/{}.json",
        number.api, number.account_sid, number.number_sid
    );
    let hint =
        || "leave voice.api away, or correct it in config.toml, and restart the daemon".into();
    let url = Url::parse(&text).map_err(|error| Unled {
        message: format!("voice.api is no address: {error}"),
        hint: hint(),
    })?;
    // The token goes there: over the network by https only.
    let here = match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if url.scheme() != "https" && !(here && url.scheme() == "http") {
        return Err(Unled { message: "voice.api must begin with https://".into(), hint: hint() });
    }
    Ok(url)
}

/// One question; the JSON of an answer that is one.
fn ask(
    net: &dyn Outgoing,
    place: &Url,
    basic: &Secret,
    form: Option<&str>,
) -> Result<Value, Unled> {
    let headers: &[(&str, &str)] = match form {
        Some(_) => &[("content-type", "application/x-www-form-urlencoded")],
        None => &[],
    };
    let call = Call {
        url: place,
        body: form.map(str::as_bytes),
        headers,
        authorization: Some(basic),
        public: false,
        enough: |_| false,
    };
    let host = place.host_str().unwrap_or_default();
    let answer = net.call(&call).map_err(|trouble| Unled {
        message: format!("{host} does not answer: {trouble}"),
        hint: "check the network and voice.api".into(),
    })?;
    if !(200..300).contains(&answer.status) {
        return Err(refused(&answer));
    }
    serde_json::from_slice(&answer.body).map_err(|_| Unled {
        message: format!("what {host} answers is no JSON"),
        hint: "check voice.api".into(),
    })
}

/// What an answer that is none says.
fn refused(answer: &Answer) -> Unled {
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let words =
        said["message"].as_str().map(|words| format!(": {}", shown(words))).unwrap_or_default();
    let code = said["code"].as_u64().map(|code| format!(", code {code}")).unwrap_or_default();
    let hint = match answer.status {
        401 | 403 => {
            "check voice.account_sid and the account's auth token (secrets/telephony-auth-token)"
        }
        404 => {
            "check voice.number_sid: the number has to belong to the account of voice.account_sid"
        }
        429 => "the provider wants fewer requests: wait a while",
        _ => "the provider's status page may say more",
    };
    Unled {
        message: format!("the provider refuses (status {}{code}){words}", answer.status),
        hint: hint.into(),
    }
}

/// Somebody else's text, harmless to print.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use brain_net::Trouble;

    const WANTED: &str = "https://brain.example.org/voice";

    /// The provider's API for one number, as it is documented.
    struct Api {
        number: Mutex<Value>,
        /// What answers instead, by method.
        instead: Vec<(&'static str, u16, Value)>,
        /// Whether a change is only said to be made.
        deaf: bool,
        calls: Mutex<Vec<String>>,
    }

    impl Api {
        fn new(number: Value) -> Self {
            Self {
                number: Mutex::new(number),
                instead: Vec::new(),
                deaf: false,
                calls: Mutex::default(),
            }
        }

        fn lead(&self) -> Result<Led, Unled> {
            let number = Number {
                api: "http://127.0.0.1:9".into(),
                account_sid: format!("AC{}", "a".repeat(32)),
                number_sid: format!("PN{}", "b".repeat(32)),
            };
            super::lead(self, &number, &Secret::new("hunter2"), WANTED)
        }
    }

    impl Outgoing for Api {
        fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble> {
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
            for (name, value) in
                form_urlencoded::parse(call.body.unwrap_or_default()).filter(|_| !self.deaf)
            {
                let name = if name == "VoiceUrl" { "voice_url" } else { "voice_method" };
                number[name] = json!(value);
            }
            let instead = self.instead.iter().find(|(to, ..)| *to == method);
            let (status, body) =
                instead.map_or((200, number.clone()), |(_, status, body)| (*status, body.clone()));
            Ok(Answer {
                status,
                headers: Vec::new(),
                body: body.to_string().into_bytes(),
                from: None,
            })
        }
    }

    fn number(url: &str) -> Value {
        json!({"sid": "PN", "phone_number": "+15005550006", "voice_url": url, "voice_method": "POST", "voice_application_sid": null, "trunk_sid": null})
    }

    #[test]
    fn it_is_written_only_when_it_differs_and_what_is_answered_is_checked() {
        let api = Api::new(number("https://old.ngrok.app/voice"));
        assert_eq!(api.lead(), Ok(Led::Changed { from: "https://old.ngrok.app/voice".into() }));
        assert_eq!(api.number.lock().unwrap()["voice_url"], WANTED);
        assert_eq!(api.lead(), Ok(Led::Already));
        assert_eq!(*api.calls.lock().unwrap(), ["GET", "POST", "GET"]);
        // By another method the same address is another webhook.
        api.number.lock().unwrap()["voice_method"] = json!("GET");
        assert!(matches!(api.lead(), Ok(Led::Changed { .. })));
        let deaf = Api { deaf: true, ..Api::new(number("https://old.ngrok.app/voice")) };
        assert!(deaf.lead().unwrap_err().message.contains("leads to https://old.ngrok.app/voice"));
    }

    #[test]
    fn refusals_are_told_with_the_way_out_and_without_the_token() {
        let says = |status, code, message: &str| json!({"code": code, "message": message, "more_info": "", "status": status});
        for (method, status, body, message, hint) in [
            (
                "GET",
                401,
                says(401, 20003, "Authenticate"),
                "status 401, code 20003): Authenticate",
                "auth token",
            ),
            ("GET", 404, says(404, 20404, "not found"), "code 20404", "voice.number_sid"),
            ("POST", 500, json!(null), "status 500", "status page"),
            ("POST", 429, says(429, 20429, "Too Many Requests"), "Too Many", "fewer"),
        ] {
            let api = Api { instead: vec![(method, status, body)], ..Api::new(number("")) };
            let unled = api.lead().unwrap_err();
            assert!(unled.message.contains(message), "{unled:?}");
            assert!(unled.hint.contains(hint), "{unled:?}");
            assert!(!format!("{unled:?}").contains("hunter2"));
        }
        let mut taken = number("");
        taken["trunk_sid"] = json!("TK1");
        let api = Api::new(taken);
        assert!(api.lead().unwrap_err().message.contains("trunk_sid TK1"));
        assert_eq!(api.calls.lock().unwrap().len(), 1, "nothing is written");
    }

    #[test]
    fn what_is_no_id_or_no_safe_address_calls_nobody() {
        let api = Api::new(number(""));
        for (account, number) in [("AC1", "PN1"), ("../x", "PN"), ("", "")] {
            let number = Number {
                api: "http://127.0.0.1:9".into(),
                account_sid: account.into(),
                number_sid: number.into(),
            };
            assert!(super::lead(&api, &number, &Secret::new("t"), WANTED).is_err());
        }
        for api_url in
            ["http://api.example.com", "http://127.0.0.1.example.com", "ftp://127.0.0.1", "", "x"]
        {
            let number = Number {
                api: api_url.into(),
                account_sid: format!("AC{}", "a".repeat(32)),
                number_sid: format!("PN{}", "b".repeat(32)),
            };
            let unled = super::lead(&api, &number, &Secret::new("t"), WANTED).unwrap_err();
            assert!(unled.hint.contains("voice.api"), "{api_url}: {unled:?}");
        }
        assert!(api.calls.lock().unwrap().is_empty());
    }
}
