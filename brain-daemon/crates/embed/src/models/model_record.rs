//! The record in a model's directory: its origin and the hashes of its files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The file name of the record.
pub const RECORD_FILE: &str = "brain-model.json";

/// The facts about an installed model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The directory or URL that the files came from.
    pub from: String,
    /// The time of installation, in RFC 3339.
    pub installed_at: String,
    /// The name of the file with the weights.
    pub weights: String,
    /// SHA-256 of the weights, in hex.
    pub sha256: String,
    /// Number of dimensions of the model's vectors.
    pub dimensions: u32,
    /// SHA-256 of other files, in hex, by name. Empty in records that former versions wrote.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

impl ModelRecord {
    /// Reads the record in `dir`. `None` if it is missing or unreadable, as for manually copied
    /// models.
    pub fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(dir.join(RECORD_FILE)).ok()?).ok()
    }

    /// Writes the record to `dir` and flushes it.
    ///
    /// # Errors
    /// The I/O error of the write.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        fs::write(dir.join(RECORD_FILE), text)?;
        File::open(dir.join(RECORD_FILE))?.sync_all()
    }
}

/// Returns the total size of the files in a directory and two levels of subdirectories, in bytes.
pub fn size(dir: &Path) -> u64 {
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
    fn record_survives_a_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ModelRecord::read(dir.path()), None);
        let record = ModelRecord {
            from: "/m".into(),
            installed_at: "2026-11-21T10:30:45.123Z".into(),
            weights: "model.onnx".into(),
            sha256: "ab".repeat(32),
            dimensions: 384,
            files: BTreeMap::from([("config.json".into(), "cd".repeat(32))]),
        };
        record.write(dir.path()).unwrap();
        assert_eq!(ModelRecord::read(dir.path()), Some(record));
        assert!(size(dir.path()) > 5);
        fs::write(dir.path().join(RECORD_FILE), "{").unwrap();
        assert_eq!(ModelRecord::read(dir.path()), None);
    }
}
