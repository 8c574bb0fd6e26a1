//! The file `machines.json`: which shared brain a home belongs to, and as which machine.

use std::io::{self, ErrorKind};
use std::path::Path;

use brain_base::durable;
use brain_commit_log::{BrainId, MachineId};
use serde::{Deserialize, Serialize};

/// The shared brain and this machine's place in it. No secret is part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The shared brain.
    pub brain: BrainId,
    /// The id of this machine's replica.
    pub machine: MachineId,
    /// The name of this machine, which people see.
    pub name: String,
    /// Whether batches are encrypted.
    pub encrypted: bool,
    /// The PostgreSQL schema of the tables.
    pub namespace: String,
    /// Whether notifications arrive through the main URL, which then leads to no pooler.
    #[serde(default)]
    pub listens: bool,
    /// The names of the secrets that the setup wrote to the home. `leave` removes these only.
    #[serde(default)]
    pub secrets: Vec<String>,
}

impl Identity {
    /// Reads the file. `None` if it does not exist.
    ///
    /// # Errors
    /// The I/O error; [`ErrorKind::InvalidData`] if the content is not an identity.
    pub fn load(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the file durably. After a crash it has the old or the new content.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        write_json(path, self)
    }

    /// Removes the file durably. A missing file is no error.
    pub fn remove(path: &Path) -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => durable::flush_dir_of(path),
        }
    }
}

/// Writes a value to a file with mode 0600, durably. After a crash the file has the old or the new
/// content.
pub fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    durable::replace(path, &bytes)
}
