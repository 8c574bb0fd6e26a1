//! The configured language models.

use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{Command, Fault, FaultCode, Secret, usd};

use crate::{Model, ModelError, ModelErrorKind, ModelSettings};
use brain_base::secrets::Secrets;
use brain_config::LlmConfig;
use brain_costs::{CostMeter, Ledger, Price};
use brain_net::HttpClient;
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};

/// The configured language models, and the ledger of their costs.
pub struct LanguageModels {
    /// The section `[llm]`.
    pub config: LlmConfig,
    key_file: Option<PathBuf>,
    secrets: Arc<Secrets>,
    net: Arc<dyn HttpClient>,
    /// The record of paid calls.
    pub ledger: Arc<Ledger>,
}

impl Health for LanguageModels {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("language model", &self, Self::check_language_model)]
    }
}

impl LanguageModels {
    /// Creates the service. `key_file` is the configured file with the models' key.
    pub fn new(
        config: LlmConfig,
        key_file: Option<PathBuf>,
        secrets: Arc<Secrets>,
        net: Arc<dyn HttpClient>,
        ledger: Arc<Ledger>,
    ) -> Self {
        Self { config, key_file, secrets, net, ledger }
    }

    /// Returns the model called `name`, or the configured text model. Returns `None` if no provider
    /// or no model name is configured.
    ///
    /// # Errors
    /// If the key cannot be read, or is missing where one is needed.
    pub fn language_model(&self, name: Option<&str>) -> Result<Option<Model>, Fault> {
        let Some(settings) = ModelSettings::from_config(&self.config) else { return Ok(None) };
        let name = name.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        let Some(name) = name.or_else(|| settings.model.clone()) else {
            return Ok(None);
        };
        let model =
            Model::open(&settings, &name, self.llm_key()?, &*self.net, self.llm_cost_meter());
        model.map(Some).map_err(|error| model_fault(&error))
    }

    /// Reads the key for language models, if there is one.
    ///
    /// # Errors
    /// If the key exists and cannot be read.
    pub fn llm_key(&self) -> Result<Option<Secret>, Fault> {
        Ok(self.secrets.find("llm-api-key", self.key_file.as_deref())?.map(|found| found.secret))
    }

    /// Checks the ledger, and the configuration of the model. Makes no call.
    fn check_language_model(&self) -> Finding {
        if let Err(fault) = self.ledger.check() {
            let problem = format!("the ledger of paid calls cannot be written: {fault}");
            return warn(problem, Command::Costs);
        }
        let Some(settings) = ModelSettings::from_config(&self.config) else {
            return ok("none is configured (llm.provider)");
        };
        let Some(name) = settings.model.as_ref().or(settings.vision_model.as_ref()) else {
            let problem = "llm.provider is set, but neither llm.model nor llm.vision_model is";
            return warn(problem, Command::ConfigPath);
        };
        let key = match self.llm_key() {
            Ok(key) => key,
            Err(fault) => {
                let hint = fault.hint.unwrap_or_else(|| Command::ConfigPath.into());
                return warn(fault.message, hint);
            }
        };
        let meter = self.llm_cost_meter();
        let model = match Model::open(&settings, name, key, &*self.net, meter) {
            Ok(model) => model,
            Err(error) => {
                return warn(format!("{}; {}", error.message, error.hint), Command::ConfigPath);
            }
        };
        if settings.is_paid() && crate::price(&self.config).is_free() {
            let problem = "the provider charges for calls, but llm.price_in and llm.price_out are \
                           0: costs are not counted, and budgets have no effect";
            return warn(problem, Command::ConfigPath);
        }
        let Price { input, output } = crate::price(&self.config);
        ok(format!(
            "\"{}\" at {}; a million tokens cost {} USD in, {} USD out",
            model.name(),
            model.endpoint(),
            usd(input),
            usd(output)
        ))
    }

    /// Returns the meter of paid model calls.
    pub fn llm_cost_meter(&self) -> CostMeter {
        CostMeter { ledger: Arc::clone(&self.ledger), price: crate::price(&self.config) }
    }
}

/// Converts a failure of a model to a fault for the caller.
pub fn model_fault(error: &ModelError) -> Fault {
    let code = match error.kind {
        ModelErrorKind::NoKey => FaultCode::NotSetUp,
        ModelErrorKind::Budget => FaultCode::OverBudget,
        ModelErrorKind::Ledger => FaultCode::Io,
        ModelErrorKind::RateLimited(_) => FaultCode::RateLimited,
        ModelErrorKind::Timeout => FaultCode::Timeout,
        ModelErrorKind::Stopped => FaultCode::Cancelled,
        _ => FaultCode::ServiceFailed,
    };
    Fault::new(code, &error.message).hint(error.hint.clone())
}
