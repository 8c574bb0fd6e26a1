//! What the tunnel and the telephone are told.

use std::path::PathBuf;

use brain_protocol::Fault;

use super::kinds::texts;
use super::{Config, invalid};
use brain_base::home::Home;

impl Config {
    /// The port that a tunnel leads to, whether there is one or not.
    #[must_use]
    pub fn tunnel_forward(&self) -> u16 {
        self.number("tunnel", "forward") as u16
    }

    /// The file with the agent's token; `None` when it is at its usual place.
    #[must_use]
    pub fn tunnel_token_file(&self, home: &Home) -> Option<PathBuf> {
        self.path("tunnel", "authtoken_file", home)
    }

    /// The file with the telephony account's token; `None` when it is at its usual place.
    #[must_use]
    pub fn telephony_token_file(&self, home: &Home) -> Option<PathBuf> {
        self.path("voice", "auth_token_file", home)
    }

    /// The telephone; `None` when `/voice` is not served.
    #[must_use]
    pub fn voice(&self) -> Option<Voice> {
        let text = |name| self.text("voice", name).trim().to_owned();
        let set = |name| Some(text(name)).filter(|text| !text.is_empty());
        self.is_true("voice", "enabled").then(|| Voice {
            callers: texts(self.text("voice", "callers")).unwrap_or_default(),
            language: text("language"),
            voice: set("voice"),
            greeting: set("greeting"),
            upstream: set("upstream").map(|url| url.trim_end_matches('/').to_owned()),
        })
    }

    /// Whoever may ask by telephone can be recognised: a number says its country.
    pub(super) fn check_callers(&self) -> Result<(), Fault> {
        let callers = texts(self.text("voice", "callers")).unwrap_or_default();
        let known = |caller: &String| {
            ["+", "00", "client:", "sip:"].iter().any(|begin| caller.trim().starts_with(begin))
        };
        match callers.iter().find(|caller| !known(caller)) {
            None => Ok(()),
            Some(nobody) => Err(invalid(format!("voice.callers: \"{nobody}\" is nobody's number")).hint(
                "write it with its country, such as +4915112345678; names at the provider begin with client: or sip:",
            )),
        }
    }
}

/// How `/voice` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// Numbers that may ask.
    pub callers: Vec<String>,
    /// The language, as the provider names it.
    pub language: String,
    /// The voice; the provider's own when absent.
    pub voice: Option<String>,
    /// What known callers hear first.
    pub greeting: Option<String>,
    /// Somebody else who answers.
    pub upstream: Option<String>,
}
