//! A fake telephony provider: it sends signed requests to `/voice` and parses the responses. It is
//! as strict as the real one: an unknown verb or attribute, or no verb after a `<Gather>`, fails
//! the test.

mod markup;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::http::{self, Answer};

pub use markup::VoiceResponse;

/// The account's token, which is the key of signatures.
pub const TOKEN: &str = "a-token-of-the-telephony-account";
/// The public base URL of brain, to which the provider sends requests.
pub const PUBLIC_URL: &str = "https://brain.example.org";
/// A number that tests may allow to ask questions.
pub const KNOWN_NUMBER: &str = "+4915112345678";
/// A number that is not allowed.
pub const UNKNOWN_NUMBER: &str = "+18005550123";
/// The called number.
pub const OURS: &str = "+4930901820";

/// Returns the `X-Twilio-Signature` of a request to `url` with this form.
#[must_use]
pub fn sign(token: &str, url: &str, form: &[(&str, &str)]) -> String {
    let sorted: BTreeSet<_> = form.iter().collect();
    let mut mac =
        Hmac::<Sha1>::new_from_slice(token.as_bytes()).expect("a key may have any length");
    mac.update(url.as_bytes());
    for (name, value) in sorted {
        mac.update(name.as_bytes());
        mac.update(value.as_bytes());
    }
    STANDARD.encode(mac.finalize().into_bytes())
}

/// Encodes a form.
#[must_use]
pub fn form_body(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

/// Sends a form to `path` with a valid signature.
#[must_use]
pub fn send(address: SocketAddr, path: &str, form: &[(&str, &str)]) -> Answer {
    let signature = sign(TOKEN, &format!("{PUBLIC_URL}{path}"), form);
    post_signed(address, path, form, &signature)
}

/// Sends a form to `path` with this signature and the headers of a tunnel.
#[must_use]
pub fn post_signed(
    address: SocketAddr,
    path: &str,
    form: &[(&str, &str)],
    signature: &str,
) -> Answer {
    let headers = [
        ("Host", "brain.example.org"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"),
        ("X-Twilio-Signature", signature),
    ];
    http::call(address, "POST", path, &headers, form_body(form).as_bytes())
}

/// A call in progress.
pub struct Call {
    address: SocketAddr,
    /// The provider's id of the call.
    pub sid: String,
    /// The caller's phone number.
    from: String,
    /// The last response.
    pub response: VoiceResponse,
}

impl Call {
    /// Starts a call from `number`.
    #[must_use]
    pub fn from(address: SocketAddr, number: &str, sid: &str) -> Self {
        let mut call = Self::resume(address, number, sid);
        call.request("/voice", &[("CallStatus", "ringing")]);
        call
    }

    /// Creates a call that continues an earlier one. Sends nothing yet.
    #[must_use]
    pub fn resume(address: SocketAddr, number: &str, sid: &str) -> Self {
        Self { address, sid: sid.into(), from: number.into(), response: VoiceResponse::default() }
    }

    /// Returns the slug of this call's page. `day` is the date of the call, `2026-11-21`.
    #[must_use]
    pub fn slug(&self, day: &str) -> String {
        format!("calls/{day}-{}", self.sid[self.sid.len() - 12..].to_ascii_lowercase())
    }

    /// Sends speech of the caller.
    pub fn speak(&mut self, text: &str) -> &VoiceResponse {
        let action = self
            .response
            .gather_action
            .clone()
            .unwrap_or_else(|| panic!("no <Gather> in {:?}", self.response));
        self.request(&action, &[("SpeechResult", text), ("Confidence", "0.91")])
    }

    /// Sends a pressed key.
    pub fn press_key(&mut self, key: &str) -> &VoiceResponse {
        let action = self
            .response
            .gather_action
            .clone()
            .unwrap_or_else(|| panic!("no <Gather> in {:?}", self.response));
        self.request(&action, &[("Digits", key)])
    }

    /// Sends the request that follows silence of the caller.
    pub fn stay_silent(&mut self) -> &VoiceResponse {
        let next = self
            .response
            .redirect
            .clone()
            .unwrap_or_else(|| panic!("no <Redirect> in {:?}", self.response));
        self.request(&next, &[])
    }

    /// Sends the URL of a recording of this many seconds.
    pub fn send_recording(&mut self, id: &str, seconds: &str) -> &VoiceResponse {
        let (action, _) = self
            .response
            .recording_actions
            .clone()
            .unwrap_or_else(|| panic!("no <Record> in {:?}", self.response));
        let url = format!("https://api.twilio.com/2010-04-01/Recordings/{id}");
        self.request(
            &action,
            &[
                ("RecordingSid", id),
                ("RecordingUrl", &url),
                ("RecordingDuration", seconds),
                ("Digits", "hangup"),
            ],
        )
    }

    /// Sends a request to `path` with the provider's usual fields and `more`. Expects status 200
    /// and parses the response.
    pub fn request(&mut self, path: &str, more: &[(&str, &str)]) -> &VoiceResponse {
        let answer = self.send(path, more).expect(200);
        self.response = VoiceResponse::read(&answer);
        &self.response
    }

    /// As [`Call::request`], but returns the HTTP response, whatever its status.
    #[must_use]
    pub fn send(&self, path: &str, more: &[(&str, &str)]) -> Answer {
        let mut form = vec![
            ("CallSid", self.sid.as_str()),
            ("AccountSid", "AC00000000000000000000000000000000"),
            ("From", &self.from),
            ("To", OURS),
            ("Direction", "inbound"),
            ("ApiVersion", "2010-04-01"),
            ("FromCity", "BERLIN"),
            // The provider adds fields without notice.
            ("SomethingNew", "ünï"),
        ];
        form.extend_from_slice(more);
        send(self.address, path, &form)
    }
}
