//! Which models there are, and how search by meaning is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use brain_protocol::{Fault, ModelRow, Models};

use super::known::{NEEDED, WEIGHTS};
use super::record::{NOTE, Record, size};
use super::{Brain, Caller};
use brain_base::home::Home;
use brain_embed::inspect;

/// What the directory of a model that is not ready ends with.
pub(super) const TMP: &str = ".tmp";
/// What the directory of a model that is being replaced ends with.
pub(super) const OLD: &str = ".old";

impl Brain {
    /// Which models there are, and how search by meaning is.
    pub(crate) fn models(&self, _caller: &Caller) -> Result<Models, Fault> {
        let standing = self.meaning_standing();
        let used = match standing.provider.as_str() {
            "local" => standing.model.clone(),
            _ => None,
        };
        let row = |dir: PathBuf| {
            let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (dimensions, problem) = match (Record::read(&dir), inspect(&dir)) {
                (_, Ok(facts)) => (Some(facts.dimensions), None),
                (record, Err(fault)) => {
                    (record.map(|record| record.dimensions), Some(fault.message))
                }
            };
            let (path, bytes) = (dir.display().to_string(), size(&dir));
            ModelRow { used: used.as_ref() == Some(&name), name, path, bytes, dimensions, problem }
        };
        Ok(Models {
            provider: standing.provider,
            model: standing.model,
            pages: standing.pages,
            windows: standing.windows,
            missing: standing.missing,
            problem: standing.problem.map(|(problem, hint)| match hint {
                Some(hint) => format!("{problem}; {hint}"),
                None => problem,
            }),
            installed: directories(&self.home.models()).into_iter().map(row).collect(),
        })
    }
}

/// The model to use when none is named: the one that was installed last. `None` when there is none.
#[must_use]
pub(crate) fn installed(home: &Home) -> Option<PathBuf> {
    let ready = directories(&home.models()).into_iter().filter(|dir| is_whole(dir));
    ready.max_by_key(|dir| (since(dir), std::cmp::Reverse(dir.clone())))
}

/// The directories of models, by name. What is not ready, and what is not a model's, is none.
fn directories(models: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(models).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.is_dir() && !name.starts_with('.') && !name.ends_with(TMP) && !name.ends_with(OLD)
        })
        .collect();
    found.sort();
    found
}

/// Whether the files of a model are there; not whether they are good.
fn is_whole(dir: &Path) -> bool {
    NEEDED.iter().all(|name| dir.join(name).is_file())
        && (WEIGHTS.iter().any(|name| dir.join(name).is_file())
            || dir.join("onnx/model.onnx").is_file())
}

/// When a model was put there.
fn since(dir: &Path) -> (String, Option<SystemTime>) {
    let noted = Record::read(dir).map(|record| record.installed_at).unwrap_or_default();
    let changed = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    (noted, changed(&dir.join(NOTE)).or_else(|| changed(dir)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn put(models: &Path, name: &str, at: Option<&str>) {
        let dir = models.join(name);
        fs::create_dir_all(&dir).unwrap();
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            fs::write(dir.join(file), "x").unwrap();
        }
        if let Some(at) = at {
            let record = Record {
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
    fn the_newest_whole_one_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        let models = home.models();
        assert_eq!(installed(&home), None);
        fs::create_dir_all(models.join("empty")).unwrap();
        put(&models, "half.tmp", Some("2026-11-30T00:00:00.000Z"));
        put(&models, "former.old", Some("2026-11-30T00:00:00.000Z"));
        put(&models, ".hidden", Some("2026-11-30T00:00:00.000Z"));
        assert_eq!(installed(&home), None);
        // One that somebody put there by hand is used when there is no other.
        put(&models, "by-hand", None);
        assert_eq!(installed(&home), Some(models.join("by-hand")));
        put(&models, "b", Some("2026-11-21T10:00:00.000Z"));
        put(&models, "a", Some("2026-11-20T10:00:00.000Z"));
        assert_eq!(installed(&home), Some(models.join("b")));
        fs::remove_file(models.join("b/tokenizer.json")).unwrap();
        assert_eq!(installed(&home), Some(models.join("a")));
    }
}
