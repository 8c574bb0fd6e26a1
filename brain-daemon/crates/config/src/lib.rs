//! The configuration: typed sections of keys, their defaults and rules, and where values come from.
//!
//! Each key of `config.toml` has a default and can be overridden by `BRAIN_<SECTION>_<KEY>`.
//! `sections` declares every key once: its type, rule, default and description. The error for
//! unknown keys, `brain config show` and a test of the documentation use these declarations.
//! `rules` turns text into values, and `loader` reads file and environment. `checks` has the checks
//! that the rule of a single key cannot make. Values are parsed once, when they are loaded.

mod checks;
mod edit;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod edit_tests;
mod loader;
mod rules;
mod sections;
mod spans;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod values;

use std::path::{Path, PathBuf};

use brain_base::home::Home;
use brain_base::schedule::ScheduledTask;
use brain_protocol::{Command, Fault, FaultCode, hint};

use loader::{ConfigEntry, Loader};

pub use edit::set;
pub use loader::{ConfigKey, ValueOrigin};
pub use sections::collector::{Authors, CollectorConfig, DeletedPosts};
pub use sections::daemon::{
    BackupConfig, DaemonConfig, HistoryConfig, ImportConfig, LogLevel, MachinesConfig, PagesConfig,
    SourcesConfig, StoreConfig,
};
pub use sections::http::{ClientDocuments, HttpConfig, IngestConfig, MAX_BODY};
pub use sections::models::{
    EmbeddingConfig, EmbeddingProvider, LlmConfig, LlmProvider, RerankProvider, SearchConfig,
};
pub use sections::tunnel::{TunnelConfig, TunnelProvider, VoiceConfig};
pub use values::{Dollars, HomePath, HttpUrl, Processor, Rate, Retention, parse_handle};

/// The configuration in force.
#[derive(Debug, Clone)]
pub struct Config {
    /// `[daemon]`
    pub daemon: DaemonConfig,
    /// `[store]`
    pub store: StoreConfig,
    /// `[pages]`
    pub pages: PagesConfig,
    /// `[sources]`
    pub sources: SourcesConfig,
    /// `[import]`
    pub import: ImportConfig,
    /// `[backup]`
    pub backup: BackupConfig,
    /// `[http]`
    pub http: HttpConfig,
    /// `[ingest]`
    pub ingest: IngestConfig,
    /// `[collector]`
    pub collector: CollectorConfig,
    /// `[llm]`
    pub llm: LlmConfig,
    /// `[embedding]`
    pub embedding: EmbeddingConfig,
    /// `[tunnel]`
    pub tunnel: TunnelConfig,
    /// `[voice]`
    pub voice: VoiceConfig,
    /// `[search]`
    pub search: SearchConfig,
    /// `[machines]`
    pub machines: MachinesConfig,
    /// `[history]`
    pub history: HistoryConfig,
    /// All keys in the order of the sections above.
    entries: Vec<ConfigEntry>,
    /// The schedule of the collector's runs.
    collector_task: ScheduledTask,
    /// The schedule of ratings; `None` if posts are not rated.
    ratings_task: Option<ScheduledTask>,
    /// The control socket that systemd passed in. It overrides the configured one.
    passed_socket: Option<PathBuf>,
    /// The default control socket of a home on a read-only file system.
    outside_socket: Option<PathBuf>,
    /// The path of the file.
    file_path: PathBuf,
    /// The text of the file when it was read.
    file_text: String,
}

impl Config {
    /// Reads the file at `path`, which need not exist, and overrides its values by those of `env`.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] if the file cannot be read or is not TOML, a key is unknown, or
    /// values break a rule. The fault names the key.
    pub fn load(path: &Path, env: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let text = loader::read_file(path)?;
        Self::from_text(path, &text, env)
    }

    /// Like [`Config::load`], with this text instead of the file's.
    fn from_text(
        path: &Path,
        text: &str,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        let mut loader = Loader::open(path, text, &env)?;
        let (daemon, store) = (DaemonConfig::read(&mut loader)?, StoreConfig::read(&mut loader)?);
        let pages = PagesConfig::read(&mut loader)?;
        let sources = SourcesConfig::read(&mut loader)?;
        let import = ImportConfig::read(&mut loader)?;
        let backup = BackupConfig::read(&mut loader)?;
        let http = HttpConfig::read(&mut loader)?;
        let ingest = IngestConfig::read(&mut loader)?;
        let collector = CollectorConfig::read(&mut loader)?;
        let llm = LlmConfig::read(&mut loader)?;
        let embedding = EmbeddingConfig::read(&mut loader)?;
        let tunnel = TunnelConfig::read(&mut loader)?;
        let voice = VoiceConfig::read(&mut loader)?;
        let search = SearchConfig::read(&mut loader)?;
        let machines = MachinesConfig::read(&mut loader)?;
        let history = HistoryConfig::read(&mut loader)?;
        let config = Self {
            entries: loader.finish()?,
            collector_task: collector.job()?,
            ratings_task: collector.ratings_task()?,
            daemon,
            store,
            pages,
            sources,
            import,
            backup,
            http,
            ingest,
            collector,
            llm,
            embedding,
            tunnel,
            voice,
            search,
            machines,
            history,
            passed_socket: None,
            outside_socket: None,
            file_path: path.to_owned(),
            file_text: text.to_owned(),
        };
        config.check()?;
        Ok(config)
    }

    /// Returns every key with its text and origin, in the order of the documentation.
    pub fn entries(&self) -> impl Iterator<Item = (&'static ConfigKey, &str, &ValueOrigin)> {
        self.entries.iter().map(|entry| (entry.key, entry.text.as_str(), &entry.origin))
    }

    /// Returns the configuration as the text of a valid file, with descriptions and origins as
    /// comments.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let mut section = "";
        for ConfigEntry { key, text, form, origin } in &self.entries {
            if key.section != section {
                section = key.section;
                let gap = if out.is_empty() { "" } else { "\n" };
                out.push_str(&format!("{gap}[{section}]\n"));
            }
            let value = form.value_of(text);
            out.push_str(&format!("# {} ({origin})\n{} = {value}\n", key.description, key.name));
        }
        out
    }

    /// Returns whether this known key is not set.
    #[must_use]
    pub fn is_default(&self, section: &str, name: &str) -> bool {
        self.entries().any(|(key, _, origin)| {
            key.section == section && key.name == name && *origin == ValueOrigin::Default
        })
    }

    /// Returns whether the text of the file has changed since it was read; `false` if it cannot be
    /// read now. The environment of a process cannot change.
    #[must_use]
    pub fn has_changed_file(&self) -> bool {
        loader::read_file(&self.file_path).is_ok_and(|now| now != self.file_text)
    }

    /// Returns the path of the file, even if there is none.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file_path
    }

    /// Sets the control socket that systemd passed in.
    #[must_use]
    pub fn with_passed_socket(self, path: PathBuf) -> Self {
        Self { passed_socket: Some(path), ..self }
    }

    /// Sets the default control socket, for a home that cannot hold one.
    #[must_use]
    pub fn with_socket_outside(self, path: PathBuf) -> Self {
        Self { outside_socket: Some(path), ..self }
    }

    /// Returns whether systemd passed the control socket in.
    #[must_use]
    pub fn socket_is_passed(&self) -> bool {
        self.passed_socket.is_some()
    }

    /// Returns the control socket: the one that systemd passed in, else `BRAIN_SOCKET`, else
    /// `daemon.socket`, else the default of a home that cannot hold one, else the one in the home.
    #[must_use]
    pub fn socket(&self, home: &Home) -> PathBuf {
        if let Some(path) = &self.passed_socket {
            return path.clone();
        }
        if let Some(path) = std::env::var_os("BRAIN_SOCKET").filter(|v| !v.is_empty()) {
            return PathBuf::from(path);
        }
        match self.daemon.socket.as_str() {
            "" => self.outside_socket.clone().unwrap_or_else(|| home.default_socket()),
            path => home.root().join(path),
        }
    }

    /// Returns the schedule of the collector's runs.
    #[must_use]
    pub fn collector_task(&self) -> ScheduledTask {
        self.collector_task
    }

    /// Returns the schedule of ratings; `None` if posts are not rated.
    #[must_use]
    pub fn ratings_task(&self) -> Option<ScheduledTask> {
        self.ratings_task
    }

    /// Returns the enabled tasks that start at fixed minutes.
    #[must_use]
    pub fn planned_tasks(&self) -> Vec<ScheduledTask> {
        let collector = self.collector.enabled.then_some(self.collector_task);
        collector.into_iter().chain(self.ratings_task).collect()
    }

    /// Returns the configured public address, which is the OAuth issuer, without a trailing slash.
    #[must_use]
    pub fn http_base_url(&self) -> Option<&str> {
        self.http.base_url.as_deref()
    }

    /// Returns the settings of the telephone; `None` if `/voice` is not served.
    #[must_use]
    pub fn voice(&self) -> Option<&VoiceConfig> {
        Some(&self.voice).filter(|voice| voice.enabled)
    }
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::InvalidConfig, message).hint(hint!(
        "check again with {}; {} lists all keys",
        Command::ConfigCheckFile,
        Command::ConfigShow
    ))
}
