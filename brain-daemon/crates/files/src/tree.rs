//! Writes the page files of one source without overwriting other programs' saves.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod, fstat};

use super::file_entry::{EntryState, FileEntry, FileOwner, OpenedFile, copy_mode_and_owner};
use super::own_contents::OwnContents;
use super::replaced_files::{OverwrittenEdit, ReplacedFiles, WatchTime};
use super::root_dir::RootDir;
use super::swap::{exchange, rename_new};

/// Attempts to write a file that other programs change meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// Result of an operation on a page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    /// The file is as requested.
    Done,
    /// The file has other contents than brain's; it was left alone.
    Foreign,
    /// Another program emptied the file and may be about to write it; it was left alone.
    Emptied,
}

/// Opens the root directory of a tree, and can refuse another directory that has its path.
pub trait OpenRoot: fmt::Debug + Send + Sync {
    /// Opens the directory.
    ///
    /// # Errors
    /// `NotFound` when it is missing; an error of [`super::is_away`] for another directory.
    fn open(&self, root: &Path) -> io::Result<RootDir>;

    /// Creates the directory, which is missing, and opens it.
    fn create(&self, root: &Path) -> io::Result<RootDir> {
        std::fs::create_dir(root)?;
        self.open(root)
    }

    /// Returns whether the file system of an open directory can be unmounted while brain runs: then
    /// a file of it stays open for a short time only.
    fn can_be_unmounted(&self, _dir: BorrowedFd<'_>) -> bool {
        false
    }
}

/// Opens any directory at the path.
#[derive(Debug)]
struct AnyPlace;

impl OpenRoot for AnyPlace {
    fn open(&self, root: &Path) -> io::Result<RootDir> {
        RootDir::open(root)
    }
}

/// The directory of one source.
///
/// A file is written beside its path and exchanged with the file there. The replaced file is
/// checked before it is removed. So a concurrent save of another program is never lost.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    opener: Box<dyn OpenRoot>,
    /// Whether new files and directories take the mode of the directory above.
    inherit_mode: bool,
    pub(super) replaced_files: ReplacedFiles,
}

impl Tree {
    /// Returns the tree below `root`, which need not exist yet. New files are private.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            opener: Box::new(AnyPlace),
            inherit_mode: false,
            replaced_files: ReplacedFiles::default(),
        }
    }

    /// Opens the root directory with `opener`, which can refuse it.
    #[must_use]
    pub fn opened_by(self, opener: Box<dyn OpenRoot>) -> Self {
        Self { opener, ..self }
    }

    /// Returns the tree below a directory of the owner's. New files and directories take its
    /// permissions.
    #[must_use]
    pub fn of_owner(root: impl Into<PathBuf>) -> Self {
        Self { inherit_mode: true, ..Self::new(root) }
    }

    /// Returns the root directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the absolute path of a file.
    #[must_use]
    pub fn path_of(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns saves of other programs that brain replaced because it wrote at the same time. Each
    /// is returned once.
    #[must_use]
    pub fn take_overwritten_edits(&self) -> Vec<OverwrittenEdit> {
        self.replaced_files.take()
    }

    /// Closes the replaced files that were watched long enough. [`Tree::take_overwritten_edits`]
    /// returns what was saved in them.
    pub fn close_expired_files(&self) {
        self.replaced_files.close_expired();
    }

    /// Writes `text` to the file at `path`. Keeps the mode and owner of an existing file. The
    /// temporary file has `page_id` in its name, so the names of different pages differ.
    ///
    /// # Errors
    /// When the file system refuses, or other programs change the file again and again.
    pub fn put(
        &self,
        path: &str,
        text: &str,
        own: &OwnContents<'_>,
        page_id: u64,
    ) -> io::Result<FileOutcome> {
        for _ in 0..MAX_ATTEMPTS {
            self.put_back(path, own, page_id)?;
            let (entry, state) = match self.entry(path)? {
                Some(entry) => {
                    let state = entry.read()?;
                    (entry, state)
                }
                None => (self.create_entry(path)?, EntryState::Missing),
            };
            let former = match state {
                EntryState::Missing => None,
                EntryState::File(found) if found.bytes == text.as_bytes() => {
                    return Ok(FileOutcome::Done);
                }
                EntryState::File(found) if own.contains(&found.bytes) => Some(found.owner),
                EntryState::File(found) if found.bytes.is_empty() => {
                    return Ok(FileOutcome::Emptied);
                }
                EntryState::File(_) | EntryState::Other => return Ok(FileOutcome::Foreign),
            };
            let new = self.write_temporary(&entry, path, text, former, own, page_id)?;
            let placed = match former {
                None => rename_new(&entry.dir, &new.name, &entry.dir, &entry.name),
                Some(_) => exchange(&entry.dir, &new.name, &entry.name),
            };
            match placed {
                Ok(()) if former.is_none() => return Ok(FileOutcome::Done),
                Ok(()) => return self.inspect(&entry, &new, (path, page_id), text, own),
                Err(e) => {
                    let _ = new.remove();
                    // The file appeared or disappeared meanwhile.
                    if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) {
                        return Err(e);
                    }
                }
            }
        }
        Err(io::Error::other("other programs change it again and again"))
    }

    /// Moves a file to another path, with its mode and owner. Does nothing if there is no file, or
    /// if there is one at the other path.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let Some(old) = self.entry(from)? else { return Ok(()) };
        if !matches!(old.read()?, EntryState::File(_)) {
            return Ok(());
        }
        let new = self.create_entry(to)?;
        match rename_new(&old.dir, &old.name, &new.dir, &new.name) {
            Err(e)
                if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    /// Checks the replaced file, which is at `out` now. If brain did not write it, exchanges the
    /// two files again, so that the other program's file is at the path.
    fn inspect(
        &self,
        entry: &FileEntry,
        out: &FileEntry,
        (path, page_id): (&str, u64),
        text: &str,
        own: &OwnContents<'_>,
    ) -> io::Result<FileOutcome> {
        let mut replaced = match out.read()? {
            EntryState::File(found) if own.contains(&found.bytes) => {
                self.discard(out, path, page_id, found)?;
                return Ok(FileOutcome::Done);
            }
            other => other,
        };
        // The bytes that were last put at the path, if known.
        let mut last_put = Some(text.as_bytes().to_vec());
        for _ in 0..MAX_ATTEMPTS {
            match exchange(&out.dir, &out.name, &entry.name) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    // Another program removed brain's file. Put the replaced file back at its
                    // path.
                    match rename_new(&out.dir, &out.name, &entry.dir, &entry.name) {
                        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                        other => other?,
                    }
                    return Ok(FileOutcome::Foreign);
                }
                other => other?,
            }
            let next = out.read()?;
            match next {
                EntryState::File(found) if last_put.as_ref() == Some(&found.bytes) => {
                    if found.bytes != text.as_bytes() {
                        self.replaced_files.add(page_id, path, found.bytes.clone());
                    }
                    self.discard(out, path, page_id, found)?;
                    return Ok(match replaced {
                        EntryState::File(found) if found.bytes.is_empty() => FileOutcome::Emptied,
                        _ => FileOutcome::Foreign,
                    });
                }
                EntryState::Missing => return Ok(FileOutcome::Foreign),
                // A newer save arrived meanwhile: put it back in turn.
                _ => {
                    last_put = match replaced {
                        EntryState::File(found) => Some(found.bytes),
                        _ => None,
                    };
                    replaced = next;
                }
            }
        }
        if let EntryState::File(found) = replaced {
            self.replaced_files.add(page_id, path, found.bytes.clone());
            self.discard(out, path, page_id, found)?;
        }
        Ok(FileOutcome::Foreign)
    }

    /// Flushes all files below the tree to the disk.
    pub fn sync(&self) -> io::Result<()> {
        match self.open_root().and_then(|root| root.sync()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Removes a replaced file that was checked, and watches it, because another program may have
    /// it open.
    pub(super) fn discard(
        &self,
        out: &FileEntry,
        path: &str,
        page_id: u64,
        found: OpenedFile,
    ) -> io::Result<()> {
        out.remove()?;
        let time = WatchTime::for_disk(self.opener.can_be_unmounted(out.dir.as_fd()));
        self.replaced_files.watch(page_id, path, found.file, &found.bytes, time);
        Ok(())
    }

    /// Removes a temporary file that a killed process left. Keeps the bytes if they are another
    /// program's save that was being exchanged.
    pub(super) fn remove_temporary(
        &self,
        temporary: &FileEntry,
        path: &str,
        own: &OwnContents<'_>,
        page_id: u64,
    ) -> io::Result<()> {
        match temporary.read()? {
            EntryState::Missing => return Ok(()),
            EntryState::File(found) if !own.contains_temporary(&found.bytes) => {
                self.replaced_files.add(page_id, path, found.bytes);
            }
            EntryState::File(_) | EntryState::Other => {}
        }
        temporary.remove()
    }

    /// Writes `text` to a temporary file with the mode and owner of the file that it replaces.
    fn write_temporary(
        &self,
        entry: &FileEntry,
        path: &str,
        text: &str,
        former: Option<FileOwner>,
        own: &OwnContents<'_>,
        page_id: u64,
    ) -> io::Result<FileEntry> {
        let new = entry.temporary(page_id);
        let mut file = match self.create_file(&new) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                self.remove_temporary(&new, path, own, page_id)?;
                self.create_file(&new)?
            }
            other => other?,
        };
        let written = file.write_all(text.as_bytes()).and_then(|()| match former {
            Some(former) => copy_mode_and_owner(&file, former),
            None => Ok(()),
        });
        if let Err(e) = written {
            let _ = new.remove();
            return Err(e);
        }
        Ok(new)
    }

    /// Creates the file of an entry, which must not exist.
    pub(super) fn create_file(&self, entry: &FileEntry) -> io::Result<File> {
        let file = entry.create()?;
        if self.inherit_mode {
            // A file system without modes refuses; the file is usable anyway.
            let _ = fchmod(&file, file_mode(fstat(&*entry.dir)?.st_mode));
        }
        Ok(file)
    }

    /// Opens the root directory.
    ///
    /// # Errors
    /// When it is missing, or the opener refuses it.
    pub fn open_root(&self) -> io::Result<RootDir> {
        self.opener.open(&self.root)
    }

    /// Returns the entry of a file; `None` when its directory is missing.
    pub(super) fn entry(&self, path: &str) -> io::Result<Option<FileEntry>> {
        let (dir, name) = parts(path);
        match self.open_root().and_then(|root| root.open_dir(dir)) {
            Ok(dir) => Ok(Some(FileEntry::new(dir, name))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns the entry of a file and creates its directory. The directory above the tree must
    /// exist; otherwise the tree was moved away.
    pub(super) fn create_entry(&self, path: &str) -> io::Result<FileEntry> {
        let (dir, name) = parts(path);
        let root = match self.open_root() {
            // The owner's directory may be on a disk that is not mounted.
            Err(e) if e.kind() == io::ErrorKind::NotFound && !self.inherit_mode => {
                self.opener.create(&self.root)?
            }
            other => other?,
        };
        Ok(FileEntry::new(root.create_dir(dir, self.inherit_mode)?, name))
    }
}

/// Returns the mode of a new file in a directory with this mode.
fn file_mode(dir: u32) -> Mode {
    Mode::from_raw_mode(dir & 0o666)
}

/// Splits a path into directory and name.
fn parts(path: &str) -> (&Path, &str) {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    (Path::new(dir), name)
}
