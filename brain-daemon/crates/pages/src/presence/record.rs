//! The file with the places of the sources.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use brain_base::durable;
use brain_base::home::Home;
use brain_files::Place;
use brain_protocol::SourceId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The place of a source's directory at the last check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlaceRecord {
    dir: PathBuf,
    /// The directory itself.
    pub(super) root: Place,
    /// The file systems that are mounted below it, by relative path.
    pub(super) parts: BTreeMap<String, Place>,
}

impl PlaceRecord {
    pub(super) fn new(dir: &Path, root: Place) -> Self {
        Self { dir: dir.to_owned(), root, parts: BTreeMap::new() }
    }
}

/// The places of all sources of this machine.
#[derive(Debug)]
pub(super) struct Records {
    home: Home,
    records: Mutex<BTreeMap<String, PlaceRecord>>,
}

impl Records {
    /// Reads the file. Without it, the places of all sources are unknown.
    pub(super) fn new(home: Home) -> Self {
        let path = home.places();
        let records = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(path = %path.display(), %error, "places of the sources not read");
                BTreeMap::new()
            }),
            Err(_) => BTreeMap::new(),
        };
        Self { home, records: Mutex::new(records) }
    }

    /// Returns the place of a source, if it was recorded for this directory.
    pub(super) fn get(&self, source: &SourceId, dir: &Path) -> Option<PlaceRecord> {
        self.records.lock().get(source.as_str()).filter(|record| record.dir == dir).cloned()
    }

    /// Records the place of a source, if it changed.
    pub(super) fn put(&self, source: &SourceId, record: PlaceRecord) {
        let mut records = self.records.lock();
        if records.get(source.as_str()) != Some(&record) {
            records.insert(source.to_string(), record);
            self.write(&records);
        }
    }

    pub(super) fn remove(&self, source: &SourceId) {
        let mut records = self.records.lock();
        if records.remove(source.as_str()).is_some() {
            self.write(&records);
        }
    }

    fn write(&self, records: &BTreeMap<String, PlaceRecord>) {
        if self.home.has_moved() {
            return;
        }
        if let Err(error) = self.try_write(records) {
            // A read-only home, or a full disk. The places are checked again at the next start.
            tracing::debug!(%error, "places of the sources not recorded");
        }
    }

    /// Replaces the file. It is flushed before any page of a new place is stored.
    fn try_write(&self, records: &BTreeMap<String, PlaceRecord>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(records)?;
        bytes.push(b'\n');
        durable::replace(&self.home.places(), &bytes)
    }
}
