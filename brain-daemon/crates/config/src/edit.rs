//! Sets a key in the configuration file. Comments, order and all other keys stay.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use brain_protocol::{Fault, FaultCode};
use toml_edit::{DocumentMut, Item, Table, Value};

use super::{Config, invalid};

/// Sets `key` (`section.name`) to `value` in the file at `path`, and returns the value as written.
/// The file is created if it is missing.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] if `key` has another form, the file is not TOML, or the file would
/// not be valid with the value; [`FaultCode::Io`] if the file cannot be read or written. The file
/// is unchanged then.
pub fn set(path: &Path, key: &str, value: &str) -> Result<String, Fault> {
    let file_path = path.display();
    let text = match fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        result => result.map_err(|e| io_fault(path, &e))?,
    };
    let Some((section, name)) = key.split_once('.').filter(|(_, name)| !name.contains('.')) else {
        return Err(invalid(format!("\"{key}\" is not a key such as sources.watch")));
    };
    let document = text
        .parse::<DocumentMut>()
        .map_err(|e| invalid(format!("{file_path}: {}", e.message().replace('\n', ", "))))?;
    let as_text = Value::from(value);
    // A text such as `17` may be meant as a number or as a string, so both are tried.
    let parsed = value.parse::<Value>().ok().filter(|value| !value.is_datetime());
    let mut last_fault = None;
    for value in parsed.into_iter().filter(|value| !value.is_inline_table()).chain([as_text]) {
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
    let temporary = path.with_extension("toml.tmp");
    let mut file =
        fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    let result = file
        .write_all(text.as_bytes())
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result
}

fn io_fault(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(FaultCode::Io, format!("cannot change {}: {error}", path.display()))
        .hint("make the file and its directory writable, or edit it by hand")
}
