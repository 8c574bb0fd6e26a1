//! Wire types of grants: scopes, grant types, secrets.

use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// A permission. Each scope includes the ones before it.
    #[derive(PartialOrd, Ord)]
    Scope {
        /// Read pages.
        Read = "read",
        /// Change pages.
        Write = "write",
        /// Administer the installation.
        Admin = "admin",
    }

    /// An OAuth grant type (RFC 6749 section 1.3).
    #[derive(PartialOrd, Ord)]
    GrantType {
        /// The client authenticates with its secret.
        ClientCredentials = "client_credentials",
        /// The owner consents in a browser; uses PKCE.
        AuthorizationCode = "authorization_code",
        /// The client uses the refresh token of an earlier consent.
        RefreshToken = "refresh_token",
    }
}

/// A set of scopes, as requested and granted. `read write` stays `read write`, although `write`
/// includes `read` (RFC 6749 section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scopes(u8);

impl Scopes {
    /// `read write`, usual for the owner's devices.
    pub const READ_WRITE: Self = Self(0b011);
    /// `write`.
    pub const WRITE: Self = Self(0b010);
    /// `admin`.
    pub const ADMIN: Self = Self(0b100);

    /// Parses scopes separated by spaces or commas, in any order.
    ///
    /// # Errors
    /// A message for people, if `text` names no scope or an unknown one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut bits = 0;
        for word in text.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
            match Scope::ALL.iter().position(|scope| scope.as_str() == word) {
                Some(bit) => bits |= 1 << bit,
                None => {
                    return Err(format!(
                        "\"{}\" is not a scope: the scopes are read, write and admin",
                        escape(word)
                    ));
                }
            }
        }
        if bits == 0 {
            return Err("no scope is named: the scopes are read, write and admin".into());
        }
        Ok(Self(bits))
    }

    /// Returns the scopes that `text` names, without unknown ones; `None` if it names none. An
    /// authorization server may ignore scopes (RFC 6749 section 3.3), and clients request those of
    /// others, such as `openid`.
    #[must_use]
    pub fn parse_known(text: &str) -> Option<Self> {
        let known = text.split([' ', ',', '\t']).filter_map(|word| Self::parse(word).ok());
        known.reduce(|all, one| Self(all.0 | one.0))
    }

    /// Iterates over the scopes, the lowest first.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL
            .into_iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, scope)| scope)
    }

    /// Returns the highest scope.
    #[must_use]
    pub fn highest(self) -> Scope {
        self.iter().last().unwrap_or(Scope::Read)
    }

    /// Returns those of the scopes that `granted` includes; `None` if it includes none.
    #[must_use]
    pub fn within(self, granted: Self) -> Option<Self> {
        let bits = self
            .iter()
            .filter(|scope| *scope <= granted.highest())
            .fold(0, |bits, scope| bits | Self::from(scope).0);
        (bits != 0).then_some(Self(bits))
    }

    /// Returns whether these scopes include all of `requested`.
    #[must_use]
    pub fn cover(self, requested: Self) -> bool {
        requested.highest() <= self.highest()
    }
}

impl From<Scope> for Scopes {
    fn from(scope: Scope) -> Self {
        Self(match scope {
            Scope::Read => 0b001,
            Scope::Write => 0b010,
            Scope::Admin => 0b100,
        })
    }
}

impl std::fmt::Display for Scopes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, scope) in self.iter().enumerate() {
            write!(f, "{}{}", if n == 0 { "" } else { " " }, scope.as_str())?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Scopes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

impl std::str::FromStr for Scopes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// A secret. Its JSON contains the value; `Debug` does not, so logs never show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret value. The caller must not log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Returns at most 40 characters of untrusted text, escaped for printing.
fn escape(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_parsed_and_printed_in_order() {
        for (text, printed) in [
            ("read write", "read write"),
            ("write,read", "read write"),
            ("write", "write"),
            (" admin ", "admin"),
        ] {
            assert_eq!(Scopes::parse(text).unwrap().to_string(), printed, "{text:?}");
        }
        for text in ["", " , ", "Read", "read owner", "read\u{0}", "*"] {
            assert!(Scopes::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Scopes::parse("read write").unwrap(), Scopes::READ_WRITE);
        let known = Scopes::parse_known("openid read write offline_access");
        assert_eq!(known, Some(Scopes::READ_WRITE));
        assert_eq!(Scopes::parse_known("openid profile"), None);
        assert_eq!(Scopes::parse_known(" "), None);
    }

    #[test]
    fn a_larger_scope_covers_a_smaller_one() {
        for (n, &granted) in Scope::ALL.iter().enumerate() {
            for (m, &requested) in Scope::ALL.iter().enumerate() {
                assert_eq!(Scopes::from(granted).cover(Scopes::from(requested)), m <= n);
            }
        }
        assert!(Scopes::parse("write").unwrap().cover(Scopes::READ_WRITE));
        assert!(!Scopes::parse("read").unwrap().cover(Scopes::READ_WRITE));
        let within = |requested: &str, granted: &str| {
            let within = Scopes::parse(requested).unwrap().within(Scopes::parse(granted).unwrap());
            within.map(|scopes| scopes.to_string())
        };
        assert_eq!(within("read write", "read").as_deref(), Some("read"));
        assert_eq!(within("read admin", "write").as_deref(), Some("read"));
        assert_eq!(within("read write", "admin").as_deref(), Some("read write"));
        assert_eq!(within("write", "read"), None);
    }

    #[test]
    fn debug_does_not_print_a_secret() {
        assert!(!format!("{:?}", Some(Secret::new("hunter2"))).contains("hunter2"));
    }
}
