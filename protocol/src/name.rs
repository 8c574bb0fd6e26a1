//! Names of pages and sources. Every value of [`Slug`] and [`SourceId`] is valid.

use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark, is_nfc};

/// The maximum length of a slug in bytes.
pub const MAX_SLUG_BYTES: usize = 512;

/// The error of an invalid slug or source id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    /// The message, for people.
    pub message: String,
    /// The valid name that results from correcting the text, if there is one.
    pub suggestion: Option<String>,
}

impl std::fmt::Display for NameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(s) => write!(f, "; did you mean \"{s}\"?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NameError {}

/// The name of a page within its source: segments joined by `/`.
///
/// A segment has letters, digits and marks of any script in NFC and lower case, and `.`, `_`, `-`.
/// No segment is empty or only dots. The whole has at most [`MAX_SLUG_BYTES`]. So a slug is safe as
/// a relative path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

impl Slug {
    /// Parses a slug.
    ///
    /// # Errors
    /// [`NameError`] if `text` violates the grammar, with the first violation and, if there is one,
    /// a suggestion by [`Slug::from_path`].
    pub fn parse(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        match violation(&text) {
            None => Ok(Self(text)),
            Some(violation) => {
                let escaped: String = text.chars().take(80).flat_map(char::escape_debug).collect();
                Err(NameError {
                    message: format!("\"{escaped}\" is not a slug: {violation}"),
                    suggestion: Self::from_path(&text).ok().map(|s| s.0),
                })
            }
        }
    }

    /// Returns the slug for the file at `path`: in NFC and lower case, with `-` for white space. It
    /// lacks the markdown extension, invalid characters, `-` at the start of a segment, and segments
    /// that are empty or only dots.
    ///
    /// # Errors
    /// [`NameError`] if the result is empty or too long.
    pub fn from_path(path: &str) -> Result<Self, NameError> {
        let path = path.trim_start_matches("./");
        let stem = match path.rsplit_once('.') {
            Some((stem, extension)) if is_markdown_extension(extension) => stem,
            _ => path,
        };
        let mut segments = Vec::new();
        // Windows paths have backslashes.
        for part in stem.split(['/', '\\']) {
            let mut segment = String::with_capacity(part.len());
            // The second NFC is needed because lower-casing can decompose a letter (İ).
            for c in part.trim().nfc().flat_map(char::to_lowercase).nfc() {
                if c.is_whitespace() {
                    segment.push('-');
                } else if is_slug_char(c) {
                    segment.push(c);
                }
            }
            // A command would take it for an option.
            let segment = segment.trim_start_matches('-');
            if !segment.bytes().all(|b| b == b'.') {
                segments.push(segment.to_owned());
            }
        }
        let text = segments.join("/");
        match violation(&text) {
            None => Ok(Self(text)),
            Some(violation) => Err(NameError {
                message: format!("\"{}\" gives no slug: {violation}", path.escape_debug()),
                suggestion: None,
            }),
        }
    }

    /// Returns the slug as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part after the last `/`, by which `[[name]]` links to the page.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

/// Returns whether `extension` is `md`, `markdown` or `mdx`, in any case.
pub(crate) fn is_markdown_extension(extension: &str) -> bool {
    ["md", "markdown", "mdx"].iter().any(|e| extension.eq_ignore_ascii_case(e))
}

fn is_slug_char(c: char) -> bool {
    match c {
        '.' | '_' | '-' => true,
        _ if c.is_ascii() => c.is_ascii_lowercase() || c.is_ascii_digit(),
        _ => (c.is_alphanumeric() || is_combining_mark(c)) && !is_invisible(c),
    }
}

/// Returns whether `c` is an invisible mark or letter: variation selectors, the combining grapheme
/// joiner, Hangul fillers, Khmer inherent vowels, tag characters. With them, two different slugs
/// could look the same.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Returns the first violation of the grammar.
fn violation(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("it is empty".into());
    }
    if text.len() > MAX_SLUG_BYTES {
        return Some(format!("it has {} bytes, more than {MAX_SLUG_BYTES}", text.len()));
    }
    for segment in text.split('/') {
        if segment.is_empty() {
            return Some("it has an empty segment".into());
        }
        if segment.bytes().all(|b| b == b'.') {
            return Some(format!("\"{segment}\" is not a segment"));
        }
        if let Some(c) = segment.chars().find(|&c| !is_slug_char(c)) {
            return Some(if c.is_uppercase() {
                "it has upper-case letters".into()
            } else {
                format!("it has {}", describe(c))
            });
        }
    }
    if !text.is_ascii() && (!is_nfc(text) || text.chars().any(|c| !c.to_lowercase().eq([c]))) {
        return Some("it is not in lower case and Unicode NFC".into());
    }
    None
}

fn describe(c: char) -> String {
    match c {
        ' ' => "a space".into(),
        '\\' => "a backslash".into(),
        '%' => "a percent sign".into(),
        _ if c.is_control() || is_invisible(c) || !c.is_ascii() => {
            format!("the character U+{:04X}", c as u32)
        }
        _ => format!("the character \"{c}\""),
    }
}

impl TryFrom<String> for Slug {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0
    }
}

impl std::str::FromStr for Slug {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl std::fmt::Display for Slug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a source: `^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceId(String);

impl SourceId {
    /// The source that always exists.
    pub const DEFAULT: &str = "default";

    /// Parses a source id.
    ///
    /// # Errors
    /// [`NameError`] if `text` violates the grammar.
    pub fn parse(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        let is_alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = text.as_bytes();
        let is_valid = (1..=32).contains(&bytes.len())
            && bytes.iter().all(|&b| is_alphanumeric(b) || b == b'-')
            && is_alphanumeric(bytes[0])
            && is_alphanumeric(bytes[bytes.len() - 1]);
        if is_valid {
            return Ok(Self(text));
        }
        let escaped: String = text.chars().take(80).flat_map(char::escape_debug).collect();
        Err(NameError {
            message: format!(
                "\"{escaped}\" is not a source id: \
                 1 to 32 of a-z, 0-9 and -, not beginning or ending with -"
            ),
            suggestion: None,
        })
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SourceId {
    fn default() -> Self {
        Self(Self::DEFAULT.into())
    }
}

impl TryFrom<String> for SourceId {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl From<SourceId> for String {
    fn from(id: SourceId) -> Self {
        id.0
    }
}

impl std::str::FromStr for SourceId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl std::fmt::Display for SourceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_slugs_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "empty"),
            ("a//b", "empty segment"),
            ("/a", "empty segment"),
            ("a/", "empty segment"),
            ("a/../b", "\"..\" is not a segment"),
            (".", "is not a segment"),
            ("A", "upper-case"),
            ("a b", "a space"),
            ("a\\b", "a backslash"),
            ("a%2fb", "a percent sign"),
            ("a\u{202E}b", "U+202E"),
            ("a\u{0}b", "U+0000"),
            ("a\u{200B}b", "U+200B"),
            ("a\u{FE0F}", "U+FE0F"),
            ("cafe\u{301}", "NFC"),
            ("a:b", "\":\""),
            ("😀", "U+1F600"),
        ] {
            let error = Slug::parse(text).unwrap_err();
            assert!(error.message.contains(reason), "{text:?}: {}", error.message);
        }
        assert!(Slug::parse("a".repeat(MAX_SLUG_BYTES)).is_ok());
        assert!(Slug::parse("a".repeat(MAX_SLUG_BYTES + 1)).is_err());
    }

    #[test]
    fn letters_of_many_scripts_are_valid() {
        for text in [
            "people/ann-lee",
            "読書/日本語",
            "बातें/हिन्दी",
            "v1.2_x",
            "страница",
            "ไทย/บันทึก",
            ".obsidian/x",
            "tiếng-việt",
        ] {
            assert_eq!(Slug::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Slug::parse("a/b/c").unwrap().name(), "c");
    }

    #[test]
    fn a_path_gives_a_slug_or_an_error() {
        for (path, slug) in [
            ("./People/Ann Lee.md", "people/ann-lee"),
            ("notes.MARKDOWN", "notes"),
            ("a/b.mdx", "a/b"),
            ("a\\b\\C.md", "a/b/c"),
            ("x.md.md", "x.md"),
            ("100% sure?.md", "100-sure"),
            ("../../etc/passwd", "etc/passwd"),
            ("CAFE\u{301}.md", "café"),
            ("İstanbul.md", "i̇stanbul"),
            ("日本語 メモ.md", "日本語-メモ"),
        ] {
            assert_eq!(Slug::from_path(path).unwrap().as_str(), slug, "{path}");
        }
        assert!(Slug::from_path("???.md").is_err());
        let error = Slug::parse("My Page").unwrap_err();
        assert_eq!(error.suggestion.as_deref(), Some("my-page"));
    }

    #[test]
    fn source_ids_match_their_pattern() {
        for good in ["default", "a", "a-b", "0", &"a".repeat(32)] {
            assert!(SourceId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "é", &"a".repeat(33)] {
            assert!(SourceId::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_slug_from_any_path_is_valid_and_stable(
            path in "\\PC{0,40}|[a-zA-Z./ \\\\%-]{0,40}|.{0,60}") {
            if let Ok(slug) = Slug::from_path(&path) {
                prop_assert_eq!(&Slug::parse(slug.as_str()).unwrap(), &slug);
                prop_assert_eq!(&Slug::from_path(&format!("{slug}.md")).unwrap(), &slug);
                let mut segments = slug.as_str().split('/');
                prop_assert!(!segments.any(|s| s.is_empty() || s == "." || s == ".."));
                prop_assert!(!slug.as_str().starts_with('/'));
                prop_assert!(!slug.as_str().contains(['\\', '%', '\0']));
            }
        }

        #[test]
        fn parsing_never_changes_a_slug(text in "\\PC{0,30}") {
            if let Ok(slug) = Slug::parse(text.clone()) {
                prop_assert_eq!(slug.as_str(), text.as_str());
            }
        }
    }
}
