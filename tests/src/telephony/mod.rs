//! A fake telephony provider: it sends signed calls to `/voice` and parses the responses. It is as
//! strict as the real one: an unknown verb or attribute, or a call without an end, fails the test.

mod markup;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::http::{self, Answer};

pub use markup::VoiceResponse;

/// The key of signatures.
pub const TOKEN: &str = "a-token-of-the-telephony-account";
/// The address that the provider calls.
pub const PUBLIC: &str = "https://brain.example.org";
/// A number that tests may allow to ask questions.
pub const KNOWN: &str = "+4915112345678";
/// A number that is not allowed.
pub const STRANGER: &str = "+18005550123";
/// The called number.
pub const OURS: &str = "+4930901820";

/// Returns the `X-Twilio-Signature` of a request to `url` with this form.
#[must_use]
pub fn sign(token: &str, url: &str, form: &[(&str, &str)]) -> String {
    let sorted: BTreeSet<_> = form.iter().collect();
    let mut code = Hmac::<Sha1>::new_from_slice(token.as_bytes()).expect("any key is good");
    code.update(url.as_bytes());
    for (name, value) in sorted {
        code.update(name.as_bytes());
        code.update(value.as_bytes());
    }
    STANDARD.encode(code.finalize().into_bytes())
}

/// Encodes a form.
#[must_use]
pub fn encoded(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

/// Sends a form to `path` with a valid signature.
#[must_use]
pub fn send(address: SocketAddr, path: &str, form: &[(&str, &str)]) -> Answer {
    let signature = sign(TOKEN, &format!("{PUBLIC}{path}"), form);
    posted(address, path, form, &signature)
}

/// Sends a form to `path` with this signature and the headers of a tunnel.
#[must_use]
pub fn posted(address: SocketAddr, path: &str, form: &[(&str, &str)], signature: &str) -> Answer {
    let headers = [
        ("Host", "brain.example.org"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"),
        ("X-Twilio-Signature", signature),
    ];
    http::call(address, "POST", path, &headers, encoded(form).as_bytes())
}

/// A call in progress.
pub struct Call {
    address: SocketAddr,
    /// The call's id.
    pub sid: String,
    from: String,
    /// The last response.
    pub response: VoiceResponse,
}

impl Call {
    /// Starts a call.
    #[must_use]
    pub fn from(address: SocketAddr, number: &str, sid: &str) -> Self {
        let mut call = Self::resume(address, number, sid);
        call.request("/voice", &[("CallStatus", "ringing")]);
        call
    }

    /// Continues an earlier call.
    #[must_use]
    pub fn resume(address: SocketAddr, number: &str, sid: &str) -> Self {
        Self { address, sid: sid.into(), from: number.into(), response: VoiceResponse::default() }
    }

    /// Returns the slug of this call's page on `day`.
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

    /// Continues after silence of the caller.
    pub fn stay_silent(&mut self) -> &VoiceResponse {
        let next = self
            .response
            .redirect
            .clone()
            .unwrap_or_else(|| panic!("no <Redirect> in {:?}", self.response));
        self.request(&next, &[])
    }

    /// Sends a recording.
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

    /// Sends a request of the provider to `path` with its usual fields and `more`.
    pub fn request(&mut self, path: &str, more: &[(&str, &str)]) -> &VoiceResponse {
        let answer = self.send(path, more).expect(200);
        self.response = VoiceResponse::read(&answer);
        &self.response
    }

    /// As [`Call::request`], but returns the HTTP response.
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
