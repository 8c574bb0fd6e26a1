//! Lists installed models and the status of search by meaning.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use brain_config::SearchConfig;
use brain_page::hex;
use brain_protocol::{Command, Fault, KnownModelRow, ModelRow, Models};
use sha2::{Digest, Sha256};

use super::estimate::{EstimatedWork, approximate_time};
use super::installed_models::directories;
use super::{Caller, EmbeddingService, QUERY_DEADLINE};
use brain_embed::inspect;
use brain_embed::models::known_models::{KNOWN, KnownModel};
use brain_embed::models::model_record::{ModelRecord, size};
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};

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

    /// Names the models that rank, each with the beginning of a hash of what makes its vectors:
    /// weights, settings, endpoint.
    pub(crate) fn ranking_models(&self) -> String {
        let until = Instant::now() + QUERY_DEADLINE;
        let open = self.state.shared.wait_for_vectors(until, QUERY_DEADLINE);
        let model = match (self.embedding_provider(), open) {
            (None, _) => "no model".to_owned(),
            (Some(provider), None) => provider.model,
            (Some(_), Some(open)) => {
                let identity = hex(&Sha256::digest(&open.space.identity).into());
                format!("{} {}", open.space.model, &identity[..8])
            }
        };
        let SearchConfig { rerank, rerank_model, .. } = &self.env.search;
        match rerank {
            Some(place) => {
                let name = rerank_model.as_deref().unwrap_or("the last installed model");
                format!("{model}, rerank {place:?} {name}")
            }
            None => model,
        }
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
