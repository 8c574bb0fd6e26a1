//! The settings of a source: which files it has, and what brain writes into them.

use std::path::Path;
use std::sync::Arc;

use brain_protocol::{
    ChangeStatus, Command, Fault, FaultCode, SourceId, SourceReply, SourceSet, SourceSettings, hint,
};

use crate::sources::SourceService;
use brain_base::caller::Caller;
use brain_files::IgnoreRules;
use brain_store::{Reader, SourceRecord, StoreError, Transaction};

impl SourceService {
    /// Changes the settings of a source.
    pub fn set(&self, caller: &Caller, request: &SourceSet) -> Result<SourceReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (id, record) = crate::sources::resolve(caller, &reader, Some(&request.id))?;
        drop(reader);
        let settings = request.settings.clone();
        if record.path.is_none() && (settings.include.is_some() || settings.exclude.is_some()) {
            let message =
                format!("the source \"{id}\" is in brain's own home: all of its files are pages");
            return Err(Fault::new(FaultCode::Usage, message).hint(hint!(
                "only a source with a directory of its own can leave files out; add one: {}",
                Command::SourcesAdd { source: None, path: None }
            )));
        }
        self.check_patterns(&self.source_dir(&record), &settings)?;
        let source = id.clone();
        let changed = self
            .store
            .write(move |transaction| change_settings(transaction, &source, &settings))?;
        self.watcher.notify_sources_changed();
        let status = if changed { ChangeStatus::Changed } else { ChangeStatus::Unchanged };
        self.source_reply(caller, &id, status, Vec::new())
    }

    /// Refuses patterns that are not valid.
    pub(super) fn check_patterns(&self, dir: &Path, new: &SourceSettings) -> Result<(), Fault> {
        let (include, exclude) = (new.include.as_deref(), new.exclude.as_deref());
        IgnoreRules::new(dir, include.unwrap_or_default(), exclude.unwrap_or_default())
            .map(drop)
            .map_err(|problem| {
                Fault::new(FaultCode::Usage, problem)
                    .hint("write patterns as in a .gitignore file, for example \"drafts/\"")
            })
    }

    /// Returns the rules for the files of a source.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] if a pattern is not valid; the store's fault if the store
    /// cannot be read.
    pub fn rules(
        &self,
        reader: &Reader,
        id: &SourceId,
        record: &SourceRecord,
    ) -> Result<Arc<IgnoreRules>, Fault> {
        // All files in brain's own home are pages.
        let Some(path) = &record.path else { return Ok(Arc::new(IgnoreRules::off())) };
        let settings = reader.source_settings(id)?;
        self.rules_of(Path::new(path), Some(id), settings.include, settings.exclude)
    }

    /// Returns the rules for a directory: these patterns, and those of the configuration.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] for a pattern that is not valid.
    pub fn rules_of(
        &self,
        dir: &Path,
        id: Option<&SourceId>,
        mut include: Vec<String>,
        mut exclude: Vec<String>,
    ) -> Result<Arc<IgnoreRules>, Fault> {
        let config = &self.config;
        include.extend(config.include.iter().filter_map(|text| pattern_for(id, text)));
        exclude.extend(config.exclude.iter().filter_map(|text| pattern_for(id, text)));
        IgnoreRules::new(dir, &include, &exclude).map(Arc::new).map_err(|problem| {
            Fault::new(
                FaultCode::InvalidConfig,
                format!("[sources] of the configuration: {problem}"),
            )
            .hint("correct `sources.include` and `sources.exclude` in config.toml")
        })
    }
}

/// Returns a pattern of the configuration, if it is for this source: `NAME:PATTERN` is for one
/// source, `PATTERN` for all.
fn pattern_for(id: Option<&SourceId>, text: &str) -> Option<String> {
    match text.split_once(':') {
        Some((name, pattern)) if SourceId::parse(name).is_ok() => {
            id.filter(|id| id.as_str() == name).map(|_| pattern.to_owned())
        }
        _ => Some(text.to_owned()),
    }
}

/// Changes the given settings of a source. Returns whether any differs from before. Runs in the
/// store's writer.
pub(super) fn change_settings(
    transaction: &mut Transaction<'_>,
    id: &SourceId,
    new: &SourceSettings,
) -> Result<bool, StoreError> {
    let former = transaction.source_settings(id)?;
    let mut settings = former.clone();
    if let Some(include) = &new.include {
        settings.include.clone_from(include);
    }
    if let Some(exclude) = &new.exclude {
        settings.exclude.clone_from(exclude);
    }
    if let Some(provenance) = new.provenance {
        settings.without_provenance = !provenance;
    }
    if settings == former {
        return Ok(false);
    }
    transaction.put_source_settings(id, &settings)?;
    Ok(true)
}
