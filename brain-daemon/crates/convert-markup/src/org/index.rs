//! All notes of an import of Org: what links name.

use std::collections::HashMap;

use brain_convert_base::Paths;

use super::document::Document;
use super::title::plain;
use crate::source::{Source, folder, name};

/// A note: a file, or a heading with an ID.
pub(super) struct Note {
    /// The path of its file.
    pub(super) file: String,
    /// Its section in the file.
    pub(super) section: usize,
    pub(super) title: String,
    /// The path of its page.
    pub(super) path: String,
}

/// All notes.
#[derive(Default)]
pub(super) struct Index {
    pub(super) notes: Vec<Note>,
    by_id: HashMap<String, usize>,
    by_place: HashMap<(String, usize), usize>,
    /// By title in lower case; the first one.
    by_title: HashMap<String, usize>,
    /// Headings that are notes, by file and title in lower case.
    by_heading: HashMap<(String, String), usize>,
}

impl Index {
    /// Adds the notes of a file.
    pub(super) fn add(&mut self, file: &str, document: &Document<'_>, paths: &mut Paths) {
        for (number, section) in document.sections.iter().enumerate() {
            let id = section.property("ID");
            if !(id.is_some() || number == 0 && has_page(document)) {
                continue;
            }
            let title = match number {
                0 => Some(document.title()).filter(|title| !title.is_empty()),
                _ => Some(plain(section.title)).filter(|title| !title.is_empty()),
            };
            let title = title.unwrap_or_else(|| stem(file).to_owned());
            let folders = folder(file).split('/').filter(|folder| !folder.is_empty());
            let path = paths.add(folders, &title);
            let index = self.notes.len();
            if let Some(id) = id {
                self.by_id.entry(id.to_lowercase()).or_insert(index);
            }
            self.by_place.insert((file.to_owned(), number), index);
            self.by_title.entry(title.to_lowercase()).or_insert(index);
            if number > 0 {
                let key = (file.to_owned(), title.to_lowercase());
                self.by_heading.entry(key).or_insert(index);
            }
            self.notes.push(Note { file: file.to_owned(), section: number, title, path });
        }
    }

    /// Returns the note with an ID.
    pub(super) fn with_id(&self, id: &str) -> Option<&Note> {
        self.by_id.get(&id.trim().to_lowercase()).and_then(|index| self.notes.get(*index))
    }

    /// Returns the note of a file, or of a heading in it.
    pub(super) fn at(&self, file: &str, section: usize) -> Option<&Note> {
        self.by_place.get(&(file.to_owned(), section)).and_then(|index| self.notes.get(*index))
    }

    /// Returns the note that a heading of a file is.
    pub(super) fn heading(&self, file: &str, title: &str) -> Option<&Note> {
        let key = (file.to_owned(), title.to_lowercase());
        self.by_heading.get(&key).and_then(|index| self.notes.get(*index))
    }

    /// Returns the first note with a title.
    pub(super) fn titled(&self, title: &str) -> Option<&Note> {
        self.by_title.get(&title.trim().to_lowercase()).and_then(|index| self.notes.get(*index))
    }
}

/// Returns whether a file is a note itself: not if it only contains headings that are notes.
fn has_page(document: &Document<'_>) -> bool {
    let is_note = |index: usize| {
        let mut at = index;
        while let Some(section) = document.sections.get(at).filter(|_| at > 0) {
            if section.property("ID").is_some() {
                return true;
            }
            at = section.parent;
        }
        false
    };
    let first = document.sections.first();
    let has_text = first.is_some_and(|first| {
        !first.footnotes.is_empty()
            || !first.properties.is_empty()
            || first.body.iter().any(|line| !line.trim().is_empty())
    });
    has_text
        || !document.keywords.is_empty()
        || document.sections.len() == 1
        || (1..document.sections.len()).any(|index| !is_note(index))
}

/// Returns the name of a file of Org without its extension.
pub(super) fn stem(file: &str) -> &str {
    let name = name(file);
    name.strip_suffix(".org").or_else(|| name.strip_suffix(".org_archive")).unwrap_or(name)
}

/// Returns whether a path is that of a file of Org.
pub(super) fn is_org(path: &str) -> bool {
    let lower = path.to_lowercase();
    lower.ends_with(".org") || lower.ends_with(".org_archive")
}

/// Returns the paths of the files of Org, without hidden ones.
pub(super) fn org_files(source: &Source) -> impl Iterator<Item = &String> {
    source.files().iter().filter(|path| is_org(path) && !crate::rest::is_hidden(path))
}
