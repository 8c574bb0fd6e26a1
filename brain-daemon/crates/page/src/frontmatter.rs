//! Frontmatter: the block of YAML or TOML at the head of a page. Reading keeps the text; an edit
//! changes only the lines of its key. This module knows neither the body, nor the time, nor the
//! keys that brain itself writes (provenance).

use super::toml;
use super::yaml::{self, BadText, Mapping, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;

mod edit;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

/// Maximum length of frontmatter, in bytes of the YAML or TOML between the lines of dashes or plus
/// signs. Frontmatter usually has a few hundred.
pub const MAX_FRONTMATTER: usize = 64 * 1024;

/// Keys whose case does not matter.
const ANY_CASE_KEYS: [&str; 6] = ["title", "type", "tags", "tag", "aliases", "alias"];

/// Why frontmatter cannot be parsed. A page with such frontmatter must not be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("frontmatter, line {line}, column {column}: {message}")]
pub struct FrontmatterError {
    /// The line in the whole document, 1-based; the first `---` or `+++` is line 1.
    pub line: usize,
    /// The column, 1-based, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// The frontmatter of a page: its exact YAML or TOML, with LF line ends, and the values of its
/// top-level keys. The text of TOML begins with the line `+++`, that of YAML has no such line.
///
/// Two frontmatters are equal if their texts are equal.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    /// The text; it ends with a line end unless empty.
    raw: String,
    map: Mapping,
}

impl PartialEq for Frontmatter {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Frontmatter {}

impl Default for Frontmatter {
    fn default() -> Self {
        Self::empty()
    }
}

impl Frontmatter {
    /// Returns an empty frontmatter.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            raw: String::new(),
            map: Mapping { entries: Vec::new(), is_block_style: true, indent: 0 },
        }
    }

    /// Parses the YAML between the lines of dashes, without them, or TOML after a line `+++`. CRLF
    /// and CR become LF, a missing last line end is added, and white space alone becomes empty.
    /// Nothing else changes.
    ///
    /// # Errors
    /// When the text is malformed, longer than [`MAX_FRONTMATTER`], or has a line that would close
    /// the block. When YAML is not a mapping, has a key twice or an alias, or nests too deep.
    pub fn parse(raw: &str) -> Result<Self, FrontmatterError> {
        Self::read(raw).map_err(|failure| match failure {
            BadText::NotMapping => FrontmatterError {
                line: 2,
                column: 1,
                message: "not a `key: value` line; write one key on each line".into(),
            },
            // Counts the line of dashes before it.
            BadText::Bad { line, column, message } => {
                FrontmatterError { line: line + 1, column, message }
            }
        })
    }

    pub(super) fn read(raw: &str) -> Result<Self, BadText> {
        let bad = |line, message| Err(BadText::Bad { line, column: 1, message });
        if is_blank(raw) {
            return Ok(Self::empty());
        }
        let mut raw = if raw.contains('\r') {
            raw.replace("\r\n", "\n").replace('\r', "\n")
        } else {
            raw.to_owned()
        };
        if !raw.ends_with('\n') {
            raw.push('\n');
        }
        if raw.len() > MAX_FRONTMATTER {
            return bad(
                1,
                format!("{} bytes of frontmatter, more than {MAX_FRONTMATTER}", raw.len()),
            );
        }
        if let Some(text) = toml::block(&raw) {
            if let Some(n) = text.lines().position(|line| line.trim_end() == toml::FENCE) {
                return bad(n + 1, "a line of plus signs ends the frontmatter".into());
            }
            let map = toml::read(text)?;
            return Ok(Self { raw, map });
        }
        if let Some(n) = raw.lines().position(is_closing) {
            return bad(n + 1, "a line of dashes or dots ends the frontmatter".into());
        }
        let map = yaml::read(&raw)?;
        Ok(Self { raw, map })
    }

    /// Returns the text with LF line ends; empty if there is none. TOML begins with a line `+++`.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns whether there is no text; a comment is text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Returns the `title` on one line, if it is not blank.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.line("title")
    }

    /// Returns the `type` on one line, if it is not blank.
    #[must_use]
    pub fn page_type(&self) -> Option<String> {
        self.line("type")
    }

    /// Returns the tags (`tags` and `tag`): a list, or one text separated by commas or else white
    /// space. Each is trimmed, without leading `#`, in NFC and lower case, and occurs once, in the
    /// author's order.
    #[must_use]
    pub fn tags(&self) -> Vec<String> {
        let (mut tags, mut known) = (Vec::new(), HashSet::new());
        let mut add = |text: &str| {
            let tag = normalize_tag(text);
            if !tag.is_empty() && known.insert(tag.clone()) {
                tags.push(tag);
            }
        };
        for key in ["tags", "tag"] {
            match self.value(key) {
                Some(Value::Text(text)) if text.contains(',') => text.split(',').for_each(&mut add),
                Some(Value::Text(text)) => text.split_whitespace().for_each(&mut add),
                Some(Value::List(list)) => list.iter().for_each(|tag| add(tag)),
                _ => {}
            }
        }
        tags
    }

    /// Returns the other names of the page (`aliases`, `alias` and `permalink`), trimmed, each once.
    /// A single text is one alias, even with commas. The address of other programs in `permalink`
    /// loses its outer slashes.
    #[must_use]
    pub fn aliases(&self) -> Vec<String> {
        let (mut aliases, mut known) = (Vec::new(), HashSet::new());
        for alias in ["aliases", "alias"].into_iter().flat_map(|key| self.list(key)) {
            let alias = alias.split_whitespace().collect::<Vec<_>>().join(" ");
            if !alias.is_empty() && known.insert(alias.clone()) {
                aliases.push(alias);
            }
        }
        let permalink = self.get("permalink").map(|text| text.trim().trim_matches('/').to_owned());
        aliases.extend(permalink.filter(|text| !text.is_empty() && !known.contains(text)));
        aliases
    }

    /// Returns the scalar at `key` as written, without quotes: `1.10`, `no`, `2024-01-02`. `None`
    /// when the key is absent, null, a list or a mapping. An unquoted `[[name]]` is a scalar here.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns whether `key` has a value other than null.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.value(key).is_some_and(|value| !matches!(value, Value::Null))
    }

    /// Returns the scalars at `key`: the scalars of a sequence, or the one scalar.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::Text(text)) => vec![text.clone()],
            Some(Value::List(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns whether the value of `key` is absent, null, a scalar, or a list of scalars. Then
    /// [`Frontmatter::list`] has all of it, and setting the key loses nothing.
    #[must_use]
    pub fn is_plain(&self, key: &str) -> bool {
        let key = self.spelling(key);
        self.map.entries.iter().filter(|e| e.key == key).all(|e| e.is_complete)
    }

    /// Returns the top-level keys, in the author's order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.map.entries.iter().map(|e| e.key.as_str())
    }

    /// Returns every top-level key with the values of [`Frontmatter::list`], in one pass.
    pub(super) fn lists(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.map.entries.iter().map(|e| {
            let values = match &e.value {
                Value::Text(text) => std::slice::from_ref(text),
                Value::List(list) => list,
                Value::Null | Value::Other => &[],
            };
            (e.key.as_str(), values)
        })
    }

    /// Returns every top-level key with its texts: those of [`Frontmatter::list`], or nested YAML as
    /// written.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, Cow<'_, [String]>)> {
        self.map.entries.iter().map(|e| {
            let values = match &e.value {
                Value::Text(text) => Cow::Borrowed(std::slice::from_ref(text)),
                Value::List(list) if e.is_complete => Cow::Borrowed(list.as_slice()),
                Value::List(_) | Value::Other => {
                    let block = self.raw.get(e.block.clone()).unwrap_or_default();
                    let nested = block.split_once(':').map_or("", |(_, nested)| nested);
                    Cow::Owned(vec![nested.to_owned()])
                }
                Value::Null => Cow::Borrowed(&[][..]),
            };
            (e.key.as_str(), values)
        })
    }

    /// Returns whether both are equal without `ignored_keys` (time stamps, provenance).
    /// Compares the text as written, including comments, but ignores blank lines and white space at
    /// line ends.
    #[must_use]
    pub fn has_same_content(&self, other: &Self, ignored_keys: &[&str]) -> bool {
        let (mine, theirs) = (self.without(ignored_keys), other.without(ignored_keys));
        let lines = |text: &'_ str| -> Vec<String> {
            text.lines()
                .map(str::trim_end)
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect()
        };
        mine == theirs || lines(&mine) == lines(&theirs)
    }

    fn without(&self, ignored_keys: &[&str]) -> String {
        let mut this = self.clone();
        for key in ignored_keys {
            this.remove(key);
        }
        this.raw
    }

    /// Returns the spelling of `key` in this frontmatter. Keys of a page's name, type and tags are
    /// the same in any case, as Obsidian reads them.
    fn spelling<'a>(&'a self, key: &'a str) -> &'a str {
        if !ANY_CASE_KEYS.contains(&key) || self.keys().any(|own| own == key) {
            return key;
        }
        self.keys().find(|own| own.eq_ignore_ascii_case(key)).unwrap_or(key)
    }

    fn value(&self, key: &str) -> Option<&Value> {
        let key = self.spelling(key);
        self.map.entries.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    fn line(&self, key: &str) -> Option<String> {
        let text = self.get(key)?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    }
}

/// Returns a tag as it is stored and compared: without leading `#`, trimmed, NFC, lower case.
#[must_use]
pub fn normalize_tag(text: &str) -> String {
    let tag: String = text.trim().trim_start_matches('#').trim().nfc().collect();
    tag.to_lowercase().nfc().collect()
}

/// Returns whether the text has nothing but white space, after the line `+++` of TOML.
fn is_blank(raw: &str) -> bool {
    raw.strip_prefix(toml::FENCE).unwrap_or(raw).trim().is_empty()
}

/// Returns whether `line` ends a block of YAML.
pub(super) fn is_closing(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}
