//! Finds the models that are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use brain_base::home::Home;
use brain_embed::is_reranker;
use brain_embed::models::known_models::{REQUIRED_FILES, WEIGHT_FILES};
use brain_embed::models::model_record::{ModelRecord, RECORD_FILE};

/// Suffix of the directory in which an installation prepares a model.
pub(super) const STAGING_SUFFIX: &str = ".tmp";
/// Suffix of the directory of a model that is being replaced.
pub(super) const REPLACED_SUFFIX: &str = ".old";

/// Returns the default embedding model: the one installed last. `None` if there is none.
#[must_use]
pub(crate) fn default_embedding_model(home: &Home) -> Option<PathBuf> {
    last_installed(home, false)
}

/// Returns the reranker installed last. `None` if there is none.
pub(super) fn installed_reranker(home: &Home) -> Option<PathBuf> {
    last_installed(home, true)
}

/// Returns the complete reranker or embedding model that was installed last.
fn last_installed(home: &Home, wants_reranker: bool) -> Option<PathBuf> {
    let complete = directories(&home.models())
        .into_iter()
        .filter(|dir| is_complete(dir) && is_reranker(dir) == wants_reranker);
    complete.max_by_key(|dir| (installed_at(dir), std::cmp::Reverse(dir.clone())))
}

/// Returns the directories of models, sorted by name. A model may be incomplete. Skips hidden
/// directories and those of an installation.
pub(super) fn directories(models: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(models).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.is_dir()
                && !name.starts_with('.')
                && !name.ends_with(STAGING_SUFFIX)
                && !name.ends_with(REPLACED_SUFFIX)
        })
        .collect();
    found.sort();
    found
}

/// Returns whether all required files of a model exist. Does not verify them.
pub(super) fn is_complete(dir: &Path) -> bool {
    REQUIRED_FILES.iter().all(|name| dir.join(name).is_file())
        && (WEIGHT_FILES.iter().any(|name| dir.join(name).is_file())
            || dir.join("onnx/model.onnx").is_file())
}

/// Returns when a model was installed: the recorded time, empty without a record, and the time of
/// the last change.
fn installed_at(dir: &Path) -> (String, Option<SystemTime>) {
    let recorded = ModelRecord::read(dir).map(|record| record.installed_at).unwrap_or_default();
    let changed = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    (recorded, changed(&dir.join(RECORD_FILE)).or_else(|| changed(dir)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn create_model(models: &Path, name: &str, at: Option<&str>) {
        let dir = models.join(name);
        fs::create_dir_all(&dir).unwrap();
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            fs::write(dir.join(file), "x").unwrap();
        }
        if let Some(at) = at {
            let record = ModelRecord {
                from: "/x".into(),
                installed_at: at.into(),
                weights: "model.safetensors".into(),
                sha256: "ab".repeat(32),
                dimensions: 3,
                files: Default::default(),
            };
            record.write(&dir).unwrap();
        }
    }

    #[test]
    fn newest_complete_model_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        let models = home.models();
        assert_eq!(default_embedding_model(&home), None);
        fs::create_dir_all(models.join("empty")).unwrap();
        create_model(&models, "half.tmp", Some("2026-11-30T00:00:00.000Z"));
        create_model(&models, "former.old", Some("2026-11-30T00:00:00.000Z"));
        create_model(&models, ".hidden", Some("2026-11-30T00:00:00.000Z"));
        assert_eq!(default_embedding_model(&home), None);
        // A manually copied model is used if there is no other.
        create_model(&models, "by-hand", None);
        assert_eq!(default_embedding_model(&home), Some(models.join("by-hand")));
        create_model(&models, "b", Some("2026-11-21T10:00:00.000Z"));
        create_model(&models, "a", Some("2026-11-20T10:00:00.000Z"));
        assert_eq!(default_embedding_model(&home), Some(models.join("b")));
        fs::remove_file(models.join("b/tokenizer.json")).unwrap();
        assert_eq!(default_embedding_model(&home), Some(models.join("a")));
        // A reranker makes no vectors.
        assert_eq!(installed_reranker(&home), None);
        create_model(&models, "ranks", Some("2026-11-22T10:00:00.000Z"));
        let config = r#"{"architectures": ["BertForSequenceClassification"]}"#;
        fs::write(models.join("ranks/config.json"), config).unwrap();
        assert_eq!(default_embedding_model(&home), Some(models.join("a")));
        assert_eq!(installed_reranker(&home), Some(models.join("ranks")));
    }
}
