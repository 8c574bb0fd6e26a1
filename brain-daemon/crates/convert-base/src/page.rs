//! A page to write: its place, its frontmatter and its text.

use std::collections::HashSet;

use brain_page::{ATTACHMENTS, Document, Frontmatter, attachment_name, listed_name};
use jiff::Timestamp;

/// Maximum length of a name of a file or folder, in bytes. With the extension and a number it stays
/// below 255, the limit of common file systems.
const MAX_NAME: usize = 150;

/// The paths of pages. Names that differ only in case, or in characters that a path cannot have,
/// get a number.
#[derive(Default)]
pub struct Paths {
    taken: HashSet<String>,
}

impl Paths {
    /// Returns the path of a new page: folders and title, without an extension. It contains no
    /// character that has a meaning in a link.
    pub fn add<'a>(&mut self, folders: impl IntoIterator<Item = &'a str>, title: &str) -> String {
        let mut path = String::new();
        for folder in folders {
            path.push_str(&safe_name(folder));
            path.push('/');
        }
        path.push_str(&safe_name(title));
        let mut unique = path.clone();
        let mut number = 2;
        while !self.taken.insert(unique.to_lowercase()) {
            unique = format!("{path} {number}");
            number += 1;
        }
        unique
    }
}

/// Returns a name that can be a file's and a part of a link's target.
fn safe_name(name: &str) -> String {
    let replace = |c: char| match c {
        '/' | '\\' | '|' | '#' | '^' | '[' | ']' | '<' | '>' | ':' | '*' | '?' | '"' => '-',
        c if c.is_control() => ' ',
        c => c,
    };
    let line: String = brain_page::single_line(name).chars().map(replace).collect();
    let line = line.trim_matches([' ', '.']);
    let end = (0..=line.len().min(MAX_NAME)).rev().find(|at| line.is_char_boundary(*at));
    let line = line[..end.unwrap_or(0)].trim_end();
    match line {
        "" => "Untitled".to_owned(),
        // A folder must not have the name of a page's file.
        line if brain_page::is_markdown(std::path::Path::new(line)) => format!("{line}-"),
        line => line.to_owned(),
    }
}

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
    /// Its path from [`Paths::add`].
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
        let safe = safe_name(wish);
        let (stem, extension) = safe.rsplit_once('.').unwrap_or((&safe, ""));
        let name = |number: usize| {
            let number = if number == 1 { String::new() } else { format!(" {number}") };
            let dot = if extension.is_empty() { "" } else { "." };
            let name = format!("{stem}{number}{dot}{extension}");
            attachment_name(&name)
                .unwrap_or_else(|_| format!("file {}{number}", self.files.len() + 1))
        };
        let is_new =
            |name: &String| !self.files.iter().any(|it| it.to_lowercase() == name.to_lowercase());
        let name = (1..).map(name).find(is_new).unwrap_or_default();
        self.files.push(name.clone());
        name
    }

    /// Returns the whole text of the page: frontmatter and body.
    pub fn markdown(&self) -> String {
        if let Some(original) = &self.original {
            return self.with_original(original.clone());
        }
        let mut out = String::from("---\n");
        let mut keys = HashSet::new();
        let mut write = |key: &str, value: String| {
            let mut key = key_name(key);
            while !keys.insert(key.to_lowercase()) {
                key.insert_str(0, "original_");
            }
            out.push_str(&key);
            out.push_str(": ");
            out.push_str(&value);
            out.push('\n');
        };
        if !self.title.is_empty() {
            write("title", quoted(&self.title));
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
        out
    }

    fn with_original(&self, mut frontmatter: Frontmatter) -> String {
        if !self.title.is_empty() {
            frontmatter.set("title", &self.title);
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
    let label: String = brain_page::single_line(label).replace(['[', ']', '|'], " ");
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
    let key: String = key.chars().map(plain).collect();
    if key.starts_with(|c: char| c.is_alphabetic()) { key } else { format!("field_{key}") }
}

/// Returns a text in the double quotes of JSON, which YAML 1.2 reads as the same text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
    fn original_frontmatter_stays_with_its_comments() {
        let raw = "# mine\nid: 007\ntitle: 'A'\nattachments: [x.png]\n";
        let mut page = Page {
            original: Some(Frontmatter::parse(raw).unwrap()),
            body: "text".to_owned(),
            ..Page::default()
        };
        assert_eq!(page.markdown(), format!("---\n{raw}---\n\ntext\n"));
        page.title = "B".to_owned();
        page.attach("y.png");
        let text = page.markdown();
        assert!(text.starts_with("---\n# mine\nid: 007\ntitle: B\n"), "{text}");
        let read = Document::parse(&text).unwrap().frontmatter;
        assert_eq!(read.list(ATTACHMENTS), ["x.png", "y.png"]);
    }

    #[test]
    fn an_address_has_no_character_of_a_link() {
        assert_eq!(link_address("a (1) 50%#.md"), "a%20%281%29%2050%25%23.md");
        assert_eq!(link_address("ü/b_c.md"), "ü/b_c.md");
    }
}
