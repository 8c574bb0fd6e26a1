//! A log in a directory, for tests and for programs of one machine that share a folder.
//!
//! `state.json` is replaced at each change, and a batch counts as appended when the state names
//! it. All files are flushed before the call returns. A lock of the operating system orders the
//! programs, so the directory must not be on a network file system without locks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brain_base::clock::Clock;

use crate::storage::{Change, State, Storage};
use crate::{BrainId, Error, LocalLog};

/// How often a waiting call looks at the directory.
const POLL: Duration = Duration::from_millis(20);
const STATE: &str = "state.json";
const LOCK: &str = "lock";

/// A log in a directory.
pub type FileLog = LocalLog<Directory>;

/// The storage of [`FileLog`].
pub struct Directory(PathBuf);

impl FileLog {
    /// Creates an empty log that is written in `schema`, and the directory if it is missing.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if the directory has a log; [`Error::File`].
    pub fn create(
        directory: &Path,
        brain: BrainId,
        schema: u32,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(file_error(directory))?;
        let storage = Directory(directory.to_owned());
        let _lock = storage.lock()?;
        if storage.read_state()?.is_some() {
            return Err(Error::AlreadyCreated { address: storage.address() });
        }
        storage.save(&Self::new_state(brain, schema, &*clock))?;
        Ok(Self::over(storage, clock, schema))
    }

    /// Opens the log of a directory for a program with this schema.
    ///
    /// # Errors
    /// [`Error::NotCreated`] if the directory has no log; [`Error::File`].
    pub fn open(directory: &Path, schema: u32, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let storage = Directory(directory.to_owned());
        storage.state()?;
        Ok(Self::over(storage, clock, schema))
    }
}

impl Directory {
    /// Takes the lock of the directory. It is released when the file is closed.
    fn lock(&self) -> Result<File, Error> {
        let path = self.0.join(LOCK);
        let open = || {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(file_error(&path))
    }

    fn read_state(&self) -> Result<Option<State>, Error> {
        let Some(bytes) = self.get(STATE)? else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(|state| Some(State(state)))
            .map_err(|e| Error::Corrupt(format!("{}: {e}", self.0.join(STATE).display())))
    }

    fn save(&self, state: &State) -> Result<(), Error> {
        let bytes = serde_json::to_vec(&state.0)
            .map_err(|e| Error::Corrupt(format!("the state cannot be written: {e}")))?;
        self.put(STATE, bytes)
    }
}

impl Storage for Directory {
    fn write(&self, change: Change<'_>) -> Result<(), Error> {
        let _lock = self.lock()?;
        let mut state = self.state()?;
        change(&mut state)?;
        let garbage = std::mem::take(&mut state.0.garbage);
        self.save(&state)?;
        for name in garbage {
            let path = self.0.join(name);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(file_error(&path)(e)),
                _ => {}
            }
        }
        Ok(())
    }

    fn state(&self) -> Result<State, Error> {
        self.read_state()?.ok_or_else(|| Error::NotCreated { address: self.address() })
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let (path, temporary) = (self.0.join(name), self.0.join(format!("{name}.new")));
        let replace = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(&self.0)?.sync_all()
        };
        replace().map_err(file_error(&path))
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.0.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(file_error(&path)(e)),
        }
    }

    fn wait(&self, timeout: Duration) {
        std::thread::sleep(timeout.min(POLL));
    }

    fn address(&self) -> String {
        self.0.display().to_string()
    }
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull => Error::DiskFull { address: path.display().to_string() },
        _ => Error::File { path: path.to_owned(), source },
    }
}
