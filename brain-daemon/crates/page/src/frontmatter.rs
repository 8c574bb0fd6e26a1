//! The YAML block at the head of a page: read without changing it, edited key by key with every other byte kept.
//! Knows nothing of the body below it, of time, or of which keys the daemon writes.

use super::yaml::{self, Failure, Mapping, Value};
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;

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

    /// Sets `key` to the text `value`: the key's lines are replaced where they stand, or a line is added at the end; every other
    /// byte stays. Quoted only if YAML needs it. Nothing changes when the key says that already.
    ///
    /// The result may be longer than [`MAX_FRONTMATTER`]: whoever sets long texts checks that.
    pub fn set(&mut self, key: &str, value: &str) {
        if self.get(key).as_deref() != Some(value) {
            self.put(key, Some(&line(key, value)));
        }
    }

    /// Sets several keys, each like [`Frontmatter::set`]. The text is read again once for all that are new.
    pub fn set_all(&mut self, pairs: &[(&str, &str)]) {
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

    /// Sets `key` to a block list of `values`, or removes it when there are none. Otherwise like [`Frontmatter::set`].
    pub fn set_list(&mut self, key: &str, values: &[String]) {
        if values.is_empty() {
            return self.remove(key);
        }
        if self.list(key) == values {
            return;
        }
        let mut lines = format!("{}:\n", yaml::scalar(key));
        for value in values {
            lines.push_str("  - ");
            lines.push_str(&yaml::scalar(value));
            lines.push('\n');
        }
        self.put(key, Some(&lines));
    }

    /// Removes `key`, its lines and the blank ones behind them; comments in the first column stay.
    pub fn remove(&mut self, key: &str) {
        if self.value(key).is_some() {
            self.put(key, None);
        }
    }

    /// Removes `key` like [`Frontmatter::remove`], and returns its lines as they are written, without the last line end.
    pub fn take(&mut self, key: &str) -> Option<String> {
        let lines = self.one_key_a_line();
        let entry = lines.map.entries.iter().find(|e| e.key == key)?;
        let text = dedent(&lines.raw[entry.block.clone()], lines.map.indent).trim_end().to_owned();
        self.remove(key);
        Some(text)
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

    /// Takes over the keys of `other` but for those in `except`, as they are written there; every other byte stays. Whether
    /// anything changed.
    pub fn adopt(&mut self, other: &Self, except: &[&str]) -> bool {
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

    fn one_key_a_line(&self) -> Self {
        let mut this = self.clone();
        if !this.map.in_lines {
            let text = this.map.to_lines(&this.raw);
            this.replace(text);
        }
        this
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

    /// Puts `lines` in place of those of `key`, or at the end.
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
        // Blank lines go with a removed key: behind a block scalar above, they would become part of it.
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
        if raw.trim().is_empty() {
            *self = Self::empty();
            return;
        }
        let read = yaml::read(&raw);
        debug_assert!(read.is_ok(), "an edit broke the frontmatter: {raw:?}: {read:?}");
        // Whole lines of a sound block are replaced by sound ones, so this always holds.
        if let Ok(map) = read {
            self.map = map;
            self.raw = raw;
        }
    }
}

fn line(key: &str, value: &str) -> String {
    format!("{}: {}\n", yaml::scalar(key), yaml::scalar(value))
}

/// A tag as it is stored and compared: without leading `#`, trimmed, NFC, lower case.
#[must_use]
pub fn normalize_tag(text: &str) -> String {
    let tag: String = text.trim().trim_start_matches('#').trim().nfc().collect();
    tag.to_lowercase().nfc().collect()
}

/// Lines without the first `indent` spaces.
fn dedent(lines: &str, indent: usize) -> String {
    let prefix = " ".repeat(indent);
    lines
        .split_inclusive('\n')
        .map(|line| line.strip_prefix(prefix.as_str()).unwrap_or(line))
        .collect()
}

/// Whether `line` ends a frontmatter block.
pub(super) fn is_closing(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fm(raw: &str) -> Frontmatter {
        Frontmatter::parse(raw).unwrap()
    }

    #[test]
    fn scalars_are_the_authors_text() {
        let f = fm(
            "no: no\nversion: 1.10\ndate: 2024-01-02\ntitle: 2024\nq: 'it''s'\ne: \"a\\tb\"\nn: null\nv:\nm: {a: 1}\nz: 007\nt: 1:30\n",
        );
        assert_eq!(f.get("no").unwrap(), "no");
        assert_eq!(f.get("version").unwrap(), "1.10");
        assert_eq!(f.get("date").unwrap(), "2024-01-02");
        assert_eq!(f.title().unwrap(), "2024");
        assert_eq!(f.get("q").unwrap(), "it's");
        assert_eq!(f.get("e").unwrap(), "a\tb");
        assert_eq!(f.get("z").unwrap(), "007");
        assert_eq!(f.get("t").unwrap(), "1:30");
        assert_eq!((f.get("n"), f.get("v"), f.get("m"), f.get("absent")), (None, None, None, None));
        assert_eq!(fm("title: \"null\"").get("title").unwrap(), "null");
        assert_eq!(fm("title: >\n  two\n  lines\n").title().unwrap(), "two lines");
    }

    #[test]
    fn tags_and_aliases_in_every_spelling() {
        for raw in [
            "tags: [A, '#b', a]",
            "tags:\n- a\n- b",
            "tags: a, b",
            "tags: a b",
            "tags: '#a #B'",
            "tag: a\ntags: [a]\n# c\nx: 1",
        ] {
            let want: &[&str] = if raw.starts_with("tag:") { &["a"] } else { &["a", "b"] };
            assert_eq!(fm(raw).tags(), want, "{raw}");
        }
        assert_eq!(fm("tags:\n  - cafe\u{301} x\n  - [n, o]\n  -\n").tags(), ["café x"]);
        assert!(fm("tags:").tags().is_empty());
        assert_eq!(
            fm("aliases: [ACME, ' Acme  Inc ', ACME]\nalias: A, B").aliases(),
            ["ACME", "Acme Inc", "A, B"]
        );
    }

    #[test]
    fn unquoted_wiki_links_are_scalars() {
        let f = fm(
            "company: [[Acme]]\npeople:\n  - [[a/b|Ann]]\n  - '[[c]]'\nall: [[[A]], [[B]]]\nnested: [[a], [b]]\n",
        );
        assert_eq!(f.get("company").unwrap(), "[[Acme]]");
        assert_eq!(f.list("people"), ["[[a/b|Ann]]", "[[c]]"]);
        assert_eq!(f.list("all"), ["[[A]]", "[[B]]"]);
        assert!(f.list("nested").is_empty());
    }

    #[test]
    fn an_edit_touches_its_own_lines_only() {
        let raw = "# head\ntitle: Old # why\n\n# about tags\ntags:\n  - a\n  - b\n'odd key': {x: 1}\n# tail\n";
        let mut f = fm(raw);
        f.set("title", "Old");
        f.set_list("tags", &["a".into(), "b".into()]);
        f.remove("absent");
        assert_eq!(f.raw(), raw);
        f.set("title", "New: one");
        f.set_list("tags", &["no".into()]);
        f.set("odd key", "1");
        f.set("more", "x");
        assert_eq!(
            f.raw(),
            "# head\ntitle: \"New: one\"\n\n# about tags\ntags:\n  - \"no\"\nodd key: \"1\"\n# tail\nmore: x\n"
        );
        f.set_list("tags", &[]);
        f.remove("title");
        assert_eq!(f.raw(), "# head\n# about tags\nodd key: \"1\"\n# tail\nmore: x\n");
        let mut f = fm("a: 1");
        f.remove("a");
        assert!(f.is_empty());
        f.set("a", "x");
        assert_eq!(f.raw(), "a: x\n");
    }

    #[test]
    fn what_a_list_leaves_out_is_told() {
        let f = fm("a: 1\nb: [x, y]\nc: [x, {y: z}]\nd: {e: f}\ng:\nh: [x, [y]]\n");
        let plain: Vec<&str> = ["a", "b", "c", "d", "g", "h", "absent"]
            .into_iter()
            .filter(|k| f.is_plain(k))
            .collect();
        assert_eq!(plain, ["a", "b", "g", "absent"]);
    }

    #[test]
    fn keys_are_adopted_as_they_are_written() {
        let mut f = fm("title: Mine\nx: 1 # kept\n");
        assert!(
            f.adopt(&fm("x: 1 # kept\ntitle: Theirs\nlist:\n  - a # why\n  - b\n"), &["title"])
        );
        assert_eq!(f.raw(), "title: Mine\nx: 1 # kept\nlist:\n  - a # why\n  - b\n");
        assert!(!f.adopt(&fm("list:\n  - a # why\n  - b\n"), &[]));
        assert!(f.adopt(&fm("{x: 2}"), &[]));
        assert_eq!(f.get("x").unwrap(), "2");
    }

    #[test]
    fn flow_and_indented_mappings_can_be_edited() {
        let mut f = fm("{title: x, \"tags\": [a,\n  b], empty, m: {k: v}}");
        f.set("type", "note");
        assert_eq!(f.raw(), "title: x\ntags: [a,\n    b]\nempty:\nm: {k: v}\ntype: note\n");
        assert_eq!(f.tags(), ["a", "b"]);
        let mut f = fm("  a: 1\n  b: 2\n");
        f.set("a", "x");
        f.set_list("c", &["z".into()]);
        assert_eq!(f.raw(), "  a: x\n  b: 2\n  c:\n    - z\n");
        let mut f = fm("{a: 1}");
        f.remove("a");
        assert!(f.is_empty());
    }

    #[test]
    fn refusals_name_the_place_in_the_document() {
        let e = Frontmatter::parse("title: x\nbad: [1, 2\nmore: 3\n").unwrap_err();
        assert!(e.line >= 3, "{e}");
        let e = Frontmatter::parse("a: 1\na: 2").unwrap_err();
        assert_eq!((e.line, e.column), (3, 1));
        assert_eq!(e.to_string(), "frontmatter, line 3, column 1: the key \"a\" is there twice");
        assert!(Frontmatter::parse("prose").is_err());
        assert_eq!(Frontmatter::parse("a: |\n---\nb: 1").unwrap_err().line, 3);
        let long = format!("a: {}", "x".repeat(MAX_FRONTMATTER));
        assert!(Frontmatter::parse(&long).unwrap_err().message.contains("65536"));
    }

    #[test]
    fn time_stamps_are_no_content() {
        let a = fm("title: x\ncaptured_at: 1\n");
        let b = fm("captured_at: 2\ntitle: x\ningested_via: y\n");
        let ignoring = ["captured_at", "ingested_via"];
        assert!(a.same_content(&b, &ignoring));
        assert!(!a.same_content(&b, &["captured_at"]));
        assert!(!a.same_content(&fm("title: y"), &ignoring));
        assert!(fm("captured_at: 1").same_content(&Frontmatter::empty(), &ignoring));
    }

    proptest! {
        #[test]
        fn edits_do_what_they_say(
            raw in "(([a-d]: ?(x|'q'|\\[a, b\\]|\\{k: 1\\}|\\|\n  t\n   u|)|e:\n  - 1\n  -|# c|)\n){0,6}",
            key in "[a-f]", value in "(?s:.{0,6})", list in proptest::collection::vec("\\PC{0,5}", 1..4),
        ) {
            let Ok(before) = Frontmatter::parse(&raw) else { return Ok(()) };
            let others: Vec<_> = before.keys().filter(|k| **k != key).map(|k| (k.to_owned(), before.list(k))).collect();
            let mut f = before.clone();
            f.set(&key, &value);
            let mut both = before.clone();
            both.set_all(&[(&key, &value), ("z", "1"), ("y", &value)]);
            for (k, text) in [("z", "1"), ("y", value.as_str())] {
                f.set(k, text);
            }
            prop_assert_eq!(&both, &f);
            f.remove("z");
            f.remove("y");
            prop_assert_eq!(f.get(&key), Some(value));
            for (k, list) in &others {
                prop_assert_eq!(&f.list(k), list);
            }
            f.set_list(&key, &list);
            prop_assert_eq!(f.list(&key), list);
            prop_assert_eq!(&Frontmatter::parse(f.raw()).unwrap(), &f);
            prop_assert!(f.same_content(&before, &[&key]));
            f.remove(&key);
            prop_assert_eq!(f.list(&key), Vec::<String>::new());
            prop_assert_eq!(f.keys().count(), others.len());
        }

        #[test]
        fn whatever_can_be_read_can_be_edited(
            raw in "(([a-c]|\\{a|\\? a|'b'|  c)(: ?| )|[a-c?:\\-\\[\\]{}#&*!|>'\" \t\u{85}\u{2028}0é,+]|: \\||: >\\+\n|\n- |\n  |\n){0,14}",
            key in "[a-d]", value in "\\PC{0,4}",
        ) {
            let Ok(before) = Frontmatter::parse(&raw) else { return Ok(()) };
            let mut f = before.clone();
            f.set(&key, &value);
            prop_assert_eq!(f.get(&key), Some(value));
            prop_assert_eq!(&Frontmatter::parse(f.raw()).unwrap(), &f);
            f.remove(&key);
            prop_assert_eq!(f.get(&key), None);
            prop_assert!(f.keys().eq(before.keys().filter(|k| **k != key)));
        }
    }
}
