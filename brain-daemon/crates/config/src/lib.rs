//! The configuration: keys, their defaults and rules, `config.toml` and the environment.
//!
//! Each key of `config.toml` has a default and can be overridden by `BRAIN_<SECTION>_<KEY>`. `keys`
//! is the table of all keys: the error for unknown keys, `brain config show` and the documentation
//! come from it. `kinds` has the rules for values. Features read their settings from [`Config`].

mod collector;
mod embedding;
mod keys;
mod kinds;
mod llm;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod tunnel;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brain_protocol::{Fault, FaultCode};

use brain_base::home::Home;
use kinds::{ids, listed, rate};

pub use collector::Switches;
pub use keys::{Key, MAX_BODY, keys};
pub use kinds::{Kind, endpoint, handle, span, texts};
pub use tunnel::Voice;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The file.
    File(PathBuf),
    /// The environment variable of this name.
    Environment(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "${name}"),
        }
    }
}

/// The configuration in force.
#[derive(Debug, Clone)]
pub struct Config {
    values: BTreeMap<(&'static str, &'static str), (String, Origin)>,
    /// The control socket that systemd passed in: nothing that is configured moves it.
    passed: Option<PathBuf>,
    /// Where the control socket is because the home is on a read-only file system.
    outside: Option<PathBuf>,
}

impl Config {
    /// Reads the file at `path`, which need not exist, and lets `env` override it.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] naming the key, what it holds and what it should; an unknown key with the nearest
    /// known one.
    pub fn load(path: &Path, env: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let mut config = Self {
            values: keys()
                .map(|k| ((k.section, k.name), (k.default.into(), Origin::Default)))
                .collect(),
            passed: None,
            outside: None,
        };
        match std::fs::read_to_string(path) {
            Ok(text) => config.read(&text, path)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => {
                return Err(Fault::new(
                    FaultCode::InvalidConfig,
                    format!("{}: {e}", path.display()),
                )
                .hint("make that file readable, or set BRAIN_HOME to another directory"));
            }
        }
        for key in keys() {
            let name = format!("BRAIN_{}_{}", key.section.to_uppercase(), key.name.to_uppercase());
            if let Some(value) = env(&name) {
                key.kind.check(&value).map_err(|why| invalid(format!("${name}: {why}")))?;
                config.values.insert((key.section, key.name), (value, Origin::Environment(name)));
            }
        }
        config.check_jobs()?;
        config.check_models()?;
        config.check_callers()?;
        config.check_switches()?;
        Ok(config)
    }

    fn read(&mut self, text: &str, path: &Path) -> Result<(), Fault> {
        let place = path.display();
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            // On one line: the client shows the last words of a daemon that could not start.
            let before = text.get(..e.span().map_or(0, |span| span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let message = e.message().trim_end().replace('\n', ", ");
            invalid(format!("{place}: line {line}, column {column}: {message}"))
        })?;
        for (section, value) in &table {
            let known: Vec<&str> = keys().map(|k| k.section).collect();
            if !known.contains(&section.as_str()) {
                return Err(unknown(
                    format!("{place}: there is no section [{section}]"),
                    section,
                    &known,
                ));
            }
            let Some(entries) = value.as_table() else {
                return Err(invalid(format!(
                    "{place}: \"{section}\" is a section: write [{section}]"
                )));
            };
            for (name, value) in entries {
                let Some(key) = keys().find(|k| k.section == section && k.name == name) else {
                    let known: Vec<&str> =
                        keys().filter(|k| k.section == section).map(|k| k.name).collect();
                    return Err(unknown(
                        format!("{place}: there is no key \"{name}\" in [{section}]"),
                        name,
                        &known,
                    ));
                };
                let value = match value {
                    toml::Value::String(s) => s.clone(),
                    toml::Value::Integer(n) => n.to_string(),
                    toml::Value::Boolean(b) => b.to_string(),
                    toml::Value::Float(n) if key.kind == Kind::Dollars => n.to_string(),
                    toml::Value::Array(texts) if key.kind == Kind::Texts => {
                        // What is none of text fails the check below.
                        serde_json::to_string(texts).unwrap_or_default()
                    }
                    toml::Value::Array(ids) if key.kind == Kind::Ids => {
                        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                        ids.join(", ")
                    }
                    other => {
                        return Err(invalid(format!(
                            "{place}: {section}.{name} cannot be a {}",
                            other.type_str()
                        )));
                    }
                };
                key.kind
                    .check(&value)
                    .map_err(|why| invalid(format!("{place}: {section}.{name}: {why}")))?;
                self.values.insert((key.section, key.name), (value, Origin::File(path.to_owned())));
            }
        }
        Ok(())
    }

    /// Every key with its value and origin, in the order of [`keys`].
    pub fn entries(&self) -> impl Iterator<Item = (&'static Key, &str, &Origin)> {
        keys().filter_map(|key| {
            let (value, origin) = self.values.get(&(key.section, key.name))?;
            Some((key, value.as_str(), origin))
        })
    }

    /// Returns the text of a key.
    #[must_use]
    pub fn text(&self, section: &'static str, name: &'static str) -> &str {
        self.values.get(&(section, name)).map_or("", |(value, _)| value)
    }

    /// Returns the number of a key. Values are checked when they are read.
    #[must_use]
    pub fn number(&self, section: &'static str, name: &'static str) -> u64 {
        self.text(section, name).parse().unwrap_or_default()
    }

    /// Whether nobody set this key.
    #[must_use]
    pub fn is_default(&self, section: &str, name: &str) -> bool {
        self.entries().any(|(key, _, origin)| {
            key.section == section && key.name == name && *origin == Origin::Default
        })
    }

    /// The same configuration for a daemon whose control socket systemd passed in: it is where it is.
    #[must_use]
    pub fn with_passed_socket(self, path: PathBuf) -> Self {
        Self { passed: Some(path), ..self }
    }

    /// The same configuration with the control socket at `path`, unless somebody has chosen its place: the home cannot hold one.
    #[must_use]
    pub fn with_socket_outside(self, path: PathBuf) -> Self {
        Self { outside: Some(path), ..self }
    }

    /// Whether systemd passed the control socket in.
    #[must_use]
    pub fn socket_is_passed(&self) -> bool {
        self.passed.is_some()
    }

    /// The control socket: the one that systemd passed in, else `BRAIN_SOCKET`, else `daemon.socket`, else the one in
    /// the home.
    #[must_use]
    pub fn socket(&self, home: &Home) -> PathBuf {
        if let Some(path) = &self.passed {
            return path.clone();
        }
        if let Some(path) = std::env::var_os("BRAIN_SOCKET").filter(|v| !v.is_empty()) {
            return PathBuf::from(path);
        }
        match self.text("daemon", "socket") {
            "" => self.outside.clone().unwrap_or_else(|| home.default_socket()),
            path => home.root().join(path),
        }
    }

    /// Users other than the daemon's own and root who may come in through a socket that was passed in.
    #[must_use]
    pub fn allow_uids(&self) -> Vec<u32> {
        ids(self.text("daemon", "allow_uids")).unwrap_or_default()
    }

    /// The group whose members may; empty: none.
    #[must_use]
    pub fn allow_group(&self) -> &str {
        self.text("daemon", "allow_group").trim()
    }

    /// Clients served at once.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.number("daemon", "connections") as usize
    }

    /// `error`, `warn`, `info` or `debug`.
    #[must_use]
    pub fn log(&self) -> &str {
        self.text("daemon", "log")
    }

    /// The store's cache in MB.
    #[must_use]
    pub fn store_cache_mb(&self) -> usize {
        self.number("store", "cache_mb") as usize
    }

    /// The room that writes leave on the disk, in MB.
    #[must_use]
    pub fn store_min_free_mb(&self) -> u64 {
        self.number("store", "min_free_mb")
    }

    /// Captures remembered for the duplicate check.
    #[must_use]
    pub fn dedup_entries(&self) -> usize {
        self.number("store", "dedup_entries") as usize
    }

    /// Whether the sources' directories are watched.
    #[must_use]
    pub fn sources_watch(&self) -> bool {
        self.text("sources", "watch") == "true"
    }

    /// Fingerprints of git configurations that may run programs.
    #[must_use]
    pub fn sources_git_approved(&self) -> Vec<String> {
        kinds::texts(self.text("sources", "git_approved")).unwrap_or_default()
    }

    /// Where backups by schedule go; `None` when none are wanted.
    #[must_use]
    pub fn backup_dir(&self, home: &Home) -> Option<PathBuf> {
        self.path("backup", "dir", home)
    }

    /// The file with the owner's token for the admin API; `None` when it is at its usual place.
    #[must_use]
    pub fn http_admin_token_file(&self, home: &Home) -> Option<PathBuf> {
        self.path("http", "admin_token_file", home)
    }

    /// A path: absolute, below `~/`, or in the home; `None` when it is empty.
    #[must_use]
    pub fn path(&self, section: &'static str, name: &'static str, home: &Home) -> Option<PathBuf> {
        let path = self.text(section, name).trim();
        let users = path
            .strip_prefix("~/")
            .and_then(|rest| Some(PathBuf::from(std::env::var_os("HOME")?).join(rest)));
        (!path.is_empty()).then(|| users.unwrap_or_else(|| home.root().join(path)))
    }

    /// The time between two backups in milliseconds.
    #[must_use]
    pub fn backup_every_ms(&self) -> i64 {
        let seconds = span(self.text("backup", "every")).unwrap_or_default();
        i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000)
    }

    /// How many backups are kept.
    #[must_use]
    pub fn backup_keep(&self) -> usize {
        self.number("backup", "keep") as usize
    }

    /// Where HTTP is served for this machine.
    #[must_use]
    pub fn http_local(&self) -> Option<SocketAddr> {
        self.text("http", "local").parse().ok()
    }

    /// Where HTTP is served for a tunnel.
    #[must_use]
    pub fn http_public(&self) -> Option<SocketAddr> {
        self.text("http", "public").parse().ok()
    }

    /// The address that clients know, without a slash at its end: the OAuth issuer. `None` when nobody set one.
    #[must_use]
    pub fn http_base_url(&self) -> Option<&str> {
        Some(self.text("http", "base_url").trim_end_matches('/')).filter(|url| !url.is_empty())
    }

    /// Further names that requests may be addressed to.
    #[must_use]
    pub fn http_allowed_hosts(&self) -> Vec<String> {
        listed(self.text("http", "allowed_hosts"))
    }

    /// Origins whose web pages may call.
    #[must_use]
    pub fn http_allowed_origins(&self) -> Vec<String> {
        listed(self.text("http", "allowed_origins"))
    }

    /// Connections served at once on each listener.
    #[must_use]
    pub fn http_connections(&self) -> usize {
        self.number("http", "connections") as usize
    }

    /// How long a client may take for a head, or pause within a body.
    #[must_use]
    pub fn http_timeout(&self) -> Duration {
        Duration::from_secs(span(self.text("http", "timeout")).unwrap_or_default())
    }

    /// How long a connection is kept between two requests.
    #[must_use]
    pub fn http_idle_timeout(&self) -> Duration {
        Duration::from_secs(span(self.text("http", "idle_timeout")).unwrap_or_default())
    }

    /// Whether clients may register themselves.
    #[must_use]
    pub fn http_dynamic_registration(&self) -> bool {
        self.text("http", "dynamic_registration") == "true"
    }

    /// Whether documents of clients are fetched, of which there is no copy.
    #[must_use]
    pub fn http_fetches_client_documents(&self) -> bool {
        self.text("http", "client_documents") == "fetch"
    }

    /// How many calls of one client are taken in how many seconds; `None` when there is no limit.
    #[must_use]
    pub fn ingest_rate(&self) -> Option<(u32, u64)> {
        rate(self.text("ingest", "rate")).flatten()
    }

    /// The largest body in bytes.
    #[must_use]
    pub fn ingest_max_bytes(&self) -> usize {
        self.number("ingest", "max_bytes") as usize
    }

    /// Pages that one client may write in a day; `None` when there is no limit.
    #[must_use]
    pub fn ingest_daily_pages(&self) -> Option<u64> {
        Some(self.number("ingest", "daily_pages")).filter(|&pages| pages > 0)
    }

    /// Bytes that one client may write in a day; `None` when there is no limit.
    #[must_use]
    pub fn ingest_daily_bytes(&self) -> Option<u64> {
        Some(self.number("ingest", "daily_bytes")).filter(|&bytes| bytes > 0)
    }

    /// Items that may wait to be made pages.
    #[must_use]
    pub fn ingest_queue(&self) -> u64 {
        self.number("ingest", "queue")
    }

    /// Returns whether a key is `true`.
    #[must_use]
    pub fn is_true(&self, section: &'static str, name: &'static str) -> bool {
        self.text(section, name) == "true"
    }

    /// Language of pages too short to tell.
    #[must_use]
    pub fn search_language(&self) -> String {
        self.text("search", "language").into()
    }
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::InvalidConfig, message)
        .hint("`brain config check FILE` looks again; `brain config show` lists all keys")
}

fn unknown(message: String, given: &str, known: &[&str]) -> Fault {
    let nearest = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(given, a).total_cmp(&strsim::jaro_winkler(given, b)));
    let fault = invalid(message);
    match nearest {
        Some(nearest) => {
            fault.hint(format!("did you mean \"{nearest}\"? `brain config show` lists all keys"))
        }
        None => fault,
    }
}
