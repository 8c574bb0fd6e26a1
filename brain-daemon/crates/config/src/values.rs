//! Types of configuration values that the standard library does not have.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use brain_base::home::Home;

use crate::spans::format_span;

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

/// How long records are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// Nothing is recorded.
    Off,
    /// For this time.
    For(Duration),
    /// Until they are purged.
    Forever,
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::For(time) => f.write_str(&format_span(time.as_secs())),
            Self::Forever => f.write_str("forever"),
        }
    }
}

/// A program that converts the documents with one extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    /// The extension, in lower case: `srt`, or a double one such as `tar.gz`.
    pub extension: String,
    /// The absolute path of the program, and its first arguments. The document's path follows.
    pub program: Vec<String>,
}

impl Processor {
    /// Parses `EXTENSION: PROGRAM [ARGUMENT …]`. A path or argument with blanks is in quotes.
    ///
    /// # Errors
    /// What is wrong, as a predicate.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (extension, program) =
            text.split_once(':').ok_or("lacks the colon between the extension and the program")?;
        let extension = extension.trim().trim_start_matches('.').to_lowercase();
        let is_name = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
        if !extension.split('.').all(is_name) {
            return Err(format!("has the extension \"{extension}\", which is none"));
        }
        let program = words(program).ok_or("has a quote without its end")?;
        match program.first() {
            Some(path) if path.starts_with('/') => Ok(Self { extension, program }),
            Some(path) => Err(format!("has the program \"{path}\", which is no absolute path")),
            None => Err("names no program".to_owned()),
        }
    }
}

/// Splits a text at blanks outside of quotes. Returns `None` if a quote has no end.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_an_extension_and_words() {
        let parsed = |text| Processor::parse(text).unwrap();
        let plain = parsed(".SRT: /bin/subtitles -x");
        assert_eq!((plain.extension.as_str(), plain.program.len()), ("srt", 2));
        let quoted = parsed("tar.gz: \"/home/a b/x y\" --name='c d' ''");
        assert_eq!(quoted.extension, "tar.gz");
        assert_eq!(quoted.program, ["/home/a b/x y", "--name=c d", ""]);
    }

    #[test]
    fn a_wrong_processor_is_refused_with_the_reason() {
        for (text, reason) in [
            ("srt /bin/x", "lacks the colon"),
            ("a b: /bin/x", "has the extension \"a b\""),
            ("a..b: /bin/x", "has the extension \"a..b\""),
            (": /bin/x", "has the extension \"\""),
            ("srt: bin/x", "has the program \"bin/x\""),
            ("srt:", "names no program"),
            ("srt: \"/bin/x", "has a quote without its end"),
        ] {
            let error = Processor::parse(text).unwrap_err();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
