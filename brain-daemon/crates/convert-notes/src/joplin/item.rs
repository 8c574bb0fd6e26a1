//! Parses one item of Joplin.

use jiff::Timestamp;

/// Kinds of items (`BaseModel.ts`, `ModelType`).
pub(super) const NOTE: u32 = 1;
pub(super) const NOTEBOOK: u32 = 2;
pub(super) const RESOURCE: u32 = 4;
pub(super) const TAG: u32 = 5;
pub(super) const NOTE_TAG: u32 = 6;

/// The times of a note, and whether they are ISO 8601, not milliseconds.
const TIMES: [(&str, bool); 6] = [
    ("user_created_time", true),
    ("created_time", true),
    ("user_updated_time", true),
    ("updated_time", true),
    ("todo_due", false),
    ("todo_completed", false),
];

/// An item: a note, a notebook, the facts about a file, a tag, …
pub(super) struct Item<'a> {
    /// The first line; empty if the item has none.
    pub(super) title: &'a str,
    pub(super) body: &'a str,
    pub(super) kind: u32,
    properties: Vec<(&'a str, &'a str)>,
}

/// Returns the item that is the text of a file, or `None` if it does not end with properties and
/// `type_: N`.
///
/// Joplin writes the properties after the last blank line. A title may be empty, and then the text
/// begins with two line ends.
pub(super) fn parse(text: &str) -> Option<Item<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_end();
    let (mut rest, mut head) = (Some(text), "");
    let mut properties = Vec::new();
    while let Some(text) = rest {
        let (before, line) = match text.rsplit_once('\n') {
            Some((before, line)) => (Some(before), line.trim()),
            None => (None, text.trim()),
        };
        if line.is_empty() {
            head = before.unwrap_or_default();
            break;
        }
        let (key, value) = line.split_once(':')?;
        properties.push((key.trim(), value.trim()));
        rest = before;
    }
    let &(last, kind) = properties.first()?;
    let kind = kind.parse().ok().filter(|_| last == "type_")?;
    let (title, body) = head.split_once('\n').unwrap_or((head, ""));
    let body = match body.split_once('\n') {
        Some((blank, body)) if blank.trim().is_empty() => body,
        None if body.trim().is_empty() => "",
        _ => body,
    };
    Some(Item { title: title.trim(), body, kind, properties })
}

impl Item<'_> {
    /// Returns a property as it is written; empty if there is none.
    pub(super) fn raw(&self, key: &str) -> &str {
        let found = self.properties.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value).unwrap_or_default()
    }

    /// Returns a property as text. Joplin writes line ends as `\n`, and that as `\\n`.
    pub(super) fn text(&self, key: &str) -> String {
        let raw = self.raw(key);
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once('\\') {
            out.push_str(before);
            rest = after;
            if let Some(after) = rest.strip_prefix("\\n").or_else(|| rest.strip_prefix("\\r")) {
                out.push_str(if rest.starts_with("\\n") { "\\n" } else { "\\r" });
                rest = after;
            } else if let Some(after) = rest.strip_prefix(['n', 'r']) {
                out.push('\n');
                rest = after;
            } else {
                out.push('\\');
            }
        }
        out.push_str(rest);
        out
    }

    /// Returns whether a property is neither absent nor 0.
    pub(super) fn is_set(&self, key: &str) -> bool {
        !matches!(self.raw(key), "" | "0")
    }

    /// Returns the id in a property.
    pub(super) fn id(&self, key: &str) -> Option<u128> {
        id(self.raw(key))
    }

    /// Returns whether the item has an id, as each item of Joplin.
    pub(super) fn has_id(&self) -> bool {
        self.id("id").is_some()
    }

    /// Returns the first of these times that is set. Joplin writes ISO 8601 in UTC.
    pub(super) fn time(&self, keys: [&str; 2]) -> Option<Timestamp> {
        let time = |key: &str| self.raw(key).parse().ok().filter(|it| *it != Timestamp::UNIX_EPOCH);
        keys.into_iter().find_map(time)
    }

    /// Returns why times of a note are not read.
    pub(super) fn bad_times(&self) -> impl Iterator<Item = String> {
        let is_bad = |key: &str, is_text: bool| match is_text {
            true => !self.raw(key).is_empty() && self.raw(key).parse::<Timestamp>().is_err(),
            false => self.is_set(key) && self.milliseconds(key).is_none(),
        };
        TIMES
            .into_iter()
            .filter(move |(key, is_text)| is_bad(key, *is_text))
            .map(|(key, _)| format!("its time \"{key}\" is not a time: {}", self.raw(key)))
    }

    /// Returns a time that Joplin writes in milliseconds since 1970, or `None` for 0.
    pub(super) fn milliseconds(&self, key: &str) -> Option<Timestamp> {
        let number: i64 = self.raw(key).parse().ok().filter(|it| *it != 0)?;
        Timestamp::from_millisecond(number).ok()
    }
}

/// Returns the number of an id: 32 hexadecimal digits.
pub(super) fn id(text: &str) -> Option<u128> {
    let is_id = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}
