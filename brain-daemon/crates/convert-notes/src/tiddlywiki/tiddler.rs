//! One tiddler: its fields, its kind, and the `.tid` form.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Titles of tiddlers that the program and its plugins write (`TiddlyWiki` 5.1.23 and 5.4.1).
const PROGRAM: [&str; 25] = [
    "$:/core",
    "$:/boot",
    "$:/library",
    "$:/plugins",
    "$:/themes",
    "$:/languages",
    "$:/language",
    "$:/palette",
    "$:/palettes",
    "$:/state",
    "$:/temp",
    "$:/status",
    "$:/config",
    "$:/info",
    "$:/view",
    "$:/layout",
    "$:/theme",
    "$:/StoryList",
    "$:/HistoryList",
    "$:/Import",
    "$:/isEncrypted",
    "$:/build",
    "$:/UploadName",
    "$:/DefaultTiddlers",
    "$:/favicon.ico",
];

/// What a tiddler is to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A note.
    Note,
    /// A picture or another file.
    Binary,
    /// The open editor of another tiddler.
    Draft,
    /// A system tiddler that a person wrote.
    System,
    /// A part or a setting of the program.
    Program,
}

/// A tiddler with all its fields.
#[derive(Debug, Default)]
pub(super) struct Tiddler {
    /// All fields but `text`, sorted.
    pub(super) fields: BTreeMap<String, String>,
    pub(super) text: String,
    /// The bytes of a file that is not text.
    pub(super) bytes: Option<Vec<u8>>,
}

impl Tiddler {
    /// Reads the form of `.tid` files: lines `field: value`, a blank line, and the text.
    pub(super) fn of_tid(source: &str) -> Self {
        let mut tiddler = Self::default();
        let mut rest = source;
        while !rest.is_empty() {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            rest = after;
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
                tiddler.fields.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
        rest.clone_into(&mut tiddler.text);
        tiddler
    }

    /// Reads an object of an export. Returns `None` if it has no title.
    pub(super) fn of_json(object: serde_json::Map<String, Value>) -> Option<Self> {
        let mut tiddler = Self::default();
        for (name, value) in object {
            let value = match value {
                Value::String(text) => text,
                Value::Null => continue,
                Value::Array(items) => items.iter().map(list_item).collect::<Vec<_>>().join(" "),
                other => other.to_string(),
            };
            if name == "text" {
                tiddler.text = value;
            } else {
                tiddler.fields.insert(name, value);
            }
        }
        tiddler.fields.contains_key("title").then_some(tiddler)
    }

    pub(super) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(super) fn title(&self) -> &str {
        self.field("title")
    }

    /// Returns the media type without parameters, in lower case. Wikitext has an empty one.
    pub(super) fn media_type(&self) -> String {
        let name = self.field("type").split(';').next().unwrap_or_default();
        match name.trim().to_ascii_lowercase().as_str() {
            "text/vnd.tiddlywiki" | "text/x-tiddlywiki" => String::new(),
            name => name.to_owned(),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        let title = self.title();
        let is_own = |name: &str| {
            title.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.fields.contains_key("draft.of") {
            Kind::Draft
        } else if title.starts_with("$:/") {
            let is_program = self.fields.contains_key("plugin-type")
                || PROGRAM.iter().any(|name| is_own(name))
                || self.text.trim().is_empty() && self.bytes.is_none();
            if is_program { Kind::Program } else { Kind::System }
        } else if is_binary(&self.media_type()) || self.bytes.is_some() {
            Kind::Binary
        } else {
            Kind::Note
        }
    }

    /// Returns the date of a field, or `None` if there is none or it is no date.
    pub(super) fn date(&self, name: &str) -> Option<Timestamp> {
        date(self.field(name))
    }
}

/// Returns an item of a list as the program writes it in a field.
fn list_item(value: &Value) -> String {
    match value.as_str() {
        Some(text) if text.contains(' ') => format!("[[{text}]]"),
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

/// Returns whether the text of this type is base64, as the program stores files.
pub(super) fn is_binary(media_type: &str) -> bool {
    match media_type.split_once('/') {
        Some(("image" | "audio" | "video" | "font", name)) => name != "svg+xml",
        Some(("application", name)) => !matches!(
            name,
            "json"
                | "javascript"
                | "x-tiddler"
                | "x-tiddlers"
                | "x-tiddler-dictionary"
                | "xml"
                | "x-bibtex"
                | "yaml"
                | "x-yaml"
                | "toml"
                | "sql"
                | "enex+xml"
                | "x-tiddler-html-div"
                | "vnd.tiddlywiki-dictionary"
        ),
        _ => false,
    }
}

/// Reads 17 digits: year to milliseconds in UTC. Older versions wrote 12 or 14.
pub(super) fn date(digits: &str) -> Option<Timestamp> {
    let digits = digits.trim();
    if digits.len() < 12 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let two = |at: usize| digits.get(at..at + 2).map_or(Some(0), |it| it.parse::<i8>().ok());
    let year = digits.get(..4)?.parse().ok()?;
    let millis: i32 = digits.get(14..17).map_or(Some(0), |it| it.parse().ok())?;
    let (month, day, hour, minute, second) = (two(4)?, two(6)?, two(8)?, two(10)?, two(12)?);
    let time = DateTime::new(year, month, day, hour, minute, second, millis * 1_000_000).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Reads a list: `plain [[two words]]`.
pub(super) fn list(source: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut rest = source.trim_start();
    // Where the last item in brackets ends, so that a list without one takes linear time.
    let last = source.rfind("]]").map_or(0, |at| source.len() - at);
    while !rest.is_empty() {
        let bracketed = rest.strip_prefix("[[").filter(|inner| inner.len() >= last && last > 0);
        let bracketed = bracketed.and_then(|inner| inner.split_once("]]"));
        let (item, after) = match bracketed {
            Some(parts) => parts,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        if !item.trim().is_empty() {
            items.push(item.trim().to_owned());
        }
        rest = after.trim_start();
    }
    items
}
