//! A directory entry: a handle of the directory, and a name in it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, statat, unlinkat};
use rustix::io::Errno;

/// Length in bytes from which a file cannot be that of a page.
pub(super) const MAX_FILE_BYTES: u64 = 8_000_000;

/// A directory handle and a file name.
pub(super) struct FileEntry {
    pub(super) dir: Rc<OwnedFd>,
    pub(super) name: String,
}

/// State of a directory entry.
pub(super) enum EntryState {
    Missing,
    File(OpenedFile),
    /// A link, a directory, another special file, or a file larger than any page. Brain wrote none
    /// of these.
    Other,
}

/// An open file and its bytes.
pub(super) struct OpenedFile {
    pub(super) file: File,
    pub(super) owner: FileOwner,
    pub(super) bytes: Vec<u8>,
}

/// Owner, group and mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileOwner {
    user: u32,
    group: u32,
    mode: u32,
}

impl FileEntry {
    pub(super) fn new(dir: OwnedFd, name: &str) -> Self {
        Self { dir: Rc::new(dir), name: name.to_owned() }
    }

    /// Opens and reads the file. Follows no link.
    pub(super) fn read(&self) -> io::Result<EntryState> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file: File = match openat(&*self.dir, &*self.name, flags, Mode::empty()) {
            Ok(file) => file.into(),
            Err(Errno::NOENT) => return Ok(EntryState::Missing),
            Err(Errno::LOOP | Errno::NXIO) => return Ok(EntryState::Other),
            Err(e) => return Err(e.into()),
        };
        let meta = file.metadata()?;
        if !meta.is_file() || meta.len() >= MAX_FILE_BYTES {
            return Ok(EntryState::Other);
        }
        let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
        (&mut file).take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        let owner = FileOwner { user: meta.uid(), group: meta.gid(), mode: meta.mode() };
        Ok(EntryState::File(OpenedFile { file, owner, bytes }))
    }

    /// Returns the entry of the temporary file of the page `page_id`, in the same directory.
    pub(super) fn temporary(&self, page_id: u64) -> Self {
        self.sibling(format!(".brain-{page_id}.tmp"))
    }

    /// Returns another entry of the same directory.
    pub(super) fn sibling(&self, name: String) -> Self {
        Self { dir: Rc::clone(&self.dir), name }
    }

    /// Creates the file, which must not exist.
    pub(super) fn create(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(&*self.dir, &*self.name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Removes the file, if it exists.
    pub(super) fn remove(&self) -> io::Result<()> {
        match unlinkat(&*self.dir, &*self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether the directory has an entry with this name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        statat(&*self.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

/// Gives `file` the mode and, as far as permitted, the owner of the former file.
pub(super) fn copy_mode_and_owner(file: &File, former: FileOwner) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (former.user, former.group) {
        let (user, group) = (Some(Uid::from_raw(former.user)), Some(Gid::from_raw(former.group)));
        if fchown(file, user, group).is_err() {
            // The group can be set without privileges if the process is a member.
            let _ = fchown(file, None, group);
        }
    }
    if own.mode() != former.mode {
        fchmod(file, Mode::from_raw_mode(former.mode & 0o7777))?;
    }
    Ok(())
}
