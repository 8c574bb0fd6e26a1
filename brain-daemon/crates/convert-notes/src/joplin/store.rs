//! Finds the files of an export, in a directory or an archive, and reads them by their ids.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::item;
use brain_convert_base::ConvertError;

/// Maximum size of an item that is read, in bytes.
const MAX_ITEM: u64 = 20_000_000;
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

/// Where a file is, and its size in bytes.
pub(super) struct Entry {
    place: Place,
    pub(super) size: u64,
}

enum Place {
    Path(PathBuf),
    /// The offset in the archive.
    Offset(u64),
}

/// The files of an export.
pub(super) struct Store {
    /// The name of the archive or directory.
    pub(super) name: String,
    pub(super) items: BTreeMap<u128, Entry>,
    /// The attachments.
    pub(super) files: HashMap<u128, Entry>,
    /// Things that are not read, and why.
    pub(super) problems: Vec<(String, String)>,
    /// Why the archive ends early.
    pub(super) damage: Option<String>,
    archive: Option<File>,
}

impl Store {
    /// Lists the files of an export. Does not follow symbolic links.
    ///
    /// # Errors
    /// [`ConvertError::Read`] if the archive or directory cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self, ConvertError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut store = Self {
            name,
            items: BTreeMap::new(),
            files: HashMap::new(),
            problems: Vec::new(),
            damage: None,
            archive: None,
        };
        if path.is_dir() {
            store.list_directory(path).map_err(ConvertError::read(path))?;
        } else {
            store.list_archive(path).map_err(ConvertError::read(path))?;
        }
        Ok(store)
    }

    /// Returns the name of an item's file, for people.
    pub(super) fn item_name(&self, id: u128) -> String {
        match &self.archive {
            Some(_) => format!("{}, {id:032x}.md", self.name),
            None => format!("{id:032x}.md"),
        }
    }

    /// Reads an item. Returns its text, and whether all of it is UTF-8.
    ///
    /// # Errors
    /// The reason why it is not read, as the rest of a sentence.
    pub(super) fn item(&self, entry: &Entry) -> Result<(String, bool), String> {
        if entry.size > MAX_ITEM {
            return Err(format!("it has {} bytes, more than the limit of {MAX_ITEM}", entry.size));
        }
        let bytes = self.bytes(entry).map_err(|error| format!("it cannot be read: {error}"))?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => (text, true),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
        })
    }

    /// Reads a whole file. The caller limits its size.
    pub(super) fn bytes(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let size = usize::try_from(entry.size).map_err(io::Error::other)?;
        match (&entry.place, &self.archive) {
            (Place::Offset(offset), Some(archive)) => {
                let mut bytes = vec![0; size];
                archive.read_exact_at(&mut bytes, *offset)?;
                Ok(bytes)
            }
            (Place::Path(path), _) => {
                let mut bytes = Vec::with_capacity(size);
                File::open(path)?.take(entry.size).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            (Place::Offset(_), None) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list_directory(&mut self, path: &Path) -> io::Result<()> {
        for (name, entry) in sorted(path)? {
            let kind = entry.file_type()?;
            if kind.is_dir() && FILE_FOLDERS.contains(&name.as_str()) {
                self.list_files(&name, &entry.path())?;
            } else if kind.is_file()
                && let Some(id) = ITEMS.id(&name)
            {
                self.add(&name, EntryKind::Item(id), of_file(&entry)?);
            } else if !SYNC_NAMES.contains(&name.as_str()) {
                self.problem(&name, foreign(kind));
            }
        }
        Ok(())
    }

    fn list_files(&mut self, folder: &str, path: &Path) -> io::Result<()> {
        for (name, entry) in sorted(path)? {
            let kind = entry.file_type()?;
            match FILES.id(&name).filter(|_| kind.is_file()) {
                Some(id) => self.add(&name, EntryKind::File(id), of_file(&entry)?),
                None => self.problem(&format!("{folder}/{name}"), foreign(kind)),
            }
        }
        Ok(())
    }

    fn list_archive(&mut self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut archive = tar::Archive::new(&file);
        for entry in archive.entries_with_seek()? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.damage = Some(format!("the archive is damaged: {error}"));
                    break;
                }
            };
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let (offset, size) = (entry.raw_file_position(), entry.size());
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                continue;
            }
            match entry_kind(&name).filter(|_| kind.is_file()) {
                _ if offset.checked_add(size).is_none_or(|end| end > length) => {
                    self.damage = Some(format!("the archive ends within {name}"));
                    break;
                }
                Some(kind) => self.add(&name, kind, Entry { place: Place::Offset(offset), size }),
                None => self.problem(&name, NOT_JOPLIN),
            }
        }
        self.archive = Some(file);
        Ok(())
    }

    fn add(&mut self, name: &str, kind: EntryKind, entry: Entry) {
        let former = match kind {
            EntryKind::Item(id) => self.items.insert(id, entry),
            EntryKind::File(id) => self.files.insert(id, entry),
        };
        if former.is_some() {
            self.problem(name, "its id is there twice; the last one was read");
        }
    }

    fn problem(&mut self, name: &str, reason: &str) {
        self.problems.push((name.to_owned(), reason.to_owned()));
    }
}

const NOT_JOPLIN: &str = "it is neither an item nor an attachment of Joplin";

fn foreign(kind: fs::FileType) -> &'static str {
    if kind.is_symlink() { "it is a symbolic link, which is not followed" } else { NOT_JOPLIN }
}

fn of_file(entry: &fs::DirEntry) -> io::Result<Entry> {
    Ok(Entry { place: Place::Path(entry.path()), size: entry.metadata()?.len() })
}

/// Returns the entries of a directory in the order of their names.
fn sorted(path: &Path) -> io::Result<Vec<(String, fs::DirEntry)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        entries.push((entry.file_name().to_string_lossy().into_owned(), entry));
    }
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}
