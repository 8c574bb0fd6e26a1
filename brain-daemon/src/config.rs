//! Configuration: one `config.toml`, every key with a default, every key overridden by `BRAIN_<SECTION>_<KEY>`.
//!
//! The keys are one table, [`KEYS`]: parsing, the "unknown key" error, `brain config show` and the documentation all
//! come from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// A span of time such as `90s`, `30m`, `24h` or `7d`, between two bounds in seconds, both included.
    Span(u64, u64),
    /// User ids, with commas or spaces between them; in the file also an array of numbers.
    Ids,
    /// An address to listen on, with its port, or `off`.
    Address,
    /// `http://` or `https://`, a host and nothing behind it but a port; or empty.
    BaseUrl,
    /// How often in a span of time, such as `100/10s`, or `off`.
    Rate,
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
        section: "daemon",
        name: "allow_uids",
        kind: Kind::Ids,
        default: "",
        what: "user ids that may read and write pages through a socket that systemd passes in",
    },
    Key {
        section: "daemon",
        name: "allow_group",
        kind: Kind::Text,
        default: "",
        what: "group (name or number) whose members may do the same; it must be the SocketGroup= of that socket",
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
        section: "sources",
        name: "watch",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        what: "whether changes of files are taken in as they happen, without `brain sync`",
    },
    Key {
        section: "backup",
        name: "dir",
        kind: Kind::Text,
        default: "",
        what: "directory for backups by schedule: absolute, below ~/, or in the brain's home; empty: none are made",
    },
    Key {
        section: "backup",
        name: "every",
        kind: Kind::Span(60, 365 * 24 * 60 * 60),
        default: "24h",
        what: "time between two backups: a number with s, m, h or d",
    },
    Key {
        section: "backup",
        name: "keep",
        kind: Kind::Number(1, 1000),
        default: "7",
        what: "backups kept; older ones of this brain are removed",
    },
    Key {
        section: "http",
        name: "local",
        kind: Kind::Address,
        default: "127.0.0.1:3131",
        what: "address of everything that HTTP serves, for this machine, or \"off\"",
    },
    Key {
        section: "http",
        name: "public",
        kind: Kind::Address,
        default: "127.0.0.1:8765",
        what: "address of what a tunnel forwards: no administration, no metrics; or \"off\"",
    },
    Key {
        section: "http",
        name: "base_url",
        kind: Kind::BaseUrl,
        default: "",
        what: "the public address, for example https://brain.example.org; empty: that of the local listener",
    },
    Key {
        section: "http",
        name: "allowed_hosts",
        kind: Kind::Text,
        default: "",
        what: "further names that requests may be addressed to, with commas between them",
    },
    Key {
        section: "http",
        name: "allowed_origins",
        kind: Kind::Text,
        default: "",
        what: "origins whose web pages may call, for example https://claude.ai, with commas between them; empty: none",
    },
    Key {
        section: "http",
        name: "admin_token_file",
        kind: Kind::Text,
        default: "",
        what: "file with the owner's token for the admin API: absolute, below ~/, or in the brain's home; empty: secrets/admin-token",
    },
    Key {
        section: "http",
        name: "connections",
        kind: Kind::Number(1, 100_000),
        default: "512",
        what: "connections served at once on each listener; more wait, and idle ones give way",
    },
    Key {
        section: "http",
        name: "timeout",
        kind: Kind::Span(1, 60 * 60),
        default: "10s",
        what: "how long a client may take for the head of a request, or send nothing of its body; six times that for all of it",
    },
    Key {
        section: "http",
        name: "idle_timeout",
        kind: Kind::Span(1, 24 * 60 * 60),
        default: "60s",
        what: "how long a connection is kept between two requests",
    },
    Key {
        section: "http",
        name: "dynamic_registration",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        what: "whether clients may register themselves (RFC 7591); they may only ask for consent",
    },
    Key {
        section: "http",
        name: "client_documents",
        kind: Kind::Word(&["fetch", "known"]),
        default: "fetch",
        what: "clients that name themselves by the address of a document: fetch it, or take only those known by a copy",
    },
    Key {
        section: "ingest",
        name: "rate",
        kind: Kind::Rate,
        default: "100/10s",
        what: "calls of one client in a span of time, or \"off\"",
    },
    Key {
        section: "ingest",
        name: "max_bytes",
        kind: Kind::Number(1, 5_000_000),
        default: "1048576",
        what: "the largest body, in bytes",
    },
    Key {
        section: "ingest",
        name: "queue",
        kind: Kind::Number(1, 100_000_000),
        default: "100000",
        what: "items that may wait to be made pages; more are refused",
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
    /// The control socket that systemd passed in: nothing that is configured moves it.
    passed: Option<PathBuf>,
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
            passed: None,
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

    /// Whether nobody set this key.
    #[must_use]
    pub fn is_default(&self, section: &str, name: &str) -> bool {
        self.entries()
            .any(|(key, _, origin)| key.section == section && key.name == name && *origin == Origin::Default)
    }

    /// The same configuration for a daemon whose control socket systemd passed in: it is where it is.
    #[must_use]
    pub fn with_passed_socket(self, path: PathBuf) -> Self {
        Self { passed: Some(path), ..self }
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
            "" => home.default_socket(),
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
    fn path(&self, section: &'static str, name: &'static str, home: &Home) -> Option<PathBuf> {
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

    /// Items that may wait to be made pages.
    #[must_use]
    pub fn ingest_queue(&self) -> u64 {
        self.number("ingest", "queue")
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
            Kind::Span(low, high) => match span(value) {
                Some(n) if (low..=high).contains(&n) => Ok(()),
                Some(_) => Err(format!("\"{value}\" is not between {} and {}", shown(low), shown(high))),
                None => Err(format!("\"{value}\" is not a time such as 90s, 30m, 24h or 7d")),
            },
            Kind::Address if value == "off" || value.parse::<SocketAddr>().is_ok() => Ok(()),
            Kind::Address => {
                Err(format!("\"{value}\" is neither an address such as 127.0.0.1:3131 nor \"off\""))
            }
            Kind::BaseUrl if value.is_empty() => Ok(()),
            Kind::BaseUrl => match base_url(value) {
                // Clients compare it to the letter, and so do we.
                Some(canonical) if canonical == value.strip_suffix('/').unwrap_or(value) => Ok(()),
                Some(canonical) => Err(format!("\"{value}\" must be written as {canonical}")),
                None => Err(format!(
                    "\"{value}\" is not the address of a service, such as https://brain.example.org"
                )),
            },
            Kind::Rate if rate(value).is_some() => Ok(()),
            Kind::Rate => Err(format!("\"{value}\" is neither a rate such as 100/10s nor \"off\"")),
            Kind::Ids if ids(value).is_some() => Ok(()),
            Kind::Ids => Err(format!("\"{value}\" is not a list of user ids such as 1000, 1001")),
        }
    }
}

/// The units of a span of time, in seconds.
const UNITS: [(char, u64); 4] = [('d', 24 * 60 * 60), ('h', 60 * 60), ('m', 60), ('s', 1)];

/// The seconds that `text` means: digits and one unit. `None` when it means none.
fn span(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let digits = &text[..text.len() - unit.len_utf8()];
    let (_, seconds) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse::<u64>().ok()?.checked_mul(*seconds)).flatten()
}

/// Seconds in the largest unit that they are a whole number of.
fn shown(seconds: u64) -> String {
    let whole = UNITS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{seconds}s"), |(name, unit)| format!("{}{name}", seconds / unit))
}

/// The parts of a list with commas between them.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// How often in how many seconds; `None` inside when there is no limit, outside when the text means nothing.
fn rate(text: &str) -> Option<Option<(u32, u64)>> {
    if text == "off" {
        return Some(None);
    }
    let (count, time) = text.split_once('/')?;
    let count = count.parse().ok().filter(|n| (1..=1_000_000).contains(n))?;
    let seconds = span(time).filter(|n| (1..=24 * 60 * 60).contains(n))?;
    Some(Some((count, seconds)))
}

/// What `text` is called by everybody: `http` or `https`, a host, perhaps a port. `None` when there is anything else in it.
fn base_url(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && !text.contains(char::is_whitespace)
    })?;
    Some(url.origin().ascii_serialization())
}

/// The numbers in a list; `None` when something else is in it.
fn ids(text: &str) -> Option<Vec<u32>> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().ok()).collect()
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
    fn the_public_address_is_taken_as_everybody_writes_it() {
        let with = |value: &str| load(&format!("[http]\nbase_url = \"{value}\"\n"));
        for good in ["https://brain.example.org", "https://brain.example.org/", "http://[::1]:3131"] {
            let config = with(good).unwrap();
            assert_eq!(config.http_base_url(), Some(good.trim_end_matches('/')));
        }
        for other in [
            "https://Brain.Example.org",
            "HTTPS://brain.example.org",
            "https://brain.example.org:443",
            "https:brain.example.org",
            "https://brain.example.org/.",
        ] {
            let fault = with(other).unwrap_err();
            assert!(fault.message.contains("written as https://brain.example.org"), "{other}: {fault}");
        }
        for bad in
            ["brain.example.org", "https://brain.example.org/mcp", "ftp://a", "https://a?b", "https://me@a"]
        {
            let fault = with(bad).unwrap_err();
            assert!(fault.message.contains("is not the address of a service"), "{bad}: {fault}");
        }
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
    fn user_ids_are_a_list_or_an_array() {
        for text in ["[1000, 1001]", "\"1000, 1001\"", "\"1000 1001\""] {
            assert_eq!(load(&format!("[daemon]\nallow_uids = {text}\n")).unwrap().allow_uids(), [1000, 1001]);
        }
        assert_eq!(load("[daemon]\nallow_uids = 1000\n").unwrap().allow_uids(), [1000]);
        assert_eq!(load("").unwrap().allow_uids(), Vec::<u32>::new());
        for text in ["\"ann\"", "[-1]", "[1.5]", "[[1]]", "\"1000;1001\"", "[\"1000\"]"] {
            let fault = load(&format!("[daemon]\nallow_uids = {text}\n")).unwrap_err();
            assert!(fault.message.contains("allow_uids"), "{fault:?}");
        }
    }

    #[test]
    fn a_socket_that_was_passed_in_stays_where_it_is() {
        let config = load("[daemon]\nsocket = \"/elsewhere.sock\"\n").unwrap();
        let config = config.with_passed_socket("/run/brain/control.sock".into());
        assert_eq!(config.socket(&Home::at("/home".into())), Path::new("/run/brain/control.sock"));
    }

    #[test]
    fn a_span_of_time_is_a_number_and_a_unit() {
        for (text, seconds) in [("90s", 90), ("1m", 60), ("24h", 86_400), ("7d", 604_800), ("007m", 420)] {
            let config = load(&format!("[backup]\nevery = \"{text}\"\n")).unwrap();
            assert_eq!(config.backup_every_ms(), seconds * 1000, "{text}");
        }
        for text in ["", "24", "h", "1.5h", "-1h", "1 h", "1H", "24 hours", "١h", "99999999999999999999d"] {
            let fault = load(&format!("[backup]\nevery = \"{text}\"\n")).unwrap_err();
            assert!(fault.message.contains("backup.every") && fault.message.contains("24h"), "{fault:?}");
        }
        for text in ["59s", "366d"] {
            let fault = load(&format!("[backup]\nevery = \"{text}\"\n")).unwrap_err();
            assert!(fault.message.contains("between 1m and 365d"), "{fault:?}");
        }
        assert!(load("[backup]\nevery = 24\n").is_err(), "a number without a unit");
    }

    #[test]
    fn backups_are_off_until_they_have_a_place() {
        let home = Home::at("/home".into());
        assert_eq!(load("").unwrap().backup_dir(&home), None);
        let at =
            |dir: &str| load(&format!("[backup]\ndir = \"{dir}\"\n")).unwrap().backup_dir(&home).unwrap();
        assert_eq!((at("kept"), at("/disk/kept")), ("/home/kept".into(), "/disk/kept".into()));
        assert!(at("~/kept").ends_with("kept") && !at("~/kept").starts_with("/home/~"));
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
