//! The note beside an installed model: where it came from, and what its files were, so that a change of them is seen.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The note's name in the model's directory.
pub(super) const NOTE: &str = "brain-model.json";

/// What is noted of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Where it came from.
    pub(super) from: String,
    /// When, in RFC 3339.
    pub(super) installed_at: String,
    /// Its weights' file.
    pub(super) weights: String,
    /// Their SHA-256, in hex.
    pub(super) sha256: String,
    /// Length of its vectors.
    pub(super) dimensions: u32,
    /// SHA-256 of its other files, in hex, by their names. Empty in notes of former versions.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
}

impl Record {
    /// The note in `dir`; `None` when there is none that can be read: somebody put the model there by hand.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(dir.join(NOTE)).ok()?).ok()
    }

    /// Writes it.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        fs::write(dir.join(NOTE), text)?;
        File::open(dir.join(NOTE))?.sync_all()
    }
}

/// The bytes of all files in a directory, and of those in the directories in it.
pub(super) fn size(dir: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dir).max_depth(3).into_iter().filter_map(Result::ok);
    files
        .filter_map(|entry| entry.metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|meta| meta.len())
        .sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Record::read(dir.path()), None);
        let record = Record {
            from: "/m".into(),
            installed_at: "2026-11-21T10:30:45.123Z".into(),
            weights: "model.onnx".into(),
            sha256: "ab".repeat(32),
            dimensions: 384,
            files: BTreeMap::from([("config.json".into(), "cd".repeat(32))]),
        };
        record.write(dir.path()).unwrap();
        assert_eq!(Record::read(dir.path()), Some(record));
        assert!(size(dir.path()) > 5);
        fs::write(dir.path().join(NOTE), "{").unwrap();
        assert_eq!(Record::read(dir.path()), None);
    }
}
