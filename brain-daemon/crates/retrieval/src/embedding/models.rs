//! Lists installed models and the status of search by meaning.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use brain_protocol::{Command, Fault, KnownModelRow, ModelRow, Models};

use super::estimate::{EstimatedWork, approximate_time};
use super::{Caller, EmbeddingService};
use brain_base::home::Home;
use brain_embed::models::known_models::{KNOWN, KnownModel, REQUIRED_FILES, WEIGHT_FILES};
use brain_embed::models::model_record::{ModelRecord, RECORD_FILE, size};
use brain_embed::{inspect, is_reranker};
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};

/// Suffix of the directory in which an installation prepares a model.
pub(super) const STAGING_SUFFIX: &str = ".tmp";
/// Suffix of the directory of a model that is being replaced.
pub(super) const REPLACED_SUFFIX: &str = ".old";

impl Health for EmbeddingService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("embedding", &self, Self::check_embedding)]
    }
}

impl EmbeddingService {
    /// Lists the models and the status of search by meaning.
    pub fn models(&self, _caller: &Caller) -> Result<Models, Fault> {
        let status = self.meaning_status();
        let used_model = match status.provider.as_str() {
            "local" => status.model.clone(),
            _ => None,
        };
        let row = |dir: PathBuf| {
            let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (dimensions, problem) = match (ModelRecord::read(&dir), inspect(&dir)) {
                (_, Ok(facts)) => (Some(facts.dimensions), None),
                (record, Err(fault)) => {
                    (record.map(|record| record.dimensions), Some(fault.message))
                }
            };
            let (path, bytes) = (dir.display().to_string(), size(&dir));
            let used = used_model.as_ref() == Some(&name);
            ModelRow { used, name, path, bytes, dimensions, problem }
        };
        Ok(Models {
            provider: status.provider,
            model: status.model,
            pages: status.pages,
            windows: status.windows,
            missing: status.missing,
            incomplete: status.incomplete,
            seconds_left: status.seconds_left,
            problem: status.problem.map(|(problem, hint)| match hint {
                Some(hint) => format!("{problem}; {hint}"),
                None => problem,
            }),
            installed: directories(&self.env.home.models()).into_iter().map(row).collect(),
            known: self.known_models()?,
        })
    }

    /// Warns if embedding has a problem.
    fn check_embedding(&self) -> Finding {
        let status = self.meaning_status();
        let Some(model) = status.model else {
            return ok(format!(
                "none: search goes by words; `{}` adds search by meaning",
                Command::ModelInstall { model: Some("all-minilm-l6-v2".into()) }
            ));
        };
        if let Some((problem, hint)) = status.problem {
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            return warn(format!("{problem}{hint}"), Command::EmbedStale);
        }
        let mut missing = match status.missing {
            0 => String::new(),
            n => format!(", {n} pages have no vectors yet"),
        };
        if status.incomplete > 0 {
            missing += &format!(", {} are found by their beginning only", status.incomplete);
        }
        if let Some(seconds) = status.seconds_left {
            missing += &format!(", {} left", approximate_time(seconds));
        }
        ok(format!(
            "{} with {model}: {} pages, {} windows{missing}",
            status.provider, status.pages, status.windows
        ))
    }
}

impl EmbeddingService {
    /// Lists the models that can be installed by name, with the time that each needs for all pages.
    fn known_models(&self) -> Result<Vec<KnownModelRow>, Fault> {
        let work = self.predict_work(None, EstimatedWork::All)?;
        let row = |model: &KnownModel| KnownModelRow {
            name: model.name.into(),
            languages: model.languages.into(),
            bytes: model.megabytes * 1_000_000,
            seconds: self.estimate_seconds(model.name, work).unwrap_or_default(),
        };
        Ok(KNOWN.iter().map(row).collect())
    }
}

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
fn directories(models: &Path) -> Vec<PathBuf> {
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
fn is_complete(dir: &Path) -> bool {
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
