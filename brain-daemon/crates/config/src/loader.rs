//! Reads the keys from `config.toml` and the environment, and records their texts and origins.
//!
//! No library does this: figment keeps origins but no descriptions, confique keeps descriptions but
//! no origins, and neither suggests the nearest known key for an unknown one.

use std::path::{Path, PathBuf};

use brain_protocol::{Command, Fault, FaultCode, hint};

use super::invalid;
use super::rules::{Rule, ValueForm};

/// A key of the configuration.
#[derive(Debug)]
pub struct ConfigKey {
    /// Its section of the file.
    pub section: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The text of its default.
    pub default: &'static str,
    /// The description of what the key does, for users.
    pub description: &'static str,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The key is not set.
    Default,
    /// The file.
    File(PathBuf),
    /// The environment variable of this name.
    Environment(String),
}

impl std::fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "${name}"),
        }
    }
}

/// A key with the text of its value, as it was written, the types that it accepts, and its origin.
#[derive(Debug, Clone)]
pub(super) struct ConfigEntry {
    pub(super) key: &'static ConfigKey,
    pub(super) text: String,
    pub(super) form: ValueForm,
    pub(super) origin: ValueOrigin,
}

/// The file and the environment while their keys are read.
pub(super) struct Loader<'a> {
    path: &'a Path,
    /// The keys of the file that were not read yet.
    file: toml::Table,
    env: &'a dyn Fn(&str) -> Option<String>,
    entries: Vec<ConfigEntry>,
}

impl<'a> Loader<'a> {
    /// Opens the text of the file at `path`.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] if the text is not TOML.
    pub(super) fn open(
        path: &'a Path,
        text: &str,
        env: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        let file = parse_toml(text, path)?;
        Ok(Self { path, file, env, entries: Vec::new() })
    }

    /// Returns the value of `key` from the environment, else from the file, else its default.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] if one of these values breaks the rule, even an overridden one.
    pub(super) fn read<T>(
        &mut self,
        key: &'static ConfigKey,
        rule: &Rule<impl Fn(&str) -> Result<T, String>>,
    ) -> Result<T, Fault> {
        let name = format!("{}.{}", key.section, key.name);
        let parse = |text: &str, origin: &str| {
            (rule.parse)(text).map_err(|reason| invalid(format!("{origin}: {reason}")))
        };
        let entry = |text, origin| ConfigEntry { key, text, form: rule.form, origin };
        let mut found = entry(key.default.to_owned(), ValueOrigin::Default);
        let mut value = parse(key.default, &format!("the default of {name}"))?;
        if let Some(text) = self.take(key, rule.form)? {
            value = parse(&text, &format!("{}: {name}", self.path.display()))?;
            found = entry(text, ValueOrigin::File(self.path.to_owned()));
        }
        let variable = format!("BRAIN_{}_{}", key.section.to_uppercase(), key.name.to_uppercase());
        if let Some(text) = (self.env)(&variable) {
            value = parse(&text, &format!("${variable}"))?;
            found = entry(text, ValueOrigin::Environment(variable));
        }
        self.entries.push(found);
        Ok(value)
    }

    /// Removes `key` from the table of the file, and returns its text.
    fn take(&mut self, key: &ConfigKey, form: ValueForm) -> Result<Option<String>, Fault> {
        let (file_path, section) = (self.path.display(), key.section);
        let table = match self.file.get_mut(section) {
            None => return Ok(None),
            Some(toml::Value::Table(table)) => table,
            Some(_) => {
                return Err(invalid(format!(
                    "{file_path}: \"{section}\" is a section: write [{section}]"
                )));
            }
        };
        let Some(value) = table.remove(key.name) else { return Ok(None) };
        form.text_of(&value).map(Some).ok_or_else(|| {
            let kind = value.type_str();
            invalid(format!("{file_path}: {section}.{} cannot be a {kind}", key.name))
        })
    }

    /// Returns the entries of all keys that were read.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] if the file has another section or key.
    pub(super) fn finish(self) -> Result<Vec<ConfigEntry>, Fault> {
        let file_path = self.path.display();
        let keys = || self.entries.iter().map(|entry| entry.key);
        for (section, value) in &self.file {
            if !keys().any(|key| key.section == section) {
                return Err(unknown(
                    format!("{file_path}: there is no section [{section}]"),
                    section,
                    keys().map(|key| key.section),
                ));
            }
            if let Some(name) = value.as_table().and_then(|table| table.keys().next()) {
                return Err(unknown(
                    format!("{file_path}: there is no key \"{name}\" in [{section}]"),
                    name,
                    keys().filter(|key| key.section == section).map(|key| key.name),
                ));
            }
        }
        Ok(self.entries)
    }
}

/// Returns the text of the file at `path`, or an empty text if there is no file.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] if the file cannot be read.
pub(super) fn read_file(path: &Path) -> Result<String, Fault> {
    match std::fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        result => result.map_err(|e| {
            Fault::new(FaultCode::InvalidConfig, format!("{}: {e}", path.display()))
                .hint("make that file readable, or set BRAIN_HOME to another directory")
        }),
    }
}

fn parse_toml(text: &str, path: &Path) -> Result<toml::Table, Fault> {
    text.parse().map_err(|e: toml::de::Error| {
        // One line: the client shows the last lines of a daemon that could not start.
        let before = text.get(..e.span().map_or(0, |span| span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let message = e.message().trim_end().replace('\n', ", ");
        invalid(format!("{}: line {line}, column {column}: {message}", path.display()))
    })
}

/// Returns the fault for an unknown name of a section or key.
fn unknown(message: String, given: &str, known: impl Iterator<Item = &'static str>) -> Fault {
    unknown_key(message, brain_protocol::nearest(given, known))
}

/// Returns the fault for an unknown key. Its hint names the most similar known one, if there is
/// one, and the command that lists all.
pub(super) fn unknown_key(message: String, nearest: Option<&str>) -> Fault {
    let suggestion = nearest.map(|name| format!("did you mean \"{name}\"? ")).unwrap_or_default();
    invalid(message).hint(hint!("{}{} lists all keys", suggestion, Command::ConfigShow))
}
