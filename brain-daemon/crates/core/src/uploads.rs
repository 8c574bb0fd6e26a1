//! Files that a browser sends for an import.
//!
//! Each is in a directory of its own in `run/uploads` of the home. It is removed after the import,
//! when the owner discards it, when newer ones need its place, and by the next start. A file in use
//! stays until that ends.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_base::home::{create_private_dir, free_bytes};
use brain_base::random::RandomSource;
use brain_page::{attachment_name, hex};
use brain_protocol::{Fault, FaultCode};
use parking_lot::Mutex;

/// Maximum length of a file, in bytes.
pub const MAX_UPLOAD: u64 = 2_000_000_000;
/// Maximum number of files that wait for their import. The oldest makes room for another one.
const MAX_WAITING: usize = 4;

/// A file that waits for its import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedFile {
    /// Its path, for the import.
    pub path: PathBuf,
    /// Its name in the browser.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A file in use: until this is dropped, its bytes stay.
pub struct UploadInUse<'a> {
    uploads: &'a Uploads,
    id: String,
    /// The file.
    pub file: UploadedFile,
}

impl Drop for UploadInUse<'_> {
    fn drop(&mut self) {
        let mut waiting = self.uploads.waiting.lock();
        let Some(entry) = waiting.iter_mut().find(|entry| entry.id == self.id) else { return };
        entry.users -= 1;
        let is_over = entry.users == 0 && entry.is_discarded;
        drop(waiting);
        if is_over {
            self.uploads.remove(&self.id);
        }
    }
}

/// What is known of a file.
struct Entry {
    id: String,
    /// The number of its [`UploadInUse`].
    users: usize,
    /// Whether it is removed when its use ends.
    is_discarded: bool,
    /// Locked while a part is added, so that the parts are one after another.
    turn: Arc<Mutex<()>>,
}

/// The files that wait for their import.
pub struct Uploads {
    dir: PathBuf,
    /// The space on the disk that must stay free, in bytes.
    min_free: u64,
    random: Arc<dyn RandomSource>,
    /// The oldest first.
    waiting: Mutex<Vec<Entry>>,
}

impl Uploads {
    /// Removes what a former daemon left in `dir`.
    pub(crate) fn new(dir: PathBuf, min_free: u64, random: Arc<dyn RandomSource>) -> Self {
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, dir = %dir.display(), "former uploads not removed");
            }
            _ => {}
        }
        Self { dir, min_free, random, waiting: Mutex::default() }
    }

    /// Begins a file and returns its id.
    ///
    /// # Errors
    /// `invalid_request` for a name that a file cannot have; `io` or `disk_full`.
    pub fn begin(&self, name: &str) -> Result<String, Fault> {
        let name = attachment_name(name).map_err(|reason| {
            Fault::new(FaultCode::InvalidRequest, format!("the name \"{name}\" {reason}"))
                .hint("rename the file; a markdown file becomes a page with Capture")
        })?;
        let mut bytes = [0; 32];
        self.random.fill(&mut bytes).map_err(|error| {
            Fault::new(FaultCode::Internal, format!("cannot begin the upload: {error}"))
        })?;
        let id = hex(&bytes);
        let dir = self.dir.join(&id);
        create_private_dir(&dir)
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(dir.join(name)))
            .map_err(|error| write_fault(&dir, &error))?;
        let mut waiting = self.waiting.lock();
        let surplus = (waiting.len() + 1).saturating_sub(MAX_WAITING);
        let unused = waiting.iter().filter(|entry| entry.users == 0);
        let former: Vec<String> = unused.take(surplus).map(|entry| entry.id.clone()).collect();
        let turn = Arc::default();
        waiting.push(Entry { id: id.clone(), users: 0, is_discarded: false, turn });
        drop(waiting);
        former.iter().for_each(|id| self.remove(id));
        Ok(id)
    }

    /// Adds bytes to a file, of which `offset` are there. Returns its length. If the first bytes
    /// cannot be written, the file is removed.
    ///
    /// # Errors
    /// `not_found`, `conflict` if another number of bytes is there, `too_large`, `io`, `disk_full`.
    pub fn append(&self, id: &str, offset: u64, bytes: &[u8]) -> Result<u64, Fault> {
        let turn = self.turn(id)?;
        let _turn = turn.lock();
        let in_use = self.open(id)?;
        let result = self.write_part(&in_use.file, offset, bytes);
        let is_useless = match &result {
            Ok(_) => false,
            Err(fault) if fault.code == FaultCode::TooLarge => true,
            Err(fault) => offset == 0 && fault.code != FaultCode::Conflict,
        };
        if is_useless {
            self.remove(id);
        }
        result
    }

    fn write_part(&self, file: &UploadedFile, offset: u64, bytes: &[u8]) -> Result<u64, Fault> {
        if file.bytes != offset {
            let message = format!("{} of {} bytes are there, not {offset}", file.bytes, file.name);
            return Err(Fault::new(FaultCode::Conflict, message).hint("send the file again"));
        }
        let length = offset + bytes.len() as u64;
        if length > MAX_UPLOAD {
            let message = format!("{} has more than {MAX_UPLOAD} bytes", file.name);
            return Err(Fault::new(FaultCode::TooLarge, message)
                .hint("copy it to the machine of this brain, and import it there"));
        }
        let fault = |error: io::Error| write_fault(&file.path, &error);
        if free_bytes(&self.dir).map_err(fault)? < self.min_free + bytes.len() as u64 {
            let message = format!("too little space is free for {}", file.name);
            return Err(Fault::new(FaultCode::DiskFull, message).hint("free space, then try again"));
        }
        let written =
            OpenOptions::new().append(true).open(&file.path).and_then(|mut it| it.write_all(bytes));
        written.map_err(fault)?;
        Ok(length)
    }

    /// Finds a file, which stays while the result is there.
    ///
    /// # Errors
    /// `not_found` if it was imported, discarded or never begun.
    pub fn open(&self, id: &str) -> Result<UploadInUse<'_>, Fault> {
        let file = {
            let mut waiting = self.waiting.lock();
            let entry = waiting.iter_mut().find(|entry| entry.id == id && !entry.is_discarded);
            let entry = entry.ok_or_else(gone)?;
            let file = self.file(id)?;
            entry.users += 1;
            file
        };
        Ok(UploadInUse { uploads: self, id: id.to_owned(), file })
    }

    /// Returns the lock of the parts of a file.
    fn turn(&self, id: &str) -> Result<Arc<Mutex<()>>, Fault> {
        let waiting = self.waiting.lock();
        let entry = waiting.iter().find(|entry| entry.id == id).ok_or_else(gone)?;
        Ok(Arc::clone(&entry.turn))
    }

    fn file(&self, id: &str) -> Result<UploadedFile, Fault> {
        let entry = fs::read_dir(self.dir.join(id)).ok().and_then(|mut dir| dir.next()?.ok());
        let entry = entry.ok_or_else(gone)?;
        let bytes = entry.metadata().map_err(|_| gone())?.len();
        let name = entry.file_name().into_string().map_err(|_| gone())?;
        Ok(UploadedFile { path: entry.path(), name, bytes })
    }

    /// Removes a file, if it is there: at once, or when its use ends.
    pub fn remove(&self, id: &str) {
        let mut waiting = self.waiting.lock();
        let Some(place) = waiting.iter().position(|entry| entry.id == id) else { return };
        if waiting[place].users > 0 {
            waiting[place].is_discarded = true;
            return;
        }
        waiting.remove(place);
        drop(waiting);
        if let Err(error) = fs::remove_dir_all(self.dir.join(id)) {
            tracing::warn!(%error, "an uploaded file is not removed; the next start does that");
        }
    }
}

fn gone() -> Fault {
    Fault::new(FaultCode::NotFound, "the uploaded file is not there any more")
        .hint("choose the file again")
}

fn write_fault(path: &Path, error: &io::Error) -> Fault {
    let message = format!("cannot write {}: {error}", path.display());
    Fault::new(brain_base::write_code(error), message)
        .hint("free space or mend the permissions, then try again")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_base::random::SystemRandom;

    use super::*;

    #[test]
    fn a_file_arrives_in_parts_and_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("uploads");
        fs::create_dir_all(root.join("former")).unwrap();
        let uploads = Uploads::new(root.clone(), 0, Arc::new(SystemRandom));
        assert!(!root.exists());
        let id = uploads.begin("Recipes.enex").unwrap();
        assert_eq!(uploads.append(&id, 0, b"<en-").unwrap(), 4);
        assert_eq!(uploads.append(&id, 0, b"<en-").unwrap_err().code, FaultCode::Conflict);
        assert_eq!(uploads.append(&id, 4, b"export>").unwrap(), 11);
        let file = uploads.open(&id).unwrap().file.clone();
        assert_eq!((file.name.as_str(), file.bytes), ("Recipes.enex", 11));
        assert_eq!(fs::read(&file.path).unwrap(), b"<en-export>");
        uploads.remove(&id);
        assert!(!file.path.exists());
        assert_eq!(uploads.open(&id).err().unwrap().code, FaultCode::NotFound);
        assert_eq!(uploads.append("../..", 0, b"x").unwrap_err().code, FaultCode::NotFound);
    }

    #[test]
    fn the_oldest_file_makes_room() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(dir.path().join("uploads"), 0, Arc::new(SystemRandom));
        let ids: Vec<String> = (0..=MAX_WAITING).map(|_| uploads.begin("a.zip").unwrap()).collect();
        assert!(uploads.open(&ids[0]).is_err() && uploads.open(&ids[1]).is_ok());
        for name in ["../a.zip", "", ".hidden", "note.md"] {
            assert_eq!(uploads.begin(name).unwrap_err().code, FaultCode::InvalidRequest, "{name}");
        }
    }

    #[test]
    fn a_file_in_use_stays_until_its_use_ends() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(dir.path().join("uploads"), 0, Arc::new(SystemRandom));
        let first = uploads.begin("a.zip").unwrap();
        let in_use = uploads.open(&first).unwrap();
        let path = in_use.file.path.clone();
        let others: Vec<String> =
            (0..MAX_WAITING).map(|_| uploads.begin("b.zip").unwrap()).collect();
        assert!(path.exists() && uploads.open(&others[0]).is_err());
        uploads.remove(&first);
        assert!(path.exists() && uploads.open(&first).is_err());
        drop(in_use);
        assert!(!path.exists());
    }

    #[test]
    fn a_part_that_comes_twice_is_added_once() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(dir.path().join("uploads"), 0, Arc::new(SystemRandom));
        for _ in 0..50 {
            let id = uploads.begin("a.zip").unwrap();
            let results = std::thread::scope(|scope| {
                let part = || uploads.append(&id, 0, b"part").is_ok();
                [scope.spawn(part), scope.spawn(part)].map(|thread| thread.join().unwrap())
            });
            assert_eq!(results.iter().filter(|is_added| **is_added).count(), 1);
            assert_eq!(uploads.open(&id).unwrap().file.bytes, 4);
            uploads.remove(&id);
        }
    }

    #[test]
    fn too_much_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let full = Uploads::new(dir.path().join("full"), u64::MAX / 2, Arc::new(SystemRandom));
        let id = full.begin("a.zip").unwrap();
        assert_eq!(full.append(&id, 0, b"x").unwrap_err().code, FaultCode::DiskFull);
        assert!(full.open(&id).is_err(), "a file without its first part keeps no place");
        let uploads = Uploads::new(dir.path().join("uploads"), 0, Arc::new(SystemRandom));
        let id = uploads.begin("a.zip").unwrap();
        let file = uploads.open(&id).unwrap().file.clone();
        fs::File::options().write(true).open(&file.path).unwrap().set_len(MAX_UPLOAD).unwrap();
        assert_eq!(uploads.append(&id, MAX_UPLOAD, b"x").unwrap_err().code, FaultCode::TooLarge);
        assert!(!file.path.exists());
    }
}
