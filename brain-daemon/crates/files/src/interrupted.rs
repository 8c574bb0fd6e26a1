//! Puts back files that a killed process left in the middle of an exchange or a removal.

use std::io;

use super::file_entry::{EntryState, FileEntry};
use super::own_contents::OwnContents;
use super::replaced_files::OverwrittenEdit;
use super::swap::{name_in_exchange, rename_new};
use super::tree::Tree;

impl Tree {
    /// Puts a page's file back at `path`, if a process was killed while it exchanged that file in
    /// steps. If there is a file at `path` again, the one of the exchange is removed if brain wrote
    /// it, and otherwise kept in the trash and as an edit. Does nothing where files are exchanged
    /// at once.
    ///
    /// # Errors
    /// When the file system refuses. No file is lost then.
    pub fn put_back(&self, path: &str, own: &OwnContents<'_>, page_id: u64) -> io::Result<()> {
        let Some(entry) = self.entry(path)? else { return Ok(()) };
        let left = entry.sibling(name_in_exchange(&entry.temporary(page_id).name));
        if !left.is_taken(&left.name) {
            return Ok(());
        }
        match rename_new(&left.dir, &left.name, &entry.dir, &entry.name) {
            Ok(()) => {
                tracing::warn!(
                    path = %self.path_of(path).display(),
                    "a file of an interrupted write was put back"
                );
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                self.clear(&left, path, page_id, |bytes| own.contains(bytes))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Removes a file of an interrupted operation if `is_ours` accepts its bytes; otherwise keeps
    /// it in the trash, and as an edit of another program.
    pub(super) fn clear(
        &self,
        left: &FileEntry,
        path: &str,
        page_id: u64,
        is_ours: impl Fn(&[u8]) -> bool,
    ) -> io::Result<()> {
        match left.read()? {
            EntryState::Missing => Ok(()),
            EntryState::File(found) if is_ours(&found.bytes) => left.remove(),
            EntryState::File(found) => {
                let path = path.to_owned();
                let edit = OverwrittenEdit { page_id, path, bytes: found.bytes };
                if !edit.bytes.is_empty() {
                    // The copy in the trash survives a kill before the edit becomes a version.
                    let kept_at = self.keep_in_trash(&edit)?;
                    tracing::warn!(path = %kept_at.display(), "edit of an interrupted write kept");
                    self.replaced_files.add(page_id, &edit.path, edit.bytes);
                }
                left.remove()
            }
            EntryState::Other => Err(io::Error::other(format!(
                "{} is not a file that brain wrote",
                self.path_of(path).with_file_name(&left.name).display()
            ))),
        }
    }
}
