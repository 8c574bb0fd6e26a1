//! Sets a key in the configuration file. Comments, order and all other keys stay.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use brain_base::durable;
use brain_protocol::{Fault, FaultCode, nearest};
use toml_edit::{DocumentMut, Item, Table, Value};

use super::loader::unknown_key;
use super::{Config, invalid};

/// Sets `key` (`section.name`) to `value` in the file at `path`, and returns the value as written.
/// The file is created if it is missing.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] if there is no such key, the file is not TOML, or the file would
/// not be valid with the value; [`FaultCode::Io`] if the file cannot be read or written. The file
/// is unchanged then.
pub fn set(path: &Path, key: &str, value: &str) -> Result<String, Fault> {
    let file_path = path.display();
    let text = match fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        result => result.map_err(|e| io_fault(path, &e))?,
    };
    let (section, name) = known_key(path, key)?;
    let document = text
        .parse::<DocumentMut>()
        .map_err(|e| invalid(format!("{file_path}: {}", e.message().replace('\n', ", "))))?;
    let as_text = Value::from(value);
    // A text such as `17` may be meant as a number or as a string, so both are tried.
    let parsed = value.parse::<Value>().ok();
    let mut last_fault = None;
    for value in parsed.into_iter().chain([as_text]) {
        let mut edited = document.clone();
        insert(&mut edited, section, name, &value)
            .ok_or_else(|| invalid(format!("{file_path}: \"{section}\" is not a section")))?;
        let text = edited.to_string();
        match Config::from_text(path, &text, |_| None) {
            Ok(_) => {
                write(path, &text).map_err(|e| io_fault(path, &e))?;
                return Ok(value.to_string().trim().to_owned());
            }
            Err(fault) => last_fault = Some(fault),
        }
    }
    Err(last_fault.unwrap_or_else(|| invalid(format!("{file_path}: {key} cannot be set"))))
}

/// Returns the section and the name of a key.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] if there is no such key.
fn known_key<'a>(path: &Path, key: &'a str) -> Result<(&'a str, &'a str), Fault> {
    let defaults = Config::from_text(path, "", |_| None)?;
    let parts = key.split_once('.');
    let is_known = |(section, name): &(&str, &str)| {
        defaults.entries().any(|(known, _, _)| known.section == *section && known.name == *name)
    };
    if let Some(parts) = parts.filter(is_known) {
        return Ok(parts);
    }
    let names: Vec<String> = defaults
        .entries()
        .map(|(known, _, _)| format!("{}.{}", known.section, known.name))
        .collect();
    let full = nearest(key, names.iter().map(String::as_str));
    // The name may be right and the section wrong or missing.
    let name = key.rsplit('.').next().unwrap_or(key);
    let mut same_name = names.iter().filter(|known| known.split_once('.').unzip().1 == Some(name));
    let unique = same_name.next().filter(|_| same_name.next().is_none());
    Err(unknown_key(format!("there is no key \"{key}\""), unique.map(String::as_str).or(full)))
}

/// Sets the key. Returns `None` if the file has a value with the name of the section.
fn insert(document: &mut DocumentMut, section: &str, name: &str, value: &Value) -> Option<()> {
    let table = document.entry(section).or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut()?;
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(existing) => {
            // A comment after the value stays.
            let decor = existing.decor().clone();
            *existing = value.clone();
            *existing.decor_mut() = decor;
        }
        None => _ = table.insert(name, Item::Value(value.clone())),
    }
    Some(())
}

/// Replaces the file by one with the same mode. A new file is private.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    // The target of a symbolic link is written, so the link stays.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mode = fs::metadata(path).map_or(0o600, |meta| meta.permissions().mode() & 0o7777);
    durable::replace_with(path, Some(mode), |file| file.write_all(text.as_bytes())).map(drop)
}

fn io_fault(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(FaultCode::Io, format!("cannot change {}: {error}", path.display()))
        .hint("make the file and its directory writable, or edit it by hand")
}
