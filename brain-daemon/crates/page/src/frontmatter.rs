//! The YAML block at the head of a page: read without changing it, edited key by key with every other byte kept.
//! Knows nothing of the body below it, of time, or of which keys the daemon writes.

use super::yaml::{self, Failure, Mapping, Value};
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;

mod edit;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

/// The longest frontmatter, in bytes of YAML between the two lines of dashes. Real ones have a few hundred.
pub const MAX_FRONTMATTER: usize = 64 * 1024;

/// Frontmatter that cannot be read. Nothing of the page may be stored then, and nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("frontmatter, line {line}, column {column}: {message}")]
pub struct FrontmatterError {
    /// The line in the whole document, 1-based; the first `---` is line 1.
    pub line: usize,
    /// The column, 1-based, in characters.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// The frontmatter of a page: its YAML text to the byte (with LF line ends), and what its top-level keys say.
///
/// Two are equal when their text is.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    /// Ends with a line end unless empty.
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
    /// No frontmatter.
    #[must_use]
    pub fn empty() -> Self {
        Self { raw: String::new(), map: Mapping { entries: Vec::new(), in_lines: true, indent: 0 } }
    }

    /// Reads the YAML between the lines of dashes (without them). CRLF and CR become LF, a missing last line end is added,
    /// and nothing but white space is empty; all else stays.
    ///
    /// # Errors
    /// YAML that is malformed, is no mapping, has a key twice, an alias, or a line that would close the block, nests too
    /// deep, or is longer than [`MAX_FRONTMATTER`].
    pub fn parse(raw: &str) -> Result<Self, FrontmatterError> {
        Self::read(raw).map_err(|failure| match failure {
            Failure::NotMapping => FrontmatterError {
                line: 2,
                column: 1,
                message: "this is no `key: value`; write one key to a line".into(),
            },
            // The line of dashes before it counts.
            Failure::Bad { line, column, message } => {
                FrontmatterError { line: line + 1, column, message }
            }
        })
    }

    pub(super) fn read(raw: &str) -> Result<Self, Failure> {
        let bad = |line, message| Err(Failure::Bad { line, column: 1, message });
        if raw.trim().is_empty() {
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
        if let Some(n) = raw.lines().position(is_closing) {
            return bad(n + 1, "a line of dashes or dots ends the frontmatter".into());
        }
        let map = yaml::read(&raw)?;
        Ok(Self { raw, map })
    }

    /// The YAML text, with LF line ends, the last one included; empty when there is none.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether there is no text at all (a comment is text).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The `title`, on one line, if it has one that is not blank.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.line("title")
    }

    /// The `type`, on one line, if it has one that is not blank.
    #[must_use]
    pub fn page_type(&self) -> Option<String> {
        self.line("type")
    }

    /// The tags (`tags`, and `tag`): a list, or one text with commas or else white space between. Without leading `#`, trimmed,
    /// NFC, lower case, each once, in the author's order.
    #[must_use]
    pub fn tags(&self) -> Vec<String> {
        let (mut tags, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |text: &str| {
            let tag = normalize_tag(text);
            if !tag.is_empty() && seen.insert(tag.clone()) {
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

    /// The other names of the page (`aliases`, and `alias`), trimmed, each once. A single text is one alias, commas and all.
    #[must_use]
    pub fn aliases(&self) -> Vec<String> {
        let (mut aliases, mut seen) = (Vec::new(), HashSet::new());
        for alias in ["aliases", "alias"].into_iter().flat_map(|key| self.list(key)) {
            let alias = alias.split_whitespace().collect::<Vec<_>>().join(" ");
            if !alias.is_empty() && seen.insert(alias.clone()) {
                aliases.push(alias);
            }
        }
        aliases
    }

    /// The scalar at `key` as the author wrote it, without quotes (`1.10`, `no`, `2024-01-02` stay as they are). None when the key
    /// is absent, null, or holds a list or a mapping. An unquoted `[[name]]` is a scalar here.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// Whether `key` is there and says something: it is not null.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.value(key).is_some_and(|value| !matches!(value, Value::Null))
    }

    /// The scalars at `key`: those of a sequence, or the one scalar. What else is in a sequence is left out.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::Text(text)) => vec![text.clone()],
            Some(Value::List(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    /// Whether [`Frontmatter::list`] says all that stands at `key`, so that setting the key loses nothing: it is absent, null, a
    /// scalar, or a list of scalars.
    #[must_use]
    pub fn is_plain(&self, key: &str) -> bool {
        self.map.entries.iter().filter(|e| e.key == key).all(|e| e.whole)
    }

    /// The top-level keys, in the author's order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.map.entries.iter().map(|e| e.key.as_str())
    }

    /// Every top-level key with what [`Frontmatter::list`] says of it, in one pass.
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

    /// Whether both say the same when the lines of the keys in `ignoring` (time stamps, provenance) are left out: the rest of the
    /// text is compared as written, comments included, white space at the ends and blank lines not.
    #[must_use]
    pub fn same_content(&self, other: &Self, ignoring: &[&str]) -> bool {
        let (mine, theirs) = (self.without(ignoring), other.without(ignoring));
        let lines = |text: &'_ str| -> Vec<String> {
            text.lines()
                .map(str::trim_end)
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect()
        };
        mine == theirs || lines(&mine) == lines(&theirs)
    }

    fn without(&self, ignoring: &[&str]) -> String {
        let mut this = self.clone();
        for key in ignoring {
            this.remove(key);
        }
        this.raw
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.map.entries.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    fn line(&self, key: &str) -> Option<String> {
        let text = self.get(key)?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    }
}

/// A tag as it is stored and compared: without leading `#`, trimmed, NFC, lower case.
#[must_use]
pub fn normalize_tag(text: &str) -> String {
    let tag: String = text.trim().trim_start_matches('#').trim().nfc().collect();
    tag.to_lowercase().nfc().collect()
}

/// Whether `line` ends a frontmatter block.
pub(super) fn is_closing(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}
