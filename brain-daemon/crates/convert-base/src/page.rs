//! A page to write: its place, its frontmatter and its text.

use brain_page::{
    ATTACHMENTS, Document, Frontmatter, MAX_FRONTMATTER, attachment_name, listed_name,
};
use jiff::Timestamp;

use crate::paths::{MAX_NAME, numbered, safe_name};
use crate::plain_text::fenced;
use crate::unique_names::UniqueNames;

/// Maximum length of the name of a field, in characters. YAML allows 1,024 (chapter 7.4.2).
const MAX_KEY: usize = 100;
/// Maximum length of a file's extension, in bytes, that stays when its name is cut.
const MAX_EXTENSION: usize = 20;

/// A value of the frontmatter.
#[derive(Debug, Clone)]
pub enum Value {
    /// One text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

/// A page to write.
#[derive(Debug, Default)]
pub struct Page {
    /// The file that it comes from, and the entry in it: "notes.enex, note 3".
    pub from: String,
    /// Its path from [`crate::Paths::add`].
    pub path: String,
    /// Its title, as the program shows it. Empty if it has none.
    pub title: String,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// When its text was changed.
    pub updated: Option<Timestamp>,
    /// Its tags, without `#`.
    pub tags: Vec<String>,
    /// Other fields of the program, in order. A field whose name the frontmatter has already gets
    /// another name.
    pub fields: Vec<(String, Value)>,
    /// Frontmatter that stays as it is written. The values above replace those of the same keys.
    pub original: Option<Frontmatter>,
    /// The text, in markdown.
    pub body: String,
    /// The names of its files, from [`Self::attach`].
    files: Vec<String>,
    file_names: UniqueNames,
}

impl Page {
    /// A page without fields and text. See [`Self::from`], [`Self::path`] and [`Self::title`].
    pub fn new(from: &str, path: &str, title: &str) -> Self {
        let (from, path, title) = (from.to_owned(), path.to_owned(), title.to_owned());
        Self { from, path, title, ..Self::default() }
    }

    /// Adds a file to the page. Returns its name, which is unique in the page and can be in a link
    /// of the form `![[name]]`. `wish` is the name in the program.
    pub fn attach(&mut self, wish: &str) -> String {
        let is_short = |(_, extension): &(&str, &str)| extension.len() <= MAX_EXTENSION;
        let safe = match wish.rsplit_once('.').filter(is_short) {
            Some((stem, extension)) => {
                let end = stem.floor_char_boundary(MAX_NAME - MAX_EXTENSION - 1);
                safe_name(&format!("{}.{extension}", &stem[..end]))
            }
            None => safe_name(wish),
        };
        let (stem, extension) = match safe.rfind('.') {
            Some(dot) => safe.split_at(dot),
            None => (safe.as_str(), ""),
        };
        let count = self.files.len() + 1;
        let name = self.file_names.add(|number| {
            let name = numbered(stem, number, extension);
            attachment_name(&name)
                .unwrap_or_else(|_| numbered(&format!("file {count}"), number, ""))
        });
        self.files.push(name.clone());
        name
    }

    /// Returns the whole text of the page: frontmatter and body. With `is_by_others`, the frontmatter
    /// says that others wrote it. Fields for which the frontmatter has no room stand as code at the
    /// end.
    pub fn markdown(&self, is_by_others: bool) -> String {
        if let Some(original) = &self.original {
            return self.with_original(original.clone());
        }
        let mut out = String::from("---\n");
        let mut rest = String::new();
        let mut keys = UniqueNames::default();
        let mut write = |key: &str, value: String| {
            let key = key_name(key);
            let key = keys.add(|number| match number {
                1 => key.clone(),
                2 => format!("original_{key}"),
                number => format!("original_{key}_{}", number - 1),
            });
            let line = format!("{key}: {value}\n");
            let has_room = out.len() + line.len() <= MAX_FRONTMATTER;
            if has_room { &mut out } else { &mut rest }.push_str(&line);
        };
        if is_by_others {
            write("source_kind", quoted("import:others"));
        }
        if !self.title.is_empty() {
            write("title", quoted(&brain_page::single_line(&self.title)));
        }
        if let Some(created) = self.created {
            write("created", created.to_string());
        }
        if let Some(updated) = self.updated {
            write("updated", updated.to_string());
        }
        if !self.tags.is_empty() {
            write("tags", list(&self.tags));
        }
        if !self.files.is_empty() {
            write(ATTACHMENTS, list(&self.files));
        }
        for (key, value) in &self.fields {
            match value {
                Value::Text(text) => write(key, quoted(text)),
                Value::List(texts) => write(key, list(texts)),
            }
        }
        out.push_str("---\n\n");
        out.push_str(self.body.trim_end());
        out.push('\n');
        if !rest.is_empty() {
            out.push_str(&format!("\n{}\n", fenced("yaml", &rest)));
        }
        out
    }

    fn with_original(&self, mut frontmatter: Frontmatter) -> String {
        if !self.title.is_empty() {
            frontmatter.set("title", &brain_page::single_line(&self.title));
        }
        for (key, time) in [("created", self.created), ("updated", self.updated)] {
            if let Some(time) = time {
                frontmatter.set(key, &time.to_string());
            }
        }
        if !self.tags.is_empty() {
            frontmatter.set_list("tags", &self.tags);
        }
        for (key, value) in &self.fields {
            match value {
                Value::Text(text) => frontmatter.set(key, text),
                Value::List(texts) => frontmatter.set_list(key, texts),
            }
        }
        if !self.files.is_empty() {
            let mut names = frontmatter.list(ATTACHMENTS);
            names.retain(|name| !self.files.contains(&listed_name(name)));
            names.extend(self.files.iter().cloned());
            frontmatter.set_list(ATTACHMENTS, &names);
        }
        let body = format!("{}\n", self.body.trim_end());
        Document { frontmatter, body: body.into() }.render()
    }
}

/// Percent-encodes a path for the address of a link: what would end it, and what would begin another
/// part of an address.
pub fn link_address(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '%' | '#' | '?' | '<' | '>' | '"' | '\'' | '\\' | '[' | ']' | '(' | ')' | ' ' | '|' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c if c.is_control() => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Returns a link to the page at `path`, which shows `label`.
pub fn link(path: &str, label: &str) -> String {
    let label = brain_page::single_line(&label.replace(['[', ']', '|'], " "));
    let name = path.rsplit('/').next().unwrap_or(path);
    match label.trim() {
        "" => format!("[[{path}]]"),
        label if label == name && name == path => format!("[[{path}]]"),
        label => format!("[[{path}|{label}]]"),
    }
}

/// Returns a key that needs no quotes in YAML.
fn key_name(key: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let key: String = key.chars().take(MAX_KEY).map(plain).collect();
    if key.starts_with(|c: char| c.is_alphabetic()) { key } else { format!("field_{key}") }
}

/// Returns a text in the double quotes of JSON, which YAML 1.2 reads as the same text. YAML forbids
/// some characters that JSON allows (chapter 5.1).
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let is_forbidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    if !json.contains(is_forbidden) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        match is_forbidden(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_get_numbers_and_keep_extensions() {
        let mut page = Page::default();
        let long = format!("{}.jpeg", "ä".repeat(300));
        let names: Vec<String> =
            ["a.png", "A.PNG", "b", ".x", long.as_str(), &long].map(|it| page.attach(it)).into();
        assert_eq!(names[..4], ["a.png", "A 2.PNG", "b", "x"]);
        assert!(names[4].ends_with("ä.jpeg") && names[5].ends_with("ä 2.jpeg"), "{names:?}");
        assert_eq!((0..5_000).map(|_| page.attach("c.txt")).last().unwrap(), "c 5000.txt");
    }

    #[test]
    fn a_field_of_any_characters_can_be_read_again() {
        let text: String = (0..0x2100).chain(0xD7F0..0x1_0010).filter_map(char::from_u32).collect();
        let mut page = Page { title: "T".to_owned(), ..Page::default() };
        page.fields.push(("x".to_owned(), Value::Text(text.clone())));
        let document = brain_page::Document::parse(&page.markdown(false)).unwrap();
        assert_eq!(document.frontmatter.get("x").unwrap().trim(), text.trim());
    }

    #[test]
    fn fields_without_room_stand_at_the_end() {
        let field = |key: &str, text: &str| (key.to_owned(), Value::Text(text.to_owned()));
        let page = Page {
            title: "T".to_owned(),
            fields: vec![field("long", &"x".repeat(100_000)), field("short", "y")],
            body: "body".to_owned(),
            ..Page::default()
        };
        let text = page.markdown(false);
        assert!(
            text.starts_with("---\ntitle: \"T\"\nshort: \"y\"\n---\n\nbody\n\n```yaml\nlong: \"xx")
        );
        brain_page::Document::parse(&text).unwrap();
    }

    #[test]
    fn a_field_of_any_name_can_be_read_again() {
        let long = "ä".repeat(3000);
        for name in ["null", "true", "no", "y", "~", "<<", "1", "", "a: b", "é", "ʰ", "٣", &long]
        {
            let mut page = Page { title: "T".to_owned(), ..Page::default() };
            page.fields.push((name.to_owned(), Value::Text("x".to_owned())));
            let text = page.markdown(false);
            let document = brain_page::Document::parse(&text).map_err(|it| (it, text)).unwrap();
            let keys: Vec<&str> = document.frontmatter.keys().collect();
            assert_eq!(keys.len(), 2, "{name}: {keys:?}");
            assert_eq!(document.frontmatter.get(keys[1]).as_deref(), Some("x"), "{name}");
        }
    }

    #[test]
    fn equal_fields_get_other_names() {
        let field = |key: &str| (key.to_owned(), Value::Text("x".to_owned()));
        let page = Page {
            title: "T".to_owned(),
            fields: ["title", "Title", "title", "a"].map(field).into(),
            ..Page::default()
        };
        let text = page.markdown(false);
        let expected = "---\ntitle: \"T\"\noriginal_title: \"x\"\noriginal_Title_2: \"x\"\n\
                        original_title_3: \"x\"\na: \"x\"\n---\n";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn original_frontmatter_stays_with_its_comments() {
        let raw = "# mine\nid: 007\ntitle: 'A'\nattachments: [x.png]\n";
        let mut page = Page {
            original: Some(Frontmatter::parse(raw).unwrap()),
            body: "text".to_owned(),
            ..Page::default()
        };
        assert_eq!(page.markdown(false), format!("---\n{raw}---\n\ntext\n"));
        page.title = "B".to_owned();
        page.attach("y.png");
        let text = page.markdown(false);
        assert!(text.starts_with("---\n# mine\nid: 007\ntitle: B\n"), "{text}");
        let read = Document::parse(&text).unwrap().frontmatter;
        assert_eq!(read.list(ATTACHMENTS), ["x.png", "y.png"]);
    }

    #[test]
    fn an_address_has_no_character_of_a_link() {
        assert_eq!(link_address("a (1) 50%#.md"), "a%20%281%29%2050%25%23.md");
        assert_eq!(link_address("ü/b_c.md"), "ü/b_c.md");
    }

    #[test]
    fn attached_files_have_names_of_their_own() {
        let mut page = Page::default();
        let names = ["a.txt", "A.TXT", "a.txt", "c/d", "c/d", "notes.md"].map(|it| page.attach(it));
        assert_eq!(names, ["a.txt", "A 2.TXT", "a 3.txt", "c-d", "c-d 2", "notes.md-"]);
    }

    #[test]
    fn frontmatter_has_each_key_once() {
        let mut page = Page {
            title: "A \"b\"".to_owned(),
            created: Some(Timestamp::UNIX_EPOCH),
            tags: vec!["x".to_owned(), "y, z".to_owned()],
            body: "text\n\n".to_owned(),
            ..Page::default()
        };
        page.fields = vec![
            ("title".to_owned(), Value::Text("other".to_owned())),
            ("Title".to_owned(), Value::List(vec!["1".to_owned()])),
            ("2 x".to_owned(), Value::Text(String::new())),
        ];
        let expected = "---\ntitle: \"A \\\"b\\\"\"\ncreated: 1970-01-01T00:00:00Z\n\
                        tags: [\"x\", \"y, z\"]\noriginal_title: \"other\"\n\
                        original_Title_2: [\"1\"]\nfield_2_x: \"\"\n---\n\ntext\n";
        assert_eq!(page.markdown(false), expected);
    }

    #[test]
    fn link_shows_its_label() {
        assert_eq!(link("a/b", "b"), "[[a/b|b]]");
        assert_eq!(link("b", "b"), "[[b]]");
        assert_eq!(link("b", " "), "[[b]]");
        assert_eq!(link("b", "[x]|\ny"), "[[b|x y]]");
    }
}
