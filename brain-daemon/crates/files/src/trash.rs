//! The trash: keeps the files of deleted pages, restores them and purges them.

use std::io::{self, Write};
use std::path::PathBuf;

use super::file_entry::EntryState;
use super::own_contents::OwnContents;
use super::replaced_files::OverwrittenEdit;
use super::swap::rename_new;
use super::tree::{FileOutcome, Tree};

/// The trash directory, beside the pages.
pub const TRASH: &str = ".trash";

impl Tree {
    /// Removes a restored page's copy from the trash, which a crash may have left.
    pub fn remove_trashed_copy(
        &self,
        path: &str,
        text: &str,
        own: &OwnContents<'_>,
        page_id: u64,
    ) -> io::Result<()> {
        for trashed in self.trash_paths(path)? {
            self.remove(&trashed, page_id, |bytes| {
                own.contains(bytes) || bytes == text.as_bytes()
            })?;
        }
        Ok(())
    }

    /// Returns whether the file at `path` has bytes that `same` accepts. If there is no file, first
    /// restores one that `same` accepts from the trash.
    pub fn restore_if_missing(&self, path: &str, same: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        if let Some(entry) = self.entry(path)? {
            match entry.read()? {
                EntryState::Missing => {}
                EntryState::File(found) => return Ok(same(&found.bytes)),
                EntryState::Other => return Ok(false),
            }
        }
        for trashed in self.trash_paths(path)?.into_iter().rev() {
            let Some(from) = self.entry(&trashed)? else { continue };
            if matches!(from.read()?, EntryState::File(found) if same(&found.bytes)) {
                let to = self.create_entry(path)?;
                match rename_new(&from.dir, &from.name, &to.dir, &to.name) {
                    // Another program created the file meanwhile.
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                    other => other?,
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves a page's file to the trash, even if it was edited: its author finds it there. With
    /// `strict`, for files that brain never wrote, moves only brain's own contents.
    ///
    /// # Errors
    /// When the file system refuses; the file is not moved then.
    pub fn trash(
        &self,
        path: &str,
        own: &OwnContents<'_>,
        strict: bool,
        page_id: u64,
    ) -> io::Result<FileOutcome> {
        self.put_back(path, own, page_id)?;
        let Some(entry) = self.entry(path)? else { return Ok(FileOutcome::Done) };
        match entry.read()? {
            EntryState::Missing => return Ok(FileOutcome::Done),
            EntryState::Other => return Ok(FileOutcome::Foreign),
            EntryState::File(found) if strict && !own.contains(&found.bytes) => {
                return Ok(FileOutcome::Foreign);
            }
            EntryState::File(_) => {}
        }
        let mut n = self.trash_paths(path)?.len();
        loop {
            let trashed = self.create_entry(&trash_path(path, n))?;
            match rename_new(&entry.dir, &entry.name, &trashed.dir, &trashed.name) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => n += 1,
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(FileOutcome::Done),
                Err(e) => return Err(e),
                Ok(()) if !strict => return Ok(FileOutcome::Done),
                // The file may have been saved since it was read.
                Ok(()) => match trashed.read()? {
                    EntryState::File(found) if own.contains(&found.bytes) => {
                        return Ok(FileOutcome::Done);
                    }
                    EntryState::Missing => return Ok(FileOutcome::Done),
                    _ => {
                        match rename_new(&trashed.dir, &trashed.name, &entry.dir, &entry.name) {
                            // There is a newer file; this one stays in the trash.
                            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                            other => other?,
                        }
                        return Ok(FileOutcome::Foreign);
                    }
                },
            }
        }
    }

    /// Removes brain's own copies of a page's file from the trash. With `everywhere`, also removes
    /// the file at its path, in case it was never moved to the trash.
    pub fn purge(
        &self,
        path: &str,
        own: &OwnContents<'_>,
        everywhere: bool,
        page_id: u64,
    ) -> io::Result<FileOutcome> {
        let mut outcome = FileOutcome::Done;
        for trashed in self.trash_paths(path)? {
            // A power loss leaves empty files, and no program writes there.
            if !self.remove(&trashed, page_id, |bytes| own.contains(bytes) || bytes.is_empty())? {
                outcome = FileOutcome::Foreign;
            }
        }
        if everywhere && !self.remove(path, page_id, |bytes| own.contains(bytes))? {
            outcome = FileOutcome::Foreign;
        }
        Ok(outcome)
    }

    /// Repairs a page's files after an unclean end: removes temporary files. If the file must be in
    /// the trash (`trashed`), also makes sure that one complete copy with `text` exists, and
    /// removes duplicate copies from the trash.
    pub fn recover(
        &self,
        path: &str,
        text: &str,
        own: &OwnContents<'_>,
        trashed: bool,
        page_id: u64,
    ) -> io::Result<()> {
        for file_path in [path.to_owned(), trash_path(path, 0)] {
            self.put_back(&file_path, own, page_id)?;
            if let Some(entry) = self.entry(&file_path)? {
                self.remove_temporary(&entry.temporary(page_id), path, own, page_id)?;
            }
        }
        if !trashed {
            return Ok(());
        }
        let state = match self.entry(path)? {
            Some(entry) => entry.read()?,
            None => EntryState::Missing,
        };
        let is_missing = matches!(state, EntryState::Missing);
        let is_at_path = matches!(state, EntryState::File(found) if own.contains(&found.bytes));
        let mut has_copy = is_at_path;
        for file_path in self.trash_paths(path)? {
            let Some(entry) = self.entry(&file_path)? else { continue };
            let EntryState::File(found) = entry.read()? else { continue };
            match own.contains(&found.bytes) {
                true if has_copy => {
                    _ = self.remove(&file_path, page_id, |bytes| own.contains(bytes))?;
                }
                true => {
                    self.put(&file_path, text, own, page_id)?;
                    has_copy = true;
                }
                false => {}
            }
        }
        if is_at_path {
            self.put(path, text, own, page_id)?;
        }
        if is_missing && !has_copy {
            // The power loss left the file neither at its path nor in the trash.
            let (path, bytes) = (path.to_owned(), text.as_bytes().to_vec());
            self.keep_in_trash(&OverwrittenEdit { page_id, path, bytes })?;
        }
        Ok(())
    }

    /// Writes an overwritten edit of another program to the trash and returns its path there.
    pub fn keep_in_trash(&self, edit: &OverwrittenEdit) -> io::Result<PathBuf> {
        let mut n = self.trash_paths(&edit.path)?.len();
        loop {
            let file_path = trash_path(&edit.path, n);
            let entry = self.create_entry(&file_path)?;
            match self.create_file(&entry) {
                Ok(mut file) => {
                    file.write_all(&edit.bytes)?;
                    return Ok(self.path_of(&file_path));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => n += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// Returns the taken paths in the trash for `path`.
    fn trash_paths(&self, path: &str) -> io::Result<Vec<String>> {
        let mut paths = Vec::new();
        let Some(first) = self.entry(&trash_path(path, 0))? else { return Ok(paths) };
        if first.is_taken(&first.name) {
            paths.push(trash_path(path, 0));
        }
        for n in 1.. {
            if !first.is_taken(&format!("{}~{n}", first.name)) {
                break;
            }
            // The first path counts, even if its file is gone, so that numbers have no gap.
            if n == 1 && paths.is_empty() {
                paths.push(trash_path(path, 0));
            }
            paths.push(trash_path(path, n));
        }
        Ok(paths)
    }

    /// Removes the file if `is_ours` accepts its bytes. Returns `false` if another file is at the
    /// path. The file is renamed before the last check, so that a concurrent save can be put back.
    fn remove(
        &self,
        path: &str,
        page_id: u64,
        is_ours: impl Fn(&[u8]) -> bool,
    ) -> io::Result<bool> {
        let Some(entry) = self.entry(path)? else { return Ok(true) };
        let moved = entry.temporary(page_id);
        // A process that was killed in the middle of a removal leaves the file there.
        self.clear(&moved, path, page_id, &is_ours)?;
        match entry.read()? {
            EntryState::Missing => return Ok(true),
            EntryState::File(found) if is_ours(&found.bytes) => {}
            EntryState::File(_) | EntryState::Other => return Ok(false),
        }
        match rename_new(&entry.dir, &entry.name, &moved.dir, &moved.name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
            other => other?,
        }
        match moved.read()? {
            EntryState::File(found) if is_ours(&found.bytes) => {
                self.discard(&moved, path, page_id, found)?;
                return Ok(true);
            }
            EntryState::Missing => return Ok(true),
            other => match rename_new(&moved.dir, &moved.name, &entry.dir, &entry.name) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    if let EntryState::File(found) = other {
                        self.replaced_files.add(page_id, path, found.bytes.clone());
                        self.discard(&moved, path, page_id, found)?;
                    }
                }
                result => result?,
            },
        }
        Ok(false)
    }
}

/// Returns the `n`th path in the trash: a page can be deleted more than once.
fn trash_path(path: &str, n: usize) -> String {
    if n == 0 { format!("{TRASH}/{path}") } else { format!("{TRASH}/{path}~{n}") }
}
