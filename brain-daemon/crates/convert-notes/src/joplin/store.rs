//! Finds the files of an export, in a directory or an archive, and reads them by their ids.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::item;
use brain_convert_base::{ConvertError, Entry, Output, Tree};

/// Maximum size of an item that is read, in bytes.
const MAX_ITEM: usize = 20_000_000;
/// Folders of attachments: in exports, and in directories with which Joplin syncs.
const FILE_FOLDERS: [&str; 2] = ["resources", ".resource"];
/// Names beside the items in a directory with which Joplin syncs. They hold no notes.
const SYNC_NAMES: [&str; 6] = ["info.json", "locks", "temp", ".sync", ".lock", ".resource"];

/// Names of the files of one kind.
pub(super) struct Names {
    has_any_extension: bool,
}

/// The names of items: `<id>.md`.
pub(super) const ITEMS: Names = Names { has_any_extension: false };
/// The names of attachments: `<id>`, `<id>.png`.
const FILES: Names = Names { has_any_extension: true };

impl Names {
    /// Returns the id in a name of this kind.
    pub(super) fn id(&self, name: &str) -> Option<u128> {
        let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
        item::id(stem).filter(|_| self.has_any_extension || extension == "md")
    }
}

/// A file in the archive or directory.
#[derive(Clone, Copy)]
pub(super) enum EntryKind {
    Item(u128),
    File(u128),
}

/// Returns what a path in an archive is, or `None` if it is of no use.
pub(super) fn entry_kind(path: &str) -> Option<EntryKind> {
    let path = path.strip_prefix("./").unwrap_or(path);
    match path.split_once('/') {
        None => ITEMS.id(path).map(EntryKind::Item),
        Some((folder, name)) if FILE_FOLDERS.contains(&folder) => {
            FILES.id(name).map(EntryKind::File)
        }
        Some(_) => None,
    }
}

/// Where a file is.
pub(super) enum Place {
    Entry(Entry),
    /// Its offset and size in a tar.
    Offset(u64, u64),
}

/// The files of an export.
pub(super) struct Store {
    /// The name of the archive or directory.
    pub(super) name: String,
    pub(super) items: BTreeMap<u128, Place>,
    /// The attachments.
    pub(super) files: HashMap<u128, Place>,
    /// Why the archive ends early.
    pub(super) damage: Option<String>,
    /// Things that are not read, and why.
    problems: Vec<(String, &'static str)>,
    source: Source,
}

enum Source {
    Tree(Tree),
    Tar(File),
}

impl Store {
    /// Lists the files of an export: a tar, a directory or a ZIP archive.
    ///
    /// # Errors
    /// [`ConvertError::Read`] if it cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self, ConvertError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let source = match Tree::open(path).map_err(ConvertError::read(path))? {
            Some(tree) => Source::Tree(tree),
            None => Source::Tar(File::open(path).map_err(ConvertError::read(path))?),
        };
        let mut list = List::default();
        let damage = match &source {
            Source::Tree(tree) => {
                list.tree(tree);
                None
            }
            Source::Tar(file) => list.tar(file).map_err(ConvertError::read(path))?,
        };
        let List { items, files, problems } = list;
        Ok(Self { name, items, files, damage, problems, source })
    }

    /// Reports what is not read.
    pub(super) fn report_problems(&self, out: &mut Output<'_>) -> io::Result<()> {
        if let Source::Tree(tree) = &self.source {
            tree.report_problems(out)?;
        }
        self.problems.iter().try_for_each(|(name, reason)| out.lost(name, reason))
    }

    /// Returns the name of an item's file, for people.
    pub(super) fn item_name(&self, id: u128) -> String {
        match &self.source {
            Source::Tree(tree) if !tree.is_archive() => format!("{id:032x}.md"),
            _ => format!("{}, {id:032x}.md", self.name),
        }
    }

    /// Reads an item. Returns its text, and whether all of it is UTF-8.
    ///
    /// # Errors
    /// The reason why it is not read, as the rest of a sentence.
    pub(super) fn item(&self, place: &Place) -> Result<(String, bool), String> {
        let bytes = match self.bytes(place, MAX_ITEM) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(format!("it has more than {MAX_ITEM} bytes, the limit")),
            Err(error) => return Err(format!("it cannot be read: {error}")),
        };
        Ok(match String::from_utf8(bytes) {
            Ok(text) => (text, true),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
        })
    }

    /// Reads a whole file. Returns `None` if it has more than `max` bytes.
    pub(super) fn bytes(&self, place: &Place, max: usize) -> io::Result<Option<Vec<u8>>> {
        match (place, &self.source) {
            (Place::Entry(entry), Source::Tree(tree)) => tree.read(entry, max),
            (Place::Offset(offset, size), Source::Tar(file)) => {
                let size = usize::try_from(*size).map_err(io::Error::other)?;
                if size > max {
                    return Ok(None);
                }
                let mut bytes = vec![0; size];
                file.read_exact_at(&mut bytes, *offset)?;
                Ok(Some(bytes))
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The files that were found.
#[derive(Default)]
struct List {
    items: BTreeMap<u128, Place>,
    files: HashMap<u128, Place>,
    problems: Vec<(String, &'static str)>,
}

impl List {
    fn tree(&mut self, tree: &Tree) {
        let root = tree.root();
        for entry in tree.entries() {
            let name = entry.path.strip_prefix(root).unwrap_or(&entry.path);
            let top = name.split('/').next().unwrap_or_default();
            match entry_kind(name) {
                Some(kind) => self.add(name, kind, Place::Entry(entry.clone())),
                None if SYNC_NAMES.contains(&top) => {}
                None => self.problem(name, NOT_JOPLIN),
            }
        }
    }

    /// Lists the files of a tar. Returns why it ends early.
    fn tar(&mut self, file: &File) -> io::Result<Option<String>> {
        let length = file.metadata()?.len();
        let mut archive = tar::Archive::new(file);
        for entry in archive.entries_with_seek()? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Ok(Some(format!("the archive is damaged: {error}"))),
            };
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let (offset, size) = (entry.raw_file_position(), entry.size());
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                continue;
            }
            match entry_kind(&name).filter(|_| kind.is_file()) {
                _ if offset.checked_add(size).is_none_or(|end| end > length) => {
                    return Ok(Some(format!("the archive ends within {name}")));
                }
                Some(kind) => self.add(&name, kind, Place::Offset(offset, size)),
                None => self.problem(&name, NOT_JOPLIN),
            }
        }
        Ok(None)
    }

    fn add(&mut self, name: &str, kind: EntryKind, place: Place) {
        let former = match kind {
            EntryKind::Item(id) => self.items.insert(id, place),
            EntryKind::File(id) => self.files.insert(id, place),
        };
        if former.is_some() {
            self.problem(name, "its id is there twice; the last one was read");
        }
    }

    fn problem(&mut self, name: &str, reason: &'static str) {
        self.problems.push((name.to_owned(), reason));
    }
}

const NOT_JOPLIN: &str = "it is neither an item nor an attachment of Joplin";
