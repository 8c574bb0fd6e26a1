//! The telephony provider as `/voice` sees it: calls with a signature made here, and answers read
//! by a parser of XML. Strict where the real one is: a verb or an attribute that it does not know,
//! or a call that would go on for ever, fails the test.

mod markup;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::http::{self, Answer};

pub use markup::Heard;

/// What tests sign with.
pub const TOKEN: &str = "a-token-of-the-telephony-account";
/// The address that the provider calls.
pub const PUBLIC: &str = "https://brain.example.org";
/// A number that may ask, where a test says so.
pub const KNOWN: &str = "+4915112345678";
/// Somebody else.
pub const STRANGER: &str = "+18005550123";
/// The number that is called.
pub const OURS: &str = "+4930901820";

/// `X-Twilio-Signature` of a call to `url` with this form.
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

/// A form as it is sent.
#[must_use]
pub fn encoded(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

/// Sends a form to `path` with its signature.
#[must_use]
pub fn send(address: SocketAddr, path: &str, form: &[(&str, &str)]) -> Answer {
    let signature = sign(TOKEN, &format!("{PUBLIC}{path}"), form);
    posted(address, path, form, &signature)
}

/// Sends a form to `path` with this signature, addressed as a tunnel passes it on.
#[must_use]
pub fn posted(address: SocketAddr, path: &str, form: &[(&str, &str)], signature: &str) -> Answer {
    let headers = [
        ("Host", "brain.example.org"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"),
        ("X-Twilio-Signature", signature),
    ];
    http::call(address, "POST", path, &headers, encoded(form).as_bytes())
}

/// A call under way.
pub struct Call {
    address: SocketAddr,
    /// Its id.
    pub sid: String,
    from: String,
    /// What was heard last.
    pub heard: Heard,
}

impl Call {
    /// Somebody calls.
    #[must_use]
    pub fn from(address: SocketAddr, number: &str, sid: &str) -> Self {
        let mut call = Self::under_way(address, number, sid);
        call.goes_on("/voice", &[("CallStatus", "ringing")]);
        call
    }

    /// A call that began before.
    #[must_use]
    pub fn under_way(address: SocketAddr, number: &str, sid: &str) -> Self {
        Self { address, sid: sid.into(), from: number.into(), heard: Heard::default() }
    }

    /// The id of the page of this call on `day`.
    #[must_use]
    pub fn slug(&self, day: &str) -> String {
        format!("calls/{day}-{}", self.sid[self.sid.len() - 12..].to_ascii_lowercase())
    }

    /// The caller says this.
    pub fn says(&mut self, text: &str) -> &Heard {
        let action = self
            .heard
            .listens
            .clone()
            .unwrap_or_else(|| panic!("nobody listens: {:?}", self.heard));
        self.goes_on(&action, &[("SpeechResult", text), ("Confidence", "0.91")])
    }

    /// The caller presses a key.
    pub fn presses(&mut self, key: &str) -> &Heard {
        let action = self
            .heard
            .listens
            .clone()
            .unwrap_or_else(|| panic!("nobody listens: {:?}", self.heard));
        self.goes_on(&action, &[("Digits", key)])
    }

    /// The caller says nothing: the provider goes on behind what it listened with.
    pub fn is_silent(&mut self) -> &Heard {
        let next = self
            .heard
            .redirect
            .clone()
            .unwrap_or_else(|| panic!("the call just ends: {:?}", self.heard));
        self.goes_on(&next, &[])
    }

    /// The caller leaves a recording.
    pub fn records(&mut self, id: &str, seconds: &str) -> &Heard {
        let (action, _) = self
            .heard
            .records
            .clone()
            .unwrap_or_else(|| panic!("nothing is recorded: {:?}", self.heard));
        let url = format!("https://api.twilio.com/2010-04-01/Recordings/{id}");
        self.goes_on(
            &action,
            &[
                ("RecordingSid", id),
                ("RecordingUrl", &url),
                ("RecordingDuration", seconds),
                ("Digits", "hangup"),
            ],
        )
    }

    /// The provider calls `path`, with what it always says and with `more`.
    pub fn goes_on(&mut self, path: &str, more: &[(&str, &str)]) -> &Heard {
        let answer = self.sends(path, more).expect(200);
        self.heard = Heard::read(&answer);
        &self.heard
    }

    /// The same, and what came back as it came.
    #[must_use]
    pub fn sends(&self, path: &str, more: &[(&str, &str)]) -> Answer {
        let mut form = vec![
            ("CallSid", self.sid.as_str()),
            ("AccountSid", "AC00000000000000000000000000000000"),
            ("From", &self.from),
            ("To", OURS),
            ("Direction", "inbound"),
            ("ApiVersion", "2010-04-01"),
            ("FromCity", "BERLIN"),
            // New ones come without notice.
            ("SomethingNew", "ünï"),
        ];
        form.extend_from_slice(more);
        send(self.address, path, &form)
    }
}
