//! Edits of frontmatter: sets, removes and copies keys. All other bytes stay.

use std::collections::HashMap;
use std::ops::Range;

use super::toml::NewValue;
use super::yaml::TopLevelKey;
use super::{Frontmatter, Value, is_blank, toml, yaml};
use crate::date_keys::is_date_key;

impl Frontmatter {
    /// Sets `key` to the text `value`. Replaces the key's lines in place, or adds a line at the
    /// end; all other bytes stay. Quotes the value only if the language requires it. In TOML,
    /// writes a date for a date key or in place of a date; else a string. Does nothing when the key
    /// has this value.
    ///
    /// The result can be longer than [`MAX_FRONTMATTER`](super::MAX_FRONTMATTER); callers that set
    /// long texts must check that.
    pub fn set(&mut self, key: &str, value: &str) {
        if self.get(key).as_deref() != Some(value) {
            self.set_values(&[(key, NewValue::Text(value))]);
        }
    }

    /// Sets several keys as [`Frontmatter::set`] does. Parses the text once.
    pub fn set_all(&mut self, pairs: &[(&str, &str)]) {
        let known = self.values();
        let is_known = |key: &str, value: &str| {
            known.get(key).is_some_and(|it| matches!(it, Value::Text(text) if text == value))
        };
        let values: Vec<_> = pairs
            .iter()
            .filter(|(key, value)| !is_known(key, value))
            .map(|(key, value)| (*key, NewValue::Text(value)))
            .collect();
        self.set_values(&values);
    }

    /// Sets `key` to a block list of `values`, or removes it when there are none. Otherwise like
    /// [`Frontmatter::set`].
    pub fn set_list(&mut self, key: &str, values: &[String]) {
        if values.is_empty() {
            return self.remove(key);
        }
        if self.list(key) != values {
            self.set_values(&[(key, NewValue::List(values))]);
        }
    }

    /// Sets these values. Parses the text once.
    fn set_values(&mut self, values: &[(&str, NewValue<'_>)]) {
        if values.is_empty() {
            return;
        }
        let before = self.clone();
        let values: Vec<_> =
            values.iter().map(|(key, value)| (before.spelling(key), *value)).collect();
        if self.is_toml() {
            let values: Vec<_> =
                values.iter().map(|(key, value)| (*key, toml_value(key, *value))).collect();
            if let Some(raw) = toml::set_all(&self.raw, &values) {
                self.replace(raw);
            }
            return;
        }
        let lines: Vec<(&str, Option<String>)> =
            values.iter().map(|(key, value)| (*key, lines_of(key, *value))).collect();
        self.put_all(&lines);
    }

    /// Removes `key` with its lines and the blank lines after them. Comments in the first column
    /// stay in YAML; in TOML, those directly above the key are removed, too.
    pub fn remove(&mut self, key: &str) {
        if self.value(key).is_none() {
            return;
        }
        let key = &*self.spelling(key).to_owned();
        match toml::remove(&self.raw, key) {
            Some(raw) => self.replace(raw),
            None => self.put_all(&[(key, None)]),
        }
    }

    /// Removes `key` as [`Frontmatter::remove`] does, and returns its lines as written, without
    /// white space at their end. Returns `None` if the key is absent.
    pub fn take(&mut self, key: &str) -> Option<String> {
        if let Some(text) = toml::line_of(&self.raw, key) {
            self.remove(key);
            return Some(text);
        }
        let lines = self.in_block_style();
        let entry = lines.map.entries.iter().find(|e| e.key == key)?;
        let text = lines.block(entry).trim_end().to_owned();
        self.remove(key);
        Some(text)
    }

    /// Copies the keys of `other`, except those in `except`, as written there. All other bytes
    /// stay. Returns whether anything changed. Between YAML and TOML, texts and lists are copied.
    pub fn adopt(&mut self, other: &Self, except: &[&str]) -> bool {
        if self.is_toml() || other.is_toml() {
            return self.adopt_values(other, except);
        }
        let (theirs, mine) = (other.in_block_style(), self.in_block_style());
        let blocks: HashMap<&str, String> =
            mine.map.entries.iter().map(|e| (e.key.as_str(), mine.block(e))).collect();
        let mut new = Vec::new();
        for entry in theirs.map.entries.iter().filter(|e| !except.contains(&e.key.as_str())) {
            let block = theirs.block(entry);
            let same = blocks.get(entry.key.as_str());
            if same.is_none_or(|mine| mine.trim_end() != block.trim_end()) {
                new.push((entry.key.as_str(), Some(block)));
            }
        }
        if !new.is_empty() {
            self.put_all(&new);
        }
        !new.is_empty()
    }

    fn adopt_values(&mut self, other: &Self, except: &[&str]) -> bool {
        let before = self.raw.clone();
        if self.is_empty() {
            self.clone_from(other);
            except.iter().for_each(|key| self.remove(key));
            return self.raw != before;
        }
        let known = self.values();
        let mut new = Vec::new();
        for entry in other.map.entries.iter().filter(|e| !except.contains(&e.key.as_str())) {
            let value = match &entry.value {
                Value::Text(text) => NewValue::Text(text),
                Value::List(list) if entry.is_complete => NewValue::List(list),
                _ => continue,
            };
            let is_same = match (known.get(entry.key.as_str()), &entry.value) {
                (Some(Value::Text(mine)), Value::List(theirs)) => {
                    theirs.as_slice() == std::slice::from_ref(mine)
                }
                (mine, theirs) => mine.is_some_and(|mine| *mine == theirs),
            };
            if !is_same {
                new.push((entry.key.as_str(), value));
            }
        }
        self.set_values(&new);
        self.raw != before
    }

    /// Returns the values by key.
    fn values(&self) -> HashMap<&str, &Value> {
        self.map.entries.iter().map(|e| (e.key.as_str(), &e.value)).collect()
    }

    /// Returns the lines of an entry, without their indent.
    fn block(&self, entry: &TopLevelKey) -> String {
        dedent(&self.raw[entry.block.clone()], self.map.indent)
    }

    /// Returns whether the text is TOML.
    fn is_toml(&self) -> bool {
        toml::block(&self.raw).is_some()
    }

    /// Returns a copy with each key on its own lines; rewrites a flow mapping.
    fn in_block_style(&self) -> Self {
        let mut this = self.clone();
        if !this.map.is_block_style {
            let text = this.map.to_lines(&this.raw);
            this.replace(text);
        }
        this
    }

    /// Replaces the lines of each key, or adds them at the end. Without lines, removes the key.
    fn put_all(&mut self, edits: &[(&str, Option<String>)]) {
        if !self.map.is_block_style {
            let text = self.map.to_lines(&self.raw);
            self.replace(text);
        }
        let blocks: HashMap<&str, &Range<usize>> =
            self.map.entries.iter().map(|e| (e.key.as_str(), &e.block)).collect();
        let end = self.raw.len()..self.raw.len();
        let place = |key: &str| blocks.get(key).map_or(&end, |block| *block).clone();
        let mut edits: Vec<_> = edits.iter().map(|(key, lines)| (place(key), lines)).collect();
        edits.sort_by_key(|(at, _)| at.start);
        let indent = " ".repeat(self.map.indent);
        let (mut text, mut position) = (String::with_capacity(self.raw.len()), 0);
        for (at, lines) in edits {
            text.push_str(self.raw.get(position..at.start).unwrap_or_default());
            for line in lines.as_deref().unwrap_or_default().split_inclusive('\n') {
                text.push_str(&indent);
                text.push_str(line);
            }
            position = at.end;
            // Blank lines are removed with the key: after a block scalar, they would become part of
            // that scalar.
            while lines.is_none()
                && let Some((blank, _)) = self.raw[position..].split_once('\n')
                && blank.trim().is_empty()
            {
                position += blank.len() + 1;
            }
        }
        text.push_str(&self.raw[position..]);
        self.replace(text);
    }

    fn replace(&mut self, raw: String) {
        if is_blank(&raw) {
            *self = Self::empty();
            return;
        }
        let read = toml::block(&raw).map_or_else(|| yaml::read(&raw), toml::read);
        debug_assert!(read.is_ok(), "an edit broke the frontmatter: {raw:?}: {read:?}");
        // Valid lines replace whole lines of a valid block, so this always holds.
        if let Ok(map) = read {
            self.map = map;
            self.raw = raw;
        }
    }
}

/// Returns the lines of YAML that set `key`; `None` for an empty list.
fn lines_of(key: &str, value: NewValue<'_>) -> Option<String> {
    let key = yaml::scalar(key);
    match value {
        NewValue::Text(text) | NewValue::Date(text) | NewValue::Scalar(text) => {
            Some(format!("{key}: {}\n", yaml::scalar(text)))
        }
        NewValue::List([]) => None,
        NewValue::List(texts) => {
            let mut lines = format!("{key}:\n");
            for text in texts {
                lines.push_str("  - ");
                lines.push_str(&yaml::scalar(text));
                lines.push('\n');
            }
            Some(lines)
        }
    }
}

/// Chooses the TOML type of a text. A date key has a date; `title` and `type` have a string;
/// another key has a date only in place of a date.
fn toml_value<'a>(key: &str, value: NewValue<'a>) -> NewValue<'a> {
    match value {
        NewValue::Text(text) if is_date_key(key) => NewValue::Date(text),
        NewValue::Text(text) if !matches!(key, "title" | "type") => NewValue::Scalar(text),
        other => other,
    }
}

/// Returns the lines without the first `indent` spaces.
fn dedent(lines: &str, indent: usize) -> String {
    let prefix = " ".repeat(indent);
    lines
        .split_inclusive('\n')
        .map(|line| line.strip_prefix(prefix.as_str()).unwrap_or(line))
        .collect()
}
