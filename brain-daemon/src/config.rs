//! Configuration: one `config.toml`, every key with a default, every key overridden by `BRAIN_<SECTION>_<KEY>`.
//!
//! The keys are one table, [`KEYS`]: parsing, the "unknown key" error, `brain config show` and the documentation all
//! come from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};

use crate::home::Home;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number between two bounds, both included.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
}

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// The table it stands in.
    pub section: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Its value when nobody sets it.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
}

/// Every key.
pub const KEYS: &[Key] = &[
    Key {
        section: "daemon",
        name: "socket",
        kind: Kind::Text,
        default: "",
        what: "path of the control socket; empty: run/brain.sock in the home",
    },
    Key {
        section: "daemon",
        name: "connections",
        kind: Kind::Number(1, 10_000),
        default: "256",
        what: "clients served at once; more wait",
    },
    Key {
        section: "daemon",
        name: "log",
        kind: Kind::Word(&["error", "warn", "info", "debug"]),
        default: "info",
        what: "how much is logged to standard error",
    },
    Key {
        section: "store",
        name: "cache_mb",
        kind: Kind::Number(1, 100_000),
        default: "8",
        what: "memory for the store's cache, in MB",
    },
    Key {
        section: "store",
        name: "min_free_mb",
        kind: Kind::Number(1, 1_000_000),
        default: "32",
        what: "writes are refused when the disk has less room, in MB, so that reading goes on",
    },
    Key {
        section: "store",
        name: "dedup_entries",
        kind: Kind::Number(1, 1_000_000),
        default: "5000",
        what: "captures remembered for the 24-hour duplicate check",
    },
    Key {
        section: "search",
        name: "language",
        kind: Kind::Text,
        default: "en",
        what: "ISO 639-1 language of pages too short to tell",
    },
];

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
}

impl Config {
    /// Reads the file at `path`, which need not exist, and lets `env` override it.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] naming the key, what it holds and what it should; an unknown key with the nearest
    /// known one.
    pub fn load(path: &Path, env: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let mut config = Self {
            values: KEYS.iter().map(|k| ((k.section, k.name), (k.default.into(), Origin::Default))).collect(),
        };
        match std::fs::read_to_string(path) {
            Ok(text) => config.read(&text, path)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => {
                return Err(Fault::new(FaultCode::InvalidConfig, format!("{}: {e}", path.display()))
                    .hint("make that file readable, or set BRAIN_HOME to another directory"));
            }
        }
        for key in KEYS {
            let name = format!("BRAIN_{}_{}", key.section.to_uppercase(), key.name.to_uppercase());
            if let Some(value) = env(&name) {
                key.check(&value).map_err(|why| invalid(format!("${name}: {why}")))?;
                config.values.insert((key.section, key.name), (value, Origin::Environment(name)));
            }
        }
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
            let known: Vec<&str> = KEYS.iter().map(|k| k.section).collect();
            if !known.contains(&section.as_str()) {
                return Err(unknown(format!("{place}: there is no section [{section}]"), section, &known));
            }
            let Some(keys) = value.as_table() else {
                return Err(invalid(format!("{place}: \"{section}\" is a section: write [{section}]")));
            };
            for (name, value) in keys {
                let Some(key) = KEYS.iter().find(|k| k.section == section && k.name == name) else {
                    let known: Vec<&str> =
                        KEYS.iter().filter(|k| k.section == section).map(|k| k.name).collect();
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
                    other => {
                        return Err(invalid(format!(
                            "{place}: {section}.{name} cannot be a {}",
                            other.type_str()
                        )));
                    }
                };
                key.check(&value).map_err(|why| invalid(format!("{place}: {section}.{name}: {why}")))?;
                self.values.insert((key.section, key.name), (value, Origin::File(path.to_owned())));
            }
        }
        Ok(())
    }

    /// Every key with its value and origin, in the order of [`KEYS`].
    pub fn entries(&self) -> impl Iterator<Item = (&'static Key, &str, &Origin)> {
        KEYS.iter().filter_map(|key| {
            let (value, origin) = self.values.get(&(key.section, key.name))?;
            Some((key, value.as_str(), origin))
        })
    }

    fn text(&self, section: &'static str, name: &'static str) -> &str {
        self.values.get(&(section, name)).map_or("", |(value, _)| value)
    }

    /// Values are checked when they are read, so a number is one.
    fn number(&self, section: &'static str, name: &'static str) -> u64 {
        self.text(section, name).parse().unwrap_or_default()
    }

    /// The control socket: `BRAIN_SOCKET`, else `daemon.socket`, else the one in the home.
    #[must_use]
    pub fn socket(&self, home: &Home) -> PathBuf {
        if let Some(path) = std::env::var_os("BRAIN_SOCKET").filter(|v| !v.is_empty()) {
            return PathBuf::from(path);
        }
        match self.text("daemon", "socket") {
            "" => home.default_socket(),
            path => home.root().join(path),
        }
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

    /// Language of pages too short to tell.
    #[must_use]
    pub fn search_language(&self) -> String {
        self.text("search", "language").into()
    }
}

impl Key {
    fn check(&self, value: &str) -> Result<(), String> {
        match self.kind {
            Kind::Text => Ok(()),
            Kind::Number(low, high) => match value.parse::<u64>() {
                Ok(n) if (low..=high).contains(&n) => Ok(()),
                _ => Err(format!("\"{value}\" is not a whole number from {low} to {high}")),
            },
            Kind::Word(words) if words.contains(&value) => Ok(()),
            Kind::Word(words) => Err(format!("\"{value}\" is none of {}", words.join(", "))),
        }
    }
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::InvalidConfig, message)
        .hint("`brain config check FILE` looks again; `brain config show` lists all keys")
}

fn unknown(message: String, given: &str, known: &[&str]) -> Fault {
    let nearest =
        known.iter().max_by(|a, b| strsim::jaro_winkler(given, a).total_cmp(&strsim::jaro_winkler(given, b)));
    let fault = invalid(message);
    match nearest {
        Some(nearest) => {
            fault.hint(format!("did you mean \"{nearest}\"? `brain config show` lists all keys"))
        }
        None => fault,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config, Fault> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        Config::load(&path, |_| None)
    }

    #[test]
    fn defaults_pass_their_own_checks() {
        for key in KEYS {
            key.check(key.default).unwrap();
        }
        let config = Config::load(Path::new("/nonexistent/config.toml"), |_| None).unwrap();
        assert_eq!(config.connections(), 256);
    }

    #[test]
    fn an_unknown_key_is_named_with_the_nearest() {
        let fault = load("[store]\ncache_bm = 3\n").unwrap_err();
        assert!(fault.message.contains("cache_bm"), "{fault:?}");
        assert!(fault.hint.unwrap().contains("cache_mb"));
        let fault = load("[stor]\ncache_mb = 3\n").unwrap_err();
        assert!(fault.hint.unwrap().contains("\"store\""));
    }

    #[test]
    fn wrong_values_and_wrong_toml_are_refused() {
        assert!(load("[store]\ncache_mb = 0\n").unwrap_err().message.contains("from 1 to"));
        assert!(load("[daemon]\nlog = \"loud\"\n").unwrap_err().message.contains("none of"));
        assert!(load("[daemon\n").is_err());
        assert!(load("daemon = 3\n").unwrap_err().message.contains("[daemon]"));
    }

    #[test]
    fn the_environment_wins_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "[store]\ncache_mb = 3\nmin_free_mb = 5\n").unwrap();
        let env = |name: &str| (name == "BRAIN_STORE_CACHE_MB").then(|| "7".to_owned());
        let config = Config::load(&path, env).unwrap();
        assert_eq!((config.store_cache_mb(), config.store_min_free_mb()), (7, 5));
        let origin = |name: &str| config.entries().find(|(k, ..)| k.name == name).unwrap().2.clone();
        assert_eq!(origin("cache_mb"), Origin::Environment("BRAIN_STORE_CACHE_MB".into()));
        assert_eq!(origin("min_free_mb"), Origin::File(path));
        assert_eq!(origin("log"), Origin::Default);
    }
}
