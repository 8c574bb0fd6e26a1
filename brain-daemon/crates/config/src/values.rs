//! Types of configuration values that the standard library does not have.

use std::fmt;
use std::path::PathBuf;

use brain_base::home::Home;

/// A path: absolute, below `~/`, or relative to brain's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomePath(pub(super) String);

impl HomePath {
    /// Returns the absolute path.
    #[must_use]
    pub fn resolve(&self, home: &Home) -> PathBuf {
        let in_user_home = self
            .0
            .strip_prefix("~/")
            .and_then(|rest| Some(PathBuf::from(std::env::var_os("HOME")?).join(rest)));
        in_user_home.unwrap_or_else(|| home.root().join(&self.0))
    }
}

/// A program that converts the documents with one extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    /// The extension, in lower case.
    pub extension: String,
    /// The absolute path of the program, and its first arguments. The document's path follows.
    pub program: Vec<String>,
}

impl Processor {
    /// Parses `EXTENSION: PROGRAM [ARGUMENT …]`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (extension, program) = text.split_once(':')?;
        let extension = extension.trim().trim_start_matches('.').to_lowercase();
        let program: Vec<String> = program.split_whitespace().map(str::to_owned).collect();
        let is_valid = !extension.is_empty()
            && extension.chars().all(char::is_alphanumeric)
            && program.first().is_some_and(|program| program.starts_with('/'));
        is_valid.then_some(Self { extension, program })
    }
}

/// A maximum number of calls in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The number of calls, at least 1.
    pub calls: u32,
    /// The period in seconds, at least 1.
    pub seconds: u64,
}

/// An amount of US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dollars(pub(super) u64);

impl Dollars {
    /// Returns the amount in millionths of a dollar.
    #[must_use]
    pub fn millionths(self) -> u64 {
        self.0
    }
}

/// An `http://` address with a host and at most a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpUrl(pub(super) String);

impl HttpUrl {
    /// Returns the host and the port, if there is one.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.strip_prefix("http://").unwrap_or(&self.0)
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a handle without its `@`, or `None` if it does not match the platform's
/// `^[A-Za-z0-9_]{1,15}$`.
#[must_use]
pub fn parse_handle(text: &str) -> Option<&str> {
    let name = text.strip_prefix('@').unwrap_or(text);
    let is_handle = (1..=15).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_handle.then_some(name)
}
