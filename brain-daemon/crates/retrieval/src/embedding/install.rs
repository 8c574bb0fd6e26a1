//! `brain model install`: collects the files of a model, verifies them, and activates the model.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use brain_protocol::{Command, Fault, FaultCode, ModelInstall, ModelInstallReply, hint};
use sha2::{Digest as _, Sha256};

use super::estimate::{EstimatedWork, approximate_time, sample_speed};
use super::installed_models::{REPLACED_SUFFIX, STAGING_SUFFIX, default_embedding_model};
use super::{EmbeddingService, Progress};
use brain_base::clock::rfc3339;
use brain_base::home::create_private_dir;
use brain_config::EmbeddingProvider;
use brain_embed::models::fetch_files::{
    cancelled, collect_files, model_file_fault, remove_if_exists,
};
use brain_embed::models::known_models::{OPTIONAL_FILES, REQUIRED_FILES};
use brain_embed::models::model_record::{ModelRecord, size};
use brain_embed::models::origin::{Location, ModelOrigin};
use brain_embed::{
    EmbedError, EmbedErrorKind, Embedder, LocalModel, ModelFacts, Reranker, VectorPurpose,
    check_built, inspect, inspect_while, is_reranker,
};
use brain_page::hex;

/// The text that a new model is tried with.
const PROBE_TEXT: &str = "The quick brown fox jumps over the lazy dog.";
/// The lock file that prevents concurrent installations.
const LOCK_FILE: &str = ".lock";

impl EmbeddingService {
    /// Installs a model, unless an identical one is installed.
    ///
    /// # Errors
    /// `usage` or `not_found` for an unusable request; `busy` during another installation;
    /// `conflict` if a hash differs or brain did not create the target; `cancelled` if the caller
    /// is gone or the daemon stops; `io` if this program was built without local models; otherwise
    /// the fault of the copy, download or test.
    pub fn model_install(
        &self,
        request: &ModelInstall,
        progress: &dyn Progress,
    ) -> Result<ModelInstallReply, Fault> {
        check_built().map_err(unusable)?;
        let expected = expected_hash(request)?;
        let origin = ModelOrigin::of(request)?;
        let models = self.env.home.models();
        create_private_dir(&models).map_err(|e| model_file_fault(&models, &e))?;
        let _lock = lock_installation(&models)?;
        let target_dir = models.join(&origin.name);
        check_source(&models, &origin)?;
        recover(&models, &origin.name)?;
        check_target(&target_dir)?;
        let pinned = expected.or(origin.known.map(|known| known.sha256.to_owned()));
        let from = origin.location.text();
        let former = ModelRecord::read(&target_dir).filter(|record| record.from == from);

        // An identical installed model needs no change.
        let is_web = matches!(origin.location, Location::Web(_));
        if let Some(record) = former.as_ref().filter(|_| is_web)
            && let Ok(facts) = inspect(&target_dir)
            && facts.sha256 == *pinned.as_ref().unwrap_or(&record.sha256)
        {
            return Ok(self.install_reply(&origin.name, &target_dir, facts, (true, None)));
        }

        let tmp = models.join(format!("{}{STAGING_SUFFIX}", origin.name));
        let progress =
            |done: u64, total: u64| progress.at(done, total) && !self.env.stop.is_cancelled();
        let weights = collect_files(&origin, &tmp, &*self.env.net, &progress);
        // A download is resumed. A copy restarts anyway, so its disk space is freed.
        let weights = if is_web { weights? } else { weights.or_else(|e| discard(&tmp, e))? };
        let pinned = pinned.or_else(|| former.as_ref().map(|record| record.sha256.clone()));
        let known = origin.known.map(|known| known.files).unwrap_or_default();
        let recorded = former.as_ref().filter(|_| is_web).map(|record| &record.files);
        let should_continue = || progress(0, 0);
        let verified = check_files(&tmp, known, recorded).and_then(|files| {
            let threads = self.env.config.threads;
            let (facts, speed) = verify(&tmp, pinned.as_deref(), threads, &should_continue)?;
            if should_continue() { Ok((facts, speed, files)) } else { Err(cancelled()) }
        });
        let (facts, speed, files) = verified.or_else(|fault| discard(&tmp, fault))?;
        let already = inspect(&target_dir).is_ok_and(|installed| installed.sha256 == facts.sha256);
        let record = ModelRecord {
            from,
            installed_at: rfc3339(self.env.clock.now()),
            weights: weights.to_owned(),
            sha256: facts.sha256.clone(),
            dimensions: facts.dimensions,
            files,
        };
        record.write(&tmp).map_err(|e| model_file_fault(&tmp, &e))?;
        activate(&models, &origin.name)?;
        tracing::info!(
            model = origin.name,
            from = record.from,
            sha256 = record.sha256,
            "installed a model"
        );
        self.state.forecast.lock().installed = speed.map(|speed| (origin.name.clone(), speed));
        self.embedding_changed();
        Ok(self.install_reply(&origin.name, &target_dir, facts, (already, speed)))
    }

    /// Describes an installed model, and whether search uses it. `already` is whether it was
    /// installed before; `speed` its measured speed.
    fn install_reply(
        &self,
        name: &str,
        target_dir: &Path,
        facts: ModelFacts,
        (already, speed): (bool, Option<f64>),
    ) -> ModelInstallReply {
        let provider = self.env.config.provider;
        let configured = self.env.config.model.as_deref().unwrap_or_default();
        let work = self.predict_work(None, EstimatedWork::All);
        let time = work
            .ok()
            .and_then(|work| match speed {
                Some(speed) => Some(self.seconds(work, speed)),
                None => self.estimate_seconds(name, work),
            })
            .map(|seconds| format!(", which takes {}", approximate_time(seconds)))
            .unwrap_or_default();
        let background = format!(
            "pages get their vectors in the background{time}: `{}` shows the progress",
            Command::ModelList
        );
        let message = match provider {
            _ if is_reranker(target_dir) => format!(
                "it is a reranker: search uses it with search.rerank = \"local\" and \
                 search.rerank_model = \"{name}\""
            ),
            EmbeddingProvider::None => {
                "search uses it once embedding.provider is \"auto\" or \"local\"".to_owned()
            }
            EmbeddingProvider::OpenAi => format!(
                "search uses the endpoint; to use this one: embedding.provider = \"local\", \
                 embedding.model = \"{name}\""
            ),
            _ if configured.is_empty()
                && default_embedding_model(&self.env.home)
                    .is_some_and(|used| used == target_dir) =>
            {
                format!("search uses it from now on; {background}")
            }
            _ if configured == name => format!("search uses it from now on; {background}"),
            _ if configured.is_empty() => {
                format!("search uses a newer model; to use this one: embedding.model = \"{name}\"")
            }
            _ => format!(
                "search uses \"{configured}\"; to use this one: embedding.model = \"{name}\""
            ),
        };
        ModelInstallReply {
            name: name.to_owned(),
            path: target_dir.display().to_string(),
            bytes: size(target_dir),
            dimensions: facts.dimensions,
            sha256: facts.sha256,
            already,
            message,
        }
    }
}

/// Removes the staging directory after a fault, which it returns.
fn discard<T>(staging: &Path, fault: Fault) -> Result<T, Fault> {
    remove_if_exists(staging)?;
    Err(fault)
}

/// Returns the hash that the request gives, if any, in lower case.
fn expected_hash(request: &ModelInstall) -> Result<Option<String>, Fault> {
    let Some(hash) = &request.sha256 else { return Ok(None) };
    let hash = hash.trim().to_ascii_lowercase();
    if hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Some(hash));
    }
    Err(Fault::new(
        FaultCode::Usage,
        "the value of --sha256 is not a SHA-256 hash: it must have 64 hexadecimal digits",
    )
    .hint("`sha256sum FILE` prints it"))
}

/// Takes the installation lock. Fails with `busy` if another installation holds it.
fn lock_installation(models: &Path) -> Result<File, Fault> {
    let path = models.join(LOCK_FILE);
    let file = File::create(&path).map_err(|e| model_file_fault(&path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Fault::new(FaultCode::Busy, "another model is being installed")
                .hint("wait for it, and try again"))
        }
        Err(TryLockError::Error(e)) => Err(model_file_fault(&path, &e)),
    }
}

/// Rejects a source that is a directory which the installation clears.
fn check_source(models: &Path, origin: &ModelOrigin) -> Result<(), Fault> {
    let Location::Directory(source) = &origin.location else { return Ok(()) };
    let cleared_dirs = [
        models.join(format!("{}{STAGING_SUFFIX}", origin.name)),
        replaced_path(models, &origin.name),
    ];
    let canonical = |path: &Path| path.canonicalize().ok();
    let source_dir = canonical(source);
    if source_dir.is_none() || cleared_dirs.iter().all(|dir| canonical(dir) != source_dir) {
        return Ok(());
    }
    Err(Fault::new(
        FaultCode::Usage,
        format!("{} is the directory in which models are prepared", source.display()),
    )
    .hint("move it elsewhere, and install it from there"))
}

/// Rejects a target that brain did not create.
fn check_target(target_dir: &Path) -> Result<(), Fault> {
    let is_free = fs::symlink_metadata(target_dir).is_err_and(|e| e.kind() == ErrorKind::NotFound);
    let is_own = || !target_dir.is_symlink() && ModelRecord::read(target_dir).is_some();
    if is_free || is_own() {
        return Ok(());
    }
    Err(Fault::new(
        FaultCode::Conflict,
        format!("{} was not created by brain: nothing was installed", target_dir.display()),
    )
    .hint("move it away, or give the new model another name: --name NAME"))
}

/// Returns the hidden path of the former model while it is being replaced.
fn replaced_path(models: &Path, name: &str) -> PathBuf {
    models.join(format!(".{name}{REPLACED_SUFFIX}"))
}

/// Restores the former model after a crash between the two renames of [`activate`]. Removes a
/// former model that a later crash left.
fn recover(models: &Path, name: &str) -> Result<(), Fault> {
    let (target_dir, replaced) = (models.join(name), replaced_path(models, name));
    if fs::symlink_metadata(&target_dir).is_err() && ModelRecord::read(&replaced).is_some() {
        fs::rename(&replaced, &target_dir).map_err(|e| model_file_fault(&target_dir, &e))?;
    }
    remove_if_exists(&replaced)
}

/// Returns the hashes of all files except the weights, by name. Fails with `conflict` if a hash
/// differs from the known one, or without a known one, from the recorded one.
fn check_files(
    dir: &Path,
    known: &[(&str, &str)],
    recorded: Option<&BTreeMap<String, String>>,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut files = BTreeMap::new();
    for name in REQUIRED_FILES.into_iter().chain(OPTIONAL_FILES) {
        let path = dir.join(name);
        let bytes = match fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            read => read.map_err(|e| model_file_fault(&path, &e))?,
        };
        let found = hex(&Sha256::digest(&bytes).into());
        let known = known.iter().find(|(file, _)| *file == name).map(|(_, hash)| *hash);
        let expected = known.or_else(|| recorded?.get(name).map(String::as_str));
        if let Some(expected) = expected.filter(|expected| **expected != found) {
            let message = format!(
                "{name} has SHA-256 {found}, where {expected} was expected: nothing was installed"
            );
            return Err(Fault::new(FaultCode::Conflict, message).hint(
                "the file changed at its origin; if you trust it, download the files yourself and \
                 give their directory",
            ));
        }
        files.insert(name.to_owned(), found);
    }
    Ok(files)
}

/// Converts an error of a model that was fetched, or of a program that runs none.
fn unusable(error: EmbedError) -> Fault {
    let message = format!("this model cannot be used: {}", error.message);
    Fault::new(FaultCode::Io, message).hint(error.hint.unwrap_or_else(|| {
        hint!("{} works", Command::ModelInstall { model: Some("all-minilm-l6-v2".into()) })
    }))
}

/// Verifies the hash of the weights. Then checks that a reranker gives scores, and that any other
/// model makes vectors of the right length.
fn verify(
    dir: &Path,
    pinned: Option<&str>,
    threads: usize,
    should_continue: &dyn Fn() -> bool,
) -> Result<(ModelFacts, Option<f64>), Fault> {
    if !should_continue() {
        return Err(cancelled());
    }
    let facts = inspect_while(dir, should_continue).map_err(unusable)?;
    if let Some(pinned) = pinned.filter(|pinned| **pinned != facts.sha256) {
        let message = format!(
            "the weights have SHA-256 {}, where {pinned} was expected: nothing was installed",
            facts.sha256
        );
        return Err(Fault::new(FaultCode::Conflict, message).hint(
            "if you want these weights, install them under another name (--name) with their \
             --sha256",
        ));
    }
    if !should_continue() {
        return Err(cancelled());
    }
    if is_reranker(dir) {
        let texts = [PROBE_TEXT.to_owned()];
        let scores = LocalModel::new(dir.to_owned(), 1).rerank(PROBE_TEXT, &texts, should_continue);
        return scores.map(|_| (facts, None)).map_err(unusable);
    }
    let model = LocalModel::new(dir.to_owned(), threads);
    let vectors = model
        .embed(&[PROBE_TEXT.to_owned()], VectorPurpose::Document, should_continue)
        .map_err(unusable)?;
    let dimensions = facts.dimensions as usize;
    if vectors.first().is_none_or(|vector| vector.len() != dimensions) {
        return Err(unusable(EmbedError {
            kind: EmbedErrorKind::Model,
            message: "its vectors differ in length from its configuration".into(),
            hint: None,
        }));
    }
    let speed = sample_speed(&model, should_continue).map_err(unusable)?;
    Ok((facts, Some(speed)))
}

/// Renames the staging directory to the model's name, then removes the former model.
fn activate(models: &Path, name: &str) -> Result<(), Fault> {
    let (target_dir, replaced) = (models.join(name), replaced_path(models, name));
    let failed = |e: io::Error| model_file_fault(&target_dir, &e);
    if target_dir.exists() {
        fs::rename(&target_dir, &replaced).map_err(failed)?;
    }
    fs::rename(models.join(format!("{name}{STAGING_SUFFIX}")), &target_dir).map_err(failed)?;
    File::open(models).and_then(|models| models.sync_all()).map_err(failed)?;
    remove_if_exists(&replaced)
}
