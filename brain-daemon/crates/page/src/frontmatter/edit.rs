//! Edits of frontmatter: sets, removes and copies keys. All other bytes stay.

use super::{Frontmatter, Value, is_blank, toml, yaml};

impl Frontmatter {
    /// Sets `key` to the text `value`. Replaces the key's lines in place, or adds a line at the
    /// end; all other bytes stay. Quotes the value only if the language requires it. Does nothing
    /// when the key has this value.
    ///
    /// The result can be longer than [`MAX_FRONTMATTER`](super::MAX_FRONTMATTER); callers that set
    /// long texts must check that.
    pub fn set(&mut self, key: &str, value: &str) {
        if self.get(key).as_deref() == Some(value) {
            return;
        }
        match toml::set(&self.raw, key, value) {
            Some(raw) => self.replace(raw),
            None => self.put(key, Some(&line(key, value))),
        }
    }

    /// Sets several keys as [`Frontmatter::set`] does. Parses the text once for all new keys.
    pub fn set_all(&mut self, pairs: &[(&str, &str)]) {
        if self.is_toml() {
            return pairs.iter().for_each(|(key, value)| self.set(key, value));
        }
        let (there, new): (Vec<_>, Vec<_>) =
            pairs.iter().partition(|(key, _)| self.value(key).is_some());
        for (key, value) in there {
            self.set(key, value);
        }
        if let Some((first, _)) = new.first() {
            let lines: String = new.iter().map(|(key, value)| line(key, value)).collect();
            self.put(first, Some(&lines));
        }
    }

    /// Sets `key` to a block list of `values`, or removes it when there are none. Otherwise like
    /// [`Frontmatter::set`].
    pub fn set_list(&mut self, key: &str, values: &[String]) {
        if values.is_empty() {
            return self.remove(key);
        }
        if self.list(key) == values {
            return;
        }
        if let Some(raw) = toml::set_list(&self.raw, key, values) {
            return self.replace(raw);
        }
        let mut lines = format!("{}:\n", yaml::scalar(key));
        for value in values {
            lines.push_str("  - ");
            lines.push_str(&yaml::scalar(value));
            lines.push('\n');
        }
        self.put(key, Some(&lines));
    }

    /// Removes `key` with its lines and the blank lines behind them. Comments in the first column
    /// stay in YAML; in TOML, those directly above the key are removed, too.
    pub fn remove(&mut self, key: &str) {
        if self.value(key).is_none() {
            return;
        }
        match toml::remove(&self.raw, key) {
            Some(raw) => self.replace(raw),
            None => self.put(key, None),
        }
    }

    /// Removes `key` as [`Frontmatter::remove`] does, and returns its lines as written, without the
    /// last line end.
    pub fn take(&mut self, key: &str) -> Option<String> {
        if let Some(text) = toml::line_of(&self.raw, key) {
            self.remove(key);
            return Some(text);
        }
        let lines = self.one_key_a_line();
        let entry = lines.map.entries.iter().find(|e| e.key == key)?;
        let text = dedent(&lines.raw[entry.block.clone()], lines.map.indent).trim_end().to_owned();
        self.remove(key);
        Some(text)
    }

    /// Copies the keys of `other`, except those in `except`, as written there. All other bytes
    /// stay. Returns whether anything changed. Between YAML and TOML, texts and lists are copied.
    pub fn adopt(&mut self, other: &Self, except: &[&str]) -> bool {
        if self.is_toml() || other.is_toml() {
            return self.adopt_values(other, except);
        }
        let theirs = other.one_key_a_line();
        let mut changed = false;
        for entry in theirs.map.entries.iter().filter(|e| !except.contains(&e.key.as_str())) {
            let block = dedent(&theirs.raw[entry.block.clone()], theirs.map.indent);
            let mine = self.one_key_a_line();
            let same = mine.map.entries.iter().find(|e| e.key == entry.key).is_some_and(|e| {
                dedent(&mine.raw[e.block.clone()], mine.map.indent).trim_end() == block.trim_end()
            });
            if !same {
                self.put(&entry.key, Some(&block));
                changed = true;
            }
        }
        changed
    }

    fn adopt_values(&mut self, other: &Self, except: &[&str]) -> bool {
        let before = self.raw.clone();
        if self.is_empty() {
            self.clone_from(other);
            except.iter().for_each(|key| self.remove(key));
            return self.raw != before;
        }
        for entry in other.map.entries.iter().filter(|e| !except.contains(&e.key.as_str())) {
            match &entry.value {
                Value::Text(text) => self.set(&entry.key, text),
                Value::List(list) if entry.whole => self.set_list(&entry.key, list),
                _ => {}
            }
        }
        self.raw != before
    }

    /// Returns whether the text is TOML.
    fn is_toml(&self) -> bool {
        toml::block(&self.raw).is_some()
    }

    fn one_key_a_line(&self) -> Self {
        let mut this = self.clone();
        if !this.map.in_lines {
            let text = this.map.to_lines(&this.raw);
            this.replace(text);
        }
        this
    }

    /// Replaces the lines of `key` by `lines`, or adds them at the end.
    fn put(&mut self, key: &str, lines: Option<&str>) {
        if !self.map.in_lines {
            let text = self.map.to_lines(&self.raw);
            self.replace(text);
        }
        let at = self.map.entries.iter().find(|e| e.key == key).map(|e| e.block.clone());
        let at = at.unwrap_or(self.raw.len()..self.raw.len());
        let indent = " ".repeat(self.map.indent);
        let mut text = String::with_capacity(self.raw.len() + lines.map_or(0, str::len));
        text.push_str(&self.raw[..at.start]);
        for line in lines.unwrap_or_default().split_inclusive('\n') {
            text.push_str(&indent);
            text.push_str(line);
        }
        let mut rest = &self.raw[at.end..];
        // Blank lines are removed with the key: behind a block scalar above, they would become part
        // of it.
        while lines.is_none()
            && let Some((blank, next)) = rest.split_once('\n')
            && blank.trim().is_empty()
        {
            rest = next;
        }
        text.push_str(rest);
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

fn line(key: &str, value: &str) -> String {
    format!("{}: {}\n", yaml::scalar(key), yaml::scalar(value))
}

/// Returns the lines without the first `indent` spaces.
fn dedent(lines: &str, indent: usize) -> String {
    let prefix = " ".repeat(indent);
    lines
        .split_inclusive('\n')
        .map(|line| line.strip_prefix(prefix.as_str()).unwrap_or(line))
        .collect()
}
