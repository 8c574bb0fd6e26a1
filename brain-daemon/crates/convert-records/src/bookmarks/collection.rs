//! Bookmarks in folders.

use std::collections::HashMap;

use jiff::Timestamp;

/// A bookmark.
#[derive(Debug, Default)]
pub(super) struct Bookmark {
    /// The label; empty if it has none.
    pub(super) title: String,
    pub(super) address: String,
    /// When it was made.
    pub(super) added: Option<Timestamp>,
    pub(super) tags: Vec<String>,
    /// Plain text of several lines.
    pub(super) description: String,
    /// Other words about it: "keyword: snow".
    pub(super) details: Vec<String>,
}

/// What is in a folder.
#[derive(Debug)]
pub(super) enum Item {
    Bookmark(Bookmark),
    Separator,
}

/// A folder.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// Its name; empty for the root.
    pub(super) name: String,
    /// The number of the folder that it is in.
    pub(super) parent: usize,
    pub(super) added: Option<Timestamp>,
    pub(super) description: String,
    pub(super) items: Vec<Item>,
}

/// Folders of bookmarks. A folder has a higher number than the one that it is in. The root is 0.
pub(super) struct Collection {
    pub(super) folders: Vec<Folder>,
    known: HashMap<(usize, String), usize>,
}

impl Default for Collection {
    fn default() -> Self {
        Self { folders: vec![Folder::default()], known: HashMap::new() }
    }
}

impl Collection {
    /// The number of the root.
    pub(super) const ROOT: usize = 0;

    /// Returns the number of a folder, which is made if there is none of this name.
    pub(super) fn folder(&mut self, parent: usize, name: &str) -> usize {
        let name = match brain_page::single_line(name) {
            name if name.is_empty() => "Folder".to_owned(),
            name => name,
        };
        let next = self.folders.len();
        let number = *self.known.entry((parent, name.clone())).or_insert(next);
        if number == next {
            self.folders.push(Folder { name, parent, ..Folder::default() });
        }
        number
    }

    /// Adds an item to a folder.
    pub(super) fn add(&mut self, folder: usize, item: Item) {
        if let Some(folder) = self.folders.get_mut(folder) {
            folder.items.push(item);
        }
    }

    /// Returns the last bookmark of a folder, if it is the last item.
    pub(super) fn last(&mut self, folder: usize) -> Option<&mut Bookmark> {
        match self.folders.get_mut(folder)?.items.last_mut()? {
            Item::Bookmark(bookmark) => Some(bookmark),
            Item::Separator => None,
        }
    }
}
