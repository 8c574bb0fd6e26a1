//! Reads the JSON of a note of Google Keep.

use jiff::Timestamp;
use serde_json::Value as Json;

use brain_convert_base::{Page, Value};
use brain_convert_base::{literal_line, literal_text};

/// Fields that are read, and those without content of their own: `textContentHtml` repeats the
/// text with formats.
const KNOWN: [(&str, Kind); 14] = [
    ("title", Kind::Text),
    ("textContent", Kind::Text),
    ("textContentHtml", Kind::Text),
    ("listContent", Kind::List("text")),
    ("createdTimestampUsec", Kind::Time),
    ("userEditedTimestampUsec", Kind::Time),
    ("labels", Kind::List("name")),
    ("attachments", Kind::List("filePath")),
    ("annotations", Kind::List("url")),
    ("sharees", Kind::List("email")),
    ("color", Kind::Text),
    ("isTrashed", Kind::Flag),
    ("isArchived", Kind::Flag),
    ("isPinned", Kind::Flag),
];
/// Maximum length of a name that is made of a note's first line, in characters.
const MAX_NAME: usize = 60;

/// What a field must be.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Flag,
    /// Microseconds since 1970, as a number or a text.
    Time,
    /// A list of objects, each with a text of this name.
    List(&'static str),
}

impl Kind {
    /// Returns whether all of a value is read.
    fn is_read(self, value: &Json) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Time => micros(value).is_some_and(|micros| {
                micros == 0 || micros > 0 && Timestamp::from_microsecond(micros).is_ok()
            }),
            Self::List(field) => value.as_array().is_some_and(|list| {
                list.iter().all(|item| item.get(field).is_none_or(Json::is_string))
                    && list.iter().all(Json::is_object)
            }),
        }
    }
}

/// A note.
#[derive(Debug, Default)]
pub(super) struct Note {
    /// Its title; empty if it has none.
    pub(super) title: String,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    pub(super) is_trashed: bool,
    pub(super) labels: Vec<String>,
    /// Names of files.
    pub(super) attachments: Vec<String>,
    /// What is not read: reasons for the report.
    pub(super) lost: Vec<String>,
    text: String,
    items: Vec<Item>,
    links: Vec<Link>,
    shared_with: Vec<String>,
    color: String,
    is_archived: bool,
    is_pinned: bool,
}

/// An item of a list.
#[derive(Debug)]
struct Item {
    text: String,
    is_checked: bool,
}

/// A link that Keep found in the text.
#[derive(Debug)]
struct Link {
    url: String,
    title: String,
    description: String,
}

impl Note {
    /// Parses the JSON of a note.
    ///
    /// # Errors
    /// The reason why the bytes are no note, as the predicate of a sentence or a sentence.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let json: Json =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
        let object = json.as_object().ok_or("it is not a note of Keep")?;
        let is_note = ["textContent", "listContent", "userEditedTimestampUsec", "isTrashed"]
            .iter()
            .any(|key| object.contains_key(*key));
        if !is_note {
            return Err("it is not a note of Keep".to_owned());
        }
        let has_value = |value: &Json| {
            !(value.is_null()
                || *value == Json::Bool(false)
                || value.as_str() == Some("")
                || value.as_array().is_some_and(Vec::is_empty))
        };
        let is_read = |key: &str, value: &Json| {
            KNOWN.iter().any(|(known, kind)| *known == key && kind.is_read(value))
        };
        let lost = object
            .iter()
            .filter(|(key, value)| has_value(value) && !is_read(key, value))
            .map(|(key, value)| match KNOWN.iter().any(|(known, _)| known == key) {
                true => format!("its field \"{key}\" is not what Keep writes: {value}"),
                false => format!("its field \"{key}\" is not read"),
            })
            .collect();
        let mut links = Vec::new();
        for link in list(&json, "annotations") {
            let (url, title) = (text(link, "url"), text(link, "title"));
            links.push(Link { url, title, description: text(link, "description") });
        }
        let item =
            |item: &Json| Item { text: text(item, "text"), is_checked: flag(item, "isChecked") };
        Ok(Self {
            title: text(&json, "title").trim().to_owned(),
            created: time(&json, "createdTimestampUsec"),
            updated: time(&json, "userEditedTimestampUsec"),
            is_trashed: flag(&json, "isTrashed"),
            labels: texts(&json, "labels", "name"),
            attachments: texts(&json, "attachments", "filePath"),
            lost,
            text: text(&json, "textContent"),
            items: list(&json, "listContent").iter().map(item).collect(),
            links,
            shared_with: list(&json, "sharees")
                .iter()
                .filter(|person| !flag(person, "isOwner"))
                .map(|person| text(person, "email"))
                .filter(|email| !email.is_empty())
                .collect(),
            color: text(&json, "color"),
            is_archived: flag(&json, "isArchived"),
            is_pinned: flag(&json, "isPinned"),
        })
    }

    /// Returns the name for the note's path: its title, else its first line, else its time.
    pub(super) fn name(&self) -> String {
        let lines = self.text.lines().chain(self.items.iter().map(|item| item.text.as_str()));
        let first = std::iter::once(self.title.as_str())
            .chain(lines.map(str::trim))
            .find(|line| line.chars().any(char::is_alphanumeric));
        match (first, self.created.or(self.updated)) {
            (Some(line), _) if self.title == line => line.to_owned(),
            (Some(line), _) => line.chars().take(MAX_NAME).collect::<String>().trim().to_owned(),
            (None, Some(time)) => time.strftime("%Y-%m-%d %H.%M.%S").to_string(),
            (None, None) => String::new(),
        }
    }

    /// Returns the page of the note, without its files.
    pub(super) fn page(&self, from: String, path: String) -> Page {
        let mut page = Page::default();
        page.from = from;
        page.path = path;
        page.title.clone_from(&self.title);
        page.created = self.created;
        page.updated = self.updated;
        page.tags.clone_from(&self.labels);
        page.fields = self.fields();
        page.body = self.body();
        page
    }

    /// Returns the fields that differ from those of a new note.
    fn fields(&self) -> Vec<(String, Value)> {
        let mut fields = Vec::new();
        let yes = || Value::Text("true".to_owned());
        if self.is_archived {
            fields.push(("archived".to_owned(), yes()));
        }
        if self.is_pinned {
            fields.push(("pinned".to_owned(), yes()));
        }
        if !self.color.is_empty() && self.color != "DEFAULT" {
            fields.push(("color".to_owned(), Value::Text(self.color.to_lowercase())));
        }
        if !self.shared_with.is_empty() {
            fields.push(("shared_with".to_owned(), Value::List(self.shared_with.clone())));
        }
        fields
    }

    /// Returns the text in markdown: text, items, links.
    fn body(&self) -> String {
        let mut blocks = vec![literal_text(&self.text)];
        let items: Vec<String> = self.items.iter().filter_map(task).collect();
        blocks.push(items.join("\n"));
        let links: Vec<String> = self.links.iter().filter_map(link).collect();
        blocks.push(links.join("\n"));
        blocks.retain(|block| !block.is_empty());
        blocks.join("\n\n")
    }
}

/// Returns an item as a task; its other lines are indented below it.
fn task(item: &Item) -> Option<String> {
    let text = literal_text(&item.text).replace('\n', "\n  ");
    let mark = if item.is_checked { 'x' } else { ' ' };
    (!text.trim().is_empty()).then(|| format!("- [{mark}] {text}"))
}

/// Returns a link as an item of a list.
fn link(link: &Link) -> Option<String> {
    let one_line = |text: &str| literal_line(&brain_page::single_line(text));
    let title = one_line(if link.title.is_empty() { &link.url } else { &link.title });
    let is_web = link.url.starts_with("https://") || link.url.starts_with("http://");
    let mut url = String::new();
    for c in link.url.chars() {
        match c {
            ' ' | '<' | '>' | '(' | ')' | '\\' => url.push_str(&format!("%{:02X}", u32::from(c))),
            c if c.is_control() => {}
            c => url.push(c),
        }
    }
    let description = match one_line(&link.description) {
        text if text.is_empty() => text,
        text => format!(": {text}"),
    };
    match (is_web, title.is_empty()) {
        (_, true) => None,
        (true, _) => Some(format!("- [{title}]({url}){description}")),
        (false, _) => Some(format!("- {title}: {}{description}", one_line(&link.url))),
    }
}

fn text(json: &Json, key: &str) -> String {
    json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn flag(json: &Json, key: &str) -> bool {
    json.get(key).and_then(Json::as_bool).unwrap_or_default()
}

fn list<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the texts of a field of each object in a list, without empty ones.
fn texts(json: &Json, key: &str, field: &str) -> Vec<String> {
    list(json, key).iter().map(|it| text(it, field)).filter(|text| !text.is_empty()).collect()
}

/// Returns a time in microseconds since 1970. Zero is none.
fn time(json: &Json, key: &str) -> Option<Timestamp> {
    let micros = micros(json.get(key)?)?;
    Timestamp::from_microsecond(micros).ok().filter(|_| micros > 0)
}

fn micros(value: &Json) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
