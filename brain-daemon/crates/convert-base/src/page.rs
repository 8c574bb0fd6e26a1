//! A page to write: its place, its frontmatter and its text.

use std::collections::HashSet;

use brain_page::{ATTACHMENTS, attachment_name};
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
        let is_new =
            |name: &String| !self.files.iter().any(|it| it.to_lowercase() == name.to_lowercase());
        let name = (1..).map(name).find(is_new).unwrap_or_default();
        self.files.push(name.clone());
        name
    }

    /// Returns the whole text of the page: frontmatter and body.
    pub fn markdown(&self) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn equal_paths_get_a_number() {
        let mut paths = Paths::default();
        let mut add = |folders: &[&str], title| paths.add(folders.iter().copied(), title);
        assert_eq!(add(&["A/B", " "], "x:y"), "A-B/Untitled/x-y");
        assert_eq!(add(&[], "Note"), "Note");
        assert_eq!(add(&[], "note"), "note 2");
        assert_eq!(add(&[], "NOTE"), "NOTE 3");
        assert_eq!(add(&["folder"], "Note"), "folder/Note");
    }

    #[test]
    fn name_is_safe_and_short() {
        for (name, safe) in [
            ("", "Untitled"),
            ("..", "Untitled"),
            (" .a\tb\u{7f}. ", "a b"),
            ("[a|b]#c^d", "-a-b--c-d"),
            ("notes.md", "notes.md-"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
        assert_eq!(safe_name(&"€".repeat(100)), "€".repeat(50));
        assert_eq!(safe_name(&format!("{} b", "a".repeat(149))), "a".repeat(149));
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
                        original_original_Title: [\"1\"]\nfield_2_x: \"\"\n---\n\ntext\n";
        assert_eq!(page.markdown(), expected);
    }

    #[test]
    fn link_shows_its_label() {
        assert_eq!(link("a/b", "b"), "[[a/b|b]]");
        assert_eq!(link("b", "b"), "[[b]]");
        assert_eq!(link("b", " "), "[[b]]");
        assert_eq!(link("b", "[x]|\ny"), "[[b|x   y]]");
    }
}
