//! The files of a directory or of a ZIP archive, read in the same way.

mod one_file;
mod part;
mod replaced;

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::OFlags;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::Output;
use part::Part;

/// Maximum number of files.
const MAX_ENTRIES: usize = 500_000;
/// Maximum depth of folders in a directory.
const MAX_DEPTH: usize = 100;
/// Maximum size of a compressed archive in an archive, in bytes. It is read into memory.
const MAX_INNER: u64 = 256 * 1024 * 1024;
/// How a ZIP archive begins.
const MAGIC: &[u8] = b"PK\x03\x04";

type Archive = ZipArchive<BufReader<Part>>;

/// The files of a directory or of a ZIP archive. Links are not followed. If an archive has only
/// archives, as Notion makes them, their files are those of the tree.
pub struct Tree {
    place: Place,
    entries: Vec<Entry>,
    /// What is not among the entries, and why.
    problems: Vec<(String, String)>,
}

enum Place {
    Directory(PathBuf),
    /// The archive, or those in it.
    Archives(RefCell<Vec<Archive>>),
}

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path below the root, with `/` between names. It has no empty name, `.` or `..`.
    pub path: String,
    /// Its size in bytes; in an archive as that states it.
    pub size: u64,
    /// When it was changed. `None` in an archive, whose times have no zone.
    pub modified: Option<Timestamp>,
    /// Number of the archive, and of the file in it.
    number: (usize, usize),
}

impl Entry {
    /// The name of the file.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The path of the folder; empty at the root.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// What follows the last dot of the name, in lower case; empty if there is none.
    pub fn extension(&self) -> String {
        let dot = self.name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        dot.map_or_else(String::new, |(_, extension)| extension.to_lowercase())
    }
}

impl Tree {
    /// Lists a directory, or a file that begins as a ZIP archive. Returns `None` for another file.
    ///
    /// # Errors
    /// If it cannot be read, or has more than half a million files.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut tree = Self {
            place: Place::Directory(path.to_owned()),
            entries: Vec::new(),
            problems: Vec::new(),
        };
        if fs::metadata(path)?.is_dir() {
            tree.list_directory(path, "", 0)?;
        } else {
            let Some(file) = open_file(path)? else { return Ok(None) };
            let mut part = Part::of(file)?;
            let mut head = Vec::new();
            part.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head)?;
            if head != MAGIC {
                return Ok(None);
            }
            tree.list_archives(&part)?;
        }
        tree.sort();
        Ok(Some(tree))
    }

    /// The files, sorted by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns whether this is an archive, whose [`Entry::size`] can be wrong.
    pub fn is_archive(&self) -> bool {
        matches!(self.place, Place::Archives(_))
    }

    /// The folder that has all files of an archive, with `/` at its end; empty if there is none, and
    /// for a directory. A program that packs a folder puts its name before all paths.
    pub fn root(&self) -> &str {
        let mut paths = self.entries.iter().map(|entry| entry.path.as_str());
        // macOS puts files of its own beside the folder.
        let mut paths = paths.by_ref().filter(|path| !path.starts_with("__MACOSX/"));
        let first = paths.next().unwrap_or_default();
        let root = first.find('/').and_then(|at| first.get(..=at)).unwrap_or_default();
        let has_all = self.is_archive() && paths.all(|path| path.starts_with(root));
        if has_all { root } else { "" }
    }

    /// Returns the file at exactly this path.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
        self.entries.get(at)
    }

    /// Reads a whole file. Returns `None` if it has more than `max` bytes.
    ///
    /// # Errors
    /// If it cannot be read, is encrypted, or is damaged.
    pub fn read(&self, entry: &Entry, max: usize) -> io::Result<Option<Vec<u8>>> {
        let max = max as u64;
        self.with_reader(entry, |reader| {
            let mut bytes = Vec::new();
            reader.take(max + 1).read_to_end(&mut bytes)?;
            Ok((bytes.len() as u64 <= max).then_some(bytes))
        })?
    }

    /// Reads at most `max` bytes of the beginning of a file.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn head(&self, entry: &Entry, max: usize) -> io::Result<Vec<u8>> {
        self.with_reader(entry, |reader| {
            let mut bytes = Vec::new();
            reader.take(max as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        })?
    }

    /// Calls `read` with a reader of a file. Another file cannot be read meanwhile.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn with_reader<T>(
        &self,
        entry: &Entry,
        read: impl FnOnce(&mut dyn Read) -> T,
    ) -> io::Result<T> {
        match &self.place {
            Place::Directory(root) => {
                let file = open_file(&root.join(&entry.path))?;
                let file = file.ok_or_else(|| io::Error::other("it is not a regular file"))?;
                Ok(read(&mut BufReader::new(file)))
            }
            Place::Archives(archives) => {
                let mut archives = archives.try_borrow_mut().map_err(io::Error::other)?;
                let (archive, file) = entry.number;
                let archive =
                    archives.get_mut(archive).ok_or_else(|| io::Error::other("no such file"))?;
                let mut file = archive.by_index(file).map_err(zip_error)?;
                Ok(read(&mut file))
            }
        }
    }

    /// Reports the files that are not among the entries.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn report_problems(&self, out: &mut Output<'_>) -> io::Result<()> {
        self.problems.iter().try_for_each(|(path, reason)| out.lost(path, reason))
    }

    fn list_directory(&mut self, directory: &Path, below: &str, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let path = format!("{below}{}", name.to_string_lossy());
            let kind = entry.file_type()?;
            if name.to_str().is_none() {
                self.problems.push((path, "its name is not UTF-8".to_owned()));
            } else if kind.is_dir() && depth == MAX_DEPTH {
                self.problems.push((path, format!("it lies below {MAX_DEPTH} folders")));
            } else if kind.is_dir() {
                self.list_directory(&entry.path(), &format!("{path}/"), depth + 1)?;
            } else if kind.is_file() {
                self.add(Entry::of_file(path, &entry.metadata()?))?;
            } else {
                self.problems.push((path, "it is a link or no regular file".to_owned()));
            }
        }
        Ok(())
    }

    fn list_archives(&mut self, part: &Part) -> io::Result<()> {
        let mut outer = open_archive(part.clone())?;
        let inner = inner_archives(part, &mut outer)?;
        let mut archives = match inner.is_empty() {
            true => vec![(String::new(), part.clone(), outer)],
            false => inner,
        };
        for (number, (folder, part, archive)) in archives.iter_mut().enumerate() {
            for name in replaced::replaced(part, archive)? {
                self.add_replaced(format!("{folder}{}", file_name(&name, None)));
            }
            self.list_archive(number, folder, archive)?;
        }
        let archives = archives.into_iter().map(|(_, _, archive)| archive).collect();
        self.place = Place::Archives(RefCell::new(archives));
        Ok(())
    }

    fn list_archive(&mut self, archive: usize, folder: &str, zip: &mut Archive) -> io::Result<()> {
        for number in 0..zip.len() {
            let file = zip.by_index_raw(number).map_err(zip_error)?;
            let path =
                format!("{folder}{}", file_name(file.name_raw(), file.name().ok().as_deref()));
            let mode = file.unix_mode().unwrap_or_default();
            let reason = if path.ends_with('/') || file.is_dir() {
                continue;
            } else if !is_plain(&path) {
                "its path leads out of the archive"
            } else if file.is_symlink() || !matches!(mode >> 12, 0 | 8) {
                "it is a link or no regular file"
            } else if file.encrypted() {
                "it is locked by a password"
            } else {
                let size = file.size();
                self.add(Entry { path, size, modified: None, number: (archive, number) })?;
                continue;
            };
            self.problems.push((path, reason.to_owned()));
        }
        Ok(())
    }

    /// Sorts the files. Of those with one path in an archive, only the last is kept, as programs
    /// that unpack archives do.
    fn sort(&mut self) {
        self.entries.sort_unstable_by(|a, b| (&a.path, b.number).cmp(&(&b.path, a.number)));
        let mut replaced = Vec::new();
        self.entries.dedup_by(|earlier, kept| {
            let is_same = earlier.path == kept.path;
            if is_same {
                replaced.push(std::mem::take(&mut earlier.path));
            }
            is_same
        });
        replaced.into_iter().for_each(|path| self.add_replaced(path));
    }

    fn add_replaced(&mut self, path: String) {
        let reason = "the archive has a later file of the same name, which is read".to_owned();
        self.problems.push((path, reason));
    }

    fn add(&mut self, entry: Entry) -> io::Result<()> {
        if self.entries.len() == MAX_ENTRIES {
            return Err(io::Error::other(format!("it has more than {MAX_ENTRIES} files")));
        }
        self.entries.push(entry);
        Ok(())
    }
}

/// Opens a regular file, and no link. Returns `None` for a pipe or device, which could block.
fn open_file(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

fn open_archive(part: Part) -> io::Result<Archive> {
    ZipArchive::new(BufReader::new(part)).map_err(zip_error)
}

/// Returns the archives in an archive that has nothing else, with the path of their folder and their
/// bytes.
fn inner_archives(part: &Part, outer: &mut Archive) -> io::Result<Vec<(String, Part, Archive)>> {
    let mut found = Vec::new();
    for number in 0..outer.len() {
        let file = outer.by_index_raw(number).map_err(zip_error)?;
        let name = file_name(file.name_raw(), file.name().ok().as_deref());
        if name.ends_with('/') {
            continue;
        }
        if !name.to_lowercase().ends_with(".zip") || !is_plain(&name) || file.encrypted() {
            return Ok(Vec::new());
        }
        let folder = name.rsplit_once('/').map_or_else(String::new, |(it, _)| format!("{it}/"));
        let stored = (file.compression() == zip::CompressionMethod::Stored)
            .then(|| file.data_start().map(|start| part.section(start, file.size())))
            .flatten();
        drop(file);
        let inner = match stored {
            Some(section) => section,
            None => {
                let mut bytes = Vec::new();
                let inner = outer.by_index(number).map_err(zip_error)?;
                inner.take(MAX_INNER + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > MAX_INNER {
                    let message = format!(
                        "{name} in it has more than {MAX_INNER} bytes and is compressed; unpack it, \
                         and import {name}"
                    );
                    return Err(io::Error::other(message));
                }
                Part::in_memory(bytes)
            }
        };
        found.push((folder, inner.clone(), open_archive(inner)?));
    }
    Ok(found)
}

/// Returns the name of a file in an archive. Many programs write UTF-8 without saying so
/// (APPNOTE.TXT 4.4.4, bit 11). Some programs of Windows write `\` for `/`, against 4.4.17.
fn file_name(raw: &[u8], name: Option<&str>) -> String {
    let lossy = || String::from_utf8_lossy(raw).into_owned();
    let name = match std::str::from_utf8(raw) {
        Ok(name) => name.to_owned(),
        Err(_) => name.map_or_else(lossy, str::to_owned),
    };
    name.replace('\\', "/")
}

/// Returns whether a path has only names, so that it cannot lead out of a directory.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains(['\\', '\0'])
}

fn zip_error(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        error => io::Error::other(format!("the ZIP archive is damaged: {error}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Cursor, Write as _};
    use std::os::unix::fs::symlink;

    use zip::CompressionMethod;
    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    fn zip(method: CompressionMethod, files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            let options = SimpleFileOptions::default().compression_method(method);
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn tree(bytes: &[u8]) -> Tree {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        Tree::open(file.path()).unwrap().unwrap()
    }

    fn paths(tree: &Tree) -> Vec<&str> {
        tree.entries().iter().map(|entry| entry.path.as_str()).collect()
    }

    #[test]
    fn directory_and_archive_are_read_in_the_same_way() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("b")).unwrap();
        fs::write(dir.path().join("b/y.TXT"), "two").unwrap();
        fs::write(dir.path().join("a"), "one").unwrap();
        symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let of_directory = Tree::open(dir.path()).unwrap().unwrap();
        assert_eq!(of_directory.problems.len(), 1);
        assert!(!of_directory.is_archive());
        let files: &[(&str, &[u8])] = &[("b/y.TXT", b"two"), ("a", b"one")];
        for tree in [of_directory, tree(&zip(CompressionMethod::Deflated, files))] {
            assert_eq!(paths(&tree), ["a", "b/y.TXT"]);
            let entry = tree.entry("b/y.TXT").unwrap();
            assert_eq!((entry.name(), entry.folder(), entry.size), ("y.TXT", "b", 3));
            assert_eq!(entry.extension(), "txt");
            assert_eq!(tree.read(entry, 3).unwrap().unwrap(), b"two");
            assert_eq!(tree.read(entry, 2).unwrap(), None);
            assert_eq!(tree.head(entry, 2).unwrap(), b"tw");
        }
        assert!(Tree::open(&dir.path().join("a")).unwrap().is_none());
    }

    #[test]
    fn names_of_windows_are_paths() {
        let files: &[(&str, &[u8])] = &[("a\\b.md", b"b"), ("a\\..\\..\\c.md", b"c")];
        let tree = tree(&zip(CompressionMethod::Stored, files));
        assert_eq!(paths(&tree), ["a/b.md"]);
        assert_eq!(tree.problems.len(), 1);
    }

    #[test]
    fn the_root_of_an_archive_has_all_its_files() {
        let root = |names: &[&str]| {
            let files: Vec<(&str, &[u8])> = names.iter().map(|it| (*it, b"x".as_slice())).collect();
            tree(&zip(CompressionMethod::Stored, &files)).root().to_owned()
        };
        assert_eq!(root(&["a/b/c", "a/d", "__MACOSX/a/._d"]), "a/");
        assert_eq!(root(&["a/b", "ab"]), "");
        assert_eq!(root(&["a"]), "");
    }

    #[test]
    fn archives_in_an_archive_are_one_tree() {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let one = zip(CompressionMethod::Deflated, &[("n/a.md", b"a")]);
            let two = zip(CompressionMethod::Deflated, &[("n/b.md", b"b")]);
            let tree = tree(&zip(method, &[("Part-1.zip", &one), ("Part-2.zip", &two)]));
            assert_eq!(paths(&tree), ["n/a.md", "n/b.md"]);
            assert_eq!(tree.read(tree.entry("n/b.md").unwrap(), 9).unwrap().unwrap(), b"b");
        }
        let inner = zip(CompressionMethod::Stored, &[("x", b"x")]);
        let mixed = tree(&zip(CompressionMethod::Stored, &[("a.zip", &inner), ("b", b"b")]));
        assert_eq!(paths(&mixed), ["a.zip", "b"]);
    }

    #[test]
    fn paths_that_lead_out_are_problems() {
        let files: &[(&str, &[u8])] = &[("../up", b"1"), ("/top", b"2"), ("a/../../b", b"3")];
        let tree = tree(&zip(CompressionMethod::Stored, files));
        assert!(tree.entries().is_empty());
        assert_eq!(tree.problems.len(), 3);
        let mut out = Vec::new();
        tree.report_problems(&mut Output::new(&mut out, false)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 3);
    }

    #[test]
    fn a_cut_or_locked_archive_is_an_error_by_name() {
        let whole = zip(CompressionMethod::Deflated, &[("a", &[7; 5000]), ("b", b"b")]);
        for tenth in 1..10 {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), &whole[..whole.len() * tenth / 10]).unwrap();
            let error = Tree::open(file.path()).err().unwrap().to_string();
            assert!(error.contains("the ZIP archive is damaged"), "{error}");
        }
    }

    #[test]
    fn files_of_one_name_are_reported_but_for_the_last() {
        let files: &[(&str, &[u8])] = &[("x.md", b"one"), ("y.md", b"two"), ("z.md", b"three")];
        let mut bytes = zip(CompressionMethod::Stored, files);
        for at in 0..bytes.len() - 4 {
            if &bytes[at..at + 4] == b"y.md" {
                bytes[at] = b'x';
            }
        }
        let tree = tree(&bytes);
        assert_eq!(paths(&tree), ["x.md", "z.md"]);
        assert_eq!(tree.read(&tree.entries()[0], 10).unwrap().unwrap(), b"two");
        assert_eq!(tree.problems.len(), 1);
        assert_eq!(tree.problems[0].0, "x.md");
    }

    #[test]
    fn archives_in_an_archive_can_have_the_same_file() {
        let inner = |text: &[u8]| zip(CompressionMethod::Stored, &[("a.md", text)]);
        let (one, two) = (inner(b"one"), inner(b"two"));
        let files: &[(&str, &[u8])] = &[("1.zip", &one), ("2.zip", &two)];
        let tree = tree(&zip(CompressionMethod::Stored, files));
        assert_eq!(paths(&tree), ["a.md"]);
        assert_eq!(tree.read(&tree.entries()[0], 10).unwrap().unwrap(), b"two");
        assert_eq!(tree.problems.len(), 1);
    }

    #[test]
    fn names_without_the_mark_of_utf_8_are_utf_8_if_they_can_be() {
        assert_eq!(file_name("Grün.md".as_bytes(), Some("Gr├╝n.md")), "Grün.md");
        assert_eq!(file_name(b"Gr\x81n.md", Some("Grün.md")), "Grün.md");
    }
}
