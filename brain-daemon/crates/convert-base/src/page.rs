//! A page to write: its place, its frontmatter and its text.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};

use brain_page::{ATTACHMENTS, attachment_name};
use jiff::Timestamp;

/// Maximum length of a name of a file or folder, in bytes. With the extension and a number it stays
/// below 255, the limit of common file systems.
const MAX_NAME: usize = 150;

/// The paths of pages. Names that differ only in case, or in characters that a path cannot have,
/// get a number.
#[derive(Default)]
pub struct Paths {
    names: Names,
}

/// Names in lower case. Each has the number from which on another one of it can be free, so that
/// many equal names take linear time.
#[derive(Debug, Default)]
struct Names(HashMap<String, usize>);

impl Names {
    /// Adds the first free name of `name(1)`, `name(2)` and so on.
    fn add(&mut self, name: impl Fn(usize) -> String) -> String {
        let first = name(1).to_lowercase();
        let mut number = self.0.get(&first).copied().unwrap_or(1);
        loop {
            let free = name(number);
            number += 1;
            if let Entry::Vacant(place) = self.0.entry(free.to_lowercase()) {
                place.insert(2);
                self.0.insert(first, number);
                return free;
            }
        }
    }
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
        self.names.add(|number| match number {
            1 => path.clone(),
            number => format!("{path} {number}"),
        })
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
    /// The text, in markdown.
    pub body: String,
    /// The names of its files, from [`Self::attach`].
    files: Vec<String>,
    file_names: Names,
}

impl Page {
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
        let name = self.file_names.add(name);
        self.files.push(name.clone());
        name
    }

    /// Returns the whole text of the page: frontmatter and body. With `is_by_others`, the frontmatter
    /// says that others wrote it.
    pub fn markdown(&self, is_by_others: bool) -> String {
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
        if is_by_others {
            write("source_kind", quoted("import:others"));
        }
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
