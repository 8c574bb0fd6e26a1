//! One file's place: its directory as a handle, and its name in it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, statat, unlinkat};
use rustix::io::Errno;

/// Larger than the file of the largest page, in bytes.
pub(super) const TOO_LARGE: u64 = 8_000_000;

/// A file's directory, and its name in it.
pub(super) struct Spot {
    pub(super) dir: Rc<OwnedFd>,
    pub(super) name: String,
}

/// What is at a place.
pub(super) enum Seen {
    Nothing,
    File(Looked),
    /// A link, a directory, a file larger than any page: nothing that we made.
    Other,
}

/// A file that was opened and read.
pub(super) struct Looked {
    pub(super) file: File,
    pub(super) owner: Owner,
    pub(super) bytes: Vec<u8>,
}

/// Whose a file is, and who may read and write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    user: u32,
    group: u32,
    mode: u32,
}

impl Spot {
    pub(super) fn new(dir: OwnedFd, name: &str) -> Self {
        Self { dir: Rc::new(dir), name: name.to_owned() }
    }

    /// Opens and reads the file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn look(&self) -> io::Result<Seen> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file: File = match openat(&*self.dir, &*self.name, flags, Mode::empty()) {
            Ok(file) => file.into(),
            Err(Errno::NOENT) => return Ok(Seen::Nothing),
            Err(Errno::LOOP | Errno::NXIO) => return Ok(Seen::Other),
            Err(e) => return Err(e.into()),
        };
        let meta = file.metadata()?;
        if !meta.is_file() || meta.len() >= TOO_LARGE {
            return Ok(Seen::Other);
        }
        let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
        (&mut file).take(TOO_LARGE).read_to_end(&mut bytes)?;
        let owner = Owner { user: meta.uid(), group: meta.gid(), mode: meta.mode() };
        Ok(Seen::File(Looked { file, owner, bytes }))
    }

    /// The temporary file for it.
    pub(super) fn beside(&self, tag: u64) -> Self {
        Self { dir: Rc::clone(&self.dir), name: format!(".brain-{tag}.tmp") }
    }

    /// Makes the file, which must not be there.
    pub(super) fn create(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(&*self.dir, &*self.name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Removes the file, if it is there.
    pub(super) fn remove(&self) -> io::Result<()> {
        match unlinkat(&*self.dir, &*self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether the directory has something with this name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        statat(&*self.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

/// Another user's file stays theirs, as far as we may say so.
pub(super) fn keep_mode_and_owner(file: &File, former: Owner) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (former.user, former.group) {
        let (user, group) = (Some(Uid::from_raw(former.user)), Some(Gid::from_raw(former.group)));
        if fchown(file, user, group).is_err() {
            // A group that we are in may be given without any right.
            let _ = fchown(file, None, group);
        }
    }
    if own.mode() != former.mode {
        fchmod(file, Mode::from_raw_mode(former.mode & 0o7777))?;
    }
    Ok(())
}
