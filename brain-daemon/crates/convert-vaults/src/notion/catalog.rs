//! The documents of an export, the folders that belong to them, and the paths of their pages.

use std::collections::HashMap;
use std::io;

use brain_convert_base::{Entry, Output, Paths, Tree};

use super::html;
use super::markdown;
use super::names::{Stem, is_wrapper, split_id};

/// How much of a file is read for its title, in bytes.
const MAX_HEAD: usize = 4096;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Markdown,
    Html,
    Database,
}

/// A page or a database.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) kind: Kind,
    pub(super) id: Option<u128>,
    /// The number of the file with its text. A database can have one, too.
    pub(super) text: Option<usize>,
    /// The CSV files: with all entries, and those of the view.
    pub(super) all: Option<usize>,
    pub(super) view: Option<usize>,
    /// As in the document; empty if it has none.
    pub(super) title: String,
    /// The path of the page.
    pub(super) path: String,
    /// The folder of its file, and the name of its file without extension.
    folder: String,
    stem: String,
    /// The title in the name of its file.
    short: String,
}

/// All documents of an export.
pub(super) struct Catalog {
    /// By folder, those with fewer folders first.
    pub(super) documents: Vec<Document>,
    pub(super) ids: HashMap<u128, usize>,
    /// The documents to which a folder belongs.
    owners: HashMap<String, usize>,
    /// The entries of each database.
    entries: HashMap<usize, Vec<usize>>,
    pub(super) paths: Paths,
    /// Files that need no line in the report: Notion's list of contents.
    pub(super) indexes: Vec<usize>,
}

impl Catalog {
    /// Reads the names of all files, and the titles of all pages.
    pub(super) fn read(tree: &Tree, out: &mut Output<'_>) -> io::Result<Self> {
        let mut catalog = Self {
            documents: Vec::new(),
            ids: HashMap::new(),
            owners: HashMap::new(),
            entries: HashMap::new(),
            paths: Paths::default(),
            indexes: Vec::new(),
        };
        let mut known = HashMap::new();
        for (number, entry) in tree.entries().iter().enumerate() {
            catalog.add(tree, number, entry, &mut known, out)?;
        }
        let order = |it: &Document| (it.folder.matches('/').count(), it.folder.clone());
        catalog.documents.sort_by_cached_key(|it| (order(it), it.stem.clone()));
        catalog.find_owners();
        Ok(catalog)
    }

    /// The numbers of the entries of a database that have a text.
    pub(super) fn entries(&self, database: usize) -> &[usize] {
        self.entries.get(&database).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a document is an entry of a database.
    pub(super) fn is_entry(&self, number: usize) -> bool {
        let owner = self.documents.get(number).and_then(|it| self.owners.get(&it.folder));
        let owner = owner.filter(|owner| **owner != number);
        owner
            .and_then(|owner| self.documents.get(*owner))
            .is_some_and(|it| it.kind == Kind::Database)
    }

    fn add(
        &mut self,
        tree: &Tree,
        number: usize,
        entry: &Entry,
        known: &mut HashMap<(String, String), usize>,
        out: &mut Output<'_>,
    ) -> io::Result<()> {
        let stem = Stem::of(entry.name());
        let kind = match entry.extension().as_str() {
            "html" | "htm" if entry.name() == "index.html" => {
                self.indexes.push(number);
                return Ok(());
            }
            "md" => Kind::Markdown,
            "html" | "htm" => Kind::Html,
            "csv" if stem.id.is_some() => Kind::Database,
            _ => return Ok(()),
        };
        let folder = entry.folder().to_owned();
        // The files of a database have the same name but for its end.
        let at = *known.entry((folder.clone(), stem.whole.to_owned())).or_insert_with(|| {
            self.documents.push(Document {
                kind,
                id: stem.id,
                text: None,
                all: None,
                view: None,
                title: stem.title.to_owned(),
                path: String::new(),
                folder,
                stem: stem.whole.to_owned(),
                short: stem.title.to_owned(),
            });
            self.documents.len() - 1
        });
        let Some(document) = self.documents.get_mut(at) else { return Ok(()) };
        match (kind, stem.is_all) {
            (Kind::Database, is_all) => {
                document.kind = Kind::Database;
                let file = if is_all { &mut document.all } else { &mut document.view };
                *file = Some(number);
            }
            (Kind::Markdown | Kind::Html, _) => {
                document.text = Some(number);
                let head = match tree.head(entry, MAX_HEAD) {
                    Ok(head) => String::from_utf8_lossy(&head).into_owned(),
                    Err(error) => {
                        out.lost(&entry.path, &format!("its title cannot be read: {error}"))?;
                        return Ok(());
                    }
                };
                let head = head.trim_start_matches('\u{feff}');
                let title = match kind {
                    Kind::Html => html::title(head),
                    _ => markdown::title(head),
                };
                if let Some(title) = title {
                    document.title = title;
                }
            }
        }
        Ok(())
    }

    /// Finds the folder of each document. Newer exports have no id in the name of a folder. If
    /// several documents have its name, it belongs to none.
    fn find_owners(&mut self) {
        let mut short: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, document) in self.documents.iter().enumerate() {
            self.owners.insert(join(&document.folder, &document.stem), number);
            if let Some(id) = document.id {
                self.ids.entry(id).or_insert(number);
            }
            let folder = join(&document.folder, &document.short);
            short.entry(folder).or_default().push(number);
        }
        for (folder, documents) in short {
            if let [only] = documents.as_slice() {
                self.owners.entry(folder).or_insert(*only);
            }
        }
        for number in 0..self.documents.len() {
            if self.is_entry(number)
                && let Some(document) = self.documents.get(number)
                && let Some(owner) = self.owners.get(&document.folder)
            {
                self.entries.entry(*owner).or_default().push(number);
            }
        }
    }

    /// Gives each document the path of its page.
    pub(super) fn name_pages(&mut self) {
        for number in 0..self.documents.len() {
            let Some(document) = self.documents.get(number) else { continue };
            let folders = self.folders(&document.folder);
            let path = self.paths.add(folders.iter().map(String::as_str), &document.title);
            if let Some(document) = self.documents.get_mut(number) {
                document.path = path;
            }
        }
    }

    /// Returns the folders of a page for a folder of the export: the path of the page to which it
    /// belongs, and names without ids.
    fn folders(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut path = String::new();
        for name in folder.split('/').filter(|name| !name.is_empty()) {
            path = join(&path, name);
            match self.owners.get(&path).and_then(|owner| self.documents.get(*owner)) {
                Some(owner) if !owner.path.is_empty() => {
                    names = owner.path.split('/').map(str::to_owned).collect();
                }
                _ if is_wrapper(name) => {}
                _ => match split_id(name) {
                    ("", Some(_)) => {}
                    (title, _) => names.push(title.to_owned()),
                },
            }
        }
        names
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
